// Tensor descriptors.

#include "ops/Build.h"

using namespace mlir;

namespace nereid::ops {
namespace {

bool isOneOf(const Type &type, std::initializer_list<DType> dtypes) {
  for (DType dtype : dtypes)
    if (type.isScalarKind() && type.dtype() == dtype)
      return true;
  return false;
}

Tile descriptorArgument(const Value &value, std::string_view operation) {
  if (value.isTile() && value.asTile().type.isDescriptor())
    return value.asTile();
  fail("WrongArgument", quote(operation) + " needs a tensor descriptor, not " + describe(value),
       "make one with `tl.make_tensor_descriptor`, or pass one from the host");
}

Tile int32Offset(OpContext &context, const Value &value, std::string_view parameter) {
  if (value.isInt())
    return constant(context, value, int32());
  Tile tile = unsplat(context, tileArgument(context, value, parameter));
  if (!tile.type.isInt() || tile.type.bits() > 32)
    fail("WrongArgument",
         quote(parameter) + " of a tensor descriptor must be 32-bit integers, not " +
             quote(tile.type),
         tile.type.isInt() ? "add `.to(tl.int32)`" : "");
  return cast(context, tile, int32());
}

SmallVector<mlir::Value> offsetsArgument(OpContext &context, const Tile &desc,
                                         const Value &offsets) {
  std::vector<Value> items = listOrOne(offsets);
  size_t rank = desc.type.shape().size();
  if (items.size() != rank)
    fail("WrongArgument", "`offsets` has " + std::to_string(items.size()) +
                              " entries for a descriptor of rank " + std::to_string(rank));
  SmallVector<mlir::Value> values;
  for (const Value &item : items)
    values.push_back(int32Offset(context, item, "offsets").value);
  return values;
}

// A block to write: of the descriptor's shape and type.
Tile blockArgument(OpContext &context, const Tile &desc, const Value &argument,
                   std::string_view operation) {
  Tile value = tileArgument(context, argument, "value");
  if (value.type.shape() != desc.type.shape())
    fail("IncompatibleShapes",
         "`value` of " + quote(operation) + " has shape " + shapeText(value.type.shape()) +
             ", but the descriptor's block has shape " + shapeText(desc.type.shape()));
  return cast(context, value, desc.type.element());
}

Value buildMake(OpContext &context, Args args) {
  Tile base = tileArgument(context, args[0], "base");
  if (!base.type.isPointer() || base.type.isBlock())
    fail("NotAPointer", "`base` of `tl.make_tensor_descriptor` must be a scalar pointer, not " +
                            describe(args[0]));
  Type element = base.type.pointee();
  auto shape = listArgument(args[1], "shape"), strides = listArgument(args[2], "strides");
  std::vector<int64_t> block = shapeArgument(args[3], "block_shape");
  size_t rank = shape.size();
  if (rank < 1 || rank > 5 || strides.size() != rank || block.size() != rank)
    fail("WrongArgument",
         "`shape`, `strides` and `block_shape` have " + std::to_string(rank) + ", " +
             std::to_string(strides.size()) + " and " + std::to_string(block.size()) + " entries",
         "give one for each of 1 to 5 dimensions");
  int64_t bytes = block.back() * int64_t(element.bits() + 7) / 8;
  if (bytes < 16)
    fail("DescriptorBlock",
         "the last dimension of a descriptor's block must have at least 16 bytes, but " +
             std::to_string(block.back()) + " x " + quote(element) + " has " +
             std::to_string(bytes),
         "use a larger block");
  const Value &last = strides[rank - 1];
  if (!last.isInt() || !(last.asInteger() == Integer(1)))
    fail("DescriptorStride",
         "the last stride of a tensor descriptor must be the constant 1, not " + describe(last),
         "write `1`; the last dimension is contiguous");
  std::string padding = optionalStr(args[4], "padding_option");
  if (!padding.empty() && padding != "zero" && padding != "nan")
    fail("WrongArgument", "`padding_option` is " + quote(padding), "it can be `zero` or `nan`");
  if (padding == "nan" && !isStandardFloat(element))
    fail("WrongArgument", "`padding_option=\"nan\"` needs float elements, not " + quote(element));
  auto scalars = [&](std::span<const Value> values, std::string_view parameter) {
    SmallVector<mlir::Value> out;
    for (const Value &value : values) {
      if (value.isInt()) {
        out.push_back(constant(context, value, int64()).value);
        continue;
      }
      Tile tile = unsplat(context, tileArgument(context, value, parameter));
      if (!tile.type.isInt())
        fail("WrongArgument", quote(parameter) + " must hold integers, not " + quote(tile.type));
      out.push_back(cast(context, tile, int64()).value);
    }
    return out;
  };
  Type type = Type::descriptor(block, element, unsigned(rank), padding == "nan");
  return build<tile::MakeDescOp>(context, type, base.value, scalars(shape, "shape"),
                                 scalars(strides, "strides"));
}

Value buildDescriptorLoad(OpContext &context, Args args) {
  Tile desc = descriptorArgument(args[0], "load");
  auto *mlirContext = context.builder.getContext();
  return build<tile::DescLoadOp>(
      context, Type::block(desc.type.shape(), desc.type.element()), desc.value,
      offsetsArgument(context, desc, args[1]),
      tile::CacheModifierAttr::get(mlirContext, tile::CacheModifier::None),
      tile::EvictionPolicyAttr::get(mlirContext, tile::EvictionPolicy::Normal));
}

Value buildDescriptorStore(OpContext &context, Args args) {
  Tile desc = descriptorArgument(args[0], "store");
  Tile value = blockArgument(context, desc, args[2], "store");
  context.builder.create<tile::DescStoreOp>(context.loc, desc.value,
                                            offsetsArgument(context, desc, args[1]), value.value);
  return None{};
}

enum class Reduction { Add, Min, Max, And, Or, Xor };

template <Reduction Op> Value buildReduce(OpContext &context, Args args) {
  constexpr std::string_view names[] = {"atomic_add", "atomic_min", "atomic_max",
                                        "atomic_and", "atomic_or",  "atomic_xor"};
  std::string_view name = names[size_t(Op)];
  Tile desc = descriptorArgument(args[0], name);
  Type element = desc.type.element();
  using enum DType;
  bool allowed = Op == Reduction::Add
                     ? isOneOf(element, {UInt32, Int32, UInt64, Float32, Float16, BFloat16})
                 : Op == Reduction::Min || Op == Reduction::Max
                     ? isOneOf(element, {UInt32, Int32, UInt64, Int64, Float16, BFloat16})
                     : isOneOf(element, {UInt32, Int32, UInt64, Int64});
  if (!allowed)
    fail("UnsupportedDType",
         quote("desc." + std::string(name)) + " does not take " + quote(element));
  using Kind = tile::AtomicKind;
  bool isFloat = element.isFloat(), isSigned = element.isSigned();
  Kind kind = Op == Reduction::Add   ? (isFloat ? Kind::FAdd : Kind::Add)
              : Op == Reduction::Min ? (isFloat    ? Kind::FMin
                                        : isSigned ? Kind::Min
                                                   : Kind::UMin)
              : Op == Reduction::Max ? (isFloat    ? Kind::FMax
                                        : isSigned ? Kind::Max
                                                   : Kind::UMax)
              : Op == Reduction::And ? Kind::And
              : Op == Reduction::Or  ? Kind::Or
                                     : Kind::Xor;
  Tile value = blockArgument(context, desc, args[2], name);
  context.builder.create<tile::DescReduceOp>(
      context.loc, tile::AtomicKindAttr::get(context.builder.getContext(), kind), desc.value,
      offsetsArgument(context, desc, args[1]), value.value);
  return None{};
}

// The rows of a gather or scatter, after checking that the hardware could do it.
Tile rowsArgument(OpContext &context, const Tile &desc, const Value &argument,
                  std::string_view operation) {
  const auto &block = desc.type.shape();
  if (block.size() != 2 || block[0] != 1)
    fail("DescriptorBlock",
         quote(operation) + " needs a descriptor whose block is one row, but it is " +
             shapeText(block),
         "make it with `block_shape=[1, columns]`");
  Tile rows = tileArgument(context, argument, "x_offsets");
  if (rows.type.shape().size() != 1 || !rows.type.isInt() || rows.type.bits() > 32)
    fail("WrongArgument", "`x_offsets` of " + quote(operation) +
                              " must be a tile of rank one of 32-bit integers, not " +
                              quote(rows.type));
  int64_t leastColumns = 32 / int64_t(desc.type.bits()) * 8;
  if (rows.type.numel() < 8 || block[1] < leastColumns)
    fail("DescriptorBlock", quote(operation) + " of " + quote(desc.type.element()) +
                                " needs at least 8 rows and " + std::to_string(leastColumns) +
                                " columns, but has " + std::to_string(rows.type.numel()) + " and " +
                                std::to_string(block[1]));
  return cast(context, rows, int32());
}

Value buildDescriptorGather(OpContext &context, Args args) {
  Tile desc = descriptorArgument(args[0], "gather");
  Tile rows = rowsArgument(context, desc, args[1], "desc.gather");
  Type type = Type::block({rows.type.numel(), desc.type.shape()[1]}, desc.type.element());
  checkShape(type.shape());
  return build<tile::DescGatherOp>(context, type, desc.value, rows.value,
                                   int32Offset(context, args[2], "y_offset").value);
}

Value buildScatter(OpContext &context, Args args) {
  Tile desc = descriptorArgument(args[0], "scatter");
  Tile value = tileArgument(context, args[1], "value");
  Tile rows = rowsArgument(context, desc, args[2], "desc.scatter");
  std::vector<int64_t> shape = {rows.type.numel(), desc.type.shape()[1]};
  if (value.type.shape() != shape)
    fail("IncompatibleShapes", "`value` of `desc.scatter` has shape " +
                                   shapeText(value.type.shape()) + ", not " + shapeText(shape));
  value = cast(context, value, desc.type.element());
  context.builder.create<tile::DescScatterOp>(context.loc, desc.value, rows.value,
                                              int32Offset(context, args[3], "y_offset").value,
                                              value.value);
  return None{};
}

Value buildOldLoad(OpContext &context, Args args) {
  Value bound[] = {args[0], args[1]};
  return buildDescriptorLoad(context, bound);
}

Value buildOldStore(OpContext &context, Args args) {
  Value bound[] = {args[0], args[2], args[1]};
  return buildDescriptorStore(context, bound);
}

constexpr std::string_view ReduceSignature = "desc, offsets, value";

constexpr Row DescriptorTable[] = {
    {"make_tensor_descriptor",
     "descriptor",
     "base, shape, strides, block_shape, padding_option='zero'",
     buildMake,
     "A descriptor of a tensor in memory, read and written a block at a time.",
     false,
     Row::Status::Supported,
     {},
     "old:_experimental_make_tensor_descriptor"},
    {"load_tensor_descriptor", "descriptor", "desc, offsets", buildDescriptorLoad,
     "Reads the block at `offsets`; what is out of bounds reads as the padding."},
    {"store_tensor_descriptor", "descriptor", "desc, offsets, value", buildDescriptorStore,
     "Writes a block at `offsets`; what is out of bounds is dropped."},
    {"_experimental_descriptor_load", "descriptor", "desc, offsets, block_shape=None, dtype=None",
     buildOldLoad, "An old spelling of `desc.load`.", false, Row::Status::Partial,
     "Takes tensor descriptors, not raw pointers to TMA maps.", "old:experimental_descriptor_load"},
    {"_experimental_descriptor_store", "descriptor", "desc, value, offsets", buildOldStore,
     "An old spelling of `desc.store`.", false, Row::Status::Partial,
     "Takes tensor descriptors, not raw pointers to TMA maps.",
     "old:experimental_descriptor_store"},
    {"tensor_descriptor.load", "descriptor", "desc, offsets", buildDescriptorLoad,
     "Reads the block at `offsets`."},
    {"tensor_descriptor.store", "descriptor", "desc, offsets, value", buildDescriptorStore,
     "Writes a block at `offsets`."},
    {"tensor_descriptor.atomic_add", "descriptor", ReduceSignature, buildReduce<Reduction::Add>,
     "Adds a block to memory atomically."},
    {"tensor_descriptor.atomic_min", "descriptor", ReduceSignature, buildReduce<Reduction::Min>,
     "Lowers memory to a block atomically."},
    {"tensor_descriptor.atomic_max", "descriptor", ReduceSignature, buildReduce<Reduction::Max>,
     "Raises memory to a block atomically."},
    {"tensor_descriptor.atomic_and", "descriptor", ReduceSignature, buildReduce<Reduction::And>,
     "Bitwise and of a block into memory."},
    {"tensor_descriptor.atomic_or", "descriptor", ReduceSignature, buildReduce<Reduction::Or>,
     "Bitwise or of a block into memory."},
    {"tensor_descriptor.atomic_xor", "descriptor", ReduceSignature, buildReduce<Reduction::Xor>,
     "Bitwise exclusive or of a block into memory."},
    {"tensor_descriptor.gather", "descriptor", "desc, x_offsets, y_offset", buildDescriptorGather,
     "Reads rows `x_offsets` from column `y_offset`."},
    {"tensor_descriptor.scatter", "descriptor", "desc, value, x_offsets, y_offset", buildScatter,
     "Writes rows `x_offsets` from column `y_offset`."},
};

} // namespace

std::span<const Row> descriptorRows() { return DescriptorTable; }

} // namespace nereid::ops
