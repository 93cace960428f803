#include "gpu/BulkLoads.h"

#include "gpu/BulkCopies.h"
#include "gpu/Residents.h"
#include "gpu/Rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// True if a product takes it as it is: it would read the slot where that lies, which is given back
// by then.
bool isOperand(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation *user) {
    return isa<tile::DotOp>(user) ||
           (isa<tile::TransOp, ConvertLayoutOp>(user) && isOperand(user->getResult(0)));
  });
}

bool canBeBulk(tile::DescLoadOp load, const target::GpuChip &chip) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  auto desc = cast<tile::DescType>(load.getDesc().getType());
  return type && type.getRank() == 2 && !desc.getPaddingIsNan() && !isOperand(load) &&
         canCopyInBulk(load.getDesc(), type, chip);
}

// Loads that follow one another with nothing between that others see, and whose addresses are
// known where the first one stands.
SmallVector<SmallVector<tile::DescLoadOp>> groupsOf(Block &block, const target::GpuChip &chip) {
  SmallVector<SmallVector<tile::DescLoadOp>> groups;
  Operation *first = nullptr;
  auto isKnown = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || op->getBlock() != &block || op->isBeforeInBlock(first);
  };
  for (Operation &op : block) {
    if (auto load = dyn_cast<tile::DescLoadOp>(op); load && canBeBulk(load, chip)) {
      if (!first || !llvm::all_of(op.getOperands(), isKnown)) {
        groups.emplace_back();
        first = load;
      }
      groups.back().push_back(load);
    } else if (!isMemoryEffectFree(&op)) {
      first = nullptr;
    }
  }
  return groups;
}

void loadTogether(SmallVector<tile::DescLoadOp> loads) {
  OpBuilder b(loads.front());
  Location loc = loads.front().getLoc();
  Value zero = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(0)),
        always = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
  SmallVector<Value> rings;
  uint64_t bytes = 0;
  for (tile::DescLoadOp load : loads) {
    auto type = cast<RankedTensorType>(load.getType());
    rings.push_back(b.create<RingOp>(loc, RingType::get(b.getContext(), 1, type)));
    bytes += transferredBytes(type);
  }
  Value arrivals = b.create<ArrivalsOp>(loc, ArrivalsType::get(b.getContext(), 1));
  b.create<ExpectBulkOp>(loc, arrivals, zero, uint32_t(bytes), always);
  for (auto [load, ring] : llvm::zip(loads, rings))
    b.create<CopyBulkOp>(load.getLoc(), ring, zero, load.getDesc(), load.getOffsets(), arrivals,
                         always);
  b.create<WaitBulkOp>(loc, arrivals, zero, zero);
  for (auto [load, ring] : llvm::zip(loads, rings)) {
    Value read = b.create<ReadSlotOp>(load.getLoc(), load.getType(), ring, zero);
    load.getResult().replaceAllUsesWith(read);
  }
  rings.push_back(arrivals);
  b.create<DrainOp>(loc, rings);
  for (tile::DescLoadOp load : loads)
    load.erase();
}

} // namespace

void loadBlocksInBulk(FunctionOpInterface kernel, const target::GpuChip &chip) {
  if (!hasWgmma(kernel))
    return;
  for (auto &loads : groupsOf(kernel.getFunctionBody().front(), chip))
    loadTogether(loads);
}

bool loadsBlocksAlone(FunctionOpInterface kernel, const target::GpuChip &chip) {
  bool loads = kernel
                   ->walk([&](tile::DescLoadOp load) {
                     return canBeBulk(load, chip) ? WalkResult::interrupt() : WalkResult::advance();
                   })
                   .wasInterrupted();
  return loads && hasWgmma(kernel);
}

} // namespace nereid::gpu
