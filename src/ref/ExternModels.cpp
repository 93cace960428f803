// tile.extern: functions known by their libdevice names.
//
// Names are `__nv_<base>` for f64 and integers and `__nv_<base>f` for f32. A row has the base.
#include "ref/Loops.h"
#include "ref/Models.h"
#include "support/SpecialFunctions.h"

#include "llvm/ADT/StringMap.h"

#include <cfenv>
#include <optional>

using namespace mlir;

namespace nereid::ref {
namespace {

// --- floats to a float: in f64, rounded once ---

using Unary = double (*)(double);
using Binary = double (*)(double, double);
using Ternary = double (*)(double, double, double);
using Quaternary = double (*)(double, double, double, double);

double roundDown(double x) { return std::floor(x); }
double saturate(double x) { return std::isnan(x) ? 0 : x < 0 ? 0 : x > 1 ? 1 : x; }
double maxNumber(double x, double y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : largerOf(x, y);
}
double minNumber(double x, double y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : smallerOf(x, y);
}

#define U(NAME, EXPRESSION) {NAME, +[](double x) -> double { return EXPRESSION; }}
#define B(NAME, EXPRESSION) {NAME, +[](double x, double y) -> double { return EXPRESSION; }}

const llvm::StringMap<Unary> unaries = {
    U("sin", std::sin(x)),
    U("cos", std::cos(x)),
    U("tan", std::tan(x)),
    U("asin", std::asin(x)),
    U("acos", std::acos(x)),
    U("atan", std::atan(x)),
    U("sinh", std::sinh(x)),
    U("cosh", std::cosh(x)),
    U("tanh", std::tanh(x)),
    U("asinh", std::asinh(x)),
    U("acosh", std::acosh(x)),
    U("atanh", std::atanh(x)),
    U("exp", std::exp(x)),
    U("exp2", std::exp2(x)),
    U("exp10", special::exp10(x)),
    U("expm1", std::expm1(x)),
    U("log", std::log(x)),
    U("log2", std::log2(x)),
    U("log10", std::log10(x)),
    U("log1p", std::log1p(x)),
    U("logb", std::logb(x)),
    U("sqrt", std::sqrt(x)),
    U("rsqrt", 1 / std::sqrt(x)),
    U("cbrt", std::cbrt(x)),
    U("rcbrt", special::rcbrt(x)),
    U("ceil", std::ceil(x)),
    U("floor", roundDown(x)),
    U("trunc", std::trunc(x)),
    U("round", std::round(x)),
    U("rint", std::nearbyint(x)),
    U("nearbyint", std::nearbyint(x)),
    U("fabs", std::fabs(x)),
    U("erf", std::erf(x)),
    U("erfc", std::erfc(x)),
    U("erfcx", special::erfcx(x)),
    U("erfinv", special::erfinv(x)),
    U("erfcinv", special::erfcinv(x)),
    U("normcdf", special::normcdf(x)),
    U("normcdfinv", special::normcdfinv(x)),
    U("tgamma", std::tgamma(x)),
    U("lgamma", std::lgamma(x)),
    U("j0", ::j0(x)),
    U("j1", ::j1(x)),
    U("y0", ::y0(x)),
    U("y1", ::y1(x)),
    U("cyl_bessel_i0", special::cyl_bessel_i0(x)),
    U("cyl_bessel_i1", special::cyl_bessel_i1(x)),
    U("sinpi", special::sinpi(x)),
    U("cospi", special::cospi(x)),
    U("saturate", saturate(x)),
    U("fast_sin", std::sin(x)),
    U("fast_cos", std::cos(x)),
    U("fast_tan", std::tan(x)),
    U("fast_exp", std::exp(x)),
    U("fast_exp10", special::exp10(x)),
    U("fast_log", std::log(x)),
    U("fast_log2", std::log2(x)),
    U("fast_log10", std::log10(x)),
    U("fast_tanh", std::tanh(x)),
};
const llvm::StringMap<Binary> binaries = {
    B("atan2", std::atan2(x, y)),         B("pow", std::pow(x, y)),
    B("fast_pow", std::pow(x, y)),        B("fmod", std::fmod(x, y)),
    B("remainder", std::remainder(x, y)), B("hypot", std::hypot(x, y)),
    B("rhypot", special::rhypot(x, y)),   B("fdim", std::fdim(x, y)),
    B("copysign", std::copysign(x, y)),   B("fmax", maxNumber(x, y)),
    B("fmin", minNumber(x, y)),           B("fast_fdivide", x / y),
};
const llvm::StringMap<Quaternary> quaternaries = {
    {"norm4d", special::norm4d},
    {"rnorm4d", special::rnorm4d},
};
const llvm::StringMap<Ternary> ternaries = {
    {"norm3d", special::norm3d},
    {"rnorm3d", special::rnorm3d},
};
#undef U
#undef B

// --- floats to an integer ---

using Test = int64_t (*)(double);
const llvm::StringMap<Test> tests = {
    {"isnan", +[](double x) -> int64_t { return std::isnan(x); }},
    {"isinf", +[](double x) -> int64_t { return std::isinf(x); }},
    {"finite", +[](double x) -> int64_t { return std::isfinite(x); }},
    {"isfinite", +[](double x) -> int64_t { return std::isfinite(x); }},
    {"signbit", +[](double x) -> int64_t { return std::signbit(x); }},
    {"ilogb", +[](double x) -> int64_t { return std::ilogb(x); }},
};

// --- integers ---

struct Integers {
  unsigned operands;
  uint64_t (*compute)(uint64_t x, uint64_t y, uint64_t z, unsigned bits);
};
int64_t sext(uint64_t x, unsigned bits) { return int64_t(x << (64 - bits)) >> (64 - bits); }
uint64_t high(uint64_t x, uint64_t y, unsigned bits, bool isSigned) {
  return isSigned ? uint64_t((__int128(sext(x, bits)) * sext(y, bits)) >> bits)
                  : uint64_t(((unsigned __int128)(x)*y) >> bits);
}
uint64_t reverse(uint64_t x, unsigned bits) {
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i)
    result |= (x >> i & 1) << (bits - 1 - i);
  return result;
}
uint64_t permuteBytes(uint64_t x, uint64_t y, uint64_t selector) {
  uint64_t bytes = x | y << 32, result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= (bytes >> (8 * (selector >> 4 * i & 7)) & 0xff) << 8 * i;
  return result;
}
#define I(NAME, OPERANDS, EXPRESSION)                                                              \
  {                                                                                                \
    NAME, {                                                                                        \
      OPERANDS, +[](uint64_t x, uint64_t y, uint64_t z, unsigned bits) -> uint64_t {               \
        return EXPRESSION;                                                                         \
      }                                                                                            \
    }                                                                                              \
  }
#define S(V) sext(V, bits)
const llvm::StringMap<Integers> integers = {
    I("abs", 1, S(x) < 0 ? -x : x),
    I("llabs", 1, S(x) < 0 ? -x : x),
    I("clz", 1, x ? std::countl_zero(x) - (64 - bits) : bits),
    I("clzll", 1, x ? std::countl_zero(x) - (64 - bits) : bits),
    I("ffs", 1, x ? std::countr_zero(x) + 1 : 0),
    I("ffsll", 1, x ? std::countr_zero(x) + 1 : 0),
    I("popc", 1, std::popcount(x)),
    I("popcll", 1, std::popcount(x)),
    I("brev", 1, reverse(x, bits)),
    I("brevll", 1, reverse(x, bits)),
    I("max", 2, S(x) > S(y) ? x : y),
    I("llmax", 2, S(x) > S(y) ? x : y),
    I("min", 2, S(x) < S(y) ? x : y),
    I("llmin", 2, S(x) < S(y) ? x : y),
    I("umax", 2, x > y ? x : y),
    I("ullmax", 2, x > y ? x : y),
    I("umin", 2, x < y ? x : y),
    I("ullmin", 2, x < y ? x : y),
    I("mulhi", 2, high(x, y, bits, true)),
    I("mul64hi", 2, high(x, y, bits, true)),
    I("umulhi", 2, high(x, y, bits, false)),
    I("umul64hi", 2, high(x, y, bits, false)),
    I("mul24", 2, uint64_t(sext(x, 24) * sext(y, 24))),
    I("umul24", 2, (x & 0xffffff) * (y & 0xffffff)),
    I("hadd", 2, uint64_t((S(x) + S(y)) >> 1)),
    I("rhadd", 2, uint64_t((S(x) + S(y) + 1) >> 1)),
    I("uhadd", 2, (x + y) >> 1),
    I("urhadd", 2, (x + y + 1) >> 1),
    I("sad", 3, uint64_t(std::abs(S(x) - S(y))) + z),
    I("usad", 3, (x > y ? x - y : y - x) + z),
    I("byte_perm", 3, permuteBytes(x, y, z)),
};
#undef S
#undef I

// --- directed roundings: `fadd_rn`, `dadd_rz`, `fsqrt_ru`, `float2int_rd`, ... ---

std::optional<int> roundingMode(StringRef suffix) {
  return llvm::StringSwitch<std::optional<int>>(suffix)
      .Case("rn", FE_TONEAREST)
      .Case("rz", FE_TOWARDZERO)
      .Case("ru", FE_UPWARD)
      .Case("rd", FE_DOWNWARD)
      .Default(std::nullopt);
}

/// Runs `compute` under a rounding mode of the host. Operands and result are volatile, so that
/// nothing is computed outside of it.
template <typename T, typename Fn> T rounded(int mode, T a, T b, T c, Fn compute) {
  int before = std::fegetround();
  std::fesetround(mode);
  volatile T x = a, y = b, z = c;
  volatile T result = compute(x, y, z);
  std::fesetround(before);
  return result;
}

template <typename T> T (*arithmetic(StringRef name))(T, T, T) {
  return llvm::StringSwitch<T (*)(T, T, T)>(name)
      .Case(
          "add", +[](T x, T y, T) { return x + y; })
      .Case(
          "sub", +[](T x, T y, T) { return x - y; })
      .Case(
          "mul", +[](T x, T y, T) { return x * y; })
      .Case(
          "div", +[](T x, T y, T) { return x / y; })
      .Case(
          "rcp", +[](T x, T, T) { return T(1) / x; })
      .Case(
          "sqrt", +[](T x, T, T) { return std::sqrt(x); })
      .Case(
          "rsqrt", +[](T x, T, T) { return T(1 / std::sqrt(double(x))); })
      .Case(
          "ma", +[](T x, T y, T z) { return std::fma(x, y, z); })
      .Default(nullptr);
}

template <typename T> Step directed(Slot out, ArrayRef<Slot> in, int mode, T (*compute)(T, T, T)) {
  return [=, in = SmallVector<Slot>(in)](Frame &frame) {
    auto at = [&](size_t k, uint32_t i) { return k < in.size() ? frame.data<T>(in[k])[i] : T(); };
    for (uint32_t i = 0; i < out.count; ++i)
      frame.data<T>(out)[i] = rounded<T>(mode, at(0, i), at(1, i), at(2, i), compute);
  };
}

Step decodeRounded(tile::ExternOp op, StringRef name, ArrayRef<Slot> in, Decoder &d) {
  auto [base, suffix] = name.rsplit('_');
  auto mode = roundingMode(suffix);
  if (!mode)
    return {};
  Storage from = in.empty() ? Storage::I32 : in[0].storage;
  if (base == "fmaf") // a float's, as `fma` is a double's
    base = "fma";
  if (from == Storage::F32 && base.consume_front("f"))
    if (auto *compute = arithmetic<float>(base))
      return directed<float>(d.define(op), in, *mode, compute);
  if (from == Storage::F64 && (base.consume_front("d") || base == "fma" || d.wide())) {
    base.consume_front("f");
    if (auto *compute = arithmetic<double>(base))
      return directed<double>(d.define(op), in, *mode, compute);
  }
  // `float2int`, `double2ull`, `int2float`, `double2float`, `ull2double`, ...
  auto [source, target] = base.split('2');
  if (target.empty() || in.size() != 1)
    return {};
  Slot a = in[0], out = d.define(op);
  bool toUnsigned = target.starts_with("u"), fromUnsigned = source.starts_with("u");
  if (isFloat(a.storage) && !isFloat(out.storage))
    return dispatchFloat<false>(a.storage, [&]<typename T>() -> Step {
      return dispatchInt(out.storage, [&]<typename Int>() -> Step {
        return [=, mode = *mode](Frame &frame) {
          for (uint32_t i = 0; i < out.count; ++i) {
            double value = widen(frame.data<T>(a)[i]);
            value = rounded<double>(mode, value, 0, 0,
                                    [](double x, double, double) { return std::nearbyint(x); });
            frame.data<typename Int::Unsigned>(out)[i] = floatToInt<Int>(value, toUnsigned);
          }
        };
      });
    });
  if (!isFloat(a.storage) && isFloat(out.storage))
    return dispatchInt(a.storage, [&]<typename Int>() -> Step {
      return dispatchFloat<false>(out.storage, [&]<typename T>() -> Step {
        return [=, mode = *mode](Frame &frame) {
          int before = std::fegetround();
          std::fesetround(mode);
          for (uint32_t i = 0; i < out.count; ++i) {
            auto x = frame.data<typename Int::Unsigned>(a)[i];
            volatile int64_t s = Int::sext(x);
            volatile uint64_t u = Int::zext(x);
            if constexpr (std::is_floating_point_v<T>)
              frame.data<T>(out)[i] = fromUnsigned ? T(u) : T(s);
          }
          std::fesetround(before);
        };
      });
    });
  if (a.storage == Storage::F64 && out.storage == Storage::F32)
    return [=, mode = *mode](Frame &frame) {
      int before = std::fegetround();
      std::fesetround(mode);
      for (uint32_t i = 0; i < out.count; ++i) {
        volatile double x = frame.data<double>(a)[i];
        frame.data<float>(out)[i] = float(x);
      }
      std::fesetround(before);
    };
  return {};
}

// Finds a name's row: as it is for f64, without its `f` for f32.
template <typename Row>
const Row *findRow(const llvm::StringMap<Row> &table, StringRef name, bool dropF) {
  auto it = table.end();
  if (dropF && name.ends_with("f"))
    it = table.find(name.drop_back());
  if (it == table.end())
    it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

// A call as models are found: by its name without `__nv_`, and by what goes in and comes out.
struct ExternCall {
  tile::ExternOp op;
  Decoder &d;
  StringRef name;
  SmallVector<Slot> in;
  bool isF64, takesFloat, givesFloat; // the first operand, the result

  Slot out() { return d.define(op); }
  bool takes(size_t count) const { return in.size() == count; }
};
// Nothing if the call has no such model.
using Model = std::optional<Step>;

// out[i] = compute<T>(frame, i), a number of the element type T or what becomes one.
template <typename Fn> Step eachFloat(Slot out, Fn compute) {
  return dispatchFloat<false>(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      for (uint32_t i = 0; i < out.count; ++i)
        frame.data<T>(out)[i] = narrow<T>(compute.template operator()<T>(frame, i));
    };
  });
}
template <typename T> auto wideAt(Frame &frame, Slot slot, uint32_t i) {
  return widen(frame.data<T>(slot)[i]);
}

// nextafter steps in the type itself, of which half floats have none.
Step nextAfter(Slot out, Slot a, Slot b) {
  return dispatchFloat<false>(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      if constexpr (std::is_floating_point_v<T>)
        for (uint32_t i = 0; i < out.count; ++i)
          frame.data<T>(out)[i] = std::nextafter(frame.data<T>(a)[i], frame.data<T>(b)[i]);
    };
  });
}

Step fused(Slot out, Slot a, Slot b, Slot c) {
  return eachFloat(out, [=]<typename T>(Frame &frame, uint32_t i) {
    auto x = wideAt<T>(frame, a, i), y = wideAt<T>(frame, b, i), z = wideAt<T>(frame, c, i);
    if constexpr (std::is_same_v<T, double>)
      return std::fma(x, y, z);
    else
      return fmaToOdd(x, y, z);
  });
}

Model ofFloats(ExternCall &call) {
  auto &[op, d, name, in, isF64, takesFloat, givesFloat] = call;
  if (!takesFloat || !givesFloat || (call.takes(2) && !isFloat(in[1].storage)))
    return std::nullopt;
  if (call.takes(1))
    if (auto *row = findRow(unaries, name, !isF64))
      return wideUnary(call.out(), in[0], *row);
  if (call.takes(2))
    if (auto *row = findRow(binaries, name, !isF64))
      return wideBinary(call.out(), in[0], in[1], *row);
  if (call.takes(2) && name.starts_with("nextafter"))
    return nextAfter(call.out(), in[0], in[1]);
  if (call.takes(3))
    if (auto *row = findRow(ternaries, name, !isF64))
      return eachFloat(call.out(), [in = in, compute = *row]<typename T>(Frame &frame, uint32_t i) {
        return compute(wideAt<T>(frame, in[0], i), wideAt<T>(frame, in[1], i),
                       wideAt<T>(frame, in[2], i));
      });
  if (call.takes(3) && (name == "fma" || name == "fmaf"))
    return fused(call.out(), in[0], in[1], in[2]);
  if (call.takes(4))
    if (auto *row = findRow(quaternaries, name, !isF64))
      return eachFloat(call.out(), [in = in, compute = *row]<typename T>(Frame &frame, uint32_t i) {
        return compute(wideAt<T>(frame, in[0], i), wideAt<T>(frame, in[1], i),
                       wideAt<T>(frame, in[2], i), wideAt<T>(frame, in[3], i));
      });
  return std::nullopt;
}

// x and an integer: ldexp, scalbn, powi.
Model ofFloatAndInteger(ExternCall &call) {
  if (!call.takesFloat || !call.givesFloat || !call.takes(2) || isFloat(call.in[1].storage))
    return std::nullopt;
  double (*compute)(double, int64_t) = nullptr;
  if (call.name.starts_with("ldexp") || call.name.starts_with("scalbn"))
    compute = +[](double x, int64_t n) {
      return std::ldexp(x, int(std::clamp<int64_t>(n, -5000, 5000)));
    };
  else if (call.name.starts_with("powi"))
    compute = +[](double x, int64_t n) { return std::pow(x, double(n)); };
  else
    return std::nullopt;
  Slot out = call.out();
  return dispatchInt(call.in[1].storage, [&]<typename Int>() -> Step {
    return eachFloat(out, [=, x = call.in[0], n = call.in[1]]<typename T>(Frame &frame,
                                                                          uint32_t i) {
      return compute(wideAt<T>(frame, x, i), Int::sext(frame.data<typename Int::Unsigned>(n)[i]));
    });
  });
}

// Bessel functions take their order first.
Model ofOrder(ExternCall &call) {
  StringRef base = call.name.ends_with("f") ? call.name.drop_back() : call.name;
  if (call.takesFloat || !call.givesFloat || !call.takes(2) || (base != "jn" && base != "yn"))
    return std::nullopt;
  auto *compute = base == "jn" ? ::jn : ::yn;
  return eachFloat(call.out(),
                   [=, n = call.in[0], x = call.in[1]]<typename T>(Frame &frame, uint32_t i) {
                     return compute(frame.data<int32_t>(n)[i], wideAt<T>(frame, x, i));
                   });
}

// out[i] = compute<Int>(x), an integer of the result's width, for a float x in its widest form.
template <typename Fn> Step eachInteger(Slot out, Slot in, Fn compute) {
  return dispatchFloat<false>(in.storage, [&]<typename T>() -> Step {
    return dispatchInt(out.storage, [&]<typename Int>() -> Step {
      return [=](Frame &frame) {
        for (uint32_t i = 0; i < out.count; ++i)
          frame.data<typename Int::Unsigned>(out)[i] =
              compute.template operator()<Int>(wideAt<T>(frame, in, i));
      };
    });
  });
}

Model toInteger(ExternCall &call) {
  if (!call.takesFloat || call.givesFloat || !call.takes(1))
    return std::nullopt;
  // `isnanf` and `isnand`, `finitef` and `isfinited`: the letter is the type.
  StringRef name = call.name;
  StringRef base =
      call.isF64 && name.ends_with("d") && !tests.contains(name) ? name.drop_back() : name;
  if (auto *row = findRow(tests, base, !call.isF64))
    return eachInteger(call.out(), call.in[0], [compute = *row]<typename Int>(double x) {
      return Int::wrap(uint64_t(compute(x)));
    });
  // Halves away from zero (`lround`) or to even (`lrint`).
  StringRef rounding = !call.isF64 && name.ends_with("f") ? name.drop_back() : name;
  bool away = rounding == "llround" || rounding == "lround";
  if (away || rounding == "llrint" || rounding == "lrint")
    return eachInteger(call.out(), call.in[0], [away]<typename Int>(double x) {
      return floatToInt<Int>(away ? std::round(x) : std::nearbyint(x), false);
    });
  return std::nullopt;
}

Model ofBits(ExternCall &call) {
  StringRef name = call.name;
  if (call.d.wide())
    return std::nullopt;
  if (call.takes(1) &&
      (name.ends_with("_as_int") || name.ends_with("_as_uint") || name.ends_with("_as_float") ||
       name.ends_with("_as_double") || name.ends_with("_as_longlong"))) {
    call.d.alias(call.op, call.op.getInputs()[0]);
    return Step();
  }
  if (call.takes(1) && (name == "double2hiint" || name == "double2loint"))
    return
        [in = call.in[0], out = call.out(), shift = name == "double2hiint" ? 32 : 0](Frame &frame) {
          for (uint32_t i = 0; i < out.count; ++i)
            frame.data<uint32_t>(out)[i] = uint32_t(frame.data<uint64_t>(in)[i] >> shift);
        };
  if (call.takes(2) && name == "hiloint2double")
    return [high = call.in[0], low = call.in[1], out = call.out()](Frame &frame) {
      for (uint32_t i = 0; i < out.count; ++i)
        frame.data<uint64_t>(out)[i] =
            uint64_t(frame.data<uint32_t>(high)[i]) << 32 | frame.data<uint32_t>(low)[i];
    };
  return std::nullopt;
}

Model ofIntegers(ExternCall &call) {
  auto it = integers.find(call.name);
  if (call.takesFloat || call.givesFloat || it == integers.end() ||
      !call.takes(it->second.operands))
    return std::nullopt;
  return dispatchInt(call.in[0].storage, [&]<typename Int>() -> Step {
    return [in = call.in, out = call.out(), row = it->second](Frame &frame) {
      auto at = [&](size_t k, uint32_t i) -> uint64_t {
        return k < in.size() ? dispatchInt(
                                   in[k].storage,
                                   [&]<typename V>() -> uint64_t {
                                     return V::zext(frame.data<typename V::Unsigned>(in[k])[i]);
                                   })
                             : 0;
      };
      for (uint32_t i = 0; i < out.count; ++i) {
        uint64_t value = row.compute(at(0, i), at(1, i), at(2, i), Int::bits);
        dispatchInt(out.storage, [&]<typename V>() {
          frame.data<typename V::Unsigned>(out)[i] = V::wrap(value);
        });
      }
    };
  });
}

Step decodeExtern(tile::ExternOp op, Decoder &d) {
  StringRef name = op.getSymbol();
  bool isKnown = name.consume_front("__nv_") && !op.getInputs().empty();
  if (isKnown) {
    SmallVector<Slot> in;
    for (Value input : op.getInputs())
      in.push_back(d.slot(input));
    ExternCall call = {op,
                       d,
                       name,
                       in,
                       Decoder::storageInMemory(op.getInputs()[0].getType()) == Storage::F64,
                       isFloat(in[0].storage),
                       isFloat(d.storageOf(op.getType()))};
    for (auto *model : {ofFloats, ofFloatAndInteger, ofOrder, toInteger, ofBits, ofIntegers})
      if (Model step = model(call))
        return *std::move(step);
    if (Step step = decodeRounded(op, name, in, d))
      return step;
  }
  d.unsupported(op, "the function `" + op.getSymbol().str() + "` is not known to the interpreter");
  return {};
}

Step decodeLibraryCall(tile::LibraryCallOp op, Decoder &d) {
  d.unsupported(op, "`" + op.getSymbol().str() +
                        "` is code of a library, which the interpreter does not run");
  return {};
}

} // namespace

void attachExternModels(MLIRContext *c) {
  attach<tile::ExternOp, decodeExtern>(c);
  attach<tile::LibraryCallOp, decodeLibraryCall>(c);
}

} // namespace nereid::ref
