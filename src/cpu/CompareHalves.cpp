#include "cpu/CompareHalves.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace nereid::cpu {

static bool isHalves(Value value) {
  return isa<VectorType>(value.getType()) && getElementTypeOrSelf(value.getType()).isF16();
}

static bool comesFromHalves(Value value) {
  auto extended = value.getDefiningOp<arith::ExtFOp>();
  return isHalves(value) || (extended && isHalves(extended.getIn()));
}

void compareHalvesWide(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<arith::CmpFOp, arith::MaxNumFOp, arith::MinNumFOp>(op) &&
        llvm::any_of(op->getOperands(), comesFromHalves))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Type wide = cast<VectorType>(op->getOperand(0).getType()).clone(b.getF32Type());
    auto fenced = [&](Value value) -> Value {
      if (isHalves(value))
        value = b.create<arith::ExtFOp>(loc, wide, value);
      return b
          .create<LLVM::CallIntrinsicOp>(loc, value.getType(),
                                         b.getStringAttr("llvm.arithmetic.fence"), value)
          .getResult(0);
    };
    bool narrows = isHalves(op->getResult(0));
    bool same = op->getOperand(0) == op->getOperand(1);
    // One side is enough: the other one may be a constant.
    unsigned side = comesFromHalves(op->getOperand(0)) ? 0 : 1;
    Value seen = fenced(op->getOperand(side)), other = op->getOperand(1 - side);
    if (same)
      other = seen;
    else if (isHalves(other))
      other = b.create<arith::ExtFOp>(loc, wide, other);
    op->setOperand(side, seen);
    op->setOperand(1 - side, other);
    if (!narrows)
      continue;
    Value result = op->getResult(0);
    Type halves = result.getType();
    result.setType(wide);
    b.setInsertionPointAfter(op);
    auto narrow = b.create<arith::TruncFOp>(loc, halves, result);
    result.replaceAllUsesExcept(narrow, narrow);
  }
}

} // namespace nereid::cpu
