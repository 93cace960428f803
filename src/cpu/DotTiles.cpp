// Blocks of a product on the tiles of AMX.
#include "cpu/DotEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

// An instruction on tiles, which has their numbers as its first arguments.
void DotEmitter::onTiles(StringRef name, ArrayRef<int64_t> tiles, ValueRange others) {
  SmallVector<Value> arguments;
  for (int64_t tile : tiles)
    arguments.push_back(emitter.constant(b.getI8Type(), tile));
  arguments.append(others.begin(), others.end());
  b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(), b.getStringAttr("llvm.x86." + name.str()),
                                  ValueRange(arguments), LLVM::FastmathFlagsAttr());
}

// All eight have 16 rows of 64 bytes. The configuration lies behind the packed lhs, which takes
// half of its scratch memory or less.
void DotEmitter::configureTiles(uint64_t scratch) {
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
void DotEmitter::blockOfTiles(ArrayRef<Value> position) {
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

} // namespace nereid::cpu
