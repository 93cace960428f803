// How a kernel's floating-point operations may be rounded: unit attributes on its module.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace nereid::tile {

/// `enable_fp_fusion=False`: products and sums are not contracted (docs/numerics.md).
inline constexpr llvm::StringLiteral noFpFusionAttr = "tile.no_fp_fusion";
/// `enable_reflect_ftz=False`: `exp2` keeps results below the least normal number.
inline constexpr llvm::StringLiteral noReflectFtzAttr = "tile.no_reflect_ftz";

} // namespace nereid::tile
