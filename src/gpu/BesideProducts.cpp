#include "gpu/BesideProducts.h"

#include "gpu/BulkCopies.h"
#include "gpu/Layouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

Value isFirstStep(OpBuilder &b, scf::ForOp steps) {
  return b.create<arith::CmpIOp>(steps.getLoc(), arith::CmpIPredicate::eq, steps.getInductionVar(),
                                 steps.getLowerBound());
}

namespace {

bool isNumber(Operation *op) {
  return op->getNumResults() == 1 && op->getResult(0).getType().isSignlessInteger() &&
         !op->getNumRegions() && isMemoryEffectFree(op) && isSpeculatable(op) &&
         !isa<arith::ConstantOp>(op);
}

// The last things that a tile does to memory, if they are stores that nobody is told of.
SmallVector<tile::DescStoreOp> lastStores(scf::ForOp tiles) {
  SmallVector<tile::DescStoreOp> stores;
  for (Operation &op : llvm::reverse(tiles.getBody()->without_terminator())) {
    if (isMemoryEffectFree(&op))
      continue;
    auto store = dyn_cast<tile::DescStoreOp>(op);
    auto mayTell = store ? store->getAttrOfType<BoolAttr>(bulkStoreAttr) : BoolAttr();
    if (!mayTell || mayTell.getValue() || !tiles.isDefinedOutsideOfLoop(store.getDesc()))
      break;
    stores.push_back(store);
  }
  return llvm::to_vector(llvm::reverse(stores));
}

// How many 32-bit registers of a thread hold a tile.
uint64_t wordsOf(Value tile) {
  uint64_t bytes = tile::bytesInMemory(tile::elementType(tile.getType()));
  return llvm::divideCeil(registersOf(layoutOf(tile.getType())) * bytes, 4);
}

// Sums of the next tile, the blocks that wait, and what a step needs besides.
bool fitRegisters(scf::ForOp steps, ArrayRef<tile::DescStoreOp> stores, unsigned warps) {
  constexpr uint64_t ofAll = 65536, mostOfThread = 255, besides = 56;
  uint64_t words = besides;
  for (Value sum : steps.getRegionIterArgs())
    if (isa<RankedTensorType>(sum.getType()))
      words += wordsOf(sum);
  for (tile::DescStoreOp store : stores)
    words += wordsOf(store.getValue());
  return words <= std::min(ofAll / (warps * 32), mostOfThread);
}

} // namespace

void computeBesideProducts(OpBuilder &b, scf::ForOp made) {
  auto isBehind = [&](Operation *user) {
    Operation *here = made->getBlock()->findAncestorOpInBlock(*user);
    return here && made->isBeforeInBlock(here);
  };
  // Of what stands before the loop the copies want nothing any more.
  for (Operation *op = made->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    else if (isNumber(op) && llvm::all_of(op->getUsers(), isBehind))
      op->moveAfter(made);
    op = before;
  }
  llvm::SmallSetVector<Operation *, 16> ops;
  for (Operation *op = made->getNextNode(); op; op = op->getNextNode())
    if (isNumber(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
          Operation *source = operand.getDefiningOp();
          return !source || source->getBlock() != made->getBlock() ||
                 source->isBeforeInBlock(made) || ops.contains(source);
        }))
      ops.insert(op);
  SmallVector<Value> numbers, none;
  for (Operation *op : ops)
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !ops.contains(user); }))
      numbers.push_back(op->getResult(0));
  if (numbers.empty())
    return;
  b.setInsertionPoint(made);
  for (Value number : numbers)
    none.push_back(
        b.create<arith::ConstantOp>(made.getLoc(), b.getIntegerAttr(number.getType(), 0)));
  IRRewriter rewriter(b);
  auto compute = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> known) {
    auto steps = cast<scf::ForOp>(b.getInsertionBlock()->getParentOp());
    auto branch = b.create<scf::IfOp>(loc, TypeRange(numbers), isFirstStep(b, steps), true);
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    for (Operation *op : ops)
      b.clone(*op, mapping);
    SmallVector<Value> computed;
    for (Value number : numbers)
      computed.push_back(mapping.lookup(number));
    b.create<scf::YieldOp>(loc, computed);
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(loc, SmallVector<Value>(known.begin(), known.end()));
    return SmallVector<Value>(branch.getResults());
  };
  auto with = made.replaceWithAdditionalYields(rewriter, none, false, compute);
  auto steps = cast<scf::ForOp>(with->getOperation());
  for (auto [number, result] : llvm::zip(numbers, steps.getResults().take_back(numbers.size())))
    number.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

void storeBesideProducts(OpBuilder &b, scf::ForOp tiles, unsigned warps) {
  auto stores = lastStores(tiles);
  auto steps = *tiles.getBody()->getOps<scf::ForOp>().begin();
  if (stores.empty() || !fitRegisters(steps, stores, warps))
    return;
  llvm::SetVector<Value> waiting; // blocks, and where they go
  for (tile::DescStoreOp store : stores)
    for (Value operand : store->getOperands())
      if (!tiles.isDefinedOutsideOfLoop(operand))
        waiting.insert(operand);
  auto storeAll = [&](ValueRange values) {
    IRMapping mapping;
    mapping.map(waiting.getArrayRef(), values.take_back(waiting.size()));
    for (tile::DescStoreOp store : stores)
      b.clone(*store, mapping);
  };
  b.setInsertionPoint(tiles);
  SmallVector<Value> none;
  for (Value value : waiting)
    none.push_back(b.create<arith::ConstantOp>(tiles.getLoc(),
                                               cast<TypedAttr>(b.getZeroAttr(value.getType()))));
  Location loc = tiles.getLoc();
  DictionaryAttr attributes = tiles->getDiscardableAttrDictionary();
  IRRewriter rewriter(b);
  tiles = cast<scf::ForOp>(
      tiles
          .replaceWithAdditionalYields(rewriter, none, false,
                                       [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
                                         return SmallVector<Value>(waiting.begin(), waiting.end());
                                       })
          ->getOperation());
  tiles->setDiscardableAttrs(attributes);
  tiles->setAttr(storesBesideAttr, b.getUnitAttr());

  steps = *tiles.getBody()->getOps<scf::ForOp>().begin();
  b.setInsertionPoint(steps);
  Value isLater = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, tiles.getInductionVar(),
                                          tiles.getLowerBound());
  b.setInsertionPoint(steps.getBody()->getTerminator());
  auto before = b.create<scf::IfOp>(
      loc, b.create<arith::AndIOp>(loc, isLater, isFirstStep(b, steps)).getResult());
  b.setInsertionPointToStart(before.thenBlock());
  storeAll(tiles.getRegionIterArgs());

  b.setInsertionPointAfter(tiles);
  auto last =
      b.create<scf::IfOp>(loc, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                                       tiles.getLowerBound(), tiles.getUpperBound())
                                   .getResult());
  b.setInsertionPointToStart(last.thenBlock());
  storeAll(tiles.getResults());
  for (tile::DescStoreOp store : stores)
    store.erase();
}

} // namespace nereid::gpu
