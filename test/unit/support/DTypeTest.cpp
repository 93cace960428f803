#include "nereid/base.h"

#include <gtest/gtest.h>

#include <set>

using namespace nereid;

namespace {

constexpr DType Last = DType::Float8E4B15;

TEST(DType, NamesAreDistinctAndParseBack) {
  std::set<std::string_view> seen;
  for (int i = 0; i <= int(Last); ++i) {
    DType type = DType(i);
    const DTypeInfo &row = info(type);
    EXPECT_EQ(parseDType(row.name), type) << row.name;
    EXPECT_EQ(parseDType(row.signature), type) << row.signature;
    EXPECT_TRUE(seen.insert(row.name).second);
    EXPECT_TRUE(seen.insert(row.signature).second);
  }
}

TEST(DType, WidthsAndKinds) {
  EXPECT_EQ(info(DType::Int1).bits, 1);
  EXPECT_EQ(info(DType::Int1).bytes, 1);
  EXPECT_FALSE(info(DType::Int1).isSigned);
  EXPECT_EQ(info(DType::UInt64).bytes, 8);
  EXPECT_FALSE(info(DType::UInt64).isSigned);
  EXPECT_TRUE(info(DType::Int16).isSigned);
  EXPECT_TRUE(info(DType::BFloat16).isFloat);
  EXPECT_EQ(info(DType::BFloat16).signature, "bf16");
  EXPECT_EQ(info(DType::Float8E4NV).bits, 8);
  for (int i = 0; i <= int(Last); ++i) {
    const DTypeInfo &row = info(DType(i));
    EXPECT_EQ(row.bytes, (row.bits + 7) / 8) << row.name;
    EXPECT_EQ(row.isFloat, row.name.find("float") != std::string_view::npos) << row.name;
  }
}

TEST(DType, OtherSpellings) {
  EXPECT_EQ(parseDType("bool"), DType::Int1);
  EXPECT_EQ(parseDType("float8_e4m3fn"), DType::Float8E4NV);
  EXPECT_EQ(parseDType("float8_e5m2"), DType::Float8E5);
  EXPECT_EQ(parseDType("f32"), DType::Float32);
  EXPECT_EQ(parseDType("half"), DType::Float16);
  EXPECT_EQ(parseDType(""), std::nullopt);
  EXPECT_EQ(parseDType("float33"), std::nullopt);
  EXPECT_EQ(parseDType("Int32"), std::nullopt);
}

} // namespace
