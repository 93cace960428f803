// What a loop of products computes meanwhile for the ops behind it.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nereid::gpu {

/// Whether the body of `steps` runs its first step.
mlir::Value isFirstStep(mlir::OpBuilder &b, mlir::scf::ForOp steps);

/// Numbers that what follows the loop `made` is made of, such as where sums are stored, are
/// computed in its first step, beside products: behind the loop the tensor cores would wait for
/// them.
void computeBesideProducts(mlir::OpBuilder &b, mlir::scf::ForOp made);

} // namespace nereid::gpu
