// Lanes that follow each other though only the numbers of a launch tell: what an index is split
// into by divisions, row and column of the n-th element.
//
//   r = n % d    adjacent lanes, unless a multiple of d lies between the first and the last
//   q = n // d   one number, as long
//   p + q * s + r, p + (q % m) * s + r % w, ...
//
// Along a row, how far that goes is found where each run begins, and within it nothing is tested
// (RowRuns). Elsewhere divisions of two lanes tell, and are cheaper than those of all (findRun).
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

struct Run {
  int64_t step;           ///< from lane to lane, in elements
  mlir::Value condition;  ///< true if it is so; null if it always is
  bool isSettled = false; ///< one condition for all of a row
  mlir::Value stride;     ///< i64, elements from lane to lane, whatever the condition; or null
};

/// Nothing if no such test tells. `mayDivide`: the test may divide two lanes.
std::optional<Run> findRun(LaneEmitter &emitter, mlir::Value tile, const Lanes &where,
                           bool mayDivide = true);

/// Both conditions; either may be null.
mlir::Value bothHold(LaneEmitter &emitter, mlir::Value a, mlir::Value b);
/// The last lane alone.
Lanes lastOf(LaneEmitter &emitter, const Lanes &where);
/// True if the last of `width` lanes is where the first one and the step put it.
mlir::Value endsMeet(LaneEmitter &emitter, mlir::Value first, mlir::Value last, int64_t step,
                     int64_t width);

/// The step from lane to lane of all of `tile` along `dim`, but where divisions begin anew; nothing
/// if that is not known.
std::optional<int64_t> stepBetweenSplits(mlir::Value tile, unsigned dim,
                                         const analysis::AxisAnalysis &axes);
/// True if nothing tells that neighbours of `pointers` along `dim` are adjacent or one place.
bool isScattered(mlir::Value pointers, unsigned dim, const analysis::AxisAnalysis &axes);
/// The load of tiles that `tile` is made of by ops of one operand, such as conversions; or null.
tile::LoadOp loadBehind(mlir::Value tile);
/// True if `op` divides in a tile of one dimension such that runs tell its lanes: asked for again,
/// they cost less than a buffer.
bool isSplitAlongRow(mlir::Operation *op, const analysis::AxisAnalysis &axes);

/// What the tiles of a loop along a row are made of that changes only where a run ends: quotients,
/// rests and comparisons of numbers that count up along the row.
class RowRuns {
public:
  /// `computed`: tiles that the loop itself puts in their buffers. Runs shorter than `width` lanes
  /// are of no use.
  RowRuns(LaneEmitter &emitter, int64_t width, llvm::DenseSet<mlir::Value> computed);

  /// Looks at what `tile` is computed from. False if some op reads its operands elsewhere, or one
  /// tile is read at two places.
  bool collect(mlir::Value tile, const Lanes &row);
  bool isEmpty() const { return splits.empty(); }

  struct Begun {
    mlir::Value length;  ///< lanes from `start` on that are one run
    mlir::Value isWorth; ///< false: runs of this row are too short to look for; may be null
    RowRun run;          ///< what holds in it
  };
  Begun begin(mlir::Value start);

private:
  struct Split {
    mlir::Value tile, number, by;
    int64_t divisor = 0; ///< if it is known; `by` is null then
    enum Kind { Quotient, Rest, Comparison } kind = Quotient;
    bool isSigned = false;
  };
  bool isRead(mlir::Value tile) const;
  bool counts(mlir::Value number) const;
  std::optional<int64_t> step(mlir::Value tile, const Lanes &where);
  std::optional<Split> splitOf(mlir::Operation *op, llvm::ArrayRef<int64_t> steps,
                               bool atEnds = false);
  void endWhere(mlir::Value mask);
  bool isStoredSplit(mlir::Value tile) const;
  /// Lanes that are read cost less than shorter runs and their ends.
  int64_t leastWorth() const { return 4 * width; }
  mlir::Value firstOf(mlir::Value tile, mlir::Value start, bool isSigned);

  LaneEmitter &emitter;
  int64_t width;
  llvm::DenseSet<mlir::Value> computed;
  llvm::DenseSet<mlir::Value> late; ///< not known before the row begins
  llvm::DenseMap<mlir::Value, Lanes> places;
  llvm::DenseMap<mlir::Value, int64_t> steps;
  llvm::SmallVector<Split> splits;
};

} // namespace nereid::cpu
