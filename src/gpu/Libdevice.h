// CUDA's library of device functions (libdevice.10.bc, LLVM bitcode): functions of f64 and those
// that Nereid does not define itself.
#pragma once

#include "nereid/base.h"

#include "llvm/IR/Module.h"

#include <string>

namespace nereid::gpu {

/// Brings in what the module declares of `__nv_*`; nothing to do where it declares none. The
/// library is $NEREID_LIBDEVICE, or lies beside `ptxas` (its toolkit or Python package) or in
/// /usr/local/cuda. An error names the functions where the library or one of them is missing.
Status linkLibdevice(llvm::Module &module, const std::string &ptxas);

} // namespace nereid::gpu
