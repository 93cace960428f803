// What an x86-64 processor can do, by the names that LLVM uses, so that the compiler, the key and
// the loader speak of the same thing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::target {

/// One feature that code may need beyond the x86-64 baseline (SSE2).
struct CpuFeature {
  std::string_view name;  ///< LLVM's spelling: "avx512f", "avx512bf16", "f16c"
  uint32_t leaf, subleaf; ///< where CPUID tells it
  uint8_t reg;            ///< 0 eax, 1 ebx, 2 ecx, 3 edx
  uint8_t bit;
  uint32_t state; ///< bits of XCR0 that the operating system must have enabled
};

/// Every feature we know, in a fixed order.
std::span<const CpuFeature> cpuFeatures();

/// A set of features: bit i is row i of `cpuFeatures`.
class CpuFeatureSet {
public:
  bool has(std::string_view name) const;
  void add(std::string_view name);
  void remove(std::string_view name);
  bool covers(CpuFeatureSet needed) const { return (needed.bits & ~bits) == 0; }
  bool operator==(const CpuFeatureSet &) const = default;

  /// Comma-separated names in the table's order: canonical, so it may enter a key.
  std::string text() const;
  /// Reads such a list; `+name` is accepted too. Nothing if a name is unknown.
  static std::optional<CpuFeatureSet> parse(std::string_view text);
  /// The names that `this` has and `other` lacks.
  std::vector<std::string_view> missingFrom(CpuFeatureSet other) const;

private:
  friend CpuFeatureSet hostCpuFeatures();
  uint64_t bits = 0;
};

/// What this machine has and its operating system has enabled, for this process too: asked once.
CpuFeatureSet hostCpuFeatures();

/// A named set: "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" as the psABI defines them (the
/// features we know of them), or "native".
std::optional<CpuFeatureSet> cpuLevel(std::string_view name);

/// The processor's brand string.
std::string hostCpuName();

/// Bytes of the last cache level that the first processor sees. 0 where nobody says. Asked once.
uint64_t hostCacheBytes();

} // namespace nereid::target
