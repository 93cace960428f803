// Products. The operands are packed once an op, in the order in which the innermost loop reads
// them; a block of accumulators stays in registers while that loop runs through K.
//
//   lhs: rows of K                        rhs: panels of a few vectors of columns, K by K
//     [m][k]                                [n / panel][k / group][n % panel][k % group]
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
#include "cpu/Extents.h"
#include "cpu/LaneModels.h"
#include "cpu/NextRound.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;

namespace nereid::cpu {

namespace {

enum class Instruction { MultiplyAdd, Bf16Pairs, ByteQuads, Tiles };

// A tile is 16 rows of 64 bytes.
constexpr int64_t tileRows = 16, tileBytes = 64;

// The type in which products are summed.
Type sumType(Type operand, Type accumulator) {
  if (isa<IntegerType>(operand))
    return accumulator;
  return operand.isF64() ? operand : Float32Type::get(operand.getContext());
}

uint64_t packedBytes(Type tile, Type sum) {
  uint64_t each = std::max<uint64_t>(tile::bytesInMemory(sum), 4);
  return llvm::alignTo(cast<RankedTensorType>(tile).getNumElements() * each, 64);
}

// One product, as it is emitted.
class DotEmitter {
public:
  DotEmitter(tile::DotOp dot, LaneEmitter &emitter)
      : dot(dot), emitter(emitter), b(emitter.builder), loc(emitter.loc()),
        out(emitter.buffer(dot.getResult())), element(tile::elementType(dot.getLhs().getType())),
        sum(sumType(element, out.element)), m(out.shape.size() - 2), n(m + 1),
        depth(tile::shapeOf(dot.getLhs().getType())[n]) {
    int64_t lanes = emitter.processor.vectorBytes / tile::bytesInMemory(sum);
    width = std::min(out.shape[n], lanes);
    choose();
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

  void emit() {
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
    ends.push_back(rowEnd ? emitter.ceilDiv(rowEnd, rows) : Value());
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
        block(at.position);
    };
    emitter.forEach(blocks, blocks.size() - 1, 1, one, ends);
    if (instruction == Instruction::Tiles) // else each change of threads would save them
      onTiles("tilerelease", {});
  }

private:
  // With fewer steps of K the sums over lanes take longer than packing (measured with f32, 1 to 16
  // rows: a tie at 128, 40% faster at 256 with up to four rows).
  static constexpr int64_t mostFewRows = 16, leastSteps = 16;

  // True if `count` adjacent elements of a tile are read from adjacent memory, and little more is
  // done with them: then there is no need to keep them.
  bool isLoadedAlong(Value tile, unsigned dim, int64_t count) {
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

  void choose() {
    bool wide = width * tile::bytesInMemory(sum) == 64 && sum.getIntOrFloatBitWidth() == 32;
    if (wide && emitter.processor.bf16Pairs && element.isBF16() && depth % 2 == 0) {
      instruction = Instruction::Bf16Pairs;
      group = 2;
    } else if (wide && emitter.processor.byteQuads && element.isInteger(8) && depth % 4 == 0) {
      instruction = Instruction::ByteQuads;
      group = 4;
    }
  }

  // What has to be computed, in whole blocks: rows, columns, steps of K.
  void findEnds() {
    ProductExtents extents = productExtents(dot, emitter);
    auto whole = [&](Value end, int64_t unit, int64_t block) {
      return end ? b.create<arith::MulIOp>(loc, emitter.ceilDiv(end, block),
                                           emitter.index(block / unit))
                       .getResult()
                 : Value();
    };
    rowEnd = whole(extents.rows, 1, rows);
    columnEnd = whole(extents.columns, 1, columns);
    // Two steps a round of the innermost loop: less to count.
    together = alongK                              ? width
               : instruction == Instruction::Tiles ? tileRows
               : depth / group % 2 == 0            ? 2
                                                   : 1;
    stepEnd = whole(extents.depth, group, group * together);
  }

  Value widen(Value value) {
    Type type = laneType(sum, widthOf(value.getType()));
    if (value.getType() == type)
      return value;
    if (isa<IntegerType>(element))
      return dot.getIsUnsigned() ? b.create<arith::ExtUIOp>(loc, type, value).getResult()
                                 : b.create<arith::ExtSIOp>(loc, type, value).getResult();
    return transforms::expandFloatConversion(b, loc, value, element, sum);
  }
  Value widenSum(Value value) {
    Type type = laneType(sum, widthOf(value.getType()));
    return value.getType() == type
               ? value
               : transforms::expandFloatConversion(b, loc, value, out.element, sum);
  }
  Value narrowSum(Value value) {
    Type type = laneType(out.element, widthOf(value.getType()));
    return value.getType() == type
               ? value
               : transforms::expandFloatConversion(b, loc, value, sum, out.element);
  }

  void packLhs(uint64_t offset) {
    bool grouped = group > 1;
    if (emitter.plan.stored(dot.getLhs()) && (grouped || element == sum) && !turnsLhs()) {
      lhs = emitter.buffer(dot.getLhs());
    } else {
      lhs = emitter.arenaBuffer(offset, grouped ? element : sum,
                                tile::shapeOf(dot.getLhs().getType()));
      SmallVector<Value> ends(out.shape.size());
      ends[m] = rowEnd;
      auto convert = [&](Value value) {
        return turnsLhs() ? turned(value) : grouped ? value : widen(value);
      };
      emitter.fill(lhs, dot.getLhs(), convert, ends);
    }
    if (grouped) { // read a group at a time
      lhs.element = b.getI32Type();
      lhs.shape[n] /= group;
    }
  }

  // Writes the panels: vectors of columns as they are, or columns of a source whose elements are
  // adjacent along K, turned over in registers.
  void packRhs(uint64_t offset) {
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
        value = group == 1 ? widen(value) : bits(value, width);
        rows.push_back(turnsRhs() ? turned(value) : value);
      }
      emitter.transpose(rows);
      for (int64_t i = 0; i < width; ++i)
        emitter.write(rhs, place(at, emitter.add(first, emitter.index(i)), at.position[n]),
                      rows[i]);
    };
    emitter.forEach(blocks, n, width, square, ends);
  }

  // Element `i` of groups beside those before it.
  Value join(Value before, Value value, int64_t i) {
    if (group == 1)
      return widen(value);
    unsigned size = 32 / group;
    Type narrow = laneType(b.getIntegerType(size), width), wide = laneType(b.getI32Type(), width);
    if (value.getType() != narrow)
      value = b.create<LLVM::BitcastOp>(loc, narrow, value);
    value = b.create<arith::ExtUIOp>(loc, wide, value);
    if (i)
      value =
          b.create<arith::ShLIOp>(loc, value, emitter.constant(b.getI32Type(), i * size, width));
    return before ? b.create<arith::OrIOp>(loc, before, value).getResult() : value;
  }

  Value bits(Value value, int64_t count) {
    return b.create<LLVM::BitcastOp>(loc, laneType(b.getI32Type(), count), value);
  }

  Value intrinsic(StringRef name, ArrayRef<Value> arguments) {
    return b
        .create<LLVM::CallIntrinsicOp>(loc, arguments[0].getType(), b.getStringAttr(name),
                                       ValueRange(arguments))
        .getResult(0);
  }

  Value multiplyAdd(Value row, Value column, Value before) {
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

  // `vpdpbusd` takes bytes of lhs without and of rhs with a sign. Those of the other kind are
  // packed with their top bits turned over, which adds 128 to each of lhs or takes it from each of
  // rhs. Rhs that is not packed is turned where it is read, with the operands exchanged where they
  // have signs.
  bool turnsLhs() {
    return instruction == Instruction::ByteQuads && !dot.getIsUnsigned() && !alongK;
  }
  bool turnsRhs() {
    return instruction == Instruction::ByteQuads && (dot.getIsUnsigned() || alongK);
  }
  Value turned(Value value) {
    Type scalar = scalarOf(value.getType());
    int32_t top = scalar.isInteger(8) ? int8_t(0x80) : int32_t(0x80808080);
    return b.create<arith::XOrIOp>(loc, value,
                                   emitter.constant(scalar, top, widthOf(value.getType())));
  }

  // What that adds to the sums of each column, or each row, behind the packed bytes at `offset`,
  // which take a quarter of their scratch memory.
  void countTurned(uint64_t offset) {
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
  void countRowsTurned(uint64_t offset) {
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
  // A row by a column of which the bytes are turned.
  Value multiplyBytes(Value row, Value column, Value before) {
    return dot.getIsUnsigned() ? multiplyAdd(row, column, before)
                               : multiplyAdd(column, row, before);
  }

  SmallVector<Value> loopAlongK(int64_t step, ArrayRef<Value> carried, LaneEmitter::LoopBody body) {
    return stepEnd ? emitter.loop(emitter.index(0), stepEnd, step, carried, body)
                   : emitter.loop(0, depth / group, step, carried, body);
  }

  void block(ArrayRef<Value> position) {
    Value panel = position[m], rowBlock = position[m + 1];
    Value firstRow = b.create<arith::MulIOp>(loc, rowBlock, emitter.index(rows));
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
          columns.push_back(widen(emitter.lanes(dot.getRhs(), where)));
          continue;
        }
        where.position = batch;
        where.position.append({panel, k, emitter.index(v * width)});
        where.dim = m + 2;
        where.width = width;
        columns.push_back(emitter.read(rhs, where));
      }
      for (int64_t r = 0; r < rows; ++r) {
        Value row = emitter.splat(emitter.read(lhs, at(rowAt[r], k)), width);
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

  // An instruction on tiles, which has their numbers as its first arguments.
  void onTiles(StringRef name, ArrayRef<int64_t> tiles, ValueRange others = {}) {
    SmallVector<Value> arguments;
    for (int64_t tile : tiles)
      arguments.push_back(emitter.constant(b.getI8Type(), tile));
    arguments.append(others.begin(), others.end());
    b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(), b.getStringAttr("llvm.x86." + name.str()),
                                    ValueRange(arguments), LLVM::FastmathFlagsAttr());
  }

  // All eight have 16 rows of 64 bytes. The configuration lies behind the packed lhs, which takes
  // half of its scratch memory or less.
  void configureTiles(uint64_t scratch) {
    int32_t words[16] = {1}; // the palette; widths of 16 bits from byte 16, heights from byte 48
    for (int i = 0; i < 4; ++i)
      words[4 + i] = int32_t(tileBytes << 16 | tileBytes);
    words[12] = words[13] = int32_t(tileRows * 0x01010101);
    uint64_t packed = cast<RankedTensorType>(dot.getLhs().getType()).getNumElements() *
                      tile::bytesInMemory(element);
    Buffer configuration =
        emitter.arenaBuffer(scratch + llvm::alignTo(packed, 64), b.getI32Type(), {16});
    Lanes all;
    all.position.push_back(emitter.index(0));
    all.dim = 0;
    all.width = 16;
    emitter.write(configuration, all, b.create<arith::ConstantOp>(loc, b.getI32VectorAttr(words)));
    onTiles("ldtilecfg", {}, emitter.address(configuration, all.position));
  }

  // One or two by one or two tiles of results: tiles 0 to 3. Those of lhs are 4 and 5, of rhs 6
  // and 7.
  void blockOfTiles(ArrayRef<Value> position) {
    Value panel = position[m],
          firstRow = b.create<arith::MulIOp>(loc, position[m + 1], emitter.index(rows)),
          firstColumn = b.create<arith::MulIOp>(loc, panel, emitter.index(columns));
    auto at = [&](ArrayRef<Value> last) {
      SmallVector<Value> place(position.begin(), position.begin() + m);
      place.append(last.begin(), last.end());
      return place;
    };
    auto stride = [&](int64_t bytes) { return emitter.constant(b.getI64Type(), bytes); };
    const int64_t down = rows / tileRows;
    auto eachResult = [&](const Buffer &buffer, StringRef what) {
      for (int64_t r = 0; r < down; ++r)
        for (int64_t v = 0; v < vectors; ++v) {
          Value row = emitter.add(firstRow, emitter.index(r * tileRows)),
                column = emitter.add(firstColumn, emitter.index(v * width));
          onTiles(what, r * 2 + v,
                  {emitter.address(buffer, at({row, column})), stride(out.shape[n] * 4)});
        }
    };
    const bool isStored = emitter.plan.stored(dot.getAcc());
    if (!isStored) {
      emitter.loop(0, rows, 1, {}, [&](Value row, ValueRange) -> SmallVector<Value> {
        for (int64_t v = 0; v < vectors; ++v) {
          Lanes where;
          where.position =
              at({emitter.add(firstRow, row), emitter.add(firstColumn, emitter.index(v * width))});
          where.dim = n;
          where.width = width;
          emitter.write(out, where, emitter.lanes(dot.getAcc(), where));
        }
        return {};
      });
    }
    eachResult(isStored ? emitter.buffer(dot.getAcc()) : out, "tileloadd64");
    StringRef product = isa<FloatType>(element) ? "tdpbf16ps"
                        : dot.getIsUnsigned()   ? "tdpbuud"
                                                : "tdpbssd";
    loopAlongK(tileRows, {}, [&](Value k, ValueRange) -> SmallVector<Value> {
      for (int64_t r = 0; r < down; ++r)
        onTiles("tileloadd64", 4 + r,
                {emitter.address(lhs, at({emitter.add(firstRow, emitter.index(r * tileRows)), k})),
                 stride(depth / group * 4)});
      for (int64_t v = 0; v < vectors; ++v) {
        onTiles(
            "tileloadd64", 6 + v,
            {emitter.address(rhs, at({panel, k, emitter.index(v * width)})), stride(columns * 4)});
        for (int64_t r = 0; r < down; ++r)
          onTiles(product, {r * 2 + v, 4 + r, 6 + v});
      }
      return {};
    });
    eachResult(out, "tilestored64");
  }

  // `rows` by `columns` results, whose accumulators have K in their lanes.
  void blockAlongK(ArrayRef<Value> position) {
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
        column = group == 1 ? widen(column) : bits(column, width);
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

  Value plus(Value x, Value y) {
    return isa<FloatType>(sum) ? b.create<arith::AddFOp>(loc, x, y).getResult() : emitter.add(x, y);
  }

  // Lane i becomes the sum of the lanes of vector i, of at most as many vectors as lanes. In each
  // round two vectors become one, in which lanes that differ in one bit of their number have met.
  Value sumOfLanes(SmallVector<Value> vectors) {
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

  tile::DotOp dot;
  LaneEmitter &emitter;
  OpBuilder &b;
  Location loc;
  Buffer out, lhs, rhs, excess;
  Type element, sum;
  unsigned m, n; // dimensions of the result: rows, columns
  int64_t depth, width, vectors = 1, rows, columns, group = 1, together = 1;
  bool alongK = false;              // rhs is not packed, and K is in the lanes
  bool isRead = false;              // rhs is not packed, as it is that already
  Value rowEnd, columnEnd, stepEnd; // null: all
  Instruction instruction = Instruction::MultiplyAdd;
};

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
