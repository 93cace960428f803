#include "transforms/TileElements.h"

#include "ir/OpKinds.h"
#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::transforms {

Value TileElements::constant(Location loc, TypedAttr value) {
  auto op = b.create<arith::ConstantOp>(loc, value);
  made.push_back(op);
  return op;
}

Value TileElements::of(Value value) {
  if (Value found = known.lookup(value))
    return found;
  bool isTile = tile::isTile(value.getType());
  if (!isTile && isGiven(value))
    return value;
  Operation *op = value.getDefiningOp();
  // Of a row another element than the first is that of a row as long.
  if (!op || op->getNumRegions() || op->getNumResults() != 1 ||
      (index && isTile && tile::shapeOf(value.getType()).size() != 1))
    return {};
  if (tile::isRepeat(op) || isCopy(op)) {
    Value source = op->getOperand(0);
    if (index && tile::isTile(source.getType()) &&
        tile::shapeOf(source.getType()) != tile::shapeOf(value.getType()))
      return {};
    return of(source);
  }
  Location loc = op->getLoc();
  if (auto range = dyn_cast<tile::ArangeOp>(op))
    return constant(loc, b.getI32IntegerAttr(int32_t(int32_t(range.getStart()) + index)));
  if (auto number = dyn_cast<arith::ConstantOp>(op); number && isTile) {
    auto splat = dyn_cast<SplatElementsAttr>(number.getValue());
    return splat ? constant(loc, splat.getSplatValue<TypedAttr>()) : Value();
  }
  if (!isMemoryEffectFree(op) || !isSpeculatable(op) ||
      (isTile && !op->hasTrait<OpTrait::Elementwise>()))
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(of(operand));
    if (!operands.back())
      return {};
  }
  OperationState state(loc, op->getName(), operands, {tile::elementType(value.getType())},
                       op->getAttrs());
  Operation *scalar = b.create(state);
  made.push_back(scalar);
  return known[value] = scalar->getResult(0);
}

} // namespace nereid::transforms
