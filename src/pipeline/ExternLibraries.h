// Functions of the program's own LLVM bitcode (`tl.extern_elementwise`): found before code is made,
// linked into it when it is LLVM IR.
#pragma once

#include "nereid/base.h"
#include "ops/Table.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <vector>

namespace llvm {
class Module;
}

namespace nereid::pipeline {

/// Finds the file of each function that `tile.library_call` names: of those given the one of the
/// call's name, then the call's own path, then the others. Verifies that its types fit and notes
/// the files on the module (`tile::librariesAttr`). Returns what is wrong, at the calls.
std::vector<Diagnostic> findLibraryFunctions(mlir::ModuleOp module,
                                             std::span<const ops::ExternLibrary> given);

/// Brings the functions that code declares by `LibraryCallOp::codeSymbol` in from the files that
/// `kernel` notes, with what they need themselves; true if there were some. On a GPU libdevice is
/// left to be linked behind it.
Result<bool> linkLibraries(llvm::Module &module, mlir::ModuleOp kernel, bool forGpu);

} // namespace nereid::pipeline
