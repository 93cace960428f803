// A pack: built kernels in one file that is mapped and used in place. What a program ships that
// launches kernels without a compiler.
//
// The bytes are flat and little-endian: a header, rows of fixed size, text, then the artifacts,
// each at a multiple of 64. The header holds the hash of what stands before the artifacts, and each
// artifact its own, so a damaged pack is an error and never a fault.
#pragma once

#include "launch/Signature.h"
#include "support/Artifact.h"
#include "support/Specialization.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::launch {

inline constexpr uint32_t packVersion = 1;

/// A kernel built for one specialisation.
struct PackEntry {
  std::string target;                     ///< "cpu" or a chip
  std::string options;                    ///< canonical text; only told apart, never read
  support::Specialization specialization; ///< None for what was left to defaults
  std::vector<uint32_t> defaulted;        ///< parameters that the call leaves out
  std::span<const uint8_t> artifact;
};

struct PackedKernelRow {
  Signature signature;
  std::vector<PackEntry> entries;

  /// The most special entry that such a launch may take, or null.
  const PackEntry *find(std::string_view target, const support::Specialization &specialization,
                        std::span<const uint32_t> defaulted) const;
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
  /// What another pack has; the bytes stay its own.
  Status add(const Pack &pack);
  std::vector<uint8_t> finish() const;

private:
  std::vector<PackedKernelRow> rows;
};

} // namespace nereid::launch
