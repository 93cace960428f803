// Products that tensor cores do in several steps.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Writes products as ones that tensor cores have:
///
///   f32, `tf32x3`     hi and lo parts of 11 bits: lo x hi + hi x lo + hi x hi
///   f32, `bf16x3`     the same of bf16; `bf16x6`: three parts, the six largest of nine products
///   fp8, sums in f16  summed in f32, rounded at the end
std::unique_ptr<mlir::Pass> createSplitProductsPass();

} // namespace nereid::transforms
