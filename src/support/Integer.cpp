#include "support/Integer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace nereid {

/// Work on magnitudes: vectors of limbs, least significant first, without leading zero limbs.
struct Integer::Ops {
  using Limbs = std::vector<uint32_t>;

  static void trim(Limbs &limbs) {
    while (!limbs.empty() && limbs.back() == 0)
      limbs.pop_back();
  }

  static Limbs magnitude(const Integer &value) {
    if (value.large)
      return value.large->limbs;
    // Negating as unsigned is exact for INT64_MIN too.
    uint64_t bits = value.small < 0 ? 0 - uint64_t(value.small) : uint64_t(value.small);
    Limbs limbs = {uint32_t(bits), uint32_t(bits >> 32)};
    trim(limbs);
    return limbs;
  }

  static unsigned bitLength(const Limbs &limbs) {
    return limbs.empty() ? 0 : unsigned(limbs.size() * 32) - std::countl_zero(limbs.back());
  }

  /// The value with this magnitude and sign, inside if it fits int64.
  static Integer make(bool negative, Limbs limbs) {
    trim(limbs);
    if (limbs.size() <= 2) {
      uint64_t bits = 0;
      for (size_t i = limbs.size(); i-- > 0;)
        bits = bits << 32 | limbs[i];
      constexpr uint64_t bound = uint64_t(1) << 63;
      if (bits < bound || (negative && bits == bound))
        return Integer(int64_t(negative ? 0 - bits : bits));
    }
    if (bitLength(limbs) > maxBits)
      throw TooLarge{};
    Integer result;
    result.large = std::make_shared<const Large>(Large{negative, std::move(limbs)});
    return result;
  }

  static int compare(const Limbs &a, const Limbs &b) {
    if (a.size() != b.size())
      return a.size() < b.size() ? -1 : 1;
    for (size_t i = a.size(); i-- > 0;)
      if (a[i] != b[i])
        return a[i] < b[i] ? -1 : 1;
    return 0;
  }

  static Limbs add(const Limbs &a, const Limbs &b) {
    Limbs sum(std::max(a.size(), b.size()) + 1);
    uint64_t carry = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      carry += (i < a.size() ? a[i] : 0) + uint64_t(i < b.size() ? b[i] : 0);
      sum[i] = uint32_t(carry);
      carry >>= 32;
    }
    trim(sum);
    return sum;
  }

  /// a - b for a >= b.
  static Limbs subtract(const Limbs &a, const Limbs &b) {
    Limbs difference(a.size());
    int64_t borrow = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      int64_t digit = int64_t(a[i]) - (i < b.size() ? b[i] : 0) - borrow;
      borrow = digit < 0;
      difference[i] = uint32_t(digit);
    }
    trim(difference);
    return difference;
  }

  static Limbs multiply(const Limbs &a, const Limbs &b) {
    Limbs product(a.size() + b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      uint64_t carry = 0;
      for (size_t j = 0; j < b.size(); ++j) {
        carry += uint64_t(a[i]) * b[j] + product[i + j];
        product[i + j] = uint32_t(carry);
        carry >>= 32;
      }
      product[i + b.size()] = uint32_t(carry);
    }
    trim(product);
    return product;
  }

  /// Divides in place by a single limb and returns the remainder.
  static uint32_t divideSmall(Limbs &a, uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = a.size(); i-- > 0;) {
      rest = rest << 32 | a[i];
      a[i] = uint32_t(rest / divisor);
      rest %= divisor;
    }
    trim(a);
    return uint32_t(rest);
  }

  /// Quotient and remainder of magnitudes, bit by bit: at most maxBits rounds over maxBits / 32
  /// limbs, and constant expressions seldom divide such numbers.
  static std::pair<Limbs, Limbs> divide(const Limbs &a, const Limbs &b) {
    if (compare(a, b) < 0)
      return {{}, a};
    if (b.size() == 1) {
      Limbs quotient = a;
      uint32_t rest = divideSmall(quotient, b[0]);
      Limbs remainder = {rest};
      trim(remainder);
      return {std::move(quotient), std::move(remainder)};
    }
    Limbs quotient(a.size()), remainder;
    for (size_t bit = bitLength(a); bit-- > 0;) {
      remainder = shiftLeft(remainder, 1);
      if (a[bit / 32] >> (bit % 32) & 1) {
        if (remainder.empty())
          remainder.push_back(0);
        remainder[0] |= 1;
      }
      if (compare(remainder, b) >= 0) {
        remainder = subtract(remainder, b);
        quotient[bit / 32] |= 1u << (bit % 32);
      }
    }
    trim(quotient);
    return {std::move(quotient), std::move(remainder)};
  }

  static Limbs shiftLeft(const Limbs &a, size_t amount) {
    if (a.empty())
      return {};
    size_t whole = amount / 32;
    unsigned part = amount % 32;
    Limbs shifted(a.size() + whole + 1);
    for (size_t i = 0; i < a.size(); ++i) {
      uint64_t wide = uint64_t(a[i]) << part;
      shifted[i + whole] |= uint32_t(wide);
      shifted[i + whole + 1] |= uint32_t(wide >> 32);
    }
    trim(shifted);
    return shifted;
  }

  static Limbs shiftRight(const Limbs &a, size_t amount) {
    size_t whole = amount / 32;
    unsigned part = amount % 32;
    if (whole >= a.size())
      return {};
    Limbs shifted(a.size() - whole);
    for (size_t i = 0; i < shifted.size(); ++i) {
      uint64_t wide = a[i + whole];
      if (i + whole + 1 < a.size())
        wide |= uint64_t(a[i + whole + 1]) << 32;
      shifted[i] = uint32_t(wide >> part);
    }
    trim(shifted);
    return shifted;
  }

  static Integer addSigned(const Integer &a, bool flip, const Integer &b) {
    Limbs x = magnitude(a), y = magnitude(b);
    bool negativeA = a.isNegative(), negativeB = b.isNegative() != flip;
    if (negativeA == negativeB)
      return make(negativeA, add(x, y));
    if (compare(x, y) >= 0)
      return make(negativeA, subtract(x, y));
    return make(negativeB, subtract(y, x));
  }

  /// `count` limbs of the two's complement.
  static Limbs complement(const Integer &value, size_t count) {
    Limbs limbs = magnitude(value);
    limbs.resize(count);
    if (value.isNegative())
      negate(limbs);
    return limbs;
  }

  static void negate(Limbs &limbs) {
    uint64_t carry = 1;
    for (uint32_t &limb : limbs) {
      carry += uint32_t(~limb);
      limb = uint32_t(carry);
      carry >>= 32;
    }
  }

  template <typename F> static Integer bitwise(const Integer &a, const Integer &b, F combine) {
    size_t count = std::max(magnitude(a).size(), magnitude(b).size()) + 1;
    Limbs x = complement(a, count), y = complement(b, count);
    for (size_t i = 0; i < count; ++i)
      x[i] = combine(x[i], y[i]);
    bool negative = x.back() >> 31;
    if (negative)
      negate(x);
    return make(negative, std::move(x));
  }

  /// Quotient towards minus infinity and its remainder.
  static std::pair<Integer, Integer> floorDivMod(const Integer &a, const Integer &b) {
    if (b.isZero())
      throw DivisionByZero{};
    auto [quotient, remainder] = divide(magnitude(a), magnitude(b));
    if (a.isNegative() == b.isNegative())
      return {make(false, std::move(quotient)), make(b.isNegative(), std::move(remainder))};
    if (remainder.empty())
      return {make(true, std::move(quotient)), Integer()};
    return {make(true, add(quotient, {1})),
            make(b.isNegative(), subtract(magnitude(b), remainder))};
  }
};

Integer Integer::fromUnsigned(uint64_t value) {
  return Ops::make(false, {uint32_t(value), uint32_t(value >> 32)});
}

Integer Integer::fromHex(std::string_view digits) {
  while (!digits.empty() && digits.front() == '0')
    digits.remove_prefix(1);
  // Longer text is over the limit, whatever its digits.
  if (digits.size() > maxBits / 4)
    throw TooLarge{};
  Ops::Limbs limbs((digits.size() + 7) / 8);
  for (size_t i = 0; i < digits.size(); ++i) {
    char c = digits[digits.size() - 1 - i];
    uint32_t digit = c >= '0' && c <= '9' ? uint32_t(c - '0') : uint32_t(c - 'a' + 10);
    limbs[i / 8] |= digit << (i % 8 * 4);
  }
  return Ops::make(false, std::move(limbs));
}

std::optional<Integer> Integer::fromDouble(double value) {
  if (!std::isfinite(value))
    return std::nullopt;
  value = std::trunc(value);
  int exponent = 0;
  // value = fraction * 2^exponent with 0.5 <= |fraction| < 1; the fraction has 53 bits.
  double fraction = std::frexp(value, &exponent);
  if (exponent > int(maxBits))
    return std::nullopt;
  uint64_t mantissa = uint64_t(std::ldexp(std::fabs(fraction), 53));
  Ops::Limbs limbs = {uint32_t(mantissa), uint32_t(mantissa >> 32)};
  Ops::trim(limbs);
  limbs = exponent >= 53 ? Ops::shiftLeft(limbs, size_t(exponent - 53))
                         : Ops::shiftRight(limbs, size_t(53 - exponent));
  return Ops::make(value < 0, std::move(limbs));
}

std::optional<int64_t> Integer::toInt64() const {
  if (large)
    return std::nullopt;
  return small;
}

std::optional<uint64_t> Integer::toUInt64() const {
  if (isNegative())
    return std::nullopt;
  if (!large)
    return uint64_t(small);
  if (large->limbs.size() > 2)
    return std::nullopt;
  return low64();
}

double Integer::toDouble() const {
  if (!large)
    return double(small);
  const Ops::Limbs &limbs = large->limbs;
  unsigned length = Ops::bitLength(limbs);
  // The top 64 bits; what is below them only breaks ties, so it becomes one sticky bit.
  unsigned dropped = length - 64;
  Ops::Limbs top = Ops::shiftRight(limbs, dropped);
  uint64_t bits = uint64_t(top[1]) << 32 | top[0];
  if (Ops::compare(Ops::shiftLeft(top, dropped), limbs) != 0)
    bits |= 1;
  double value = std::ldexp(double(bits), int(dropped));
  return large->negative ? -value : value;
}

std::string Integer::toString() const {
  if (!large)
    return std::to_string(small);
  Ops::Limbs limbs = large->limbs;
  std::string reversed;
  while (!limbs.empty()) {
    uint32_t group = Ops::divideSmall(limbs, 1'000'000'000);
    for (int i = 0; i < 9 && (group != 0 || !limbs.empty()); ++i, group /= 10)
      reversed.push_back(char('0' + group % 10));
  }
  if (large->negative)
    reversed.push_back('-');
  return {reversed.rbegin(), reversed.rend()};
}

uint64_t Integer::low64() const {
  if (!large)
    return uint64_t(small);
  uint64_t bits = uint64_t(large->limbs[1]) << 32 | large->limbs[0];
  return large->negative ? 0 - bits : bits;
}

unsigned Integer::bitLength() const {
  if (large)
    return Ops::bitLength(large->limbs);
  uint64_t bits = small < 0 ? 0 - uint64_t(small) : uint64_t(small);
  return unsigned(std::bit_width(bits));
}

size_t Integer::hash() const {
  size_t seed = size_t(small);
  if (large) {
    seed = large->negative;
    for (uint32_t limb : large->limbs)
      seed = (seed ^ limb) * 0x100000001b3u;
  }
  return seed * 0x9e3779b97f4a7c15u;
}

Integer operator+(const Integer &a, const Integer &b) {
  int64_t sum;
  if (!a.large && !b.large && !__builtin_add_overflow(a.small, b.small, &sum))
    return Integer(sum);
  return Integer::Ops::addSigned(a, false, b);
}

Integer operator-(const Integer &a, const Integer &b) {
  int64_t difference;
  if (!a.large && !b.large && !__builtin_sub_overflow(a.small, b.small, &difference))
    return Integer(difference);
  return Integer::Ops::addSigned(a, true, b);
}

Integer operator*(const Integer &a, const Integer &b) {
  using Ops = Integer::Ops;
  int64_t product;
  if (!a.large && !b.large && !__builtin_mul_overflow(a.small, b.small, &product))
    return Integer(product);
  return Ops::make(a.isNegative() != b.isNegative(),
                   Ops::multiply(Ops::magnitude(a), Ops::magnitude(b)));
}

Integer operator&(const Integer &a, const Integer &b) {
  if (!a.large && !b.large)
    return Integer(a.small & b.small);
  return Integer::Ops::bitwise(a, b, [](uint32_t x, uint32_t y) { return x & y; });
}

Integer operator|(const Integer &a, const Integer &b) {
  if (!a.large && !b.large)
    return Integer(a.small | b.small);
  return Integer::Ops::bitwise(a, b, [](uint32_t x, uint32_t y) { return x | y; });
}

Integer operator^(const Integer &a, const Integer &b) {
  if (!a.large && !b.large)
    return Integer(a.small ^ b.small);
  return Integer::Ops::bitwise(a, b, [](uint32_t x, uint32_t y) { return x ^ y; });
}

Integer Integer::operator-() const { return Integer(0) - *this; }
Integer Integer::operator~() const { return Integer(-1) - *this; }

Integer Integer::floorDiv(const Integer &a, const Integer &b) {
  if (!a.large && !b.large && b.small > 0) {
    int64_t quotient = a.small / b.small;
    return Integer(quotient - (a.small % b.small < 0));
  }
  return Ops::floorDivMod(a, b).first;
}

Integer Integer::floorMod(const Integer &a, const Integer &b) {
  if (!a.large && !b.large && b.small > 0) {
    int64_t remainder = a.small % b.small;
    return Integer(remainder < 0 ? remainder + b.small : remainder);
  }
  return Ops::floorDivMod(a, b).second;
}

Integer Integer::pow(const Integer &base, uint64_t exponent) {
  if (exponent == 0)
    return Integer(1);
  unsigned length = base.bitLength();
  if (length <= 1) // -1, 0, 1
    return base.isNegative() && exponent % 2 == 0 ? Integer(1) : base;
  // |base| >= 2^(length - 1), so the result has more than this many bits.
  if (exponent > maxBits / (length - 1))
    throw TooLarge{};
  Integer result(1), square = base;
  while (true) {
    if (exponent & 1)
      result = result * square;
    exponent >>= 1;
    if (exponent == 0)
      return result;
    square = square * square;
  }
}

Integer Integer::shiftLeft(const Integer &value, uint64_t amount) {
  if (value.isZero())
    return value;
  if (amount > maxBits)
    throw TooLarge{};
  return Ops::make(value.isNegative(), Ops::shiftLeft(Ops::magnitude(value), size_t(amount)));
}

Integer Integer::shiftRight(const Integer &value, uint64_t amount) {
  if (!value.large)
    return Integer(amount > 63 ? (value.small < 0 ? -1 : 0) : value.small >> amount);
  if (amount > maxBits)
    return Integer(value.isNegative() ? -1 : 0);
  Ops::Limbs magnitude = value.large->limbs;
  Ops::Limbs shifted = Ops::shiftRight(magnitude, size_t(amount));
  if (value.isNegative() && Ops::compare(Ops::shiftLeft(shifted, size_t(amount)), magnitude) != 0)
    shifted = Ops::add(shifted, {1});
  return Ops::make(value.isNegative(), std::move(shifted));
}

bool operator==(const Integer &a, const Integer &b) {
  if (!a.large || !b.large)
    return !a.large && !b.large && a.small == b.small;
  return a.large->negative == b.large->negative && a.large->limbs == b.large->limbs;
}

bool operator<(const Integer &a, const Integer &b) {
  if (!a.large && !b.large)
    return a.small < b.small;
  if (a.isNegative() != b.isNegative())
    return a.isNegative();
  int order = Integer::Ops::compare(Integer::Ops::magnitude(a), Integer::Ops::magnitude(b));
  return a.isNegative() ? order > 0 : order < 0;
}

} // namespace nereid
