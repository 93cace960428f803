#include "target/Gpu.h"

#include <algorithm>

namespace nereid::target {

namespace {
constexpr uint32_t KiB = 1024;

constexpr uint32_t ampere = AsyncCopy | Bf16Mma | LlvmTarget;
constexpr uint32_t consumerAmpere = ampere | MinMaxSign;
constexpr uint32_t ada = consumerAmpere | Fp8Convert | Fp8Mma;
constexpr uint32_t hopper = ada | Tma | Clusters | Pdl | Bf16Atomics | StoreMatrix;
constexpr uint32_t newer = hopper & ~uint32_t(LlvmTarget);

// Limits from the CUDA C programming guide, "Technical Specifications per Compute Capability".
// clang-format off
constexpr GpuChip chips[] = {
    // name    capability a    ptx  shared/block shared/SM  warps blocks mma16 fma32
    {"sm_80",   80, false, 70, 163 * KiB, 164 * KiB, 64, 32, 1024,  64, ampere},
    {"sm_86",   86, false, 71,  99 * KiB, 100 * KiB, 48, 16,  512, 128, consumerAmpere},
    {"sm_87",   87, false, 74, 163 * KiB, 164 * KiB, 48, 16,  512, 128, consumerAmpere},
    {"sm_89",   89, false, 78,  99 * KiB, 100 * KiB, 48, 24,  512, 128, ada},
    {"sm_90",   90, false, 78, 227 * KiB, 228 * KiB, 64, 32, 2048, 128, hopper},
    {"sm_90a",  90, true,  80, 227 * KiB, 228 * KiB, 64, 32, 2048, 128, hopper | Wgmma | SetMaxNReg | ReplaceInMap},
    {"sm_100", 100, false, 86, 227 * KiB, 228 * KiB, 64, 32, 4096, 128, newer},
    {"sm_120", 120, false, 87,  99 * KiB, 100 * KiB, 48, 24,  512, 128, newer},
};
// clang-format on

constexpr GpuBoard boards[] = {
    // The first of a chip is what a target without a board means: the one it is tuned on.
    // name       chip     SMs   MHz   GB/s
    {"A100", "sm_80", 108, 1410, 2039},   {"A40", "sm_86", 84, 1740, 696},
    {"RTX 3090", "sm_86", 82, 1695, 936}, {"Jetson AGX Orin", "sm_87", 16, 1300, 205},
    {"L40S", "sm_89", 142, 2520, 864},    {"RTX 4090", "sm_89", 128, 2520, 1008},
    {"H200", "sm_90a", 132, 1830, 4800},  {"H100", "sm_90a", 132, 1830, 3350},
    {"B200", "sm_100", 148, 1850, 8000},  {"RTX 5090", "sm_120", 170, 2407, 1792},
};
} // namespace

std::span<const GpuBoard> gpuBoards() { return boards; }

const GpuBoard *gpuBoard(std::string_view name, const GpuChip &chip) {
  for (const GpuBoard &board : boards)
    if (name.empty() ? gpuChip(board.chip)->capability == chip.capability : board.name == name)
      return &board;
  return nullptr;
}

Occupancy occupancy(const GpuChip &chip, unsigned warps, unsigned registers, uint64_t sharedBytes) {
  // A warp gets its registers in units of 256, 8 a thread; each block pays 1 KiB of shared memory.
  Occupancy out;
  out.byWarps = chip.warpsPerSm / warps;
  out.byBlocks = chip.blocksPerSm;
  out.byShared = unsigned(chip.sharedBytesPerSm / (sharedBytes + 1024));
  if (registers)
    out.byRegisters = registersPerSm / ((registers + 7) / 8 * 256) / warps;
  out.blocks = out.byWarps;
  out.limit = "warps";
  auto limit = [&](unsigned by, std::string_view name) {
    if (by < out.blocks) {
      out.blocks = by;
      out.limit = name;
    }
  };
  limit(out.byBlocks, "blocks");
  if (registers)
    limit(out.byRegisters, "registers");
  limit(out.byShared, "shared memory");
  out.warps = out.blocks * warps;
  return out;
}

std::span<const GpuChip> gpuChips() { return chips; }

std::vector<const GpuChip *> gpuTargets(std::string_view text) {
  if (text == "cuda")
    text = "sm_80,sm_86,sm_89,sm_90a";
  std::vector<const GpuChip *> out;
  while (!text.empty()) {
    std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    const GpuChip *chip = gpuChip(name);
    if (!chip)
      return {};
    if (std::find(out.begin(), out.end(), chip) == out.end())
      out.push_back(chip);
  }
  return out;
}

const GpuChip *gpuChip(std::string_view name) {
  for (const GpuChip &chip : chips)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

const GpuChip *gpuChipForDevice(unsigned major, unsigned minor) {
  unsigned capability = major * 10 + minor;
  const GpuChip *best = nullptr;
  for (const GpuChip &chip : chips)
    if (chip.onlyThisChip ? chip.capability == capability : chip.capability <= capability)
      best = &chip;
  return best;
}

bool cubinRunsOn(const GpuChip &chip, unsigned major, unsigned minor) {
  // A cubin runs on its own major version, on the same or a higher minor one.
  unsigned capability = major * 10 + minor;
  if (chip.onlyThisChip)
    return chip.capability == capability;
  return chip.capability / 10 == major && chip.capability <= capability;
}

bool ptxRunsOn(const GpuChip &chip, unsigned major, unsigned minor) {
  unsigned capability = major * 10 + minor;
  return chip.onlyThisChip ? chip.capability == capability : chip.capability <= capability;
}

} // namespace nereid::target
