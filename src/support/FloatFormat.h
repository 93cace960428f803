// Exact conversion between f64 and the narrow float formats, one rounding, no hardware modes.
//
// Narrowing rounds to nearest even or towards zero. The 16- and 32-bit formats overflow to infinity
// as IEEE says; the 8-bit formats saturate to their largest finite value, infinities included, and
// keep NaN where they have one (docs/numerics.md). e4b15 has neither infinity nor NaN: NaN becomes
// its largest value.
#pragma once

#include "nereid/base.h"

#include <bit>
#include <cstdint>

namespace nereid::support {

/// The shape of a binary float format: sign, exponent, mantissa.
struct FloatFormat {
  enum class Specials : uint8_t {
    Ieee,         ///< top exponent: infinity and NaNs
    NanAllOnes,   ///< only exponent and mantissa all ones are NaN, no infinity (e4m3fn)
    NanMinusZero, ///< only the bits of -0 are NaN, no infinity, no -0 (fnuz)
    None          ///< every bit pattern is a finite number
  };
  uint8_t exponentBits, mantissaBits;
  int16_t bias;
  Specials specials;
  bool saturates; ///< overflow gives the largest finite value

  constexpr unsigned bits() const { return 1u + exponentBits + mantissaBits; }
};

/// The format of a float data type that is narrower than f64; integers have none.
constexpr FloatFormat formatOf(DType type) {
  using S = FloatFormat::Specials;
  switch (type) {
  case DType::Float16:
    return {5, 10, 15, S::Ieee, false};
  case DType::BFloat16:
    return {8, 7, 127, S::Ieee, false};
  case DType::Float8E4NV:
    return {4, 3, 7, S::NanAllOnes, true};
  case DType::Float8E5:
    return {5, 2, 15, S::Ieee, true};
  case DType::Float8E4B8:
    return {4, 3, 8, S::NanMinusZero, true};
  case DType::Float8E5B16:
    return {5, 2, 16, S::NanMinusZero, true};
  case DType::Float8E4B15:
    return {4, 3, 15, S::None, true};
  default:
    return {8, 23, 127, S::Ieee, false};
  }
}

enum class Round : uint8_t { NearestEven, TowardsZero };

/// The value of the low `format.bits()` bits of `bits`.
constexpr double decodeFloat(const FloatFormat &format, uint32_t bits) {
  using S = FloatFormat::Specials;
  const uint32_t exponentMask = (1u << format.exponentBits) - 1,
                 mantissaMask = (1u << format.mantissaBits) - 1;
  const bool negative = bits >> (format.bits() - 1) & 1;
  const uint32_t exponent = bits >> format.mantissaBits & exponentMask,
                 mantissa = bits & mantissaMask;
  const uint64_t sign = uint64_t(negative) << 63;
  const double nan = std::bit_cast<double>(sign | 0x7ff8000000000000ull);
  if (exponent == exponentMask && format.specials == S::Ieee)
    return mantissa ? nan : std::bit_cast<double>(sign | 0x7ff0000000000000ull);
  if (exponent == exponentMask && mantissa == mantissaMask && format.specials == S::NanAllOnes)
    return nan;
  if (negative && !exponent && !mantissa && format.specials == S::NanMinusZero)
    return std::bit_cast<double>(0x7ff8000000000000ull);
  if (exponent) // a normal number of the format is a normal f64
    return std::bit_cast<double>(sign | uint64_t(int64_t(exponent) - format.bias + 1023) << 52 |
                                 uint64_t(mantissa) << (52 - format.mantissaBits));
  // mantissa * 2^(1 - bias - mantissaBits); the power is a normal f64 for every format here.
  double scale =
      std::bit_cast<double>(uint64_t(1 - format.bias - format.mantissaBits + 1023) << 52);
  double value = double(mantissa) * scale;
  return negative ? -value : value;
}

/// The bits of `value` in `format`.
constexpr uint32_t encodeFloat(const FloatFormat &format, double value,
                               Round round = Round::NearestEven) {
  using S = FloatFormat::Specials;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign = uint32_t(bits >> 63) << (format.bits() - 1);
  const uint32_t exponentMask = (1u << format.exponentBits) - 1,
                 mantissaMask = (1u << format.mantissaBits) - 1;
  const uint32_t infinity = exponentMask << format.mantissaBits;
  // The largest finite magnitude.
  const uint32_t largest = format.specials == S::Ieee         ? infinity - 1
                           : format.specials == S::NanAllOnes ? (infinity | mantissaMask) - 1
                                                              : (infinity | mantissaMask);
  const bool isNan = (bits & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
  if (isNan)
    switch (format.specials) {
    case S::Ieee:
      return sign | infinity | 1u << (format.mantissaBits - 1);
    case S::NanAllOnes:
      return sign | infinity | mantissaMask;
    case S::NanMinusZero:
      return 1u << (format.bits() - 1);
    case S::None:
      return sign | largest;
    }
  const uint32_t overflow = sign | (format.saturates ? largest : infinity);
  const int sourceExponent = int(bits >> 52 & 0x7ff);
  if (sourceExponent == 0x7ff)
    return overflow;
  // value = significand * 2^(sourceExponent - 1075); f64 denormals are far below every format's
  // range.
  const uint64_t significand = (bits & 0xfffffffffffffull) | (sourceExponent ? 1ull << 52 : 0);
  const int exponent = (sourceExponent ? sourceExponent : 1) - 1023;
  // Bits to drop: those of f64's precision that the format lacks, more below its normal range.
  int biased = exponent + format.bias;
  int drop = 52 - format.mantissaBits + (biased < 1 ? 1 - biased : 0);
  uint64_t kept = 0;
  if (drop < 64) {
    kept = significand >> drop;
    const uint64_t rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (round == Round::NearestEven && (rest > half || (rest == half && (kept & 1))))
      ++kept;
  }
  // Carry out of the mantissa moves into the exponent by itself.
  uint64_t magnitude = biased < 1 ? kept : kept + (uint64_t(biased - 1) << format.mantissaBits);
  if (magnitude > largest) {
    if (round == Round::TowardsZero)
      return sign | largest;
    return overflow;
  }
  if (magnitude == 0 && format.specials == S::NanMinusZero)
    return 0;
  return sign | uint32_t(magnitude);
}

} // namespace nereid::support
