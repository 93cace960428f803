#include "tools/Output.h"

#include "engine/Files.h"
#include "support/ShownDiagnostics.h"
#include "support/Table.h"
#include "tools/Sarif.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

namespace nereid::tools {

namespace {

bool inJson = false;
std::string sarifPath;
SarifLog sarifLog;

std::string shortest(double value, bool isF32) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    double back = std::strtod(text, nullptr);
    if (isF32 ? float(back) == float(value) : back == value)
      break;
  }
  return text;
}

Json elementJson(const support::HostTensor &tensor, int64_t index) {
  if (tensor.dtype() == DType::UInt64)
    return uint64_t(tensor.getInt(index));
  if (!info(tensor.dtype()).isFloat)
    return tensor.getInt(index);
  return numberJson(tensor.get(index));
}

Json nested(const support::HostTensor &tensor, size_t dim, int64_t &index) {
  if (dim == tensor.shape().size())
    return elementJson(tensor, index++);
  Json list = Json::array();
  for (int64_t i = 0; i < tensor.shape()[dim]; ++i)
    list.push_back(nested(tensor, dim + 1, index));
  return list;
}

std::string findingText(const ref::Finding &finding) {
  std::string text = "program (" + std::to_string(finding.program[0]) + ", " +
                     std::to_string(finding.program[1]) + ", " +
                     std::to_string(finding.program[2]) + ")";
  if (!finding.index.empty()) {
    text += ", element (";
    for (size_t i = 0; i < finding.index.size(); ++i)
      text += (i ? ", " : "") + std::to_string(finding.index[i]);
    text += ")";
  }
  if (!finding.tensor.empty())
    text += ", tensor `" + finding.tensor + "`";
  return text;
}

} // namespace

void report(const std::vector<Diagnostic> &diagnostics) {
  if (!sarifPath.empty())
    sarifLog.results.insert(sarifLog.results.end(), diagnostics.begin(), diagnostics.end());
  for (const std::string &text : support::shown(diagnostics))
    std::fprintf(stderr, "%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

void answerInJson(bool wanted) { inJson = wanted; }

void logSarif(const std::string &path) { sarifPath = path; }

void report(const Error &error) {
  bool told = false;
  for (const Diagnostic &diagnostic : error.diagnostics)
    told |= diagnostic.severity == Severity::Error;
  report(error.diagnostics);
  if (told)
    return;
  std::fprintf(stderr, "nereid: error: %s\n", error.what.c_str());
  sarifLog.failures.push_back(error.what);
}

Json errorJson(const Error &error) {
  Json json = {{"error", error.what}, {"diagnostics", Json::array()}};
  for (const Diagnostic &diagnostic : error.diagnostics)
    json["diagnostics"].push_back(toJson(diagnostic));
  return json;
}

int refuse(const Error &error) {
  report(error);
  if (inJson)
    std::printf("%s\n",
                errorJson(error).dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return exitRefused;
}

int written(int code) {
  if (!sarifPath.empty()) {
    sarifLog.isDone = sarifLog.failures.empty();
    std::string text = sarif(sarifLog).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    if (Status status = engine::writeFile(sarifPath, text); !status) {
      std::fprintf(stderr, "nereid: error: %s\n", status.error().what.c_str());
      code = code ? code : exitRefused;
    }
  }
  bool failed = std::fflush(stdout) != 0;
  int why = errno;
  if (!failed && !std::ferror(stdout))
    return code;
  std::fprintf(stderr, "nereid: error: cannot write the answer: %s\n",
               failed ? std::strerror(why) : "a part of it is lost");
  return code ? code : exitRefused;
}

Json numberJson(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

Json toJson(const Diagnostic &diagnostic) {
  static constexpr const char *severities[] = {"note", "warning", "error"};
  Json json = {{"severity", severities[unsigned(diagnostic.severity)]},
               {"code", diagnostic.code},
               {"message", diagnostic.message},
               {"file", diagnostic.where.file},
               {"line", diagnostic.where.begin.line},
               {"column", diagnostic.where.begin.column + 1}};
  if (!diagnostic.hint.empty())
    json["hint"] = diagnostic.hint;
  if (!diagnostic.notes.empty()) {
    json["notes"] = Json::array();
    for (const Diagnostic &note : diagnostic.notes)
      json["notes"].push_back(toJson(note));
  }
  return json;
}

void report(const std::vector<ref::Finding> &findings) {
  for (const ref::Finding &finding : findings) {
    report({finding.diagnostic});
    std::fprintf(stderr, "   first at %s\n", findingText(finding).c_str());
  }
}

Json toJson(const ref::Finding &finding) {
  Json json = toJson(finding.diagnostic);
  json["program"] = finding.program;
  json["index"] = finding.index;
  json["tensor"] = finding.tensor.empty() ? Json(nullptr) : Json(finding.tensor);
  return json;
}

Json toJson(const support::HostTensor &tensor) {
  int64_t index = 0;
  return {{"dtype", std::string(info(tensor.dtype()).signature)},
          {"shape", tensor.shape()},
          {"data", nested(tensor, 0, index)}};
}

void printTable(const std::vector<std::vector<std::string>> &rows, size_t numbersFrom,
                size_t numbersTo) {
  std::fputs(support::tableText(rows, numbersFrom, numbersTo).c_str(), stdout);
}

std::vector<std::vector<std::string>> filled(std::vector<std::vector<std::string>> table) {
  for (size_t column = table[0].size(); column-- > 2;)
    if (std::all_of(table.begin() + 1, table.end(),
                    [&](const auto &row) { return row[column] == "-"; }))
      for (auto &row : table)
        row.erase(row.begin() + long(column));
  return table;
}

std::string summary(const support::HostTensor &tensor) {
  std::string text = std::string(info(tensor.dtype()).signature) + "[";
  for (size_t d = 0; d < tensor.shape().size(); ++d)
    text += (d ? ", " : "") + std::to_string(tensor.shape()[d]);
  text += "] = ";
  int64_t count = tensor.numel();
  auto element = [&](int64_t i) {
    if (!info(tensor.dtype()).isFloat)
      return tensor.dtype() == DType::UInt64 ? std::to_string(uint64_t(tensor.getInt(i)))
                                             : std::to_string(tensor.getInt(i));
    return shortest(tensor.get(i), tensor.dtype() != DType::Float64);
  };
  constexpr int64_t shown = 8;
  for (int64_t i = 0; i < count; ++i) {
    if (count > 2 * shown && i == shown) {
      text += "... ";
      i = count - shown;
    }
    text += element(i) + (i + 1 < count ? " " : "");
  }
  return text;
}

} // namespace nereid::tools
