// CUDA's library of device functions (libdevice.10.bc, LLVM bitcode): functions of f64 and those
// that Nereid does not define itself.
#pragma once

#include "nereid/base.h"

#include "llvm/IR/Module.h"

#include <string>

namespace nereid::gpu {

/// The file: $NEREID_LIBDEVICE, beside `ptxas` (its toolkit or Python package), or of
/// /usr/local/cuda; empty if there is none.
std::string findLibdevice(const std::string &ptxas);

/// Brings in what the module declares of `__nv_*`; nothing to do where it declares none. An error
/// names the functions where the library or one of them is missing.
Status linkLibdevice(llvm::Module &module, const std::string &path);

} // namespace nereid::gpu
