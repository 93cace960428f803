// Blocks of descriptors that a program loads outside of its loops.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// Lets the copy engine bring what a kernel of warp groups' products loads of descriptors where it
/// is in no loop: what the end of a program takes besides its sums.
///
///   x = desc_load a[i, j]        copy_bulk a[i, j] -> slot 0 of a ring
///   y = desc_load b[i, j]   =>   copy_bulk b[i, j] -> slot 0 of another one
///                                wait_bulk
///                                x = read_slot, y = read_slot
///
/// Threads that load such blocks check each vector, and each element of one that is not whole; and
/// a slot is read in any layout, so that nothing moves to where sums lie. Runs behind
/// `pipelineLoads`, whose rings are given back by then.
void loadBlocksInBulk(mlir::FunctionOpInterface kernel, const target::GpuChip &chip);

/// True if a block is loaded so, or would be were it in no loop.
bool loadsBlocksAlone(mlir::FunctionOpInterface kernel, const target::GpuChip &chip);

} // namespace nereid::gpu
