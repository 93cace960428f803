// Programs that take one tile after the other.
#pragma once

#include "mlir/IR/Operation.h"

namespace nereid::gpu {

/// True if a loop around `op` walks from the program's place in the grid on, past the places of
/// others, as in
///
///   for tile in range(tl.program_id(0), tiles, PROGRAMS):
///     for step: ...
///
/// Such a kernel is launched with as many programs as there are multiprocessors, whatever fits one:
/// no other program covers for what a step waits for.
bool walksGrid(mlir::Operation *op);

} // namespace nereid::gpu
