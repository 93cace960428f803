// A product takes long enough to fetch what the loop around it multiplies next.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

/// The memory that the operands of a product will be loaded from in the next round of the loop
/// around it, where all addresses of a load move by the same number of bytes from round to round.
///
///   for k in range(0, K, 256):              while the product of round k runs, the 64 KiB
///     acc = tl.dot(tl.load(a + k), b, acc)    at a + k + 256 are fetched, a part a block
///
/// Rows that a table tells stand anywhere in each round: no cache expects them, so those of this
/// round are fetched all at once as soon as their addresses are known.
///
///   page = tl.load(table + tokens // 16)
///   s = tl.dot(q, tl.trans(tl.load(k + page)))    here the rows of k, and those of v
///   acc = tl.dot(p, tl.load(v + page), acc)
class NextRound {
public:
  /// Emits how far the loads move, and fetches rows that stand anywhere. `dot` stands here.
  NextRound(tile::DotOp dot, LaneEmitter &emitter);

  /// Fetches part `part` (i64) of `parts`, a power of two.
  void fetch(mlir::Value part, int64_t parts);

private:
  struct Moving {
    mlir::RankedTensorType tile;
    std::function<mlir::Value(const Lanes &)> address; ///< of an element, in this round
    mlir::Value bytes;                                 ///< i64: from one round to the next
    unsigned dim;                                      ///< along which lines of memory lie
  };
  void find(mlir::Value operand, llvm::SmallVectorImpl<mlir::Operation *> &found);
  void add(tile::LoadOp load);
  void add(tile::DescLoadOp load);
  void fetchRows(tile::DotOp dot);

  LaneEmitter &emitter;
  mlir::scf::ForOp loop;
  mlir::Value more; ///< i1: there is a next round
  llvm::SmallVector<Moving, 2> loads;
};

} // namespace nereid::cpu
