// Loads one relocatable x86-64 ELF object into executable memory: what the CPU back end emits, what
// the cache holds and what a pack ships. A small linker for exactly that: one object, RELA
// relocations of few kinds, calls to the closed list of support/CpuSymbols.def and to nothing else.
//
// Memory is never writable and executable at a time. The input is not trusted: every offset, index
// and size in it is checked, and an object that asks for anything unusual (constructors, thread
// locals, unknown relocations, unknown symbols) is refused with its reason. Code that is loaded and
// run is trusted, of course.
#pragma once

#include "nereid/base.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace nereid::runtime {

/// Code in executable memory, unmapped with this object.
class LoadedObject {
public:
  /// `name` appears in messages and in the perf map only.
  static Result<LoadedObject> load(std::span<const uint8_t> object, std::string_view name);

  LoadedObject(LoadedObject &&other) noexcept { swap(other); }
  LoadedObject &operator=(LoadedObject &&other) noexcept {
    swap(other);
    return *this;
  }
  ~LoadedObject();

  /// The address of a global function, or null.
  void *symbol(std::string_view name) const;
  /// If `address` lies in executable code, its offset in the section that holds it: what a
  /// LineRecord counts from.
  bool codeOffset(const void *address, uint64_t &offset) const;

private:
  LoadedObject() = default;
  void swap(LoadedObject &other) noexcept;

  void *base = nullptr;
  size_t size = 0;
  std::map<std::string, void *, std::less<>> symbols;
  struct CodeRange {
    uintptr_t begin, end;
  };
  std::vector<CodeRange> code;

  friend class ObjectLinker;
};

/// Makes `perf` able to name kernels: later loads append to /tmp/perf-<pid>.map. Off at first.
void enablePerfMap(bool enable);

} // namespace nereid::runtime
