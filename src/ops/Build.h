// What the families of ops share: reading arguments, typing rules, conversions, broadcasting.
//
// Everything here follows the rules of docs/numerics.md and throws `OpError` for what the user got
// wrong.
#pragma once

#include "ops/Table.h"

#include "ir/TileOps.h"

#include <initializer_list>

namespace nereid::ops {

// --- errors ---

[[noreturn]] void fail(std::string code, std::string message, std::string hint = {});

/// `text` in back-ticks.
std::string quote(std::string_view text);
inline std::string quote(const Type &type) { return quote(type.str()); }
/// "[128, 64]".
std::string shapeText(std::span<const int64_t> shape);
/// What a value is, for a message: "`int32`", "the number 3", "`None`", "a str".
std::string describe(const Value &value);

// --- types ---

inline Type int1() { return Type::scalar(DType::Int1); }
inline Type int32() { return Type::scalar(DType::Int32); }
inline Type int64() { return Type::scalar(DType::Int64); }
inline Type uint32() { return Type::scalar(DType::UInt32); }
inline Type float16() { return Type::scalar(DType::Float16); }
inline Type float32() { return Type::scalar(DType::Float32); }

/// f16, bf16, f32 or f64.
bool isStandardFloat(const Type &type);
/// int<bits> or uint<bits>; fails for widths that have none.
Type intType(unsigned bits, bool isSigned);
/// The result type of an operation on two element types (numerics.md, "Two operands"). A weak side
/// is a number that takes the other side's type where its kind allows.
Type computationType(const Type &lhs, bool lhsWeak, const Type &rhs, bool rhsWeak, bool divOrMod,
                     std::string_view operation);
/// Fails unless each extent is a power of two and the tile is not too large.
void checkShape(std::span<const int64_t> shape);

// --- constants ---

/// The type that a number has by itself: 2**31 is u32, 2**32 i64, 2**63 u64, 1e-40 f64.
Type literalType(const Value &number);
/// A number as a scalar or tile of `type`; fails if an integer type can't hold it.
Tile constant(OpContext &context, const Value &number, const Type &type);
Tile zero(OpContext &context, const Type &type);

// --- arguments ---

/// The tile behind an argument of `operation`; numbers become scalars.
Tile tileArgument(OpContext &context, const Value &value, std::string_view parameter);
/// The tile of an optional argument: empty for None.
std::optional<Tile> optionalTile(OpContext &context, const Value &value,
                                 std::string_view parameter);
/// What to do where a run-time value stands and one that is known while compiling is wanted.
std::string constexprHint(const Tile &tile);
int64_t intArgument(const Value &value, std::string_view parameter);
bool boolArgument(const Value &value, std::string_view parameter);
const std::string &strArgument(const Value &value, std::string_view parameter);
/// A string, or "" for None.
std::string optionalStr(const Value &value, std::string_view parameter);
Type typeArgument(const Value &value, std::string_view parameter);
/// The items of a tuple or list.
std::span<const Value> listArgument(const Value &value, std::string_view parameter);
/// The items of a tuple or list, or the value itself as the only item.
std::vector<Value> listOrOne(const Value &value);
/// A list of integers known now.
std::vector<int64_t> intList(const Value &value, std::string_view parameter);
/// `*args` that may hold one list instead: `f(x, 2, 1)` and `f(x, (2, 1))`.
std::vector<int64_t> variadicInts(const Value &value, std::string_view parameter);
/// A shape: a list of integers, checked.
std::vector<int64_t> shapeArgument(const Value &value, std::string_view parameter);
/// `axis` counted from the front; negative ones count from the end.
int64_t wrapAxis(int64_t axis, size_t rank, std::string_view operation);
/// tl.PropagateNan.ALL or .NONE.
bool propagatesNan(const Value &value);

// --- building ---

/// A tile whose value has `type`.
inline Tile tile(mlir::Value value, Type type) { return {value, std::move(type)}; }
inline mlir::Type lowered(OpContext &context, const Type &type) {
  return type.lower(context.builder.getContext());
}

Tile splat(OpContext &context, const Tile &scalar, std::span<const int64_t> shape);
Tile unsplat(OpContext &context, const Tile &tile);
Tile expandDims(OpContext &context, const Tile &tile, int64_t axis);
Tile reshape(OpContext &context, const Tile &tile, std::vector<int64_t> shape, bool reorder);
Tile permute(OpContext &context, const Tile &tile, std::span<const int64_t> dims);
Tile arange(OpContext &context, int64_t start, int64_t end);
/// Both sides at their common shape.
std::pair<Tile, Tile> broadcastPair(OpContext &context, Tile lhs, Tile rhs,
                                    std::string_view operation);
/// All at their common shape.
void broadcastAll(OpContext &context, std::span<Tile> tiles, std::string_view operation);

Tile bitcast(OpContext &context, const Tile &value, const Type &element);
/// A cast with an explicit rounding: "", "rtne" or "rtz".
Tile castRounded(OpContext &context, const Tile &value, const Type &element,
                 std::string_view rounding);
/// The tile of a number by itself, cast to `type`.
Tile castNumber(OpContext &context, const Value &number, const Type &type);
Tile promoteBFloat16(OpContext &context, const Tile &value);

struct OperandRules {
  bool lhsPointer = false, rhsPointer = false; ///< may be pointers
  bool divOrMod = false;
  bool promote = true; ///< convert both sides to their computation type
  bool weak = true;    ///< a number takes the other side's type where its kind allows
};
/// Both operands of `operation` at their computation type and common shape.
std::pair<Tile, Tile> operands(OpContext &context, const Value &lhs, const Value &rhs,
                               std::string_view operation, OperandRules rules = {});

// Elementwise arithmetic on operands that already agree in type and shape.
Tile addTiles(OpContext &context, const Tile &lhs, const Tile &rhs);
Tile mulTiles(OpContext &context, const Tile &lhs, const Tile &rhs);
Tile maxTiles(OpContext &context, const Tile &lhs, const Tile &rhs, bool propagateNan);
Tile minTiles(OpContext &context, const Tile &lhs, const Tile &rhs, bool propagateNan);
Tile andTiles(OpContext &context, const Tile &lhs, const Tile &rhs);
Tile orTiles(OpContext &context, const Tile &lhs, const Tile &rhs);
Tile xorTiles(OpContext &context, const Tile &lhs, const Tile &rhs);
Tile compareTiles(OpContext &context, BinaryOperator op, const Tile &lhs, const Tile &rhs);
Tile select(OpContext &context, const Tile &condition, const Tile &lhs, const Tile &rhs);
/// A pointer moved by `offset` elements.
Tile addPointer(OpContext &context, const Tile &pointer, const Tile &offset);

/// Creates an op whose one result has `type`.
template <typename Op, typename... Args> Tile build(OpContext &context, Type type, Args &&...args) {
  auto op =
      context.builder.create<Op>(context.loc, lowered(context, type), std::forward<Args>(args)...);
  return {op->getResult(0), std::move(type)};
}

// --- families: each gives its rows ---

std::span<const Row> operatorRows();
std::span<const Row> programRows();
std::span<const Row> creationRows();
std::span<const Row> shapeRows();
std::span<const Row> memoryRows();
std::span<const Row> descriptorRows();
std::span<const Row> atomicRows();
std::span<const Row> dotRows();
std::span<const Row> mathRows();
std::span<const Row> reductionRows();
std::span<const Row> scanRows();
std::span<const Row> randomRows();
std::span<const Row> sortRows();
std::span<const Row> combineRows();
std::span<const Row> iterationRows();
std::span<const Row> hintRows();
std::span<const Row> debugRows();
std::span<const Row> elementwiseRows();
std::span<const Row> typeRows();
std::span<const Row> targetRows();
std::span<const Row> libdeviceRows();

} // namespace nereid::ops
