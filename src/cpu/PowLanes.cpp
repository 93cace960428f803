// x^y of f32 as 2^(y log2 |x|) in f64, which has digits to spare: the logarithm is multiplied by up
// to 150 and the result rounded once, to f32.
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace nereid::cpu {

namespace {

constexpr double ln2 = 0.693147180559945309417;
// Whole numbers added to it stand in the last bits of the sum.
constexpr double shifter = 0x1.8p52;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct F64 {
  LaneEmitter &emitter;
  int64_t width;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();

  Value number(double value) {
    return emitter.constant(cast<TypedAttr>(b.getF64FloatAttr(value)), width);
  }
  Value bits(int64_t value) { return emitter.constant(b.getI64Type(), value, width); }
  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(loc, x, y); }
  Value add(Value x, Value y) { return b.create<arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubFOp>(loc, x, y); }
  Value fma(Value x, Value y, Value z) { return b.create<LLVM::FMulAddOp>(loc, x, y, z); }
  Value toBits(Value x) {
    return b.create<LLVM::BitcastOp>(loc, laneType(b.getI64Type(), width), x);
  }
  Value toReal(Value x) {
    return b.create<LLVM::BitcastOp>(loc, laneType(b.getF64Type(), width), x);
  }
  Value addBits(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value subBits(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }
  Value shl(Value x, int64_t by) { return b.create<arith::ShLIOp>(loc, x, bits(by)); }
  Value compare(arith::CmpFPredicate how, Value x, Value y) {
    return b.create<arith::CmpFOp>(loc, how, x, y);
  }
  Value select(Value c, Value x, Value y) { return b.create<arith::SelectOp>(loc, c, x, y); }

  // For positive f32, 0, infinity and NaN: e + log2(m), m from sqrt(1/2) to sqrt(2), where with
  // s = (m - 1) / (m + 1), s^2 < 0.0295, terms from s^15 on are less than 2e-12 of the sum.
  Value log2(Value x) {
    constexpr int64_t lowest = 0x3fe6a09e'00000000; // sqrt(1/2)
    Value above = subBits(toBits(x), bits(lowest));
    Value e = b.create<arith::ShRUIOp>(loc, addBits(above, bits(int64_t(1024) << 52)), bits(52));
    Value m = toReal(subBits(toBits(x), shl(subBits(e, bits(1024)), 52)));
    Value s = b.create<arith::DivFOp>(loc, sub(m, number(1)), add(m, number(1)));
    Value square = mul(s, s);
    Value sum = number(2 / ln2 / 13);
    for (int k = 11; k > 0; k -= 2)
      sum = fma(sum, square, number(2 / ln2 / k));
    Value exponent =
        sub(toReal(addBits(e, bits(llvm::bit_cast<int64_t>(shifter)))), number(shifter + 1024));
    Value log = fma(sum, s, exponent);
    log = select(compare(arith::CmpFPredicate::OLT, x, number(infinity)), log, x);
    return select(compare(arith::CmpFPredicate::OEQ, x, number(0)), number(-infinity), log);
  }

  // 2^n 2^r, |r| <= 1/2, to 2e-10. NaN has last bits of zeros, and stays.
  Value exp2(Value x) {
    constexpr double most = 400; // beyond f32
    x = select(compare(arith::CmpFPredicate::OLT, x, number(-most)), number(-most), x);
    x = select(compare(arith::CmpFPredicate::OGT, x, number(most)), number(most), x);
    Value count = add(x, number(shifter));
    Value r = sub(x, sub(count, number(shifter)));
    double coefficients[9];
    for (double k = 0, c = 1; k < 9; c *= ln2 / ++k)
      coefficients[int(k)] = c;
    Value sum = number(coefficients[8]);
    for (int k = 7; k >= 0; --k)
      sum = fma(sum, r, number(coefficients[k]));
    return toReal(addBits(toBits(sum), shl(toBits(count), 52)));
  }
};

} // namespace

Value emitPow(LaneEmitter &emitter, Value x, Value y) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  int64_t width = widthOf(x.getType());
  using P = arith::CmpFPredicate;
  auto number = [&](float value) {
    return emitter.constant(cast<TypedAttr>(b.getF32FloatAttr(value)), width);
  };
  auto compare = [&](P how, Value x, Value y) -> Value {
    return b.create<arith::CmpFOp>(loc, how, x, y);
  };
  auto select = [&](Value c, Value x, Value y) -> Value {
    return b.create<arith::SelectOp>(loc, c, x, y);
  };
  auto both = [&](Value x, Value y) -> Value { return b.create<arith::AndIOp>(loc, x, y); };
  Value size = b.create<math::AbsFOp>(loc, x), one = number(1);
  F64 f{emitter, width};
  Type wide = laneType(b.getF64Type(), width);
  Value power = f.exp2(f.mul(b.create<arith::ExtFOp>(loc, wide, y),
                             f.log2(b.create<arith::ExtFOp>(loc, wide, size))));
  Value result = b.create<arith::TruncFOp>(loc, x.getType(), power);
  // (-1)^inf is 1, too, where the product is NaN.
  constexpr float limit = std::numeric_limits<float>::infinity();
  Value endless = compare(P::OEQ, b.create<math::AbsFOp>(loc, y), number(limit));
  result = select(both(compare(P::OEQ, size, one), endless), one, result);
  // Numbers below zero have powers that are whole, and the sign of x in odd ones; infinity is even.
  Value half = b.create<arith::MulFOp>(loc, y, number(0.5f));
  Value isWhole = compare(P::OEQ, b.create<math::FloorOp>(loc, y), y);
  Value isOdd = both(isWhole, compare(P::UNE, b.create<math::FloorOp>(loc, half), half));
  result = select(isOdd, b.create<math::CopySignOp>(loc, result, x), result);
  Value isBelow = both(compare(P::OLT, x, number(0)), compare(P::OGT, x, number(-limit)));
  Value hasNone = both(isBelow, compare(P::UNE, b.create<math::FloorOp>(loc, y), y));
  result = select(hasNone, number(std::numeric_limits<float>::quiet_NaN()), result);
  // Whatever the other one is, NaN as well.
  Value isOne = b.create<arith::OrIOp>(loc, compare(P::OEQ, y, number(0)), compare(P::OEQ, x, one));
  return select(isOne, one, result);
}

} // namespace nereid::cpu
