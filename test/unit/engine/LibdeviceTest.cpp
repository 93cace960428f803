// Each libdevice function with each of its types against a definition in long double: on the
// interpreter, on the CPU, and on what NEREID_TEST_DEVICE names (`cuda:0`).
#include "ElementwiseKernels.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <functional>
#include <math.h>
#include <random>
#include <set>

using namespace nereid;
using support::HostTensor;
using test::bitsOf;

namespace {

using Real = long double;
using Quad = __float128;
using RealArguments = std::array<Real, 4>;

struct Overload {
  std::string function, symbol, types;
  char result;
  bool isFloat() const { return result == 'f' || result == 'd'; }
};

std::vector<Overload> overloads() {
  struct Row {
    const char *name, *signature, *overloads, *summary;
  };
  const Row rows[] = {
#include "ops/LibdeviceFunctions.def"
  };
  std::vector<Overload> all;
  for (const Row &row : rows) {
    std::string text = row.overloads;
    for (size_t at = 0; at < text.size();) {
      std::string one = text.substr(at, text.find(' ', at) - at);
      at += one.size() + 1;
      size_t colon = one.find(':');
      std::string function = std::string(row.name).substr(strlen("libdevice."));
      all.push_back({function, one.substr(colon + 1), one.substr(2, colon - 2), one[0]});
    }
  }
  return all;
}

// --- definitions ---

Real bisect(Real low, Real high, const std::function<bool(Real)> &isBelow) {
  for (int i = 0; i < 260; ++i) {
    Real middle = low + (high - low) / 2;
    (isBelow(middle) ? low : high) = middle;
  }
  return low + (high - low) / 2;
}
Real sinPi(Real x) {
  Real r = remainderl(x, 2);
  if (fabsl(r) > 0.5L)
    r = copysignl(1 - fabsl(r), r);
  return fabsl(r) <= 0.25L ? sinl(M_PIl * r) : copysignl(cosl(M_PIl * (0.5L - fabsl(r))), r);
}
Real lowerTail(Real x) { return erfcl(-x / sqrtl(2)) / 2; }
Real quantile(Real p) {
  if (!(p >= 0 && p <= 1))
    return NAN;
  if (p == 0 || p == 0.5L || p == 1)
    return p == 0 ? -INFINITY : p == 1 ? INFINITY : 0;
  if (fabsl(p - 0.5L) < 0.25L) {
    Real size = bisect(0, 5, [&](Real x) { return erfl(x) < fabsl(2 * p - 1); });
    return copysignl(size, p - 0.5L) * sqrtl(2);
  }
  if (p > 0.5L)
    return -quantile(1 - p);
  return bisect(-60, 0, [&](Real x) { return lowerTail(x) < p; });
}
Real besselI(int order, Real x) {
  if (x == 0)
    return order ? 0 : 1;
  constexpr int steps = 200; // converges as fast as a power series: the integrand is periodic
  Real sum = 0;
  for (int i = 0; i < steps; ++i) {
    Real t = M_PIl * (i + 0.5L) / steps;
    sum += expl(x * cosl(t)) * (order ? cosl(t) : 1);
  }
  return sum / steps;
}

// The double or float next to `exact` in a direction.
template <typename T> T directed(Quad exact, const std::string &mode) {
  T near = T(exact); // to nearest even
  if (mode == "rn" || Quad(near) == exact || std::isnan(near))
    return near;
  bool up = mode == "ru" || (mode == "rz" && exact < 0);
  if (up && Quad(near) < exact)
    return std::nextafter(near, T(INFINITY));
  if (!up && Quad(near) > exact)
    return std::nextafter(near, -T(INFINITY));
  return near;
}
Quad squareRoot(Quad x) {
  if (x == 0 || x == Quad(INFINITY))
    return x;
  Quad root = sqrtl(Real(x));
  for (int i = 0; i < 3; ++i)
    root = (root + x / root) / 2;
  return root;
}
std::optional<Quad> exactArithmetic(const std::string &name, const RealArguments &v) {
  Quad x = v[0], y = v[1], z = v[2];
  if (name == "add")
    return x + y;
  if (name == "sub")
    return x - y;
  if (name == "mul")
    return x * y;
  if (name == "div")
    return x / y;
  if (name == "rcp")
    return 1 / x;
  if (name == "sqrt")
    return squareRoot(x);
  if (name == "rsqrt")
    return 1 / squareRoot(x);
  if (name == "fma")
    return x * y + z;
  return std::nullopt;
}

#define ONE(NAME, EXPRESSION)                                                                      \
  {NAME, [](const RealArguments &v) -> Real {                                                      \
     Real x = v[0];                                                                                \
     return EXPRESSION;                                                                            \
   }}
#define MORE(NAME, EXPRESSION)                                                                     \
  {NAME, [](const RealArguments &v) -> Real {                                                      \
     [[maybe_unused]] Real x = v[0], y = v[1], z = v[2], w = v[3];                                 \
     return EXPRESSION;                                                                            \
   }}
const std::map<std::string, std::function<Real(const RealArguments &)>> definitions = {
    ONE("abs", fabsl(x)),
    ONE("floor", floorl(x)),
    ONE("ceil", ceill(x)),
    ONE("trunc", truncl(x)),
    ONE("rint", roundevenl(x)),
    ONE("nearbyint", roundevenl(x)),
    ONE("llrint", roundevenl(x)),
    ONE("round", roundl(x)),
    ONE("llround", roundl(x)),
    ONE("sqrt", sqrtl(x)),
    ONE("rsqrt", 1 / sqrtl(x)),
    ONE("cbrt", cbrtl(x)),
    ONE("rcbrt", 1 / cbrtl(x)),
    ONE("exp", expl(x)),
    ONE("exp2", exp2l(x)),
    ONE("exp10", powl(10, x)),
    ONE("expm1", expm1l(x)),
    ONE("log", logl(x)),
    ONE("log2", log2l(x)),
    ONE("log10", log10l(x)),
    ONE("log1p", log1pl(x)),
    ONE("logb", logbl(x)),
    ONE("ilogb", Real(ilogbl(x))),
    ONE("sin", sinl(x)),
    ONE("cos", cosl(x)),
    ONE("tan", tanl(x)),
    ONE("asin", asinl(x)),
    ONE("acos", acosl(x)),
    ONE("atan", atanl(x)),
    ONE("sinh", sinhl(x)),
    ONE("cosh", coshl(x)),
    ONE("tanh", tanhl(x)),
    ONE("asinh", asinhl(x)),
    ONE("acosh", acoshl(x)),
    ONE("atanh", atanhl(x)),
    ONE("sinpi", sinPi(x)),
    ONE("cospi", sinPi(0.5L - fabsl(remainderl(x, 2)))),
    ONE("fast_sinf", sinl(x)),
    ONE("fast_cosf", cosl(x)),
    ONE("fast_tanf", tanl(x)),
    ONE("fast_expf", expl(x)),
    ONE("fast_exp10f", powl(10, x)),
    ONE("fast_logf", logl(x)),
    ONE("fast_log2f", log2l(x)),
    ONE("fast_log10f", log10l(x)),
    ONE("fast_tanhf", tanhl(x)),
    ONE("erf", erfl(x)),
    ONE("erfc", erfcl(x)),
    ONE("erfcx", std::isinf(x) ? (x > 0 ? 0 : x * x) : expl(x *x) * erfcl(x)),
    ONE("erfinv", quantile((x + 1) / 2) / sqrtl(2)),
    ONE("erfcinv", -quantile(x / 2) / sqrtl(2)),
    ONE("normcdf", lowerTail(x)),
    ONE("normcdfinv", quantile(x)),
    ONE("tgamma", tgammal(x)),
    ONE("lgamma", lgammal(x)),
    ONE("j0", j0l(x)),
    ONE("j1", j1l(x)),
    ONE("y0", y0l(x)),
    ONE("y1", y1l(x)),
    ONE("cyl_bessel_i0", besselI(0, x)),
    ONE("cyl_bessel_i1", besselI(1, x)),
    ONE("saturatef", x > 1   ? 1
                     : x > 0 ? x
                             : 0),
    ONE("isnan", Real(std::isnan(x))),
    ONE("isinf", Real(std::isinf(x))),
    ONE("finitef", Real(std::isfinite(x))),
    ONE("isfinited", Real(std::isfinite(x))),
    ONE("signbit", Real(std::signbit(x))),
    MORE("atan2", atan2l(x, y)),
    MORE("pow", powl(x, y)),
    MORE("fast_powf", powl(x, y)),
    MORE("fast_dividef", x / y),
    MORE("fmod", fmodl(x, y)),
    MORE("remainder", remainderl(x, y)),
    MORE("hypot", hypotl(x, y)),
    MORE("rhypot", 1 / hypotl(x, y)),
    MORE("norm3d", sqrtl(x *x + y * y + z * z)),
    MORE("rnorm3d", 1 / sqrtl(x * x + y * y + z * z)),
    MORE("norm4d", sqrtl(x *x + y * y + z * z + w * w)),
    MORE("rnorm4d", 1 / sqrtl(x * x + y * y + z * z + w * w)),
    MORE("fdim", fdiml(x, y)),
    MORE("copysign", copysignl(x, y)),
    MORE("fma", Real(Quad(x) * Quad(y) + Quad(z))),
    MORE("ldexp", ldexpl(x, int(y))),
    MORE("scalbn", ldexpl(x, int(y))),
    MORE("jn", jnl(int(x), y)),
    MORE("yn", ynl(int(x), y)),
};
#undef ONE
#undef MORE

// Those of integers and bits, on 64-bit words that hold the operands as they are in memory.
uint64_t reversed(uint64_t x, int bits) {
  uint64_t result = 0;
  for (int i = 0; i < bits; ++i)
    result = result << 1 | (x >> i & 1);
  return result;
}
std::optional<uint64_t> integerResult(const Overload &o, const std::array<uint64_t, 4> &v) {
  char first = o.types[0];
  int bits = first == 'i' || first == 'u' || first == 'f' ? 32 : 64;
  bool isSigned = first == 'i' || first == 'l';
  auto wide = [&](int k) -> __int128 {
    return !isSigned    ? __int128(v[size_t(k)])
           : bits == 32 ? __int128(int32_t(v[size_t(k)]))
                        : __int128(int64_t(v[size_t(k)]));
  };
  const std::string &f = o.function;
  if (f == "clz")
    return v[0] ? std::countl_zero(v[0]) - (64 - bits) : bits;
  if (f == "popc")
    return std::popcount(v[0]);
  if (f == "ffs")
    return v[0] ? std::countr_zero(v[0]) + 1 : 0;
  if (f == "brev")
    return reversed(v[0], bits);
  if (f == "abs" && first != 'f' && first != 'd')
    return wide(0) < 0 ? -v[0] : v[0];
  if (f == "mulhi")
    return uint64_t(isSigned ? (wide(0) * wide(1)) >> bits
                             : __int128((unsigned __int128)(v[0]) * v[1] >> bits));
  if (f == "mul24") {
    auto low = [&](int k) {
      return isSigned ? int64_t(v[size_t(k)] << 40) >> 40 : int64_t(v[size_t(k)] & 0xffffff);
    };
    return uint64_t(low(0) * low(1));
  }
  if (f == "hadd")
    return uint64_t((wide(0) + wide(1)) >> 1);
  if (f == "rhadd")
    return uint64_t((wide(0) + wide(1) + 1) >> 1);
  if (f == "sad")
    return uint64_t(wide(0) > wide(1) ? wide(0) - wide(1) : wide(1) - wide(0)) + v[2];
  if (f == "byte_perm") {
    uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint64_t place = v[2] >> (4 * i) & 7;
      result |= ((place < 4 ? v[0] >> 8 * place : v[1] >> 8 * (place - 4)) & 0xff) << 8 * i;
    }
    return result;
  }
  if (f == "hiloint2double")
    return v[0] << 32 | v[1];
  if (f == "double2hiint")
    return v[0] >> 32;
  if (f == "double2loint" || f.find("_as_") != std::string::npos)
    return v[0];
  return std::nullopt;
}

// --- arguments ---

struct Domain {
  double low = -8, high = 8;
  bool isLogarithmic = false;
};
Domain domainOf(const Overload &o, size_t argument) {
  const std::string &f = o.function;
  auto is = [&](std::initializer_list<const char *> names) {
    return std::find(names.begin(), names.end(), f) != names.end();
  };
  if (is({"rsqrt", "sqrt", "log", "log2", "log10", "logb", "ilogb", "cbrt", "rcbrt", "fast_logf",
          "fast_log2f", "fast_log10f"}) ||
      f.starts_with("sqrt_") || f.starts_with("rsqrt_"))
    return {1e-30, 1e30, true};
  if (is({"asin", "acos", "atanh", "erfinv"}))
    return {-0.999, 0.999};
  if (is({"acosh"}))
    return {1, 1e6, true};
  if (is({"log1p"}))
    return {-0.99, 50};
  if (is({"normcdfinv"}))
    return {1e-20, 0.999999, true};
  if (is({"erfcinv"}))
    return {1e-20, 1.99999, true};
  if (is({"exp", "expm1", "fast_expf"}))
    return {-80, 80};
  if (is({"exp10", "fast_exp10f"}))
    return {-30, 30};
  if (is({"normcdf"}))
    return {-12, 8};
  if (is({"erfcx"}))
    return {-3, 20};
  if (is({"cyl_bessel_i0", "cyl_bessel_i1"}))
    return {-30, 30};
  if (is({"tgamma", "lgamma"}))
    return {0.1, 30};
  if (is({"y0", "y1"}) || (is({"jn", "yn"}) && argument == 1))
    return {0.1, 30};
  if (is({"j0", "j1"}))
    return {-30, 30};
  if (is({"pow", "fast_powf"}))
    return argument ? Domain{-6, 6} : Domain{0.1, 8};
  if (is({"fast_dividef"}) || f.starts_with("div_") || f.starts_with("rcp_"))
    return {0.01, 1e4, true};
  if (is({"saturatef"}))
    return {-1, 2};
  if (f.find('2') != std::string::npos && f.find('_') != std::string::npos)
    return {-3e5, 3e5};
  return {};
}
int64_t integerArgument(const Overload &o, size_t argument, std::mt19937_64 &random) {
  const std::string &f = o.function;
  if (o.isFloat() && o.types.size() == 2) {
    if (f == "jn" || f == "yn")
      return int64_t(random() % 6);
    int64_t span = f == "pow" ? 8 : 120;
    return int64_t(random() % uint64_t(2 * span + 1)) - span;
  }
  // Numbers of every size.
  int64_t value = int64_t(random()) >> random() % 63;
  return o.types[argument] == 'u' || o.types[argument] == 'v' ? int64_t(uint64_t(value)) : value;
}

DType typeOf(char letter) {
  switch (letter) {
  case 'i':
    return DType::Int32;
  case 'l':
    return DType::Int64;
  case 'u':
    return DType::UInt32;
  case 'v':
    return DType::UInt64;
  case 'f':
    return DType::Float32;
  case 'b':
    return DType::Int1;
  default:
    return DType::Float64;
  }
}

// Units in the last place of the exact result, of a float or a double.
double ulpsOff(double got, Real want, bool isDouble, Real floor) {
  Real nearest = isDouble ? Real(double(want)) : Real(float(want));
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(got))
    return got == double(nearest) ? 0 : INFINITY;
  Real size = std::max(fabsl(want), floor);
  int exponent = size == 0 ? -2000 : ilogbl(size);
  Real unit = isDouble ? ldexpl(1, std::max(exponent, -1022) - 52)
                       : ldexpl(1, std::max(exponent, -126) - 23);
  return double(fabsl(Real(got) - want) / unit);
}

// How far off a function may be, in ulp.
struct Bounds {
  double ref = 0.501, cpu = 4, gpu = 9;
};
Bounds boundsOf(const Overload &o) {
  const std::string &f = o.function;
  bool isDouble = o.result == 'd';
  Bounds bounds;
  bounds.ref = isDouble ? 4 : 0.501;
  if (isDouble)
    bounds.gpu = 12;
  static const std::set<std::string> exact = {
      "abs",   "floor",     "ceil",  "trunc",     "rint",     "nearbyint",
      "round", "sqrt",      "fmod",  "remainder", "copysign", "fdim",
      "fma",   "saturatef", "ldexp", "scalbn",    "logb",     "nextafter"};
  if (exact.contains(f)) {
    bounds.ref = bounds.cpu = 0.5;
    bounds.gpu = f == "sqrt" ? 1 : 0.5;
  }
  // As CUDA's own are.
  if (o.result == 'f' && (f == "exp" || f == "exp10" || f == "pow"))
    bounds.gpu = f == "pow" ? 4 : 2.5;
  if (f.starts_with("fast_"))
    bounds.gpu = INFINITY; // absolute errors, as CUDA documents them
  return bounds;
}

constexpr int numberOfCases = 512;

struct Case {
  Overload overload;
  std::vector<HostTensor> inputs;
  HostTensor output;
};

Case makeCase(const Overload &o) {
  Case made{o, {}, HostTensor(typeOf(o.result), {numberOfCases})};
  std::mt19937_64 random(7);
  for (size_t k = 0; k < o.types.size(); ++k) {
    HostTensor input(typeOf(o.types[k]), {numberOfCases});
    Domain domain = domainOf(o, k);
    for (int i = 0; i < numberOfCases; ++i) {
      if (o.types[k] != 'f' && o.types[k] != 'd') {
        input.setInt(i, integerArgument(o, k, random));
        continue;
      }
      double t = double(random() >> 11) * 0x1p-53;
      input.set(i, domain.isLogarithmic ? domain.low * std::pow(domain.high / domain.low, t)
                                        : domain.low + (domain.high - domain.low) * t);
    }
    if (o.types == "f" || o.types == "d") {
      const double special[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -0.5, 2.5};
      for (size_t i = 0; i < std::size(special); ++i)
        input.set(int64_t(i), special[i]);
    }
    made.inputs.push_back(std::move(input));
  }
  return made;
}

// A kernel for each overload, by its place in the list.
std::unique_ptr<emit::Program> programOf(const std::vector<Overload> &all) {
  emit::SourceUnit unit;
  unit.file = "libdevice.py";
  unit.text = "import triton\nimport triton.language as tl\n"
              "from triton.language.extra import libdevice\n";
  for (size_t i = 0; i < all.size(); ++i)
    unit.text +=
        test::elementwiseKernel(i, all[i].types.size(), "libdevice." + all[i].function + "(", ")");
  return emit::Program::load(unit).program;
}

Status run(engine::Runner &runner, emit::Program &program, size_t number, Case &c) {
  return test::runElementwise(runner, program, number, c.inputs, c.output);
}

// Empty, or what is wrong; `worst` is the greatest error in ulp.
std::string verify(const Case &c, double bound, double &worst, bool onGpu = false) {
  const Overload &o = c.overload;
  size_t at = o.function.rfind('_');
  std::string mode = at == std::string::npos ? "" : o.function.substr(at + 1),
              stem = o.function.substr(0, std::min(at, o.function.size()));
  bool isDirected = mode == "rn" || mode == "rz" || mode == "ru" || mode == "rd";
  for (int i = 0; i < numberOfCases; ++i) {
    RealArguments v = {};
    std::array<uint64_t, 4> words = {};
    for (size_t k = 0; k < c.inputs.size(); ++k) {
      bool isUnsigned = o.types[k] == 'u' || o.types[k] == 'v',
           isInteger = o.types[k] != 'f' && o.types[k] != 'd';
      words[k] = bitsOf(c.inputs[k], i);
      v[k] = !isInteger   ? Real(c.inputs[k].get(i))
             : isUnsigned ? Real(words[k])
                          : Real(c.inputs[k].getInt(i));
    }
    auto wrong = [&](Real want, const std::string &got) {
      char text[256];
      snprintf(text, sizeof text, "(%.17Lg, %.17Lg, %.17Lg) is %s, not %.17Lg", v[0], v[1], v[2],
               got.c_str(), want);
      return std::string(text);
    };
    if (auto want = integerResult(o, words)) {
      uint64_t mask = c.output.elementBytes() == 4 ? 0xffffffff : ~uint64_t(0),
               got = bitsOf(c.output, i);
      bool bothNan = o.isFloat() && std::isnan(c.output.get(i)); // whose payload is not kept
      if (got != (*want & mask) && !bothNan)
        return wrong(Real(*want & mask), std::to_string(got));
      continue;
    }
    double got = o.isFloat() ? c.output.get(i) : double(c.output.getInt(i));
    Real want;
    if (isDirected) {
      // A NaN has no integer, and the zero of a difference has the sign of the rounding.
      if (std::isnan(v[0]) || (v[0] == 0 && stem != "sqrt"))
        continue;
      std::optional<Quad> exact = exactArithmetic(stem, v);
      if (!exact)
        exact = Quad(v[0]);
      if (o.result == 'f' || o.result == 'd') {
        want = o.result == 'f' ? Real(directed<float>(*exact, mode))
                               : Real(directed<double>(*exact, mode));
      } else {
        Real x = v[0];
        Real whole = mode == "rz"   ? truncl(x)
                     : mode == "rd" ? floorl(x)
                     : mode == "ru" ? ceill(x)
                                    : roundevenl(x);
        bool toUnsigned = stem.find("2u") != std::string::npos;
        Real least = toUnsigned ? 0 : o.result == 'i' ? -0x1p31L : -0x1p63L;
        Real most = toUnsigned ? (o.result == 'i' ? 0x1p32L : 0x1p64L) - 1
                               : (o.result == 'i' ? 0x1p31L : 0x1p63L) - 1;
        whole = std::min(std::max(whole, least), most);
        uint64_t bits = toUnsigned ? uint64_t(whole) : uint64_t(int64_t(whole));
        if (o.result == 'i')
          bits &= 0xffffffff;
        if (bits != bitsOf(c.output, i))
          return wrong(whole, std::to_string(bitsOf(c.output, i)));
        continue;
      }
      if (double(want) != got && !(std::isnan(want) && std::isnan(got)))
        return wrong(want,
                     std::to_string(got) + " (" + std::to_string(double(want) - got) + " off)");
      continue;
    }
    if (o.function == "nextafter") {
      want = o.result == 'f' ? Real(std::nextafter(float(v[0]), float(v[1])))
                             : Real(std::nextafter(double(v[0]), double(v[1])));
    } else {
      auto definition = definitions.find(o.function);
      if (definition == definitions.end())
        return "there is no definition";
      want = definition->second(v);
    }
    if (!o.isFloat()) {
      if (o.function == "ilogb" || std::isnan(want) || std::isinf(want))
        if (!std::isfinite(v[0]) || v[0] == 0)
          continue; // each library has numbers of its own for these
      bool isTruth = o.result == 'b' || o.function == "signbit";
      if (isTruth ? (want != 0) != (got != 0) : want != Real(got))
        return wrong(want, std::to_string(got));
      continue;
    }
    // Near a zero of a Bessel function or of lgamma errors are absolute.
    static const std::set<std::string> absolute = {"j0", "j1", "y0", "y1", "jn", "yn", "lgamma"};
    double off = ulpsOff(got, want, o.result == 'd', absolute.contains(o.function) ? 1 : 0);
    // Of its Bessel functions of f64 CUDA documents an absolute error from 8 on, of those of any
    // order everywhere.
    bool ofAnyOrder = o.function == "jn" || o.function == "yn";
    if (onGpu && o.result == 'd' && (ofAnyOrder || fabsl(v[0]) >= 8) &&
        absolute.contains(o.function) && o.function != "lgamma" &&
        fabsl(Real(got) - want) <= 5e-12L)
      continue;
    worst = std::max(worst, off);
    if (!(off <= bound)) {
      char text[64];
      snprintf(text, sizeof text, "%.17g, %.3g ulp off", got, off);
      return wrong(want, text);
    }
  }
  return {};
}

// Functions that no device but a GPU with CUDA's library has.
const std::set<std::string> onlyOnGpus = {"rcp64h"};

void checkAll(const std::string &device) {
  auto runner = engine::Runner::create(device);
  ASSERT_TRUE(runner) << runner.error().what;
  std::vector<Overload> all = overloads();
  auto program = programOf(all);
  ASSERT_TRUE(program);
  unsigned seen = 0;
  for (size_t number = 0; number < all.size(); ++number) {
    const Overload &overload = all[number];
    if (onlyOnGpus.contains(overload.function))
      continue;
    Case c = makeCase(overload);
    Status status = run(**runner, *program, number, c);
    std::string what = overload.function + " (" + overload.types + ")";
    if (!status) {
      (*runner)->unbindAll();
      std::string message = status.error().what;
      for (const Diagnostic &diagnostic : status.error().diagnostics)
        message += "\n  " + diagnostic.message;
      ADD_FAILURE() << what << ": " << message;
      continue;
    }
    Bounds bounds = boundsOf(overload);
    double worst = 0;
    std::string wrong = verify(c,
                               device == "ref"   ? bounds.ref
                               : device == "cpu" ? bounds.cpu
                                                 : bounds.gpu,
                               worst, device != "ref" && device != "cpu");
    EXPECT_EQ(wrong, "") << what;
    if (worst > 0.501)
      printf("%s: %.2f ulp\n", what.c_str(), worst);
    ++seen;
  }
  EXPECT_GT(seen, 250u);
}

TEST(Libdevice, EveryFunctionOnTheInterpreter) { checkAll("ref"); }
TEST(Libdevice, EveryFunctionOnTheCpu) { checkAll("cpu"); }
TEST(Libdevice, EveryFunctionOnTheDeviceNamed) {
  const char *device = std::getenv("NEREID_TEST_DEVICE");
  if (!device || !*device)
    GTEST_SKIP() << "NEREID_TEST_DEVICE names none";
  checkAll(device);
}

// RealArguments of different types meet as operands do.
TEST(Libdevice, ArgumentsArePromoted) {
  auto runner = engine::Runner::create("ref");
  ASSERT_TRUE(runner);
  std::vector<Overload> pow = {{"pow", "powf", "fl", 'f'}};
  auto program = programOf(pow);
  ASSERT_TRUE(program);
  Case c = makeCase(pow[0]);
  for (int i = 0; i < numberOfCases; ++i)
    c.inputs[1].setInt(i, i % 5);
  ASSERT_TRUE(run(**runner, *program, 0, c));
  double worst = 0;
  EXPECT_EQ(verify(c, 0.501, worst), "");
}

} // namespace
