#include "gpu/Residents.h"

#include "gpu/BulkCopies.h"
#include "gpu/RegisterModels.h"
#include "gpu/Rings.h"
#include "gpu/StepsAhead.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

uint64_t transferredBytes(Type type) {
  auto tile = cast<RankedTensorType>(type);
  return uint64_t(tile.getNumElements()) * tile::bytesInMemory(tile.getElementType());
}
uint64_t bytesOfSlot(Type tile) { return SharedOperand(cast<RankedTensorType>(tile)).bytes(); }

bool mayReside(tile::DotOp dot, unsigned operand, scf::ForOp loop, unsigned warps) {
  Value tile = dot->getOperand(operand);
  if (!readsSlots(dot) || !loop.isDefinedOutsideOfLoop(tile) || slotOperand(tile))
    return false;
  auto wanted = fragmentsOf(dot, operand == 0, warps);
  auto type = cast<RankedTensorType>(tile.getType());
  return (!wanted || layoutOf(type) != *wanted) && readsInPlace(dot, operand, SharedOperand(type));
}

bool Resident::canBeBulk(Operation *before, const target::GpuChip &chip) const {
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

uint64_t Resident::bytes() const {
  return bytesOfSlot(tile.getType()) + (isBulk ? SharedOperand::alignment : 0);
}

void Resident::reserve(OpBuilder &b, Location loc) {
  ring = b.create<RingOp>(loc,
                          RingType::get(b.getContext(), 1, cast<RankedTensorType>(tile.getType())));
  if (isBulk)
    arrivals = b.create<ArrivalsOp>(loc, ArrivalsType::get(b.getContext(), 1));
}

void Resident::start(OpBuilder &b, Location loc, Value zero) {
  if (!arrivals)
    return;
  auto load = tile.getDefiningOp<tile::DescLoadOp>();
  Value always = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
  b.create<ExpectBulkOp>(loc, arrivals, zero, uint32_t(transferredBytes(tile.getType())), always);
  b.create<CopyBulkOp>(loc, ring, zero, load.getDesc(), load.getOffsets(), arrivals, always);
}

void Resident::finish(OpBuilder &b, Location loc, Value zero) {
  if (arrivals)
    b.create<WaitBulkOp>(loc, arrivals, zero, zero);
  else
    b.create<WriteSlotOp>(loc, ring, zero, tile);
}

void Resident::addRings(SmallVectorImpl<Value> &rings) const {
  rings.push_back(ring);
  if (arrivals)
    rings.push_back(arrivals);
}

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

} // namespace nereid::gpu
