#include "gpu/ProductLayouts.h"

#include "gpu/LayoutFlow.h"
#include "gpu/Layouts.h"
#include "gpu/Rings.h"

using namespace mlir;

namespace nereid::gpu {

std::optional<ProductKind> tensorCoreKind(tile::DotOp dot, const target::GpuChip &chip) {
  Type left = tile::elementType(dot.getLhs().getType()),
       right = tile::elementType(dot.getRhs().getType()), sum = tile::elementType(dot.getType());
  if (left.isInteger(8) && right.isInteger(8) && sum.isInteger(32)) {
    StringRef name = dot.getIsUnsigned() ? "u8" : "s8";
    return ProductKind{name, name, "s32", 1};
  }
  if (left.isF16() && right.isF16() && (sum.isF16() || sum.isF32()))
    return ProductKind{"f16", "f16", sum.isF16() ? "f16" : "f32", 2};
  if (!sum.isF32())
    return std::nullopt;
  if (left.isBF16() && right.isBF16() && chip.can(target::Bf16Mma))
    return ProductKind{"bf16", "bf16", "f32", 2};
  if (left.isF32() && right.isF32() && dot.getPrecision() == tile::InputPrecision::TF32 &&
      chip.can(target::Bf16Mma))
    return ProductKind{"tf32", "tf32", "f32", 4};
  auto fp8 = [](Type type) -> StringRef {
    return type.isFloat8E4M3FN() ? "e4m3" : type.isFloat8E5M2() ? "e5m2" : "";
  };
  if (!fp8(left).empty() && !fp8(right).empty() && chip.can(target::Fp8Mma))
    return ProductKind{fp8(left), fp8(right), "f32", 1};
  return std::nullopt;
}

ProductLayouts::ProductLayouts(FunctionOpInterface kernel, const target::GpuChip &chip,
                               unsigned warps)
    : chip(chip), warps(warps),
      origins(nearestOrigins(kernel, [](Operation *op) { return isa<tile::DotOp>(op); })) {}

// True if a right operand is the block of a descriptor, whose rows lie along K.
static bool liesAlongDepth(Value operand) {
  auto source = untransposed(operand);
  return source && source->second && source->first.getDefiningOp<tile::DescLoadOp>();
}

Product ProductLayouts::of(tile::DotOp dot) const {
  auto a = tile::shapeOf(dot.getLhs().getType()), c = tile::shapeOf(dot.getRhs().getType()),
       out = tile::shapeOf(dot.getType());
  auto kind = tensorCoreKind(dot, chip);
  if (kind && out.size() == 2 && chip.can(target::Wgmma)) {
    bool mayBeNarrow = liesAlongDepth(dot.getRhs());
    if (auto lhs = wgmmaLhs(a, out[1], warps, kind->bytes, mayBeNarrow)) {
      LinearLayout sum = *wgmmaAccumulator(out, warps, mayBeNarrow);
      if (!dot->hasAttr(rowsTogetherAttr))
        return {"wgmma", lhs, std::nullopt, sum};
      IndexOrder order = orderTogether(*lhs, 0);
      return {"wgmma", inOrder(*lhs, 0, order), std::nullopt, inOrder(sum, 0, order)};
    }
  }
  if (kind && out.size() == 2) {
    auto sum = mmaAccumulator(out, warps);
    auto lhs = mmaLhs(a, out[1], warps, kind->bytes);
    auto rhs = mmaRhs(c, out[0], warps, kind->bytes);
    if (sum && lhs && rhs) {
      for (auto [dim, attribute, operand] :
           {std::tuple(0u, rowsTogetherAttr, &lhs), {1u, columnsTogetherAttr, &rhs}})
        if (dot->hasAttr(attribute)) {
          IndexOrder order = orderTogether(**operand, dim);
          *operand = inOrder(**operand, dim, order);
          sum = inOrder(*sum, dim, order);
        }
      return {"mma", lhs, rhs, *sum};
    }
  }
  return {"fma", std::nullopt, std::nullopt, fmaAccumulator(out, warps)};
}

std::optional<unsigned> ProductLayouts::depthOfWords(Operation *op) const {
  auto load = dyn_cast<tile::LoadOp>(op);
  if (!load || tile::shapeOf(load.getType()).size() != 2)
    return std::nullopt;
  std::optional<unsigned> depth;
  bool agree = true;
  auto visit = [&](auto &self, Value tile, bool isTransposed) -> void {
    for (OpOperand &use : tile.getUses()) {
      if (auto trans = dyn_cast<tile::TransOp>(use.getOwner())) {
        self(self, trans.getResult(), isTransposed ^ (trans.getPerm()[0] == 1));
        continue;
      }
      auto dot = dyn_cast<tile::DotOp>(use.getOwner());
      if (!dot || use.getOperandNumber() > 1 || of(dot).instruction != "wgmma" ||
          tensorCoreKind(dot, chip)->bytes != 4 ||
          (use.getOperandNumber() == 0 && dot->hasAttr(rowsTogetherAttr))) {
        agree = false;
        continue;
      }
      unsigned own = (1 - use.getOperandNumber()) ^ unsigned(isTransposed);
      agree &= depth.value_or(own) == own;
      depth = own;
    }
  };
  visit(visit, load.getResult(), false);
  return agree ? depth : std::nullopt;
}

std::optional<LinearLayout> ProductLayouts::behind(Value tile) const {
  if (Operation *dot = origins.lookup(tile))
    return of(cast<tile::DotOp>(dot)).sum;
  return std::nullopt;
}

std::optional<LinearLayout> ProductLayouts::metBy(Value tile) {
  constexpr unsigned farthest = 256; // ops; the search is recursive
  return metBy(tile, farthest);
}

std::optional<LinearLayout> ProductLayouts::metBy(Value tile, unsigned depth) {
  auto [known, isNew] = meetings.try_emplace(tile); // null while it is looked for
  if (!isNew || !depth)
    return known->second;
  std::optional<LinearLayout> found = findMeeting(tile, depth);
  return meetings[tile] = found;
}

std::optional<LinearLayout> ProductLayouts::findMeeting(Value tile, unsigned depth) {
  for (OpOperand &use : tile.getUses()) {
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<tile::DotOp>(user)) {
      if (use.getOperandNumber() == 2)
        return of(dot).sum;
    } else if (auto trans = dyn_cast<tile::TransOp>(user)) {
      if (auto layout = metBy(trans.getResult(), depth - 1))
        return backward(user, 0, *layout, 0);
    } else if (user->hasTrait<OpTrait::Elementwise>()) {
      for (Value operand : user->getOperands())
        if (operand != tile)
          if (auto layout = behind(operand))
            return layout;
      if (auto layout = metBy(user->getResult(0), depth - 1))
        return layout;
    }
  }
  return std::nullopt;
}

} // namespace nereid::gpu
