#include "gpu/LoopPlan.h"

#include "analysis/KernelFacts.h"
#include "gpu/BulkCopies.h"
#include "gpu/GridWalk.h"
#include "gpu/LayoutFlow.h"
#include "gpu/LoopOverPrograms.h"
#include "gpu/ProductLayouts.h"
#include "gpu/RegisterModels.h"
#include "gpu/Rings.h"
#include "ir/LoopHints.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::gpu {

bool isZeroConstant(Value value) {
  if (auto convert = value.getDefiningOp<tile::FPToIntOp>())
    return isZeroConstant(convert.getSource());
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

namespace {

// The argument of the kernel into whose memory an op adds (or the like) without asking what was
// there. Reads of other arguments go ahead of it: a program that reads a tensor which it sums
// into under another name sees now this, now that, since other programs do so too.
BlockArgument summedInto(Operation *op) {
  auto atomic = dyn_cast<tile::AtomicRMWOp>(op);
  if (isa<tile::DescReduceOp>(op) || (atomic && atomic->use_empty()))
    return analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(op));
  return {};
}

bool canWaitInRing(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && tile.getRank() <= 2 && tile.getElementType().isIntOrFloat() &&
         tile.getElementTypeBitWidth() >= 8;
}

bool isCopy(tile::LoadOp load) {
  Value other = load.getOther();
  return canWaitInRing(load.getType()) && !load.getIsVolatile() &&
         (!load.getMask() || isa<RankedTensorType>(load.getMask().getType())) &&
         (!other || isZeroConstant(other));
}

bool isCopy(tile::DescLoadOp block) {
  auto desc = cast<tile::DescType>(block.getDesc().getType());
  return canWaitInRing(block.getType()) && desc.getBlockShape().size() >= 2 &&
         !desc.getPaddingIsNan();
}

int64_t multiplyAdds(tile::DotOp dot) {
  return cast<RankedTensorType>(dot.getType()).getNumElements() *
         tile::shapeOf(dot.getLhs().getType()).back();
}

} // namespace

bool LoopPlan::make(const analysis::AxisAnalysis &axes) {
  for (Operation &op : body)
    if (auto dot = dyn_cast<tile::DotOp>(op))
      dots.push_back(dot);
  if (dots.empty())
    return false;
  isAlone = walksGrid(loop) && !programLoop(loop->getParentOfType<FunctionOpInterface>());
  findResidents();
  bool writes = loop.walk([&](Operation *op) {
                      if (BlockArgument sum = summedInto(op))
                        summed.insert(sum);
                      // Steps that hand something on to later ones through memory that the host
                      // passed twice are not in order, as under Triton, which copies ahead
                      // whatever is stored.
                      else if (BlockArgument argument = storedTo(op))
                        stored.insert(argument);
                      else if (writesMemory(op))
                        return WalkResult::interrupt();
                      return WalkResult::advance();
                    })
                    .wasInterrupted();
  if (!writes && chip.can(target::AsyncCopy))
    findCopies(axes);
  chooseDepth();
  return !copies.empty() || !residents.empty();
}

// --- what moves ---

bool LoopPlan::isApartFromWrites(Operation *load) {
  if (summed.empty() && stored.empty())
    return true;
  BlockArgument argument = analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(load));
  return argument && !summed.contains(argument) && !stored.contains(argument);
}

void LoopPlan::findResidents() {
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

void LoopPlan::findCopies(const analysis::AxisAnalysis &axes) {
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
        (!isBulk && vector * tile::bytesInMemory(tile::elementType(op.getResult(0).getType())) <
                        leastCopied) ||
        !isApartFromWrites(&op) || !feedsProduct(&op) || !addToSlice(&op))
      continue;
    copies.push_back({&op, vector, isBulk, {}});
  }
  // What others' addresses come from is loaded to registers anyhow.
  llvm::erase_if(copies, [&](Copy &copy) { return slice.ops.contains(copy.load); });
}

// Adds the ops that give a load's addresses and mask; they are computed ahead too.
bool LoopPlan::addToSlice(Operation *load) {
  return slice.add(
      loop, load->getOperands(), [this](tile::LoadOp one) { return mayGoAhead(one); },
      /*mayBranch=*/true);
}

bool LoopPlan::mayGoAhead(tile::LoadOp load) {
  return !load.getIsVolatile() && isApartFromWrites(load);
}

// --- how far ahead ---

bool LoopPlan::isSlot(tile::DotOp dot, unsigned number) {
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

// True of a product of warp groups whose sum nobody wants but the next step.
bool LoopPlan::isForNextStep(tile::DotOp dot) {
  return isWgmma(dot) && dot->hasOneUse() && *dot->user_begin() == body.getTerminator();
}

// The tile that becomes the right operand of `dot`, perhaps transposed, if steps compute it for
// this product alone, and the instruction may read it as it would be written.
Value LoopPlan::computedRight(tile::DotOp dot) {
  auto source = untransposed(dot.getRhs());
  Operation *op = source ? source->first.getDefiningOp() : nullptr;
  if (!op || op->getBlock() != &body || isa<tile::LoadOp, tile::DescLoadOp, ConvertLayoutOp>(op))
    return {};
  for (Value tile = dot.getRhs();; tile = tile.getDefiningOp()->getOperand(0)) {
    if (!tile.hasOneUse())
      return {};
    if (tile == source->first)
      break;
  }
  auto type = cast<RankedTensorType>(source->first.getType());
  SharedOperand shared(type);
  bool fits = tile::bytesInMemory(type.getElementType()) == 2 &&
              readsInPlace(dot, 1, source->second ? shared.transposed() : shared);
  return fits ? source->first : Value();
}

// Where a loop only adds products up of which steps compute right operands (weights of a few bits
// that become halves), those are written to two places in turn: while the tensor cores multiply by
// one, the next step computes the other. With one place each step would wait for its product first.
// Only where a multiprocessor has one program: two of them cover for each other's products better
// than a step with one more meeting of its warps does.
void LoopPlan::findWritten() {
  constexpr unsigned besideSums = 32; // registers, at least
  SmallVector<Written> found;
  uint64_t once = 0, bytes = 0; // of one place, which products share, and of two each
  unsigned registers = besideSums;
  for (tile::DotOp dot : dots) {
    auto sum = dyn_cast<BlockArgument>(dot.getAcc());
    if (!isForNextStep(dot) || !sum || !sum.hasOneUse() || !isSlot(dot, 0))
      return;
    registers += registersOf(layoutOf(dot.getType()));
    if (isSlot(dot, 1))
      continue;
    Value tile = computedRight(dot);
    if (!tile)
      return;
    found.push_back({tile, {}});
    bytes += writtenPlaces * bytesOfSlot(tile.getType());
    once = std::max(once, bytesOfSlot(tile.getType()));
  }
  uint64_t others = residentBytes + slots * slotBytes;
  if (others + bytes > limit ||
      (!isAlone && target::occupancy(chip, warps, registers, others + once).blocks > 1))
    return;
  written = std::move(found);
  residentBytes += bytes;
}

bool LoopPlan::isWritten(tile::DotOp dot) {
  auto source = untransposed(dot.getRhs());
  return source && llvm::any_of(written, [&](Written &one) { return one.tile == source->first; });
}

// Products of which only the next step wants the sum stay in flight: nobody touches the sum's
// registers before, and the operands lie in slots or in registers.
void LoopPlan::findFlying() {
  for (tile::DotOp dot : dots)
    if (isCarriedSum(dot))
      flying.insert(dot);
}

// With `mayWrite` the left operand may also be written for the product: of scratch memory that it
// reads while it runs on, the code of a step takes care (`RegisterEmitter::readsScratch`).
bool LoopPlan::isCarriedSum(tile::DotOp dot, bool mayWrite) {
  if (!isForNextStep(dot) || !(isSlot(dot, 1) || isWritten(dot)))
    return false;
  auto fragments = fragmentsOf(dot, true, warps);
  return mayWrite || isSlot(dot, 0) ||
         (fragments && layoutOf(dot.getLhs().getType()) == *fragments);
}

// In steps that add to memory, products whose operands lie in slots begin right behind the first
// one, and products run on while others are begun, up to where their sums are wanted. In other
// steps sums stay in flight into the next one.
void LoopPlan::findDelayed() {
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
    if (user == body.getTerminator() ? dot != last && isCarriedSum(dot, true) : isReady(dot))
      delayed.insert(dot);
  }
}

Operation *LoopPlan::firstUser(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (Operation *here = body.findAncestorOpInBlock(*user);
        here && (!first || here->isBeforeInBlock(first)))
      first = here;
  return first;
}

// Two long products in a step, and exponentials (or the like) between them: warp groups compute
// those in turns, each while the products of another one run.
void LoopPlan::findTurns() {
  constexpr int64_t fewest = 1 << 22; // multiply-adds of both
  // Code of the program's own may use barriers of the same numbers.
  if (warps != 8 || !isAllBulk || dots.size() != 2 || !flying.contains(dots[1]) ||
      multiplyAdds(dots[0]) + multiplyAdds(dots[1]) < fewest ||
      analysis::hasForeignCode(loop->getParentOfType<FunctionOpInterface>()))
    return;
  auto shape = tile::shapeOf(dots[0].getType());
  for (Operation *op = dots[0]->getNextNode(); op != dots[1] && !turn; op = op->getNextNode())
    if (isa<math::MathDialect>(op->getDialect()))
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
          type && type.getShape() == ArrayRef(shape))
        turn = op;
}

// A carried sum of which the product is still in flight when a step begins.
bool LoopPlan::isFlying(BlockArgument sum) {
  auto dot = body.getTerminator()->getOperand(sum.getArgNumber() - 1).getDefiningOp<tile::DotOp>();
  return dot && flying.contains(dot);
}

// What only the second of two long products reads is waited for there: the first one does not
// wait for it where steps begin.
void LoopPlan::findLater() {
  if (slots > 1 && (!turn || copies.size() != 2))
    return;
  auto reads = [](tile::DotOp dot, Copy &copy) {
    return llvm::any_of(dot->getOperands().take_front(2), [&](Value operand) {
      auto source = untransposed(operand);
      return source && source->first == copy.load->getResult(0);
    });
  };
  if (slots == 1) {
    // Each slot is filled again as soon as its last reader is done.
    for (Copy &copy : copies)
      copy.isLater = !reads(dots[0], copy) &&
                     llvm::any_of(dots, [&](tile::DotOp dot) { return reads(dot, copy); });
    if (llvm::all_of(copies, [](Copy &copy) { return copy.isLater; }))
      for (Copy &copy : copies)
        copy.isLater = false;
    for (Copy &copy : copies)
      if (Operation *user = copy.isLater ? firstUser(copy.load) : nullptr)
        copy.load->moveBefore(user);
    return;
  }
  Copy &first = copies[0], &second = copies[1];
  second.isLater = reads(dots[0], first) && !reads(dots[0], second) && reads(dots[1], second);
}

void LoopPlan::addReaders(Value slot, Release &release) {
  for (Operation *user : slot.getUsers()) {
    Operation *here = body.findAncestorOpInBlock(*user);
    if (!here || here == body.getTerminator()) // that one takes registers
      continue;
    if (!release.after || release.after->isBeforeInBlock(here))
      release.after = here;
    if (isa<tile::DotOp>(user))
      release.products.insert(user);
    else if (isa<tile::TransOp>(user))
      addReaders(user->getResult(0), release);
  }
}

// Where a slot's last reader is a product that runs on, it is known to be done when the next one is
// under way; that one runs on too, so that the copies begin beside it.
void LoopPlan::findReleases() {
  for (Copy &copy : copies) {
    Release &release = releases[copy.isLater];
    if (!release.after)
      release.after = copy.load;
    addReaders(copy.load->getResult(0), release);
  }
  for (Release &release : releases) {
    auto *reader = llvm::find(dots, release.after);
    if (reader == dots.end() || !delayed.contains(*reader))
      continue;
    tile::DotOp next = *std::next(reader); // the last one is not delayed
    release.after = next;
    if (isWgmma(next) && loop.isDefinedOutsideOfLoop(next.getAcc()) && firstUser(next) &&
        firstUser(next) != body.getTerminator())
      delayed.insert(next);
  }
}

// Nothing but sums of products, all in flight.
bool LoopPlan::isOnlySums() {
  return llvm::all_of(dots, [&](tile::DotOp dot) {
    auto sum = dyn_cast<BlockArgument>(dot.getAcc());
    return flying.contains(dot) && sum && sum.hasOneUse();
  });
}

// True if the tensor cores are busy for so long in a step, and with nothing else between, that a
// second barrier costs less than copies that start later.
bool LoopPlan::isLongSum() {
  constexpr int64_t fewest = 256 * 2048; // cycles, and multiply-adds in one
  int64_t work = 0;
  for (tile::DotOp dot : dots)
    work += multiplyAdds(dot);
  return isOnlySums() && work >= fewest;
}

// Programs that share a multiprocessor, as far as shared memory says.
unsigned LoopPlan::programs(unsigned slots) {
  return isAlone ? 1 : target::occupancy(chip, warps, 0, residentBytes + slots * slotBytes).blocks;
}

// Behind one barrier with the wait for the next step's copies those of one step less are under way
// than behind two. A slot more makes up for that, if there is a step for it and it leaves as many
// programs beside each other; or, where nothing but sums is computed, if so many that more copies
// are under way in all, and those of less slots are no more than memory asks for. Beyond that
// programs are worth more: they cover for the start and the end of each other.
//
//   grouped weight gradients, 64 x 64 sums of 8 KiB a step, one or two steps: 105 us, 122 with a
//   slot more
bool LoopPlan::wantsSlotMore() {
  constexpr uint64_t enough = 64 << 10; // bytes under way on a multiprocessor
  if (residentBytes + (slots + 1) * slotBytes > limit || stepsOf(loop) == slots)
    return false;
  unsigned now = programs(slots), then = programs(slots + 1);
  return then == now || (isOnlySums() && then * (slots - 1) > now * (slots - 2) &&
                         now * (slots - 2) * slotBytes <= enough);
}

// About how many instructions a warp has in a step.
static int64_t instructionsOfStep(Block &body, unsigned warps) {
  constexpr int64_t perProduct = 16 * 8; // sums of one instruction
  int64_t count = 0;
  for (Operation &op : body) {
    if (auto dot = dyn_cast<tile::DotOp>(op))
      count +=
          multiplyAdds(dot) /
          (perProduct * mmaDepth(tile::bytesInMemory(tile::elementType(dot.getLhs().getType()))));
    else if (op.hasTrait<OpTrait::Elementwise>() && tile::isTile(op.getResult(0)))
      count += registersOf(layoutOf(op.getResult(0).getType())) * warps;
  }
  return count / warps;
}

// A second step ahead covers what memory takes where one step does not. A step that takes longer
// than that by itself gains nothing of it, but loses programs beside it where shared memory is what
// limits them and there are few: a scheduler with one warp waits whenever that does.
//
//   KDA's inter_solve_fused, one warp, 15 KiB a step: 6 programs for 4
bool LoopPlan::isLongStep(unsigned stages) {
  constexpr int64_t longStep = 512; // instructions of a scheduler: some 1500 cycles of one warp
  constexpr unsigned schedulers = 4, enoughWarps = 2 * schedulers;
  unsigned now = programs(stages);
  return stages > 2 && now * warps < enoughWarps && programs(2) > now && !hasBulk &&
         llvm::none_of(dots, [](tile::DotOp dot) { return isWgmma(dot); }) &&
         instructionsOfStep(body, warps) * std::max(1u, now * warps / schedulers) >= longStep;
}

// One product, whose operands are computed of slots in registers and written: behind the barrier of
// that all slots are read.
bool LoopPlan::readsSlotsFirst() {
  if (dots.size() != 1 || hasBulk || slots < 2)
    return false;
  tile::DotOp dot = dots[0];
  if (!isWgmma(dot) || dot->hasAttr(rowsTogetherAttr) || isSlot(dot, 0) || isSlot(dot, 1))
    return false;
  // Nothing but what is read of slots leads from a copy to behind the product.
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode())
    if (op->walk([&](Operation *inner) {
            return llvm::any_of(inner->getOperands(),
                                [&](Value operand) {
                                  return llvm::any_of(copies, [&](Copy &copy) {
                                    return copy.load->getResult(0) == operand;
                                  });
                                })
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          }).wasInterrupted())
      return false;
  return true;
}

// The slots of step i are free when its product begins, so the copies of step i + slots start
// beside it: as many steps are under way as there are slots, and there is no moment at which all
// copies have arrived and no others are started. Where a slot less leaves room for more programs,
// there is one less, with as many steps under way as without this.
//
//   attorch's linear layer, 128 x 256 sums, f32 rounded to halves, 96 KiB a step: two for one
void LoopPlan::fillBehindReads() {
  fillsBehindReads = true;
  if (slots > 2 && programs(slots - 1) > programs(slots))
    --slots;
  distance = slots;
}

// No more than there are steps, unless copies go on into the next tile's.
unsigned LoopPlan::stagesOfSteps() {
  unsigned stages = numStagesOf(loop);
  auto steps = stepsOf(loop);
  if (!steps || loop->getParentOp()->hasAttr(tile::flattenAttr))
    return stages;
  return unsigned(std::min<int64_t>(stages, std::max<int64_t>(2, *steps)));
}

// Step i starts the copies of step i + distance. In the slot of step i - 1: when step i begins,
// behind the barrier of its wait, or where products of step i - 1 are in flight then, when they
// are done in all threads: at the end of step i, behind one barrier with the wait for the next
// step's copies, or behind one of its own.
//
// Where shared memory has no room for two slots, copies of the engine still go ahead: one slot is
// filled for the next step when its last reader in this one is done.
void LoopPlan::chooseDepth() {
  unsigned stages = stagesOfSteps();
  for (Copy &copy : copies)
    slotBytes += bytesOfSlot(copy.load->getResult(0).getType());
  hasBulk = llvm::any_of(copies, [](Copy &copy) { return copy.isBulk; });
  isAllBulk = hasBulk && llvm::all_of(copies, [](Copy &copy) { return copy.isBulk; });
  uint64_t arrivalBytes = hasBulk ? SharedOperand::alignment : 0;
  residentBytes += arrivalBytes;
  for (; stages >= 2 && !copies.empty(); --stages)
    if (residentBytes + stages * slotBytes <= limit) {
      slots = isLongStep(stages) ? 2 : stages;
      distance = slots - 1;
      if (distance > 1) {
        findWritten();
        findFlying();
      }
      findTurns();
      findDelayed();
      findLater();
      waitsAtEnd = !flying.empty() && !isAllBulk && (!written.empty() || !isLongSum());
      if (waitsAtEnd && wantsSlotMore()) {
        ++slots;
        ++distance;
      }
      if (flying.empty() && readsSlotsFirst())
        fillBehindReads();
      return;
    }
  if (isAllBulk && numStagesOf(loop) >= 2 && residentBytes + slotBytes <= limit) {
    slots = distance = 1;
    findDelayed();
    findLater();
    findReleases();
    return;
  }
  residentBytes -= arrivalBytes;
  hasBulk = isAllBulk = false;
  copies.clear();
  slice = {};
  slotBytes = 0;
}

} // namespace nereid::gpu
