#include "transforms/DropUnitDims.h"

#include "ir/TileOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// True if `shape` is the end of `block`, before which that is 1 everywhere. The order of elements
// is the same.
bool isEndOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> block) {
  return !shape.empty() && shape.size() < block.size() && block.take_back(shape.size()) == shape &&
         llvm::all_of(block.drop_back(shape.size()), [](int64_t extent) { return extent == 1; });
}

// All users make the same tile of the block.
void dropFromLoad(tile::DescLoadOp load) {
  Type wanted;
  for (Operation *user : load->getUsers()) {
    auto reshape = dyn_cast<tile::ReshapeOp>(user);
    if (!reshape || (wanted && wanted != reshape.getType()))
      return;
    wanted = reshape.getType();
  }
  if (!wanted || !isEndOf(tile::shapeOf(wanted), tile::shapeOf(load.getType())))
    return;
  for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
    user->getResult(0).replaceAllUsesWith(load.getResult());
    user->erase();
  }
  load.getResult().setType(cast<RankedTensorType>(wanted));
}

// A conversion of each element, for this use alone.
bool isConversion(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() && isPure(op) && op->getNumOperands() == 1 &&
         op->getNumResults() == 1 && op->hasOneUse();
}

// What the block was before dimensions were added; conversions behind that are made of it.
template <typename Op> void dropFromStore(Op store) {
  Value value = store.getValue();
  ArrayRef<int64_t> block = tile::shapeOf(value.getType());
  SmallVector<Operation *> conversions;
  for (Operation *op = value.getDefiningOp(); op && isConversion(op); op = value.getDefiningOp()) {
    conversions.push_back(op);
    value = op->getOperand(0);
  }
  bool isDropped = false;
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tile::ReshapeOp, tile::ExpandDimsOp>(op) ||
        !isEndOf(tile::shapeOf(op->getOperand(0).getType()), block))
      break;
    value = op->getOperand(0);
    isDropped = true;
  }
  if (!isDropped)
    return;
  ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
  OpBuilder b(store);
  for (Operation *op : llvm::reverse(conversions)) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), value);
    Operation *copy = b.clone(*op, mapping);
    value = copy->getResult(0);
    value.setType(RankedTensorType::get(shape, tile::elementType(value.getType())));
  }
  store.getValueMutable().assign(value);
}

struct DropUnitDims : PassWrapper<DropUnitDims, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropUnitDims)

  StringRef getArgument() const final { return "tile-drop-unit-dims"; }
  StringRef getDescription() const final { return "blocks of descriptors are the tiles they hold"; }
  void runOnOperation() override {
    SmallVector<tile::DescLoadOp> loads;
    getOperation().walk([&](Operation *op) {
      if (auto load = dyn_cast<tile::DescLoadOp>(op))
        loads.push_back(load);
      else if (auto store = dyn_cast<tile::DescStoreOp>(op))
        dropFromStore(store);
      else if (auto reduce = dyn_cast<tile::DescReduceOp>(op))
        dropFromStore(reduce);
    });
    for (tile::DescLoadOp load : loads)
      dropFromLoad(load);
  }
};

} // namespace

std::unique_ptr<Pass> createDropUnitDimsPass() { return std::make_unique<DropUnitDims>(); }

} // namespace nereid::transforms
