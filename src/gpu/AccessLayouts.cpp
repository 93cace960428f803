#include "gpu/AccessLayouts.h"

#include "analysis/AxisAnalysis.h"
#include "analysis/KernelFacts.h"
#include "analysis/UsualSteps.h"
#include "gpu/LayoutFlow.h"
#include "gpu/Layouts.h"
#include "gpu/StepsAhead.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// From the last dimension to the first, after `first`.
SmallVector<unsigned> orderFrom(unsigned first, size_t rank) {
  SmallVector<unsigned> order = {first};
  for (unsigned d = unsigned(rank); d-- > 0;)
    if (d != first)
      order.push_back(d);
  return order;
}

// The tile that a descriptor's block is read to or written from; rows of it are contiguous.
Value blockOf(Operation *op) {
  if (auto load = dyn_cast<tile::DescLoadOp>(op))
    return load.getResult();
  if (auto store = dyn_cast<tile::DescStoreOp>(op))
    return store.getValue();
  return {};
}

// In an innermost loop of products what they come from waits in rings and is read where it is
// wanted.
bool waitsInRing(tile::LoadOp load) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  return loop && isInnermost(loop) && feedsProduct(load);
}

// Ops on what `load` gives and on numbers that are the same for each element, element by element.
llvm::SmallPtrSet<Operation *, 16> computedOf(tile::LoadOp load) {
  llvm::SmallPtrSet<Operation *, 16> found;
  SmallVector<Value> work = {load.getResult()};
  auto isOwn = [&](Value v) {
    Operation *source = v.getDefiningOp();
    return v == load.getResult() || isa_and_nonnull<tile::SplatOp, arith::ConstantOp>(source) ||
           found.contains(source);
  };
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers())
      if ((isa<tile::ExpandDimsOp>(user) || user->hasTrait<OpTrait::Elementwise>()) &&
          user->getNumResults() == 1 && llvm::all_of(user->getOperands(), isOwn) &&
          found.insert(user).second)
        work.push_back(user->getResult(0));
  return found;
}

} // namespace

AccessLayouts::AccessLayouts(FunctionOpInterface kernel, const ProductLayouts &products,
                             unsigned warps)
    : products(products), warps(warps), origins(nearestOrigins(kernel, [](Operation *op) {
        return isa<tile::LoadOp, tile::DotOp>(op);
      })) {
  findReductions(kernel);
  analysis::AxisAnalysis axes(kernel);
  SmallVector<tile::MemoryAccessOpInterface> scattered;
  kernel->walk([&](tile::MemoryAccessOpInterface access) {
    if (place(access, axes))
      scattered.push_back(access);
  });
  analysis::UsualSteps steps(axes);
  for (tile::MemoryAccessOpInterface access : scattered)
    if (!placeWhereNearest(access, steps))
      placeLikeOthers(access);
  for (const auto &[group, own] : facts)
    groupLayouts[group] = layoutOf(group);
  kernel->walk([&](tile::LoadOp load) { followAddressed(load); });
  kernel->walk([&](tile::LoadOp load) { followMet(load); });
  kernel->walk([&](tile::LoadOp load) { followReduced(load); });
}

std::optional<LinearLayout> AccessLayouts::of(Operation *access) const {
  if (auto found = chosen.find(access); found != chosen.end())
    return found->second;
  if (auto found = groups.find(access); found != groups.end())
    return groupLayouts.at(found->second);
  return std::nullopt;
}

std::optional<LinearLayout> AccessLayouts::ofCopy(Operation *load) const {
  auto found = copies.find(load);
  return found == copies.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinearLayout> AccessLayouts::ofAccessBy(Value tile) const {
  DenseSet<Value> seen;
  return ofAccessBy(tile, seen);
}

std::optional<LinearLayout> AccessLayouts::ofAccessBy(Value tile, DenseSet<Value> &seen) const {
  if (!seen.insert(tile).second)
    return std::nullopt;
  for (OpOperand &use : tile.getUses()) {
    Operation *user = use.getOwner();
    std::optional<LinearLayout> layout;
    if (auto access = dyn_cast<tile::MemoryAccessOpInterface>(user)) {
      if (tile == access.getAccessed() || tile == access.getAccessMask())
        layout = of(user);
    } else if (user->hasTrait<OpTrait::Elementwise>() ||
               isa<tile::ExpandDimsOp, tile::BroadcastOp>(user)) {
      layout = ofAccessBy(user->getResult(0), seen);
      if (layout)
        layout = backward(user, 0, *layout, use.getOperandNumber());
    }
    if (layout)
      return layout;
  }
  return std::nullopt;
}

LinearLayout AccessLayouts::ofShape(ArrayRef<int64_t> shape) {
  if (auto found = widest.find(shape.vec()); found != widest.end())
    return groupLayouts.at(found->second);
  auto [found, fresh] = shapeLayouts.try_emplace(shape.vec());
  if (fresh)
    found->second =
        blockedLayout(shape, 1, orderFrom(unsigned(shape.size()) - 1, shape.size()), warps);
  return found->second;
}

std::optional<LinearLayout> AccessLayouts::ofState(ArrayRef<int64_t> shape, scf::ForOp loop) const {
  auto reduced = reductions.find(shape.vec());
  if (shape.size() < 2 || isAccessed(shape) || reduced == reductions.end() ||
      reduced->second.axes.size() != 1 || !reduced->second.loops.count(loop))
    return std::nullopt;
  // What is repeated along the other axes is held by each thread, as often as this.
  constexpr unsigned most = 32;
  return reducedLayout(shape, most, 1, orderFrom(*reduced->second.axes.begin(), shape.size()),
                       warps);
}

// --- groups ---

void AccessLayouts::findReductions(FunctionOpInterface kernel) {
  kernel->walk([&](Operation *op) {
    auto note = [&](Value source, unsigned axis) {
      if (products.behind(source)) // comes out of the product's layout anyhow
        return;
      Reduced &reduced = reductions[tile::shapeOf(source.getType()).vec()];
      reduced.axes.insert(axis);
      reduced.loops.insert(op->getParentOfType<LoopLikeOpInterface>());
    };
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      note(reduce.getSources().front(), reduce.getAxis());
    else if (auto scan = dyn_cast<tile::ScanOp>(op))
      note(scan.getSources().front(), scan.getAxis());
  });
}

void AccessLayouts::add(Operation *access, const Group &group, int64_t contiguity, int64_t width,
                        int64_t elementBytes, bool isTakenApart) {
  groups.try_emplace(access, group);
  Facts &own = facts[group];
  own.contiguity = std::max(own.contiguity, contiguity);
  own.perThread = std::max(own.perThread, width);
  own.bytes = std::min(own.bytes, elementBytes);
  unsigned depth = 0;
  for (Operation *loop = access; (loop = loop->getParentOp());)
    depth += isa<LoopLikeOpInterface>(loop);
  if (depth > own.depth) {
    own.mostWritten = 0;
    own.mostAdded = Facts().mostAdded;
    own.depth = depth;
  }
  // A thread that needed two instructions for each store would leave gaps in them, which costs the
  // memory twice (fp8 widened to bf16: 0.68 of Triton's speed with gaps, 0.99 without); of loads
  // the second one finds its line in the nearest cache.
  // So does one that a mask takes apart (0.75 where each fourth element is stored at once).
  if (depth == own.depth && !isa<tile::LoadOp, tile::DescLoadOp, tile::DescStoreOp>(access))
    own.mostWritten = std::max(own.mostWritten, isTakenApart ? width : 16 / elementBytes);
  // Memory adds to whole sectors at once, so gaps in additions cost twice whatever else is stored.
  if (depth == own.depth && isa<tile::AtomicRMWOp>(access))
    own.mostAdded = std::min(own.mostAdded, isTakenApart ? width : 16 / elementBytes);
  auto [found, fresh] = widest.try_emplace(group.shape, group);
  if (!fresh && facts[found->second].contiguity < own.contiguity)
    found->second = group;
}

bool AccessLayouts::place(tile::MemoryAccessOpInterface access, analysis::AxisAnalysis &axes) {
  Value pointer = access.getAccessed();
  int64_t bytes = tile::bytesInMemory(access.getAccessElementType());
  if (Value block = blockOf(access)) {
    auto shape = tile::shapeOf(block.getType());
    add(access, {shape.vec(), unsigned(shape.size()) - 1}, shape.back(), 16 / bytes, bytes);
    return false;
  }
  auto shape = tile::shapeOf(pointer.getType());
  if (shape.empty())
    return false;
  tile::AxisFacts pointers = axes.facts(pointer), maskFacts;
  Value mask = access.getAccessMask();
  if (mask)
    maskFacts = axes.facts(mask);
  unsigned dim = unsigned(shape.size()) - 1;
  for (unsigned d = unsigned(shape.size()); d-- > 0;)
    if (pointers.contiguity[d] > pointers.contiguity[dim])
      dim = d;
  bool isScattered = pointers.contiguity[dim] == 1;
  if (auto depth = products.depthOfWords(access); depth && (isScattered || dim != *depth)) {
    chosen[access] = turningLayout(shape, *depth, warps);
    return false;
  }
  if (isScattered)
    return !placeWhereRepeated(access, pointers.constancy);
  int64_t width = analysis::accessWidth(pointers, mask && tile::isTile(mask) ? &maskFacts : nullptr,
                                        dim, bytes, 16);
  auto store = dyn_cast<tile::StoreOp>(access.getOperation());
  bool isOfProduct = store && products.behind(store.getValue());
  bool isTakenApart =
      width < analysis::accessWidth(pointers, /*mask=*/nullptr, dim, bytes, /*most=*/16);
  add(access, {shape.vec(), dim, isOfProduct ? bytes : 0}, pointers.contiguity[dim], width, bytes,
      isTakenApart);
  return false;
}

// Packed numbers (`k // 2`): where an address repeats for a few neighbours, the next ones are near
// it, though nothing is contiguous. A warp reads along that dimension, each thread a pair.
bool AccessLayouts::placeWhereRepeated(tile::MemoryAccessOpInterface access,
                                       ArrayRef<int64_t> constancy) {
  auto shape = tile::shapeOf(access.getAccessed().getType());
  if (shape.size() < 2 || !isa<tile::LoadOp>(access))
    return false;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (constancy[d] > 1 && constancy[d] < shape[d]) {
      Group group{shape.vec(), d};
      repeated.try_emplace(shape.vec(), group);
      add(access, group, 1, 2, tile::bytesInMemory(access.getAccessElementType()));
      return true;
    }
  return false;
}

// Images that are read by the places of a filter (`i % width`): nothing is contiguous for sure, yet
// most neighbours are. A warp lies along them, unless others of the shape are contiguous and would
// meet it elsewhere; what waits in a ring, or comes of a product, moves in any case.
bool AccessLayouts::placeWhereNearest(tile::MemoryAccessOpInterface access,
                                      analysis::UsualSteps &steps) {
  auto shape = tile::shapeOf(access.getAccessed().getType());
  auto load = dyn_cast<tile::LoadOp>(access.getOperation());
  auto store = dyn_cast<tile::StoreOp>(access.getOperation());
  bool isOfProduct = store && products.behind(store.getValue());
  if (shape.size() < 2 || repeated.count(shape.vec()) ||
      (widest.count(shape.vec()) && !isOfProduct && !(load && waitsInRing(load))))
    return false;
  auto dim = steps.nearest(access.getAccessed());
  if (!dim)
    return false;
  int64_t bytes = tile::bytesInMemory(access.getAccessElementType());
  add(access, {shape.vec(), *dim, isOfProduct ? bytes : 0}, 1, 1, bytes);
  return true;
}

void AccessLayouts::placeLikeOthers(tile::MemoryAccessOpInterface access) {
  auto shape = tile::shapeOf(access.getAccessed().getType());
  // The scales of packed numbers lie as those do.
  if (auto found = repeated.find(shape.vec());
      found != repeated.end() && isa<tile::LoadOp>(access)) {
    groups.try_emplace(access, found->second);
    return;
  }
  if (auto found = widest.find(shape.vec()); found != widest.end())
    groups.try_emplace(access, found->second);
  else
    add(access, {shape.vec(), unsigned(shape.size()) - 1}, 1, 1,
        tile::bytesInMemory(access.getAccessElementType()));
}

// A sum that a loop keeps by element is reduced once, and its threads are better off with several
// rows, for which they hold less of what all rows meet.
bool AccessLayouts::isReducedWhereAccessed(const Group &group) const {
  auto reduced = reductions.find(group.shape);
  return reduced != reductions.end() && reduced->second.axes == std::set<unsigned>{group.dim} &&
         llvm::all_of(groups, [&](const auto &access) {
           Operation *loop = access.first->template getParentOfType<LoopLikeOpInterface>();
           return access.second != group || !loop || reduced->second.loops.count(loop);
         });
}

LinearLayout AccessLayouts::layoutOf(const Group &group) const {
  const Facts &own = facts.at(group);
  int64_t elements = 1;
  for (int64_t extent : group.shape)
    elements *= extent;
  int64_t share = std::max<int64_t>(1, elements / (int64_t(warps) * lanesPerWarp));
  int64_t most = own.mostWritten ? own.mostWritten : own.perThread;
  unsigned perThread = unsigned(std::min({own.perThread, share, most, own.mostAdded}));
  SmallVector<unsigned> order = orderFrom(group.dim, group.shape.size());
  if (!isReducedWhereAccessed(group))
    return blockedLayout(group.shape, perThread, order, warps);
  // A warp reads two lines of each row at once, of as many rows as that leaves: 0.4 of the shuffles
  // of rows in all threads. With one line a vector times a matrix took 280 us, not 257.
  // Where that leaves warps without a row of their own, a row lies in one warp rather than in two.
  constexpr int64_t rowBytes = 256;
  int64_t row = group.shape[group.dim], rows = elements / row;
  int64_t inOneWarp =
      rows >= warps ? std::min(row / perThread, lanesPerWarp * warps / rows) : int64_t(1);
  int64_t lanes =
      std::clamp<int64_t>(std::max(rowBytes / (perThread * own.bytes), inOneWarp), 1, lanesPerWarp);
  return reducedLayout(group.shape, perThread, unsigned(lanes), order, warps);
}

// --- loads that lie as their users ---

// The addresses of rows that are read from memory (a page table) are wanted by all threads of a
// row. Each loads them itself, where they are few: that costs a hit in a cache, moving them two
// barriers of the nine in a step of paged attention.
void AccessLayouts::followAddressed(tile::LoadOp load) {
  constexpr unsigned most = 8; // registers
  if (tile::shapeOf(load.getType()).size() != 1)
    return;
  SmallVector<Operation *> vectors = {load}; // accesses at these addresses, the load among them
  std::optional<LinearLayout> rows;
  llvm::SmallPtrSet<Operation *, 16> seen;
  auto visit = [&](auto &self, Value tile, std::optional<unsigned> axis) -> void {
    for (OpOperand &use : tile.getUses()) {
      Operation *user = use.getOwner();
      if (auto access = dyn_cast<tile::MemoryAccessOpInterface>(user)) {
        if (access.getAccessed() != tile)
          continue;
        if (!axis && isa<tile::LoadOp>(user))
          vectors.push_back(user);
        else if (auto layout = of(user); axis && !rows && layout)
          rows = sliceLayout(*layout, *axis);
        continue;
      }
      if (user->getNumResults() != 1 || !seen.insert(user).second)
        continue;
      auto expand = dyn_cast<tile::ExpandDimsOp>(user);
      if (expand && !axis)
        self(self, expand.getResult(), expand.getAxis());
      else if (user->hasTrait<OpTrait::Elementwise>() || isa<tile::BroadcastOp>(user))
        self(self, user->getResult(0), axis);
    }
  };
  visit(visit, load.getResult(), std::nullopt);
  if (!rows || registersOf(*rows) > most)
    return;
  Operation *loop = load->getParentOfType<LoopLikeOpInterface>();
  for (Operation *access : vectors) {
    chosen[access] = *rows;
    if (access->getParentOfType<LoopLikeOpInterface>() != loop)
      mayFollowMet.insert(access);
  }
}

// What is loaded at places that a reduction of rows finds (a sampled token's number): all threads
// of a row know its place, and load it there. Elsewhere places, masks and what is loaded move
// between threads, with two barriers each.
void AccessLayouts::followReduced(tile::LoadOp load) {
  constexpr unsigned most = 8; // registers
  auto shape = tile::shapeOf(load.getType());
  if (shape.size() != 1 || chosen.count(load))
    return;
  SmallVector<Value> work = {load.getPointer()};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    auto reduce = dyn_cast<tile::ReduceOp>(op);
    if (!reduce && op->hasTrait<OpTrait::Elementwise>())
      llvm::append_range(work, op->getOperands());
    if (!reduce || tile::shapeOf(reduce->getResult(0).getType()) != shape)
      continue;
    for (Value source : reduce.getSources()) {
      auto layout = ofOrigin(source);
      if (!layout || tile::shapeOf(source.getType()).size() != layout->rank())
        continue;
      LinearLayout rows = sliceLayout(*layout, reduce.getAxis());
      if (registersOf(rows) <= most)
        chosen[load] = rows;
      return;
    }
  }
}

bool AccessLayouts::isNarrow(tile::LoadOp load) const {
  LinearLayout layout = *of(load);
  return consecutiveRegisters(layout, layout.rank() - 1) *
             tile::bytesInMemory(tile::elementType(load.getType())) <
         leastCopied;
}

// What is loaded to be repeated where it meets a larger tile that is loaded too, or that a loop
// carries: each thread loads its part of it, where that is little. All but the first one's come
// from a cache; moving it between threads costs two barriers (rotary embeddings: none left of
// eight). If it meets two kinds of tiles, it is loaded for each. So is what a loop loads at
// addresses from outside of it (scales of rows in a product of experts): those move once. So is
// what would wait in a ring if copies took so few bytes (scales of halves).
void AccessLayouts::followMet(tile::LoadOp load) {
  constexpr unsigned most = 64; // bytes
  constexpr unsigned mostAccesses = 4, mostMet = 2;
  if (tile::shapeOf(load.getType()).empty() || !groups.count(load) ||
      (waitsInRing(load) && !isNarrow(load)) || (chosen.count(load) && !mayFollowMet.count(load)))
    return;
  auto loop = load->getParentOfType<scf::ForOp>();
  SmallVector<LinearLayout> layouts;
  bool agree = true;
  SmallVector<Operation *> path; // that widens it
  llvm::SmallPtrSet<Operation *, 16> own = computedOf(load), seen;
  auto visit = [&](auto &self, Value tile) -> void {
    bool isRepeated = llvm::any_of(path, [](Operation *op) { return isa<tile::BroadcastOp>(op); });
    for (OpOperand &use : tile.getUses()) {
      Operation *user = use.getOwner();
      if (isa<tile::ExpandDimsOp, tile::BroadcastOp, tile::ReshapeOp, tile::TransOp>(user) ||
          (isRepeated ? isCast(user) : own.contains(user))) {
        if (!seen.insert(user).second)
          continue;
        path.push_back(user);
        self(self, user->getResult(0));
        path.pop_back();
      } else if (isRepeated && user->hasTrait<OpTrait::Elementwise>()) {
        auto layout = met(user, tile, loop);
        for (Operation *op : llvm::reverse(path))
          if (layout)
            layout = backward(op, 0, *layout, 0);
        agree &= layout.has_value();
        if (layout && !llvm::is_contained(layouts, *layout))
          layouts.push_back(*layout);
      } else {
        agree = false;
      }
    }
  };
  visit(visit, load.getResult());
  int64_t bytes = tile::bytesInMemory(tile::elementType(load.getType()));
  // A loop moves it again in each step. Otherwise it is worth some accesses only, each of which has
  // an address of its own.
  auto isLittle = [&](const LinearLayout &layout) {
    unsigned atOnce =
        std::min(consecutiveRegisters(layout, layout.rank() - 1), unsigned(16 / bytes));
    return registersOf(layout) * bytes <= most &&
           ((loop && layout.rank() == 1) || registersOf(layout) <= mostAccesses * atOnce);
  };
  if (layouts.empty() || layouts.size() > mostMet || !agree || !llvm::all_of(layouts, isLittle) ||
      (layouts.size() > 1 && load.getIsVolatile()))
    return;
  chosen[load] = layouts.front();
  if (layouts.size() > 1)
    copies[load] = layouts.back();
}

// How the load or product lies that a tile is computed of element by element.
std::optional<LinearLayout> AccessLayouts::ofOrigin(Value tile) const {
  Operation *origin = origins.lookup(tile);
  if (auto dot = dyn_cast_or_null<tile::DotOp>(origin))
    return products.of(dot).sum;
  return origin ? of(origin) : std::nullopt;
}

// The same of tiles that are of other shapes between (words of several numbers, taken apart).
std::optional<LinearLayout> AccessLayouts::computed(Value tile, DenseSet<Value> &seen) const {
  if (auto layout = ofOrigin(tile))
    return layout;
  Operation *op = tile.getDefiningOp();
  bool isShaped = isa_and_nonnull<tile::JoinOp, tile::ReshapeOp, tile::TransOp>(op);
  if (!op || !seen.insert(tile).second || !(isShaped || op->hasTrait<OpTrait::Elementwise>()))
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands())
    if (tile::isTile(operand.get()))
      if (auto layout = computed(operand.get(), seen))
        return isShaped ? forward(op, operand.getOperandNumber(), *layout, 0, warps) : layout;
  return std::nullopt;
}

// How what `tile` meets in `user` lies: what is computed of a load or a product, or what the loop
// carries.
std::optional<LinearLayout> AccessLayouts::met(Operation *user, Value tile, scf::ForOp loop) const {
  auto shape = tile::shapeOf(tile.getType());
  DenseSet<Value> seen;
  for (Value operand : user->getOperands())
    if (operand != tile && tile::isTile(operand))
      if (auto layout = computed(operand, seen))
        return layout;
  bool isCarried = loop && llvm::any_of(loop.getRegionIterArgs(), [&](Value carried) {
                     return tile::isTile(carried) && tile::shapeOf(carried.getType()) == shape;
                   });
  if (!isCarried)
    return std::nullopt;
  return isAccessed(shape) ? groupLayouts.at(widest.at(shape.vec())) : ofState(shape, loop);
}

} // namespace nereid::gpu
