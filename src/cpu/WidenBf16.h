#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace nereid::cpu {

/// Gives every op on bf16 in the emitted module its code in f32, widened and rounded by integer
/// arithmetic. Where the processor has `vcvtneps2bf16`, which gives 0 for denormals, LLVM rounds by
/// it, and narrows to bf16 what it sees computed on numbers widened from it.
void widenBf16(mlir::ModuleOp module);

} // namespace nereid::cpu
