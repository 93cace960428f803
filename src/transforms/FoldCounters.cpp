#include "transforms/FoldCounters.h"

#include "transforms/Comparisons.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

using Predicate = arith::CmpIPredicate;

// What a comparison with `number` gives for all of `least` to `most`, as far as they are known;
// nothing if not the same.
std::optional<bool> always(Predicate predicate, std::optional<int64_t> least,
                           std::optional<int64_t> most, int64_t number) {
  bool isAbove = least && *least > number, isBelow = most && *most < number;
  bool isNotBelow = least && *least >= number, isNotAbove = most && *most <= number;
  auto choose = [](bool holds, bool fails) -> std::optional<bool> {
    return holds || fails ? std::optional(holds) : std::nullopt;
  };
  switch (predicate) {
  case Predicate::sge:
    return choose(isNotBelow, isBelow);
  case Predicate::sgt:
    return choose(isAbove, isNotAbove);
  case Predicate::sle:
    return choose(isNotAbove, isAbove);
  case Predicate::slt:
    return choose(isBelow, isNotBelow);
  case Predicate::ne:
    return choose(isAbove || isBelow, false);
  case Predicate::eq:
    return choose(false, isAbove || isBelow);
  default:
    return {};
  }
}

// What a branch does stands in its place, where its condition is known.
void inlineKnown(scf::IfOp branch) {
  auto condition = getConstantIntValue(branch.getCondition());
  if (!condition)
    return;
  Region &taken = *condition ? branch.getThenRegion() : branch.getElseRegion();
  if (!taken.empty()) {
    Block &block = taken.front();
    Operation *end = block.getTerminator();
    branch->getBlock()->getOperations().splice(branch->getIterator(), block.getOperations(),
                                               block.begin(), end->getIterator());
    branch.replaceAllUsesWith(end->getOperands());
  }
  branch.erase();
}

void fold(scf::ForOp loop) {
  auto step = getConstantIntValue(loop.getStep());
  if (!step || *step <= 0)
    return;
  auto least = getConstantIntValue(loop.getLowerBound()),
       most = getConstantIntValue(loop.getUpperBound());
  if (most)
    --*most;
  for (Operation *user : llvm::make_early_inc_range(loop.getInductionVar().getUsers())) {
    auto compare = dyn_cast<arith::CmpIOp>(user);
    if (!compare)
      continue;
    bool isLeft = compare.getLhs() == loop.getInductionVar();
    auto number = getConstantIntValue(isLeft ? compare.getRhs() : compare.getLhs());
    if (!number)
      continue;
    Predicate predicate = compare.getPredicate();
    auto known = always(isLeft ? predicate : turned(predicate), least, most, *number);
    if (!known)
      continue;
    OpBuilder b(compare);
    compare.replaceAllUsesWith(
        b.create<arith::ConstantOp>(compare.getLoc(), b.getBoolAttr(*known)).getResult());
    compare.erase();
  }
}

struct FoldCounters : PassWrapper<FoldCounters, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldCounters)

  StringRef getArgument() const final { return "tile-fold-counters"; }
  StringRef getDescription() const final {
    return "comparisons of a loop's variable with numbers beyond its bounds are folded";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) { fold(loop); });
    getOperation()->walk([](scf::IfOp branch) { inlineKnown(branch); });
  }
};

} // namespace

std::unique_ptr<Pass> createFoldCountersPass() { return std::make_unique<FoldCounters>(); }

} // namespace nereid::transforms
