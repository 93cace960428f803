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

// --- conversions ---

Value AsmEmitter::converted(const Statement &s) {
  if (s.types.size() != 2 || s.has("rm") || s.has("rp") || s.has("rs"))
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
  Type source = floatType(from);
  if (!source || !target)
    unknown(s);
  Value x = flushed(fromBits(bits, source), s.has("ftz") && source.isF32());
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
