// Lines of the source in PTX, for profilers and debuggers.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/DebugInfoMetadata.h"

#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace nereid::gpu {

/// Gives the kernel's function a subprogram and each of its ops a place in it, so that PTX gets
/// `.file` and `.loc` directives and nothing else of a debugger's information: the code is the same
/// as without. Requires: ops of the LLVM and NVVM dialects alone.
void addLineInfo(mlir::ModuleOp module);

/// Keeps the calls that inlined code came through, which LLVM 19 leaves out of PTX: the places get
/// numbers as columns, which the code generator copies to its `.loc` directives, and `write` puts
/// `inlined_at` in their stead. ptxas makes no use of columns.
class InlinedPlaces {
public:
  /// Numbers the places of a module that is about to become PTX.
  explicit InlinedPlaces(llvm::Module &module);
  /// The PTX of that module with the calls.
  std::string write(const std::string &ptx) const;

private:
  std::vector<const llvm::DILocation *> places; // with their own columns
};

} // namespace nereid::gpu
