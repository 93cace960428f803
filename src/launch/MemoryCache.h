// Artifacts that this process built or read, by key, up to a number of bytes.
#pragma once

#include "support/Artifact.h"

#include <list>
#include <map>
#include <mutex>
#include <optional>

namespace nereid::launch {

/// Thread-safe. What was used longest ago goes first; an artifact that somebody else holds, such as
/// a loaded kernel, stays, since forgetting it would free nothing.
class MemoryCache {
public:
  explicit MemoryCache(uint64_t limit) : limit(limit) {}

  std::optional<support::Artifact> find(const support::Hash128 &key) {
    std::lock_guard lock(mutex);
    auto found = places.find(key);
    if (found == places.end())
      return std::nullopt;
    entries.splice(entries.end(), entries, found->second);
    return found->second->artifact;
  }

  /// Keeps the artifact; one that is there already stays.
  void keep(const support::Hash128 &key, const support::Artifact &artifact) {
    std::lock_guard lock(mutex);
    auto [place, isNew] = places.try_emplace(key);
    if (!isNew) {
      entries.splice(entries.end(), entries, place->second);
      return;
    }
    place->second = entries.insert(entries.end(), {key, artifact});
    held += artifact.bytes().size();
    for (auto entry = entries.begin(); held > limit && entry != entries.end();) {
      if (entry->artifact.isShared()) {
        ++entry;
        continue;
      }
      held -= entry->artifact.bytes().size();
      places.erase(entry->key);
      entry = entries.erase(entry);
    }
  }

  uint64_t bytes() const {
    std::lock_guard lock(mutex);
    return held;
  }

private:
  struct Entry {
    support::Hash128 key;
    support::Artifact artifact;
  };
  const uint64_t limit;
  mutable std::mutex mutex;
  std::list<Entry> entries; // the longest unused first
  std::map<support::Hash128, std::list<Entry>::iterator> places;
  uint64_t held = 0;
};

} // namespace nereid::launch
