// Exact integers, as Python has them, up to 4096 bits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereid {

/// An exact integer. Small values live inside; larger ones as magnitude and sign. An operation
/// whose result has more than `maxBits` bits throws `IntegerTooLarge`; division by zero throws
/// `DivisionByZero`.
class Integer {
public:
  static constexpr unsigned maxBits = 4096;
  struct TooLarge {};
  struct DivisionByZero {};

  Integer(int64_t value = 0) : small(value) {}
  static Integer fromUnsigned(uint64_t value);
  /// From lower-case hexadecimal digits without prefix (`ConstantValue::text`).
  static Integer fromHex(std::string_view digits);
  /// Truncates towards zero; empty for NaN, infinities and values over `maxBits`.
  static std::optional<Integer> fromDouble(double value);

  std::optional<int64_t> toInt64() const;
  std::optional<uint64_t> toUInt64() const;
  double toDouble() const;      ///< nearest, ties to even; infinity when out of range
  std::string toString() const; ///< decimal
  /// The low 64 bits in two's complement.
  uint64_t low64() const;

  bool isZero() const { return !large && small == 0; }
  bool isNegative() const { return large ? large->negative : small < 0; }
  unsigned bitLength() const; ///< Python's int.bit_length()
  size_t hash() const;

  friend Integer operator+(const Integer &, const Integer &);
  friend Integer operator-(const Integer &, const Integer &);
  friend Integer operator*(const Integer &, const Integer &);
  friend Integer operator&(const Integer &, const Integer &);
  friend Integer operator|(const Integer &, const Integer &);
  friend Integer operator^(const Integer &, const Integer &);
  Integer operator-() const;
  Integer operator~() const;
  /// Python's `//` and `%`: the quotient rounds down, the remainder has the divisor's sign.
  static Integer floorDiv(const Integer &, const Integer &);
  static Integer floorMod(const Integer &, const Integer &);
  static Integer pow(const Integer &base, uint64_t exponent);
  static Integer shiftLeft(const Integer &, uint64_t amount);
  static Integer shiftRight(const Integer &, uint64_t amount); ///< rounds down

  friend bool operator==(const Integer &, const Integer &);
  friend bool operator<(const Integer &, const Integer &);
  friend bool operator>(const Integer &a, const Integer &b) { return b < a; }
  friend bool operator<=(const Integer &a, const Integer &b) { return !(b < a); }
  friend bool operator>=(const Integer &a, const Integer &b) { return !(a < b); }

private:
  struct Large {
    bool negative = false;
    std::vector<uint32_t> limbs; ///< magnitude, least significant first, no leading zero limb
  };
  int64_t small = 0;                  ///< the value when `large` is null
  std::shared_ptr<const Large> large; ///< set only for values outside int64
  struct Ops;
  friend struct Ops;
};

} // namespace nereid
