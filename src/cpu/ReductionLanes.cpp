// Reductions, scans and scaled products: ops that run whole.
#include "analysis/CombineOrder.h"
#include "cpu/CompactLanes.h"
#include "cpu/Extents.h"
#include "cpu/LaneModels.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

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

// What changes no number that the op combines it with; null if there is no such.
TypedAttr neutralNumber(Operation *op) {
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
    return value ? FloatAttr::get(type, *value) : FloatAttr();
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
  return value ? IntegerAttr::get(type, *value) : IntegerAttr();
}

// What changes no element that it is combined with, in any order; empty if there is no such.
SmallVector<TypedAttr, 2> neutralElement(Block &combine) {
  if (!analysis::commutes(combine)) {
    std::optional<analysis::Choice> choice = analysis::choiceInAnyOrder(combine);
    return choice ? choice->least : SmallVector<TypedAttr, 2>();
  }
  SmallVector<TypedAttr, 2> element;
  for (Value value : combine.getTerminator()->getOperands()) {
    TypedAttr neutral = neutralNumber(value.getDefiningOp());
    if (!neutral)
      return {};
    element.push_back(neutral);
  }
  return element;
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
  if (reduce.getSources().size() > 1)
    return false;
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
  return vectorizes(combine) && !neutralElement(combine).empty();
}

RowTask reducing(tile::ReduceOp reduce, LaneEmitter &emitter) {
  Block &combine = reduce.getCombine().front();
  auto shape = tile::shapeOf(reduce.getSources().front().getType());
  RowTask task;
  llvm::append_range(task.tiles, reduce.getSources());
  for (TypedAttr neutral : neutralElement(combine))
    task.carried.push_back(
        emitter.constant(neutral, emitter.preferredWidth(shape, reduce.getAxis())));
  task.body = [&emitter, &combine, reduce](const Lanes &where, ValueRange carried) mutable {
    return emitter.inlineRegion(
        combine, joined(llvm::to_vector(carried), lanesOfAll(emitter, reduce.getSources(), where)),
        where.width);
  };
  task.narrow = [&emitter, &combine](ValueRange values, int64_t from, int64_t to) {
    return combineLanes(emitter, combine, llvm::to_vector(values), from, true, to);
  };
  if (analysis::commutes(combine))
    return passesNanOver(reduce) ? reducingNumbers(reduce, emitter, task) : task;
  if (std::optional<unsigned> place = analysis::choiceInAnyOrder(combine)->passesNanOver)
    task.settle = [&emitter, reduce, place](const Lanes &row, ValueRange found) mutable {
      Value number = found[*place];
      Value none = emitter.builder.create<arith::CmpFOp>(emitter.loc(), arith::CmpFPredicate::UNO,
                                                         number, number);
      SmallVector<Value> kept;
      for (auto [source, value] : llvm::zip(reduce.getSources(), found))
        kept.push_back(emitter.select(
            none, value.getType(), [&, source = source] { return emitter.lanes(source, row); },
            [&, value = value] { return value; }));
      return kept;
    };
  return task;
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
    unsigned lane =
        vector ? emitter.adjacentDim(reduce.getSources()) : LaneEmitter::preferredDim(shape);
    bool along = axis == lane;
    unsigned outerDim = outer.empty() ? 0
                        : along       ? LaneEmitter::preferredDim(outer)
                                      : lane - (lane > axis);
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
    auto sources = [&](Value at) {
      where.position[axis] = at;
      for (const FusionPlan::Ahead &one : emitter.plan.fetchedDuring(reduce))
        emitter.fetchRound(one, where);
      return lanesOfAll(emitter, reduce.getSources(), where);
    };
    SmallVector<Value> first = sources(emitter.index(0));
    if (extent == step)
      return first;
    return emitter.loop(
        step, extent, step, first, [&](Value at, ValueRange carried) -> SmallVector<Value> {
          SmallVector<Value> next = sources(at);
          return emitter.inlineRegion(combine, joined(llvm::to_vector(carried), next), where.width);
        });
  }

  static SmallVector<Value> reduceAlong(tile::ReduceOp reduce, LaneEmitter &emitter, Lanes where,
                                        bool vector) {
    unsigned axis = reduce.getAxis();
    Block &combine = reduce.getCombine().front();
    auto shape = tile::shapeOf(reduce.getSources().front().getType());
    where.width = vector ? emitter.preferredWidth(shape, axis) : 1;
    if (where.width > 1 && reducesInAnyOrder(reduce))
      return emitter.alongRow(where.first(), shape[axis], reducing(reduce, emitter),
                              emitter.plan.fetchedDuring(reduce));
    if (where.width == 1 || analysis::commutes(combine)) {
      SmallVector<Value> values = fold(reduce, emitter, where, where.width, shape[axis]);
      return combineLanes(emitter, combine, values, where.width, true);
    }
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

// Along the vectors if the axis is the one of adjacent elements, else across them, an element at a
// time.
struct ScanLanes : LaneModel<ScanLanes, tile::ScanOp> {
  bool runsWhole(Operation *) const { return true; }

  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto scan = cast<tile::ScanOp>(op);
    if (countsForStoresAlone(scan, emitter))
      return;
    auto shape = tile::shapeOf(scan.getSources().front().getType());
    unsigned axis = scan.getAxis();
    SmallVector<int64_t> outer(shape);
    outer.erase(outer.begin() + axis);
    bool vector = vectorizes(scan.getCombine().front());
    constexpr int64_t leastLanes = 8;
    bool along = vector && axis == LaneEmitter::preferredDim(shape) &&
                 (outer.empty() || shape[axis] >= leastLanes);
    unsigned outerDim = outer.empty() ? 0 : LaneEmitter::preferredDim(outer);
    int64_t outerWidth =
        outer.empty() || along || !vector ? 1 : emitter.preferredWidth(outer, outerDim);
    SmallVector<Value> ends = endsOfReaders(scan.getResults(), scan, emitter);
    Value end = scan.getReverse() ? Value() : ends[axis];
    ends.erase(ends.begin() + axis);

    emitter.forEach(
        outer, outerDim, outerWidth,
        [&](const Lanes &outerWhere) {
          Lanes where;
          where.position = outerWhere.position;
          where.position.insert(where.position.begin() + axis, emitter.index(0));
          where.dim = along || outer.empty() ? axis : outerDim + (outerDim >= axis);
          where.width = outerWidth;
          if (along)
            where.width = std::min(shape[axis], emitter.vectorLanes());
          scanFrom(scan, emitter, where, along ? where.width : 1, shape[axis], end);
        },
        ends);
  }

  // Scans at steps of `step` along the axis, which the lanes of a step follow if it is more than 1.
  // With `end`, no further than needed.
  static void scanFrom(tile::ScanOp scan, LaneEmitter &emitter, Lanes where, int64_t step,
                       int64_t extent, Value end) {
    unsigned axis = scan.getAxis();
    auto place = [&](Value at) {
      where.position[axis] =
          scan.getReverse()
              ? emitter.builder
                    .create<arith::SubIOp>(emitter.loc(), emitter.index(extent - step), at)
                    .getResult()
              : at;
    };
    auto combine = [&](ArrayRef<Value> before, ArrayRef<Value> after) {
      return emitter.inlineRegion(scan.getCombine().front(), joined(before, after), where.width);
    };
    auto read = [&] {
      return scanLanes(scan, emitter, lanesOfAll(emitter, scan.getSources(), where), step, combine);
    };
    auto keep = [&](ArrayRef<Value> values) {
      for (auto [result, value] : llvm::zip(scan.getResults(), values))
        emitter.write(emitter.buffer(result), where, value);
    };
    // All lanes of the next step stand behind the last one of this.
    auto carry = [&](SmallVector<Value> values) {
      if (step > 1) {
        SmallVector<int32_t> last(step, scan.getReverse() ? 0 : step - 1);
        for (Value &value : values)
          value = emitter.shuffle(value, value, last);
      }
      return values;
    };
    place(emitter.index(0));
    SmallVector<Value> first = read();
    keep(first);
    if (extent == step)
      return;
    emitter.loop(emitter.index(step), end ? end : emitter.index(extent), step, carry(first),
                 [&](Value at, ValueRange carried) -> SmallVector<Value> {
                   place(at);
                   SmallVector<Value> values = combine(llvm::to_vector(carried), read());
                   keep(values);
                   return carry(values);
                 });
  }

  // What each of `count` lanes becomes with those before it: with the one before, then with the two
  // before those, then with four.
  static SmallVector<Value>
  scanLanes(tile::ScanOp scan, LaneEmitter &emitter, SmallVector<Value> values, int64_t count,
            llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ArrayRef<Value>)> combine) {
    for (int64_t distance = 1; distance < count; distance *= 2) {
      SmallVector<int32_t> from, kept;
      for (int32_t lane = 0; lane < count; ++lane) {
        int64_t before = lane + (scan.getReverse() ? distance : -distance);
        bool is = before >= 0 && before < count;
        from.push_back(is ? before : lane);
        kept.push_back(is ? lane : lane + count);
      }
      SmallVector<Value> before;
      for (Value value : values)
        before.push_back(emitter.shuffle(value, value, from));
      SmallVector<Value> joint = combine(before, values);
      for (auto [value, now] : llvm::zip(values, joint))
        value = emitter.shuffle(now, value, kept);
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
