#include "gpu/LiveRegisters.h"

#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

unsigned liveRegisters(scf::ForOp loop) {
  Block &body = *loop.getBody();
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (auto [number, op] : llvm::enumerate(body))
    numbers[&op] = unsigned(number);
  auto count = unsigned(numbers.size());
  SmallVector<int> changes(count + 2); // of the registers in front of each op
  auto add = [&](Value value, unsigned from) {
    unsigned registers = registersOfTile(value), last = from;
    for (Operation *user : value.getUsers())
      if (Operation *here = body.findAncestorOpInBlock(*user))
        last = std::max(last, numbers[here]);
    changes[from] += int(registers);
    changes[last + 1] -= int(registers);
  };
  for (Value carried : loop.getRegionIterArgs())
    add(carried, 0);
  for (auto [number, op] : llvm::enumerate(body)) {
    // A product's sum takes the registers that it starts from.
    bool isProduct = isa<tile::DotOp>(op);
    for (Value result : op.getResults())
      add(result, unsigned(number) + unsigned(isProduct || op.hasTrait<OpTrait::Elementwise>()));
  }
  int live = 0, most = 0;
  for (int change : changes) {
    live += change;
    most = std::max(most, live);
  }
  return unsigned(most);
}

} // namespace nereid::gpu
