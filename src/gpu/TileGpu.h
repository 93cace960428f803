// The tilegpu dialect (`gpu/TileGpu.td`): tiles whose elements have a place in the threads of a
// block.
#pragma once

#include "ir/TileOps.h"

namespace nereid::gpu {
class RegisterEmitter;
} // namespace nereid::gpu

#include "gpu/TileGpuDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gpu/TileGpuAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "gpu/TileGpuTypes.h.inc"

#include "gpu/GpuInterfaces.h.inc"

#define GET_OP_CLASSES
#include "gpu/TileGpuOps.h.inc"

namespace nereid::gpu {

/// The layout of a tensor of level 2.
tile::LinearLayout layoutOf(mlir::Type tensor);
/// `type` (a tensor) with a layout.
mlir::RankedTensorType withLayout(mlir::Type type, const tile::LinearLayout &layout);

} // namespace nereid::gpu
