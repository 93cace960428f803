// What `tl.range` was asked for: attributes of the loop beside `numStagesAttr`. Unit attributes,
// but for the number of `unrollAttr`.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace nereid::tile {

/// On a loop over tiles: it may be one with the loop of steps inside, as what one tile writes the
/// next does not read.
inline constexpr llvm::StringLiteral flattenAttr = "tile.flatten";

// Notes tell that these change nothing.
inline constexpr llvm::StringLiteral unrollAttr = "tile.unroll"; ///< i32
inline constexpr llvm::StringLiteral warpSpecializeAttr = "tile.warp_specialize";

// Kept for whoever reads the IR.
inline constexpr llvm::StringLiteral disallowAccMultiBufferAttr = "tile.disallow_acc_multi_buffer";
inline constexpr llvm::StringLiteral disableLicmAttr = "tile.disable_licm";

} // namespace nereid::tile
