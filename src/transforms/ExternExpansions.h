// Functions known by their libdevice names, written with ops: `tile.extern "__nv_..."`.
#pragma once

#include "mlir/IR/Builders.h"

namespace nereid::transforms {

/// `name` is without `__nv_`. Functions of the math dialect are asked of `math`, which gets the
/// name there ("tanh", "powf") and gives null for what it does not know. Null if the function is
/// not known.
mlir::Value expandExtern(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
                         mlir::ValueRange operands, mlir::Type result,
                         llvm::function_ref<mlir::Value(llvm::StringRef, mlir::ValueRange)> math);

} // namespace nereid::transforms
