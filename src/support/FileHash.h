// The hash of a file's contents, read once as long as the file stays as it is.
#pragma once

#include "support/Hash.h"

#include <filesystem>
#include <optional>

namespace nereid::support {

/// Nothing if the file cannot be read. What was read is remembered by the file's identity, size
/// and times, and only once the times are older than the clock of file systems is coarse: a file
/// that is written again meanwhile is read again. From any thread.
std::optional<Hash128> hashOfFile(const std::filesystem::path &path);

/// How often `hashOfFile` read a file, for tests.
uint64_t filesHashed();

} // namespace nereid::support
