// Files as bytes, with a bound on what is read.
#pragma once

#include "nereid/base.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace nereid::support {

/// No source is longer; a device or a pipe without end is refused here.
inline constexpr uint64_t largestSource = 16 << 20;

/// The bytes of a file that has no more than `most`; the error names it.
Result<std::string> readFile(const std::filesystem::path &path, uint64_t most);

} // namespace nereid::support
