// Tiles of 16-bit elements that leave registers for shared memory in whole matrices.
#pragma once

#include "gpu/RegisterEmitter.h"

namespace nereid::gpu {

/// True for a layout that `storeMatrices` takes.
bool liesInMatrices(const LinearLayout &layout);

/// Writes a tile that lies in the threads as sums of products do by `stmatrix`: rows of 16 bytes,
/// four registers of two elements each at once. The memory is contiguous along `major`; `offset`
/// says how many bytes from some multiple of 128 a coordinate lies, and `address` where what the
/// threads have in `rows` lies, moved on by a constant coordinate.
///
/// False, and nothing is written, where the chip has no such instruction or the tile lies
/// otherwise.
bool storeMatrices(
    RegisterEmitter &emitter, const LinearLayout &layout, unsigned major,
    llvm::ArrayRef<mlir::Value> values, llvm::function_ref<int64_t(llvm::ArrayRef<int32_t>)> offset,
    llvm::function_ref<mlir::Value(const LinearLayout &rows, llvm::ArrayRef<int32_t> constant)>
        address);

} // namespace nereid::gpu
