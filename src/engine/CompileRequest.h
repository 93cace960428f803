// What a compilation starts from, and the line that a program records of it.
#pragma once

#include "engine/Compile.h"
#include "support/Specialization.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nereid::engine {

struct CompileRequest {
  std::string kernel;
  CodeOptions options;
  std::string target; ///< "cpu" or a chip
  support::Specialization specialization;
  std::vector<uint32_t> defaulted;

  /// One line that `parse` reads back: a recorded key.
  std::string line() const;
  static std::optional<CompileRequest> parse(const std::string &line);

  /// With no more classes than Triton has (`Specialization::coarsened`).
  CompileRequest coarsened() const;
  /// As the target's code makes use of it: vectors of a CPU may begin anywhere.
  CompileRequest forTarget() const { return target == "cpu" ? coarsened() : *this; }
  /// The same without assumptions on sizes and alignment. What is ==1 is passed like any other
  /// integer.
  CompileRequest generalized() const;
};

} // namespace nereid::engine
