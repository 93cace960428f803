#include "gpu/LoopOverPrograms.h"

#include "analysis/KernelFacts.h"
#include "gpu/TilesAhead.h"
#include "ir/LoopHints.h"
#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// On the loop over programs.
constexpr llvm::StringLiteral programsAttr = "tile.programs";

// What programs of one block could tell one another, or say of themselves to others.
const char *whatStandsAgainst(Operation *op) {
  if (isa<scf::WhileOp>(op))
    return "a loop of which the end is not known";
  if (isa<tile::MakeDescOp>(op))
    return "a descriptor that the kernel makes";
  if (isa<tile::AssumeOp>(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
      isMemoryEffectFree(op))
    return nullptr;
  auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
  if (!access)
    return "an effect besides memory accesses";
  if (access.isAtomicAccess() && !op->use_empty())
    return "an atomic access of which the result is used";
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && load.getIsVolatile() ? "a volatile load" : nullptr;
}

bool multiplies(scf::ForOp loop) {
  return loop->walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

} // namespace

bool loopOverPrograms(FunctionOpInterface kernel, std::string &why) {
  why.clear();
  SmallVector<scf::ForOp> loops;
  kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  if (llvm::none_of(loops, multiplies))
    return false;
  scf::ForOp steps = loops.front();
  if (loops.size() != 1 || steps->getParentOp() != kernel) {
    why = loops.size() == 1 ? "a loop of products that not every program reaches"
                            : "loops beside that of products";
    return false;
  }
  kernel->walk([&](Operation *op) {
    const char *against = op == kernel ? nullptr : whatStandsAgainst(op);
    why = against ? against : "";
    return against ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!why.empty())
    return false;
  Block &body = kernel.getFunctionBody().front();
  Location loc = kernel.getLoc();
  OpBuilder b(&body, body.begin());
  Type i32 = b.getI32Type();
  unsigned rank = analysis::kernelFacts(kernel).gridRank;
  SmallVector<Value> extents;
  for (unsigned axis = 0; axis < rank; ++axis) {
    unsigned at = kernel.getNumArguments();
    kernel.insertArgument(at, i32, b.getDictionaryAttr({}), loc);
    extents.push_back(kernel.getArgument(at));
  }
  Value programs = extents[0];
  for (Value extent : ArrayRef(extents).drop_front())
    programs = b.create<arith::MulIOp>(loc, programs, extent);
  auto loop = b.create<scf::ForOp>(loc, b.create<tile::ProgramIdOp>(loc, i32, 0), programs,
                                   b.create<tile::NumProgramsOp>(loc, i32, 0));
  loop->setAttr(tile::flattenAttr, b.getUnitAttr());
  loop->setAttr(programsAttr, b.getUnitAttr());
  loop.getBody()->getOperations().splice(loop.getBody()->begin(), body.getOperations(),
                                         std::next(loop->getIterator()),
                                         body.getTerminator()->getIterator());
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> ids;
  Value rest = loop.getInductionVar();
  for (Value extent : ArrayRef(extents).drop_back()) {
    ids.push_back(b.create<tile::RemUIOp>(loc, rest, extent));
    rest = b.create<tile::DivUIOp>(loc, rest, extent);
  }
  ids.push_back(rest);
  loop->walk([&](Operation *op) {
    Value now;
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      now = ids[id.getAxis()];
    else if (auto count = dyn_cast<tile::NumProgramsOp>(op))
      now = extents[count.getAxis()];
    if (now) {
      op->getResult(0).replaceAllUsesWith(now);
      op->erase();
    }
  });
  return true;
}

scf::ForOp programLoop(FunctionOpInterface kernel) {
  // Programs without a step may be a loop of their own behind it.
  scf::ForOp first;
  kernel->walk([&](scf::ForOp loop) {
    if (!first && loop->hasAttr(programsAttr))
      first = loop;
  });
  return first;
}

} // namespace nereid::gpu
