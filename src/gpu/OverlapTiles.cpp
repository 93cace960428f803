#include "gpu/OverlapTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

class Overlap {
public:
  explicit Overlap(scf::ForOp tiles) : tiles(tiles), body(tiles.getBody()), b(tiles) {}

  void run() {
    if (match())
      rewrite();
  }

private:
  using OpSet = llvm::SmallPtrSet<Operation *, 16>;

  // One loop that copies feed, by rings that nobody else writes.
  bool match() {
    for (Operation &op : *body) {
      if (auto end = dyn_cast<DrainOp>(op)) {
        if (drain)
          return false;
        drain = end;
      }
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (steps)
          return false;
        steps = loop;
      }
    }
    if (!drain || !steps)
      return false;
    Value slot, phase;
    for (Value ring : drain.getRings()) {
      Operation *made = ring.getDefiningOp();
      if (!made || made->getBlock() != body)
        return false;
      if (auto type = dyn_cast<RingType>(ring.getType())) {
        if (slots && slots != type.getSlots())
          return false; // a tile that stays is of one program tile
        slots = type.getSlots();
      }
      for (Operation *user : ring.getUsers()) {
        if (user == drain)
          continue;
        if (auto read = dyn_cast<ReadSlotOp>(user))
          slot = read.getSlot();
        else if (auto wait = dyn_cast<WaitBulkOp>(user))
          phase = wait.getPhase();
        else if (!isStart(user) && !isa<FreeSlotOp, AcquireSlotOp>(user))
          return false;
      }
    }
    for (Operation &op : *body)
      if (isStart(&op) && (!op.isBeforeInBlock(steps) || !collectStart(&op)))
        return false;
    if (starts.empty() || !slot)
      return false;
    slotNumber = numberOf(slot);
    phaseNumber = phase ? numberOf(phase) : std::nullopt;
    return slotNumber && bool(phase) == bool(phaseNumber);
  }
  static bool isStart(Operation *op) {
    return isa<ExpectBulkOp, CopyBulkOp, CopyAsyncOp, CopyDescOp, CommitCopiesOp>(op);
  }
  // Which carried value of the inner loop a value is, if it starts with zero.
  std::optional<unsigned> numberOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != steps.getBody() || !argument.getArgNumber() ||
        !matchPattern(steps.getInitArgs()[argument.getArgNumber() - 1], m_Zero()))
      return std::nullopt;
    return argument.getArgNumber() - 1;
  }

  // A copy before the loop of steps; what it needs can be computed for another tile.
  bool collectStart(Operation *start) {
    starts.insert(start);
    for (Value operand : start->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (source && isa<RingOp, ArrivalsOp>(source))
        continue;
      if (isa<tile::DescType>(operand.getType()) ? !tiles.isDefinedOutsideOfLoop(operand)
                                                 : !collect(operand, slice, &arguments))
        return false;
    }
    APInt number;
    OpOperand *slot = slotAndActive(start).first;
    return !slot || matchPattern(slot->get(), m_ConstantInt(&number));
  }
  // The slot and the condition of a copy; null of what ends a group of them.
  static std::pair<OpOperand *, OpOperand *> slotAndActive(Operation *start) {
    using Operands = std::pair<OpOperand *, OpOperand *>;
    return TypeSwitch<Operation *, Operands>(start)
        .Case<ExpectBulkOp, CopyBulkOp, CopyAsyncOp, CopyDescOp>(
            [](auto copy) { return Operands(&copy.getSlotMutable(), &copy.getActiveMutable()); })
        .Default([](Operation *) { return Operands(); });
  }
  // Adds the ops of the body that give `value`. Carried values go to `carried`, with the ops that
  // give their next ones; without that they are taken as they are.
  bool collect(Value value, OpSet &ops, llvm::SetVector<unsigned> *carried) {
    if (tiles.isDefinedOutsideOfLoop(value) || value == tiles.getInductionVar())
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned i = argument.getArgNumber() - 1;
      return !carried || !carried->insert(i) ||
             collect(body->getTerminator()->getOperand(i), argumentSlice, nullptr);
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != body || op->getNumRegions() || !isMemoryEffectFree(op) ||
        !isSpeculatable(op))
      return false;
    return !ops.insert(op).second ||
           llvm::all_of(op->getOperands(), [&](Value v) { return collect(v, ops, carried); });
  }

  Value number(int64_t value) {
    return b.create<arith::ConstantOp>(tiles.getLoc(), b.getI32IntegerAttr(int32_t(value)));
  }
  // (slot + by) mod slots
  Value wrapped(Value slot, Value by) {
    Location loc = tiles.getLoc();
    Value sum = b.create<arith::AddIOp>(loc, slot, by);
    Value back = b.create<arith::SubIOp>(loc, sum, number(slots));
    Value over = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, sum, number(slots));
    return b.create<arith::SelectOp>(loc, over, back, sum);
  }

  void clone(const OpSet &ops, IRMapping &mapping) {
    for (Operation &op : *body)
      if (ops.contains(&op))
        b.clone(op, mapping);
  }
  // Starts the first copies of the tile that `mapping` says, from `slot` on (null: the first), if
  // the tile exists.
  void start(IRMapping &mapping, Value slot, Value exists) {
    clone(slice, mapping);
    for (Operation &op : *body) {
      if (!starts.contains(&op))
        continue;
      Operation *copy = b.cloneWithoutRegions(op, mapping);
      auto [place, active] = slotAndActive(copy);
      if (!place)
        continue;
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(copy);
      APInt behind;
      matchPattern(place->get(), m_ConstantInt(&behind));
      Value by = number(behind.getSExtValue());
      place->set(slot ? wrapped(slot, by) : by);
      active->set(b.create<arith::AndIOp>(copy->getLoc(), active->get(), exists));
    }
  }

  void rewrite() {
    Location loc = tiles.getLoc();
    for (Value ring : drain.getRings())
      ring.getDefiningOp()->moveBefore(tiles);
    drain->moveAfter(tiles);

    b.setInsertionPoint(tiles);
    IRMapping first;
    first.map(tiles.getInductionVar(), tiles.getLowerBound());
    for (unsigned i : arguments)
      first.map(tiles.getRegionIterArg(i), tiles.getInitArgs()[i]);
    start(first, {},
          b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, tiles.getLowerBound(),
                                  tiles.getUpperBound()));

    // Slot and phase go on from tile to tile. The ops of the body stay what they are.
    DictionaryAttr attributes = tiles->getDiscardableAttrDictionary();
    Value zero = number(0);
    SmallVector<unsigned> numbers = {*slotNumber};
    if (phaseNumber)
      numbers.push_back(*phaseNumber);
    auto yield = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
      return SmallVector<Value>(
          llvm::map_range(numbers, [&](unsigned i) { return steps.getResult(i); }));
    };
    IRRewriter rewriter(b);
    auto made =
        tiles.replaceWithAdditionalYields(rewriter, SmallVector<Value>(numbers.size(), zero),
                                          /*replaceInitOperandUsesInLoop=*/false, yield);
    tiles = cast<scf::ForOp>(made->getOperation());
    tiles->setDiscardableAttrs(attributes);
    body = tiles.getBody();
    auto carried = body->getArguments().take_back(numbers.size());
    for (auto [i, value] : llvm::zip(numbers, carried))
      steps.getInitArgsMutable()[i].set(value);

    // The next tile, once all products of this one are done.
    Operation *behind = steps->getNextNode();
    while (isa<WaitProductsOp>(behind))
      behind = behind->getNextNode();
    b.setInsertionPoint(behind);
    b.create<tile::BarrierOp>(loc);
    IRMapping current, next;
    clone(argumentSlice, current);
    next.map(tiles.getInductionVar(),
             b.create<arith::AddIOp>(loc, tiles.getInductionVar(), tiles.getStep()).getResult());
    for (unsigned i : arguments)
      next.map(tiles.getRegionIterArg(i),
               current.lookupOrDefault(body->getTerminator()->getOperand(i)));
    Value left = b.create<arith::SubIOp>(loc, tiles.getUpperBound(), tiles.getInductionVar());
    start(next, steps.getResult(*slotNumber),
          b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, left, tiles.getStep()));
    for (Operation *op : starts)
      op->erase();
  }

  scf::ForOp tiles, steps;
  Block *body;
  OpBuilder b;
  DrainOp drain;
  unsigned slots = 0;
  llvm::SmallPtrSet<Operation *, 8> starts;
  OpSet slice, argumentSlice; // what the copies need; what gives the next carried values
  llvm::SetVector<unsigned> arguments;
  std::optional<unsigned> slotNumber, phaseNumber;
};

} // namespace

void overlapTiles(FunctionOpInterface kernel) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) {
    if (loop->hasAttr(flattenAttr))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops)
    Overlap(loop).run();
}

} // namespace nereid::gpu
