#include "gpu/IndexedExtremum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// The parts of a tree of `or` or of `and`.
template <typename Op> SmallVector<Value> partsOf(Value value) {
  auto op = value.getDefiningOp<Op>();
  if (!op)
    return {value};
  SmallVector<Value> parts = partsOf<Op>(op.getLhs());
  parts.append(partsOf<Op>(op.getRhs()));
  return parts;
}

template <typename Op, typename Predicate>
bool compares(Value value, std::initializer_list<Predicate> predicates, Value x, Value y) {
  auto compare = value.getDefiningOp<Op>();
  return compare && compare.getLhs() == x && compare.getRhs() == y &&
         llvm::is_contained(predicates, compare.getPredicate());
}

// What a condition says of the elements (a, at_a) and (b, at_b); none of another form.
std::optional<IndexedExtremum> match(Value condition, Block &block) {
  using enum arith::CmpIPredicate;
  Value a = block.getArgument(0), atA = block.getArgument(1), b = block.getArgument(2),
        atB = block.getArgument(3);
  bool isFloat = isa<FloatType>(a.getType());
  auto isStrict = [&](Value value) {
    return isFloat
               ? compares<arith::CmpFOp, arith::CmpFPredicate>(
                     value, {arith::CmpFPredicate::OGT, arith::CmpFPredicate::OLT}, a, b)
               : compares<arith::CmpIOp, arith::CmpIPredicate>(value, {sgt, slt, ugt, ult}, a, b);
  };
  auto isNan = [&](Value value) {
    return isFloat && compares<arith::CmpFOp, arith::CmpFPredicate>(
                          value, {arith::CmpFPredicate::UNE, arith::CmpFPredicate::UNO}, b, b);
  };
  auto isEqual = [&](Value value) {
    return isFloat ? compares<arith::CmpFOp, arith::CmpFPredicate>(
                         value, {arith::CmpFPredicate::OEQ}, a, b)
                   : compares<arith::CmpIOp, arith::CmpIPredicate>(value, {eq}, a, b);
  };
  auto isLeft = [&](Value value) {
    return compares<arith::CmpIOp, arith::CmpIPredicate>(value, {slt}, atA, atB);
  };
  auto isTie = [&](Value value) {
    auto both = partsOf<arith::AndIOp>(value);
    return both.size() == 2 &&
           ((isEqual(both[0]) && isLeft(both[1])) || (isEqual(both[1]) && isLeft(both[0])));
  };
  unsigned numbers = 0, nans = 0, ties = 0;
  Operation *better = nullptr;
  for (Value part : partsOf<arith::OrIOp>(condition)) {
    if (isStrict(part)) {
      better = part.getDefiningOp();
      ++numbers;
    } else if (isNan(part)) {
      ++nans;
    } else if (isTie(part)) {
      ++ties;
    } else {
      return std::nullopt;
    }
  }
  if (numbers != 1 || nans != unsigned(isFloat) || ties > 1)
    return std::nullopt;
  return IndexedExtremum{better, isFloat, ties == 1};
}

// Numbers of a range differ along the axis.
bool comesFromRange(Value value) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<tile::ArangeOp>(op))
      return true;
    if (!isa_and_nonnull<tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp, ConvertLayoutOp>(
            op))
      return false;
    value = op->getOperand(0);
  }
}

} // namespace

std::optional<IndexedExtremum> IndexedExtremum::of(tile::ReduceOp reduce) {
  Block &block = reduce.getCombine().front();
  if (block.getNumArguments() != 4 || !block.getArgument(1).getType().isInteger(32) ||
      !comesFromRange(reduce.getSources()[1]))
    return std::nullopt;
  auto yielded = block.getTerminator()->getOperands();
  auto element = yielded[0].getDefiningOp<arith::SelectOp>(),
       at = yielded[1].getDefiningOp<arith::SelectOp>();
  if (!element || !at || element.getCondition() != at.getCondition() ||
      element.getTrueValue() != block.getArgument(0) ||
      element.getFalseValue() != block.getArgument(2) ||
      at.getTrueValue() != block.getArgument(1) || at.getFalseValue() != block.getArgument(3))
    return std::nullopt;
  return match(element.getCondition(), block);
}

// Of elements that are equal, and of NaN, `key` makes numbers of the places that have an order.
void IndexedExtremum::key(RegisterEmitter &e, Tuple &tuple) const {
  if (!isFloat)
    return;
  OpBuilder &b = e.builder;
  Value isNaN = b.create<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::UNO, tuple[0], tuple[0]);
  Value last = isLeft ? Value(b.create<arith::OrIOp>(e.loc(), tuple[1], e.i32(INT32_MIN)))
                      : Value(b.create<arith::XOrIOp>(e.loc(), tuple[1], e.i32(-1)));
  tuple[1] = b.create<LLVM::SelectOp>(e.loc(), isNaN, last, tuple[1]);
}

void IndexedExtremum::place(RegisterEmitter &e, Tuple &tuple) const {
  if (!isFloat)
    return;
  OpBuilder &b = e.builder;
  if (isLeft)
    tuple[1] = b.create<arith::AndIOp>(e.loc(), tuple[1], e.i32(INT32_MAX));
  else
    tuple[1] = b.create<arith::XOrIOp>(e.loc(), tuple[1],
                                       b.create<arith::ShRSIOp>(e.loc(), tuple[1], e.i32(31)));
}

Tuple IndexedExtremum::combine(RegisterEmitter &e, ArrayRef<Value> x, ArrayRef<Value> y) const {
  OpBuilder &b = e.builder;
  Operation *isBetter = b.clone(*better);
  isBetter->setOperands({x[0], y[0]});
  Value same = isFloat
                   ? Value(b.create<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::UEQ, x[0], y[0]))
                   : Value(b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, x[0], y[0]));
  Value first = b.create<arith::CmpIOp>(
      e.loc(), isLeft ? arith::CmpIPredicate::ult : arith::CmpIPredicate::sgt, x[1], y[1]);
  Value chosen = b.create<arith::OrIOp>(e.loc(), isBetter->getResult(0),
                                        b.create<arith::AndIOp>(e.loc(), same, first));
  return select(e, chosen, x, y);
}

} // namespace nereid::gpu
