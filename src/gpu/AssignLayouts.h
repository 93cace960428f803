// From tile IR to level 2: every tensor gets a layout.
//
// Memory accesses and products ask for layouts of their own, other ops take that of an operand.
// Tiles that cost little (ranges, constants, what is computed from them) are computed again in each
// layout that is wanted; other tiles are converted.
#pragma once

#include "gpu/TileGpu.h"
#include "mlir/IR/BuiltinOps.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// On a dot: which instruction computes it, "wgmma", "mma" (mma.sync) or "fma".
inline constexpr llvm::StringLiteral instructionAttr = "tilegpu.instruction";

/// On a dot of wgmma: how many products may be in flight behind it; none without.
inline constexpr llvm::StringLiteral pendingAttr = "tilegpu.pending";

/// On a dot on words: its left operand lies along M in its slot, its right one along N, so rows or
/// columns of its fragments and of its sum are in the order of `orderTogether`
/// (gpu/TurnProducts.h).
inline constexpr llvm::StringLiteral rowsTogetherAttr = "tilegpu.rows_together";
inline constexpr llvm::StringLiteral columnsTogetherAttr = "tilegpu.columns_together";

/// The types of a product on tensor cores, as PTX spells them, and the bytes of an operand's
/// element.
struct ProductKind {
  llvm::StringRef lhs, rhs, sum;
  unsigned bytes;
};
/// Null for operands that the chip's tensor cores do not take.
std::optional<ProductKind> tensorCoreKind(tile::DotOp dot, const target::GpuChip &chip);

/// Replaces the kernel of the module by its level 2 form. Requires: verified tile IR, one kernel.
/// Ensures: every tensor has a layout of `warps` warps.
mlir::LogicalResult assignLayouts(mlir::ModuleOp module, const target::GpuChip &chip,
                                  unsigned warps);

/// Gives tile ops their layout transfer.
void registerLayoutModels(mlir::DialectRegistry &registry);

} // namespace nereid::gpu
