#include "support/ReadFile.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace nereid::support {

Result<std::string> readFile(const std::filesystem::path &path, uint64_t most) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    return Error{"`" + path.string() + "` is a directory", {}};
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    int reason = errno;
    return Error{"cannot read `" + path.string() +
                     "`: " + std::generic_category().message(reason ? reason : EIO),
                 {}};
  }
  std::string bytes;
  constexpr uint64_t least = 64 << 10;
  // Pipes and files of /proc do not know their size; the others are read at once.
  uint64_t expected = std::filesystem::file_size(path, failed);
  uint64_t chunk = failed ? least : std::max(least, std::min(expected, most) + 1);
  while (in) {
    if (bytes.size() > most)
      return Error{"`" + path.string() + "` has more than " + std::to_string(most) + " bytes", {}};
    size_t before = bytes.size();
    try {
      bytes.resize(before + chunk);
    } catch (std::exception &) {
      return Error{"no memory for `" + path.string() + "`", {}};
    }
    in.read(bytes.data() + before, std::streamsize(chunk));
    bytes.resize(before + size_t(in.gcount()));
    chunk = std::max<uint64_t>(least, bytes.size() / 2);
  }
  if (bytes.size() > most)
    return Error{"`" + path.string() + "` has more than " + std::to_string(most) + " bytes", {}};
  return bytes;
}

} // namespace nereid::support
