#include "transforms/UniformSteps.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// What all elements of a tile are, or null.
Value uniform(OpBuilder &b, Value tile) {
  if (auto splat = tile.getDefiningOp<tile::SplatOp>())
    return splat->getOperand(0);
  DenseElementsAttr value;
  if (matchPattern(tile, m_Constant(&value)) && value.isSplat())
    return b.create<arith::ConstantOp>(tile.getLoc(), value.getSplatValue<TypedAttr>());
  return {};
}

// How far `next` lies from `from`, in steps that are the same for all elements.
struct Step {
  Value tile; ///< uniform
  bool isUnsigned;
};
bool stepsBetween(Value from, Value next, SmallVectorImpl<Step> &steps) {
  while (next != from) {
    auto isUniform = [](Value tile) {
      DenseElementsAttr value;
      return tile.getDefiningOp<tile::SplatOp>() ||
             (matchPattern(tile, m_Constant(&value)) && value.isSplat());
    };
    if (auto add = next.getDefiningOp<tile::AddPtrOp>(); add && isUniform(add.getOffset())) {
      steps.push_back({add.getOffset(), add.getIsUnsigned()});
      next = add.getPointer();
    } else if (auto add = next.getDefiningOp<arith::AddIOp>()) {
      bool second = isUniform(add.getRhs());
      if (!second && !isUniform(add.getLhs()))
        return false;
      steps.push_back({second ? add.getRhs() : add.getLhs(), false});
      next = second ? add.getLhs() : add.getRhs();
    } else {
      return false;
    }
  }
  return !steps.empty();
}

Value moved(OpBuilder &b, Location loc, Value init, Value offset) {
  auto type = cast<RankedTensorType>(init.getType());
  Value tile = b.create<tile::SplatOp>(
      loc, RankedTensorType::get(type.getShape(), offset.getType()), offset);
  if (isa<tile::PtrType>(type.getElementType()))
    return b.create<tile::AddPtrOp>(loc, type, init, tile, /*isUnsigned=*/false);
  return b.create<arith::AddIOp>(loc, init, tile);
}

void rewrite(scf::ForOp loop, llvm::function_ref<bool(Value)> isWanted) {
  IRRewriter b(loop.getContext());
  struct Carried {
    unsigned index;
    SmallVector<Step> steps;
    Type offset;
  };
  SmallVector<Carried> found;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    Carried carried{unsigned(i), {}, {}};
    if (!type || (isWanted && !isWanted(loop.getInitArgs()[i])) ||
        !stepsBetween(argument, yield.getOperand(i), carried.steps))
      continue;
    bool pointers = isa<tile::PtrType>(type.getElementType());
    carried.offset = pointers ? b.getI64Type() : type.getElementType();
    found.push_back(std::move(carried));
  }
  if (found.empty())
    return;

  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  SmallVector<Value> zeros;
  for (Carried &carried : found)
    zeros.push_back(b.create<arith::ConstantOp>(loc, b.getZeroAttr(carried.offset)));
  auto next = [&](OpBuilder &at, Location, ArrayRef<BlockArgument> offsets) {
    SmallVector<Value> yielded;
    for (auto [carried, offset] : llvm::zip(found, offsets)) {
      Value sum = offset;
      for (const Step &step : carried.steps) {
        Value by = uniform(at, step.tile);
        if (by.getType() != carried.offset)
          by = step.isUnsigned ? at.create<arith::ExtUIOp>(loc, carried.offset, by).getResult()
                               : at.create<arith::ExtSIOp>(loc, carried.offset, by).getResult();
        sum = at.create<arith::AddIOp>(loc, sum, by);
      }
      yielded.push_back(sum);
    }
    return yielded;
  };
  unsigned before = loop.getNumResults();
  auto replaced = loop.replaceWithAdditionalYields(b, zeros,
                                                   /*replaceInitOperandUsesInLoop=*/false, next);
  auto made = cast<scf::ForOp>(replaced->getOperation());
  for (auto [i, carried] : llvm::enumerate(found)) {
    Value init = made.getInitArgs()[carried.index];
    BlockArgument argument = made.getRegionIterArg(carried.index);
    b.setInsertionPointToStart(made.getBody());
    b.replaceAllUsesWith(argument, moved(b, loc, init, made.getRegionIterArg(before + i)));
    made.getBody()->getTerminator()->setOperand(carried.index, argument);
    b.setInsertionPointAfter(made);
    b.replaceAllUsesWith(made.getResult(carried.index),
                         moved(b, loc, init, made.getResult(before + i)));
  }
}

} // namespace

void carryOffsets(FunctionOpInterface kernel, llvm::function_ref<bool(Value)> isWanted) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    rewrite(loop, isWanted);
}

bool isMadeOfNumbers(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  if (!type)
    return true;
  Operation *op = tile.getDefiningOp();
  if (!op || !isa<IntegerType>(type.getElementType()))
    return false;
  if (isa<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  if (isa<tile::ArangeOp, tile::SplatOp>(op))
    return true;
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, tile::ExpandDimsOp, tile::BroadcastOp>(
             op) &&
         llvm::all_of(op->getOperands(), [](Value operand) { return isMadeOfNumbers(operand); });
}

} // namespace nereid::transforms
