// One product, as it is emitted: what DotLanes.cpp chooses, and the parts of the work.
#pragma once

#include "cpu/Extents.h"
#include "cpu/LaneModels.h"

namespace nereid::cpu {

/// What multiplies.
enum class Instruction { MultiplyAdd, Bf16Pairs, ByteQuads, Tiles };

/// A tile is 16 rows of 64 bytes.
constexpr int64_t tileRows = 16, tileBytes = 64;

/// The type in which products are summed.
mlir::Type sumType(mlir::Type operand, mlir::Type accumulator);
/// Scratch memory of a packed operand.
uint64_t packedBytes(mlir::Type tile, mlir::Type sum);

/// One product.
class DotEmitter {
public:
  DotEmitter(tile::DotOp dot, LaneEmitter &emitter);
  void emit();

private:
  bool isLoadedAlong(mlir::Value tile, unsigned dim, int64_t count);
  bool packsColumns(int64_t lanes);
  void choose();
  void findEnds();
  void findRowEnd(mlir::Value end);
  int64_t mostSingleRows() const { return rows / 4; }
  llvm::SmallVector<mlir::Value> loopAlongK(int64_t step, llvm::ArrayRef<mlir::Value> carried,
                                            LaneEmitter::LoopBody body);

  // Packing (DotPacking.cpp)
  /// Of an operand: floats of 8 bits need not be of one kind.
  mlir::Value widen(mlir::Value value, mlir::Value operand);
  mlir::Value widenSum(mlir::Value value);
  mlir::Value narrowSum(mlir::Value value);
  void packLhs(uint64_t offset);
  void packColumns(uint64_t offset);
  void packRhs(uint64_t offset);
  mlir::Value join(mlir::Value before, mlir::Value value, int64_t i);
  mlir::Value bits(mlir::Value value, int64_t count);
  bool turnsLhs();
  bool turnsRhs();
  mlir::Value turned(mlir::Value value);
  void countTurned(uint64_t offset);
  void countRowsTurned(uint64_t offset);

  // Blocks of the result (DotBlocks.cpp)
  mlir::Value intrinsic(llvm::StringRef name, llvm::ArrayRef<mlir::Value> arguments);
  mlir::Value multiplyAdd(mlir::Value row, mlir::Value column, mlir::Value before);
  mlir::Value multiplyBytes(mlir::Value row, mlir::Value column, mlir::Value before);
  void block(llvm::ArrayRef<mlir::Value> position, mlir::Value firstRow, int64_t rows);
  void blockAlongK(llvm::ArrayRef<mlir::Value> position);
  mlir::Value plus(mlir::Value x, mlir::Value y);
  mlir::Value sumOfLanes(llvm::SmallVector<mlir::Value> vectors);

  // Blocks on tiles (DotTiles.cpp)
  void onTiles(llvm::StringRef name, llvm::ArrayRef<int64_t> tiles, mlir::ValueRange others = {});
  void configureTiles(uint64_t scratch);
  void blockOfTiles(llvm::ArrayRef<mlir::Value> position);

  tile::DotOp dot;
  LaneEmitter &emitter;
  mlir::OpBuilder &b;
  mlir::Location loc;
  Buffer out, lhs, rhs, excess;
  mlir::Type element, sum;
  unsigned m, n; // dimensions of the result: rows, columns
  int64_t depth, width, vectors = 1, rows, columns, group = 1, together = 1;
  bool alongK = false;                    // rhs is not packed, and K is in the lanes
  bool isRead = false;                    // rhs is not packed, as it is that already
  bool byColumns = false;                 // lhs is packed so, `depth` is what is known of K
  mlir::Value rowEnd, columnEnd, stepEnd; // null: all
  mlir::Value rowBlocks, singleRows;      // that `rowEnd` is made of; null: all, none
  Instruction instruction = Instruction::MultiplyAdd;
};

} // namespace nereid::cpu
