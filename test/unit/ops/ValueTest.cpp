#include "Fixture.h"

#include <cmath>

namespace nereid::ops::test {
namespace {

TEST(Type, PrintsAsTriton) {
  Type f16 = Type::scalar(DType::Float16);
  EXPECT_EQ(Type::block({128, 64}, f16).str(), "<['128', '64'], fp16>");
  EXPECT_EQ(Type::scalar(DType::Int32).str(), "int32");
  EXPECT_EQ(Type::scalar(DType::BFloat16).str(), "bf16");
  EXPECT_EQ(Type::pointer(f16).str(), "pointer<fp16>");
  EXPECT_EQ(Type().str(), "void");
  EXPECT_EQ(Type::pointer(Type::scalar(DType::UInt8)).signature(), "*u8");
  EXPECT_EQ(Type::descriptor({64, 32}, f16, 2, false).signature(), "tensordesc<fp16[64,32]>");
}

TEST(Type, ComparesByStructure) {
  Type f32 = Type::scalar(DType::Float32);
  EXPECT_EQ(Type::block({4}, f32), Type::block({4}, f32));
  EXPECT_FALSE(Type::block({4}, f32) == Type::block({8}, f32));
  EXPECT_EQ(Type::block({}, f32), f32);
  EXPECT_FALSE(Type::pointer(f32) == Type::pointer(f32, true));
  EXPECT_EQ(Type::block({4, 2}, Type::pointer(f32)).pointee(), f32);
  EXPECT_EQ(Type::block({4, 2}, f32).numel(), 8);
}

TEST(Value, ReprIsPythons) {
  EXPECT_EQ(Value(0.1).repr(), "0.1");
  EXPECT_EQ(Value(1e16).repr(), "1e+16");
  EXPECT_EQ(Value(1e15).repr(), "1000000000000000.0");
  EXPECT_EQ(Value(1.5e-7).repr(), "1.5e-07");
  EXPECT_EQ(Value(0.0001).repr(), "0.0001");
  EXPECT_EQ(Value(-2.0).repr(), "-2.0");
  EXPECT_EQ(Value(123.456).repr(), "123.456");
  EXPECT_EQ(Value(-INFINITY).repr(), "-inf");
  EXPECT_EQ(Value::str("it's\n").repr(), "\"it's\\n\"");
  EXPECT_EQ(Value::tuple({Value(1)}).repr(), "(1,)");
  EXPECT_EQ(Value::tuple({Value(true), Value(None{})}).repr(), "(True, None)");
  EXPECT_EQ(Value(Integer::shiftLeft(1, 64)).repr(), "18446744073709551616");
}

TEST(Value, EqualIsPythons) {
  EXPECT_TRUE(equal(Value(true), Value(1)));
  EXPECT_TRUE(equal(Value(1), Value(1.0)));
  EXPECT_FALSE(equal(Value(1), Value(1.5)));
  EXPECT_FALSE(equal(Value(Integer::shiftLeft(1, 60) + 1), Value(std::ldexp(1.0, 60))));
  EXPECT_FALSE(equal(Value(std::nan("")), Value(std::nan(""))));
  EXPECT_TRUE(equal(Value::str("a"), Value::str("a")));
  EXPECT_TRUE(
      equal(Value::tuple({Value(1), Value::str("x")}), Value::tuple({Value(1), Value::str("x")})));
  EXPECT_FALSE(equal(Value(None{}), Value(0)));
  EXPECT_TRUE(equal(Value::type(float32()), Value::type(float32())));
  EXPECT_TRUE(equal(find("PropagateNan.ALL")->constant(), find("PropagateNan.ALL")->constant()));
  EXPECT_FALSE(equal(find("PropagateNan.ALL")->constant(), find("PropagateNan.NONE")->constant()));
}

} // namespace
} // namespace nereid::ops::test
