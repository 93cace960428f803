// The external models that give ops of level 2 their code, one registration function a file.
#pragma once

#include "gpu/RegisterEmitter.h"

namespace nereid::gpu {

void registerElementwiseRegisters(mlir::DialectRegistry &registry);
void registerConversionRegisters(mlir::DialectRegistry &registry);
void registerMathRegisters(mlir::DialectRegistry &registry);
void registerShapeRegisters(mlir::DialectRegistry &registry);
void registerMemoryRegisters(mlir::DialectRegistry &registry);
void registerReductionRegisters(mlir::DialectRegistry &registry);
void registerScanRegisters(mlir::DialectRegistry &registry);
void registerDotRegisters(mlir::DialectRegistry &registry);
void registerProgramRegisters(mlir::DialectRegistry &registry);
void registerRingRegisters(mlir::DialectRegistry &registry);
void registerKeptRegisters(mlir::DialectRegistry &registry);
void registerBulkRegisters(mlir::DialectRegistry &registry);
void registerDescriptorRegisters(mlir::DialectRegistry &registry);
void registerRecordRegisters(mlir::DialectRegistry &registry);
void registerInlineAsmRegisters(mlir::DialectRegistry &registry);

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

/// How many registers one access to global memory moves.
unsigned accessVector(const analysis::AxisAnalysis &axes, mlir::Value pointer, mlir::Value mask,
                      mlir::Type element);

/// The same for a block of a descriptor that lies in `layout`: the language promises that address
/// and strides are multiples of 16 bytes. Whether all elements are inside is known at run time.
unsigned descVector(const analysis::AxisAnalysis &axes, tile::DescLoadOp load,
                    const LinearLayout &layout);
/// Starts to copy `bytes` (4, 8, 16) from global to shared memory, of which only the first `count`
/// (i32) are read and the others become zero. Does nothing where `owner` (null: true) is false.
/// `policy` is one of `cachePolicy`. 16 bytes pass the L1 cache by where `passesFirst` (null:
/// true).
void emitCopy(RegisterEmitter &emitter, mlir::Value to, mlir::Value from, unsigned bytes,
              mlir::Value count, mlir::Value owner, mlir::Value policy = {},
              mlir::Value passesFirst = {});
/// How soon the second-level cache may let go of an access's lines; null where nobody said.
mlir::Value cachePolicy(RegisterEmitter &emitter, tile::EvictionPolicy evict);

// --- global memory ---

/// A load or a store of adjacent elements by one instruction.
struct GlobalAccess {
  mlir::Value pointer;
  mlir::Type element;
  mlir::Value predicate = {};             ///< null: true
  llvm::StringRef qualifiers = ".global"; ///< of PTX, behind `ld` or `st`: ".global.cg"
  mlir::Value policy = {};                ///< one of `cachePolicy`
};
/// `count` elements; where the predicate is false `others`, or elements of the bits `other`.
llvm::SmallVector<mlir::Value> emitLoad(RegisterEmitter &emitter, const GlobalAccess &access,
                                        unsigned count, uint64_t other = 0,
                                        llvm::ArrayRef<mlir::Value> others = {});
void emitStore(RegisterEmitter &emitter, const GlobalAccess &access,
               llvm::ArrayRef<mlir::Value> values);
/// How many floats that lie side by side one instruction adds to memory which gives nothing back
/// (PTX ISA, "red"); 0 if there is none.
unsigned sumVector(const target::GpuChip &chip, mlir::Type element, unsigned consecutive);
/// So many, without an order.
void emitSum(RegisterEmitter &emitter, llvm::StringRef scope, mlir::Value pointer,
             mlir::Type element, llvm::ArrayRef<mlir::Value> values, mlir::Value predicate);
/// One atomic with order and scope as PTX spells them (".acq_rel.gpu"); gives the old value, zero
/// where the predicate is false.
mlir::Value emitAtomicInstruction(RegisterEmitter &emitter, mlir::Operation *op,
                                  tile::AtomicKind kind, llvm::StringRef order, mlir::Value pointer,
                                  mlir::Value value, mlir::Value predicate);

} // namespace nereid::gpu
