#include "cpu/OrientStores.h"
#include "cpu/FusionPlan.h"
#include "cpu/RunLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

struct Products {
  llvm::SmallDenseSet<Value, 2> sums;    // of which the operands are turned, not the result
  llvm::SmallDenseSet<Value, 4> between; // what is computed of them for the store
};

void eraseUnused(Value tile) {
  // What two of them use waits here once, and is dead when the second is gone.
  llvm::SetVector<Operation *> work;
  if (Operation *op = tile.getDefiningOp())
    work.insert(op);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *from = operand.getDefiningOp())
        work.insert(from);
    op->erase();
  }
}

// Makes tiles of which two dimensions have changed places.
class Turning {
public:
  Turning(const DirectionAnalysis &directions, unsigned from, unsigned to, const Products &products)
      : directions(directions), from(from), to(to), products(products) {}

  Value turned(Value tile) {
    if (Value found = made.lookup(tile))
      return found;
    Value value = make(tile);
    made[tile] = value;
    return value;
  }

private:
  Type turnedType(Type type) const {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    std::swap(shape[from], shape[to]);
    return RankedTensorType::get(shape, tensor.getElementType());
  }

  // True if an op on turned operands replaces the op, or costs little.
  bool passesThrough(Operation *op) const {
    if (isa<tile::LoadOp>(op))
      return op->hasOneUse() && !cast<tile::LoadOp>(op).getIsVolatile();
    return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
           (isa<tile::BroadcastOp, tile::SplatOp>(op) || op->hasTrait<OpTrait::Elementwise>()) &&
           (op->hasOneUse() || !isCostly(op));
  }

  // What all lies across once it is turned is computed as it is, and turned over in one.
  bool liesAcross(Value tile) const {
    Directions there = directions.of(tile);
    return there.opposed >> from & 1 && there.wanted & ~there.opposed;
  }

  Value make(Value tile) {
    Operation *op = tile.getDefiningOp();
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    Location loc = tile.getLoc();
    auto shape = tile::shapeOf(tile.getType());
    Type type = turnedType(tile.getType());
    if (auto constant = dyn_cast_if_present<arith::ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        return b.create<arith::ConstantOp>(loc, splat.resizeSplat(cast<ShapedType>(type)));
    if (auto expand = dyn_cast_if_present<tile::ExpandDimsOp>(op); expand && shape.size() == 2)
      return b.create<tile::ExpandDimsOp>(loc, type, expand.getSource(), 1 - expand.getAxis());
    if (products.sums.contains(tile))
      return turnedProduct(tile);
    if (op && passesThrough(op) && (products.between.contains(tile) || !liesAcross(tile))) {
      IRMapping operands;
      for (Value operand : op->getOperands())
        if (tile::isTile(operand))
          operands.map(operand, turned(operand));
      Operation *copy = b.clone(*op, operands);
      copy->getResult(0).setType(type);
      return copy->getResult(0);
    }
    SmallVector<int32_t> perm;
    for (unsigned d = 0; d < shape.size(); ++d)
      perm.push_back(int32_t(d == from ? to : d == to ? from : d));
    return b.create<tile::TransOp>(loc, type, tile, perm);
  }

  // (l r)^T = r^T l^T, which adds up the same numbers in the same order. A sum that a loop carries
  // changes its type there.
  Value turnedProduct(Value tile) {
    if (auto loop = tile.getDefiningOp<scf::ForOp>()) {
      unsigned number = cast<OpResult>(tile).getResultNumber();
      OpOperand &init = loop.getInitArgsMutable()[number];
      init.set(turned(init.get()));
      BlockArgument carried = loop.getRegionIterArg(number);
      carried.setType(init.get().getType());
      made[carried] = carried;
      OpOperand &yielded = loop.getBody()->getTerminator()->getOpOperand(number);
      for (Value sum = yielded.get(); sum != carried;
           sum = sum.getDefiningOp<tile::DotOp>().getAcc())
        products.sums.insert(sum);
      Value before = yielded.get();
      yielded.set(turned(before));
      eraseUnused(before);
      tile.setType(carried.getType());
      return tile;
    }
    auto dot = tile.getDefiningOp<tile::DotOp>();
    Value lhs = turned(dot.getRhs()), rhs = turned(dot.getLhs()), sum = turned(dot.getAcc());
    OpBuilder b(dot);
    auto copy = cast<tile::DotOp>(b.clone(*dot));
    copy.getLhsMutable().assign(lhs);
    copy.getRhsMutable().assign(rhs);
    copy.getAccMutable().assign(sum);
    copy.getResult().setType(cast<RankedTensorType>(sum.getType()));
    return copy.getResult();
  }

  const DirectionAnalysis &directions;
  unsigned from, to;
  Products products;
  llvm::DenseMap<Value, Value> made;
};

// Products whose columns a store scatters while their rows follow each other in memory, or do so
// between multiples of a divisor, and whose left operand lies scattered along K:
//
//   pixels (M) of a channel (N) are adjacent, those of lhs, too; channels (N, K) are apart
//
// Turned over, vectors run along the pixels, and the few columns that are there are rows.
class ProductsOfStore {
public:
  ProductsOfStore(tile::StoreOp store, const analysis::AxisAnalysis &axes) : axes(axes) {
    Value pointers = store.getPointer();
    if (tile::shapeOf(pointers.getType()).size() == 2 && isScattered(pointers, 1, axes) &&
        stepBetweenSplits(pointers, 0, axes) == 1 && stepBetweenSplits(pointers, 1, axes) != 1)
      collect(store.getValue());
  }

  Products found;

private:
  // Looks through what has no other user: it is turned as a whole.
  bool collect(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || !tile.hasOneUse())
      return false;
    if (isProduct(tile)) {
      found.sums.insert(tile);
      return true;
    }
    bool any = false;
    if (op->hasTrait<OpTrait::Elementwise>())
      for (Value operand : op->getOperands())
        any |= tile::isTile(operand) && collect(operand);
    if (any)
      found.between.insert(tile);
    return any;
  }

  bool isProduct(Value tile) {
    if (auto dot = tile.getDefiningOp<tile::DotOp>())
      return suits(dot);
    auto loop = tile.getDefiningOp<scf::ForOp>();
    if (!loop)
      return false;
    unsigned number = cast<OpResult>(tile).getResultNumber();
    Value carried = loop.getRegionIterArg(number), sum = loop.getYieldedValues()[number];
    if (sum == carried || !carried.hasOneUse())
      return false;
    while (sum != carried) {
      auto dot = sum.getDefiningOp<tile::DotOp>();
      if (!dot || !sum.hasOneUse() || dot->getBlock() != loop.getBody() || !suits(dot))
        return false;
      sum = dot.getAcc();
    }
    return true;
  }

  bool suits(tile::DotOp dot) {
    tile::LoadOp load = loadBehind(dot.getLhs());
    return load && isScattered(load.getPointer(), 1, axes) &&
           stepBetweenSplits(load.getPointer(), 1, axes) != 1;
  }

  const analysis::AxisAnalysis &axes;
};

} // namespace

void orientStores(FunctionOpInterface kernel) {
  SmallVector<tile::StoreOp> stores;
  kernel->walk([&](tile::StoreOp store) {
    if (tile::isTile(store.getPointer()) && tile::shapeOf(store.getPointer().getType()).size() > 1)
      stores.push_back(store);
  });
  std::optional<analysis::AxisAnalysis> axes; // of the function as it is
  for (tile::StoreOp store : stores) {
    if (!axes)
      axes.emplace(kernel);
    DirectionAnalysis directions(*axes, [](Value tile) {
      Operation *op = tile.getDefiningOp();
      return !op || !isLazy(op);
    });
    auto shape = tile::shapeOf(store.getPointer().getType());
    unsigned last = preferredDim(shape);
    unsigned along = DirectionAnalysis::choose(directions.ofAccess(store.getPointer()), shape);
    Products products = ProductsOfStore(store, *axes).found;
    if (!products.sums.empty())
      along = 0;
    if (along == last || shape[last] < DirectionAnalysis::leastSide)
      continue;
    // What is not used any more is left to the canonicalizer, but for what looks at products, which
    // have another type now.
    Turning turning(directions, along, last, products);
    for (OpOperand &operand : store->getOpOperands()) {
      Value before = operand.get();
      operand.set(turning.turned(before));
      eraseUnused(before);
    }
    axes.reset();
  }
}

} // namespace nereid::cpu
