#include "gpu/AccessOrder.h"

#include "analysis/KernelFacts.h"
#include "gpu/Addresses.h"
#include "gpu/BulkCopies.h"
#include "gpu/LayoutFlow.h"
#include "gpu/Layouts.h"
#include "gpu/LoopOverPrograms.h"
#include "gpu/ShortSteps.h"
#include "gpu/TileGpu.h"

#include <numeric>

using namespace mlir;

namespace nereid::gpu {

namespace {

// What an access reaches.
struct Reached {
  Operation *op;
  Value address;              ///< pointers or a descriptor
  SmallVector<Value> offsets; ///< of a descriptor's block
  RankedTensorType tile;      ///< whose layout says in which threads; null for a number
  bool writes, isAtomic;
};

std::optional<Reached> reachedBy(Operation *op) {
  auto tileOf = [](Value value) { return dyn_cast<RankedTensorType>(value.getType()); };
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return Reached{op, copy.getPointer(), {}, tileOf(copy.getPointer()), false, false};
  if (auto copy = dyn_cast<CopyDescOp>(op))
    return Reached{op, copy.getDesc(), copy.getOffsets(), {}, false, false};
  auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
  if (!access || op->hasAttr(bulkStoreAttr))
    return std::nullopt;
  Value address = access.getAccessed();
  Reached out{op, address, {}, tileOf(address), access.writesMemory(), access.isAtomicAccess()};
  if (!isa<tile::DescType>(address.getType()))
    return out;
  for (Value result : op->getResults())
    out.tile = tileOf(result);
  for (Value operand : op->getOperands())
    if (auto tile = tileOf(operand))
      out.tile = tile;
    else if (operand != address)
      out.offsets.push_back(operand);
  return out;
}

// The memory that addresses belong to: an argument of the kernel, or else the value at which
// pointers begin.
Value memoryOf(Value address) {
  if (BlockArgument argument = analysis::argumentOf(address))
    return argument;
  while (Operation *op = address.getDefiningOp()) {
    auto isAddress = [](Value value) {
      return isa<tile::PtrType, tile::DescType>(tile::elementType(value.getType()));
    };
    auto from = llvm::find_if(op->getOperands(), isAddress);
    if (op->getNumRegions() || from == op->getOperands().end() ||
        isa<tile::MemoryAccessOpInterface>(op))
      break;
    address = *from;
  }
  return address;
}

// The bits of a warp's number that tell copies of a tile's elements apart.
int64_t copyBits(RankedTensorType tile) {
  LinearLayout layout = layoutOf(tile);
  int64_t bits = 0;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(LayoutInput::Warp)))
    if (isZero(basis))
      bits |= int64_t(1) << bit;
  return bits;
}

// True if nobody sees what warps load that have copies of a tile besides the first.
bool areCopiesUnseen(Operation *op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && isOnlyStored(load, copyBits(cast<RankedTensorType>(load.getType())));
}

// Both threads are one, wherever an element that both reach lies and somebody sees it. A number is
// loaded by all threads and written by one. Threads of a warp that hold copies of an element go
// through the code together.
bool areSameThreads(const Reached &a, const Reached &b, unsigned warps) {
  if (!a.tile || !b.tile)
    return !a.tile && !b.tile && (warps == 1 || (a.writes && b.writes));
  if (a.tile.getEncoding() != b.tile.getEncoding())
    return false;
  return !copyBits(a.tile) || (a.writes != b.writes && areCopiesUnseen(a.writes ? b.op : a.op));
}

// Whether elements of a tile of pointers may be others of it that far away, where all of them grow
// by `grows` any number of times.
bool mayMeet(int64_t distance, Value address, int64_t grows = 0) {
  int64_t gap = std::gcd(gapOf(address), grows);
  return gap ? distance % gap == 0 : distance == 0;
}

// Of different steps of a loop that are one now.
bool areOfJoinedSteps(Operation *a, Operation *b) {
  Attribute one = a->getAttr(joinedStepAttr), other = b->getAttr(joinedStepAttr);
  return a->getBlock() == b->getBlock() && one && other && one != other;
}

} // namespace

Value AccessOrder::memory(Value address) const {
  Value &known = memories[address];
  return known ? known : known = memoryOf(address);
}

std::optional<int64_t> AccessOrder::rangeOf(Value address) const {
  ArrayRef<int64_t> shape = tile::shapeOf(address.getType());
  if (shape.empty())
    return 1;
  if (shape.size() == 1 && axes.facts(address).contiguity[0] >= shape[0])
    return shape[0];
  return std::nullopt;
}

bool AccessOrder::conflicts(const Access &earlier, Operation *later) const {
  auto a = *reachedBy(earlier.op), b = *reachedBy(later);
  if ((!a.writes && !b.writes) || (a.isAtomic && b.isAtomic) ||
      memory(a.address) != memory(b.address))
    return false;
  bool isOfEarlierStep = earlier.loop && earlier.loop->isAncestor(later);
  if ((isOfEarlierStep || areOfJoinedSteps(earlier.op, later)) && a.writes && b.writes &&
      !a.isAtomic && !b.isAtomic)
    return false;
  auto loop = dyn_cast_or_null<scf::ForOp>(earlier.loop);
  SameStep isSame = loop ? SameStep(loop, loop) : SameStep();
  auto range = a.offsets.empty() ? rangeOf(a.address) : std::nullopt;
  bool areSame = a.offsets.size() == b.offsets.size() && isSame(a.address, b.address) &&
                 llvm::all_of(llvm::zip(a.offsets, b.offsets), [&](auto pair) {
                   return isSame(std::get<0>(pair), std::get<1>(pair));
                 });
  if (!isOfEarlierStep) {
    if (areSame)
      return !areSameThreads(a, b, warps);
    auto distance = isSame.distance(a.address, b.address);
    return !distance || (mayMeet(*distance, a.address) && (!range || std::abs(*distance) < *range));
  }

  auto isDirectlyInside = [&](Operation *op) {
    return op->getParentOfType<LoopLikeOpInterface>() == loop;
  };
  if (!loop || !isDirectlyInside(earlier.op) || !isDirectlyInside(later))
    return true;
  // Where the later access is beside the earlier one a step before, and farther on after that.
  std::optional<int64_t> distance;
  if (areSame)
    distance = 0;
  else if (a.offsets.empty() && b.offsets.empty())
    distance = isSame.distance(a.address, b.address);
  auto slope = slopeOf(a.address, loop);
  auto step = constantOf(loop.getStep());
  if (distance && slope && step && !mayMeet(*distance, a.address, *slope * *step))
    return false;
  if (range && distance && slope && step) {
    int64_t grows = *slope * *step, next = *distance + grows;
    if (grows > 0 ? next >= *range : grows < 0 ? -next >= *range : std::abs(next) >= *range)
      return false;
  }
  if (!areSame)
    return true;
  bool stays = slope == 0 &&
               llvm::all_of(a.offsets, [&](Value offset) { return slopeOf(offset, loop) == 0; });
  return !stays || !areSameThreads(a, b, warps);
}

bool AccessOrder::isLoadedOnce(tile::LoadOp load) const {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (!tile || !copyBits(tile) || !areCopiesUnseen(load))
    return false;
  Value own = memory(load.getPointer());
  return load->getParentOfType<FunctionOpInterface>()
      ->walk([&](Operation *op) {
        auto other = reachedBy(op);
        return other && other->writes && memory(other->address) == own ? WalkResult::interrupt()
                                                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

bool AccessOrder::mustWait(Operation *op) const {
  if (open.empty())
    return false;
  auto waits = [&](Operation *access) {
    return reachedBy(access) &&
           llvm::any_of(open, [&](const Access &earlier) { return conflicts(earlier, access); });
  };
  return op
      ->walk([&](Operation *inner) {
        return waits(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void AccessOrder::add(Operation *op) {
  if (reachedBy(op))
    join({{op, nullptr}});
}

void AccessOrder::join(const Accesses &other) {
  for (const Access &access : other)
    if (!llvm::is_contained(open, access))
      open.push_back(access);
}

void AccessOrder::enterLoop(Operation *loop) {
  // Programs have no order among them.
  if (loop == programLoop(loop->getParentOfType<FunctionOpInterface>()))
    return;
  loop->walk([&](Operation *op) {
    if (reachedBy(op))
      join({{op, loop}});
  });
}

} // namespace nereid::gpu
