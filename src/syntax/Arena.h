// The memory of one syntax tree: bump allocation, freed all at once with its module.
#pragma once

#include "syntax/Ast.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

namespace nereid::syntax {

class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() {
    for (void *slab : slabs)
      std::free(slab);
  }

  void *allocate(size_t size, size_t align) {
    uintptr_t at = (reinterpret_cast<uintptr_t>(next) + align - 1) & ~uintptr_t(align - 1);
    if (at + size > reinterpret_cast<uintptr_t>(limit))
      return allocateSlab(size);
    next = reinterpret_cast<char *>(at + size);
    return reinterpret_cast<void *>(at);
  }

  /// A new node; nodes are never destroyed, so they may own nothing.
  template <typename T> T *make() {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T();
  }

  template <typename T> Span<T> copy(const T *first, size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!count)
      return {};
    T *to = static_cast<T *>(allocate(sizeof(T) * count, alignof(T)));
    std::memcpy(static_cast<void *>(to), first, sizeof(T) * count);
    return {to, static_cast<uint32_t>(count)};
  }

  std::string_view copy(std::string_view text) {
    if (text.empty())
      return {};
    char *to = static_cast<char *>(allocate(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

private:
  static constexpr size_t SlabSize = 64 * 1024;

  void *allocateSlab(size_t size) {
    // A large request gets a slab of its own, so that the current one is not thrown away half full.
    bool large = size > SlabSize / 4;
    void *slab = std::malloc(large ? size : SlabSize);
    if (!slab)
      throw std::bad_alloc();
    slabs.push_back(slab);
    if (large)
      return slab;
    next = static_cast<char *>(slab) + size;
    limit = static_cast<char *>(slab) + SlabSize;
    return slab;
  }

  std::vector<void *> slabs;
  char *next = nullptr;
  char *limit = nullptr;
};

} // namespace nereid::syntax
