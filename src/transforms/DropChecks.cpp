#include "transforms/DropChecks.h"

#include "ir/OnlyChecked.h"
#include "ir/TileOps.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

struct DropChecks : PassWrapper<DropChecks, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropChecks)

  StringRef getArgument() const final { return "tile-drop-checks"; }
  StringRef getDescription() const final { return "erase assertions of the interpreter alone"; }
  void runOnOperation() override {
    getOperation().walk([](tile::AssertOp check) {
      if (check->hasAttr(tile::onlyCheckedAttr))
        check.erase();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createDropChecksPass() { return std::make_unique<DropChecks>(); }

} // namespace nereid::transforms
