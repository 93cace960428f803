// Rows of words as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nereid::support {

/// A line for each row, columns two spaces apart and as wide as their widest word: on the left, and
/// in columns `numbersFrom` to `numbersTo` - 1 on the right.
std::string tableText(const std::vector<std::vector<std::string>> &rows, size_t numbersFrom,
                      size_t numbersTo = SIZE_MAX);

} // namespace nereid::support
