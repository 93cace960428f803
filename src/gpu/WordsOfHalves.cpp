#include "gpu/WordsOfHalves.h"

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
  // True if the tile is computed of slots of halves, and else of little that has to move.
  bool canMake(Value tile, const LinearLayout &layout, bool isOperand = true) const {
    constexpr unsigned mostMoved = 16; // registers
    if (layoutOf(tile.getType()) == layout)
      return !isOperand;
    Operation *op = tile.getDefiningOp();
    if (isa_and_present<ReadSlotOp>(op) && layout.rank() == 2)
      return SharedOperand::fragmentsAlong(layout) &&
             tile::bytesInMemory(tile::elementType(tile.getType())) == 2;
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

void computeWordsInFragments(FunctionOpInterface kernel, unsigned warps) {
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
  for (tile::DotOp dot : dots) {
    dot->setAttr(neighboursAttr, UnitAttr::get(dot.getContext()));
    LinearLayout lhs = *fragmentsOf(dot, true, warps), rhs = *fragmentsOf(dot, false, warps);
    if (registersOf(lhs) > most || registersOf(rhs) > most ||
        !recompute.canMake(dot.getLhs(), lhs) || !recompute.canMake(dot.getRhs(), rhs)) {
      dot->removeAttr(neighboursAttr);
      continue;
    }
    Value left = recompute.make(dot.getLhs(), lhs), right = recompute.make(dot.getRhs(), rhs);
    dot->setOperand(0, left);
    dot->setOperand(1, right);
  }
}

} // namespace nereid::gpu
