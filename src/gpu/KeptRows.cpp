#include "gpu/KeptRows.h"

#include "analysis/AxisAnalysis.h"
#include "gpu/Addresses.h"
#include "gpu/Layouts.h"
#include "gpu/LoopPlan.h"
#include "gpu/StepsAhead.h"
#include "gpu/TileGpu.h"
#include "ir/OpKinds.h"
#include "transforms/TileElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

int64_t bytesOfThread(tile::LoadOp load) {
  return int64_t(registersOf(layoutOf(load.getType()))) *
         tile::bytesInMemory(tile::elementType(load.getType()));
}

// Loops whose steps have numbers: from a constant by a constant, to where is known or the number of
// steps (`count-trips`).
bool hasNumbers(scf::ForOp loop) {
  auto lower = constantOf(loop.getLowerBound()), step = constantOf(loop.getStep());
  return lower && step && *step > 0 &&
         ((*lower == 0 && *step == 1) || constantOf(loop.getUpperBound()));
}

// --- loads that are kept ---

struct Row {
  scf::ForOp loop;
  tile::LoadOp load; // in `loop`
  struct Again {
    scf::ForOp loop;
    tile::LoadOp load;
    // Whether nothing changed meanwhile, of all steps and of the first one; null: nothing may.
    Value isSafe, isFirstSafe;
  };
  SmallVector<Again> again;
  bool isInRegisters = false, isInShared = false;
  int64_t offset = 0; // of its place in that of a step

  int64_t bytes() { return bytesOfThread(load); }
  bool isCounted() { return bool(stepsOf(loop)); }
};

class Keeper {
public:
  Keeper(FunctionOpInterface kernel, unsigned warps)
      : kernel(kernel), threads(warps * lanesPerWarp), b(kernel.getContext()), axes(kernel),
        dominance(kernel) {}

  void run() {
    SmallVector<Block *> blocks;
    kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
    });
    std::vector<std::vector<Row>> groups;
    for (Block *block : blocks)
      for (auto &group : findGroups(*block))
        groups.push_back(std::move(group));
    choosePlaces(groups);
    for (auto &group : groups)
      rewrite(group);
    for (Operation *op : llvm::reverse(made))
      if (op->use_empty())
        op->erase();
  }

private:
  // --- which ---

  bool isKeepable(scf::ForOp loop, tile::LoadOp load) {
    if (!tile::isTile(load.getType()) || load.getIsVolatile() || load->use_empty() ||
        load.getCache() == tile::CacheModifier::CV)
      return false;
    Type element = tile::elementType(load.getType());
    StepSlice slice;
    return element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 8 &&
           bytesOfThread(load) >= 4 && bytesOfThread(load) * threads <= mostBytesOfStep &&
           slice.add(loop, load->getOperands());
  }
  static bool hasProducts(scf::ForOp loop) {
    return loop->walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  std::vector<std::vector<Row>> findGroups(Block &block) {
    SmallVector<scf::ForOp> loops;
    for (auto loop : block.getOps<scf::ForOp>())
      if (hasNumbers(loop) && !hasProducts(loop))
        loops.push_back(loop);
    std::vector<std::vector<Row>> groups;
    llvm::SmallPtrSet<Operation *, 8> done;
    for (size_t i = 0; i < loops.size(); ++i) {
      std::vector<Row> rows;
      for (size_t j = i; j < loops.size(); ++j)
        if (!done.contains(loops[j]) && takeSameSteps(loops[i], loops[j])) {
          done.insert(loops[j]);
          findRows(loops[j], ArrayRef(loops).drop_front(j + 1), rows);
        }
      if (!rows.empty())
        groups.push_back(std::move(rows));
    }
    return groups;
  }

  void findRows(scf::ForOp loop, ArrayRef<scf::ForOp> later, std::vector<Row> &rows) {
    for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
      if (taken.contains(load) || !isKeepable(loop, load))
        continue;
      Row row;
      row.loop = loop;
      row.load = load;
      for (scf::ForOp other : later) {
        if (!takeSameSteps(loop, other))
          continue;
        SameStep same(loop, other);
        for (auto again : other.getBody()->getOps<tile::LoadOp>())
          if (!taken.contains(again) && again.getType() == load.getType() &&
              !again.getIsVolatile() && again.getCache() != tile::CacheModifier::CV &&
              same(load.getPointer(), again.getPointer()) && same(load.getMask(), again.getMask()))
            if (auto isSafe = findSafe(row, other, again, false))
              row.again.push_back({other, again, *isSafe, *findSafe(row, other, again, true)});
      }
      for (Row::Again &again : row.again)
        taken.insert(again.load);
      if (!row.again.empty())
        rows.push_back(std::move(row));
    }
  }

  // --- memory order ---

  // Under which condition nothing between the row's load and `again` changes what all steps load,
  // or the first one (null: always), or none if that may happen.
  std::optional<Value> findSafe(Row &row, scf::ForOp loop, tile::LoadOp again, bool isFirst) {
    Value condition;
    for (Operation *op = row.loop;; op = op->getNextNode()) {
      bool isFine = !op->walk([&](Operation *inner) {
                         return isHarmless(inner, row, loop, again, isFirst, condition)
                                    ? WalkResult::advance()
                                    : WalkResult::interrupt();
                       }).wasInterrupted();
      if (!isFine)
        return std::nullopt;
      if (op == loop)
        return condition;
    }
  }

  bool isHarmless(Operation *op, Row &row, scf::ForOp loop, tile::LoadOp again, bool isFirst,
                  Value &condition) {
    // A loop may wait for what another program writes, as may a load that is volatile.
    if (isa<scf::WhileOp, tile::GridDependencyOp>(op))
      return false;
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return !load.getIsVolatile();
    // A barrier orders what this program's stores do, which are looked at one by one.
    if (isa<tile::BarrierOp>(op) || !writesMemory(op))
      return true;
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store)
      return false;
    Operation *own = loop.getBody()->findAncestorOpInBlock(*store);
    bool isBehind = own && again->isBeforeInBlock(own);
    if (isFirst && isBehind)
      return true;
    scf::ForOp around = loopOf(store, row.loop->getBlock());
    auto read = bytesOf(row.load.getPointer(), row.loop, row.loop);
    auto written = bytesOf(store.getPointer(), around, row.loop);
    if (!read || !written)
      return false;
    bool walksAlong = isBehind && around == loop && read->each == written->each &&
                      read->slope == written->slope && read->slope >= read->each;
    // Written over before it is read again.
    if (!walksAlong && around &&
        SameStep(row.loop, around)(row.load.getPointer(), store.getPointer()))
      return false;
    Location loc = store.getLoc();
    using P = arith::CmpIPredicate;
    Value isApart;
    if (isFirst && !written->slope) {
      // By one comparison: what is stored begins less than its bytes before what is read, or
      // inside.
      auto number = [&](int64_t value) {
        return make<arith::ConstantOp>(loc, b.getI64IntegerAttr(value)).getResult();
      };
      Value behind = make<arith::SubIOp>(loc, written->begin, read->begin);
      behind = make<arith::AddIOp>(loc, behind, number(written->each - 1));
      isApart = make<arith::CmpIOp>(loc, P::uge, behind, number(read->each + written->each - 1));
    } else {
      if (isFirst)
        read->end = make<arith::AddIOp>(
            loc, read->begin,
            make<arith::ConstantOp>(loc, b.getI64IntegerAttr(read->each)).getResult());
      isApart = make<arith::OrIOp>(
          loc, make<arith::CmpIOp>(loc, P::ule, written->end, read->begin).getResult(),
          make<arith::CmpIOp>(loc, P::ule, read->end, written->begin).getResult());
    }
    if (walksAlong)
      isApart = make<arith::OrIOp>(
          loc, isApart, make<arith::CmpIOp>(loc, P::eq, written->begin, read->begin).getResult());
    condition = condition ? make<arith::AndIOp>(loc, condition, isApart).getResult() : isApart;
    return true;
  }

  // The only loop between an access and `block`; null if there is none, or if there are several.
  static scf::ForOp loopOf(Operation *access, Block *block) {
    scf::ForOp found;
    for (Operation *op = access->getParentOp(); op && op != block->getParentOp();
         op = op->getParentOp())
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (found)
          return {};
        found = loop;
      }
    return found;
  }

  // The bytes of an access of one piece that all steps of a loop reach, masked or not: addresses of
  // 64 bits, made in front of `before`.
  struct Bytes {
    Value begin, end;
    int64_t slope, each; // bytes: from step to step, and of one
  };
  std::optional<Bytes> bytesOf(Value pointer, scf::ForOp loop, scf::ForOp before) {
    ArrayRef<int64_t> shape = tile::shapeOf(pointer.getType());
    if (shape.size() > 1 || (shape.size() == 1 && axes.facts(pointer).contiguity[0] < shape[0]))
      return std::nullopt;
    auto element = cast<tile::PtrType>(tile::elementType(pointer.getType())).getPointee();
    int64_t size = tile::bytesInMemory(element);
    Bytes bytes{{}, {}, 0, (shape.empty() ? 1 : shape[0]) * size};
    b.setInsertionPoint(before);
    Value last;
    if (loop) {
      auto slope = slopeOf(pointer, loop);
      if (!slope || *slope < 0 || !hasNumbers(loop) ||
          !dominance.properlyDominates(loop.getUpperBound(), before))
        return std::nullopt;
      int64_t step = *constantOf(loop.getStep());
      bytes.slope = *slope * step * size;
      Location loc = loop.getLoc();
      Type type = loop.getInductionVar().getType();
      auto number = [&](int64_t value) {
        return make<arith::ConstantOp>(loc, b.getIntegerAttr(type, value)).getResult();
      };
      auto steps = stepsOf(loop);
      last = steps ? number(*constantOf(loop.getLowerBound()) + (*steps - 1) * step)
                   : make<arith::SubIOp>(loc, loop.getUpperBound(), number(1)).getResult();
    }
    auto addressIn = [&](Value step) -> Value {
      transforms::TileElements elements(
          b, 0, [&](Value number) { return dominance.properlyDominates(number, before); });
      elements.isCopy = [](Operation *op) { return isa<ConvertLayoutOp>(op); };
      if (loop)
        elements.known[loop.getInductionVar()] = step;
      Value first = elements.of(pointer);
      llvm::append_range(made, elements.made);
      return first ? make<tile::PtrToIntOp>(pointer.getLoc(), b.getI64Type(), first).getResult()
                   : Value();
    };
    bytes.begin = addressIn(loop ? loop.getLowerBound() : Value());
    if (!bytes.begin)
      return std::nullopt;
    Value from = bytes.slope ? addressIn(last) : bytes.begin;
    Location loc = pointer.getLoc();
    bytes.end = make<arith::AddIOp>(
        loc, from, make<arith::ConstantOp>(loc, b.getI64IntegerAttr(bytes.each)).getResult());
    return bytes;
  }

  template <typename Op, typename... Args> Op make(Args &&...args) {
    Op op = b.create<Op>(std::forward<Args>(args)...);
    made.push_back(op);
    return op;
  }

  // --- where ---

  // Shared memory is for the rows of one group; of more than one for those with the most bytes.
  void choosePlaces(std::vector<std::vector<Row>> &groups) {
    std::vector<Row> *largest = nullptr;
    int64_t most = 0;
    for (auto &group : groups) {
      int64_t left = mostBytesInRegisters, bytes = 0;
      for (Row &row : group) {
        bool isInCache = meetsWeights(row);
        if (isInCache && row.bytes() > 16 && row.bytes() <= left && startsWithLoad(row)) {
          row.isInRegisters = true;
          left -= row.bytes();
        }
        row.isInShared = !isInCache;
        bytes += row.isInShared ? row.bytes() * threads : 0;
      }
      if (bytes > most) {
        most = bytes;
        largest = &group;
      }
    }
    for (auto &group : groups)
      for (Row &row : group)
        row.isInShared &= &group == largest;
    if (!largest)
      return;
    for (Row &row : *largest)
      if (row.isInShared) {
        row.offset = stepBytes;
        stepBytes += row.bytes() * threads;
      }
  }

  // Whether steps also load what other programs load, such as the weights of a norm: those are in
  // the first-level cache, of which shared memory would take most, and so is a row that is not
  // longer.
  bool meetsWeights(Row &row) {
    auto isOfAll = [&](scf::ForOp loop) {
      return llvm::any_of(loop.getBody()->getOps<tile::LoadOp>(), [&](tile::LoadOp load) {
        llvm::SmallPtrSet<Operation *, 16> seen;
        return tile::isTile(load.getType()) && load != row.load && !taken.contains(load) &&
               isForAll(load.getPointer(), seen);
      });
    };
    return isOfAll(row.loop) ||
           llvm::any_of(row.again, [&](Row::Again &again) { return isOfAll(again.loop); });
  }
  static bool isForAll(Value value, llvm::SmallPtrSetImpl<Operation *> &seen) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return true;
    return !isa<tile::ProgramIdOp, scf::ForOp, scf::WhileOp, scf::IfOp>(op) &&
           isMemoryEffectFree(op) &&
           (!seen.insert(op).second || llvm::all_of(op->getOperands(), [&](Value operand) {
             return isForAll(operand, seen);
           }));
  }

  // Nothing that a step does before the load would see that it comes earlier.
  static bool startsWithLoad(Row &row) {
    for (Operation *op = row.load->getPrevNode(); op; op = op->getPrevNode())
      if (op->walk([](Operation *inner) {
              return writesMemory(inner) || isa<scf::WhileOp>(inner) ? WalkResult::interrupt()
                                                                     : WalkResult::advance();
            }).wasInterrupted())
        return false;
    return true;
  }

  // --- rewriting ---

  Value constant(Location loc, Type type, int64_t value) {
    return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, value));
  }

  void rewrite(std::vector<Row> &rows) {
    for (Row &row : rows)
      for (Row::Again &again : row.again)
        if (row.isInRegisters || row.isInShared)
          takeOtherOf(row.load, again.load);
    for (Row &row : rows)
      if (row.isInRegisters) {
        Value first = loadFirst(row);
        takeFirst(row.load, row.loop, first, {});
        for (Row::Again &again : row.again)
          takeFirst(again.load, again.loop, first, again.isFirstSafe);
      } else if (row.isInShared) {
        keepInShared(row);
      }
  }

  // In the first step what waits in registers stands in for what the mask leaves out, and the mask
  // leaves out all: the load's code stays one instruction.
  //
  //   load(p + i, mask, other)   =>   load(p + i, mask & i > 0, i > 0 ? other : first)
  void takeFirst(tile::LoadOp load, scf::ForOp loop, Value first, Value isSafe) {
    Location loc = load.getLoc();
    b.setInsertionPoint(load);
    Value later = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, loop.getInductionVar(),
                                          loop.getLowerBound());
    if (isSafe)
      later = b.create<arith::OrIOp>(loc, later, isNot(loc, isSafe));
    Value other = otherOf(load);
    load.getOtherMutable().assign(b.create<arith::SelectOp>(loc, later, other, first).getResult());
    StepsAhead{loop, b}.addMask(load, later);
  }
  Value isNot(Location loc, Value truth) {
    return b.create<arith::XOrIOp>(loc, truth, constant(loc, b.getI1Type(), 1));
  }
  // What the mask of a load leaves out, as a tile.
  Value otherOf(tile::LoadOp load) {
    auto type = cast<RankedTensorType>(load.getType());
    Value other = load.getOther();
    if (!other)
      return b.create<arith::ConstantOp>(load.getLoc(), b.getZeroAttr(type));
    return tile::isTile(other.getType()) ? other
                                         : b.create<tile::SplatOp>(load.getLoc(), type, other);
  }

  // Puts what `emit` gives in place of the load where `condition` holds, and the load elsewhere.
  Value instead(tile::LoadOp load, Value condition, llvm::function_ref<Value()> emit) {
    Location loc = load.getLoc();
    auto branch = b.create<scf::IfOp>(loc, TypeRange(load.getType()), condition, true);
    b.setInsertionPointToEnd(branch.thenBlock());
    b.create<scf::YieldOp>(loc, emit());
    b.setInsertionPointToEnd(branch.elseBlock());
    auto yield = b.create<scf::YieldOp>(loc, load.getResult());
    load.getResult().replaceAllUsesExcept(branch.getResult(0), yield);
    load->moveBefore(yield);
    return branch.getResult(0);
  }

  void keepInShared(Row &row) {
    Location loc = row.load.getLoc();
    scf::ForOp loop = row.loop;
    Type i64 = b.getI64Type();
    b.setInsertionPoint(loop);
    auto steps = stepsOf(loop);
    Value count = b.create<KeptStepsOp>(loc, i64, b.getI64IntegerAttr(stepBytes),
                                        steps ? b.getI64IntegerAttr(*steps) : IntegerAttr());
    for (Row::Again &again : row.again)
      if (again.isSafe)
        count = b.create<arith::SelectOp>(loc, again.isSafe, count, constant(loc, i64, 0));
    // The number of a step among those in shared memory, and whether it has a place there.
    int64_t by = *constantOf(loop.getStep()), first = *constantOf(loop.getLowerBound());
    auto placeOf = [&](scf::ForOp around) {
      Value step = around.getInductionVar();
      if (step.getType() != i64)
        step = b.create<arith::ExtSIOp>(loc, i64, step);
      if (first)
        step = b.create<arith::SubIOp>(loc, step, constant(loc, i64, first));
      if (by != 1)
        step = b.create<arith::DivUIOp>(loc, step, constant(loc, i64, by));
      Value has = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, step, count);
      return std::pair(step, has);
    };
    b.setInsertionPointAfter(row.load);
    auto [step, has] = placeOf(loop);
    auto branch = b.create<scf::IfOp>(loc, has);
    b.setInsertionPointToStart(branch.thenBlock());
    b.create<KeepOp>(loc, row.load.getResult(), step, row.offset, stepBytes);
    for (Row::Again &again : row.again) {
      b.setInsertionPoint(again.load);
      auto [step, has] = placeOf(again.loop);
      instead(again.load, has, [&, step = step] {
        return b.create<KeptOp>(loc, again.load.getType(), step, row.offset, stepBytes);
      });
    }
  }

  // What the mask leaves out is kept as the first load says.
  void takeOtherOf(tile::LoadOp load, tile::LoadOp again) {
    Value mask = again.getMask(), before = load.getOther(), other = again.getOther();
    bool areZero = (!before || isZeroConstant(before)) && (!other || isZeroConstant(other));
    if (!mask || areZero || (before && other && isSameConstant(before, other)))
      return;
    Location loc = again.getLoc();
    b.setInsertionPointAfter(again);
    auto type = cast<RankedTensorType>(again.getType());
    if (!other)
      other = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
    else if (!tile::isTile(other.getType()))
      other = b.create<tile::SplatOp>(loc, type, other);
    auto select = b.create<arith::SelectOp>(loc, mask, again.getResult(), other);
    again.getResult().replaceAllUsesExcept(select.getResult(), select);
  }
  static bool isSameConstant(Value a, Value b) {
    Attribute x, y;
    return a == b || (matchPattern(a, m_Constant(&x)) && matchPattern(b, m_Constant(&y)) && x == y);
  }

  // The load of the first step, in front of the loop.
  Value loadFirst(Row &row) {
    scf::ForOp loop = row.loop;
    b.setInsertionPoint(loop);
    StepSlice slice;
    slice.add(loop, row.load->getOperands());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), loop.getLowerBound());
    for (Operation &op : *loop.getBody())
      if (slice.ops.contains(&op))
        b.clone(op, mapping);
    auto load = cast<tile::LoadOp>(b.clone(*row.load, mapping));
    StepsAhead later{loop, b};
    Value any = b.create<arith::CmpIOp>(loop.getLoc(), arith::CmpIPredicate::slt,
                                        loop.getLowerBound(), loop.getUpperBound());
    any.getDefiningOp()->moveBefore(load);
    later.addMask(load, any);
    return load.getResult();
  }

  // Half of the shared memory of a program: what is longer has no second step there.
  static constexpr int64_t mostBytesOfStep = 128 << 10;

  FunctionOpInterface kernel;
  int64_t threads;
  OpBuilder b;
  analysis::AxisAnalysis axes;
  DominanceInfo dominance;
  llvm::SmallPtrSet<Operation *, 8> taken; // loads that take what was kept
  SmallVector<Operation *> made;           // for conditions
  int64_t stepBytes = 0;
};

} // namespace

void keepRows(FunctionOpInterface kernel, unsigned warps) { Keeper(kernel, warps).run(); }

} // namespace nereid::gpu
