// The assembler's runs for one kernel: which limit of its registers is worth more than none.
#pragma once

#include "gpu/LoadsInFlight.h"
#include "gpu/Ptxas.h"

namespace nereid::gpu {

/// What is known of a kernel before it is assembled.
struct AssemblyFacts {
  unsigned warps = 4;
  uint64_t sharedBytes = 0;
  uint32_t maxRegisters = 0; ///< that its source sets; 0: none
  bool hasProducts = false;  ///< on tensor cores
  bool productsWait = false; ///< for memory, or for what their own step computes
  LoadsOfSums sums;
};

/// The PTX with the limit that it has where nobody can see what the assembler makes of it.
std::string limitedUnseen(const std::string &ptx, const target::GpuChip &chip,
                          const AssemblyFacts &facts);

struct Assembled {
  std::string ptx; ///< with the limit that was taken
  Cubin cubin;

  uint32_t spilledBytes() const { return cubin.spillStoreBytes + cubin.spillLoadBytes; }
};

/// Assembles a kernel, again under another limit where what came says that it may gain.
Result<Assembled> assembleKernel(const std::string &ptxas, const std::string &ptx,
                                 const target::GpuChip &chip, const AssemblyFacts &facts);

/// `ptxas` lets each product wait for the one before.
bool isSerial(const Cubin &cubin);

} // namespace nereid::gpu
