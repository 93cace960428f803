// Writing packs (launch/Pack.h).
#pragma once

#include "engine/CompileRequest.h"
#include "engine/TuningFile.h"
#include "launch/Pack.h"

#include <filesystem>

namespace nereid::engine {

/// A pack on its way to a file.
class PackFile {
public:
  explicit PackFile(std::filesystem::path path) : path(std::move(path)) {}

  /// Takes what the file has; one that is not there has nothing.
  Status read();
  Status add(const launch::Signature &signature, const CompileRequest &request,
             const support::Artifact &artifact);
  /// How launches of a kernel find what they leave open: its heuristics, and the configurations of
  /// `@triton.autotune` that were added, by the rows of `tuned` and, without one, as in the source.
  /// The caller holds the program's evaluator.
  Status addDecisions(emit::Program &program, const launch::Signature &signature,
                      const TuningFile &tuned);
  /// Replaces the file, at once or not at all: programs may have it mapped.
  Status write() const;

private:
  std::filesystem::path path;
  launch::PackBuilder builder;
  std::vector<launch::Pack> packs;          // whose bytes
  std::vector<support::Artifact> artifacts; // the builder refers to
};

} // namespace nereid::engine
