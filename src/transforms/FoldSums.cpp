#include "transforms/FoldSums.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// A product from zero that only `sum` wants, right where the sum is.
tile::DotOp freshProduct(Value operand, Operation *sum) {
  auto dot = operand.getDefiningOp<tile::DotOp>();
  if (!dot || !dot->hasOneUse() || dot->getBlock() != sum->getBlock() ||
      !(matchPattern(dot.getAcc(), m_AnyZeroFloat()) || matchPattern(dot.getAcc(), m_Zero())))
    return {};
  Type factor = tile::elementType(dot.getLhs().getType()), type = tile::elementType(dot.getType());
  bool isAlike = type.isF32() || type.isF64() || type.isInteger(32);
  return isAlike && !(isa<FloatType>(factor) && factor.getIntOrFloatBitWidth() == 8)
             ? dot
             : tile::DotOp();
}

void fold(Operation *sum) {
  for (unsigned i : {1u, 0u}) {
    tile::DotOp dot = freshProduct(sum->getOperand(i), sum);
    if (!dot)
      continue;
    // The other operand may be computed behind the product.
    dot->moveBefore(sum);
    dot.getAccMutable().assign(sum->getOperand(1 - i));
    sum->replaceAllUsesWith(dot);
    sum->erase();
    return;
  }
}

struct FoldSums : PassWrapper<FoldSums, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldSums)

  StringRef getArgument() const final { return "tile-fold-sums"; }
  StringRef getDescription() const final { return "products start from what they are added to"; }
  void runOnOperation() override {
    SmallVector<Operation *> sums;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::AddFOp, arith::AddIOp>(op))
        sums.push_back(op);
    });
    for (Operation *sum : sums)
      fold(sum);
  }
};

} // namespace

std::unique_ptr<Pass> createFoldSumsPass() { return std::make_unique<FoldSums>(); }

void registerFoldSumsPass() { registerPass(createFoldSumsPass); }

} // namespace nereid::transforms
