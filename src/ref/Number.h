// How floats lie in slots, and the rounding between them.
//
// The interpreter computes in f32 or f64 and rounds with `support/FloatFormat.h`, so that no result
// depends on what the host's instructions do with denormals, NaN or saturation (docs/numerics.md,
// "Conversions").
#pragma once

#include "support/FloatFormat.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace nereid::ref {

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

template <typename T>
inline constexpr support::FloatFormat formatOf = support::formatOf(DType::Float32);
#define NEREID_FORMAT(TYPE, DTYPE)                                                                 \
  template <>                                                                                      \
  inline constexpr support::FloatFormat formatOf<TYPE> = support::formatOf(DType::DTYPE);
NEREID_FORMAT(F16, Float16)
NEREID_FORMAT(BF16, BFloat16)
NEREID_FORMAT(E4M3FN, Float8E4NV)
NEREID_FORMAT(E5M2, Float8E5)
NEREID_FORMAT(E4M3FNUZ, Float8E4B8)
NEREID_FORMAT(E5M2FNUZ, Float8E5B16)
NEREID_FORMAT(E4M3B15, Float8E4B15)
#undef NEREID_FORMAT
/// fp4 of microscaled operands.
inline constexpr support::FloatFormat e2m1Format{2, 1, 1, support::FloatFormat::Specials::None,
                                                 true};

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
    return float(support::decodeFloat(formatOf<T>, value.bits));
}
/// Rounded once; f8 saturates.
template <typename T, typename From>
T narrow(From value, support::Round round = support::Round::NearestEven) {
  if constexpr (std::is_same_v<T, From> || std::is_same_v<T, double>) {
    return T(value);
  } else if constexpr (std::is_same_v<T, float>) {
    if (round == support::Round::TowardsZero)
      return std::bit_cast<float>(support::encodeFloat(formatOf<float>, double(value), round));
    return float(value);
  } else {
    return T{decltype(T::bits)(support::encodeFloat(formatOf<T>, double(value), round))};
  }
}

/// a * b + c rounded once to f64 towards an odd last bit; rounding that once more to a format of at
/// most 51 bits gives the nearest value of that format.
double fmaToOdd(double a, double b, double c);
/// `value` with its mantissa rounded to tf32's 10 bits, ties away from zero, as `cvt.rna.tf32.f32`.
float roundToTf32(float value);

} // namespace nereid::ref
