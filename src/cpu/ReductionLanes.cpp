// Reductions, scans and scaled products: ops that run whole.
#include "analysis/IndexedExtremum.h"
#include "cpu/Extents.h"
#include "cpu/LaneModels.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// True if `combine` may take its elements in any order: one op that commutes.
bool commutes(Block &combine) {
  if (combine.getOperations().size() != 2)
    return false;
  Operation &op = combine.front();
  return op.hasTrait<OpTrait::IsCommutative>() && op.getNumOperands() == 2 &&
         op.getOperand(0) == combine.getArgument(0) && op.getOperand(1) == combine.getArgument(1);
}

// True if the region can run on vectors: no control flow of its own.
bool vectorizes(Block &combine) {
  return llvm::all_of(combine.without_terminator(),
                      [](Operation &op) { return op.getNumRegions() == 0 && isLazy(&op); });
}

SmallVector<Value> joined(ArrayRef<Value> a, ArrayRef<Value> b) {
  SmallVector<Value> all(a);
  all.append(b.begin(), b.end());
  return all;
}

SmallVector<Value> lanesOfAll(LaneEmitter &emitter, ValueRange tiles, const Lanes &where) {
  SmallVector<Value> values;
  for (Value tile : tiles)
    values.push_back(emitter.lanes(tile, where));
  return values;
}

// What changes no element that it is combined with, if one op combines them, or null.
TypedAttr neutralElement(Block &combine) {
  Operation *op = &combine.front();
  Type type = op->getResult(0).getType();
  if (auto number = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &format = number.getFloatSemantics();
    std::optional<APFloat> value;
    if (isa<arith::AddFOp>(op))
      value = APFloat::getZero(format, /*Negative=*/true);
    else if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op))
      value = APFloat::getNaN(format);
    else if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      value = APFloat::getInf(format, /*Negative=*/isa<arith::MaximumFOp>(op));
    return value ? TypedAttr(FloatAttr::get(type, *value)) : TypedAttr();
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  unsigned bits = integer.getWidth();
  std::optional<APInt> value;
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(op))
    value = APInt::getZero(bits);
  else if (isa<arith::AndIOp, arith::MinUIOp>(op))
    value = APInt::getAllOnes(bits);
  else if (isa<arith::MaxSIOp>(op))
    value = APInt::getSignedMinValue(bits);
  else if (isa<arith::MinSIOp>(op))
    value = APInt::getSignedMaxValue(bits);
  return value ? TypedAttr(IntegerAttr::get(type, *value)) : TypedAttr();
}

// Gives what two vectors of some width become, one after the other in the range.
using Combine = llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, int64_t)>;

// Combines the lanes of vectors into `left`, pairs of neighbours first, so the order is kept.
SmallVector<Value> combineLanes(LaneEmitter &emitter, Combine combine, SmallVector<Value> values,
                                int64_t width, bool anyOrder, int64_t left = 1) {
  while (width > left) {
    int64_t half = width / 2;
    SmallVector<int32_t> even, odd;
    for (int32_t i = 0; i < half; ++i) {
      // Halves are cheaper to cut out than every other lane.
      even.push_back(anyOrder ? i : 2 * i);
      odd.push_back(anyOrder ? i + half : 2 * i + 1);
    }
    SmallVector<Value> a, b;
    for (Value value : values) {
      a.push_back(emitter.shuffle(value, value, even));
      b.push_back(emitter.shuffle(value, value, odd));
    }
    values = combine(joined(a, b), half);
    width = half;
  }
  return values;
}
SmallVector<Value> combineLanes(LaneEmitter &emitter, Block &block, SmallVector<Value> values,
                                int64_t width, bool anyOrder, int64_t left = 1) {
  auto combine = [&](ArrayRef<Value> pairs, int64_t each) {
    return emitter.inlineRegion(block, pairs, each);
  };
  return combineLanes(emitter, combine, std::move(values), width, anyOrder, left);
}

// A maximum or minimum that passes NaN over is three instructions, and a compare and a select stand
// between one element and the next. `x > so far ? x : so far` is one, and does the same unless
// what is so far is NaN; so it begins with an infinity. If that is left in the end, there may have
// been no number at all, and the row is looked at again.
bool passesNanOver(tile::ReduceOp reduce) {
  auto shape = tile::shapeOf(reduce.getSources().front().getType());
  constexpr int64_t leastLanes = 64;
  Operation *op = &reduce.getCombine().front().front();
  Type type = op->getResult(0).getType();
  return isa<arith::MaxNumFOp, arith::MinNumFOp>(op) && (type.isF32() || type.isF64()) &&
         shape[reduce.getAxis()] >= leastLanes;
}

RowTask reducingNumbers(tile::ReduceOp reduce, LaneEmitter &emitter, RowTask plain) {
  bool isMax = isa<arith::MaxNumFOp>(reduce.getCombine().front().front());
  auto type = cast<FloatType>(tile::elementType(reduce.getSources().front().getType()));
  auto shape = tile::shapeOf(reduce.getSources().front().getType());
  unsigned axis = reduce.getAxis();
  auto none = FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/isMax));
  auto compare = [&emitter](arith::CmpFPredicate predicate, Value a, Value c) -> Value {
    return emitter.builder.create<arith::CmpFOp>(emitter.loc(), predicate, a, c);
  };
  auto further = [&emitter, compare, isMax](Value next, Value soFar) -> Value {
    Value beyond =
        compare(isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, next, soFar);
    return emitter.builder.create<arith::SelectOp>(emitter.loc(), beyond, next, soFar);
  };
  RowTask task;
  task.tiles = plain.tiles;
  task.carried = {emitter.constant(none, emitter.preferredWidth(shape, axis))};
  task.body = [&emitter, reduce, further](const Lanes &where, ValueRange carried) mutable {
    Value next = emitter.lanes(reduce.getSources().front(), where);
    return SmallVector<Value>{further(next, carried.front())};
  };
  task.narrow = [&emitter, further](ValueRange values, int64_t from, int64_t to) {
    auto combine = [&](ArrayRef<Value> pairs, int64_t) {
      return SmallVector<Value>{further(pairs[1], pairs[0])};
    };
    return combineLanes(emitter, combine, llvm::to_vector(values), from, true, to);
  };
  task.settle = [=, &emitter](const Lanes &row, ValueRange found) -> SmallVector<Value> {
    Value doubtful = compare(arith::CmpFPredicate::OEQ, found.front(), emitter.constant(none, 1));
    return {emitter.select(
        doubtful, type, [&] { return emitter.alongRow(row, shape[axis], plain).front(); },
        [&] { return found.front(); })};
  };
  return task;
}

} // namespace

bool reducesInAnyOrder(tile::ReduceOp reduce) {
  Block &combine = reduce.getCombine().front();
  return reduce.getSources().size() == 1 && commutes(combine) && vectorizes(combine) &&
         neutralElement(combine);
}

RowTask reducing(tile::ReduceOp reduce, LaneEmitter &emitter) {
  Block &combine = reduce.getCombine().front();
  auto shape = tile::shapeOf(reduce.getSources().front().getType());
  RowTask task;
  llvm::append_range(task.tiles, reduce.getSources());
  task.carried = {
      emitter.constant(neutralElement(combine), emitter.preferredWidth(shape, reduce.getAxis()))};
  task.body = [&emitter, &combine, reduce](const Lanes &where, ValueRange carried) mutable {
    return emitter.inlineRegion(
        combine, joined(llvm::to_vector(carried), lanesOfAll(emitter, reduce.getSources(), where)),
        where.width);
  };
  task.narrow = [&emitter, &combine](ValueRange values, int64_t from, int64_t to) {
    return combineLanes(emitter, combine, llvm::to_vector(values), from, true, to);
  };
  return passesNanOver(reduce) ? reducingNumbers(reduce, emitter, task) : task;
}

namespace {

// Along the vectors if the axis is the one of adjacent elements, else across them.
struct ReduceLanes : LaneModel<ReduceLanes, tile::ReduceOp> {
  bool runsWhole(Operation *) const { return true; }

  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto reduce = cast<tile::ReduceOp>(op);
    Block &combine = reduce.getCombine().front();
    auto shape = tile::shapeOf(reduce.getSources().front().getType());
    unsigned axis = reduce.getAxis();
    SmallVector<int64_t> outer(shape);
    outer.erase(outer.begin() + axis);
    bool vector = vectorizes(combine);
    bool along = axis == LaneEmitter::preferredDim(shape);
    unsigned outerDim = outer.empty() ? 0 : LaneEmitter::preferredDim(outer);
    int64_t outerWidth = along || !vector ? 1 : emitter.preferredWidth(outer, outerDim);

    emitter.forEach(
        outer, outerDim, outerWidth,
        [&](const Lanes &outerWhere) {
          Lanes where;
          where.position = outerWhere.position;
          where.position.insert(where.position.begin() + axis, emitter.index(0));
          where.dim = along ? axis : outerDim + (outerDim >= axis);
          where.width = outerWidth;
          SmallVector<Value> values = along ? reduceAlong(reduce, emitter, where, vector)
                                            : fold(reduce, emitter, where, 1, shape[axis]);
          for (auto [result, value] : llvm::zip(reduce.getResults(), values)) {
            if (outer.empty())
              emitter.setScalar(result, value);
            else
              emitter.write(emitter.buffer(result), outerWhere, value);
          }
        },
        endsOfReaders(reduce.getResults(), reduce, emitter));
  }

  // Folds the lanes at steps of `step` along the axis.
  static SmallVector<Value> fold(tile::ReduceOp reduce, LaneEmitter &emitter, Lanes where,
                                 int64_t step, int64_t extent) {
    unsigned axis = reduce.getAxis();
    Block &combine = reduce.getCombine().front();
    where.position[axis] = emitter.index(0);
    SmallVector<Value> first = lanesOfAll(emitter, reduce.getSources(), where);
    if (extent == step)
      return first;
    return emitter.loop(
        step, extent, step, first, [&](Value at, ValueRange carried) -> SmallVector<Value> {
          where.position[axis] = at;
          SmallVector<Value> next = lanesOfAll(emitter, reduce.getSources(), where);
          return emitter.inlineRegion(combine, joined(llvm::to_vector(carried), next), where.width);
        });
  }

  // The place in the order of elements is a number: that of the lane, and for a NaN, which is
  // behind all elements and of which the first counts, one behind all of those. So lanes meet in
  // any order.
  static SmallVector<Value> furthest(tile::ReduceOp reduce, const analysis::IndexedExtremum &says,
                                     LaneEmitter &emitter, Lanes where, int64_t extent) {
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    bool hasKeys = says.isFloat && !says.isTotal;
    auto keyed = [&](Value at) {
      where.position[reduce.getAxis()] = at;
      SmallVector<Value> pair = lanesOfAll(emitter, reduce.getSources(), where);
      if (hasKeys) {
        Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, pair[0], pair[0]);
        Value last = b.create<arith::XOrIOp>(
            loc, pair[1],
            emitter.constant(b.getI32IntegerAttr(says.isLeft ? INT32_MIN : -1), where.width));
        pair[1] = b.create<arith::SelectOp>(loc, isNan, last, pair[1]);
      }
      return pair;
    };
    auto combine = [&](ArrayRef<Value> pairs, int64_t width) -> SmallVector<Value> {
      if (says.isTotal)
        return emitter.inlineRegion(reduce.getCombine().front(), pairs, width);
      Value x = pairs[0], y = pairs[2];
      Value isBetter, isSame;
      if (auto compare = dyn_cast<arith::CmpFOp>(says.better)) {
        isBetter = b.create<arith::CmpFOp>(loc, compare.getPredicate(), x, y);
        isSame = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UEQ, x, y);
      } else {
        isBetter =
            b.create<arith::CmpIOp>(loc, cast<arith::CmpIOp>(says.better).getPredicate(), x, y);
        isSame = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
      }
      Value isFirst = b.create<arith::CmpIOp>(
          loc, says.isLeft ? arith::CmpIPredicate::ult : arith::CmpIPredicate::sgt, pairs[1],
          pairs[3]);
      Value chosen =
          b.create<arith::OrIOp>(loc, isBetter, b.create<arith::AndIOp>(loc, isSame, isFirst));
      return {b.create<arith::SelectOp>(loc, chosen, x, y),
              b.create<arith::SelectOp>(loc, chosen, pairs[1], pairs[3])};
    };
    SmallVector<Value> found = keyed(emitter.index(0));
    if (extent > where.width)
      found = emitter.loop(where.width, extent, where.width, found,
                           [&](Value at, ValueRange soFar) -> SmallVector<Value> {
                             return combine(joined(llvm::to_vector(soFar), keyed(at)), where.width);
                           });
    found = combineLanes(emitter, combine, std::move(found), where.width, true);
    if (hasKeys) {
      Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, found[0], found[0]);
      Value place = b.create<arith::XOrIOp>(
          loc, found[1], emitter.constant(b.getI32IntegerAttr(says.isLeft ? INT32_MIN : -1), 1));
      found[1] = b.create<arith::SelectOp>(loc, isNan, place, found[1]);
    }
    return found;
  }

  static SmallVector<Value> reduceAlong(tile::ReduceOp reduce, LaneEmitter &emitter, Lanes where,
                                        bool vector) {
    unsigned axis = reduce.getAxis();
    Block &combine = reduce.getCombine().front();
    auto shape = tile::shapeOf(reduce.getSources().front().getType());
    where.width = vector ? emitter.preferredWidth(shape, axis) : 1;
    if (where.width > 1 && reducesInAnyOrder(reduce))
      return emitter.alongRow(where.first(), shape[axis], reducing(reduce, emitter));
    if (where.width == 1 || commutes(combine)) {
      SmallVector<Value> values = fold(reduce, emitter, where, where.width, shape[axis]);
      return combineLanes(emitter, combine, values, where.width, true);
    }
    if (auto extremum = analysis::IndexedExtremum::of(reduce))
      return furthest(reduce, *extremum, emitter, where, shape[axis]);
    // Each vector is combined in order, then joins what stood before it.
    SmallVector<Value> first = combineLanes(
        emitter, combine, lanesOfAll(emitter, reduce.getSources(), where), where.width, false);
    if (shape[axis] == where.width)
      return first;
    return emitter.loop(
        where.width, shape[axis], where.width, first,
        [&](Value at, ValueRange carried) -> SmallVector<Value> {
          where.position[axis] = at;
          SmallVector<Value> next =
              combineLanes(emitter, combine, lanesOfAll(emitter, reduce.getSources(), where),
                           where.width, false);
          return emitter.inlineRegion(combine, joined(llvm::to_vector(carried), next), 1);
        });
  }
};

// Where the axis is the one of adjacent elements, a vector is scanned by itself in as many steps as
// its width has binary digits, and joins what stood before it: of the steps from element to element
// one a vector is left. Else one step an element; vectors run along another dimension where there
// is one.
struct ScanLanes : LaneModel<ScanLanes, tile::ScanOp> {
  bool runsWhole(Operation *) const { return true; }

  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto scan = cast<tile::ScanOp>(op);
    auto shape = tile::shapeOf(scan.getSources().front().getType());
    unsigned axis = scan.getAxis();
    SmallVector<int64_t> outer(shape);
    outer.erase(outer.begin() + axis);
    bool vector = vectorizes(scan.getCombine().front());
    int64_t along =
        vector && axis == LaneEmitter::preferredDim(shape) ? alongWidth(scan, emitter) : 1;
    unsigned outerDim = outer.empty() ? 0 : LaneEmitter::preferredDim(outer);
    int64_t width =
        outer.empty() || !vector || along > 1 ? 1 : emitter.preferredWidth(outer, outerDim);

    emitter.forEach(outer, outerDim, width, [&](const Lanes &outerWhere) {
      Lanes where;
      where.position = outerWhere.position;
      where.position.insert(where.position.begin() + axis, emitter.index(0));
      where.dim = outer.empty() || along > 1 ? axis : outerDim + (outerDim >= axis);
      where.width = along > 1 ? along : width;
      scanRow(scan, emitter, where, along);
    });
  }

private:
  // One register of the widest elements.
  static int64_t alongWidth(tile::ScanOp scan, LaneEmitter &emitter) {
    auto shape = tile::shapeOf(scan.getSources().front().getType());
    int64_t bytes = 1;
    for (Value source : scan.getSources())
      bytes = std::max<int64_t>(bytes, tile::bytesInMemory(tile::elementType(source.getType())));
    return std::min(emitter.preferredWidth(shape, scan.getAxis()),
                    std::max<int64_t>(1, int64_t(emitter.processor.vectorBytes) / bytes));
  }

  // `step` elements along the axis at a time, each joined by what stands before it.
  static void scanRow(tile::ScanOp scan, LaneEmitter &emitter, Lanes where, int64_t step) {
    Block &combine = scan.getCombine().front();
    unsigned axis = scan.getAxis();
    int64_t extent = tile::shapeOf(scan.getSources().front().getType())[axis];
    auto at = [&](Value from) {
      where.position[axis] =
          scan.getReverse()
              ? emitter.builder
                    .create<arith::SubIOp>(emitter.loc(), emitter.index(extent - step), from)
                    .getResult()
              : from;
      SmallVector<Value> values = lanesOfAll(emitter, scan.getSources(), where);
      return step > 1 ? scanVector(scan, emitter, std::move(values), step) : values;
    };
    auto keep = [&](ArrayRef<Value> values) {
      for (auto [result, value] : llvm::zip(scan.getResults(), values))
        emitter.write(emitter.buffer(result), where, value);
    };
    // What the next ones are joined by: in each lane, that of the last.
    auto total = [&](SmallVector<Value> sums) {
      if (step > 1)
        for (Value &sum : sums)
          sum = emitter.shuffle(sum, sum,
                                SmallVector<int32_t>(step, scan.getReverse() ? 0 : step - 1));
      return sums;
    };
    SmallVector<Value> first = at(emitter.index(0));
    keep(first);
    if (extent == step)
      return;
    emitter.loop(
        step, extent, step, total(first), [&](Value from, ValueRange before) -> SmallVector<Value> {
          SmallVector<Value> sums =
              emitter.inlineRegion(combine, joined(llvm::to_vector(before), at(from)), where.width);
          keep(sums);
          return total(sums);
        });
  }

  // Each lane with the one that is 1 before it, then 2, 4 ... (Hillis and Steele, 1986).
  static SmallVector<Value> scanVector(tile::ScanOp scan, LaneEmitter &emitter,
                                       SmallVector<Value> values, int64_t width) {
    for (int64_t distance = 1; distance < width; distance *= 2) {
      SmallVector<int32_t> before, chosen;
      for (int64_t lane = 0; lane < width; ++lane) {
        int64_t other = scan.getReverse() ? lane + distance : lane - distance;
        bool isThere = other >= 0 && other < width;
        before.push_back(int32_t(isThere ? other : lane));
        chosen.push_back(int32_t(isThere ? lane : width + lane));
      }
      SmallVector<Value> earlier;
      for (Value value : values)
        earlier.push_back(emitter.shuffle(value, value, before));
      SmallVector<Value> sums =
          emitter.inlineRegion(scan.getCombine().front(), joined(earlier, values), width);
      for (auto [value, sum] : llvm::zip(values, sums))
        value = emitter.shuffle(sum, value, chosen);
    }
    return values;
  }
};

// Applies a region to `pack` elements at a time, one scalar at a time.
struct MapLanes : LaneModel<MapLanes, tile::MapOp> {
  bool runsWhole(Operation *) const { return true; }

  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto map = cast<tile::MapOp>(op);
    auto shape = tile::shapeOf(map.getInputs().front().getType());
    int64_t pack = map.getPack();
    unsigned dim = shape.size() - 1;
    if (shape[dim] % pack)
      return void(emitter.unsupported(op, {}, "groups that cross rows"));
    SmallVector<int64_t> groups(shape);
    groups[dim] /= pack;
    emitter.forEach(groups, dim, 1, [&](const Lanes &group) {
      Lanes where = group;
      Value first = emitter.builder.create<arith::MulIOp>(emitter.loc(), group.position[dim],
                                                          emitter.index(pack));
      auto element = [&](int64_t i) {
        where.position[dim] = emitter.add(first, emitter.index(i));
        return where;
      };
      SmallVector<Value> arguments;
      for (Value input : map.getInputs())
        for (int64_t i = 0; i < pack; ++i)
          arguments.push_back(emitter.lanes(input, element(i)));
      SmallVector<Value> results = emitter.inlineRegion(map.getBody().front(), arguments, 1);
      for (auto [i, output] : llvm::enumerate(map.getOutputs()))
        for (int64_t j = 0; j < pack; ++j)
          emitter.write(emitter.buffer(output), element(j), results[i * pack + j]);
    });
  }
};

} // namespace

void registerReductionLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::ReduceOp::attachInterface<ReduceLanes>(*context);
    tile::ScanOp::attachInterface<ScanLanes>(*context);
    tile::MapOp::attachInterface<MapLanes>(*context);
  });
}

} // namespace nereid::cpu
