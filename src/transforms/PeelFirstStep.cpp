#include "transforms/PeelFirstStep.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// What a comparison of the loop's variable says of the first step, and the opposite of all others;
// nothing for other conditions.
std::optional<bool> saysFirst(Value condition, scf::ForOp loop, int64_t lower) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getLhs() != loop.getInductionVar() ||
      getConstantIntValue(compare.getRhs()) != lower)
    return {};
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::sle:
    return true;
  case arith::CmpIPredicate::ne:
  case arith::CmpIPredicate::sgt:
    return false;
  default:
    return {};
  }
}

void setCondition(Operation *branch, bool holds) {
  OpBuilder b(branch);
  cast<scf::IfOp>(branch).getConditionMutable().assign(
      b.create<arith::ConstantOp>(branch->getLoc(), b.getBoolAttr(holds)));
}

void peel(scf::ForOp loop) {
  auto lower = getConstantIntValue(loop.getLowerBound()),
       upper = getConstantIntValue(loop.getUpperBound()),
       step = getConstantIntValue(loop.getStep());
  // Where there is another step, the place of the second one does not pass the end.
  if (!lower || !upper || !step || *step <= 0 || *upper - *lower <= *step)
    return;
  bool holdsMore = loop.getBody()
                       ->walk([](Operation *op) {
                         return isa<scf::ForOp, scf::WhileOp, tile::DotOp>(op)
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       })
                       .wasInterrupted();
  SmallVector<std::pair<Operation *, bool>> branches;
  for (auto branch : loop.getBody()->getOps<scf::IfOp>())
    if (auto first = saysFirst(branch.getCondition(), loop, *lower))
      branches.push_back({branch, *first});
  if (holdsMore || branches.empty())
    return;

  OpBuilder b(loop);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), loop.getLowerBound());
  mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
  for (Operation &op : loop.getBody()->without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> state;
  for (Value value : loop.getBody()->getTerminator()->getOperands())
    state.push_back(mapping.lookupOrDefault(value));
  loop.getInitArgsMutable().assign(state);
  loop.setLowerBound(b.create<arith::ConstantOp>(
      loop.getLoc(), b.getIntegerAttr(loop.getInductionVar().getType(), *lower + *step)));
  for (auto [branch, first] : branches) {
    setCondition(mapping.lookup(branch), first);
    setCondition(branch, !first);
  }
}

struct PeelFirstStep : PassWrapper<PeelFirstStep, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PeelFirstStep)

  StringRef getArgument() const final { return "tile-peel-first-step"; }
  StringRef getDescription() const final {
    return "loops that branch on whether a step is the first begin with the second";
  }
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      peel(loop);
  }
};

} // namespace

std::unique_ptr<Pass> createPeelFirstStepPass() { return std::make_unique<PeelFirstStep>(); }

} // namespace nereid::transforms
