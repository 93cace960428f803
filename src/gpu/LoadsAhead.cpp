#include "gpu/LoadsAhead.h"

#include "analysis/KernelFacts.h"
#include "gpu/StepsAhead.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

class Prefetcher {
public:
  Prefetcher(scf::ForOp loop, unsigned warps)
      : loop(loop), body(*loop.getBody()), warps(warps), b(loop) {}

  void run() {
    auto stages = loop->getAttrOfType<IntegerAttr>(tile::numStagesAttr);
    if (!stages || stages.getInt() < 2 || !findWritten())
      return;
    for (Operation &op : body)
      if (auto load = dyn_cast<tile::LoadOp>(op); load && canStartAhead(load))
        loads.push_back(load);
    // Single numbers that come with a row come ahead with it: it would wait for them.
    if (llvm::none_of(loads, [](tile::LoadOp load) { return isTile(load); }))
      return;
    for (distance = unsigned(stages.getInt()) - 1; distance > 0; --distance)
      if (distance * bytesOfThread() <= mostBytesAhead)
        break;
    if (distance > 0)
      rewrite();
  }

private:
  // The arguments whose memory steps write; false if a step does what nothing may overtake.
  bool findWritten() {
    return !loop.walk([&](Operation *op) {
                  if (op == loop)
                    return WalkResult::advance();
                  if (isa<scf::ForOp, scf::WhileOp, tile::DotOp>(op))
                    return WalkResult::interrupt();
                  if (!writesMemory(op))
                    return WalkResult::advance();
                  BlockArgument argument;
                  if (isa<tile::StoreOp, tile::DescStoreOp>(op))
                    argument = analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(op));
                  written.insert(argument);
                  return argument ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  bool canStartAhead(tile::LoadOp load) {
    if (load.getIsVolatile())
      return false;
    BlockArgument argument =
        analysis::argumentOf(cast<tile::MemoryAccessOpInterface>(load.getOperation()));
    return argument && !written.contains(argument) && !load->use_empty() &&
           slice.add(loop, load->getOperands());
  }
  static bool isTile(tile::LoadOp load) { return isa<RankedTensorType>(load.getType()); }

  unsigned bytesOfThread() {
    unsigned bytes = 0;
    for (tile::LoadOp load : loads) {
      int64_t elements = 1;
      if (auto type = dyn_cast<RankedTensorType>(load.getType()))
        elements = std::max<int64_t>(type.getNumElements() / (32 * warps), 1);
      bytes += unsigned(elements * tile::bytesInMemory(tile::elementType(load.getType())));
    }
    return bytes;
  }

  // The loads of the step `ahead` steps behind `variable`.
  SmallVector<Value> start(Value variable, unsigned ahead, Value active) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), later.variableAt(variable, ahead));
    SmallVector<Value> values;
    for (Operation &op : body) {
      auto load = dyn_cast<tile::LoadOp>(op);
      bool isAhead = load && llvm::is_contained(loads, load);
      if (!isAhead && !slice.ops.contains(&op))
        continue;
      Operation *copy = b.clone(op, mapping);
      if (isAhead) {
        later.addMask(cast<tile::LoadOp>(copy), active);
        values.push_back(copy->getResult(0));
      }
    }
    return values;
  }

  void rewrite() {
    Location loc = loop.getLoc();
    Value lower = loop.getLowerBound();
    // A loop without a step has a distance to its end that means nothing.
    Value any =
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lower, loop.getUpperBound());
    SmallVector<Value> inits(loop.getInitArgs());
    for (unsigned step = 0; step < distance; ++step) {
      Value active =
          step == 0 ? any : b.create<arith::AndIOp>(loc, any, later.runs(lower, step)).getResult();
      llvm::append_range(inits, start(lower, step, active));
    }
    auto made = b.create<scf::ForOp>(loc, lower, loop.getUpperBound(), loop.getStep(), inits);
    made->setAttrs(loop->getAttrs());
    made->removeAttr(tile::numStagesAttr);
    size_t carried = loop.getNumRegionIterArgs();
    ValueRange waiting = made.getRegionIterArgs().drop_front(carried);
    b.setInsertionPointToStart(made.getBody());
    Value variable = made.getInductionVar();
    SmallVector<Value> next = start(variable, distance, later.runs(variable, distance));
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), variable);
    mapping.map(loop.getRegionIterArgs(), made.getRegionIterArgs().take_front(carried));
    for (auto [i, load] : llvm::enumerate(loads))
      mapping.map(load.getResult(), waiting[i]);
    for (Operation &op : body.without_terminator())
      if (auto load = dyn_cast<tile::LoadOp>(op); !load || !llvm::is_contained(loads, load))
        b.clone(op, mapping);
    SmallVector<Value> results;
    for (Value result : body.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(result));
    llvm::append_range(results, waiting.drop_front(loads.size()));
    llvm::append_range(results, next);
    b.create<scf::YieldOp>(loc, results);
    loop->replaceAllUsesWith(made.getResults().take_front(carried));
    loop->erase();
  }

  scf::ForOp loop;
  Block &body;
  unsigned warps;
  OpBuilder b;
  StepsAhead later{loop, b};
  SmallVector<tile::LoadOp> loads;
  StepSlice slice; // what gives their addresses and masks
  llvm::SmallDenseSet<BlockArgument> written;
  unsigned distance = 0;
};

} // namespace

void startLoadsAhead(FunctionOpInterface kernel, unsigned warps) {
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    Prefetcher(loop, warps).run();
}

} // namespace nereid::gpu
