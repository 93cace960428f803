// Operands of a product in scratch memory, in the order in which blocks read them.
#include "cpu/DotEmitter.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;

namespace nereid::cpu {

Value DotEmitter::widen(Value value, Value operand) {
  Type type = laneType(sum, widthOf(value.getType()));
  if (value.getType() == type)
    return value;
  if (isa<IntegerType>(element))
    return dot.getIsUnsigned() ? b.create<arith::ExtUIOp>(loc, type, value).getResult()
                               : b.create<arith::ExtSIOp>(loc, type, value).getResult();
  return transforms::expandFloatConversion(b, loc, value, tile::elementType(operand.getType()),
                                           sum);
}

Value DotEmitter::widenSum(Value value) {
  Type type = laneType(sum, widthOf(value.getType()));
  return value.getType() == type
             ? value
             : transforms::expandFloatConversion(b, loc, value, out.element, sum);
}

Value DotEmitter::narrowSum(Value value) {
  Type type = laneType(out.element, widthOf(value.getType()));
  return value.getType() == type
             ? value
             : transforms::expandFloatConversion(b, loc, value, sum, out.element);
}

void DotEmitter::packLhs(uint64_t offset) {
  if (byColumns)
    return packColumns(offset);
  bool grouped = group > 1;
  if (emitter.plan.stored(dot.getLhs()) && (grouped || element == sum) && !turnsLhs()) {
    lhs = emitter.buffer(dot.getLhs());
  } else {
    SmallVector<int64_t> shape(tile::shapeOf(dot.getLhs().getType()));
    const bool isCut = depth < shape[n];
    shape[n] = depth;
    lhs = emitter.arenaBuffer(offset, grouped ? element : sum, shape);
    SmallVector<Value> ends(out.shape.size());
    ends[m] = rowEnd;
    if (stepEnd)
      ends[n] = b.create<arith::MulIOp>(loc, stepEnd, emitter.index(group));
    auto convert = [&](Value value) {
      return turnsLhs() ? turned(value) : grouped ? value : widen(value, dot.getLhs());
    };
    if (isCut)
      emitter.forEach(
          shape, n, std::min(depth, emitter.vectorLanes()),
          [&](const Lanes &at) {
            emitter.write(lhs, at, convert(emitter.lanes(dot.getLhs(), at)));
          },
          ends);
    else
      emitter.fill(lhs, dot.getLhs(), convert, ends);
  }
  if (grouped) { // read a group at a time
    lhs.element = b.getI32Type();
    lhs.shape[n] /= group;
  }
}

void DotEmitter::packColumns(uint64_t offset) {
  SmallVector<int64_t> shape(out.shape.begin(), out.shape.end());
  shape[m] = depth;
  shape[n] = out.shape[m];
  lhs = emitter.arenaBuffer(offset, sum, shape);
  SmallVector<Value> ends(shape.size());
  ends[m] = stepEnd;
  ends[n] = rowEnd;
  int64_t lanes = emitter.processor.vectorBytes / tile::bytesInMemory(sum);
  auto column = [&](const Lanes &at) {
    Lanes from = at;
    std::swap(from.position[m], from.position[n]);
    from.dim = m;
    emitter.write(lhs, at, widen(emitter.lanes(dot.getLhs(), from), dot.getLhs()));
  };
  emitter.forEach(shape, n, std::min(shape[n], lanes), column, ends);
}

// Writes the panels: vectors of columns as they are, or columns of a source whose elements are
// adjacent along K, turned over in registers.
void DotEmitter::packRhs(uint64_t offset) {
  Value source = dot.getRhs();
  auto shape = tile::shapeOf(source.getType());
  int64_t panel = columns;
  SmallVector<int64_t> packed(shape.begin(), shape.begin() + m);
  packed.append({shape[n] / panel, depth / group, panel});
  rhs = emitter.arenaBuffer(offset, group > 1 ? Type(b.getI32Type()) : sum, packed);
  // Where column `column` of group `k` goes.
  auto place = [&](const Lanes &at, Value k, Value column) {
    Lanes into;
    into.position.assign(at.position.begin(), at.position.begin() + m);
    into.position.push_back(
        b.create<arith::ShRUIOp>(loc, column, emitter.index(llvm::Log2_64(panel))));
    into.position.push_back(k);
    into.position.push_back(b.create<arith::AndIOp>(loc, column, emitter.index(panel - 1)));
    into.dim = m + 2;
    into.width = width;
    return into;
  };
  SmallVector<int64_t> blocks(shape);
  SmallVector<Value> ends(shape.size());
  ends[n] = columnEnd;
  if (emitter.adjacentDim(source) != m || depth < group * width) {
    // A few steps of K at a time: what differs from column to column alone is computed once for
    // them, and they lie together in the panel.
    int64_t steps = std::min<int64_t>(depth / group, 8);
    blocks[m] = depth / group / steps;
    ends[m] = stepEnd ? emitter.ceilDiv(stepEnd, steps) : Value();
    auto some = [&](const Lanes &at) {
      Lanes from = at;
      Value first = b.create<arith::MulIOp>(loc, at.position[m], emitter.index(steps));
      from.position[m] = b.create<arith::MulIOp>(loc, first, emitter.index(group));
      prepareLoads(source, from, emitter);
      emitter.loop(0, steps, 1, {}, [&](Value step, ValueRange) -> SmallVector<Value> {
        Value k = emitter.add(first, step),
              element = b.create<arith::MulIOp>(loc, k, emitter.index(group)), value;
        for (int64_t i = 0; i < group; ++i) {
          from.position[m] = emitter.add(element, emitter.index(i));
          value = join(value, emitter.lanes(source, from), i);
        }
        if (turnsRhs())
          value = turned(value);
        emitter.write(rhs, place(at, k, at.position[n]), value);
        return {};
      });
    };
    emitter.forEach(blocks, n, width, some, ends);
    return;
  }
  blocks[m] = depth / group / width;
  ends[m] = stepEnd ? emitter.ceilDiv(stepEnd, width) : Value();
  auto square = [&](const Lanes &at) {
    Lanes from = at;
    from.dim = m;
    from.width = group * width;
    Value first = b.create<arith::MulIOp>(loc, at.position[m], emitter.index(width));
    from.position[m] = b.create<arith::MulIOp>(loc, first, emitter.index(group));
    SmallVector<Value> rows;
    for (int64_t i = 0; i < width; ++i) {
      from.position[n] = emitter.add(at.position[n], emitter.index(i));
      Value value = emitter.lanes(source, from);
      value = group == 1 ? widen(value, dot.getRhs()) : bits(value, width);
      rows.push_back(turnsRhs() ? turned(value) : value);
    }
    emitter.transpose(rows);
    for (int64_t i = 0; i < width; ++i)
      emitter.write(rhs, place(at, emitter.add(first, emitter.index(i)), at.position[n]), rows[i]);
  };
  emitter.forEach(blocks, n, width, square, ends);
}

// Element `i` of groups beside those before it.
Value DotEmitter::join(Value before, Value value, int64_t i) {
  if (group == 1)
    return widen(value, dot.getRhs());
  unsigned size = 32 / group;
  Type narrow = laneType(b.getIntegerType(size), width), wide = laneType(b.getI32Type(), width);
  if (value.getType() != narrow)
    value = b.create<LLVM::BitcastOp>(loc, narrow, value);
  value = b.create<arith::ExtUIOp>(loc, wide, value);
  if (i)
    value = b.create<arith::ShLIOp>(loc, value, emitter.constant(b.getI32Type(), i * size, width));
  return before ? b.create<arith::OrIOp>(loc, before, value).getResult() : value;
}

Value DotEmitter::bits(Value value, int64_t count) {
  return b.create<LLVM::BitcastOp>(loc, laneType(b.getI32Type(), count), value);
}

// `vpdpbusd` takes bytes of lhs without and of rhs with a sign. Those of the other kind are
// packed with their top bits turned over, which adds 128 to each of lhs or takes it from each of
// rhs. Rhs that is not packed is turned where it is read, with the operands exchanged where they
// have signs.
bool DotEmitter::turnsLhs() {
  return instruction == Instruction::ByteQuads && !dot.getIsUnsigned() && !alongK;
}

bool DotEmitter::turnsRhs() {
  return instruction == Instruction::ByteQuads && (dot.getIsUnsigned() || alongK);
}

Value DotEmitter::turned(Value value) {
  Type scalar = scalarOf(value.getType());
  int32_t top = scalar.isInteger(8) ? int8_t(0x80) : int32_t(0x80808080);
  return b.create<arith::XOrIOp>(loc, value,
                                 emitter.constant(scalar, top, widthOf(value.getType())));
}

// What that adds to the sums of each column, or each row, behind the packed bytes at `offset`,
// which take a quarter of their scratch memory.
void DotEmitter::countTurned(uint64_t offset) {
  const Buffer &counted = turnsLhs() ? rhs : lhs;
  SmallVector<int64_t> shape(counted.shape.begin(), counted.shape.end());
  int64_t bytes = 4;
  for (int64_t extent : shape)
    bytes *= extent;
  unsigned k = turnsLhs() ? m + 1 : n;
  shape[k] = 1;
  excess = emitter.arenaBuffer(offset + bytes, b.getI32Type(), shape);
  Value top = emitter.constant(b.getI32Type(), int32_t(0x80808080), width);
  SmallVector<Value> ends(shape.size());
  ends[m] = turnsLhs() ? columnEnd ? emitter.ceilDiv(columnEnd, columns) : Value() : rowEnd;
  auto count = [&](const Lanes &at) {
    auto add = [&](Value step, ValueRange before) -> SmallVector<Value> {
      Lanes from = at;
      from.position[k] = step;
      Value value = emitter.read(counted, from);
      return {turnsLhs() ? multiplyAdd(top, value, before[0])
                         : multiplyAdd(emitter.splat(value, width), top, before[0])};
    };
    Value sum = loopAlongK(1, {emitter.zero(top.getType())}, add)[0];
    emitter.write(excess, at, turnsLhs() ? sum : emitter.extract(sum, 0));
  };
  emitter.forEach(shape, shape.size() - 1, turnsLhs() ? width : 1, count, ends);
}

// The same of rows whose bytes are multiplied along K, a block of them at a time.
void DotEmitter::countRowsTurned(uint64_t offset) {
  SmallVector<int64_t> shape(lhs.shape.begin(), lhs.shape.end() - 1);
  int64_t bytes = 4 * lhs.shape[n];
  for (int64_t extent : shape)
    bytes *= extent;
  excess = emitter.arenaBuffer(offset + bytes, b.getI32Type(), shape);
  Value top = emitter.constant(b.getI32Type(), int32_t(0x80808080), width);
  SmallVector<Value> ends(shape.size());
  ends[m] = rowEnd;
  auto count = [&](const Lanes &block) {
    auto add = [&](Value step, ValueRange before) {
      SmallVector<Value> next;
      for (int64_t r = 0; r < rows; ++r) {
        Lanes from = block;
        from.position[m] = emitter.add(block.position[m], emitter.index(r));
        from.position.push_back(step);
        from.dim = n;
        from.width = width;
        next.push_back(multiplyBytes(emitter.read(lhs, from), top, before[r]));
      }
      return next;
    };
    SmallVector<Value> zeros(rows, emitter.zero(top.getType()));
    Value sums = sumOfLanes(loopAlongK(width, zeros, add));
    SmallVector<int32_t> lanes(rows);
    std::iota(lanes.begin(), lanes.end(), 0);
    emitter.write(excess, block, emitter.shuffle(sums, sums, lanes));
  };
  emitter.forEach(shape, m, rows, count, ends);
}

} // namespace nereid::cpu
