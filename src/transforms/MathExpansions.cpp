#include "transforms/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "transforms/Float32Lanes.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

struct Float : Float32Lanes {
  Float(OpBuilder &b, Location loc, Type real, const MathBase &base)
      : Float32Lanes(b, loc, real), base(base) {}

  const MathBase &base;

  Value div(Value x, Value y) {
    return base.divide ? base.divide(x, y) : b.create<arith::DivFOp>(loc, x, y).getResult();
  }
  Value sqrt(Value x) {
    return base.sqrt ? base.sqrt(x) : b.create<math::SqrtOp>(loc, x).getResult();
  }
};

// x = 2^e m with m in [sqrt 1/2, sqrt 2); log(1 + f) = f - f^2/2 + f^3 P(f), with the polynomial of
// Cephes' logf.
Value logarithm(Float &f, Value x, bool isBase2) {
  Value tiny = f.less(x, f.number(1.17549435e-38));
  Value normal = f.select(tiny, f.mul(x, f.number(8388608.0)), x);
  Value raised = f.subBits(f.toBits(normal), f.bits(0x3f3504f3));
  Value e = f.fromInt(f.sar(raised, 23));
  e = f.select(tiny, f.sub(e, f.number(23.0)), e);
  Value fraction = f.andBits(raised, f.bits(0x7fffff));
  Value m = f.toReal(f.addBits(fraction, f.bits(0x3f3504f3)));
  Value r = f.sub(m, f.number(1.0)), square = f.mul(r, r);
  Value y = f.polynomial(r, {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1,
                             1.4249322787e-1, -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1,
                             7.0376836292e-2});
  y = f.mul(f.mul(y, r), square);
  Value result;
  if (isBase2) {
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
  Value infinity = f.number(INFINITY);
  result = f.select(f.equal(x, f.number(0.0)), f.number(-INFINITY), result);
  result = f.select(f.less(x, f.number(0.0)), f.number(NAN), result);
  // Infinity and NaN are their own logarithms.
  Value special = f.b.create<arith::CmpFOp>(f.loc, arith::CmpFPredicate::UEQ, x, infinity);
  return f.select(special, x, result);
}

// Odd polynomial (Cephes, tanhf) near zero, 1 - 2 / (e^2x + 1) beyond: there nothing cancels.
Value tanh(Float &f, Value x) {
  Value size = f.abs(x), square = f.mul(x, x);
  Value near = f.polynomial(square, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                                     2.06390887954e-2, -5.70498872745e-3});
  near = f.fma(f.mul(near, square), x, x);
  Value more = f.add(f.base.exp(f.add(size, size)), f.number(1));
  Value part =
      f.base.reciprocal ? f.mul(f.number(2), f.base.reciprocal(more)) : f.div(f.number(2), more);
  Value far = f.sub(f.number(1), part);
  return f.select(f.less(size, f.number(0.625)), near, f.withSign(far, x));
}

// x + x P(x^2) up to 1, 1 - e^Q(|x|) beyond it: minimax fits of erf(x) / x - 1 on [0, 1] (relative
// error 1.2e-9) and of log(1 - erf(x)) on [1, 4] (absolute error 1.0e-9 in erf). Beyond 4 the
// result is 1.
Value erf(Float &f, Value x) {
  Value size = f.abs(x);
  Value near =
      f.polynomial(f.mul(x, x), {1.283791657e-1, -3.761262581e-1, 1.128358507e-1, -2.685380963e-2,
                                 5.188324774e-3, -8.010177783e-4, 7.853835119e-5});
  near = f.fma(x, near, x);
  Value limited = f.select(f.less(f.number(4), size), f.number(4), size);
  Value exponent =
      f.polynomial(limited, {-3.537089111e-4, -1.127040080e+0, -6.382256022e-1, -1.030374356e-1,
                             2.180535121e-2, -2.939615749e-3, 1.855748947e-4});
  Value far = f.withSign(f.sub(f.number(1), f.base.exp(exponent)), x);
  return f.select(f.less(size, f.number(1)), near, far);
}

// x = q pi/2 + r with |r| <= pi/4, in double: right for |x| up to 2^30; larger ones lose digits.
Value sinOrCos(Float &f, Value x, bool cosine) {
  OpBuilder &b = f.b;
  Type wide = f.with(b.getF64Type());
  auto real = [&](double value) { return f.constant(b.getF64FloatAttr(value)); };
  Value big = b.create<arith::ExtFOp>(f.loc, wide, x);
  Value q = b.create<math::RoundEvenOp>(
      f.loc, b.create<arith::MulFOp>(f.loc, big, real(0.63661977236758134308)));
  Value r = b.create<LLVM::FMulAddOp>(f.loc, q, real(-1.57079632679489655800), big);
  r = b.create<LLVM::FMulAddOp>(f.loc, q, real(-6.12323399573676603587e-17), r);
  Value rest = b.create<arith::TruncFOp>(f.loc, f.real, r);
  // q modulo 4, also where it is too large for an integer.
  Value quarter = b.create<math::FloorOp>(f.loc, b.create<arith::MulFOp>(f.loc, q, real(0.25)));
  Value modulo = b.create<LLVM::FMulAddOp>(f.loc, quarter, real(-4), q);
  // NaN and infinity have no quadrant; any will do.
  Value finite = b.create<arith::CmpFOp>(f.loc, arith::CmpFPredicate::OLT, modulo, real(4));
  modulo = b.create<arith::SelectOp>(f.loc, finite, modulo, real(0));
  Value quadrant = f.toInt(modulo);
  if (cosine)
    quadrant = f.addBits(quadrant, f.bits(1));
  Value square = f.mul(rest, rest);
  // Cephes, sinf and cosf.
  Value sine = f.polynomial(square, {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4});
  sine = f.fma(f.mul(sine, square), rest, rest);
  Value even =
      f.polynomial(square, {4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5});
  Value cosineValue =
      f.fma(f.mul(even, square), square, f.fma(square, f.number(-0.5), f.number(1)));
  Value odd = b.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::ne,
                                      f.andBits(quadrant, f.bits(1)), f.bits(0));
  Value result = f.select(odd, cosineValue, sine);
  Value sign = f.shl(f.andBits(quadrant, f.bits(2)), 30);
  result = f.toReal(b.create<arith::XOrIOp>(f.loc, f.toBits(result), sign));
  // inf - inf
  Value good = f.less(f.abs(x), f.number(INFINITY));
  return f.select(good, result, f.sub(x, x));
}

// 1 + x = 2^k (1 + m) with m in [-1/4, 1/2], of which rounding takes little: m is x / 2^k and
// 1 / 2^k - 1 in one sum. log(1 + m) = m + m^2 P(m), a minimax fit (relative error 4.8e-9). The
// power is counted downwards, so that -0 stays what it is; -1 becomes -infinity by itself.
Value log1p(Float &f, Value x) {
  Value u = f.add(f.number(1), x);
  Value down = f.andBits(f.subBits(f.bits(0x3fbfffff), f.toBits(u)), f.bits(0xff800000));
  Value quarter = f.toReal(f.addBits(f.bits(0x40800000), down)); // 4 / 2^k, which is not denormal
  Value m =
      f.sub(f.toReal(f.addBits(f.toBits(x), down)), f.fma(f.number(-0.25), quarter, f.number(1)));
  Value y = f.polynomial(m, {-0.5000000082266401, 0.33333454443129973, -0.25000054581819686,
                             0.19990606757731794, -0.1664776713339232, 0.14482061453226508,
                             -0.13162232039853924, 0.10448331787788342, -0.04490961413419395});
  constexpr double ofBits = 0.693147180559945309 / (1 << 23);
  y = f.fma(f.mul(y, m), m, m);
  y = f.fma(f.fromInt(down), f.number(-ofBits), y);
  // Infinity and NaN stay; below -1 there is nothing.
  Value infinity = f.number(INFINITY), special = f.fma(x, infinity, infinity);
  Value hasPower = f.b.create<arith::AndIOp>(
      f.loc, f.less(x, infinity),
      f.b.create<arith::CmpFOp>(f.loc, arith::CmpFPredicate::OGE, x, f.number(-1)));
  return f.select(hasPower, y, special);
}

// x = k ln 2 + r, e^x - 1 = 2^k (e^r - 1) + (2^k - 1), where halves of both do not overflow. What
// rounding takes from r counts where 2^k - 1 cancels most of the rest.
Value expm1(Float &f, Value x) {
  // -1 and infinity beyond; NaN stays.
  Value t = f.select(f.less(x, f.number(-20)), f.number(-20), x);
  t = f.select(f.less(f.number(88.73), t), f.number(88.73), t);
  Value k = f.round(f.mul(t, f.number(1.44269504088896341)));
  constexpr double high = 0.693359375, low = -2.12194440054690583e-4; // ln 2, few bits and the rest
  Value first = f.fma(k, f.number(-high), t), r = f.fma(k, f.number(-low), first);
  Value taken = f.fma(k, f.number(-low), f.sub(first, r));
  Value more = f.polynomial(r, ArrayRef(exponential).drop_front(2));
  Value part = f.add(r, f.fma(f.mul(r, r), more, taken));
  Value whole = f.toInt(f.select(f.equal(t, t), k, f.number(0)));
  Value power = f.toReal(f.shl(f.addBits(whole, f.bits(126)), 23));
  Value halved = f.fma(part, power, f.sub(power, f.number(0.5)));
  return f.withSign(f.add(halved, halved), x); // of -0, too
}

// Of a number from 0 to 1: t + t^3 P(t^2), a minimax fit (relative error 1.7e-8). The other angle
// of the triangle if its sides are `swapped`.
Value angleOf(Float &f, Value t, Value swapped) {
  Value square = f.mul(t, t);
  Value p = f.polynomial(square, {-0.3333315272449201, 0.1999377262638805, -0.1421105400667123,
                                  0.10666000789314356, -0.07552208321800974, 0.04321181296747256,
                                  -0.01636791060239726, 0.002920690518814513});
  Value angle = f.fma(f.mul(p, square), t, t);
  return f.select(swapped, f.sub(f.number(1.57079632679489662), angle), angle);
}

Value atan(Float &f, Value x) {
  Value size = f.abs(x), swapped = f.less(f.number(1), size);
  return f.withSign(angleOf(f, f.select(swapped, f.div(f.number(1), size), size), swapped), x);
}

Value atan2(Float &f, Value y, Value x) {
  constexpr double pi = 3.14159265358979323846;
  Value height = f.abs(y), width = f.abs(x), swapped = f.less(width, height);
  Value larger = f.select(swapped, height, width), smaller = f.select(swapped, width, height);
  // Zeros and infinities have their quotients by convention.
  Value one = f.select(f.less(f.number(0), larger), f.number(1), f.number(0));
  Value t = f.select(f.equal(smaller, larger), one, f.div(smaller, larger));
  Value angle = angleOf(f, t, swapped);
  // The sign bit tells, so that -0 is negative.
  Value negative = f.less(f.withSign(f.number(1), x), f.number(0));
  angle = f.select(negative, f.sub(f.number(pi), angle), angle);
  return f.withSign(angle, y);
}

// asin x = atan2(x, sqrt((1 - x)(1 + x)))
Value asin(Float &f, Value x) {
  Value rest = f.mul(f.sub(f.number(1), x), f.add(f.number(1), x));
  return atan2(f, x, f.sqrt(rest));
}
Value acos(Float &f, Value x) {
  Value rest = f.mul(f.sub(f.number(1), x), f.add(f.number(1), x));
  return atan2(f, f.sqrt(rest), x);
}

// (e^x - e^-x) / 2 cancels near zero, where expm1 does not.
Value sinh(Float &f, Value x) {
  Value size = f.abs(x), half = f.number(0.5);
  Value less = expm1(f, size);
  Value result = f.mul(half, f.add(less, f.div(less, f.add(less, f.number(1)))));
  // e^x overflows a little before its half does.
  Value root = f.base.exp(f.mul(half, size));
  result = f.select(f.less(f.number(88), size), f.mul(f.mul(half, root), root), result);
  return f.withSign(result, x);
}
Value cosh(Float &f, Value x) {
  Value root = f.base.exp(f.mul(f.number(0.5), f.abs(x)));
  Value power = f.base.exp(f.abs(x));
  Value result = f.mul(f.number(0.5), f.add(power, f.div(f.number(1), power)));
  return f.select(f.less(f.number(88), f.abs(x)), f.mul(f.mul(f.number(0.5), root), root), result);
}

} // namespace

Value expandMath(OpBuilder &b, Location loc, StringRef function, ValueRange operands,
                 const MathBase &base) {
  Float f(b, loc, operands[0].getType(), base);
  Value x = operands[0];
  if (function == "tanh")
    return tanh(f, x);
  if (function == "erf")
    return erf(f, x);
  if (function == "sin" || function == "cos")
    return sinOrCos(f, x, function == "cos");
  if (function == "tan")
    return f.div(sinOrCos(f, x, false), sinOrCos(f, x, true));
  if (function == "log" || function == "log2")
    return logarithm(f, x, function == "log2");
  if (function == "log1p")
    return log1p(f, x);
  if (function == "expm1")
    return expm1(f, x);
  if (function == "atan")
    return atan(f, x);
  if (function == "atan2")
    return atan2(f, x, operands[1]);
  if (function == "asin")
    return asin(f, x);
  if (function == "acos")
    return acos(f, x);
  if (function == "sinh")
    return sinh(f, x);
  if (function == "cosh")
    return cosh(f, x);
  if (function == "round") {
    // Away from zero at halves: the greatest number below 1/2 does not carry 0.49999997 over.
    Value moved = f.add(x, f.withSign(f.number(0.49999997), x));
    Value result = b.create<math::TruncOp>(loc, moved);
    return f.select(f.less(f.abs(x), f.number(8388608)), f.withSign(result, x), x);
  }
  return {};
}

} // namespace nereid::transforms
