// exp, log and their kin on vectors of f32.
#include "cpu/LaneModels.h"
#include "transforms/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSet.h"

#include <numeric>

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

// p * 2^n for an integer n of |n| <= 252. Denormal results round once and overflow is infinite.
Value scale(F32 &f, Value p, Value n) {
  constexpr int64_t lanes = 16;
  if (f.emitter.processor.vectorBytes == 64 && f.width >= lanes) {
    // One instruction a vector.
    Type vector = laneType(f.b.getF32Type(), lanes);
    SmallVector<Value> parts;
    for (int64_t first = 0; first < f.width; first += lanes) {
      SmallVector<int32_t> mask(lanes);
      std::iota(mask.begin(), mask.end(), int32_t(first));
      auto part = [&](Value all) {
        return f.width == lanes ? all : f.emitter.shuffle(all, all, mask);
      };
      Value value = part(p);
      auto number = [&](Type type, int64_t is) -> Value {
        return f.b.create<arith::ConstantOp>(f.loc, f.b.getIntegerAttr(type, is));
      };
      parts.push_back(f.b.create<LLVM::CallIntrinsicOp>(
                             f.loc, vector, f.b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                             ValueRange{value, part(n), value, number(f.b.getI16Type(), -1),
                                        number(f.b.getI32Type(), 4)})
                          .getResult(0));
    }
    while (parts.size() > 1) {
      SmallVector<Value> joined;
      for (size_t i = 0; i < parts.size(); i += 2) {
        SmallVector<int32_t> mask(2 * widthOf(parts[i].getType()));
        std::iota(mask.begin(), mask.end(), 0);
        joined.push_back(f.emitter.shuffle(parts[i], parts[i + 1], mask));
      }
      parts = joined;
    }
    return parts[0];
  }
  // In two steps, since 2^n itself may be out of range.
  Value integer = f.toInt(n);
  Value half = f.sar(integer, 1), rest = f.subBits(integer, half);
  auto power = [&](Value e) { return f.toReal(f.shl(f.addBits(e, f.bits(127)), 23)); };
  return f.mul(f.mul(p, power(half)), power(rest));
}

// e^r for |r| <= ln(2)/2 within 4e-9: 1 + r + r^2 q(r), with q fitted to the least relative error.
constexpr double exponential[] = {1.0,
                                  1.0,
                                  0.4999999403953552,
                                  0.1666652113199234,
                                  0.04166838899254799,
                                  0.00836874544620514,
                                  0.0013814540579915047};

// e^x = 2^n e^r with n the integer nearest to x / ln 2.
Value emitExp(F32 &f, Value x) {
  Value t = f.clamp(x, -104.0, 89.0);
  Value n = f.round(f.mul(t, f.number(1.44269504088896341)));
  // ln 2 in two parts, the first exact in few bits.
  Value r = f.fma(n, f.number(-0.693359375), t);
  r = f.fma(n, f.number(2.12194440054690583e-4), r);
  Value result = scale(f, f.polynomial(r, exponential), n);
  return f.select(f.isNan(x), x, result);
}

// 2^x = 2^n 2^f, f in [-1/2, 1/2], exactly.
Value emitExp2(F32 &f, Value x) {
  Value t = f.clamp(x, -151.0, 129.0);
  Value n = f.round(t);
  double coefficients[std::size(exponential)];
  double power = 1;
  for (size_t k = 0; k < std::size(exponential); ++k, power *= 0.693147180559945309)
    coefficients[k] = power * exponential[k];
  Value result = scale(f, f.polynomial(f.sub(t, n), coefficients), n);
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

bool isLibraryFunction(StringRef name) {
  static const llvm::StringSet<llvm::MallocAllocator> names = {
#define UNARY(type, name) #name,
#define BINARY(type, name) #name,
#define TERNARY(type, name) #name,
#include "support/CpuSymbols.def"
  };
  return names.contains(name);
}

} // namespace

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
    transforms::MathBase base;
    auto exp = [&](Value x) { return emitExp(f, x); };
    auto log = [&](Value x) { return emitLog(f, x, false); };
    base.exp = exp;
    base.log = log;
    if (function == "tanh" || function == "erf" || function == "expm1" || function == "log1p")
      return transforms::expandMath(b, loc, function, operands, base);
  }
  // The C library's, a lane at a time.
  std::string name = function == "powf" ? "pow" : function.str();
  if (element.isF32())
    name += "f";
  if (!isLibraryFunction(name))
    return {};
  return emitter.perLane(width, element, operands,
                         [&](ValueRange scalars) { return emitter.call(name, element, scalars); });
}

} // namespace nereid::cpu
