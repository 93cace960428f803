// The external models that give ops their code on the CPU, one registration function a file.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

void registerElementwiseLanes(mlir::DialectRegistry &registry);
void registerShapeLanes(mlir::DialectRegistry &registry);
void registerMemoryLanes(mlir::DialectRegistry &registry);
void registerAtomicLanes(mlir::DialectRegistry &registry);
void registerReductionLanes(mlir::DialectRegistry &registry);
void registerDotLanes(mlir::DialectRegistry &registry);
void registerDescriptorLanes(mlir::DialectRegistry &registry);
void registerProgramLanes(mlir::DialectRegistry &registry);

template <typename Model, typename Op>
using LaneModel = tile::LanesOpInterface::ExternalModel<Model, Op>;

/// Lanes of the mask of an access; null if all are known to be on.
mlir::Value maskLanes(LaneEmitter &emitter, mlir::Value mask, const Lanes &where);
/// True if the lanes of an address are known to follow each other.
bool isAdjacent(LaneEmitter &emitter, mlir::Value pointer, const Lanes &where);
/// True if no lane of a mask is off.
mlir::Value allAreOn(LaneEmitter &emitter, mlir::Value mask, int64_t width);
/// True if some lane of the mask is on.
mlir::Value anyIsOn(LaneEmitter &emitter, mlir::Value mask);
/// What `add` is of these operands.
mlir::Value offsetPointer(tile::AddPtrOp add, mlir::Value pointer, mlir::Value offset,
                          LaneEmitter &emitter);
/// One atomic read-modify-write; gives the old value.
mlir::Value emitAtomic(LaneEmitter &emitter, mlir::Operation *op, tile::AtomicKind kind,
                       tile::MemSemantic semantic, mlir::Value pointer, mlir::Value value);
/// exp, log, ... of f32 and f64 lanes; f16 and bf16 go through f32. Null for an unknown function.
mlir::Value emitMath(LaneEmitter &emitter, llvm::StringRef function, mlir::ValueRange operands);
/// x^y of vectors of f32.
mlir::Value emitPow(LaneEmitter &emitter, mlir::Value x, mlir::Value y);
/// A function of libdevice by its name without `__nv_`. Null for an unknown one.
mlir::Value emitLibrary(LaneEmitter &emitter, llvm::StringRef name, mlir::ValueRange operands,
                        mlir::Type result);
/// What is left of x / y, which is exact; `each` finds it number by number.
mlir::Value emitRemainder(LaneEmitter &emitter, mlir::Value x, mlir::Value y,
                          llvm::function_ref<mlir::Value()> each);

/// Computes how the lanes that `tile` loads lie in memory, where that is only known at run time. In
/// front of a loop over other dimensions of `where` it is done once.
void prepareLoads(mlir::Value tile, const Lanes &where, LaneEmitter &emitter);

/// Stores a row in one loop with `tasks`, which read what the store may overwrite; `tasksAlone`
/// runs them without it. `ahead` is fetched meanwhile.
void storeBeside(tile::StoreOp store, llvm::ArrayRef<RowTask> tasks,
                 llvm::ArrayRef<FusionPlan::Ahead> ahead, LaneEmitter &emitter,
                 llvm::function_ref<void()> tasksAlone);

/// True if the lanes of a row may be combined in any order.
bool reducesInAnyOrder(tile::ReduceOp reduce);
/// Such a reduction as work along a row.
RowTask reducing(tile::ReduceOp reduce, LaneEmitter &emitter);

} // namespace nereid::cpu
