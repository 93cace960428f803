#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::cpu {

/// Turns over the tiles of stores whose elements are adjacent in memory along another dimension
/// than the last, with what is computed for them, so that loops run along the rows of the tile:
///
///   store y + (r[:, None] + c[None, :] * n), exp(v)
///   ==>  store y + (r[None, :] + c[:, None] * n), exp(trans v)
///
/// A product that is stored so, and whose left operand lies scattered along K as the pixels of
/// channels do, becomes that of its turned operands.
///
/// Runs before the plan, which decides how what then lies across is read.
void orientStores(mlir::FunctionOpInterface kernel);

} // namespace nereid::cpu
