#include "gpu/ShortSteps.h"

#include "analysis/KernelFacts.h"
#include "gpu/Addresses.h"
#include "gpu/Layouts.h"
#include "gpu/StepsAhead.h"
#include "gpu/TileGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

constexpr unsigned wantedBytes = 16, mostSteps = 8; // of a load of a thread; of one joined step
constexpr unsigned mostBytes = 64;                  // of all loads of a joined step
constexpr unsigned mostOps = 48;                    // of a step before

// `if has: keep tile`, as `keepRows` leaves it; null for others.
KeepOp keepIn(scf::IfOp branch) {
  if (branch.getNumResults() || !branch.getElseRegion().empty() ||
      !llvm::hasNItems(*branch.thenBlock(), 2))
    return {};
  return dyn_cast<KeepOp>(branch.thenBlock()->front());
}
// `has ? kept : load`.
tile::LoadOp loadIn(scf::IfOp branch) {
  if (branch.getNumResults() != 1 || !llvm::hasNItems(*branch.thenBlock(), 2) ||
      !isa<KeptOp>(branch.thenBlock()->front()) || !llvm::hasNItems(*branch.elseBlock(), 2))
    return {};
  return dyn_cast<tile::LoadOp>(branch.elseBlock()->front());
}

// Computes registers of registers, whatever its operands are.
bool isPlain(Operation *op) {
  return !op->getNumRegions() && isMemoryEffectFree(op) && isSpeculatable(op) &&
         (op->hasTrait<OpTrait::Elementwise>() ||
          isa<arith::ConstantOp, tile::ArangeOp, tile::SplatOp, tile::ExpandDimsOp,
              tile::BroadcastOp, tile::TransOp, tile::ReshapeOp>(op));
}

// What a step is made of.
struct ShortStep {
  SmallVector<tile::LoadOp> loads;     // that start together
  SmallVector<scf::IfOp> keeps, again; // of rows
  StepSlice slice;                     // what gives their addresses
  unsigned largest = 0, all = 0;       // bytes of a thread, of a load and of all
};

class StepReader {
public:
  explicit StepReader(scf::ForOp loop) : loop(loop) {}

  // Nothing where steps can't be joined.
  std::optional<ShortStep> read() {
    auto by = constantOf(loop.getStep());
    auto &ops = loop.getBody()->getOperations();
    if (!by || *by <= 0 || loop->hasAttr(tile::numStagesAttr) || ops.size() > mostOps ||
        !findWritten())
      return std::nullopt;
    for (Operation &op : loop.getBody()->without_terminator())
      if (!take(op))
        return std::nullopt;
    for (scf::IfOp branch : step.keeps)
      if (!llvm::is_contained(step.loads, keepIn(branch).getTile().getDefiningOp()))
        return std::nullopt;
    return std::move(step);
  }

private:
  bool findWritten() {
    return !loop.getBody()
                ->walk([&](Operation *op) {
                  if (!writesMemory(op))
                    return WalkResult::advance();
                  BlockArgument argument = isa<tile::StoreOp>(op) ? storedTo(op) : BlockArgument();
                  written.insert(argument);
                  return argument ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  bool take(Operation &op) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (startsWithOthers(load))
        step.loads.push_back(load);
      return !load.getIsVolatile();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      auto has = branch.getCondition().getDefiningOp<arith::CmpIOp>();
      if (!has || has.getPredicate() != arith::CmpIPredicate::ult ||
          !loop.isDefinedOutsideOfLoop(has.getRhs()) || !addToSlice(has.getLhs()))
        return false;
      if (keepIn(branch)) {
        step.keeps.push_back(branch);
        return true;
      }
      tile::LoadOp load = loadIn(branch);
      step.again.push_back(branch);
      return load && startsWithOthers(load);
    }
    return isa<tile::StoreOp>(op) || isPlain(&op);
  }

  bool startsWithOthers(tile::LoadOp load) {
    BlockArgument argument =
        analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(load.getOperation()));
    if (load.getIsVolatile() || !(written.empty() || (argument && !written.contains(argument))) ||
        !addToSlice(load->getOperands()))
      return false;
    unsigned bytes = unsigned(tile::bytesInMemory(tile::elementType(load.getType())));
    if (auto type = dyn_cast<RankedTensorType>(load.getType())) {
      bytes *= registersOf(layoutOf(type));
      step.largest = std::max(step.largest, bytes);
    }
    step.all += bytes;
    return true;
  }
  bool addToSlice(ValueRange values) {
    return step.slice.add(loop, values, [](tile::LoadOp) { return false; });
  }

  scf::ForOp loop;
  ShortStep step;
  llvm::SmallDenseSet<BlockArgument> written;
};

class StepJoiner {
public:
  StepJoiner(scf::ForOp loop, ShortStep &step, unsigned count)
      : loop(loop), body(*loop.getBody()), step(step), count(count), b(loop) {}

  void run() {
    Location loc = loop.getLoc();
    Type type = loop.getInductionVar().getType();
    Value trips = later.countSteps();
    auto number = [&](int64_t value) { return later.number(type, value); };
    auto known = constantOf(trips);
    for (scf::IfOp branch : llvm::concat<scf::IfOp>(step.keeps, step.again))
      roundDown(branch.getCondition().getDefiningOp<arith::CmpIOp>());
    scf::IfOp several;
    if (!known) {
      Value areSeveral = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, trips, number(1));
      several = b.create<scf::IfOp>(loc, loop.getResultTypes(), areSeveral, true);
      b.setInsertionPointToStart(several.thenBlock());
    }
    Value joined = b.createOrFold<arith::DivUIOp>(
        loc, b.createOrFold<arith::AddIOp>(loc, trips, number(count - 1)), number(count));
    auto made = b.create<scf::ForOp>(loc, number(0), joined, number(1), loop.getInitArgs());
    made->setAttrs(loop->getAttrs());
    if (made.getNumResults())
      b.setInsertionPointToStart(made.getBody());
    else
      b.setInsertionPoint(made.getBody()->getTerminator());
    Value first = b.create<arith::MulIOp>(loc, made.getInductionVar(), number(count));
    for (unsigned k = 0; k < count; ++k) {
      Value at = k ? b.create<arith::AddIOp>(loc, first, number(k)).getResult() : first;
      bool always = k == 0 || (known && *known % count == 0);
      active.push_back(
          always ? Value()
                 : b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, at, trips).getResult());
      at = b.createOrFold<arith::MulIOp>(loc, at, loop.getStep());
      mappings.emplace_back().map(loop.getInductionVar(),
                                  b.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), at));
    }
    startLoads(made.getRegionIterArgs());
    for (scf::IfOp branch : step.again)
      takeKept(branch);
    for (scf::IfOp branch : step.keeps)
      keep(branch);
    SmallVector<Value> carried(made.getRegionIterArgs());
    for (unsigned k = 0; k < count; ++k)
      finish(k, carried);
    if (made.getNumResults())
      b.create<scf::YieldOp>(loc, carried);
    if (several) {
      chooseBetween(several, made);
      return;
    }
    loop->replaceAllUsesWith(made.getResults());
    loop->erase();
  }

private:
  // A loop of one step, as of a row that a block has room for, stays as it is.
  void chooseBetween(scf::IfOp several, scf::ForOp made) {
    loop->replaceAllUsesWith(several.getResults());
    if (!made.getNumResults()) {
      loop->moveBefore(several.elseBlock()->getTerminator());
      return;
    }
    b.setInsertionPointToEnd(several.thenBlock());
    b.create<scf::YieldOp>(loop.getLoc(), made.getResults());
    loop->moveBefore(several.elseBlock(), several.elseBlock()->end());
    b.setInsertionPointToEnd(several.elseBlock());
    b.create<scf::YieldOp>(loop.getLoc(), loop.getResults());
  }

  // Of the steps that are joined either all have places or none.
  void roundDown(arith::CmpIOp has) {
    Value places = has.getRhs();
    Value mask = later.number(places.getType(), -int64_t(count));
    has.getRhsMutable().assign(b.create<arith::AndIOp>(loop.getLoc(), places, mask));
  }

  // Addresses and loads of all steps, one behind the other.
  void startLoads(ValueRange carried) {
    llvm::SmallDenseMap<unsigned, Value> next;
    for (unsigned i : step.slice.carried)
      next[i] = carried[i];
    for (unsigned k = 0; k < count; ++k) {
      for (auto [i, value] : next)
        mappings[k].map(body.getArgument(i + 1), value);
      for (Operation &op : body) {
        auto load = dyn_cast<tile::LoadOp>(op);
        bool isStarted = load && llvm::is_contained(step.loads, load);
        if (!isStarted && !step.slice.ops.contains(&op))
          continue;
        Operation *copy = b.clone(op, mappings[k]);
        if (isStarted)
          mask(copy, k);
      }
      for (auto &[i, value] : next)
        value = mappings[k].lookupOrDefault(body.getTerminator()->getOperand(i));
    }
  }

  Value hasPlaces(scf::IfOp branch) {
    auto has = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    return b.create<arith::CmpIOp>(has.getLoc(), has.getPredicate(),
                                   mappings[0].lookupOrDefault(has.getLhs()), has.getRhs());
  }
  void takeKept(scf::IfOp branch) {
    SmallVector<Type> types(count, branch.getResult(0).getType());
    auto made = b.create<scf::IfOp>(branch.getLoc(), types, hasPlaces(branch), true);
    OpBuilder::InsertionGuard guard(b);
    for (auto [from, to] : {std::pair(branch.thenBlock(), made.thenBlock()),
                            std::pair(branch.elseBlock(), made.elseBlock())}) {
      b.setInsertionPointToEnd(to);
      SmallVector<Value> values;
      for (unsigned k = 0; k < count; ++k) {
        Operation *copy = b.clone(from->front(), mappings[k]);
        if (isa<tile::LoadOp>(copy))
          mask(copy, k);
        values.push_back(copy->getResult(0));
      }
      b.create<scf::YieldOp>(branch.getLoc(), values);
    }
    for (unsigned k = 0; k < count; ++k)
      mappings[k].map(branch.getResult(0), made.getResult(k));
  }
  void keep(scf::IfOp branch) {
    auto made = b.create<scf::IfOp>(branch.getLoc(), hasPlaces(branch), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.thenBlock());
    for (unsigned k = 0; k < count; ++k)
      b.clone(branch.thenBlock()->front(), mappings[k]);
  }

  // All else of a step, and what it carries on where it runs.
  void finish(unsigned k, SmallVectorImpl<Value> &carried) {
    IRMapping &mapping = mappings[k];
    for (auto [i, value] : llvm::enumerate(carried))
      if (!step.slice.carried.contains(unsigned(i)))
        mapping.map(body.getArgument(unsigned(i) + 1), value);
    for (Operation &op : body.without_terminator()) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (isa<scf::IfOp>(op) || step.slice.ops.contains(&op) ||
          (load && llvm::is_contained(step.loads, load)))
        continue;
      Operation *copy = b.clone(op, mapping);
      if (!isa<tile::LoadOp, tile::StoreOp>(copy))
        continue;
      mask(copy, k);
      copy->setAttr(joinedStepAttr, b.getI32IntegerAttr(int32_t(k)));
    }
    for (auto [i, value] : llvm::enumerate(carried)) {
      Value next = mapping.lookupOrDefault(body.getTerminator()->getOperand(unsigned(i)));
      // Behind a step that does not run none does, so only what the loop gives must stay.
      if (active[k] && !loop.getResult(unsigned(i)).use_empty() && next != value)
        next = b.create<arith::SelectOp>(next.getLoc(), truthsOf(next.getType(), active[k]), next,
                                         value);
      value = next;
    }
  }

  Value truthsOf(Type type, Value truth) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      return truth;
    return b.create<tile::SplatOp>(
        truth.getLoc(), RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding()),
        truth);
  }

  void mask(Operation *access, unsigned k) {
    if (!active[k])
      return;
    if (auto load = dyn_cast<tile::LoadOp>(access))
      later.addMask(load, active[k]);
    else
      later.addMask(cast<tile::StoreOp>(access), active[k]);
  }

  scf::ForOp loop;
  Block &body;
  ShortStep &step;
  unsigned count;
  OpBuilder b;
  StepsAhead later{loop, b};
  SmallVector<Value> active; // of each step; null: it runs
  SmallVector<IRMapping> mappings;
};

// How many steps of loops that take the same ones become one.
unsigned countFor(scf::ForOp loop, ArrayRef<ShortStep> steps) {
  unsigned largest = 1, all = 1;
  for (const ShortStep &step : steps) {
    largest = std::max(largest, step.largest);
    all = std::max(all, step.all);
  }
  unsigned count = std::min(mostSteps, wantedBytes / largest);
  count = std::min(count, mostBytes / all);
  if (auto trips = stepsOf(loop))
    while (count > 1 && (*trips < count || (count > 2 && *trips % count)))
      count /= 2;
  return count;
}

bool loadsTiles(scf::ForOp loop) {
  return loop
      ->walk([](tile::LoadOp load) {
        return tile::isTile(load.getType()) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

void joinShortSteps(FunctionOpInterface kernel) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) {
    if (isInnermost(loop) && loadsTiles(loop))
      loops.push_back(loop);
  });
  while (!loops.empty()) {
    SmallVector<scf::ForOp> alike, others;
    for (scf::ForOp loop : loops)
      (loop->getBlock() == loops.front()->getBlock() && takeSameSteps(loops.front(), loop) ? alike
                                                                                           : others)
          .push_back(loop);
    loops = std::move(others);
    std::vector<ShortStep> steps;
    for (scf::ForOp loop : alike)
      if (auto step = StepReader(loop).read())
        steps.push_back(std::move(*step));
    if (steps.size() < alike.size())
      continue;
    if (unsigned count = countFor(alike.front(), steps); count > 1)
      for (auto [loop, step] : llvm::zip(alike, steps))
        if (step.largest)
          StepJoiner(loop, step, count).run();
  }
}

} // namespace nereid::gpu
