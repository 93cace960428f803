#include "gpu/GridWalk.h"

#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// What a number may be but for what is added to it, in whichever loop or branch.
class Sums {
public:
  explicit Sums(Operation *loop) : loop(loop) {}

  // True if the number starts at the program's place, and the loop adds to it.
  bool walk(Value value) {
    add(value);
    for (size_t i = 0; i < seen.size(); ++i)
      follow(seen[i]);
    return startsAtProgram && moves;
  }

private:
  void add(Value value) { seen.insert(value); }
  void addAll(ValueRange values) {
    for (Value value : values)
      add(value);
  }

  void follow(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return followArgument(argument);
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto id = dyn_cast<tile::ProgramIdOp>(op)) {
      startsAtProgram = true;
    } else if (isa<arith::AddIOp, arith::SubIOp>(op)) {
      // A step of one goes through what is the program's own.
      moves |= loop->isProperAncestor(op) && llvm::any_of(op->getOperands(), [&](Value step) {
                 return isOutside(step) && !matchPattern(step, m_One());
               });
      addAll(op->getOperands().take_front(isa<arith::SubIOp>(op) ? 1 : 2));
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!region->empty())
          add(region->front().getTerminator()->getOperand(number));
    } else if (auto steps = dyn_cast<scf::ForOp>(op)) {
      add(steps.getInitArgs()[number]);
      add(steps.getBody()->getTerminator()->getOperand(number));
    } else if (auto steps = dyn_cast<scf::WhileOp>(op)) {
      add(steps.getConditionOp().getArgs()[number]);
    }
  }

  void followArgument(BlockArgument argument) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    if (auto steps = dyn_cast<scf::ForOp>(parent)) {
      if (!number)
        return add(steps.getLowerBound());
      add(steps.getInitArgs()[number - 1]);
      add(steps.getBody()->getTerminator()->getOperand(number - 1));
    } else if (auto steps = dyn_cast<scf::WhileOp>(parent)) {
      if (argument.getOwner() == steps.getAfterBody())
        return add(steps.getConditionOp().getArgs()[number]);
      add(steps.getInits()[number]);
      add(steps.getYieldOp()->getOperand(number));
    }
  }

  bool isOutside(Value value) {
    return matchPattern(value, m_Constant()) ||
           !loop->isAncestor(value.getParentBlock()->getParentOp());
  }

  Operation *loop;
  llvm::SetVector<Value> seen;
  bool startsAtProgram = false, moves = false;
};

// A loop that counts from 0, of which the program's place and so many steps are the number.
bool countsSteps(scf::ForOp tiles) {
  SmallVector<Operation *> users(tiles.getInductionVar().getUsers());
  for (size_t i = 0; i < users.size(); ++i) {
    Operation *steps = users[i];
    if (isa<arith::TruncIOp>(steps))
      llvm::append_range(users, steps->getUsers());
    if (!isa<arith::MulIOp>(steps) || llvm::none_of(steps->getOperands(), [&](Value step) {
          return tiles.isDefinedOutsideOfLoop(step) && !matchPattern(step, m_One());
        }))
      continue;
    for (Operation *sum : steps->getUsers())
      if (isa<arith::AddIOp>(sum) && llvm::any_of(sum->getOperands(), [](Value first) {
            return first.getDefiningOp<tile::ProgramIdOp>();
          }))
        return true;
  }
  return false;
}

bool isWalk(Operation *loop) {
  if (auto tiles = dyn_cast<scf::ForOp>(loop))
    if (countsSteps(tiles) || (!matchPattern(tiles.getStep(), m_One()) &&
                               tiles.getLowerBound().getDefiningOp<tile::ProgramIdOp>()))
      return true;
  auto walks = [&](ValueRange next) {
    return llvm::any_of(next, [&](Value value) {
      return isa<IntegerType>(value.getType()) && Sums(loop).walk(value);
    });
  };
  if (auto tiles = dyn_cast<scf::ForOp>(loop))
    return walks(tiles.getBody()->getTerminator()->getOperands());
  if (auto tiles = dyn_cast<scf::WhileOp>(loop))
    return walks(tiles.getYieldOp().getOperands());
  return false;
}

} // namespace

bool walksGrid(Operation *op) {
  for (Operation *loop = op->getParentOp(); loop; loop = loop->getParentOp())
    if (isWalk(loop))
      return true;
  return false;
}

} // namespace nereid::gpu
