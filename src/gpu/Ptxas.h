// PTX -> cubin by the `ptxas` program or, where there is none, by the library nvJitLink.
#pragma once

#include "nereid/base.h"
#include "target/Gpu.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nereid::gpu {

struct Cubin {
  std::vector<uint8_t> code;
  uint32_t registers = 0; ///< a thread
  uint32_t spillStoreBytes = 0, spillLoadBytes = 0, stackBytes = 0;
  std::string log;                   ///< what ptxas said
  std::vector<std::string> warnings; ///< of that, what costs speed
};

/// What stands for nvJitLink where a path of `ptxas` could.
inline constexpr const char *nvJitLink = "nvjitlink";

/// The path of `ptxas`: `hint` or else the knob if it names a program, else one on the PATH, else
/// that of a CUDA toolkit in its usual place; `nvJitLink` if that is wanted, or the only one there
/// is; empty if there is none.
std::string findPtxas(const std::string &hint = "");

/// Runs ptxas on temporary files that are gone afterwards, or calls nvJitLink.
Result<Cubin> assemble(const std::string &ptxas, const std::string &ptx, std::string_view arch);

bool hasNvJitLink();
/// By nvJitLink; fills in the code and the log.
Result<Cubin> assembleInProcess(const std::string &ptx, std::string_view arch);

/// The path of `nvdisasm`, sought as `findPtxas` seeks; empty if there is none.
std::string findDisassembler();
/// The machine code of a cubin as text.
Result<std::string> disassemble(const std::string &nvdisasm, std::span<const uint8_t> cubin);

/// The PTX of one kernel with a limit for its registers a thread.
std::string limitRegisters(const std::string &ptx, uint32_t registers);

/// The PTX of one kernel with the promise that so many blocks fit an SM: `ptxas` takes as many
/// registers as that leaves.
std::string limitBlocks(const std::string &ptx, uint32_t blocks);

/// The PTX of one kernel with a first value for the registers in which warp groups sum products.
/// Where it has none, as the first product does not read them, `ptxas` (12.8) gives them one
/// between products that are in flight, and lets each wait for the one before (C7515).
std::string withSumsSet(const std::string &ptx);

/// How many blocks fit an SM by registers alone; at most as many as there are places for.
uint32_t blocksByRegisters(const target::GpuChip &chip, uint32_t registers, unsigned warps);

/// The limit with which one block more fits an SM, where registers alone leave a quarter of its
/// warps or fewer and at most a fifth of them has to go; else 0. With more warps resident,
/// registers that hold loads in flight are worth more than another block.
uint32_t registersForOneMoreBlock(const target::GpuChip &chip, uint32_t registers, unsigned warps,
                                  uint64_t sharedBytes);

/// Bytes of shared memory for what a kernel keeps, of which a step takes `stepBytes` and which has
/// `steps` of them (0: not known): as many steps as keep no program away that would be resident
/// without, by registers (0: not known yet) and the `sharedBytes` that it needs. Where all steps
/// that there are fit, they may take the place of programs as long as half of the warps stay.
uint64_t bytesForKept(const target::GpuChip &chip, uint32_t registers, unsigned warps,
                      uint64_t sharedBytes, uint64_t stepBytes, uint64_t steps);

} // namespace nereid::gpu
