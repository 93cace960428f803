// Swaps of swapped values are one swap.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace nereid::gpu {

/// A pair that is swapped by one condition and then by another is swapped once, by both. What a
/// sorting network does between its shuffles, where a lane's bit says which of two it keeps and
/// which came, and a comparison which of them is less:
///
///   low  = bit ? got : kept
///   high = bit ? kept : got
///   less = (low > high) ^ down ? high : low   =>   less = (kept > got) ^ down ? got : kept
///
/// A comparison of the two needs no order of them either where equal ones are the same bits; of
/// floats, whose order is not total, it is compared both ways. Requires code for one thread.
void foldSwaps(mlir::ModuleOp module);

} // namespace nereid::gpu
