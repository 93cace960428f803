#include "launch/DiskCache.h"

#include "support/Knobs.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace nereid::launch {

namespace fs = std::filesystem;
using support::Artifact;
using support::Hash128;

namespace {
constexpr std::string_view ending = ".nka";
constexpr std::string_view temporaryEnding = ".tmp";
// No writer takes that long, so its temporary file belongs to nobody.
constexpr auto abandonedAfter = std::chrono::hours(1);
// Reading refreshes the time of a file only so often.
constexpr auto refreshAfter = std::chrono::hours(24);

bool writeAll(int file, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes = bytes.subspan(size_t(written));
  }
  return true;
}
} // namespace

DiskCache::DiskCache(std::string_view directories, uint64_t bound) : bound(bound) {
  const std::string version = "v" + std::to_string(support::artifactVersion);
  root = written(directories);
  if (!root.empty())
    root /= version;
  for (size_t end; (end = directories.find(':')) != std::string_view::npos;
       directories.remove_prefix(end + 1))
    if (end)
      layers.push_back(fs::path(directories.substr(0, end)) / version);
}

fs::path DiskCache::written(std::string_view directories) {
  return directories.substr(directories.rfind(':') + 1);
}

uint64_t DiskCache::defaultBound() {
  int64_t megabytes = support::knobs().cacheMegabytes;
  return megabytes > 0 ? uint64_t(megabytes) << 20 : UINT64_MAX;
}

std::string DiskCache::defaultDirectories() {
  if (!support::knobs().cacheDirectory.empty())
    return support::knobs().cacheDirectory;
  // The convention of the XDG base directories, which is no knob of ours.
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return std::string(cache) + "/nereid";
  if (const char *home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.cache/nereid";
  return {};
}

namespace {
// Folders of 1/256 each keep directories short.
fs::path fileOf(const fs::path &root, const Hash128 &key) {
  std::string name = key.hex();
  return root / name.substr(0, 2) / (name + std::string(ending));
}
} // namespace

std::optional<Artifact> DiskCache::find(const Hash128 &key) {
  for (const fs::path &layer : layers)
    if (auto artifact = Artifact::map(fileOf(layer, key).string());
        artifact && artifact->kernel().key == key)
      return *std::move(artifact);
  if (root.empty())
    return std::nullopt;
  fs::path path = fileOf(root, key);
  // While the file is open nothing else gets its number, so below we know whether it was replaced.
  struct Open {
    int file;
    ~Open() {
      if (file >= 0)
        ::close(file);
    }
  } open{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat before, after;
  if (open.file < 0 || ::fstat(open.file, &before) != 0)
    return std::nullopt;
  auto artifact = Artifact::map(path.string());
  std::error_code failed;
  if (artifact && artifact->kernel().key == key) {
    auto now = fs::file_time_type::clock::now();
    if (auto used = fs::last_write_time(path, failed); !failed && now - used > refreshAfter)
      fs::last_write_time(path, now, failed);
    return *std::move(artifact);
  }
  // Another process may have removed or replaced it meanwhile; then it is only missing.
  if (::stat(path.c_str(), &after) != 0 || before.st_ino != after.st_ino)
    return std::nullopt;
  fs::remove(path, failed);
  damagedCount.fetch_add(1, std::memory_order_relaxed);
  return std::nullopt;
}

bool DiskCache::store(const Hash128 &key, std::span<const uint8_t> artifact) {
  auto write = [&] {
    if (root.empty())
      return false;
    fs::path path = fileOf(root, key);
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed)
      return false;
    keepBound(artifact.size());
    static std::atomic<uint64_t> counter = 0;
    fs::path temporary = path;
    temporary += "." + std::to_string(::getpid()) + "." + std::to_string(counter++) +
                 std::string(temporaryEnding);
    int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0)
      return false;
    bool written = writeAll(file, artifact);
    written &= ::close(file) == 0;
    if (written)
      fs::rename(temporary, path, failed);
    if (!written || failed) {
      fs::remove(temporary, failed);
      return false;
    }
    return true;
  };
  if (write())
    return true;
  notStoredCount.fetch_add(1, std::memory_order_relaxed);
  return false;
}

namespace {
// Each file below `root`. Others may add and remove files meanwhile.
template <typename Visit> void forEachFile(const fs::path &root, Visit visit) {
  std::error_code failed;
  for (fs::recursive_directory_iterator at(root, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    if (at->is_regular_file(gone) && !gone)
      visit(at->path());
  }
}
} // namespace

void DiskCache::removeLeftovers() {
  auto now = fs::file_time_type::clock::now();
  forEachFile(root, [&](const fs::path &path) {
    std::error_code failed;
    if (path.extension() == temporaryEnding &&
        now - fs::last_write_time(path, failed) > abandonedAfter && !failed)
      fs::remove(path, failed);
  });
}

std::vector<DiskCache::Entry> DiskCache::entries() const {
  std::vector<Entry> found;
  forEachFile(root, [&](const fs::path &path) {
    auto key = Hash128::fromHex(path.stem().string());
    std::error_code failed;
    if (path.extension() != ending || !key)
      return;
    Entry entry{path, *key, fs::file_size(path, failed), {}};
    if (!failed)
      entry.used = fs::last_write_time(path, failed);
    if (!failed)
      found.push_back(std::move(entry));
  });
  std::sort(found.begin(), found.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.used, a.key) < std::tie(b.used, b.key);
  });
  return found;
}

// Before `stored` bytes are written. What other processes store meanwhile is seen the next time.
void DiskCache::keepBound(uint64_t stored) {
  uint64_t left = room;
  while (left >= stored)
    if (room.compare_exchange_weak(left, left - stored))
      return;
  trim(bound - std::min(bound, bound / 8 + stored));
  room = bound / 8;
}

size_t DiskCache::trim(uint64_t bytes) {
  std::vector<Entry> all = entries();
  uint64_t total = 0;
  for (const Entry &entry : all)
    total += entry.bytes;
  size_t removed = 0;
  for (const Entry &entry : all) {
    if (total <= bytes)
      break;
    std::error_code failed;
    removed += fs::remove(entry.path, failed);
    total -= entry.bytes;
  }
  removeLeftovers();
  return removed;
}

size_t DiskCache::verify() {
  size_t removed = 0;
  for (const Entry &entry : entries())
    removed += !find(entry.key);
  return removed;
}

} // namespace nereid::launch
