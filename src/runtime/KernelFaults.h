// Catches what a kernel does to memory that is not there, so that a launch fails and the program
// goes on. A handler of SIGSEGV and SIGBUS takes such a thread back to the call of the kernel:
// compiled code holds no locks and owns nothing, so it may be left where it stands.
//
// The handler is set where the host program has none; a host that sets one keeps it.
#pragma once

#include "support/LaunchAbi.h"

namespace nereid::runtime {

/// What a kernel tried to reach.
struct MemoryFault {
  uintptr_t address = 0;
  bool isWrite = false;
  bool isKnown = true; ///< false: the processor does not tell an address that cannot be
  const void *instruction = nullptr;
};

/// Beside support::LaunchFault, which kernels store: what the runtime does.
inline constexpr uint32_t leftMemory = 1 << 16;

/// Sets the handler, unless the host has one or `NEREID_CATCH_FAULTS` is 0. Cheap to call again.
void catchKernelFaults();

/// Runs programs of a kernel. False if one left its memory: it and those behind it did not end.
bool callKernel(support::CpuEntry entry, uint64_t first, uint64_t count,
                const support::CpuContext *context, MemoryFault &fault);

/// While a kernel waits on its fiber, the thread does something else.
class KernelPause {
public:
  KernelPause();
  ~KernelPause();
  KernelPause(const KernelPause &) = delete;

private:
  void *frame;
};

} // namespace nereid::runtime
