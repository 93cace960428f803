#include "gpu/IndexedExtremum.h"

#include "gpu/TileGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

class Matcher {
public:
  explicit Matcher(Block &block)
      : a(block.getArgument(0)), atA(block.getArgument(1)), b(block.getArgument(2)),
        atB(block.getArgument(3)), isFloat(isa<FloatType>(a.getType())) {}

  std::optional<IndexedExtremum> match(Value condition) {
    unsigned numbers = 0, nans = 0, ties = 0;
    Operation *better = nullptr;
    bool isTotal = false, tiesOfNan = false;
    for (Value part : partsOf<arith::OrIOp>(condition)) {
      if (isStrict(part)) {
        better = part.getDefiningOp();
        ++numbers;
      } else if (isNan(part, b)) {
        ++nans;
      } else if (isOneNan(part)) {
        ++nans;
        isTotal = true;
      } else if (auto tie = isTie(part)) {
        ++ties;
        tiesOfNan = *tie;
      } else {
        return std::nullopt;
      }
    }
    if (numbers != 1 || nans != unsigned(isFloat) || ties > 1 || (isTotal && ties == 0) ||
        (ties == 1 && tiesOfNan != isTotal))
      return std::nullopt;
    return IndexedExtremum{better, isFloat, ties == 1, isTotal};
  }

private:
  bool isStrict(Value value) const {
    using enum arith::CmpIPredicate;
    return isFloat
               ? compares<arith::CmpFOp, arith::CmpFPredicate>(
                     value, {arith::CmpFPredicate::OGT, arith::CmpFPredicate::OLT}, a, b)
               : compares<arith::CmpIOp, arith::CmpIPredicate>(value, {sgt, slt, ugt, ult}, a, b);
  }
  bool isNan(Value value, Value x) const {
    return isFloat && compares<arith::CmpFOp, arith::CmpFPredicate>(
                          value, {arith::CmpFPredicate::UNE, arith::CmpFPredicate::UNO}, x, x);
  }
  bool isNumber(Value value, Value x) const {
    auto negated = value.getDefiningOp<arith::XOrIOp>();
    return isFloat && ((negated && isNan(negated.getLhs(), x) && matchesTrue(negated.getRhs())) ||
                       compares<arith::CmpFOp, arith::CmpFPredicate>(
                           value, {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::ORD}, x, x));
  }
  static bool matchesTrue(Value value) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    return number && number.getValue().isOne();
  }
  bool isEqual(Value value) const {
    return isFloat
               ? compares<arith::CmpFOp, arith::CmpFPredicate>(value, {arith::CmpFPredicate::OEQ},
                                                               a, b)
               : compares<arith::CmpIOp, arith::CmpIPredicate>(value, {arith::CmpIPredicate::eq}, a,
                                                               b);
  }
  // a is NaN and b is none.
  bool isOneNan(Value value) const {
    auto both = partsOf<arith::AndIOp>(value);
    return both.size() == 2 && ((isNan(both[0], a) && isNumber(both[1], b)) ||
                                (isNan(both[1], a) && isNumber(both[0], b)));
  }
  bool areNan(Value value) const {
    auto both = partsOf<arith::AndIOp>(value);
    return both.size() == 2 &&
           ((isNan(both[0], a) && isNan(both[1], b)) || (isNan(both[1], a) && isNan(both[0], b)));
  }
  // Equal elements of which a is the left one; true if NaN are equal, too.
  std::optional<bool> isTie(Value value) const {
    auto both = partsOf<arith::AndIOp>(value);
    if (both.size() != 2)
      return std::nullopt;
    for (unsigned i : {0, 1}) {
      if (!compares<arith::CmpIOp, arith::CmpIPredicate>(both[i], {arith::CmpIPredicate::slt}, atA,
                                                         atB))
        continue;
      auto equal = partsOf<arith::OrIOp>(both[1 - i]);
      if (equal.size() == 1 && isEqual(equal[0]))
        return false;
      if (equal.size() == 2 &&
          ((isEqual(equal[0]) && areNan(equal[1])) || (isEqual(equal[1]) && areNan(equal[0]))))
        return true;
    }
    return std::nullopt;
  }

  Value a, atA, b, atB;
  bool isFloat;
};

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
  return Matcher(block).match(element.getCondition());
}

} // namespace nereid::gpu
