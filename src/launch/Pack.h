// A pack: built kernels in one file that is mapped and used in place. What a program ships that
// launches kernels without a compiler.
//
// The bytes are flat and little-endian: a header, rows of fixed size, text, then the artifacts,
// each at a multiple of 64. The header holds the hash of what stands before the artifacts, and each
// artifact its own, so a damaged pack is an error and never a fault.
#pragma once

#include "launch/Heuristics.h"
#include "launch/MeasuredOn.h"
#include "launch/Signature.h"
#include "support/Artifact.h"
#include "support/Specialization.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nereid::launch {

/// How each pack begins.
inline constexpr char packMagic[8] = {'N', 'R', 'D', 'P', 'A', 'C', 'K', 0};
inline constexpr uint32_t packVersion = 2;

/// What a configuration sets beside constants.
struct CodeChoice {
  uint32_t numWarps = 4, numStages = 3, numCtas = 1, maxRegisters = 0;
  bool operator==(const CodeChoice &) const = default;
};

/// Values by parameter.
using ParameterValues = std::vector<std::pair<uint32_t, support::Constant>>;

/// A configuration, and the launches that take it: a row of a tuning file as launches read it.
struct PackedChoice {
  std::string target, device; ///< "sm_90a", "NVIDIA H200"; empty: any
  ParameterValues which;      ///< of a tensor its element type, "fp32"
  ParameterValues constants;
  CodeChoice options;

  /// How much it names.
  size_t specificity() const { return which.size() + !target.empty() + !device.empty(); }
  bool isOfSameLaunches(const PackedChoice &other) const {
    return target == other.target && device == other.device && which == other.which;
  }
};

/// A kernel built for one specialisation.
struct PackEntry {
  std::string target;                     ///< "cpu" or a chip
  std::string options;                    ///< canonical text; only told apart, never read
  support::Specialization specialization; ///< None for what was left to defaults
  std::vector<uint32_t> defaulted;        ///< parameters that the call leaves out
  std::span<const uint8_t> artifact;
  CodeChoice chosen = {}; ///< of those options
};

struct PackedKernelRow {
  Signature signature;
  std::vector<PackEntry> entries;
  Heuristics heuristics;
  std::vector<PackedChoice> choices; ///< those that name most first

  /// The most special entry that such a launch may take, or null; with `wanted` of those that were
  /// built under it.
  const PackEntry *find(std::string_view target, const support::Specialization &specialization,
                        std::span<const uint32_t> defaulted,
                        const CodeChoice *wanted = nullptr) const;
  /// The first choice that serves a launch on a device and agrees with the constants that it gives;
  /// where there is none, of those of the device's siblings. Null if none serves.
  const PackedChoice *choose(const MeasuredOn &device, std::span<const Argument> arguments) const;
};

/// Kernels of a pack; they share its bytes.
class Pack {
public:
  static Result<Pack> map(const std::string &path);
  /// Checks `bytes`, which `owner` keeps.
  static Result<Pack> open(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner);

  std::span<const PackedKernelRow> kernels() const { return rows; }
  const PackedKernelRow *find(std::string_view kernel) const;
  Result<support::Artifact> artifact(const PackEntry &entry) const {
    return support::Artifact::open(entry.artifact, owner);
  }

private:
  std::shared_ptr<const void> owner;
  std::vector<PackedKernelRow> rows;
};

/// Collects what goes into a pack. What is added for the same target, options and specialisation of
/// a kernel of the same name takes the place of what was there.
class PackBuilder {
public:
  /// Fails if the kernel was added with other parameters.
  Status add(const Signature &signature, PackEntry entry);
  /// What launches of a kernel compute, in place of what it had; it has been added.
  void setHeuristics(std::string_view kernel, Heuristics heuristics);
  /// Stands before those that name no more, and in place of one for the same launches. Left out if
  /// no code was added for it.
  void addChoice(std::string_view kernel, PackedChoice choice);
  /// What another pack has; the bytes stay its own.
  Status add(const Pack &pack);
  std::vector<uint8_t> finish() const;

private:
  PackedKernelRow *find(std::string_view kernel);
  std::vector<PackedKernelRow> rows;
};

} // namespace nereid::launch
