#include "cpu/FusionPlan.h"

#include "analysis/KernelFacts.h"
#include "analysis/Widening.h"
#include "cpu/Bounds.h"
#include "cpu/LaneModels.h"
#include "cpu/RunLanes.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

int64_t elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

// A loop that contains `inner` but not `outer`, outermost, or null.
Operation *loopBetween(Operation *outer, Operation *inner) {
  Operation *found = nullptr;
  for (Operation *parent = inner->getParentOp(); parent && !parent->isProperAncestor(outer);
       parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      found = parent;
  return found;
}

// True for a `join` of which nothing but rows is made, whose lanes take turns in registers.
bool becomesRow(Operation *op) {
  return isa<tile::JoinOp>(op) && llvm::all_of(op->getUsers(), [](Operation *user) {
           return interleaves(user) || becomesRow(user);
         });
}

// Elementwise ops read their operands where they stand themselves.
bool keepsPlaces(Operation *op) {
  auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
  return op->hasTrait<OpTrait::Elementwise>() || (access && tile::isTile(access.getAccessed()));
}

} // namespace

bool isLazy(Operation *op) {
  auto lanes = dyn_cast<tile::LanesOpInterface>(op);
  return lanes && !lanes.runsWhole();
}

bool isCostly(Operation *op) {
  auto lanes = dyn_cast<tile::LanesOpInterface>(op);
  return lanes && lanes.isCostlyLane();
}

bool writesGlobalMemory(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> found;
  effects.getEffectsOnResource(tile::GlobalMemory::get(), found);
  return llvm::any_of(found, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect());
  });
}

bool readsGlobalMemory(Operation *op) {
  auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
  return access && access.readsMemory();
}

uint64_t bufferBytes(Type tile) {
  return elementsOf(tile) * tile::bytesInMemory(tile::elementType(tile));
}

FusionPlan::FusionPlan(FunctionOpInterface kernel, uint64_t firstCache)
    : kernel(kernel), firstCache(firstCache), axes(kernel) {
  unsigned next = 0;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    order[op] = next++;
    if (writesGlobalMemory(op))
      writers.push_back(op);
  });
  findYieldStores();
  for (;;) {
    storeStructural();
    storeTurned();
    // A stored tile is a loop of its own, which changes who computes what, so until nothing
    // changes. Reuse first: it often ends the chains that memory order asks about.
    while (storeReused() || storeForMemoryOrder())
      ;
    shareBuffers();
    chooseInPlaceYields();
    Operation *alone = yieldThatRunsAlone();
    if (!alone)
      break;
    yieldStores.erase(alone);
    storedTiles.clear();
    storedOrder.clear();
    direct.clear();
  }
  allocate();
  findStreams();
  joinRows();
  fetchAhead();
  fetchRows();
  fetchRounds();
  findLeavingRow();
}

const FusionPlan::Stored *FusionPlan::stored(Value tile) const {
  auto found = storedTiles.find(tile);
  return found == storedTiles.end() ? nullptr : &found->second;
}

bool FusionPlan::store(Value tile, Reason reason) {
  if (!tile::isTile(tile) || !storedTiles.try_emplace(tile, Stored{reason, 0, {}}).second)
    return false;
  storedOrder.push_back(tile);
  return true;
}

// Tiles that must be stored whatever their use costs.
void FusionPlan::storeStructural() {
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto lanes = dyn_cast<tile::LanesOpInterface>(op)) {
      if (lanes.runsWhole())
        for (Value result : op->getResults())
          store(result, Reason::Whole);
      for (OpOperand &operand : op->getOpOperands())
        if (lanes.needsBuffer(operand.getOperandNumber()))
          store(operand.get(), Reason::Indexed);
      return;
    }
    if (op->getDialect() && op->getDialect()->getNamespace() == "scf") {
      for (Region &region : op->getRegions())
        for (Value argument : region.getArguments())
          store(argument, Reason::Carried);
      for (Value result : op->getResults())
        store(result, Reason::Carried);
    }
  });
}

SmallVector<FusionPlan::Root> FusionPlan::roots() const {
  SmallVector<Root> found;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isLazy(op) && llvm::any_of(op->getResults(), tile::isTile)) {
      for (Value result : op->getResults())
        if (stored(result))
          found.push_back({op, {result}, true});
      return;
    }
    Root root{op, {}, false};
    llvm::copy_if(op->getOperands(), std::back_inserter(root.tiles), tile::isTile);
    if (!root.tiles.empty())
      found.push_back(std::move(root));
  });
  return found;
}

// A loop over a tile has vectors along one dimension. What lies along another one in memory is read
// that way, in squares, and turned over into a buffer.
void FusionPlan::storeTurned() {
  DirectionAnalysis directions(axes, [this](Value tile) { return stored(tile) != nullptr; });
  for (const Root &root : roots()) {
    if (isa<tile::AtomicRMWOp, tile::AtomicCASOp>(root.place)) // one element at a time
      continue;
    Directions all;
    for (Value tile : root.tiles)
      all = all | directions.of(tile);
    for (Value tile : root.tiles) {
      auto shape = tile::shapeOf(tile.getType());
      if (shape.size() < 2)
        continue;
      unsigned dim = preferredDim(shape);
      if (root.materializes)
        dim = DirectionAnalysis::choose(directions.ofComputed(tile), shape);
      else if (isa<tile::ReduceOp>(root.place))
        dim = DirectionAnalysis::choose(all, shape);
      else if (isa<tile::DotOp, scf::ForOp, scf::IfOp, scf::WhileOp>(root.place) ||
               root.place->hasTrait<OpTrait::IsTerminator>())
        dim = DirectionAnalysis::choose(directions.of(tile), shape);
      turn(tile, dim, root.materializes, directions);
    }
  }
}

// Stores what of `tile`, whose lanes are wanted along `dim`, all lies along another dimension.
// `computed`: look at how it is computed though it is stored.
void FusionPlan::turn(Value tile, unsigned dim, bool computed, DirectionAnalysis &directions) {
  Operation *op = tile.getDefiningOp();
  if (!tile::isTile(tile) || !op || (stored(tile) && !computed))
    return;
  Directions there = computed ? directions.ofComputed(tile) : directions.of(tile);
  if (!(there.opposed >> dim & 1))
    return;
  auto shape = tile::shapeOf(tile.getType());
  bool isBits = tile::elementType(tile.getType()).isInteger(1); // no vectors that turn over
  if (!computed && !isBits && dim == preferredDim(shape) &&
      shape[dim] >= DirectionAnalysis::leastSide &&
      DirectionAnalysis::choose(there, shape) != dim && store(tile, Reason::Turned)) {
    directions.forget();
    return;
  }
  for (Value operand : op->getOperands())
    if (tile::isTile(operand))
      if (auto inside = DirectionAnalysis::inOperand(op, operand, dim))
        turn(operand, *inside, false, directions);
}

FusionPlan::Cone FusionPlan::cone(const Root &root) const {
  Cone out;
  for (Value tile : root.tiles)
    visit(tile, root.materializes, false, false, out);
  return out;
}

// `expand`: look at how a stored tile is computed instead of at its buffer.
void FusionPlan::visit(Value tile, bool expand, bool repeated, bool displaced, Cone &cone) const {
  if (!tile::isTile(tile))
    return;
  if (!expand && stored(tile)) {
    cone.leaves.insert(tile);
    if (displaced)
      cone.displaced.insert(tile);
    return;
  }
  Operation *op = tile.getDefiningOp();
  if (!op)
    return;
  bool fresh = cone.ops.insert(op);
  bool newlyRepeated = repeated && cone.repeated.insert(op).second;
  bool newlyMoved = displaced && cone.moved.insert(op).second;
  // Lanes are found again within a loop, so what was seen as it is now needs no second look.
  if (!fresh && !newlyRepeated && !newlyMoved)
    return;
  for (Value operand : op->getOperands()) {
    if (!tile::isTile(operand))
      continue;
    // Each of its lanes is asked for several times, in different rounds of the loop.
    bool again =
        repeated || (elementsOf(operand.getType()) < elementsOf(tile.getType()) && !becomesRow(op));
    visit(operand, false, again, displaced || !keepsPlaces(op), cone);
  }
}

bool FusionPlan::mayBeWrittenBetween(Operation *load, const Root &root, Operation *except) const {
  unsigned from = order.lookup(load), to = order.lookup(root.place);
  Operation *loop = loopBetween(load, root.place);
  for (Operation *writer : writers) {
    unsigned at = order.lookup(writer);
    if (writer != root.place && writer != except && at > from && at < to)
      return true;
    if (loop && loop->isProperAncestor(writer))
      return true;
  }
  return false;
}

bool FusionPlan::rowsAreRanges(Value pointers) const {
  auto shape = tile::shapeOf(pointers.getType());
  return !shape.empty() && axes.facts(pointers).contiguity[shape.size() - 1] >= shape.back();
}

// True if no element of a row is beyond the first and the last one, as the channels of a row that
// is divided by their length.
bool FusionPlan::goesOneWay(Value tile) const {
  auto shape = tile::shapeOf(tile.getType());
  if (shape.empty())
    return true;
  const unsigned dim = shape.size() - 1;
  auto facts = axes.facts(tile);
  if (std::max(facts.contiguity[dim], facts.constancy[dim]) >= shape[dim])
    return true;
  Operation *op = tile.getDefiningOp();
  auto isOne = [&](Value operand) {
    return !tile::isTile(operand) || axes.facts(operand).constancy[dim] >= shape[dim];
  };
  if (isa_and_present<tile::DivSIOp>(op)) // unsigned numbers may wrap at 0
    return axes.facts(op->getOperand(0)).contiguity[dim] >= shape[dim] && isOne(op->getOperand(1));
  return isa_and_present<tile::AddPtrOp, arith::AddIOp, arith::SubIOp, arith::ExtSIOp>(op) &&
         !analysis::widensWrapped(op) &&
         llvm::count_if(op->getOperands(), isOne) + 1 >= op->getNumOperands() &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOne(operand) || goesOneWay(operand); });
}

// True if reading memory again costs no more than reading a copy of it. Only numbers: an index that
// another program changes in between would not be the one that was tested.
bool FusionPlan::mayReadAgain(Operation *op) const {
  auto load = dyn_cast<tile::LoadOp>(op);
  if (!load || !tile::isTile(load.getPointer()) || !isa<FloatType>(load.getAccessElementType()))
    return false;
  auto shape = tile::shapeOf(load.getPointer().getType());
  tile::AxisFacts facts = axes.facts(load.getPointer());
  return facts.contiguity[shape.size() - 1] >= std::min<int64_t>(shape.back(), 16);
}

ArrayRef<Operation *> FusionPlan::loadsToTest(Operation *store) const {
  auto found = tested.find(store);
  return found == tested.end() ? ArrayRef<Operation *>() : ArrayRef<Operation *>(found->second);
}

// A `for` often stores a row and yields others that are computed from the same loads. If nothing
// follows the store that memory matters to, both are one loop, and the loads need no copies.
void FusionPlan::findYieldStores() {
  kernel->walk([&](scf::ForOp loop) {
    Operation *yield = loop.getBody()->getTerminator();
    Operation *last = yield->getPrevNode();
    while (last && isMemoryEffectFree(last))
      last = last->getPrevNode();
    auto store = dyn_cast_or_null<tile::StoreOp>(last);
    if (!store || !isRow(store.getPointer()))
      return;
    auto shape = tile::shapeOf(store.getPointer().getType());
    bool any = false;
    for (Value yielded : yield->getOperands())
      if (tile::isTile(yielded)) {
        any = true;
        if (tile::shapeOf(yielded.getType()) != shape)
          return;
      }
    if (any)
      yieldStores[yield] = store;
  });
}

// A yield of `yieldStores` that is not computed in place, lane by lane, together with the store.
Operation *FusionPlan::yieldThatRunsAlone() const {
  for (auto &[yield, store] : yieldStores) {
    auto loop = cast<scf::ForOp>(yield->getParentOp());
    Cone used;
    for (OpOperand &operand : yield->getOpOperands())
      if (tile::isTile(operand.get())) {
        if (!direct.contains(&operand))
          return yield;
        visit(operand.get(), false, false, false, used);
      }
    for (Value operand : store->getOperands())
      visit(operand, false, false, false, used);
    if (llvm::any_of(loop.getRegionIterArgs(),
                     [&](Value argument) { return used.displaced.contains(argument); }))
      return yield;
  }
  return nullptr;
}

// True if elements may stand at one place although no stride is 0: what a lane reads, another one
// may have written then.
static bool mayRepeat(Value pointers) {
  SmallVector<Value> open = {pointers};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!tile::isTile(value) || !op || !seen.insert(value).second)
      continue;
    if (!tile::isRepeat(op) &&
        !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp, arith::ExtUIOp,
             tile::AddPtrOp, tile::ArangeOp, tile::HintOp, arith::ConstantOp>(op))
      return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

// Stores tiles that `root` reads from memory which `write` overwrites in the same loop, unless it
// reads an address in the lane that writes it. Where that can be told from two addresses a row, or
// from bounds of all addresses, it is tested when the kernel runs. True if something was stored.
bool FusionPlan::mustBeApart(const Root &root, Operation *store_) {
  auto write = dyn_cast<tile::MemoryAccessOpInterface>(store_);
  auto put = dyn_cast<tile::StoreOp>(store_);
  bool isOwn = root.place == store_;
  for (Value tile : root.tiles) {
    Cone one;
    visit(tile, false, false, false, one);
    // Of addresses and masks more is known than of numbers in a buffer.
    Type element = tile::elementType(tile.getType());
    bool isPlace = isa<tile::PtrType>(element) || element.isInteger(1);
    for (Operation *op : one.ops) {
      auto read = dyn_cast<tile::MemoryAccessOpInterface>(op);
      if (!read || !read.readsMemory())
        continue;
      // Only elementwise ops lie between the load and what is stored.
      bool keeps = write && !(isOwn && tile == write.getAccessed()) &&
                   tile::isTile(read.getAccessed()) && !one.repeated.contains(op) &&
                   !one.moved.contains(op);
      if (keeps && read.getAccessed() == write.getAccessed() && !mayRepeat(write.getAccessed()))
        continue;
      bool byRows =
          keeps && put && rowsAreRanges(put.getPointer()) && goesOneWay(read.getAccessed());
      bool byBounds =
          !byRows && put && hasBounds(read.getAccessed()) && hasBounds(put.getPointer());
      if ((byRows || byBounds) && (!isOwn || tile == put.getValue())) {
        if (auto &loads = tested[store_]; !llvm::is_contained(loads, op))
          loads.push_back(op);
        if (byBounds)
          bounded.insert({store_, op});
      } else if (store(isOwn && !isPlace ? tile : op->getResult(0), Reason::MemoryOrder)) {
        return true;
      }
    }
  }
  return false;
}

// A load is evaluated where its lanes are used. It moves back to its own place if something may be
// written in between; and a loop that writes must have finished reading first, unless each of its
// lanes reads the very address that it then writes.
bool FusionPlan::storeForMemoryOrder() {
  tested.clear();
  bounded.clear();
  for (const Root &root : roots()) {
    Operation *with = yieldStores.lookup(root.place);
    Cone all = cone(root);
    for (Operation *op : all.ops)
      if (readsGlobalMemory(op) && !stored(op->getResult(0)) &&
          mayBeWrittenBetween(op, root, with) && store(op->getResult(0), Reason::MemoryOrder))
        return true;
    if (with ? mustBeApart(root, with)
             : writesGlobalMemory(root.place) && mustBeApart(root, root.place))
      return true;
  }
  return false;
}

// Users first: storing what an expensive tile feeds may leave it with one user.
bool FusionPlan::storeReused() {
  SmallVector<Root> all = roots();
  DenseMap<Operation *, unsigned> evaluations;
  DenseSet<Operation *> inLoops;
  for (const Root &root : all) {
    Cone used = cone(root);
    for (Operation *op : used.ops) {
      if (root.materializes && op == root.place)
        continue;
      // A run divides once, in each round of a loop too.
      bool often =
          used.repeated.contains(op) || (loopBetween(op, root.place) && !isSplitAlongRow(op, axes));
      evaluations[op] += often ? 2 : 1;
      if (often)
        inLoops.insert(op);
    }
  }
  SmallVector<Operation *> candidates;
  for (auto [op, count] : evaluations)
    if (count > 1 && isCostly(op) &&
        (inLoops.contains(op) || !(mayReadAgain(op) || isSplitAlongRow(op, axes))))
      candidates.push_back(op);
  llvm::sort(candidates,
             [&](Operation *a, Operation *b) { return order.lookup(a) > order.lookup(b); });
  for (Operation *op : candidates)
    for (Value result : op->getResults())
      if (store(result, Reason::Reused))
        return true;
  return false;
}

// Results of loops live where the loop keeps them; a product adds to its accumulator in place if
// nobody else sees it.
void FusionPlan::shareBuffers() {
  kernel->walk([&](Operation *op) {
    auto share = [&](Value tile, Value with) {
      if (tile::isTile(tile))
        storedTiles[tile].sameAs = with;
    };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
        share(result, argument);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getAfterArguments()))
        share(result, argument);
    } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
      auto argument = dyn_cast<BlockArgument>(dot.getAcc());
      if (!argument || !argument.hasOneUse() || !dot.getResult().hasOneUse())
        return;
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      OpOperand &use = *dot.getResult().getUses().begin();
      if (loop && loop.getBody() == dot->getBlock() && isa<scf::YieldOp>(use.getOwner()) &&
          use.getOwner()->getParentOp() == loop &&
          use.getOperandNumber() + loop.getNumInductionVars() == argument.getArgNumber())
        share(dot.getResult(), argument);
    }
  });
}

void FusionPlan::chooseInPlaceYields() {
  kernel->walk([&](scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    auto coneOf = [&](Value tile) {
      Cone out;
      visit(tile, false, false, false, out);
      return out;
    };
    for (OpOperand &operand : yield->getOpOperands()) {
      if (!tile::isTile(operand.get()))
        continue;
      Value argument = loop.getRegionIterArg(operand.getOperandNumber());
      bool safe = !coneOf(operand.get()).displaced.contains(argument);
      // Yields are computed in order; no later one may want the old value.
      for (OpOperand &later : yield->getOpOperands().drop_front(operand.getOperandNumber() + 1))
        safe &= !coneOf(later.get()).leaves.contains(argument);
      if (safe)
        direct.insert(&operand);
      else if (auto *op = operand.get().getDefiningOp(); op && isLazy(op))
        store(operand.get(), Reason::Carried);
    }
  });
}

void FusionPlan::allocate() {
  auto take = [&](uint64_t size) {
    uint64_t at = bytes;
    bytes = llvm::alignTo(bytes + size, 64);
    return at;
  };
  for (Value tile : storedOrder)
    if (Stored &plan = storedTiles[tile]; !plan.sameAs)
      plan.offset = take(bufferBytes(tile.getType()));
  for (Value tile : storedOrder)
    if (Stored &plan = storedTiles[tile]; plan.sameAs) {
      Value root = plan.sameAs;
      while (storedTiles[root].sameAs)
        root = storedTiles[root].sameAs;
      plan.offset = storedTiles[root].offset;
    }
  // No two ops use their scratch memory at one time, so all have the same.
  uint64_t most = 0;
  auto takeScratch = [&](Operation *op, uint64_t size) {
    scratch[op] = bytes;
    most = std::max(most, llvm::alignTo(size, 64));
  };
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto user = dyn_cast<tile::ScratchOpInterface>(op))
      takeScratch(op, user.scratchBytes());
    if (tested.contains(op))
      takeScratch(op, bufferBytes(cast<tile::StoreOp>(op).getValue().getType()));
    // A yield that cannot write in place keeps the tiles of its own loop here for a moment.
    if (auto yield = dyn_cast<scf::YieldOp>(op); yield && isa<scf::ForOp>(yield->getParentOp())) {
      uint64_t size = 0;
      for (OpOperand &operand : yield->getOpOperands())
        if (tile::isTile(operand.get()) && !direct.contains(&operand))
          size += llvm::alignTo(bufferBytes(operand.get().getType()), 64);
      if (size)
        takeScratch(op, size);
    }
  });
  bytes += most;
}

// Stores that go past the cache are seen by others when the programs are done, not in order: none
// in kernels that synchronize.
void FusionPlan::findStreams() {
  SmallVector<tile::StoreOp> stores;
  DenseSet<Value> read;
  bool ordered = false;
  kernel->walk([&](Operation *op) {
    if (auto put = dyn_cast<tile::StoreOp>(op))
      stores.push_back(put);
    else if (writesGlobalMemory(op))
      ordered = true;
    else if (auto access = dyn_cast<tile::MemoryAccessOpInterface>(op))
      if (access.readsMemory()) {
        auto arguments = analysis::argumentsOf(access.getAccessed());
        ordered |= !arguments;
        if (arguments)
          read.insert(arguments->begin(), arguments->end());
      }
  });
  if (ordered)
    return;
  for (tile::StoreOp put : stores) {
    auto arguments = analysis::argumentsOf(put.getPointer());
    if (arguments && tile::isTile(put.getPointer()) &&
        llvm::none_of(*arguments, [&](BlockArgument one) { return read.contains(one); }))
      streaming.insert(put);
  }
}

std::vector<FusionPlan::Loop> FusionPlan::loops() const {
  std::vector<Loop> out;
  for (const Root &root : roots()) {
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(root.place))
      continue;
    Loop loop{root.place, {}, root.materializes ? stored(root.tiles[0]) : nullptr};
    if (!root.materializes && root.place->getNumResults())
      loop.stored = stored(root.place->getResult(0));
    Cone used = cone(root);
    for (Operation *op : llvm::reverse(used.ops.getArrayRef()))
      if (llvm::any_of(op->getOperands(), tile::isTile) || isCostly(op))
        loop.computes.push_back(op);
    // What stands alone and touches no tile is no loop.
    if (!loop.computes.empty() || loop.stored ||
        llvm::any_of(root.place->getOperands(), tile::isTile))
      out.push_back(std::move(loop));
  }
  return out;
}

void FusionPlan::print(llvm::raw_ostream &os) const {
  FunctionOpInterface function = kernel;
  AsmState state(function.getOperation());
  auto name = [&](Value value) { value.printAsOperand(os, state); };
  constexpr StringLiteral reasons[] = {"whole",  "indexed", "carried",
                                       "reused", "turned",  "memory order"};
  auto printAhead = [&](ArrayRef<Ahead> loads) {
    if (!loads.empty())
      os << " fetches " << loads.size() << " ahead"
         << (loads.front().isNear ? "" : " into the second cache");
  };
  os << "cpu plan of @" << function.getName() << ": arena " << bytes << " bytes\n";
  for (const Root &root : roots()) {
    bool loops = !isa<scf::ForOp, scf::IfOp, scf::WhileOp>(root.place);
    os << "  ";
    if (root.materializes) {
      os << "store ";
      name(root.tiles[0]);
    } else {
      os << root.place->getName();
      for (Value result : root.place->getResults()) {
        os << " ";
        name(result);
      }
    }
    if (const Stored *plan =
            root.place->getNumResults() ? stored(root.place->getResult(0)) : nullptr)
      os << " at " << plan->offset << " (" << reasons[unsigned(plan->reason)] << ")";
    Cone used = cone(root);
    if (loops && !used.ops.empty()) {
      os << " computes";
      for (Operation *op : llvm::reverse(used.ops.getArrayRef()))
        if (llvm::any_of(op->getOperands(), tile::isTile) || isCostly(op))
          os << " " << op->getName().getStringRef();
    }
    if (const RowLoop *row = rowLoop(root.place)) {
      if (row->ops.back() != root.place)
        os << " with the next";
      else
        printAhead(row->ahead);
    }
    printAhead(fetchedDuring(root.place));
    if (isa<scf::YieldOp>(root.place))
      for (OpOperand &yielded : root.place->getOpOperands())
        printAhead(fetchedDuring(yielded));
    if (size_t rows = rowsFetchedDuring(root.place).size())
      os << " fetches rows of " << rows;
    if (alternates(root.place))
      os << " from both ends in turns";
    if (runsInYield(root.place))
      os << " with what is yielded";
    if (mayStream(root.place))
      os << (leaving && leaving->store == root.place ? " may stream while the next program computes"
                                                     : " may stream");
    if (!used.leaves.empty()) {
      os << " reads";
      for (Value leaf : used.leaves) {
        os << " ";
        name(leaf);
      }
    }
    os << "\n";
  }
}

} // namespace nereid::cpu
