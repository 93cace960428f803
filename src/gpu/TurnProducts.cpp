#include "gpu/TurnProducts.h"

#include "analysis/AxisAnalysis.h"
#include "gpu/ProductLayouts.h"
#include "gpu/Rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

RankedTensorType turnedType(Type type) {
  auto tile = cast<RankedTensorType>(type);
  return RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)}, tile.getElementType());
}

Value turned(OpBuilder &b, Value tile) {
  if (auto trans = tile.getDefiningOp<tile::TransOp>())
    return trans.getSource();
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>())
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return b.create<arith::ConstantOp>(tile.getLoc(),
                                         splat.resizeSplat(turnedType(tile.getType())));
  return b.create<tile::TransOp>(tile.getLoc(), turnedType(tile.getType()), tile,
                                 ArrayRef<int32_t>{1, 0});
}

class Turner {
public:
  Turner(FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps)
      : kernel(kernel), chip(chip), warps(warps), axes(kernel) {}

  void run() {
    SmallVector<tile::DotOp> toTurn, toMark;
    kernel->walk([&](tile::DotOp dot) {
      auto kind = tensorCoreKind(dot, chip);
      if (!kind || kind->bytes != 4 || tile::shapeOf(dot.getType()).size() != 2 || !isAlone(dot) ||
          !isSumOfLoop(dot))
        return;
      auto left = alongOf(dot, dot.getLhs()), right = alongOf(dot, dot.getRhs());
      if (left == 1u && right == 1u && fits(dot, /*isTurned=*/true)) {
        toTurn.push_back(dot);
      } else if (isForWarpGroups(dot)) {
        if (left == 0u && fits(dot, /*isTurned=*/false))
          toMark.push_back(dot);
      } else {
        if (left == 0u)
          dot->setAttr(rowsTogetherAttr, UnitAttr::get(dot.getContext()));
        if (right == 1u)
          dot->setAttr(columnsTogetherAttr, UnitAttr::get(dot.getContext()));
      }
    });
    for (tile::DotOp dot : toTurn)
      toMark.push_back(turn(dot));
    for (tile::DotOp dot : toMark)
      dot->setAttr(rowsTogetherAttr, UnitAttr::get(dot.getContext()));
  }

private:
  // Registers of several products that are in flight at once would have to be waited for in turn.
  static bool isAlone(tile::DotOp dot) {
    return llvm::hasSingleElement(dot->getBlock()->getOps<tile::DotOp>());
  }

  // The dimension along which an operand that is loaded beside its product lies in memory.
  std::optional<unsigned> alongOf(tile::DotOp dot, Value operand) {
    auto source = untransposed(operand);
    Operation *load = source ? source->first.getDefiningOp() : nullptr;
    if (!load || load->getBlock() != dot->getBlock())
      return std::nullopt;
    unsigned dim = 1;
    if (auto plain = dyn_cast<tile::LoadOp>(load)) {
      tile::AxisFacts facts = axes.facts(plain.getPointer());
      if (facts.contiguity[0] == facts.contiguity[1])
        return std::nullopt;
      dim = facts.contiguity[1] > facts.contiguity[0] ? 1 : 0;
    } else if (!isa<tile::DescLoadOp>(load)) {
      return std::nullopt;
    }
    return source->second ? 1 - dim : dim;
  }

  // A sum that a loop carries and nobody looks at before the loop ends: it is turned over once.
  static bool isSumOfLoop(tile::DotOp dot) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    auto sum = dyn_cast<BlockArgument>(dot.getAcc());
    return loop && sum && sum.getOwner() == loop.getBody() && sum.getArgNumber() &&
           sum.hasOneUse() && dot->hasOneUse() &&
           loop.getBody()->getTerminator()->getOperand(sum.getArgNumber() - 1) == dot.getResult() &&
           !isCut(loop.getResult(sum.getArgNumber() - 1));
  }
  // True for what is taken to pieces of columns, which a thread has side by side in its registers
  // if the product stays as it is.
  static bool isCut(Value tile) {
    return llvm::any_of(tile.getUsers(), [](Operation *user) {
      return isa<tile::ReshapeOp>(user) ||
             (user->hasTrait<OpTrait::Elementwise>() && isCut(user->getResult(0)));
    });
  }

  std::optional<LinearLayout> wordsOf(tile::DotOp dot, bool isTurned) {
    auto sum = tile::shapeOf(dot.getType());
    int64_t m = sum[isTurned ? 1 : 0], n = sum[isTurned ? 0 : 1];
    if (!chip.can(target::Wgmma))
      return std::nullopt;
    return wgmmaLhs({m, tile::shapeOf(dot.getLhs().getType())[1]}, n, warps, /*bytes=*/4);
  }
  bool isForWarpGroups(tile::DotOp dot) { return wordsOf(dot, false).has_value(); }
  // The left operand's words have to fit beside the sum.
  bool fits(tile::DotOp dot, bool isTurned) {
    constexpr unsigned most = 64;
    auto words = wordsOf(dot, isTurned);
    return words && registersOf(*words) <= most;
  }

  tile::DotOp turn(tile::DotOp dot) {
    auto loop = cast<scf::ForOp>(dot->getParentOp());
    auto sum = cast<BlockArgument>(dot.getAcc());
    unsigned i = sum.getArgNumber() - 1;
    OpBuilder b(loop);
    Value init = turned(b, loop.getInitArgs()[i]);
    loop.getInitArgsMutable()[i].assign(init);
    Type type = init.getType();
    sum.setType(type);
    Value result = loop.getResult(i);
    b.setInsertionPointAfter(loop);
    auto back =
        b.create<tile::TransOp>(loop.getLoc(), result.getType(), result, ArrayRef<int32_t>{1, 0});
    result.setType(type);
    result.replaceAllUsesExcept(back, back);
    b.setInsertionPoint(dot);
    Value left = turned(b, dot.getRhs()), right = turned(b, dot.getLhs());
    dot.getLhsMutable().assign(left);
    dot.getRhsMutable().assign(right);
    dot.getResult().setType(cast<RankedTensorType>(type));
    return dot;
  }

  FunctionOpInterface kernel;
  const target::GpuChip &chip;
  unsigned warps;
  analysis::AxisAnalysis axes;
};

} // namespace

void turnProducts(FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps) {
  Turner(kernel, chip, warps).run();
}

} // namespace nereid::gpu
