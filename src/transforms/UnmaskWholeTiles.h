// Programs whose offsets all lie below their bound run without the mask that compares them.
#pragma once

#include "mlir/Pass/Pass.h"

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace nereid::transforms {

/// On an scf.if: its else region is for the programs at the end.
inline constexpr llvm::StringLiteral wholeTilesAttr = "tile.whole_tiles";

/// Where nothing is known of a bound (rows of 1001 numbers, an argument that nobody specialises
/// on), a mask may end between any two elements, and each of them is accessed alone. In all
/// programs but the last it ends nowhere:
///
///   m = splat(s) + range < splat(n)        m = ...
///   load p mask m                     ->   if s + first < s + last < n:  load p
///   ...                                        ...
///                                          else:  load p mask m
///                                              ...
///
/// Of kernels without loops, from the first access on, and only if it widens one. The branch has
/// the attribute `wholeTilesAttr`.
std::unique_ptr<mlir::Pass> createUnmaskWholeTilesPass();

} // namespace nereid::transforms
