// Writing packs (launch/Pack.h).
#pragma once

#include "launch/Pack.h"

#include <filesystem>

namespace nereid::engine {

/// A pack on its way to a file.
class PackFile {
public:
  explicit PackFile(std::filesystem::path path) : path(std::move(path)) {}

  /// Takes what the file has; one that is not there has nothing.
  Status read();
  Status add(const launch::Signature &signature, const std::string &target,
             const std::string &options, const support::Specialization &specialization,
             std::vector<uint32_t> defaulted, const support::Artifact &artifact);
  /// Replaces the file, at once or not at all: programs may have it mapped.
  Status write() const;

private:
  std::filesystem::path path;
  launch::PackBuilder builder;
  std::vector<launch::Pack> packs;          // whose bytes
  std::vector<support::Artifact> artifacts; // the builder refers to
};

} // namespace nereid::engine
