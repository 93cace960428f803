// math: one row a function. Transcendental ones are computed in f64 and rounded once.
#include "ref/Loops.h"
#include "ref/Models.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nereid::ref {
namespace {

template <double (*fn)(double)> Step decodeWide(Operation *op, Decoder &d) {
  Slot in = d.slot(op->getOperand(0));
  return wideUnary(d.define(op->getResult(0)), in, fn);
}
template <double (*fn)(double, double)> Step decodeWide2(Operation *op, Decoder &d) {
  Slot a = d.slot(op->getOperand(0)), b = d.slot(op->getOperand(1));
  return wideBinary(d.define(op->getResult(0)), a, b, fn);
}

Step decodeFma(math::FmaOp op, Decoder &d) {
  Slot a = d.slot(op.getA()), b = d.slot(op.getB()), c = d.slot(op.getC()), out = d.define(op);
  return dispatchFloat<false>(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      const T *x = frame.data<T>(a), *y = frame.data<T>(b), *z = frame.data<T>(c);
      T *to = frame.data<T>(out);
      for (uint32_t i = 0; i < out.count; ++i)
        if constexpr (std::is_same_v<T, double>)
          to[i] = std::fma(x[i], y[i], z[i]);
        else
          to[i] = narrow<T>(fmaToOdd(widen(x[i]), widen(y[i]), widen(z[i])));
    };
  });
}

Step decodeFPowI(math::FPowIOp op, Decoder &d) {
  Slot base = d.slot(op.getLhs()), exponent = d.slot(op.getRhs()), out = d.define(op);
  return dispatchFloat<false>(out.storage, [&]<typename T>() -> Step {
    return dispatchInt(exponent.storage, [&]<typename I>() -> Step {
      return [=](Frame &frame) {
        const T *x = frame.data<T>(base);
        const auto *n = frame.data<typename I::Unsigned>(exponent);
        T *to = frame.data<T>(out);
        for (uint32_t i = 0; i < out.count; ++i)
          to[i] = narrow<T>(std::pow(double(widen(x[i])), double(I::sext(n[i]))));
      };
    });
  });
}

struct Absolute {
  template <typename I> uint64_t operator()(auto x) const {
    int64_t value = I::sext(x);
    return value < 0 ? -uint64_t(value) : uint64_t(value);
  }
};
struct LeadingZeros {
  template <typename I> uint64_t operator()(auto x) const {
    return x ? std::countl_zero(I::zext(x)) - (64 - I::bits) : I::bits;
  }
};
struct TrailingZeros {
  template <typename I> uint64_t operator()(auto x) const {
    return x ? std::countr_zero(I::zext(x)) : I::bits;
  }
};
struct Population {
  template <typename I> uint64_t operator()(auto x) const { return std::popcount(I::zext(x)); }
};
struct Power {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    int64_t exponent = I::sext(y);
    uint64_t base = uint64_t(I::sext(x)), result = 1;
    if (exponent < 0) // 1 / base^n towards zero
      return base == 1 ? 1 : base == ~uint64_t(0) ? (exponent & 1 ? base : 1) : 0;
    for (; exponent; exponent >>= 1, base *= base)
      if (exponent & 1)
        result *= base;
    return result;
  }
};

template <typename Fn> Step decodeIntUnary(Operation *op, Decoder &d) {
  Slot in = d.slot(op->getOperand(0));
  return intUnary(d.define(op->getResult(0)), in, Fn());
}
Step decodeIPowI(math::IPowIOp op, Decoder &d) {
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs());
  return intBinary(d.define(op), a, b, Power());
}

#define F1(EXPRESSION) decodeWide<+[](double x) -> double { return EXPRESSION; }>
#define F2(EXPRESSION) decodeWide2<+[](double x, double y) -> double { return EXPRESSION; }>

} // namespace

void attachMathModels(MLIRContext *c) {
  using namespace math;
  attach<AbsFOp, F1(std::fabs(x))>(c);
  attach<CeilOp, F1(std::ceil(x))>(c);
  attach<FloorOp, F1(std::floor(x))>(c);
  attach<TruncOp, F1(std::trunc(x))>(c);
  attach<RoundOp, F1(std::round(x))>(c);
  attach<RoundEvenOp, F1(std::nearbyint(x))>(c);
  attach<SqrtOp, F1(std::sqrt(x))>(c);
  attach<RsqrtOp, F1(1 / std::sqrt(x))>(c);
  attach<CbrtOp, F1(std::cbrt(x))>(c);
  attach<ExpOp, F1(std::exp(x))>(c);
  attach<Exp2Op, F1(std::exp2(x))>(c);
  attach<ExpM1Op, F1(std::expm1(x))>(c);
  attach<LogOp, F1(std::log(x))>(c);
  attach<Log2Op, F1(std::log2(x))>(c);
  attach<Log10Op, F1(std::log10(x))>(c);
  attach<Log1pOp, F1(std::log1p(x))>(c);
  attach<SinOp, F1(std::sin(x))>(c);
  attach<CosOp, F1(std::cos(x))>(c);
  attach<TanOp, F1(std::tan(x))>(c);
  attach<SinhOp, F1(std::sinh(x))>(c);
  attach<CoshOp, F1(std::cosh(x))>(c);
  attach<TanhOp, F1(std::tanh(x))>(c);
  attach<AsinOp, F1(std::asin(x))>(c);
  attach<AcosOp, F1(std::acos(x))>(c);
  attach<AtanOp, F1(std::atan(x))>(c);
  attach<AsinhOp, F1(std::asinh(x))>(c);
  attach<AcoshOp, F1(std::acosh(x))>(c);
  attach<AtanhOp, F1(std::atanh(x))>(c);
  attach<ErfOp, F1(std::erf(x))>(c);
  attach<Atan2Op, F2(std::atan2(x, y))>(c);
  attach<PowFOp, F2(std::pow(x, y))>(c);
  attach<CopySignOp, F2(std::copysign(x, y))>(c);
  attach<FmaOp, decodeFma>(c);
  attach<FPowIOp, decodeFPowI>(c);
  attach<IPowIOp, decodeIPowI>(c);
  attach<AbsIOp, decodeIntUnary<Absolute>>(c);
  attach<CountLeadingZerosOp, decodeIntUnary<LeadingZeros>>(c);
  attach<CountTrailingZerosOp, decodeIntUnary<TrailingZeros>>(c);
  attach<CtPopOp, decodeIntUnary<Population>>(c);
}

} // namespace nereid::ref
