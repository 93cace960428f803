#include "support/Integer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using nereid::Integer;

namespace {

Integer power2(unsigned n) { return Integer::shiftLeft(1, n); }

__int128 wide(const Integer &value) {
  // Only for values under 127 bits.
  bool negative = value.isNegative();
  Integer magnitude = negative ? -value : value;
  unsigned __int128 bits = 0;
  for (int i = 3; i >= 0; --i)
    bits = bits << 32 | uint32_t(Integer::shiftRight(magnitude, i * 32).low64());
  return negative ? -__int128(bits) : __int128(bits);
}

TEST(Integer, AgreesWithInt128) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    int64_t a = int64_t(random()) >> random() % 64, b = int64_t(random()) >> random() % 64;
    Integer x = a, y = b;
    ASSERT_TRUE(wide(x + y) == __int128(a) + b) << a << " " << b;
    ASSERT_TRUE(wide(x - y) == __int128(a) - b) << a << " " << b;
    if (x.bitLength() + y.bitLength() < 126) {
      ASSERT_TRUE(wide(x * y) == __int128(a) * b) << a << " " << b;
    }
    ASSERT_EQ((x & y).toInt64(), a & b);
    ASSERT_EQ((x | y).toInt64(), a | b);
    ASSERT_EQ((x ^ y).toInt64(), a ^ b);
    ASSERT_EQ(x < y, a < b);
  }
}

TEST(Integer, LargeIdentities) {
  std::mt19937_64 random(8);
  auto some = [&] {
    Integer value;
    for (int i = 0, n = random() % 8; i < n; ++i)
      value = Integer::shiftLeft(value, 61) + int64_t(random() >> 3);
    return random() % 2 ? -value : value;
  };
  for (int round = 0; round < 3000; ++round) {
    Integer a = some(), b = some();
    ASSERT_EQ(a + b - b, a);
    ASSERT_EQ((a ^ b) ^ b, a);
    ASSERT_EQ((a & b) + (a | b), a + b);
    ASSERT_EQ(~a, -a - 1);
    unsigned n = random() % 200;
    ASSERT_EQ(Integer::shiftRight(Integer::shiftLeft(a, n), n), a);
    ASSERT_EQ(Integer::shiftRight(a, n), Integer::floorDiv(a, power2(n)));
    if (!b.isZero()) {
      Integer q = Integer::floorDiv(a, b), r = Integer::floorMod(a, b);
      ASSERT_EQ(q * b + r, a);
      ASSERT_TRUE(r.isZero() || r.isNegative() == b.isNegative());
      ASSERT_TRUE(b.isNegative() ? r > b : r < b);
    }
  }
}

TEST(Integer, FloorsLikePython) {
  EXPECT_EQ(Integer::floorDiv(-7, 2), Integer(-4));
  EXPECT_EQ(Integer::floorMod(-7, 2), Integer(1));
  EXPECT_EQ(Integer::floorDiv(7, -2), Integer(-4));
  EXPECT_EQ(Integer::floorMod(7, -2), Integer(-1));
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Integer::floorDiv(least, -1), power2(63));
  EXPECT_EQ(Integer::shiftRight(least, 63), Integer(-1));
  EXPECT_THROW(Integer::floorDiv(1, 0), Integer::DivisionByZero);
  EXPECT_THROW(Integer::floorMod(power2(100), 0), Integer::DivisionByZero);
}

TEST(Integer, Text) {
  EXPECT_EQ(power2(100).toString(), "1267650600228229401496703205376");
  EXPECT_EQ((-power2(64)).toString(), "-18446744073709551616");
  EXPECT_EQ(Integer::pow(10, 18).toString(), "1000000000000000000");
  EXPECT_EQ(Integer::pow(10, 27).toString(), "1000000000000000000000000000");
  EXPECT_EQ(Integer::fromHex("ffffffffffffffffff").toString(), "4722366482869645213695");
  EXPECT_EQ(Integer::fromHex("00"), Integer(0));
  EXPECT_EQ(Integer::fromUnsigned(~uint64_t(0)).toString(), "18446744073709551615");
}

TEST(Integer, Widths) {
  EXPECT_EQ(power2(63).toInt64(), std::nullopt);
  EXPECT_EQ(power2(63).toUInt64(), uint64_t(1) << 63);
  EXPECT_EQ(power2(64).toUInt64(), std::nullopt);
  EXPECT_EQ(Integer(-1).toUInt64(), std::nullopt);
  EXPECT_EQ((-power2(63)).toInt64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ((-power2(64) - 1).low64(), ~uint64_t(0));
  EXPECT_EQ(Integer(0).bitLength(), 0u);
  EXPECT_EQ(Integer(-8).bitLength(), 4u);
  EXPECT_EQ(power2(4095).bitLength(), 4096u);
}

TEST(Integer, Doubles) {
  EXPECT_EQ(power2(100).toDouble(), std::ldexp(1.0, 100));
  // Ties go to even, and a bit far below breaks the tie.
  EXPECT_EQ((power2(100) + power2(47)).toDouble(), std::ldexp(1.0, 100));
  EXPECT_GT((power2(100) + power2(47) + 1).toDouble(), std::ldexp(1.0, 100));
  EXPECT_EQ(power2(1024).toDouble(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Integer::fromDouble(-3.99), Integer(-3));
  EXPECT_EQ(Integer::fromDouble(0.25), Integer(0));
  EXPECT_EQ(Integer::fromDouble(std::ldexp(1.0, 200)), power2(200));
  EXPECT_EQ(Integer::fromDouble(std::nan("")), std::nullopt);
}

TEST(Integer, RefusesMoreThan4096Bits) {
  EXPECT_THROW(power2(4096), Integer::TooLarge);
  EXPECT_THROW(Integer::pow(2, 4096), Integer::TooLarge);
  EXPECT_THROW(Integer::pow(3, uint64_t(1) << 60), Integer::TooLarge);
  EXPECT_THROW(Integer::shiftLeft(1, ~uint64_t(0)), Integer::TooLarge);
  EXPECT_THROW(Integer::fromHex(std::string(5000, 'f')), Integer::TooLarge);
  EXPECT_THROW(power2(3000) * power2(3000), Integer::TooLarge);
  EXPECT_EQ(Integer::pow(-1, ~uint64_t(0)), Integer(-1));
  EXPECT_EQ(Integer::shiftLeft(0, ~uint64_t(0)), Integer(0));
}

} // namespace
