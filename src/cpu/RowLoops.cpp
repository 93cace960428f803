// What of a plan runs along rows: ops of one length in one loop, which row is fetched ahead where,
// and which leaves during the next program.
#include "cpu/FusionPlan.h"
#include "cpu/LaneModels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace nereid::cpu {

void hoistReductions(FunctionOpInterface kernel) {
  kernel->walk([](tile::ReduceOp reduce) {
    llvm::SetVector<Value> used(reduce->operand_begin(), reduce->operand_end());
    getUsedValuesDefinedAbove(reduce->getRegions(), used);
    Operation *last = nullptr;
    for (Value value : used)
      if (Operation *op = value.getDefiningOp(); op && op->getBlock() == reduce->getBlock())
        if (!last || last->isBeforeInBlock(op))
          last = op;
    if (last)
      reduce->moveAfter(last);
    else
      reduce->moveBefore(&reduce->getBlock()->front());
  });
}

// One row: a reduction, or a tile that is computed into a buffer of its own.
bool FusionPlan::runsAlongRow(Operation *op) const {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return isRow(reduce.getSources().front()) && reducesInAnyOrder(reduce);
  if (!isLazy(op) || op->getNumResults() != 1 || !isRow(op->getResult(0)))
    return false;
  const Stored *plan = stored(op->getResult(0));
  return plan && !plan->sameAs;
}

void FusionPlan::joinRows() {
  kernel->walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        joinRows(block);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      joinYields(loop);
  });
}

// What a loop yields of one length and in place is computed together, each step in their order, if
// each reads what it replaces at its own place.
void FusionPlan::joinYields(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  RowLoop row;
  row.ops.push_back(yield);
  DenseSet<Value> displaced;
  for (OpOperand &operand : yield->getOpOperands()) {
    Value tile = operand.get();
    if (!tile::isTile(tile) || !direct.contains(&operand))
      continue;
    if (!isRow(tile) ||
        (!row.yielded.empty() && tile.getType() != row.yielded.front()->get().getType() &&
         tile::shapeOf(tile.getType()) != tile::shapeOf(row.yielded.front()->get().getType())))
      return;
    Cone used;
    visit(tile, false, false, false, used);
    displaced.insert(used.displaced.begin(), used.displaced.end());
    row.yielded.push_back(&operand);
  }
  if (row.yielded.empty() || llvm::any_of(row.yielded, [&](OpOperand *operand) {
        return displaced.contains(loop.getRegionIterArg(operand->getOperandNumber()));
      }))
    return;
  rowLoopOf[yield] = rowLoops.size();
  rowLoops.push_back(std::move(row));
}

// Ops wait for later ones of the same length until something needs their results, or may write
// memory that they read.
void FusionPlan::joinRows(Block &block) {
  RowLoop open;
  int64_t extent = 0;
  DenseSet<Value> late; // what follows from the reductions of the open loop
  auto close = [&] {
    for (Operation *op : open.ops)
      rowLoopOf[op] = rowLoops.size();
    if (!open.ops.empty())
      rowLoops.push_back(std::move(open));
    open = {};
    late.clear();
  };
  auto isLate = [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value value) { return late.contains(value); });
  };
  for (Operation &at : block) {
    Operation *op = &at;
    if (runsAlongRow(op)) {
      auto reduce = dyn_cast<tile::ReduceOp>(op);
      Value tile = reduce ? reduce.getSources().front() : op->getResult(0);
      Root root{op, {tile}, !reduce};
      if (reduce)
        root.tiles.assign(reduce.getSources().begin(), reduce.getSources().end());
      Cone used = cone(root);
      int64_t length = tile::shapeOf(tile.getType())[0];
      bool waits = llvm::any_of(used.ops, isLate) || isLate(op);
      for (Operation *member : open.ops)
        waits |= member->getNumResults() && used.displaced.contains(member->getResult(0));
      if (waits || length != extent)
        close();
      extent = length;
      open.ops.push_back(op);
      if (reduce)
        late.insert(op->result_begin(), op->result_end());
      continue;
    }
    bool stays = op->getNumRegions() == 0 && isLazy(op) &&
                 llvm::none_of(op->getResults(), [&](Value result) { return stored(result); });
    if (stays && !isLate(op))
      continue;
    if (stays && llvm::all_of(op->getResults(), tile::isTile))
      late.insert(op->result_begin(), op->result_end());
    else
      close();
  }
  close();
}

const FusionPlan::RowLoop *FusionPlan::rowLoop(Operation *op) const {
  auto found = rowLoopOf.find(op);
  return found == rowLoopOf.end() ? nullptr : &rowLoops[found->second];
}

// What a loop along rows evaluates, and where.
static SmallVector<std::pair<Operation *, Value>> tilesOf(const FusionPlan::RowLoop &loop) {
  SmallVector<std::pair<Operation *, Value>> out;
  for (OpOperand *operand : loop.yielded)
    out.push_back({operand->getOwner(), operand->get()});
  if (out.empty())
    for (Operation *place : loop.ops)
      out.push_back({place, isLazy(place) ? place->getResult(0) : place->getOperand(0)});
  return out;
}

ArrayRef<FusionPlan::Ahead> FusionPlan::fetchedDuring(Operation *op) const {
  auto found = aheadInOps.find(op);
  return found == aheadInOps.end() ? ArrayRef<Ahead>() : ArrayRef<Ahead>(found->second);
}

// Rows that several loops read come from memory in the first and from the cache in the others,
// which then wait for arithmetic, or for what they write. The one with most of it fetches the row
// of the next round. Where none has much, and rows are longer than the first cache holds beside
// what the last loop reads, all but the first, for which its own row is still on the way, share it,
// so that memory is never idle: the last one most. Short rows that one loop reads, and that stand
// apart from round to round, are followed by nothing that the processor expects.
void FusionPlan::fetchAhead() {
  struct Candidate {
    Operation *place;
    int64_t extent, work;
    uint64_t bytes; // that it reads
    RowLoop *loop;  // or null for a store
    bool isCostly = false, isYield = false;
  };
  SmallVector<Candidate> candidates;
  auto consider = [&](ArrayRef<std::pair<Operation *, Value>> tiles, RowLoop *loop) {
    Candidate one{tiles.back().first, tile::shapeOf(tiles.back().second.getType())[0], 0, 0, loop};
    llvm::SetVector<Operation *> ops;
    for (auto [place, tile] : tiles)
      ops.set_union(cone({place, {tile}, isLazy(place)}).ops);
    if (auto store = yieldStores.lookup(tiles.back().first))
      ops.set_union(cone({store, {store.getValue()}, false}).ops);
    for (Operation *op : ops) {
      bool costly = isCostly(op) && !readsGlobalMemory(op);
      one.work += costly ? 8 : 1;
      one.isCostly |= costly;
      if (isa<tile::LoadOp>(op))
        one.bytes += bufferBytes(op->getResult(0).getType());
    }
    if (loop)
      for (OpOperand *operand : loop->yielded) {
        one.bytes += bufferBytes(operand->get().getType());
        one.isYield = true;
      }
    candidates.push_back(one);
  };
  for (RowLoop &loop : rowLoops)
    consider(tilesOf(loop), &loop);
  kernel->walk([&](tile::StoreOp store) {
    if (isRow(store.getPointer()) && rowsAreRanges(store.getPointer()) && !runsInYield(store))
      consider({{store, store.getValue()}}, nullptr);
  });
  // What the first cache holds. A loop that updates tiles which it carries has them there, too.
  const uint64_t mostBytes = firstCache * 2 / 3, mostBytesUpdated = firstCache;
  // 32 KiB hold no row that is ahead beside the one that is worked on (docs/design/cpu-speed.md).
  const uint64_t longestNear = firstCache > 32 << 10 ? firstCache / 3 : 0;
  constexpr uint64_t leastBytes = 2048, leastShort = 256, mostShort = 4096;
  kernel->walk([&](tile::LoadOp load) {
    Value pointers = load.getPointer();
    if (!tile::isTile(pointers) || !isRow(pointers) || !rowsAreRanges(pointers) ||
        bufferBytes(load.getResult().getType()) < leastShort)
      return;
    uint64_t bytes = bufferBytes(load.getResult().getType());
    Operation *first = nullptr;
    for (const Root &root : roots())
      if (!first && root.place->getBlock() == load->getBlock() && cone(root).ops.contains(load))
        first = root.place;
    if (!first)
      return;
    auto fits = [&](const Candidate &loop) {
      return loop.bytes + bytes <= (loop.isYield ? mostBytesUpdated : mostBytes);
    };
    bool isLong = bytes > firstCache / 3;
    bool isNear = bytes <= longestNear;
    auto worth = [&](const Candidate &loop) { return std::pair(isLong || fits(loop), loop.work); };
    SmallVector<Candidate *> along; // all loops from the first that reads the row on
    Candidate *best = nullptr;
    for (Candidate &loop : candidates) {
      const RowLoop *row = rowLoop(first);
      bool isFirst = loop.place == first || (row && row == loop.loop);
      if (loop.place->getBlock() != load->getBlock() ||
          (!isFirst && loop.place->isBeforeInBlock(first)) ||
          loop.extent != tile::shapeOf(pointers.getType())[0] ||
          (isNear && loop.isYield && !fits(loop)))
        continue;
      along.push_back(&loop);
      if (!isFirst && (!best || worth(loop) > worth(*best)))
        best = &loop;
    }
    if (!best && along.size() == 1 && along.front()->isYield && bytes <= mostShort) {
      ahead.insert(load);
      along.front()->loop->ahead.push_back({load, 0, 8, true, true});
    }
    if (!best || bytes < leastBytes)
      return;
    ahead.insert(load);
    auto fetch = [&](const Candidate &loop, unsigned from, unsigned share) {
      (loop.loop ? loop.loop->ahead : aheadInOps[loop.place])
          .push_back({load, from, share, isNear});
    };
    llvm::sort(along,
               [](Candidate *a, Candidate *b) { return a->place->isBeforeInBlock(b->place); });
    if (fits(*along.back()) || along.size() < 3 || along.size() > 4 ||
        !mayStream(along.back()->place) ||
        llvm::any_of(along, [](Candidate *loop) { return loop->isCostly || loop->isYield; }))
      return fetch(*best, 0, 8);
    constexpr unsigned between = 2; // eighths
    unsigned from = 0;
    for (Candidate *loop : ArrayRef(along).drop_front()) {
      unsigned share = loop == along.back() ? 8 - between : between / unsigned(along.size() - 2);
      fetch(*loop, from, share);
      from += share;
    }
    if (along.back()->place->getParentOp() == kernel)
      alternating.insert(along.back()->place);
  });
}

ArrayRef<FusionPlan::Ahead> FusionPlan::fetchedDuring(OpOperand &yielded) const {
  auto found = aheadInYields.find(&yielded);
  return found == aheadInYields.end() ? ArrayRef<Ahead>() : ArrayRef<Ahead>(found->second);
}

ArrayRef<Operation *> FusionPlan::rowsFetchedDuring(Operation *store) const {
  auto found = shortRows.find(store);
  return found == shortRows.end() ? ArrayRef<Operation *>() : ArrayRef(found->second);
}

void FusionPlan::fetchRows() {
  constexpr uint64_t leastBytes = 64, mostBytes = 4096;
  constexpr int64_t leastRows = 8;
  for (const Root &root : roots()) {
    auto store = dyn_cast<tile::StoreOp>(root.place);
    auto shape = store ? tile::shapeOf(store.getPointer().getType()) : ArrayRef<int64_t>();
    if (shape.size() < 2 || !mayStream(store) || !rowsAreRanges(store.getPointer()))
      continue;
    unsigned rows = shape.size() - 2;
    if (shape[rows] < leastRows)
      continue;
    Cone used = cone(root);
    for (Operation *op : used.ops) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (!load || tile::shapeOf(load.getType()) != shape || used.moved.contains(op) ||
          !rowsAreRanges(load.getPointer()) ||
          axes.facts(load.getPointer()).constancy[rows] >= shape[rows])
        continue;
      uint64_t bytes = shape.back() * tile::bytesInMemory(load.getAccessElementType());
      if (bytes >= leastBytes && bytes <= mostBytes)
        shortRows[store].push_back(load);
    }
  }
}

// Of a tile of rows that a loop adds up, each row is over before the processor sees where it goes
// on, which is in the next round.
void FusionPlan::fetchRounds() {
  constexpr uint64_t leastRow = 128, mostBytes = 64 << 10;
  constexpr int64_t leastRows = 8; // the processor follows some
  auto loadsOf = [&](Value tile, scf::ForOp loop, SmallVectorImpl<Ahead> &out) {
    auto shape = tile::isTile(tile) ? tile::shapeOf(tile.getType()) : ArrayRef<int64_t>();
    if (shape.size() < 2 || shape[shape.size() - 2] < leastRows || stored(tile))
      return;
    Cone used;
    visit(tile, false, false, false, used);
    for (Operation *op : used.ops) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (!load || load->getBlock() != loop.getBody() || used.moved.contains(op) ||
          tile::shapeOf(load.getType()) != shape || !rowsAreRanges(load.getPointer()))
        continue;
      uint64_t bytes = bufferBytes(load.getType());
      uint64_t row = shape.back() * tile::bytesInMemory(load.getAccessElementType());
      if (row >= leastRow && bytes <= mostBytes && ahead.insert(load).second)
        out.push_back({load, 0, 8, false, true});
    }
  };
  kernel->walk([&](scf::ForOp loop) {
    for (Operation &op : *loop.getBody())
      if (auto reduce = dyn_cast<tile::ReduceOp>(op))
        for (Value source : reduce.getSources())
          loadsOf(source, loop, aheadInOps[reduce]);
    for (OpOperand &yielded : loop.getBody()->getTerminator()->getOpOperands())
      loadsOf(yielded.get(), loop, aheadInYields[&yielded]);
  });
}

void FusionPlan::findLeavingRow() {
  // Shorter rows leave the processor while the next one is read (docs/design/cpu-speed.md).
  constexpr uint64_t leastBytes = 8 << 10;
  auto store = writers.empty() ? tile::StoreOp() : dyn_cast<tile::StoreOp>(writers.back());
  if (!store || !mayStream(store) || alternates(store) || store->getParentOp() != kernel ||
      tested.contains(store) || !isRow(store.getPointer()) || !rowsAreRanges(store.getPointer()))
    return;
  auto all = roots();
  const Root *last = llvm::find_if(all, [&](const Root &root) { return root.place == store; });
  if (last == all.end())
    return;
  Cone used = cone(*last);
  for (Value row : used.leaves) {
    const RowLoop *loop = row.getDefiningOp() ? rowLoop(row.getDefiningOp()) : nullptr;
    // Element by element in the same place, in a loop that fetches: then the next program's comes
    // soon, and is as long.
    if (!loop || loop->ahead.empty() || row.getType() != store.getValue().getType() ||
        row.getDefiningOp()->getBlock() != store->getBlock() || used.displaced.contains(row) ||
        bufferBytes(row.getType()) < leastBytes)
      continue;
    bool isShared = llvm::any_of(storedTiles, [&](auto &pair) {
      return pair.second.sameAs == row || (pair.first == row && pair.second.sameAs);
    });
    bool isReadLater = llvm::any_of(all, [&](const Root &root) {
      return root.place != store && cone(root).leaves.contains(row) &&
             (root.place->getBlock() != store->getBlock() || store->isBeforeInBlock(root.place));
    });
    if (!isShared && !isReadLater) {
      leaving = LeavingRow{store, row};
      return;
    }
  }
}

} // namespace nereid::cpu
