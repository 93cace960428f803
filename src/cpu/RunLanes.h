// Lanes that follow each other though only the numbers of a launch tell: what an index is split
// into by divisions, row and column of the n-th element.
//
//   r = n % d    adjacent lanes, unless a multiple of d lies between the first and the last
//   q = n // d   one number, as long
//   p + q * s + r, p + (q % m) * s + r % w, ...
//
// Divisions of two lanes tell, and are cheaper than those of all.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

struct Run {
  int64_t step;          ///< from lane to lane, in elements
  mlir::Value condition; ///< true if it is so; null if it always is
};

/// Nothing if no such test tells.
std::optional<Run> findRun(LaneEmitter &emitter, mlir::Value tile, const Lanes &where);

/// Both conditions; either may be null.
mlir::Value bothHold(LaneEmitter &emitter, mlir::Value a, mlir::Value b);
/// The last lane alone.
Lanes lastOf(LaneEmitter &emitter, const Lanes &where);
/// True if the last of `width` lanes is where the first one and the step put it.
mlir::Value endsMeet(LaneEmitter &emitter, mlir::Value first, mlir::Value last, int64_t step,
                     int64_t width);

} // namespace nereid::cpu
