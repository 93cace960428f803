#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "ir/TileDialect.cpp.inc"
#include "ir/TileEnums.cpp.inc"
#include "ir/TileInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/TileOps.cpp.inc"

using namespace mlir;

namespace nereid::tile {

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/TileOps.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

unsigned bytesInMemory(Type element) {
  if (isa<PtrType>(element))
    return 8;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

// --- !tile.desc ---

Type DescType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element))
    return {};
  bool nan = succeeded(parser.parseOptionalComma());
  if (nan && parser.parseKeyword("nan"))
    return {};
  if (parser.parseGreater())
    return {};
  return DescType::get(parser.getContext(), shape, element, nan);
}

void DescType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t extent : getBlockShape())
    printer << extent << "x";
  printer << getElementType() << (getPaddingIsNan() ? ", nan>" : ">");
}

// --- memory ---

Value LoadOp::getAccessed() { return getPointer(); }
Value LoadOp::getAccessMask() { return getMask(); }
bool LoadOp::readsMemory() { return true; }
bool LoadOp::writesMemory() { return false; }
bool LoadOp::isAtomicAccess() { return false; }
Type LoadOp::getAccessElementType() { return elementType(getResult().getType()); }
void LoadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), GlobalMemory::get());
  // Nothing may remove, repeat or move a volatile load.
  if (getIsVolatile())
    effects.emplace_back(MemoryEffects::Write::get(), GlobalMemory::get());
}

Value StoreOp::getAccessed() { return getPointer(); }
Value StoreOp::getAccessMask() { return getMask(); }
bool StoreOp::readsMemory() { return false; }
bool StoreOp::writesMemory() { return true; }
bool StoreOp::isAtomicAccess() { return false; }
Type StoreOp::getAccessElementType() { return elementType(getValue().getType()); }

Value AtomicRMWOp::getAccessed() { return getPointer(); }
Value AtomicRMWOp::getAccessMask() { return getMask(); }
bool AtomicRMWOp::readsMemory() { return true; }
bool AtomicRMWOp::writesMemory() { return true; }
bool AtomicRMWOp::isAtomicAccess() { return true; }
Type AtomicRMWOp::getAccessElementType() { return elementType(getValue().getType()); }

Value AtomicCASOp::getAccessed() { return getPointer(); }
Value AtomicCASOp::getAccessMask() { return {}; }
bool AtomicCASOp::readsMemory() { return true; }
bool AtomicCASOp::writesMemory() { return true; }
bool AtomicCASOp::isAtomicAccess() { return true; }
Type AtomicCASOp::getAccessElementType() { return elementType(getValue().getType()); }

#define DESCRIPTOR_ACCESS(OP, READS, WRITES, ATOMIC)                                               \
  Value OP::getAccessed() { return getDesc(); }                                                    \
  Value OP::getAccessMask() { return {}; }                                                         \
  bool OP::readsMemory() { return READS; }                                                         \
  bool OP::writesMemory() { return WRITES; }                                                       \
  bool OP::isAtomicAccess() { return ATOMIC; }                                                     \
  Type OP::getAccessElementType() { return cast<DescType>(getDesc().getType()).getElementType(); }
DESCRIPTOR_ACCESS(DescLoadOp, true, false, false)
DESCRIPTOR_ACCESS(DescStoreOp, false, true, false)
DESCRIPTOR_ACCESS(DescReduceOp, true, true, true)
DESCRIPTOR_ACCESS(DescGatherOp, true, false, false)
DESCRIPTOR_ACCESS(DescScatterOp, false, true, false)
#undef DESCRIPTOR_ACCESS

void InlineAsmOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (getPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get(), GlobalMemory::get());
  effects.emplace_back(MemoryEffects::Write::get(), GlobalMemory::get());
}

// --- verifiers ---

static bool sameShape(Type a, Type b) { return shapeOf(a) == shapeOf(b); }

LogicalResult ArangeOp::verify() {
  auto shape = shapeOf(getResult().getType());
  if (shape.size() != 1 || int64_t(getEnd()) - int64_t(getStart()) != shape[0])
    return emitOpError("range does not fill its result");
  return success();
}
LogicalResult SplatOp::verify() {
  if (getSource().getType() != elementType(getResult().getType()))
    return emitOpError("element type differs from the source");
  return success();
}
LogicalResult UnsplatOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  if (source.getNumElements() != 1 || source.getElementType() != getResult().getType())
    return emitOpError("source is not a tile of one element of the result type");
  return success();
}
LogicalResult BroadcastOp::verify() {
  auto from = shapeOf(getSource().getType()), to = shapeOf(getResult().getType());
  if (from.size() != to.size())
    return emitOpError("ranks differ");
  for (auto [a, b] : llvm::zip(from, to))
    if (a != b && a != 1)
      return emitOpError("dimension of size ") << a << " cannot become " << b;
  return success();
}
LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getSource().getType()));
  if (getAxis() > shape.size())
    return emitOpError("axis out of range");
  shape.insert(shape.begin() + getAxis(), 1);
  if (ArrayRef<int64_t>(shape) != shapeOf(getResult().getType()))
    return emitOpError("result shape does not follow from the source");
  return success();
}
LogicalResult ReshapeOp::verify() {
  if (cast<RankedTensorType>(getSource().getType()).getNumElements() !=
      cast<RankedTensorType>(getResult().getType()).getNumElements())
    return emitOpError("element counts differ");
  return success();
}
LogicalResult TransOp::verify() {
  auto from = shapeOf(getSource().getType()), to = shapeOf(getResult().getType());
  auto perm = getPerm();
  SmallVector<bool> seen(from.size());
  if (perm.size() != from.size() || to.size() != from.size())
    return emitOpError("ranks differ");
  for (auto [i, p] : llvm::enumerate(perm)) {
    if (p < 0 || size_t(p) >= from.size() || seen[p] || to[i] != from[p])
      return emitOpError("not a permutation of the source's dimensions");
    seen[p] = true;
  }
  return success();
}
LogicalResult JoinOp::verify() {
  SmallVector<int64_t> shape(shapeOf(getLhs().getType()));
  shape.push_back(2);
  if (ArrayRef<int64_t>(shape) != shapeOf(getResult().getType()))
    return emitOpError("result shape does not follow from the operands");
  return success();
}
LogicalResult SplitOp::verify() {
  auto shape = shapeOf(getSource().getType());
  if (shape.back() != 2 || shape.drop_back() != shapeOf(getLhs().getType()) ||
      getLhs().getType() != getRhs().getType())
    return emitOpError("minor dimension is not of size two, or results do not follow from it");
  return success();
}
LogicalResult GatherOp::verify() {
  auto source = shapeOf(getSource().getType()), indices = shapeOf(getIndices().getType());
  if (source.size() != indices.size() || getAxis() >= source.size() ||
      indices != shapeOf(getResult().getType()))
    return emitOpError("shapes do not fit");
  for (size_t d = 0; d < source.size(); ++d)
    if (d != getAxis() && source[d] != indices[d])
      return emitOpError("source and indices differ in dimension ") << d;
  return success();
}
LogicalResult BitcastOp::verify() {
  Type from = elementType(getSource().getType()), to = elementType(getResult().getType());
  if (isa<PtrType>(from) != isa<PtrType>(to))
    return emitOpError("pointers are cast to pointers only");
  if (!isa<PtrType>(from) && from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOpError("widths differ");
  return success();
}
LogicalResult LoadOp::verify() {
  if (!sameShape(getPointer().getType(), getResult().getType()))
    return emitOpError("result shape differs from the pointers");
  if (getMask() && !sameShape(getMask().getType(), getResult().getType()))
    return emitOpError("mask shape differs from the pointers");
  if (getOther() && getOther().getType() != getResult().getType())
    return emitOpError("`other` differs from the result");
  if (getOther() && !getMask())
    return emitOpError("`other` without a mask");
  return success();
}
LogicalResult StoreOp::verify() {
  if (!sameShape(getPointer().getType(), getValue().getType()))
    return emitOpError("value shape differs from the pointers");
  if (getMask() && !sameShape(getMask().getType(), getValue().getType()))
    return emitOpError("mask shape differs from the pointers");
  return success();
}
LogicalResult MakeDescOp::verify() {
  size_t rank = cast<DescType>(getResult().getType()).getBlockShape().size();
  if (getShape().size() != rank || getStrides().size() != rank)
    return emitOpError("shape, strides and block differ in rank");
  return success();
}

// The combine region of reduce and scan takes and gives scalars of the sources' element types.
static LogicalResult verifyCombine(Operation *op, ValueRange sources, Block &block) {
  if (block.getNumArguments() != 2 * sources.size())
    return op->emitOpError("combine region takes ") << block.getNumArguments() << " values";
  for (auto [i, source] : llvm::enumerate(sources))
    if (block.getArgument(i).getType() != elementType(source.getType()) ||
        block.getArgument(i + sources.size()).getType() != elementType(source.getType()))
      return op->emitOpError("combine region does not fit its sources");
  return success();
}
LogicalResult ReduceOp::verify() {
  for (auto [source, result] : llvm::zip(getSources(), getResults())) {
    SmallVector<int64_t> shape(shapeOf(source.getType()));
    if (getAxis() >= shape.size())
      return emitOpError("axis out of range");
    shape.erase(shape.begin() + getAxis());
    if (ArrayRef<int64_t>(shape) != shapeOf(result.getType()) ||
        elementType(result.getType()) != elementType(source.getType()))
      return emitOpError("result does not follow from its source");
  }
  return verifyCombine(*this, getSources(), getCombine().front());
}
LogicalResult ScanOp::verify() {
  for (auto [source, result] : llvm::zip(getSources(), getResults()))
    if (source.getType() != result.getType() || getAxis() >= shapeOf(source.getType()).size())
      return emitOpError("result does not follow from its source");
  return verifyCombine(*this, getSources(), getCombine().front());
}
LogicalResult DotOp::verify() {
  auto a = shapeOf(getLhs().getType()), b = shapeOf(getRhs().getType()),
       c = shapeOf(getAcc().getType());
  size_t rank = c.size();
  if (getAcc().getType() != getResult().getType())
    return emitOpError("accumulator and result differ");
  if ((rank != 2 && rank != 3) || a.size() != rank || b.size() != rank ||
      a[rank - 1] != b[rank - 2] || a[rank - 2] != c[rank - 2] || b[rank - 1] != c[rank - 1] ||
      (rank == 3 && (a[0] != b[0] || a[0] != c[0])))
    return emitOpError("shapes do not fit");
  return success();
}

// --- folders ---

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
  return getSource().getType() == getResult().getType() ? OpFoldResult(getSource())
                                                        : OpFoldResult();
}

// Folds a binary integer op over scalars or splats with `compute`.
template <typename F>
static OpFoldResult foldInts(Attribute lhs, Attribute rhs, Type type, F compute) {
  auto constant = [](Attribute attr) -> std::optional<APInt> {
    if (auto integer = dyn_cast_or_null<IntegerAttr>(attr))
      return integer.getValue();
    if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr); dense && dense.isSplat())
      return dense.getSplatValue<APInt>();
    return std::nullopt;
  };
  auto a = constant(lhs), b = constant(rhs);
  if (!a || !b)
    return {};
  APInt value = compute(*a, *b);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return DenseElementsAttr::get(tensor, value);
  return IntegerAttr::get(type, value);
}
OpFoldResult DivSIOp::fold(FoldAdaptor a) {
  return foldInts(a.getLhs(), a.getRhs(), getType(), [](const APInt &x, const APInt &y) {
    return y.isZero() ? APInt::getAllOnes(x.getBitWidth()) : x.sdiv(y);
  });
}
OpFoldResult DivUIOp::fold(FoldAdaptor a) {
  return foldInts(a.getLhs(), a.getRhs(), getType(), [](const APInt &x, const APInt &y) {
    return y.isZero() ? APInt::getAllOnes(x.getBitWidth()) : x.udiv(y);
  });
}
OpFoldResult RemSIOp::fold(FoldAdaptor a) {
  return foldInts(a.getLhs(), a.getRhs(), getType(),
                  [](const APInt &x, const APInt &y) { return y.isZero() ? x : x.srem(y); });
}
OpFoldResult RemUIOp::fold(FoldAdaptor a) {
  return foldInts(a.getLhs(), a.getRhs(), getType(),
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
