#include "transforms/NestTiles.h"

#include "analysis/KernelFacts.h"
#include "ir/LoopHints.h"
#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

bool isNumber(Value value, int64_t number) {
  APInt found;
  return matchPattern(value, m_ConstantInt(&found)) && found.getSExtValue() == number;
}

bool isOneLess(Value value, Value than) {
  if (auto sub = value.getDefiningOp<arith::SubIOp>())
    return sub.getLhs() == than && isNumber(sub.getRhs(), 1);
  if (auto add = value.getDefiningOp<arith::AddIOp>())
    return add.getLhs() == than && isNumber(add.getRhs(), -1);
  APInt less, more;
  return matchPattern(value, m_ConstantInt(&less)) && matchPattern(than, m_ConstantInt(&more)) &&
         less == more - 1;
}

// The other side of `value == side`.
Value comparedTo(Value condition, Value value) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return {};
  return compare.getLhs() == value   ? compare.getRhs()
         : compare.getRhs() == value ? compare.getLhs()
                                     : Value();
}

bool writes(Operation *op) {
  auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
  bool onlyReads = access && access.readsMemory() && !access.writesMemory();
  return !onlyReads && !isMemoryEffectFree(op);
}

class Nest {
public:
  explicit Nest(scf::ForOp loop) : loop(loop), body(*loop.getBody()) {}

  void run() {
    if (loop.use_empty() && isNumber(loop.getLowerBound(), 0) && isNumber(loop.getStep(), 1) &&
        findCounter() && findBranches() && staysInTile() && mayNest())
      build();
  }

private:
  Value yielded(unsigned i) { return body.getTerminator()->getOperand(i); }

  // The number of a tile's step: -1, and then 0 to K - 1 again and again, of a loop of K * n steps.
  bool findCounter() {
    auto product = loop.getUpperBound().getDefiningOp<arith::MulIOp>();
    if (!product)
      return false;
    for (BlockArgument carried : loop.getRegionIterArgs()) {
      number = carried.getArgNumber() - 1;
      auto next = yielded(number).getDefiningOp<arith::SelectOp>();
      if (!next || next->getBlock() != &body || next.getType() != loop.getUpperBound().getType() ||
          !isNumber(loop.getInitArgs()[number], -1) || !isNumber(next.getTrueValue(), 0) ||
          !llvm::hasNItems(carried.getUses(), 2))
        continue;
      auto add = next.getFalseValue().getDefiningOp<arith::AddIOp>();
      Value last = comparedTo(next.getCondition(), carried);
      if (!add || add.getLhs() != carried || !isNumber(add.getRhs(), 1) || !last)
        continue;
      for (bool isSecond : {false, true}) {
        count = product->getOperand(isSecond);
        tiles = product->getOperand(!isSecond);
        if (isOneLess(last, count)) {
          step = next;
          return true;
        }
      }
    }
    return false;
  }

  // The one branch of the first step and the one of the last.
  bool findBranches() {
    for (auto branch : body.getOps<scf::IfOp>()) {
      Value other = comparedTo(branch.getCondition(), step);
      if (!other)
        continue;
      scf::IfOp &place = isNumber(other, 0) ? first : last;
      if (place || (&place == &last && !isOneLess(other, count)))
        return false;
      place = branch;
    }
    auto isEmpty = [](scf::IfOp branch) {
      return !branch || !branch.elseBlock() || branch.elseBlock()->getOperations().size() == 1;
    };
    return last && (!first || first->isBeforeInBlock(last)) && isEmpty(first) && isEmpty(last) &&
           !isNumber(count, 1);
  }

  // Value i of the first branch stays what the loop carries as value j until the next tile.
  bool staysInTile() {
    if (!first)
      return true;
    for (OpResult result : first.getResults()) {
      Value otherwise = first.elseYield().getOperand(result.getResultNumber());
      auto carried = carriedNumber(otherwise);
      if (!carried || yielded(*carried) != result)
        return false;
      for (Operation *user : otherwise.getUsers())
        if (!first->isAncestor(user))
          return false;
      ofTile[*carried] = result;
    }
    return takesOnly(first, [&](Value value) {
      auto carried = carriedNumber(value);
      return carried && *carried != number;
    });
  }

  // What the last branch takes of its step is carried out of the steps, or belongs to the tile.
  bool mayNest() {
    if (!loop.getInductionVar().use_empty())
      return false;
    for (Operation &op : body.without_terminator()) {
      bool isBranch = &op == first || &op == last;
      bool isOutside = (first && op.isBeforeInBlock(first)) || last->isBeforeInBlock(&op);
      if (!isBranch && (writes(&op) || (isOutside && !isMemoryEffectFree(&op))))
        return false;
    }
    for (OpResult result : last.getResults()) {
      Value otherwise = last.elseYield().getOperand(result.getResultNumber());
      if (!result.hasOneUse() || *result.user_begin() != body.getTerminator())
        return false;
      unsigned j = result.use_begin()->getOperandNumber();
      atEnd[j] = result.getResultNumber();
      leaving[otherwise] = j;
    }
    for (BlockArgument carried : loop.getRegionIterArgs()) {
      unsigned j = carried.getArgNumber() - 1;
      if (j != number && !ofTile.count(j) && yielded(j) != carried) {
        changing.push_back(j);
        if (!atEnd.count(j))
          leaving.try_emplace(yielded(j), j);
      }
    }
    return takesOnly(last, [&](Value value) {
      auto carried = carriedNumber(value);
      bool isConstant = carried && yielded(*carried) == value;
      return isConstant || value == step || leaving.count(value) ||
             (first && value.getDefiningOp() == first);
    });
  }

  // Which of what the loop carries a value is.
  std::optional<unsigned> carriedNumber(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &body || argument == loop.getInductionVar())
      return {};
    return argument.getArgNumber() - 1;
  }

  // Whether what a branch takes of the loop's values is `allowed`.
  bool takesOnly(scf::IfOp branch, llvm::function_ref<bool(Value)> allowed) {
    return !branch.getThenRegion()
                .walk([&](Operation *op) {
                  bool isAllowed = llvm::all_of(op->getOperands(), [&](Value value) {
                    return branch->isAncestor(value.getParentBlock()->getParentOp()) ||
                           loop.isDefinedOutsideOfLoop(value) || allowed(value);
                  });
                  return isAllowed ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  // The values of a branch's first side.
  SmallVector<Value> cloneSide(OpBuilder &b, scf::IfOp branch, IRMapping &mapping) {
    for (Operation &op : branch.thenBlock()->without_terminator())
      b.clone(op, mapping);
    SmallVector<Value> values;
    for (Value value : branch.thenYield().getOperands())
      values.push_back(mapping.lookupOrDefault(value));
    return values;
  }

  // Nothing is loaded through an argument that is stored to.
  bool isApart() {
    llvm::SmallDenseSet<Value, 4> stored, read; // null of what may be reached in several ways
    loop.walk([&](tile::MemoryAccessOpInterface access) {
      (access.writesMemory() ? stored : read).insert(analysis::argumentOf(access));
    });
    return !stored.contains(Value()) && !read.contains(Value()) &&
           llvm::none_of(read, [&](Value argument) { return stored.contains(argument); });
  }

  void build() {
    OpBuilder b(loop);
    Location loc = loop.getLoc();
    Value zero = loop.getLowerBound(), one = loop.getStep();
    Value isAny = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, count, zero);
    Value trips = b.create<arith::SelectOp>(loc, isAny, tiles, zero);
    auto outer = b.create<scf::ForOp>(loc, zero, trips, one, loop.getInitArgs());
    if (isApart())
      outer->setAttr(tile::flattenAttr, b.getUnitAttr());
    b.setInsertionPointToStart(outer.getBody());
    IRMapping ofOuter;
    ofOuter.map(loop.getRegionIterArgs(), outer.getRegionIterArgs());
    if (first)
      for (auto [result, value] : llvm::zip(first.getResults(), cloneSide(b, first, ofOuter)))
        ofOuter.map(result, value);
    SmallVector<Value> starts;
    for (unsigned j : changing)
      starts.push_back(startOf(j, outer));
    auto inner = b.create<scf::ForOp>(loc, zero, count, one, starts);
    inner->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    fill(inner, ofOuter);
    b.setInsertionPointAfter(inner);
    for (auto [source, j] : leaving)
      ofOuter.map(source, inner.getResult(llvm::find(changing, j) - changing.begin()));
    ofOuter.map(step, b.create<arith::SubIOp>(loc, count, one).getResult());
    SmallVector<Value> ends = cloneSide(b, last, ofOuter), next(outer.getRegionIterArgs());
    for (auto [j, value] : llvm::zip(changing, inner.getResults()))
      next[j] = value;
    for (auto [j, result] : ofTile)
      next[j] = ofOuter.lookup(result);
    for (auto [j, number] : atEnd)
      next[j] = ends[number];
    b.create<scf::YieldOp>(loc, next); // the counter is carried, so the builder made none
    loop.erase();
  }

  // Where each tile starts with what the first one does, that is no carried value.
  Value startOf(unsigned j, scf::ForOp outer) {
    Attribute start, again;
    auto found = atEnd.find(j);
    bool isSame = found != atEnd.end() && matchPattern(loop.getInitArgs()[j], m_Constant(&start)) &&
                  matchPattern(last.thenYield().getOperand(found->second), m_Constant(&again)) &&
                  start == again;
    return isSame ? loop.getInitArgs()[j] : Value(outer.getRegionIterArg(j));
  }

  // The steps of a tile.
  void fill(scf::ForOp inner, const IRMapping &ofOuter) {
    IRMapping mapping(ofOuter);
    for (auto [j, carried] : llvm::zip(changing, inner.getRegionIterArgs()))
      mapping.map(loop.getRegionIterArg(j), carried);
    mapping.map(step, inner.getInductionVar());
    OpBuilder b = OpBuilder::atBlockBegin(inner.getBody());
    for (Operation &op : body.without_terminator())
      if (&op != first && &op != last && &op != step.getDefiningOp())
        b.clone(op, mapping);
    SmallVector<Value> next;
    for (unsigned j : changing) {
      auto end = atEnd.find(j);
      Value value = end == atEnd.end() ? yielded(j) : last.elseYield().getOperand(end->second);
      next.push_back(mapping.lookupOrDefault(value));
    }
    if (!changing.empty()) // else the builder made it
      b.create<scf::YieldOp>(loop.getLoc(), next);
  }

  scf::ForOp loop;
  Block &body;
  unsigned number = 0; // of the counter among what the loop carries
  Value step, count, tiles;
  scf::IfOp first, last;
  llvm::MapVector<unsigned, Value> ofTile;   // results of the first branch, by what carries them
  llvm::MapVector<unsigned, unsigned> atEnd; // what carries them, of results of the last branch
  llvm::MapVector<Value, unsigned> leaving;  // values of a step, by what carries them on
  SmallVector<unsigned> changing;            // what steps carry
};

struct NestTiles : PassWrapper<NestTiles, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NestTiles)

  StringRef getArgument() const final { return "tile-nest-tiles"; }
  StringRef getDescription() const final {
    return "loops over the steps of all tiles become loops over tiles";
  }
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      Nest(loop).run();
  }
};

} // namespace

std::unique_ptr<Pass> createNestTilesPass() { return std::make_unique<NestTiles>(); }

} // namespace nereid::transforms
