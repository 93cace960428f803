// scf: branches and loops over decoded blocks.
#include "ref/Loops.h"
#include "ref/Machine.h"
#include "ref/Models.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::ref {
namespace {

// Appends the step that moves a terminator's operands to `to`.
void appendCopy(Decoder &d, Code &code, Operation *terminator, ValueRange values,
                ArrayRef<Slot> to) {
  SmallVector<Slot> from;
  for (Value value : values)
    from.push_back(d.slot(value));
  if (Step step = d.copyAll(to, from)) {
    code.steps.push_back(std::move(step));
    code.places.push_back(d.place(terminator->getLoc()));
  }
}

Step decodeIf(scf::IfOp op, Decoder &d) {
  Slot condition = d.slot(op.getCondition());
  SmallVector<Slot> results;
  for (Value result : op.getResults())
    results.push_back(d.define(result));
  auto decodeBranch = [&](Region &region) -> Code {
    if (region.empty())
      return {};
    Block &block = region.front();
    return d.decode(block, [&](Code &code) {
      appendCopy(d, code, block.getTerminator(), block.getTerminator()->getOperands(), results);
    });
  };
  return [condition, whenTrue = decodeBranch(op.getThenRegion()),
          whenFalse = decodeBranch(op.getElseRegion())](Frame &frame) {
    frame.run(frame.scalar<uint8_t>(condition) ? whenTrue : whenFalse);
  };
}

Step decodeFor(scf::ForOp op, Decoder &d) {
  Slot low = d.slot(op.getLowerBound()), high = d.slot(op.getUpperBound()),
       step = d.slot(op.getStep()), variable = d.define(op.getInductionVar());
  SmallVector<Slot> carried, initial;
  for (auto [argument, init, result] :
       llvm::zip(op.getRegionIterArgs(), op.getInitArgs(), op.getResults())) {
    initial.push_back(d.slot(init));
    carried.push_back(d.define(argument));
    d.alias(result, argument);
  }
  Step enter = d.copyAll(carried, initial);
  Block *body = op.getBody();
  Code code = d.decode(*body, [&](Code &code) {
    appendCopy(d, code, body->getTerminator(), body->getTerminator()->getOperands(), carried);
  });
  return dispatchInt(variable.storage, [&]<typename I>() -> Step {
    return [=](Frame &frame) {
      using U = typename I::Unsigned;
      if (enter)
        enter(frame);
      // The trip count is found first, so a bound near the end of the type does not overflow.
      int64_t first = I::sext(frame.scalar<U>(low)), end = I::sext(frame.scalar<U>(high)),
              by = I::sext(frame.scalar<U>(step));
      if (by <= 0) {
        Finding found = frame.machine.finding(frame, Severity::Error, "LoopStep",
                                              "the step of a loop is " + std::to_string(by));
        frame.machine.stop(std::move(found));
      }
      uint32_t place = frame.place;
      for (uint64_t left = first < end ? (uint64_t(end) - uint64_t(first) - 1) / by + 1 : 0,
                    value = first;
           left != 0; --left, value += by) {
        frame.place = place;
        frame.machine.charge(frame, 1);
        *frame.data<U>(variable) = I::wrap(value);
        frame.run(code);
      }
    };
  });
}

Step decodeWhile(scf::WhileOp op, Decoder &d) {
  SmallVector<Slot> before, initial, after;
  for (auto [argument, init] : llvm::zip(op.getBeforeArguments(), op.getInits())) {
    initial.push_back(d.slot(init));
    before.push_back(d.define(argument));
  }
  for (auto [argument, result] : llvm::zip(op.getAfterArguments(), op.getResults())) {
    after.push_back(d.define(argument));
    d.alias(result, argument);
  }
  Step enter = d.copyAll(before, initial);
  Slot proceed = d.temporary(Storage::I1, 1);
  scf::ConditionOp condition = op.getConditionOp();
  Code test = d.decode(*op.getBeforeBody(), [&](Code &code) {
    SmallVector<Slot> to(after);
    to.push_back(proceed);
    SmallVector<Value> values(condition.getArgs());
    values.push_back(condition.getCondition());
    appendCopy(d, code, condition, values, to);
  });
  Block *body = op.getAfterBody();
  Code code = d.decode(*body, [&](Code &code) {
    appendCopy(d, code, body->getTerminator(), body->getTerminator()->getOperands(), before);
  });
  SmallVector<Slot> numbers;
  size_t bytes = 0;
  for (Slot slot : before)
    if (slot.count == 1) {
      numbers.push_back(slot);
      bytes += slot.bytes();
    }
  return [=](Frame &frame) {
    if (enter)
      enter(frame);
    uint64_t idle = 0;
    uint32_t place = frame.place;
    SmallVector<uint8_t, 64> last(bytes);
    auto haveChanged = [&] {
      bool changed = false;
      size_t at = 0;
      for (Slot slot : numbers) {
        const uint8_t *now = frame.data<uint8_t>(slot);
        changed |= std::memcmp(last.data() + at, now, slot.bytes()) != 0;
        std::memcpy(last.data() + at, now, slot.bytes());
        at += slot.bytes();
      }
      return changed;
    };
    haveChanged();
    frame.writes = frame.reads = frame.syncReads = 0;
    while (true) {
      frame.run(test);
      frame.place = place;
      if (!frame.scalar<uint8_t>(proceed))
        return;
      frame.run(code);
      frame.place = place;
      frame.machine.charge(frame, 1);
      frame.machine.backEdge(frame, idle, haveChanged());
    }
  };
}

} // namespace

void attachControlFlowModels(MLIRContext *c) {
  attach<scf::IfOp, decodeIf>(c);
  attach<scf::ForOp, decodeFor>(c);
  attach<scf::WhileOp, decodeWhile>(c);
}

} // namespace nereid::ref
