#include "gpu/OperandsInFragments.h"

#include "gpu/LayoutFlow.h"
#include "gpu/ProductLayouts.h"
#include "gpu/Rings.h"
#include "gpu/TileGpu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// Computes tiles again in other layouts.
class Recompute {
public:
  /// Slots that `ldmatrix` does not read are read so many bytes at once, at least.
  unsigned fewestBytes = 16;

  // True if the tile is computed of slots, or lies so but for the order of a thread's registers,
  // and else of little that has to move.
  bool canMake(Value tile, const LinearLayout &layout, bool isOperand = true) const {
    constexpr unsigned mostMoved = 16; // registers
    if (isInPlace(tile, layout))
      return true;
    Operation *op = tile.getDefiningOp();
    if (auto read = dyn_cast_or_null<ReadSlotOp>(op))
      return layout.rank() == 1 || readsWell(read, layout);
    if (isMade(op)) {
      for (OpOperand &operand : op->getOpOperands()) {
        if (!isTile(operand.get()))
          continue;
        auto wanted = backward(op, 0, layout, operand.getOperandNumber());
        if (!wanted || !canMake(operand.get(), *wanted, /*isOperand=*/false))
          return false;
      }
      return !isOperand || comesOfSlot(op);
    }
    return !isOperand && registersOf(layout) <= mostMoved;
  }

  Value make(Value tile, const LinearLayout &layout) {
    if (layoutOf(tile.getType()) == layout)
      return tile;
    for (auto &[known, version] : versions)
      if (known == tile && layoutOf(version.getType()) == layout)
        return version;
    Operation *op = tile.getDefiningOp();
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    Type type = withLayout(tile.getType(), layout);
    Value made;
    if (auto read = dyn_cast_or_null<ReadSlotOp>(op)) {
      made = b.create<ReadSlotOp>(tile.getLoc(), type, read.getRing(), read.getSlot());
    } else if (isMade(op)) {
      IRMapping mapping;
      for (OpOperand &operand : op->getOpOperands())
        if (isTile(operand.get()))
          mapping.map(operand.get(),
                      make(operand.get(), *backward(op, 0, layout, operand.getOperandNumber())));
      Operation *copy = b.clone(*op, mapping);
      copy->getResult(0).setType(type);
      if (auto constant = dyn_cast<arith::ConstantOp>(copy))
        constant.setValueAttr(
            cast<DenseElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(type)));
      made = copy->getResult(0);
    } else {
      auto moved = dyn_cast_or_null<ConvertLayoutOp>(op);
      made = b.create<ConvertLayoutOp>(tile.getLoc(), type, moved ? moved.getSource() : tile);
    }
    versions.push_back({tile, made});
    return made;
  }

private:
  static bool isInPlace(Value tile, const LinearLayout &layout) {
    LinearLayout own = layoutOf(tile.getType());
    return own.bases(LayoutInput::Lane) == layout.bases(LayoutInput::Lane) &&
           own.bases(LayoutInput::Warp) == layout.bases(LayoutInput::Warp);
  }
  bool readsWell(ReadSlotOp read, const LinearLayout &layout) const {
    unsigned bytes = tile::bytesInMemory(tile::elementType(read.getTile().getType()));
    if (bytes == 2 && SharedOperand::fragmentsAlong(layout))
      return true;
    return SharedOperand(read.getRing().getType().getTile()).readVector(layout) * bytes >=
           fewestBytes;
  }

  // What costs a thread about as much in one layout as in another.
  static bool isMade(Operation *op) {
    if (!op || !isPure(op) || op->getNumResults() != 1 || op->getNumRegions())
      return false;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    return op->hasTrait<OpTrait::Elementwise>() ||
           isa<tile::TransOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::SplatOp>(op);
  }
  static bool comesOfSlot(Operation *op) {
    return llvm::any_of(op->getOperands(), [](Value operand) {
      Operation *source = operand.getDefiningOp();
      return isa_and_present<ReadSlotOp>(source) || (isMade(source) && comesOfSlot(source));
    });
  }

  SmallVector<std::pair<Value, Value>> versions;
};

} // namespace

// How many neighbours along K a lane may have: two, as `ldmatrix` brings them; as many as it has
// where an operand lies; and what reads rows of words without bank conflicts, or nearly.
static SmallVector<unsigned> neighboursToTry(tile::DotOp dot) {
  SmallVector<unsigned> counts = {2};
  for (unsigned number : {0u, 1u})
    if (auto step = layoutOf(dot->getOperand(number).getType()).bases(LayoutInput::Lane)[0];
        step[number] == 0 && step[1 - number])
      counts.push_back(unsigned(step[1 - number]));
  counts.append({8, 4});
  int64_t depth = tile::shapeOf(dot.getLhs().getType())[1];
  llvm::erase_if(counts, [&](unsigned count) { return 4 * count > depth; });
  return counts;
}

void computeOperandsInFragments(FunctionOpInterface kernel, unsigned warps) {
  constexpr unsigned wordBytes = 4, most = 64; // registers of an operand
  SmallVector<tile::DotOp> dots;
  kernel->walk([&](tile::DotOp dot) {
    auto instruction = dot->getAttrOfType<StringAttr>(instructionAttr);
    if (instruction && instruction.getValue() == "mma" && !dot->hasAttr(neighboursAttr) &&
        !dot->hasAttr(rowsTogetherAttr) && !dot->hasAttr(columnsTogetherAttr) &&
        tile::bytesInMemory(tile::elementType(dot.getLhs().getType())) == wordBytes)
      dots.push_back(dot);
  });
  Recompute recompute;
  auto computeInFragments = [&](tile::DotOp dot, unsigned count) {
    setNeighbours(dot, count);
    LinearLayout lhs = *fragmentsOf(dot, true, warps), rhs = *fragmentsOf(dot, false, warps);
    if (registersOf(lhs) > most || registersOf(rhs) > most ||
        !recompute.canMake(dot.getLhs(), lhs) || !recompute.canMake(dot.getRhs(), rhs)) {
      dot->removeAttr(neighboursAttr);
      return false;
    }
    Value left = recompute.make(dot.getLhs(), lhs), right = recompute.make(dot.getRhs(), rhs);
    dot->setOperand(0, left);
    dot->setOperand(1, right);
    return true;
  };
  for (tile::DotOp dot : dots) {
    if (slotOperand(dot.getLhs()) && slotOperand(dot.getRhs()))
      continue; // `ldmatrix` reads both where they lie
    auto counts = neighboursToTry(dot);
    llvm::any_of(ArrayRef<unsigned>{16, 8}, [&](unsigned bytes) {
      recompute.fewestBytes = bytes;
      return llvm::any_of(counts, [&](unsigned count) { return computeInFragments(dot, count); });
    });
  }
}

} // namespace nereid::gpu
