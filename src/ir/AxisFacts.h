// What is known about the integers (or addresses) in a tile, along each of its dimensions.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace nereid::tile {

/// Facts a dimension. A tile [0 1 2 3 | 8 9 10 11] of rank one has contiguity 4, divisibility 4
/// (of the first element of each run) and constancy 1. A scalar has rank 0 and uses
/// `scalarDivisibility`.
struct AxisFacts {
  llvm::SmallVector<int64_t, 4>
      contiguity; ///< values come in aligned runs of so many consecutive ones
  llvm::SmallVector<int64_t, 4>
      divisibility; ///< a power of two that divides the first value of each run
  llvm::SmallVector<int64_t, 4> constancy; ///< values come in aligned runs of so many equal ones
  int64_t scalarDivisibility = 1;
  std::optional<int64_t> constant; ///< the value, if all elements are known to be this one

  /// Nothing known about a tile of `rank` dimensions.
  static AxisFacts unknown(unsigned rank) {
    AxisFacts facts;
    facts.contiguity.assign(rank, 1);
    facts.divisibility.assign(rank, 1);
    facts.constancy.assign(rank, 1);
    return facts;
  }
};

} // namespace nereid::tile
