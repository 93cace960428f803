// What integers can be, by the ops that give them.
#pragma once

#include "mlir/IR/Value.h"

#include <cstdint>

namespace nereid::gpu {

/// Bounds of a number, or of each element of a tile, as its type reads it with a sign.
struct IntegerRange {
  int64_t least, most;

  bool isWithin(int64_t from, int64_t to) const { return from <= least && most <= to; }
  bool isNegative() const { return least < 0; } ///< or may be
};

/// The range of `value`, which is an integer or a tile of integers. Nothing is known of what is
/// loaded, carried by loops or passed to the kernel but its type.
///
///   (w >> s) & 15                 0 to 15
///   ((w >> s) & 15) - (z & 15)    -15 to 15
IntegerRange rangeOf(mlir::Value value);

} // namespace nereid::gpu
