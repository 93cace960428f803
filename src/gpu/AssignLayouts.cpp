#include "gpu/AssignLayouts.h"

#include "analysis/KernelFacts.h"
#include "gpu/AccessLayouts.h"
#include "gpu/LayoutFlow.h"
#include "gpu/Layouts.h"
#include "gpu/Rings.h"
#include "gpu/TileGpu.h"
#include "gpu/TileVersions.h"
#include "gpu/TurnProducts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

class Assigner {
public:
  Assigner(FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps)
      : kernel(kernel), warps(warps), b(kernel.getContext()), products(kernel, chip, warps),
        accesses(kernel, products, warps), versions(b, accesses) {}

  LogicalResult run() {
    auto from = cast<func::FuncOp>(kernel.getOperation());
    b.setInsertionPoint(from);
    auto to = cast<func::FuncOp>(b.cloneWithoutRegions(*from));
    Block *entry = to.addEntryBlock();
    versions.open();
    for (auto [old, now] : llvm::zip(from.getArguments(), entry->getArguments()))
      versions.add(old, now);
    b.setInsertionPointToStart(entry);
    if (failed(emit(from.getBody().front())))
      return failure();
    b.create<func::ReturnOp>(from.getLoc());
    from.erase();
    return success();
  }

private:
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
    if (versions.tryRecompute(op))
      return success();
    auto tiles = [](auto range) {
      return llvm::any_of(range, [](Value v) { return tile::isTile(v); });
    };
    if (!tiles(op->getOperands()) && !tiles(op->getResults())) {
      b.clone(*op, versions.scalars);
      return success();
    }
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return emitDot(dot);
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
    if ((access && tile::isTile(access.getAccessed())) || isa<tile::DescLoadOp>(op))
      return {*accesses.of(op), std::nullopt, {}};
    // Scalars that are joined, or a pair that becomes scalars, meet in one thread.
    if (isa<tile::JoinOp, tile::SplitOp>(op) &&
        !(tile::isTile(op->getOperand(0)) && tile::isTile(op->getResult(0)))) {
      LinearLayout pair = blockedLayout(ArrayRef<int64_t>{2}, 2, ArrayRef<unsigned>{0u}, warps);
      if (tile::isTile(op->getResult(0)))
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
      if (auto own = versions.ownLayout(op->getOperand(0))) {
        LinearLayout pairs = withRegister(*own, tile::shapeOf(op->getOperand(0).getType()), 1);
        if (auto result = forward(op, 0, pairs, 0, warps))
          return {*result, 0u, pairs};
      }
    // An operand that has a place already: what comes of a product before others, and others before
    // masks.
    std::optional<Choice> placed;
    unsigned placedRank = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (tile::isTile(operand.get()))
        if (auto own = versions.ownLayout(operand.get()))
          if (unsigned rank = rankOf(op, operand.get()); rank > placedRank)
            if (auto result = forward(op, operand.getOperandNumber(), *own, 0, warps)) {
              placed = Choice{*result, operand.getOperandNumber(), *own};
              placedRank = rank;
            }
    if (placed)
      return *placed;
    // Operands that are computed where they are wanted follow the result.
    if (op->getNumResults() && tile::isTile(op->getResult(0))) {
      LinearLayout layout = layoutOfComputed(op->getResult(0));
      bool follows = llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
        return !tile::isTile(operand.get()) || backward(op, 0, layout, operand.getOperandNumber());
      });
      if (follows)
        return {layout, std::nullopt, {}};
    }
    for (OpOperand &operand : op->getOpOperands())
      if (tile::isTile(operand.get())) {
        LinearLayout layout = defaultLayout(operand.get().getType());
        if (auto result = forward(op, operand.getOperandNumber(), layout, 0, warps))
          return {*result, operand.getOperandNumber(), layout};
      }
    for (Value result : op->getResults())
      if (tile::isTile(result))
        return {defaultLayout(result.getType()), std::nullopt, {}};
    return {};
  }

  // Where a tile lies that is computed of numbers alone: as the sums that it meets, or as the
  // access whose address or mask it is part of, if no thread computes much more than its share
  // then.
  LinearLayout layoutOfComputed(Value tile) {
    constexpr unsigned mostCopies = 4;
    if (auto met = products.metBy(tile))
      return *met;
    LinearLayout usual = defaultLayout(tile.getType());
    auto accessed = accesses.ofAccessBy(tile);
    return accessed && registersOf(*accessed) <= mostCopies * registersOf(usual) ? *accessed
                                                                                 : usual;
  }

  // How much an operand says about where an op's result lies.
  unsigned rankOf(Operation *op, Value operand) {
    if (!op->hasTrait<OpTrait::Elementwise>())
      return 1;
    if (products.behind(operand))
      return 3;
    return tile::elementType(operand.getType()).isInteger(1) ? 1 : 2;
  }

  LogicalResult emitPlain(Operation *op) {
    Choice choice = choose(op);
    // Regions refer to scalars outside, so the clone uses the map of all scalars.
    IRMapping &mapping = versions.scalars;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!tile::isTile(operand.get()))
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
        layout = defaultLayout(operand.get().getType());
      mapping.map(operand.get(), versions.require(operand.get(), *layout));
    }
    Operation *copy = b.clone(*op, mapping);
    for (auto [old, now] : llvm::zip(op->getResults(), copy->getResults())) {
      if (!tile::isTile(now))
        continue;
      now.setType(withLayout(now.getType(), choice.result));
      versions.add(old, now);
    }
    if (auto second = accesses.ofCopy(op)) {
      for (Value operand : op->getOperands())
        if (tile::isTile(operand))
          mapping.map(operand, versions.require(operand, *second));
      versions.add(op->getResult(0), versions.cloneWith(op, mapping, *second)->getResult(0));
    }
    return success();
  }

  // --- products ---

  LogicalResult emitDot(tile::DotOp dot) {
    Product product = products.of(dot);
    IRMapping mapping;
    auto neighbours = neighboursOfSum(dot, product);
    if (neighbours)
      product = *neighbours;
    if (product.instruction == "fma")
      product.lhs = lyingInRows(dot.getLhs()), product.rhs = lyingInRows(dot.getRhs());
    Value lhs = product.instruction == "wgmma" && dot->hasAttr(rowsTogetherAttr)
                    ? versions.requireFromSlot(dot.getLhs(), *product.lhs)
                : neighbours ? versions.require(dot.getLhs(), *product.lhs)
                             : requireOperand(dot.getLhs(), product.lhs);
    Value rhs = neighbours ? besideSum(dot.getRhs(), *product.rhs)
                           : requireOperand(dot.getRhs(), product.rhs);
    Value acc = versions.require(dot.getAcc(), product.sum);
    Operation *copy = versions.cloneWith(dot, mapping, product.sum);
    copy->setOperands({lhs, rhs, acc}); // the same tile may be two of them, each in its layout
    copy->setAttr(instructionAttr, b.getStringAttr(product.instruction));
    if (neighbours)
      setNeighbours(cast<tile::DotOp>(copy), neighboursInSum);
    versions.add(dot.getResult(), copy->getResult(0));
    return success();
  }

  static constexpr unsigned neighboursInSum = 2; // along N, which a lane holds

  // A left operand of words that lies as a sum does is the operand of a product that is permuted
  // along K; so is the right one then.
  std::optional<Product> neighboursOfSum(tile::DotOp dot, const Product &product) {
    constexpr unsigned wordBytes = 4;
    auto own = versions.ownLayout(dot.getLhs());
    if (product.instruction != "mma" || !own || dot->hasAttr(rowsTogetherAttr) ||
        dot->hasAttr(columnsTogetherAttr) ||
        tile::bytesInMemory(tile::elementType(dot.getLhs().getType())) != wordBytes)
      return std::nullopt;
    LinearLayout lhs = withNeighbours(*product.lhs, 1, wordBytes, neighboursInSum);
    for (LayoutInput input : {LayoutInput::Lane, LayoutInput::Warp})
      if (own->bases(input) != lhs.bases(input))
        return std::nullopt;
    return Product{product.instruction, lhs,
                   withNeighbours(*product.rhs, 0, wordBytes, neighboursInSum), product.sum};
  }

  // As wanted if that costs nothing, else where it is.
  Value requireOperand(Value operand, const std::optional<LinearLayout> &wanted) {
    if (wanted && versions.exists(operand, &*wanted))
      return versions.require(operand, *wanted);
    auto own = versions.ownLayout(operand);
    return versions.require(operand, own      ? *own
                                     : wanted ? *wanted
                                              : defaultLayout(operand.getType()));
  }

  // The right operand of such a product, mostly a sum too, moves by shuffles where it is small:
  // once for all products of a chain, of which each would write and read it for itself. What is
  // loaded may wait in a ring.
  Value besideSum(Value operand, const LinearLayout &wanted) {
    constexpr unsigned mostWords = 8;
    auto own = versions.ownLayout(operand);
    auto source = untransposed(operand);
    if (own && registersOf(*own) <= mostWords && source &&
        !isa_and_present<tile::LoadOp, tile::DescLoadOp>(source->first.getDefiningOp()))
      if (auto exchange = exchangeInWarps(*own, wanted);
          exchange && exchange->isCheap(registersOf(*own)))
        return versions.require(operand, wanted);
    return requireOperand(operand, wanted);
  }

  // Multiply-adds read both operands along rows, of which 16 bytes at once: what is computed for
  // them is written so (a triangle of ones times a tile: 320 reads of shared memory become 128).
  LinearLayout lyingInRows(Value operand) {
    auto shape = tile::shapeOf(operand.getType());
    unsigned bytes = tile::bytesInMemory(tile::elementType(operand.getType()));
    SmallVector<unsigned> order;
    for (unsigned d = shape.size(); d-- > 0;)
      order.push_back(d);
    return blockedLayout(shape, std::max(1u, 16 / bytes), order, warps);
  }

  // A left operand that a loop does not change lies in registers, if they are few. That of wgmma
  // comes from shared memory at no cost.
  void hoistOperands(scf::ForOp loop) {
    constexpr unsigned most = 64;
    loop.walk([&](tile::DotOp dot) {
      Value lhs = dot.getLhs();
      Product product = products.of(dot);
      if (product.lhs && product.instruction != "wgmma" && versions.ownLayout(lhs) &&
          registersOf(*product.lhs) <= most)
        versions.require(lhs, *product.lhs);
    });
  }

  // --- control flow ---

  Value lookup(Value old) { return versions.scalars.lookup(old); }

  SmallVector<Value> requireAll(ValueRange values, ArrayRef<LinearLayout> layouts) {
    SmallVector<Value> out;
    for (auto [value, layout] : llvm::zip(values, layouts))
      out.push_back(versions.require(value, layout));
    return out;
  }
  void addAll(ValueRange old, ValueRange now) {
    for (auto [from, to] : llvm::zip(old, now))
      versions.add(from, to);
  }

  // Emits the body of an op with regions; `finish` makes the terminator.
  LogicalResult emitInto(Block &to, Block &from, llvm::function_ref<void()> finish) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&to);
    versions.open();
    addAll(from.getArguments(), to.getArguments());
    if (failed(emit(from)))
      return failure();
    finish();
    versions.close();
    return success();
  }

  // The layout that `value`, computed in `body`, will have there, as far as products and memory
  // accesses say; nothing if they don't. Tiles that are repeated have a say of their own.
  std::optional<LinearLayout> foresee(Value value, Block &body, DenseSet<Value> &seen,
                                      bool ofRepeated) {
    if (!tile::isTile(value) || !seen.insert(value).second)
      return std::nullopt;
    Operation *op = value.getDefiningOp();
    if (!op || !body.getParentOp()->isProperAncestor(op))
      return versions.ownLayout(value);
    if (isa<tile::BroadcastOp>(op) && !ofRepeated)
      return std::nullopt;
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return foreseeYielded(branch, result, body, seen, ofRepeated);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return foresee(loop.getBody()->getTerminator()->getOperand(result), body, seen, ofRepeated);
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return products.of(dot).sum;
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    if (access && tile::isTile(access.getAccessed()))
      return *accesses.of(op);
    for (OpOperand &operand : op->getOpOperands())
      if (auto layout = foresee(operand.get(), body, seen, ofRepeated))
        if (auto own = forward(op, operand.getOperandNumber(), *layout, result, warps))
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

  // A carried tile keeps the layout in which the loop computes it; addresses, and numbers of which
  // addresses and masks are made, lie as the access wants them. A smaller tile that is repeated
  // does not say where the carried one lies if accesses to tiles of its shape do: it is little to
  // move. Nor does one that has fewer elements than there are threads: a state that follows it is
  // computed by all that hold copies (64 x 64 and 128 threads: 320 shuffles a step to sum it up,
  // and each element twice).
  LinearLayout carriedLayout(scf::ForOp loop, unsigned i) {
    Value init = loop.getInitArgs()[i];
    if (!tile::isTile(init))
      return {};
    auto foreseen = [&](bool ofRepeated) {
      DenseSet<Value> seen;
      return foresee(loop.getBody()->getTerminator()->getOperand(i), *loop.getBody(), seen,
                     ofRepeated);
    };
    if (auto own = foreseen(/*ofRepeated=*/false))
      return *own;
    if (auto accessed = accesses.ofAccessBy(loop.getRegionIterArg(i)))
      return *accessed;
    if (auto own = accesses.ofState(tile::shapeOf(init.getType()), loop))
      return *own;
    if (!accesses.isAccessed(tile::shapeOf(init.getType())))
      if (auto own = foreseen(/*ofRepeated=*/true); own && !holdsCopies(*own))
        return *own;
    if (auto own = versions.ownLayout(init))
      return *own;
    return defaultLayout(init.getType());
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
    if (loop.getNumResults() == 0)
      made.getBody()->getTerminator()->erase();
    if (failed(emitInto(*made.getBody(), *loop.getBody(), [&] {
          b.create<scf::YieldOp>(
              loop.getLoc(), requireAll(loop.getBody()->getTerminator()->getOperands(), layouts));
        })))
      return failure();
    addAll(loop.getResults(), made.getResults());
    return success();
  }

  SmallVector<LinearLayout> defaultsFor(TypeRange types) {
    SmallVector<LinearLayout> out;
    for (Type type : types)
      out.push_back(tile::isTile(type) ? defaultLayout(type) : LinearLayout());
    return out;
  }
  SmallVector<Type> typesWith(TypeRange types, ArrayRef<LinearLayout> layouts) {
    SmallVector<Type> out;
    for (auto [type, layout] : llvm::zip(types, layouts))
      out.push_back(tile::isTile(type) ? Type(withLayout(type, layout)) : type);
    return out;
  }

  LogicalResult emitIf(scf::IfOp branch) {
    SmallVector<LinearLayout> layouts = defaultsFor(branch.getResultTypes());
    for (auto [i, layout] : llvm::enumerate(layouts)) {
      if (!tile::isTile(branch.getResult(i)))
        continue;
      auto foreseen = [&](bool ofRepeated) {
        DenseSet<Value> seen;
        return foreseeYielded(branch, unsigned(i), *branch.thenBlock(), seen, ofRepeated);
      };
      auto own = foreseen(/*ofRepeated=*/false);
      if (!own)
        own = products.metBy(branch.getResult(i));
      if (!own)
        own = foreseen(/*ofRepeated=*/true);
      if (own)
        layout = *own;
    }
    auto made = b.create<scf::IfOp>(branch.getLoc(), typesWith(branch.getResultTypes(), layouts),
                                    lookup(branch.getCondition()), !branch.getElseRegion().empty());
    made->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
    for (auto [from, to] : llvm::zip(branch->getRegions(), made->getRegions())) {
      if (from.empty())
        continue;
      to.front().clear();
      if (failed(emitInto(to.front(), from.front(), [&] {
            b.create<scf::YieldOp>(
                branch.getLoc(), requireAll(from.front().getTerminator()->getOperands(), layouts));
          })))
        return failure();
    }
    addAll(branch.getResults(), made.getResults());
    return success();
  }

  LogicalResult emitWhile(scf::WhileOp loop) {
    SmallVector<LinearLayout> before = defaultsFor(loop.getInits().getTypes());
    SmallVector<LinearLayout> after = defaultsFor(loop.getResultTypes());
    auto made = b.create<scf::WhileOp>(loop.getLoc(), typesWith(loop.getResultTypes(), after),
                                       requireAll(loop.getInits(), before));
    auto blockIn = [&](Region &region, TypeRange types) {
      OpBuilder::InsertionGuard guard(b);
      SmallVector<Location> locations(types.size(), loop.getLoc());
      return b.createBlock(&region, region.end(), types, locations);
    };
    Block *head = blockIn(made.getBefore(), typesWith(loop.getInits().getTypes(), before));
    if (failed(emitInto(*head, *loop.getBeforeBody(), [&] {
          auto condition = loop.getConditionOp();
          b.create<scf::ConditionOp>(loop.getLoc(), lookup(condition.getCondition()),
                                     requireAll(condition.getArgs(), after));
        })))
      return failure();
    Block *body = blockIn(made.getAfter(), typesWith(loop.getResultTypes(), after));
    if (failed(emitInto(*body, *loop.getAfterBody(), [&] {
          b.create<scf::YieldOp>(loop.getLoc(),
                                 requireAll(loop.getYieldOp().getOperands(), before));
        })))
      return failure();
    addAll(loop.getResults(), made.getResults());
    return success();
  }

  LinearLayout defaultLayout(Type type) { return accesses.ofShape(tile::shapeOf(type)); }

  FunctionOpInterface kernel;
  unsigned warps;
  OpBuilder b;
  ProductLayouts products;
  AccessLayouts accesses;
  TileVersions versions;
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
