#include "support/FloatFormat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace nereid;
using namespace nereid::support;

namespace {

const DType narrow[] = {DType::Float16,    DType::BFloat16,    DType::Float8E4NV, DType::Float8E5,
                        DType::Float8E4B8, DType::Float8E5B16, DType::Float8E4B15};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Every finite value, smallest first, by decoding all bit patterns.
std::vector<double> magnitudes(const FloatFormat &format) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits < 1u << (format.bits() - 1); ++bits)
    if (double value = decodeFloat(format, bits); std::isfinite(value))
      values.push_back(value);
  return values;
}

TEST(FloatFormat, EveryValueSurvivesARoundTrip) {
  for (DType type : narrow) {
    FloatFormat format = formatOf(type);
    for (uint32_t bits = 0; bits < 1u << format.bits(); ++bits) {
      double value = decodeFloat(format, bits);
      if (std::isinf(value) && format.saturates)
        continue;
      EXPECT_TRUE(same(decodeFloat(format, encodeFloat(format, value)), value))
          << info(type).name << " " << bits;
      if (!std::isnan(value))
        EXPECT_EQ(encodeFloat(format, value), bits) << info(type).name;
    }
  }
}

TEST(FloatFormat, RoundsToTheNearestNeighbour) {
  // Between neighbours a < b: below the middle a, above it b, in the middle the even one.
  for (DType type : narrow) {
    FloatFormat format = formatOf(type);
    std::vector<double> values = magnitudes(format);
    for (uint32_t i = 0; i + 1 < values.size(); ++i) {
      double middle = (values[i] + values[i + 1]) / 2;
      ASSERT_LT(values[i], values[i + 1]);
      EXPECT_EQ(encodeFloat(format, middle), i % 2 ? i + 1 : i) << info(type).name;
      EXPECT_EQ(encodeFloat(format, std::nextafter(middle, INFINITY)), i + 1) << info(type).name;
      EXPECT_EQ(encodeFloat(format, std::nextafter(middle, 0)), i) << info(type).name;
      EXPECT_EQ(encodeFloat(format, middle, Round::TowardsZero), i) << info(type).name;
      EXPECT_EQ(encodeFloat(format, std::nextafter(values[i + 1], 0), Round::TowardsZero), i)
          << info(type).name;
    }
  }
}

TEST(FloatFormat, F32AgreesWithTheProcessor) {
  FloatFormat f32 = formatOf(DType::Float32);
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    double value;
    uint64_t bits = state ^ state >> 29;
    if (i % 2) // half of them in the range of f32, its denormals included
      bits = (bits & 0x800fffffffffffffull) | uint64_t(1023 - 150 + (state >> 55) % 280) << 52;
    std::memcpy(&value, &bits, 8);
    float expected = static_cast<float>(value);
    if (std::isnan(value))
      continue;
    EXPECT_EQ(encodeFloat(f32, value), std::bit_cast<uint32_t>(expected)) << value;
    EXPECT_TRUE(same(decodeFloat(f32, std::bit_cast<uint32_t>(expected)), expected));
  }
}

TEST(FloatFormat, SaturatesOnlyWhereStated) {
  auto back = [](DType type, double value) {
    return decodeFloat(formatOf(type), encodeFloat(formatOf(type), value));
  };
  EXPECT_EQ(back(DType::Float16, 65519), 65504);
  EXPECT_EQ(back(DType::Float16, 65520), INFINITY);
  EXPECT_EQ(back(DType::BFloat16, 3.4e38), INFINITY);
  EXPECT_EQ(back(DType::Float8E4NV, 1e9), 448);
  EXPECT_EQ(back(DType::Float8E4NV, -INFINITY), -448);
  EXPECT_EQ(back(DType::Float8E5, INFINITY), 57344);
  EXPECT_EQ(back(DType::Float8E4B8, 1e9), 240);
  EXPECT_EQ(back(DType::Float8E5B16, 1e9), 57344);
  EXPECT_EQ(back(DType::Float8E4B15, 1e9), 1.875);
  EXPECT_TRUE(std::isnan(back(DType::Float8E4NV, NAN)));
  EXPECT_TRUE(std::isnan(back(DType::Float8E5B16, NAN)));
  EXPECT_FALSE(std::signbit(back(DType::Float8E4B8, -0.0))); // -0 has the bits of NaN there
  EXPECT_TRUE(std::signbit(back(DType::Float16, -0.0)));
  EXPECT_EQ(back(DType::Float16, 1e-300), 0);
}

} // namespace
