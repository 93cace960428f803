#include "tools/Sarif.h"

#include "nereid/api.h"
#include "support/DiagnosticCodes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace nereid::tools {

namespace {

// A path as a URI, relative paths to where the command ran. A file has one name, whichever way the
// command was led to it.
std::string uriOf(const std::filesystem::path &path) {
  static constexpr std::string_view plain = "-._~/";
  std::string uri = path.is_absolute() ? "file://" : "";
  for (unsigned char c : path.lexically_normal().string()) {
    static constexpr char digits[] = "0123456789ABCDEF";
    if (std::isalnum(c) || plain.find(char(c)) != std::string_view::npos)
      uri += char(c);
    else
      uri += {'%', digits[c >> 4], digits[c & 15]};
  }
  return uri;
}

Json locationOf(const SourceRange &where) {
  Json physical = {{"artifactLocation", {{"uri", uriOf(where.file)}}}};
  if (where.begin.valid()) {
    Json region = {{"startLine", where.begin.line}, {"startColumn", where.begin.column + 1}};
    if (where.end.valid() &&
        (where.end.line > where.begin.line ||
         (where.end.line == where.begin.line && where.end.column > where.begin.column))) {
      region["endLine"] = where.end.line;
      region["endColumn"] = where.end.column + 1;
    }
    physical["region"] = std::move(region);
  }
  return {{"physicalLocation", std::move(physical)}};
}

Json resultOf(const Diagnostic &diagnostic, size_t rule) {
  static constexpr const char *levels[] = {"note", "warning", "error"};
  std::string text = diagnostic.message;
  if (!diagnostic.hint.empty())
    text += "\nhint: " + diagnostic.hint;
  Json result = {{"ruleId", diagnostic.code},
                 {"ruleIndex", rule},
                 {"level", levels[unsigned(diagnostic.severity)]},
                 {"message", {{"text", text}}}};
  if (!diagnostic.where.file.empty())
    result["locations"] = Json::array({locationOf(diagnostic.where)});
  Json related = Json::array();
  auto relate = [&](const SourceRange &where, const std::string &said) {
    if (where.file.empty())
      return;
    Json location = locationOf(where);
    location["message"] = {{"text", said}};
    related.push_back(std::move(location));
  };
  for (const Diagnostic::Label &label : diagnostic.labels)
    relate(label.where, label.text);
  for (const Diagnostic &note : diagnostic.notes)
    relate(note.where, note.message);
  if (!related.empty())
    result["relatedLocations"] = std::move(related);
  return result;
}

} // namespace

Json sarif(const SarifLog &log) {
  Json rules = Json::array(), results = Json::array(), failures = Json::array();
  std::vector<std::string> known;
  for (const Diagnostic &diagnostic : log.results) {
    auto at = std::ranges::find(known, diagnostic.code);
    results.push_back(resultOf(diagnostic, size_t(at - known.begin())));
    if (at != known.end())
      continue; // else it is the rule behind the last one
    known.push_back(diagnostic.code);
    Json rule = {{"id", diagnostic.code}};
    for (const DiagnosticCode &code : diagnosticCodes())
      if (code.name == diagnostic.code)
        rule["shortDescription"] = {{"text", code.summary}};
    rules.push_back(std::move(rule));
  }
  for (const std::string &failure : log.failures)
    failures.push_back({{"level", "error"}, {"message", {{"text", failure}}}});
  Json invocation = {{"executionSuccessful", log.isDone}};
  if (!failures.empty())
    invocation["toolExecutionNotifications"] = std::move(failures);
  Json driver = {{"name", "nereid"}, {"semanticVersion", NEREID_VERSION}, {"rules", rules}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({{{"tool", {{"driver", std::move(driver)}}},
                                 {"invocations", Json::array({std::move(invocation)})},
                                 {"results", std::move(results)}}})}};
}

} // namespace nereid::tools
