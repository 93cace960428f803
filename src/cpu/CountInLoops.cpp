#include "cpu/CountInLoops.h"
#include "analysis/CombineOrder.h"
#include "cpu/FusionPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace nereid::cpu {

static bool sumsIntegers(tile::ReduceOp reduce) {
  Block &combine = reduce.getCombine().front();
  return reduce.getSources().size() == 1 && isa<arith::AddIOp>(combine.front()) &&
         analysis::commutes(combine);
}

static Value sumOf(OpBuilder &b, tile::ReduceOp reduce, Value source) {
  IRMapping map;
  map.map(reduce.getSources()[0], source);
  return b.clone(*reduce, map)->getResult(0);
}

// What a round adds to `argument`; null if it does something else.
static Value addedTo(scf::ForOp loop, BlockArgument argument) {
  auto sum = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp<arith::AddIOp>();
  if (!sum || !argument.hasOneUse() || !sum->hasOneUse() || sum->getParentOp() != loop ||
      (sum.getLhs() == argument) == (sum.getRhs() == argument))
    return {};
  return sum.getLhs() == argument ? sum.getRhs() : sum.getLhs();
}

static void sumInRounds(scf::ForOp loop) {
  // A smaller tile stays in the first cache: adding to it costs less than a sum across lanes.
  constexpr int64_t leastExtent = 64, leastBytes = 32 << 10;
  SmallVector<unsigned> found;
  for (auto [i, result] : llvm::enumerate(loop.getResults())) {
    auto reduce =
        result.hasOneUse() ? dyn_cast<tile::ReduceOp>(*result.getUsers().begin()) : nullptr;
    if (reduce && sumsIntegers(reduce) &&
        tile::shapeOf(result.getType())[reduce.getAxis()] >= leastExtent &&
        bufferBytes(result.getType()) >= leastBytes && addedTo(loop, loop.getRegionIterArg(i)))
      found.push_back(i);
  }
  if (found.empty())
    return;
  IRRewriter b(loop.getContext());
  b.setInsertionPoint(loop);
  SmallVector<Value> sums;
  for (unsigned i : found)
    sums.push_back(sumOf(b, cast<tile::ReduceOp>(*loop.getResult(i).getUsers().begin()),
                         loop.getInitArgs()[i]));
  auto more = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> carried) {
    SmallVector<Value> next;
    for (auto [i, before] : llvm::zip(found, carried)) {
      auto reduce = cast<tile::ReduceOp>(*loop.getResult(i).getUsers().begin());
      Value one = sumOf(b, reduce, addedTo(loop, loop.getRegionIterArg(i)));
      next.push_back(b.create<arith::AddIOp>(loc, before, one));
    }
    return next;
  };
  auto made = cast<scf::ForOp>(
      *loop.replaceWithAdditionalYields(b, sums, /*replaceInitOperandUsesInLoop=*/false, more));
  unsigned first = made.getNumResults() - found.size();
  for (auto [n, i] : llvm::enumerate(found)) {
    auto reduce = cast<tile::ReduceOp>(*made.getResult(i).getUsers().begin());
    reduce.getResult(0).replaceAllUsesWith(made.getResult(first + n));
    reduce.erase();
    // For canonicalisation to drop.
    made.getTiedLoopYieldedValue(made.getRegionIterArg(i))->set(made.getRegionIterArg(i));
  }
}

// True if a tile of truths is found by comparing numbers of up to 32 bits.
static bool comparesNarrow(Value truths) {
  Operation *op = truths.getDefiningOp();
  if (!op || isa<tile::LoadOp>(op))
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (isa<arith::CmpIOp, arith::CmpFOp>(op)) {
    Type type = tile::elementType(op->getOperand(0).getType());
    return type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 32;
  }
  return op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [](Value operand) {
           return !tile::elementType(operand.getType()).isInteger(1) || comparesNarrow(operand);
         });
}

static void countIn32Bits(tile::ReduceOp reduce) {
  Value source = reduce.getSources()[0];
  auto wide = source.getDefiningOp<arith::ExtUIOp>();
  if (!wide || !sumsIntegers(reduce) || !tile::elementType(source.getType()).isInteger(64) ||
      !tile::elementType(wide.getIn().getType()).isInteger(1) || !comparesNarrow(wide.getIn()))
    return;
  OpBuilder b(reduce);
  Type narrow = b.getI32Type();
  Value counted = b.create<arith::ExtUIOp>(
      wide.getLoc(), cast<RankedTensorType>(source.getType()).clone(narrow), wide.getIn());
  IRMapping map;
  map.map(source, counted);
  auto made = cast<tile::ReduceOp>(b.clone(*reduce, map));
  Type type = reduce.getResult(0).getType();
  auto tile = dyn_cast<RankedTensorType>(type);
  made.getResult(0).setType(tile ? tile.clone(narrow) : narrow);
  Block &combine = made.getCombine().front();
  for (BlockArgument argument : combine.getArguments())
    argument.setType(narrow);
  combine.front().getResult(0).setType(narrow);
  reduce.getResult(0).replaceAllUsesWith(
      b.create<arith::ExtUIOp>(reduce.getLoc(), type, made.getResult(0)));
  reduce.erase();
}

void countInLoops(FunctionOpInterface kernel) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    sumInRounds(loop);
  SmallVector<tile::ReduceOp> sums;
  kernel->walk([&](tile::ReduceOp reduce) { sums.push_back(reduce); });
  for (tile::ReduceOp reduce : sums)
    countIn32Bits(reduce);
}

} // namespace nereid::cpu
