#include "cpu/Directions.h"

#include "ir/OpKinds.h"

using namespace mlir;

namespace nereid::cpu {

unsigned preferredDim(ArrayRef<int64_t> shape) {
  unsigned dim = shape.size() - 1;
  while (dim > 0 && shape[dim] == 1)
    --dim;
  return dim;
}

// A tile that lies in memory row by row.
static Directions ofRows(ArrayRef<int64_t> shape) {
  Directions out;
  unsigned last = preferredDim(shape);
  for (unsigned d = 0; d < shape.size(); ++d)
    if (shape[d] > 1)
      (d == last ? out.wanted : out.opposed) |= 1u << d;
  return out;
}

// True if lanes along a dimension of the result come from lanes along one of each operand.
static bool keepsDimensions(Operation *op) {
  return tile::isRepeat(op) || isa<tile::TransOp, tile::HintOp>(op) ||
         op->hasTrait<OpTrait::Elementwise>();
}

std::optional<unsigned> DirectionAnalysis::inOperand(Operation *op, Value operand, unsigned dim) {
  if (auto trans = dyn_cast<tile::TransOp>(op))
    return unsigned(trans.getPerm()[dim]);
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    unsigned axis = expand.getAxis();
    return dim == axis ? std::nullopt : std::optional<unsigned>(dim - (dim > axis));
  }
  auto from = tile::shapeOf(operand.getType()), to = tile::shapeOf(op->getResult(0).getType());
  if (!keepsDimensions(op) && !isa<tile::LoadOp>(op))
    return {};
  if (from.size() != to.size() || from[dim] != to[dim])
    return {};
  return dim;
}

Directions DirectionAnalysis::of(Value tile) const {
  if (!tile::isTile(tile))
    return {};
  if (isStored(tile) || !tile.getDefiningOp())
    return ofRows(tile::shapeOf(tile.getType()));
  if (auto found = known.find(tile); found != known.end())
    return found->second;
  Directions out = ofComputed(tile);
  known[tile] = out;
  return out;
}

Directions DirectionAnalysis::ofComputed(Value tile) const {
  Operation *op = tile.getDefiningOp();
  auto shape = tile::shapeOf(tile.getType());
  if (!op || shape.empty() || shape.size() > 32)
    return {};
  Directions out;
  auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
  if (access && tile::isTile(access.getAccessed())) {
    out = ofAccess(access.getAccessed());
  } else if (access || !(keepsDimensions(op) || llvm::none_of(op->getOperands(), tile::isTile))) {
    return ofRows(shape);
  }
  for (Value operand : op->getOperands()) {
    Directions there = of(operand);
    for (unsigned d = 0; d < shape.size(); ++d)
      if (auto from = tile::isTile(operand) ? inOperand(op, operand, d) : std::nullopt) {
        out.wanted |= (there.wanted >> *from & 1) << d;
        out.opposed |= (there.opposed >> *from & 1) << d;
      }
  }
  return out;
}

Directions DirectionAnalysis::ofAccess(Value pointers) const {
  auto shape = tile::shapeOf(pointers.getType());
  tile::AxisFacts facts = axes.facts(pointers);
  Directions out;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && facts.constancy[d] < shape[d])
      (facts.contiguity[d] > 1 ? out.wanted : out.opposed) |= 1u << d;
  return out;
}

unsigned DirectionAnalysis::choose(Directions directions, ArrayRef<int64_t> shape) {
  unsigned last = preferredDim(shape);
  if (!(directions.opposed >> last & 1))
    return last;
  for (unsigned d = last; d-- > 0;)
    if (shape[d] >= leastSide && (directions.wanted & ~directions.opposed) >> d & 1)
      return d;
  return last;
}

} // namespace nereid::cpu
