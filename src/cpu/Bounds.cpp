#include "cpu/Bounds.h"

#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Ops of which the elements of the result are those of the operand.
bool isMove(Operation *op) {
  return tile::isRepeat(op) || isa<tile::HintOp, arith::ExtSIOp, arith::ExtUIOp>(op);
}

struct Known {
  llvm::DenseMap<Value, bool> known;

  bool hasBounds(Value value) {
    if (!tile::isTile(value))
      return isa<IntegerType, tile::PtrType>(value.getType());
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    auto [found, isNew] = known.try_emplace(value, false);
    if (!isNew)
      return found->second;
    Type element = tile::elementType(value.getType());
    bool is = isa<tile::ArangeOp>(op);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
      is = dense && dense.isSplat();
    } else if (isMove(op) || tile::isDivision(op) ||
               isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp,
                   tile::AddPtrOp>(op)) {
      is = llvm::all_of(op->getOperands(), [&](Value operand) { return hasBounds(operand); });
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      is = hasBounds(select.getTrueValue()) && hasBounds(select.getFalseValue());
    }
    is &= isa<tile::PtrType>(element) || (isa<IntegerType>(element) && !element.isInteger(1));
    return known[value] = is;
  }
};

class Intervals {
public:
  explicit Intervals(LaneEmitter &emitter)
      : emitter(emitter), b(emitter.builder), loc(emitter.loc()),
        yes(emitter.constant(b.getI1Type(), 1)) {}

  Bounds of(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    Bounds bounds = compute(value);
    known[value] = bounds;
    return bounds;
  }

private:
  using P = arith::CmpIPredicate;

  Bounds compute(Value value) {
    if (!tile::isTile(value)) {
      Value number = emitter.scalar(value);
      Type wide = b.getI64Type();
      if (isa<tile::PtrType>(value.getType()))
        number = b.create<LLVM::PtrToIntOp>(loc, wide, number);
      else if (number.getType() != wide)
        number = b.create<arith::ExtSIOp>(loc, wide, number);
      return {number, number, yes};
    }
    Operation *op = value.getDefiningOp();
    if (auto range = dyn_cast<tile::ArangeOp>(op))
      return {emitter.index(range.getStart()), emitter.index(range.getEnd() - 1), yes};
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      Value number = emitter.index(
          cast<DenseIntElementsAttr>(constant.getValue()).getSplatValue<APInt>().getSExtValue());
      return {number, number, yes};
    }
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      Bounds x = of(select.getTrueValue()), y = of(select.getFalseValue());
      return {least(x.low, y.low), most(x.high, y.high), both(x.hold, y.hold)};
    }
    Bounds x = of(op->getOperand(0));
    if (isa<arith::ExtUIOp>(op))
      return {x.low, x.high, both(x.hold, compare(P::sge, x.low, emitter.index(0)))};
    if (isMove(op))
      return x;
    Bounds y = of(op->getOperand(1));
    Value hold = both(x.hold, y.hold);
    if (isa<arith::MinSIOp>(op))
      return {least(x.low, y.low), least(x.high, y.high), hold};
    if (isa<arith::MaxSIOp>(op))
      return {most(x.low, y.low), most(x.high, y.high), hold};
    if (auto add = dyn_cast<tile::AddPtrOp>(op)) {
      int64_t bytes =
          tile::bytesInMemory(cast<tile::PtrType>(tile::elementType(add.getType())).getPointee());
      hold = both(hold, isWithin(y, 58));
      if (add.getIsUnsigned())
        hold = both(hold, compare(P::sge, y.low, emitter.index(0)));
      return {emitter.addScaled(x.low, y.low, bytes), emitter.addScaled(x.high, y.high, bytes),
              hold};
    }
    if (tile::isDivision(op))
      return split(op, x, y, hold);
    // Sums and products of 64 bits have no bits to spare.
    unsigned bits = tile::elementType(value.getType()).getIntOrFloatBitWidth();
    if (isa<arith::MulIOp>(op)) {
      if (bits > 32)
        hold = both(hold, both(isWithin(x, 31), isWithin(y, 31)));
      Value all[] = {times(x.low, y.low), times(x.low, y.high), times(x.high, y.low),
                     times(x.high, y.high)};
      return narrow({least(least(all[0], all[1]), least(all[2], all[3])),
                     most(most(all[0], all[1]), most(all[2], all[3])), hold},
                    bits);
    }
    if (bits > 32)
      hold = both(hold, both(isWithin(x, 61), isWithin(y, 61)));
    if (isa<arith::SubIOp>(op))
      return narrow({minus(x.low, y.high), minus(x.high, y.low), hold}, bits);
    return narrow({emitter.add(x.low, y.low), emitter.add(x.high, y.high), hold}, bits);
  }

  // Of numbers that are not negative by one that is positive.
  Bounds split(Operation *op, Bounds x, Bounds y, Value hold) {
    Value none = emitter.index(0), one = emitter.index(1);
    Value isPlain = both(compare(P::sge, x.low, none), compare(P::sgt, y.low, none));
    hold = both(hold, isPlain);
    Value least = b.create<arith::SelectOp>(loc, isPlain, y.low, one);
    Value greatest = b.create<arith::SelectOp>(loc, isPlain, y.high, one);
    if (isa<tile::RemSIOp, tile::RemUIOp>(op))
      return {none, this->least(x.high, minus(greatest, one)), hold};
    return {b.create<arith::DivUIOp>(loc, x.low, greatest),
            b.create<arith::DivUIOp>(loc, x.high, least), hold};
  }

  Bounds narrow(Bounds bounds, unsigned bits) {
    return {bounds.low, bounds.high,
            bits > 32 ? bounds.hold : both(bounds.hold, isWithin(bounds, bits - 1))};
  }

  // From -2^bits on and below 2^bits.
  Value isWithin(Bounds bounds, unsigned bits) {
    return both(compare(P::sge, bounds.low, emitter.index(-(int64_t(1) << bits))),
                compare(P::slt, bounds.high, emitter.index(int64_t(1) << bits)));
  }
  Value compare(P predicate, Value x, Value y) {
    return b.create<arith::CmpIOp>(loc, predicate, x, y);
  }
  Value both(Value x, Value y) {
    return x == yes ? y : y == yes ? x : b.create<arith::AndIOp>(loc, x, y).getResult();
  }
  Value least(Value x, Value y) {
    return x == y ? x : b.create<arith::MinSIOp>(loc, x, y).getResult();
  }
  Value most(Value x, Value y) {
    return x == y ? x : b.create<arith::MaxSIOp>(loc, x, y).getResult();
  }
  Value minus(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }
  Value times(Value x, Value y) { return b.create<arith::MulIOp>(loc, x, y); }

  LaneEmitter &emitter;
  OpBuilder &b;
  Location loc;
  Value yes;
  llvm::DenseMap<Value, Bounds> known;
};

} // namespace

bool hasBounds(Value tile) { return Known().hasBounds(tile); }

Bounds boundsOf(LaneEmitter &emitter, Value tile) { return Intervals(emitter).of(tile); }

} // namespace nereid::cpu
