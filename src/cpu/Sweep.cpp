// Loops along rows of which masks cut off the end. A mask such as `columns < N` is true for the
// first lanes of a row and false for the others; how many is known before the row begins. So the
// lanes that are in need no mask, those that are out are all alike, and only the vectors between
// them look at it:
//
//   [0, full)      wide vectors, the masks are true
//   [full, end)    narrow vectors, masked
//   [end, extent)  narrow vectors, the masks are false
#include "cpu/LaneEmitter.h"
#include "cpu/LaneOffsets.h"
#include "cpu/RunLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// How many lanes of a row are true: exactly `full` in the simple case. Where a number wraps around
// in the row nothing is known: the first 0 lanes are true, those from the extent on are false.
struct Prefix {
  Value full, end;
};

// a ? b : false
bool isConjunction(Operation *op) {
  return isa<arith::SelectOp>(op) && matchPattern(op->getOperand(2), m_Zero()) &&
         op->getOperand(0).getType() == op->getResult(0).getType();
}

class RowMasks {
public:
  // `computed`: tiles that are computed here, though they have buffers.
  RowMasks(LaneEmitter &emitter, int64_t extent, llvm::DenseSet<Value> computed)
      : emitter(emitter), b(emitter.builder), loc(emitter.loc()), extent(extent),
        computed(std::move(computed)) {}

  // Finds the masks that `tile` is computed from. False if some op reads its operands elsewhere.
  bool collect(Value tile, const Lanes &row) {
    if (!tile::isTile(tile) || !seen.insert(tile).second)
      return true;
    // `where(mask, x, False)` is cut where the mask ends, not where `False` does.
    if (isRead(tile) || matchPattern(tile, m_Constant()))
      return true;
    Operation *op = tile.getDefiningOp();
    if (!op || !isLazy(op))
      return false;
    if (tile::elementType(tile.getType()).isInteger(1))
      if (auto found = prefix(tile, row)) {
        masks.push_back(tile);
        prefixes.push_back(*found);
        known.insert(tile);
        return true;
      }
    if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op))
      return collect(op->getOperand(0), emitter.inOperand(op, row));
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    if (!op->hasTrait<OpTrait::Elementwise>() && !access && !isa<tile::SplatOp>(op) &&
        llvm::any_of(op->getOperands(), tile::isTile))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand, row); });
  }

  // True if all lanes of `tile` that the masks cut off are the same.
  bool isUniform(Value tile, const Lanes &row) {
    if (!tile::isTile(tile) || known.contains(tile))
      return true;
    if (!looked.insert(tile).second) // the answer is no as soon as one is
      return true;
    if (tile::shapeOf(tile.getType())[row.dim] == 1)
      return true;
    Operation *op = tile.getDefiningOp();
    if (!op || isRead(tile))
      return false;
    if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op)) {
      Value source = op->getOperand(0);
      if (isa<tile::ExpandDimsOp>(op) && cast<tile::ExpandDimsOp>(op).getAxis() == row.dim)
        return true;
      return isUniform(source, emitter.inOperand(op, row));
    }
    auto uniform = [&](Value operand) { return isUniform(operand, row); };
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return load.getMask() && known.contains(load.getMask()) &&
             (!load.getOther() || uniform(load.getOther()));
    if (auto choice = dyn_cast<arith::SelectOp>(op);
        choice && known.contains(choice.getCondition()))
      return uniform(choice.getFalseValue());
    if (isa<arith::ConstantOp, tile::SplatOp>(op))
      return true;
    return op->hasTrait<OpTrait::Elementwise>() && llvm::all_of(op->getOperands(), uniform);
  }

  std::optional<Prefix> prefix(Value mask, const Lanes &row) {
    Operation *op = mask.getDefiningOp();
    if (!op || !isLazy(op) || emitter.plan.stored(mask))
      return {};
    unsigned dim = row.dim;
    auto shape = tile::shapeOf(mask.getType());
    if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op) && !isConstant(op->getOperand(0), op, dim))
      return prefix(op->getOperand(0), emitter.inOperand(op, row));
    if (!isKnownBefore(mask))
      return {};
    if (emitter.axes.facts(mask).constancy[dim] >= shape[dim]) {
      Value all = b.create<arith::SelectOp>(loc, emitter.lanes(mask, row), emitter.index(extent),
                                            emitter.index(0));
      return Prefix{all, all};
    }
    if (isa<arith::AndIOp>(op)) {
      auto x = prefix(op->getOperand(0), row), y = prefix(op->getOperand(1), row);
      if (!x || !y)
        return {};
      return Prefix{least(x->full, y->full), least(x->end, y->end)};
    }
    auto compare = dyn_cast<arith::CmpIOp>(op);
    return compare ? comparison(compare, row) : std::nullopt;
  }

  // x < bound, where x counts up along the row and the bound is one number.
  std::optional<Prefix> comparison(arith::CmpIOp compare, const Lanes &row) {
    using P = arith::CmpIPredicate;
    P predicate = compare.getPredicate();
    Value counting = compare.getLhs(), bound = compare.getRhs();
    if (predicate == P::sgt || predicate == P::sge || predicate == P::ugt || predicate == P::uge) {
      std::swap(counting, bound);
      predicate = predicate == P::sgt   ? P::slt
                  : predicate == P::sge ? P::sle
                  : predicate == P::ugt ? P::ult
                                        : P::ule;
    }
    bool isSigned = predicate == P::slt || predicate == P::sle;
    bool inclusive = predicate == P::sle || predicate == P::ule;
    if (!isSigned && predicate != P::ult && predicate != P::ule)
      return {};
    if (emitter.axes.facts(counting).contiguity[row.dim] < extent ||
        emitter.axes.facts(bound).constancy[row.dim] < extent)
      return {};
    unsigned bits = tile::elementType(counting.getType()).getIntOrFloatBitWidth();
    Type wide = b.getI64Type();
    auto number = [&](Value tile) -> Value {
      Value value = emitter.lanes(tile, row);
      if (bits == 64)
        return value;
      return isSigned ? b.create<arith::ExtSIOp>(loc, wide, value).getResult()
                      : b.create<arith::ExtUIOp>(loc, wide, value).getResult();
    };
    Value x = number(counting), limit = number(bound);
    Value none = b.create<arith::CmpIOp>(
        loc, isSigned ? (inclusive ? P::sgt : P::sge) : (inclusive ? P::ugt : P::uge), x, limit);
    Value count = b.create<arith::MinUIOp>(loc, b.create<arith::SubIOp>(loc, limit, x),
                                           emitter.index(inclusive ? extent - 1 : extent));
    if (inclusive)
      count = emitter.add(count, emitter.index(1));
    count = b.create<arith::SelectOp>(loc, none, emitter.index(0), count);
    APInt last = (isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits)).zext(64) -
                 uint64_t(extent - 1);
    Value wraps = b.create<arith::CmpIOp>(loc, isSigned ? P::sgt : P::ugt, x,
                                          emitter.index(int64_t(last.getZExtValue())));
    return Prefix{b.create<arith::SelectOp>(loc, wraps, emitter.index(0), count),
                  b.create<arith::SelectOp>(loc, wraps, emitter.index(extent), count)};
  }

  Value least(Value x, Value y) { return b.create<arith::MinSIOp>(loc, x, y); }
  Value most(Value x, Value y) { return b.create<arith::MaxSIOp>(loc, x, y); }

  // From where on a mask is false, if those that were found tell; null if not.
  Value endOf(Value mask) {
    if (auto found = llvm::find(masks, mask); found != masks.end())
      return prefixes[found - masks.begin()].end;
    Operation *op = mask.getDefiningOp();
    if (!op || isRead(mask) || !(isa<arith::AndIOp>(op) || isConjunction(op)))
      return {};
    Value x = endOf(op->getOperand(0)), y = endOf(op->getOperand(1));
    return x && y ? least(x, y) : x ? x : y;
  }

  SmallVector<Value> masks;
  SmallVector<Prefix> prefixes;

private:
  static bool isConstant(Value source, Operation *op, unsigned dim) {
    if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
      return expand.getAxis() == dim;
    return tile::shapeOf(source.getType())[dim] == 1;
  }

  // False if the loop itself stores what the tile is computed from: its first lanes cannot be asked
  // for before the row begins.
  bool isKnownBefore(Value tile) {
    if (!tile::isTile(tile) || emitter.plan.stored(tile))
      return !computed.contains(tile);
    if (auto found = before.find(tile); found != before.end())
      return found->second;
    Operation *op = tile.getDefiningOp();
    bool all = op && llvm::all_of(op->getOperands(),
                                  [&](Value operand) { return isKnownBefore(operand); });
    before[tile] = all;
    return all;
  }

  bool isRead(Value tile) const { return emitter.plan.stored(tile) && !computed.contains(tile); }

  LaneEmitter &emitter;
  OpBuilder &b;
  Location loc;
  int64_t extent;
  llvm::DenseSet<Value> computed, seen, known, looked;
  llvm::DenseMap<Value, bool> before;
};

} // namespace

static llvm::DenseSet<Value> computedBy(ArrayRef<RowTask> tasks) {
  llvm::DenseSet<Value> computed;
  for (const RowTask &task : tasks)
    if (task.computes)
      computed.insert(task.computes);
  return computed;
}

std::optional<Sweep> LaneEmitter::sweep(ArrayRef<RowTask> tasks, const Lanes &row, int64_t extent,
                                        int64_t wide) {
  int64_t narrow = std::min(wide, vectorLanes());
  // Of a few steps the tests would cost what they save; not of rows that are stored, which go past
  // the cache where they have no mask: what is known of all of them is found once.
  bool isStored = row.position.size() > 1 && tasks.front().storeMask;
  if (!sweeps || extent < 2 * (isStored ? narrow : wide))
    return {};
  RowMasks found(*this, extent, computedBy(tasks));
  for (const RowTask &task : tasks)
    for (Value tile : task.tiles)
      if (!found.collect(tile, row))
        return {};
  if (found.masks.empty())
    return {};
  Sweep out;
  out.masks = found.masks;
  out.wide = wide;
  out.narrow = narrow;
  Value full, end;
  for (const Prefix &prefix : found.prefixes) {
    full = full ? found.least(full, prefix.full) : prefix.full;
    end = end ? found.most(end, prefix.end) : prefix.end;
  }
  // A store goes alone.
  if (Value mask = tasks.front().storeMask) {
    end = found.endOf(mask);
    if (!end)
      end = index(extent);
  } else {
    out.uniform = llvm::all_of(tasks, [&](const RowTask &task) {
      return llvm::all_of(task.tiles, [&](Value tile) { return found.isUniform(tile, row); });
    });
    if (!out.uniform)
      end = index(extent);
  }
  auto roundDown = [&](Value value, int64_t to) -> Value {
    return builder.create<arith::AndIOp>(location, value, index(-to));
  };
  out.full = roundDown(full, wide);
  out.end = found.most(out.full, roundDown(add(end, index(narrow - 1)), narrow));
  return out;
}

Value LaneEmitter::maskEnd(Value mask, unsigned dim, llvm::function_ref<bool(Value)> isKnown) {
  Operation *op = mask.getDefiningOp();
  auto shape = tile::shapeOf(mask.getType());
  if (!op || shape.empty() || shape[dim] == 1)
    return {};
  if (isa<tile::BroadcastOp>(op))
    return maskEnd(op->getOperand(0), dim, isKnown);
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
    return maskEnd(op->getOperand(0), dim - (dim > unsigned(expand.getAxis())), isKnown);
  if (isa<arith::AndIOp>(op) || isConjunction(op)) {
    Value x = maskEnd(op->getOperand(0), dim, isKnown),
          y = maskEnd(op->getOperand(1), dim, isKnown);
    return x && y ? builder.create<arith::MinSIOp>(location, x, y).getResult() : x ? x : y;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || !isKnown(compare.getLhs()) || !isKnown(compare.getRhs()))
    return {};
  // All rows must be alike.
  for (unsigned d = 0; d < shape.size(); ++d)
    for (Value side : compare->getOperands())
      if (d != dim && axes.facts(side).constancy[d] < shape[d])
        return {};
  Lanes row;
  row.position.assign(shape.size(), index(0));
  row.dim = dim;
  auto found = RowMasks(*this, shape[dim], {}).comparison(compare, row);
  return found ? found->end : Value();
}

std::optional<bool> LaneEmitter::assumedMask(Value mask) const {
  auto found = assumed.find(mask);
  return found == assumed.end() ? std::nullopt : std::optional<bool>(found->second);
}

void LaneEmitter::assuming(ArrayRef<Value> masks, bool value, llvm::function_ref<void()> body) {
  auto outer = assumed;
  for (Value mask : masks)
    assumed[mask] = value;
  body();
  assumed = std::move(outer);
}

void LaneEmitter::forEachInRows(ArrayRef<int64_t> shape, unsigned dim, const RowTask &task,
                                ArrayRef<Value> ends, ArrayRef<FusionPlan::Ahead> ahead,
                                bool alternates) {
  auto all = [&](const Lanes &where) { task.body(where, {}); };
  if (dim != preferredDim(shape))
    return forEach(shape, dim, preferredWidth(shape, dim), all, ends);
  SmallVector<int64_t> rows(shape);
  rows[dim] = 1;
  SmallVector<Value> rowEnds(ends);
  if (!ends.empty())
    rowEnds[dim] = {};
  auto along = [&](const Lanes &row) {
    if (task.atStart)
      task.atStart(row);
    alongRow(row, shape[dim], task, ahead, alternates);
  };
  forEach(rows, dim, 1, along, rowEnds);
}

static Value sameBits(LaneEmitter &emitter, Value a, Value c) {
  OpBuilder &b = emitter.builder;
  int64_t width = widthOf(a.getType());
  Type bits = b.getIntegerType(width * scalarOf(a.getType()).getIntOrFloatBitWidth());
  return b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::eq,
                                 b.create<LLVM::BitcastOp>(emitter.loc(), bits, a),
                                 b.create<LLVM::BitcastOp>(emitter.loc(), bits, c));
}

Value LaneEmitter::onStack(Type type) {
  OpBuilder::InsertionGuard guard(builder);
  Value one = index(1);
  builder.setInsertionPointAfter(one.getDefiningOp());
  return builder.create<LLVM::AllocaOp>(location, LLVM::LLVMPointerType::get(builder.getContext()),
                                        type, one);
}

Value LaneEmitter::zeroSlot() {
  OpBuilder::InsertionGuard guard(builder);
  Value none = index(0), slot = onStack(builder.getI64Type());
  Operation *after = slot.getDefiningOp();
  builder.setInsertionPointAfter(after->isBeforeInBlock(none.getDefiningOp()) ? none.getDefiningOp()
                                                                              : after);
  builder.create<LLVM::StoreOp>(location, none, slot);
  return slot;
}

// The next round is taken to be as far from this one as this one is from the last. Programs and
// loops walk through memory like that, and nothing is wrong if they do not.
void LaneEmitter::noteStart(tile::LoadOp load) {
  Type number = builder.getI64Type();
  Value slot = zeroSlot();
  Lanes start;
  start.position.assign(tile::shapeOf(load.getType()).size(), index(0));
  Value now = builder.create<LLVM::PtrToIntOp>(location, number, lanes(load.getPointer(), start));
  Value before = builder.create<LLVM::LoadOp>(location, number, slot);
  builder.create<LLVM::StoreOp>(location, now, slot);
  Value first = builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::eq, before, index(0));
  Value stride = builder.create<arith::SubIOp>(location, now, before);
  strides[load] = builder.create<arith::SelectOp>(location, first, index(0), stride);
}

constexpr int64_t bytesAhead = 16 << 10, bytesAheadOfShort = 4 << 10;

// The loop's share of each row: it is `at` of `end`. One of so many loads that are fetched.
void LaneEmitter::fetch(const FusionPlan::Ahead &ahead, const Lanes &where, Value at, Value end,
                        int64_t loads) {
  auto load = cast<tile::LoadOp>(ahead.load);
  // Short rows are over before memory answers: then those of several rounds are under way.
  uint64_t row = bufferBytes(load.getResult().getType());
  int64_t within = ahead.isShort && ahead.isNear ? bytesAheadOfShort : bytesAhead;
  int64_t rounds = std::max<int64_t>(within / loads / int64_t(row), 1);
  Value stride = strides.lookup(load);
  Value distance = builder.create<arith::MulIOp>(location, stride, index(rounds));
  int32_t cache = ahead.isNear ? 3 : 2;
  int64_t element = tile::bytesInMemory(load.getAccessElementType());
  Lanes from = where.first();
  auto after = [&](Value pointer, Value bytes) -> Value {
    return builder.create<LLVM::GEPOp>(location, pointer.getType(), builder.getI8Type(), pointer,
                                       bytes);
  };
  auto all = [&] {
    fetchLines(after(lanes(load.getPointer(), from), distance), where.width * element, cache);
  };
  if (ahead.isShort) {
    Value apart = builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne, stride,
                                                index(int64_t(row)));
    // What the second cache holds need not be fetched into it.
    if (!ahead.isNear)
      apart = builder.create<arith::AndIOp>(location, apart, isMore(8 * int64_t(row)));
    return when(apart, all);
  }
  if (ahead.share == 8)
    return all();
  auto eighths = [&](Value of, unsigned count) -> Value {
    Value product = builder.create<arith::MulIOp>(location, of, index(count * element));
    return builder.create<arith::ShRUIOp>(location, product, index(3));
  };
  from.position[where.dim] = index(0);
  Value next = after(after(lanes(load.getPointer(), from), distance), eighths(end, ahead.first));
  // As fast as the loop reads, so that the share is on its way soon: the next program waits for
  // what is asked for late. A loop, not as many instructions: stores that leave beside it find room
  // then. Both measured.
  Value share = eighths(end, ahead.share);
  auto until = [&](Value lane) -> Value {
    Value bytes = builder.create<arith::MulIOp>(location, lane, index(element));
    return builder.create<arith::MinSIOp>(location, bytes, share);
  };
  Value first = until(at), last = until(add(at, index(where.width)));
  loop(first, last, lineBytes, {}, [&](Value line, ValueRange) -> SmallVector<Value> {
    fetchLines(after(next, line), lineBytes, cache);
    return {};
  });
}

Value LaneEmitter::isMore(int64_t bytes) {
  Value all = builder.create<arith::MulIOp>(location, program.count, index(bytes));
  return builder.create<arith::AndIOp>(
      location,
      builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ugt, all, program.streamAbove),
      builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne, program.streamAbove,
                                    index(0)));
}

void LaneEmitter::fetchRound(const FusionPlan::Ahead &ahead, const Lanes &where) {
  fetch(ahead, where, {}, {}, 1);
}

void LaneEmitter::fetchLines(Value pointer, int64_t bytes, int32_t hint) {
  for (int64_t line = 0; line < bytes; line += lineBytes) {
    Value at = builder.create<LLVM::GEPOp>(location, pointer.getType(), builder.getI8Type(),
                                           pointer, ArrayRef<LLVM::GEPArg>{int32_t(line)});
    builder.create<LLVM::Prefetch>(location, at, /*rw=*/0, hint, /*cache=*/1);
  }
}

// True if lanes of the tasks are read or written one by one: a loop that takes several vectors a
// step gains nothing then, and its code is long.
bool LaneEmitter::scatters(ArrayRef<RowTask> tasks, const Lanes &row, int64_t width) {
  llvm::DenseSet<Value> seen, computed = computedBy(tasks);
  auto areOneByOne = [&](Value pointers, const Lanes &where) {
    return isScattered(pointers, where.dim, axes) &&
           !stepBetweenSplits(pointers, where.dim, axes) && !laneOffsets(pointers, where, *this);
  };
  std::function<bool(Value, Lanes)> scatters = [&](Value tile, Lanes where) {
    if (!tile::isTile(tile) || where.width == 1 || !seen.insert(tile).second ||
        (plan.stored(tile) && !computed.contains(tile)))
      return false;
    Operation *op = tile.getDefiningOp();
    if (!op || !isLazy(op))
      return false;
    if (auto load = dyn_cast<tile::LoadOp>(op); load && areOneByOne(load.getPointer(), where))
      return true;
    if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op))
      return scatters(op->getOperand(0), inOperand(op, where));
    return (op->hasTrait<OpTrait::Elementwise>() || isa<tile::LoadOp>(op)) &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return scatters(operand, where); });
  };
  Lanes where = row;
  where.width = width;
  for (const RowTask &task : tasks)
    for (Value tile : task.tiles)
      if ((task.storeMask && isa<tile::PtrType>(tile::elementType(tile.getType())) &&
           areOneByOne(tile, where)) ||
          scatters(tile, where))
        return true;
  return false;
}

// The numbers of the tasks that runs are made of; null if there are none.
std::unique_ptr<RowRuns> LaneEmitter::runsOf(ArrayRef<RowTask> tasks, const Lanes &row,
                                             int64_t extent, int64_t width) {
  if (!sweeps || extent < 2 * width || width < vectorLanes())
    return {};
  auto runs = std::make_unique<RowRuns>(*this, width, computedBy(tasks));
  Lanes all = row;
  all.width = extent;
  for (const RowTask &task : tasks)
    for (Value tile : task.tiles)
      if (!runs->collect(tile, all))
        return {};
  return runs->isEmpty() ? nullptr : std::move(runs);
}

// Steps that are all the same and store nothing: where one of them changes no value, none does.
static SmallVector<Value>
untilUnchanged(LaneEmitter &emitter, Value from, Value to, int64_t width, ArrayRef<Value> carried,
               llvm::function_ref<SmallVector<Value>(Value, Value, ArrayRef<Value>)> steps) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Value more = b.create<arith::MinSIOp>(loc, to, emitter.add(from, emitter.index(width)));
  SmallVector<Value> after = steps(from, more, carried);
  Value unchanged;
  for (auto [was, is] : llvm::zip(carried, after)) {
    Value same = sameBits(emitter, was, is);
    unchanged = unchanged ? b.create<arith::AndIOp>(loc, unchanged, same).getResult() : same;
  }
  Value rest = b.create<arith::SelectOp>(loc, unchanged, to, more);
  return steps(rest, to, after);
}

SmallVector<Value> LaneEmitter::alongRow(const Lanes &row, int64_t extent, ArrayRef<RowTask> tasks,
                                         ArrayRef<FusionPlan::Ahead> ahead, bool alternates) {
  int64_t wide = preferredWidth({extent}, 0);
  SmallVector<Value> carried;
  for (const RowTask &task : tasks)
    llvm::append_range(carried, task.carried);
  if (carried.empty() && wide > vectorLanes() && (!sweeps || scatters(tasks, row, wide)))
    wide = vectorLanes();
  // Each task's share of the carried values becomes that of `each`.
  auto perTask = [&](ValueRange all, auto each) {
    SmallVector<Value> out;
    for (const RowTask &task : tasks) {
      SmallVector<Value> mine = each(task, all.take_front(task.carried.size()));
      llvm::append_range(out, mine);
      all = all.drop_front(task.carried.size());
    }
    return out;
  };
  Lanes where = row;
  Value last = index(extent), fetchEnd = last;
  bool settling = false; // beyond the masks
  auto steps = [&](Value lower, Value upper, int64_t width, ArrayRef<Value> before) {
    // From the end: at such a place the step is that is as far from it.
    Value mirror, sign;
    if (alternates) {
      Value odd = builder.create<arith::TruncIOp>(location, builder.getI1Type(), program.program);
      Value lastStep = add(add(lower, upper), index(-width));
      mirror = builder.create<arith::SelectOp>(location, odd, lastStep, index(0));
      sign = builder.create<arith::SelectOp>(location, odd, index(-1), index(1));
    }
    auto body = [&](Value at, ValueRange now) -> SmallVector<Value> {
      where.position[row.dim] =
          mirror ? add(mirror, builder.create<arith::MulIOp>(location, at, sign)) : at;
      where.width = width;
      if (!settling)
        for (const FusionPlan::Ahead &one : ahead)
          fetch(one, where, at, fetchEnd, int64_t(ahead.size()));
      return perTask(now,
                     [&](const RowTask &task, ValueRange mine) { return task.body(where, mine); });
    };
    if (upper == last && extent == width)
      return loop(0, extent, width, before, body);
    return loop(lower, upper, width, before, body);
  };
  auto narrowTo = [&](int64_t from, int64_t to) {
    carried = perTask(carried, [&](const RowTask &task, ValueRange mine) {
      return task.narrow ? task.narrow(mine, from, to) : SmallVector<Value>();
    });
  };
  auto settled = [&](int64_t from) {
    narrowTo(from, 1);
    return perTask(carried, [&](const RowTask &task, ValueRange mine) {
      return task.settle ? task.settle(row, mine) : llvm::to_vector(mine);
    });
  };
  // Cut where runs end, too (RunLanes.h).
  // What is carried is as wide as all steps.
  int64_t narrow = carried.empty() ? std::min(wide, vectorLanes()) : wide;
  SmallVector<int64_t, 2> runWidths = {narrow};
  if (extent >= 2 * wide && wide > narrow)
    runWidths.insert(runWidths.begin(), wide);
  auto findRuns = [&] {
    return ahead.empty() && !alternates ? runsOf(tasks, row, extent, narrow) : nullptr;
  };
  auto whole = [&](Value upper) {
    auto runs = findRuns();
    if (!runs)
      return steps(index(0), upper, wide, carried);
    return alongRuns(*runs, upper, upper, runWidths, carried,
                     [&](Value lower, Value upper, int64_t width, ArrayRef<Value> before,
                         bool isRun) { return steps(lower, upper, width, before); });
  };
  auto parts = sweep(tasks, row, extent, wide);
  if (!parts) {
    carried = whole(last);
    return settled(wide);
  }
  fetchEnd = parts->end;
  std::unique_ptr<RowRuns> runs;
  if (carried.empty())
    assuming(parts->masks, true, [&] { runs = findRuns(); });
  if (runs) {
    // What lies across the end of a run looks at the masks, too: one code for it and the border.
    alongRuns(*runs, parts->full, parts->end, runWidths, {},
              [&](Value lower, Value upper, int64_t width, ArrayRef<Value>, bool isRun) {
                if (isRun)
                  assuming(parts->masks, true, [&] { steps(lower, upper, width, {}); });
                else
                  steps(lower, upper, width, {});
                return SmallVector<Value>();
              });
  } else {
    assuming(parts->masks, true, [&] { carried = whole(parts->full); });
    narrowTo(wide, parts->narrow);
    carried = steps(parts->full, parts->end, parts->narrow, carried);
  }
  if (parts->uniform)
    assuming(parts->masks, false, [&] {
      settling = true;
      const bool stores =
          llvm::any_of(tasks, [](const RowTask &task) { return task.carried.empty(); });
      auto narrowSteps = [&](Value lower, Value upper, ArrayRef<Value> before) {
        return steps(lower, upper, parts->narrow, before);
      };
      carried = stores
                    ? narrowSteps(parts->end, last, carried)
                    : untilUnchanged(*this, parts->end, last, parts->narrow, carried, narrowSteps);
    });
  return settled(parts->narrow);
}

} // namespace nereid::cpu
