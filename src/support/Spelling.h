// The name that a misspelt one most likely means.
#pragma once

#include <string>
#include <string_view>

namespace nereid::support {

/// Keeps the candidate with the fewest edits; names that are too different, or equal, don't count.
class Spelling {
public:
  explicit Spelling(std::string_view name);
  void consider(std::string_view candidate);
  /// Empty if nothing is close.
  const std::string &best() const { return closest; }
  /// "did you mean `best`?", or empty.
  std::string hint() const;

private:
  std::string name, closest;
  unsigned edits; ///< of `closest`, or the first number that is too many
};

} // namespace nereid::support
