// Loads and stores through pointers and block pointers.

#include "ops/Build.h"
#include "ops/Objects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace nereid::ops {

// --- block pointers ---

std::vector<Tile> BlockPointer::tiles() const {
  std::vector<Tile> all = {base};
  for (auto *part : {&shape, &strides, &offsets})
    all.insert(all.end(), part->begin(), part->end());
  return all;
}

Value BlockPointer::withTiles(std::span<const Tile> tiles) const {
  auto copy = std::make_shared<BlockPointer>(*this);
  size_t rank = blockShape.size();
  copy->base = tiles[0];
  copy->shape.assign(tiles.begin() + 1, tiles.begin() + 1 + rank);
  copy->strides.assign(tiles.begin() + 1 + rank, tiles.begin() + 1 + 2 * rank);
  copy->offsets.assign(tiles.begin() + 1 + 2 * rank, tiles.end());
  return Value(std::move(copy));
}

bool BlockPointer::sameShape(const Aggregate &other) const {
  auto *block = dynamic_cast<const BlockPointer *>(&other);
  return block && block->type() == type();
}

namespace {

// --- options spelled as strings ---

template <typename T> struct Choice {
  std::string_view text;
  T value;
};

template <typename T, size_t N>
T choose(const Value &argument, std::string_view parameter, const Choice<T> (&choices)[N],
         T otherwise) {
  std::string text = optionalStr(argument, parameter);
  if (text.empty())
    return otherwise;
  std::string all;
  for (const Choice<T> &choice : choices) {
    // Triton 3.9 leaves the dot out.
    if (choice.text == text || (choice.text.starts_with('.') && choice.text.substr(1) == text))
      return choice.value;
    all += (all.empty() ? "" : ", ") + quote(choice.text);
  }
  fail("WrongArgument", quote(parameter) + " is " + quote(text), "it can be " + all);
}

constexpr Choice<tile::CacheModifier> LoadCaches[] = {{".ca", tile::CacheModifier::CA},
                                                      {".cg", tile::CacheModifier::CG},
                                                      {".cs", tile::CacheModifier::CS},
                                                      {".cv", tile::CacheModifier::CV},
                                                      {"none", tile::CacheModifier::None}};
constexpr Choice<tile::CacheModifier> StoreCaches[] = {{".wb", tile::CacheModifier::WB},
                                                       {".cg", tile::CacheModifier::CG},
                                                       {".cs", tile::CacheModifier::CS},
                                                       {".wt", tile::CacheModifier::WT},
                                                       {"none", tile::CacheModifier::None}};
constexpr Choice<tile::EvictionPolicy> Evictions[] = {
    {"evict_first", tile::EvictionPolicy::First},
    {"evict_last", tile::EvictionPolicy::Last},
    {"evict_normal", tile::EvictionPolicy::Normal}};

enum class Padding { None, Zero, Nan };
constexpr Choice<Padding> Paddings[] = {{"zero", Padding::Zero}, {"nan", Padding::Nan}};

template <typename Attr, typename T> Attr attr(OpContext &context, T value) {
  return Attr::get(context.builder.getContext(), value);
}

Type pointerElement(const Tile &pointer, std::string_view operation) {
  if (!pointer.type.isPointer()) {
    std::string hint =
        pointer.type.isDescriptor() ? "a tensor descriptor has methods: `desc.load(offsets)`"
        : pointer.type.isInt() && pointer.type.bits() == 64
            ? "a launch takes the tensor itself, not its `data_ptr()`; an address becomes a "
              "pointer by `x.to(tl.pointer_type(tl.float32))`"
            : "a pointer is a tensor argument, or one plus offsets; a loaded value is none";
    fail("NotAPointer", quote(operation) + " needs a pointer, but got " + describe(Value(pointer)),
         std::move(hint));
  }
  Type element = pointer.type.pointee();
  if (element.isVoid() || element.isBlock())
    fail("NotAPointer", quote(operation) + " can't access " + quote(pointer.type.element()));
  return element;
}

void requireMask(const Tile &mask) {
  if (!mask.type.isBool())
    fail("MaskNotBoolean", "`mask` has type " + quote(mask.type.element()) + ", not `int1`",
         "compare it: `mask != 0`");
}

void refuseBlock(const std::optional<Tile> &tile, std::string_view parameter,
                 std::string_view operation) {
  if (tile && tile->type.isBlock())
    fail("IncompatibleShapes",
         quote(parameter) + " of " + quote(operation) + " has shape " +
             shapeText(tile->type.shape()) + ", but the pointer is a scalar",
         "add `tl.arange` to the pointer");
}

// Gives the pointers and what goes with them one shape.
void joinPointers(OpContext &context, Tile &pointer, Tile &tile, std::string_view parameter,
                  std::string_view operation) {
  try {
    std::tie(pointer, tile) = broadcastPair(context, pointer, tile, operation);
  } catch (const OpError &failure) {
    if (failure.code != "IncompatibleShapes")
      throw;
    fail(failure.code,
         quote(parameter) + " of " + quote(operation) + " has shape " +
             shapeText(tile.type.shape()) + ", but the pointers have shape " +
             shapeText(pointer.type.shape()),
         parameter == "mask" ? "compute the mask from the offsets that the pointers have"
                             : "the pointers decide the shape; broadcast them first");
  }
}

Tile loadTile(OpContext &context, const Tile &pointer, const Type &element,
              const std::optional<Tile> &mask, const std::optional<Tile> &other,
              tile::CacheModifier cache, tile::EvictionPolicy evict, bool isVolatile) {
  return build<tile::LoadOp>(
      context, pointer.type.withElement(element), pointer.value, mask ? mask->value : mlir::Value(),
      other ? other->value : mlir::Value(), attr<tile::CacheModifierAttr>(context, cache),
      attr<tile::EvictionPolicyAttr>(context, evict),
      isVolatile ? context.builder.getUnitAttr() : UnitAttr());
}

void storeTile(OpContext &context, const Tile &pointer, const Tile &value,
               const std::optional<Tile> &mask, tile::CacheModifier cache,
               tile::EvictionPolicy evict) {
  context.builder.create<tile::StoreOp>(context.loc, pointer.value, value.value,
                                        mask ? mask->value : mlir::Value(),
                                        attr<tile::CacheModifierAttr>(context, cache),
                                        attr<tile::EvictionPolicyAttr>(context, evict));
}

// --- block pointers: from offsets to pointers and a mask ---

std::vector<int64_t> boundaryDims(const Value &argument, size_t rank) {
  std::vector<int64_t> dims;
  for (const Value &item : listOrOne(argument)) {
    if (item.isNone())
      continue;
    int64_t dim = intArgument(item, "boundary_check");
    if (dim < 0 || dim >= int64_t(rank))
      fail("AxisOutOfRange", "`boundary_check` names dimension " + std::to_string(dim) +
                                 " of a block of rank " + std::to_string(rank));
    if (std::ranges::find(dims, dim) != dims.end())
      fail("WrongArgument", "`boundary_check` names dimension " + std::to_string(dim) + " twice");
    dims.push_back(dim);
  }
  return dims;
}

struct BlockAccess {
  Tile pointers;
  std::optional<Tile> mask;
};

BlockAccess resolve(OpContext &context, const BlockPointer &block, const Value &boundaryCheck) {
  const std::vector<int64_t> &shape = block.blockShape;
  std::vector<int64_t> checked = boundaryDims(boundaryCheck, shape.size());
  // One dimension's tile, spread over the block.
  auto spread = [&](Tile tile, size_t dim) {
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != dim)
        tile = expandDims(context, tile, int64_t(d));
    return broadcastTo(context, tile, shape);
  };
  BlockAccess access;
  std::optional<Tile> offsets;
  for (size_t d = 0; d < shape.size(); ++d) {
    Tile index = cast(context, arange(context, 0, shape[d]), int64());
    std::span<const int64_t> line(&shape[d], 1);
    index = addTiles(context, splat(context, block.offsets[d], line), index);
    Tile step = mulTiles(context, index, splat(context, block.strides[d], line));
    Tile wide = spread(step, d);
    offsets = offsets ? addTiles(context, *offsets, wide) : wide;
    if (std::ranges::find(checked, int64_t(d)) == checked.end())
      continue;
    Tile inside = andTiles(
        context, compareTiles(context, BinaryOperator::GtE, index, zero(context, index.type)),
        compareTiles(context, BinaryOperator::Lt, index, splat(context, block.shape[d], line)));
    inside = spread(inside, d);
    access.mask = access.mask ? andTiles(context, *access.mask, inside) : inside;
  }
  access.pointers = addPointer(context, splat(context, block.base, shape), *offsets);
  return access;
}

Value loadBlock(OpContext &context, const BlockPointer &block, Args args) {
  if (!args[1].isNone() || !args[2].isNone())
    fail("WrongArgument", "`mask` and `other` are not for block pointers",
         "use `boundary_check` and `padding_option`");
  Type element = block.base.type.pointee();
  Padding padding = choose(args[4], "padding_option", Paddings, Padding::None);
  if (padding == Padding::Nan && !isStandardFloat(element))
    fail("WrongArgument", "`padding_option=\"nan\"` needs float elements, not " + quote(element));
  BlockAccess access = resolve(context, block, args[3]);
  std::optional<Tile> other;
  if (padding == Padding::Nan && access.mask)
    other = constant(context, std::numeric_limits<double>::quiet_NaN(),
                     Type::block(block.blockShape, element));
  return loadTile(context, access.pointers, element, access.mask, other,
                  choose(args[5], "cache_modifier", LoadCaches, tile::CacheModifier::None),
                  choose(args[6], "eviction_policy", Evictions, tile::EvictionPolicy::Normal),
                  boolArgument(args[7], "volatile"));
}

Value storeBlock(OpContext &context, const BlockPointer &block, Args args) {
  if (!args[2].isNone())
    fail("WrongArgument", "`mask` is not for block pointers", "use `boundary_check`");
  Tile value = tileArgument(context, args[1], "value");
  if (value.type.isBlock() && value.type.shape() != block.blockShape)
    fail("IncompatibleShapes", "`value` has shape " + shapeText(value.type.shape()) +
                                   ", but the block has shape " + shapeText(block.blockShape));
  value = cast(context, broadcastTo(context, value, block.blockShape), block.base.type.pointee());
  BlockAccess access = resolve(context, block, args[3]);
  storeTile(context, access.pointers, value, access.mask,
            choose(args[4], "cache_modifier", StoreCaches, tile::CacheModifier::None),
            choose(args[5], "eviction_policy", Evictions, tile::EvictionPolicy::Normal));
  return None{};
}

// --- load and store ---

bool isEmpty(const Value &value) {
  return value.isNone() || ((value.isTuple() || value.isList()) && value.items().empty());
}

void refuseBlockOptions(const Value &boundaryCheck, std::string_view operation) {
  if (!isEmpty(boundaryCheck))
    fail("WrongArgument", "`boundary_check` of " + quote(operation) + " is for block pointers only",
         "pass a `mask`");
}

Value buildLoad(OpContext &context, Args args) {
  if (auto *block = args[0].as<BlockPointer>())
    return loadBlock(context, *block, args);
  Tile pointer = args[0].isTile() ? args[0].asTile() : tileArgument(context, args[0], "pointer");
  Type element = pointerElement(pointer, "tl.load");
  refuseBlockOptions(args[3], "tl.load");
  if (!optionalStr(args[4], "padding_option").empty())
    fail("WrongArgument", "`padding_option` of `tl.load` is for block pointers only",
         "pass a `mask` and `other`");
  auto mask = optionalTile(context, args[1], "mask");
  if (!args[2].isNone() && !mask)
    fail("OtherWithoutMask", "`other` of `tl.load` is given without a `mask`",
         "`other` is the value of masked elements; drop it or add a mask");
  if (mask) {
    requireMask(*mask);
    if (!pointer.type.isBlock())
      refuseBlock(mask, "mask", "tl.load");
    joinPointers(context, pointer, *mask, "mask", "tl.load");
  }
  std::optional<Tile> other;
  if (args[2].isNumber()) {
    other = castNumber(context, args[2], pointer.type.withElement(element));
  } else if (!args[2].isNone()) {
    other = cast(context, tileArgument(context, args[2], "other"), element);
    if (!pointer.type.isBlock())
      refuseBlock(other, "other", "tl.load");
    joinPointers(context, pointer, *other, "other", "tl.load");
    joinPointers(context, pointer, *mask, "mask", "tl.load");
  }
  return loadTile(context, pointer, element, mask, other,
                  choose(args[5], "cache_modifier", LoadCaches, tile::CacheModifier::None),
                  choose(args[6], "eviction_policy", Evictions, tile::EvictionPolicy::Normal),
                  boolArgument(args[7], "volatile"));
}

Value buildStore(OpContext &context, Args args) {
  if (auto *block = args[0].as<BlockPointer>())
    return storeBlock(context, *block, args);
  Tile pointer = args[0].isTile() ? args[0].asTile() : tileArgument(context, args[0], "pointer");
  if (!pointer.type.isPointer() && args[1].isTile() && args[1].asTile().type.isPointer())
    fail("NotAPointer", "`tl.store` needs a pointer first, but got " + describe(args[0]),
         "the order is `tl.store(pointer, value)`");
  Type element = pointerElement(pointer, "tl.store");
  if (pointer.type.isConstPointer())
    fail("ConstPointer", "`tl.store` writes through a constant pointer",
         "a parameter annotated `tl.const` gives one, an array that is not writeable too");
  refuseBlockOptions(args[3], "tl.store");
  if (args[1].isTile() && args[1].asTile().type.isPointer() && !element.isPointer() &&
      !element.isInt())
    fail("CannotCast",
         "`value` of `tl.store` is a " +
             std::string(args[1].asTile().type.isBlock() ? "tile of pointers" : "pointer") + ", " +
             quote(args[1].asTile().type.element()) + ", where the memory holds " + quote(element),
         "what it points at is read with `tl.load(...)`");
  Tile value = args[1].isNumber() ? castNumber(context, args[1], pointer.type.withElement(element))
                                  : cast(context, tileArgument(context, args[1], "value"), element);
  auto mask = optionalTile(context, args[2], "mask");
  if (mask)
    requireMask(*mask);
  if (!pointer.type.isBlock()) {
    refuseBlock(value, "value", "tl.store");
    refuseBlock(mask, "mask", "tl.store");
  }
  std::vector<int64_t> shape = pointer.type.shape();
  auto fit = [&](Tile &tile, std::string_view parameter) {
    Tile spread = pointer;
    joinPointers(context, spread, tile, parameter, "tl.store");
    if (spread.type.shape() != shape)
      fail("IncompatibleShapes",
           quote(parameter) + " of `tl.store` has shape " + shapeText(tile.type.shape()) +
               ", but the pointers have shape " + shapeText(shape),
           "the pointers decide the shape; broadcast them first");
  };
  fit(value, "value");
  if (mask)
    fit(*mask, "mask");
  storeTile(context, pointer, value, mask,
            choose(args[4], "cache_modifier", StoreCaches, tile::CacheModifier::None),
            choose(args[5], "eviction_policy", Evictions, tile::EvictionPolicy::Normal));
  return None{};
}

// --- making and moving block pointers ---

std::vector<Tile> int64Scalars(OpContext &context, const Value &list, std::string_view parameter) {
  std::vector<Tile> scalars;
  for (const Value &item : listOrOne(list)) {
    if (item.isNumber() && !item.isFloat()) {
      scalars.push_back(constant(context, item, int64()));
      continue;
    }
    Tile tile = tileArgument(context, item, parameter);
    if (!tile.type.isInt())
      fail("WrongArgument",
           quote(parameter) + " must hold integers, not " + quote(tile.type.element()));
    scalars.push_back(cast(context, unsplat(context, tile), int64()));
  }
  return scalars;
}

Value buildMakeBlockPtr(OpContext &context, Args args) {
  auto block = std::make_shared<BlockPointer>();
  block->base = tileArgument(context, args[0], "base");
  pointerElement(block->base, "tl.make_block_ptr");
  if (block->base.type.isBlock())
    fail("WrongArgument", "`base` of `tl.make_block_ptr` must be a scalar pointer, but has shape " +
                              shapeText(block->base.type.shape()));
  block->shape = int64Scalars(context, args[1], "shape");
  block->strides = int64Scalars(context, args[2], "strides");
  block->offsets = int64Scalars(context, args[3], "offsets");
  for (const Value &extent : listOrOne(args[4]))
    block->blockShape.push_back(intArgument(extent, "block_shape"));
  checkShape(block->blockShape);
  std::vector<int64_t> order; // dimensions from the fastest: a hint, which nothing here needs
  for (const Value &dim : listOrOne(args[5]))
    order.push_back(intArgument(dim, "order"));
  size_t rank = block->blockShape.size();
  if (rank == 0 || block->shape.size() != rank || block->strides.size() != rank ||
      block->offsets.size() != rank || order.size() != rank)
    fail("WrongArgument",
         "`shape`, `strides`, `offsets`, `block_shape` and `order` have " +
             std::to_string(block->shape.size()) + ", " + std::to_string(block->strides.size()) +
             ", " + std::to_string(block->offsets.size()) + ", " + std::to_string(rank) + " and " +
             std::to_string(order.size()) + " entries",
         "give one for each dimension");
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (size_t d = 0; d < rank; ++d)
    if (sorted[d] != int64_t(d))
      fail("NotAPermutation",
           "`order` " + shapeText(order) + " is not a permutation of the dimensions",
           "the usual order of a row-major matrix is `(1, 0)`");
  return Value(std::move(block));
}

Value buildAdvance(OpContext &context, Args args) {
  auto *block = args[0].as<BlockPointer>();
  if (!block)
    fail("WrongArgument", "`tl.advance` moves a block pointer, not " + describe(args[0]),
         "add to a pointer with `+`");
  auto moved = std::make_shared<BlockPointer>(*block);
  std::vector<Tile> steps = int64Scalars(context, args[1], "offsets");
  if (steps.size() != moved->offsets.size())
    fail("WrongArgument", "`offsets` has " + std::to_string(steps.size()) +
                              " entries for a block of rank " +
                              std::to_string(moved->offsets.size()));
  for (size_t d = 0; d < steps.size(); ++d)
    moved->offsets[d] = addTiles(context, moved->offsets[d], steps[d]);
  return Value(std::move(moved));
}

constexpr std::string_view LoadSignature =
    "pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', "
    "eviction_policy='', volatile=False";
constexpr std::string_view StoreSignature =
    "pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy=''";

constexpr Row MemoryTable[] = {
    {"load", "memory", LoadSignature, buildLoad,
     "Reads memory through pointers or a block pointer; masked elements read as `other`, or as 0."},
    {"store", "memory", StoreSignature, buildStore,
     "Writes memory through pointers or a block pointer where the mask holds.", true},
    {"make_block_ptr", "memory", "base, shape, strides, offsets, block_shape, order",
     buildMakeBlockPtr, "A pointer to a block of a parent tensor.", false, Row::Status::Supported,
     "Offsets may be 64 bits wide; Triton 3.6 takes 32."},
    {"advance", "memory", "base, offsets", buildAdvance,
     "The block pointer moved by offsets in elements."},
    {"block_ptr.load", "memory", LoadSignature, buildLoad, "`tl.load` as a method."},
    {"block_ptr.store", "memory", StoreSignature, buildStore, "`tl.store` as a method."},
    {"block_ptr.advance", "memory", "base, offsets", buildAdvance, "`tl.advance` as a method."},
};

} // namespace

std::span<const Row> memoryRows() { return MemoryTable; }

} // namespace nereid::ops
