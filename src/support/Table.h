// Rows of words as text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nereid::support {

/// A line for each row, columns two spaces apart and as wide as their widest word: on the left, and
/// from column `numbersFrom` on on the right.
std::string tableText(const std::vector<std::vector<std::string>> &rows, size_t numbersFrom);

} // namespace nereid::support
