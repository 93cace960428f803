// Inline PTX becomes tile operations, for chips that have no PTX.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Replaces each `tile.inline_asm` by operations on its elements, or by a `tile.map` where several
/// share a register. Results are those of the interpreter: `.approx` functions are as exact as the
/// language's own. Reports texts with instructions that mean nothing outside of a GPU.
std::unique_ptr<mlir::Pass> createExpandInlineAsmPass();

} // namespace nereid::transforms
