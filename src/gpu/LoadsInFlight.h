// How many registers a thread needs for loads to wait for memory together.
#pragma once

#include "gpu/TileGpu.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Registers a thread, estimated, of the largest loop whose loads feed sums alone, with all loads
/// of a step in flight, at least 64; 0 if there is none, or few are enough. Left to itself `ptxas`
/// takes fewer and adds up each load before it starts the next. 40 where rows are kept in
/// registers, so that many programs are resident. Requires level 2.
uint32_t registersForLoads(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
