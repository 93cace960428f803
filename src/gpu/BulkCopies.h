// Blocks of tensor descriptors that the copy engine (TMA) moves between global and shared memory.
//
// A transfer is a column of SharedOperand: rows of up to 128 bytes, permuted as the tensor map
// says. Only parameters of the kernel have tensor maps; the host encodes them.
#pragma once

#include "gpu/EmitKernel.h"
#include "gpu/TileGpu.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// On a descriptor's store that goes as a bulk copy; true if the program must not go on before the
/// data is in global memory.
inline constexpr llvm::StringRef bulkStoreAttr = "tilegpu.bulk_store";

/// Whether the copy engine can move the block of `desc` that lies as `tile`.
bool canCopyInBulk(mlir::Value desc, mlir::RankedTensorType tile, const target::GpuChip &chip);

/// Marks the stores that go as bulk copies, and takes their tiles where they are computed.
void chooseBulkStores(mlir::FunctionOpInterface kernel, const target::GpuChip &chip);

/// The tensor maps that the kernel's bulk copies need, in the order of their parameters.
std::vector<TensorMap> tensorMapsOf(mlir::FunctionOpInterface kernel);

class RegisterEmitter;
/// A store that `chooseBulkStores` marked.
void emitBulkStore(tile::DescStoreOp store, RegisterEmitter &emitter);

} // namespace nereid::gpu
