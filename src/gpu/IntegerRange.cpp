#include "gpu/IntegerRange.h"

#include "gpu/TileGpu.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mlir;

namespace nereid::gpu {

namespace {

// Chains of a few ops; each op asks for its operands once, so the walk is as large as their tree.
constexpr unsigned deepest = 8;
// Of sums and products of numbers within these bounds none overflows 64 bits.
constexpr int64_t large = int64_t(1) << 31;

IntegerRange rangeAt(Value value, unsigned depth);

IntegerRange ofBits(unsigned bits) {
  if (bits >= 64)
    return {INT64_MIN, INT64_MAX};
  return {-(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1};
}
unsigned bitsOfElement(Value value) {
  return tile::elementType(value.getType()).getIntOrFloatBitWidth();
}

std::optional<int64_t> constantOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!tile::isRepeat(op))
      break;
    value = op->getOperand(0);
  }
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)) && number.getSignificantBits() <= 64)
    return number.getSExtValue();
  return std::nullopt;
}

IntegerRange hull(IntegerRange a, IntegerRange b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

// Sums, differences and products wrap where they leave their type.
template <typename Combine>
IntegerRange ofArithmetic(Operation *op, unsigned depth, Combine combine) {
  IntegerRange type = ofBits(bitsOfElement(op->getResult(0)));
  IntegerRange a = rangeAt(op->getOperand(0), depth), b = rangeAt(op->getOperand(1), depth);
  if (!a.isWithin(-large, large) || !b.isWithin(-large, large))
    return type;
  IntegerRange out = combine(a, b);
  return out.isWithin(type.least, type.most) ? out : type;
}

IntegerRange ofProduct(IntegerRange a, IntegerRange b) {
  IntegerRange first{a.least * b.least, a.least * b.least};
  for (int64_t one : {a.least * b.most, a.most * b.least, a.most * b.most})
    first = hull(first, {one, one});
  return first;
}

// Bits that one operand has not are not in the result.
IntegerRange ofAnd(Operation *op, unsigned depth) {
  IntegerRange a = rangeAt(op->getOperand(0), depth), b = rangeAt(op->getOperand(1), depth);
  if (a.isNegative() && b.isNegative())
    return ofBits(bitsOfElement(op->getResult(0)));
  if (a.isNegative() || b.isNegative())
    return {0, a.isNegative() ? b.most : a.most};
  return {0, std::min(a.most, b.most)};
}
IntegerRange ofOr(Operation *op, unsigned depth) {
  IntegerRange a = rangeAt(op->getOperand(0), depth), b = rangeAt(op->getOperand(1), depth);
  if (a.isNegative() || b.isNegative())
    return ofBits(bitsOfElement(op->getResult(0)));
  return {0, int64_t(llvm::NextPowerOf2(uint64_t(std::max(a.most, b.most)))) - 1};
}

IntegerRange ofShiftRight(Operation *op, unsigned depth, bool isSigned) {
  IntegerRange a = rangeAt(op->getOperand(0), depth);
  unsigned bits = bitsOfElement(op->getResult(0));
  auto by = constantOf(op->getOperand(1));
  bool isKnown = by && *by >= 0 && *by < int64_t(bits);
  if (isSigned || !a.isNegative())
    return isKnown ? IntegerRange{a.least >> *by, a.most >> *by}
                   : hull(a.isNegative() ? IntegerRange{-1, -1} : IntegerRange{0, 0}, a);
  if (isKnown && *by > 0)
    return {0, int64_t(llvm::maskTrailingOnes<uint64_t>(bits - unsigned(*by)))};
  return ofBits(bits);
}

IntegerRange ofRemainder(Operation *op, unsigned depth, bool isSigned) {
  IntegerRange a = rangeAt(op->getOperand(0), depth);
  auto by = constantOf(op->getOperand(1));
  if (!by || *by <= 0)
    return ofBits(bitsOfElement(op->getResult(0)));
  if (!a.isNegative())
    return {0, std::min(a.most, *by - 1)};
  return {isSigned ? 1 - *by : 0, *by - 1};
}

IntegerRange ofWidened(Value source, unsigned depth, bool isSigned) {
  IntegerRange a = rangeAt(source, depth);
  if (isSigned || !a.isNegative())
    return a;
  return {0, int64_t(llvm::maskTrailingOnes<uint64_t>(bitsOfElement(source)))};
}

IntegerRange ofOp(Operation *op, IntegerRange type, unsigned depth) {
  auto at = [&](unsigned i) { return rangeAt(op->getOperand(i), depth); };
  if (tile::isRepeat(op) || isa<tile::TransOp, tile::ReshapeOp, ConvertLayoutOp>(op))
    return at(0);
  return llvm::TypeSwitch<Operation *, IntegerRange>(op)
      .Case([](tile::ArangeOp range) {
        return IntegerRange{range.getStart(), int64_t(range.getEnd()) - 1};
      })
      .Case([&](arith::AndIOp) { return ofAnd(op, depth); })
      .Case<arith::OrIOp, arith::XOrIOp>([&](auto) { return ofOr(op, depth); })
      .Case([&](arith::AddIOp) {
        return ofArithmetic(op, depth, [](IntegerRange a, IntegerRange b) {
          return IntegerRange{a.least + b.least, a.most + b.most};
        });
      })
      .Case([&](arith::SubIOp) {
        return ofArithmetic(op, depth, [](IntegerRange a, IntegerRange b) {
          return IntegerRange{a.least - b.most, a.most - b.least};
        });
      })
      .Case([&](arith::MulIOp) { return ofArithmetic(op, depth, ofProduct); })
      .Case<arith::ShRSIOp, tile::ShRSOp>([&](auto) { return ofShiftRight(op, depth, true); })
      .Case<arith::ShRUIOp, tile::ShRUOp>([&](auto) { return ofShiftRight(op, depth, false); })
      .Case([&](tile::RemSIOp) { return ofRemainder(op, depth, true); })
      .Case([&](tile::RemUIOp) { return ofRemainder(op, depth, false); })
      .Case([&](arith::ExtSIOp wide) { return ofWidened(wide.getIn(), depth, true); })
      .Case([&](arith::ExtUIOp wide) { return ofWidened(wide.getIn(), depth, false); })
      .Case([&](arith::TruncIOp) {
        IntegerRange a = at(0);
        return a.isWithin(type.least, type.most) ? a : type;
      })
      .Case([&](arith::SelectOp) { return hull(at(1), at(2)); })
      .Default([&](Operation *) { return type; });
}

IntegerRange rangeAt(Value value, unsigned depth) {
  IntegerRange type = ofBits(bitsOfElement(value));
  Operation *op = value.getDefiningOp();
  if (!op || !depth)
    return type;
  if (auto number = constantOf(value))
    return {*number, *number};
  return ofOp(op, type, depth - 1);
}

} // namespace

IntegerRange rangeOf(Value value) { return rangeAt(value, deepest); }

} // namespace nereid::gpu
