// What one loop of a program loads and a later one loads again stays on the chip.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Loops of one block that take the same steps, a loop for the statistics of a row and one that
/// writes it: a load of a later loop whose address in each step is that of an earlier one takes
/// what that had.
///
///   for i: a = load(p + i)         =>      for i: a = load(p + i); if i < kept: keep a
///   for i: b = load(p + i)                 for i: b = i < kept ? what was kept of step i : load(p
///   + i)
///
/// Each thread reads back what it wrote itself, so there is no barrier. How many steps have a place
/// in shared memory is known when registers are assigned: as many as cost no resident program.
/// Where the loops also load what all programs load (the weights of a norm), the first-level cache
/// is worth more: then the first step alone waits, in registers, if it takes 17 to 32 bytes of a
/// thread. It may well be the only one, as of a row that fits a tile. Loads of first steps then
/// have no lane, and what waits is what their masks leave out.
///
/// Memory order: between the two loads of an element nothing may wait for other programs (atomics,
/// assembly, loops that spin), and a store must write elsewhere. Where it does is compared while
/// the program runs, as a host may pass one tensor twice: the bytes of all steps of the store are
/// apart from those of the row, or the store is behind the later load in its loop, begins where the
/// row begins, and walks on with it without meeting an element twice (a gradient in place). If not,
/// nothing is kept.
///
/// Runs after layout assignment and before `pipelineLoads`.
void keepRows(mlir::FunctionOpInterface kernel, unsigned warps);

/// What of a step may wait in a thread's registers, in bytes.
inline constexpr unsigned mostBytesInRegisters = 32;

} // namespace nereid::gpu
