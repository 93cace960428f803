#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace nereid::cpu {

/// Compares vectors of f16, and takes the larger or smaller of them, as f32. LLVM does so number by
/// number, also where it sees that f32 come from f16 and narrows the operation; what it may not see
/// through stands behind a fence.
void compareHalvesWide(mlir::ModuleOp module);

} // namespace nereid::cpu
