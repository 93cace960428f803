#include "cpu/Extents.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// True if `value` is there when `place` begins.
bool isBefore(Value value, Operation *place) {
  Operation *op = value.getDefiningOp();
  Block *block = value.getParentBlock();
  if (!op)
    return block->findAncestorOpInBlock(*place) != nullptr;
  Operation *ancestor = block->findAncestorOpInBlock(*place);
  return ancestor && op != ancestor && op->isBeforeInBlock(ancestor);
}

} // namespace

bool isKnownAt(Value value, Operation *place, const FusionPlan &plan) {
  llvm::DenseSet<Value> seen;
  std::function<bool(Value)> isKnown = [&](Value value) {
    if (!seen.insert(value).second)
      return true;
    if (!tile::isTile(value) || plan.stored(value))
      return isBefore(value, place);
    Operation *op = value.getDefiningOp();
    return op && isLazy(op) && isPure(op) && llvm::all_of(op->getOperands(), isKnown);
  };
  return isKnown(value);
}

namespace {

// Conversions, by which zero stays zero.
bool isConversion(Operation *op) {
  return isa_and_nonnull<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
                         arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp, tile::FPConvertOp,
                         tile::FPToIntOp>(op);
}

bool isZero(Value value) {
  if (isConversion(value.getDefiningOp()))
    return isZero(value.getDefiningOp()->getOperand(0));
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

// Where the tensor of a descriptor ends in a block at `offsets`; null if that is not known at
// `place`.
Value blockEnd(Value desc, ValueRange offsets, unsigned dim, Operation *place,
               LaneEmitter &emitter) {
  if (!isBefore(desc, place) || !isBefore(offsets[dim], place))
    return {};
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  int64_t block = cast<tile::DescType>(desc.getType()).getBlockShape()[dim];
  Value offset =
      b.create<arith::ExtSIOp>(loc, b.getI64Type(), emitter.scalar(offsets[dim])).getResult();
  Value left = b.create<arith::SubIOp>(loc, emitter.descriptor(desc)[1 + dim], offset);
  return b.create<arith::MaxSIOp>(loc, b.create<arith::MinSIOp>(loc, left, emitter.index(block)),
                                  emitter.index(0));
}

// Who looks at a tile, and how far along one dimension.
class Readers {
public:
  // False if somebody may look at all of it. `place` is where the answer is wanted: the op, or the
  // loop around it whose later rounds look at what this one computes.
  bool follow(Value tile, unsigned dim, Operation *place) {
    if (!seen.insert({tile, {dim, place}}).second)
      return true;
    return llvm::all_of(tile.getUses(), [&](OpOperand &use) { return follow(use, dim, place); });
  }

  struct Reader {
    Operation *store;
    unsigned dim;
    Operation *place;
  };
  SmallVector<Reader, 2> readers;

private:
  bool follow(OpOperand &use, unsigned dim, Operation *place) {
    Operation *op = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      // Nor at where it would go.
      if (!store.getMask() || number == store.getMaskMutable().begin()->getOperandNumber())
        return false;
      readers.push_back({op, dim, place});
      return true;
    }
    if (isa<tile::DescStoreOp>(op)) {
      readers.push_back({op, dim, place});
      return true;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      return follow(loop.getTiedLoopRegionIterArg(&use), dim, place) &&
             follow(loop.getTiedLoopResult(&use), dim, place);
    }
    if (isa<scf::YieldOp>(op)) {
      if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
        return follow(loop.getRegionIterArg(number), dim, loop) &&
               follow(loop.getResult(number), dim, loop);
      return isa<scf::IfOp>(op->getParentOp()) &&
             follow(op->getParentOp()->getResult(number), dim, place);
    }
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      unsigned last = tile::shapeOf(dot.getType()).size() - 1;
      // Not along K: that is looked at for all of the result.
      bool isAlongK = number == dot.getLhsMutable().getOperandNumber()   ? dim == last
                      : number == dot.getRhsMutable().getOperandNumber() ? dim == last - 1
                                                                         : false;
      return !isAlongK && follow(dot.getResult(), dim, place);
    }
    if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      unsigned axis = reduce.getAxis();
      return axis != dim && isMemoryEffectFree(op) &&
             llvm::all_of(op->getResults(),
                          [&](Value result) { return follow(result, dim - (dim > axis), place); });
    }
    if (op->getNumRegions() || !isLazy(op) || !isPure(op))
      return false;
    if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
      return follow(expand, dim + (dim >= unsigned(expand.getAxis())), place);
    if (auto trans = dyn_cast<tile::TransOp>(op)) {
      auto to = llvm::find(trans.getPerm(), int32_t(dim));
      return follow(trans, unsigned(to - trans.getPerm().begin()), place);
    }
    bool inPlace = isa<tile::BroadcastOp>(op) ? tile::shapeOf(op->getResult(0).getType())[dim] ==
                                                    tile::shapeOf(use.get().getType())[dim]
                                              : op->hasTrait<OpTrait::Elementwise>();
    return inPlace &&
           llvm::all_of(op->getResults(), [&](Value result) { return follow(result, dim, place); });
  }

  llvm::DenseSet<std::pair<Value, std::pair<unsigned, Operation *>>> seen;
};

// Gives the first place along `dim` that no store looks at.
Value endOfReaders(ValueRange tiles, unsigned dim, Operation *place, LaneEmitter &emitter) {
  Readers found;
  for (Value tile : tiles)
    if (!found.follow(tile, dim, place))
      return {};
  OpBuilder &b = emitter.builder;
  Value end;
  for (const Readers::Reader &reader : found.readers) {
    auto known = [&](Value value) { return isKnownAt(value, reader.place, emitter.plan); };
    Value one;
    if (auto store = dyn_cast<tile::StoreOp>(reader.store))
      one = emitter.maskEnd(store.getMask(), reader.dim, known);
    else if (auto store = dyn_cast<tile::DescStoreOp>(reader.store))
      one = blockEnd(store.getDesc(), store.getOffsets(), reader.dim, reader.place, emitter);
    if (!one)
      return {};
    end = end ? b.create<arith::MaxSIOp>(emitter.loc(), end, one).getResult() : one;
  }
  return end;
}

// Gives the first place along `dim` from which on all of `tile` is zero.
Value endOfNumbers(Value tile, unsigned dim, Operation *place, LaneEmitter &emitter) {
  auto known = [&](Value value) { return isKnownAt(value, place, emitter.plan); };
  Operation *op = tile.getDefiningOp();
  if (!op)
    return {};
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getMask() && (!load.getOther() || isZero(load.getOther()))
               ? emitter.maskEnd(load.getMask(), dim, known)
               : Value();
  if (auto load = dyn_cast<tile::DescLoadOp>(op))
    return cast<tile::DescType>(load.getDesc().getType()).getPaddingIsNan()
               ? Value()
               : blockEnd(load.getDesc(), load.getOffsets(), dim, place, emitter);
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return tile::isTile(choice.getCondition()) && isZero(choice.getFalseValue())
               ? emitter.maskEnd(choice.getCondition(), dim, known)
               : Value();
  if (auto trans = dyn_cast<tile::TransOp>(op))
    return endOfNumbers(trans.getSource(), trans.getPerm()[dim], place, emitter);
  if (isConversion(op))
    return endOfNumbers(op->getOperand(0), dim, place, emitter);
  return {};
}

} // namespace

ProductExtents productExtents(tile::DotOp dot, LaneEmitter &emitter) {
  unsigned n = tile::shapeOf(dot.getType()).size() - 1, m = n - 1;
  ProductExtents out;
  out.rows = endOfReaders(dot.getResult(), m, dot, emitter);
  out.columns = endOfReaders(dot.getResult(), n, dot, emitter);
  // Zero times something may be NaN, zero times zero is not.
  Value lhs = endOfNumbers(dot.getLhs(), n, dot, emitter);
  Value rhs = lhs ? endOfNumbers(dot.getRhs(), m, dot, emitter) : Value();
  if (rhs)
    out.depth = emitter.builder.create<arith::MaxSIOp>(emitter.loc(), lhs, rhs);
  return out;
}

// From where on a mask is false along `dim`, as far as that is a number of the kernel.
static int64_t knownEnd(Value mask, unsigned dim) {
  const int64_t extent = tile::shapeOf(mask.getType())[dim];
  Operation *op = mask.getDefiningOp();
  if (auto broadcast = dyn_cast_if_present<tile::BroadcastOp>(op)) {
    Value source = broadcast.getSource();
    return tile::shapeOf(source.getType())[dim] == 1 ? extent : knownEnd(source, dim);
  }
  if (auto expand = dyn_cast_if_present<tile::ExpandDimsOp>(op)) {
    unsigned axis = expand.getAxis();
    return axis == dim ? extent : knownEnd(expand.getSource(), dim - (dim > axis));
  }
  if (isa_and_present<arith::AndIOp>(op))
    return std::min(knownEnd(op->getOperand(0), dim), knownEnd(op->getOperand(1), dim));
  auto compare = dyn_cast_if_present<arith::CmpIOp>(op);
  APInt bound;
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt ||
      !matchPattern(compare.getRhs(), m_ConstantInt(&bound)))
    return extent;
  auto arange = compare.getLhs().getDefiningOp<tile::ArangeOp>();
  return arange ? std::clamp<int64_t>(bound.getSExtValue() - arange.getStart(), 0, extent) : extent;
}

int64_t knownDepth(tile::DotOp dot) {
  unsigned n = tile::shapeOf(dot.getType()).size() - 1;
  auto of = [](Value tile, unsigned dim) {
    while (isConversion(tile.getDefiningOp()))
      tile = tile.getDefiningOp()->getOperand(0);
    auto load = tile.getDefiningOp<tile::LoadOp>();
    return load && load.getMask() && (!load.getOther() || isZero(load.getOther()))
               ? knownEnd(load.getMask(), dim)
               : tile::shapeOf(tile.getType())[dim];
  };
  return std::max(of(dot.getLhs(), n), of(dot.getRhs(), n - 1));
}

static SmallVector<Value> endsOf(Type type, std::optional<unsigned> but,
                                 llvm::function_ref<Value(unsigned)> end) {
  auto shape = tile::shapeOf(type);
  SmallVector<Value> out(shape.size());
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (dim != but && shape[dim] > 1)
      out[dim] = end(dim);
  return out;
}

SmallVector<Value> endsOfReaders(ValueRange tiles, Operation *place, LaneEmitter &emitter,
                                 std::optional<unsigned> but) {
  return endsOf(tiles.front().getType(), but,
                [&](unsigned dim) { return endOfReaders(tiles, dim, place, emitter); });
}

SmallVector<Value> endsOfStore(tile::StoreOp store, LaneEmitter &emitter, unsigned but) {
  auto known = [&](Value value) { return isKnownAt(value, store, emitter.plan); };
  return endsOf(store.getPointer().getType(), but, [&](unsigned dim) {
    return store.getMask() ? emitter.maskEnd(store.getMask(), dim, known) : Value();
  });
}

} // namespace nereid::cpu
