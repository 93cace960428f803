#include "gpu/TileVersions.h"

#include "gpu/LayoutFlow.h"
#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"
#include "ir/OpKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nereid::gpu {

void TileVersions::add(Value old, Value now) {
  if (tile::isTile(now))
    scopes.back()[old].push_back({layoutOf(now.getType()), now});
  else
    scalars.map(old, now);
}

const TileVersions::Version *TileVersions::find(Value old, const LinearLayout *layout) const {
  for (const Scope &scope : llvm::reverse(scopes))
    if (auto found = scope.find(old); found != scope.end())
      for (const Version &version : found->second)
        if (!layout || version.layout == *layout)
          return &version;
  return nullptr;
}

// The first version is the one that its op made; others come behind it, in inner scopes.
const TileVersions::Version *TileVersions::ownVersion(Value old) const {
  for (const Scope &scope : scopes)
    if (auto found = scope.find(old); found != scope.end())
      return &found->second.front();
  return nullptr;
}

std::optional<LinearLayout> TileVersions::ownLayout(Value old) const {
  const Version *own = isRecomputed(old) ? nullptr : ownVersion(old);
  return own ? std::optional(own->layout) : std::nullopt;
}

Value TileVersions::require(Value old, const LinearLayout &layout) {
  if (!tile::isTile(old))
    return scalars.lookup(old);
  if (const Version *version = find(old, &layout))
    return version->value;
  auto movedFrom = [&](Value version) {
    return b.create<ConvertLayoutOp>(old.getLoc(), withLayout(old.getType(), layout), version);
  };
  Value now;
  if (auto once = layoutOfDear(old, layout))
    now = movedFrom(require(old, *once));
  else if (isRecomputed(old) || movesBefore(old, layout) || movesBeforeLoop(old, layout))
    now = recompute(cast<OpResult>(old), layout);
  else
    now = movedFrom(ownVersion(old)->value);
  add(old, now);
  return now;
}

Value TileVersions::requireFromSlot(Value old, const LinearLayout &layout) {
  auto trans = old.getDefiningOp<tile::TransOp>();
  if (!trans || find(old, &layout))
    return require(old, layout);
  Value now = recompute(cast<OpResult>(old), layout);
  add(old, now);
  return now;
}

// A tile that was made wider moves as it was before: half the bytes or less.
bool TileVersions::movesBefore(Value old, const LinearLayout &layout) const {
  constexpr unsigned mostCopies = 4; // of what is computed, for what does not move
  Operation *op = old.getDefiningOp();
  if (!op || !isCast(op) || !isPure(op) || !tile::isTile(op->getOperand(0)))
    return false;
  auto bytes = [](Value tile) {
    Type element = tile::elementType(tile.getType());
    return element.isIntOrFloat() ? tile::bytesInMemory(element) : 0;
  };
  auto own = ownLayout(old);
  return bytes(op->getOperand(0)) < bytes(old) && own &&
         registersOf(layout) <= mostCopies * registersOf(*own);
}

// What a loop computes of one tile from outside of it, and of numbers, is computed again of that
// tile, which moves once (scales of rows: a step begins with pointers and its number).
bool TileVersions::movesBeforeLoop(Value old, const LinearLayout &layout) const {
  constexpr unsigned most = 64; // bytes a thread, for the loop to keep
  Operation *op = old.getDefiningOp();
  auto loop = op ? op->getParentOfType<LoopLikeOpInterface>() : nullptr;
  if (!loop || !op->hasTrait<OpTrait::Elementwise>() || !isPure(op) || op->getNumResults() != 1)
    return false;
  Value outer;
  for (Value operand : op->getOperands()) {
    if (!tile::isTile(operand) || isRecomputed(operand))
      continue;
    if (outer || !loop.isDefinedOutsideOfLoop(operand) || !ownLayout(operand))
      return false;
    outer = operand;
  }
  return outer &&
         registersOf(layout) * tile::bytesInMemory(tile::elementType(outer.getType())) <= most;
}

// A quotient by a number that the code does not know takes some twenty instructions, a function of
// floats ten. Where each thread would compute many copies of an element, threads compute it once
// and the results move; functions only where what they are of would move instead.
std::optional<LinearLayout> TileVersions::layoutOfDear(Value old,
                                                       const LinearLayout &layout) const {
  constexpr unsigned mostCopies = 8; // of what is computed, for what does not move
  if (!isRecomputed(old))
    return std::nullopt;
  Operation *op = old.getDefiningOp();
  bool isQuotient = tile::isDivision(op) && !matchPattern(op->getOperand(1), m_Constant());
  bool isFunction = isa<math::MathDialect>(op->getDialect()) || isa<tile::ExternOp>(op);
  if (!isQuotient && !(isFunction && moves(old, layout)))
    return std::nullopt;
  LinearLayout once = accesses.ofShape(tile::shapeOf(old.getType()));
  return registersOf(layout) > mostCopies * registersOf(once) ? std::optional(once) : std::nullopt;
}

// True if a tile moves between threads for this one to lie so.
bool TileVersions::moves(Value old, const LinearLayout &layout) const {
  if (!tile::isTile(old) || find(old, &layout))
    return false;
  if (!isRecomputed(old))
    return true;
  auto result = cast<OpResult>(old);
  Operation *op = result.getOwner();
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    auto wanted = tile::isTile(operand.get())
                      ? backward(op, result.getResultNumber(), layout, operand.getOperandNumber())
                      : std::nullopt;
    return wanted && moves(operand.get(), *wanted);
  });
}

// Emits the op again with a result in `layout`.
Value TileVersions::recompute(OpResult old, const LinearLayout &layout) {
  Operation *op = old.getOwner();
  IRMapping mapping;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!tile::isTile(operand)) {
      mapping.map(operand, scalars.lookup(operand));
      continue;
    }
    auto wanted = backward(op, old.getResultNumber(), layout, unsigned(i));
    mapping.map(
        operand,
        require(operand, wanted ? *wanted : accesses.ofShape(tile::shapeOf(operand.getType()))));
  }
  return cloneWith(op, mapping, layout)->getResult(old.getResultNumber());
}

Operation *TileVersions::cloneWith(Operation *op, IRMapping &mapping, const LinearLayout &layout) {
  Operation *copy = b.clone(*op, mapping);
  for (OpResult result : copy->getResults())
    if (tile::isTile(result))
      result.setType(withLayout(result.getType(), layout));
  if (auto constant = dyn_cast<arith::ConstantOp>(copy)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    auto type = cast<ShapedType>(constant.getType());
    constant.setValueAttr(dense.isSplat()
                              ? dense.resizeSplat(type)
                              : DenseElementsAttr::getFromRawBuffer(type, dense.getRawData()));
  }
  return copy;
}

bool TileVersions::tryRecompute(Operation *op) {
  auto cost = costToRecompute(op);
  if (cost)
    for (Value result : op->getResults())
      costs[result] = *cost;
  return cost.has_value();
}

// What is made of numbers alone is computed where it is wanted, unless that is a lot. So is what
// repeats a smaller tile: moving that tile costs less than moving all its copies (the pointers of a
// page table: 1194 us with copies, 250 without).
std::optional<unsigned> TileVersions::costToRecompute(Operation *op) const {
  constexpr unsigned most = 24, repeatedShare = 4;
  if (op->getNumRegions() || !isPure(op) || op->getNumResults() == 0 ||
      !llvm::all_of(op->getResults(), [](Value v) { return tile::isTile(v); }))
    return std::nullopt;
  bool fromNothing = llvm::none_of(op->getOperands(), [](Value v) { return tile::isTile(v); });
  if (!fromNothing && !keepsLayout(op) && !isa<tile::LayoutOpInterface>(op))
    return std::nullopt;
  // An op that can't say where its operands lie is emitted once.
  if (isa<tile::JoinOp, tile::SplitOp, tile::CatOp, tile::GatherOp, tile::DotOp>(op))
    return std::nullopt;
  unsigned cost = 1;
  bool repeats = isa<tile::ExpandDimsOp, tile::BroadcastOp>(op);
  for (Value operand : op->getOperands()) {
    if (!tile::isTile(operand) || (repeats && ownLayout(operand)))
      continue;
    if (!isRecomputed(operand))
      return std::nullopt;
    // A thread has fewer elements of a tile than copies of them.
    unsigned share = isa<tile::BroadcastOp>(op) ? repeatedShare : 1;
    cost += unsigned(llvm::divideCeil(costs.lookup(operand), share));
  }
  return cost > most ? std::nullopt : std::optional(cost);
}

} // namespace nereid::gpu
