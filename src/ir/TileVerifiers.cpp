// What each op and type of the dialect must be: a verifier says what is wrong, and speaks to us.
#include "ir/TileOps.h"

using namespace mlir;

namespace nereid::tile {

static bool sameShape(Type a, Type b) { return shapeOf(a) == shapeOf(b); }

// The pointee of a pointer or of the pointers in a tile.
static Type pointeeOf(Type type) { return cast<PtrType>(elementType(type)).getPointee(); }

LogicalResult DescType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> blockShape, Type element, bool paddingIsNan) {
  if (blockShape.empty() || blockShape.size() > 5)
    return emitError() << "a descriptor has 1 to 5 dimensions, not " << blockShape.size();
  for (int64_t extent : blockShape)
    if (extent <= 0)
      return emitError() << "a block of " << extent << " elements along a dimension";
  if (!llvm::isa<IntegerType, FloatType>(element))
    return emitError() << "a descriptor of numbers, not of " << element;
  if (paddingIsNan && !llvm::isa<FloatType>(element))
    return emitError() << "only floats can be padded with NaN";
  return success();
}

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
  if (ArrayRef<int64_t>(shape) != shapeOf(getResult().getType()) ||
      elementType(getLhs().getType()) != elementType(getResult().getType()))
    return emitOpError("result type does not follow from the operands");
  return success();
}
LogicalResult SplitOp::verify() {
  auto shape = shapeOf(getSource().getType());
  if (elementType(getSource().getType()) != elementType(getLhs().getType()))
    return emitOpError("element type differs from the source");
  if (shape.empty() || shape.back() != 2 || shape.drop_back() != shapeOf(getLhs().getType()) ||
      getLhs().getType() != getRhs().getType())
    return emitOpError("minor dimension is not of size two, or results do not follow from it");
  return success();
}
LogicalResult GatherOp::verify() {
  auto source = shapeOf(getSource().getType()), indices = shapeOf(getIndices().getType());
  if (source.size() != indices.size() || getAxis() >= source.size() ||
      indices != shapeOf(getResult().getType()))
    return emitOpError("shapes do not fit");
  if (elementType(getSource().getType()) != elementType(getResult().getType()))
    return emitOpError("element type differs from the source");
  for (size_t d = 0; d < source.size(); ++d)
    if (d != getAxis() && source[d] != indices[d])
      return emitOpError("source and indices differ in dimension ") << d;
  return success();
}
LogicalResult CatOp::verify() {
  auto a = cast<RankedTensorType>(getLhs().getType()),
       b = cast<RankedTensorType>(getRhs().getType()),
       r = cast<RankedTensorType>(getResult().getType());
  if (a.getRank() != 1 || b.getRank() != 1 || r.getRank() != 1 ||
      r.getDimSize(0) != a.getDimSize(0) + b.getDimSize(0) ||
      a.getElementType() != r.getElementType() || b.getElementType() != r.getElementType())
    return emitOpError("result does not follow from the operands");
  return success();
}
LogicalResult HistogramOp::verify() {
  if (shapeOf(getSource().getType()).size() != 1 || shapeOf(getResult().getType()).size() != 1)
    return emitOpError("source and bins have one dimension");
  if (getMask() && !sameShape(getMask().getType(), getSource().getType()))
    return emitOpError("mask shape differs from the source");
  return success();
}
LogicalResult InlineAsmOp::verify() {
  if (int32_t(getPack()) < 1)
    return emitOpError("pack is ") << int32_t(getPack());
  return success();
}
LogicalResult MapOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs an input");
  Type first = getInputs()[0].getType();
  int64_t count = cast<RankedTensorType>(first).getNumElements(), pack = int32_t(getPack());
  if (pack < 1 || count % pack != 0)
    return emitOpError("packs of ") << pack << " do not fill " << count << " elements";
  Block &block = getBody().front();
  auto *yield = block.getTerminator();
  auto fits = [&](ValueRange tiles, TypeRange scalars) {
    if (scalars.size() != tiles.size() * pack)
      return false;
    for (auto [i, type] : llvm::enumerate(scalars))
      if (!sameShape(tiles[i / pack].getType(), first) ||
          elementType(tiles[i / pack].getType()) != type)
        return false;
    return true;
  };
  if (!fits(getInputs(), block.getArgumentTypes()) || !fits(getOutputs(), yield->getOperandTypes()))
    return emitOpError("region does not fit its tiles");
  return success();
}
LogicalResult HintOp::verify() {
  size_t rank = std::max<size_t>(shapeOf(getSource().getType()).size(), 1);
  for (auto list : {getDivisibility(), getContiguity(), getConstancy()})
    if (list && list->size() > rank)
      return emitOpError("has ") << list->size() << " facts for " << rank << " dimensions";
  if (!isa<IntegerType, PtrType>(elementType(getSource().getType())))
    return emitOpError("facts are about integers and pointers");
  return success();
}
LogicalResult PrintOp::verify() {
  if (getIsSigned().size() != getValues().size())
    return emitOpError("has ") << getIsSigned().size() << " signs for " << getValues().size()
                               << " values";
  return success();
}
LogicalResult AssertOp::verify() {
  if (getMask() && getMask().getType() != getCondition().getType())
    return emitOpError("mask differs from the condition");
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
  if (pointeeOf(getPointer().getType()) != elementType(getResult().getType()))
    return emitOpError("result element differs from the pointee");
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
  if (pointeeOf(getPointer().getType()) != elementType(getValue().getType()))
    return emitOpError("value element differs from the pointee");
  if (!sameShape(getPointer().getType(), getValue().getType()))
    return emitOpError("value shape differs from the pointers");
  if (getMask() && !sameShape(getMask().getType(), getValue().getType()))
    return emitOpError("mask shape differs from the pointers");
  return success();
}
LogicalResult AtomicRMWOp::verify() {
  Type element = elementType(getValue().getType());
  if (pointeeOf(getPointer().getType()) != element || getValue().getType() != getResult().getType())
    return emitOpError("pointee, value and result differ");
  if (!sameShape(getPointer().getType(), getValue().getType()) ||
      (getMask() && !sameShape(getMask().getType(), getValue().getType())))
    return emitOpError("shapes differ");
  bool ofFloats =
      llvm::is_contained({AtomicKind::FAdd, AtomicKind::FMax, AtomicKind::FMin}, getKind());
  if (getKind() != AtomicKind::Xchg && ofFloats != isa<FloatType>(element))
    return emitOpError("`") << stringifyAtomicKind(getKind()) << "` of " << element;
  return success();
}
LogicalResult AtomicCASOp::verify() {
  if (pointeeOf(getPointer().getType()) != elementType(getValue().getType()) ||
      getValue().getType() != getResult().getType())
    return emitOpError("pointee, value and result differ");
  if (!sameShape(getPointer().getType(), getValue().getType()))
    return emitOpError("shapes differ");
  return success();
}
LogicalResult MakeDescOp::verify() {
  if (getBase().getType().getPointee() != cast<DescType>(getResult().getType()).getElementType())
    return emitOpError("element differs from the pointee of the base");
  size_t rank = cast<DescType>(getResult().getType()).getBlockShape().size();
  if (getShape().size() != rank || getStrides().size() != rank)
    return emitOpError("shape, strides and block differ in rank");
  return success();
}

LogicalResult DescFieldOp::verify() {
  size_t rank = cast<DescType>(getDesc().getType()).getBlockShape().size();
  if (!llvm::is_contained({"base", "shape", "stride"}, getField()))
    return emitOpError("a descriptor has a base, shape and stride, no `") << getField() << "`";
  if (getDim() >= rank)
    return emitOpError("dimension ") << getDim() << " of " << rank;
  return success();
}
// A block at offsets: an offset a dimension, and a tile of as many elements as the block.
static LogicalResult verifyBlock(Operation *op, DescType desc, size_t offsets, Type tile) {
  if (offsets != desc.getBlockShape().size())
    return op->emitOpError("has ")
           << offsets << " offsets for " << desc.getBlockShape().size() << " dimensions";
  if (elementType(tile) != desc.getElementType())
    return op->emitOpError("tile element differs from the descriptor's");
  int64_t elements = 1;
  for (int64_t extent : desc.getBlockShape())
    elements *= extent;
  if (cast<RankedTensorType>(tile).getNumElements() != elements)
    return op->emitOpError("tile and block differ in size");
  return success();
}
LogicalResult DescLoadOp::verify() {
  return verifyBlock(*this, cast<DescType>(getDesc().getType()), getOffsets().size(), getType());
}
LogicalResult DescStoreOp::verify() {
  return verifyBlock(*this, cast<DescType>(getDesc().getType()), getOffsets().size(),
                     getValue().getType());
}
LogicalResult DescReduceOp::verify() {
  return verifyBlock(*this, cast<DescType>(getDesc().getType()), getOffsets().size(),
                     getValue().getType());
}
// Rows of a descriptor whose block is one row.
static LogicalResult verifyRows(Operation *op, DescType desc, Type rows, Type tile) {
  auto block = desc.getBlockShape();
  if (block.size() != 2 || block[0] != 1)
    return op->emitOpError("takes rows of a block of 1 x n");
  if (shapeOf(rows).size() != 1 || shapeOf(tile) != ArrayRef<int64_t>{shapeOf(rows)[0], block[1]} ||
      elementType(tile) != desc.getElementType())
    return op->emitOpError("tile does not follow from rows and block");
  return success();
}
LogicalResult DescGatherOp::verify() {
  return verifyRows(*this, cast<DescType>(getDesc().getType()), getRows().getType(), getType());
}
LogicalResult DescScatterOp::verify() {
  return verifyRows(*this, cast<DescType>(getDesc().getType()), getRows().getType(),
                    getValue().getType());
}

// The combine region of reduce and scan takes and gives scalars of the sources' element types.
static LogicalResult verifyCombine(Operation *op, ValueRange sources, Block &block) {
  if (block.getNumArguments() != 2 * sources.size())
    return op->emitOpError("combine region takes ") << block.getNumArguments() << " values";
  for (auto [i, source] : llvm::enumerate(sources))
    if (block.getArgument(i).getType() != elementType(source.getType()) ||
        block.getArgument(i + sources.size()).getType() != elementType(source.getType()))
      return op->emitOpError("combine region does not fit its sources");
  auto yielded = block.getTerminator()->getOperandTypes();
  if (yielded.size() != sources.size())
    return op->emitOpError("combine region gives ") << yielded.size() << " values";
  for (auto [type, source] : llvm::zip(yielded, sources))
    if (type != elementType(source.getType()))
      return op->emitOpError("combine region gives other types than it takes");
  return success();
}
LogicalResult ReduceOp::verify() {
  if (getSources().empty())
    return emitOpError("needs a source");
  for (auto [source, result] : llvm::zip(getSources(), getResults())) {
    SmallVector<int64_t> shape(shapeOf(source.getType()));
    if (getAxis() >= shape.size())
      return emitOpError("axis out of range");
    if (!sameShape(source.getType(), getSources()[0].getType()))
      return emitOpError("sources differ in shape");
    shape.erase(shape.begin() + getAxis());
    if (ArrayRef<int64_t>(shape) != shapeOf(result.getType()) ||
        elementType(result.getType()) != elementType(source.getType()))
      return emitOpError("result does not follow from its source");
  }
  return verifyCombine(*this, getSources(), getCombine().front());
}
LogicalResult ScanOp::verify() {
  if (getSources().empty())
    return emitOpError("needs a source");
  for (auto [source, result] : llvm::zip(getSources(), getResults()))
    if (source.getType() != result.getType() || getAxis() >= shapeOf(source.getType()).size() ||
        !sameShape(source.getType(), getSources()[0].getType()))
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
  Type left = elementType(getLhs().getType()), right = elementType(getRhs().getType()),
       sum = elementType(getAcc().getType());
  auto isFloat8 = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
  };
  if (left != right && !(isFloat8(left) && isFloat8(right)))
    return emitOpError("operands of ") << left << " and " << right;
  if (isa<IntegerType>(left) ? !left.isInteger(8) || !sum.isInteger(32)
      : left.isF64()         ? !sum.isF64()
                             : !isa<FloatType>(left) || !(sum.isF32() || sum.isF16()))
    return emitOpError("products of ") << left << " summed in " << sum;
  return success();
}
int64_t DotScaledOp::groupOf(int64_t k, Type scales) { return k / shapeOf(scales).back(); }
LogicalResult DotScaledOp::verify() {
  auto a = shapeOf(getLhs().getType()), b = shapeOf(getRhs().getType()),
       c = shapeOf(getAcc().getType());
  size_t rank = c.size();
  if ((rank != 2 && rank != 3) || a.size() != rank || b.size() != rank ||
      (rank == 3 && (a[0] != c[0] || b[0] != c[0])))
    return emitOpError("ranks or batches differ");
  int64_t leftPack = getLhsFormat() == ScaledFormat::E2M1 ? 2 : 1,
          rightPack = getRhsFormat() == ScaledFormat::E2M1 ? 2 : 1;
  int64_t leftK = a[rank - 1] * (getLhsPackedK() ? leftPack : 1),
          rightK = b[rank - 2] * (getRhsPackedK() ? rightPack : 1),
          m = a[rank - 2] * (getLhsPackedK() ? 1 : leftPack),
          n = b[rank - 1] * (getRhsPackedK() ? 1 : rightPack);
  if (leftK != rightK || m != c[rank - 2] || n != c[rank - 1])
    return emitOpError("shapes do not fit");
  auto fits = [&](Value tile, ScaledFormat format) {
    Type element = elementType(tile.getType());
    switch (format) {
    case ScaledFormat::E2M1:
      return element.isInteger(8);
    case ScaledFormat::E4M3:
      return element.isInteger(8) || element.isFloat8E4M3FN();
    case ScaledFormat::E5M2:
      return element.isInteger(8) || element.isFloat8E5M2();
    case ScaledFormat::BF16:
      return element.isBF16();
    case ScaledFormat::FP16:
      return element.isF16();
    }
    return false;
  };
  if (!fits(getLhs(), getLhsFormat()) || !fits(getRhs(), getRhsFormat()) ||
      !elementType(getAcc().getType()).isF32())
    return emitOpError("element types do not fit the formats");
  auto scaleFits = [&](Value scale, int64_t rows) {
    if (!scale)
      return true;
    auto shape = shapeOf(scale.getType());
    Type element = elementType(scale.getType());
    return shape.size() == rank && shape[rank - 2] == rows &&
           (shape[rank - 1] * 16 == leftK || shape[rank - 1] * 32 == leftK) &&
           (element.isInteger(8) || element.isFloat8E4M3FN()) && (rank == 2 || shape[0] == c[0]);
  };
  if (!scaleFits(getLhsScale(), m) || !scaleFits(getRhsScale(), n))
    return emitOpError("scales are bytes or f8E4M3FN, one for 16 or 32 elements along K");
  return success();
}

} // namespace nereid::tile
