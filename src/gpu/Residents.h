// Operands of products that lie in shared memory through one loop or several.
#pragma once

#include "gpu/TileGpu.h"
#include "ir/TileOps.h"
#include "target/Gpu.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nereid::gpu {

/// Bytes of a tile in memory, and of its slot in shared memory.
uint64_t transferredBytes(mlir::Type tile);
uint64_t bytesOfSlot(mlir::Type tile);

/// An operand that `loop` does not change, and that its product reads from shared memory.
bool mayReside(tile::DotOp dot, unsigned operand, mlir::scf::ForOp loop, unsigned warps);

/// A slot for a tile that does not change, which products read through one loop or several.
struct Resident {
  mlir::Value tile;
  unsigned reads = 0;  ///< by products
  bool isBulk = false; ///< the copy engine brings it
  mlir::Value ring, arrivals;

  explicit Resident(mlir::Value tile) : tile(tile) {}
  /// It brings a block of a descriptor that nobody else wants in registers.
  bool canBeBulk(mlir::Operation *before, const target::GpuChip &chip) const;
  uint64_t bytes() const;
  void reserve(mlir::OpBuilder &b, mlir::Location loc);
  /// Starts to bring it, and waits until it is there; `zero` is its slot's number.
  void start(mlir::OpBuilder &b, mlir::Location loc, mlir::Value zero);
  void finish(mlir::OpBuilder &b, mlir::Location loc, mlir::Value zero);
  void addRings(llvm::SmallVectorImpl<mlir::Value> &rings) const;
};

/// Operands that several loops read, one behind the other, lie in shared memory through all of
/// them. Gives the bytes that they take, at most `limit`.
uint64_t shareResidents(llvm::ArrayRef<mlir::scf::ForOp> loops, const target::GpuChip &chip,
                        unsigned warps, uint64_t limit, bool mayBulk);

} // namespace nereid::gpu
