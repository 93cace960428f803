// What ops of the dialect are without being run: of splats and scalars alone, since a tile of a
// million elements is never spelled out.
#include "ir/TileOps.h"

#include "llvm/ADT/Sequence.h"

#include <optional>

using namespace mlir;

namespace nereid::tile {

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  if (auto value = dyn_cast_or_null<TypedAttr>(adaptor.getSource()))
    if (isa<IntegerAttr, FloatAttr>(value))
      return DenseElementsAttr::get(cast<ShapedType>(getResult().getType()), Attribute(value));
  return {};
}
// A shape op on a splat constant gives the same constant under another shape.
static OpFoldResult reshapeSplat(Attribute source, Type type) {
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(source); dense && dense.isSplat())
    return DenseElementsAttr::get(cast<ShapedType>(type), dense.getSplatValue<Attribute>());
  return {};
}
OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  return reshapeSplat(adaptor.getSource(), getResult().getType());
}
OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return reshapeSplat(adaptor.getSource(), getResult().getType());
}
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType() && !getReorder())
    return getSource();
  return reshapeSplat(adaptor.getSource(), getResult().getType());
}
OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  auto perm = getPerm();
  if (llvm::equal(perm, llvm::seq<int32_t>(0, perm.size())))
    return getSource();
  return reshapeSplat(adaptor.getSource(), getResult().getType());
}
OpFoldResult BitcastOp::fold(FoldAdaptor adaptor) {
  Type type = getResult().getType(), element = elementType(type);
  if (getSource().getType() == type)
    return getSource();
  if (auto before = getSource().getDefiningOp<BitcastOp>();
      before && before.getSource().getType() == type)
    return before.getSource();
  // The bits of a constant: a scalar, or every element of a tile.
  Attribute constant = adaptor.getSource();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(constant))
    constant = dense.isSplat() ? dense.getSplatValue<Attribute>() : Attribute();
  std::optional<APInt> bits;
  if (auto integer = dyn_cast_or_null<IntegerAttr>(constant))
    bits = integer.getValue();
  else if (auto real = dyn_cast_or_null<FloatAttr>(constant))
    bits = real.getValue().bitcastToAPInt();
  if (!bits || !element.isIntOrFloat())
    return {};
  Attribute value;
  if (auto real = dyn_cast<FloatType>(element))
    value = FloatAttr::get(real, APFloat(real.getFloatSemantics(), *bits));
  else
    value = IntegerAttr::get(element, *bits);
  if (auto tile = dyn_cast<RankedTensorType>(type))
    return DenseElementsAttr::get(tile, value);
  return value;
}

// Of a scalar or of a tile whose elements are the same.
static std::optional<APInt> constantOf(Attribute attr) {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attr))
    return integer.getValue();
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr); dense && dense.isSplat())
    return dense.getSplatValue<APInt>();
  return std::nullopt;
}
static Attribute attributeOf(Type type, const APInt &value) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return DenseElementsAttr::get(tensor, value);
  return IntegerAttr::get(type, value);
}

// Folds a binary integer op over scalars or splats with `compute`.
template <typename F>
static OpFoldResult foldInts(Attribute lhs, Attribute rhs, Type type, F compute) {
  auto a = constantOf(lhs), b = constantOf(rhs);
  if (!a || !b)
    return {};
  return attributeOf(type, compute(*a, *b));
}

// x / 1 is x, x % 1 is 0: kernels have 1 as a constexpr, or as an argument that is known to be it.
template <typename Op, typename Adaptor, typename F>
static OpFoldResult foldDivision(Op op, Adaptor a, F compute) {
  if (auto divisor = constantOf(a.getRhs()); divisor && divisor->isOne()) {
    if constexpr (llvm::is_one_of<Op, DivSIOp, DivUIOp>::value)
      return op.getLhs();
    else
      return attributeOf(op.getType(), APInt::getZero(divisor->getBitWidth()));
  }
  return foldInts(a.getLhs(), a.getRhs(), op.getType(), compute);
}
OpFoldResult DivSIOp::fold(FoldAdaptor a) {
  return foldDivision(*this, a, [](const APInt &x, const APInt &y) {
    return y.isZero() ? APInt::getAllOnes(x.getBitWidth()) : x.sdiv(y);
  });
}
OpFoldResult DivUIOp::fold(FoldAdaptor a) {
  return foldDivision(*this, a, [](const APInt &x, const APInt &y) {
    return y.isZero() ? APInt::getAllOnes(x.getBitWidth()) : x.udiv(y);
  });
}
OpFoldResult RemSIOp::fold(FoldAdaptor a) {
  return foldDivision(*this, a,
                      [](const APInt &x, const APInt &y) { return y.isZero() ? x : x.srem(y); });
}
OpFoldResult RemUIOp::fold(FoldAdaptor a) {
  return foldDivision(*this, a,
                      [](const APInt &x, const APInt &y) { return y.isZero() ? x : x.urem(y); });
}
OpFoldResult ShLOp::fold(FoldAdaptor a) {
  return foldInts(a.getLhs(), a.getRhs(), getType(),
                  [](const APInt &x, const APInt &y) { return x.shl(y); });
}
OpFoldResult ShRSOp::fold(FoldAdaptor a) {
  return foldInts(a.getLhs(), a.getRhs(), getType(),
                  [](const APInt &x, const APInt &y) { return x.ashr(y); });
}
OpFoldResult ShRUOp::fold(FoldAdaptor a) {
  return foldInts(a.getLhs(), a.getRhs(), getType(),
                  [](const APInt &x, const APInt &y) { return x.lshr(y); });
}

} // namespace nereid::tile
