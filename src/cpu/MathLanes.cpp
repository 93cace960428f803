// exp and what is made of it on vectors of f32.
#include "cpu/LaneModels.h"
#include "transforms/Float32Lanes.h"
#include "transforms/MathExpansions.h"

#include "llvm/ADT/StringSet.h"

#include <array>
#include <cmath>
#include <numeric>

using namespace mlir;

namespace nereid::cpu {

namespace {

struct F32 : transforms::Float32Lanes {
  F32(LaneEmitter &emitter, int64_t width)
      : Float32Lanes(emitter.builder, emitter.loc(), laneType(emitter.builder.getF32Type(), width)),
        emitter(emitter), width(width) {}

  LaneEmitter &emitter;
  int64_t width;

  Value anyLane(Value condition) {
    if (width == 1)
      return condition;
    Type mask = b.getIntegerType(unsigned(width));
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne,
                                   b.create<LLVM::BitcastOp>(loc, mask, condition),
                                   b.create<arith::ConstantOp>(loc, b.getIntegerAttr(mask, 0)));
  }
  // NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    x = select(less(x, number(low)), number(low), x);
    return select(less(number(high), x), number(high), x);
  }
};

// Instructions of AVX-512 on 16 lanes at a time; fewer lanes are repeated to as many.
constexpr int64_t vectorOf512 = 16;

bool has512(const F32 &f) { return f.emitter.processor.vectorBytes == 64; }

Value byVectors(F32 &f, ArrayRef<Value> operands, llvm::function_ref<Value(ArrayRef<Value>)> one) {
  SmallVector<Value> parts;
  for (int64_t first = 0; first < f.width; first += vectorOf512) {
    SmallVector<Value> inputs;
    for (Value all : operands) {
      SmallVector<int32_t> mask;
      for (int64_t lane = 0; lane < vectorOf512; ++lane)
        mask.push_back(int32_t(first + lane % f.width));
      inputs.push_back(f.width == vectorOf512 ? all
                       : f.width == 1         ? f.emitter.splat(all, vectorOf512)
                                              : f.emitter.shuffle(all, all, mask));
    }
    parts.push_back(one(inputs));
  }
  auto lanesTo = [&](Value a, Value c, int64_t count) {
    SmallVector<int32_t> mask(count);
    std::iota(mask.begin(), mask.end(), 0);
    return f.emitter.shuffle(a, c, mask);
  };
  if (f.width < vectorOf512)
    return lanesTo(parts[0], parts[0], f.width);
  while (parts.size() > 1) {
    SmallVector<Value> joined;
    for (size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(lanesTo(parts[i], parts[i + 1], 2 * widthOf(parts[i].getType())));
    parts = joined;
  }
  return parts[0];
}

// Calls an intrinsic on each vector, all lanes of it: `operands`, `immediate` if there is one, then
// what lanes that are off would keep and the mask that says that none is, then `last`.
struct Immediates {
  std::optional<int32_t> middle, last;
  bool isMasked = true;
};
Value call512(F32 &f, StringRef name, ArrayRef<Value> operands, Immediates with) {
  OpBuilder &b = f.b;
  return byVectors(f, operands, [&](ArrayRef<Value> inputs) -> Value {
    SmallVector<Value> arguments(inputs);
    auto number = [&](TypedAttr value) {
      arguments.push_back(b.create<arith::ConstantOp>(f.loc, value));
    };
    if (with.middle)
      number(b.getI32IntegerAttr(*with.middle));
    if (with.isMasked) {
      arguments.push_back(inputs[0]);
      number(b.getI16IntegerAttr(-1));
    }
    if (with.last)
      number(b.getI32IntegerAttr(*with.last));
    return b
        .create<LLVM::CallIntrinsicOp>(f.loc, laneType(b.getF32Type(), vectorOf512),
                                       b.getStringAttr(name), arguments)
        .getResult(0);
  });
}
constexpr int32_t roundAsSet = 4; // as the environment says

// p * 2^n for an integer n of |n| <= 252. Denormal results round once and overflow is infinite.
Value scale(F32 &f, Value p, Value n) {
  // In two steps, since 2^n itself may be out of range.
  Value integer = f.toInt(n);
  Value half = f.sar(integer, 1), rest = f.subBits(integer, half);
  auto power = [&](Value e) { return f.toReal(f.shl(f.addBits(e, f.bits(127)), 23)); };
  return f.mul(f.mul(p, power(half)), power(rest));
}

// With AVX-512, n counts parts: 2^(n mod 1) is one of 32 numbers, which two vectors hold, and
// e^r - 1 for |r| <= ln(2)/64 is r (c + d r) within 5.3e-8; `vscalefps` multiplies by 2^floor(n)
// and knows of denormals. The nearest n is found by adding a number so large that only parts are
// left of the sum; their count is in its last bits.
constexpr int parts = 32;
constexpr double toParts = 1.5 * (1 << 23) / parts;
// c and d: r^3 / 6 less the third Chebyshev polynomial.
constexpr double exponentialOfPart[] = {1.0 + 0.0108304 * 0.0108304 / 8,
                                        0.5 + 0.0108304 * 0.0108304 / 24};

// 2^n (1 + r q(r)), `count` the sum with n. Out of range, where r may be anything or NaN, n alone
// tells: `vscalefps` makes 0 and infinity of every number that has no sign, and NaN of NaN.
Value scaleByParts(F32 &f, Value count, Value n, Value r, ArrayRef<double> q) {
  OpBuilder &b = f.b;
  SmallVector<float> powers;
  for (int k = 0; k < parts; ++k)
    powers.push_back(float(std::exp2(double(k) / parts)));
  auto half = [&](int first) -> Value {
    return b.create<arith::ConstantOp>(
        f.loc, DenseElementsAttr::get(VectorType::get({vectorOf512}, b.getF32Type()),
                                      ArrayRef<float>(powers).slice(first, vectorOf512)));
  };
  Value low = half(0), high = half(vectorOf512);
  Value power = byVectors(f, {count}, [&](ArrayRef<Value> in) -> Value {
    Value places = b.create<LLVM::BitcastOp>(f.loc, laneType(b.getI32Type(), vectorOf512), in[0]);
    return b
        .create<LLVM::CallIntrinsicOp>(f.loc, low.getType(),
                                       b.getStringAttr("llvm.x86.avx512.vpermi2var.ps.512"),
                                       ValueRange{low, places, high})
        .getResult(0);
  });
  // The smaller size, with the sign of r; not NaN.
  constexpr int32_t smallerSize = 2;
  r = call512(f, "llvm.x86.avx512.mask.range.ps.512", {r, f.number(0.03)},
              {smallerSize, roundAsSet});
  Value p = f.fma(f.polynomial(r, q), f.mul(r, power), power);
  return call512(f, "llvm.x86.avx512.mask.scalef.ps.512", {p, n}, {{}, roundAsSet});
}

// e^x = 2^n e^r with n the number nearest to x / ln 2.
Value emitExp(F32 &f, Value x) {
  // ln 2 in two parts, the first exact in few bits.
  auto rest = [&](Value from, Value n) {
    Value r = f.fma(n, f.number(-0.693359375), from);
    return f.fma(n, f.number(2.12194440054690583e-4), r);
  };
  if (has512(f)) {
    Value count = f.fma(x, f.number(1.44269504088896341), f.number(toParts));
    Value n = f.sub(count, f.number(toParts));
    return scaleByParts(f, count, n, rest(x, n), exponentialOfPart);
  }
  Value t = f.clamp(x, -104.0, 89.0);
  Value n = f.round(f.mul(t, f.number(1.44269504088896341)));
  Value result = scale(f, f.polynomial(rest(t, n), transforms::exponential), n);
  return f.select(f.isNan(x), x, result);
}

template <size_t N> std::array<double, N> base2(const double (&coefficients)[N], double power) {
  std::array<double, N> out;
  for (size_t k = 0; k < N; ++k, power *= 0.693147180559945309)
    out[k] = power * coefficients[k];
  return out;
}

// 2^x = 2^n 2^f, f = x - n exactly.
Value emitExp2(F32 &f, Value x) {
  if (has512(f)) {
    Value count = f.add(x, f.number(toParts));
    Value n = f.sub(count, f.number(toParts));
    return scaleByParts(f, count, n, f.sub(x, n), base2(exponentialOfPart, 0.693147180559945309));
  }
  Value t = f.clamp(x, -151.0, 129.0);
  Value n = f.round(t);
  Value result = scale(f, f.polynomial(f.sub(t, n), base2(transforms::exponential, 1)), n);
  return f.select(f.isNan(x), x, result);
}

// An estimate of 14 bits and a step of Newton's.
Value emitReciprocal(F32 &f, Value x) {
  Value limited = f.select(f.less(f.number(0x1p100), x), f.number(0x1p100), x);
  Value estimate = call512(f, "llvm.x86.avx512.rcp14.ps.512", {limited}, {});
  Value error = f.fma(f.b.create<arith::NegFOp>(f.loc, limited), estimate, f.number(1));
  return f.fma(estimate, error, estimate);
}

// As much of 1 / sqrt(x); of one lane on its own, where the time until it is there counts.
Value emitRsqrt(F32 &f, Value x) {
  OpBuilder &b = f.b;
  Value estimate;
  if (f.width == 1) {
    Type four = laneType(b.getF32Type(), 4);
    Value zeros = b.create<arith::ConstantOp>(f.loc, b.getZeroAttr(four));
    Value input = f.emitter.insert(zeros, x, 0);
    Value all = b.create<arith::ConstantOp>(f.loc, b.getI8IntegerAttr(-1));
    auto call =
        b.create<LLVM::CallIntrinsicOp>(f.loc, four, b.getStringAttr("llvm.x86.avx512.rsqrt14.ss"),
                                        ValueRange{input, input, zeros, all});
    estimate = f.emitter.extract(call.getResult(0), 0);
  } else {
    estimate = call512(f, "llvm.x86.avx512.rsqrt14.ps.512", {x}, {});
  }
  Value error = f.fma(b.create<arith::NegFOp>(f.loc, f.mul(x, estimate)), estimate, f.number(1));
  Value result = f.fma(f.mul(estimate, f.number(0.5)), error, estimate);
  // That of infinity for 0, and of 0 for infinity, is NaN.
  return f.select(f.isNan(error), estimate, result);
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

// The C library's, a lane at a time; null if there is none.
Value libraryCall(LaneEmitter &emitter, StringRef function, ValueRange operands) {
  Type element = scalarOf(operands[0].getType());
  std::string name = (function + (element.isF32() ? "f" : "")).str();
  if (!isLibraryFunction(name))
    return {};
  return emitter.perLane(widthOf(operands[0].getType()), element, operands,
                         [&](ValueRange scalars) { return emitter.call(name, element, scalars); });
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
  // LLVM has it: a sum and a truncation.
  if (function == "round")
    return b.create<math::RoundOp>(loc, operands[0]);
  if (function == "rsqrt" && !(element.isF32() && emitter.processor.vectorBytes == 64))
    return b.create<arith::DivFOp>(loc, emitter.constant(element, 1, width),
                                   b.create<math::SqrtOp>(loc, operands[0]));
  if (element.isF32()) {
    F32 f(emitter, width);
    if (function == "rsqrt")
      return emitRsqrt(f, operands[0]);
    if (function == "exp")
      return emitExp(f, operands[0]);
    if (function == "exp2")
      return emitExp2(f, operands[0]);
    if (function == "powf" && width > 1)
      return emitPow(emitter, operands[0], operands[1]);
    transforms::MathBase base;
    auto exp = [&](Value x) { return emitExp(f, x); };
    base.exp = exp;
    auto reciprocal = [&](Value x) { return emitReciprocal(f, x); };
    if (has512(f))
      base.reciprocal = reciprocal;
    auto expanded = [&] { return transforms::expandMath(b, loc, function, operands, base); };
    if (function == "log" || function == "log2" || function == "tanh" || function == "erf" ||
        function == "expm1" || function == "log1p")
      return expanded();
    // Larger ones lose digits there.
    if (function == "sin" || function == "cos")
      return emitter.select(
          f.anyLane(f.less(f.number(0x1p30), b.create<math::AbsFOp>(loc, operands[0]))), type,
          [&] { return libraryCall(emitter, function, operands); }, expanded);
  }
  return libraryCall(emitter, function == "powf" ? "pow" : function, operands);
}

} // namespace nereid::cpu
