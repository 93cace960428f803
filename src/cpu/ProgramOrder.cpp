#include "cpu/ProgramOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Steps of values as something counts up: the number of a program along an axis of the grid, one of
// the numbers that it is split into, or the lanes of a row. Nothing if one depends on it in another
// way.
class Steps {
public:
  explicit Steps(unsigned axis) : axis(axis) {}
  /// As `counts` does, and `stays` does not.
  Steps(Value counts, Value stays) {
    known[counts] = ProgramStep{1};
    known[stays] = ProgramStep{0};
  }
  static Steps ofLanes() {
    Steps out(anyProgram);
    out.areLanes = true;
    return out;
  }

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
      return axis ? std::optional(ProgramStep{id.getAxis() == *axis}) : std::nullopt;
    if (auto range = dyn_cast<tile::ArangeOp>(op))
      return ProgramStep{areLanes && range.getEnd() - range.getStart() > 1};
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

  static constexpr unsigned anyProgram = ~0u;
  std::optional<unsigned> axis; // none: how a number of a program counts is known
  bool areLanes = false;
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

struct Access {
  Value pointer;
  uint64_t bytes, elementBytes;
  int64_t elements;
};

// The accesses of the larger tiles: of those that most time goes to.
SmallVector<Access> largeAccesses(FunctionOpInterface kernel) {
  SmallVector<Access> accesses;
  uint64_t most = 0;
  kernel->walk([&](tile::MemoryAccessOpInterface access) {
    auto type = dyn_cast<RankedTensorType>(access.getAccessed().getType());
    int64_t elements = type ? type.getNumElements() : 1;
    uint64_t each = tile::bytesInMemory(access.getAccessElementType());
    most = std::max(most, uint64_t(elements) * each);
    accesses.push_back({access.getAccessed(), uint64_t(elements) * each, each, elements});
  });
  llvm::erase_if(accesses, [&](const Access &access) { return 4 * access.bytes < most; });
  return accesses;
}

constexpr uint64_t lineBytes = 64;

bool isOneRow(Value tile) {
  return llvm::count_if(tile::shapeOf(tile.getType()), [](int64_t extent) { return extent > 1; }) ==
         1;
}

} // namespace

LeadingAxis leadingAxis(FunctionOpInterface kernel, const analysis::KernelFacts &facts) {
  if (facts.gridRank < 2 || facts.sharedAxes || facts.mayWait || orderIsSeen(kernel))
    return {};
  SmallVector<Access> accesses = largeAccesses(kernel);
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

// The steps from lane to lane of rows whose lanes lie in lines of their own, where the next program
// along `steps` reads the next element of each line; nothing if other rows would suffer.
static SmallVector<std::pair<ProgramStep, uint64_t>> linesShared(ArrayRef<Access> accesses,
                                                                 Steps steps) {
  Steps lanes = Steps::ofLanes();
  SmallVector<std::pair<ProgramStep, uint64_t>> out;
  for (const Access &access : accesses) {
    if (!isOneRow(access.pointer))
      return {};
    auto apart = lanes.of(access.pointer), step = steps.of(access.pointer);
    if (!apart || !step)
      return {};
    bool isKnown = apart->arguments.empty();
    if (step->isZero() ||
        (isKnown && uint64_t(std::abs(apart->factor)) * access.elementBytes < lineBytes))
      continue;
    if (!step->arguments.empty() || step->factor < 0 ||
        2 * uint64_t(step->factor) * access.elementBytes > lineBytes || apart->factor < 0)
      return {};
    out.push_back({*apart, access.elementBytes});
  }
  return out;
}

void orderSplitPrograms(FunctionOpInterface kernel) {
  analysis::KernelFacts facts = analysis::kernelFacts(kernel);
  if (facts.gridRank != 1 || facts.mayWait || orderIsSeen(kernel))
    return;
  // The only thing that becomes of the number, of 32 or 64 bits: quotient and rest.
  Operation *quotient = nullptr, *rest = nullptr;
  Value number;
  bool isSplit = true;
  kernel->walk([&](tile::ProgramIdOp id) {
    if (id->use_empty())
      return;
    isSplit &= !number;
    number = id;
    if (auto wide = dyn_cast<arith::ExtSIOp>(*id->user_begin()); wide && id->hasOneUse())
      number = wide;
    for (Operation *user : number.getUsers()) {
      Operation *&slot = isa<tile::DivSIOp>(user) ? quotient : rest;
      isSplit &= isa<tile::DivSIOp, tile::RemSIOp>(user) && !slot &&
                 user->getOperand(0) == number &&
                 user->getBlock() == &kernel.getFunctionBody().front();
      slot = user;
    }
  });
  if (!isSplit || !quotient || !rest || quotient->getOperand(1) != rest->getOperand(1))
    return;
  Value by = quotient->getOperand(1);
  auto shared =
      linesShared(largeAccesses(kernel), Steps(quotient->getResult(0), rest->getResult(0)));
  if (shared.empty())
    return;

  OpBuilder b(quotient->isBeforeInBlock(rest) ? quotient : rest);
  Location loc = quotient->getLoc();
  using P = arith::CmpIPredicate;
  Type i64 = b.getI64Type(), type = number.getType();
  Value programs = b.create<tile::NumProgramsOp>(loc, b.getI32Type(), 0);
  if (programs.getType() != type)
    programs = b.create<arith::ExtSIOp>(loc, type, programs);
  Value zero = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, 0));
  Value rows = b.create<tile::DivSIOp>(loc, programs, by);
  Value leads = b.create<arith::CmpIOp>(loc, P::sgt, by, zero);
  auto require = [&](Value one) { leads = b.create<arith::AndIOp>(loc, leads, one); };
  require(b.create<arith::CmpIOp>(loc, P::eq, b.create<arith::MulIOp>(loc, rows, by), programs));
  for (auto &[apart, bytes] : shared) {
    Value step =
        b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(apart.factor * int64_t(bytes)));
    for (BlockArgument argument : apart.arguments) {
      Value factor = argument;
      if (factor.getType() != i64)
        factor = b.create<arith::ExtSIOp>(loc, i64, factor);
      step = b.create<arith::MulIOp>(loc, step, factor);
    }
    Value line = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(lineBytes));
    require(b.create<arith::CmpIOp>(loc, P::sge, step, line));
  }
  Value extent = b.create<arith::SelectOp>(loc, leads, rows, by);
  Value outer = b.create<tile::DivSIOp>(loc, number, extent);
  Value inner = b.create<tile::RemSIOp>(loc, number, extent);
  Value newQuotient = b.create<arith::SelectOp>(loc, leads, inner, outer);
  Value newRest = b.create<arith::SelectOp>(loc, leads, outer, inner);
  quotient->getResult(0).replaceAllUsesWith(newQuotient);
  rest->getResult(0).replaceAllUsesWith(newRest);
  quotient->erase();
  rest->erase();
}

} // namespace nereid::cpu
