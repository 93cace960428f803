// Compiled code does not look for undefined values.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Erases the assertions that only the interpreter makes (ir/OnlyChecked.h).
/// Requires: nothing; runs first, so that what they alone read is dropped with them.
std::unique_ptr<mlir::Pass> createDropChecksPass();

} // namespace nereid::transforms
