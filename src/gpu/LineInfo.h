// Lines of the source in PTX, for profilers and debuggers.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace nereid::gpu {

/// Gives the kernel's function a subprogram and each of its ops a place in it, so that PTX gets
/// `.file` and `.loc` directives, with the calls that were inlined, and nothing else of a
/// debugger's information: the code is the same as without. Requires: ops of the LLVM and NVVM
/// dialects alone.
void addLineInfo(mlir::ModuleOp module);

} // namespace nereid::gpu
