#include "gpu/DeferReductions.h"

#include "analysis/CombineOrder.h"
#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// x op x = x: what a loop starts with may be combined any number of times.
bool isIdempotent(Operation *op) {
  return isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::AndIOp,
             arith::OrIOp>(op);
}
bool isSum(Operation *op) {
  if (isa<arith::AddIOp>(op))
    return true;
  // Halves round after each addition.
  return isa<arith::AddFOp>(op) &&
         tile::elementType(op->getResult(0).getType()).getIntOrFloatBitWidth() >= 32;
}

// How an axis falls apart: what each thread has of it (`own`) and what threads share, from the most
// significant part to the least.
struct Parts {
  SmallVector<int64_t> extents;
  SmallVector<bool> own;
  bool isShared() const { return llvm::is_contained(own, false); }
};

// Nothing where a part of the axis is not told by one bit of a register, lane or warp.
std::optional<Parts> partsOf(const LinearLayout &layout, unsigned axis, int64_t extent) {
  SmallVector<std::optional<bool>> own(llvm::Log2_64(uint64_t(extent)));
  for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
    for (const LinearLayout::Basis &basis : layout.bases(input)) {
      if (!basis[axis])
        continue;
      auto others = llvm::count_if(basis, [](int32_t step) { return step != 0; });
      if (others != 1 || !llvm::isPowerOf2_32(uint32_t(basis[axis])))
        return std::nullopt;
      auto &bit = own[llvm::Log2_32(uint32_t(basis[axis]))];
      if (bit)
        return std::nullopt;
      bit = input == LayoutInput::Register;
    }
  Parts parts;
  for (const std::optional<bool> &bit : llvm::reverse(own)) {
    if (!bit)
      return std::nullopt;
    if (parts.own.empty() || parts.own.back() != *bit) {
      parts.own.push_back(*bit);
      parts.extents.push_back(1);
    }
    parts.extents.back() *= 2;
  }
  return parts;
}

// A reduction, and the operation that combines it with what a loop carries.
struct Deferred {
  unsigned index; // of the carried value
  tile::ReduceOp reduce;
  SmallVector<Operation *, 2> turned; // what puts its elements elsewhere, from the last op back
  Operation *update;
  Parts parts;
  std::optional<Attribute> start; // of all elements, where that is a constant
};

// True if a tile's elements are those of its operand, in other places or more than once: what is
// combined element by element may go through it before or behind.
bool isTurned(Operation *op) {
  return isa_and_present<tile::TransOp, tile::ReshapeOp, tile::ExpandDimsOp, tile::BroadcastOp,
                         ConvertLayoutOp>(op);
}

bool combinesBy(tile::ReduceOp reduce, OperationName name) {
  Block &combine = reduce.getCombine().front();
  return combine.front().getName() == name && analysis::commutes(combine);
}

std::optional<Deferred> findDeferred(scf::ForOp loop, unsigned index) {
  Value carried = loop.getRegionIterArgs()[index];
  Block *body = loop.getBody();
  Operation *update = carried.hasOneUse() ? *carried.user_begin() : nullptr;
  if (!update || update->getBlock() != body || !(isSum(update) || isIdempotent(update)) ||
      loop.getYieldedValues()[index] != update->getResult(0) || !update->getResult(0).hasOneUse())
    return std::nullopt;
  Value result = update->getOperand(update->getOperand(0) == carried ? 1 : 0);
  SmallVector<Operation *, 2> turned;
  while (isTurned(result.getDefiningOp()) && result.hasOneUse()) {
    turned.push_back(result.getDefiningOp());
    result = turned.back()->getOperand(0);
  }
  auto reduce = result.getDefiningOp<tile::ReduceOp>();
  if (!reduce || reduce->getBlock() != body || !result.hasOneUse() ||
      reduce.getSources().size() != 1 || !combinesBy(reduce, update->getName()))
    return std::nullopt;
  auto type = cast<RankedTensorType>(reduce.getSources().front().getType());
  unsigned axis = reduce.getAxis();
  if (tile::isTile(result) && layoutOf(result.getType()) != sliceLayout(layoutOf(type), axis))
    return std::nullopt;
  auto parts = partsOf(layoutOf(type), axis, type.getDimSize(axis));
  if (!parts || !parts->isShared())
    return std::nullopt;
  Deferred deferred{index, reduce, std::move(turned), update, *parts, std::nullopt};
  Value start = loop.getInitArgs()[index];
  SplatElementsAttr splat;
  if (matchPattern(start, m_Constant(&splat)))
    deferred.start = splat.getSplatValue<Attribute>();
  // Where all parts start with what the loop does, that is one number.
  if (isIdempotent(update) && tile::isTile(start) && !deferred.start)
    return std::nullopt;
  return deferred;
}

class Deferral {
public:
  Deferral(scf::ForOp loop, const Deferred &deferred)
      : loop(loop), reduce(deferred.reduce), axis(reduce.getAxis()), deferred(deferred), b(loop) {}

  // Makes the loop again, with what threads have of their own.
  scf::ForOp run() {
    unsigned index = deferred.index;
    Operation *update = deferred.update;
    Value own = ofOwnElements();
    auto type = cast<RankedTensorType>(own.getType());
    b.setInsertionPoint(loop);
    SmallVector<Value> starts(loop.getInitArgs());
    Value start = starts[index];
    starts[index] = startOfParts(type);
    auto made = b.create<scf::ForOp>(loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                     loop.getStep(), starts);
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    made.getRegion().takeBody(loop.getRegion());
    Value carried = made.getRegionIterArgs()[index];
    carried.setType(type);
    b.setInsertionPoint(update);
    made.getBody()->getTerminator()->setOperand(index, updated(carried, own));
    b.setInsertionPointAfter(made);
    Value total = met(made.getResult(index));
    for (Operation *op : llvm::reverse(deferred.turned)) {
      IRMapping mapping;
      mapping.map(op->getOperand(0), total);
      total = b.clone(*op, mapping)->getResult(0);
    }
    if (isSum(update))
      total = updated(start, total);
    update->erase();
    for (Operation *op : deferred.turned)
      op->erase();
    reduce->erase();
    for (auto [old, now] : llvm::zip(loop.getResults(), made.getResults()))
      old.replaceAllUsesWith(old.getResultNumber() == index ? total : Value(now));
    loop->erase();
    return made;
  }

private:
  Value updated(Value left, Value right) {
    OperationState state(deferred.update->getLoc(), deferred.update->getName());
    state.addOperands({left, right});
    state.addTypes(right.getType());
    return b.create(state)->getResult(0);
  }

  Value startOfParts(RankedTensorType type) {
    Location loc = loop.getLoc();
    Value start = loop.getInitArgs()[deferred.index];
    auto filled = [&](Attribute value) {
      return b.create<arith::ConstantOp>(loc, type, SplatElementsAttr::get(type, value));
    };
    if (isIdempotent(deferred.update))
      return deferred.start ? Value(filled(*deferred.start))
                            : b.create<tile::SplatOp>(loc, type, start);
    // -0 is what a sum of floats takes without a change.
    if (auto element = dyn_cast<FloatType>(type.getElementType()))
      return filled(b.getFloatAttr(
          element, APFloat::getZero(element.getFloatSemantics(), /*Negative=*/true)));
    return filled(b.getIntegerAttr(type.getElementType(), 0));
  }

  Value reshaped(Value tile, ArrayRef<int64_t> shape) {
    auto from = cast<RankedTensorType>(tile.getType());
    auto to = RankedTensorType::get(shape, from.getElementType());
    LinearLayout layout = reshapeLayout(layoutOf(from), from.getShape(), shape);
    return b.create<tile::ReshapeOp>(tile.getLoc(), withLayout(to, layout), tile, UnitAttr());
  }
  Value reduced(Value source, unsigned along, Type type) {
    IRMapping mapping;
    mapping.map(reduce.getSources().front(), source);
    auto copy = cast<tile::ReduceOp>(b.clone(*reduce, mapping));
    copy.setAxis(along);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }

  // Of a step's tile, what each thread makes of the part of the axis that it has.
  Value ofOwnElements() {
    const Parts &parts = deferred.parts;
    Value own = reduce.getSources().front();
    if (!llvm::is_contained(parts.own, true))
      return own;
    b.setInsertionPoint(reduce);
    ArrayRef<int64_t> whole = cast<RankedTensorType>(own.getType()).getShape();
    SmallVector<int64_t> shape(whole.take_front(axis));
    llvm::append_range(shape, parts.extents);
    llvm::append_range(shape, whole.drop_front(axis + 1));
    own = reshaped(own, shape);
    for (unsigned part = unsigned(parts.own.size()); part-- > 0;) {
      if (!parts.own[part])
        continue;
      unsigned along = axis + part;
      auto type = cast<RankedTensorType>(own.getType());
      SmallVector<int64_t> left(type.getShape());
      left.erase(left.begin() + along);
      own = reduced(own, along,
                    withLayout(RankedTensorType::get(left, type.getElementType()),
                               sliceLayout(layoutOf(type), along)));
    }
    return own;
  }

  // What all threads have together, as the reduction gave it.
  Value met(Value own) {
    ArrayRef<int64_t> apart = cast<RankedTensorType>(own.getType()).getShape();
    auto shared = size_t(llvm::count(deferred.parts.own, false));
    if (shared > 1) {
      SmallVector<int64_t> shape(apart.take_front(axis));
      shape.push_back(1);
      for (int64_t extent : apart.slice(axis, shared))
        shape.back() *= extent;
      llvm::append_range(shape, apart.drop_front(axis + shared));
      own = reshaped(own, shape);
    }
    return reduced(own, axis, reduce->getResult(0).getType());
  }

  scf::ForOp loop;
  tile::ReduceOp reduce;
  unsigned axis;
  Deferred deferred;
  OpBuilder b;
};

void deferIn(scf::ForOp loop) {
  for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
    if (auto deferred = findDeferred(loop, index))
      loop = Deferral(loop, *deferred).run();
}

} // namespace

void deferReductions(FunctionOpInterface kernel) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); }); // inner ones first
  for (scf::ForOp loop : loops)
    deferIn(loop);
}

} // namespace nereid::gpu
