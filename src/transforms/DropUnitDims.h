// Blocks of descriptors that are one element deep along their first dimensions.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Lets loads of a descriptor's block give the tile, and stores and reductions take it, that the
/// source makes by dropping or adding first dimensions of extent 1: a head of [batch, head, row,
/// column] is a matrix then, as those of two dimensions are. What is stored may be converted behind
/// that.
///
///   reshape(desc_load d[b, h, m, 0] -> 1x1x64x128) -> 64x128  =>  desc_load d[...] -> 64x128
std::unique_ptr<mlir::Pass> createDropUnitDimsPass();

} // namespace nereid::transforms
