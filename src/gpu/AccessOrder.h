// Which accesses to global memory must wait for those of other threads of the same program.
#pragma once

#include "analysis/AxisAnalysis.h"
#include "ir/TileOps.h"

#include "llvm/ADT/DenseMap.h"

namespace nereid::gpu {

/// Accesses of a program happen whole and in program order (`docs/numerics.md`), though its threads
/// run apart: what a thread stores, another one may still have to load.
///
///   t = load(p + i); store(p + (N - 1 - i), t)      =>      t = load(...); barrier; store(...)
///
/// Follows the code as it is emitted, and says where a barrier is wanted: in front of an access to
/// memory that another thread reached since the last barrier, one of the two writing. None is where
/// both reach the same elements in the same threads, or others, now or in later steps of a loop.
/// Memory of different arguments is taken to be apart, as Triton does, and so is what a loop stores
/// in different steps. Atomics keep no order among themselves but what their semantics ask for, and
/// what the copy engine reads and writes has one of its own (`BulkCopies.h`).
class AccessOrder {
public:
  AccessOrder(const analysis::AxisAnalysis &axes, unsigned warps) : axes(axes), warps(warps) {}

  /// An access that other threads may still be at; with `loop`, of a step of it before this one.
  struct Access {
    mlir::Operation *op, *loop;
    bool operator==(const Access &) const = default;
  };
  using Accesses = llvm::SmallVector<Access, 4>;

  /// True if a barrier must stand in front of `op`, which is or has an access. Of a loop's accesses
  /// those count that come before its first step.
  bool mustWait(mlir::Operation *op) const;
  /// True if one thread alone may load an element that several warps have, and the kernel stores to
  /// that memory: what the others load would be seen by nobody, and too late in front of a store.
  bool isLoadedOnce(tile::LoadOp load) const;
  void add(mlir::Operation *op);
  /// All threads have met.
  void clear() { open.clear(); }

  /// Where control flow parts and meets: what is open, at the start of another way, and what is
  /// open behind both.
  Accesses accesses() const { return open; }
  void restart(Accesses from) { open = std::move(from); }
  void join(const Accesses &other);
  /// In front of a loop's body: the steps before left their accesses open.
  void enterLoop(mlir::Operation *loop);

private:
  mlir::Value memory(mlir::Value address) const;
  /// How many neighbours pointers reach, if those are all that they reach.
  std::optional<int64_t> rangeOf(mlir::Value address) const;
  bool conflicts(const Access &earlier, mlir::Operation *later) const;

  const analysis::AxisAnalysis &axes;
  unsigned warps;
  Accesses open;
  mutable llvm::DenseMap<mlir::Value, mlir::Value> memories; ///< of addresses
};

} // namespace nereid::gpu
