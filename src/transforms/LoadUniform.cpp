#include "transforms/LoadUniform.h"

#include "analysis/AxisAnalysis.h"
#include "transforms/TileElements.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// Whether every element is loaded from one address, or none is.
bool isUniform(tile::LoadOp load, const analysis::AxisAnalysis &axes) {
  return !load.getIsVolatile() && tile::isTile(load.getType()) &&
         llvm::all_of(load->getOperands(), [&](Value operand) {
           return ArrayRef(axes.facts(operand).constancy) == tile::shapeOf(operand.getType());
         });
}

void loadNumber(tile::LoadOp load) {
  OpBuilder b(load);
  TileElements elements(b, 0, [](Value) { return true; });
  auto element = [&](Value value) { return value ? elements.of(value) : Value(); };
  Value pointer = element(load.getPointer()), mask = element(load.getMask()),
        other = element(load.getOther());
  if (!pointer || !mask != !load.getMask() || !other != !load.getOther()) {
    for (Operation *op : llvm::reverse(elements.made))
      op->erase();
    return;
  }
  auto number =
      b.create<tile::LoadOp>(load.getLoc(), tile::elementType(load.getType()), pointer, mask, other,
                             load.getCache(), load.getEvict(), /*isVolatile=*/false);
  load.replaceAllUsesWith(
      b.create<tile::SplatOp>(load.getLoc(), load.getType(), number).getResult());
  load.erase();
}

struct LoadUniform : PassWrapper<LoadUniform, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoadUniform)

  StringRef getArgument() const final { return "tile-load-uniform"; }
  StringRef getDescription() const final {
    return "a number is loaded where all elements of a tile come from one address";
  }
  void runOnOperation() override {
    getOperation().walk([](FunctionOpInterface function) {
      analysis::AxisAnalysis axes(function);
      SmallVector<tile::LoadOp> loads;
      function.walk([&](tile::LoadOp load) {
        if (isUniform(load, axes))
          loads.push_back(load);
      });
      llvm::for_each(loads, loadNumber);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createLoadUniformPass() { return std::make_unique<LoadUniform>(); }

} // namespace nereid::transforms
