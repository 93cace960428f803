// Binary and unary operators with the promotion rules of docs/numerics.md.

#include "ops/Build.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace nereid::ops {
namespace {

std::string_view symbol(BinaryOperator op) {
  switch (op) {
  case BinaryOperator::Add:
    return "+";
  case BinaryOperator::Sub:
    return "-";
  case BinaryOperator::Mul:
    return "*";
  case BinaryOperator::TrueDiv:
    return "/";
  case BinaryOperator::FloorDiv:
    return "//";
  case BinaryOperator::Mod:
    return "%";
  case BinaryOperator::Pow:
    return "**";
  case BinaryOperator::LShift:
    return "<<";
  case BinaryOperator::RShift:
    return ">>";
  case BinaryOperator::And:
    return "&";
  case BinaryOperator::Or:
    return "|";
  case BinaryOperator::Xor:
    return "^";
  case BinaryOperator::MatMul:
    return "@";
  case BinaryOperator::Lt:
    return "<";
  case BinaryOperator::LtE:
    return "<=";
  case BinaryOperator::Gt:
    return ">";
  case BinaryOperator::GtE:
    return ">=";
  case BinaryOperator::Eq:
    return "==";
  case BinaryOperator::NotEq:
    return "!=";
  case BinaryOperator::LogicalAnd:
    return "and";
  case BinaryOperator::LogicalOr:
    return "or";
  }
  return "?";
}

// bool < int < float
int kindRank(const Type &type) { return type.isBool() ? 0 : type.isInt() ? 1 : 2; }

Type promoteIntegers(const Type &a, const Type &b) {
  if (a.isSigned() == b.isSigned())
    return a.bits() > b.bits() ? a : b;
  const Type &unsignedOne = a.isSigned() ? b : a;
  const Type &signedOne = a.isSigned() ? a : b;
  return unsignedOne.bits() >= signedOne.bits() ? unsignedOne : signedOne;
}

[[noreturn]] void failOperands(std::string_view operation, const Type &lhs, const Type &rhs,
                               std::string hint = {}) {
  fail("OperandTypes",
       "operands of " + quote(operation) + " have types " + quote(lhs) + " and " + quote(rhs),
       std::move(hint));
}

// Whether one of two operands may be a pointer; a failure names them in the order of the source.
void checkPointers(std::string_view operation, const Type &lhs, const Type &rhs, bool onRight,
                   bool allowed) {
  const Type &pointer = onRight ? rhs : lhs, &other = onRight ? lhs : rhs;
  if (!pointer.isPointer())
    return;
  if (!allowed)
    failOperands(operation, lhs, rhs,
                 "what it points at is read with `tl.load`; to compute with its address, cast it "
                 "with `.to(tl.int64)`");
  if (other.isPointer() && !(pointer == other))
    failOperands(operation, lhs, rhs, "cast one pointer to the other's type");
  if (other.isFloat())
    failOperands(operation, lhs, rhs,
                 "a pointer moves by integers: `//` divides them, `.to(tl.int32)` makes them");
}

} // namespace

Type computationType(const Type &lhs, bool lhsWeak, const Type &rhs, bool rhsWeak, bool divOrMod,
                     std::string_view operation) {
  if (lhsWeak != rhsWeak) {
    const Type &weak = lhsWeak ? lhs : rhs, &strong = lhsWeak ? rhs : lhs;
    if (kindRank(weak) <= kindRank(strong)) {
      if (divOrMod && (strong.is(DType::Float16) || strong.is(DType::BFloat16)))
        return float32();
      return strong;
    }
  }
  auto either = [&](DType dtype) { return lhs.is(dtype) || rhs.is(dtype); };
  if (either(DType::Float64))
    return Type::scalar(DType::Float64);
  if (either(DType::Float32))
    return float32();
  if (either(DType::Float16))
    return divOrMod ? float32() : float16();
  if (lhs.is(DType::BFloat16) && rhs.is(DType::BFloat16))
    return divOrMod ? float32() : lhs;
  if (either(DType::BFloat16))
    return float32();
  if (lhs.isF8() && rhs.isF8())
    return lhs == rhs ? lhs : float16();
  if (!lhs.isInt() || !rhs.isInt())
    failOperands(operation, lhs, rhs, "cast the 8-bit float first, e.g. `.to(tl.float16)`");
  if (divOrMod && lhs.isSigned() != rhs.isSigned())
    fail("MixedSignedness",
         quote(operation) + " of " + quote(lhs) + " and " + quote(rhs) +
             " mixes signed and unsigned integers",
         "cast both to the same signedness, e.g. `.to(tl.int32)`");
  return promoteIntegers(lhs, rhs);
}

std::pair<Tile, Tile> operands(OpContext &context, const Value &left, const Value &right,
                               std::string_view operation, OperandRules rules) {
  auto check = [&](const Value &value) {
    if (!value.isTile() && !value.isNumber())
      fail("OperandTypes", quote(operation) + " can't take " + describe(value),
           value.isNone() ? "an argument that may be `None` is tested with `is None` first" : "");
    if (value.isTile() && value.asTile().type.isDescriptor())
      fail("OperandTypes", quote(operation) + " can't take a tensor descriptor",
           "load a block from it with `.load(offsets)`");
  };
  check(left);
  check(right);
  bool leftWeak = left.isNumber() && rules.weak, rightWeak = right.isNumber() && rules.weak;
  auto typeOf = [&](const Value &value) {
    return value.isTile() ? value.asTile().type.element() : literalType(value);
  };
  Type leftType = typeOf(left), rightType = typeOf(right);
  checkPointers(operation, leftType, rightType, /*onRight=*/false, rules.lhsPointer);
  checkPointers(operation, leftType, rightType, /*onRight=*/true, rules.rhsPointer);

  Type leftTarget = leftType, rightTarget = rightType;
  if (rules.promote && !leftType.isPointer() && !rightType.isPointer()) {
    leftTarget = rightTarget =
        computationType(leftType, leftWeak, rightType, rightWeak, rules.divOrMod, operation);
    auto negative = [](const Value &value) {
      return (value.isInt() && value.asInteger().isNegative()) ||
             (value.isFloat() && value.asFloat() < 0);
    };
    for (const Value *value : {&left, &right})
      if (value->isNumber() && rules.weak && negative(*value) && leftTarget.isInt() &&
          !leftTarget.isSigned())
        fail("LiteralOutOfRange",
             quote(operation) + " of a tile of " + quote(leftTarget) + " and the negative number " +
                 quote(value->repr()),
             "cast one of them, e.g. the tile with `.to(tl.int32)`");
  }
  // A number takes the shape of the other side at once.
  auto make = [&](const Value &value, const Type &target, const Value &other) {
    if (value.isTile())
      return cast(context, value.asTile(), target);
    Type type = other.isTile() ? other.asTile().type.withElement(target) : target;
    return rules.weak ? constant(context, value, type) : castNumber(context, value, type);
  };
  Tile lhs = make(left, leftTarget, right);
  Tile rhs = make(right, rightTarget, left);
  return broadcastPair(context, lhs, rhs, operation);
}

// --- arithmetic on agreeing operands ---

Tile addTiles(OpContext &context, const Tile &lhs, const Tile &rhs) {
  if (lhs.type.isFloat())
    return build<arith::AddFOp>(context, lhs.type, lhs.value, rhs.value);
  return build<arith::AddIOp>(context, lhs.type, lhs.value, rhs.value);
}

Tile mulTiles(OpContext &context, const Tile &lhs, const Tile &rhs) {
  if (lhs.type.isFloat())
    return build<arith::MulFOp>(context, lhs.type, lhs.value, rhs.value);
  // Masks are multiplied as often as they are joined by `&`, which is what knows of masks look for.
  if (getElementTypeOrSelf(lhs.value.getType()).isInteger(1))
    return build<arith::AndIOp>(context, lhs.type, lhs.value, rhs.value);
  return build<arith::MulIOp>(context, lhs.type, lhs.value, rhs.value);
}

static Tile subTiles(OpContext &context, const Tile &lhs, const Tile &rhs) {
  if (lhs.type.isFloat())
    return build<arith::SubFOp>(context, lhs.type, lhs.value, rhs.value);
  return build<arith::SubIOp>(context, lhs.type, lhs.value, rhs.value);
}

// Of two numbers of which one is NaN the other one. MLIR 19 folds two constants of which one is NaN
// to NaN, and an infinity that loses against every number to the other side, even if that is NaN.
template <typename Op> Tile buildExtreme(OpContext &context, const Tile &lhs, const Tile &rhs) {
  constexpr bool isMax = std::is_same_v<Op, arith::MaxNumFOp>;
  auto constantOf = [](const Tile &tile) -> std::optional<llvm::APFloat> {
    mlir::Value value = tile.value;
    if (auto wider = value.getDefiningOp<arith::ExtFOp>())
      value = wider.getIn();
    llvm::APFloat number(0.0f);
    return matchPattern(value, m_ConstantFloat(&number)) ? std::optional(number) : std::nullopt;
  };
  for (auto [fixed, other] : {std::pair(&lhs, &rhs), std::pair(&rhs, &lhs)}) {
    auto number = constantOf(*fixed);
    if (number && number->isNaN())
      return *other;
    if (number && number->isInfinity() && number->isNegative() == isMax) {
      mlir::Value isNan = context.builder.create<arith::CmpFOp>(
          context.loc, arith::CmpFPredicate::UNO, other->value, other->value);
      return build<arith::SelectOp>(context, lhs.type, isNan, fixed->value, other->value);
    }
  }
  return build<Op>(context, lhs.type, lhs.value, rhs.value);
}

Tile maxTiles(OpContext &context, const Tile &lhs, const Tile &rhs, bool propagateNan) {
  if (lhs.type.isFloat() && propagateNan)
    return build<arith::MaximumFOp>(context, lhs.type, lhs.value, rhs.value);
  if (lhs.type.isFloat())
    return buildExtreme<arith::MaxNumFOp>(context, lhs, rhs);
  if (lhs.type.isSigned())
    return build<arith::MaxSIOp>(context, lhs.type, lhs.value, rhs.value);
  return build<arith::MaxUIOp>(context, lhs.type, lhs.value, rhs.value);
}

Tile minTiles(OpContext &context, const Tile &lhs, const Tile &rhs, bool propagateNan) {
  if (lhs.type.isFloat() && propagateNan)
    return build<arith::MinimumFOp>(context, lhs.type, lhs.value, rhs.value);
  if (lhs.type.isFloat())
    return buildExtreme<arith::MinNumFOp>(context, lhs, rhs);
  if (lhs.type.isSigned())
    return build<arith::MinSIOp>(context, lhs.type, lhs.value, rhs.value);
  return build<arith::MinUIOp>(context, lhs.type, lhs.value, rhs.value);
}

Tile andTiles(OpContext &context, const Tile &lhs, const Tile &rhs) {
  return build<arith::AndIOp>(context, lhs.type, lhs.value, rhs.value);
}
Tile orTiles(OpContext &context, const Tile &lhs, const Tile &rhs) {
  return build<arith::OrIOp>(context, lhs.type, lhs.value, rhs.value);
}
Tile xorTiles(OpContext &context, const Tile &lhs, const Tile &rhs) {
  return build<arith::XOrIOp>(context, lhs.type, lhs.value, rhs.value);
}

Tile compareTiles(OpContext &context, BinaryOperator op, const Tile &lhs, const Tile &rhs) {
  Type type = lhs.type.withElement(int1());
  if (lhs.type.isFloat()) {
    using P = arith::CmpFPredicate;
    P predicate = op == BinaryOperator::Lt    ? P::OLT
                  : op == BinaryOperator::LtE ? P::OLE
                  : op == BinaryOperator::Gt  ? P::OGT
                  : op == BinaryOperator::GtE ? P::OGE
                  : op == BinaryOperator::Eq  ? P::OEQ
                                              : P::UNE;
    mlir::Value value =
        context.builder.create<arith::CmpFOp>(context.loc, predicate, lhs.value, rhs.value);
    return {value, type};
  }
  using P = arith::CmpIPredicate;
  bool isSigned = lhs.type.isSigned();
  P predicate = op == BinaryOperator::Lt    ? (isSigned ? P::slt : P::ult)
                : op == BinaryOperator::LtE ? (isSigned ? P::sle : P::ule)
                : op == BinaryOperator::Gt  ? (isSigned ? P::sgt : P::ugt)
                : op == BinaryOperator::GtE ? (isSigned ? P::sge : P::uge)
                : op == BinaryOperator::Eq  ? P::eq
                                            : P::ne;
  mlir::Value value =
      context.builder.create<arith::CmpIOp>(context.loc, predicate, lhs.value, rhs.value);
  return {value, type};
}

Tile select(OpContext &context, const Tile &condition, const Tile &lhs, const Tile &rhs) {
  mlir::Value value =
      context.builder.create<arith::SelectOp>(context.loc, condition.value, lhs.value, rhs.value);
  return {value, lhs.type};
}

Tile addPointer(OpContext &context, const Tile &pointer, const Tile &offset) {
  return build<tile::AddPtrOp>(context, pointer.type, pointer.value, offset.value,
                               /*isUnsigned=*/!offset.type.isSigned());
}

// --- operators ---

namespace {

// Asserts, in 64 bits, that an integer operation did not wrap.
void assertNoOverflow(OpContext &context, BinaryOperator op, const Tile &lhs, const Tile &rhs) {
  if (!context.options.sanitizeOverflow || !context.options.debug || !lhs.type.isInt() ||
      lhs.type.bits() >= 64)
    return;
  Tile a = cast(context, lhs, int64()), b = cast(context, rhs, int64());
  Tile wide = op == BinaryOperator::Add   ? addTiles(context, a, b)
              : op == BinaryOperator::Sub ? subTiles(context, a, b)
                                          : mulTiles(context, a, b);
  unsigned bits = lhs.type.bits();
  bool isSigned = lhs.type.isSigned();
  int64_t least = isSigned ? -(int64_t(1) << (bits - 1)) : 0;
  int64_t most = (int64_t(1) << (isSigned ? bits - 1 : bits)) - 1;
  Tile fits = andTiles(
      context, compareTiles(context, BinaryOperator::LtE, wide, constant(context, most, wide.type)),
      compareTiles(context, BinaryOperator::GtE, wide, constant(context, least, wide.type)));
  context.builder.create<tile::AssertOp>(
      context.loc, fits.value,
      "int" + std::to_string(bits) + " overflow detected for operation " + std::string(symbol(op)),
      mlir::Value());
}

Value arithmetic(OpContext &context, BinaryOperator op, const Value &left, const Value &right,
                 bool sanitize) {
  OperandRules rules{.lhsPointer = op != BinaryOperator::Mul,
                     .rhsPointer = op == BinaryOperator::Add};
  auto [lhs, rhs] = operands(context, left, right, symbol(op), rules);
  if (lhs.type.isPointer() || rhs.type.isPointer()) {
    if (lhs.type.isPointer() && rhs.type.isPointer())
      failOperands(symbol(op), lhs.type, rhs.type,
                   op == BinaryOperator::Sub
                       ? "for a distance subtract addresses: `a.to(tl.int64) - b.to(tl.int64)`"
                       : "a pointer moves by integers; `tl.load` reads what one points at");
    if (rhs.type.isPointer())
      std::swap(lhs, rhs);
    if (op == BinaryOperator::Sub) {
      // An unsigned offset is widened first, so that its negative is one.
      if (!rhs.type.isSigned())
        rhs = cast(context, rhs, int64());
      rhs = subTiles(context, zero(context, rhs.type), rhs);
    }
    return addPointer(context, lhs, rhs);
  }
  if (lhs.type.isF8())
    failOperands(symbol(op), lhs.type.element(), rhs.type.element(),
                 "cast first, e.g. `.to(tl.float16)`");
  if (sanitize)
    assertNoOverflow(context, op, lhs, rhs);
  switch (op) {
  case BinaryOperator::Add:
    return addTiles(context, lhs, rhs);
  case BinaryOperator::Sub:
    return subTiles(context, lhs, rhs);
  default:
    return mulTiles(context, lhs, rhs);
  }
}

Value division(OpContext &context, BinaryOperator op, const Value &left, const Value &right) {
  auto [lhs, rhs] = operands(context, left, right, symbol(op), {.divOrMod = true});
  if (lhs.type.isF8())
    failOperands(symbol(op), lhs.type.element(), rhs.type.element(),
                 "cast first, e.g. `.to(tl.float16)`");
  bool isInt = lhs.type.isInt(), isSigned = lhs.type.isSigned();
  switch (op) {
  case BinaryOperator::TrueDiv:
    if (isInt) {
      lhs = cast(context, lhs, float32());
      rhs = cast(context, rhs, float32());
    }
    return build<arith::DivFOp>(context, lhs.type, lhs.value, rhs.value);
  case BinaryOperator::FloorDiv:
    if (!isInt)
      failOperands("//", lhs.type.element(), rhs.type.element(),
                   "use `tl.floor(x / y)` for floats");
    if (isSigned)
      return build<tile::DivSIOp>(context, lhs.type, lhs.value, rhs.value);
    return build<tile::DivUIOp>(context, lhs.type, lhs.value, rhs.value);
  default:
    if (!isInt)
      return build<arith::RemFOp>(context, lhs.type, lhs.value, rhs.value);
    if (isSigned)
      return build<tile::RemSIOp>(context, lhs.type, lhs.value, rhs.value);
    return build<tile::RemUIOp>(context, lhs.type, lhs.value, rhs.value);
  }
}

Value bitwise(OpContext &context, BinaryOperator op, const Value &left, const Value &right) {
  auto [lhs, rhs] = operands(context, left, right, symbol(op));
  if (!lhs.type.isInt())
    failOperands(symbol(op), left.isTile() ? left.asTile().type.element() : lhs.type.element(),
                 right.isTile() ? right.asTile().type.element() : rhs.type.element(),
                 "bits of a float: `.to(tl.int32, bitcast=True)`");
  switch (op) {
  case BinaryOperator::And:
    return andTiles(context, lhs, rhs);
  case BinaryOperator::Or:
    return orTiles(context, lhs, rhs);
  case BinaryOperator::Xor:
    return xorTiles(context, lhs, rhs);
  case BinaryOperator::LShift:
    return build<tile::ShLOp>(context, lhs.type, lhs.value, rhs.value);
  default:
    break;
  }
  // The tile on the left decides how to shift; for `5 >> x` it is the one on the right.
  Type decides = left.isTile()    ? left.asTile().type
                 : right.isTile() ? right.asTile().type
                                  : lhs.type;
  if (decides.isSigned())
    return build<tile::ShRSOp>(context, lhs.type, lhs.value, rhs.value);
  return build<tile::ShRUOp>(context, lhs.type, lhs.value, rhs.value);
}

Tile truth(OpContext &context, const Value &value, std::string_view operation) {
  return cast(context, tileArgument(context, value, operation), int1());
}

} // namespace

Value binary(OpContext &context, BinaryOperator op, const Value &lhs, const Value &rhs) {
  switch (op) {
  case BinaryOperator::Add:
  case BinaryOperator::Sub:
  case BinaryOperator::Mul:
    return arithmetic(context, op, lhs, rhs, true);
  case BinaryOperator::TrueDiv:
  case BinaryOperator::FloorDiv:
  case BinaryOperator::Mod:
    return division(context, op, lhs, rhs);
  case BinaryOperator::LShift:
  case BinaryOperator::RShift:
  case BinaryOperator::And:
  case BinaryOperator::Or:
  case BinaryOperator::Xor:
    return bitwise(context, op, lhs, rhs);
  case BinaryOperator::Lt:
  case BinaryOperator::LtE:
  case BinaryOperator::Gt:
  case BinaryOperator::GtE:
  case BinaryOperator::Eq:
  case BinaryOperator::NotEq: {
    // Numbers have their own type here, so `i8 < 300` compares in int32.
    auto [a, b] = operands(context, lhs, rhs, symbol(op), {.weak = false});
    if (a.type.isF8()) {
      a = cast(context, a, float32());
      b = cast(context, b, float32());
    }
    return compareTiles(context, op, a, b);
  }
  case BinaryOperator::LogicalAnd:
  case BinaryOperator::LogicalOr: {
    auto [a, b] = broadcastPair(context, truth(context, lhs, symbol(op)),
                                truth(context, rhs, symbol(op)), symbol(op));
    return op == BinaryOperator::LogicalAnd ? andTiles(context, a, b) : orTiles(context, a, b);
  }
  case BinaryOperator::Pow:
    fail("UnsupportedOperator", "`**` is not defined on tiles",
         "multiply, use `libdevice.pow(x, y)`, or `tl.exp2(y * tl.log2(x))` for positive x");
  case BinaryOperator::MatMul:
    fail("UnsupportedOperator", "`@` is not defined on tiles", "use `tl.dot(a, b)`");
  }
  fail("UnsupportedOperator", quote(symbol(op)) + " is not defined on tiles");
}

Value unary(OpContext &context, UnaryOperator op, const Value &operand) {
  if (op == UnaryOperator::Not) {
    Tile value = truth(context, operand, "not");
    return xorTiles(context, value, constant(context, 1, value.type));
  }
  std::string_view name = op == UnaryOperator::Neg ? "-" : op == UnaryOperator::Pos ? "+" : "~";
  Tile value = tileArgument(context, operand, "operand");
  Type element = value.type.element();
  if (op == UnaryOperator::Pos)
    return value;
  if (element.isPointer() || value.type.isDescriptor() || element.isF8() ||
      (op == UnaryOperator::Invert && element.isFloat()))
    fail("OperandTypes", "operand of " + quote(name) + " has type " + quote(element));
  if (op == UnaryOperator::Invert) {
    // All ones in the operand's width.
    Type type = value.type;
    Integer ones = element.isSigned() ? Integer(-1) : Integer::shiftLeft(1, element.bits()) - 1;
    return xorTiles(context, value, constant(context, Value(ones), type));
  }
  // 0 - x, as Triton computes it: the negative of +0.0 is +0.0.
  Tile none = zero(context, value.type);
  assertNoOverflow(context, BinaryOperator::Sub, none, value);
  return subTiles(context, none, value);
}

// --- rows: the operators as functions ---

namespace {

template <BinaryOperator Op> Value buildArithmetic(OpContext &context, Args args) {
  return arithmetic(context, Op, args[0], args[1], boolArgument(args[2], "sanitize_overflow"));
}

Value buildLogicalAnd(OpContext &context, Args args) {
  return binary(context, BinaryOperator::LogicalAnd, args[0], args[1]);
}
Value buildLogicalOr(OpContext &context, Args args) {
  return binary(context, BinaryOperator::LogicalOr, args[0], args[1]);
}

constexpr Row OperatorTable[] = {
    {"add", "arithmetic", "x, y, sanitize_overflow=True", buildArithmetic<BinaryOperator::Add>,
     "`x + y`."},
    {"sub", "arithmetic", "x, y, sanitize_overflow=True", buildArithmetic<BinaryOperator::Sub>,
     "`x - y`."},
    {"mul", "arithmetic", "x, y, sanitize_overflow=True", buildArithmetic<BinaryOperator::Mul>,
     "`x * y`."},
    {"tensor.logical_and", "arithmetic", "self, other", buildLogicalAnd, "`x and y`.", true},
    {"tensor.logical_or", "arithmetic", "self, other", buildLogicalOr, "`x or y`.", true},
};

} // namespace

std::span<const Row> operatorRows() { return OperatorTable; }

} // namespace nereid::ops
