// Shape operations and the family of shapes.

#include "ops/Build.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

using namespace mlir;

namespace nereid::ops {

// Constants fold, so that a splat of a literal is one constant in the IR.
template <typename Op, typename... Args>
static Tile buildFolded(OpContext &context, Type type, Args &&...args) {
  mlir::Value value = context.builder.createOrFold<Op>(context.loc, lowered(context, type),
                                                       std::forward<Args>(args)...);
  return {value, std::move(type)};
}

Tile splat(OpContext &context, const Tile &scalar, std::span<const int64_t> shape) {
  if (shape.empty())
    return scalar;
  Type type = Type::block({shape.begin(), shape.end()}, scalar.type);
  return buildFolded<tile::SplatOp>(context, type, scalar.value);
}

Tile unsplat(OpContext &context, const Tile &tile) {
  if (!tile.type.isBlock())
    return tile;
  if (tile.type.numel() != 1)
    fail("NotOneElement", "a tile of shape " + shapeText(tile.type.shape()) +
                              " can't become a scalar, since it has " +
                              std::to_string(tile.type.numel()) + " elements");
  return build<tile::UnsplatOp>(context, tile.type.element(), tile.value);
}

Tile expandDims(OpContext &context, const Tile &tile, int64_t axis) {
  std::vector<int64_t> shape = tile.type.shape();
  shape.insert(shape.begin() + axis, 1);
  if (!tile.type.isBlock())
    return splat(context, tile, shape);
  return build<tile::ExpandDimsOp>(context, tile.type.withShape(shape), tile.value, uint32_t(axis));
}

Tile reshape(OpContext &context, const Tile &tile, std::vector<int64_t> shape, bool reorder) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  if (count != tile.type.numel())
    fail("ReshapeCount", "cannot reshape " + shapeText(tile.type.shape()) + ", which has " +
                             std::to_string(tile.type.numel()) + " elements, to " +
                             shapeText(shape) + ", which has " + std::to_string(count));
  if (shape.empty())
    return unsplat(context, tile);
  if (!tile.type.isBlock())
    return splat(context, tile, shape);
  return buildFolded<tile::ReshapeOp>(context, tile.type.withShape(std::move(shape)), tile.value,
                                      reorder);
}

Tile permute(OpContext &context, const Tile &tile, std::span<const int64_t> dims) {
  const auto &from = tile.type.shape();
  std::vector<int64_t> shape;
  SmallVector<int32_t> perm;
  std::set<int64_t> seen;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= int64_t(from.size()) || !seen.insert(dim).second)
      break;
    shape.push_back(from[dim]);
    perm.push_back(int32_t(dim));
  }
  if (perm.size() != dims.size() || dims.size() != from.size())
    fail("NotAPermutation",
         shapeText(dims) + " is not a permutation of the dimensions of a tile of shape " +
             shapeText(from),
         "name each of the dimensions 0 to " + std::to_string(int64_t(from.size()) - 1) + " once");
  if (from.empty())
    return tile;
  return buildFolded<tile::TransOp>(context, tile.type.withShape(shape), tile.value,
                                    ArrayRef<int32_t>(perm));
}

Tile arange(OpContext &context, int64_t start, int64_t end) {
  if (start < INT32_MIN || start > INT32_MAX || end < INT32_MIN || end > INT32_MAX)
    fail("ArangeRange", "`tl.arange(" + std::to_string(start) + ", " + std::to_string(end) +
                            ")` does not fit int32");
  if (end <= start)
    fail("ArangeRange",
         "`tl.arange(" + std::to_string(start) + ", " + std::to_string(end) + ")` is empty",
         "the end must be greater than the start");
  checkShape(std::array{end - start});
  return build<tile::ArangeOp>(context, Type::block({end - start}, int32()), int32_t(start),
                               int32_t(end));
}

static Tile broadcastShape(OpContext &context, const Tile &tile, std::span<const int64_t> shape) {
  if (std::ranges::equal(tile.type.shape(), shape))
    return tile;
  return buildFolded<tile::BroadcastOp>(context, tile.type.withShape({shape.begin(), shape.end()}),
                                        tile.value);
}

Tile broadcastTo(OpContext &context, const Tile &tile, std::span<const int64_t> shape) {
  if (!tile.type.isBlock())
    return splat(context, tile, shape);
  const auto &from = tile.type.shape();
  bool fits = from.size() == shape.size();
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i] == shape[i] || from[i] == 1;
  if (!fits)
    fail("IncompatibleShapes",
         "cannot broadcast a tile of shape " + shapeText(from) + " to " + shapeText(shape),
         from.size() < shape.size() ? "add dimensions with `x[:, None]` or `tl.expand_dims`" : "");
  return broadcastShape(context, tile, shape);
}

std::pair<Tile, Tile> broadcastPair(OpContext &context, Tile lhs, Tile rhs,
                                    std::string_view operation) {
  if (!lhs.type.isBlock() && !rhs.type.isBlock())
    return {lhs, rhs};
  if (!rhs.type.isBlock())
    return {lhs, splat(context, rhs, lhs.type.shape())};
  if (!lhs.type.isBlock())
    return {splat(context, lhs, rhs.type.shape()), rhs};
  std::vector<int64_t> a = lhs.type.shape(), b = rhs.type.shape();
  // The shorter shape gains leading dimensions.
  while (a.size() < b.size())
    a.insert(a.begin(), 1);
  while (b.size() < a.size())
    b.insert(b.begin(), 1);
  std::vector<int64_t> common;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      fail("IncompatibleShapes",
           "shapes " + shapeText(lhs.type.shape()) + " and " + shapeText(rhs.type.shape()) +
               " of " + quote(operation) + " differ in dimension " + std::to_string(i) + ": " +
               std::to_string(a[i]) + " and " + std::to_string(b[i]),
           a.size() == 1 ? "make one a column with `[:, None]` and the other a row with `[None, :]`"
                         : "");
    common.push_back(std::max(a[i], b[i]));
  }
  checkShape(common);
  while (lhs.type.shape().size() < common.size())
    lhs = expandDims(context, lhs, 0);
  while (rhs.type.shape().size() < common.size())
    rhs = expandDims(context, rhs, 0);
  lhs = broadcastShape(context, lhs, common);
  return {lhs, broadcastShape(context, rhs, common)};
}

void broadcastAll(OpContext &context, std::span<Tile> tiles, std::string_view operation) {
  // Forward to find the common shape, once more to give it to all.
  for (int pass = 0; pass < 2; ++pass)
    for (size_t i = 1; i < tiles.size(); ++i)
      std::tie(tiles[0], tiles[i]) = broadcastPair(context, tiles[0], tiles[i], operation);
}

Value subscript(OpContext &context, const Value &value, const Value &index) {
  Tile tile = tileArgument(context, value, "x");
  std::vector<Value> items;
  if (index.isTuple())
    items.assign(index.items().begin(), index.items().end());
  else
    items = {index};
  auto isWhole = [](const Value &item) {
    auto *slice = item.as<Slice>();
    return slice && slice->start.isNone() && slice->stop.isNone() && slice->step.isNone();
  };
  // As in Triton, a `:` beyond the rank stands for nothing, so that one line serves tiles and
  // scalars.
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].isNone()) {
      // Triton inserts into the shape of a scalar wherever that is.
      size_t rank = tile.type.shape().size();
      if (i > rank && rank != 0)
        fail("TileIndex", "`None` is at place " + std::to_string(i) +
                              " of the index, but the tile has rank " + std::to_string(rank) +
                              " there");
      tile = expandDims(context, tile, int64_t(std::min(i, rank)));
      continue;
    }
    if (isWhole(items[i]))
      continue;
    if (tile.type.isPointer())
      fail("TileIndex",
           "a pointer can't be indexed with " + describe(items[i]) + " as an array can",
           "memory is read with `tl.load(pointer + index)` and written with `tl.store(pointer + "
           "index, value)`");
    fail("TileIndex",
         "a tile can only be indexed with `:` and `None`, not with " + describe(items[i]),
         "load the elements you need, or use `tl.gather`; `tl.split` takes a tile apart");
  }
  return tile;
}

// --- rows ---

namespace {

Value buildBroadcast(OpContext &context, Args args) {
  auto [lhs, rhs] = broadcastPair(context, tileArgument(context, args[0], "input"),
                                  tileArgument(context, args[1], "other"), "broadcast");
  return Value::tuple({lhs, rhs});
}

Value buildBroadcastTo(OpContext &context, Args args) {
  std::vector<int64_t> shape = variadicInts(args[1], "shape");
  checkShape(shape);
  return broadcastTo(context, tileArgument(context, args[0], "input"), shape);
}

Value buildExpandDims(OpContext &context, Args args) {
  Tile tile = tileArgument(context, args[0], "input");
  std::vector<Value> axes = listOrOne(args[1]);
  size_t rank = tile.type.shape().size() + axes.size();
  std::set<int64_t> sorted;
  for (const Value &value : axes) {
    int64_t axis = wrapAxis(intArgument(value, "axis"), rank, "expand_dims");
    if (!sorted.insert(axis).second)
      fail("WrongArgument", "`axis` names dimension " + std::to_string(axis) +
                                " of the result twice: " + args[1].repr());
  }
  for (int64_t axis : sorted)
    tile = expandDims(context, tile, axis);
  return tile;
}

Value buildUnsqueeze(OpContext &context, Args args) {
  Tile tile = tileArgument(context, args[0], "x");
  return expandDims(
      context, tile,
      wrapAxis(intArgument(args[1], "dim"), tile.type.shape().size() + 1, "unsqueeze"));
}

Value buildSqueeze(OpContext &context, Args args) {
  Tile tile = tileArgument(context, args[0], "x");
  std::vector<int64_t> shape = tile.type.shape();
  int64_t axis = wrapAxis(intArgument(args[1], "dim"), shape.size(), "squeeze");
  if (shape[axis] != 1)
    fail("WrongArgument", "`tl.squeeze` removes a dimension of extent 1, but dimension " +
                              std::to_string(axis) + " of " + shapeText(shape) + " is larger");
  shape.erase(shape.begin() + axis);
  return reshape(context, tile, shape, false);
}

Value buildPermute(OpContext &context, Args args) {
  return permute(context, tileArgument(context, args[0], "input"), variadicInts(args[1], "dims"));
}

Value buildTrans(OpContext &context, Args args) {
  Tile tile = tileArgument(context, args[0], "input");
  std::vector<int64_t> dims = variadicInts(args[1], "dims");
  if (dims.empty()) {
    size_t rank = tile.type.shape().size();
    if (rank < 2)
      fail("NotAPermutation",
           "`tl.trans` without dimensions swaps the last two, but the tile has rank " +
               std::to_string(rank));
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(int64_t(i));
    std::swap(dims[rank - 1], dims[rank - 2]);
  }
  return permute(context, tile, dims);
}

Value reshapeArguments(OpContext &context, const Value &input, const Value &shape, bool reorder) {
  std::vector<int64_t> extents = variadicInts(shape, "shape");
  checkShape(extents);
  return reshape(context, tileArgument(context, input, "input"), extents, reorder);
}

Value buildReshape(OpContext &context, Args args) {
  return reshapeArguments(context, args[0], args[1], boolArgument(args[2], "can_reorder"));
}

Value buildView(OpContext &context, Args args) {
  return reshapeArguments(context, args[0], args[1], true);
}

Value buildRavel(OpContext &context, Args args) {
  Tile tile = tileArgument(context, args[0], "x");
  return reshape(context, tile, {tile.type.numel()}, boolArgument(args[1], "can_reorder"));
}

Value buildItem(OpContext &context, Args args) {
  return unsplat(context, tileArgument(context, args[0], "input"));
}

Tile join(OpContext &context, Tile lhs, Tile rhs, std::string_view operation) {
  if (!(lhs.type.element() == rhs.type.element()))
    fail("TypeMismatch",
         "both sides of " + quote(operation) + " must have the same type, but are " +
             quote(lhs.type.element()) + " and " + quote(rhs.type.element()),
         "cast one with `.to(...)`");
  std::tie(lhs, rhs) = broadcastPair(context, lhs, rhs, operation);
  std::vector<int64_t> shape = lhs.type.shape();
  shape.push_back(2);
  checkShape(shape);
  return build<tile::JoinOp>(context, lhs.type.withShape(shape), lhs.value, rhs.value);
}

Value buildJoin(OpContext &context, Args args) {
  return join(context, tileArgument(context, args[0], "a"), tileArgument(context, args[1], "b"),
              "join");
}

Value buildInterleave(OpContext &context, Args args) {
  Tile joined = join(context, tileArgument(context, args[0], "a"),
                     tileArgument(context, args[1], "b"), "interleave");
  std::vector<int64_t> shape = joined.type.shape();
  if (shape.size() == 1)
    return joined;
  shape.pop_back();
  shape.back() *= 2;
  return reshape(context, joined, shape, false);
}

Value buildSplit(OpContext &context, Args args) {
  Tile tile = tileArgument(context, args[0], "a");
  std::vector<int64_t> shape = tile.type.shape();
  if (shape.empty() || shape.back() != 2)
    fail("SplitShape",
         "`tl.split` needs a last dimension of extent 2, but the shape is " + shapeText(shape),
         "reshape to `[..., 2]` first");
  shape.pop_back();
  Type half = tile.type.withShape(shape);
  auto op = context.builder.create<tile::SplitOp>(context.loc, lowered(context, half),
                                                  lowered(context, half), tile.value);
  return Value::tuple({Tile{op.getLhs(), half}, Tile{op.getRhs(), half}});
}

Value buildCat(OpContext &context, Args args) {
  Tile lhs = tileArgument(context, args[0], "input"), rhs = tileArgument(context, args[1], "other");
  std::vector<int64_t> shape = lhs.type.shape();
  // `can_reorder` allows another order, which is never made use of.
  boolArgument(args[2], "can_reorder");
  if (shape.empty() || shape.size() != rhs.type.shape().size())
    fail("IncompatibleShapes", "`tl.cat` takes two tiles of one rank, not of shapes " +
                                   shapeText(shape) + " and " + shapeText(rhs.type.shape()));
  if (!(lhs.type.element() == rhs.type.element()))
    fail("TypeMismatch", "both sides of `cat` must have the same type, but are " +
                             quote(lhs.type.element()) + " and " + quote(rhs.type.element()));
  size_t dim = size_t(wrapAxis(intArgument(args[3], "dim"), shape.size(), "cat"));
  if (shape.size() == 1) {
    shape[0] += rhs.type.numel();
    checkShape(shape);
    return build<tile::CatOp>(context, lhs.type.withShape(shape), lhs.value, rhs.value);
  }
  if (shape != rhs.type.shape())
    fail("IncompatibleShapes", "`tl.cat` takes two tiles of one shape, not of " + shapeText(shape) +
                                   " and " + shapeText(rhs.type.shape()));
  // Which of the two becomes the dimension before `dim`, and both become one.
  Tile joined = join(context, lhs, rhs, "cat");
  std::vector<int64_t> dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  dims.insert(dims.begin() + dim, int64_t(shape.size()));
  shape[dim] *= 2;
  return reshape(context, permute(context, joined, dims), shape, false);
}

Value buildGather(OpContext &context, Args args) {
  Tile source = tileArgument(context, args[0], "src"),
       index = tileArgument(context, args[1], "index");
  if (!index.type.isInt())
    fail("WrongArgument",
         "`index` of `tl.gather` must hold integers, not " + quote(index.type.element()));
  const auto &from = source.type.shape(), &at = index.type.shape();
  if (from.size() != at.size() || from.empty())
    fail("IncompatibleShapes", "`src` and `index` of `tl.gather` differ in rank: " +
                                   shapeText(from) + " and " + shapeText(at));
  int64_t axis = wrapAxis(intArgument(args[2], "axis"), from.size(), "gather");
  for (size_t d = 0; d < from.size(); ++d)
    if (int64_t(d) != axis && from[d] != at[d])
      fail("IncompatibleShapes", "`src` of shape " + shapeText(from) + " and `index` of shape " +
                                     shapeText(at) + " differ in dimension " + std::to_string(d) +
                                     ", which is not the axis");
  return build<tile::GatherOp>(context, source.type.withShape(at), source.value, index.value,
                               uint32_t(axis));
}

constexpr Row ShapeTable[] = {
    {"broadcast", "shape", "input, other", buildBroadcast, "Both tiles at their common shape."},
    {"broadcast_to", "shape", "input, *shape", buildBroadcastTo,
     "The tile with dimensions of extent 1 repeated to `shape`.", true},
    {"expand_dims", "shape", "input, axis", buildExpandDims,
     "The tile with new dimensions of extent 1 at `axis`, one place or several.", true},
    {"unsqueeze", "shape", "x, dim", buildUnsqueeze,
     "The tile with a new dimension of extent 1 at `dim`.", true},
    {"squeeze", "shape", "x, dim", buildSqueeze,
     "The tile without its dimension `dim` of extent 1.", true},
    {"permute", "shape", "input, *dims", buildPermute,
     "Dimensions in the order `dims`: result dimension i is input dimension `dims[i]`.", true},
    {"trans", "shape", "input, *dims", buildTrans,
     "`permute`; without `dims` the last two dimensions change places.", true},
    {"reshape", "shape", "input, *shape, can_reorder=False", buildReshape,
     "The same elements in row-major order under another shape.", true},
    {"view", "shape", "input, *shape", buildView, "`reshape` that may reorder elements.", true,
     Row::Status::Supported, "Deprecated; `reshape(..., can_reorder=True)` is today's spelling."},
    {"ravel", "shape", "x, can_reorder=False", buildRavel, "All elements in one dimension.", true},
    {"item", "shape", "input", buildItem, "The only element of a tile, as a scalar.", true},
    {"join", "shape", "a, b", buildJoin,
     "Two tiles stacked along a new last dimension of extent 2."},
    {"split", "shape", "a", buildSplit,
     "The two halves of a last dimension of extent 2; the inverse of `join`.", true},
    {"interleave", "shape", "a, b", buildInterleave,
     "Elements of two tiles in turn along the last dimension."},
    {"cat", "shape", "input, other, can_reorder=False, dim=0", buildCat,
     "Two tiles one after another along `dim`.", false, Row::Status::Supported,
     "The order is kept even with `can_reorder=True`."},
    {"gather", "shape", "src, index, axis", buildGather,
     "Elements of `src` picked by `index` along `axis`.", true},
};

} // namespace

std::span<const Row> shapeRows() { return ShapeTable; }

} // namespace nereid::ops
