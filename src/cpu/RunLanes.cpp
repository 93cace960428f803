#include "cpu/RunLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Fewer lanes are divided as fast as two.
constexpr int64_t leastLanes = 8;

class RunFinder {
public:
  explicit RunFinder(LaneEmitter &emitter) : emitter(emitter) {}

  struct Test {
    Value number;
    Lanes where;
    int64_t step;
  };
  SmallVector<Test> tests;

  // The step from lane to lane under the tests; nothing is emitted.
  std::optional<int64_t> step(Value value, const Lanes &where) {
    if (!isa<RankedTensorType>(value.getType()))
      return 0;
    tile::AxisFacts facts = emitter.axes.facts(value);
    if (facts.constancy[where.dim] >= where.width)
      return 0;
    if (facts.contiguity[where.dim] >= where.width)
      return 1;
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumResults() != 1)
      return {};
    if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op))
      return step(op->getOperand(0), emitter.inOperand(op, where));
    if (isa<arith::ExtSIOp, arith::ExtUIOp>(op))
      return step(op->getOperand(0), where);
    if (!op->hasTrait<OpTrait::Elementwise>() && !isa<tile::AddPtrOp>(op))
      return {};
    SmallVector<int64_t> steps;
    for (Value operand : op->getOperands()) {
      auto one = step(operand, where);
      if (!one)
        return {};
      steps.push_back(*one);
    }
    if (llvm::all_of(steps, [](int64_t one) { return one == 0; }))
      return 0;
    if (isa<arith::AddIOp, tile::AddPtrOp>(op))
      return steps[0] + steps[1];
    if (isa<arith::SubIOp>(op))
      return steps[0] - steps[1];
    bool isRest = isa<tile::RemSIOp, tile::RemUIOp>(op);
    if (!(isRest || isa<tile::DivSIOp, tile::DivUIOp>(op)) || steps[0] != 1 || steps[1] != 0)
      return {};
    // Quotients of numbers that rise only rise, or only fall. What is left of them falls by the
    // divisor at each of its multiples.
    tests.push_back({value, where, isRest});
    return isRest;
  }

private:
  LaneEmitter &emitter;
};

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

std::optional<Run> findRun(LaneEmitter &emitter, Value tile, const Lanes &where) {
  RunFinder finder(emitter);
  auto step = where.width < leastLanes ? std::nullopt : finder.step(tile, where);
  if (!step)
    return {};
  Value condition;
  for (const RunFinder::Test &test : finder.tests) {
    Value first = emitter.lanes(test.number, test.where.first()),
          last = emitter.lanes(test.number, lastOf(emitter, test.where));
    condition =
        bothHold(emitter, condition, endsMeet(emitter, first, last, test.step, test.where.width));
  }
  return Run{*step, condition};
}

} // namespace nereid::cpu
