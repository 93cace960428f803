// Loads of a loop without products start steps ahead, in registers.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// In innermost loops without products that say `num_stages` themselves (`tl.range`), loads whose
/// addresses the step's number alone gives start `num_stages - 1` steps ahead and wait in
/// registers, as far as `mostBytesAhead` of a thread go; single numbers with the tiles:
///
///   for i: f(load(p + i))      =>      x = load(p + 0)
///                                      for i: next = load(p + i + 1); f(x); x = next
///
/// As Triton does, this takes the author's word that a step reads nothing that a step before it
/// stores through another argument; loads of an argument that the loop writes stay where they are,
/// and so do all loads of a loop that waits for others or writes who knows where. Runs after
/// layout assignment and before `pipelineLoads`.
void startLoadsAhead(mlir::FunctionOpInterface kernel, unsigned warps);

inline constexpr unsigned mostBytesAhead = 128;

} // namespace nereid::gpu
