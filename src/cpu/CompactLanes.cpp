#include "cpu/CompactLanes.h"
#include "analysis/CombineOrder.h"
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

constexpr int64_t lanesOfTable = 8;   // 32-bit numbers of a vector that a table permutes
constexpr int64_t mostCollected = 64; // lanes on the stack, behind which a vector fits

bool isExtended(Value numbers, Value mask) {
  auto extended = numbers.getDefiningOp<arith::ExtUIOp>();
  return extended && extended.getIn() == mask;
}

bool counts(Value numbers, Value mask) {
  auto scan = numbers.getDefiningOp<tile::ScanOp>();
  if (!scan || scan.getReverse() || scan.getSources().size() != 1 ||
      !isExtended(scan.getSources()[0], mask) ||
      tile::elementType(numbers.getType()).getIntOrFloatBitWidth() < 32)
    return false;
  Block &combine = scan.getCombine().front();
  return isa<arith::AddIOp>(combine.front()) && analysis::commutes(combine);
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

// All of the row has to be visited in order, and its count must not wrap around.
std::optional<Compaction> Compaction::of(tile::StoreOp store, const LaneEmitter &emitter) {
  Value pointer = store.getPointer();
  if (!store.getMask() || !tile::isTile(pointer) || tile::shapeOf(pointer.getType()).size() != 1)
    return {};
  Terms terms{store.getMask(), emitter.axes};
  if (!terms.add(pointer, 1) || terms.counts != 1 || (terms.masks != 0 && terms.masks != -1))
    return {};
  return Compaction(store);
}

// The place of a first lane that is on, be it the first of the row or not: it counts itself. What
// the count starts from may be 2^32 - 1, to which 1 is added.
Value Compaction::firstPlace(Value tile, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Lanes first;
  first.position = {emitter.index(0)};
  if (emitter.axes.facts(tile).constancy[0] >= tile::shapeOf(tile.getType())[0])
    return emitter.lanes(tile, first);
  Type type = laneType(tile::elementType(tile.getType()), 1);
  if (isExtended(tile, store.getMask()) || counts(tile, store.getMask()))
    return emitter.constant(type, 1);
  Operation *op = tile.getDefiningOp();
  SmallVector<Value> of;
  for (Value operand : op->getOperands())
    of.push_back(firstPlace(operand, emitter));
  if (isa<arith::ExtUIOp>(op))
    return b.create<arith::ExtUIOp>(loc, type, of[0]);
  if (isa<arith::ExtSIOp>(op))
    return b.create<arith::ExtSIOp>(loc, type, of[0]);
  if (isa<arith::AddIOp>(op))
    return b.create<arith::AddIOp>(loc, of[0], of[1]);
  if (isa<arith::SubIOp>(op))
    return b.create<arith::SubIOp>(loc, of[0], of[1]);
  return offsetPointer(cast<tile::AddPtrOp>(op), of[0], of[1], emitter);
}

void Compaction::start(LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Type element = store.getAccessElementType();
  Value at = firstPlace(store.getPointer(), emitter);
  next = emitter.onStack(at.getType());
  b.create<LLVM::StoreOp>(emitter.loc(), at, next);
  if (!element.isIntOrFloat() || !emitter.processor.picksLanes ||
      emitter.processor.vectorBytes != 32)
    return;
  Type bits = b.getIntegerType(tile::bytesInMemory(element) * 8);
  collected = emitter.onStack(LLVM::LLVMArrayType::get(bits, mostCollected + lanesOfTable));
  count = emitter.onStack(b.getI64Type());
  b.create<LLVM::StoreOp>(emitter.loc(), emitter.index(0), count);
}

void Compaction::put(int64_t width, Value value, Value mask, LaneEmitter &emitter) {
  if (collected)
    return collect(width, value, mask, emitter);
  if (!mask)
    return putAll(width, value, emitter);
  if (width == 1)
    return emitter.when(mask, [&] { putAll(1, value, emitter); });
  Type element = store.getAccessElementType();
  int64_t bytes = tile::bytesInMemory(element);
  if (element.isIntOrFloat() && (bytes == 4 || bytes == 8) && emitter.processor.vectorBytes == 64)
    return putTogether(width, value, mask, emitter);
  // Often none is on, and all are where what is stored lies in runs.
  emitter.when(anyIsOn(emitter, mask), [&] {
    emitter.either(
        allAreOn(emitter, mask, width), [&] { putAll(width, value, emitter); },
        [&] { putOneByOne(width, value, mask, emitter); });
  });
}

void Compaction::putAll(int64_t width, Value value, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Type element = store.getAccessElementType();
  Value at = b.create<LLVM::LoadOp>(emitter.loc(), next.getType(), next);
  emitter.storeElements(at, element, width, value, {});
  b.create<LLVM::StoreOp>(emitter.loc(), emitter.elementAddress(at, emitter.index(width), element),
                          next);
}

void Compaction::putOneByOne(int64_t width, Value value, Value mask, LaneEmitter &emitter) {
  auto one = emitter.takeApart(value);
  emitter.forEachLane(mask, width, [&](Value lane) { putAll(1, one(lane), emitter); });
}

void Compaction::putTogether(int64_t width, Value value, Value mask, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type element = store.getAccessElementType(), wide = b.getI64Type();
  int64_t bytes = tile::bytesInMemory(element), lanes = 64 / bytes;
  Value at = b.create<LLVM::LoadOp>(loc, next.getType(), next);
  for (int64_t first = 0; first < width; first += lanes) {
    int64_t mine = std::min(lanes, width - first);
    SmallVector<int32_t> which; // a whole vector; what is behind the last lane is off
    for (int64_t lane = 0; lane < lanes; ++lane)
      which.push_back(int32_t(lane < mine ? first + lane : width));
    Value on = emitter.shuffle(mask, emitter.zero(mask.getType()), which),
          part = emitter.shuffle(value, emitter.zero(value.getType()), which);
    Value bits = b.create<arith::ExtUIOp>(
        loc, wide, b.create<LLVM::BitcastOp>(loc, b.getIntegerType(lanes), on));
    Value count = b.create<math::CtPopOp>(loc, bits);
    Value together = b.create<LLVM::CallIntrinsicOp>(
                          loc, part.getType(), b.getStringAttr("llvm.x86.avx512.mask.compress"),
                          ValueRange{part, emitter.zero(part.getType()), on})
                         .getResult(0);
    Value kept = b.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, emitter.iota(b.getIntegerType(bytes * 8), lanes),
        emitter.splat(
            bytes == 8 ? count : b.create<arith::TruncIOp>(loc, b.getI32Type(), count).getResult(),
            lanes));
    emitter.storeElements(at, element, lanes, together, kept);
    at = emitter.elementAddress(at, count, element);
  }
  b.create<LLVM::StoreOp>(loc, at, next);
}

// Of each mask of lanes which of the vector's 32-bit numbers come first.
static LLVM::GlobalOp permutations(int64_t lanes, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  auto module = b.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string name = "lanes_together_of_" + std::to_string(lanes);
  if (auto found = module.lookupSymbol<LLVM::GlobalOp>(name))
    return found;
  const int64_t numbers = lanesOfTable / lanes; // that a lane is made of
  SmallVector<int8_t> table;
  for (int64_t mask = 0; mask < int64_t(1) << lanes; ++mask) {
    size_t end = table.size() + lanesOfTable;
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t i = 0; i < numbers && (mask >> lane & 1); ++i)
        table.push_back(int8_t(lane * numbers + i));
    table.resize(end);
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto value = DenseElementsAttr::get(RankedTensorType::get({int64_t(table.size())}, b.getI8Type()),
                                      ArrayRef<int8_t>(table));
  return b.create<LLVM::GlobalOp>(emitter.loc(),
                                  LLVM::LLVMArrayType::get(b.getI8Type(), table.size()),
                                  /*isConstant=*/true, LLVM::Linkage::Internal, name, value,
                                  /*alignment=*/64);
}

// Elements of less than 32 bits are widened to as many.
static int64_t lanesTogether(Type element) { return tile::bytesInMemory(element) == 8 ? 4 : 8; }

// Lanes in the order of 32-bit numbers, in the form of memory.
static Value inOrder(Value lanes, Value order, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  int64_t width = widthOf(lanes.getType());
  unsigned bits = scalarOf(lanes.getType()).getIntOrFloatBitWidth();
  Type numbers = laneType(b.getI32Type(), lanesOfTable);
  auto ofBits = [&](unsigned bits) { return laneType(b.getIntegerType(bits), width); };
  if (lanes.getType() != ofBits(bits))
    lanes = b.create<LLVM::BitcastOp>(loc, ofBits(bits), lanes);
  Value from = bits < 32    ? b.create<arith::ExtUIOp>(loc, numbers, lanes).getResult()
               : bits == 64 ? b.create<LLVM::BitcastOp>(loc, numbers, lanes).getResult()
                            : lanes;
  Value together = b.create<LLVM::CallIntrinsicOp>(
                        loc, numbers, b.getStringAttr("llvm.x86.avx2.permd"),
                        ValueRange{from, b.create<arith::ExtUIOp>(loc, numbers, order)})
                       .getResult(0);
  if (bits >= 32)
    return together;
  return b.create<arith::TruncIOp>(loc, ofBits(std::max(bits, 8u)), together);
}

// Each vector is stored whole: what is behind its lanes that are on is written again by the next.
void Compaction::collect(int64_t width, Value value, Value mask, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type element = store.getAccessElementType(), wide = b.getI64Type();
  const int64_t lanes = lanesTogether(element);
  Value bits = mask ? b.create<arith::ExtUIOp>(
                           loc, wide, b.create<LLVM::BitcastOp>(loc, b.getIntegerType(width), mask))
                          .getResult()
                    : emitter.index(int64_t((uint64_t(1) << width) - 1));
  Value tables = b.create<LLVM::AddressOfOp>(loc, permutations(lanes, emitter));
  for (int64_t first = 0; first < width; first += lanes) {
    SmallVector<int32_t> which;
    for (int64_t lane = 0; lane < lanes; ++lane)
      which.push_back(int32_t(std::min(first + lane, width - 1)));
    Value part = width == 1 ? emitter.splat(value, lanes) : emitter.shuffle(value, value, which);
    Value on = b.create<arith::ShRUIOp>(loc, bits, emitter.index(first));
    on = b.create<arith::AndIOp>(loc, on, emitter.index((int64_t(1) << lanes) - 1));
    Value row = b.create<LLVM::GEPOp>(
        loc, tables.getType(), b.getI8Type(), tables,
        b.create<arith::MulIOp>(loc, on, emitter.index(lanesOfTable)).getResult());
    Value order = b.create<LLVM::LoadOp>(loc, laneType(b.getI8Type(), lanesOfTable), row,
                                         /*alignment=*/lanesOfTable);
    Value have = b.create<LLVM::LoadOp>(loc, wide, count);
    b.create<LLVM::StoreOp>(loc, inOrder(part, order, emitter),
                            emitter.elementAddress(collected, have, element),
                            tile::bytesInMemory(element));
    Value now = emitter.add(have, b.create<math::CtPopOp>(loc, on));
    b.create<LLVM::StoreOp>(loc, now, count);
    Value isFull =
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, now, emitter.index(mostCollected));
    emitter.when(isFull, [&] {
      copyCollected(emitter.index(mostCollected), emitter);
      Value rest = emitter.elementAddress(collected, emitter.index(mostCollected), element);
      emitter.storeElements(collected, element, lanes,
                            emitter.loadElements(rest, element, lanes, {}, {}), {});
      b.create<LLVM::StoreOp>(loc, emitter.add(now, emitter.index(-mostCollected)), count);
    });
  }
}

// Copies the first of them to where they belong.
void Compaction::copyCollected(Value some, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Type element = store.getAccessElementType();
  const int64_t lanes = lanesTogether(element);
  Value at = b.create<LLVM::LoadOp>(emitter.loc(), next.getType(), next);
  auto copy = [&](Value from, Value to, int64_t width) {
    emitter.loop(from, to, width, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
      Value lanes = emitter.loadElements(emitter.elementAddress(collected, i, element), element,
                                         width, {}, {});
      emitter.storeElements(emitter.elementAddress(at, i, element), element, width, lanes, {});
      return {};
    });
  };
  Value whole = b.create<arith::AndIOp>(emitter.loc(), some, emitter.index(-lanes));
  copy(emitter.index(0), whole, lanes);
  copy(whole, some, 1);
  b.create<LLVM::StoreOp>(emitter.loc(), emitter.elementAddress(at, some, element), next);
}

void Compaction::finish(LaneEmitter &emitter) {
  if (!collected)
    return;
  emitter.setLocation(store.getLoc());
  copyCollected(
      emitter.builder.create<LLVM::LoadOp>(emitter.loc(), emitter.builder.getI64Type(), count),
      emitter);
}

static bool makesPlacesAlone(Value tile, const LaneEmitter &emitter) {
  return llvm::all_of(tile.getUses(), [&](OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return use.get() == store.getPointer() && use.get() != store.getValue() &&
             Compaction::of(store, emitter) && emitter.plan.loadsToTest(store).empty();
    return isa<arith::ExtUIOp, arith::ExtSIOp, arith::AddIOp, arith::SubIOp, tile::AddPtrOp>(op) &&
           !emitter.plan.stored(op->getResult(0)) && makesPlacesAlone(op->getResult(0), emitter);
  });
}

bool countsForStoresAlone(tile::ScanOp scan, const LaneEmitter &emitter) {
  return scan.getNumResults() == 1 && makesPlacesAlone(scan.getResult(0), emitter);
}

} // namespace nereid::cpu
