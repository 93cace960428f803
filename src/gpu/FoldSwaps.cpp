#include "gpu/FoldSwaps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// `first` is `condition ? a : b` and `second` is `condition ? b : a`.
struct Swap {
  Value condition, a, b;

  static std::optional<Swap> of(Value first, Value second) {
    auto one = first.getDefiningOp<LLVM::SelectOp>(),
         other = second.getDefiningOp<LLVM::SelectOp>();
    if (!one || !other || one.getCondition() != other.getCondition() ||
        one.getTrueValue() != other.getFalseValue() || one.getFalseValue() != other.getTrueValue())
      return std::nullopt;
    return Swap{one.getCondition(), one.getTrueValue(), one.getFalseValue()};
  }
};

// The condition of a pair that `swap` swapped before `condition` does. One for both of the pair.
class Conditions {
public:
  Value of(OpBuilder &b, const Swap &swap, Value condition) {
    Value low = swap.a, high = swap.b;
    if (high.getAsOpaquePointer() < low.getAsOpaquePointer())
      std::swap(low, high);
    Value &made = known[{{swap.condition, condition}, {low, high}}];
    if (!made || made.getParentBlock() != b.getInsertionBlock())
      made = make(b, swap, condition);
    return made;
  }

private:
  static Value make(OpBuilder &b, const Swap &swap, Value condition) {
    if (Value compared = compare(b, swap, condition))
      return compared;
    Value one, other;
    bool equal = false;
    if (auto exclusive = condition.getDefiningOp<arith::XOrIOp>()) {
      one = exclusive.getLhs(), other = exclusive.getRhs();
    } else if (auto compared = condition.getDefiningOp<arith::CmpIOp>();
               compared && compared.getLhs().getType().isInteger(1) &&
               isEquality(compared.getPredicate())) {
      one = compared.getLhs(), other = compared.getRhs();
      equal = compared.getPredicate() == arith::CmpIPredicate::eq;
    } else {
      return differ(b, swap.condition, condition);
    }
    // What waits for the pair comes last: the rest is known before it.
    Value last = compare(b, swap, one), rest = other;
    if (!last)
      if ((last = compare(b, swap, other)))
        rest = one;
    if (!last) {
      last = one;
      rest = differ(b, swap.condition, other);
    }
    return differ(b, last, equal ? invert(b, rest) : rest);
  }

  // A comparison of the two sides of a swap, without the swap.
  static Value compare(OpBuilder &b, const Swap &swap, Value condition) {
    Operation *op = condition.getDefiningOp();
    if (!isa_and_nonnull<arith::CmpIOp, arith::CmpFOp>(op))
      return {};
    auto compared = Swap::of(op->getOperand(0), op->getOperand(1));
    if (!compared || compared->condition != swap.condition)
      return {};
    auto between = [&](Value x, Value y) {
      Operation *copy = b.clone(*op);
      copy->setOperands({x, y});
      return copy->getResult(0);
    };
    auto integers = dyn_cast<arith::CmpIOp>(op);
    bool isSame = (compared->a == swap.a && compared->b == swap.b) ||
                  (compared->a == swap.b && compared->b == swap.a);
    // Equal ones are the same, so it does not matter which of them is which.
    if (integers && isSame && !isEquality(integers.getPredicate()))
      return between(compared->b, compared->a);
    if (!isStrict(op))
      return {};
    // One of the two is greater than the other: only of one order is that true.
    Value asIs = between(compared->b, compared->a);
    Value turned = invert(b, between(compared->a, compared->b));
    return b.create<arith::OrIOp>(op->getLoc(), asIs,
                                  b.create<arith::AndIOp>(op->getLoc(), swap.condition, turned));
  }

  static bool isStrict(Operation *op) {
    using arith::CmpFPredicate, arith::CmpIPredicate;
    if (auto floats = dyn_cast<arith::CmpFOp>(op))
      return llvm::is_contained({CmpFPredicate::OGT, CmpFPredicate::OLT}, floats.getPredicate());
    return llvm::is_contained(
        {CmpIPredicate::sgt, CmpIPredicate::slt, CmpIPredicate::ugt, CmpIPredicate::ult},
        cast<arith::CmpIOp>(op).getPredicate());
  }
  static bool isEquality(arith::CmpIPredicate predicate) {
    return predicate == arith::CmpIPredicate::eq || predicate == arith::CmpIPredicate::ne;
  }
  static Value differ(OpBuilder &b, Value x, Value y) {
    return b.create<arith::XOrIOp>(x.getLoc(), x, y);
  }
  static Value invert(OpBuilder &b, Value x) {
    return differ(b, x, b.create<arith::ConstantOp>(x.getLoc(), b.getBoolAttr(true)));
  }

  using Pair = std::pair<Value, Value>;
  llvm::DenseMap<std::pair<Pair, Pair>, Value> known;
};

} // namespace

void foldSwaps(ModuleOp module) {
  Conditions conditions;
  // In the order of the program, so that a swap is seen after what it swaps was.
  module.walk([&](LLVM::SelectOp select) {
    auto swap = Swap::of(select.getTrueValue(), select.getFalseValue());
    if (!swap)
      return;
    OpBuilder b(select);
    Value condition = conditions.of(b, *swap, select.getCondition());
    select.getConditionMutable().assign(condition);
    select.getTrueValueMutable().assign(swap->b);
    select.getFalseValueMutable().assign(swap->a);
  });
}

} // namespace nereid::gpu
