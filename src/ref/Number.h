// Float formats by their bits: exact decoding, correctly rounded encoding.
//
// The interpreter computes in f32 or f64 and rounds here, so that no result depends on what the
// host's instructions do with denormals, NaN or saturation (docs/numerics.md, "Conversions").
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace nereid::ref {

/// Which bit patterns of a format are no numbers.
enum class Special : uint8_t {
  IEEE,         ///< the largest exponent holds infinities and NaN
  NaNOnly,      ///< all ones below the sign is NaN, no infinities
  NegativeZero, ///< the pattern of -0 is NaN, no infinities
  None,         ///< every pattern is a number
};

/// A binary format of sign, exponent and mantissa, at most 32 bits wide.
struct FloatFormat {
  unsigned exponentBits, mantissaBits;
  int bias;
  Special special;

  constexpr unsigned signShift() const { return exponentBits + mantissaBits; }
  constexpr uint32_t signBit() const { return 1u << signShift(); }
  constexpr uint32_t infinity() const { return ((1u << exponentBits) - 1) << mantissaBits; }
  /// The pattern of the largest finite value.
  constexpr uint32_t largest() const {
    uint32_t ones = signBit() - 1;
    switch (special) {
    case Special::IEEE:
      return infinity() - 1;
    case Special::NaNOnly:
      return ones - 1;
    default:
      return ones;
    }
  }
  /// The pattern that NaN becomes; the largest value where a format has none.
  constexpr uint32_t nan() const {
    switch (special) {
    case Special::IEEE:
      return infinity() | (1u << (mantissaBits - 1));
    case Special::NegativeZero:
      return signBit();
    default:
      return signBit() - 1;
    }
  }
};

inline constexpr FloatFormat f16Format{5, 10, 15, Special::IEEE};
inline constexpr FloatFormat bf16Format{8, 7, 127, Special::IEEE};
inline constexpr FloatFormat f32Format{8, 23, 127, Special::IEEE};
inline constexpr FloatFormat e4m3fnFormat{4, 3, 7, Special::NaNOnly};
inline constexpr FloatFormat e5m2Format{5, 2, 15, Special::IEEE};
inline constexpr FloatFormat e4m3fnuzFormat{4, 3, 8, Special::NegativeZero};
inline constexpr FloatFormat e5m2fnuzFormat{5, 2, 16, Special::NegativeZero};
inline constexpr FloatFormat e4m3b15Format{4, 3, 15, Special::None};
inline constexpr FloatFormat e2m1Format{2, 1, 1, Special::None};

/// How `encode` treats what does not fit.
struct Encoding {
  bool towardsZero = false; ///< cut instead of rounding to nearest even
  bool saturate = false;    ///< the largest finite value instead of infinity
};

/// The value of a pattern, exactly.
constexpr double decode(const FloatFormat &format, uint32_t bits) {
  bool negative = bits & format.signBit();
  uint32_t magnitude = bits & (format.signBit() - 1);
  uint32_t exponent = magnitude >> format.mantissaBits;
  uint64_t fraction = magnitude & ((1u << format.mantissaBits) - 1);
  uint64_t sign = uint64_t(negative) << 63;
  constexpr uint64_t quietNaN = 0x7ff8000000000000;
  switch (format.special) {
  case Special::IEEE:
    if (exponent == (1u << format.exponentBits) - 1)
      return std::bit_cast<double>(sign | (fraction ? quietNaN : 0x7ff0000000000000));
    break;
  case Special::NaNOnly:
    if (magnitude == format.signBit() - 1)
      return std::bit_cast<double>(sign | quietNaN);
    break;
  case Special::NegativeZero:
    if (negative && magnitude == 0)
      return std::bit_cast<double>(quietNaN);
    break;
  case Special::None:
    break;
  }
  if (magnitude == 0)
    return std::bit_cast<double>(sign);
  // A denormal of any of these formats is a normal f64.
  int power = int(exponent) - format.bias;
  if (exponent == 0) {
    unsigned shift = std::countl_zero(fraction) - (63 - format.mantissaBits);
    fraction = (fraction << shift) & ((1u << format.mantissaBits) - 1);
    power = 1 - format.bias - int(shift);
  }
  return std::bit_cast<double>(sign | uint64_t(power + 1023) << 52 |
                               fraction << (52 - format.mantissaBits));
}

/// The pattern nearest to `value`.
constexpr uint32_t encode(const FloatFormat &format, double value, Encoding how) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint32_t sign = (bits >> 63) ? format.signBit() : 0;
  uint64_t magnitude = bits & 0x7fffffffffffffff;
  if (magnitude > 0x7ff0000000000000)
    return format.special == Special::NegativeZero ? format.nan() : sign | format.nan();
  bool hasInfinity = format.special == Special::IEEE && !how.saturate;
  if (magnitude == 0x7ff0000000000000)
    return sign | (hasInfinity ? format.infinity() : format.largest());

  // value = significand * 2^(power - 52); f64 denormals are far below every format's smallest
  // value.
  int power = int(magnitude >> 52) - 1023;
  uint64_t significand = (magnitude & 0xfffffffffffff) | 0x10000000000000;
  int smallestPower = 1 - format.bias;
  int atPower = power < smallestPower ? smallestPower : power;
  int shift = int(52 - format.mantissaBits) + (atPower - power);
  uint64_t quotient = 0;
  if (shift <= 54 && magnitude >> 52) {
    quotient = significand >> shift;
    uint64_t rest = significand & ((uint64_t(1) << shift) - 1), half = uint64_t(1) << (shift - 1);
    if (!how.towardsZero && (rest > half || (rest == half && (quotient & 1))))
      ++quotient;
  }
  // The hidden bit of the quotient adds one to the exponent field, and so does a carry of rounding.
  uint64_t pattern = (uint64_t(atPower - smallestPower) << format.mantissaBits) + quotient;
  if (pattern > format.largest())
    pattern = hasInfinity && !how.towardsZero ? format.infinity() : format.largest();
  if (pattern == 0 && format.special == Special::NegativeZero)
    return 0;
  return sign | uint32_t(pattern);
}

// Storage types: a float is kept as the bits of its format, f32 and f64 as themselves.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct E4M3FN {
  uint8_t bits;
};
struct E5M2 {
  uint8_t bits;
};
struct E4M3FNUZ {
  uint8_t bits;
};
struct E5M2FNUZ {
  uint8_t bits;
};
struct E4M3B15 {
  uint8_t bits;
};

template <typename T> inline constexpr FloatFormat formatOf{};
template <> inline constexpr FloatFormat formatOf<F16> = f16Format;
template <> inline constexpr FloatFormat formatOf<BF16> = bf16Format;
template <> inline constexpr FloatFormat formatOf<float> = f32Format;
template <> inline constexpr FloatFormat formatOf<E4M3FN> = e4m3fnFormat;
template <> inline constexpr FloatFormat formatOf<E5M2> = e5m2Format;
template <> inline constexpr FloatFormat formatOf<E4M3FNUZ> = e4m3fnuzFormat;
template <> inline constexpr FloatFormat formatOf<E5M2FNUZ> = e5m2fnuzFormat;
template <> inline constexpr FloatFormat formatOf<E4M3B15> = e4m3b15Format;

template <typename T> inline constexpr bool isFloat8 = sizeof(T) == 1 && !std::is_integral_v<T>;

/// What arithmetic on a storage type computes in before it rounds: f32 holds every narrower value,
/// and rounding the f32 result of + - * / or a root once more gives the nearest narrow value.
template <typename T>
using ComputeOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T> ComputeOf<T> widen(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return value;
  else if constexpr (std::is_same_v<T, BF16>)
    return std::bit_cast<float>(uint32_t(value.bits) << 16);
  else
    return float(decode(formatOf<T>, value.bits));
}
/// Nearest even; f8 saturates.
template <typename T, typename From> T narrow(From value, Encoding how = {}) {
  if constexpr (std::is_same_v<T, From> || std::is_same_v<T, double>) {
    return T(value);
  } else if constexpr (std::is_same_v<T, float>) {
    if (how.towardsZero)
      return std::bit_cast<float>(encode(f32Format, double(value), how));
    return float(value);
  } else {
    if constexpr (isFloat8<T>)
      how.saturate = true;
    return T{decltype(T::bits)(encode(formatOf<T>, double(value), how))};
  }
}

/// a * b + c rounded once to f64 towards an odd last bit; rounding that once more to a format of at
/// most 51 bits gives the nearest value of that format.
double fmaToOdd(double a, double b, double c);
/// `value` with its mantissa rounded to tf32's 10 bits, ties away from zero, as `cvt.rna.tf32.f32`.
float roundToTf32(float value);

} // namespace nereid::ref
