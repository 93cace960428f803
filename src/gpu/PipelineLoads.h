// Loads of a loop start ahead of the step that uses them.
#pragma once

#include "analysis/KernelFacts.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// In loops with products, loads that feed them go through rings in shared memory (cp.async, or
/// bulk copies of the blocks of descriptors, if `bulk`), as
/// many steps ahead as the loop's `num_stages` (else the module's) says and as `sharedBytes` have
/// room for; operands that a loop does not change are written to shared memory once, for several
/// loops together. Products of wgmma whose sums only the next step wants stay in flight into it.
///
///   for i: dot(load(p + i))     =>     copy(p + 0), copy(p + 1)
///                                      for i: wait for copy i; dot(slot i % 3); copy(p + i + 2)
///
/// Runs after layout assignment: a copy has the layout of its load. Leaves a loop that writes
/// global memory as it is. Gives how many bytes the rings of one loop take at most, with those of
/// all.
uint64_t pipelineLoads(mlir::FunctionOpInterface kernel, const target::GpuChip &chip,
                       unsigned warps, uint64_t sharedBytes, bool bulk);

} // namespace nereid::gpu
