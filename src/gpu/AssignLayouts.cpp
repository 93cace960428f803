#include "gpu/AssignLayouts.h"

#include "analysis/AxisAnalysis.h"
#include "analysis/KernelFacts.h"
#include "gpu/Layouts.h"
#include "gpu/StepsAhead.h"
#include "gpu/TurnProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <map>
#include <set>

using namespace mlir;

namespace nereid::gpu {

namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }
bool isTile(Type type) { return isa<RankedTensorType>(type); }

} // namespace

std::optional<ProductKind> tensorCoreKind(tile::DotOp dot, const target::GpuChip &chip) {
  Type left = tile::elementType(dot.getLhs().getType()),
       right = tile::elementType(dot.getRhs().getType()), sum = tile::elementType(dot.getType());
  if (left.isInteger(8) && right.isInteger(8) && sum.isInteger(32)) {
    StringRef name = dot.getIsUnsigned() ? "u8" : "s8";
    return ProductKind{name, name, "s32", 1};
  }
  if (left.isF16() && right.isF16() && (sum.isF16() || sum.isF32()))
    return ProductKind{"f16", "f16", sum.isF16() ? "f16" : "f32", 2};
  if (!sum.isF32())
    return std::nullopt;
  if (left.isBF16() && right.isBF16() && chip.can(target::Bf16Mma))
    return ProductKind{"bf16", "bf16", "f32", 2};
  if (left.isF32() && right.isF32() && dot.getPrecision() == tile::InputPrecision::TF32 &&
      chip.can(target::Bf16Mma))
    return ProductKind{"tf32", "tf32", "f32", 4};
  auto fp8 = [](Type type) -> StringRef {
    return type.isFloat8E4M3FN() ? "e4m3" : type.isFloat8E5M2() ? "e5m2" : "";
  };
  if (!fp8(left).empty() && !fp8(right).empty() && chip.can(target::Fp8Mma))
    return ProductKind{fp8(left), fp8(right), "f32", 1};
  return std::nullopt;
}

namespace {

class Assigner {
public:
  Assigner(FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps)
      : kernel(kernel), chip(chip), warps(warps), b(kernel.getContext()), axes(kernel) {
    chooseAccessLayouts();
  }

  LogicalResult run() {
    auto from = cast<func::FuncOp>(kernel.getOperation());
    b.setInsertionPoint(from);
    auto to = cast<func::FuncOp>(b.cloneWithoutRegions(*from));
    Block *entry = to.addEntryBlock();
    scopes.emplace_back();
    for (auto [old, now] : llvm::zip(from.getArguments(), entry->getArguments()))
      scalars.map(old, now);
    b.setInsertionPointToStart(entry);
    if (failed(emit(from.getBody().front())))
      return failure();
    b.create<func::ReturnOp>(from.getLoc());
    from.erase();
    return success();
  }

private:
  struct Version {
    LinearLayout layout;
    Value value;
  };
  using Scope = DenseMap<Value, SmallVector<Version, 2>>;

  // --- layouts that ops ask for ---

  // The tile that a descriptor's block is read to or written from; rows of it are contiguous.
  static Value blockOf(Operation *op) {
    if (auto load = dyn_cast<tile::DescLoadOp>(op))
      return load.getResult();
    if (auto store = dyn_cast<tile::DescStoreOp>(op))
      return store.getValue();
    return {};
  }

  // True for what is computed from a product, element by element: it comes out of the product's
  // layout anyhow.
  static bool isOfProduct(Value tile, llvm::SmallPtrSetImpl<Operation *> &seen) {
    Operation *op = tile.getDefiningOp();
    if (!op || !isTile(tile) || !seen.insert(op).second)
      return false;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned i = cast<OpResult>(tile).getResultNumber();
      return isOfProduct(loop.getBody()->getTerminator()->getOperand(i), seen);
    }
    return isa<tile::DotOp>(op) ||
           (op->hasTrait<OpTrait::Elementwise>() &&
            llvm::any_of(op->getOperands(), [&](Value v) { return isOfProduct(v, seen); }));
  }

  // One layout a shape and dimension along which accesses are contiguous, with the widest vectors
  // among them, so that what is loaded together meets without conversions; stores of products have
  // one for each size of elements. What is no access lies like the access of its shape that moves
  // most elements at once.
  void chooseAccessLayouts() {
    struct Choice {
      int64_t contiguity = 0;
      int64_t perThread = 1;
      int64_t bytes = 8;       // of the smallest element
      int64_t mostWritten = 0; // of the smallest elements stored in the deepest loop, at once
      unsigned depth = 0;      // of that loop
    };
    std::map<Place, Choice> choices;
    std::map<std::vector<int64_t>, Place> best;
    // Along which axes tiles of a shape are reduced, and in which loops (null: in none).
    struct Reduced {
      std::set<unsigned> axes;
      std::set<Operation *> loops;
    };
    std::map<std::vector<int64_t>, Reduced> reductions;
    kernel->walk([&](Operation *op) {
      auto note = [&](Value source, unsigned axis) {
        llvm::SmallPtrSet<Operation *, 16> seen;
        if (isOfProduct(source, seen))
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
    SmallVector<Operation *> scattered;
    auto note = [&](Operation *op, ArrayRef<int64_t> shape, unsigned dim, int64_t contiguity,
                    int64_t width, int64_t elementBytes, bool isApart = false) {
      Place place(shape.vec(), dim, isApart ? elementBytes : 0);
      places.try_emplace(op, place);
      Choice &choice = choices[place];
      choice.contiguity = std::max(choice.contiguity, contiguity);
      choice.perThread = std::max(choice.perThread, width);
      choice.bytes = std::min(choice.bytes, elementBytes);
      unsigned depth = 0;
      for (Operation *loop = op; (loop = loop->getParentOp());)
        depth += isa<LoopLikeOpInterface>(loop);
      if (depth > choice.depth) {
        choice.mostWritten = 0;
        choice.depth = depth;
      }
      // A thread that needed two instructions for each store would leave gaps in them, which costs
      // the memory twice; of loads the second one finds its line in the nearest cache.
      if (depth == choice.depth && !isa<tile::LoadOp, tile::DescLoadOp, tile::DescStoreOp>(op))
        choice.mostWritten = std::max(choice.mostWritten, 16 / elementBytes);
      auto [found, fresh] = best.try_emplace(shape.vec(), place);
      if (!fresh && choices[found->second].contiguity < choice.contiguity)
        found->second = place;
    };
    kernel->walk([&](tile::MemoryAccessOpInterface access) {
      Value pointer = access.getAccessed();
      int64_t bytes = tile::bytesInMemory(access.getAccessElementType());
      if (Value block = blockOf(access)) {
        auto shape = tile::shapeOf(block.getType());
        return note(access, shape, shape.size() - 1, shape.back(), 16 / bytes, bytes);
      }
      auto shape = tile::shapeOf(pointer.getType());
      if (shape.empty())
        return;
      tile::AxisFacts facts = axes.facts(pointer), maskFacts;
      Value mask = access.getAccessMask();
      if (mask)
        maskFacts = axes.facts(mask);
      unsigned dim = shape.size() - 1;
      for (unsigned d = shape.size(); d-- > 0;)
        if (facts.contiguity[d] > facts.contiguity[dim])
          dim = d;
      int64_t width =
          analysis::accessWidth(facts, mask && isTile(mask) ? &maskFacts : nullptr, dim, bytes, 16);
      bool isScattered = facts.contiguity[dim] == 1;
      if (auto depth = depthOfWords(access); depth && (isScattered || dim != *depth))
        chosen[access] = turningLayout(shape, *depth, warps);
      else if (isScattered)
        scattered.push_back(access);
      else {
        auto store = dyn_cast<tile::StoreOp>(access.getOperation());
        llvm::SmallPtrSet<Operation *, 16> seen;
        bool isApart = store && isOfProduct(store.getValue(), seen);
        note(access, shape, dim, facts.contiguity[dim], width, bytes, isApart);
      }
    });
    // Accesses that are contiguous nowhere lie like others of their shape.
    for (Operation *op : scattered) {
      auto shape = tile::shapeOf(cast<tile::MemoryAccessOpInterface>(op).getAccessed().getType());
      if (auto found = best.find(shape.vec()); found != best.end())
        places.try_emplace(op, found->second);
      else
        note(op, shape, shape.size() - 1, 1, 1,
             tile::bytesInMemory(cast<tile::MemoryAccessOpInterface>(op).getAccessElementType()));
    }
    for (auto &[place, choice] : choices) {
      const auto &[shape, dim, bytes] = place;
      int64_t elements = 1;
      for (int64_t extent : shape)
        elements *= extent;
      int64_t share = std::max<int64_t>(1, elements / (int64_t(warps) * lanesPerWarp));
      SmallVector<unsigned> order = {dim};
      for (unsigned d = shape.size(); d-- > 0;)
        if (d != dim)
          order.push_back(d);
      int64_t most = choice.mostWritten ? choice.mostWritten : choice.perThread;
      unsigned perThread = unsigned(std::min({choice.perThread, share, most}));
      // Rows that are reduced where they are loaded: a warp reads two lines of each at once, of as
      // many rows as that leaves. A sum that a loop keeps by element is reduced once, and its
      // threads are better off with several rows, for which they hold less of what all rows meet.
      constexpr int64_t rowBytes = 256;
      auto reduced = reductions.find(shape);
      bool isReduced =
          reduced != reductions.end() && reduced->second.axes == std::set<unsigned>{dim} &&
          llvm::all_of(places, [&](const auto &access) {
            Operation *loop = access.first->template getParentOfType<LoopLikeOpInterface>();
            return access.second != place || !loop || reduced->second.loops.count(loop);
          });
      if (isReduced)
        accessLayouts[place] = reducedLayout(
            shape, perThread,
            unsigned(std::clamp<int64_t>(rowBytes / (perThread * choice.bytes), 1, lanesPerWarp)),
            order, warps);
      else
        accessLayouts[place] = blockedLayout(shape, perThread, order, warps);
    }
    for (auto &[shape, place] : best) {
      defaults[shape] = accessLayouts[place];
      accessed.insert(shape);
    }
    kernel->walk([&](tile::LoadOp load) { followAddressed(load); });
    kernel->walk([&](tile::LoadOp load) { followMet(load); });
  }

  // The addresses of rows that are read from memory (a page table) are wanted by all threads of a
  // row. Each loads them itself, where they are few: that costs a hit in a cache, moving them two
  // barriers.
  void followAddressed(tile::LoadOp load) {
    constexpr unsigned most = 8;
    auto shape = tile::shapeOf(load.getType());
    if (shape.size() != 1)
      return;
    SmallVector<Operation *> vectors = {load}; // accesses at these addresses, the load among them
    std::optional<LinearLayout> rows;
    llvm::SmallPtrSet<Operation *, 16> seen;
    auto visit = [&](auto &self, Value tile, std::optional<unsigned> axis) -> void {
      for (OpOperand &use : tile.getUses()) {
        Operation *user = use.getOwner();
        auto access = dyn_cast<tile::MemoryAccessOpInterface>(user);
        if (access) {
          if (access.getAccessed() != tile)
            continue;
          if (!axis && isa<tile::LoadOp>(user))
            vectors.push_back(user);
          else if (axis && !rows && places.contains(user))
            rows = sliceLayout(accessLayout(user), *axis);
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
    for (Operation *access : vectors)
      chosen[access] = *rows;
  }

  // In an innermost loop of products loads wait in rings and are read where they are wanted.
  static bool waitsInRing(tile::LoadOp load) {
    auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
    return loop && !load->getBlock()->getOps<tile::DotOp>().empty() && isInnermost(loop);
  }

  // What is loaded to be repeated where it meets a larger tile that is loaded too, or that a loop
  // carries: each thread loads its part of it, where that is little. All but the first one's come
  // from a cache; moving it between threads costs two barriers. If it meets two kinds of tiles, it
  // is loaded for each.
  void followMet(tile::LoadOp load) {
    constexpr unsigned most = 64; // bytes
    constexpr unsigned mostAccesses = 4, mostMet = 2;
    if (tile::shapeOf(load.getType()).empty() || chosen.count(load) || !places.count(load) ||
        waitsInRing(load))
      return;
    auto loop = load->getParentOfType<scf::ForOp>();
    SmallVector<LinearLayout> met;
    bool agree = true;
    SmallVector<Operation *> path; // that widens it
    auto visit = [&](auto &self, Value tile) -> void {
      auto along = [&](Operation *user) {
        path.push_back(user);
        self(self, user->getResult(0));
        path.pop_back();
      };
      bool isRepeated =
          llvm::any_of(path, [](Operation *op) { return isa<tile::BroadcastOp>(op); });
      for (OpOperand &use : tile.getUses()) {
        Operation *user = use.getOwner();
        if (isa<tile::ExpandDimsOp, tile::BroadcastOp>(user) ||
            (!isRepeated && (isCast(user) || isScaling(user)))) {
          along(user);
        } else if (isRepeated && user->hasTrait<OpTrait::Elementwise>()) {
          auto layout = layoutMet(user, tile, load, loop);
          for (Operation *op : llvm::reverse(path))
            if (layout)
              layout = backward(op, 0, *layout, 0);
          agree &= layout.has_value();
          if (layout && !llvm::is_contained(met, *layout))
            met.push_back(*layout);
        } else {
          agree = false;
        }
      }
    };
    visit(visit, load.getResult());
    int64_t bytes = tile::bytesInMemory(tile::elementType(load.getType()));
    // A loop moves it again in each step. Otherwise it is worth some accesses only, each of which
    // has an address of its own.
    auto isLittle = [&](const LinearLayout &layout) {
      unsigned atOnce =
          std::min(consecutiveRegisters(layout, layout.rank() - 1), unsigned(16 / bytes));
      return registersOf(layout) * bytes <= most &&
             ((loop && layout.rank() == 1) || registersOf(layout) <= mostAccesses * atOnce);
    };
    if (met.empty() || met.size() > mostMet || !agree || !llvm::all_of(met, isLittle) ||
        (met.size() > 1 && load.getIsVolatile()))
      return;
    chosen[load] = met.front();
    if (met.size() > 1)
      loadedAgain[load] = met.back();
  }
  // The layout of the first load or product of a shape that a tile is computed of, element by
  // element.
  std::optional<LinearLayout> layoutOfLoad(Value tile, ArrayRef<int64_t> shape, tile::LoadOp but,
                                           unsigned depth) {
    Operation *op = tile.getDefiningOp();
    if (!op || op == but || !isTile(tile) || tile::shapeOf(tile.getType()) != shape)
      return std::nullopt;
    if (isa<tile::LoadOp>(op))
      return places.count(op) ? std::optional(accessLayout(op)) : std::nullopt;
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return productOf(dot).sum;
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && depth)
      return layoutOfLoad(
          loop.getBody()->getTerminator()->getOperand(cast<OpResult>(tile).getResultNumber()),
          shape, but, depth - 1);
    if (depth && op->hasTrait<OpTrait::Elementwise>())
      for (Value operand : op->getOperands())
        if (auto layout = layoutOfLoad(operand, shape, but, depth - 1))
          return layout;
    return std::nullopt;
  }
  // How what `tile` meets in `user` lies: another load, or what the loop carries.
  std::optional<LinearLayout> layoutMet(Operation *user, Value tile, tile::LoadOp load,
                                        scf::ForOp loop) {
    auto shape = tile::shapeOf(tile.getType());
    for (Value operand : user->getOperands())
      if (operand != tile)
        if (auto layout = layoutOfLoad(operand, shape, load, /*depth=*/4))
          return layout;
    bool isCarried = loop && llvm::any_of(loop.getRegionIterArgs(), [&](Value carried) {
                       return isTile(carried) && tile::shapeOf(carried.getType()) == shape;
                     });
    if (isCarried && accessed.count(shape.vec()))
      return defaults.at(shape.vec());
    return std::nullopt;
  }
  static bool isCast(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 1;
  }
  // An operation with the same number for each element.
  static bool isScaling(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
           llvm::count_if(op->getOperands(), [](Value v) {
             Operation *source = v.getDefiningOp();
             return !isa_and_nonnull<tile::SplatOp, arith::ConstantOp>(source);
           }) == 1;
  }
  // The dimension along K of what is loaded for products of wgmma alone, of which it takes elements
  // of this size along K only.
  std::optional<unsigned> depthOfWords(Operation *op) {
    auto load = dyn_cast<tile::LoadOp>(op);
    if (!load || tile::shapeOf(load.getType()).size() != 2)
      return std::nullopt;
    std::optional<unsigned> depth;
    bool agree = true;
    auto visit = [&](auto &self, Value tile, bool isTransposed) -> void {
      for (OpOperand &use : tile.getUses()) {
        if (auto trans = dyn_cast<tile::TransOp>(use.getOwner())) {
          self(self, trans.getResult(), isTransposed ^ (trans.getPerm()[0] == 1));
          continue;
        }
        auto dot = dyn_cast<tile::DotOp>(use.getOwner());
        if (!dot || use.getOperandNumber() > 1 || productOf(dot).instruction != "wgmma" ||
            tensorCoreKind(dot, chip)->bytes != 4 ||
            (use.getOperandNumber() == 0 && dot->hasAttr(rowsTogetherAttr))) {
          agree = false;
          continue;
        }
        unsigned own = (1 - use.getOperandNumber()) ^ unsigned(isTransposed);
        agree &= depth.value_or(own) == own;
        depth = own;
      }
    };
    visit(visit, load.getResult(), false);
    return agree ? depth : std::nullopt;
  }

  // The layout of a memory access on tiles.
  LinearLayout accessLayout(Operation *op) {
    if (auto found = chosen.find(op); found != chosen.end())
      return found->second;
    return accessLayouts.at(places.at(op));
  }

  LinearLayout defaultLayout(ArrayRef<int64_t> shape) {
    auto [found, fresh] = defaults.try_emplace(shape.vec());
    if (fresh) {
      SmallVector<unsigned> order;
      for (unsigned d = shape.size(); d-- > 0;)
        order.push_back(d);
      found->second = blockedLayout(shape, 1, order, warps);
    }
    return found->second;
  }

  // The instruction for a product, and the layouts that it wants: of its sum always, of an operand
  // where that makes a way through shared memory needless.
  struct Product {
    StringRef instruction;
    std::optional<LinearLayout> lhs, rhs;
    LinearLayout sum;
  };
  Product productOf(tile::DotOp dot) {
    auto a = tile::shapeOf(dot.getLhs().getType()), c = tile::shapeOf(dot.getRhs().getType()),
         out = tile::shapeOf(dot.getType());
    auto kind = tensorCoreKind(dot, chip);
    if (kind && out.size() == 2 && chip.can(target::Wgmma))
      if (auto lhs = wgmmaLhs(a, out[1], warps, kind->bytes)) {
        LinearLayout sum = *wgmmaAccumulator(out, warps);
        if (!dot->hasAttr(rowsTogetherAttr))
          return {"wgmma", lhs, std::nullopt, sum};
        IndexOrder order = orderTogether(*lhs, 0);
        return {"wgmma", inOrder(*lhs, 0, order), std::nullopt, inOrder(sum, 0, order)};
      }
    if (kind && out.size() == 2) {
      auto sum = mmaAccumulator(out, warps);
      auto lhs = mmaLhs(a, out[1], warps, kind->bytes);
      auto rhs = mmaRhs(c, out[0], warps, kind->bytes);
      if (sum && lhs && rhs) {
        for (auto [dim, attribute, operand] :
             {std::tuple(0u, rowsTogetherAttr, &lhs), {1u, columnsTogetherAttr, &rhs}})
          if (dot->hasAttr(attribute)) {
            IndexOrder order = orderTogether(**operand, dim);
            *operand = inOrder(**operand, dim, order);
            sum = inOrder(*sum, dim, order);
          }
        return {"mma", lhs, rhs, *sum};
      }
    }
    return {"fma", std::nullopt, std::nullopt, fmaAccumulator(out, warps)};
  }

  // Where an operand lies: as wanted if that costs nothing, else where it is.
  LinearLayout operandLayout(Value operand, const std::optional<LinearLayout> &wanted) {
    if (wanted && find(operand, &*wanted))
      return *wanted;
    if (auto own = ownLayout(operand))
      return *own;
    return wanted ? *wanted : defaultLayout(tile::shapeOf(operand.getType()));
  }

  // A left operand that a loop does not change lies in registers, if they are few. That of wgmma
  // comes from shared memory at no cost.
  void hoistOperands(scf::ForOp loop) {
    constexpr unsigned most = 64;
    loop.walk([&](tile::DotOp dot) {
      Value lhs = dot.getLhs();
      Product product = productOf(dot);
      auto wanted = product.lhs;
      if (wanted && !product.instruction.starts_with("wgmma") && find(lhs, nullptr) &&
          !recomputed.contains(lhs) && registersOf(*wanted) <= most)
        require(lhs, *wanted);
    });
  }

  // --- versions of tiles ---

  const Version *find(Value old, const LinearLayout *layout) const {
    for (const Scope &scope : llvm::reverse(scopes))
      if (auto found = scope.find(old); found != scope.end())
        for (const Version &version : found->second)
          if (!layout || version.layout == *layout)
            return &version;
    return nullptr;
  }
  void add(Value old, Value now) { scopes.back()[old].push_back({layoutOf(now.getType()), now}); }
  // The layout that a tile has without asking for any; nothing if it is computed where it is
  // wanted.
  std::optional<LinearLayout> ownLayout(Value old) const {
    if (recomputed.contains(old))
      return std::nullopt;
    // The first version is the one that its op made; conversions come behind it, in inner scopes.
    for (const Scope &scope : scopes)
      if (auto found = scope.find(old); found != scope.end())
        return found->second.front().layout;
    return std::nullopt;
  }

  Value require(Value old, const LinearLayout &layout) {
    if (!isTile(old))
      return scalars.lookup(old);
    if (const Version *version = find(old, &layout))
      return version->value;
    Value now;
    if (recomputed.contains(old) || movesBefore(old, layout)) {
      now = recompute(cast<OpResult>(old), layout);
    } else {
      const Version *version = nullptr;
      for (const Scope &scope : scopes)
        if (auto found = scope.find(old); found != scope.end()) {
          version = &found->second.front();
          break;
        }
      now = b.create<ConvertLayoutOp>(old.getLoc(), withLayout(old.getType(), layout),
                                      version->value);
    }
    add(old, now);
    return now;
  }

  // What is loaded moves before it is transposed: where it waits in a slot, it is read in the
  // layout that it moves to.
  Value requireFromSlot(Value old, const LinearLayout &layout) {
    auto trans = old.getDefiningOp<tile::TransOp>();
    if (!trans || find(old, &layout))
      return require(old, layout);
    Value now = recompute(cast<OpResult>(old), layout);
    add(old, now);
    return now;
  }

  // A tile that was made wider moves as it was before: half the bytes or less.
  bool movesBefore(Value old, const LinearLayout &layout) {
    constexpr unsigned mostCopies = 4; // of what is computed, for what does not move
    Operation *op = old.getDefiningOp();
    if (!op || !isCast(op) || !isPure(op) || !isTile(op->getOperand(0)))
      return false;
    auto bytes = [](Value tile) {
      Type element = tile::elementType(tile.getType());
      return element.isIntOrFloat() ? tile::bytesInMemory(element) : 0;
    };
    auto own = ownLayout(old);
    return bytes(op->getOperand(0)) < bytes(old) && own &&
           registersOf(layout) <= mostCopies * registersOf(*own);
  }

  std::optional<LinearLayout> backward(Operation *op, unsigned result, const LinearLayout &layout,
                                       unsigned operand) {
    if (keepsLayout(op))
      return layout;
    auto transfer = dyn_cast<tile::LayoutOpInterface>(op);
    return transfer ? transfer.backwardLayout(result, layout, operand) : std::nullopt;
  }
  std::optional<LinearLayout> forward(Operation *op, unsigned operand, const LinearLayout &layout,
                                      unsigned result) {
    if (keepsLayout(op))
      return layout;
    auto transfer = dyn_cast<tile::LayoutOpInterface>(op);
    if (!transfer)
      return std::nullopt;
    auto out = transfer.forwardLayout(operand, layout, result);
    // A tile that most threads have all of does not say where its many copies lie: each thread
    // would hold all of them.
    constexpr int64_t mostCopies = 4;
    if (out && isa<tile::BroadcastOp>(op)) {
      auto type = cast<ShapedType>(op->getResult(result).getType());
      int64_t share = type.getNumElements() / (int64_t(warps) * lanesPerWarp);
      if (registersOf(*out) > mostCopies * std::max<int64_t>(share, 1))
        return std::nullopt;
    }
    return out;
  }
  static bool keepsLayout(Operation *op) {
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    return op->hasTrait<OpTrait::Elementwise>() || (access && isTile(access.getAccessed()));
  }

  // Emits `op` again with a result in `layout`.
  Value recompute(OpResult old, const LinearLayout &layout) {
    Operation *op = old.getOwner();
    IRMapping mapping;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!isTile(operand)) {
        mapping.map(operand, scalars.lookup(operand));
        continue;
      }
      auto wanted = backward(op, old.getResultNumber(), layout, i);
      mapping.map(
          operand,
          require(operand, wanted ? *wanted : defaultLayout(tile::shapeOf(operand.getType()))));
    }
    return cloneWith(op, mapping, layout)->getResult(old.getResultNumber());
  }

  // Clones an op whose tile results all get `layout`.
  Operation *cloneWith(Operation *op, IRMapping &mapping, const LinearLayout &layout) {
    Operation *copy = b.clone(*op, mapping);
    for (OpResult result : copy->getResults())
      if (isTile(result))
        result.setType(withLayout(result.getType(), layout));
    if (auto constant = dyn_cast<arith::ConstantOp>(copy)) {
      auto dense = cast<DenseElementsAttr>(constant.getValue());
      auto type = cast<ShapedType>(constant.getType());
      constant.setValueAttr(dense.isSplat()
                                ? dense.resizeSplat(type)
                                : DenseElementsAttr::getFromRawBuffer(type, dense.getRawData()));
    }
    return copy;
  }

  // What is made of numbers alone is computed where it is wanted, unless that is a lot. So is what
  // repeats a smaller tile: moving that tile costs less than moving all its copies.
  bool isRecomputable(Operation *op) {
    constexpr unsigned most = 24, repeatedShare = 4;
    if (op->getNumRegions() || !isPure(op) || op->getNumResults() == 0 ||
        !llvm::all_of(op->getResults(), [](Value v) { return isTile(v); }))
      return false;
    bool fromNothing = llvm::none_of(op->getOperands(), [](Value v) { return isTile(v); });
    if (!fromNothing && !keepsLayout(op) && !isa<tile::LayoutOpInterface>(op))
      return false;
    // An op that can't say where its operands lie is emitted once.
    if (isa<tile::JoinOp, tile::SplitOp, tile::CatOp, tile::GatherOp, tile::DotOp>(op))
      return false;
    unsigned cost = 1;
    bool repeats = isa<tile::ExpandDimsOp, tile::BroadcastOp>(op);
    for (Value operand : op->getOperands()) {
      if (!isTile(operand) || (repeats && ownLayout(operand)))
        continue;
      if (!recomputed.contains(operand))
        return false;
      // A thread has fewer elements of a tile than copies of them.
      unsigned share = isa<tile::BroadcastOp>(op) ? repeatedShare : 1;
      cost += llvm::divideCeil(costs.lookup(operand), share);
    }
    if (cost > most)
      return false;
    for (Value result : op->getResults())
      costs[result] = cost;
    return true;
  }

  // --- ops ---

  LogicalResult emit(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(emit(&op)))
        return failure();
    return success();
  }

  LogicalResult emit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return emitFor(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return emitIf(branch);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return emitWhile(loop);
    if (isRecomputable(op)) {
      for (Value result : op->getResults())
        recomputed.insert(result);
      return success();
    }
    auto tiles = [](auto range) { return llvm::any_of(range, [](Value v) { return isTile(v); }); };
    if (!tiles(op->getOperands()) && !tiles(op->getResults())) {
      b.clone(*op, scalars);
      return success();
    }
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      Product product = productOf(dot);
      IRMapping mapping;
      for (const auto &[operand, wanted] :
           {std::pair(dot.getLhs(), product.lhs), std::pair(dot.getRhs(), product.rhs)})
        mapping.map(operand, product.instruction == "wgmma" && operand == dot.getLhs() &&
                                     dot->hasAttr(rowsTogetherAttr)
                                 ? requireFromSlot(operand, *wanted)
                                 : require(operand, operandLayout(operand, wanted)));
      mapping.map(dot.getAcc(), require(dot.getAcc(), product.sum));
      Operation *copy = cloneWith(op, mapping, product.sum);
      copy->setAttr(instructionAttr, b.getStringAttr(product.instruction));
      add(dot.getResult(), copy->getResult(0));
      return success();
    }
    return emitPlain(op);
  }

  // What an op's tiles lie in: the layout of its results, and that of the operand that decides it.
  struct Choice {
    LinearLayout result;
    std::optional<unsigned> anchor;
    LinearLayout anchorLayout;
  };

  Choice choose(Operation *op) {
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    if ((access && isTile(access.getAccessed())) || isa<tile::DescLoadOp>(op))
      return {accessLayout(op), std::nullopt, {}};
    // Scalars that are joined, or a pair that becomes scalars, meet in one thread.
    if (isa<tile::JoinOp, tile::SplitOp>(op) &&
        !(isTile(op->getOperand(0)) && isTile(op->getResult(0)))) {
      LinearLayout pair = blockedLayout(ArrayRef<int64_t>{2}, 2, ArrayRef<unsigned>{0u}, warps);
      if (isTile(op->getResult(0)))
        return {pair, std::nullopt, {}};
      return {LinearLayout(), 0u, pair};
    }
    if (auto map = dyn_cast<tile::MapOp>(op); map && map.getPack() > 1) {
      // A group of adjacent elements meets in one thread.
      auto shape = tile::shapeOf(map.getInputs().front().getType());
      SmallVector<unsigned> order;
      for (unsigned d = shape.size(); d-- > 0;)
        order.push_back(d);
      return {blockedLayout(shape, map.getPack(), order, warps), std::nullopt, {}};
    }
    // The halves meet in one thread; the other elements stay where they are.
    if (isa<tile::SplitOp>(op))
      if (auto own = ownLayout(op->getOperand(0))) {
        LinearLayout pairs = withRegister(*own, tile::shapeOf(op->getOperand(0).getType()), 1);
        if (auto result = forward(op, 0, pairs, 0))
          return {*result, 0u, pairs};
      }
    // An operand that has a place already: what comes of a product before others, and others before
    // masks.
    std::optional<Choice> placed;
    unsigned placedRank = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get()))
        if (auto own = ownLayout(operand.get()))
          if (unsigned rank = rankOf(op, operand.get()); rank > placedRank)
            if (auto result = forward(op, operand.getOperandNumber(), *own, 0)) {
              placed = Choice{*result, operand.getOperandNumber(), *own};
              placedRank = rank;
            }
    if (placed)
      return *placed;
    // Operands that are computed where they are wanted follow the result.
    if (op->getNumResults() && isTile(op->getResult(0))) {
      auto wanted = layoutWanted(op->getResult(0));
      LinearLayout layout =
          wanted ? *wanted : defaultLayout(tile::shapeOf(op->getResult(0).getType()));
      bool follows = llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
        return !isTile(operand.get()) || backward(op, 0, layout, operand.getOperandNumber());
      });
      if (follows)
        return {layout, std::nullopt, {}};
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get())) {
        LinearLayout layout = defaultLayout(tile::shapeOf(operand.get().getType()));
        if (auto result = forward(op, operand.getOperandNumber(), layout, 0))
          return {*result, operand.getOperandNumber(), layout};
      }
    for (Value result : op->getResults())
      if (isTile(result))
        return {defaultLayout(tile::shapeOf(result.getType())), std::nullopt, {}};
    return {};
  }

  // How much an operand says about where an op's result lies.
  unsigned rankOf(Operation *op, Value operand) {
    if (!op->hasTrait<OpTrait::Elementwise>())
      return 1;
    if (layoutOfProduct(operand))
      return 3;
    return tile::elementType(operand.getType()).isInteger(1) ? 1 : 2;
  }

  // The layout of the sums that a tile is computed of, element by element.
  std::optional<LinearLayout> layoutOfProduct(Value tile, unsigned depth = 6) {
    if (!depth || !isTile(tile))
      return std::nullopt;
    if (auto argument = dyn_cast<BlockArgument>(tile)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop)
        return std::nullopt;
      return layoutOfProduct(
          loop.getBody()->getTerminator()->getOperand(argument.getArgNumber() - 1), depth - 1);
    }
    Operation *op = tile.getDefiningOp();
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return productOf(dot).sum;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return layoutOfProduct(
          loop.getBody()->getTerminator()->getOperand(cast<OpResult>(tile).getResultNumber()),
          depth - 1);
    if (op->hasTrait<OpTrait::Elementwise>())
      for (Value operand : op->getOperands())
        if (auto layout = layoutOfProduct(operand, depth - 1))
          return layout;
    return std::nullopt;
  }

  // Where a tile meets the sums of a product, element by element: a dropout mask is a long way from
  // the scores that it is for.
  std::optional<LinearLayout> layoutWanted(Value tile, unsigned depth = 256) {
    auto [known, isNew] = meetings.try_emplace(tile);
    if (!isNew || !depth)
      return known->second;
    std::optional<LinearLayout> found = findMeeting(tile, depth);
    return meetings[tile] = found;
  }
  std::optional<LinearLayout> findMeeting(Value tile, unsigned depth) {
    for (OpOperand &use : tile.getUses()) {
      Operation *user = use.getOwner();
      if (auto dot = dyn_cast<tile::DotOp>(user)) {
        if (use.getOperandNumber() == 2)
          return productOf(dot).sum;
        continue;
      }
      if (auto trans = dyn_cast<tile::TransOp>(user)) {
        if (auto layout = layoutWanted(trans.getResult(), depth - 1))
          return backward(user, 0, *layout, 0);
        continue;
      }
      if (!user->hasTrait<OpTrait::Elementwise>())
        continue;
      for (Value operand : user->getOperands())
        if (operand != tile)
          if (auto layout = layoutOfProduct(operand))
            return layout;
      if (auto layout = layoutWanted(user->getResult(0), depth - 1))
        return layout;
    }
    return std::nullopt;
  }

  LogicalResult emitPlain(Operation *op) {
    Choice choice = choose(op);
    // Regions refer to scalars outside, so the clone uses the map of all scalars.
    IRMapping &mapping = scalars;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isTile(operand.get()))
        continue;
      unsigned i = operand.getOperandNumber();
      auto shape = tile::shapeOf(operand.get().getType());
      std::optional<LinearLayout> layout;
      if (choice.result.rank())
        layout = backward(op, 0, choice.result, i);
      // Several sources of a reduction lie alike.
      if (choice.anchor &&
          (i == *choice.anchor ||
           (!layout && shape == tile::shapeOf(op->getOperand(*choice.anchor).getType()))))
        layout = choice.anchorLayout;
      if (!layout)
        layout = defaultLayout(shape);
      mapping.map(operand.get(), require(operand.get(), *layout));
    }
    Operation *copy = b.clone(*op, mapping);
    for (auto [old, now] : llvm::zip(op->getResults(), copy->getResults())) {
      if (!isTile(now))
        continue;
      now.setType(withLayout(now.getType(), choice.result));
      add(old, now);
    }
    if (auto again = loadedAgain.find(op); again != loadedAgain.end()) {
      for (Value operand : op->getOperands())
        if (isTile(operand))
          mapping.map(operand, require(operand, again->second));
      add(op->getResult(0), cloneWith(op, mapping, again->second)->getResult(0));
    }
    return success();
  }

  // --- control flow ---

  Value lookup(Value old) { return scalars.lookup(old); }

  SmallVector<Value> requireAll(ValueRange values, ArrayRef<LinearLayout> layouts) {
    SmallVector<Value> out;
    for (auto [value, layout] : llvm::zip(values, layouts))
      out.push_back(require(value, layout));
    return out;
  }
  void bind(Value old, Value now) {
    if (isTile(now))
      add(old, now);
    else
      scalars.map(old, now);
  }
  Type typeWith(Type type, const LinearLayout &layout) {
    return isTile(type) ? Type(withLayout(type, layout)) : type;
  }

  // The layout that `value`, computed in `body`, will have there, as far as products and memory
  // accesses say; nothing if they don't. Tiles that are repeated have a say of their own.
  std::optional<LinearLayout> foresee(Value value, Block &body, DenseSet<Value> &seen,
                                      bool ofRepeated) {
    if (!isTile(value) || !seen.insert(value).second)
      return std::nullopt;
    Operation *op = value.getDefiningOp();
    if (!op || !body.getParentOp()->isProperAncestor(op))
      return ownLayout(value);
    if (isa<tile::BroadcastOp>(op) && !ofRepeated)
      return std::nullopt;
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return foreseeYielded(branch, result, body, seen, ofRepeated);
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return productOf(dot).sum;
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    if (access && isTile(access.getAccessed()))
      return accessLayout(op);
    for (OpOperand &operand : op->getOpOperands())
      if (auto layout = foresee(operand.get(), body, seen, ofRepeated))
        if (auto own = forward(op, operand.getOperandNumber(), *layout, result))
          return own;
    return std::nullopt;
  }
  // The same for a result of a branch: what one side computes.
  std::optional<LinearLayout> foreseeYielded(scf::IfOp branch, unsigned result, Block &body,
                                             DenseSet<Value> &seen, bool ofRepeated) {
    for (Region *side : {&branch.getThenRegion(), &branch.getElseRegion()})
      if (!side->empty())
        if (auto own =
                foresee(side->front().getTerminator()->getOperand(result), body, seen, ofRepeated))
          return own;
    return std::nullopt;
  }

  // The layout of the first access through `pointers` or what is computed of them alike.
  std::optional<LinearLayout> accessedIn(Value pointers) {
    for (Operation *user : pointers.getUsers()) {
      auto access = dyn_cast<tile::MemoryAccessOpInterface>(user);
      if (access && access.getAccessed() == pointers &&
          (places.contains(user) || chosen.contains(user)))
        return accessLayout(user);
      if (user->hasTrait<OpTrait::Elementwise>())
        if (auto layout = accessedIn(user->getResult(0)))
          return layout;
    }
    return std::nullopt;
  }

  // A carried tile keeps the layout in which the loop computes it; pointers lie like the access
  // through them. A smaller tile that is repeated does not say where the carried one lies if
  // accesses to tiles of its shape do: it is little to move.
  LinearLayout carriedLayout(scf::ForOp loop, unsigned i) {
    Value init = loop.getInitArgs()[i];
    if (!isTile(init))
      return {};
    auto foreseen = [&](bool ofRepeated) {
      DenseSet<Value> seen;
      return foresee(loop.getBody()->getTerminator()->getOperand(i), *loop.getBody(), seen,
                     ofRepeated);
    };
    if (auto own = foreseen(/*ofRepeated=*/false))
      return *own;
    if (isa<tile::PtrType>(tile::elementType(init.getType())))
      if (auto accessed = accessedIn(loop.getRegionIterArg(i)))
        return *accessed;
    if (!accessed.count(tile::shapeOf(init.getType()).vec()))
      if (auto own = foreseen(/*ofRepeated=*/true))
        return *own;
    if (auto own = ownLayout(init))
      return *own;
    return defaultLayout(tile::shapeOf(init.getType()));
  }

  LogicalResult emitFor(scf::ForOp loop) {
    hoistOperands(loop);
    SmallVector<LinearLayout> layouts;
    for (unsigned i = 0; i < loop.getInitArgs().size(); ++i)
      layouts.push_back(carriedLayout(loop, i));
    auto made = b.create<scf::ForOp>(loop.getLoc(), lookup(loop.getLowerBound()),
                                     lookup(loop.getUpperBound()), lookup(loop.getStep()),
                                     requireAll(loop.getInitArgs(), layouts));
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    {
      OpBuilder::InsertionGuard guard(b);
      if (loop.getNumResults() == 0)
        made.getBody()->getTerminator()->erase();
      b.setInsertionPointToStart(made.getBody());
      scopes.emplace_back();
      scalars.map(loop.getInductionVar(), made.getInductionVar());
      for (auto [old, now] : llvm::zip(loop.getRegionIterArgs(), made.getRegionIterArgs()))
        bind(old, now);
      if (failed(emit(*loop.getBody())))
        return failure();
      b.create<scf::YieldOp>(loop.getLoc(),
                             requireAll(loop.getBody()->getTerminator()->getOperands(), layouts));
      scopes.pop_back();
    }
    for (auto [old, now] : llvm::zip(loop.getResults(), made.getResults()))
      bind(old, now);
    return success();
  }

  SmallVector<LinearLayout> defaultsFor(TypeRange types) {
    SmallVector<LinearLayout> out;
    for (Type type : types)
      out.push_back(isTile(type) ? defaultLayout(tile::shapeOf(type)) : LinearLayout());
    return out;
  }
  SmallVector<Type> typesWith(TypeRange types, ArrayRef<LinearLayout> layouts) {
    SmallVector<Type> out;
    for (auto [type, layout] : llvm::zip(types, layouts))
      out.push_back(typeWith(type, layout));
    return out;
  }

  LogicalResult emitIf(scf::IfOp branch) {
    SmallVector<LinearLayout> layouts = defaultsFor(branch.getResultTypes());
    for (auto [i, layout] : llvm::enumerate(layouts)) {
      if (!isTile(branch.getResult(i)))
        continue;
      auto foreseen = [&](bool ofRepeated) {
        DenseSet<Value> seen;
        return foreseeYielded(branch, unsigned(i), *branch.thenBlock(), seen, ofRepeated);
      };
      auto own = foreseen(/*ofRepeated=*/false);
      if (!own)
        own = layoutWanted(branch.getResult(i));
      if (!own)
        own = foreseen(/*ofRepeated=*/true);
      if (own)
        layout = *own;
    }
    auto made = b.create<scf::IfOp>(branch.getLoc(), typesWith(branch.getResultTypes(), layouts),
                                    lookup(branch.getCondition()), !branch.getElseRegion().empty());
    auto side = [&](Region &from, Region &to) -> LogicalResult {
      if (from.empty())
        return success();
      OpBuilder::InsertionGuard guard(b);
      Block &block = to.front();
      if (!block.empty())
        block.clear();
      b.setInsertionPointToStart(&block);
      scopes.emplace_back();
      if (failed(emit(from.front())))
        return failure();
      b.create<scf::YieldOp>(branch.getLoc(),
                             requireAll(from.front().getTerminator()->getOperands(), layouts));
      scopes.pop_back();
      return success();
    };
    if (failed(side(branch.getThenRegion(), made.getThenRegion())) ||
        failed(side(branch.getElseRegion(), made.getElseRegion())))
      return failure();
    for (auto [old, now] : llvm::zip(branch.getResults(), made.getResults()))
      bind(old, now);
    return success();
  }

  LogicalResult emitWhile(scf::WhileOp loop) {
    SmallVector<LinearLayout> before = defaultsFor(loop.getInits().getTypes());
    SmallVector<LinearLayout> after = defaultsFor(loop.getResultTypes());
    auto made = b.create<scf::WhileOp>(loop.getLoc(), typesWith(loop.getResultTypes(), after),
                                       requireAll(loop.getInits(), before));
    auto side = [&](Block &from, Region &to, TypeRange types, bool isBefore) -> LogicalResult {
      OpBuilder::InsertionGuard guard(b);
      Block *block =
          b.createBlock(&to, to.end(), types, SmallVector<Location>(types.size(), loop.getLoc()));
      scopes.emplace_back();
      for (auto [old, now] : llvm::zip(from.getArguments(), block->getArguments()))
        bind(old, now);
      if (failed(emit(from)))
        return failure();
      if (isBefore) {
        auto condition = loop.getConditionOp();
        b.create<scf::ConditionOp>(loop.getLoc(), lookup(condition.getCondition()),
                                   requireAll(condition.getArgs(), after));
      } else {
        b.create<scf::YieldOp>(loop.getLoc(), requireAll(loop.getYieldOp().getOperands(), before));
      }
      scopes.pop_back();
      return success();
    };
    if (failed(side(*loop.getBeforeBody(), made.getBefore(),
                    typesWith(loop.getInits().getTypes(), before), true)) ||
        failed(side(*loop.getAfterBody(), made.getAfter(), typesWith(loop.getResultTypes(), after),
                    false)))
      return failure();
    for (auto [old, now] : llvm::zip(loop.getResults(), made.getResults()))
      bind(old, now);
    return success();
  }

  FunctionOpInterface kernel;
  const target::GpuChip &chip;
  unsigned warps;
  OpBuilder b;
  analysis::AxisAnalysis axes;
  // A shape, the contiguous dimension, and the bytes of an element where that counts.
  using Place = std::tuple<std::vector<int64_t>, unsigned, unsigned>;
  std::map<Operation *, Place> places;
  std::map<Place, LinearLayout> accessLayouts;
  std::map<Operation *, LinearLayout>
      chosen, // of accesses that do not lie like others of their shape
      loadedAgain;
  std::map<std::vector<int64_t>, LinearLayout> defaults;
  std::set<std::vector<int64_t>> accessed; // shapes
  IRMapping scalars;
  SmallVector<Scope> scopes;
  DenseSet<Value> recomputed;
  DenseMap<Value, unsigned> costs;
  DenseMap<Value, std::optional<LinearLayout>> meetings; // `layoutWanted`
};

} // namespace

LogicalResult assignLayouts(ModuleOp module, const target::GpuChip &chip, unsigned warps) {
  FunctionOpInterface kernel = analysis::findKernel(module);
  if (!kernel || !isa<func::FuncOp>(kernel.getOperation()))
    return module.emitError("the module does not hold exactly one kernel");
  turnProducts(kernel, chip, warps);
  return Assigner(kernel, chip, warps).run();
}

} // namespace nereid::gpu
