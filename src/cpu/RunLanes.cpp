#include "cpu/RunLanes.h"

#include "analysis/Widening.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace nereid::cpu {

namespace {

// Fewer lanes are divided as fast as two.
constexpr int64_t leastLanes = 8;

bool isQuotient(Operation *op) { return isa<tile::DivSIOp, tile::DivUIOp>(op); }
bool isRest(Operation *op) { return isa<tile::RemSIOp, tile::RemUIOp>(op); }

// The step from lane to lane that facts about a tile tell.
std::optional<int64_t> stepByFacts(Value tile, unsigned dim, int64_t width,
                                   const analysis::AxisAnalysis &axes) {
  tile::AxisFacts facts = axes.facts(tile);
  if (facts.constancy[dim] >= width)
    return 0;
  if (facts.contiguity[dim] >= width)
    return 1;
  return {};
}

// The step of an elementwise op's result, of those of its operands.
std::optional<int64_t> elementwiseStep(Operation *op, ArrayRef<int64_t> steps,
                                       const analysis::AxisAnalysis &axes) {
  if (llvm::all_of(steps, [](int64_t one) { return one == 0; }))
    return 0;
  if (analysis::widensWrapped(op))
    return {};
  if (isa<arith::ExtSIOp, arith::ExtUIOp, tile::HintOp>(op))
    return steps[0];
  if (isa<arith::AddIOp, tile::AddPtrOp>(op))
    return steps[0] + steps[1];
  if (isa<arith::SubIOp>(op))
    return steps[0] - steps[1];
  if (isa<arith::MulIOp>(op))
    for (unsigned i : {0, 1})
      if (auto factor = axes.facts(op->getOperand(i)).constant)
        return steps[1 - i] * *factor;
  if (isa<arith::SelectOp>(op) && steps[0] == 0 && steps[1] == steps[2])
    return steps[1];
  return {};
}

bool isMoved(Operation *op) { return isa<tile::BroadcastOp, tile::ExpandDimsOp>(op); }

// The step of an op's result where facts tell none: `ofOperand` gives those of operands that are
// tiles, `inPiece` that of an op which has one only as long as a condition holds.
std::optional<int64_t> stepByOperands(
    Operation *op, const analysis::AxisAnalysis &axes,
    llvm::function_ref<std::optional<int64_t>(Value operand)> ofOperand,
    llvm::function_ref<std::optional<int64_t>(Operation *op, ArrayRef<int64_t> steps)> inPiece) {
  if (!op || op->getNumResults() != 1 || !isMemoryEffectFree(op) ||
      !(isMoved(op) || op->hasTrait<OpTrait::Elementwise>() || isa<tile::AddPtrOp>(op)))
    return {};
  SmallVector<int64_t> steps;
  for (Value operand : op->getOperands()) {
    auto step = tile::isTile(operand) ? ofOperand(operand) : std::optional<int64_t>(0);
    if (!step)
      return {};
    steps.push_back(*step);
  }
  if (isMoved(op))
    return steps[0];
  auto step = elementwiseStep(op, steps, axes);
  return step ? step : inPiece(op, steps);
}

// Quotients of numbers that rise only rise, or only fall. What is left of them falls by the divisor
// at each of its multiples.
bool isSplit(Operation *op, ArrayRef<int64_t> steps) {
  return (isRest(op) || isQuotient(op)) && steps[0] == 1 && steps[1] == 0;
}

// What a number that counts up is multiplied by, which is one for all lanes: strides that the
// launch tells are 1 as a rule where they are those of a row.
std::optional<Value> factorOf(Operation *op, ArrayRef<int64_t> steps) {
  if (!isa<arith::MulIOp>(op) || steps[0] + steps[1] != 1 || steps[0] * steps[1] != 0)
    return {};
  return op->getOperand(steps[0]);
}

class RunFinder {
public:
  /// `factor`: what factors that only the launch tells are taken to be.
  explicit RunFinder(LaneEmitter &emitter, int64_t factor = 1) : emitter(emitter), factor(factor) {}

  struct Test {
    Value number;
    Lanes where;
    int64_t step;
  };
  SmallVector<Test> tests;
  SmallVector<std::pair<Value, Lanes>> factors; // that have to be 1
  bool isUnsigned = false;                      // some numbers are widened without a sign

  // The step from lane to lane under the tests; nothing is emitted.
  std::optional<int64_t> step(Value value, const Lanes &where) {
    if (!tile::isTile(value))
      return 0;
    if (auto known = emitter.stepInRun(value))
      return known;
    if (auto known = stepByFacts(value, where.dim, where.width, emitter.axes))
      return known;
    Operation *op = value.getDefiningOp();
    auto add = dyn_cast_or_null<tile::AddPtrOp>(op);
    isUnsigned |= isa_and_present<arith::ExtUIOp>(op) || (add && add.getIsUnsigned());
    return stepByOperands(
        op, emitter.axes,
        [&](Value operand) {
          return step(operand, isMoved(op) ? emitter.inOperand(op, where) : where);
        },
        [&](Operation *op, ArrayRef<int64_t> steps) -> std::optional<int64_t> {
          if (auto found = factorOf(op, steps)) {
            factors.push_back({*found, where});
            return factor;
          }
          if (!isSplit(op, steps))
            return {};
          tests.push_back({value, where, isRest(op)});
          return isRest(op);
        });
  }

private:
  LaneEmitter &emitter;
  int64_t factor;
};

// What lanes are apart is that factor if they are not apart at all where it is 0.
Value strideOf(const RunFinder &found, Value tile, const Lanes &where, LaneEmitter &emitter) {
  if (found.factors.size() != 1 || found.isUnsigned)
    return {};
  auto [factor, at] = found.factors.front();
  if (RunFinder(emitter, /*factor=*/0).step(tile, where) != 0)
    return {};
  Value number = emitter.lanes(factor, at.first());
  Type wide = emitter.builder.getI64Type();
  return number.getType() == wide
             ? number
             : emitter.builder.create<arith::ExtSIOp>(emitter.loc(), wide, number).getResult();
}

} // namespace

Value bothHold(LaneEmitter &emitter, Value a, Value b) {
  return a && b ? emitter.builder.create<arith::AndIOp>(emitter.loc(), a, b).getResult()
         : a    ? a
                : b;
}

Lanes lastOf(LaneEmitter &emitter, const Lanes &where) {
  Lanes last = where.first();
  last.position[last.dim] = emitter.add(last.position[last.dim], emitter.index(where.width - 1));
  return last;
}

Value endsMeet(LaneEmitter &emitter, Value first, Value last, int64_t step, int64_t width) {
  if (step)
    first = emitter.add(first, emitter.constant(first.getType(), step * (width - 1)));
  return emitter.builder.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::eq, first,
                                               last);
}

std::optional<Run> findRun(LaneEmitter &emitter, Value tile, const Lanes &where, bool mayDivide) {
  RunFinder finder(emitter);
  auto step = finder.step(tile, where);
  // Where a factor is not 1, divisions to see the rest would be in vain.
  bool divides = !finder.tests.empty();
  if (!step || (divides && (!mayDivide || !finder.factors.empty())) ||
      (finder.factors.empty() && where.width < leastLanes))
    return {};
  Value condition;
  for (auto [factor, at] : finder.factors) {
    Value number = emitter.lanes(factor, at.first());
    Value isOne = emitter.builder.create<arith::CmpIOp>(
        emitter.loc(), arith::CmpIPredicate::eq, number, emitter.constant(number.getType(), 1));
    condition = bothHold(emitter, condition, isOne);
  }
  for (const RunFinder::Test &test : finder.tests) {
    Value first = emitter.lanes(test.number, test.where.first()),
          last = emitter.lanes(test.number, lastOf(emitter, test.where));
    condition =
        bothHold(emitter, condition, endsMeet(emitter, first, last, test.step, test.where.width));
  }
  Value stride = divides || *step != 1 ? Value() : strideOf(finder, tile, where, emitter);
  return Run{*step, condition, !divides, stride};
}

// --- runs along a row ---

using KnownSteps = llvm::DenseMap<std::pair<Value, unsigned>, std::optional<int64_t>>;

static std::optional<int64_t> stepBetweenSplits(Value value, unsigned dim,
                                                const analysis::AxisAnalysis &axes,
                                                KnownSteps &known) {
  if (!tile::isTile(value))
    return 0;
  auto [found, isNew] = known.try_emplace({value, dim}, std::nullopt);
  if (!isNew)
    return found->second;
  auto shape = tile::shapeOf(value.getType());
  if (shape.empty())
    return {};
  Operation *op = value.getDefiningOp();
  auto ofOperand = [&](Value operand) -> std::optional<int64_t> {
    auto from =
        isMoved(op) ? DirectionAnalysis::inOperand(op, operand, dim) : std::optional<unsigned>(dim);
    return from ? stepBetweenSplits(operand, *from, axes, known) : 0;
  };
  auto step = stepByFacts(value, dim, shape[dim], axes);
  if (!step)
    step = stepByOperands(op, axes, ofOperand, [](Operation *op, ArrayRef<int64_t> steps) {
      return isSplit(op, steps) ? std::optional<int64_t>(isRest(op)) : std::nullopt;
    });
  return known[{value, dim}] = step;
}

std::optional<int64_t> stepBetweenSplits(Value tile, unsigned dim,
                                         const analysis::AxisAnalysis &axes) {
  KnownSteps known;
  return stepBetweenSplits(tile, dim, axes, known);
}

bool isScattered(Value pointers, unsigned dim, const analysis::AxisAnalysis &axes) {
  tile::AxisFacts facts = axes.facts(pointers);
  return facts.contiguity[dim] < 2 && facts.constancy[dim] < 2;
}

tile::LoadOp loadBehind(Value tile) {
  while (Operation *op = tile.getDefiningOp()) {
    if (op->getNumOperands() != 1 || !op->hasTrait<OpTrait::Elementwise>())
      break;
    tile = op->getOperand(0);
  }
  auto load = tile.getDefiningOp<tile::LoadOp>();
  return load && tile::isTile(load.getPointer()) ? load : tile::LoadOp();
}

bool isSplitAlongRow(Operation *op, const analysis::AxisAnalysis &axes) {
  return (isQuotient(op) || isRest(op)) && tile::shapeOf(op->getResult(0).getType()).size() == 1 &&
         stepBetweenSplits(op->getResult(0), 0, axes);
}

RowRuns::RowRuns(LaneEmitter &emitter, int64_t width, llvm::DenseSet<Value> computed)
    : emitter(emitter), width(width), computed(std::move(computed)) {}

bool RowRuns::isRead(Value tile) const {
  return emitter.plan.stored(tile) && !computed.contains(tile);
}

// What all rows of a tile share is stored, but stays or counts as what is not.
bool RowRuns::isStoredSplit(Value tile) const {
  Operation *op = tile.getDefiningOp();
  return op && isRead(tile) && (isQuotient(op) || isRest(op));
}

// Loads and what the loop itself computes are not known where a run begins.
bool RowRuns::collect(Value tile, const Lanes &row) {
  if (!tile::isTile(tile))
    return true;
  auto [place, isNew] = places.try_emplace(tile, row);
  if (!isNew)
    return place->second.position == row.position && place->second.width == row.width &&
           (row.width == 1 || place->second.dim == row.dim);
  Operation *op = tile.getDefiningOp();
  if (!isRead(tile) && !emitter.assumedMask(tile)) {
    if (!op || !isLazy(op))
      return false;
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    if (!op->hasTrait<OpTrait::Elementwise>() && !access && !isMoved(op) &&
        !isa<tile::SplatOp>(op) && llvm::any_of(op->getOperands(), tile::isTile))
      return false;
    bool isLate = access || computed.contains(tile);
    for (Value operand : op->getOperands()) {
      if (!collect(operand, isMoved(op) ? emitter.inOperand(op, row) : row))
        return false;
      isLate |= late.contains(operand);
    }
    if (isLate)
      late.insert(tile);
  } else if (auto load = tile.getDefiningOp<tile::LoadOp>(); load && isRead(tile)) {
    // One address has one number, read here or before, as far as the mask is one.
    for (Value operand : load->getOperands())
      if (!collect(operand, row))
        return true;
    auto apart = steps.find(load.getPointer());
    if (Value mask = load.getMask();
        mask && !steps.contains(mask) && apart != steps.end() && apart->second == 0)
      endWhere(mask);
  } else if (isStoredSplit(tile)) {
    for (Value operand : op->getOperands())
      if (!collect(operand, row))
        return true;
  }
  if (auto known = step(tile, row))
    steps[tile] = *known;
  return true;
}

std::optional<int64_t> RowRuns::step(Value tile, const Lanes &where) {
  if (where.width == 1 || emitter.assumedMask(tile))
    return 0;
  if (auto known = stepByFacts(tile, where.dim, where.width, emitter.axes))
    return known;
  Operation *op = tile.getDefiningOp();
  auto ofOperand = [&](Value operand) {
    auto found = steps.find(operand);
    return found == steps.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
  // One address has one number.
  if (isa_and_present<tile::LoadOp>(op))
    return llvm::all_of(op->getOperands(),
                        [&](Value one) { return !tile::isTile(one) || ofOperand(one) == 0; })
               ? std::optional<int64_t>(0)
               : std::nullopt;
  if (emitter.plan.stored(tile) && !isStoredSplit(tile))
    return {};
  return stepByOperands(op, emitter.axes, ofOperand,
                        [&](Operation *op, ArrayRef<int64_t> of) -> std::optional<int64_t> {
                          auto split = splitOf(op, of);
                          if (!split)
                            return {};
                          splits.push_back(*split);
                          return split->kind == Split::Rest;
                        });
}

// A run ends where a comparison changes that no mask of the row tells (Sweep.cpp).
void RowRuns::endWhere(Value mask) {
  auto compare = mask.getDefiningOp<arith::CmpIOp>();
  if (!compare || !tile::isTile(mask))
    return;
  SmallVector<int64_t> of;
  for (Value operand : compare->getOperands()) {
    auto found = steps.find(operand);
    if (found == steps.end())
      return;
    of.push_back(found->second);
  }
  if (auto split = splitOf(compare, of, /*atEnds=*/true)) {
    splits.push_back(*split);
    steps[mask] = 0;
  }
}

// True if a number counts up along all of the row, whatever divisions say.
bool RowRuns::counts(Value number) const {
  const Lanes &where = places.find(number)->second;
  return emitter.axes.facts(number).contiguity[where.dim] >= where.width;
}

// A quotient, a rest or a comparison of a number that counts up with one that stays.
std::optional<RowRuns::Split> RowRuns::splitOf(Operation *op, ArrayRef<int64_t> of, bool atEnds) {
  if (op->getNumOperands() != 2 ||
      !isa<IntegerType>(tile::elementType(op->getOperand(0).getType())))
    return {};
  Split split{op->getResult(0), op->getOperand(0), op->getOperand(1)};
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (compare && of[0] == 0)
    std::swap(split.number, split.by);
  if (of[split.number != op->getOperand(0)] != 1 || of[split.by == op->getOperand(1)] != 0 ||
      late.contains(split.number) || late.contains(split.by))
    return {};
  auto known = emitter.axes.facts(split.by).constant;
  if (compare) {
    // Where all that it tells is the end of a row, a mask tells it (Sweep.cpp).
    if (counts(split.number) && !atEnds)
      return {};
    using P = arith::CmpIPredicate;
    P predicate = compare.getPredicate();
    split.kind = Split::Comparison;
    split.isSigned =
        predicate == P::slt || predicate == P::sle || predicate == P::sgt || predicate == P::sge;
    return split;
  }
  if (isa<tile::ShRSOp, tile::ShRUOp>(op) && known && *known > 0 && *known < 31)
    split.divisor = int64_t(1) << *known;
  else if (isa<arith::AndIOp>(op) && known && *known > 0 && llvm::isPowerOf2_64(*known + 1))
    split.divisor = *known + 1;
  else if (isQuotient(op) || isRest(op))
    split.divisor = known.value_or(0);
  else
    return {};
  split.kind = isRest(op) || isa<arith::AndIOp>(op) ? Split::Rest : Split::Quotient;
  split.isSigned = !isa<tile::DivUIOp, tile::RemUIOp, tile::ShRUOp>(op);
  if (known && split.divisor < (isStoredSplit(split.tile) ? leastWorth() : width))
    return {};
  return split;
}

// The first lane at `start`, in 64 bits.
Value RowRuns::firstOf(Value tile, Value start, bool isSigned) {
  OpBuilder &b = emitter.builder;
  Lanes first = places.lookup(tile);
  if (first.width > 1)
    first.position[first.dim] = start;
  Value value = emitter.lanes(tile, first.first());
  Type wide = b.getI64Type();
  if (value.getType() == wide)
    return value;
  return isSigned ? b.create<arith::ExtSIOp>(emitter.loc(), wide, value).getResult()
                  : b.create<arith::ExtUIOp>(emitter.loc(), wide, value).getResult();
}

// A number without a sign of 64 bits is taken for one with: negative, it begins no run.
RowRuns::Begun RowRuns::begin(Value start) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  using P = arith::CmpIPredicate;
  auto compare = [&](P predicate, Value x, Value y) -> Value {
    return b.create<arith::CmpIOp>(loc, predicate, x, y);
  };
  auto select = [&](Value c, Value x, Value y) -> Value {
    return b.create<arith::SelectOp>(loc, c, x, y);
  };
  auto minus = [&](Value x, Value y) -> Value { return b.create<arith::SubIOp>(loc, x, y); };
  RowRun run;
  run.start = start;
  run.steps = steps;
  Value none = emitter.index(0), length, isWorth;
  for (const Split &split : splits) {
    unsigned bits = tile::elementType(split.number.getType()).getIntOrFloatBitWidth();
    Value x = firstOf(split.number, start, split.isSigned);
    Value by =
        split.divisor ? emitter.index(split.divisor) : firstOf(split.by, start, split.isSigned);
    Type type = tile::elementType(split.tile.getType());
    Value base, left, isKnown = compare(P::sge, x, none);
    if (split.kind == Split::Comparison) {
      // Of x < by, x >= by: until x is by. Of x <= by, x > by: until it is one more. Of the
      // others: until it is either.
      auto op = split.tile.getDefiningOp<arith::CmpIOp>();
      Lanes at = places.lookup(split.tile);
      at.position[at.dim] = start;
      base = emitter.lanes(split.tile, at.first());
      P predicate = op.getPredicate();
      bool isSwapped = split.number != op.getLhs();
      bool isExact = predicate == P::eq || predicate == P::ne;
      bool isAfter =
          predicate == P::sle || predicate == P::sgt || predicate == P::ule || predicate == P::ugt;
      if (isSwapped && !isExact)
        isAfter = !isAfter;
      isKnown = b.create<arith::AndIOp>(loc, isKnown, compare(P::sge, by, none));
      Value before = minus(by, x), endless = emitter.index(std::numeric_limits<int64_t>::max());
      if (isExact) {
        Value rest = select(compare(P::sgt, before, none), before, endless);
        left = select(compare(P::eq, before, none), emitter.index(1), rest);
      } else {
        if (isAfter)
          before = emitter.add(before, emitter.index(1));
        left = select(compare(P::sgt, before, none), before, endless);
      }
    } else {
      isKnown = b.create<arith::AndIOp>(loc, isKnown, compare(P::sgt, by, none));
      Value divisor = split.divisor ? by : select(isKnown, by, emitter.index(1));
      auto productOf = [&](Value quotient) -> Value {
        return b.create<arith::MulIOp>(loc, quotient, divisor);
      };
      Value rest;
      if (isStoredSplit(split.tile)) {
        base = firstOf(split.tile, start, split.isSigned);
        rest = split.kind == Split::Rest ? base : minus(x, productOf(base));
        isWorth = bothHold(emitter, isWorth, compare(P::sge, by, emitter.index(leastWorth())));
      } else {
        Value quotient = b.create<arith::DivUIOp>(loc, select(isKnown, x, none), divisor);
        rest = minus(x, productOf(quotient));
        base = split.kind == Split::Rest ? rest : quotient;
      }
      if (type != base.getType())
        base = b.create<arith::TruncIOp>(loc, type, base);
      left = minus(divisor, rest);
    }
    // Where the number wraps around the run ends, too.
    int64_t greatest = bits == 64       ? std::numeric_limits<int64_t>::max()
                       : split.isSigned ? (int64_t(1) << (bits - 1)) - 1
                                        : (int64_t(1) << bits) - 1;
    left = b.create<arith::MinSIOp>(loc, left, minus(emitter.index(greatest), x));
    left = select(isKnown, left, none);
    length = length ? b.create<arith::MinSIOp>(loc, length, left).getResult() : left;
    run.numbers[split.tile] = {base, places.lookup(split.tile).dim,
                               split.kind == Split::Rest ? 1 : 0};
  }
  return {length, isWorth, std::move(run)};
}

} // namespace nereid::cpu
