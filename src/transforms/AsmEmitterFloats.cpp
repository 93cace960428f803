// Statements of inline PTX on floats, and conversions.
#include "transforms/AsmEmitter.h"

using namespace mlir;

namespace nereid::transforms {

using ptx::Kind;
using ptx::Operand;
using ptx::Statement;

Value AsmEmitter::flushed(Value x, bool flushes) {
  if (!flushes)
    return x;
  Value size = b.create<math::AbsFOp>(loc, x);
  Value tiny = compareFloats(arith::CmpFPredicate::OLT, size, real(0x1p-126, b.getF32Type()));
  Value zero = b.create<math::CopySignOp>(loc, real(0, b.getF32Type()), x);
  return select(tiny, zero, x);
}
Value AsmEmitter::toFloat(Value x, Type element, bool towardsZero) {
  Type to = shaped(element);
  if (x.getType() == to)
    return x;
  return b.create<tile::FPConvertOp>(loc, to, x,
                                     towardsZero ? tile::Rounding::RTZ : tile::Rounding::RTNE);
}

Value AsmEmitter::minOrMax(Value x, Value y, const Statement &s) {
  Value sign;
  if (s.has("xorsign")) {
    sign = make<arith::XOrIOp>(asBits(x), asBits(y));
    sign = fromBits(sign, getElementTypeOrSelf(x));
  }
  if (s.has("abs")) {
    x = b.create<math::AbsFOp>(loc, x);
    y = b.create<math::AbsFOp>(loc, y);
  }
  bool isMax = s.operation() == "max";
  Value result = s.has("NaN")
                     ? isMax ? make<arith::MaximumFOp>(x, y) : make<arith::MinimumFOp>(x, y)
                 : isMax ? make<arith::MaxNumFOp>(x, y)
                         : make<arith::MinNumFOp>(x, y);
  return sign ? b.create<math::CopySignOp>(loc, result, sign).getResult() : result;
}

// x + y in f64 of which the bits that f32 drops may be dropped: one less where rounding took the
// sum away from zero.
Value AsmEmitter::sumTowardsZero(Value x, Value y) {
  Value sum = make<arith::AddFOp>(x, y), added = make<arith::SubFOp>(sum, x);
  Value lost = make<arith::AddFOp>(make<arith::SubFOp>(x, make<arith::SubFOp>(sum, added)),
                                   make<arith::SubFOp>(y, added));
  Value zero = real(0, b.getF64Type());
  using P = arith::CmpFPredicate;
  auto both = [&](P first, P second) {
    return make<arith::AndIOp>(compareFloats(first, lost, zero), compareFloats(second, sum, zero));
  };
  Value isBeyond = make<arith::OrIOp>(both(P::OLT, P::OGT), both(P::OGT, P::OLT));
  Value less = fromBits(make<arith::SubIOp>(asBits(sum), integer(1, 64)), b.getF64Type());
  return select(isBeyond, less, sum);
}

// One lane. Narrow types are computed in a wider one and rounded once.
Value AsmEmitter::floatFunction(const Statement &s, Type element, ArrayRef<Value> in) {
  StringRef operation = s.operation();
  bool towardsZero = s.has("rz");
  bool isFused = operation == "fma" || operation == "mad";
  if (operation == "abs" && in.size() == 1)
    return b.create<math::AbsFOp>(loc, in[0]);
  if (operation == "neg" && in.size() == 1)
    return b.create<arith::NegFOp>(loc, in[0]);
  if (operation == "copysign" && in.size() == 2)
    return b.create<math::CopySignOp>(loc, in[1], in[0]);
  if (operation == "min" || operation == "max") {
    if (in.size() != 2 && in.size() != 3)
      unknown(s);
    Value result = minOrMax(in[0], in[1], s);
    return in.size() == 3 ? minOrMax(result, in[2], s) : result;
  }
  bool isNarrow = element.getIntOrFloatBitWidth() < 32;
  Type wide = towardsZero || (isNarrow && isFused) ? Type(b.getF64Type())
              : isNarrow                           ? Type(b.getF32Type())
                                                   : element;
  SmallVector<Value> v;
  for (Value x : in)
    v.push_back(toFloat(x, wide));
  auto done = [&](Value x) { return toFloat(x, element, towardsZero); };
  if (isFused && v.size() == 3)
    return done(towardsZero ? sumTowardsZero(make<arith::MulFOp>(v[0], v[1]), v[2])
                            : b.create<math::FmaOp>(loc, v[0], v[1], v[2]).getResult());
  if (v.size() == 2) {
    if (towardsZero && (operation == "add" || operation == "sub"))
      return done(sumTowardsZero(
          v[0], operation == "add" ? v[1] : b.create<arith::NegFOp>(loc, v[1]).getResult()));
    if (operation == "add")
      return done(make<arith::AddFOp>(v[0], v[1]));
    if (operation == "sub")
      return done(make<arith::SubFOp>(v[0], v[1]));
    if (operation == "mul")
      return done(make<arith::MulFOp>(v[0], v[1]));
    if (operation == "div")
      return done(make<tile::DivRnOp>(v[0], v[1]));
  }
  if (v.size() == 1) {
    Value one = real(1, wide);
    if (operation == "rcp")
      return done(make<tile::DivRnOp>(one, v[0]));
    if (operation == "sqrt")
      return done(b.create<tile::SqrtRnOp>(loc, v[0]));
    if (operation == "rsqrt")
      return done(b.create<math::RsqrtOp>(loc, v[0]));
    if (operation == "ex2")
      return done(b.create<math::Exp2Op>(loc, v[0]));
    if (operation == "lg2")
      return done(b.create<math::Log2Op>(loc, v[0]));
    if (operation == "sin")
      return done(b.create<math::SinOp>(loc, v[0]));
    if (operation == "cos")
      return done(b.create<math::CosOp>(loc, v[0]));
    if (operation == "tanh")
      return done(function(wide.isF64() ? "tanh" : "tanhf", v[0]));
  }
  unknown(s);
}

Value AsmEmitter::floatResult(const Statement &s) {
  const ptx::Type &type = s.types[0];
  Type element = floatType(type);
  if (!element || type.bits < 16 || s.has("rm") || s.has("rp") || (type.bits == 64 && s.has("rz")))
    unknown(s);
  bool flushes = s.has("ftz") && element.isF32();
  SmallVector<Value> words, lanes;
  for (const Operand &operand : llvm::ArrayRef(s.arguments).drop_front())
    words.push_back(read(s, operand, type));
  for (unsigned lane = 0; lane < type.lanes; ++lane) {
    SmallVector<Value> in;
    for (Value word : words)
      in.push_back(flushed(
          fromBits(resized(shiftedRight(word, lane * type.bits), type.bits), element), flushes));
    Value x = floatFunction(s, element, in), zero = real(0, element);
    if (s.has("relu"))
      x = select(compareFloats(arith::CmpFPredicate::UGT, x, zero), x, zero);
    if (s.has("sat"))
      x = make<arith::MinNumFOp>(make<arith::MaxNumFOp>(x, zero), real(1, element));
    lanes.push_back(asBits(flushed(x, flushes)));
  }
  return packed(lanes, type.width());
}

// testp
Value AsmEmitter::floatClass(const Statement &s) {
  takes(s, 2, 2);
  const ptx::Type &type = s.types[0];
  if ((type.name != "f32" && type.name != "f64") || s.words.size() != 3)
    unknown(s);
  unsigned bits = type.bits;
  Value sizeMask = integer(~0ull >> (65 - bits), bits);
  Value size = make<arith::AndIOp>(read(s, s.arguments[1], type), sizeMask);
  Value infinity = integer(bits == 64 ? 0x7ffull << 52 : 0xffull << 23, bits);
  Value least = integer(bits == 64 ? 1ull << 52 : 1ull << 23, bits); // that is normal
  using P = arith::CmpIPredicate;
  auto is = [&](P predicate, Value than) { return compareIntegers(predicate, size, than); };
  StringRef how = s.words[1];
  if (how == "finite")
    return is(P::ult, infinity);
  if (how == "infinite")
    return is(P::eq, infinity);
  if (how == "number")
    return is(P::ule, infinity);
  if (how == "notanumber")
    return is(P::ugt, infinity);
  if (how == "normal")
    return make<arith::AndIOp>(is(P::uge, least), is(P::ult, infinity));
  if (how == "subnormal")
    return make<arith::AndIOp>(is(P::ult, least), is(P::ne, integer(0, bits)));
  unknown(s);
}

// --- conversions ---

// cvt.pack.sat.narrow.from[.b32] d, a, b[, c]: b in the lowest bits, a above it, c's above those.
Value AsmEmitter::packSaturated(const Statement &s) {
  takes(s, 3, 4);
  const ptx::Type &to = s.types[0];
  if (s.types.size() < 2 || s.types.size() > 3 || !s.has("sat") || to.kind == Kind::Float ||
      s.types[1].kind == Kind::Float || to.bits > 16 || s.types[1].bits > 32)
    unknown(s);
  auto narrow = [&](size_t i) {
    return resized(convertedLane(s, read(s, s.arguments[i], s.types[1])), 32);
  };
  Value result = make<arith::OrIOp>(narrow(2), shiftedLeft(narrow(1), to.bits));
  if (s.arguments.size() < 4)
    return result;
  return make<arith::OrIOp>(result, shiftedLeft(read(s, s.arguments[3], {}), 2 * to.bits));
}

// A code as f32. With exponent and fraction where f32 has them the number is too small by a power
// of two: the product is exact, denormals too.
Value AsmEmitter::fromSmallFloat(const ptx::Type &type, Value bits) {
  bits = resized(bits, 32);
  if (type.name == "ue8m0") {
    Value least = compareIntegers(arith::CmpIPredicate::eq, bits, integer(0, 32));
    Value top = compareIntegers(arith::CmpIPredicate::eq, bits, integer(255, 32));
    Value power = select(least, integer(0x00400000, 32), shiftedLeft(bits, 23));
    return fromBits(select(top, integer(0x7fc00000, 32), power), b.getF32Type());
  }
  unsigned sign = type.format.bits() - 1;
  Value size = make<arith::AndIOp>(bits, integer((1u << sign) - 1, 32));
  Value scaled = fromBits(shiftedLeft(size, 23 - type.format.mantissaBits), b.getF32Type());
  Value value =
      make<arith::MulFOp>(scaled, real(std::ldexp(1.0, 127 - type.format.bias), b.getF32Type()));
  Value negative = make<arith::AndIOp>(shiftedRight(bits, sign), integer(1, 32));
  return fromBits(make<arith::OrIOp>(asBits(value), shiftedLeft(negative, 31)), b.getF32Type());
}

// f32 to the nearest number, ties to even; what is too large, and NaN, to the largest.
Value AsmEmitter::toSmallFloat(const ptx::Type &type, Value x) {
  const support::FloatFormat &format = type.format;
  unsigned sign = format.bits() - 1, dropped = 23 - format.mantissaBits;
  Type f32 = b.getF32Type();
  Value largest = real(support::decodeFloat(format, (1u << sign) - 1), f32);
  Value isNan = compareFloats(arith::CmpFPredicate::UNO, x, x);
  Value size = make<arith::MinNumFOp>(b.create<math::AbsFOp>(loc, x), largest);
  // Below the least power of two that is normal: a whole number of the smallest step.
  Value steps =
      make<arith::MulFOp>(size, real(std::ldexp(1.0, format.bias - 1 + format.mantissaBits), f32));
  Value few = b.create<tile::FPToIntOp>(
      loc, integerType(32), b.create<math::RoundEvenOp>(loc, steps), /*isUnsigned=*/true);
  Value bits = make<arith::SubIOp>(asBits(size), integer(uint64_t(127 - format.bias) << 23, 32));
  Value odd = make<arith::AndIOp>(shiftedRight(bits, dropped), integer(1, 32));
  Value rounded = shiftedRight(
      make<arith::AddIOp>(make<arith::AddIOp>(bits, integer((1u << (dropped - 1)) - 1, 32)), odd),
      dropped);
  Value isSmall =
      compareFloats(arith::CmpFPredicate::OLT, size, real(std::ldexp(1.0, 1 - format.bias), f32));
  Value code = select(isSmall, few, rounded);
  Value negative = shiftedRight(asBits(x), 31);
  code = make<arith::OrIOp>(code, shiftedLeft(negative, sign));
  return resized(select(isNan, integer((1u << sign) - 1, 32), code), type.bits);
}

// The exponent of the power of two at or beyond |x|, or at or below it; 255 for NaN.
Value AsmEmitter::toExponent(Value x, bool upwards, bool saturates) {
  using P = arith::CmpIPredicate;
  Value size = make<arith::AndIOp>(asBits(x), integer(0x7fffffff, 32));
  Value isNan = compareIntegers(P::ugt, size, integer(0x7f800000, 32));
  Value code = size;
  if (upwards)
    code = make<arith::AddIOp>(size, integer(0x7fffff, 32));
  code = shiftedRight(code, 23);
  // 2^-127 is a denormal of f32.
  if (upwards)
    code = select(compareIntegers(P::ule, size, integer(0x00400000, 32)), integer(0, 32), code);
  code = make<arith::MinUIOp>(code, integer(saturates ? 254 : 255, 32));
  return resized(select(isNan, integer(255, 32), code), 8);
}

Value AsmEmitter::converted(const Statement &s) {
  if (s.types.size() != 2 || s.has("rm") || s.has("rs") ||
      (s.has("rp") && s.types[0].name != "ue8m0"))
    unknown(s);
  const ptx::Type &to = s.types[0], &from = s.types[1];
  if (to.lanes == 2 && from.lanes == 1 && s.arguments.size() == 3) {
    // The first source goes to the upper half.
    Value halves[] = {convertedLane(s, read(s, s.arguments[2], from)),
                      convertedLane(s, read(s, s.arguments[1], from))};
    return packed(halves, to.width());
  }
  if (to.lanes != from.lanes || s.arguments.size() != 2)
    unknown(s);
  Value word = read(s, s.arguments[1], from);
  SmallVector<Value> lanes;
  for (unsigned lane = 0; lane < to.lanes; ++lane)
    lanes.push_back(convertedLane(s, resized(shiftedRight(word, lane * from.bits), from.bits)));
  Value result = packed(lanes, to.width());
  // A register is wider than the type: signed values are extended into it.
  return to.kind == Kind::Signed ? resized(result, 64, /*isSigned=*/true) : result;
}

Value AsmEmitter::convertedLane(const Statement &s, Value bits) {
  const ptx::Type &to = s.types[0], &from = s.types[1];
  bool toFloats = to.kind == Kind::Float, toSigned = to.kind == Kind::Signed;
  Type target = toFloats ? floatType(to) : b.getIntegerType(to.bits);
  if (from.kind != Kind::Float) {
    bool isSigned = from.kind == Kind::Signed;
    if (toFloats) {
      // Exact in f64 up to 53 bits, and rounded once from there.
      if (!target || (from.bits == 64 && !target.isF64()))
        unknown(s);
      Type wide = shaped(b.getF64Type());
      Value x = isSigned ? b.create<arith::SIToFPOp>(loc, wide, bits).getResult()
                         : b.create<arith::UIToFPOp>(loc, wide, bits).getResult();
      return asBits(toFloat(x, target, s.has("rz")));
    }
    if (!s.has("sat"))
      return resized(bits, to.bits, isSigned);
    if (from.bits == 64 || to.bits == 64)
      unknown(s);
    Value x = resized(bits, 64, isSigned);
    int64_t low = toSigned ? -(int64_t(1) << (to.bits - 1)) : 0;
    int64_t high = (int64_t(1) << (toSigned ? to.bits - 1 : to.bits)) - 1;
    x = make<arith::MaxSIOp>(x, integer(uint64_t(low), 64));
    return resized(make<arith::MinSIOp>(x, integer(uint64_t(high), 64)), to.bits);
  }
  Type source = isSmallFloat(from) ? Type(b.getF32Type()) : floatType(from);
  if (!source || (!target && !isSmallFloat(to)))
    unknown(s);
  Value x = isSmallFloat(from) ? fromSmallFloat(from, bits)
                               : flushed(fromBits(bits, source), s.has("ftz") && source.isF32());
  if (s.has("rzi"))
    x = b.create<math::TruncOp>(loc, x);
  else if (s.has("rmi"))
    x = b.create<math::FloorOp>(loc, x);
  else if (s.has("rpi"))
    x = b.create<math::CeilOp>(loc, x);
  else if (s.has("rni"))
    x = b.create<math::RoundEvenOp>(loc, x);
  else if (!toFloats)
    unknown(s);
  if (!toFloats)
    return b.create<tile::FPToIntOp>(loc, integerType(to.bits), x, !toSigned);
  Value zero = real(0, source);
  if (s.has("relu"))
    x = select(compareFloats(arith::CmpFPredicate::UGT, x, zero), x, zero);
  if (s.has("sat"))
    x = make<arith::MinNumFOp>(make<arith::MaxNumFOp>(x, zero), real(1, source));
  if (isSmallFloat(to)) {
    x = toFloat(x, b.getF32Type());
    if (to.name != "ue8m0")
      return toSmallFloat(to, x);
    if (!s.has("rp") && !s.has("rz"))
      unknown(s);
    return toExponent(x, s.has("rp"), s.has("satfinite"));
  }
  if (to.name == "tf32") {
    // To the nearest of ten bits, ties away from zero.
    if (!s.has("rna") || !source.isF32())
      unknown(s);
    Value rounded = make<arith::AndIOp>(make<arith::AddIOp>(asBits(x), integer(0x1000, 32)),
                                        integer(0xffffe000, 32));
    Value finite = compareFloats(arith::CmpFPredicate::OLT, b.create<math::AbsFOp>(loc, x),
                                 real(INFINITY, source));
    return select(finite, rounded, asBits(x));
  }
  if (s.has("satfinite") && to.bits > 8)
    unknown(s);
  return asBits(toFloat(x, target, s.has("rz")));
}

} // namespace nereid::transforms
