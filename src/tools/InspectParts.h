// What the parts of `nereid inspect` share: the words of the verb, figures of a launch, and how
// places and numbers are shown.
#pragma once

#include "analysis/Explain.h"
#include "support/Artifact.h"
#include "tools/KernelCall.h"
#include "tools/Output.h"

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>

namespace nereid::tools {

struct InspectWords : KernelWords {
  std::string chip = "cpu", grid, board, level = "native";
};

/// What is known of the launch, beyond the specialisation.
struct LaunchFacts {
  std::array<uint32_t, 3> grid = {0, 0, 0};  ///< 0: not given
  std::map<std::string, double> tensorBytes; ///< by parameter, where tensors were given
  uint64_t programs() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
};

/// Bytes and operations of a whole launch.
struct Work {
  double requested = 0; ///< bytes that the programs ask for
  double least = 0;     ///< of them, with every tensor read and written once
  double operations = 0;
};

Work workOf(const analysis::Explanation &lines, const LaunchFacts &launch,
            const support::Artifact &artifact);

// As JSON, and as tables made of that JSON.
Result<Json> inspectGpu(const InspectWords &words, engine::EmittedKernel &emitted,
                        const LaunchFacts &launch, const analysis::Explanation &lines);
void printGpu(const Json &json, const analysis::Explanation &lines);
Result<Json> inspectCpu(const InspectWords &words, engine::EmittedKernel &emitted,
                        const LaunchFacts &launch, const analysis::Explanation &lines);
void printCpu(const Json &json, const analysis::Explanation &lines);

Json linesJson(const analysis::Explanation &lines);
Json workJson(const analysis::Explanation &lines, const Work &work);
void printLines(const analysis::Explanation &lines);

std::string bytesText(double bytes); ///< "1.5 KiB"
std::string placeText(const analysis::SourceLine &place);
std::string placeText(const Json &row); ///< of a row with the fields of `placeJson`
Json placeJson(const analysis::SourceLine &place);
template <typename Fact> auto placeKey(const Fact &place) {
  return std::make_tuple(place.file, place.line, place.calledFrom);
}

inline std::string text(const char *format, auto... values) {
  char out[256];
  std::snprintf(out, sizeof out, format, values...);
  return out;
}

} // namespace nereid::tools
