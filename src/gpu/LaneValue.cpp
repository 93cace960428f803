#include "gpu/LaneValue.h"

#include "gpu/RegisterEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::gpu {

static Attribute constantInLane(Value value, unsigned lane, const RegisterEmitter &emitter) {
  OpBuilder b(value.getContext());
  if (value == emitter.lane || value == emitter.thread)
    return b.getI32IntegerAttr(int32_t(lane));
  if (value == emitter.warp)
    return b.getI32IntegerAttr(0);
  Attribute known;
  if (matchPattern(value, m_Constant(&known)))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || !op->getNumOperands())
    return {};
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(constantInLane(operand, lane, emitter));
    if (!operands.back())
      return {};
  }
  // Folding with these operands leaves the op as it is: only the result is asked for.
  SmallVector<OpFoldResult> results;
  Operation *copy = op->clone();
  bool isFolded = succeeded(copy->fold(operands, results)) && results.size() == 1;
  copy->destroy();
  if (!isFolded)
    return {};
  if (auto same = dyn_cast<Value>(results[0]))
    return constantInLane(same, lane, emitter);
  return cast<Attribute>(results[0]);
}

std::optional<int64_t> valueInLane(Value value, unsigned lane, const RegisterEmitter &emitter) {
  auto number = dyn_cast_or_null<IntegerAttr>(constantInLane(value, lane, emitter));
  return number ? std::optional(number.getInt()) : std::nullopt;
}

} // namespace nereid::gpu
