// What is added to a product is where its sum starts.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Writes `lhs x rhs + addend` as one product that starts with the addend: `acc += tl.dot(a, b)`
/// sums in the registers of the tensor cores then. The sum is taken in another order. Products of
/// fp8 stay as they are: tensor cores keep fewer bits of their sums than an addition in f32 does.
std::unique_ptr<mlir::Pass> createFoldAddendsPass();

} // namespace nereid::transforms
