// A suite: claims about measured rows, each with what was found and whether it holds.
// docs/bench.md has the file's format.
#pragma once

#include "emit/Interp.h"
#include "tools/Output.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace nereid::tools {

/// What a claim measures: a row of a kernel folder, facts of `nereid inspect`, or one of the
/// measures of the host.
struct SuiteRow {
  std::string name; ///< rows of one list share it
  bool inList = false;
  std::string folder, variant, inspect, measure; ///< one of folder, inspect and measure is set
  emit::Keywords bindings;                       ///< of the folder's case, or the measure's words
  bool allConfigs = false;                       ///< time every configuration, keep the fastest
};

struct SuiteClaim {
  std::string name, text, unit;
  std::vector<SuiteRow> rows;
  ops::Value figure;
  std::optional<double> least, most;
  bool timed = true; ///< else rows run once: bytes and counts are all that the figure asks for
};

/// A suite's file, evaluated as a spec is.
class SuiteFile {
public:
  static Result<std::unique_ptr<SuiteFile>> open(const std::filesystem::path &path);
  ~SuiteFile();

  /// `family` is "cpu" or "cuda".
  Result<std::vector<SuiteClaim>> claims(const std::string &family);
  /// The figure of a claim from its rows by name; rows of a list are an array.
  Result<double> figure(const SuiteClaim &claim, const Json &rows);

private:
  SuiteFile();
  struct State;
  std::unique_ptr<State> state;
};

struct SuiteWords {
  std::string suite, match;
  std::vector<std::string> devices;
  double seconds = 0.5;
  bool json = false;
};
int runSuite(const SuiteWords &words);

/// One of the measures of the host, on a device (SuiteMeasures.cpp).
Result<Json> hostMeasure(const std::string &name, const Json &words, const std::string &device,
                         double seconds);

/// The facts of `nereid inspect` for such words (Inspect.cpp).
Result<Json> inspectFacts(const std::vector<std::string> &words);

} // namespace nereid::tools
