// Conversions between float formats on all patterns, against the definition of a format.
#include "Harness.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace nereid::ref {
namespace {

/// A format by its definition: sign, exponent, mantissa, and which patterns are no numbers.
struct Format {
  std::string type; ///< in tile IR
  int exponentBits, mantissaBits, bias;
  bool ieee;     ///< the top exponent is infinity and NaN
  int nanMinus0; ///< 1: the pattern of -0 is the only NaN
  int nanOnes;   ///< 1: all ones is NaN
  bool saturates;
  int bits() const { return 1 + exponentBits + mantissaBits; }

  double value(uint32_t pattern) const {
    int mantissa = pattern & ((1 << mantissaBits) - 1);
    int exponent = pattern >> mantissaBits & ((1 << exponentBits) - 1);
    bool negative = pattern >> (bits() - 1);
    uint32_t ones = (1u << (bits() - 1)) - 1, magnitude = pattern & ones;
    if (ieee && exponent == (1 << exponentBits) - 1)
      return std::copysign(mantissa ? NAN : INFINITY, negative ? -1 : 1);
    if (nanMinus0 && negative && magnitude == 0)
      return NAN;
    if (nanOnes && magnitude == ones)
      return std::copysign(NAN, negative ? -1 : 1);
    double v = exponent ? std::ldexp(1 + std::ldexp(mantissa, -mantissaBits), exponent - bias)
                        : std::ldexp(mantissa, 1 - bias - mantissaBits);
    return negative ? -v : v;
  }
  /// Patterns of the finite values from zero up, which is their order.
  std::vector<double> magnitudes() const {
    std::vector<double> list;
    for (uint32_t p = 0; p < 1u << (bits() - 1); ++p)
      if (std::isfinite(value(p)))
        list.push_back(value(p));
    return list;
  }
};

const Format f16{"f16", 5, 10, 15, true, 0, 0, false};
const Format bf16{"bf16", 8, 7, 127, true, 0, 0, false};
const Format e4m3fn{"f8E4M3FN", 4, 3, 7, false, 0, 1, true};
const Format e5m2{"f8E5M2", 5, 2, 15, true, 0, 0, true};
const Format e4m3fnuz{"f8E4M3FNUZ", 4, 3, 8, false, 1, 0, true};
const Format e5m2fnuz{"f8E5M2FNUZ", 5, 2, 16, false, 1, 0, true};
const Format e4m3b15{"f8E4M3B11FNUZ", 4, 3, 15, false, 0, 0, true};
const std::vector<Format> formats{f16, bf16, e4m3fn, e5m2, e4m3fnuz, e5m2fnuz, e4m3b15};

/// The nearest value of `format` by search; ties go to the even pattern.
double nearest(const Format &format, const std::vector<double> &magnitudes, double x,
               bool towardsZero) {
  if (std::isnan(x))
    return format.type == e4m3b15.type ? std::copysign(magnitudes.back(), x) : NAN;
  double a = std::fabs(x), largest = magnitudes.back(), result;
  if (std::isinf(x)) {
    result = format.saturates ? largest : INFINITY;
  } else {
    size_t above = std::lower_bound(magnitudes.begin(), magnitudes.end(), a) - magnitudes.begin();
    if (above == magnitudes.size()) {
      // Beyond the largest value: half a step more rounds back to it.
      double step = largest - magnitudes[magnitudes.size() - 2];
      bool back = towardsZero || format.saturates || a < largest + step / 2;
      result = back ? largest : INFINITY;
    } else if (above == 0 || magnitudes[above] == a) {
      result = magnitudes[above];
    } else {
      double low = magnitudes[above - 1], high = magnitudes[above];
      bool up = a - low > high - a || (a - low == high - a && (above - 1) % 2 == 1);
      result = up && !towardsZero ? high : low;
    }
  }
  if (result == 0 && format.nanMinus0)
    return 0;
  return std::copysign(result, x);
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

std::string intOf(const Format &format) { return "i" + std::to_string(format.bits()); }

/// Converts all patterns of `from` to `to` by running a kernel.
template <typename T>
std::vector<uint32_t> convert(const Format &from, const std::string &to, const std::string &toInt,
                              const std::string &op, std::vector<T> out) {
  uint32_t count = 1u << from.bits();
  std::string n = std::to_string(count), in = intOf(from);
  Kernel kernel("func.func @k(%x: !tile.ptr<" + in + ">, %y: !tile.ptr<" + toInt + R"(>) {
    %r = tile.arange 0 to )" +
                n + " : tensor<" + n + R"(xi32>
    %xs = tile.splat %x : !tile.ptr<)" +
                in + "> -> tensor<" + n + "x!tile.ptr<" + in + R"(>>
    %ys = tile.splat %y : !tile.ptr<)" +
                toInt + "> -> tensor<" + n + "x!tile.ptr<" + toInt + R"(>>
    %xp = tile.addptr %xs, %r : tensor<)" +
                n + "x!tile.ptr<" + in + ">>, tensor<" + n + R"(xi32>
    %yp = tile.addptr %ys, %r : tensor<)" +
                n + "x!tile.ptr<" + toInt + ">>, tensor<" + n + R"(xi32>
    %bits = tile.load %xp : tensor<)" +
                n + "x!tile.ptr<" + in + ">> -> tensor<" + n + "x" + in + R"(>
    %v = tile.bitcast %bits : tensor<)" +
                n + "x" + in + "> -> tensor<" + n + "x" + from.type + R"(>
    %w = )" + op +
                " : tensor<" + n + "x" + from.type + "> " +
                (op.starts_with("arith") ? "to" : "->") + " tensor<" + n + "x" + to + R"(>
    %b = tile.bitcast %w : tensor<)" +
                n + "x" + to + "> -> tensor<" + n + "x" + toInt + R"(>
    tile.store %yp, %b : tensor<)" +
                n + "x!tile.ptr<" + toInt + ">>, tensor<" + n + "x" + toInt + R"(>
    return
  })");
  std::vector<uint16_t> in16(count);
  std::vector<uint8_t> in8(count);
  for (uint32_t i = 0; i < count; ++i) {
    in16[i] = i;
    in8[i] = i;
  }
  out.resize(count);
  if (from.bits() == 16)
    kernel.tensor("x", in16);
  else
    kernel.tensor("x", in8);
  kernel.tensor("y", out).run();
  return std::vector<uint32_t>(out.begin(), out.end());
}

std::vector<uint32_t> convertTo(const Format &from, const Format &to, const std::string &op) {
  return to.bits() == 16 ? convert(from, to.type, "i16", op, std::vector<uint16_t>())
                         : convert(from, to.type, "i8", op, std::vector<uint8_t>());
}

TEST(Numbers, EveryPatternConvertsToEveryFormat) {
  for (const Format &from : formats)
    for (const Format &to : formats) {
      if (from.type == to.type)
        continue;
      for (bool rtz : {false, true}) {
        auto magnitudes = to.magnitudes();
        auto got = convertTo(
            from, to, std::string("tile.fp_convert %v rounding ") + (rtz ? "<rtz>" : "<rtne>"));
        unsigned wrong = 0;
        for (uint32_t p = 0; p < got.size() && wrong < 5; ++p) {
          double x = from.value(p), want = nearest(to, magnitudes, x, rtz), have = to.value(got[p]);
          if (!same(want, have)) {
            ADD_FAILURE() << from.type << " " << p << " (" << x << ") to " << to.type << ": "
                          << have << ", not " << want;
            ++wrong;
          }
        }
      }
    }
}

TEST(Numbers, EveryPatternWidensAndReturns) {
  for (const Format &format : formats) {
    auto up = convert(format, "f32", "i32", "tile.fp_convert %v", std::vector<uint32_t>());
    for (uint32_t p = 0; p < up.size(); ++p)
      EXPECT_TRUE(same(std::bit_cast<float>(up[p]), format.value(p))) << format.type << " " << p;
  }
}

// f32 -> f16 and bf16 around every tie: at the middle of two neighbours, and a bit beside it.
TEST(Numbers, TiesGoToEven) {
  for (const Format &format : {f16, bf16, e4m3fn, e5m2}) {
    auto magnitudes = format.magnitudes();
    std::vector<float> x;
    for (size_t i = 0; i + 1 < magnitudes.size(); ++i) {
      float middle = float((magnitudes[i] + magnitudes[i + 1]) / 2);
      for (float v : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)}) {
        x.push_back(v);
        x.push_back(-v);
      }
    }
    while (x.size() & (x.size() - 1))
      x.push_back(0);
    std::string n = std::to_string(x.size()), t = format.type, i = intOf(format);
    Kernel kernel("func.func @k(%x: !tile.ptr<f32>, %y: !tile.ptr<" + i + R"(>) {
      %r = tile.arange 0 to )" +
                  n + " : tensor<" + n + R"(xi32>
      %xs = tile.splat %x : !tile.ptr<f32> -> tensor<)" +
                  n + R"(x!tile.ptr<f32>>
      %ys = tile.splat %y : !tile.ptr<)" +
                  i + "> -> tensor<" + n + "x!tile.ptr<" + i + R"(>>
      %xp = tile.addptr %xs, %r : tensor<)" +
                  n + "x!tile.ptr<f32>>, tensor<" + n + R"(xi32>
      %yp = tile.addptr %ys, %r : tensor<)" +
                  n + "x!tile.ptr<" + i + ">>, tensor<" + n + R"(xi32>
      %v = tile.load %xp : tensor<)" +
                  n + "x!tile.ptr<f32>> -> tensor<" + n + R"(xf32>
      %w = )" + (format.bits() == 16 ? "arith.truncf" : "tile.fp_convert") +
                  " %v : tensor<" + n + "xf32> " + (format.bits() == 16 ? "to" : "->") +
                  " tensor<" + n + "x" + t + R"(>
      %b = tile.bitcast %w : tensor<)" +
                  n + "x" + t + "> -> tensor<" + n + "x" + i + R"(>
      tile.store %yp, %b : tensor<)" +
                  n + "x!tile.ptr<" + i + ">>, tensor<" + n + "x" + i + R"(>
      return
    })");
    std::vector<uint16_t> out16(x.size());
    std::vector<uint8_t> out8(x.size());
    kernel.tensor("x", x);
    if (format.bits() == 16)
      kernel.tensor("y", out16);
    else
      kernel.tensor("y", out8);
    kernel.run();
    for (size_t k = 0; k < x.size(); ++k) {
      double have = format.value(format.bits() == 16 ? out16[k] : out8[k]);
      EXPECT_TRUE(same(have, nearest(format, magnitudes, x[k], false)))
          << t << " " << x[k] << " gives " << have;
    }
  }
}

TEST(Numbers, FloatToIntSaturates) {
  auto check = [](const Format &from, const std::string &type, bool isUnsigned, int bits) {
    auto got = convert(from, type, type,
                       std::string("tile.fp_to_int %v") + (isUnsigned ? " unsigned" : ""),
                       std::vector<uint32_t>());
    double low = isUnsigned ? 0 : -std::ldexp(1, bits - 1),
           high = std::ldexp(1, isUnsigned ? bits : bits - 1) - 1;
    for (uint32_t p = 0; p < got.size(); ++p) {
      double x = from.value(p);
      int64_t want = std::isnan(x) ? 0 : int64_t(std::clamp(std::trunc(x), low, high));
      EXPECT_EQ(got[p], uint32_t(want)) << from.type << " " << x << " to " << type << isUnsigned;
    }
  };
  check(f16, "i32", false, 32);
  check(bf16, "i32", false, 32);
  check(bf16, "i32", true, 32);
}

// i8 and i16 results come from the same code; their bounds are checked on a few values.
TEST(Numbers, FloatToNarrowIntSaturates) {
  Kernel kernel(R"(
    func.func @k(%f: f32, %s8: !tile.ptr<i32>) {
      %a = tile.fp_to_int %f : f32 -> i8
      %b = tile.fp_to_int %f unsigned : f32 -> i8
      %c = tile.fp_to_int %f : f32 -> i16
      %d = tile.fp_to_int %f unsigned : f32 -> i64
      %a32 = arith.extsi %a : i8 to i32
      %b32 = arith.extui %b : i8 to i32
      %c32 = arith.extsi %c : i16 to i32
      %d32 = arith.trunci %d : i64 to i32
      %one = arith.constant 1 : i32
      tile.store %s8, %a32 : !tile.ptr<i32>, i32
      %p1 = tile.addptr %s8, %one : !tile.ptr<i32>, i32
      tile.store %p1, %b32 : !tile.ptr<i32>, i32
      %p2 = tile.addptr %p1, %one : !tile.ptr<i32>, i32
      tile.store %p2, %c32 : !tile.ptr<i32>, i32
      %p3 = tile.addptr %p2, %one : !tile.ptr<i32>, i32
      tile.store %p3, %d32 : !tile.ptr<i32>, i32
      return
    })");
  std::map<double, std::vector<int32_t>> cases{
      {300.5, {127, 255, 300, 300}},        {-300.5, {-128, 0, -300, 0}},
      {1e9, {127, 255, 32767, 1000000000}}, {-1e30, {-128, 0, -32768, 0}},
      {1e30, {127, 255, 32767, -1}},        {-0.9, {0, 0, 0, 0}},
  };
  for (auto &[x, want] : cases) {
    std::vector<int32_t> out(4);
    kernel.launch = {};
    kernel.value(x).tensor("out", out).run();
    EXPECT_EQ(out, want) << x;
  }
}

TEST(Numbers, IntToHalfRoundsOnce) {
  Kernel kernel(R"(
    func.func @k(%i: i64, %y: !tile.ptr<f16>, %z: !tile.ptr<f32>) {
      %h = arith.sitofp %i : i64 to f16
      %b = arith.sitofp %i : i64 to bf16
      %bf = arith.extf %b : bf16 to f32
      tile.store %y, %h : !tile.ptr<f16>, f16
      tile.store %z, %bf : !tile.ptr<f32>, f32
      return
    })");
  // 2^24 + 2^16 + 1 is just above the middle of two bf16 values; through f32 it would fall on it.
  struct Case {
    int64_t in;
    double half, bfloat;
  } cases[] = {{2049, 2048, 2048},
               {2051, 2052, 2048},
               {65519, 65504, 65536},
               {65520, INFINITY, 65536},
               {-(1 << 24) - (1 << 16) - 1, -INFINITY, -16908288},
               {(int64_t(1) << 24) + (1 << 16) + 1, INFINITY, 16908288}};
  for (const Case &c : cases) {
    std::vector<uint16_t> y(1);
    std::vector<float> z(1);
    kernel.launch = {};
    kernel.value(c.in).tensor("y", y).tensor("z", z).run();
    EXPECT_EQ(f16.value(y[0]), c.half) << c.in;
    EXPECT_EQ(z[0], c.bfloat) << c.in;
  }
}

TEST(Numbers, Tf32RoundsTiesAway) {
  EXPECT_EQ(roundToTf32(1.0f), 1.0f);
  EXPECT_EQ(roundToTf32(1.0f + std::ldexp(1.0f, -11)), 1.0f + std::ldexp(1.0f, -10));
  EXPECT_EQ(roundToTf32(-1.0f - std::ldexp(1.0f, -11)), -1.0f - std::ldexp(1.0f, -10));
  EXPECT_EQ(roundToTf32(1.0f + std::ldexp(1.0f, -12)), 1.0f);
  EXPECT_TRUE(std::isinf(roundToTf32(INFINITY)));
  EXPECT_TRUE(std::isnan(roundToTf32(NAN)));
}

TEST(Numbers, FusedMultiplyAddRoundsOnce) {
  // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24; minus 1 it keeps the last term only when fused.
  float x = 1 + std::ldexp(1.0f, -12);
  EXPECT_EQ(float(fmaToOdd(x, x, -1)), std::fma(x, x, -1.0f));
  // A sum whose f64 rounding falls on a tie of f32.
  float a = 1 + std::ldexp(1.0f, -23), c = std::ldexp(1.0f, -60);
  for (float sign : {1.0f, -1.0f})
    EXPECT_EQ(float(fmaToOdd(a, 1 + std::ldexp(1.0f, -23), sign * c)),
              std::fma(a, 1 + std::ldexp(1.0f, -23), sign * c));
}

} // namespace
} // namespace nereid::ref
