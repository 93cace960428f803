#include "transforms/UnmaskWholeTiles.h"

#include "analysis/AxisAnalysis.h"
#include "analysis/KernelFacts.h"
#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "transforms/TileElements.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// Code that is written out twice.
constexpr int64_t mostOps = 400;

bool isRowOfIntegers(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 1 && type.getElementType().isInteger();
}

// `offsets` of consecutive numbers, compared with one number.
struct Bound {
  Value offsets, limit;           // limit: a tile that is a number everywhere
  arith::CmpIPredicate predicate; // of an offset and the limit: less, or less or equal
};

class Unmask {
public:
  explicit Unmask(FunctionOpInterface kernel)
      : block(kernel.getFunctionBody().front()), axes(kernel), first(block.begin()) {
    if (auto warps =
            kernel->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(tile::numWarpsAttr))
      threads = 32 * warps.getInt();
  }

  void run() {
    // From the first access that its mask narrows.
    while (first != block.end() && !narrows(*first))
      ++first;
    int64_t count = 0;
    bool loops = false;
    for (auto op = first; op != block.end(); ++op)
      op->walk([&](Operation *inner) {
        ++count;
        loops |= isa<LoopLikeOpInterface>(inner);
      });
    if (loops || count > mostOps)
      return;
    for (auto op = first; op != block.end(); ++op)
      op->walk([&](tile::MemoryAccessOpInterface access) { look(access); });
    if (wanted.empty())
      return;
    OpBuilder b(&block, first);
    Value all;
    for (Value mask : wanted) {
      Value one = conditions[mask];
      all = all ? b.create<arith::AndIOp>(one.getLoc(), all, one).getResult() : one;
    }
    divide(b, all);
  }

private:
  // What a mask is true where all of it is.
  static void split(Value mask, SmallVectorImpl<Value> &parts) {
    if (auto both = mask.getDefiningOp<arith::AndIOp>()) {
      split(both.getLhs(), parts);
      split(both.getRhs(), parts);
    } else {
      parts.push_back(mask);
    }
  }

  // The parts of its mask that make an access narrower.
  SmallVector<Value> narrowing(tile::MemoryAccessOpInterface access) const {
    Value mask = access.getAccessMask();
    SmallVector<Value> parts;
    if (!isa<tile::LoadOp, tile::StoreOp>(access) || !mask || !isRowOfIntegers(mask))
      return parts;
    auto bytes = unsigned(tile::bytesInMemory(access.getAccessElementType()));
    tile::AxisFacts pointers = axes.facts(access.getAccessed());
    int64_t ofThread = std::max<int64_t>(1, tile::shapeOf(mask.getType())[0] / threads);
    auto width = [&](const tile::AxisFacts *facts) {
      return std::min(ofThread,
                      analysis::accessWidth(pointers, facts, 0, bytes, /*limitBytes=*/16));
    };
    split(mask, parts);
    llvm::erase_if(parts, [&](Value part) {
      tile::AxisFacts facts = axes.facts(part);
      return width(&facts) == width(nullptr);
    });
    return parts;
  }

  bool narrows(Operation &op) const {
    return op
        .walk([&](tile::MemoryAccessOpInterface access) {
          return narrowing(access).empty() ? WalkResult::advance() : WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  void look(tile::MemoryAccessOpInterface access) {
    SmallVector<Value> parts = narrowing(access);
    if (llvm::all_of(parts, [&](Value part) {
          auto [found, isNew] = conditions.try_emplace(part);
          if (isNew)
            found->second = isTrueEverywhere(part);
          return bool(found->second);
        }))
      wanted.insert(parts.begin(), parts.end());
  }

  // None if it is another comparison.
  std::optional<Bound> boundOf(Value mask) const {
    auto compare = mask.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return std::nullopt;
    using P = arith::CmpIPredicate;
    Bound bound{compare.getLhs(), compare.getRhs(), compare.getPredicate()};
    if (bound.predicate == P::sgt || bound.predicate == P::sge || bound.predicate == P::ugt ||
        bound.predicate == P::uge) {
      std::swap(bound.offsets, bound.limit);
      bound.predicate = bound.predicate == P::sgt   ? P::slt
                        : bound.predicate == P::sge ? P::sle
                        : bound.predicate == P::ugt ? P::ult
                                                    : P::ule;
    } else if (bound.predicate != P::slt && bound.predicate != P::sle &&
               bound.predicate != P::ult && bound.predicate != P::ule) {
      return std::nullopt;
    }
    if (!isRowOfIntegers(bound.offsets))
      return std::nullopt;
    int64_t size = tile::shapeOf(bound.offsets.getType())[0];
    if (axes.facts(bound.offsets).contiguity[0] < size ||
        axes.facts(bound.limit).constancy[0] < size || !varies(bound.offsets))
      return std::nullopt;
    return bound;
  }

  // Not the same in each program: a row of up to 1024 numbers ends below 1024 in all of them.
  static bool varies(Value value) {
    Operation *op = value.getDefiningOp();
    return !op || isa<tile::ProgramIdOp>(op) || llvm::any_of(op->getOperands(), varies);
  }

  // Whether a mask is true everywhere, in front of the first access; null if that is not known
  // there. Consecutive numbers that do not wrap ascend, so the greatest is the last.
  Value isTrueEverywhere(Value mask) {
    auto bound = boundOf(mask);
    if (!bound)
      return {};
    OpBuilder b(&block, first);
    auto element = [&](Value tile, int64_t index) {
      return TileElements(b, index,
                          [&](Value number) {
                            Operation *op = number.getDefiningOp();
                            return !op ||
                                   (op->getBlock() == &block && op->isBeforeInBlock(&*first));
                          })
          .of(tile);
    };
    int64_t size = tile::shapeOf(bound->offsets.getType())[0];
    Value least = element(bound->offsets, 0), greatest = element(bound->offsets, size - 1),
          limit = element(bound->limit, 0);
    if (!least || !greatest || !limit)
      return {};
    Location loc = mask.getLoc();
    using P = arith::CmpIPredicate;
    bool isSigned = bound->predicate == P::slt || bound->predicate == P::sle;
    Value ascends = b.create<arith::CmpIOp>(loc, isSigned ? P::sle : P::ule, least, greatest);
    Value isBelow = b.create<arith::CmpIOp>(loc, bound->predicate, greatest, limit);
    return b.create<arith::AndIOp>(loc, ascends, isBelow);
  }

  // The mask without what is wanted to be true; null if nothing is left.
  Value rest(OpBuilder &b, Value mask, const IRMapping &mapping) const {
    SmallVector<Value> parts;
    split(mask, parts);
    Value left;
    for (Value part : parts) {
      if (wanted.contains(part))
        continue;
      Value one = mapping.lookupOrDefault(part);
      left = left ? b.create<arith::AndIOp>(mask.getLoc(), left, one).getResult() : one;
    }
    return left;
  }

  void divide(OpBuilder &b, Value all) {
    Operation *end = block.getTerminator();
    SmallVector<Operation *> masked;
    for (auto op = first; &*op != end; ++op)
      masked.push_back(&*op);
    auto choice = b.create<scf::IfOp>(all.getLoc(), all, /*withElseRegion=*/true);
    choice->setAttr(wholeTilesAttr, b.getUnitAttr());
    IRMapping mapping;
    b.setInsertionPointToStart(choice.thenBlock());
    for (Value mask : wanted)
      mapping.map(
          mask, b.create<arith::ConstantOp>(
                    mask.getLoc(), DenseElementsAttr::get(cast<ShapedType>(mask.getType()), true)));
    for (Operation *op : masked)
      b.clone(*op, mapping);
    for (Operation *op : masked)
      op->walk([&](tile::MemoryAccessOpInterface access) { unmask(access, mapping); });
    for (Operation *op : masked)
      op->moveBefore(choice.elseBlock()->getTerminator());
  }

  void unmask(tile::MemoryAccessOpInterface access, const IRMapping &mapping) const {
    Value mask = access.getAccessMask();
    if (!isa<tile::LoadOp, tile::StoreOp>(access) || !mask)
      return;
    Operation *copy = mapping.lookup(access.getOperation());
    OpBuilder b(copy);
    Value left = rest(b, mask, mapping);
    auto set = [&](MutableOperandRange range) {
      if (left)
        range.assign(left);
      else
        range.clear();
    };
    if (auto store = dyn_cast<tile::StoreOp>(copy))
      return set(store.getMaskMutable());
    auto load = cast<tile::LoadOp>(copy);
    set(load.getMaskMutable());
    if (!left)
      load.getOtherMutable().clear();
  }

  Block &block;
  analysis::AxisAnalysis axes;
  Block::iterator first;
  int64_t threads = 128;
  llvm::DenseMap<Value, Value> conditions; // of masks: whether all is true; null: not known
  llvm::SetVector<Value> wanted;           // masks, of which all is true in most programs
};

struct UnmaskWholeTiles : PassWrapper<UnmaskWholeTiles, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnmaskWholeTiles)

  StringRef getArgument() const final { return "tile-unmask-whole-tiles"; }
  StringRef getDescription() const final {
    return "programs whose tiles lie below their bounds have a version without masks";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<scf::SCFDialect, arith::ArithDialect>();
  }
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      Unmask(kernel).run();
  }
};

} // namespace

std::unique_ptr<Pass> createUnmaskWholeTilesPass() { return std::make_unique<UnmaskWholeTiles>(); }

} // namespace nereid::transforms
