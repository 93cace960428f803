#include "gpu/TilesAhead.h"

#include "gpu/StepsAhead.h"
#include "ir/LoopHints.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::gpu {

// A step at least, whatever the number of steps depends on: up to `max(n, 1)`.
static bool runsAlways(scf::ForOp steps) {
  auto most = steps.getUpperBound().getDefiningOp<arith::MaxSIOp>();
  APInt lower, least;
  return most && matchPattern(steps.getLowerBound(), m_ConstantInt(&lower)) &&
         llvm::any_of(most->getOperands(), [&](Value v) {
           return matchPattern(v, m_ConstantInt(&least)) && least.sgt(lower);
         });
}

// A number in memory, such as where a group of rows begins: no tile writes what the next one reads.
static bool isNumberInMemory(Operation *op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && !load.getIsVolatile() && !isa<RankedTensorType>(load.getType());
}

bool TilesAhead::follow(ArrayRef<Operation *> ops, ArrayRef<unsigned> numbers) {
  tiles = dyn_cast<scf::ForOp>(steps->getParentOp());
  if (!tiles || !tiles->hasAttr(tile::flattenAttr))
    return false;
  for (Operation &op : *tiles.getBody())
    if (isa<scf::ForOp, scf::WhileOp>(op) && &op != steps)
      return false;
  for (Value bound : {steps.getLowerBound(), steps.getStep()})
    if (!tiles.isDefinedOutsideOfLoop(bound))
      return false;
  isNeverEmpty = runsAlways(steps);
  if (!tiles.isDefinedOutsideOfLoop(steps.getUpperBound()) &&
      !(isNeverEmpty && need(steps.getUpperBound())))
    return false;
  carried.assign(numbers.begin(), numbers.end());
  return llvm::all_of(ops,
                      [&](Operation *op) {
                        return llvm::all_of(op->getOperands(), [&](Value v) { return need(v); });
                      }) &&
         llvm::all_of(carried, [&](unsigned i) { return collect(steps.getInitArgs()[i], ofTile); });
}

bool TilesAhead::need(Value value) {
  if (tiles.isDefinedOutsideOfLoop(value) || value == tiles.getInductionVar())
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  Block *block = value.getParentBlock();
  if (block != tiles.getBody())
    return steps->isAncestor(block->getParentOp());
  if (argument)
    return collect(value, ofTile);
  if (isa<tile::DescType>(value.getType()))
    return false; // its map may still be in use
  Operation *op = value.getDefiningOp();
  // What only repeats a smaller tile is computed again in each step: less is kept in registers.
  if (!tile::isRepeat(op)) {
    kept.insert(value);
    return collect(value, ofTile);
  }
  repeats.insert(op);
  return llvm::all_of(op->getOperands(), [&](Value v) { return need(v); });
}

// Adds the ops of the tiles' body that give `value`.
bool TilesAhead::collect(Value value, OpSet &ops) {
  if (tiles.isDefinedOutsideOfLoop(value) || value == tiles.getInductionVar())
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber() - 1;
    return !arguments.insert(i) ||
           collect(tiles.getBody()->getTerminator()->getOperand(i), ofNextTile);
  }
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != tiles.getBody() || op->getNumRegions() ||
      !(isNumberInMemory(op) || (isMemoryEffectFree(op) && isSpeculatable(op))))
    return false;
  return !ops.insert(op).second ||
         llvm::all_of(op->getOperands(), [&](Value v) { return collect(v, ops); });
}

// Loads read nothing where there is no such tile.
void TilesAhead::clone(const OpSet &ops, IRMapping &mapping, Value exists) {
  for (Operation &op : *tiles.getBody())
    if (ops.contains(&op)) {
      Operation *copy = b.clone(op, mapping);
      if (auto load = dyn_cast<tile::LoadOp>(copy))
        StepsAhead{steps, b}.addMask(load, exists);
    }
}

SmallVector<Value> TilesAhead::tileValues(IRMapping &mapping, Value exists) {
  clone(ofTile, mapping, exists);
  SmallVector<Value> values = {mapping.lookup(tiles.getInductionVar())};
  for (unsigned i : arguments)
    values.push_back(mapping.lookup(tiles.getRegionIterArg(i)));
  for (Value value : kept)
    values.push_back(mapping.lookup(value));
  values.push_back(steps.getLowerBound());
  for (unsigned i : carried)
    values.push_back(mapping.lookupOrDefault(steps.getInitArgs()[i]));
  return values;
}

SmallVector<Value> TilesAhead::first() {
  Location loc = tiles.getLoc();
  IRMapping mapping;
  mapping.map(tiles.getInductionVar(), tiles.getLowerBound());
  for (unsigned i : arguments)
    mapping.map(tiles.getRegionIterArg(i), tiles.getInitArgs()[i]);
  auto isLess = [&](scf::ForOp loop) -> Value {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                   loop.getUpperBound());
  };
  Value exists = isLess(tiles);
  if (!isNeverEmpty)
    exists = b.create<arith::AndIOp>(loc, exists, isLess(steps));
  SmallVector<Value> at = {exists};
  llvm::append_range(at, tileValues(mapping, exists));
  return at;
}

ValueRange TilesAhead::take(ValueRange &list, size_t count) {
  ValueRange taken = list.take_front(count);
  list = list.drop_front(count);
  return taken;
}

IRMapping TilesAhead::valuesAt(ValueRange at) {
  IRMapping mapping;
  Value isThere = exists(at);
  at = at.drop_front();
  mapping.map(tiles.getInductionVar(), take(at, 1)[0]);
  for (auto [i, value] : llvm::zip(arguments, take(at, arguments.size())))
    mapping.map(tiles.getRegionIterArg(i), value);
  for (auto [value, now] : llvm::zip(kept, take(at, kept.size())))
    mapping.map(value, now);
  mapping.map(steps.getInductionVar(), take(at, 1)[0]);
  for (auto [i, value] : llvm::zip(carried, at))
    mapping.map(steps.getRegionIterArg(i), value);
  clone(repeats, mapping, isThere);
  return mapping;
}

SmallVector<Value> TilesAhead::next(ValueRange at, const IRMapping &values) {
  Location loc = tiles.getLoc();
  Value tile = values.lookup(tiles.getInductionVar()),
        step = values.lookup(steps.getInductionVar());
  // How far a number is from the end has no sign: it can't wrap around where there is one at all.
  auto isMore = [&](scf::ForOp loop, Value number) -> Value {
    Value end = values.lookupOrDefault(loop.getUpperBound());
    Value left = b.create<arith::SubIOp>(loc, end, number);
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, left, loop.getStep());
  };
  auto branch = b.create<scf::IfOp>(loc, TypeRange(at), isMore(steps, step), true);
  OpBuilder::InsertionGuard guard(b);

  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> same(at.drop_back(1 + carried.size()));
  same.push_back(b.create<arith::AddIOp>(loc, step, steps.getStep()));
  for (unsigned i : carried)
    same.push_back(values.lookupOrDefault(steps.getBody()->getTerminator()->getOperand(i)));
  b.create<scf::YieldOp>(loc, same);

  b.setInsertionPointToStart(branch.elseBlock());
  IRMapping current, later;
  current.map(tiles.getInductionVar(), tile);
  for (unsigned i : arguments)
    current.map(tiles.getRegionIterArg(i), values.lookup(tiles.getRegionIterArg(i)));
  clone(ofNextTile, current, exists(at));
  later.map(tiles.getInductionVar(),
            b.create<arith::AddIOp>(loc, tile, tiles.getStep()).getResult());
  for (unsigned i : arguments)
    later.map(tiles.getRegionIterArg(i),
              current.lookupOrDefault(tiles.getBody()->getTerminator()->getOperand(i)));
  SmallVector<Value> there = {b.create<arith::AndIOp>(loc, exists(at), isMore(tiles, tile))};
  llvm::append_range(there, tileValues(later, there[0]));
  b.create<scf::YieldOp>(loc, there);
  return SmallVector<Value>(branch.getResults());
}

} // namespace nereid::gpu
