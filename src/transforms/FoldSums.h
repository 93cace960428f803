// Sums of products that products can add up themselves.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// `acc + dot(a, b)` becomes a product that starts from `acc`: there is one sum to hold and nothing
/// to add behind the instruction.
///
/// For sums in f32, f64 and i32, which are rounded alike in both places. Products of 8-bit floats
/// stay apart: tensor cores add these up with fewer bits, and a sum outside keeps its own.
std::unique_ptr<mlir::Pass> createFoldSumsPass();

void registerFoldSumsPass();

} // namespace nereid::transforms
