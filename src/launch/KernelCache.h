// Keys to prepared kernels: open addressing, readers that take no lock and allocate nothing.
#pragma once

#include "launch/LaunchKey.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace nereid::launch {

/// Maps a LaunchKey to a `Value` that lives as long as the cache, replaced or not.
template <typename Value> class KernelCache {
public:
  KernelCache() { publish(16); }

  /// The value, or null. Any number of threads.
  Value *find(const LaunchKey &key) const {
    const Table &table = *current.load(std::memory_order_acquire);
    for (size_t i = key.hash() & table.mask;; i = (i + 1) & table.mask) {
      Entry *entry = table.slots[i].load(std::memory_order_acquire);
      if (!entry)
        return nullptr;
      if (entry->key == key) {
        if (entry->value.get() != recent.load(std::memory_order_relaxed))
          recent.store(entry->value.get(), std::memory_order_release);
        return entry->value.get();
      }
    }
  }

  /// What was found last by any thread, or null.
  Value *found() const { return recent.load(std::memory_order_acquire); }

  /// Adds a value; if the key is there already, that one stays and is returned.
  Value &insert(const LaunchKey &key, std::unique_ptr<Value> value) {
    std::lock_guard lock(mutex);
    if (Value *there = find(key))
      return *there;
    entries.push_back(std::make_unique<Entry>(Entry{std::move(value), key}));
    // At most half full, so a probe ends soon. Readers may still walk the old table, so it stays.
    const Table &table = *tables.back();
    if (entries.size() * 2 > table.mask + 1)
      publish((table.mask + 1) * 2);
    else
      place(table, entries.back().get());
    recent.store(entries.back()->value.get(), std::memory_order_release);
    return *entries.back()->value;
  }

  /// Puts a value in the place of the one that is there; those who found that one may go on with
  /// it.
  Value &replace(const LaunchKey &key, std::unique_ptr<Value> value) {
    std::lock_guard lock(mutex);
    auto old = std::find_if(entries.begin(), entries.end(),
                            [&](const auto &entry) { return entry->key == key; });
    auto fresh = std::make_unique<Entry>(Entry{std::move(value), key});
    const Table &table = *tables.back();
    size_t i = key.hash() & table.mask;
    while (table.slots[i].load(std::memory_order_relaxed) != old->get())
      i = (i + 1) & table.mask;
    table.slots[i].store(fresh.get(), std::memory_order_release);
    recent.store(fresh->value.get(), std::memory_order_release);
    std::swap(*old, fresh);
    replaced.push_back(std::move(fresh));
    return *(*old)->value;
  }

  /// Calls `visit` with each value that is found.
  template <typename Visit> void forEach(Visit &&visit) const {
    std::lock_guard lock(mutex);
    for (const auto &entry : entries)
      visit(*entry->value);
  }

  size_t size() const {
    std::lock_guard lock(mutex);
    return entries.size();
  }

private:
  struct Entry {
    std::unique_ptr<Value> value; // in one cache line with the front of the key
    LaunchKey key;
  };
  struct Table {
    size_t mask;
    std::unique_ptr<std::atomic<Entry *>[]> slots;
  };

  void publish(size_t size) {
    auto table = std::make_unique<Table>();
    table->mask = size - 1;
    table->slots = std::make_unique<std::atomic<Entry *>[]>(size);
    for (const auto &entry : entries)
      place(*table, entry.get());
    tables.push_back(std::move(table));
    current.store(tables.back().get(), std::memory_order_release);
  }

  static void place(const Table &table, Entry *entry) {
    size_t i = entry->key.hash() & table.mask;
    while (table.slots[i].load(std::memory_order_relaxed))
      i = (i + 1) & table.mask;
    table.slots[i].store(entry, std::memory_order_release);
  }

  mutable std::atomic<Value *> recent = nullptr;
  std::atomic<const Table *> current = nullptr;
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Table>> tables; // the last one is in use
  std::vector<std::unique_ptr<Entry>> entries, replaced;
};

} // namespace nereid::launch
