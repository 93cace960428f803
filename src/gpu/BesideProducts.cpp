#include "gpu/BesideProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

Value isFirstStep(OpBuilder &b, scf::ForOp steps) {
  return b.create<arith::CmpIOp>(steps.getLoc(), arith::CmpIPredicate::eq, steps.getInductionVar(),
                                 steps.getLowerBound());
}

namespace {

bool isNumber(Operation *op) {
  return op->getNumResults() == 1 && op->getResult(0).getType().isSignlessInteger() &&
         !op->getNumRegions() && isMemoryEffectFree(op) && isSpeculatable(op) &&
         !isa<arith::ConstantOp>(op);
}

} // namespace

void computeBesideProducts(OpBuilder &b, scf::ForOp made) {
  auto isBehind = [&](Operation *user) {
    Operation *here = made->getBlock()->findAncestorOpInBlock(*user);
    return here && made->isBeforeInBlock(here);
  };
  // Of what stands before the loop the copies want nothing any more.
  for (Operation *op = made->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    else if (isNumber(op) && llvm::all_of(op->getUsers(), isBehind))
      op->moveAfter(made);
    op = before;
  }
  llvm::SmallSetVector<Operation *, 16> ops;
  for (Operation *op = made->getNextNode(); op; op = op->getNextNode())
    if (isNumber(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *source = operand.getDefiningOp();
          return !source || source->getBlock() != made->getBlock() ||
                 source->isBeforeInBlock(made) || ops.contains(source);
        }))
      ops.insert(op);
  SmallVector<Value> numbers, none;
  for (Operation *op : ops)
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !ops.contains(user); }))
      numbers.push_back(op->getResult(0));
  if (numbers.empty())
    return;
  b.setInsertionPoint(made);
  for (Value number : numbers)
    none.push_back(
        b.create<arith::ConstantOp>(made.getLoc(), b.getIntegerAttr(number.getType(), 0)));
  IRRewriter rewriter(b);
  auto compute = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> known) {
    auto steps = cast<scf::ForOp>(b.getInsertionBlock()->getParentOp());
    auto branch = b.create<scf::IfOp>(loc, TypeRange(numbers), isFirstStep(b, steps), true);
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    for (Operation *op : ops)
      b.clone(*op, mapping);
    SmallVector<Value> computed;
    for (Value number : numbers)
      computed.push_back(mapping.lookup(number));
    b.create<scf::YieldOp>(loc, computed);
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(loc, SmallVector<Value>(known.begin(), known.end()));
    return SmallVector<Value>(branch.getResults());
  };
  auto with = made.replaceWithAdditionalYields(rewriter, none, false, compute);
  auto steps = cast<scf::ForOp>(with->getOperation());
  for (auto [number, result] : llvm::zip(numbers, steps.getResults().take_back(numbers.size())))
    number.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

} // namespace nereid::gpu
