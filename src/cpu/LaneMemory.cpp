// Lanes in memory: buffers of tiles, rows that leave past the cache, elements at pointers.
#include "cpu/Extents.h"
#include "cpu/LaneEmitter.h"
#include "cpu/LaneModels.h"
#include "cpu/LaneOffsets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::cpu {

// --- buffers ---

Buffer LaneEmitter::buffer(Value tile) {
  const FusionPlan::Stored *stored = plan.stored(tile);
  return arenaBuffer(stored->offset, tile::elementType(tile.getType()),
                     tile::shapeOf(tile.getType()));
}

Buffer LaneEmitter::arenaBuffer(uint64_t offset, Type element, ArrayRef<int64_t> shape) {
  Value base = builder.create<LLVM::GEPOp>(
      location, LLVM::LLVMPointerType::get(builder.getContext()), builder.getI8Type(),
      program.arena, ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(offset))});
  return {base, element, SmallVector<int64_t, 4>(shape)};
}

static Type memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : laneType(element, 1);
}

Value LaneEmitter::linear(ArrayRef<int64_t> shape, ArrayRef<Value> position) {
  Value offset = index(0);
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    offset = addScaled(offset, position[d], stride);
  return offset;
}

Value LaneEmitter::address(const Buffer &buffer, ArrayRef<Value> position) {
  return builder.create<LLVM::GEPOp>(location, buffer.base.getType(), memoryType(buffer.element),
                                     buffer.base, linear(buffer.shape, position));
}

static int64_t strideOf(const Buffer &buffer, unsigned dim) {
  int64_t stride = 1;
  for (unsigned d = dim + 1; d < buffer.shape.size(); ++d)
    stride *= buffer.shape[d];
  return stride;
}

Value LaneEmitter::read(const Buffer &buffer, const Lanes &where) {
  Value first = address(buffer, where.position);
  int64_t stride = strideOf(buffer, where.dim);
  if (where.width == 1 || stride == 1)
    return loadElements(first, buffer.element, where.width, {}, {});
  if (auto near = NearLanes::everyNth(stride, where.width, buffer.element))
    return near->load(first, buffer.element, {}, /*isVolatile=*/false, *this);
  Value steps = builder.create<arith::MulIOp>(location, iota(builder.getI64Type(), where.width),
                                              constant(builder.getI64Type(), stride, where.width));
  return loadElements(elementAddress(first, steps, buffer.element), buffer.element, where.width, {},
                      {});
}

void LaneEmitter::write(const Buffer &buffer, const Lanes &where, Value value) {
  Value first = address(buffer, where.position);
  int64_t stride = strideOf(buffer, where.dim);
  if (where.width == 1 || stride == 1)
    return storeElements(first, buffer.element, where.width, value, {});
  if (auto near = NearLanes::everyNth(stride, where.width, buffer.element))
    return near->store(first, buffer.element, value, {}, *this);
  Value steps = builder.create<arith::MulIOp>(location, iota(builder.getI64Type(), where.width),
                                              constant(builder.getI64Type(), stride, where.width));
  storeElements(elementAddress(first, steps, buffer.element), buffer.element, where.width, value,
                {});
}

void LaneEmitter::materialize(Value tile) {
  Operation *op = tile.getDefiningOp();
  Buffer into = buffer(tile);
  auto source = [&](const Lanes &where) { return compute(tile, where); };
  unsigned row = preferredDim(into.shape);
  SmallVector<Value> ends = op ? endsOfReaders(tile, op, *this, row) : SmallVector<Value>();
  if (auto across = acrossRows(tile))
    return forEach(
        into.shape, across->dim, across->width,
        [&](const Lanes &where) { write(into, where, source(where)); }, ends);
  fillFrom(into, DirectionAnalysis::choose(directions.ofComputed(tile), into.shape), tile, true,
           source, ends);
}

// Rows of a few elements that follow each other in memory, as pairs do, are loaded many at a time:
// one element of each from the vectors that cover them.
std::optional<Lanes> LaneEmitter::acrossRows(Value tile) {
  constexpr int64_t leastLanes = 8;
  auto shape = tile::shapeOf(tile.getType());
  auto load = tile.getDefiningOp<tile::LoadOp>();
  unsigned row = preferredDim(shape);
  if (!load || row == 0 || shape[row] >= leastLanes || shape[row - 1] < leastLanes)
    return {};
  Lanes where;
  where.position.assign(shape.size(), index(0));
  where.dim = row - 1;
  where.width = preferredWidth(shape, where.dim);
  auto offsets = laneOffsets(load.getPointer(), where, *this);
  if (!offsets || !NearLanes::find(*offsets, load.getAccessElementType()))
    return {};
  return where;
}

// Tasks that run with this one find the lanes in their registers.
RowTask LaneEmitter::materializing(Value tile) {
  RowTask task;
  task.tiles = {tile};
  task.computes = tile;
  Buffer into = buffer(tile);
  task.body = [this, into, tile](const Lanes &where, ValueRange) -> SmallVector<Value> {
    Value value = compute(tile, where);
    write(into, where, value);
    remember(tile, where, value);
    return {};
  };
  return task;
}

void LaneEmitter::leave(const Lanes &where, Value count) {
  Value waits =
      builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ult, where.position[0], count);
  when(waits, [&] {
    Buffer from = buffer(plan.leavingRow()->row);
    Value to = builder.create<LLVM::LoadOp>(
        location, LLVM::LLVMPointerType::get(builder.getContext()), program.leavingTo);
    to = elementAddress(to, where.position[0], from.element);
    Value value = read(from, where);
    if (where.width * tile::bytesInMemory(from.element) % lineBytes == 0)
      streamElements(to, value);
    else
      storeElements(to, from.element, where.width, value, {});
  });
}

RowTask LaneEmitter::leaving() {
  RowTask task;
  Value count = builder.create<LLVM::LoadOp>(location, builder.getI64Type(), program.leavingCount);
  task.body = [this, count](const Lanes &where, ValueRange) -> SmallVector<Value> {
    leave(where, count);
    return {};
  };
  return task;
}

void LaneEmitter::leaveAll() {
  auto shape = tile::shapeOf(plan.leavingRow()->row.getType());
  Value count = builder.create<LLVM::LoadOp>(location, builder.getI64Type(), program.leavingCount);
  forEach(shape, 0, preferredWidth(shape, 0), [&](const Lanes &where) { leave(where, count); });
}

void LaneEmitter::fill(const Buffer &into, Value tile, llvm::function_ref<Value(Value)> convert,
                       ArrayRef<Value> ends, ArrayRef<FusionPlan::Ahead> ahead) {
  auto source = [&](const Lanes &where) {
    Value value = lanes(tile, where);
    return convert ? convert(value) : value;
  };
  fillFrom(into, adjacentDim(tile), tile, false, source, ends, ahead);
}

// Vectors run along the last dimension, as the buffer does. A source whose elements are adjacent
// along another one is read in squares along that, and these are turned over.
void LaneEmitter::fillFrom(const Buffer &into, unsigned adjacent, Value tile, bool expand,
                           std::function<Value(const Lanes &)> source, ArrayRef<Value> ends,
                           ArrayRef<FusionPlan::Ahead> ahead) {
  unsigned dim = preferredDim(into.shape);
  int64_t width = std::min({into.shape[dim], into.shape[adjacent], vectorLanes()});
  bool turn = adjacent < dim && width >= DirectionAnalysis::leastSide;
  if (!turn) {
    RowTask task;
    task.tiles = {tile};
    task.computes = expand ? tile : Value();
    task.body = [&](const Lanes &where, ValueRange) -> SmallVector<Value> {
      write(into, where, source(where));
      return {};
    };
    return forEachInRows(into.shape, dim, task, ends, ahead);
  }
  SmallVector<int64_t> blocks(into.shape.begin(), into.shape.end());
  blocks[adjacent] /= width;
  SmallVector<Value> blockEnds(ends);
  if (!ends.empty() && ends[adjacent])
    blockEnds[adjacent] = ceilDiv(ends[adjacent], width);
  auto block = [&](const Lanes &block) {
    Value first = builder.create<arith::MulIOp>(location, block.position[adjacent], index(width));
    Lanes from = block;
    from.position[adjacent] = first;
    from.dim = adjacent;
    SmallVector<Value> square;
    for (int64_t i = 0; i < width; ++i) {
      from.position[dim] = add(block.position[dim], index(i));
      square.push_back(source(from));
    }
    transpose(square);
    Lanes where = block;
    for (int64_t i = 0; i < width; ++i) {
      where.position[adjacent] = add(first, index(i));
      write(into, where, square[i]);
    }
  };
  forEach(blocks, dim, width, block, blockEnds);
}

// Each step exchanges the blocks of `half` lanes off the diagonal of the blocks of twice as many.
void LaneEmitter::transpose(MutableArrayRef<Value> rows) {
  int32_t width = rows.size();
  for (int32_t half = width / 2; half; half /= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t lane = 0; lane < width; ++lane) {
      bool second = lane & half;
      low.push_back(second ? width + lane - half : lane);
      high.push_back(second ? width + lane : lane + half);
    }
    for (int32_t i = 0; i < width; ++i) {
      if (i & half)
        continue;
      Value a = rows[i], c = rows[i + half];
      rows[i] = shuffle(a, c, low);
      rows[i + half] = shuffle(a, c, high);
    }
  }
}

unsigned LaneEmitter::adjacentDim(ValueRange tiles) const {
  Directions all;
  for (Value tile : tiles)
    all = all | directions.of(tile);
  return DirectionAnalysis::choose(all, tile::shapeOf(tiles.front().getType()));
}

void LaneEmitter::copy(const Buffer &into, const Buffer &from) {
  unsigned dim = preferredDim(into.shape);
  forEach(into.shape, dim, preferredWidth(into.shape, dim),
          [&](const Lanes &where) { write(into, where, read(from, where)); });
}

// --- elements at pointers ---

Value LaneEmitter::elementAddress(Value pointer, Value offset, Type element) {
  int64_t width = std::max(widthOf(pointer.getType()), widthOf(offset.getType()));
  Type type = laneType(tile::PtrType::get(element.getContext(), element), width);
  return builder.create<LLVM::GEPOp>(location, type, memoryType(element), pointer, offset);
}

// One bool a byte in memory.
Value LaneEmitter::toMemory(Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  return builder.create<arith::ExtUIOp>(
      location, laneType(builder.getI8Type(), widthOf(value.getType())), value);
}

Value LaneEmitter::fromMemory(Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  Value zero = constant(builder.getI8Type(), 0, widthOf(value.getType()));
  return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne, value, zero);
}

Value LaneEmitter::loadElements(Value pointer, Type element, int64_t width, Value mask, Value other,
                                bool isVolatile) {
  Type memory = memoryType(element);
  unsigned align = tile::bytesInMemory(element);
  bool scattered = widthOf(pointer.getType()) > 1;
  if (width == 1) {
    auto load = [&] {
      return fromMemory(builder.create<LLVM::LoadOp>(location, memory, pointer, align, isVolatile),
                        element);
    };
    if (!mask)
      return load();
    Value loaded = choose(mask, laneType(element, 1), load);
    return other ? builder.create<LLVM::SelectOp>(location, mask, loaded, other).getResult()
                 : loaded;
  }
  Type type =
      element.isInteger(1) ? laneType(builder.getI8Type(), width) : laneType(element, width);
  if (!mask && !scattered)
    return fromMemory(builder.create<LLVM::LoadOp>(location, type, pointer, align, isVolatile),
                      element);
  if (scattered && processor.slowGathers) {
    // Lanes that are off read what is anywhere, and drop it: a branch for each would cost more.
    if (mask)
      pointer = builder.create<LLVM::SelectOp>(location, mask, pointer,
                                               splat(onStack(scalarOf(type)), width));
    Value all = builder.create<LLVM::UndefOp>(location, type);
    for (int64_t lane = 0; lane < width; ++lane)
      all = insert(all,
                   builder.create<LLVM::LoadOp>(location, scalarOf(type), extract(pointer, lane),
                                                align, isVolatile),
                   lane);
    if (mask)
      all = builder.create<LLVM::SelectOp>(location, mask, all,
                                           other ? toMemory(other, element) : zero(type));
    return fromMemory(all, element);
  }
  if (!mask)
    mask = constant(builder.getI1Type(), 1, width);
  Value otherwise = other ? toMemory(other, element) : zero(type);
  auto alignment = builder.getI32IntegerAttr(align);
  Value loaded;
  if (scattered)
    loaded = builder.create<LLVM::masked_gather>(location, type, pointer, mask,
                                                 ValueRange{otherwise}, alignment);
  else
    loaded = builder.create<LLVM::MaskedLoadOp>(location, type, pointer, mask,
                                                ValueRange{otherwise}, alignment);
  return fromMemory(loaded, element);
}

void LaneEmitter::storeElements(Value pointer, Type element, int64_t width, Value value,
                                Value mask) {
  unsigned align = tile::bytesInMemory(element);
  bool scattered = widthOf(pointer.getType()) > 1;
  value = toMemory(value, element);
  if (width == 1) {
    auto plain = [&] { builder.create<LLVM::StoreOp>(location, value, pointer, align); };
    return mask ? when(mask, plain) : plain();
  }
  if (!mask && !scattered) {
    builder.create<LLVM::StoreOp>(location, value, pointer, align);
    return;
  }
  if (scattered && processor.slowGathers)
    return storeOneByOne(pointer, width, value, mask, align);
  if (!mask)
    mask = constant(builder.getI1Type(), 1, width);
  auto alignment = builder.getI32IntegerAttr(align);
  if (scattered) {
    builder.create<LLVM::masked_scatter>(location, value, pointer, mask, alignment);
    return;
  }
  auto masked = [&] {
    builder.create<LLVM::MaskedStoreOp>(location, value, pointer, mask, alignment);
  };
  if (!processor.slowMaskedStores(align))
    return masked();
  either(
      allAreOn(*this, mask, width),
      [&] { builder.create<LLVM::StoreOp>(location, value, pointer, align); }, masked);
}

std::function<Value(Value)> LaneEmitter::takeApart(Value vector) {
  Value room = onStack(vector.getType());
  builder.create<LLVM::StoreOp>(location, vector, room);
  Type type = scalarOf(vector.getType());
  return [this, room, type](Value lane) -> Value {
    Value at = builder.create<LLVM::GEPOp>(location, room.getType(), type, room, lane);
    return builder.create<LLVM::LoadOp>(location, type, at);
  };
}

void LaneEmitter::forEachLane(Value mask, int64_t width, llvm::function_ref<void(Value)> body) {
  if (!mask) {
    loop(0, width, 1, {}, [&](Value lane, ValueRange) -> SmallVector<Value> {
      body(lane);
      return {};
    });
    return;
  }
  Type bits = builder.getIntegerType(width), wide = builder.getI64Type();
  Value on = builder.create<LLVM::BitcastOp>(location, bits, mask);
  if (width < 64)
    on = builder.create<arith::ExtUIOp>(location, wide, on);
  auto rest = builder.create<scf::WhileOp>(
      location, TypeRange{wide}, ValueRange{on},
      [&](OpBuilder &b, Location loc, ValueRange left) {
        Value any = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, left[0], index(0));
        b.create<scf::ConditionOp>(loc, any, left);
      },
      [](OpBuilder &b, Location loc, ValueRange left) { b.create<scf::YieldOp>(loc, left); });
  OpBuilder::InsertionGuard guard(builder);
  Operation *end = rest.getAfterBody()->getTerminator();
  builder.setInsertionPoint(end);
  Value left = rest.getAfterArguments()[0];
  body(builder.create<math::CountTrailingZerosOp>(location, left));
  Value less = add(left, index(-1));
  end->setOperand(0, builder.create<arith::AndIOp>(location, left, less));
}

// Scattering instructions of AMD take longer, however few lanes are on.
void LaneEmitter::storeOneByOne(Value pointers, int64_t width, Value values, Value mask,
                                unsigned align) {
  auto pointer = takeApart(pointers), value = takeApart(values);
  forEachLane(mask, width, [&](Value lane) {
    builder.create<LLVM::StoreOp>(location, value(lane), pointer(lane), align);
  });
}

void LaneEmitter::streamElements(Value pointer, Value value) {
  program.streams = true;
  builder.create<LLVM::StoreOp>(location, value, pointer, lineBytes, /*isVolatile=*/false,
                                /*isNonTemporal=*/true);
}

Value LaneEmitter::zero(Type type) { return builder.create<LLVM::ZeroOp>(location, type); }

} // namespace nereid::cpu
