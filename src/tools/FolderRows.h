// What `test` and `bench` share: the words that choose rows of kernel folders, the run, and how
// rows are printed.
#pragma once

#include "engine/FolderRun.h"
#include "tools/Attempts.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <functional>

namespace nereid::tools {

struct FolderWords {
  std::vector<std::string> folders, devices, variants;
  std::string set, match;
  bool json = false, allConfigs = false, untuned = false, fewCases = false, describe = false;
  uint64_t seed = 0;
};
/// Gives the option of the folders themselves.
CLI::Option *addFolderWords(CLI::App &app, FolderWords &words);

/// Runs the folders by `words` and `options`; gives the rows as JSON. `each` takes what it prints
/// from a row, may add to it, and returns the line of progress that a terminal shows. A row that
/// costs the process fails; the next attempt goes on behind it.
Result<Json> runFolders(const FolderWords &words, engine::FolderRunOptions options,
                        Attempts &attempts, const std::function<std::string(Json &)> &each);

/// Fails if a variant is wanted that no folder has: it is a mistake, and no run of nothing.
Status checkVariants(const FolderWords &words);

/// That `--match` left nothing.
Error noSuchCase(const FolderWords &words);

/// The row of the contract (design, section 9); null where a figure does not apply.
Json rowJson(const engine::FolderRow &row);

/// Fields of such a row, or of another object; none where it has no number, or no text, there.
std::optional<double> numberOf(const Json &row, const char *key);
std::string textOf(const Json &row, const char *key);
/// "kernel variant (shape) on device".
std::string placeOf(const Json &row);
/// How far apart the samples lie, as a share of their median; none of what was not timed.
std::optional<double> spreadOf(const Json &row);

/// What a row of that device was measured on, and today's date.
Json machineJson(const std::string &device);

/// A value times `by`, by a `printf` format for a double; "-" for none.
std::string numberText(const std::optional<double> &value, const char *format, double by = 1);
/// The same of a row's field.
std::string figureText(const Json &row, const char *key, const char *format, double by = 1);

} // namespace nereid::tools
