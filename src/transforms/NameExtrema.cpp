#include "transforms/NameExtrema.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// The extremum of `a` and `b` that a select keeps, or null if it keeps something else.
Value floatExtremum(OpBuilder &builder, arith::SelectOp select, Value a, Value b) {
  auto either = select.getCondition().getDefiningOp<arith::OrIOp>();
  // Of bf16 no source asks for an extremum: `tl.max` widens it.
  if (!either || select.getType().isBF16())
    return {};
  Value x = select.getTrueValue(), y = select.getFalseValue();
  auto isNan = [&](Value value) {
    auto compare = value.getDefiningOp<arith::CmpFOp>();
    return compare && compare.getLhs() == x && compare.getRhs() == x &&
           (compare.getPredicate() == arith::CmpFPredicate::UNE ||
            compare.getPredicate() == arith::CmpFPredicate::UNO);
  };
  for (unsigned i : {0, 1}) {
    auto compare = either.getOperand(i).getDefiningOp<arith::CmpFOp>();
    if (!compare || compare.getLhs() != x || compare.getRhs() != y ||
        !isNan(either.getOperand(1 - i)))
      continue;
    switch (compare.getPredicate()) {
    case arith::CmpFPredicate::OGT:
    case arith::CmpFPredicate::OGE:
      return builder.create<arith::MaximumFOp>(select.getLoc(), a, b);
    case arith::CmpFPredicate::OLT:
    case arith::CmpFPredicate::OLE:
      return builder.create<arith::MinimumFOp>(select.getLoc(), a, b);
    default:
      break;
    }
  }
  return {};
}

Value integerExtremum(OpBuilder &builder, arith::SelectOp select, Value a, Value b) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getLhs() != select.getTrueValue() ||
      compare.getRhs() != select.getFalseValue())
    return {};
  Location loc = select.getLoc();
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    return builder.create<arith::MaxSIOp>(loc, a, b);
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
    return builder.create<arith::MinSIOp>(loc, a, b);
  case arith::CmpIPredicate::ugt:
  case arith::CmpIPredicate::uge:
    return builder.create<arith::MaxUIOp>(loc, a, b);
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::ule:
    return builder.create<arith::MinUIOp>(loc, a, b);
  default:
    return {};
  }
}

void nameExtrema(Block &combine) {
  unsigned count = combine.getNumArguments() / 2;
  for (auto select : llvm::make_early_inc_range(combine.getOps<arith::SelectOp>())) {
    // Of an element of one side and that of the other: anything else has an order.
    auto x = dyn_cast<BlockArgument>(select.getTrueValue()),
         y = dyn_cast<BlockArgument>(select.getFalseValue());
    if (!x || !y || x.getOwner() != &combine || y.getOwner() != &combine ||
        std::max(x.getArgNumber(), y.getArgNumber()) !=
            std::min(x.getArgNumber(), y.getArgNumber()) + count)
      continue;
    if (x.getArgNumber() > y.getArgNumber())
      std::swap(x, y);
    OpBuilder builder(select);
    Value extremum = isa<FloatType>(select.getType()) ? floatExtremum(builder, select, x, y)
                                                      : integerExtremum(builder, select, x, y);
    if (!extremum)
      continue;
    select.replaceAllUsesWith(extremum);
    select.erase();
  }
}

struct NameExtrema : PassWrapper<NameExtrema, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NameExtrema)

  StringRef getArgument() const final { return "tile-name-extrema"; }
  StringRef getDescription() const final {
    return "reductions by comparison become ones to an extremum";
  }
  void runOnOperation() override {
    getOperation().walk([](tile::ReduceOp reduce) { nameExtrema(reduce.getCombine().front()); });
  }
};

} // namespace

std::unique_ptr<Pass> createNameExtremaPass() { return std::make_unique<NameExtrema>(); }

} // namespace nereid::transforms
