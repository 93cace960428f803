// Elementwise functions.

#include "ops/Build.h"

#include "ir/FloatOptions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nereid::ops {
namespace {

// Triton's functions take f32 and f64 only; the user says how a narrow float is to be computed.
void requireWideFloat(const Type &type, std::string_view function, bool allowF64 = true) {
  if (type.is(DType::Float32) || (allowF64 && type.is(DType::Float64)))
    return;
  fail("UnsupportedDType",
       quote("tl." + std::string(function)) + " takes " +
           (allowF64 ? "`fp32` or `fp64`" : "`fp32`") + ", not " + quote(type.element()),
       "cast first: `x.to(tl.float32)`");
}

template <typename Op> Value wideUnary(OpContext &context, Args args, std::string_view name) {
  Tile x = tileArgument(context, args[0], "x");
  requireWideFloat(x.type, name);
  return build<Op>(context, x.type, x.value);
}

#define WIDE_UNARY(FUNCTION, NAME, OP)                                                             \
  Value FUNCTION(OpContext &context, Args args) { return wideUnary<OP>(context, args, NAME); }
WIDE_UNARY(buildExp, "exp", math::ExpOp)
WIDE_UNARY(buildExp2, "exp2", math::Exp2Op)
WIDE_UNARY(buildLog, "log", math::LogOp)
WIDE_UNARY(buildLog2, "log2", math::Log2Op)
WIDE_UNARY(buildSin, "sin", math::SinOp)
WIDE_UNARY(buildCos, "cos", math::CosOp)
WIDE_UNARY(buildSqrt, "sqrt", math::SqrtOp)
WIDE_UNARY(buildRsqrt, "rsqrt", math::RsqrtOp)
WIDE_UNARY(buildErf, "erf", math::ErfOp)
WIDE_UNARY(buildFloor, "floor", math::FloorOp)
WIDE_UNARY(buildCeil, "ceil", math::CeilOp)
#undef WIDE_UNARY

Value buildSqrtRn(OpContext &context, Args args) {
  Tile x = tileArgument(context, args[0], "x");
  requireWideFloat(x.type, "sqrt_rn", /*allowF64=*/false);
  return build<tile::SqrtRnOp>(context, x.type, x.value);
}

Value buildAbs(OpContext &context, Args args) {
  Tile x = tileArgument(context, args[0], "x");
  if (x.type.isF8()) {
    // Clear the sign bit; NaN of the one-zero formats is the pattern of a negative zero.
    bool oneZero = x.type.is(DType::Float8E4B8) || x.type.is(DType::Float8E5B16);
    if (oneZero)
      return cast(context,
                  build<math::AbsFOp>(context, x.type.withElement(float32()),
                                      cast(context, x, float32()).value),
                  x.type.element());
    Tile bits = bitcast(context, x, Type::scalar(DType::Int8));
    return bitcast(context, andTiles(context, bits, constant(context, 0x7f, bits.type)),
                   x.type.element());
  }
  if (x.type.isFloat())
    return build<math::AbsFOp>(context, x.type, x.value);
  if (x.type.isInt() && x.type.isSigned())
    return build<math::AbsIOp>(context, x.type, x.value);
  if (x.type.isInt())
    return x;
  fail("UnsupportedDType", "`tl.abs` takes numbers, not " + quote(x.type.element()));
}

// Two operands that are typed like operands of `+`, but numbers have their own type.
std::pair<Tile, Tile> two(OpContext &context, Args args, std::string_view name) {
  return operands(context, args[0], args[1], name, {.weak = false});
}

Value buildFdiv(OpContext &context, Args args) {
  auto [x, y] = two(context, args, "tl.fdiv");
  if (!isStandardFloat(x.type) || !isStandardFloat(y.type))
    fail("UnsupportedDType", "`tl.fdiv` takes floats, not " + quote(x.type.element()),
         "use `/`, or cast first");
  bool rounded = boolArgument(args[2], "ieee_rounding"), approx = boolArgument(args[3], "approx");
  if (approx && rounded)
    fail("WrongArgument", "`approx` and `ieee_rounding` exclude each other");
  if (approx && x.type.dtype() != DType::Float32)
    fail("UnsupportedDType", "`approx` of `tl.fdiv` is for f32, not " + quote(x.type.element()),
         "cast first: `x.to(tl.float32)`");
  if (rounded)
    return build<tile::DivRnOp>(context, x.type, x.value, y.value);
  return build<arith::DivFOp>(context, x.type, x.value, y.value,
                              approx ? arith::FastMathFlags::afn : arith::FastMathFlags::none);
}

Value buildDivRn(OpContext &context, Args args) {
  auto [x, y] = two(context, args, "tl.div_rn");
  requireWideFloat(x.type, "div_rn", /*allowF64=*/false);
  return build<tile::DivRnOp>(context, x.type, x.value, y.value);
}

Value buildUmulhi(OpContext &context, Args args) {
  auto [x, y] = two(context, args, "tl.umulhi");
  if (!x.type.isInt() || x.type.bits() < 32)
    fail("UnsupportedDType",
         "`tl.umulhi` takes integers of 32 or 64 bits, not " + quote(x.type.element()),
         "cast first: `x.to(tl.uint32)`");
  return build<tile::MulHiUIOp>(context, x.type, x.value, y.value);
}

Value buildFma(OpContext &context, Args args) {
  Tile parts[] = {tileArgument(context, args[0], "x"), tileArgument(context, args[1], "y"),
                  tileArgument(context, args[2], "z")};
  std::tie(parts[0], parts[1]) = operands(context, parts[0], parts[1], "tl.fma");
  std::tie(parts[2], parts[0]) = operands(context, parts[2], parts[0], "tl.fma");
  std::tie(parts[2], parts[1]) = operands(context, parts[2], parts[1], "tl.fma");
  if (!isStandardFloat(parts[0].type))
    fail("UnsupportedDType", "`tl.fma` takes floats, not " + quote(parts[0].type.element()),
         "write `x * y + z`");
  return build<math::FmaOp>(context, parts[0].type, parts[0].value, parts[1].value, parts[2].value);
}

// maximum, minimum and clamp compute bf16 in f32, which is also the type of their result.
Value extremumOfTwo(OpContext &context, Args args, bool isMax) {
  auto promoted = [&](const Value &value) {
    return value.isTile() ? Value(promoteBFloat16(context, value.asTile())) : value;
  };
  bool nan = propagatesNan(args[2]);
  std::string_view name = isMax ? "tl.maximum" : "tl.minimum";
  auto [x, y] = operands(context, promoted(args[0]), promoted(args[1]), name, {.weak = false});
  if (x.type.isF8())
    fail("UnsupportedDType", quote(name) + " does not take " + quote(x.type.element()),
         "cast first: `x.to(tl.float32)`");
  return isMax ? maxTiles(context, x, y, nan) : minTiles(context, x, y, nan);
}

Value buildMaximum(OpContext &context, Args args) { return extremumOfTwo(context, args, true); }
Value buildMinimum(OpContext &context, Args args) { return extremumOfTwo(context, args, false); }

Value buildClamp(OpContext &context, Args args) {
  Tile x = promoteBFloat16(context, tileArgument(context, args[0], "x"));
  Tile low = promoteBFloat16(context, tileArgument(context, args[1], "min"));
  Tile high = promoteBFloat16(context, tileArgument(context, args[2], "max"));
  bool nan = propagatesNan(args[3]);
  std::tie(low, high) = operands(context, low, high, "tl.clamp");
  std::tie(x, low) = operands(context, x, low, "tl.clamp");
  std::tie(x, high) = operands(context, x, high, "tl.clamp");
  // The bounds may have been widened after one another.
  low = broadcastPair(context, cast(context, low, x.type.element()), x, "tl.clamp").first;
  if (!isStandardFloat(x.type))
    fail("UnsupportedDType", "`tl.clamp` takes floats, not " + quote(x.type.element()),
         "use `tl.minimum(tl.maximum(x, min), max)`");
  Tile clamped = minTiles(context, maxTiles(context, x, low, nan), high, nan);
  if (auto outer = clamped.value.getDefiningOp<arith::MinNumFOp>())
    outer->setAttr(tile::clampAttr, context.builder.getUnitAttr());
  return clamped;
}

Value buildWhere(OpContext &context, Args args) {
  Tile condition = tileArgument(context, args[0], "condition");
  if (!condition.type.isBool()) {
    if (context.note)
      context.note("ConditionNotBoolean",
                   "the condition of `tl.where` has type " + quote(condition.type.element()),
                   "write `x != 0`");
    condition = cast(context, condition, int1());
  }
  auto [x, y] =
      operands(context, args[1], args[2], "tl.where", {.lhsPointer = true, .rhsPointer = true});
  if (!(x.type.element() == y.type.element()))
    fail("OperandTypes", "both sides of `tl.where` must have one type, but are " +
                             quote(x.type.element()) + " and " + quote(y.type.element()));
  Tile parts[] = {condition, x, y};
  broadcastAll(context, parts, "tl.where");
  return select(context, parts[0], parts[1], parts[2]);
}

Value buildCdiv(OpContext &context, Args args) {
  // (x + (div - 1)) // div, on numbers as on tiles; the result is a tile in both cases.
  Value x = args[0], divisor = args[1];
  if (x.isInt() && divisor.isInt()) {
    if (divisor.asInteger().isZero())
      fail("DivisionByZero", "`tl.cdiv` divides by 0");
    return toTile(context, Value(Integer::floorDiv(x.asInteger() + (divisor.asInteger() - 1),
                                                   divisor.asInteger())));
  }
  Value less = divisor.isInt() ? Value(divisor.asInteger() - 1)
                               : binary(context, BinaryOperator::Sub, divisor, 1);
  return binary(context, BinaryOperator::FloorDiv, binary(context, BinaryOperator::Add, x, less),
                divisor);
}

Value buildSigmoid(OpContext &context, Args args) {
  Tile x = tileArgument(context, args[0], "x");
  requireWideFloat(x.type, "sigmoid");
  Value minus = unary(context, UnaryOperator::Neg, x);
  Tile exponential = build<math::ExpOp>(context, x.type, minus.asTile().value);
  return binary(context, BinaryOperator::TrueDiv, 1,
                binary(context, BinaryOperator::Add, 1, exponential));
}

constexpr std::string_view Nan = "x, y, propagate_nan=PropagateNan.NONE";

constexpr Row MathTable[] = {
    {"exp", "math", "x", buildExp, "e to the power x.", true},
    {"exp2", "math", "x", buildExp2, "2 to the power x.", true},
    {"log", "math", "x", buildLog, "Natural logarithm.", true},
    {"log2", "math", "x", buildLog2, "Logarithm to base 2.", true},
    {"sin", "math", "x", buildSin, "Sine.", true},
    {"cos", "math", "x", buildCos, "Cosine.", true},
    {"sqrt", "math", "x", buildSqrt, "Square root; f32 may be 1 ulp off.", true},
    {"sqrt_rn", "math", "x", buildSqrtRn, "Square root rounded to nearest even.", true},
    {"rsqrt", "math", "x", buildRsqrt, "1 over the square root.", true},
    {"erf", "math", "x", buildErf, "Error function.", true},
    {"floor", "math", "x", buildFloor, "Greatest integer that is not above x.", true},
    {"ceil", "math", "x", buildCeil, "Least integer that is not below x.", true},
    {"abs", "math", "x", buildAbs, "Absolute value.", true},
    {"fdiv", "math", "x, y, ieee_rounding=False, approx=False", buildFdiv,
     "Quotient of floats, without promotion "
     "of f16.",
     false, Row::Status::Supported,
     "`ieee_rounding=True` rounds to nearest even; Triton 3.6 ignores it. `approx=True`, of Triton "
     "3.9: `div.approx.f32` on a GPU."},
    {"div_rn", "math", "x, y", buildDivRn, "Quotient rounded to nearest even."},
    {"umulhi", "math", "x, y", buildUmulhi, "Upper half of the unsigned product."},
    {"fma", "math", "x, y, z", buildFma, "x * y + z with one rounding."},
    {"maximum",
     "math",
     Nan,
     buildMaximum,
     "The greater of two; drops NaN by default.",
     false,
     Row::Status::Supported,
     {},
     "old:math.max"},
    {"minimum",
     "math",
     Nan,
     buildMinimum,
     "The lesser of two; drops NaN by default.",
     false,
     Row::Status::Supported,
     {},
     "old:math.min"},
    {"clamp", "math", "x, min, max, propagate_nan=PropagateNan.NONE", buildClamp,
     "x held between two bounds; floats only."},
    {"where", "math", "condition, x, y", buildWhere,
     "x where the condition holds, else y; both are computed."},
    {"cdiv", "math", "x, div", buildCdiv, "Quotient rounded up.", true},
    {"sigmoid", "math", "x", buildSigmoid, "1 / (1 + exp(-x)).", true},
};

} // namespace

std::span<const Row> mathRows() { return MathTable; }

} // namespace nereid::ops
