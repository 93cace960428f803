// How the command answers: diagnostics with their source lines on stderr, tables and JSON on
// stdout.
#pragma once

#include "nereid/base.h"
#include "ref/Interpreter.h"
#include "support/HostTensor.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nereid::tools {

using Json = nlohmann::ordered_json;

/// Exit codes (docs/testing.md).
inline constexpr int exitDone = 0, exitRefused = 1, exitUsage = 2;

/// Prints diagnostics to stderr, each with the line it is about, read from its file.
void report(const std::vector<Diagnostic> &diagnostics);
/// What checked launches found, each with the program and element that met it first.
void report(const std::vector<ref::Finding> &findings);
/// A failure, on stderr.
void report(const Error &error);
Json errorJson(const Error &error);
/// Prints what went wrong and gives the exit code; where the answer was to be JSON, it is
/// {"error", "diagnostics"}.
int refuse(const Error &error);
/// From here on what is reported is kept too, and `written` writes it as SARIF to this file.
void logSarif(const std::string &path);
/// The exit code of a verb, unless what it printed could not be written (a full disk).
int written(int code);
/// Whether `--json` was given; said once, before a verb acts.
void answerInJson(bool wanted);

Json toJson(const Diagnostic &diagnostic);
Json toJson(const ref::Finding &finding);
/// A number that JSON can hold, or "nan", "inf", "-inf".
Json numberJson(double value);
/// {"dtype", "shape", "data"} with data nested by shape.
Json toJson(const support::HostTensor &tensor);

/// Prints rows in columns; the first one is the head. Columns `numbersFrom` to `numbersTo` - 1 are
/// aligned right.
void printTable(const std::vector<std::vector<std::string>> &rows, size_t numbersFrom,
                size_t numbersTo = SIZE_MAX);
/// Without the columns, but for the first two, in which no row has anything but "-".
std::vector<std::vector<std::string>> filled(std::vector<std::vector<std::string>> table);
/// A tensor as people read it: shape, dtype and its first and last elements.
std::string summary(const support::HostTensor &tensor);

} // namespace nereid::tools
