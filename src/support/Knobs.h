// The knobs of the engine: one table (Knobs.def), read from the environment once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::support {

struct Knobs {
#define KNOB(type, field, variable, otherwise, meaning) type field = otherwise;
#include "support/Knobs.def"
#undef KNOB

  /// Reads every knob through `lookup` (null: not set). A value that cannot be read keeps the
  /// default and adds a line to `problems`.
  static Knobs read(const std::function<const char *(const char *)> &lookup,
                    std::vector<std::string> &problems);
};

/// The knobs of this process. What could not be read is logged as a warning.
const Knobs &knobs();

/// A row of the table with its value now, for `doctor` and the documentation.
struct KnobRow {
  std::string_view variable, meaning;
  std::string value, otherwise;
};
std::vector<KnobRow> knobTable(const Knobs &values);

} // namespace nereid::support
