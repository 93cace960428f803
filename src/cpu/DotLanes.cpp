// Products. The operands are packed once an op, in the order in which the innermost loop reads
// them; a block of accumulators stays in registers while that loop runs through K.
//
//   lhs: rows of K                        rhs: panels of a few vectors of columns, K by K
//     [m][k]                                [n / panel][k / group][n % panel][k % group]
//
// Lhs that lies scattered along K is packed by columns, [k][m], if that may be better: vectors
// along M may be adjacent (pixels of an image), and of K there may be less than a vector.
//
// A group is what one instruction multiplies for one accumulator: an element, two bf16
// (`vdpbf16ps`), four bytes (`vpdpbusd`).
//
// Where the processor has tiles (AMX), these are read from both as they are packed: 16 rows of 64
// bytes along K, and 16 groups of 16 columns.
//
// A product of few rows uses an element of rhs so seldom that packing would take longer than
// multiplying. If its columns lie adjacent in memory, as the weights of a layer do, they are
// multiplied as they are, several of K in the lanes of an accumulator, which meet at the end; if
// its rows do, vectors of columns are read where they lie.
#include "cpu/DotEmitter.h"
#include "cpu/NextRound.h"
#include "cpu/RunLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace nereid::cpu {

Type sumType(Type operand, Type accumulator) {
  if (isa<IntegerType>(operand))
    return accumulator;
  return operand.isF64() ? operand : Float32Type::get(operand.getContext());
}

uint64_t packedBytes(Type tile, Type sum) {
  uint64_t each = std::max<uint64_t>(tile::bytesInMemory(sum), 4);
  return llvm::alignTo(cast<RankedTensorType>(tile).getNumElements() * each, 64);
}

// With fewer steps of K the sums over lanes take longer than packing (measured with f32, 1 to 16
// rows: a tie at 128, 40% faster at 256 with up to four rows).
static constexpr int64_t mostFewRows = 16, leastSteps = 16;

DotEmitter::DotEmitter(tile::DotOp dot, LaneEmitter &emitter)
    : dot(dot), emitter(emitter), b(emitter.builder), loc(emitter.loc()),
      out(emitter.buffer(dot.getResult())), element(tile::elementType(dot.getLhs().getType())),
      sum(sumType(element, out.element)), m(out.shape.size() - 2), n(m + 1),
      depth(tile::shapeOf(dot.getLhs().getType())[n]) {
  int64_t lanes = emitter.processor.vectorBytes / tile::bytesInMemory(sum);
  width = std::min(out.shape[n], lanes);
  choose();
  if (instruction == Instruction::MultiplyAdd && !emitter.plan.stored(dot.getLhs()) &&
      !emitter.plan.stored(dot.getRhs()))
    depth = std::min(depth, int64_t(llvm::bit_ceil(uint64_t(knownDepth(dot)))));
  // Sixteen accumulators hide the latency of the multiply-add and leave room for the operands;
  // with sixteen registers in all it is eight.
  int64_t accumulators = emitter.processor.vectorBytes == 64 ? 16 : 8;
  if (out.shape[m] <= mostFewRows && depth >= leastSteps * group * lanes &&
      isLoadedAlong(dot.getRhs(), m, group * lanes)) {
    alongK = true;
    width = lanes;
    rows = std::min({out.shape[m], int64_t(4), lanes});
    columns = std::min(out.shape[n], std::min(accumulators, lanes) / rows);
    return;
  }
  byColumns = packsColumns(lanes);
  vectors = std::min<int64_t>(out.shape[n] / width, 2);
  rows = std::min(out.shape[m], accumulators / vectors);
  columns = width * vectors;
  isRead = out.shape[m] <= mostFewRows && group == 1 && isLoadedAlong(dot.getRhs(), n, width);
  bool hasTiles = isa<FloatType>(element)
                      ? instruction == Instruction::Bf16Pairs && emitter.processor.bf16Tiles
                      : instruction == Instruction::ByteQuads && emitter.processor.byteTiles;
  if (hasTiles && out.element == sum && out.shape[m] >= tileRows &&
      depth % (group * tileRows) == 0) {
    instruction = Instruction::Tiles;
    rows = std::min(out.shape[m], 2 * tileRows);
  }
}

void DotEmitter::emit() {
  findEnds();
  NextRound next(dot, emitter);
  uint64_t scratch = emitter.plan.scratchOffset(dot);
  uint64_t second = scratch + packedBytes(dot.getLhs().getType(), sum);
  packLhs(scratch);
  if (!alongK && !isRead)
    packRhs(second);
  if (instruction == Instruction::ByteQuads)
    alongK ? countRowsTurned(scratch) : countTurned(dot.getIsUnsigned() ? scratch : second);
  if (instruction == Instruction::Tiles)
    configureTiles(scratch);
  SmallVector<int64_t> blocks(out.shape.begin(), out.shape.begin() + m);
  blocks.push_back(out.shape[n] / columns);
  blocks.push_back(out.shape[m] / rows);
  SmallVector<Value> ends(m);
  ends.push_back(columnEnd ? emitter.ceilDiv(columnEnd, columns) : Value());
  ends.push_back(rowBlocks);
  // Panels outside: one stays in the nearest cache while all rows pass.
  // Cores with tiles are faster without, as long as they multiply by vectors.
  const bool fetches = instruction != Instruction::MultiplyAdd || !emitter.processor.byteTiles;
  int64_t parts = 1;
  for (int64_t extent : blocks)
    parts *= extent;
  auto one = [&](const Lanes &at) {
    if (fetches)
      next.fetch(emitter.linear(blocks, at.position), parts);
    if (alongK)
      blockAlongK(at.position);
    else if (instruction == Instruction::Tiles)
      blockOfTiles(at.position);
    else
      block(at.position, b.create<arith::MulIOp>(loc, at.position[m + 1], emitter.index(rows)),
            rows);
  };
  emitter.forEach(blocks, blocks.size() - 1, 1, one, ends);
  if (singleRows) {
    blocks.back() = mostSingleRows();
    ends.back() = singleRows;
    Value first = b.create<arith::MulIOp>(loc, rowBlocks, emitter.index(rows));
    emitter.forEach(
        blocks, blocks.size() - 1, 1,
        [&](const Lanes &at) { block(at.position, emitter.add(first, at.position[m + 1]), 1); },
        ends);
  }
  if (instruction == Instruction::Tiles) // else each change of threads would save them
    onTiles("tilerelease", {});
}

// True if `count` adjacent elements of a tile are read from adjacent memory, and little more is
// done with them: then there is no need to keep them.
bool DotEmitter::isLoadedAlong(Value tile, unsigned dim, int64_t count) {
  auto shape = tile::shapeOf(tile.getType());
  if (emitter.plan.stored(tile))
    return dim + 1 == shape.size() && shape[dim] >= count;
  Operation *op = tile.getDefiningOp();
  if (auto load = dyn_cast_if_present<tile::LoadOp>(op))
    return emitter.axes.facts(load.getPointer()).contiguity[dim] >= count;
  if (isa_and_present<tile::DescLoadOp>(op))
    return dim + 1 == shape.size();
  if (auto trans = dyn_cast_if_present<tile::TransOp>(op))
    return isLoadedAlong(trans.getSource(), trans.getPerm()[dim], count);
  auto lanes = dyn_cast_if_present<tile::LanesOpInterface>(op);
  return lanes && op->getNumOperands() == 1 && op->hasTrait<OpTrait::Elementwise>() &&
         !lanes.isCostlyLane() && isLoadedAlong(op->getOperand(0), dim, count);
}

// True if lhs is loaded from places that are apart along K, and those along M are adjacent, of
// which either only tests tell or little of K is there.
bool DotEmitter::packsColumns(int64_t lanes) {
  Value tile = dot.getLhs();
  if (instruction != Instruction::MultiplyAdd || emitter.plan.stored(tile))
    return false;
  tile::LoadOp load = loadBehind(tile);
  if (!load || !isScattered(load.getPointer(), n, emitter.axes))
    return false;
  return isScattered(load.getPointer(), m, emitter.axes)
             ? stepBetweenSplits(load.getPointer(), m, emitter.axes) == 1
             : depth < lanes;
}

void DotEmitter::choose() {
  bool wide = width * tile::bytesInMemory(sum) == 64 && sum.getIntOrFloatBitWidth() == 32;
  if (wide && emitter.processor.bf16Pairs && element.isBF16() && depth % 2 == 0) {
    instruction = Instruction::Bf16Pairs;
    group = 2;
  } else if (wide && emitter.processor.byteQuads && element.isInteger(8) && depth % 4 == 0) {
    instruction = Instruction::ByteQuads;
    group = 4;
  }
}

// Whole blocks, and one by one the rows behind them, if there are so few that this takes less time:
// a filled dimension may have one.
void DotEmitter::findRowEnd(Value end) {
  rowBlocks = emitter.ceilDiv(end, rows);
  rowEnd = b.create<arith::MulIOp>(loc, rowBlocks, emitter.index(rows));
  if (alongK || instruction == Instruction::Tiles || !mostSingleRows())
    return;
  Value rest = b.create<arith::AndIOp>(loc, end, emitter.index(rows - 1));
  Value few = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, rest,
                                      emitter.index(mostSingleRows()));
  singleRows = b.create<arith::SelectOp>(loc, few, rest, emitter.index(0));
  rowBlocks = b.create<arith::SelectOp>(
      loc, few, b.create<arith::ShRUIOp>(loc, end, emitter.index(llvm::Log2_64(rows))), rowBlocks);
  rowEnd = b.create<arith::SelectOp>(loc, few, end, rowEnd);
}

// What has to be computed, in whole blocks: rows, columns, steps of K.
void DotEmitter::findEnds() {
  ProductExtents extents = productExtents(dot, emitter);
  auto whole = [&](Value end, int64_t unit, int64_t block) {
    return end ? b.create<arith::MulIOp>(loc, emitter.ceilDiv(end, block),
                                         emitter.index(block / unit))
                     .getResult()
               : Value();
  };
  if (extents.rows)
    findRowEnd(extents.rows);
  columnEnd = whole(extents.columns, 1, columns);
  // Two steps a round of the innermost loop: less to count.
  together = alongK                              ? width
             : instruction == Instruction::Tiles ? tileRows
             : depth / group % 2 == 0            ? 2
                                                 : 1;
  if (depth == tile::shapeOf(dot.getLhs().getType())[n])
    stepEnd = whole(extents.depth, group, group * together);
}

SmallVector<Value> DotEmitter::loopAlongK(int64_t step, ArrayRef<Value> carried,
                                          LaneEmitter::LoopBody body) {
  return stepEnd ? emitter.loop(emitter.index(0), stepEnd, step, carried, body)
                 : emitter.loop(0, depth / group, step, carried, body);
}

namespace {

struct DotLanes : LaneModel<DotLanes, tile::DotOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    DotEmitter(cast<tile::DotOp>(op), emitter).emit();
  }
};

struct DotScratch : tile::ScratchOpInterface::ExternalModel<DotScratch, tile::DotOp> {
  uint64_t scratchBytes(Operation *op) const {
    auto dot = cast<tile::DotOp>(op);
    Type lhs = dot.getLhs().getType(), rhs = dot.getRhs().getType();
    Type sum = sumType(tile::elementType(lhs), tile::elementType(dot.getAcc().getType()));
    return packedBytes(lhs, sum) + packedBytes(rhs, sum);
  }
};

} // namespace

void registerDotLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::DotOp::attachInterface<DotLanes, DotScratch>(*context);
  });
}

} // namespace nereid::cpu
