// Blocks of a product whose accumulators stay in registers while they run through K.
#include "cpu/DotEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

Value DotEmitter::intrinsic(StringRef name, ArrayRef<Value> arguments) {
  return b
      .create<LLVM::CallIntrinsicOp>(loc, arguments[0].getType(), b.getStringAttr(name),
                                     ValueRange(arguments))
      .getResult(0);
}

Value DotEmitter::multiplyAdd(Value row, Value column, Value before) {
  switch (instruction) {
  case Instruction::Bf16Pairs: {
    Type pairs = laneType(element, 2 * width);
    return intrinsic("llvm.x86.avx512bf16.dpbf16ps.512",
                     {before, b.create<LLVM::BitcastOp>(loc, pairs, row),
                      b.create<LLVM::BitcastOp>(loc, pairs, column)});
  }
  case Instruction::ByteQuads:
    return intrinsic("llvm.x86.avx512.vpdpbusd.512", {before, row, column});
  case Instruction::Tiles:
  case Instruction::MultiplyAdd:
    break;
  }
  if (isa<FloatType>(sum))
    return b.create<LLVM::FMulAddOp>(loc, row, column, before);
  return emitter.add(b.create<arith::MulIOp>(loc, row, column), before);
}

// A row by a column of which the bytes are turned.
Value DotEmitter::multiplyBytes(Value row, Value column, Value before) {
  return dot.getIsUnsigned() ? multiplyAdd(row, column, before) : multiplyAdd(column, row, before);
}

void DotEmitter::block(ArrayRef<Value> position, Value firstRow, int64_t rows) {
  Value panel = position[m];
  Value firstColumn = b.create<arith::MulIOp>(loc, panel, emitter.index(columns));
  SmallVector<Value, 4> batch(position.begin(), position.begin() + m);
  auto at = [&](Value second, Value third) {
    Lanes where;
    where.position = batch;
    where.position.append({second, third});
    where.dim = n;
    return where;
  };
  SmallVector<Value> rowAt;
  for (int64_t r = 0; r < rows; ++r)
    rowAt.push_back(emitter.add(firstRow, emitter.index(r)));
  auto target = [&](int64_t r, int64_t v) {
    Lanes where = at(rowAt[r], emitter.add(firstColumn, emitter.index(v * width)));
    where.width = width;
    return where;
  };

  // What turned bytes add is taken off at the start.
  auto start = [&](int64_t r, int64_t v) {
    Value value = widenSum(emitter.lanes(dot.getAcc(), target(r, v)));
    if (instruction != Instruction::ByteQuads)
      return value;
    Lanes where = turnsLhs() ? at(panel, emitter.index(0)) : at(rowAt[r], emitter.index(0));
    if (turnsLhs()) {
      where.position.push_back(emitter.index(v * width));
      where.dim = m + 2;
      where.width = width;
    }
    Value more = emitter.read(excess, where);
    if (turnsRhs())
      more = emitter.splat(more, width);
    return b.create<arith::SubIOp>(loc, value, more).getResult();
  };
  SmallVector<Value> carried;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      carried.push_back(start(r, v));

  auto step = [&](Value k, ValueRange before) {
    SmallVector<Value> columns, next(before.begin(), before.end());
    for (int64_t v = 0; v < vectors; ++v) {
      Lanes where;
      if (isRead) {
        where = at(k, emitter.add(firstColumn, emitter.index(v * width)));
        where.width = width;
        columns.push_back(widen(emitter.lanes(dot.getRhs(), where), dot.getRhs()));
        continue;
      }
      where.position = batch;
      where.position.append({panel, k, emitter.index(v * width)});
      where.dim = m + 2;
      where.width = width;
      columns.push_back(emitter.read(rhs, where));
    }
    for (int64_t r = 0; r < rows; ++r) {
      Value row =
          emitter.splat(emitter.read(lhs, byColumns ? at(k, rowAt[r]) : at(rowAt[r], k)), width);
      for (int64_t v = 0; v < vectors; ++v)
        next[r * vectors + v] = multiplyAdd(row, columns[v], before[r * vectors + v]);
    }
    return next;
  };
  carried = loopAlongK(together, carried, [&](Value k, ValueRange before) {
    SmallVector<Value> next(before.begin(), before.end());
    for (int64_t i = 0; i < together; ++i)
      next = step(emitter.add(k, emitter.index(i)), next);
    return next;
  });
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      emitter.write(out, target(r, v), narrowSum(carried[r * vectors + v]));
}

// `rows` by `columns` results, whose accumulators have K in their lanes.
void DotEmitter::blockAlongK(ArrayRef<Value> position) {
  Value firstColumn = b.create<arith::MulIOp>(loc, position[m], emitter.index(columns)),
        firstRow = b.create<arith::MulIOp>(loc, position[m + 1], emitter.index(rows));
  auto at = [&](Value second, Value third, unsigned dim, int64_t count) {
    Lanes where;
    where.position.assign(position.begin(), position.begin() + m);
    where.position.append({second, third});
    where.dim = dim;
    where.width = count;
    return where;
  };
  auto step = [&](Value k, ValueRange before) {
    SmallVector<Value> rowLanes, next(before.begin(), before.end());
    for (int64_t r = 0; r < rows; ++r)
      rowLanes.push_back(
          emitter.read(lhs, at(emitter.add(firstRow, emitter.index(r)), k, n, width)));
    Value first = b.create<arith::MulIOp>(loc, k, emitter.index(group));
    for (int64_t c = 0; c < columns; ++c) {
      Value column = emitter.lanes(
          dot.getRhs(), at(first, emitter.add(firstColumn, emitter.index(c)), m, group * width));
      column = group == 1 ? widen(column, dot.getRhs()) : bits(column, width);
      if (turnsRhs())
        column = turned(column);
      for (int64_t r = 0; r < rows; ++r) {
        Value &sum = next[r * columns + c];
        sum = turnsRhs() ? multiplyBytes(rowLanes[r], column, sum)
                         : multiplyAdd(rowLanes[r], column, sum);
      }
    }
    return next;
  };
  SmallVector<Value> zeros(rows * columns, emitter.zero(laneType(sum, width)));
  Value sums = sumOfLanes(loopAlongK(width, zeros, step));
  for (int64_t r = 0; r < rows; ++r) {
    SmallVector<int32_t> mine;
    for (int64_t c = 0; c < columns; ++c)
      mine.push_back(int32_t(r * columns + c));
    Lanes target = at(emitter.add(firstRow, emitter.index(r)), firstColumn, n, columns);
    Value value =
        plus(emitter.shuffle(sums, sums, mine), widenSum(emitter.lanes(dot.getAcc(), target)));
    if (turnsRhs()) {
      Lanes row = target;
      row.position.pop_back();
      row.dim = m;
      row.width = 1;
      Value more = emitter.read(excess, row);
      value = b.create<arith::SubIOp>(loc, value, emitter.splat(more, columns));
    }
    emitter.write(out, target, narrowSum(value));
  }
}

Value DotEmitter::plus(Value x, Value y) {
  return isa<FloatType>(sum) ? b.create<arith::AddFOp>(loc, x, y).getResult() : emitter.add(x, y);
}

// Lane i becomes the sum of the lanes of vector i, of at most as many vectors as lanes. In each
// round two vectors become one, in which lanes that differ in one bit of their number have met.
Value DotEmitter::sumOfLanes(SmallVector<Value> vectors) {
  for (int64_t half = width / 2; half; half /= 2) {
    bool pairs = half < int64_t(vectors.size());
    SmallVector<int32_t> low, high;
    for (int64_t lane = 0; lane < width; ++lane) {
      bool second = pairs && (lane & half);
      low.push_back(int32_t(second ? width + (lane ^ half) : lane));
      high.push_back(int32_t(second ? width + lane : lane ^ half));
    }
    for (int64_t i = 0, count = pairs ? half : int64_t(vectors.size()); i < count; ++i) {
      Value other = vectors[pairs ? i + half : i];
      vectors[i] =
          plus(emitter.shuffle(vectors[i], other, low), emitter.shuffle(vectors[i], other, high));
    }
    if (pairs)
      vectors.resize(half);
  }
  return vectors[0];
}

} // namespace nereid::cpu
