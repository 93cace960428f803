#include "Fixture.h"

#include <cmath>

namespace nereid::ops::test {
namespace {

struct ConvertTest : OpsTest {
  std::string casted(DType from, DType to) {
    return typeOf(call("cast", {argument(from, {4}), Value::type(Type::scalar(to))}));
  }
};

TEST_F(ConvertTest, EveryPairOfTypesConverts) {
  for (int from = 0; from <= int(DType::Float8E4B15); ++from)
    for (int to = 0; to <= int(DType::Float8E4B15); ++to)
      EXPECT_EQ(casted(DType(from), DType(to)), Type::block({4}, Type::scalar(DType(to))).str());
  body();
}

TEST_F(ConvertTest, SignDecidesHowIntegersWiden) {
  casted(DType::UInt8, DType::Int32);
  expectIr("arith.extui");
  casted(DType::Int8, DType::UInt32);
  expectIr("arith.extsi");
  casted(DType::Int1, DType::Int32);
  casted(DType::UInt32, DType::Float32);
  expectIr("arith.uitofp");
}

TEST_F(ConvertTest, SameBitsNeedNoOp) {
  casted(DType::UInt32, DType::Int32);
  EXPECT_EQ(body().find("arith"), std::string::npos);
  EXPECT_EQ(body().find("tile."), std::string::npos);
}

TEST_F(ConvertTest, BooleansAreComparisons) {
  casted(DType::Float32, DType::Int1);
  expectIr("arith.cmpf une");
  casted(DType::Int32, DType::Int1);
  expectIr("arith.cmpi ne");
}

TEST_F(ConvertTest, FloatsToIntegersSaturate) {
  casted(DType::Float32, DType::UInt8);
  expectIr("tile.fp_to_int %arg0 unsigned");
  casted(DType::Float16, DType::Int64);
  expectIr("arith.extf");
}

TEST_F(ConvertTest, RoundingTowardsZero) {
  Value x = argument(DType::Float32);
  call("cast", {x, Value::type(float16())}, {{"fp_downcast_rounding", Value::str("rtz")}});
  expectIr("tile.fp_convert %arg0 rounding <rtz>");
  EXPECT_EQ(errorOf([&] {
              call("cast", {x, Value::type(int32())},
                   {{"fp_downcast_rounding", Value::str("rtne")}});
            }),
            "WrongArgument");
  EXPECT_EQ(errorOf([&] {
              call("cast", {x, Value::type(float16())},
                   {{"fp_downcast_rounding", Value::str("up")}});
            }),
            "WrongArgument");
}

TEST_F(ConvertTest, Bitcasts) {
  Keywords bits = {{"bitcast", Value(true)}};
  EXPECT_EQ(typeOf(method(argument(DType::Float32), "to", {Value::type(int32())}, bits)), "int32");
  expectIr("tile.bitcast %arg0 : f32 -> i32");
  EXPECT_EQ(
      errorOf([&] { method(argument(DType::Float32), "to", {Value::type(float16())}, bits); }),
      "CannotCast");
}

TEST_F(ConvertTest, Pointers) {
  Value p = pointers(DType::Float32);
  Type i8pointer = Type::pointer(Type::scalar(DType::Int8));
  EXPECT_EQ(typeOf(call("cast", {p, Value::type(int64())})), "int64");
  EXPECT_EQ(typeOf(call("cast", {p, Value::type(int1())})), "int1");
  EXPECT_EQ(typeOf(call("cast", {p, Value::type(i8pointer)})), "pointer<int8>");
  EXPECT_EQ(typeOf(call("cast", {argument(DType::Int32), Value::type(i8pointer)})),
            "pointer<int8>");
  EXPECT_EQ(errorOf([&] { call("cast", {p, Value::type(int32())}); }), "CannotCast");
  body();
}

TEST_F(ConvertTest, ConstantsAreExact) {
  constant(*op, 0.1, float16());
  expectIr("9.997550e-02 : f16");
  constant(*op, -INFINITY, Type::block({2}, float32()));
  expectIr("dense<0xFF800000> : tensor<2xf32>");
  constant(*op, Value(Integer::shiftLeft(1, 63)), Type::scalar(DType::UInt64));
  expectIr("arith.constant -9223372036854775808 : i64");
  EXPECT_EQ(errorOf([&] { constant(*op, 1.5, int32()); }), "WrongArgument");
  EXPECT_EQ(errorOf([&] { constant(*op, -1, uint32()); }), "LiteralOutOfRange");
}

TEST_F(ConvertTest, ANumberCastsAsItsTileWould) {
  // -1 wraps; 0.1 reaches f64 as an f32.
  castNumber(*op, -1, uint32());
  expectIr("arith.constant -1 : i32");
  castNumber(*op, 0.1, Type::scalar(DType::Float64));
  expectIr("arith.extf");
}

TEST_F(ConvertTest, ConditionsAreOneValue) {
  EXPECT_TRUE(toCondition(*op, argument(DType::Int32)));
  EXPECT_TRUE(toCondition(*op, argument(DType::Int1, {1, 1})));
  EXPECT_EQ(errorOf([&] { toCondition(*op, argument(DType::Int1, {4})); }), "ConditionIsTile");
  body();
}

TEST_F(ConvertTest, AttributesOfTilesAndTypes) {
  Value x = argument(DType::Float16, {8, 4});
  auto get = [&](const Value &object, std::string_view name) {
    auto found = attribute(*op, object, name);
    return found ? found->repr() : "none";
  };
  EXPECT_EQ(get(x, "shape"), "(8, 4)");
  EXPECT_EQ(get(x, "numel"), "32");
  EXPECT_EQ(get(x, "dtype"), "fp16");
  EXPECT_EQ(get(x, "type"), "<['8', '4'], fp16>");
  EXPECT_EQ(get(x, "T"), "<['4', '8'], fp16>");
  EXPECT_EQ(get(x, "nonsense"), "none");
  Value dtype = *attribute(*op, x, "dtype");
  EXPECT_EQ(get(dtype, "primitive_bitwidth"), "16");
  EXPECT_EQ(get(dtype, "fp_mantissa_width"), "10");
  EXPECT_EQ(get(dtype, "int_bitwidth"), "none");
  EXPECT_EQ(get(Value::type(uint32()), "int_bitwidth"), "32");
  Value p = pointers(DType::Int64);
  EXPECT_EQ(get(*attribute(*op, p, "dtype"), "element_ty"), "int64");
}

TEST_F(ConvertTest, MethodsOfTypes) {
  auto is = [&](DType dtype, std::string_view name) {
    auto found = typeMethod(*op, Type::scalar(dtype), name, {});
    return found && found->asBool();
  };
  EXPECT_TRUE(is(DType::Float16, "is_fp16"));
  EXPECT_FALSE(is(DType::Float16, "is_bf16"));
  EXPECT_TRUE(is(DType::UInt8, "is_int_unsigned"));
  EXPECT_TRUE(is(DType::Int1, "is_bool"));
  EXPECT_TRUE(is(DType::Float8E4NV, "is_fp8e4nv"));
  EXPECT_TRUE(is(DType::Float8E4NV, "is_fp8"));
  EXPECT_FALSE(typeMethod(*op, int32(), "is_float32", {}));
  EXPECT_EQ(typeMethod(*op, Type::scalar(DType::UInt64), "get_int_max_value", {})->repr(),
            "18446744073709551615");
  EXPECT_EQ(typeMethod(*op, Type::scalar(DType::Int8), "get_int_min_value", {})->repr(), "-128");
}

} // namespace
} // namespace nereid::ops::test
