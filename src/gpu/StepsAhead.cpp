#include "gpu/StepsAhead.h"

#include "analysis/KernelFacts.h"
#include "gpu/Addresses.h"
#include "gpu/TileGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nereid::gpu {

Value StepsAhead::number(Type type, int64_t value) {
  return b.create<arith::ConstantOp>(loop.getLoc(), b.getIntegerAttr(type, value));
}

Value StepsAhead::steps(unsigned count) {
  Type type = loop.getInductionVar().getType();
  return b.createOrFold<arith::MulIOp>(loop.getLoc(), loop.getStep(), number(type, count));
}

Value StepsAhead::countSteps() {
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Type type = lower.getType();
  if (auto known = stepsOf(loop))
    return number(type, *known);
  Value runs = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lower, upper);
  Value count = upper;
  if (constantOf(lower) != 0)
    count = b.create<arith::SubIOp>(loc, upper, lower);
  if (constantOf(loop.getStep()) != 1) {
    Value last = b.create<arith::SubIOp>(loc, count, number(type, 1));
    last = b.create<arith::DivUIOp>(loc, last, loop.getStep());
    count = b.create<arith::AddIOp>(loc, last, number(type, 1));
  }
  return b.create<arith::SelectOp>(loc, runs, count, number(type, 0));
}

Value StepsAhead::variableAt(Value variable, unsigned ahead) {
  return b.createOrFold<arith::AddIOp>(loop.getLoc(), variable, steps(ahead));
}

Value StepsAhead::runs(Value variable, unsigned ahead) {
  Location loc = loop.getLoc();
  Value left = b.create<arith::SubIOp>(loc, loop.getUpperBound(), variable);
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, left, steps(ahead));
}

void StepsAhead::addCondition(scf::IfOp branch, Value active) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch);
  branch.getConditionMutable().assign(
      b.create<arith::AndIOp>(branch.getLoc(), branch.getCondition(), active));
}

template <typename Access>
static void addMaskTo(Access access, Value active, Value pointer, OpBuilder &b) {
  Value mask = active;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(access);
  if (auto tensor = dyn_cast<RankedTensorType>(pointer.getType()))
    mask = b.create<tile::SplatOp>(
        access.getLoc(),
        RankedTensorType::get(tensor.getShape(), b.getI1Type(), tensor.getEncoding()), mask);
  if (access.getMask())
    mask = b.create<arith::AndIOp>(access.getLoc(), access.getMask(), mask);
  access.getMaskMutable().assign(mask);
}
void StepsAhead::addMask(tile::LoadOp load, Value active) {
  addMaskTo(load, active, load.getPointer(), b);
}
void StepsAhead::addMask(tile::StoreOp store, Value active) {
  addMaskTo(store, active, store.getPointer(), b);
}

std::optional<int64_t> stepsOf(scf::ForOp loop) {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound()),
       step = constantOf(loop.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return std::nullopt;
  return *upper <= *lower ? 0 : (*upper - *lower + *step - 1) / *step;
}

bool takeSameSteps(scf::ForOp a, scf::ForOp b) {
  auto same = [](Value x, Value y) {
    auto number = constantOf(x);
    return x == y || (number && x.getType() == y.getType() && number == constantOf(y));
  };
  return same(a.getLowerBound(), b.getLowerBound()) && same(a.getUpperBound(), b.getUpperBound()) &&
         same(a.getStep(), b.getStep());
}

bool isInnermost(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([](Operation *op) {
                return isa<scf::ForOp, scf::WhileOp>(op) ? WalkResult::interrupt()
                                                         : WalkResult::advance();
              })
              .wasInterrupted();
}

unsigned numStagesOf(scf::ForOp loop) {
  auto module = loop->getParentOfType<ModuleOp>();
  for (Operation *op : {loop.getOperation(), module.getOperation()})
    if (auto attr = op->getAttrOfType<IntegerAttr>(tile::numStagesAttr))
      return unsigned(attr.getInt());
  return 3;
}

bool feedsProduct(Operation *load) {
  Block &body = *load->getBlock();
  SmallVector<Operation *> work = {load};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      Operation *here = body.findAncestorOpInBlock(*user);
      if (!here || !seen.insert(here).second)
        continue;
      if (isa<tile::DotOp, WriteSlotOp>(here)) // what a step writes to a slot is an operand
        return true;
      work.push_back(here);
    }
  return false;
}

bool writesMemory(Operation *op) {
  // Records of prints and asserts are nobody's input; rings and what a thread keeps are no memory
  // of the program's.
  if (isa<tile::PrintOp, tile::AssertOp>(op) || isa<TileGpuDialect>(op->getDialect()))
    return false;
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects || effects.hasEffect<MemoryEffects::Write>();
}

BlockArgument storedTo(Operation *op) {
  if (isa<tile::StoreOp, tile::DescStoreOp>(op))
    return analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(op));
  return {};
}

// A branch that only computes. What may not be computed without its condition is fine inside.
static bool isPureBranch(Operation *op) {
  return isa<scf::IfOp>(op) &&
         !op->walk([&](Operation *inner) {
              bool isPlain = inner == op || isa<scf::IfOp>(inner) ||
                             (!inner->getNumRegions() && !isa<tile::DotOp>(inner) &&
                              isMemoryEffectFree(inner));
              return isPlain ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

bool StepSlice::add(scf::ForOp loop, ValueRange values,
                    llvm::function_ref<bool(tile::LoadOp)> mayLoad, bool mayBranch) {
  Block *body = loop.getBody();
  StepSlice with = *this;
  auto collect = [&](Value value, auto &&collect) -> bool {
    if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar())
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned i = argument.getArgNumber() - 1;
      return mayLoad && (!with.carried.insert(i).second ||
                         collect(body->getTerminator()->getOperand(i), collect));
    }
    Operation *op = value.getDefiningOp();
    if (mayBranch && op->getBlock() == body && isPureBranch(op))
      return !with.ops.insert(op).second ||
             !op->walk([&](Operation *inner) {
                  return llvm::all_of(inner->getOperands(),
                                      [&](Value v) {
                                        return op->isAncestor(v.getParentBlock()->getParentOp()) ||
                                               collect(v, collect);
                                      })
                             ? WalkResult::advance()
                             : WalkResult::interrupt();
                }).wasInterrupted();
    if (op->getBlock() != body || op->getNumRegions() || isa<tile::DotOp>(op))
      return false;
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load ? !mayLoad || !mayLoad(load) : !isMemoryEffectFree(op) || !isSpeculatable(op))
      return false;
    return !with.ops.insert(op).second ||
           llvm::all_of(op->getOperands(), [&](Value v) { return collect(v, collect); });
  };
  if (!llvm::all_of(values, [&](Value v) { return collect(v, collect); }))
    return false;
  *this = std::move(with);
  return true;
}

} // namespace nereid::gpu
