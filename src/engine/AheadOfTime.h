// Kernels for programs that link neither the engine nor its runtime: an object (or its assembly in
// a C file) and a C header with functions that run it.
#pragma once

#include "engine/Compile.h"
#include "target/Cpu.h"

namespace nereid::engine {

/// A kernel built for one specialisation and a level of x86-64.
struct AheadOfTime {
  std::string object; ///< relocatable ELF; needs the C library and libm, and nothing else
  std::string source; ///< C file with the same code as assembly
  std::string header; ///< C99 and C++: NAME_run, NAME_run_range, NAME_supported
};

/// Fails on kernels that need the runtime: those that print, assert or wait for other programs.
/// `name` is the prefix of every name that a program sees.
Result<AheadOfTime> buildAheadOfTime(EmittedKernel &emitted, const std::string &name,
                                     target::CpuFeatureSet features);

/// The same for GPUs: an object with a cubin for each of `targets` ("sm_80,sm_90a", or "cuda") and
/// their PTX for others, and a header with NAME_launch, which opens the driver itself. No `source`.
Result<AheadOfTime> buildAheadOfTimeGpu(EmittedKernel &emitted, const std::string &name,
                                        std::string_view targets);

} // namespace nereid::engine
