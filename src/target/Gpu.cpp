#include "target/Gpu.h"

namespace nereid::target {

namespace {
constexpr uint32_t KiB = 1024;

constexpr uint32_t ampere = AsyncCopy | Bf16Mma;
constexpr uint32_t ada = ampere | Fp8Convert | Fp8Mma;
constexpr uint32_t hopper = ada | Tma | Clusters | Pdl | Bf16Atomics;

// Limits from the CUDA C programming guide, "Technical Specifications per Compute Capability".
// clang-format off
constexpr GpuChip rows[] = {
    // name    capability a    ptx  shared/block shared/SM  warps blocks mma16 fma32 special
    {"sm_80",   80, false, 70, 163 * KiB, 164 * KiB, 64, 32, 1024,  64, 16, ampere},
    {"sm_86",   86, false, 71,  99 * KiB, 100 * KiB, 48, 16,  512, 128, 16, ampere},
    {"sm_87",   87, false, 74, 163 * KiB, 164 * KiB, 48, 16,  512, 128, 16, ampere},
    {"sm_89",   89, false, 78,  99 * KiB, 100 * KiB, 48, 24,  512, 128, 16, ada},
    {"sm_90",   90, false, 78, 227 * KiB, 228 * KiB, 64, 32, 2048, 128, 16, hopper},
    {"sm_90a",  90, true,  80, 227 * KiB, 228 * KiB, 64, 32, 2048, 128, 16, hopper | Wgmma | SetMaxNReg},
    {"sm_100", 100, false, 86, 227 * KiB, 228 * KiB, 64, 32, 4096, 128, 16, hopper},
    {"sm_120", 120, false, 87,  99 * KiB, 100 * KiB, 48, 24,  512, 128, 16, hopper},
};
// clang-format on
} // namespace

std::span<const GpuChip> gpuChips() { return rows; }

const GpuChip *gpuChip(std::string_view name) {
  for (const GpuChip &chip : rows)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

const GpuChip *gpuChipForDevice(unsigned major, unsigned minor) {
  unsigned capability = major * 10 + minor;
  const GpuChip *best = nullptr;
  for (const GpuChip &chip : rows)
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
