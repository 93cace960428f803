// Tiles that a loop carries and moves by one amount for all elements become a scalar offset.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace nereid::transforms {

///   for ... iter_args(p = init)        for ... iter_args(o = 0)
///     use(p)                             use(init + splat(o))
///     yield p + splat(step)              yield o + step
///
/// of pointers and integers, inner loops first; with `isWanted` those that begin as it says. A tile
/// that lives through a loop costs memory or registers, one that is computed where it is used often
/// nothing. Leaves the old values carried unchanged, for canonicalisation to drop.
void carryOffsets(mlir::FunctionOpInterface kernel,
                  llvm::function_ref<bool(mlir::Value)> isWanted = nullptr);

/// True of a tile of integers that is made of ranges, constants and numbers alone.
bool isMadeOfNumbers(mlir::Value tile);

} // namespace nereid::transforms
