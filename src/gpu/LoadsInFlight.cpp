#include "gpu/LoadsInFlight.h"

#include "gpu/Layouts.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// Registers of 32 bits that a tile takes of each thread.
uint32_t wordsOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return 0;
  uint32_t bits = 8 * uint32_t(tile::bytesInMemory(tile.getElementType()));
  return (registersOf(layoutOf(tile)) * bits + 31) / 32;
}

// True of a reduction of what each thread has.
bool isOfOneThread(Operation *op) {
  auto reduce = dyn_cast<tile::ReduceOp>(op);
  if (!reduce)
    return false;
  LinearLayout layout = layoutOf(reduce.getSources().front().getType());
  return llvm::all_of(ArrayRef{LayoutInput::Lane, LayoutInput::Warp}, [&](LayoutInput input) {
    return llvm::all_of(layout.bases(input), [&](const LinearLayout::Basis &basis) {
      return basis[reduce.getAxis()] == 0;
    });
  });
}

// True for what a thread does on its own, in registers.
bool isPlain(Operation *op) {
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) || tile::isRepeat(op) ||
         isa<tile::LoadOp, tile::AddPtrOp, tile::ArangeOp, tile::DivSIOp, tile::RemSIOp,
             tile::ReshapeOp, tile::TransOp>(op) ||
         isOfOneThread(op);
}

// True if the first step takes a row that waited in registers (`keepRows`) instead of loading it:
// most rows have one step, and there is no load to wait for.
bool startsWithKept(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<tile::LoadOp>(), [](tile::LoadOp load) {
    return load.getOther() && load.getOther().getDefiningOp<arith::SelectOp>();
  });
}

struct LoopRegisters {
  uint32_t all = 0, reducedBytes = 0;
};

LoopRegisters registersOfLoop(scf::ForOp loop) {
  uint32_t loads = 0, addresses = 0, carried = 0;
  bool reduces = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!isPlain(&op))
      return {};
    reduces |= isa<tile::ReduceOp>(op);
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      uint32_t words = wordsOf(load.getType());
      loads += words;
      addresses += 2 * ((words + 3) / 4);
    }
  }
  for (Type type : loop.getResultTypes())
    if (!isa<tile::PtrType>(tile::elementType(type)))
      carried += wordsOf(type);
  constexpr uint32_t others = 16; // counters, masks, what is computed in between
  if (!loads || !carried)
    return {};
  return {loads + addresses + carried + others, reduces ? 4 * loads : 0};
}

} // namespace

LoadsOfSums loadsOfSums(FunctionOpInterface kernel) {
  LoopRegisters most;
  bool hasKept = false;
  kernel->walk([&](scf::ForOp loop) {
    if (startsWithKept(loop))
      hasKept = true;
    else if (LoopRegisters registers = registersOfLoop(loop); registers.all > most.all)
      most = registers;
  });
  // With 64 registers half of an SM's warps are resident, and `ptxas` takes no more of them than it
  // needs. Loops of fewer are left to it; programs whose rows are kept go from one reduction to the
  // next, and what hides that is other programs.
  constexpr uint32_t few = 40, half = 64;
  if (most.all <= few)
    return {hasKept ? few : 0, hasKept};
  // A count of 72 may be one of 64: it may be too high by 8, of which a warp's are a multiple.
  return {most.all > half + 8 ? most.all : half, false, most.reducedBytes};
}

} // namespace nereid::gpu
