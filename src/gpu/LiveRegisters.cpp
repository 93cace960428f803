#include "gpu/LiveRegisters.h"

#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace nereid::gpu {

static unsigned registersOfTile(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  Operation *op = value.getDefiningOp();
  bool isRepeated =
      isa_and_present<arith::ConstantOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp>(op);
  // Products read slots where they are.
  bool isInSlot = isa_and_present<ReadSlotOp>(op) && llvm::all_of(op->getUsers(), [](Operation *o) {
                    return isa<tile::DotOp, tile::TransOp>(o);
                  });
  if (isRepeated || isInSlot ||
      !(isa<FloatType>(type.getElementType()) || isa_and_present<tile::LoadOp, ReadSlotOp>(op)))
    return 0;
  return unsigned(llvm::divideCeil(
      registersOf(layoutOf(type)) * type.getElementType().getIntOrFloatBitWidth(), 32));
}

unsigned liveRegisters(Block &block) {
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (auto [number, op] : llvm::enumerate(block))
    numbers[&op] = unsigned(number);
  auto count = unsigned(numbers.size());
  SmallVector<int> changes(count + 2); // of the registers in front of each op
  auto add = [&](Value value, unsigned from) {
    unsigned registers = registersOfTile(value), last = from;
    for (OpOperand &use : value.getUses())
      if (Operation *here = block.findAncestorOpInBlock(*use.getOwner())) {
        // What a loop starts from is what it carries.
        bool isStart = here == use.getOwner() && isa<scf::ForOp>(here);
        last = std::max(last, std::max(numbers[here], 1U) - unsigned(isStart));
      }
    changes[from] += int(registers);
    changes[last + 1] -= int(registers);
  };
  for (Value argument : block.getArguments())
    add(argument, 0);
  for (auto [number, op] : llvm::enumerate(block)) {
    // A product's sum takes the registers that it starts from.
    bool isProduct = isa<tile::DotOp>(op);
    for (Value result : op.getResults())
      add(result, unsigned(number) + unsigned(isProduct || op.hasTrait<OpTrait::Elementwise>()));
    unsigned inside = 0;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        inside = std::max(inside, liveRegisters(inner));
    changes[number] += int(inside);
    changes[number + 1] -= int(inside);
  }
  int live = 0, most = 0;
  for (int change : changes) {
    live += change;
    most = std::max(most, live);
  }
  return unsigned(most);
}

} // namespace nereid::gpu
