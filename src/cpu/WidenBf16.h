#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace nereid::cpu {

/// Gives every op on bf16 in the emitted module its code in f32, widened and rounded by integer
/// arithmetic, and moves bf16 as 16-bit words. Where the processor has `vcvtneps2bf16`, which gives
/// 0 for denormals, LLVM rounds by it, narrows to bf16 what it sees computed on numbers widened
/// from it, and takes scalars from block to block by way of f32. `picksWords`: one instruction
/// takes any words of two registers of 64 bytes (`vpermt2w`), where others shift, narrow and join.
/// Widening by it is no gain: its two indices and zero cost registers that the loops need.
void widenBf16(mlir::ModuleOp module, bool picksWords);

} // namespace nereid::cpu
