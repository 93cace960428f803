// Stores that keep some lanes of a row, one after the other: each goes to the place that its mask's
// running count says.
//
//   at = base + cumsum(mask) - mask        store y + at, x, mask
//
// Where the next lane goes is known without the count: behind the last one that was stored. So the
// lanes of a vector that are on are brought together in a register, and a count that is asked for
// by such stores alone is not computed. With AVX-512 that is one instruction and a masked store;
// with AVX2 a permutation from a table, which collects whole vectors on the stack first, so that
// nothing branches on what data decide; else lanes are stored one after the other.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

/// A store whose lanes are visited in order, from the first to the last.
class Compaction {
public:
  /// Nothing if the store does something else.
  static std::optional<Compaction> of(tile::StoreOp store, const LaneEmitter &emitter);

  /// Notes where the first lane that is on goes; in front of the loop over the row.
  void start(LaneEmitter &emitter);
  /// Stores what was collected; behind the loop.
  void finish(LaneEmitter &emitter);
  /// Stores the lanes of `value` of which `mask` is true; null: all are.
  void put(int64_t width, mlir::Value value, mlir::Value mask, LaneEmitter &emitter);

private:
  explicit Compaction(tile::StoreOp store) : store(store) {}
  mlir::Value firstPlace(mlir::Value tile, LaneEmitter &emitter);
  void putAll(int64_t width, mlir::Value value, LaneEmitter &emitter);
  void putTogether(int64_t width, mlir::Value value, mlir::Value mask, LaneEmitter &emitter);
  void putOneByOne(int64_t width, mlir::Value value, mlir::Value mask, LaneEmitter &emitter);
  void collect(int64_t width, mlir::Value value, mlir::Value mask, LaneEmitter &emitter);
  void copyCollected(mlir::Value count, LaneEmitter &emitter);

  tile::StoreOp store;
  mlir::Value next;      ///< memory that holds where the next lane goes
  mlir::Value collected; ///< memory that holds lanes which were not stored yet; null if all are
  mlir::Value count;     ///< memory that holds how many
};

/// True if nothing but places of such stores is made of what the scan counts.
bool countsForStoresAlone(tile::ScanOp scan, const LaneEmitter &emitter);

} // namespace nereid::cpu
