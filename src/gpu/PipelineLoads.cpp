#include "gpu/PipelineLoads.h"

#include "analysis/AxisAnalysis.h"
#include "gpu/BesideProducts.h"
#include "gpu/BulkCopies.h"
#include "gpu/BulkLoads.h"
#include "gpu/CopiesAhead.h"
#include "gpu/ProductLayouts.h"
#include "gpu/Rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

using OpSet = llvm::SmallPtrSet<Operation *, 16>;

// Writes a loop anew as its plan says.
class Pipeliner : CopiesAhead {
public:
  using CopiesAhead::CopiesAhead;

  uint64_t run(const analysis::AxisAnalysis &axes) {
    if (!make(axes))
      return 0;
    rewrite();
    return sharedBytes();
  }

private:
  // Ops and carried values that the steps need besides the copies.
  void findLive() {
    SmallVector<Value> work;
    auto need = [&](Operation *op) {
      if (!live.insert(op).second || isCopied(op))
        return;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          work.push_back(operand);
      });
    };
    auto needArg = [&](unsigned i) {
      if (liveArgs.insert(i).second)
        work.push_back(body.getTerminator()->getOperand(i));
    };
    for (Operation &op : body.without_terminator())
      if (!isMemoryEffectFree(&op) && !isa<tile::LoadOp, tile::DescLoadOp>(op))
        need(&op);
    for (OpResult result : loop.getResults())
      if (!result.use_empty())
        needArg(result.getResultNumber());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == &body && argument.getArgNumber() > 0)
          needArg(argument.getArgNumber() - 1);
      } else if (Operation *op = body.findAncestorOpInBlock(*value.getDefiningOp())) {
        need(op);
      }
    }
  }
  bool isCopied(Operation *op) {
    return llvm::any_of(copies, [&](Copy &copy) { return copy.load == op; });
  }

  Value ringOf(Type tile, unsigned count) {
    return b.create<RingOp>(loop.getLoc(),
                            RingType::get(b.getContext(), count, cast<RankedTensorType>(tile)));
  }

  // Where products are in flight behind the loop, tiles without a step are a loop of their own:
  // nothing else may write the sums (see `guardSums`). Leaves `b` before the loop of the others.
  void splitEmptyTiles() {
    scf::ForOp outer = tiles->loop();
    Location loc = outer.getLoc();
    auto branch = b.create<scf::IfOp>(loc, outer.getResultTypes(), hasSteps(), true);
    b.setInsertionPointToStart(branch.elseBlock());
    IRMapping mapping;
    auto empty = cast<scf::ForOp>(b.clone(*outer, mapping));
    if (empty.getNumResults())
      b.create<scf::YieldOp>(loc, empty.getResults());
    auto inner = cast<scf::ForOp>(mapping.lookup(loop.getOperation()));
    inner.replaceAllUsesWith(inner.getInitArgs());
    inner.erase();
    outer.replaceAllUsesWith(branch.getResults());
    outer->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
    b.setInsertionPointToEnd(branch.thenBlock());
    if (outer.getNumResults())
      b.create<scf::YieldOp>(loc, outer.getResults());
    b.setInsertionPoint(outer);
  }
  Value hasSteps() {
    return b.create<arith::CmpIOp>(loop.getLoc(), arith::CmpIPredicate::slt, loop.getLowerBound(),
                                   loop.getUpperBound());
  }

  // The loop over tiles carries these, too.
  ValueRange carryThroughTiles(ValueRange values) {
    scf::ForOp outer = tiles->loop();
    DictionaryAttr attributes = outer->getDiscardableAttrDictionary();
    IRRewriter rewriter(b);
    // What it yields is put in when the loop inside is there.
    auto made = outer.replaceWithAdditionalYields(
        rewriter, values, /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
          return SmallVector<Value>(arguments.begin(), arguments.end());
        });
    outer = cast<scf::ForOp>(made->getOperation());
    outer->setDiscardableAttrs(attributes);
    outer->setAttr(runsOnAttr, b.getBoolAttr(isAllBulk));
    tiles->setLoop(outer);
    return outer.getRegionIterArgs().take_back(values.size());
  }

  void rewrite() {
    findTiles();
    standBeforeLoop();
    zero = later.number(b.getI32Type(), 0);
    reserveRings();
    for (Resident &resident : residents)
      resident.start(b, loop.getLoc(), zero);
    startFirstCopies();
    for (Resident &resident : residents)
      resident.finish(b, loop.getLoc(), zero);
    if (waitsAtEnd)
      b.create<WaitCopiesOp>(loop.getLoc(), distance - 1);

    findLive();
    if (turn && !(live.contains(turn) && live.contains(dots[1])))
      turn = nullptr;
    findCarried();
    if (tiles) {
      goesOn = llvm::to_vector(carryThroughTiles(goesOn));
      b.setInsertionPoint(loop);
    }
    scf::IfOp guard = !flying.empty() && !tiles ? guardSums() : nullptr;
    scf::ForOp made = makeLoop();
    replaceResults(made, guard);
    if (tiles)
      goOnThroughTiles(made);
    b.create<DrainOp>(loop.getLoc(), rings);
    loop.erase();
    for (Resident &resident : residents)
      if (resident.isBulk)
        resident.tile.getDefiningOp()->erase();
    if (tiles && !flying.empty())
      computeBesideProducts(b, made);
  }

  void standBeforeLoop() {
    if (tiles) {
      b.setInsertionPoint(tiles->loop());
      if (!flying.empty() && !tiles->neverEmpty())
        splitEmptyTiles();
      return;
    }
    // The first copies don't wait for a tile that other loops read too.
    Operation *at = loop;
    while (isa_and_present<ReadSlotOp, WaitBulkOp, WriteSlotOp>(at->getPrevNode()))
      at = at->getPrevNode();
    b.setInsertionPoint(at);
  }

  void reserveRings() {
    Location loc = loop.getLoc();
    for (Resident &resident : residents) {
      resident.reserve(b, loc);
      resident.addRings(rings);
    }
    for (Copy &copy : copies)
      rings.push_back(copy.ring = ringOf(copy.load->getResult(0).getType(), slots));
    for (Written &one : written)
      rings.push_back(one.ring = ringOf(one.tile.getType(), writtenPlaces));
    if (hasBulk)
      for (Value *made : {&arrivals, &laterArrivals})
        if (made == &arrivals || llvm::any_of(copies, [](Copy &copy) { return copy.isLater; }))
          rings.push_back(*made =
                              b.create<ArrivalsOp>(loc, ArrivalsType::get(b.getContext(), slots)));
  }

  // The copies of the steps before the first, and the loads before those. Leaves `b` before the
  // loop, or before that over tiles.
  void startFirstCopies() {
    firstAhead.assign(loop.getInitArgs().begin(), loop.getInitArgs().end());
    if (tiles)
      goesOn = startFirst();
    else if (!copies.empty())
      startFirstSteps();
    if (!tiles)
      b.setInsertionPoint(loop);
  }
  void startFirstSteps() {
    Value lower = loop.getLowerBound();
    findEarlyLoads();
    startsAll = !hasBulk && !fillsBehindReads && early.empty() && stepsOf(loop) == slots;
    if (startsAll)
      distance = slots;
    any = hasSteps();
    auto runsFromStart = [&](unsigned step) -> Value {
      return b.create<arith::AndIOp>(loop.getLoc(), any, later.runs(lower, step));
    };
    for (unsigned step = 0; step < distance; ++step) {
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), later.variableAt(lower, step));
      for (unsigned i : slice.carried)
        mapping.map(body.getArgument(i + 1), firstAhead[i]);
      Value slot = later.number(b.getI32Type(), step), active = runsFromStart(step);
      if (isAllBulk)
        startTransfersByOneWarp(mapping, slot, {}, active);
      else
        startCopies(mapping, slot, active);
      for (unsigned i : slice.carried)
        firstAhead[i] = mapping.lookupOrDefault(body.getTerminator()->getOperand(i));
    }
    if (!early.empty())
      goesOn = startEarly(later.variableAt(lower, distance), runsFromStart(distance));
  }

  // What the loop carries: what its steps need, what addresses of the copies ahead need, and what
  // goes on from step to step, and from tile to tile.
  void findCarried() {
    carried.assign(liveArgs.begin(), liveArgs.end());
    llvm::sort(carried);
    if (!tiles && !startsAll) {
      carriedAhead.assign(slice.carried.begin(), slice.carried.end());
      llvm::sort(carriedAhead);
    }
    if (slots)
      goesOn.push_back(zero); // the slot
    if (hasBulk)
      goesOn.push_back(zero); // its phase
    if (!written.empty())
      goesOn.push_back(zero); // the place of what steps write
  }

  // Where no step runs, nothing else may write the sums of products that are in flight behind the
  // loop: `ptxas` would let each of them wait. Leaves `b` where steps run.
  scf::IfOp guardSums() {
    SmallVector<Type> types;
    SmallVector<Value> before;
    for (unsigned i : carried) {
      types.push_back(loop.getResult(i).getType());
      before.push_back(loop.getInitArgs()[i]);
    }
    auto guard = b.create<scf::IfOp>(loop.getLoc(), types, any, /*withElseRegion=*/true);
    b.setInsertionPointToStart(guard.elseBlock());
    b.create<scf::YieldOp>(loop.getLoc(), before);
    b.setInsertionPointToStart(guard.thenBlock());
    return guard;
  }

  scf::ForOp makeLoop() {
    Location loc = loop.getLoc();
    SmallVector<Value> inits;
    for (unsigned i : carried) {
      Value before = loop.getInitArgs()[i];
      inits.push_back(startsAtZero(body.getArgument(i + 1))
                          ? b.create<UnsetOp>(loc, before.getType()).getResult()
                          : before);
    }
    for (unsigned i : carriedAhead)
      inits.push_back(firstAhead[i]);
    llvm::append_range(inits, goesOn);
    if (turn)
      b.create<OpenTurnsOp>(loc);
    auto made = b.create<scf::ForOp>(loc, loop.getLowerBound(), loop.getUpperBound(),
                                     loop.getStep(), inits);
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    OpBuilder::InsertionGuard inside(b);
    if (inits.empty())
      made.getBody()->getTerminator()->erase();
    b.setInsertionPointToStart(made.getBody());
    emitBody(made);
    return made;
  }

  void replaceResults(scf::ForOp made, scf::IfOp guard) {
    Location loc = loop.getLoc();
    b.setInsertionPointAfter(made);
    if (turn)
      b.create<CloseTurnsOp>(loc);
    SmallVector<Value> results;
    for (auto [place, i] : llvm::enumerate(carried)) {
      Value result = made.getResult(place);
      if (isFlying(body.getArgument(i + 1)))
        result = b.create<WaitProductsOp>(loc, result.getType(), result, 0);
      results.push_back(result);
    }
    if (guard) {
      b.create<scf::YieldOp>(loc, results);
      b.setInsertionPointAfter(guard);
      results.assign(guard.result_begin(), guard.result_end());
    }
    for (auto [i, result] : llvm::zip(carried, results))
      loop.getResult(i).replaceAllUsesWith(result);
  }

  // The next tile goes on where the steps of this one left off.
  void goOnThroughTiles(scf::ForOp made) {
    Operation *yield = tiles->loop().getBody()->getTerminator();
    unsigned kept = yield->getNumOperands() - goesOn.size();
    yield->setOperands(kept, goesOn.size(), made.getResults().take_back(goesOn.size()));
    b.setInsertionPointAfter(tiles->loop());
  }

  // A sum of which the product does not read the registers in the first step.
  bool startsAtZero(BlockArgument sum) {
    if (!isFlying(sum) || !sum.hasOneUse())
      return false;
    unsigned i = sum.getArgNumber() - 1;
    OpOperand &use = *sum.use_begin();
    return use.getOwner() == body.getTerminator()->getOperand(i).getDefiningOp() &&
           use.getOperandNumber() == 2 && isZeroConstant(loop.getInitArgs()[i]);
  }
  void emitBody(scf::ForOp made) {
    Location loc = loop.getLoc();
    Value variable = made.getInductionVar();
    IRMapping rest, ahead;
    unsigned next = 0;
    rest.map(loop.getInductionVar(), variable);
    for (unsigned i : carried)
      rest.map(body.getArgument(i + 1), made.getRegionIterArg(next++));
    for (unsigned i : carriedAhead)
      ahead.map(body.getArgument(i + 1), made.getRegionIterArg(next++));
    SmallVector<Value> at;
    if (tiles) {
      unsigned count =
          made.getNumRegionIterArgs() - next - (hasBulk ? 2 : 1) - (written.empty() ? 0 : 1);
      llvm::append_range(at, made.getRegionIterArgs().slice(next, count));
      next += count;
    }
    for (tile::LoadOp load : early)
      ahead.map(load.getResult(), made.getRegionIterArg(next++));

    Value slot, phase;
    SmallVector<Value> nextEarly;
    if (!copies.empty()) {
      slot = made.getRegionIterArg(next++);
      if (!early.empty())
        nextEarly = startEarly(later.variableAt(variable, distance + 1),
                               later.runs(variable, distance + 1));
      if (hasBulk) {
        phase = made.getRegionIterArg(next++);
        b.create<WaitBulkOp>(loc, arrivals, slot, phase);
      }
    }
    if (!written.empty())
      place = made.getRegionIterArg(next++);
    auto copyAhead = [&] {
      if (startsAll) { // what is waited for is counted by groups
        b.create<CommitCopiesOp>(loc);
        return;
      }
      Value to = wrapped(slot, distance);
      if (tiles) {
        at = startNext(at, to, phase);
        return;
      }
      ahead.map(loop.getInductionVar(), later.variableAt(variable, distance));
      Value active = later.runs(variable, distance);
      if (isAllBulk)
        startTransfersByOneWarp(ahead, to, phase, active);
      else
        startCopies(ahead, to, active);
    };
    auto freeSlot = [&] { b.create<FreeSlotOp>(loc, arrivals, wrapped(slot, distance)); };
    auto fillAgain = [&](bool isLater) {
      ahead.map(loop.getInductionVar(), later.variableAt(variable, distance));
      b.create<FreeSlotOp>(loc, isLater ? laterArrivals : arrivals, slot,
                           pendingBehind(releases[isLater]));
      startTransfersByOneWarp(ahead, slot, phase, later.runs(variable, distance), isLater);
    };
    if (slots > 1 && !waitsAtEnd) {
      // Bulk copies are waited for without a barrier; only the thread that starts the next ones
      // waits until the slot is free.
      if (!isAllBulk)
        b.create<WaitCopiesOp>(loc, distance - 1);
      else if (flying.empty())
        freeSlot();
      if (flying.empty() && !fillsBehindReads)
        copyAhead();
    }
    emitRest(rest, slot, phase, fillAgain, copyAhead);
    if (!flying.empty()) {
      if (waitsAtEnd) {
        b.create<WaitCopiesOp>(loc, distance - 2);
      } else {
        if (isAllBulk)
          freeSlot();
        // What steps write, the step after the next overwrites.
        if (!written.empty() || !(isAllBulk || startsAll))
          b.create<MeetOp>(loc);
      }
      copyAhead();
    }

    Operation *yield = body.getTerminator();
    SmallVector<Value> results;
    for (unsigned i : carried)
      results.push_back(rest.lookupOrDefault(yield->getOperand(i)));
    for (unsigned i : carriedAhead)
      results.push_back(ahead.lookupOrDefault(yield->getOperand(i)));
    llvm::append_range(results, at);
    llvm::append_range(results, nextEarly);
    if (slot)
      results.push_back(wrapped(slot, 1));
    if (phase) {
      Value wraps = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, slot,
                                            later.number(b.getI32Type(), slots - 1));
      results.push_back(b.create<arith::XOrIOp>(
          loc, phase, b.create<arith::ExtUIOp>(loc, b.getI32Type(), wraps)));
    }
    if (place)
      results.push_back(b.create<arith::XOrIOp>(loc, place, later.number(b.getI32Type(), 1)));
    b.create<scf::YieldOp>(loc, results);
  }

  // (slot + by) mod slots
  Value wrapped(Value slot, unsigned by) {
    Location loc = loop.getLoc();
    Type i32 = b.getI32Type();
    Value sum = b.create<arith::AddIOp>(loc, slot, later.number(i32, by));
    Value back = b.create<arith::SubIOp>(loc, sum, later.number(i32, slots));
    Value over =
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, sum, later.number(i32, slots));
    return b.create<arith::SelectOp>(loc, over, back, sum);
  }

  Value writtenInTurn(Written &one, Value tile) {
    b.create<WriteSlotOp>(tile.getLoc(), one.ring, place, tile);
    return b.create<ReadSlotOp>(tile.getLoc(), tile.getType(), one.ring, place);
  }

  // How many products may still be in flight where those of `release` are done; none where all of
  // them are done by now.
  IntegerAttr pendingBehind(const Release &release) {
    for (size_t i = begun.size(); i-- > 0;)
      if (release.products.contains(begun[i]))
        return b.getI32IntegerAttr(int32_t(begun.size() - i - 1));
    return {};
  }

  void emitRest(IRMapping &rest, Value slot, Value phase,
                llvm::function_ref<void(bool isLater)> fillAgain,
                llvm::function_ref<void()> copyAhead) {
    SmallVector<ReadSlotOp> reads;
    auto fillAfter = [&](Operation &op) {
      for (bool isLater : {false, true})
        if (slots == 1 && releases[isLater].after == &op)
          fillAgain(isLater);
    };
    for (Operation &op : body.without_terminator()) {
      auto fill = llvm::make_scope_exit([&] { fillAfter(op); });
      if (!live.contains(&op))
        continue;
      auto *copied = llvm::find_if(copies, [&](Copy &copy) { return copy.load == &op; });
      if (copied != copies.end()) {
        if (copied->isLater)
          b.create<WaitBulkOp>(op.getLoc(), laterArrivals, slot, phase);
        reads.push_back(
            b.create<ReadSlotOp>(op.getLoc(), op.getResult(0).getType(), copied->ring, slot));
        rest.map(op.getResult(0), reads.back().getTile());
        continue;
      }
      // Where a slot is wanted in another layout, it is read in that.
      if (auto convert = dyn_cast<ConvertLayoutOp>(op))
        if (auto read = rest.lookupOrDefault(convert.getSource()).getDefiningOp<ReadSlotOp>()) {
          reads.push_back(
              b.create<ReadSlotOp>(op.getLoc(), convert.getType(), read.getRing(), read.getSlot()));
          rest.map(convert.getResult(), reads.back().getTile());
          continue;
        }
      auto dot = dyn_cast<tile::DotOp>(op);
      waitForSums(op, rest);
      waitForDelayed(op, rest);
      SmallVector<std::pair<unsigned, Value>> fixed;
      if (dot)
        for (unsigned i : {0u, 1u})
          for (Resident &resident : residents)
            if (resident.tile == dot->getOperand(i))
              fixed.push_back(
                  {i, b.create<ReadSlotOp>(op.getLoc(), resident.tile.getType(), resident.ring,
                                           later.number(b.getI32Type(), 0))
                          .getResult()});
      if (turn == &op)
        b.create<BeginTurnOp>(op.getLoc());
      if (turn && dot == dots[1])
        b.create<EndTurnOp>(op.getLoc());
      auto sum = dot ? dyn_cast<BlockArgument>(dot.getAcc()) : BlockArgument();
      if (sum && sum.getOwner() == &body && sum.getArgNumber() && startsAtZero(sum)) {
        Value isFirst = isFirstStep(b, cast<scf::ForOp>(b.getInsertionBlock()->getParentOp()));
        fixed.push_back({2, b.create<arith::SelectOp>(op.getLoc(), isFirst,
                                                      loop.getInitArgs()[sum.getArgNumber() - 1],
                                                      rest.lookup(sum))});
      }
      Operation *copy = b.clone(op, rest);
      for (auto [i, value] : fixed)
        copy->setOperand(i, value);
      for (Written &one : written)
        if (one.tile.getDefiningOp() == &op)
          rest.map(one.tile, writtenInTurn(one, rest.lookup(one.tile)));
      if (!dot)
        continue;
      if (fillsBehindReads) {
        copy->setAttr(pendingAttr, b.getI32IntegerAttr(1));
        copyAhead();
        rest.map(dot.getResult(),
                 b.create<WaitProductsOp>(op.getLoc(), dot.getType(), copy->getResult(0), 0));
        continue;
      }
      if (!flying.contains(dot) && !delayed.contains(dot)) {
        begun.clear();
        continue;
      }
      begun.push_back(dot);
      copy->setAttr(pendingAttr, b.getI32IntegerAttr(int32_t(begun.size())));
    }
    for (ReadSlotOp read : reads)
      if (read->use_empty())
        read.erase();
  }

  // The sums of this step's delayed products, where they are wanted.
  void waitForDelayed(Operation &op, IRMapping &rest) {
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        auto dot = operand.getDefiningOp<tile::DotOp>();
        auto *place = dot && delayed.contains(dot) ? llvm::find(begun, dot) : begun.end();
        if (place == begun.end())
          continue;
        Value sum = rest.lookup(operand);
        auto pending = int32_t(begun.end() - place - 1);
        rest.map(operand, b.create<WaitProductsOp>(op.getLoc(), sum.getType(), sum, pending));
        begun.erase(begun.begin(), place + 1);
      }
    });
  }

  // Products of the step before end where their sums are wanted, by others than those that add to
  // them.
  void waitForSums(Operation &op, IRMapping &rest) {
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        auto sum = dyn_cast<BlockArgument>(operand.get());
        if (!sum || sum.getOwner() != &body || !sum.getArgNumber() || !isFlying(sum))
          continue;
        auto dot = dyn_cast<tile::DotOp>(inner);
        bool adds = dot && flying.contains(dot) && operand.getOperandNumber() == 2;
        if (!(adds && sum.hasOneUse()) && waited.insert(sum).second)
          rest.map(sum, b.create<WaitProductsOp>(op.getLoc(), sum.getType(), rest.lookup(sum), 0));
      }
    });
  }

  OpSet live;
  llvm::SmallDenseSet<unsigned> liveArgs;
  SmallVector<Value> rings;
  Value zero;                    // i32
  Value place;                   // i32: of what a step writes; null where it writes nothing
  bool startsAll = false;        // steps have a slot each: all copies start before the first one
  Value any;                     // i1: a step runs; where the first copies are started step by step
  SmallVector<Value> firstAhead; // what the loop carries, in the step that the first one copies for
  SmallVector<unsigned> carried, carriedAhead; // by the steps; by the copies ahead of them
  SmallVector<Value> goesOn;                   // carried from step to step, and through tiles
  SmallVector<tile::DotOp> begun; // products of a step that may be in flight, as it is emitted
  llvm::SmallDenseSet<Value> waited;
};

} // namespace

uint64_t pipelineLoads(FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps,
                       uint64_t sharedBytes, bool bulk) {
  if (bulk)
    chooseBulkStores(kernel, chip);
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  uint64_t shared = shareResidents(loops, chip, warps, sharedBytes, bulk), most = 0;
  // Of a nest the innermost: a loop over tiles changes with the one inside.
  llvm::erase_if(loops, [](scf::ForOp loop) { return !isInnermost(loop); });
  for (scf::ForOp loop : loops) {
    // Facts hold as long as the function does not change.
    analysis::AxisAnalysis axes(kernel);
    most = std::max(most, Pipeliner(loop, chip, warps, sharedBytes - shared, bulk).run(axes));
  }
  if (bulk)
    loadBlocksInBulk(kernel, chip);
  return shared + most;
}

} // namespace nereid::gpu
