// Whether a combination is symmetric as a function of numbers, by its value at random places of a
// finite field: two rational functions that agree there are the same one but for odds of one in
// 2^50.
#include "analysis/CombineOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace nereid::analysis {

namespace {

// Numbers modulo the prime 2^61 - 1.
constexpr uint64_t prime = (uint64_t(1) << 61) - 1;
uint64_t plus(uint64_t x, uint64_t y) { return (x + y) % prime; }
uint64_t negated(uint64_t x) { return (prime - x) % prime; }
uint64_t times(uint64_t x, uint64_t y) { return uint64_t((unsigned __int128)x * y % prime); }
uint64_t power(uint64_t x, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, x = times(x, x))
    if (exponent & 1)
      result = times(result, x);
  return result;
}
uint64_t inverse(uint64_t x) { return power(x, prime - 2); }

// The place of an operand, the same in each run.
uint64_t randomPlace(uint64_t seed) {
  return times(power(seed + 3, 1000003), 0x9e3779b97f4a7c15 % prime);
}

uint64_t ofAttribute(Attribute constant) {
  if (auto integer = dyn_cast<IntegerAttr>(constant)) {
    const APInt &value = integer.getValue();
    uint64_t size = value.abs().urem(prime);
    return value.isNegative() ? negated(size) : size;
  }
  auto number = dyn_cast<FloatAttr>(constant);
  if (!number || !number.getValue().isFinite())
    return uint64_t(hash_value(constant)) % prime;
  int exponent = 0;
  double mantissa = std::frexp(number.getValueAsDouble(), &exponent);
  uint64_t size = uint64_t(std::ldexp(std::abs(mantissa), 53)) % prime;
  uint64_t scale = power(2, uint64_t(std::abs(exponent - 53)));
  size = times(size, exponent < 53 ? inverse(scale) : scale);
  return mantissa < 0 ? negated(size) : size;
}

// `x == 0 ? c : y / x` is a quotient where there is one; a sum of no elements has none.
Value guardedQuotient(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || !matchPattern(compare.getRhs(), m_AnyZeroFloat()))
    return {};
  using Predicate = arith::CmpFPredicate;
  Predicate predicate = compare.getPredicate();
  bool isEqual = predicate == Predicate::OEQ || predicate == Predicate::UEQ;
  if (!isEqual && predicate != Predicate::ONE && predicate != Predicate::UNE)
    return {};
  Value otherwise = isEqual ? select.getFalseValue() : select.getTrueValue();
  auto quotient = otherwise.getDefiningOp<arith::DivFOp>();
  return quotient && quotient.getRhs() == compare.getLhs() ? otherwise : Value();
}

class Evaluation {
public:
  // Of the two elements, each a place for each source; the right one first if they are swapped.
  Evaluation(Block &combine, bool swapped) {
    unsigned sources = combine.getNumArguments() / 2;
    for (BlockArgument argument : combine.getArguments()) {
      unsigned number = argument.getArgNumber();
      known[argument] =
          randomPlace(swapped ? (number + sources) % combine.getNumArguments() : number);
    }
    for (Operation &op : combine.without_terminator())
      if (op.getNumResults() == 1)
        known[op.getResult(0)] = valueOf(&op);
  }

  uint64_t of(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    Attribute constant;
    return matchPattern(value, m_Constant(&constant)) ? ofAttribute(constant)
                                                      : uint64_t(hash_value(value)) % prime;
  }

private:
  uint64_t valueOf(Operation *op) {
    SmallVector<uint64_t> x;
    for (Value operand : op->getOperands())
      x.push_back(of(operand));
    return llvm::TypeSwitch<Operation *, uint64_t>(op)
        .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return plus(x[0], x[1]); })
        .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return plus(x[0], negated(x[1])); })
        .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return times(x[0], x[1]); })
        .Case([&](arith::DivFOp) { return times(x[0], inverse(x[1])); })
        .Case([&](arith::NegFOp) { return negated(x[0]); })
        .Case([&](math::FmaOp) { return plus(times(x[0], x[1]), x[2]); })
        .Case([&](arith::ConstantOp constant) { return ofAttribute(constant.getValue()); })
        .Default([&](Operation *) {
          auto select = dyn_cast<arith::SelectOp>(op);
          if (Value quotient = select ? guardedQuotient(select) : Value())
            return of(quotient);
          // Any function of its operands.
          if (op->hasTrait<OpTrait::IsCommutative>())
            llvm::sort(x);
          return uint64_t(llvm::hash_combine(op->getName().getAsOpaquePointer(),
                                             op->getAttrDictionary().getAsOpaquePointer(),
                                             llvm::hash_combine_range(x.begin(), x.end()))) %
                 prime;
        });
  }

  DenseMap<Value, uint64_t> known;
};

} // namespace

bool commutesBeforeRounding(Block &combine) {
  Evaluation there(combine, false), back(combine, true);
  return llvm::all_of(combine.getTerminator()->getOperands(),
                      [&](Value value) { return there.of(value) == back.of(value); });
}

} // namespace nereid::analysis
