#include "Fixture.h"

namespace nereid::ops::test {
namespace {

using B = BinaryOperator;

struct OperatorTest : OpsTest {
  std::string typeOfBinary(B operation, const Value &lhs, const Value &rhs) {
    return typeOf(binary(*op, operation, lhs, rhs));
  }
  std::string scalars(B operation, DType lhs, DType rhs) {
    return typeOfBinary(operation, argument(lhs), argument(rhs));
  }
};

TEST_F(OperatorTest, LiteralsHaveTheirOwnTypes) {
  auto literal = [&](const Value &value) { return toTile(*op, value).type.str(); };
  EXPECT_EQ(literal(Value(int64_t(1) << 31)), "uint32");
  EXPECT_EQ(literal(Value((int64_t(1) << 31) - 1)), "int32");
  EXPECT_EQ(literal(Value(int64_t(1) << 32)), "int64");
  EXPECT_EQ(literal(Value(Integer::shiftLeft(1, 63))), "uint64");
  EXPECT_EQ(literal(Value(-(int64_t(1) << 31) - 1)), "int64");
  EXPECT_EQ(literal(Value(1e-40)), "fp64");
  EXPECT_EQ(literal(Value(1e300)), "fp64");
  EXPECT_EQ(literal(Value(0.5)), "fp32");
  EXPECT_EQ(literal(Value(true)), "int1");
  EXPECT_EQ(errorOf([&] { literal(Value(Integer::shiftLeft(1, 64))); }), "LiteralOutOfRange");
}

TEST_F(OperatorTest, TypesOfTwoTiles) {
  using enum DType;
  EXPECT_EQ(scalars(B::Add, Int32, UInt32), "uint32");
  EXPECT_EQ(scalars(B::Add, Int64, UInt32), "int64");
  EXPECT_EQ(scalars(B::Add, Int8, UInt16), "uint16");
  EXPECT_EQ(scalars(B::Mul, Float16, Float32), "fp32");
  EXPECT_EQ(scalars(B::Mul, Float16, BFloat16), "fp16");
  EXPECT_EQ(scalars(B::Mul, BFloat16, BFloat16), "bf16");
  EXPECT_EQ(scalars(B::Mul, BFloat16, Int64), "fp32");
  EXPECT_EQ(scalars(B::Add, Float16, Int64), "fp16");
  EXPECT_EQ(scalars(B::Add, Float64, Int8), "fp64");
  EXPECT_EQ(scalars(B::Add, Int1, Int8), "int8");
}

TEST_F(OperatorTest, NumbersAreWeak) {
  EXPECT_EQ(typeOfBinary(B::Add, argument(DType::Int8), 1), "int8");
  EXPECT_EQ(typeOfBinary(B::Add, 1.5, argument(DType::Float16)), "fp16");
  EXPECT_EQ(typeOfBinary(B::Mul, argument(DType::Int32), 1.5), "fp32");
  EXPECT_EQ(typeOfBinary(B::Add, argument(DType::Int1), 1), "int32");
  EXPECT_EQ(typeOfBinary(B::And, argument(DType::Int1), true), "int1");
  EXPECT_EQ(typeOfBinary(B::Add, argument(DType::UInt64), 1), "uint64");
  OpError error;
  EXPECT_EQ(errorOf([&] { binary(*op, B::Add, argument(DType::Int8), 300); }, &error),
            "LiteralOutOfRange");
  EXPECT_EQ(error.message, "`300` does not fit `int8`, which holds -128 to 127");
  EXPECT_EQ(errorOf([&] { binary(*op, B::Add, argument(DType::UInt32), -1); }),
            "LiteralOutOfRange");
}

TEST_F(OperatorTest, Division) {
  using enum DType;
  EXPECT_EQ(scalars(B::TrueDiv, Int32, Int32), "fp32");
  EXPECT_EQ(scalars(B::TrueDiv, Float16, Float16), "fp32");
  EXPECT_EQ(scalars(B::TrueDiv, BFloat16, BFloat16), "fp32");
  EXPECT_EQ(typeOfBinary(B::TrueDiv, argument(Float16), 2), "fp32");
  EXPECT_EQ(scalars(B::Mod, Float16, Float16), "fp32");
  EXPECT_EQ(scalars(B::FloorDiv, Int32, Int64), "int64");
  EXPECT_EQ(errorOf([&] { scalars(B::FloorDiv, Int32, UInt32); }), "MixedSignedness");
  EXPECT_EQ(errorOf([&] { scalars(B::TrueDiv, Int32, UInt32); }), "MixedSignedness");
  EXPECT_EQ(errorOf([&] { scalars(B::FloorDiv, Float32, Float32); }), "OperandTypes");
  expectIr("tile.divsi");
  expectIr("arith.remf");
}

TEST_F(OperatorTest, ShiftsFollowTheSign) {
  binary(*op, B::RShift, argument(DType::UInt32), 3);
  expectIr("tile.shru");
}

TEST_F(OperatorTest, SignedShift) {
  binary(*op, B::RShift, argument(DType::Int32), 3);
  expectIr("tile.shrs");
  EXPECT_EQ(body().find("tile.shru"), std::string::npos);
}

TEST_F(OperatorTest, ComparisonsAreOrderedSaveOne) {
  Tile x = argument(DType::Float32, {4});
  EXPECT_EQ(typeOf(binary(*op, B::NotEq, x, x)), "<['4'], int1>");
  binary(*op, B::Eq, x, x);
  binary(*op, B::LtE, x, 2);
  expectIr("arith.cmpf une");
  expectIr("arith.cmpf oeq");
  expectIr("arith.cmpf ole");
}

TEST_F(OperatorTest, ComparisonWithANumberUsesItsType) {
  // 300 does not fit int8, so the comparison is one of int32.
  binary(*op, B::Lt, argument(DType::Int8), 300);
  expectIr("arith.extsi");
  expectIr("arith.cmpi slt, %0, %c300_i32");
  // An unsigned tile with -1 compares as uint32.
  binary(*op, B::Lt, argument(DType::UInt32), -1);
  expectIr("arith.cmpi ult");
}

TEST_F(OperatorTest, PointersMoveByElements) {
  Tile p = pointers(DType::Float32);
  EXPECT_EQ(typeOf(binary(*op, B::Add, p, argument(DType::Int32, {8}))), "<['8'], pointer<fp32>>");
  binary(*op, B::Add, argument(DType::UInt32), p);
  expectIr("tile.addptr %arg0, %arg2 unsigned");
  EXPECT_EQ(errorOf([&] { binary(*op, B::Add, p, p); }), "OperandTypes");
  EXPECT_EQ(errorOf([&] { binary(*op, B::Sub, p, p); }), "OperandTypes");
  EXPECT_EQ(errorOf([&] { binary(*op, B::Mul, p, 2); }), "OperandTypes");
  EXPECT_EQ(errorOf([&] { binary(*op, B::Add, p, 1.0); }), "OperandTypes");
}

TEST_F(OperatorTest, BackwardsByAnUnsignedOffset) {
  binary(*op, B::Sub, pointers(DType::Float32), argument(DType::UInt32));
  expectIr("arith.extui");
  expectIr("arith.subi");
  EXPECT_EQ(body().find("unsigned"), std::string::npos);
}

TEST_F(OperatorTest, Unary) {
  EXPECT_EQ(typeOf(unary(*op, UnaryOperator::Neg, argument(DType::Float16))), "fp16");
  expectIr("arith.subf %cst, %arg0");
  unary(*op, UnaryOperator::Invert, argument(DType::UInt8));
  expectIr("arith.xori %arg1, %c-1_i8");
  EXPECT_EQ(typeOf(unary(*op, UnaryOperator::Not, argument(DType::Int32, {4}))), "<['4'], int1>");
  EXPECT_EQ(errorOf([&] { unary(*op, UnaryOperator::Invert, argument(DType::Float32)); }),
            "OperandTypes");
  EXPECT_EQ(errorOf([&] { unary(*op, UnaryOperator::Neg, pointers(DType::Float32)); }),
            "OperandTypes");
}

TEST_F(OperatorTest, Broadcasting) {
  Tile row = argument(DType::Float32, {1, 8}), column = argument(DType::Float32, {4, 1});
  EXPECT_EQ(typeOf(binary(*op, B::Add, row, column)), "<['4', '8'], fp32>");
  EXPECT_EQ(typeOf(binary(*op, B::Add, row, argument(DType::Float32, {8}))), "<['1', '8'], fp32>");
  OpError error;
  EXPECT_EQ(errorOf(
                [&] {
                  binary(*op, B::Add, argument(DType::Float32, {4}), argument(DType::Float32, {8}));
                },
                &error),
            "IncompatibleShapes");
  EXPECT_EQ(error.message, "shapes [4] and [8] of `+` differ in dimension 0: 4 and 8");
  body();
}

TEST_F(OperatorTest, ANumberTakesTheShapeAtOnce) {
  binary(*op, B::Mul, argument(DType::Float32, {8}), 2);
  expectIr("arith.constant dense<2.000000e+00> : tensor<8xf32>");
  EXPECT_EQ(body().find("tile.splat"), std::string::npos);
}

TEST_F(OperatorTest, LogicalOperatorsGiveBooleans) {
  EXPECT_EQ(typeOfBinary(B::LogicalAnd, argument(DType::Int32), argument(DType::Int1)), "int1");
  EXPECT_EQ(typeOfBinary(B::LogicalOr, argument(DType::Int1, {4}), true), "<['4'], int1>");
  expectIr("arith.andi");
}

TEST_F(OperatorTest, UndefinedOperatorsHaveHints) {
  OpError error;
  EXPECT_EQ(errorOf([&] { binary(*op, B::Pow, argument(DType::Float32), 2); }, &error),
            "UnsupportedOperator");
  EXPECT_NE(error.hint.find("libdevice.pow"), std::string::npos);
  EXPECT_EQ(errorOf([&] { binary(*op, B::MatMul, argument(DType::Float32), 2); }),
            "UnsupportedOperator");
}

TEST_F(OperatorTest, SubscriptInsertsDimensions) {
  Tile x = argument(DType::Int32, {8});
  Value all = std::make_shared<Slice>(None{}, None{}, None{});
  EXPECT_EQ(typeOf(subscript(*op, x, Value::tuple({all, None{}}))), "<['8', '1'], int32>");
  EXPECT_EQ(typeOf(subscript(*op, x, Value::tuple({None{}, all}))), "<['1', '8'], int32>");
  EXPECT_EQ(typeOf(subscript(*op, x, None{})), "<['1', '8'], int32>");
  EXPECT_EQ(typeOf(subscript(*op, argument(DType::Int32), None{})), "<['1'], int32>");
  EXPECT_EQ(errorOf([&] { subscript(*op, x, 0); }), "TileIndex");
  EXPECT_EQ(typeOf(subscript(*op, x, Value::tuple({all, all}))), "<['8'], int32>");
  EXPECT_EQ(typeOf(subscript(*op, argument(DType::Int32), all)), "int32");
  EXPECT_EQ(errorOf([&] { subscript(*op, x, Value::tuple({all, all, None{}})); }), "TileIndex");
  body();
}

TEST_F(OperatorTest, OverflowIsAssertedOnRequest) {
  options.debug = options.sanitizeOverflow = true;
  binary(*op, B::Add, argument(DType::Int32), argument(DType::Int32));
  expectIr("tile.assert");
  expectIr("int32 overflow");
}

} // namespace
} // namespace nereid::ops::test
