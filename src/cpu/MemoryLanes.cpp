// Loads and stores through pointers.
#include "cpu/Bounds.h"
#include "cpu/CompactLanes.h"
#include "cpu/Extents.h"
#include "cpu/LaneModels.h"
#include "cpu/LaneOffsets.h"
#include "cpu/LaneSpread.h"
#include "cpu/RunLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Where the lanes of an access stand: adjacent addresses, one address, or anywhere.
enum class Reach { Adjacent, One, Scattered };

Reach reachOf(LaneEmitter &emitter, Value pointer, const Lanes &where) {
  if (where.width == 1)
    return Reach::Adjacent;
  if (auto step = emitter.stepInRun(pointer); step == 0 || step == 1)
    return *step ? Reach::Adjacent : Reach::One;
  tile::AxisFacts facts = emitter.axes.facts(pointer);
  if (facts.contiguity[where.dim] >= where.width)
    return Reach::Adjacent;
  if (facts.constancy[where.dim] >= where.width)
    return Reach::One;
  return Reach::Scattered;
}

} // namespace

Value maskLanes(LaneEmitter &emitter, Value mask, const Lanes &where) {
  if (!mask || emitter.assumedMask(mask) == true)
    return {};
  Value value = emitter.lanes(mask, where);
  return widthOf(value.getType()) == where.width ? value : emitter.splat(value, where.width);
}

bool isAdjacent(LaneEmitter &emitter, Value pointer, const Lanes &where) {
  return reachOf(emitter, pointer, where) == Reach::Adjacent;
}

Value allAreOn(LaneEmitter &emitter, Value mask, int64_t width) {
  return areEqual(emitter, mask, emitter.constant(emitter.builder.getI1Type(), 1, width));
}

Value anyIsOn(LaneEmitter &emitter, Value mask) {
  Type bits = emitter.builder.getIntegerType(widthOf(mask.getType()));
  return emitter.builder.create<arith::CmpIOp>(
      emitter.loc(), arith::CmpIPredicate::ne,
      emitter.builder.create<LLVM::BitcastOp>(emitter.loc(), bits, mask),
      emitter.constant(bits, 0));
}

namespace {

bool mayBeAdjacent(LaneEmitter &emitter, Value pointers, const Lanes &where) {
  return where.width >= 8 && reachOf(emitter, pointers, where) == Reach::Scattered &&
         !laneOffsets(pointers, where, emitter);
}

// What the first and the last lane tell of addresses along a row, or a stride of the launch. Rows
// of tiles that products read are told by all lanes, once for many (`spread`).
std::optional<Run> testedRun(LaneEmitter &emitter, Value pointers, const Lanes &where) {
  if (where.width == 1 || reachOf(emitter, pointers, where) != Reach::Scattered)
    return {};
  auto run = findRun(emitter, pointers, where, /*mayDivide=*/where.position.size() == 1);
  return run && run->condition && (run->step == 0 || run->step == 1) ? run : std::nullopt;
}

// True if products read what is made of the result: their operands are told by all lanes.
bool feedsProduct(Operation *op, unsigned depth = 0) {
  return depth < 8 &&
         llvm::any_of(
             op->getUsers(),
             [&](Operation *user) {
               return isa<tile::DotOp>(user) ||
                      (user->hasTrait<OpTrait::Elementwise>() && feedsProduct(user, depth + 1));
             });
}

// Calls `each` with the address of each of lanes that are one stride apart.
void forEachApart(LaneEmitter &emitter, Value first, Value stride, Type element, int64_t width,
                  llvm::function_ref<void(Value pointer, int64_t lane)> each) {
  OpBuilder &b = emitter.builder;
  Value bytes =
      b.create<arith::MulIOp>(emitter.loc(), stride, emitter.index(tile::bytesInMemory(element)));
  for (int64_t lane = 0; lane < width; ++lane) {
    each(first, lane);
    first = b.create<LLVM::GEPOp>(emitter.loc(), first.getType(), b.getI8Type(), first, bytes);
  }
}

// `yes` if no lane is masked off.
Value whereAllAreOn(LaneEmitter &emitter, Value mask, Type type, llvm::function_ref<Value()> yes,
                    llvm::function_ref<Value()> no) {
  return mask ? emitter.select(allAreOn(emitter, mask, widthOf(type)), type, yes, no) : yes();
}

std::optional<NearLanes> nearLanes(LaneEmitter &emitter, Value pointer, Type element,
                                   const Lanes &where) {
  auto offsets = laneOffsets(pointer, where, emitter);
  return offsets ? NearLanes::find(*offsets, element) : std::nullopt;
}

Value chosen(LaneEmitter &emitter, Value mask, Value value, Value other) {
  return emitter.builder.create<arith::SelectOp>(emitter.loc(), mask, value,
                                                 other ? other : emitter.zero(value.getType()));
}

struct LoadLanes : LaneModel<LoadLanes, tile::LoadOp> {
  bool isCostlyLane(Operation *) const { return true; }
  bool runsWhole(Operation *op) const { return cast<tile::LoadOp>(op).getIsVolatile(); }

  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    auto load = cast<tile::LoadOp>(op);
    Type element = load.getAccessElementType();
    Value mask = maskLanes(emitter, load.getMask(), where);
    Value other = load.getOther() ? emitter.lanes(load.getOther(), where) : Value();
    switch (reachOf(emitter, load.getPointer(), where)) {
    case Reach::Adjacent: {
      Value pointer = emitter.lanes(load.getPointer(), where.first());
      return emitter.loadElements(pointer, element, where.width, mask, other, load.getIsVolatile());
    }
    case Reach::One: {
      Value pointer = emitter.lanes(load.getPointer(), where.first());
      Value some = mask ? anyIsOn(emitter, mask) : Value();
      Value one = emitter.loadElements(pointer, element, 1, some, {}, load.getIsVolatile());
      Value all = emitter.splat(one, where.width);
      return mask ? chosen(emitter, mask, all, other) : all;
    }
    case Reach::Scattered:
      break;
    }
    return emitAnywhere(load, emitter, where, mask, other);
  }

  // Lanes of which facts tell nothing.
  static Value emitAnywhere(tile::LoadOp load, LaneEmitter &emitter, const Lanes &where, Value mask,
                            Value other) {
    Type element = load.getAccessElementType(), type = laneType(element, where.width);
    auto first = [&] { return emitter.lanes(load.getPointer(), where.first()); };
    auto gather = [&](Value which) {
      return emitter.loadElements(emitter.lanes(load.getPointer(), where), element, where.width,
                                  which, which ? other : Value(), load.getIsVolatile());
    };
    auto scattered = [&] { return gather(mask); };
    auto allScattered = [&] { return gather({}); }; // behind a test that all are on
    if (auto near = nearLanes(emitter, load.getPointer(), element, where)) {
      auto together = [&](Value which) {
        return near->load(first(), element, which, load.getIsVolatile(), emitter);
      };
      auto masked = [&] { return chosen(emitter, mask, together(mask), other); };
      bool takesMasks = near->takesMasks(element, emitter);
      return whereAllAreOn(
          emitter, mask, type, [&] { return together({}); },
          [&] { return takesMasks ? masked() : scattered(); });
    }
    auto run = where.position.size() == 1 || !feedsProduct(load)
                   ? testedRun(emitter, load.getPointer(), where)
                   : std::nullopt;
    if (!run && !mayBeAdjacent(emitter, load.getPointer(), where))
      return scattered();
    // Addresses of which nothing is known are often adjacent after all: rows that wrap around at
    // the edge (`n % N`), a stride of 1 that is an argument. Or they are one, as that of a channel
    // which a division tells. A test is far cheaper than a gather.
    auto adjacent = [&] {
      return emitter.loadElements(first(), element, where.width, mask, other, load.getIsVolatile());
    };
    auto splat = [&] {
      return emitter.splat(emitter.loadElements(first(), element, 1, {}, {}, load.getIsVolatile()),
                           where.width);
    };
    auto one = [&] {
      Value none = emitter.zero(laneType(emitter.builder.getI64Type(), where.width));
      Value same = areEqual(emitter, spread(emitter, load.getPointer(), where), none);
      return emitter.select(same, type, splat, allScattered);
    };
    auto tested = [&] {
      return emitter.select(areAdjacent(emitter, load.getPointer(), where), type, adjacent,
                            [&] { return whereAllAreOn(emitter, mask, type, one, scattered); });
    };
    // Lanes of a few lines; what is further apart waits for memory, not for addresses.
    auto fewLines = [&] {
      Value all = emitter.undef(type);
      forEachApart(
          emitter, first(), run->stride, element, where.width, [&](Value pointer, int64_t lane) {
            Value lone = emitter.loadElements(pointer, element, 1, {}, {}, load.getIsVolatile());
            all = emitter.insert(all, lone, lane);
          });
      return all;
    };
    auto apart = [&]() -> Value {
      if (!emitter.processor.slowGathers)
        return allScattered();
      constexpr int64_t farthest = 16;
      OpBuilder &b = emitter.builder;
      Value isNear = b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ult,
                                             emitter.add(run->stride, emitter.index(farthest)),
                                             emitter.index(2 * farthest));
      return emitter.select(isNear, type, fewLines, allScattered);
    };
    // A stride of 0 is that of a tensor which is broadcast.
    auto byStride = [&] {
      Value isNone = emitter.builder.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::eq,
                                                           run->stride, emitter.index(0));
      return emitter.select(isNone, type, splat, apart);
    };
    auto elsewhere = [&]() -> Value {
      if (!run->isSettled)
        return scattered();
      return run->stride ? whereAllAreOn(emitter, mask, type, byStride, scattered)
                         : whereAllAreOn(emitter, mask, type, one, scattered);
    };
    if (run && run->step == 1)
      return emitter.select(run->condition, type, adjacent, elsewhere);
    if (run && !mask)
      return emitter.select(run->condition, type, splat, tested);
    return tested();
  }

  // A volatile load reads each element once, where it stands in the program.
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    Value result = op->getResult(0);
    if (!isa<RankedTensorType>(result.getType()))
      return emitter.setScalar(result, emitLanes(op, emitter, 0, {}));
    Buffer into = emitter.buffer(result);
    emitter.forEach(into.shape, LaneEmitter::preferredDim(into.shape), 1, [&](const Lanes &where) {
      emitter.write(into, where, emitLanes(op, emitter, 0, where));
    });
  }
};

struct StoreLanes : LaneModel<StoreLanes, tile::StoreOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto store = cast<tile::StoreOp>(op);
    auto fused = [&] {
      storeAll(store, emitter, store.getValue(),
               [&](const Lanes &where) { return emitter.lanes(store.getValue(), where); });
    };
    apart(store, emitter, fused, [] {});
  }

  // Runs `fused` if what is read and written at once is the same memory lane by lane, or does not
  // meet; else computes the value, runs `between` and writes the value.
  static void apart(tile::StoreOp store, LaneEmitter &emitter, llvm::function_ref<void()> fused,
                    llvm::function_ref<void()> between) {
    ArrayRef<Operation *> loads = emitter.plan.loadsToTest(store);
    if (loads.empty())
      return fused();
    Value safe;
    for (Operation *load : loads) {
      Value one = emitter.plan.isTestedByBounds(store, load)
                      ? areApart(emitter, cast<tile::LoadOp>(load), store)
                      : maySweep(emitter, cast<tile::LoadOp>(load), store);
      safe =
          safe ? emitter.builder.create<arith::AndIOp>(emitter.loc(), safe, one).getResult() : one;
    }
    emitter.either(safe, fused, [&] {
      bool outer = std::exchange(emitter.sweeps, false);
      Buffer all = emitter.arenaBuffer(emitter.plan.scratchOffset(store),
                                       tile::elementType(store.getValue().getType()),
                                       tile::shapeOf(store.getValue().getType()));
      emitter.fill(all, store.getValue());
      between();
      storeAll(store, emitter, {}, [&](const Lanes &where) { return emitter.read(all, where); });
      emitter.sweeps = outer;
    });
  }

  // True if all that is read is before or behind all that is written.
  static Value areApart(LaneEmitter &emitter, tile::LoadOp load, tile::StoreOp store) {
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    Bounds from = boundsOf(emitter, load.getPointer()), to = boundsOf(emitter, store.getPointer());
    auto isBefore = [&](Bounds x, Bounds y, Type element) -> Value {
      return b.create<arith::CmpIOp>(
          loc, arith::CmpIPredicate::sle,
          emitter.add(x.high, emitter.index(tile::bytesInMemory(element))), y.low);
    };
    Value apart = b.create<arith::OrIOp>(loc, isBefore(from, to, load.getAccessElementType()),
                                         isBefore(to, from, store.getAccessElementType()));
    return b.create<arith::AndIOp>(loc, apart, b.create<arith::AndIOp>(loc, from.hold, to.hold));
  }

  // True if the memory between the first and the last row of one tile is apart from that of the
  // other, or element i is one in both. Each row of the load lies between its two ends.
  static Value maySweep(LaneEmitter &emitter, tile::LoadOp load, tile::StoreOp store) {
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    auto shape = tile::shapeOf(store.getPointer().getType());
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
      return b.create<arith::CmpIOp>(loc, predicate, x, y);
    };
    auto firstOf = [&](Value pointers, const Lanes &row) -> Value {
      return b.create<LLVM::PtrToIntOp>(loc, b.getI64Type(), emitter.lanes(pointers, row));
    };
    int64_t fromBytes = tile::bytesInMemory(load.getAccessElementType()),
            toBytes = shape.back() * tile::bytesInMemory(store.getAccessElementType());
    // The lowest and the highest element of the load; the lowest and the highest row of the store;
    // where the last row ended; and whether rows differ, or begin before the last one ended.
    int64_t rows = 1;
    for (int64_t extent : ArrayRef(shape).drop_back())
      rows *= extent;
    Value none = emitter.constant(b.getI1Type(), 0);
    SmallVector<Value> seen = {emitter.index(-1), emitter.index(0), emitter.index(-1),
                               emitter.index(0),  emitter.index(0), none};
    seen = emitter.loop(0, rows, 1, seen, [&](Value row, ValueRange before) -> SmallVector<Value> {
      Lanes start;
      start.position.assign(shape.size(), emitter.index(0));
      int64_t stride = 1;
      for (unsigned d = shape.size() - 1; d-- > 0; stride *= shape[d]) {
        Value at = b.create<arith::ShRUIOp>(loc, row, emitter.index(llvm::Log2_64(stride)));
        start.position[d] = b.create<arith::AndIOp>(loc, at, emitter.index(shape[d] - 1));
      }
      Value from = firstOf(load.getPointer(), start), to = firstOf(store.getPointer(), start);
      start.position.back() = emitter.index(shape.back() - 1);
      Value last = firstOf(load.getPointer(), start);
      Value other = b.create<arith::OrIOp>(loc, compare(arith::CmpIPredicate::ne, from, to),
                                           compare(arith::CmpIPredicate::ult, to, before[4]));
      return {b.create<arith::MinUIOp>(loc, before[0], b.create<arith::MinUIOp>(loc, from, last)),
              b.create<arith::MaxUIOp>(loc, before[1], b.create<arith::MaxUIOp>(loc, from, last)),
              b.create<arith::MinUIOp>(loc, before[2], to),
              b.create<arith::MaxUIOp>(loc, before[3], to),
              emitter.add(to, emitter.index(toBytes)),
              b.create<arith::OrIOp>(loc, before[5], other)};
    });
    Value fromEnd = emitter.add(seen[1], emitter.index(fromBytes));
    Value toEnd = emitter.add(seen[3], emitter.index(toBytes));
    Value safe = b.create<arith::OrIOp>(loc, compare(arith::CmpIPredicate::ule, fromEnd, seen[2]),
                                        compare(arith::CmpIPredicate::ule, toEnd, seen[0]));
    if (fromBytes * shape.back() == toBytes && emitter.plan.rowsAreRanges(load.getPointer()))
      safe = b.create<arith::OrIOp>(loc, safe, compare(arith::CmpIPredicate::eq, seen[5], none));
    return safe;
  }

  // Bits of an address of which none may be set if the store is to go past the cache: those of a
  // place in a line, or all where the launch writes too little. Null if it never may.
  static Value streamMask(tile::StoreOp store, LaneEmitter &emitter) {
    if (!emitter.plan.mayStream(store) || !emitter.sweeps ||
        store.getAccessElementType().isInteger(1))
      return {};
    return emitter.builder.create<arith::SelectOp>(emitter.loc(), writesMore(1, store, emitter),
                                                   emitter.index(LaneEmitter::lineBytes - 1),
                                                   emitter.index(-1));
  }

  // True if the launch writes more than a share of what may go past the cache.
  static Value writesMore(int64_t share, tile::StoreOp store, LaneEmitter &emitter) {
    return emitter.isMore(int64_t(bufferBytes(store.getValue().getType())) * share);
  }

  // Fetches short rows some rows ahead of `row`; behind the last one that one again.
  static void fetchRows(ArrayRef<Operation *> loads, const Lanes &row, LaneEmitter &emitter) {
    constexpr int64_t bytesAhead = 4 << 10;
    for (Operation *op : loads) {
      auto load = cast<tile::LoadOp>(op);
      auto shape = tile::shapeOf(load.getType());
      unsigned dim = shape.size() - 2;
      int64_t bytes = shape.back() * tile::bytesInMemory(load.getAccessElementType());
      int64_t rows = std::max<int64_t>(bytesAhead / bytes / int64_t(loads.size()), 1);
      Lanes from = row.first();
      from.position[dim] = emitter.builder.create<arith::MinSIOp>(
          emitter.loc(), emitter.add(row.position[dim], emitter.index(rows)),
          emitter.index(shape[dim] - 1));
      emitter.fetchLines(emitter.lanes(load.getPointer(), from), bytes, /*hint=*/3);
    }
  }

  // Puts the lanes of `values` where they belong.
  static std::function<void(const Lanes &)>
  putting(tile::StoreOp store, LaneEmitter &emitter, Compaction *compaction,
          llvm::function_ref<Value(const Lanes &)> values) {
    Value unaligned = streamMask(store, emitter);
    Type element = store.getAccessElementType();
    const FusionPlan::LeavingRow *leaving = emitter.plan.leavingRow();
    Value leaves = unaligned && leaving && leaving->store == store
                       ? mayLeave(store, unaligned, emitter)
                       : Value();
    return [=, &emitter](const Lanes &where) mutable {
      if (store.getMask() && emitter.assumedMask(store.getMask()) == false)
        return;
      Value value = values(where);
      Value mask = maskLanes(emitter, store.getMask(), where);
      if (compaction)
        return compaction->put(where.width, value, mask, emitter);
      bool adjacent = reachOf(emitter, store.getPointer(), where) == Reach::Adjacent;
      if (!adjacent)
        if (auto near = nearLanes(emitter, store.getPointer(), element, where);
            near && near->allDiffer())
          return storeNear(store, emitter, *near, where, value, mask);
      auto storeAt = [&](Value pointer) {
        emitter.storeElements(pointer, element, where.width, value, mask);
      };
      bool lines = where.width > 1 &&
                   where.width * tile::bytesInMemory(element) % LaneEmitter::lineBytes == 0;
      bool streams = unaligned && !mask && lines;
      auto run = testedRun(emitter, store.getPointer(), where);
      if (run || (!adjacent && mayBeAdjacent(emitter, store.getPointer(), where))) {
        // One place for all lanes is as rare as it is odd.
        Value follow = run && run->step == 1 ? run->condition
                                             : areAdjacent(emitter, store.getPointer(), where);
        return emitter.either(
            follow,
            [&] {
              Value pointer = emitter.lanes(store.getPointer(), where.first());
              if (!streams)
                return storeAt(pointer);
              emitter.either(
                  isOff(pointer, unaligned, emitter), [&] { storeAt(pointer); },
                  [&] { emitter.streamElements(pointer, value); });
            },
            [&] { storeAt(emitter.lanes(store.getPointer(), where)); });
      }
      Value pointer = emitter.lanes(store.getPointer(), adjacent ? where.first() : where);
      auto plain = [&] { storeAt(pointer); };
      if (!streams || !adjacent)
        return plain();
      if (leaves)
        return emitter.either(
            leaves,
            [&] {
              emitter.write(emitter.buffer(leaving->row), where, value);
              emitter.builder.create<LLVM::StoreOp>(
                  emitter.loc(), emitter.add(where.position[0], emitter.index(where.width)),
                  emitter.program.leavingCount);
            },
            plain);
      emitter.either(isOff(pointer, unaligned, emitter), plain,
                     [&] { emitter.streamElements(pointer, value); });
    };
  }

  static void storeNear(tile::StoreOp store, LaneEmitter &emitter, const NearLanes &near,
                        const Lanes &where, Value value, Value mask) {
    Type element = store.getAccessElementType();
    auto together = [&](Value which) {
      near.store(emitter.lanes(store.getPointer(), where.first()), element, value, which, emitter);
    };
    if (!mask)
      return together({});
    emitter.either(
        allAreOn(emitter, mask, where.width), [&] { together({}); },
        [&] {
          if (near.takesMasks(element, emitter))
            return together(mask);
          emitter.storeElements(emitter.lanes(store.getPointer(), where), element, where.width,
                                value, mask);
        });
  }

  // True if the address has some of these bits.
  static Value isOff(Value pointer, Value bits, LaneEmitter &emitter) {
    OpBuilder &b = emitter.builder;
    Value at = b.create<LLVM::PtrToIntOp>(emitter.loc(), b.getI64Type(), pointer);
    return b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ne,
                                   b.create<arith::AndIOp>(emitter.loc(), at, bits),
                                   emitter.index(0));
  }

  // Notes where the row goes if it leaves during the next program, and says whether it does.
  static Value mayLeave(tile::StoreOp store, Value unaligned, LaneEmitter &emitter) {
    Lanes start;
    start.position = {emitter.index(0)};
    Value to = emitter.lanes(store.getPointer(), start);
    OpBuilder &b = emitter.builder;
    b.create<LLVM::StoreOp>(emitter.loc(), to, emitter.program.leavingTo);
    return b.create<arith::XOrIOp>(emitter.loc(), isOff(to, unaligned, emitter),
                                   emitter.constant(b.getI1Type(), 1));
  }

  // `computed`: what `values` asks for lanes of, if not for those of a buffer.
  static void storeAll(tile::StoreOp store, LaneEmitter &emitter, Value computed,
                       llvm::function_ref<Value(const Lanes &)> values) {
    auto shape = tile::shapeOf(store.getPointer().getType());
    auto compaction = Compaction::of(store, emitter);
    if (compaction)
      compaction->start(emitter);
    auto put = putting(store, emitter, compaction ? &*compaction : nullptr, values);
    if (shape.empty())
      return emitter.forEach(shape, 0, 1, put);
    RowTask task;
    task.tiles = {store.getPointer()};
    for (Value tile : {store.getMask(), computed})
      if (tile)
        task.tiles.push_back(tile);
    task.storeMask = store.getMask();
    task.body = [&](const Lanes &where, ValueRange) -> SmallVector<Value> {
      put(where);
      return {};
    };
    unsigned dim = LaneEmitter::preferredDim(shape);
    ArrayRef<Operation *> rows = emitter.plan.rowsFetchedDuring(store);
    if (!rows.empty() && computed && emitter.sweeps && dim == shape.size() - 1) {
      // What the second cache holds is near enough.
      Value large = writesMore(8, store, emitter);
      task.atStart = [=, &emitter](const Lanes &row) {
        emitter.when(large, [&] { fetchRows(rows, row, emitter); });
      };
    }
    emitter.forEachInRows(shape, dim, task, endsOfStore(store, emitter, dim),
                          emitter.plan.fetchedDuring(store),
                          emitter.plan.alternates(store) && !compaction);
    if (compaction)
      compaction->finish(emitter);
  }
};

} // namespace

// The first lane of all that addresses are made of and that is the same in other rows.
static void prepareFirst(Value tile, const Lanes &where, LaneEmitter &emitter) {
  Operation *op = tile.getDefiningOp();
  if (!op || !tile::isTile(tile) || emitter.plan.stored(tile))
    return;
  if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op)) {
    Lanes from = emitter.inOperand(op, where);
    if (from.width == where.width)
      emitter.lanes(op->getOperand(0), from.first());
  } else if (op->hasTrait<OpTrait::Elementwise>()) {
    for (Value operand : op->getOperands())
      prepareFirst(operand, where, emitter);
  }
}

void prepareLoads(Value tile, const Lanes &where, LaneEmitter &emitter) {
  Operation *op = tile.getDefiningOp();
  if (!op || !isa<RankedTensorType>(tile.getType()) || emitter.plan.stored(tile))
    return;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (!mayBeAdjacent(emitter, load.getPointer(), where))
      return;
    prepareTest(emitter, load.getPointer(), where);
    prepareFirst(load.getPointer(), where, emitter);
  } else if (op->hasTrait<OpTrait::Elementwise>()) {
    for (Value operand : op->getOperands())
      prepareLoads(operand, where, emitter);
  }
}

void storeBeside(tile::StoreOp store, ArrayRef<RowTask> tasks, ArrayRef<FusionPlan::Ahead> ahead,
                 LaneEmitter &emitter, llvm::function_ref<void()> tasksAlone) {
  emitter.setLocation(store.getLoc());
  Value value = store.getValue(), mask = store.getMask();
  auto lanes = [&](const Lanes &where) { return emitter.lanes(value, where); };
  auto fused = [&] {
    auto compaction = Compaction::of(store, emitter);
    if (compaction)
      compaction->start(emitter);
    auto put = StoreLanes::putting(store, emitter, compaction ? &*compaction : nullptr, lanes);
    // What is stored is computed before the tasks write, and all that is read is read before it is
    // stored.
    RowTask before, after;
    before.tiles = {value};
    if (mask)
      before.tiles.push_back(mask);
    after.tiles = before.tiles;
    before.body = [&](const Lanes &where, ValueRange) -> SmallVector<Value> {
      lanes(where);
      return {};
    };
    after.body = [&](const Lanes &where, ValueRange) -> SmallVector<Value> {
      put(where);
      return {};
    };
    SmallVector<RowTask> all = {before};
    llvm::append_range(all, tasks);
    all.push_back(after);
    Lanes row;
    row.position = {emitter.index(0)};
    emitter.alongRow(row, tile::shapeOf(value.getType())[0], all, ahead);
    if (compaction)
      compaction->finish(emitter);
  };
  StoreLanes::apart(store, emitter, fused, tasksAlone);
}

void registerMemoryLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::LoadOp::attachInterface<LoadLanes>(*context);
    tile::StoreOp::attachInterface<StoreLanes>(*context);
  });
}

} // namespace nereid::cpu
