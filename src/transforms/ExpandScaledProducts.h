// Products of microscaled operands become products of floats.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Unpacks and scales the operands of each `tile.dot_scaled`, which becomes a `tile.dot`: of f32,
/// or with `toHalves` of 16-bit floats as Triton's on chips without scaled products (f16 if an
/// operand is, else bf16: exact for all other formats, unless a scale takes it out of range).
std::unique_ptr<mlir::Pass> createExpandScaledProductsPass(bool toHalves);

} // namespace nereid::transforms
