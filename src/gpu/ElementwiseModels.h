// Ops that work on one element at a time.
#pragma once

#include "gpu/RegisterModels.h"

namespace nereid::gpu {

/// For each register of an op's results, the first one that is known to hold the same value: a mask
/// over an aligned vector is compared once.
llvm::SmallVector<unsigned> firstOfEqual(mlir::Operation *op, RegisterEmitter &emitter,
                                         unsigned count);

/// Sets the result of an op: `compute` gets one register of each operand.
void emitElementwise(mlir::Operation *op, RegisterEmitter &emitter,
                     llvm::function_ref<mlir::Value(mlir::ValueRange)> compute);

/// Words of two halves (f16 or bf16), added, subtracted or multiplied by one instruction, which
/// rounds by itself: nothing contracts it with what comes next.
enum class HalvesOp { Sum, Difference, Product };
mlir::Value emitHalves(RegisterEmitter &emitter, HalvesOp op, mlir::Type half, mlir::Value a,
                       mlir::Value b);

inline mlir::Type resultElement(mlir::Operation *op, unsigned result = 0) {
  return registerType(tile::elementType(op->getResult(result).getType()));
}

/// Such an op whose code for one element is `Code::emit(op, emitter, operands)`.
template <typename Op, typename Code>
struct Elementwise : RegisterModel<Elementwise<Op, Code>, Op> {
  void emitRegisters(mlir::Operation *op, RegisterEmitter &emitter) const {
    emitElementwise(op, emitter, [&](mlir::ValueRange values) {
      return Code::emit(llvm::cast<Op>(op), emitter, values);
    });
  }
};
template <typename Code, typename... Ops> void attachCode(mlir::MLIRContext *context) {
  (Ops::template attachInterface<Elementwise<Ops, Code>>(*context), ...);
}

} // namespace nereid::gpu
