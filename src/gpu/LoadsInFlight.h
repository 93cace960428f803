// How many registers a thread needs for loads to wait for memory together.
#pragma once

#include "gpu/TileGpu.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

struct LoadsOfSums {
  /// A thread's, estimated, with all loads of a step in flight, at least 64; 0: `ptxas` is not
  /// told.
  uint32_t registers = 0;
  /// Rows are kept in registers (`keepRows`), and wait for no load: 40 registers then, so that many
  /// programs are resident.
  bool areKept = false;
  /// What a thread loads in a step that reduces it to fewer sums, in bytes; 0 of other steps. Those
  /// registers are given to loads whatever else is on its way: nothing else of a step needs them,
  /// and few programs may be resident.
  uint32_t reducedBytes = 0;
};

/// The largest loop whose loads feed sums alone. Left to itself `ptxas` may take few registers, and
/// add up each load before it starts the next. Requires level 2.
LoadsOfSums loadsOfSums(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
