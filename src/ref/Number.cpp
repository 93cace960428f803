#include "ref/Number.h"

namespace nereid::ref {

double fmaToOdd(double a, double b, double c) {
  // The operands are f32 or narrower, so the product is exact; the sum's error is found by two-sum.
  double product = a * b, sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  double left = sum - c, error = (product - left) + (c - (sum - left));
  if (error == 0)
    return sum;
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (bits & 1)
    return sum;
  // The exact sum lies strictly between `sum` and a neighbour; the odd one of the two is that
  // neighbour.
  bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

float roundToTf32(float value) {
  if (!std::isfinite(value))
    return value;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  // Half of the dropped 13 bits; a carry moves into the exponent, and over the top to infinity.
  return std::bit_cast<float>((bits + 0x1000) & 0xffffe000);
}

} // namespace nereid::ref
