// Conversions that turn 16-bit elements over: what lies along the registers of a thread lies along
// lanes afterwards.
#pragma once

#include "gpu/Layouts.h"

namespace nereid::gpu {

/// How such a tile passes through shared memory as matrices of 8 x 8: threads write rows of 16
/// bytes, or parts of rows, as they have them in registers, and `ldmatrix.trans` gives each lane a
/// column.
///
///   from: registers 1, 2, 4 of dimension 0       a row: element 0-7 of dimension 0
///   to:   lane bits 2-4 are 1, 2, 4 of it        lane / 4: the column that it reads
struct TurnedMatrices {
  /// Nothing unless elements that are neighbours in registers before go to lanes in that way.
  static std::optional<TurnedMatrices> of(const LinearLayout &from, const LinearLayout &to);

  unsigned vector;   ///< elements that a thread writes at once
  unsigned matrices; ///< that an instruction reads
  int64_t bytes;     ///< of the tile
  /// By place of the writers, and of the rows that lanes name for one instruction: how many bytes
  /// from the start an element lies, but for what `swizzle` adds to that without carry.
  LinearLayout writers, readers, writerSwizzle, readerSwizzle;
};

} // namespace nereid::gpu
