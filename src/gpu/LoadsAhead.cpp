#include "gpu/LoadsAhead.h"

#include "analysis/KernelFacts.h"
#include "gpu/Layouts.h"
#include "gpu/StepsAhead.h"
#include "gpu/TileGpu.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

class Prefetcher {
public:
  Prefetcher(scf::ForOp loop, unsigned warps)
      : loop(loop), body(*loop.getBody()), warps(warps), b(loop) {}

  void run() {
    hasProducts = llvm::any_of(body, [](Operation &op) { return isa<tile::DotOp>(op); });
    unsigned stages = numStages();
    if (stages < 2 || !findWritten())
      return;
    for (Operation &op : body)
      if (auto load = dyn_cast<tile::LoadOp>(op); load && isWanted(load) && canStartAhead(load))
        loads.push_back(load);
    findEarlyLoads();
    // Single numbers that come with a row come ahead with it: it would wait for them.
    if (llvm::none_of(loads, [](tile::LoadOp load) { return tile::isTile(load); }))
      return;
    for (distance = hasProducts ? 1 : stages - 1; distance > 0; --distance)
      if (fits())
        break;
    if (distance > 0)
      rewrite();
  }

private:
  unsigned numStages() {
    if (auto own = loop->getAttrOfType<IntegerAttr>(tile::numStagesAttr))
      return unsigned(own.getInt());
    return hasProducts ? numStagesOf(loop) : isRecurrence() ? 2 : 1;
  }

  // True if a step reduces what the step before it gave, as substitution does in a triangle: one
  // step starts behind the other, and with it the latency of its loads, of which there are few.
  bool isRecurrence() {
    unsigned bytes = 0;
    bool reducesState = false;
    for (Operation &op : body) {
      if (auto load = dyn_cast<tile::LoadOp>(op))
        bytes += bytesOfThread(load);
      reducesState |= isa<tile::ReduceOp>(op) && dependsOnState(&op);
    }
    return reducesState && bytes <= mostBytesForState;
  }
  bool dependsOnState(Operation *reduction) {
    SmallVector<Operation *> work = {reduction};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty())
      for (Value operand : work.pop_back_val()->getOperands()) {
        if (llvm::is_contained(loop.getRegionIterArgs(), operand) &&
            isa<FloatType>(tile::elementType(operand.getType())))
          return true;
        Operation *made = operand.getDefiningOp();
        if (made && made->getBlock() == &body && seen.insert(made).second)
          work.push_back(made);
      }
    return false;
  }

  // The arguments whose memory steps write; false if a step does what nothing may overtake.
  bool findWritten() {
    return !loop.walk([&](Operation *op) {
                  if (op == loop)
                    return WalkResult::advance();
                  if (isa<scf::ForOp, scf::WhileOp>(op))
                    return WalkResult::interrupt();
                  if (!writesMemory(op))
                    return WalkResult::advance();
                  BlockArgument argument = storedTo(op);
                  written.insert(argument);
                  return argument ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  // What only addresses come from is on its way with the copies already.
  bool isWanted(tile::LoadOp load) {
    return hasProducts ? feedsProduct(load) || feedsState(load) : !load->use_empty();
  }
  // True of a few numbers that a carried state is computed with, as gates are: the product of the
  // next step waits for it. Numbers of pages that are carried are integers, and ahead already.
  bool feedsState(tile::LoadOp load) {
    if (bytesOfThread(load) > mostBytesForState)
      return false;
    SmallVector<Operation *> work = {load};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty())
      for (OpOperand &use : work.pop_back_val()->getUses()) {
        Operation *user = body.findAncestorOpInBlock(*use.getOwner());
        if (user == body.getTerminator()) {
          if (isa<FloatType>(tile::elementType(use.get().getType())))
            return true;
          continue;
        }
        bool isAddress = isa<tile::AddPtrOp, tile::LoadOp, tile::StoreOp>(user);
        if (!isAddress && seen.insert(user).second)
          work.push_back(user);
      }
    return false;
  }
  bool isApartFromWrites(tile::LoadOp load) {
    BlockArgument argument =
        analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(load.getOperation()));
    return !load.getIsVolatile() && (written.empty() || (argument && !written.contains(argument)));
  }
  // What its addresses are loaded from must be known by the step's number, and what steps carry
  // without such loads: of a later step that would have to be loaded in between.
  bool canStartAhead(tile::LoadOp load) {
    if (!isApartFromWrites(load))
      return false;
    StepSlice with = slice, withCarried = carriedSlice;
    bool isKnown = with.add(loop, load->getOperands(), [&](tile::LoadOp index) {
      StepSlice own;
      return isApartFromWrites(index) && own.add(loop, index->getOperands());
    });
    for (unsigned i : with.carried)
      isKnown = isKnown && withCarried.add(loop, body.getTerminator()->getOperand(i),
                                           [](tile::LoadOp) { return false; });
    if (!isKnown)
      return false;
    slice = std::move(with);
    carriedSlice = std::move(withCarried);
    return true;
  }
  void findEarlyLoads() {
    for (Operation &op : body)
      if (auto load = dyn_cast<tile::LoadOp>(op); load && slice.ops.contains(load)) {
        early.push_back(load);
        earlySlice.add(loop, load->getOperands());
      }
    llvm::erase_if(loads, [&](tile::LoadOp load) {
      return llvm::is_contained(early, load) && !isWantedInStep(load);
    });
  }
  // True if more comes of a load than addresses of those that start ahead.
  bool isWantedInStep(tile::LoadOp load) {
    SmallVector<Operation *> work = {load};
    while (!work.empty())
      for (Operation *user : work.pop_back_val()->getUsers()) {
        if (llvm::is_contained(loads, dyn_cast<tile::LoadOp>(user)))
          continue;
        if (user->getBlock() != &body || user == body.getTerminator() || !isMemoryEffectFree(user))
          return true;
        work.push_back(user);
      }
    return false;
  }

  bool fits() {
    if (hasProducts)
      return registersOfTiles() <= mostRegistersWithProducts;
    unsigned bytes = 0;
    for (tile::LoadOp load : loads)
      bytes += distance * bytesOfThread(load);
    for (tile::LoadOp load : early)
      bytes += bytesOfThread(load);
    return bytes <= mostBytesAhead &&
           (distance == 1 || distance * instructionsOfStep() <= mostInstructionsAhead);
  }
  unsigned elementsOfThread(Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile ? unsigned(std::max<int64_t>(tile.getNumElements() / (32 * warps), 1)) : 1;
  }
  unsigned bytesOfThread(tile::LoadOp load) {
    return elementsOfThread(load.getType()) *
           unsigned(tile::bytesInMemory(tile::elementType(load.getType())));
  }
  // About how many a thread has, at least.
  unsigned instructionsOfStep() {
    unsigned count = 0;
    loop.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        count += elementsOfThread(type);
    });
    return count;
  }
  // Of a thread, for all that lives through a step with a product. What is too narrow for a copy
  // comes in registers of its own.
  unsigned registersOfTiles() {
    unsigned count = 0;
    for (Type type : loop.getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type); tile && !isPointer(tile))
        count += registersOf(layoutOf(tile));
    for (const auto &some : {loads, early})
      for (tile::LoadOp load : some)
        count += tile::isTile(load) ? registersOf(layoutOf(load.getType())) : 1;
    return count;
  }
  static bool isPointer(RankedTensorType tile) { return isa<tile::PtrType>(tile.getElementType()); }

  // What the addresses of a step's loads come from.
  SmallVector<Value> startEarly(Value variable, Value active) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), variable);
    SmallVector<Value> values;
    for (Operation &op : body) {
      bool isEarly = llvm::is_contained(early, dyn_cast<tile::LoadOp>(op));
      if (!isEarly && !earlySlice.ops.contains(&op))
        continue;
      Operation *copy = b.clone(op, mapping);
      if (!isEarly)
        continue;
      later.addMask(cast<tile::LoadOp>(copy), active);
      values.push_back(copy->getResult(0));
    }
    return values;
  }

  // The loads of the step `ahead` steps behind that of `variable`, which begins with `carried`.
  SmallVector<Value> start(Value variable, ValueRange carried, ValueRange indices, unsigned ahead,
                           Value active) {
    IRMapping mapping;
    for (unsigned i : slice.carried)
      mapping.map(body.getArgument(i + 1), carried[i]);
    for (unsigned step = 0; step < ahead && !slice.carried.empty(); ++step) {
      mapping.map(loop.getInductionVar(), later.variableAt(variable, step));
      for (Operation &op : body)
        if (carriedSlice.ops.contains(&op))
          b.clone(op, mapping);
      IRMapping next;
      for (unsigned i : slice.carried)
        next.map(body.getArgument(i + 1),
                 mapping.lookupOrDefault(body.getTerminator()->getOperand(i)));
      mapping = next;
    }
    mapping.map(loop.getInductionVar(), later.variableAt(variable, ahead));
    for (auto [load, value] : llvm::zip(early, indices))
      mapping.map(load.getResult(), value);
    SmallVector<Value> values;
    for (Operation &op : body) {
      auto load = dyn_cast<tile::LoadOp>(op);
      bool isAhead = load && llvm::is_contained(loads, load);
      if (!isAhead && !slice.ops.contains(&op))
        continue;
      if (!load || !llvm::is_contained(early, load)) {
        Operation *copy = b.clone(op, mapping);
        if (load)
          later.addMask(cast<tile::LoadOp>(copy), active);
      }
      if (isAhead)
        values.push_back(mapping.lookup(load.getResult()));
    }
    return values;
  }

  // A step that begins with `carried`, with what waits for it and for those behind it, and with
  // what the addresses of the next loads come from; gives all of it for the next one. Where nothing
  // more starts ahead, what waits at the end is of no step.
  SmallVector<Value> step(Value variable, ValueRange state, bool startsAhead) {
    size_t carried = loop.getNumRegionIterArgs();
    SmallVector<Value> indices(state.take_back(early.size()));
    ValueRange waiting = state.drop_front(carried).drop_back(early.size());
    SmallVector<Value> next(waiting.take_back(loads.size()));
    if (startsAhead) {
      next = start(variable, state.take_front(carried), indices, distance,
                   later.runs(variable, distance));
      if (!early.empty())
        indices = startEarly(later.variableAt(variable, distance + 1),
                             later.runs(variable, distance + 1));
    }
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), variable);
    mapping.map(loop.getRegionIterArgs(), state.take_front(carried));
    for (auto [i, load] : llvm::enumerate(loads))
      mapping.map(load.getResult(), waiting[i]);
    for (Operation &op : body.without_terminator())
      if (auto load = dyn_cast<tile::LoadOp>(op); !load || !llvm::is_contained(loads, load))
        b.clone(op, mapping);
    SmallVector<Value> results;
    for (Value result : body.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(result));
    llvm::append_range(results, waiting.drop_front(loads.size()));
    llvm::append_range(results, next);
    llvm::append_range(results, indices);
    return results;
  }

  scf::ForOp emptyLoop(Value from, Value to, Value by, ValueRange inits) {
    auto made = b.create<scf::ForOp>(loop.getLoc(), from, to, by, inits);
    made->setAttrs(loop->getAttrs());
    made->removeAttr(tile::numStagesAttr);
    return made;
  }

  // `count` times as many steps as `copies` says, in a loop. Of a state with the variable behind.
  SmallVector<Value> repeated(Value count, unsigned copies, SmallVector<Value> state,
                              bool startsAhead) {
    Location loc = loop.getLoc();
    Type type = count.getType();
    auto made = emptyLoop(later.number(type, 0), count, later.number(type, 1), state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    state.assign(made.getRegionIterArgs().begin(), made.getRegionIterArgs().end());
    for (unsigned i = 0; i < copies; ++i) {
      Value variable = state.pop_back_val();
      state = step(variable, state, startsAhead);
      state.push_back(later.variableAt(variable, 1));
    }
    b.create<scf::YieldOp>(loc, state);
    return SmallVector<Value>(made.getResults());
  }

  void rewrite() {
    Location loc = loop.getLoc();
    Value lower = loop.getLowerBound();
    // A loop without a step has a distance to its end that means nothing.
    Value any =
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lower, loop.getUpperBound());
    SmallVector<Value> state(loop.getInitArgs());
    auto runsFromStart = [&](unsigned ahead) -> Value {
      return ahead == 0 ? any : b.create<arith::AndIOp>(loc, any, later.runs(lower, ahead));
    };
    SmallVector<SmallVector<Value>> indices(distance + 1);
    for (unsigned ahead = 0; ahead <= distance && !early.empty(); ++ahead)
      indices[ahead] = startEarly(later.variableAt(lower, ahead), runsFromStart(ahead));
    for (unsigned ahead = 0; ahead < distance; ++ahead)
      llvm::append_range(
          state, start(lower, loop.getInitArgs(), indices[ahead], ahead, runsFromStart(ahead)));
    llvm::append_range(state, indices[distance]);
    if (distance == 1) {
      auto made = emptyLoop(lower, loop.getUpperBound(), loop.getStep(), state);
      b.setInsertionPointToStart(made.getBody());
      b.create<scf::YieldOp>(loc, step(made.getInductionVar(), made.getRegionIterArgs(), true));
      state.assign(made.result_begin(), made.result_end());
    } else {
      // From step to step what waits would move to other registers, and wait for its load to do so.
      // So many steps as are under way stand in a row: each takes its registers and fills them.
      Type type = lower.getType();
      Value steps = later.countSteps();
      Value rounds = b.create<arith::DivUIOp>(loc, steps, later.number(type, distance));
      Value rest = b.create<arith::SubIOp>(
          loc, steps, b.create<arith::MulIOp>(loc, rounds, later.number(type, distance)));
      state.push_back(lower);
      state = repeated(rounds, distance, std::move(state), /*startsAhead=*/true);
      state = repeated(rest, 1, std::move(state), /*startsAhead=*/false);
    }
    loop->replaceAllUsesWith(ValueRange(state).take_front(loop.getNumResults()));
    loop->erase();
  }

  scf::ForOp loop;
  Block &body;
  unsigned warps;
  OpBuilder b;
  StepsAhead later{loop, b};
  SmallVector<tile::LoadOp> loads;
  StepSlice slice;                 // what gives their addresses and masks
  StepSlice carriedSlice;          // and of that the carried values of the next step
  SmallVector<tile::LoadOp> early; // the loads of `slice`, which start a step before `loads`
  StepSlice earlySlice;
  bool hasProducts = false;
  llvm::SmallDenseSet<BlockArgument> written;
  unsigned distance = 0;
};

} // namespace

void startLoadsAhead(FunctionOpInterface kernel, unsigned warps) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    Prefetcher(loop, warps).run();
}

} // namespace nereid::gpu
