// exp, log and their kin on vectors of f32, and conversions between float formats.
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Arithmetic on lanes of f32 and of the i32 with the same bits.
struct F32 {
  LaneEmitter &emitter;
  int64_t width;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type real = laneType(b.getF32Type(), width);
  Type integer = laneType(b.getI32Type(), width);

  Value number(double value) { return emitter.constant(b.getF32FloatAttr(float(value)), width); }
  Value bits(uint32_t value) {
    return emitter.constant(b.getI32IntegerAttr(int32_t(value)), width);
  }
  Value mul(Value a, Value b_) { return b.create<arith::MulFOp>(loc, a, b_); }
  Value add(Value a, Value b_) { return b.create<arith::AddFOp>(loc, a, b_); }
  Value sub(Value a, Value b_) { return b.create<arith::SubFOp>(loc, a, b_); }
  Value fma(Value a, Value b_, Value c) { return b.create<LLVM::FMulAddOp>(loc, a, b_, c); }
  Value addBits(Value a, Value b_) { return b.create<arith::AddIOp>(loc, a, b_); }
  Value subBits(Value a, Value b_) { return b.create<arith::SubIOp>(loc, a, b_); }
  Value andBits(Value a, Value b_) { return b.create<arith::AndIOp>(loc, a, b_); }
  Value orBits(Value a, Value b_) { return b.create<arith::OrIOp>(loc, a, b_); }
  Value shl(Value a, unsigned by) { return b.create<arith::ShLIOp>(loc, a, bits(by)); }
  Value shr(Value a, unsigned by) { return b.create<arith::ShRUIOp>(loc, a, bits(by)); }
  Value sar(Value a, unsigned by) { return b.create<arith::ShRSIOp>(loc, a, bits(by)); }
  Value toBits(Value a) { return b.create<LLVM::BitcastOp>(loc, integer, a); }
  Value toReal(Value a) { return b.create<LLVM::BitcastOp>(loc, real, a); }
  Value round(Value a) { return b.create<math::RoundEvenOp>(loc, a); }
  Value toInt(Value a) { return b.create<arith::FPToSIOp>(loc, integer, a); }
  Value fromInt(Value a) { return b.create<arith::SIToFPOp>(loc, real, a); }
  Value less(Value a, Value b_) {
    return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, a, b_);
  }
  Value isNan(Value a) { return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, a, a); }
  Value equal(Value a, Value b_) {
    return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, a, b_);
  }
  Value above(Value a, Value b_) { // unsigned bits
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, a, b_);
  }
  Value select(Value c, Value t, Value f) { return b.create<arith::SelectOp>(loc, c, t, f); }
  Value clamp(Value x, double low, double high) {
    x = select(less(number(low), x), x, number(low));
    return select(less(x, number(high)), x, number(high));
  }
  // c[0] + x (c[1] + x (c[2] + ...
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(c));
    return sum;
  }
};

// p * 2^n for |n| <= 252, in two steps so that denormal results round once and overflow is
// infinite.
Value scale(F32 &f, Value p, Value n) {
  Value half = f.sar(n, 1), rest = f.subBits(n, half);
  auto power = [&](Value e) { return f.toReal(f.shl(f.addBits(e, f.bits(127)), 23)); };
  return f.mul(f.mul(p, power(half)), power(rest));
}

// 1/k!: the remainder after x^7 is below 6e-9 for |x| <= ln(2)/2.
constexpr double factorials[] = {1.0,      1.0,       1.0 / 2,   1.0 / 6,
                                 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040};

// e^x = 2^n e^r with n the integer nearest to x / ln 2.
Value emitExp(F32 &f, Value x) {
  Value t = f.clamp(x, -104.0, 89.0);
  Value n = f.round(f.mul(t, f.number(1.44269504088896341)));
  // ln 2 in two parts, the first exact in few bits.
  Value r = f.fma(n, f.number(-0.693359375), t);
  r = f.fma(n, f.number(2.12194440054690583e-4), r);
  Value result = scale(f, f.polynomial(r, factorials), f.toInt(n));
  return f.select(f.isNan(x), x, result);
}

// 2^x = 2^n 2^f, f in [-1/2, 1/2], exactly.
Value emitExp2(F32 &f, Value x) {
  Value t = f.clamp(x, -151.0, 129.0);
  Value n = f.round(t);
  double coefficients[8];
  double power = 1;
  for (int k = 0; k < 8; ++k, power *= 0.693147180559945309)
    coefficients[k] = power * factorials[k];
  Value result = scale(f, f.polynomial(f.sub(t, n), coefficients), f.toInt(n));
  return f.select(f.isNan(x), x, result);
}

// x = 2^e m with m in [sqrt 1/2, sqrt 2); log(1 + f) = f - f^2/2 + f^3 P(f), with the polynomial of
// Cephes' logf.
Value emitLog(F32 &f, Value x, bool base2) {
  Value tiny = f.less(x, f.number(1.17549435e-38));
  Value normal = f.select(tiny, f.mul(x, f.number(8388608.0)), x);
  Value raised = f.subBits(f.toBits(normal), f.bits(0x3f3504f3));
  Value e = f.fromInt(f.sar(raised, 23));
  e = f.select(tiny, f.sub(e, f.number(23.0)), e);
  Value m = f.toReal(f.addBits(f.andBits(raised, f.bits(0x7fffff)), f.bits(0x3f3504f3)));
  Value r = f.sub(m, f.number(1.0)), square = f.mul(r, r);
  Value y = f.polynomial(r, {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1,
                             1.4249322787e-1, -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1,
                             7.0376836292e-2});
  y = f.mul(f.mul(y, r), square);
  Value result;
  if (base2) {
    constexpr double log2eMinusOne = 0.442695040888963407;
    y = f.fma(square, f.number(-0.5), y);
    result = f.mul(y, f.number(log2eMinusOne));
    result = f.fma(r, f.number(log2eMinusOne), result);
    result = f.add(f.add(f.add(result, y), r), e);
  } else {
    y = f.fma(e, f.number(-2.12194440054690583e-4), y);
    y = f.fma(square, f.number(-0.5), y);
    result = f.fma(e, f.number(0.693359375), f.add(r, y));
  }
  constexpr uint32_t infinity = 0x7f800000, nan = 0x7fc00000;
  result = f.select(f.equal(x, f.number(0.0)), f.toReal(f.bits(infinity | 0x80000000)), result);
  result = f.select(f.less(x, f.number(0.0)), f.toReal(f.bits(nan)), result);
  // Infinity and NaN are their own logarithms.
  Value special =
      f.b.create<arith::CmpFOp>(f.loc, arith::CmpFPredicate::UEQ, x, f.toReal(f.bits(infinity)));
  return f.select(special, x, result);
}

// --- float formats ---

// An 8-bit (or other small) binary format.
struct Format {
  unsigned fraction; // bits
  int bias;
  uint32_t greatest;           // code of the greatest finite value
  std::optional<uint32_t> nan; // code of NaN; none: NaN becomes the greatest value
  bool negativeZero;
};

Format formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {3, 7, 0x7e, 0x7f, true};
  if (isa<Float8E5M2Type>(type))
    return {2, 15, 0x7b, 0x7f, true};
  if (isa<Float8E4M3FNUZType>(type))
    return {3, 8, 0x7f, 0x80, false};
  if (isa<Float8E5M2FNUZType>(type))
    return {2, 16, 0x7f, 0x80, false};
  return {3, 15, 0x7f, std::nullopt, true}; // e4b15, under the name of Float8E4M3B11FNUZ
}

bool isFloat8(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

// Exact: a small integer times a power of two.
Value fromFloat8(F32 &f, Value code, Type type) {
  Format format = formatOf(type);
  Value wide = f.b.create<arith::ExtUIOp>(f.loc, f.integer, code);
  Value magnitude = f.andBits(wide, f.bits(0x7f));
  // With the exponent field in place of f32's, the value is too small by a power of two, and
  // denormals of the small format are denormals of f32: the product is exact for both.
  Value value = f.mul(f.toReal(f.shl(magnitude, 23 - format.fraction)),
                      f.number(std::ldexp(1.0, 127 - format.bias)));
  Value sign = f.shl(f.andBits(wide, f.bits(0x80)), 24);
  value = f.toReal(f.orBits(f.toBits(value), sign));
  if (isa<Float8E5M2Type>(type)) {
    // 0x7c is infinite, above is NaN.
    value = f.select(f.above(magnitude, f.bits(0x7b)), f.toReal(f.orBits(sign, f.bits(0x7f800000))),
                     value);
    value = f.select(f.above(magnitude, f.bits(0x7c)), f.toReal(f.bits(0x7fc00000)), value);
  } else if (format.nan) {
    Value isNan =
        f.b.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::eq,
                                  *format.nan == 0x80 ? wide : magnitude, f.bits(*format.nan));
    value = f.select(isNan, f.toReal(f.bits(0x7fc00000)), value);
  }
  return value;
}

// Rounds to nearest even and saturates.
Value toFloat8(F32 &f, Value value, Type type, tile::Rounding rounding) {
  Format format = formatOf(type);
  Value all = f.toBits(value), magnitude = f.andBits(all, f.bits(0x7fffffff));
  unsigned drop = 23 - format.fraction;
  bool nearest = rounding == tile::Rounding::RTNE;
  // Normal results: round the fraction, then move the exponent's bias.
  Value rounded = magnitude;
  if (nearest)
    rounded = f.addBits(f.addBits(magnitude, f.bits((1u << (drop - 1)) - 1)),
                        f.andBits(f.shr(magnitude, drop), f.bits(1)));
  Value normal =
      f.subBits(f.shr(rounded, drop), f.bits(uint32_t(127 - format.bias) << format.fraction));
  // Denormal results: multiples of the least value, by the rounding of an addition or of a
  // truncation.
  double least = std::ldexp(1.0, 1 - format.bias - int(format.fraction));
  Value absolute = f.toReal(magnitude);
  Value limited = f.select(f.less(absolute, f.number(std::ldexp(1.0, 1 - format.bias))), absolute,
                           f.number(0.0));
  Value multiple = f.mul(limited, f.number(1.0 / least));
  Value denormal = f.toInt(nearest ? f.round(multiple) : multiple);
  Value isDenormal = f.less(absolute, f.number(std::ldexp(1.0, 1 - format.bias)));
  Value code = f.select(isDenormal, denormal, normal);
  // Anything above the greatest value, also infinity, becomes it. A normal code does not wrap: the
  // greatest f32 has a code of 11 bits.
  code = f.select(f.above(code, f.bits(format.greatest)), f.bits(format.greatest), code);
  Value sign = f.andBits(f.shr(all, 24), f.bits(0x80));
  Value withSign = f.orBits(code, sign);
  if (!format.negativeZero) {
    Value isZero = f.b.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::eq, code, f.bits(0));
    withSign = f.select(isZero, f.bits(0), withSign);
  }
  Value nan = format.nan ? f.bits(*format.nan) : f.bits(format.greatest);
  if (format.nan && *format.nan != 0x80)
    nan = f.orBits(nan, sign);
  withSign = f.select(f.above(magnitude, f.bits(0x7f800000)), nan, withSign);
  return f.b.create<arith::TruncIOp>(f.loc, laneType(f.b.getI8Type(), f.width), withSign);
}

// Nearest even is one more than towards zero exactly where it is greater than the source.
Value truncateTowardsZero(LaneEmitter &emitter, Value source, Type from, Type to) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  int64_t width = widthOf(source.getType());
  Value nearest = b.create<arith::TruncFOp>(loc, laneType(to, width), source);
  Value back = b.create<arith::ExtFOp>(loc, laneType(from, width), nearest);
  Value grew =
      b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, b.create<math::AbsFOp>(loc, back),
                              b.create<math::AbsFOp>(loc, source));
  Type bits = b.getIntegerType(to.getIntOrFloatBitWidth());
  Value code = b.create<LLVM::BitcastOp>(loc, laneType(bits, width), nearest);
  Value less = b.create<arith::SubIOp>(loc, code, emitter.constant(bits, 1, width));
  code = b.create<arith::SelectOp>(loc, grew, less, code);
  return b.create<LLVM::BitcastOp>(loc, laneType(to, width), code);
}

} // namespace

Value emitFloatConversion(LaneEmitter &emitter, Operation *op, Value source, Type from, Type to,
                          tile::Rounding rounding) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  int64_t width = widthOf(source.getType());
  F32 f{emitter, width};
  if (from == to)
    return source;
  if (isFloat8(from)) {
    source = fromFloat8(f, source, from);
    from = b.getF32Type();
  }
  if (isFloat8(to)) {
    if (from.isF64()) {
      // Rounding twice must not show: the first result is made odd where it is not exact.
      Value single = truncateTowardsZero(emitter, source, from, b.getF32Type());
      Value back = b.create<arith::ExtFOp>(loc, laneType(from, width), single);
      Value inexact = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, back, source);
      Value odd = b.create<arith::ExtUIOp>(loc, f.integer, inexact);
      source = f.toReal(f.orBits(f.toBits(single), odd));
    } else {
      source = emitFloatConversion(emitter, op, source, from, b.getF32Type(), rounding);
    }
    return toFloat8(f, source, to, rounding);
  }
  if (from == to)
    return source;
  Type type = laneType(to, width);
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromBits < toBits)
    return b.create<arith::ExtFOp>(loc, type, source);
  if (fromBits == toBits) { // f16 and bf16
    source = b.create<arith::ExtFOp>(loc, f.real, source);
    from = b.getF32Type();
  }
  if (rounding == tile::Rounding::RTZ)
    return truncateTowardsZero(emitter, source, from, to);
  return b.create<arith::TruncFOp>(loc, type, source);
}

Value emitMath(LaneEmitter &emitter, StringRef function, ValueRange operands) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type type = operands[0].getType(), element = scalarOf(type);
  int64_t width = widthOf(type);
  if (element.getIntOrFloatBitWidth() < 32) {
    SmallVector<Value> wide;
    for (Value operand : operands)
      wide.push_back(b.create<arith::ExtFOp>(loc, laneType(b.getF32Type(), width), operand));
    return b.create<arith::TruncFOp>(loc, type, emitMath(emitter, function, wide));
  }
  if (function == "rsqrt")
    return b.create<arith::DivFOp>(loc, emitter.constant(element, 1, width),
                                   b.create<math::SqrtOp>(loc, operands[0]));
  if (element.isF32()) {
    F32 f{emitter, width};
    if (function == "exp")
      return emitExp(f, operands[0]);
    if (function == "exp2")
      return emitExp2(f, operands[0]);
    if (function == "log" || function == "log2")
      return emitLog(f, operands[0], function == "log2");
  }
  std::string name = function == "powf" ? "pow" : function.str();
  if (element.isF32())
    name += "f";
  return emitter.perLane(width, element, operands,
                         [&](ValueRange scalars) { return emitter.call(name, element, scalars); });
}

} // namespace nereid::cpu
