#include "transforms/PeelSteps.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "transforms/Comparisons.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

using P = arith::CmpIPredicate;

// A branch of a loop, and what its condition is known to be in the steps that are taken out and in
// those that stay.
struct Branch {
  scf::IfOp op;
  std::optional<bool> taken = {}, staying = {};
};

template <typename... Ops> bool holds(Region &region) {
  return region
      .walk([](Operation *op) {
        return isa<Ops...>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void setCondition(scf::IfOp branch, std::optional<bool> holds) {
  if (!holds)
    return;
  OpBuilder b(branch);
  branch.getConditionMutable().assign(
      b.create<arith::ConstantOp>(branch.getLoc(), b.getBoolAttr(*holds)));
}

// A step of the loop by itself; what it yields.
SmallVector<Value> cloneStep(OpBuilder &b, scf::ForOp loop, Value at, ValueRange carried,
                             ArrayRef<Branch> branches) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), at);
  mapping.map(loop.getRegionIterArgs(), carried);
  for (Operation &op : loop.getBody()->without_terminator())
    b.clone(op, mapping);
  for (Branch branch : branches)
    setCondition(cast<scf::IfOp>(mapping.lookup(branch.op.getOperation())), branch.taken);
  return llvm::map_to_vector(loop.getYieldedValues(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

// What a comparison of the loop's variable says of the first step, and the opposite of all others;
// nothing for other conditions.
std::optional<bool> saysFirst(Value condition, scf::ForOp loop, int64_t lower) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getLhs() != loop.getInductionVar() ||
      getConstantIntValue(compare.getRhs()) != lower)
    return {};
  switch (compare.getPredicate()) {
  case P::eq:
  case P::sle:
    return true;
  case P::ne:
  case P::sgt:
    return false;
  default:
    return {};
  }
}

void peelFirst(scf::ForOp loop) {
  auto lower = getConstantIntValue(loop.getLowerBound()),
       upper = getConstantIntValue(loop.getUpperBound()),
       step = getConstantIntValue(loop.getStep());
  // Where there is another step, the place of the second one does not pass the end.
  if (!lower || !upper || !step || *step <= 0 || *upper - *lower <= *step)
    return;
  SmallVector<Branch> branches;
  for (auto branch : loop.getBody()->getOps<scf::IfOp>())
    if (auto first = saysFirst(branch.getCondition(), loop, *lower))
      branches.push_back({branch, *first, !*first});
  if (branches.empty() || holds<scf::ForOp, scf::WhileOp, tile::DotOp>(loop.getRegion()))
    return;

  OpBuilder b(loop);
  auto state = cloneStep(b, loop, loop.getLowerBound(), loop.getInitArgs(), branches);
  loop.getInitArgsMutable().assign(state);
  loop.setLowerBound(b.create<arith::ConstantOp>(
      loop.getLoc(), b.getIntegerAttr(loop.getInductionVar().getType(), *lower + *step)));
  for (const Branch &branch : branches)
    setCondition(branch.op, branch.staying);
}

// `value` is `base` and a number; that number.
std::optional<int64_t> distanceFrom(Value base, Value value) {
  if (value == base)
    return 0;
  if (auto number = getConstantIntValue(value), from = getConstantIntValue(base); number && from)
    return *number - *from;
  Operation *op = value.getDefiningOp();
  if (!op || !isa<arith::AddIOp, arith::SubIOp>(op) || op->getOperand(0) != base)
    return {};
  auto number = getConstantIntValue(op->getOperand(1));
  return !number || isa<arith::AddIOp>(op) ? number : std::optional(-*number);
}

// What a comparison of the loop's variable with its end says of the last step and of all others. In
// the last one the variable is at most `step` below the end, in the others more.
Branch saysLast(scf::IfOp branch, scf::ForOp loop, int64_t step) {
  Value condition = branch.getCondition();
  auto opposite = condition.getDefiningOp<arith::XOrIOp>();
  if (opposite && matchPattern(opposite.getRhs(), m_One()))
    condition = opposite.getLhs();
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return {branch};
  P predicate = compare.getPredicate();
  auto place = distanceFrom(loop.getInductionVar(), compare.getLhs()),
       end = distanceFrom(loop.getUpperBound(), compare.getRhs());
  if (!place || !end) {
    place = distanceFrom(loop.getInductionVar(), compare.getRhs());
    end = distanceFrom(loop.getUpperBound(), compare.getLhs());
    predicate = turned(predicate);
  }
  if (!place || !end)
    return {branch};
  // variable PREDICATE end + beyond: `>=` and `<` are `>` and `<=` of one less.
  int64_t beyond = *end - *place;
  bool isEquality = llvm::is_contained({P::eq, P::ne}, predicate);
  if (llvm::is_contained({P::sge, P::slt}, predicate))
    --beyond;
  else if (!isEquality && !llvm::is_contained({P::sgt, P::sle}, predicate))
    return {branch};
  bool negated = llvm::is_contained({P::slt, P::sle, P::ne}, predicate) != bool(opposite);
  Branch says = {branch};
  if (beyond >= (isEquality ? -step : -step - 1))
    says.staying = negated;
  if (isEquality ? step == 1 && beyond == -1 : beyond == -step - 1)
    says.taken = !negated;
  return says;
}

void peelLast(scf::ForOp loop) {
  auto step = getConstantIntValue(loop.getStep());
  if (!step || *step <= 0 || holds<scf::ForOp, scf::WhileOp>(loop.getRegion()))
    return;
  SmallVector<Branch> branches;
  bool loads = false;
  for (auto branch : loop.getBody()->getOps<scf::IfOp>())
    if (Branch says = saysLast(branch, loop, *step); says.staying) {
      loads |= holds<tile::LoadOp, tile::DescLoadOp>(*says.staying ? branch.getThenRegion()
                                                                   : branch.getElseRegion());
      branches.push_back(says);
    }
  if (!loads)
    return;

  Location loc = loop.getLoc();
  OpBuilder b(loop);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Type type = upper.getType();
  auto number = [&](int64_t value) -> Value {
    return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, value));
  };
  Value isAny = b.create<arith::CmpIOp>(loc, P::slt, lower, upper);
  Value last = b.create<arith::SubIOp>(loc, upper, number(1));
  if (*step != 1) {
    Value span = b.create<arith::SubIOp>(loc, last, lower);
    Value beyond = b.create<arith::RemUIOp>(loc, span, number(*step));
    last = b.create<arith::SubIOp>(loc, last, beyond);
  }
  loop.setUpperBound(b.create<arith::SelectOp>(loc, isAny, last, lower));
  b.setInsertionPointAfter(loop);
  auto end = b.create<scf::IfOp>(loc, loop.getResultTypes(), isAny,
                                 /*withElseRegion=*/loop.getNumResults() != 0);
  loop->replaceUsesWithIf(end, [&](OpOperand &use) { return use.getOwner() != loop; });
  b.setInsertionPointToStart(&end.getThenRegion().front());
  auto state = cloneStep(b, loop, last, loop.getResults(), branches);
  if (loop.getNumResults()) {
    b.create<scf::YieldOp>(loc, state);
    b.setInsertionPointToStart(&end.getElseRegion().front());
    b.create<scf::YieldOp>(loc, loop.getResults());
  }
  for (const Branch &branch : branches)
    setCondition(branch.op, branch.staying);
}

struct PeelSteps : PassWrapper<PeelSteps, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PeelSteps)

  StringRef getArgument() const final { return "tile-peel-steps"; }
  StringRef getDescription() const final {
    return "loops that branch on whether a step is the first or the last leave it out";
  }
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      peelFirst(loop);
      peelLast(loop);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createPeelStepsPass() { return std::make_unique<PeelSteps>(); }

} // namespace nereid::transforms
