// What a loop of products does meanwhile for the ops behind it.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nereid::gpu {

/// Whether the body of `steps` runs its first step.
mlir::Value isFirstStep(mlir::OpBuilder &b, mlir::scf::ForOp steps);

/// Numbers that what follows the loop `made` is made of, such as where sums are stored, are
/// computed in its first step, beside products: behind the loop the tensor cores would wait for
/// them.
void computeBesideProducts(mlir::OpBuilder &b, mlir::scf::ForOp made);

/// Blocks that the copy engine stores at the end of a tile leave in the first step of the next one,
/// beside its products: until then threads keep them in registers, as far as those suffice.
///
///   for tile:                      for tile, with the block and the place of the one before:
///     for step: ...                  for step: ...
///     store(place, block)     =>       if it is the first step, and not of the first tile: store
///                                  store the last one
///
/// `tiles` allows it by `flatten`; each of its tiles has a step. A loop of which it is done says so.
void storeBesideProducts(mlir::OpBuilder &b, mlir::scf::ForOp tiles, unsigned warps);
inline constexpr llvm::StringLiteral storesBesideAttr = "tile.stores_beside";

} // namespace nereid::gpu
