// What `check` remembers of each element of memory: who wrote it and who read it last, in time that
// programs of the grid measure against each other with vector clocks.
//
//   program 0:  store x      clock 1 of program 0
//               release f    f remembers {0: 1}, program 0 goes on at clock 2
//   program 1:  acquire f    program 1 knows {0: 1}
//               load x       written at 1 <= 1: ordered.   Without the acquire: a race
//
// Programs that never synchronise know nothing of each other, so a clock is a short sorted list and
// most are empty.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace nereid::ref {

/// How far a program knows the others to have come.
class VectorClock {
public:
  uint32_t of(uint32_t program) const;
  void set(uint32_t program, uint32_t clock);
  /// Learns what `other` knows; true if that was new.
  bool join(const VectorClock &other);
  void clear() { entries.clear(); }
  bool empty() const { return entries.empty(); }

private:
  std::vector<std::pair<uint32_t, uint32_t>> entries; ///< program, clock; by program
};

/// One access to an element of memory. Programs count from 1, so that 0 is no access.
struct Touch {
  uint32_t program = 0;
  uint32_t clock = 0;
  uint32_t site = 0;    ///< of Checker::sites
  uint32_t element = 0; ///< of the tile accessed
  explicit operator bool() const { return program != 0; }
};

/// The last plain write to an element, and reads since: one, one by another program, and one by
/// another thread of the program that `read` is by.
struct Cell {
  Touch write, read, otherRead, siblingRead;
  bool isAtomic = false; ///< there is an AtomicCell too
};

/// The last atomic to an element, one before it by another program, and what an acquire of it
/// learns.
struct AtomicCell {
  Touch last, other;
  std::shared_ptr<const VectorClock> released;
};

/// The cells of one region, made in pages when first touched. A cell is an element of the region's
/// data type until an access does not fit that grid; from then on it is a byte.
class RegionShadow {
public:
  explicit RegionShadow(unsigned elementBytes) : grain(elementBytes) {}

  /// Bytes of a cell, after an access of `size` bytes at `offset`, which may make it smaller.
  unsigned grainFor(uint64_t offset, unsigned size) {
    if (grain != 1 && (offset % grain != 0 || size % grain != 0))
      splitToBytes();
    return grain;
  }
  Cell &cell(uint64_t index) {
    uint64_t page = index / pageCells;
    if (page >= pages.size())
      pages.resize(page + 1);
    if (!pages[page])
      pages[page] = std::make_unique<Cell[]>(pageCells);
    return pages[page][index % pageCells];
  }
  /// Whether a plain store or an atomic has reached one of `bytes` bytes at `offset`.
  bool isStored(uint64_t offset, unsigned bytes) const;
  AtomicCell &atomic(uint64_t index) { return atomics[index]; }

private:
  static constexpr unsigned pageCells = 256;
  void splitToBytes();

  unsigned grain;
  std::vector<std::unique_ptr<Cell[]>> pages;
  llvm::DenseMap<uint64_t, AtomicCell> atomics;
};

} // namespace nereid::ref
