#include "transforms/LoadBeforeBranches.h"

#include "ir/OpKinds.h"
#include "ir/TileOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// The same value wherever both can be computed.
bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  if (!a || !b)
    return false;
  Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
  return one && other && isPure(one) && one->getNumRegions() == 0 && one->getNumResults() == 1 &&
         OperationEquivalence::isEquivalentTo(
             one, other, [](Value x, Value y) { return success(isSame(x, y)); }, nullptr,
             OperationEquivalence::IgnoreLocations);
}

// A load gave it, and nothing that others wait for or that orders memory.
bool comesOfLoads(Value value) {
  SmallVector<Value> next = {value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  bool isLoaded = false;
  while (!next.empty()) {
    Operation *op = next.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (load.getIsVolatile())
        return false;
      isLoaded = true;
    } else if (isPure(op)) {
      llvm::append_range(next, op->getOperands());
    } else {
      return false;
    }
  }
  return isLoaded;
}

bool mayNotReturn(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<scf::WhileOp, tile::AssertOp>(inner) || tile::isForeignCode(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

class BeforeBranch {
public:
  explicit BeforeBranch(scf::IfOp branch) : branch(branch) {}

  void run() {
    if (!comesOfLoads(branch.getCondition()))
      return;
    for (Operation *op = branch; op && !mayNotReturn(op); op = op->getNextNode())
      if (auto store = dyn_cast<tile::StoreOp>(op))
        stores.push_back(store);
    if (stores.empty())
      return;
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        moveLoads(block);
  }

private:
  void moveLoads(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (load && !load.getIsVolatile() && isStoredTo(load) &&
          llvm::all_of(op.getOperands(), [&](Value value) { return canMove(value); }))
        move(&op);
      else if (!load && !isMemoryEffectFree(&op))
        return;
    }
  }
  bool isStoredTo(tile::LoadOp load) const {
    return llvm::any_of(stores, [&](tile::StoreOp store) {
      return isSame(load.getPointer(), store.getPointer()) &&
             (!store.getMask() || isSame(load.getMask(), store.getMask()));
    });
  }
  bool isInside(Operation *op) const { return op && branch->isProperAncestor(op); }
  bool canMove(Value value) const {
    Operation *op = value.getDefiningOp();
    return !isInside(op) || (isPure(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
                               return canMove(operand);
                             }));
  }
  void move(Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *from = operand.getDefiningOp(); isInside(from))
        move(from);
    op->moveBefore(branch);
  }

  scf::IfOp branch;
  SmallVector<tile::StoreOp> stores; // behind it, on every path
};

struct LoadBeforeBranches : PassWrapper<LoadBeforeBranches, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoadBeforeBranches)

  StringRef getArgument() const final { return "tile-load-before-branches"; }
  StringRef getDescription() const final {
    return "loads of a branch start before what decides about it is there";
  }
  void runOnOperation() override {
    getOperation().walk([](scf::IfOp branch) { BeforeBranch(branch).run(); });
  }
};

} // namespace

std::unique_ptr<Pass> createLoadBeforeBranchesPass() {
  return std::make_unique<LoadBeforeBranches>();
}

} // namespace nereid::transforms
