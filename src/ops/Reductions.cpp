// Reductions and scans: built-in combine functions as IR, user functions through `Callable`.

#include "ops/Build.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>

using namespace mlir;

namespace nereid::ops {
namespace {

/// Combines left values with right values, one of each a source.
using Combine = std::function<std::vector<Tile>(std::span<const Tile>, std::span<const Tile>)>;

void fillRegion(OpContext &context, Region &region, std::span<const Tile> sources,
                const Combine &combine) {
  OpBuilder::InsertionGuard guard(context.builder);
  size_t n = sources.size();
  SmallVector<mlir::Type> types;
  for (size_t i = 0; i < 2 * n; ++i)
    types.push_back(lowered(context, sources[i % n].type.element()));
  Block *block = context.builder.createBlock(&region, region.end(), types,
                                             SmallVector<Location>(2 * n, context.loc));
  std::vector<Tile> arguments;
  for (size_t i = 0; i < 2 * n; ++i)
    arguments.push_back({block->getArgument(unsigned(i)), sources[i % n].type.element()});
  std::vector<Tile> results =
      combine(std::span(arguments).first(n), std::span(arguments).subspan(n));
  SmallVector<mlir::Value> values;
  for (const Tile &result : results)
    values.push_back(result.value);
  context.builder.create<tile::YieldOp>(context.loc, values);
}

std::vector<Tile> reduceTiles(OpContext &context, std::vector<Tile> sources,
                              std::optional<int64_t> axis, bool keepDims, bool reorder,
                              std::string_view operation, const Combine &combine) {
  std::vector<int64_t> shape = sources[0].type.shape();
  for (const Tile &source : sources)
    if (source.type.shape() != shape)
      fail("IncompatibleShapes", "all tiles of " + quote(operation) + " must have one shape, but " +
                                     shapeText(shape) + " and " + shapeText(source.type.shape()) +
                                     " were given");
  if (shape.empty())
    fail("AxisOutOfRange",
         quote(operation) + " needs a tile, but got a scalar of type " + quote(sources[0].type),
         "a scalar is one value; `pointer + tl.arange(0, N)` loads a tile");
  size_t rank = shape.size();
  size_t along = 0;
  if (axis) {
    along = size_t(wrapAxis(*axis, rank, operation));
  } else if (rank > 1) {
    for (Tile &source : sources)
      source = reshape(context, source, {source.type.numel()}, reorder);
  }
  std::vector<int64_t> rest;
  if (axis) {
    rest = shape;
    rest.erase(rest.begin() + std::ptrdiff_t(along));
  }
  SmallVector<mlir::Value> values;
  SmallVector<mlir::Type> types;
  std::vector<Type> results;
  for (const Tile &source : sources) {
    values.push_back(source.value);
    results.push_back(source.type.withShape(rest));
    types.push_back(lowered(context, results.back()));
  }
  auto op = context.builder.create<tile::ReduceOp>(context.loc, types, values, uint32_t(along));
  fillRegion(context, op.getCombine(), sources, combine);
  std::vector<Tile> out;
  for (size_t i = 0; i < results.size(); ++i) {
    Tile result{op.getResult(unsigned(i)), results[i]};
    if (keepDims && axis)
      result = expandDims(context, result, int64_t(along));
    else if (keepDims)
      result = splat(context, result, std::vector<int64_t>(rank, 1));
    out.push_back(result);
  }
  return out;
}

std::vector<Tile> scanTiles(OpContext &context, std::span<const Tile> sources, int64_t axis,
                            bool reverse, std::string_view operation, const Combine &combine) {
  const std::vector<int64_t> &shape = sources[0].type.shape();
  SmallVector<mlir::Value> values;
  SmallVector<mlir::Type> types;
  for (const Tile &source : sources) {
    if (source.type.shape() != shape)
      fail("IncompatibleShapes", "all tiles of " + quote(operation) + " must have one shape, but " +
                                     shapeText(shape) + " and " + shapeText(source.type.shape()) +
                                     " were given");
    values.push_back(source.value);
    types.push_back(source.value.getType());
  }
  if (shape.empty())
    fail("AxisOutOfRange",
         quote(operation) + " needs a tile, but got a scalar of type " + quote(sources[0].type),
         "a scalar is one value; `pointer + tl.arange(0, N)` loads a tile");
  auto op = context.builder.create<tile::ScanOp>(
      context.loc, types, values, uint32_t(wrapAxis(axis, shape.size(), operation)), reverse);
  fillRegion(context, op.getCombine(), sources, combine);
  std::vector<Tile> out;
  for (size_t i = 0; i < sources.size(); ++i)
    out.push_back({op.getResult(unsigned(i)), sources[i].type});
  return out;
}

// A user's function as a combine region.
Combine userCombine(OpContext &context, const Value &function, std::string_view operation) {
  auto *callable = function.as<Callable>();
  if (!callable)
    fail("WrongArgument",
         "`combine_fn` of " + quote(operation) + " must be a function, not " + describe(function),
         "pass the name of a `@triton.jit` function");
  return [&context, callable, operation](std::span<const Tile> lhs, std::span<const Tile> rhs) {
    std::vector<Value> arguments(lhs.begin(), lhs.end());
    arguments.insert(arguments.end(), rhs.begin(), rhs.end());
    std::vector<Value> values = listOrOne(callable->call(context, std::move(arguments), {}));
    if (values.size() != lhs.size())
      fail("CombineResult",
           quote(callable->name()) + " combines " + std::to_string(lhs.size()) +
               (lhs.size() == 1 ? " value" : " values") + " but returns " +
               std::to_string(values.size()),
           "return one value for each tile that is reduced");
    std::vector<Tile> results;
    for (size_t i = 0; i < values.size(); ++i) {
      Tile result = tileArgument(context, values[i], "result");
      if (lowered(context, result.type) != lowered(context, lhs[i].type))
        fail("CombineResult",
             quote(callable->name()) + " must return " + quote(lhs[i].type) + " as value " +
                 std::to_string(i) + ", but returns " + quote(result.type),
             "cast the result: `.to(" + lhs[i].type.str() + ")`, or the input of " +
                 quote(operation));
      results.push_back(result);
    }
    return results;
  };
}

std::vector<Tile> tileList(OpContext &context, const Value &input) {
  std::vector<Tile> tiles;
  for (const Value &item : listOrOne(input))
    tiles.push_back(tileArgument(context, item, "input"));
  if (tiles.empty())
    fail("WrongArgument", "`input` is an empty tuple");
  return tiles;
}

Value asValue(const Value &input, const std::vector<Tile> &tiles) {
  if (!input.isTuple() && !input.isList())
    return tiles[0];
  return Value::tuple({tiles.begin(), tiles.end()});
}

std::optional<int64_t> optionalAxis(const Value &axis) {
  if (axis.isNone())
    return std::nullopt;
  return intArgument(axis, "axis");
}

Value buildReduce(OpContext &context, Args args) {
  return asValue(args[0], reduceTiles(context, tileList(context, args[0]), optionalAxis(args[1]),
                                      boolArgument(args[3], "keep_dims"), /*reorder=*/false,
                                      "tl.reduce", userCombine(context, args[2], "tl.reduce")));
}

Value buildScan(OpContext &context, Args args) {
  return asValue(args[0],
                 scanTiles(context, tileList(context, args[0]), intArgument(args[1], "axis"),
                           boolArgument(args[3], "reverse"), "tl.associative_scan",
                           userCombine(context, args[2], "tl.associative_scan")));
}

// --- built-in reductions ---

// Integers narrower than 32 bits are summed in 32, keeping their sign.
Tile promoteForSum(OpContext &context, const Tile &input, const Value &dtype) {
  if (!dtype.isNone())
    return cast(context, input, typeArgument(dtype, "dtype"));
  if (input.type.isInt() && input.type.bits() < 32)
    return cast(context, input, intType(32, input.type.isSigned()));
  return input;
}

void requireNumbers(const Tile &tile, std::string_view operation) {
  if (tile.type.isPointer() || tile.type.isDescriptor() || tile.type.isF8())
    fail("UnsupportedDType", quote(operation) + " does not take " + quote(tile.type.element()),
         tile.type.isF8() ? "cast first: `x.to(tl.float32)`" : "");
}

Combine one(OpContext &context, Tile (*combine)(OpContext &, const Tile &, const Tile &)) {
  return [&context, combine](std::span<const Tile> lhs, std::span<const Tile> rhs) {
    return std::vector<Tile>{combine(context, lhs[0], rhs[0])};
  };
}

Value buildSum(OpContext &context, Args args) {
  Tile input = promoteForSum(context, tileArgument(context, args[0], "input"), args[3]);
  requireNumbers(input, "tl.sum");
  return reduceTiles(context, {input}, optionalAxis(args[1]), boolArgument(args[2], "keep_dims"),
                     true, "tl.sum", one(context, addTiles))[0];
}

template <auto CombineTiles>
Value reduceBits(OpContext &context, Args args, std::string_view operation) {
  Tile input = tileArgument(context, args[0], "input");
  if (!input.type.isInt())
    fail("UnsupportedDType",
         quote(operation) + " takes integers, not " + quote(input.type.element()));
  return reduceTiles(context, {input}, optionalAxis(args[1]), boolArgument(args[2], "keep_dims"),
                     true, operation, one(context, CombineTiles))[0];
}

Value buildXorSum(OpContext &context, Args args) {
  return reduceBits<xorTiles>(context, args, "tl.xor_sum");
}
Value buildReduceOr(OpContext &context, Args args) {
  return reduceBits<orTiles>(context, args, "tl.reduce_or");
}

/// What a call asks of the greatest or least of a row and its place.
struct PlacedExtremum {
  std::string_view operation; ///< "tl.argmax", for messages
  bool isMax, tieBreakLeft, keepDims;
};

std::vector<Tile> extremumWithIndex(OpContext &context, const Tile &source, const Value &axisValue,
                                    const PlacedExtremum &wanted) {
  std::string_view operation = wanted.operation;
  Tile input = promoteBFloat16(context, source);
  requireNumbers(input, operation);
  const std::vector<int64_t> &shape = input.type.shape();
  if (axisValue.isNone() && shape.size() != 1)
    fail("MissingArgument", quote(operation) + " with indices needs an `axis`");
  int64_t axis =
      axisValue.isNone() ? 0 : wrapAxis(intArgument(axisValue, "axis"), shape.size(), operation);
  Tile index = arange(context, 0, shape[axis]);
  std::vector<int64_t> extents(shape.size(), 1);
  extents[axis] = shape[axis];
  index = broadcastTo(context, reshape(context, index, extents, false), shape);
  // Where neither is better the right one stays, unless an equal left one has a lower index. NaN is
  // no candidate, as in `max` without indices.
  auto combine = [&](std::span<const Tile> lhs, std::span<const Tile> rhs) {
    Tile better = compareTiles(context, wanted.isMax ? BinaryOperator::Gt : BinaryOperator::Lt,
                               lhs[0], rhs[0]);
    if (wanted.tieBreakLeft) {
      Tile tie = andTiles(context, compareTiles(context, BinaryOperator::Eq, lhs[0], rhs[0]),
                          compareTiles(context, BinaryOperator::Lt, lhs[1], rhs[1]));
      better = orTiles(context, better, tie);
    }
    if (rhs[0].type.isFloat())
      better =
          orTiles(context, better, compareTiles(context, BinaryOperator::NotEq, rhs[0], rhs[0]));
    return std::vector<Tile>{select(context, better, lhs[0], rhs[0]),
                             select(context, better, lhs[1], rhs[1])};
  };
  return reduceTiles(context, {input, index}, axis, wanted.keepDims, false, operation, combine);
}

Value extremum(OpContext &context, Args args, bool isMax) {
  std::string_view operation = isMax ? "tl.max" : "tl.min";
  if (args[1].isTile() || args[1].isFloat())
    fail("WrongArgument", "`axis` of " + quote(operation) + " is " + describe(args[1]),
         "`" + std::string(operation) + "imum(x, y)` compares two values");
  Tile input = tileArgument(context, args[0], "input");
  bool keepDims = boolArgument(args[4], "keep_dims");
  if (boolArgument(args[2], "return_indices")) {
    auto pair =
        extremumWithIndex(context, input, args[1],
                          {.operation = operation,
                           .isMax = isMax,
                           .tieBreakLeft = boolArgument(args[3], "return_indices_tie_break_left"),
                           .keepDims = keepDims});
    return Value::tuple({pair[0], pair[1]});
  }
  requireNumbers(input, operation);
  if (input.type.bits() < 32)
    input = cast(context, input, input.type.isFloat() ? float32() : int32());
  auto combine = [&](std::span<const Tile> lhs, std::span<const Tile> rhs) {
    return std::vector<Tile>{isMax ? maxTiles(context, lhs[0], rhs[0], false)
                                   : minTiles(context, lhs[0], rhs[0], false)};
  };
  return reduceTiles(context, {input}, optionalAxis(args[1]), keepDims, true, operation,
                     combine)[0];
}

Value buildMax(OpContext &context, Args args) { return extremum(context, args, true); }
Value buildMin(OpContext &context, Args args) { return extremum(context, args, false); }

Value extremumIndex(OpContext &context, Args args, bool isMax) {
  return extremumWithIndex(context, tileArgument(context, args[0], "input"), args[1],
                           {.operation = isMax ? "tl.argmax" : "tl.argmin",
                            .isMax = isMax,
                            .tieBreakLeft = boolArgument(args[2], "tie_break_left"),
                            .keepDims = boolArgument(args[3], "keep_dims")})[1];
}

Value buildArgmax(OpContext &context, Args args) { return extremumIndex(context, args, true); }
Value buildArgmin(OpContext &context, Args args) { return extremumIndex(context, args, false); }

// --- built-in scans ---

Value buildCumsum(OpContext &context, Args args) {
  Tile input = promoteBFloat16(context, tileArgument(context, args[0], "input"));
  input = promoteForSum(context, input, args[3]);
  requireNumbers(input, "tl.cumsum");
  return scanTiles(context, std::span(&input, 1), intArgument(args[1], "axis"),
                   boolArgument(args[2], "reverse"), "tl.cumsum", one(context, addTiles))[0];
}

Value buildCumprod(OpContext &context, Args args) {
  Tile input = promoteBFloat16(context, tileArgument(context, args[0], "input"));
  if (!args[3].isNone())
    input = promoteForSum(context, input, args[3]);
  requireNumbers(input, "tl.cumprod");
  return scanTiles(context, std::span(&input, 1), intArgument(args[1], "axis"),
                   boolArgument(args[2], "reverse"), "tl.cumprod", one(context, mulTiles))[0];
}

Value buildHistogram(OpContext &context, Args args) {
  Tile input = tileArgument(context, args[0], "input");
  int64_t bins = intArgument(args[1], "num_bins");
  if (input.type.shape().size() != 1 || !input.type.isInt())
    fail("WrongArgument",
         "`tl.histogram` takes a tile of integers of rank one, not " + quote(input.type));
  checkShape(std::span(&bins, 1));
  auto mask = optionalTile(context, args[2], "mask");
  if (mask) {
    if (!mask->type.isBool())
      fail("MaskNotBoolean", "`mask` has type " + quote(mask->type.element()) + ", not `int1`",
           "compare it: `mask != 0`");
    *mask = broadcastTo(context, *mask, input.type.shape());
  }
  return build<tile::HistogramOp>(context, Type::block({bins}, int32()), input.value,
                                  mask ? mask->value : mlir::Value());
}

constexpr std::string_view Extremum = "input, axis=None, return_indices=False, "
                                      "return_indices_tie_break_left=True, keep_dims=False";
constexpr std::string_view Bits = "input, axis=None, keep_dims=False";

constexpr Row ReductionRows[] = {
    {"sum", "reduction", "input, axis=None, keep_dims=False, dtype=None", buildSum,
     "Sum along an axis, or of all elements.", true},
    {"max", "reduction", Extremum, buildMax,
     "Greatest element along an axis; with `return_indices` also where.", true},
    {"min", "reduction", Extremum, buildMin,
     "Least element along an axis; with `return_indices` also where.", true},
    {"argmax", "reduction", "input, axis, tie_break_left=True, keep_dims=False", buildArgmax,
     "Index of the greatest element along an axis.", true},
    {"argmin", "reduction", "input, axis, tie_break_left=True, keep_dims=False", buildArgmin,
     "Index of the least element along an axis.", true},
    {"xor_sum", "reduction", Bits, buildXorSum, "Exclusive or of integers along an axis.", true},
    {"reduce_or", "reduction", Bits, buildReduceOr, "Or of integers along an axis.", true},
    {"reduce", "reduction", "input, axis, combine_fn, keep_dims=False", buildReduce,
     "Elements along an axis combined by a function of the program; takes a tuple of tiles too.",
     true},
    {"histogram", "reduction", "input, num_bins, mask=None", buildHistogram,
     "How often each of 0 to `num_bins` - 1 occurs.", true},
};

constexpr Row ScanRows[] = {
    {"associative_scan", "scan", "input, axis, combine_fn, reverse=False", buildScan,
     "Prefixes along an axis combined by a function of the program; takes a tuple of tiles too.",
     true},
    {"cumsum", "scan", "input, axis=0, reverse=False, dtype=None", buildCumsum,
     "Running sums along an axis.", true},
    {"cumprod", "scan", "input, axis=0, reverse=False, dtype=None", buildCumprod,
     "Running products along an axis.", true, Row::Status::Supported,
     "Without `dtype` narrow integers wrap, as in Triton 3.6; 3.9 widens them to 32 bits."},
};

} // namespace

std::span<const Row> reductionRows() { return ReductionRows; }
std::span<const Row> scanRows() { return ScanRows; }

} // namespace nereid::ops
