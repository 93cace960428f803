// Stores that keep some lanes of a row, one after the other: each goes to the place that its mask's
// running count says.
//
//   at = base + cumsum(mask) - mask        store y + at, x, mask
//
// The lanes of a vector that are on are adjacent in memory, so they are brought together in a
// register.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

/// How the places of a store count its mask.
struct Compaction {
  bool isInclusive; ///< the count of a lane holds itself
};

/// Nothing if the store does something else, or if the processor has no instruction for it.
std::optional<Compaction> compactionOf(tile::StoreOp store, const LaneEmitter &emitter);

/// Stores the lanes at `where` of which `mask` is true.
void storeCompact(tile::StoreOp store, Compaction compaction, const Lanes &where, mlir::Value value,
                  mlir::Value mask, LaneEmitter &emitter);

} // namespace nereid::cpu
