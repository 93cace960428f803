// How a kernel's floating-point operations may be rounded: unit attributes on its module, or on an
// operation.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace nereid::tile {

/// `enable_fp_fusion=False`: products and sums are not contracted (docs/numerics.md).
inline constexpr llvm::StringLiteral noFpFusionAttr = "tile.no_fp_fusion";
/// `enable_reflect_ftz=False`: `exp2`, roots and quick functions keep numbers below the least
/// normal one.
inline constexpr llvm::StringLiteral noReflectFtzAttr = "tile.no_reflect_ftz";

/// On the `minnumf` of a `tl.clamp`: its lower bound is not above the upper one, and either of them
/// is what a NaN becomes.
inline constexpr llvm::StringLiteral clampAttr = "tile.clamp";

} // namespace nereid::tile
