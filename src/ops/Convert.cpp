// Constants and conversions between element types.

#include "ops/Build.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace nereid::ops {

bool isStandardFloat(const Type &type) { return type.isFloat() && !type.isF8(); }

Type intType(unsigned bits, bool isSigned) {
  switch (bits) {
  case 1:
    return int1();
  case 8:
    return Type::scalar(isSigned ? DType::Int8 : DType::UInt8);
  case 16:
    return Type::scalar(isSigned ? DType::Int16 : DType::UInt16);
  case 32:
    return Type::scalar(isSigned ? DType::Int32 : DType::UInt32);
  case 64:
    return Type::scalar(isSigned ? DType::Int64 : DType::UInt64);
  }
  fail("WrongArgument", "there is no integer type of " + std::to_string(bits) + " bits");
}

// --- constants ---

// A constant of any shape whose elements all have this value.
static Tile splatConstant(OpContext &context, TypedAttr element, Type type) {
  TypedAttr value = element;
  if (auto shaped = dyn_cast<RankedTensorType>(lowered(context, type)))
    value = DenseElementsAttr::get(shaped, Attribute(element));
  mlir::Value result = context.builder.create<arith::ConstantOp>(context.loc, value);
  return {result, std::move(type)};
}

static Tile intConstant(OpContext &context, uint64_t bits, const Type &type) {
  auto element = mlir::cast<IntegerType>(lowered(context, type.element()));
  return splatConstant(context,
                       IntegerAttr::get(element, APInt(64, bits).trunc(element.getWidth())), type);
}

static Tile floatConstant(OpContext &context, double number, const Type &type) {
  auto element = mlir::cast<FloatType>(lowered(context, type.element()));
  // As in Triton, a literal for a type below f64 passes through f32.
  APFloat value(type.bits() < 64 ? double(float(number)) : number);
  bool inexact = false;
  value.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  return splatConstant(context, FloatAttr::get(element, value), type);
}

Tile constant(OpContext &context, const Value &number, const Type &type) {
  double real = number.isFloat()  ? number.asFloat()
                : number.isBool() ? double(number.asBool())
                                  : number.asInteger().toDouble();
  bool isZero = number.isInt() ? number.asInteger().isZero() : real == 0;
  Type element = type.element();
  if (element.isPointer()) {
    if (!isZero)
      fail("WrongArgument", "only 0 can stand for a " + quote(element));
    Tile address = intConstant(context, 0, type.withElement(int64()));
    return build<tile::IntToPtrOp>(context, type, address.value);
  }
  if (element.isF8()) // the dialect has no f8 arithmetic, so their constants are converted ones
    return cast(context, floatConstant(context, isZero ? 0.0 : real, type.withElement(float32())),
                element);
  if (element.isFloat()) // -0.0 too becomes 0.0, as in Triton
    return floatConstant(context, isZero ? 0.0 : real, type);
  if (isZero)
    return intConstant(context, 0, type);
  if (element.isBool())
    return intConstant(context, 1, type);
  if (number.isFloat())
    fail("WrongArgument", "the float " + quote(number.repr()) + " can't become " + quote(element),
         "write an int, or cast with `.to(...)`");
  Integer integer = number.isBool() ? Integer(1) : number.asInteger();
  unsigned bits = element.bits();
  Integer least = element.isSigned() ? -Integer::shiftLeft(1, bits - 1) : Integer(0);
  Integer most = Integer::shiftLeft(1, element.isSigned() ? bits - 1 : bits) - 1;
  if (integer < least || integer > most)
    fail("LiteralOutOfRange",
         quote(integer.toString()) + " does not fit " + quote(element) + ", which holds " +
             least.toString() + " to " + most.toString(),
         !element.isSigned() && integer.isNegative() ? "cast the tile to a signed type first"
         : integer.toInt64() ? "cast the tile to a wider type first, e.g. `.to(tl.int" +
                                   std::string(integer.bitLength() < 32 ? "32" : "64") + ")`"
                             : "no integer type holds it");
  return intConstant(context, integer.low64(), type);
}

Tile zero(OpContext &context, const Type &type) { return constant(context, 0, type); }

Type literalType(const Value &number) {
  if (number.isBool())
    return int1();
  if (number.isFloat()) {
    double magnitude = std::fabs(number.asFloat());
    bool fits = magnitude == 0 || std::isinf(magnitude) || std::isnan(magnitude) ||
                (magnitude >= std::ldexp(1.0, -126) &&
                 magnitude <= double(std::numeric_limits<float>::max()));
    return Type::scalar(fits ? DType::Float32 : DType::Float64);
  }
  const Integer &integer = number.asInteger();
  if (auto narrow = integer.toInt64()) {
    if (*narrow >= INT32_MIN && *narrow <= INT32_MAX)
      return int32();
    return *narrow > 0 && *narrow <= UINT32_MAX ? uint32() : int64();
  }
  if (!integer.toUInt64())
    fail("LiteralOutOfRange", "the int " + quote(number.repr()) + " has more than 64 bits");
  return Type::scalar(DType::UInt64);
}

Tile toTile(OpContext &context, const Value &value) {
  if (value.isTile())
    return value.asTile();
  if (!value.isNumber())
    fail("WrongArgument", describe(value) + " can't become a tile");
  return constant(context, value, literalType(value));
}

// --- casts ---

namespace {

// The same bits read as another type; no op if the IR types agree.
Tile retype(OpContext &context, const Tile &value, const Type &element) {
  Type type = value.type.withElement(element);
  mlir::Type target = lowered(context, type);
  if (value.value.getType() == target)
    return {value.value, type};
  return build<tile::BitcastOp>(context, type, value.value);
}

Tile notZero(OpContext &context, const Tile &value) {
  return compareTiles(context, BinaryOperator::NotEq, value, zero(context, value.type));
}

Tile castIntToInt(OpContext &context, const Tile &value, const Type &element) {
  Type type = value.type.withElement(element);
  unsigned from = value.type.bits(), to = element.bits();
  if (from == to)
    return retype(context, value, element);
  if (to < from)
    return build<arith::TruncIOp>(context, type, value.value);
  if (value.type.isSigned())
    return build<arith::ExtSIOp>(context, type, value.value);
  return build<arith::ExtUIOp>(context, type, value.value);
}

// A constant that `element` has too, as such: back ends look for zeros.
std::optional<Tile> convertedConstant(OpContext &context, const Tile &value, const Type &type) {
  mlir::Attribute found;
  auto target = mlir::dyn_cast<mlir::FloatType>(mlir::getElementTypeOrSelf(lowered(context, type)));
  if (!target || !matchPattern(value.value, mlir::m_Constant(&found)))
    return std::nullopt;
  auto dense = mlir::dyn_cast<mlir::SplatElementsAttr>(found);
  auto number = dense ? mlir::dyn_cast<mlir::FloatAttr>(dense.getSplatValue<mlir::Attribute>())
                      : mlir::dyn_cast<mlir::FloatAttr>(found);
  if (!number || !number.getValue().isFinite() || number.getValue().isNegZero())
    return std::nullopt;
  llvm::APFloat exact = number.getValue();
  bool losesInfo = false;
  exact.convert(target.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  if (losesInfo)
    return std::nullopt;
  mlir::TypedAttr attr = mlir::FloatAttr::get(target, exact);
  if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(lowered(context, type)))
    attr = mlir::DenseElementsAttr::get(shaped, mlir::Attribute(attr));
  return Tile{context.builder.create<arith::ConstantOp>(context.loc, attr), type};
}

Tile castFloatToFloat(OpContext &context, const Tile &value, const Type &element,
                      bool towardsZero) {
  Type type = value.type.withElement(element);
  unsigned from = value.type.bits(), to = element.bits();
  if (auto constant = element.isF8() ? convertedConstant(context, value, type) : std::nullopt)
    return *constant;
  if (value.type.isF8() || element.isF8() || towardsZero) {
    auto rounding = tile::RoundingAttr::get(
        context.builder.getContext(), towardsZero ? tile::Rounding::RTZ : tile::Rounding::RTNE);
    return build<tile::FPConvertOp>(context, type, value.value, rounding);
  }
  if (from == to) // f16 <-> bf16
    return cast(context, cast(context, value, float32()), element);
  if (to < from)
    return build<arith::TruncFOp>(context, type, value.value);
  return build<arith::ExtFOp>(context, type, value.value);
}

} // namespace

Tile castRounded(OpContext &context, const Tile &value, const Type &target,
                 std::string_view rounding) {
  Type from = value.type.element(), to = target.element();
  if (value.type.isDescriptor())
    fail("CannotCast", "a tensor descriptor can't be cast");
  // Casting to the type of a block pointer's memory: `.to(p.dtype.element_ty)`.
  if (to.isVoid())
    fail("CannotCast", "cannot cast " + quote(from) + " to `void`");
  if (from == to)
    return value;
  if (!rounding.empty() && rounding != "rtne" && rounding != "rtz")
    fail("WrongArgument", "`fp_downcast_rounding` is " + quote(rounding) + ", not `rtne` or `rtz`");
  if (!rounding.empty() && !(from.isFloat() && to.isFloat() && to.bits() < from.bits()))
    fail("WrongArgument",
         "`fp_downcast_rounding` is for a cast to a narrower float, not from " + quote(from) +
             " to " + quote(to),
         "drop `fp_downcast_rounding`");
  Type type = value.type.withElement(to);
  if (from.isFloat() && to.isFloat())
    return castFloatToFloat(context, value, to, rounding == "rtz");
  if (from.isInt() && to.isInt())
    return to.isBool() ? notZero(context, value) : castIntToInt(context, value, to);
  if (from.isFloat() && to.isInt()) {
    // The narrow floats convert exactly to f32.
    if (from.bits() < 32)
      return cast(context, cast(context, value, float32()), to);
    if (to.isBool())
      return notZero(context, value);
    return build<tile::FPToIntOp>(context, type, value.value, /*isUnsigned=*/!to.isSigned());
  }
  if (from.isInt() && to.isFloat()) {
    if (to.isF8())
      return cast(context, cast(context, value, float32()), to);
    if (from.isSigned())
      return build<arith::SIToFPOp>(context, type, value.value);
    return build<arith::UIToFPOp>(context, type, value.value);
  }
  if (from.isPointer() && to.isPointer())
    return retype(context, value, to);
  if (from.isPointer() && to.isInt() && (to.bits() == 64 || to.isBool())) {
    Tile address = build<tile::PtrToIntOp>(context, value.type.withElement(int64()), value.value);
    return to.isBool() ? notZero(context, address) : Tile{address.value, type};
  }
  if (from.isInt() && to.isPointer()) {
    Tile address = castIntToInt(context, value, int64());
    return build<tile::IntToPtrOp>(context, type, address.value);
  }
  fail("CannotCast", "cannot cast " + quote(from) + " to " + quote(to),
       from.isPointer() ? "a pointer casts to `tl.int64`, `tl.uint64` or another pointer" : "");
}

Tile cast(OpContext &context, const Tile &value, Type element) {
  return castRounded(context, value, element, "");
}

Tile castNumber(OpContext &context, const Value &number, const Type &type) {
  // What the two steps would give, in one constant: f64 alone would see the detour through f32.
  if (type.isFloat() && type.bits() < 64)
    return constant(context, number, type);
  Type own = literalType(number);
  if (type.isInt() && !type.isBool() && own.isInt())
    return intConstant(context, number.isBool() ? number.asBool() : number.asInteger().low64(),
                       type);
  return cast(context, constant(context, number, type.withElement(own)), type);
}

Tile bitcast(OpContext &context, const Tile &value, const Type &target) {
  Type from = value.type.element(), to = target.element();
  if (from == to)
    return value;
  if (from.isPointer() || to.isPointer())
    return cast(context, value, to);
  if (from.bits() != to.bits())
    fail("CannotCast", "a bitcast needs equal widths, but " + quote(from) + " has " +
                           std::to_string(from.bits()) + " bits and " + quote(to) + " has " +
                           std::to_string(to.bits()));
  return retype(context, value, to);
}

Tile promoteBFloat16(OpContext &context, const Tile &value) {
  if (value.type.isFloat() && value.type.dtype() == DType::BFloat16)
    return cast(context, value, float32());
  return value;
}

mlir::Value toCondition(OpContext &context, const Value &value) {
  Tile tile = tileArgument(context, value, "condition");
  if (tile.type.isBlock()) {
    if (tile.type.numel() != 1)
      fail("ConditionIsTile",
           "a condition must be one value, but this is a tile of shape " +
               shapeText(tile.type.shape()),
           "reduce it, e.g. `tl.max(x, axis=0)`, or choose with `tl.where`");
    tile = unsplat(context, tile);
  }
  return cast(context, tile, int1()).value;
}

} // namespace nereid::ops
