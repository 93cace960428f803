// The end of one tile runs beside the start of the next.
#pragma once

#include "gpu/TileGpu.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// On a loop over tiles: its source allows it to be one with the loop of steps inside.
inline constexpr llvm::StringLiteral flattenAttr = "tile.flatten";

/// In a loop over tiles that the source says to flatten, whose body has one loop that copies run
/// ahead of, the first copies of the next tile start before what comes behind that loop: its rings
/// live through all tiles.
///
///   for tile:                        start(first)
///     start(tile)                    for tile:
///     for k: ...            =>         for k: ...
///     store(tile)                      start(tile + 1)
///                                      store(tile)
///
/// The source allows it by `flatten`: what one tile writes the next does not read. Runs behind
/// `pipelineLoads`.
void overlapTiles(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
