// Assertions that the interpreter makes and compiled code does not: an attribute of `tile.assert`.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace nereid::tile {

/// Names the diagnostic of a value that the source leaves undefined; compiled code computes with
/// zero in its place.
inline constexpr llvm::StringLiteral onlyCheckedAttr = "tile.only_checked";

} // namespace nereid::tile
