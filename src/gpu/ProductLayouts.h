// Which instruction multiplies two tiles on a chip, how it wants operands and sum to lie, and which
// other tiles have to do with those sums.
#pragma once

#include "ir/LinearLayout.h"
#include "ir/TileOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "target/Gpu.h"

#include "llvm/ADT/DenseMap.h"

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

/// The instruction for a product, and the layouts that it wants: of its sum always, of an operand
/// where that makes a way through shared memory needless.
struct Product {
  llvm::StringRef instruction;
  std::optional<tile::LinearLayout> lhs, rhs;
  tile::LinearLayout sum;
};

/// The products of a kernel.
class ProductLayouts {
public:
  ProductLayouts(mlir::FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps);

  Product of(tile::DotOp dot) const;

  /// The dimension along K of what is loaded for products of wgmma alone, of which it takes
  /// elements of this size along K only.
  std::optional<unsigned> depthOfWords(mlir::Operation *load) const;

  /// The layout of the sums that a tile is computed of, element by element.
  std::optional<tile::LinearLayout> behind(mlir::Value tile) const;

  /// The layout of the sums that a tile meets, element by element, however far on: a dropout mask
  /// lies as the scores that it is for. In another layout it moved to them through shared memory,
  /// 54 stores a program for 6 and two barriers a step in attention with dropout.
  std::optional<tile::LinearLayout> metBy(mlir::Value tile);

private:
  std::optional<tile::LinearLayout> findMeeting(mlir::Value tile, unsigned depth);
  std::optional<tile::LinearLayout> metBy(mlir::Value tile, unsigned depth);

  const target::GpuChip &chip;
  unsigned warps;
  llvm::DenseMap<mlir::Value, mlir::Operation *> origins; // dots
  llvm::DenseMap<mlir::Value, std::optional<tile::LinearLayout>> meetings;
};

} // namespace nereid::gpu
