// The external models that give ops of level 2 their code, one registration function a file.
#pragma once

#include "gpu/RegisterEmitter.h"

namespace nereid::gpu {

void registerElementwiseRegisters(mlir::DialectRegistry &registry);
void registerShapeRegisters(mlir::DialectRegistry &registry);
void registerMemoryRegisters(mlir::DialectRegistry &registry);
void registerReductionRegisters(mlir::DialectRegistry &registry);
void registerDotRegisters(mlir::DialectRegistry &registry);
void registerProgramRegisters(mlir::DialectRegistry &registry);

template <typename Model, typename Op>
using RegisterModel = RegistersOpInterface::ExternalModel<Model, Op>;

/// Finds registers by the part of their coordinate that the register index gives.
class RegisterIndex {
public:
  RegisterIndex(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape);
  /// The register at a coordinate that some register has.
  unsigned at(llvm::ArrayRef<int32_t> coordinate) const;

private:
  llvm::SmallVector<int64_t> shape;
  llvm::DenseMap<int64_t, unsigned> found;
};

/// Sets the result of an op that works on one element at a time: `compute` gets one register of
/// each operand.
void emitElementwise(mlir::Operation *op, RegisterEmitter &emitter,
                     llvm::function_ref<mlir::Value(mlir::ValueRange)> compute);

} // namespace nereid::gpu
