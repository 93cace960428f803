#include "transforms/FoldAddends.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

// The product that nobody but the addition sees, and that starts at zero.
tile::DotOp productIn(Operation *add, unsigned operand) {
  auto dot = add->getOperand(operand).getDefiningOp<tile::DotOp>();
  if (!dot || dot->getBlock() != add->getBlock() || !dot->hasOneUse() || !isZero(dot.getAcc()))
    return {};
  Type element = tile::elementType(dot.getLhs().getType());
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8 ? tile::DotOp() : dot;
}

// The addend may be computed behind the product, so the product moves to the addition.
void fold(Operation *add) {
  for (unsigned i : {0u, 1u})
    if (tile::DotOp dot = productIn(add, i)) {
      dot->moveBefore(add);
      dot.getAccMutable().assign(add->getOperand(1 - i));
      add->getResult(0).replaceAllUsesWith(dot);
      add->erase();
      return;
    }
}

struct FoldAddends : PassWrapper<FoldAddends, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldAddends)

  StringRef getArgument() const final { return "tile-fold-addends"; }
  StringRef getDescription() const final { return "sums of products start with what is added"; }
  void runOnOperation() override {
    SmallVector<Operation *> adds;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::AddFOp, arith::AddIOp>(op))
        adds.push_back(op);
    });
    for (Operation *add : adds)
      fold(add);
  }
};

} // namespace

std::unique_ptr<Pass> createFoldAddendsPass() { return std::make_unique<FoldAddends>(); }

} // namespace nereid::transforms
