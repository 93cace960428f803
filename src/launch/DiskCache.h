// Artifacts on disk, one file a key. Any number of processes use a directory at once.
//
// A file is written under a name of its own and renamed, so a reader sees all of it or nothing; a
// writer that dies leaves a temporary file, which a later one removes. What is read is checked
// (checksum, structure, key), and a damaged file is removed and counts as missing. A directory that
// cannot be written is no error: kernels are then only not kept. Directories that others filled, as
// an image of a container brings them, are read before it and never changed.
#pragma once

#include "support/Artifact.h"

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nereid::launch {

/// Thread-safe.
class DiskCache {
public:
  /// `directories` are separated by ':'; all but the last are only read. What is stored takes about
  /// `bound` bytes at most: beyond, what was unused longest goes.
  explicit DiskCache(std::string_view directories, uint64_t bound = UINT64_MAX);

  /// $NEREID_CACHE_DIR, else $XDG_CACHE_HOME/nereid, else ~/.cache/nereid; empty if there is none.
  static std::string defaultDirectories();
  /// The last of `directories`.
  static std::filesystem::path written(std::string_view directories);
  /// $NEREID_CACHE_MEGABYTES.
  static uint64_t defaultBound();

  /// The artifact with this key in its record, mapped; nothing if it is missing or damaged.
  std::optional<support::Artifact> find(const support::Hash128 &key);
  /// Writes an artifact that has `key` in its record. False if that is not possible.
  bool store(const support::Hash128 &key, std::span<const uint8_t> artifact);

  struct Entry {
    std::filesystem::path path;
    support::Hash128 key;
    uint64_t bytes = 0;
    std::filesystem::file_time_type used; ///< when it was written or, to a day, last read
  };
  /// What is there now, the longest unused first.
  std::vector<Entry> entries() const;
  /// Removes the longest unused until at most `bytes` are left; gives how many files went.
  size_t trim(uint64_t bytes);
  /// Reads everything and removes what is damaged; gives how many files went.
  size_t verify();

  const std::filesystem::path &directory() const { return root; }
  uint64_t damaged() const { return damagedCount.load(std::memory_order_relaxed); }
  uint64_t notStored() const { return notStoredCount.load(std::memory_order_relaxed); }

private:
  void keepBound(uint64_t stored);
  void removeLeftovers();

  // Of this version of the artifact.
  std::filesystem::path root;
  std::vector<std::filesystem::path> layers;
  const uint64_t bound;
  std::atomic<uint64_t> damagedCount = 0, notStoredCount = 0;
  std::atomic<uint64_t> room = 0; // bytes to be stored before what is there is looked at
};

} // namespace nereid::launch
