// Loops of a few steps over elementwise work are written out.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::cpu {

/// Writes out loops of few and known steps that carry tiles and only load and compute:
///
///   for k in range(3):                   one loop over the tile, where `acc` stays in a register
///     acc += tl.load(x + i + k)          and what does not depend on k is computed once
///
/// Inner loops first. As a loop, each step would take all of the tile through memory.
void unrollSteps(mlir::FunctionOpInterface kernel);

} // namespace nereid::cpu
