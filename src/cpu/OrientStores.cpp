#include "cpu/OrientStores.h"
#include "cpu/FusionPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Makes tiles of which two dimensions have changed places.
class Turning {
public:
  Turning(const DirectionAnalysis &directions, unsigned from, unsigned to)
      : directions(directions), from(from), to(to) {}

  Value turned(Value tile) {
    if (Value found = made.lookup(tile))
      return found;
    Value value = make(tile);
    made[tile] = value;
    return value;
  }

private:
  Type turnedType(Type type) const {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    std::swap(shape[from], shape[to]);
    return RankedTensorType::get(shape, tensor.getElementType());
  }

  // True if an op on turned operands replaces the op, or costs little.
  bool passesThrough(Operation *op) const {
    if (isa<tile::LoadOp>(op))
      return op->hasOneUse() && !cast<tile::LoadOp>(op).getIsVolatile();
    return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
           (isa<tile::BroadcastOp, tile::SplatOp>(op) || op->hasTrait<OpTrait::Elementwise>()) &&
           (op->hasOneUse() || !isCostly(op));
  }

  // What all lies across once it is turned is computed as it is, and turned over in one.
  bool liesAcross(Value tile) const {
    Directions there = directions.of(tile);
    return there.opposed >> from & 1 && there.wanted & ~there.opposed;
  }

  Value make(Value tile) {
    Operation *op = tile.getDefiningOp();
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    Location loc = tile.getLoc();
    auto shape = tile::shapeOf(tile.getType());
    Type type = turnedType(tile.getType());
    if (auto constant = dyn_cast_if_present<arith::ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        return b.create<arith::ConstantOp>(loc, splat.resizeSplat(cast<ShapedType>(type)));
    if (auto expand = dyn_cast_if_present<tile::ExpandDimsOp>(op); expand && shape.size() == 2)
      return b.create<tile::ExpandDimsOp>(loc, type, expand.getSource(), 1 - expand.getAxis());
    if (op && passesThrough(op) && !liesAcross(tile)) {
      IRMapping operands;
      for (Value operand : op->getOperands())
        if (tile::isTile(operand))
          operands.map(operand, turned(operand));
      Operation *copy = b.clone(*op, operands);
      copy->getResult(0).setType(type);
      return copy->getResult(0);
    }
    SmallVector<int32_t> perm;
    for (unsigned d = 0; d < shape.size(); ++d)
      perm.push_back(int32_t(d == from ? to : d == to ? from : d));
    return b.create<tile::TransOp>(loc, type, tile, perm);
  }

  const DirectionAnalysis &directions;
  unsigned from, to;
  llvm::DenseMap<Value, Value> made;
};

} // namespace

void orientStores(FunctionOpInterface kernel) {
  SmallVector<tile::StoreOp> stores;
  kernel->walk([&](tile::StoreOp store) {
    if (tile::isTile(store.getPointer()) && tile::shapeOf(store.getPointer().getType()).size() > 1)
      stores.push_back(store);
  });
  std::optional<analysis::AxisAnalysis> axes; // of the function as it is
  for (tile::StoreOp store : stores) {
    if (!axes)
      axes.emplace(kernel);
    DirectionAnalysis directions(*axes, [](Value tile) {
      Operation *op = tile.getDefiningOp();
      return !op || !isLazy(op);
    });
    auto shape = tile::shapeOf(store.getPointer().getType());
    unsigned last = preferredDim(shape);
    unsigned along = DirectionAnalysis::choose(directions.ofAccess(store.getPointer()), shape);
    if (along == last || shape[last] < DirectionAnalysis::leastSide)
      continue;
    // What is not used any more is left to the canonicalizer.
    Turning turning(directions, along, last);
    for (OpOperand &operand : store->getOpOperands())
      operand.set(turning.turned(operand.get()));
    axes.reset();
  }
}

} // namespace nereid::cpu
