// Blocks that run one program after the other.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <string>

namespace nereid::gpu {

/// A kernel with one loop of products spends much of a program on its beginning and its end. Where
/// a block runs several programs, copies of the next one's first steps are under way while the sums
/// of this one leave (`TilesAhead`), as in sources that do so by hand:
///
///   kernel(args)                kernel(args, gx, gy, gz)
///     pid = program_id x          for p = program_id x to gx * gy * gz by num_programs x:
///     for step: ...         =>      pid = p mod gx
///     store                         for step: ...
///                                   store
///
/// The launch passes the extents of the axes that the kernel reads behind its arguments, and has as
/// many blocks along x as it likes instead of those axes. Programs of a block run in ascending
/// order. Returns false and leaves the kernel as it is if it has no such loop or its programs may
/// talk to one another; of a kernel with products in a loop, `why` says what stands against it.
bool loopOverPrograms(mlir::FunctionOpInterface kernel, std::string &why);

/// The loop that it made; null if there is none.
mlir::scf::ForOp programLoop(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
