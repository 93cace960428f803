// How far the lanes of addresses stand apart, where only the running program tells.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

/// How far each lane is from the first: i64, addresses in bytes. Null if all are one. Numbers do
/// not wrap around within a vector, as in AxisAnalysis.
mlir::Value spread(LaneEmitter &emitter, mlir::Value tile, const Lanes &where);
/// True if all lanes are what is expected of them.
mlir::Value areEqual(LaneEmitter &emitter, mlir::Value numbers, mlir::Value expected);

/// True if the addresses follow each other. In a loop of the kernel that moves all lanes by one
/// amount a round, that is found for all vectors of the tile before the loop begins:
///
///   for tap in range(9):                     before: follow[i] for all vectors of rows, columns
///     load(p + (rows + dy) * s + columns + dx)       round: follow[i]
mlir::Value areAdjacent(LaneEmitter &emitter, mlir::Value pointers, const Lanes &where);
/// Emits what of that is the same in other rows here, in front of a loop over rows.
void prepareTest(LaneEmitter &emitter, mlir::Value pointers, const Lanes &where);

} // namespace nereid::cpu
