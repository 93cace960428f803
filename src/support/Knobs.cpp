#include "support/Knobs.h"

#include "support/Sink.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace nereid::support {

namespace {
bool parse(const char *text, std::string &value) {
  value = text;
  return true;
}

template <typename Number> bool parseNumber(const char *text, Number &value) {
  const char *end = text + std::strlen(text);
  Number parsed;
  auto [at, error] = std::from_chars(text, end, parsed);
  if (error != std::errc() || at != end)
    return false;
  value = parsed;
  return true;
}
bool parse(const char *text, int64_t &value) { return parseNumber(text, value); }
bool parse(const char *text, double &value) { return parseNumber(text, value); }

bool parse(const char *text, bool &value) {
  std::string_view word = text;
  if (word == "1" || word == "true" || word == "on")
    value = true;
  else if (word == "0" || word == "false" || word == "off" || word.empty())
    value = false;
  else
    return false;
  return true;
}

std::string show(const std::string &value) { return value; }
std::string show(int64_t value) { return std::to_string(value); }
std::string show(bool value) { return value ? "1" : "0"; }
std::string show(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}
} // namespace

Knobs Knobs::read(const std::function<const char *(const char *)> &lookup,
                  std::vector<std::string> &problems) {
  Knobs knobs;
#define KNOB(type, field, variable, otherwise, meaning)                                            \
  if (const char *text = lookup(variable); text && !parse(text, knobs.field))                      \
    problems.push_back(std::string(variable) + "=" + text + " cannot be read; it stays " +         \
                       show(knobs.field));
#include "support/Knobs.def"
#undef KNOB
  return knobs;
}

const Knobs &knobs() {
  static const Knobs instance = [] {
    std::vector<std::string> problems;
    Knobs read = Knobs::read([](const char *name) { return std::getenv(name); }, problems);
    for (const std::string &problem : problems)
      log(LogLevel::Warning, problem);
    return read;
  }();
  return instance;
}

std::vector<KnobRow> knobTable(const Knobs &values) {
  const Knobs defaults;
  std::vector<KnobRow> rows;
#define KNOB(type, field, variable, otherwise, meaning)                                            \
  rows.push_back({variable, meaning, show(values.field), show(defaults.field)});
#include "support/Knobs.def"
#undef KNOB
  return rows;
}

} // namespace nereid::support
