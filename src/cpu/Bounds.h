// Between which numbers all elements of an index or pointer tile lie, by the arithmetic of
// intervals: what programs read and write need not be ranges of memory to be told apart.
//
//   p + n // d * s + n % d,  n from a to b      p + a // d * s  to  p + b // d * s + d - 1
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

/// True if bounds can be computed: all is made of ranges and scalars, nothing of what is loaded.
bool hasBounds(mlir::Value tile);

/// Addresses in bytes, of first bytes, or numbers; i64.
struct Bounds {
  mlir::Value low, high;
  mlir::Value hold; ///< i1: false where a number might wrap around
};
Bounds boundsOf(LaneEmitter &emitter, mlir::Value tile);

} // namespace nereid::cpu
