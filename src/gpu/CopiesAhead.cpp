#include "gpu/CopiesAhead.h"

#include "gpu/BulkCopies.h"
#include "gpu/Rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace nereid::gpu {

// The addresses of a step's copies; loads among them touch nothing if the step is not run, and
// branches go the other way.
void CopiesAhead::cloneSlice(IRMapping &mapping, Value active) {
  for (Operation &op : body) {
    if (!slice.ops.contains(&op) || mapping.contains(op.getResult(0)))
      continue;
    Operation *copy = b.clone(op, mapping);
    if (auto load = dyn_cast<tile::LoadOp>(copy))
      later.addMask(load, active);
    else if (auto branch = dyn_cast<scf::IfOp>(copy))
      later.addCondition(branch, active);
  }
}

void CopiesAhead::startCopies(IRMapping &mapping, Value slot, Value active) {
  cloneSlice(mapping, active);
  startTransfers(mapping, slot, active);
}

void CopiesAhead::startTransfersByOneWarp(IRMapping &mapping, Value slot, Value phase, Value active,
                                          std::optional<bool> isLater) {
  Location loc = loop.getLoc();
  cloneSlice(mapping, active);
  Value mine = b.create<arith::AndIOp>(loc, active,
                                       b.create<IsCopyingWarpOp>(loc, b.getI1Type()).getResult());
  auto branch = b.create<scf::IfOp>(loc, mine);
  OpBuilder::InsertionGuard inside(b);
  b.setInsertionPointToStart(branch.thenBlock());
  // The slot of the step before: freed as often as this step's slot was filled before.
  if (phase)
    b.create<AcquireSlotOp>(loc, isLater.value_or(false) ? laterArrivals : arrivals, slot, phase);
  startTransfers(mapping, slot, later.number(b.getI1Type(), 1), isLater);
}

void CopiesAhead::startTransfers(IRMapping &mapping, Value slot, Value active,
                                 std::optional<bool> only) {
  for (bool isLater : {false, true}) {
    if (only.value_or(isLater) != isLater)
      continue;
    uint64_t bytes = 0;
    for (Copy &copy : copies)
      if (copy.isBulk && copy.isLater == isLater)
        bytes += transferredBytes(copy.load->getResult(0).getType());
    if (bytes)
      b.create<ExpectBulkOp>(loop.getLoc(), isLater ? laterArrivals : arrivals, slot,
                             uint32_t(bytes), active);
  }
  for (Copy &copy : copies) {
    if (only.value_or(copy.isLater) != copy.isLater)
      continue;
    auto ahead = [&](Value value) { return value ? mapping.lookupOrDefault(value) : value; };
    if (auto load = dyn_cast<tile::LoadOp>(copy.load)) {
      b.create<CopyAsyncOp>(load.getLoc(), copy.ring, slot, ahead(load.getPointer()),
                            ahead(load.getMask()), active, copy.vector, uint32_t(load.getEvict()));
      continue;
    }
    auto block = cast<tile::DescLoadOp>(copy.load);
    SmallVector<Value> offsets(llvm::map_range(block.getOffsets(), ahead));
    if (copy.isBulk)
      b.create<CopyBulkOp>(block.getLoc(), copy.ring, slot, block.getDesc(), offsets,
                           copy.isLater ? laterArrivals : arrivals, active);
    else
      b.create<CopyDescOp>(block.getLoc(), copy.ring, slot, ahead(block.getDesc()), offsets, active,
                           copy.vector);
  }
  if (!isAllBulk)
    b.create<CommitCopiesOp>(loop.getLoc());
}

void CopiesAhead::findEarlyLoads() {
  for (Operation &op : body) {
    auto load = dyn_cast<tile::LoadOp>(op);
    if (!load || !slice.ops.contains(load))
      continue;
    StepSlice own;
    if (own.add(loop, load->getOperands())) {
      early.push_back(load);
      own.ops.insert(load);
      earlySlice.insert(own.ops.begin(), own.ops.end());
    }
  }
}

SmallVector<Value> CopiesAhead::startEarly(Value variable, Value active) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), variable);
  for (Operation &op : body) {
    if (!earlySlice.contains(&op))
      continue;
    Operation *copy = b.clone(op, mapping);
    if (auto load = dyn_cast<tile::LoadOp>(copy))
      later.addMask(load, active);
  }
  SmallVector<Value> values;
  for (tile::LoadOp load : early)
    values.push_back(mapping.lookup(load.getResult()));
  return values;
}

void CopiesAhead::findTiles() {
  if (copies.empty() || slots == 1 || !residents.empty() || turn ||
      llvm::any_of(slice.ops, [](Operation *op) { return isa<tile::LoadOp, scf::IfOp>(op); }))
    return;
  SmallVector<Operation *> ops(slice.ops.begin(), slice.ops.end());
  for (Copy &copy : copies)
    ops.push_back(copy.load);
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  SmallVector<unsigned> numbers(slice.carried.begin(), slice.carried.end());
  llvm::sort(numbers);
  tiles.emplace(loop, b);
  if (!tiles->follow(ops, numbers))
    tiles.reset();
}

SmallVector<Value> CopiesAhead::startNext(ValueRange at, Value slot, Value phase) {
  Location loc = loop.getLoc();
  if (!isAllBulk) {
    IRMapping mapping = tiles->valuesAt(at);
    startCopies(mapping, slot, TilesAhead::exists(at));
    return tiles->next(at, mapping);
  }
  // Only the warp that starts copies knows.
  Value mine = b.create<IsCopyingWarpOp>(loc, b.getI1Type());
  auto branch = b.create<scf::IfOp>(loc, TypeRange(at), mine, true);
  OpBuilder::InsertionGuard inside(b);
  b.setInsertionPointToStart(branch.elseBlock());
  b.create<scf::YieldOp>(loc, at);
  b.setInsertionPointToStart(branch.thenBlock());
  IRMapping mapping = tiles->valuesAt(at);
  cloneSlice(mapping, {});
  auto start = b.create<scf::IfOp>(loc, TilesAhead::exists(at));
  b.setInsertionPointToStart(start.thenBlock());
  if (phase)
    b.create<AcquireSlotOp>(loc, arrivals, slot, phase);
  startTransfers(mapping, slot, later.number(b.getI1Type(), 1));
  b.setInsertionPointAfter(start);
  b.create<scf::YieldOp>(loc, tiles->next(at, mapping));
  return SmallVector<Value>(branch.getResults());
}

SmallVector<Value> CopiesAhead::startFirst() {
  Location loc = loop.getLoc();
  Type i32 = b.getI32Type();
  auto steps = b.create<scf::ForOp>(loc, later.number(i32, 0), later.number(i32, distance),
                                    later.number(i32, 1), tiles->first());
  OpBuilder::InsertionGuard inside(b);
  b.setInsertionPointToStart(steps.getBody());
  b.create<scf::YieldOp>(loc, startNext(steps.getRegionIterArgs(), steps.getInductionVar(), {}));
  return SmallVector<Value>(steps.getResults());
}

} // namespace nereid::gpu
