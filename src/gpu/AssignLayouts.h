// From tile IR to level 2: every tensor gets a layout.
//
// Layouts are decided in this order:
//
// 1. Each product by its instruction (ProductLayouts.h; TurnProducts.h turns some over first).
// 2. Each memory access by what is contiguous in it and in others of its shape (AccessLayouts.h).
// 3. Then op by op in the order of the program. What costs little is emitted in each layout that is
//    wanted, other tiles are converted (TileVersions.h). An op lies as the operand that says most:
//    what comes of a product before others, those before masks; without one as the sums that it
//    will meet; else as accesses to tiles of its shape.
// 4. What a loop carries, and what a branch yields, as it will be computed inside.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// Replaces the kernel of the module by its level 2 form. Requires: verified tile IR, one kernel.
/// Ensures: every tensor has a layout of `warps` warps.
mlir::LogicalResult assignLayouts(mlir::ModuleOp module, const target::GpuChip &chip,
                                  unsigned warps);

/// Gives tile ops their layout transfer.
void registerLayoutModels(mlir::DialectRegistry &registry);

} // namespace nereid::gpu
