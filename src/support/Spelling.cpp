#include "support/Spelling.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace nereid::support {

namespace {

constexpr size_t longest = 64; // the cost is quadratic

// Insertions, deletions, replacements and swaps of neighbours.
unsigned distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> before, above, row(b.size() + 1);
  for (unsigned j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (unsigned i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (unsigned j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

} // namespace

Spelling::Spelling(std::string_view name) : name(name), edits(1 + unsigned(name.size()) / 3) {}

void Spelling::consider(std::string_view candidate) {
  if (name.size() >= longest || candidate.size() >= longest)
    return;
  unsigned found = distance(name, candidate);
  if (found < edits && found > 0) {
    closest = candidate;
    edits = found;
  }
}

std::string Spelling::hint() const {
  return closest.empty() ? "" : "did you mean `" + closest + "`?";
}

} // namespace nereid::support
