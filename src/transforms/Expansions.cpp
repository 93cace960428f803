#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "transforms/Float32Lanes.h"

#include <cmath>
#include <optional>

using namespace mlir;

namespace nereid::transforms {

namespace {

int64_t widthOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}
Type lanesOf(Type element, int64_t width) {
  return width == 1 ? element : VectorType::get({width}, element);
}
Value repeated(OpBuilder &b, Location loc, TypedAttr value, int64_t width) {
  if (width > 1)
    value = DenseElementsAttr::get(VectorType::get({width}, value.getType()), Attribute(value));
  return b.create<arith::ConstantOp>(loc, value);
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
Value fromFloat8(Float32Lanes &f, Value code, Type type) {
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
Value toFloat8(Float32Lanes &f, Value value, Type type, tile::Rounding rounding) {
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
  return f.b.create<arith::TruncIOp>(f.loc, f.with(f.b.getI8Type()), withSign);
}

// Nearest even is one more than towards zero exactly where it is greater than the source.
Value truncateTowardsZero(OpBuilder &b, Location loc, Value source, Type from, Type to) {
  int64_t width = widthOf(source.getType());
  Value nearest = b.create<arith::TruncFOp>(loc, lanesOf(to, width), source);
  Value back = b.create<arith::ExtFOp>(loc, lanesOf(from, width), nearest);
  Value grew =
      b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, b.create<math::AbsFOp>(loc, back),
                              b.create<math::AbsFOp>(loc, source));
  Type bits = b.getIntegerType(to.getIntOrFloatBitWidth());
  Value code = b.create<LLVM::BitcastOp>(loc, lanesOf(bits, width), nearest);
  Value less =
      b.create<arith::SubIOp>(loc, code, repeated(b, loc, b.getIntegerAttr(bits, 1), width));
  code = b.create<arith::SelectOp>(loc, grew, less, code);
  return b.create<LLVM::BitcastOp>(loc, lanesOf(to, width), code);
}

} // namespace

Value expandTotal(OpBuilder &b, Location loc, Total kind, Value x, Value y, bool sameDivisor) {
  Type element = getElementTypeOrSelf(x.getType());
  int64_t width = widthOf(x.getType());
  auto number = [&](int64_t value) {
    return repeated(b, loc, b.getIntegerAttr(element, value), width);
  };
  auto select = [&](Value c, Value t, Value f) -> Value {
    return b.create<arith::SelectOp>(loc, c, t, f);
  };
  auto equals = [&](int64_t value) -> Value {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, y, number(value));
  };
  if (kind >= Total::ShL) {
    Value inside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, y,
                                           number(element.getIntOrFloatBitWidth()));
    if (kind == Total::ShL)
      return select(inside, b.create<arith::ShLIOp>(loc, x, y), number(0));
    if (kind == Total::ShRU)
      return select(inside, b.create<arith::ShRUIOp>(loc, x, y), number(0));
    Value most = number(element.getIntOrFloatBitWidth() - 1);
    return b.create<arith::ShRSIOp>(loc, x, select(inside, y, most));
  }
  Value byZero = equals(0);
  bool isSigned = kind == Total::DivS || kind == Total::RemS;
  // -1 is kept from the divider too: INT_MIN / -1 traps.
  Value byMinusOne = isSigned ? equals(-1) : Value();
  Value unsafe = isSigned ? b.create<arith::OrIOp>(loc, byZero, byMinusOne) : byZero;
  Value safe = select(unsafe, number(1), y);
  // No processor divides vectors of integers. f64 does it exactly for up to 32 bits: a quotient
  // that is no integer is further from the next one than f64 rounds.
  if ((width > 1 || sameDivisor) && element.getIntOrFloatBitWidth() <= 32 &&
      !matchPattern(y, m_Constant())) {
    Type wide = lanesOf(b.getF64Type(), width);
    auto widen = [&](Value value) -> Value {
      return isSigned ? b.create<arith::SIToFPOp>(loc, wide, value).getResult()
                      : b.create<arith::UIToFPOp>(loc, wide, value).getResult();
    };
    auto real = [&](double value) { return repeated(b, loc, b.getF64FloatAttr(value), width); };
    Value ratio;
    if (sameDivisor) {
      // By its reciprocal: (x + 1/2) / y is no closer than 1/2y to where the quotient changes, and
      // both roundings together err by at most 2^-19 of that.
      Value half = real(0.5);
      if (isSigned)
        half = select(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, number(0)),
                      real(-0.5), half);
      Value reciprocal = b.create<arith::DivFOp>(loc, real(1), widen(safe));
      ratio =
          b.create<arith::MulFOp>(loc, b.create<arith::AddFOp>(loc, widen(x), half), reciprocal);
    } else {
      ratio = b.create<arith::DivFOp>(loc, widen(x), widen(safe));
    }
    Value quotient = isSigned ? b.create<arith::FPToSIOp>(loc, x.getType(), ratio).getResult()
                              : b.create<arith::FPToUIOp>(loc, x.getType(), ratio).getResult();
    if (kind == Total::RemS || kind == Total::RemU) {
      Value product = b.create<arith::MulIOp>(loc, quotient, safe);
      return select(byZero, x, b.create<arith::SubIOp>(loc, x, product));
    }
    if (isSigned)
      quotient = select(byMinusOne, b.create<arith::SubIOp>(loc, number(0), x), quotient);
    return select(byZero, number(-1), quotient);
  }
  switch (kind) {
  case Total::DivS: {
    Value quotient = b.create<arith::DivSIOp>(loc, x, safe);
    quotient = select(byMinusOne, b.create<arith::SubIOp>(loc, number(0), x), quotient);
    return select(byZero, number(-1), quotient);
  }
  case Total::DivU:
    return select(byZero, number(-1), b.create<arith::DivUIOp>(loc, x, safe));
  case Total::RemS:
    return select(byZero, x, b.create<arith::RemSIOp>(loc, x, safe));
  default:
    return select(byZero, x, b.create<arith::RemUIOp>(loc, x, safe));
  }
}

Value expandMulHigh(OpBuilder &b, Location loc, Value x, Value y) {
  Type element = getElementTypeOrSelf(x.getType());
  int64_t width = widthOf(x.getType());
  unsigned bits = element.getIntOrFloatBitWidth();
  Type wide = b.getIntegerType(bits * 2), wides = lanesOf(wide, width);
  Value product = b.create<arith::MulIOp>(loc, b.create<arith::ExtUIOp>(loc, wides, x),
                                          b.create<arith::ExtUIOp>(loc, wides, y));
  Value upper =
      b.create<arith::ShRUIOp>(loc, product, repeated(b, loc, b.getIntegerAttr(wide, bits), width));
  return b.create<arith::TruncIOp>(loc, x.getType(), upper);
}

Value expandFloatConversion(OpBuilder &b, Location loc, Value source, Type from, Type to,
                            tile::Rounding rounding) {
  int64_t width = widthOf(source.getType());
  Float32Lanes f(b, loc, lanesOf(b.getF32Type(), width));
  if (from == to)
    return source;
  if (isFloat8(from)) {
    source = fromFloat8(f, source, from);
    from = b.getF32Type();
  }
  if (isFloat8(to)) {
    if (from.isF64()) {
      // Rounding twice must not show: the first result is made odd where it is not exact.
      Value single = truncateTowardsZero(b, loc, source, from, b.getF32Type());
      Value back = b.create<arith::ExtFOp>(loc, lanesOf(from, width), single);
      Value inexact = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, back, source);
      Value odd = b.create<arith::ExtUIOp>(loc, f.integer, inexact);
      source = f.toReal(f.orBits(f.toBits(single), odd));
    } else {
      source = expandFloatConversion(b, loc, source, from, b.getF32Type(), rounding);
    }
    return toFloat8(f, source, to, rounding);
  }
  if (from == to)
    return source;
  Type type = lanesOf(to, width);
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromBits < toBits)
    return b.create<arith::ExtFOp>(loc, type, source);
  if (fromBits == toBits) { // f16 and bf16
    source = b.create<arith::ExtFOp>(loc, f.real, source);
    from = b.getF32Type();
  }
  if (rounding == tile::Rounding::RTZ)
    return truncateTowardsZero(b, loc, source, from, to);
  return b.create<arith::TruncFOp>(loc, type, source);
}

} // namespace nereid::transforms
