#include "gpu/PipelineLoads.h"

#include "analysis/AxisAnalysis.h"
#include "analysis/KernelFacts.h"
#include "gpu/AssignLayouts.h"
#include "gpu/BulkCopies.h"
#include "gpu/RegisterModels.h"
#include "gpu/Rings.h"
#include "gpu/StepsAhead.h"
#include "gpu/TilesAhead.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

using OpSet = llvm::SmallPtrSet<Operation *, 16>;

uint64_t transferredBytes(Type type) {
  auto tile = cast<RankedTensorType>(type);
  return uint64_t(tile.getNumElements()) * tile::bytesInMemory(tile.getElementType());
}
uint64_t bytesOf(Type tile) { return SharedOperand(cast<RankedTensorType>(tile)).bytes(); }

// An operand that `loop` does not change, and that its product reads from shared memory.
bool mayReside(tile::DotOp dot, unsigned operand, scf::ForOp loop, unsigned warps) {
  Value tile = dot->getOperand(operand);
  if (!readsSlots(dot) || !loop.isDefinedOutsideOfLoop(tile) || slotOperand(tile))
    return false;
  auto wanted = fragmentsOf(dot, operand == 0, warps);
  auto type = cast<RankedTensorType>(tile.getType());
  return (!wanted || layoutOf(type) != *wanted) && readsInPlace(dot, operand, SharedOperand(type));
}

// A slot for a tile that does not change, which products read through one loop or several.
struct Resident {
  Value tile;
  unsigned reads = 0;  // by products
  bool isBulk = false; // the copy engine brings it
  Value ring, arrivals;

  explicit Resident(Value tile) : tile(tile) {}
  // It brings a block of a descriptor that nobody else wants in registers.
  bool canBeBulk(Operation *before, const target::GpuChip &chip) const {
    auto load = tile.getDefiningOp<tile::DescLoadOp>();
    if (!load || load->getBlock() != before->getBlock() ||
        size_t(std::distance(tile.use_begin(), tile.use_end())) != reads ||
        !canCopyInBulk(load.getDesc(), cast<RankedTensorType>(tile.getType()), chip))
      return false;
    for (Operation *op = load->getNextNode(); op != before; op = op->getNextNode())
      if (op->walk([](Operation *inner) {
              return writesMemory(inner) ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted())
        return false;
    return true;
  }
  uint64_t bytes() const {
    return bytesOf(tile.getType()) + (isBulk ? SharedOperand::alignment : 0);
  }
  void reserve(OpBuilder &b, Location loc) {
    ring = b.create<RingOp>(
        loc, RingType::get(b.getContext(), 1, cast<RankedTensorType>(tile.getType())));
    if (isBulk)
      arrivals = b.create<ArrivalsOp>(loc, ArrivalsType::get(b.getContext(), 1));
  }
  void start(OpBuilder &b, Location loc, Value zero) {
    if (!arrivals)
      return;
    auto load = tile.getDefiningOp<tile::DescLoadOp>();
    Value always = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
    b.create<ExpectBulkOp>(loc, arrivals, zero, uint32_t(transferredBytes(tile.getType())), always);
    b.create<CopyBulkOp>(loc, ring, zero, load.getDesc(), load.getOffsets(), arrivals, always);
  }
  void finish(OpBuilder &b, Location loc, Value zero) {
    if (arrivals)
      b.create<WaitBulkOp>(loc, arrivals, zero, zero);
    else
      b.create<WriteSlotOp>(loc, ring, zero, tile);
  }
  void addRings(SmallVectorImpl<Value> &rings) const {
    rings.push_back(ring);
    if (arrivals)
      rings.push_back(arrivals);
  }
};

// Operands that several loops read, one behind the other, lie in shared memory through all of them.
// Gives the bytes that they take.
uint64_t shareResidents(ArrayRef<scf::ForOp> loops, const target::GpuChip &chip, unsigned warps,
                        uint64_t limit, bool mayBulk) {
  struct Uses {
    SmallVector<OpOperand *> operands;
    llvm::SetVector<Operation *> loops;
    bool isBulk = false;
  };
  llvm::MapVector<Value, Uses> tiles;
  for (scf::ForOp loop : loops)
    for (auto dot : loop.getBody()->getOps<tile::DotOp>())
      for (unsigned i : {0u, 1u})
        if (mayReside(dot, i, loop, warps)) {
          Uses &uses = tiles[dot->getOperand(i)];
          uses.operands.push_back(&dot->getOpOperand(i));
          uses.loops.insert(loop);
        }
  for (auto &[tile, uses] : tiles) {
    Resident resident(tile);
    resident.reads = unsigned(uses.operands.size());
    uses.isBulk = mayBulk && resident.canBeBulk(uses.loops.front(), chip);
  }
  uint64_t total = 0;
  for (auto &[tile, uses] : tiles) {
    Operation *first = uses.loops.front(), *last = uses.loops.back();
    Resident resident(tile);
    resident.isBulk = uses.isBulk;
    uint64_t bytes = resident.bytes();
    bool isChain = uses.loops.size() > 1 && llvm::all_of(uses.loops, [&](Operation *loop) {
                     return loop->getBlock() == first->getBlock();
                   });
    if (!isChain || total + bytes > limit)
      continue;
    total += bytes;
    OpBuilder b(first);
    Location loc = first->getLoc();
    Value zero = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(0));
    resident.reserve(b, loc);
    resident.start(b, loc, zero);
    resident.finish(b, loc, zero);
    Value slot = b.create<ReadSlotOp>(loc, tile.getType(), resident.ring, zero);
    for (OpOperand *operand : uses.operands)
      operand->set(slot);
    b.setInsertionPointAfter(last);
    SmallVector<Value> rings;
    resident.addRings(rings);
    b.create<DrainOp>(loc, rings);
    if (resident.isBulk)
      tile.getDefiningOp()->erase();
  }
  return total;
}

class Pipeliner {
public:
  Pipeliner(scf::ForOp loop, const target::GpuChip &chip, unsigned warps, uint64_t limit, bool bulk)
      : loop(loop), body(*loop.getBody()), chip(chip), warps(warps), limit(limit), mayBulk(bulk),
        b(loop.getContext()) {}

  uint64_t run(const analysis::AxisAnalysis &axes) {
    for (Operation &op : body)
      if (auto dot = dyn_cast<tile::DotOp>(op))
        dots.push_back(dot);
    if (dots.empty())
      return 0;
    findResidents();
    bool writes = loop.walk([&](Operation *op) {
                        if (BlockArgument sum = summedInto(op))
                          summed.insert(sum);
                        else if (writesMemory(op))
                          return WalkResult::interrupt();
                        return WalkResult::advance();
                      })
                      .wasInterrupted();
    if (!writes && chip.can(target::AsyncCopy))
      findCopies(axes);
    chooseDepth();
    if (copies.empty() && residents.empty())
      return 0;
    rewrite();
    return residentBytes + slots * slotBytes;
  }

private:
  // A load (or the load of a descriptor's block) that becomes a copy.
  struct Copy {
    Operation *load;
    unsigned vector;
    bool isBulk;
    Value ring;
    bool isLater = false; ///< waited for by itself, in front of the second product
  };

  // --- what moves ---

  // The argument of the kernel into whose memory an op adds (or the like) without asking what was
  // there. Reads of other arguments go ahead of it: a program that reads a tensor which it sums
  // into under another name sees now this, now that, since other programs do so too.
  static BlockArgument summedInto(Operation *op) {
    auto atomic = dyn_cast<tile::AtomicRMWOp>(op);
    if (isa<tile::DescReduceOp>(op) || (atomic && atomic->use_empty()))
      return analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(op));
    return {};
  }
  bool isApartFromSums(Operation *load) {
    if (summed.empty())
      return true;
    BlockArgument argument = analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(load));
    return argument && !summed.contains(argument);
  }

  void findResidents() {
    for (tile::DotOp dot : dots)
      for (unsigned i : {0u, 1u}) {
        Value operand = dot->getOperand(i);
        if (!mayReside(dot, i, loop, warps))
          continue;
        auto *known = llvm::find_if(residents, [&](Resident &r) { return r.tile == operand; });
        if (known == residents.end())
          known = &residents.emplace_back(operand);
        ++known->reads;
      }
    llvm::erase_if(residents, [&](Resident &resident) {
      resident.isBulk = mayBulk && resident.canBeBulk(loop, chip);
      uint64_t bytes = resident.bytes();
      bool isTooMuch = residentBytes + bytes > limit;
      residentBytes += isTooMuch ? 0 : bytes;
      return isTooMuch;
    });
  }
  void findCopies(const analysis::AxisAnalysis &axes) {
    for (Operation &op : body) {
      unsigned vector = 0;
      bool isBulk = false;
      if (auto load = dyn_cast<tile::LoadOp>(op); load && isCopy(load))
        vector = accessVector(axes, load.getPointer(), load.getMask(), load.getAccessElementType());
      else if (auto block = dyn_cast<tile::DescLoadOp>(op); block && isCopy(block)) {
        vector = descVector(axes, block, layoutOf(block.getType()));
        // A map that is written again in each step may still be in use.
        isBulk = mayBulk && loop.isDefinedOutsideOfLoop(block.getDesc()) &&
                 canCopyInBulk(block.getDesc(), cast<RankedTensorType>(block.getType()), chip);
      }
      if (!vector ||
          (!isBulk &&
           vector * tile::bytesInMemory(tile::elementType(op.getResult(0).getType())) < 4) ||
          !isApartFromSums(&op) || !feedsProduct(&op) || !addToSlice(&op))
        continue;
      copies.push_back({&op, vector, isBulk, {}});
    }
    // What others' addresses come from is loaded to registers anyhow.
    llvm::erase_if(copies, [&](Copy &copy) { return slice.contains(copy.load); });
  }

  static bool canWaitInRing(Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && tile.getRank() <= 2 && tile.getElementType().isIntOrFloat() &&
           tile.getElementTypeBitWidth() >= 8;
  }
  static bool isCopy(tile::LoadOp load) {
    Value other = load.getOther();
    return canWaitInRing(load.getType()) && !load.getIsVolatile() &&
           (!load.getMask() || isa<RankedTensorType>(load.getMask().getType())) &&
           (!other || isZero(other));
  }
  // `other=0.0` is converted to the type of what is loaded.
  static bool isZero(Value value) {
    if (auto convert = value.getDefiningOp<tile::FPToIntOp>())
      return isZero(convert.getSource());
    return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
  }
  static bool isCopy(tile::DescLoadOp block) {
    auto desc = cast<tile::DescType>(block.getDesc().getType());
    return canWaitInRing(block.getType()) && desc.getBlockShape().size() >= 2 &&
           !desc.getPaddingIsNan();
  }

  bool feedsProduct(Operation *load) {
    SmallVector<Operation *> work = {load};
    OpSet seen;
    while (!work.empty())
      for (Operation *user : work.pop_back_val()->getUsers()) {
        Operation *here = body.findAncestorOpInBlock(*user);
        if (!here || !seen.insert(here).second)
          continue;
        if (isa<tile::DotOp>(here))
          return true;
        work.push_back(here);
      }
    return false;
  }

  // Adds the ops that give a load's addresses and mask; they are computed ahead too.
  bool addToSlice(Operation *load) {
    OpSet ops = slice;
    llvm::SmallDenseSet<unsigned> args = aheadArgs;
    if (!llvm::all_of(load->getOperands(), [&](Value v) { return collect(v, ops, args); }))
      return false;
    slice = std::move(ops);
    aheadArgs = std::move(args);
    return true;
  }
  bool collect(Value value, OpSet &ops, llvm::SmallDenseSet<unsigned> &args) {
    if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar())
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned i = argument.getArgNumber() - 1;
      return !args.insert(i).second || collect(body.getTerminator()->getOperand(i), ops, args);
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != &body || op->getNumRegions() || isa<tile::DotOp>(op))
      return false;
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load ? load.getIsVolatile() || !isApartFromSums(load)
             : !isMemoryEffectFree(op) || !isSpeculatable(op))
      return false;
    if (!ops.insert(op).second)
      return true;
    return llvm::all_of(op->getOperands(), [&](Value v) { return collect(v, ops, args); });
  }

  // --- how far ahead ---

  bool isSlot(tile::DotOp dot, unsigned number) {
    auto source = untransposed(dot->getOperand(number));
    if (!source)
      return false;
    auto [operand, isTransposed] = *source;
    SharedOperand shared(cast<RankedTensorType>(operand.getType()));
    if (!readsInPlace(dot, number, isTransposed ? shared.transposed() : shared))
      return false;
    return slotOperand(operand) ||
           llvm::any_of(copies,
                        [&, tile = operand](Copy &c) { return c.load->getResult(0) == tile; }) ||
           llvm::any_of(residents, [&, tile = operand](Resident &r) { return r.tile == tile; });
  }

  // Products of which only the next step wants the sum stay in flight: nobody touches the sum's
  // registers before, and the operands lie in slots or in registers.
  void findFlying() {
    for (tile::DotOp dot : dots)
      if (isCarriedSum(dot))
        flying.insert(dot);
  }
  bool isCarriedSum(tile::DotOp dot) {
    if (!isWgmma(dot) || !dot->hasOneUse() || *dot->user_begin() != body.getTerminator() ||
        !isSlot(dot, 1))
      return false;
    auto fragments = fragmentsOf(dot, true, warps);
    return isSlot(dot, 0) || (fragments && layoutOf(dot.getLhs().getType()) == *fragments);
  }

  // In steps that add to memory, products whose operands lie in slots begin right behind the first
  // one, and products run on while others are begun, up to where their sums are wanted. In other
  // steps sums stay in flight into the next one.
  void findDelayed() {
    if (turn || summed.empty())
      return;
    auto isReady = [&](tile::DotOp dot) {
      return isWgmma(dot) && isSlot(dot, 0) && isSlot(dot, 1) &&
             loop.isDefinedOutsideOfLoop(dot.getAcc()) && !flying.contains(dot);
    };
    // Of a tile that is no copy yet: it comes from outside, or is the transposed slot.
    auto hoist = [&](tile::DotOp dot, Operation *after) {
      SmallVector<Operation *> chain = {dot};
      for (size_t i = 0; i < chain.size(); ++i)
        for (Value operand : chain[i]->getOperands())
          if (Operation *op = operand.getDefiningOp(); op && op->getBlock() == &body &&
                                                       after->isBeforeInBlock(op) &&
                                                       !llvm::is_contained(chain, op)) {
            if (!isMemoryEffectFree(op) && !isa<tile::LoadOp, tile::DescLoadOp>(op))
              return;
            chain.push_back(op);
          }
      llvm::sort(chain, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      for (Operation *op : chain) {
        op->moveAfter(after);
        after = op;
      }
    };
    if (isReady(dots[0]))
      for (tile::DotOp dot : ArrayRef(dots).drop_front())
        if (isReady(dot)) {
          hoist(dot, dots[0]);
          break;
        }
    llvm::sort(dots, [](tile::DotOp a, tile::DotOp b) { return a->isBeforeInBlock(b); });
    // The last product that is waited for at once ends all before it.
    Operation *last = nullptr;
    for (tile::DotOp dot : dots)
      if (isWgmma(dot) && !flying.contains(dot))
        last = dot;
    for (auto [i, dot] : llvm::enumerate(ArrayRef(dots).drop_back())) {
      Operation *user = firstUser(dot);
      if (!user || !dots[i + 1]->isBeforeInBlock(user) || !isWgmma(dots[i + 1]))
        continue;
      if (user == body.getTerminator() ? dot != last && isCarriedSum(dot) : isReady(dot))
        delayed.insert(dot);
    }
  }
  Operation *firstUser(Operation *op) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (Operation *here = body.findAncestorOpInBlock(*user);
          here && (!first || here->isBeforeInBlock(first)))
        first = here;
    return first;
  }
  static int64_t multiplyAdds(tile::DotOp dot) {
    return cast<RankedTensorType>(dot.getType()).getNumElements() *
           tile::shapeOf(dot.getLhs().getType()).back();
  }

  // Two long products in a step, and exponentials (or the like) between them: warp groups compute
  // those in turns, each while the products of another one run.
  void findTurns() {
    constexpr int64_t fewest = 1 << 22; // multiply-adds of both
    // Assembly of the program may use barriers of the same numbers.
    if (warps != 8 || !isAllBulk || dots.size() != 2 || !flying.contains(dots[1]) ||
        multiplyAdds(dots[0]) + multiplyAdds(dots[1]) < fewest ||
        analysis::hasInlineAssembly(loop->getParentOfType<FunctionOpInterface>()))
      return;
    auto shape = tile::shapeOf(dots[0].getType());
    for (Operation *op = dots[0]->getNextNode(); op != dots[1] && !turn; op = op->getNextNode())
      if (isa<math::MathDialect>(op->getDialect()))
        if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
            type && type.getShape() == ArrayRef(shape))
          turn = op;
  }
  // A carried sum of which the product is still in flight when a step begins.
  bool isFlying(BlockArgument sum) {
    auto dot =
        body.getTerminator()->getOperand(sum.getArgNumber() - 1).getDefiningOp<tile::DotOp>();
    return dot && flying.contains(dot);
  }

  // What only the second of two long products reads is waited for there: the first one does not
  // wait for it where steps begin.
  void findLater() {
    if (!turn || copies.size() != 2)
      return;
    auto reads = [](tile::DotOp dot, Copy &copy) {
      return llvm::any_of(dot->getOperands().take_front(2), [&](Value operand) {
        auto source = untransposed(operand);
        return source && source->first == copy.load->getResult(0);
      });
    };
    Copy &first = copies[0], &second = copies[1];
    second.isLater = reads(dots[0], first) && !reads(dots[0], second) && reads(dots[1], second);
  }

  // True if the tensor cores are busy for so long in a step, and with nothing else between, that a
  // second barrier costs less than copies that start later.
  bool isLongSum() {
    constexpr int64_t fewest = 256 * 2048; // cycles, and multiply-adds in one
    int64_t work = 0;
    for (tile::DotOp dot : dots) {
      auto sum = dyn_cast<BlockArgument>(dot.getAcc());
      if (!flying.contains(dot) || !sum || !sum.hasOneUse())
        return false;
      work += multiplyAdds(dot);
    }
    return work >= fewest;
  }

  // Step i starts the copies of step i + distance. In the slot of step i - 1: when step i begins,
  // behind the barrier of its wait, or where products of step i - 1 are in flight then, when they
  // are done in all threads: at the end of step i, behind one barrier with the wait for the next
  // step's copies, or behind one of its own.
  void chooseDepth() {
    int64_t stages = 3;
    auto module = loop->getParentOfType<ModuleOp>();
    for (Operation *op : {module.getOperation(), loop.getOperation()})
      if (auto attr = op->getAttrOfType<IntegerAttr>(tile::numStagesAttr))
        stages = attr.getInt();
    for (Copy &copy : copies)
      slotBytes += bytesOf(copy.load->getResult(0).getType());
    hasBulk = llvm::any_of(copies, [](Copy &copy) { return copy.isBulk; });
    isAllBulk = hasBulk && llvm::all_of(copies, [](Copy &copy) { return copy.isBulk; });
    uint64_t arrivalBytes = hasBulk ? SharedOperand::alignment : 0;
    residentBytes += arrivalBytes;
    for (; stages >= 2 && !copies.empty(); --stages)
      if (residentBytes + uint64_t(stages) * slotBytes <= limit) {
        slots = unsigned(stages);
        distance = slots - 1;
        if (distance > 1)
          findFlying();
        findTurns();
        findDelayed();
        findLater();
        waitsAtEnd = !flying.empty() && !isAllBulk && !isLongSum();
        return;
      }
    residentBytes -= arrivalBytes;
    hasBulk = isAllBulk = false;
    copies.clear();
    slice.clear();
    aheadArgs.clear();
    slotBytes = 0;
  }

  // --- the loop again ---

  // The addresses of a step's copies; loads among them touch nothing if the step is not run.
  void cloneSlice(IRMapping &mapping, Value active) {
    for (Operation &op : body) {
      if (!slice.contains(&op) || mapping.contains(op.getResult(0)))
        continue;
      Operation *copy = b.clone(op, mapping);
      if (auto load = dyn_cast<tile::LoadOp>(copy))
        later.addMask(load, active);
    }
  }
  void startCopies(IRMapping &mapping, Value slot, Value active) {
    cloneSlice(mapping, active);
    startTransfers(mapping, slot, active);
  }
  // Copies of whole blocks by a warp alone: the others pass them by. With `phase` they wait until
  // the slot is free.
  void startTransfersByOneWarp(IRMapping &mapping, Value slot, Value phase, Value active) {
    Location loc = loop.getLoc();
    cloneSlice(mapping, active);
    Value mine = b.create<arith::AndIOp>(loc, active,
                                         b.create<IsCopyingWarpOp>(loc, b.getI1Type()).getResult());
    auto branch = b.create<scf::IfOp>(loc, mine);
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(branch.thenBlock());
    // The slot of the step before: freed as often as this step's slot was filled before.
    if (phase)
      b.create<AcquireSlotOp>(loc, arrivals, slot, phase);
    startTransfers(mapping, slot, later.number(b.getI1Type(), 1));
  }
  void startTransfers(IRMapping &mapping, Value slot, Value active) {
    for (bool isLater : {false, true}) {
      uint64_t bytes = 0;
      for (Copy &copy : copies)
        if (copy.isBulk && copy.isLater == isLater)
          bytes += transferredBytes(copy.load->getResult(0).getType());
      if (bytes)
        b.create<ExpectBulkOp>(loop.getLoc(), isLater ? laterArrivals : arrivals, slot,
                               uint32_t(bytes), active);
    }
    for (Copy &copy : copies) {
      auto ahead = [&](Value value) { return value ? mapping.lookupOrDefault(value) : value; };
      if (auto load = dyn_cast<tile::LoadOp>(copy.load)) {
        b.create<CopyAsyncOp>(load.getLoc(), copy.ring, slot, ahead(load.getPointer()),
                              ahead(load.getMask()), active, copy.vector);
        continue;
      }
      auto block = cast<tile::DescLoadOp>(copy.load);
      SmallVector<Value> offsets(llvm::map_range(block.getOffsets(), ahead));
      if (copy.isBulk)
        b.create<CopyBulkOp>(block.getLoc(), copy.ring, slot, block.getDesc(), offsets,
                             copy.isLater ? laterArrivals : arrivals, active);
      else
        b.create<CopyDescOp>(block.getLoc(), copy.ring, slot, ahead(block.getDesc()), offsets,
                             active, copy.vector);
    }
    if (!isAllBulk)
      b.create<CommitCopiesOp>(loop.getLoc());
  }

  // Loads that addresses come from, whose own addresses need the variable alone: they start one
  // step before the copies that wait for them.
  void findEarlyLoads() {
    for (Operation &op : body) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if (!load || !slice.contains(load))
        continue;
      OpSet ops;
      llvm::SmallDenseSet<unsigned> args;
      bool known =
          llvm::all_of(load->getOperands(), [&](Value v) { return collect(v, ops, args); });
      bool isPlain = llvm::none_of(ops, [](Operation *op) { return isa<tile::LoadOp>(op); });
      if (known && isPlain && args.empty()) {
        early.push_back(load);
        ops.insert(load);
        earlySlice.insert(ops.begin(), ops.end());
      }
    }
  }
  SmallVector<Value> startEarly(Value variable, Value active) {
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

  // Lets copies run on into the next tile, where they may.
  void findTiles() {
    if (copies.empty() || !residents.empty() || turn ||
        llvm::any_of(slice, [](Operation *op) { return isa<tile::LoadOp>(op); }))
      return;
    SmallVector<Operation *> ops(slice.begin(), slice.end());
    for (Copy &copy : copies)
      ops.push_back(copy.load);
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    SmallVector<unsigned> numbers(aheadArgs.begin(), aheadArgs.end());
    llvm::sort(numbers);
    tiles.emplace(loop, b);
    if (!tiles->follow(ops, numbers))
      tiles.reset();
  }

  // Where products are in flight behind the loop, tiles without a step are a loop of their own:
  // nothing else may write the sums (see `rewrite`). Leaves `b` before the loop of the others.
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
    tiles->setLoop(outer);
    return outer.getRegionIterArgs().take_back(values.size());
  }

  // Starts the copies at `at` to a slot, and gives where the next ones stand. With `phase` they
  // wait until the slot is free.
  SmallVector<Value> startNext(ValueRange at, Value slot, Value phase) {
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
  // The first copies of all tiles.
  SmallVector<Value> startFirst() {
    Location loc = loop.getLoc();
    Type i32 = b.getI32Type();
    auto steps = b.create<scf::ForOp>(loc, later.number(i32, 0), later.number(i32, distance),
                                      later.number(i32, 1), tiles->first());
    OpBuilder::InsertionGuard inside(b);
    b.setInsertionPointToStart(steps.getBody());
    b.create<scf::YieldOp>(loc, startNext(steps.getRegionIterArgs(), steps.getInductionVar(), {}));
    return SmallVector<Value>(steps.getResults());
  }

  void rewrite() {
    Location loc = loop.getLoc();
    Type i32 = b.getI32Type();
    findTiles();
    if (tiles) {
      b.setInsertionPoint(tiles->loop());
      if (!flying.empty())
        splitEmptyTiles();
    } else {
      // The first copies don't wait for a tile that other loops read too.
      Operation *at = loop;
      while (isa_and_present<ReadSlotOp, WaitBulkOp, WriteSlotOp>(at->getPrevNode()))
        at = at->getPrevNode();
      b.setInsertionPoint(at);
    }
    Value zero = later.number(i32, 0);
    SmallVector<Value> rings;
    for (Resident &resident : residents) {
      resident.reserve(b, loc);
      resident.addRings(rings);
    }
    for (Copy &copy : copies)
      rings.push_back(copy.ring = ringOf(copy.load->getResult(0).getType(), slots));
    if (hasBulk)
      for (Value *made : {&arrivals, &laterArrivals})
        if (made == &arrivals || llvm::any_of(copies, [](Copy &copy) { return copy.isLater; }))
          rings.push_back(*made =
                              b.create<ArrivalsOp>(loc, ArrivalsType::get(b.getContext(), slots)));

    // The first copies.
    for (Resident &resident : residents)
      resident.start(b, loc, zero);
    SmallVector<Value> ahead(loop.getInitArgs());
    Value lower = loop.getLowerBound(), any;
    auto runsFromStart = [&](unsigned step) -> Value {
      return b.create<arith::AndIOp>(loc, any, later.runs(lower, step));
    };
    SmallVector<Value> earlyValues;
    if (tiles) {
      ahead = startFirst();
    } else if (!copies.empty()) {
      findEarlyLoads();
      any = hasSteps();
      for (unsigned step = 0; step < distance; ++step) {
        IRMapping mapping;
        mapping.map(loop.getInductionVar(), later.variableAt(lower, step));
        for (unsigned i : aheadArgs)
          mapping.map(body.getArgument(i + 1), ahead[i]);
        Value slot = later.number(i32, step), active = runsFromStart(step);
        if (isAllBulk)
          startTransfersByOneWarp(mapping, slot, {}, active);
        else
          startCopies(mapping, slot, active);
        for (unsigned i : aheadArgs)
          ahead[i] = mapping.lookupOrDefault(body.getTerminator()->getOperand(i));
      }
      if (!early.empty())
        earlyValues = startEarly(later.variableAt(lower, distance), runsFromStart(distance));
    }
    if (!tiles)
      b.setInsertionPoint(loop);
    for (Resident &resident : residents)
      resident.finish(b, loc, zero);
    if (waitsAtEnd)
      b.create<WaitCopiesOp>(loc, distance - 1);

    findLive();
    if (turn && !(live.contains(turn) && live.contains(dots[1])))
      turn = nullptr;
    SmallVector<unsigned> carried(liveArgs.begin(), liveArgs.end()), carriedAhead;
    llvm::sort(carried);
    SmallVector<Value> inits, before;
    for (unsigned i : carried)
      before.push_back(loop.getInitArgs()[i]);
    if (!tiles) {
      carriedAhead.assign(aheadArgs.begin(), aheadArgs.end());
      llvm::sort(carriedAhead);
    }
    // What goes on from tile to tile.
    SmallVector<Value> goesOn = tiles ? ahead : earlyValues;
    if (slots)
      goesOn.push_back(zero);
    if (hasBulk)
      goesOn.push_back(zero);
    if (tiles) {
      goesOn = llvm::to_vector(carryThroughTiles(goesOn));
      b.setInsertionPoint(loop);
    }
    // Where no step runs, nothing else may write the sums of products that are in flight behind the
    // loop: `ptxas` would let each of them wait.
    scf::IfOp guard;
    if (!flying.empty() && !tiles) {
      SmallVector<Type> types;
      for (unsigned i : carried)
        types.push_back(loop.getResult(i).getType());
      guard = b.create<scf::IfOp>(loc, types, any, /*withElseRegion=*/true);
      b.setInsertionPointToStart(guard.elseBlock());
      b.create<scf::YieldOp>(loc, before);
      b.setInsertionPointToStart(guard.thenBlock());
    }
    for (auto [i, value] : llvm::zip(carried, before))
      inits.push_back(startsAtZero(body.getArgument(i + 1))
                          ? b.create<UnsetOp>(loc, value.getType()).getResult()
                          : value);
    for (unsigned i : carriedAhead)
      inits.push_back(ahead[i]);
    llvm::append_range(inits, goesOn);
    if (turn)
      b.create<OpenTurnsOp>(loc);
    auto made = b.create<scf::ForOp>(loc, lower, loop.getUpperBound(), loop.getStep(), inits);
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    {
      OpBuilder::InsertionGuard inside(b);
      if (inits.empty())
        made.getBody()->getTerminator()->erase();
      b.setInsertionPointToStart(made.getBody());
      emitBody(made, carried, carriedAhead);
    }

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
    if (tiles) {
      Operation *yield = tiles->loop().getBody()->getTerminator();
      unsigned kept = yield->getNumOperands() - goesOn.size();
      yield->setOperands(kept, goesOn.size(), made.getResults().take_back(goesOn.size()));
      b.setInsertionPointAfter(tiles->loop());
    }
    b.create<DrainOp>(loc, rings);
    loop.erase();
    for (Resident &resident : residents)
      if (resident.isBulk)
        resident.tile.getDefiningOp()->erase();
    if (tiles && !flying.empty())
      computeBesideProducts(made);
  }
  // A sum of which the product does not read the registers in the first step.
  bool startsAtZero(BlockArgument sum) {
    if (!isFlying(sum) || !sum.hasOneUse())
      return false;
    unsigned i = sum.getArgNumber() - 1;
    OpOperand &use = *sum.use_begin();
    return use.getOwner() == body.getTerminator()->getOperand(i).getDefiningOp() &&
           use.getOperandNumber() == 2 && isZero(loop.getInitArgs()[i]);
  }
  // Numbers that what follows the loop is made of, such as where sums are stored, are computed in
  // its first step, beside products: behind the loop the tensor cores would wait for them.
  void computeBesideProducts(scf::ForOp made) {
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
  static bool isNumber(Operation *op) {
    return op->getNumResults() == 1 && op->getResult(0).getType().isSignlessInteger() &&
           !op->getNumRegions() && isMemoryEffectFree(op) && isSpeculatable(op) &&
           !isa<arith::ConstantOp>(op);
  }
  static Value isFirstStep(OpBuilder &b, scf::ForOp steps) {
    return b.create<arith::CmpIOp>(steps.getLoc(), arith::CmpIPredicate::eq,
                                   steps.getInductionVar(), steps.getLowerBound());
  }

  void emitBody(scf::ForOp made, ArrayRef<unsigned> carried, ArrayRef<unsigned> carriedAhead) {
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
      unsigned count = made.getNumRegionIterArgs() - next - (hasBulk ? 2 : 1);
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
    auto copyAhead = [&] {
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
    if (!copies.empty() && !waitsAtEnd) {
      // Bulk copies are waited for without a barrier; only the thread that starts the next ones
      // waits until the slot is free.
      if (!isAllBulk)
        b.create<WaitCopiesOp>(loc, distance - 1);
      else if (flying.empty())
        freeSlot();
      if (flying.empty())
        copyAhead();
    }
    emitRest(rest, slot, phase);
    if (!flying.empty()) {
      if (waitsAtEnd)
        b.create<WaitCopiesOp>(loc, distance - 2);
      else if (isAllBulk)
        freeSlot();
      else
        b.create<tile::BarrierOp>(loc);
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

  void emitRest(IRMapping &rest, Value slot, Value phase) {
    SmallVector<ReadSlotOp> reads;
    for (Operation &op : body.without_terminator()) {
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
      if (!dot)
        continue;
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

  scf::ForOp loop;
  Block &body;
  const target::GpuChip &chip;
  unsigned warps;
  uint64_t limit;
  bool mayBulk;
  OpBuilder b;
  StepsAhead later{loop, b};

  SmallVector<tile::DotOp> dots;
  SmallVector<Copy> copies;
  SmallVector<Resident> residents;
  SmallVector<tile::LoadOp> early;
  OpSet slice, earlySlice, live;
  llvm::SmallDenseSet<BlockArgument> summed; // memory that steps add to
  llvm::SmallDenseSet<unsigned> aheadArgs, liveArgs;
  std::optional<TilesAhead> tiles;
  uint64_t residentBytes = 0, slotBytes = 0;
  unsigned slots = 0, distance = 0;
  bool hasBulk = false, isAllBulk = false;
  Value arrivals, laterArrivals;
  bool waitsAtEnd = false;
  Operation *turn = nullptr; // the first op of a warp group's turn
  llvm::SmallPtrSet<Operation *, 4> flying, delayed;
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
  llvm::erase_if(loops, [](scf::ForOp loop) {
    return loop.getBody()
        ->walk([](Operation *op) {
          return isa<scf::ForOp, scf::WhileOp>(op) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
        })
        .wasInterrupted();
  });
  for (scf::ForOp loop : loops) {
    // Facts hold as long as the function does not change.
    analysis::AxisAnalysis axes(kernel);
    most = std::max(most, Pipeliner(loop, chip, warps, sharedBytes - shared, bulk).run(axes));
  }
  return shared + most;
}

} // namespace nereid::gpu
