#include "cpu/UnrollSteps.h"
#include "cpu/FusionPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::cpu {

// Longer chains are code that is run once: compiling takes longer than what is gained.
constexpr int64_t mostSteps = 8, mostOps = 160, mostLoads = 16;

// The first value and the number of steps, if they are few.
static std::optional<std::pair<APInt, int64_t>> fewSteps(scf::ForOp loop) {
  APInt lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || lower.getBitWidth() > 64)
    return {};
  int64_t from = lower.getSExtValue(), to = upper.getSExtValue(), by = step.getSExtValue();
  constexpr int64_t farthest = int64_t(1) << 32; // nothing below overflows
  if (by <= 0 || by > farthest || std::abs(from) > farthest || std::abs(to) > farthest ||
      to <= from)
    return {};
  int64_t steps = (to - from + by - 1) / by;
  return steps <= mostSteps ? std::optional(std::pair(lower, steps)) : std::nullopt;
}

static bool isElementwise(scf::ForOp loop, int64_t steps) {
  int64_t ops = 0, loads = 0;
  for (Operation &op : loop.getBody()->without_terminator()) {
    bool computes = isLazy(&op) || isa<arith::ArithDialect>(op.getDialect());
    if (!computes || op.getNumRegions() || writesGlobalMemory(&op))
      return false;
    ++ops;
    loads += isa<tile::LoadOp>(op);
  }
  return ops * steps <= mostOps && loads * steps <= mostLoads;
}

static void unroll(scf::ForOp loop, const APInt &lower, int64_t steps) {
  OpBuilder b(loop);
  SmallVector<Value> carried(loop.getInitArgs());
  Type type = loop.getInductionVar().getType();
  APInt step;
  matchPattern(loop.getStep(), m_ConstantInt(&step));
  for (int64_t i = 0; i < steps; ++i) {
    IRMapping now;
    APInt at = lower + step * APInt(step.getBitWidth(), uint64_t(i));
    now.map(loop.getInductionVar(),
            b.create<arith::ConstantOp>(loop.getLoc(), b.getIntegerAttr(type, at)));
    for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), carried))
      now.map(argument, value);
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, now);
    for (auto [value, yielded] : llvm::zip(carried, loop.getYieldedValues()))
      value = now.lookupOrDefault(yielded);
  }
  loop->replaceAllUsesWith(carried);
  loop->erase();
}

void unrollSteps(FunctionOpInterface kernel) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops) {
    auto steps = fewSteps(loop);
    if (steps && llvm::any_of(loop.getInitArgs(), tile::isTile) &&
        isElementwise(loop, steps->second))
      unroll(loop, steps->first, steps->second);
  }
}

} // namespace nereid::cpu
