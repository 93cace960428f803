#include "transforms/UnswitchProducts.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

bool has(Region &region, llvm::function_ref<bool(Operation *)> wanted) {
  return region
      .walk([&](Operation *op) {
        return wanted(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

class Unswitch {
public:
  explicit Unswitch(scf::ForOp loop) : loop(loop) {}

  void run() {
    if (has(loop.getRegion(), [](Operation *op) { return isa<scf::ForOp, scf::WhileOp>(op); }))
      return;
    find(*loop.getBody());
    if (branches.empty())
      return;
    OpBuilder b(loop);
    IRMapping outside;
    Value all;
    for (scf::IfOp branch : branches) {
      Value one = computeBefore(b, branch.getCondition(), outside);
      all = all ? b.create<arith::AndIOp>(loop.getLoc(), all, one).getResult() : one;
    }
    auto choice = b.create<scf::IfOp>(loop.getLoc(), loop.getResultTypes(), all, /*else=*/true);
    IRMapping mapping;
    auto fill = [&](Block *block, scf::ForOp version) {
      OpBuilder in = OpBuilder::atBlockEnd(block);
      if (loop.getNumResults())
        in.create<scf::YieldOp>(loop.getLoc(), version.getResults());
    };
    loop->replaceAllUsesWith(choice.getResults());
    b.setInsertionPointToStart(choice.thenBlock());
    auto known = cast<scf::ForOp>(b.clone(*loop, mapping));
    for (scf::IfOp branch : branches) {
      Operation *copy = mapping.lookup(branch.getOperation());
      b.setInsertionPoint(copy);
      cast<scf::IfOp>(copy).getConditionMutable().assign(
          b.create<arith::ConstantOp>(copy->getLoc(), b.getBoolAttr(true)));
    }
    loop->moveBefore(choice.elseBlock(), choice.elseBlock()->begin());
    fill(choice.thenBlock(), known);
    fill(choice.elseBlock(), loop);
  }

private:
  // Branches of each step, and those inside of what they do.
  void find(Block &block) {
    for (auto branch : block.getOps<scf::IfOp>()) {
      Region &body = branch.getThenRegion();
      if (!isInvariant(branch.getCondition()) ||
          !has(body, [](Operation *op) { return isa<tile::DotOp>(op); }) ||
          !has(body, [](Operation *op) { return isa<tile::LoadOp>(op); }))
        continue;
      branches.push_back(branch);
      find(body.front());
    }
  }
  bool isInvariant(Value value) {
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
    Operation *op = value.getDefiningOp();
    return op && isPure(op) && !op->getNumRegions() &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isInvariant(operand); });
  }
  Value computeBefore(OpBuilder &b, Value value, IRMapping &outside) {
    if (loop.isDefinedOutsideOfLoop(value))
      return value;
    if (Value known = outside.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      outside.map(operand, computeBefore(b, operand, outside));
    b.clone(*op, outside);
    return outside.lookup(value);
  }

  scf::ForOp loop;
  SmallVector<scf::IfOp> branches;
};

struct UnswitchProducts : PassWrapper<UnswitchProducts, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnswitchProducts)

  StringRef getArgument() const final { return "tile-unswitch-products"; }
  StringRef getDescription() const final {
    return "loops of products have a version without branches on what no step changes";
  }
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      Unswitch(loop).run();
  }
};

} // namespace

std::unique_ptr<Pass> createUnswitchProductsPass() { return std::make_unique<UnswitchProducts>(); }

} // namespace nereid::transforms
