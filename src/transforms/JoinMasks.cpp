#include "transforms/JoinMasks.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

bool isMask(arith::AndIOp op) {
  return tile::isTile(op.getType()) && tile::elementType(op.getType()).isInteger(1);
}

// What a chain of `and`s that nobody else reads is made of.
void collect(Value value, bool isRoot, SmallVectorImpl<Value> &parts) {
  auto op = value.getDefiningOp<arith::AndIOp>();
  if (!op || !(isRoot || op->hasOneUse()))
    return parts.push_back(value);
  collect(op.getLhs(), false, parts);
  collect(op.getRhs(), false, parts);
}

bool isInChain(arith::AndIOp op) {
  return op->hasOneUse() && isa<arith::AndIOp>(*op->user_begin());
}

void join(arith::AndIOp root) {
  SmallVector<Value> parts;
  collect(root, true, parts);
  // In the order in which shapes are first met; what is not broadcast stays behind.
  llvm::MapVector<Type, SmallVector<Value>> bySource;
  SmallVector<Value> others;
  for (Value part : parts) {
    if (auto broadcast = part.getDefiningOp<tile::BroadcastOp>())
      bySource[broadcast.getSource().getType()].push_back(broadcast.getSource());
    else
      others.push_back(part);
  }
  if (llvm::all_of(bySource, [](const auto &group) { return group.second.size() < 2; }))
    return;
  OpBuilder b(root);
  Location loc = root.getLoc();
  auto meet = [&](Value all, Value one) {
    return all ? b.create<arith::AndIOp>(loc, all, one).getResult() : one;
  };
  Value mask;
  for (auto &[source, group] : bySource) {
    Value all;
    for (Value one : group)
      all = meet(all, one);
    mask = meet(mask, b.create<tile::BroadcastOp>(loc, root.getType(), all));
  }
  for (Value other : others)
    mask = meet(mask, other);
  root.replaceAllUsesWith(mask);
}

struct JoinMasks : PassWrapper<JoinMasks, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JoinMasks)

  StringRef getArgument() const final { return "tile-join-masks"; }
  StringRef getDescription() const final { return "masks of rows meet before they are broadcast"; }
  void runOnOperation() override {
    SmallVector<arith::AndIOp> roots;
    getOperation().walk([&](arith::AndIOp op) {
      if (isMask(op) && !isInChain(op))
        roots.push_back(op);
    });
    for (arith::AndIOp root : roots)
      join(root);
  }
};

} // namespace

std::unique_ptr<Pass> createJoinMasksPass() { return std::make_unique<JoinMasks>(); }

} // namespace nereid::transforms
