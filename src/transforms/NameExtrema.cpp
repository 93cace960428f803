#include "transforms/NameExtrema.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

enum class Extremum { Greatest, Least };

std::optional<Extremum> kept(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::OGE:
    return Extremum::Greatest;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::OLE:
    return Extremum::Least;
  default:
    return std::nullopt;
  }
}

std::optional<Extremum> kept(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
  case sgt:
  case sge:
  case ugt:
  case uge:
    return Extremum::Greatest;
  case slt:
  case sle:
  case ult:
  case ule:
    return Extremum::Least;
  default:
    return std::nullopt;
  }
}

bool isUnsigned(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  return llvm::is_contained({ugt, uge, ult, ule}, predicate);
}

// Null if the select keeps something else.
Operation *namedFloat(OpBuilder &b, arith::SelectOp select) {
  auto either = select.getCondition().getDefiningOp<arith::OrIOp>();
  // Of bf16 no source asks for an extremum: `tl.max` widens it.
  if (!either || select.getType().isBF16())
    return nullptr;
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
    if (auto extremum = kept(compare.getPredicate()))
      return *extremum == Extremum::Greatest
                 ? b.create<arith::MaximumFOp>(select.getLoc(), x, y).getOperation()
                 : b.create<arith::MinimumFOp>(select.getLoc(), x, y);
  }
  return nullptr;
}

Operation *namedInteger(OpBuilder &b, arith::SelectOp select) {
  Value x = select.getTrueValue(), y = select.getFalseValue();
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getLhs() != x || compare.getRhs() != y)
    return nullptr;
  auto extremum = kept(compare.getPredicate());
  if (!extremum)
    return nullptr;
  bool unsigned_ = isUnsigned(compare.getPredicate());
  Location loc = select.getLoc();
  if (*extremum == Extremum::Greatest)
    return unsigned_ ? b.create<arith::MaxUIOp>(loc, x, y).getOperation()
                     : b.create<arith::MaxSIOp>(loc, x, y);
  return unsigned_ ? b.create<arith::MinUIOp>(loc, x, y).getOperation()
                   : b.create<arith::MinSIOp>(loc, x, y);
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
    OpBuilder b(select);
    Operation *named =
        isa<FloatType>(select.getType()) ? namedFloat(b, select) : namedInteger(b, select);
    if (!named)
      continue;
    if (named->getOperand(0) != Value(x.getArgNumber() < count ? x : y))
      named->setOperands({named->getOperand(1), named->getOperand(0)});
    select.replaceAllUsesWith(named->getResult(0));
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

void registerNameExtremaPass() { registerPass(createNameExtremaPass); }

} // namespace nereid::transforms
