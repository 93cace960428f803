#include "cpu/CompactLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

bool isExtended(Value numbers, Value mask) {
  auto extended = numbers.getDefiningOp<arith::ExtUIOp>();
  return extended && extended.getIn() == mask;
}

bool counts(Value numbers, Value mask) {
  auto scan = numbers.getDefiningOp<tile::ScanOp>();
  if (!scan || scan.getReverse() || scan.getSources().size() != 1 ||
      !isExtended(scan.getSources()[0], mask))
    return false;
  Block &combine = scan.getCombine().front();
  Operation &sum = combine.front();
  return isa<arith::AddIOp>(sum) && combine.getTerminator()->getOperand(0) == sum.getResult(0) &&
         llvm::is_contained(sum.getOperands(), combine.getArgument(0)) &&
         llvm::is_contained(sum.getOperands(), combine.getArgument(1));
}

// What is added up to a place: running counts of a mask, the mask itself, and what is one number
// for all lanes.
struct Terms {
  Value mask;
  const analysis::AxisAnalysis &axes;
  int counts = 0, masks = 0;

  bool add(Value tile, int sign) {
    if (axes.facts(tile).constancy[0] >= tile::shapeOf(tile.getType())[0])
      return true;
    if (isExtended(tile, mask)) {
      masks += sign;
      return true;
    }
    if (cpu::counts(tile, mask)) {
      counts += sign;
      return true;
    }
    Operation *op = tile.getDefiningOp();
    if (isa_and_present<arith::ExtUIOp, arith::ExtSIOp>(op))
      return add(op->getOperand(0), sign);
    if (isa_and_present<arith::AddIOp, tile::AddPtrOp>(op))
      return add(op->getOperand(0), sign) && add(op->getOperand(1), sign);
    return isa_and_present<arith::SubIOp>(op) && add(op->getOperand(0), sign) &&
           add(op->getOperand(1), -sign);
  }
};

} // namespace

std::optional<Compaction> compactionOf(tile::StoreOp store, const LaneEmitter &emitter) {
  Type element = store.getAccessElementType();
  unsigned bits = tile::bytesInMemory(element) * 8;
  Value pointer = store.getPointer();
  if (!store.getMask() || emitter.processor.vectorBytes != 64 || (bits != 32 && bits != 64) ||
      !element.isIntOrFloat() || !tile::isTile(pointer) ||
      tile::shapeOf(pointer.getType()).size() != 1)
    return {};
  Terms terms{store.getMask(), emitter.axes};
  if (!terms.add(pointer, 1) || terms.counts != 1 || (terms.masks != 0 && terms.masks != -1))
    return {};
  return Compaction{terms.masks == 0};
}

void storeCompact(tile::StoreOp store, Compaction compaction, const Lanes &where, Value value,
                  Value mask, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type element = store.getAccessElementType(), wide = b.getI64Type();
  int64_t bytes = tile::bytesInMemory(element), lanes = 64 / bytes;
  struct Part {
    Value on, together, count;
  };
  SmallVector<Part> parts;
  Value all;
  for (int64_t first = 0; first < where.width; first += lanes) {
    int64_t width = std::min(lanes, where.width - first);
    SmallVector<int32_t> mine; // a whole vector; what is behind the last lane is off
    for (int64_t lane = 0; lane < lanes; ++lane)
      mine.push_back(int32_t(lane < width ? first + lane : where.width));
    Value none = emitter.zero(mask.getType());
    Value on = emitter.shuffle(mask, none, mine),
          part = emitter.shuffle(value, emitter.zero(value.getType()), mine);
    Value bits = b.create<arith::ExtUIOp>(
        loc, wide, b.create<LLVM::BitcastOp>(loc, b.getIntegerType(lanes), on));
    Value count = b.create<math::CtPopOp>(loc, bits);
    Value together = b.create<LLVM::CallIntrinsicOp>(
                          loc, part.getType(), b.getStringAttr("llvm.x86.avx512.mask.compress"),
                          ValueRange{part, emitter.zero(part.getType()), on})
                         .getResult(0);
    parts.push_back({on, together, count});
    all = all ? emitter.add(all, count) : count;
  }
  // Where the first lane that is on goes: to the place of the first lane of all where each lane
  // counts those before it. Where it counts itself too, the place of one that is off may lie ahead
  // of the first element, and unsigned numbers have no such place: the last lane counts them all.
  Lanes place = where.first();
  if (compaction.isInclusive)
    place.position[0] = emitter.add(place.position[0], emitter.index(where.width - 1));
  Value at = emitter.lanes(store.getPointer(), place);
  if (compaction.isInclusive)
    at = emitter.elementAddress(at, b.create<arith::SubIOp>(loc, emitter.index(1), all), element);
  for (const auto &[on, together, count] : parts) {
    Value kept = b.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, emitter.iota(b.getIntegerType(bytes * 8), lanes),
        emitter.splat(
            bytes == 8 ? count : b.create<arith::TruncIOp>(loc, b.getI32Type(), count).getResult(),
            lanes));
    emitter.storeElements(at, element, lanes, together, kept);
    at = emitter.elementAddress(at, count, element);
  }
}

} // namespace nereid::cpu
