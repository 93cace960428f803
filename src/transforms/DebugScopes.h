// What LLVM asks for before it keeps the lines of a function's ops.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace nereid::transforms {

/// Makes a function a subprogram, of a unit of its own, that begins at `start` in `file`.
mlir::LLVM::DISubprogramAttr addSubprogram(mlir::LLVM::LLVMFuncOp function,
                                           mlir::FileLineColLoc start, mlir::LLVM::DIFileAttr file,
                                           mlir::LLVM::DIEmissionKind kind);

} // namespace nereid::transforms
