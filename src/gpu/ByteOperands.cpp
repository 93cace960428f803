#include "gpu/ByteOperands.h"

#include "gpu/ProductLayouts.h"
#include "gpu/Rings.h"
#include "gpu/TileGpu.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// A slot of bytes that ops with one operand each make an operand of.
struct Widened {
  ReadSlotOp read;
  SmallVector<Operation *> ops; // from the slot on
  unsigned major;               // the operand's dimension that is contiguous in the slot
};

std::optional<Widened> widenedBytes(Value operand) {
  Widened found;
  Value now = operand;
  for (;;) {
    Operation *op = now.getDefiningOp();
    if (!op || !now.hasOneUse())
      return std::nullopt;
    found.read = dyn_cast<ReadSlotOp>(op);
    if (found.read)
      break;
    auto trans = dyn_cast<tile::TransOp>(op);
    bool isOne = trans ? trans.getPerm().size() == 2
                       : op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 1;
    if (!isOne)
      return std::nullopt;
    found.ops.push_back(op);
    now = op->getOperand(0);
  }
  std::reverse(found.ops.begin(), found.ops.end());
  RankedTensorType tile = found.read.getRing().getType().getTile();
  if (tile.getRank() != 2 || tile::bytesInMemory(tile.getElementType()) != 1 ||
      tile::bytesInMemory(tile::elementType(operand.getType())) != 2)
    return std::nullopt;
  auto source = SharedOperand(tile);
  found.major = source.majorDim();
  for (Operation *op : found.ops)
    if (auto trans = dyn_cast<tile::TransOp>(op); trans && trans.getPerm()[0] == 1)
      found.major = 1 - found.major;
  return found;
}

// An operand as its step computes it, also where it is written to a slot that the product reads.
Value computed(tile::DotOp dot, unsigned number) {
  Value tile = dot->getOperand(number);
  auto operand = slotOperand(tile);
  if (operand && operand->slot->getBlock() == dot->getBlock())
    for (Operation *user : operand->slot.getRing().getUsers())
      if (auto write = dyn_cast<WriteSlotOp>(user); write && write->getBlock() == dot->getBlock())
        return write.getTile();
  return tile;
}

// Gives the slot's tile a layout, and what is made of it.
void setLayout(Widened &operand, LinearLayout layout) {
  Value tile = operand.read.getTile();
  tile.setType(withLayout(tile.getType(), layout));
  for (Operation *op : operand.ops) {
    if (auto trans = dyn_cast<tile::TransOp>(op))
      layout = transposeLayout(layout, trans.getPerm());
    Value result = op->getResult(0);
    result.setType(withLayout(result.getType(), layout));
  }
}

// The slot's layout for one of the operand.
LinearLayout beforeOps(const Widened &operand, LinearLayout layout) {
  for (Operation *op : llvm::reverse(operand.ops))
    if (auto trans = dyn_cast<tile::TransOp>(op))
      layout = transposeLayout(layout, trans.getPerm()); // of two dimensions, its own inverse
  return layout;
}

bool takeFromSlot(tile::DotOp dot, Widened &right, unsigned warps) {
  if (isWgmma(dot) || right.major != 0 || slotOperand(dot.getLhs()))
    return false;
  setNeighbours(dot, 4); // two words of halves
  auto lhs = fragmentsOf(dot, true, warps), rhs = fragmentsOf(dot, false, warps);
  if (!lhs || !rhs) {
    dot->removeAttr(neighboursAttr);
    return false;
  }
  setLayout(right, beforeOps(right, *rhs));
  // Behind what it is made of, which may be outside of the loop.
  Value left = dot.getLhs();
  auto converted = left.getDefiningOp<ConvertLayoutOp>();
  if (converted)
    left = converted.getSource();
  OpBuilder b(dot);
  b.setInsertionPointAfterValue(left);
  dot.getLhsMutable().assign(
      b.create<ConvertLayoutOp>(dot.getLoc(), withLayout(left.getType(), *lhs), left));
  if (converted && converted->use_empty())
    converted->erase();
  return true;
}

void readHalves(tile::DotOp dot, unsigned number, Widened &operand, unsigned warps) {
  constexpr unsigned together = 8; // 16 bytes, widened
  Value tile = computed(dot, number);
  LinearLayout layout = layoutOf(tile.getType());
  auto fragments = fragmentsOf(dot, number == 0, warps);
  if ((fragments && layout == *fragments) ||
      consecutiveRegisters(layout, operand.major) <= together)
    return;
  unsigned order[] = {operand.major, 1 - operand.major};
  setLayout(operand, beforeOps(operand, blockedLayout(tile::shapeOf(tile.getType()), together,
                                                      order, warps)));
}

} // namespace

void readBytesForProducts(FunctionOpInterface kernel, unsigned warps) {
  SmallVector<tile::DotOp> dots;
  kernel->walk([&](tile::DotOp dot) {
    auto instruction = dot->getAttrOfType<StringAttr>(instructionAttr);
    if (readsSlots(dot) && instruction && instruction.getValue() != "fma")
      dots.push_back(dot);
  });
  for (tile::DotOp dot : dots)
    for (unsigned number : {1u, 0u})
      if (auto operand = widenedBytes(computed(dot, number)))
        if (number == 0 || !takeFromSlot(dot, *operand, warps))
          readHalves(dot, number, *operand, warps);
}

bool takesBytesFromSlots(FunctionOpInterface kernel) {
  return kernel
      ->walk([](tile::DotOp dot) {
        bool isOfBytes = dot->hasAttr(neighboursAttr) &&
                         tile::bytesInMemory(tile::elementType(dot.getLhs().getType())) == 2;
        return isOfBytes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace nereid::gpu
