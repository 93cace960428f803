// How an operand of a product reaches the tensor cores: in registers as fragments, or by shared
// memory.
#pragma once

#include "gpu/RegisterModels.h"
#include "gpu/SharedOperand.h"
#include "ir/TileOps.h"

#include <map>
#include <optional>

namespace nereid::gpu {

/// Elements in a 32-bit register, the first in its lowest bits.
mlir::Value wordOf(RegisterEmitter &e, llvm::ArrayRef<mlir::Value> elements);

/// An operand of an instruction that works on fragments: they lie in registers already, or come
/// from shared memory as they are needed.
class ProductOperand {
public:
  ProductOperand(RegisterEmitter &e, tile::DotOp dot, unsigned number,
                 const LinearLayout &fragments);

  /// What it needs of the scratch area; nothing if it lies in registers or in a slot.
  uint64_t sharedBytes() const { return shared && !base ? shared->bytes() : 0; }
  void write(mlir::Value at);
  /// Tells that a product is begun that reads it.
  void isRead(bool runsOn) const {
    if (isWritten)
      e.readsScratch(runsOn, writtenBefore);
  }
  /// `count` words from the register at a coordinate on.
  llvm::SmallVector<mlir::Value> words(llvm::ArrayRef<int32_t> at, unsigned count);
  /// Where wgmma finds it; null if it lies in registers.
  const SharedOperand *inShared() const { return shared ? &*shared : nullptr; }
  mlir::Value sharedBase() const { return base; }

private:
  void findWritten();
  unsigned majorOf(bool isTransposed) const { return shared->majorDim() ^ unsigned(isTransposed); }
  mlir::Value elementAt(unsigned reg);

  RegisterEmitter &e;
  mlir::Value tile;
  LinearLayout fragments;
  unsigned along;
  RegisterIndex index;
  mlir::Type element;
  unsigned perWord;
  std::optional<SharedOperand> shared;
  mlir::Value base;
  bool isWritten = false; // to scratch memory
  std::optional<unsigned> writtenBefore;
  llvm::SmallVector<mlir::Value> all;
  std::map<unsigned, llvm::SmallVector<mlir::Value>> loaded;
};

/// Writes the operands that do not lie in registers to shared memory.
void writeOperands(RegisterEmitter &e, ProductOperand &lhs, ProductOperand &rhs,
                   llvm::StringRef fence);

/// Emits a product as instructions of warp groups.
void emitWgmma(tile::DotOp dot, RegisterEmitter &e);

} // namespace nereid::gpu
