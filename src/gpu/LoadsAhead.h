// Loads that go through no ring start steps ahead, in registers.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Loads of an innermost loop start in steps before theirs and wait in registers, where their
/// addresses come of the step's number, of values from outside and of sums of such that steps
/// carry:
///
///   for i: f(load(p + i))      =>      x = load(p + 0)
///                                      for i: next = load(p + i + 1); f(x); x = next
///
/// Or of loads whose addresses come so (a page table, numbers of rows), which then start one step
/// before those that wait for them:
///
///   for i: f(load(p + load(t + i)))    =>      x = load(p + load(t + 0)), at = load(t + 1)
///                                              for i: next = load(p + at); at = load(t + i + 2)
///                                                     f(x); x = next
///
/// With several steps under way so many stand in a row in the loop, so that what waits stays in its
/// registers: to move it to others is to wait for its load.
///
/// In a loop with products those that feed one and are no copies (scales, indices, zero points:
/// narrower than a copy) start one step ahead, and so do a few numbers that a carried state is
/// computed with (gates), if registers have room for all of them. In a loop without, all do,
/// `num_stages - 1` steps ahead where it says `num_stages` itself (`tl.range`), as far as
/// `mostBytesAhead` of a thread and `mostInstructionsAhead` go, and one step ahead where few are
/// loaded and a step reduces what the one before it gave; single numbers with the tiles. As Triton
/// does, this takes the author's word that a step reads nothing that a step before it stores
/// through another argument; loads of an argument that the loop writes stay where they are, and so
/// do all loads of a loop that waits for others or writes who knows where.
///
/// Runs after `pipelineLoads`.
void startLoadsAhead(mlir::FunctionOpInterface kernel, unsigned warps);

inline constexpr unsigned mostBytesAhead = 128;
inline constexpr unsigned mostInstructionsAhead = 2048; ///< of the steps in a row
inline constexpr unsigned mostBytesForState = 32;       ///< of a thread, a load beside products

/// Of a thread, for sums and for what waits; operands and addresses take the others.
inline constexpr unsigned mostRegistersWithProducts = 160;

} // namespace nereid::gpu
