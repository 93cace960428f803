#include "gpu/LayoutFlow.h"

#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

#include <deque>

using namespace mlir;

namespace nereid::gpu {

bool isCast(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 1;
}

bool keepsLayout(Operation *op) {
  auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
  return op->hasTrait<OpTrait::Elementwise>() || (access && tile::isTile(access.getAccessed()));
}

bool isOnlyStored(Value value, int64_t warpBits) {
  auto keepsCopies = [&](tile::StoreOp store) {
    auto type = dyn_cast<RankedTensorType>(store.getPointer().getType());
    return !type ||
           llvm::all_of(llvm::enumerate(layoutOf(type).bases(LayoutInput::Warp)), [&](auto basis) {
             return !(warpBits >> basis.index() & 1) || isZero(basis.value());
           });
  };
  llvm::SmallSetVector<Value, 8> values;
  values.insert(value);
  for (unsigned i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto store = dyn_cast<tile::StoreOp>(user)) {
        if (&use != &store.getValueMutable() || !keepsCopies(store))
          return false;
        continue;
      }
      if (!isPure(user) || user->getNumRegions() ||
          !(user->hasTrait<OpTrait::Elementwise>() || isa<tile::ExpandDimsOp>(user)))
        return false;
      values.insert(user->result_begin(), user->result_end());
    }
  return true;
}

std::optional<LinearLayout> backward(Operation *op, unsigned result, const LinearLayout &layout,
                                     unsigned operand) {
  if (keepsLayout(op))
    return layout;
  auto transfer = dyn_cast<tile::LayoutOpInterface>(op);
  return transfer ? transfer.backwardLayout(result, layout, operand) : std::nullopt;
}

std::optional<LinearLayout> forward(Operation *op, unsigned operand, const LinearLayout &layout,
                                    unsigned result, unsigned warps) {
  if (keepsLayout(op))
    return layout;
  auto transfer = dyn_cast<tile::LayoutOpInterface>(op);
  if (!transfer)
    return std::nullopt;
  auto out = transfer.forwardLayout(operand, layout, result);
  constexpr int64_t mostCopies = 4;
  if (out && isa<tile::BroadcastOp>(op)) {
    auto type = cast<ShapedType>(op->getResult(result).getType());
    int64_t share = type.getNumElements() / (int64_t(warps) * lanesPerWarp);
    if (registersOf(*out) > mostCopies * std::max<int64_t>(share, 1))
      return std::nullopt;
  }
  return out;
}

llvm::DenseMap<Value, Operation *> nearestOrigins(FunctionOpInterface kernel,
                                                  llvm::function_ref<bool(Operation *)> isOrigin) {
  llvm::DenseMap<Value, Operation *> origins;
  std::deque<Value> reached; // nearest first
  auto reach = [&](Value tile, Operation *origin) {
    if (tile::isTile(tile) && origins.try_emplace(tile, origin).second)
      reached.push_back(tile);
  };
  kernel->walk([&](Operation *op) {
    if (isOrigin(op))
      for (Value result : op->getResults())
        reach(result, op);
  });
  for (; !reached.empty(); reached.pop_front()) {
    Operation *origin = origins.lookup(reached.front());
    for (OpOperand &use : reached.front().getUses()) {
      Operation *user = use.getOwner();
      auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
      if (loop && isa<scf::YieldOp>(user)) {
        reach(loop.getResult(use.getOperandNumber()), origin);
        reach(loop.getRegionIterArg(use.getOperandNumber()), origin);
      } else if (user->hasTrait<OpTrait::Elementwise>()) {
        for (Value result : user->getResults())
          reach(result, origin);
      }
    }
  }
  return origins;
}

} // namespace nereid::gpu
