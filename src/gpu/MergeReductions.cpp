#include "gpu/MergeReductions.h"

#include "analysis/CombineOrder.h"
#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"
#include "ir/OpKinds.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

bool crossesWarps(tile::ReduceOp reduce) {
  LinearLayout layout = layoutOf(reduce.getSources().front().getType());
  return llvm::any_of(layout.bases(LayoutInput::Warp),
                      [&](const auto &basis) { return basis[reduce.getAxis()] != 0; });
}

Type placeOf(tile::ReduceOp reduce) {
  auto type = cast<RankedTensorType>(reduce.getSources().front().getType());
  return RankedTensorType::get(type.getShape(), IntegerType::get(type.getContext(), 1),
                               type.getEncoding());
}

// What lies between two reductions and hangs on the first one's results; nothing if they can't be
// one.
std::optional<SmallVector<Operation *>> usersBetween(tile::ReduceOp first, tile::ReduceOp second) {
  SmallVector<Operation *> users;
  auto needsFirst = [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return from && (from == first || llvm::is_contained(users, from));
    });
  };
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode()) {
    bool isReduce = isa<tile::ReduceOp>(op);
    if (!isMemoryEffectFree(op) || (op->getNumRegions() && !isReduce))
      return std::nullopt;
    if (!needsFirst(op))
      continue;
    // Of two reductions one after the other, the later one stays where it is.
    if (isReduce)
      return std::nullopt;
    users.push_back(op);
  }
  if (needsFirst(second))
    return std::nullopt;
  return users;
}

void merge(tile::ReduceOp first, tile::ReduceOp second, ArrayRef<Operation *> users) {
  OpBuilder b(second);
  SmallVector<Value> sources(first.getSources());
  llvm::append_range(sources, second.getSources());
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  auto made = b.create<tile::ReduceOp>(second.getLoc(), types, sources, first.getAxis());
  Block &block = made.getCombine().emplaceBlock();
  for (unsigned side = 0; side < 2; ++side)
    for (Value source : sources)
      block.addArgument(tile::elementType(source.getType()), source.getLoc());
  b.setInsertionPointToStart(&block);
  SmallVector<Value> combined;
  unsigned at = 0;
  for (tile::ReduceOp one : {first, second}) {
    Block &from = one.getCombine().front();
    unsigned count = one.getSources().size();
    IRMapping mapping;
    for (unsigned i = 0; i < count; ++i) {
      mapping.map(from.getArgument(i), block.getArgument(at + i));
      mapping.map(from.getArgument(count + i),
                  block.getArgument(unsigned(sources.size()) + at + i));
    }
    for (Operation &op : from.without_terminator())
      b.clone(op, mapping);
    for (Value value : from.getTerminator()->getOperands())
      combined.push_back(mapping.lookupOrDefault(value));
    at += count;
  }
  b.create<tile::YieldOp>(made.getLoc(), combined);
  Operation *behind = made;
  for (Operation *user : users) {
    user->moveAfter(behind);
    behind = user;
  }
  unsigned results = first->getNumResults();
  first->replaceAllUsesWith(made.getResults().take_front(results));
  second->replaceAllUsesWith(made.getResults().drop_front(results));
  first->erase();
  second->erase();
}

// Merges the first pair of a block; false if there is none.
bool mergeIn(Block &block) {
  SmallVector<tile::ReduceOp> reductions;
  for (Operation &op : block)
    if (auto reduce = dyn_cast<tile::ReduceOp>(op);
        reduce && analysis::commutes(reduce.getCombine().front()) && crossesWarps(reduce))
      reductions.push_back(reduce);
  for (size_t i = 0; i + 1 < reductions.size(); ++i) {
    tile::ReduceOp first = reductions[i], second = reductions[i + 1];
    if (first.getAxis() != second.getAxis() || placeOf(first) != placeOf(second))
      continue;
    if (auto users = usersBetween(first, second)) {
      merge(first, second, *users);
      return true;
    }
  }
  return false;
}

} // namespace

void mergeReductions(FunctionOpInterface kernel) {
  SmallVector<Block *> blocks;
  kernel->walk([&](Block *block) { blocks.push_back(block); });
  for (Block *block : blocks)
    if (!block->empty() && !tile::hasElementRegion(block->getParentOp()))
      while (mergeIn(*block))
        ;
}

} // namespace nereid::gpu
