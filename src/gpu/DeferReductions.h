// Reductions of a loop's steps whose parts meet once, behind the loop.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Where each step of a loop reduces a tile and combines the result with what it carries, by one
/// operation that does both, threads carry what comes of their own elements. What lanes and warps
/// have is combined behind the loop: no shuffles and barriers in a step.
///
///   for .. (o = z)                              for .. (s = 0 : 4 x 8 x 64)
///     r = reduce(x : 64 x 64) axis 0 { + }  =>    t = reduce(reshape(x : 4 x 2 x 8 x 64)) axis 1
///     o' = o + r                                  s' = s + t
///                                               o = z + reduce(reshape(s : 32 x 64)) axis 0
///
/// (rows 8 apart are a thread's own). What only puts the result's elements elsewhere on the way (a
/// transposition, a repetition, a move between threads) goes behind the loop with them. As many
/// registers as before: the result was held by all threads that had a part. Sums of floats have
/// another order then, as `docs/numerics.md` leaves free. Requires level 2; inner loops come first,
/// so that what they leave behind them is deferred again by the loop around them.
void deferReductions(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
