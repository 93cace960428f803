// Blocks of tensor descriptors that the copy engine (TMA) moves between global and shared memory.
//
// A transfer is a column of SharedOperand: rows of up to 128 bytes, permuted as the tensor map
// says. Descriptors that are parameters of the kernel have maps that the host encodes; for those
// that the kernel makes it writes maps itself, to the program's scratch memory.
#pragma once

#include "gpu/EmitKernel.h"
#include "gpu/TileGpu.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// On a descriptor's store or reduction that the copy engine makes; true if the program must not go
/// on before the data is in global memory.
inline constexpr llvm::StringRef bulkStoreAttr = "tilegpu.bulk_store";

/// Whether the copy engine can move the block of `desc` that lies as `tile`.
bool canCopyInBulk(mlir::Value desc, mlir::RankedTensorType tile, const target::GpuChip &chip);

/// Marks the stores and reductions of descriptors that the copy engine makes, and takes their tiles
/// where they are computed.
void chooseBulkStores(mlir::FunctionOpInterface kernel, const target::GpuChip &chip);

/// The tensor maps that the kernel's bulk copies need.
std::vector<TensorMap> tensorMapsOf(mlir::FunctionOpInterface kernel);

class RegisterEmitter;
/// Writes the map of a descriptor that the kernel makes to `place` in global memory. Whoever copies
/// by the map of before must be done with it.
void emitTensorMap(tile::MakeDescOp make, const TensorMap &map, mlir::Value place,
                   RegisterEmitter &emitter);
/// A store or reduction that `chooseBulkStores` marked.
void emitBulkStore(tile::DescStoreOp store, RegisterEmitter &emitter);
void emitBulkReduction(tile::DescReduceOp reduce, RegisterEmitter &emitter);

} // namespace nereid::gpu
