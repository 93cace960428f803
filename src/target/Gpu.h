// What an NVIDIA chip can do: one row a chip. Passes ask for abilities and limits here and never
// compare compute capabilities themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace nereid::target {

/// What a chip may be asked to do; a row of the table holds a set of these.
enum GpuAbility : uint32_t {
  AsyncCopy = 1,       ///< cp.async
  Bf16Mma = 2,         ///< mma.sync on bf16 and tf32
  Fp8Convert = 4,      ///< cvt to and from e4m3 and e5m2
  Fp8Mma = 8,          ///< products of fp8 operands
  Tma = 16,            ///< bulk tensor copies, mbarriers with transaction counts
  Clusters = 32,       ///< thread block clusters, distributed shared memory
  Pdl = 64,            ///< programmatic dependent launch
  Bf16Atomics = 128,   ///< red and atom on packed bf16
  Wgmma = 256,         ///< warp-group products from shared memory
  SetMaxNReg = 512,    ///< registers moved between warp groups
  StoreMatrix = 1024,  ///< stmatrix
  MinMaxSign = 2048,   ///< min and max with .xorsign.abs
  ReplaceInMap = 4096, ///< tensormap.replace
  LlvmTarget = 8192    ///< LLVM 19 generates code for it; newer chips take that for sm_90
};

struct GpuChip {
  std::string_view name;        ///< as PTX's `.target` spells it: "sm_90a"
  uint16_t capability;          ///< 80, 86, 89, 90, 100, ...
  bool onlyThisChip;            ///< an `a` target: runs on this capability alone
  uint16_t ptxVersion;          ///< lowest PTX version that knows the target: 70 is 7.0
  uint32_t sharedBytesPerBlock; ///< with opt-in
  uint32_t sharedBytesPerSm;
  uint16_t warpsPerSm;
  uint16_t blocksPerSm;
  // A clock and SM, for the roofline: multiply-adds of 16-bit operands on the tensor cores, and of
  // f32 on the plain units.
  uint16_t mma16PerClock;
  uint16_t fma32PerClock;
  uint32_t abilities; ///< GpuAbility flags

  bool can(GpuAbility ability) const { return abilities & ability; }
};

inline constexpr uint32_t registersPerSm = 65536; ///< of every chip of the table

/// A product with such chips; figures of its data sheet.
struct GpuBoard {
  std::string_view name, chip; ///< "H200", "sm_90a"
  uint16_t sms;
  uint16_t megahertz;        ///< of the boost clock
  uint16_t gigabytesASecond; ///< of its memory
};
std::span<const GpuBoard> gpuBoards();
/// By name, or (with none) the first of a chip, where sm_90 has the boards of sm_90a; null if there
/// is none.
const GpuBoard *gpuBoard(std::string_view name, const GpuChip &chip);

/// What of a kernel is resident on an SM at a time.
struct Occupancy {
  unsigned blocks = 0, warps = 0;
  /// How many blocks each resource has room for; `registers` is 0 where their number is not known.
  unsigned byWarps = 0, byBlocks = 0, byRegisters = 0, byShared = 0;
  /// The scarcest: "warps", "blocks", "registers" or "shared memory".
  std::string_view limit;
};
/// For a kernel of `warps` warps, `registers` a thread (0: not known) and `sharedBytes` a block.
Occupancy occupancy(const GpuChip &chip, unsigned warps, unsigned registers, uint64_t sharedBytes);

std::span<const GpuChip> gpuChips();
/// The chips that a text names: "sm_80,sm_90a", or "cuda" for one of each generation; none if one
/// is unknown.
std::vector<const GpuChip *> gpuTargets(std::string_view text);
/// The row that `.target name` means, or null.
const GpuChip *gpuChip(std::string_view name);
/// The best target for a device of this compute capability: its own `a` row if there is one, else
/// the highest row not above it; null below sm_80.
const GpuChip *gpuChipForDevice(unsigned major, unsigned minor);
/// Whether a cubin built for `chip` runs on a device of this compute capability.
bool cubinRunsOn(const GpuChip &chip, unsigned major, unsigned minor);
/// Whether PTX built for `chip` can be compiled by the driver for such a device.
bool ptxRunsOn(const GpuChip &chip, unsigned major, unsigned minor);

} // namespace nereid::target
