#include "support/Table.h"

#include <algorithm>

namespace nereid::support {

std::string tableText(const std::vector<std::vector<std::string>> &rows, size_t numbersFrom,
                      size_t numbersTo) {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string pad(widths[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (i >= numbersFrom && i < numbersTo ? pad + row[i] : row[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

} // namespace nereid::support
