// Operands of products that wait in shared memory as bytes and are widened on the way.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Reads slots of bytes that are widened to 16 bits for a product as that wants them. Runs behind
/// `pipelineLoads`.
///
/// A right operand of mma.sync that is contiguous along K goes from its slot to registers and needs
/// no second place in shared memory. A fragment's thread holds elements {2t, 2t + 1, 2t + 8,
/// 2t + 9} of each 16 along K, for t in 0..3; a product is the same if both operands are permuted
/// along K alike, so it takes {4t, ..., 4t + 3}: one word of bytes.
///
///   k = read_slot : blocked                          q' = convert_layout q : permuted fragments
///   dot(q, trans(sitofp(k)))                   =>    k = read_slot : permuted fragments
///                                                    dot(q', trans(sitofp(k))) {neighbours}
///
/// Others are written to shared memory as they are widened: they are read 8 bytes at once, so that
/// a warp writes 16 bytes a lane side by side, without bank conflicts.
void readBytesForProducts(mlir::FunctionOpInterface kernel, unsigned warps);

/// True if a product of the kernel takes an operand so. Its other one has few rows, so the kernel
/// waits for memory, not for tensor cores.
bool takesBytesFromSlots(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
