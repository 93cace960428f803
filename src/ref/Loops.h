// Element loops, by what they compute in.
#pragma once

#include "ref/Program.h"

namespace nereid::ref {

/// One operand and result type: `compute(x)` in f32 (f64 for f64), rounded once.
template <typename Fn> Step floatUnary(Slot out, Slot in, Fn compute) {
  return dispatchFloat<true>(out.storage, [=]<typename T>() -> Step {
    return [=](Frame &frame) {
      T *to = frame.data<T>(out);
      const T *from = frame.data<T>(in);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = narrow<T>(ComputeOf<T>(compute(widen(from[i]))));
    };
  });
}
template <typename Fn> Step floatBinary(Slot out, Slot a, Slot b, Fn compute) {
  return dispatchFloat<true>(out.storage, [=]<typename T>() -> Step {
    return [=](Frame &frame) {
      T *to = frame.data<T>(out);
      const T *x = frame.data<T>(a), *y = frame.data<T>(b);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = narrow<T>(ComputeOf<T>(compute(widen(x[i]), widen(y[i]))));
    };
  });
}

/// Transcendental functions: in f64, then rounded once.
inline Step wideUnary(Slot out, Slot in, double (*compute)(double)) {
  return dispatchFloat<true>(out.storage, [=]<typename T>() -> Step {
    return [=](Frame &frame) {
      T *to = frame.data<T>(out);
      const T *from = frame.data<T>(in);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = narrow<T>(compute(double(widen(from[i]))));
    };
  });
}
inline Step wideBinary(Slot out, Slot a, Slot b, double (*compute)(double, double)) {
  return dispatchFloat<true>(out.storage, [=]<typename T>() -> Step {
    return [=](Frame &frame) {
      T *to = frame.data<T>(out);
      const T *x = frame.data<T>(a), *y = frame.data<T>(b);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = narrow<T>(compute(double(widen(x[i])), double(widen(y[i]))));
    };
  });
}

/// `compute(x)` on the pattern, zero-extended to 64 bits; the low bits of what it gives are kept.
/// Fn is `uint64_t operator()<I>(I::Unsigned...)` with I an Int<Bits>.
template <typename Fn> Step intUnary(Slot out, Slot in, Fn compute) {
  return dispatchInt(out.storage, [=]<typename I>() -> Step {
    return [=](Frame &frame) {
      auto *to = frame.data<typename I::Unsigned>(out);
      const auto *from = frame.data<typename I::Unsigned>(in);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = I::wrap(compute.template operator()<I>(from[i]));
    };
  });
}
template <typename Fn> Step intBinary(Slot out, Slot a, Slot b, Fn compute) {
  return dispatchInt(out.storage, [=]<typename I>() -> Step {
    return [=](Frame &frame) {
      using U = typename I::Unsigned;
      U *to = frame.data<U>(out);
      const U *x = frame.data<U>(a), *y = frame.data<U>(b);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = I::wrap(compute.template operator()<I>(x[i], y[i]));
    };
  });
}

// Total integer arithmetic (docs/numerics.md, "Integers"); arith's own partial ops read the same
// here.
struct DivideSigned {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    int64_t a = I::sext(x), b = I::sext(y);
    return b == 0 ? ~uint64_t(0) : b == -1 ? -uint64_t(a) : uint64_t(a / b);
  }
};
struct DivideUnsigned {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    return y == 0 ? ~uint64_t(0) : I::zext(x) / I::zext(y);
  }
};
struct RemainderSigned {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    int64_t a = I::sext(x), b = I::sext(y);
    return b == 0 ? uint64_t(a) : b == -1 ? 0 : uint64_t(a % b);
  }
};
struct RemainderUnsigned {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    return y == 0 ? I::zext(x) : I::zext(x) % I::zext(y);
  }
};
struct ShiftLeft {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    return I::zext(y) >= I::bits ? 0 : I::zext(x) << y;
  }
};
struct ShiftRightSigned {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    return uint64_t(I::sext(x) >> (I::zext(y) >= I::bits ? I::bits - 1 : I::zext(y)));
  }
};
struct ShiftRightUnsigned {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    return I::zext(y) >= I::bits ? 0 : I::zext(x) >> y;
  }
};

/// Float to integer towards zero, saturating; NaN gives 0.
template <typename I> typename I::Unsigned floatToInt(double value, bool isUnsigned) {
  if (std::isnan(value))
    return 0;
  // Powers of two, which f64 holds: the bounds of the type, the upper one exclusive.
  double high = std::ldexp(1.0, isUnsigned ? I::bits : I::bits - 1), low = isUnsigned ? 0 : -high;
  value = std::trunc(value);
  if (value >= high)
    return I::wrap(isUnsigned ? I::mask : I::mask >> 1);
  if (value < low)
    return isUnsigned ? 0 : I::wrap(~(I::mask >> 1));
  return I::wrap(value < 0 ? uint64_t(int64_t(value)) : uint64_t(value));
}

/// The larger and smaller of two floats that are no NaN, with +0 above -0.
template <typename T> T largerOf(T a, T b) {
  return a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}
template <typename T> T smallerOf(T a, T b) {
  return a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}

} // namespace nereid::ref
