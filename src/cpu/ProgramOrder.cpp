#include "cpu/ProgramOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Steps of values along one axis of the grid; nothing if one depends on it in another way.
class Steps {
public:
  explicit Steps(unsigned axis) : axis(axis) {}

  std::optional<ProgramStep> of(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    auto step = compute(value);
    known[value] = step;
    return step;
  }

private:
  static std::optional<ProgramStep> sum(std::optional<ProgramStep> a,
                                        std::optional<ProgramStep> b) {
    if (!a || !b)
      return {};
    if (a->isZero() || b->isZero())
      return a->isZero() ? b : a;
    if (a->arguments != b->arguments)
      return {};
    a->factor += b->factor;
    return a;
  }

  // What all elements of a tile are, as far as only its type was changed.
  static Value scalar(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::HintOp, arith::ExtSIOp,
               arith::ExtUIOp>(op))
        break;
      value = op->getOperand(0);
    }
    return value;
  }

  std::optional<ProgramStep> times(std::optional<ProgramStep> step, Value by) {
    if (!step || step->isZero())
      return step;
    APInt constant;
    Value factor = scalar(by);
    if (matchPattern(factor, m_ConstantInt(&constant))) {
      step->factor *= constant.getSExtValue();
      return step;
    }
    auto argument = dyn_cast<BlockArgument>(factor);
    if (!argument || !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) ||
        !isa<IntegerType>(argument.getType()))
      return {};
    step->arguments.push_back(argument);
    return step;
  }

  // x of `x / n * n + x % n`.
  static Value undivided(Value product, Value rest) {
    auto multiply = product.getDefiningOp<arith::MulIOp>();
    Operation *remainder = rest.getDefiningOp();
    Operation *quotient = multiply ? multiply.getLhs().getDefiningOp() : nullptr;
    bool isSigned =
        isa_and_present<tile::DivSIOp>(quotient) && isa_and_present<tile::RemSIOp>(remainder);
    bool isUnsigned =
        isa_and_present<tile::DivUIOp>(quotient) && isa_and_present<tile::RemUIOp>(remainder);
    if ((!isSigned && !isUnsigned) || quotient->getOperands() != remainder->getOperands() ||
        multiply.getRhs() != quotient->getOperand(1))
      return {};
    return quotient->getOperand(0);
  }

  // A loop hands the same to each of its rounds, as far as programs differ.
  std::optional<ProgramStep> ofLoop(scf::ForOp loop, unsigned carried) {
    return of(loop.getInitArgs()[carried]);
  }

  std::optional<ProgramStep> compute(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (isa<FunctionOpInterface>(parent))
        return ProgramStep{};
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (!loop)
        return {};
      return argument.getArgNumber() == 0 ? of(loop.getLowerBound())
                                          : ofLoop(loop, argument.getArgNumber() - 1);
    }
    Operation *op = value.getDefiningOp();
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      return ProgramStep{id.getAxis() == axis};
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return ofLoop(loop, cast<OpResult>(value).getResultNumber());
    if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, tile::SplatOp, tile::BroadcastOp,
            tile::ExpandDimsOp, tile::HintOp>(op))
      return of(op->getOperand(0));
    if (isa<arith::AddIOp>(op))
      for (auto [a, b] : {std::pair(0, 1), std::pair(1, 0)})
        if (Value whole = undivided(op->getOperand(a), op->getOperand(b)))
          return of(whole);
    if (isa<arith::AddIOp, tile::AddPtrOp>(op))
      return sum(of(op->getOperand(0)), of(op->getOperand(1)));
    if (isa<arith::MulIOp>(op)) {
      auto left = of(op->getOperand(0)), right = of(op->getOperand(1));
      if (!left || !right)
        return {};
      if (right->isZero())
        return times(left, op->getOperand(1));
      return left->isZero() ? times(right, op->getOperand(0)) : std::nullopt;
    }
    if (op->getNumRegions())
      return {};
    for (Value operand : op->getOperands())
      if (auto step = of(operand); !step || !step->isZero())
        return {};
    return ProgramStep{};
  }

  unsigned axis;
  DenseMap<Value, std::optional<ProgramStep>> known;
};

// Whether somebody sees which program comes first.
bool orderIsSeen(FunctionOpInterface kernel) {
  return kernel
      ->walk([](Operation *op) {
        auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
        return isa<tile::PrintOp, tile::AssertOp>(op) || (access && access.isAtomicAccess())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

LeadingAxis leadingAxis(FunctionOpInterface kernel, const analysis::KernelFacts &facts) {
  if (facts.gridRank < 2 || facts.sharedAxes || facts.mayWait || orderIsSeen(kernel))
    return {};
  struct Access {
    Value pointer;
    uint64_t bytes;
    int64_t elements;
  };
  SmallVector<Access> accesses;
  uint64_t most = 0;
  kernel->walk([&](Operation *op) {
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    if (!access)
      return;
    auto type = dyn_cast<RankedTensorType>(access.getAccessed().getType());
    int64_t elements = type ? type.getNumElements() : 1;
    uint64_t bytes = uint64_t(elements) * tile::bytesInMemory(access.getAccessElementType());
    most = std::max(most, bytes);
    accesses.push_back({access.getAccessed(), bytes, elements});
  });
  auto isConstant = [](const LeadingAxis::Condition &condition) {
    return condition.along.arguments.empty();
  };
  Steps across(0);
  LeadingAxis best;
  for (unsigned axis = 1; axis < facts.gridRank; ++axis) {
    Steps along(axis);
    LeadingAxis out{axis, {}};
    bool gains = true;
    for (const Access &access : accesses) {
      if (4 * access.bytes < most)
        continue;
      auto step = along.of(access.pointer), other = across.of(access.pointer);
      // Tiles that stand where they stand for all along the axis stay in the cache either way.
      if (step && step->isZero())
        continue;
      gains &= step.has_value();
      if (!gains)
        break;
      if (other && other->isZero())
        continue;
      gains &= !other || other->arguments != step->arguments || step->factor < other->factor;
      // Lanes of pairs are two elements apart, and some columns may be left out.
      out.conditions.push_back({*step, other, 4 * access.elements});
    }
    // What is known is surer than what a launch has to tell.
    if (gains && !out.conditions.empty() &&
        (!best.axis ||
         (llvm::all_of(out.conditions, isConstant) && !llvm::all_of(best.conditions, isConstant))))
      best = std::move(out);
  }
  return best;
}

} // namespace nereid::cpu
