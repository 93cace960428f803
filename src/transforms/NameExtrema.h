// Reductions to the greatest or least element that a source writes with comparisons.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Lets a reduction that keeps the greater of two elements, and NaN where there is one, say so, as
/// the reductions of PyTorch's compiler are written:
///
///   select(a > b | a != a, a, b)  =>  maximum(a, b)        of floats
///   select(a > b, a, b)           =>  max(a, b)            of integers
///
/// The operation is one instruction, and commutes: back ends take its operands in any order. Of
/// zeros with different signs the source keeps one by the order of a reduction, which is not
/// defined.
std::unique_ptr<mlir::Pass> createNameExtremaPass();

} // namespace nereid::transforms
