#include "support/Spelling.h"

#include <algorithm>
#include <vector>

namespace nereid::support {

namespace {

constexpr size_t longest = 64; // the cost is quadratic

unsigned distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> row(b.size() + 1);
  for (unsigned j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (unsigned i = 1; i <= a.size(); ++i) {
    unsigned diagonal = row[0];
    row[0] = i;
    for (unsigned j = 1; j <= b.size(); ++j) {
      unsigned above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
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
