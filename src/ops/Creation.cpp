// Where a program stands in its grid, and tiles made from nothing.

#include "ops/Build.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nereid::ops {
namespace {

int32_t gridAxis(const Value &value, std::string_view operation) {
  int64_t axis = intArgument(value, "axis");
  if (axis < 0 || axis > 2)
    fail("AxisOutOfRange",
         "axis " + std::to_string(axis) + " of " + quote(operation) + " is not 0, 1 or 2",
         "a grid has three dimensions");
  return int32_t(axis);
}

Value buildProgramId(OpContext &context, Args args) {
  return build<tile::ProgramIdOp>(context, int32(), gridAxis(args[0], "program_id"));
}

Value buildNumPrograms(OpContext &context, Args args) {
  return build<tile::NumProgramsOp>(context, int32(), gridAxis(args[0], "num_programs"));
}

constexpr Row ProgramRows[] = {
    {"program_id", "program", "axis", buildProgramId, "Index of this program along a grid axis."},
    {"num_programs", "program", "axis", buildNumPrograms, "Extent of the grid along an axis."},
};

Value buildArange(OpContext &context, Args args) {
  return arange(context, intArgument(args[0], "start"), intArgument(args[1], "end"));
}

Tile full(OpContext &context, const Value &shape, const Value &value, const Value &dtype) {
  std::vector<int64_t> extents = shapeArgument(shape, "shape");
  Type element = typeArgument(dtype, "dtype");
  if (element.isBlock() || element.isVoid())
    fail("WrongArgument", "`dtype` must be a type of elements, not " + quote(element));
  if (value.isNumber())
    return constant(context, value, Type::block(extents, element));
  Tile scalar = tileArgument(context, value, "value");
  if (scalar.type.numel() != 1)
    fail("NotOneElement",
         "`value` must be one element, but has shape " + shapeText(scalar.type.shape()),
         "use `tl.broadcast_to`");
  return splat(context, unsplat(context, cast(context, scalar, element)), extents);
}

Value buildFull(OpContext &context, Args args) { return full(context, args[0], args[1], args[2]); }

Value buildZeros(OpContext &context, Args args) { return full(context, args[0], 0, args[1]); }

Value buildZerosLike(OpContext &context, Args args) {
  return zero(context, tileArgument(context, args[0], "input").type);
}

Value buildToTensor(OpContext &context, Args args) { return tileArgument(context, args[0], "x"); }

Value buildCast(OpContext &context, Args args) {
  Tile value = tileArgument(context, args[0], "input");
  Type target = typeArgument(args[1], "dtype").element();
  std::string rounding = optionalStr(args[2], "fp_downcast_rounding");
  if (boolArgument(args[3], "bitcast"))
    return bitcast(context, value, target);
  return castRounded(context, value, target, rounding);
}

constexpr std::string_view CastSignature = "input, dtype, fp_downcast_rounding=None, bitcast=False";

constexpr Row CreationRows[] = {
    {"arange", "creation", "start, end", buildArange,
     "The integers from `start` up to `end`; a power of two of them."},
    {"full", "creation", "shape, value, dtype", buildFull,
     "A tile whose elements are all `value`."},
    {"zeros", "creation", "shape, dtype", buildZeros, "A tile of zeros."},
    {"zeros_like", "creation", "input", buildZerosLike,
     "Zeros of the shape and type of another tile."},
    {"cast", "creation", CastSignature, buildCast,
     "The tile in another type; `bitcast=True` keeps the bits.", true},
    {"tensor.to", "creation", CastSignature, buildCast, "`tl.cast` as a method.", true},
    {"to_tensor", "creation", "x", buildToTensor, "A number as a scalar tile; tiles pass."},
};

} // namespace

std::span<const Row> programRows() { return ProgramRows; }
std::span<const Row> creationRows() { return CreationRows; }

} // namespace nereid::ops
