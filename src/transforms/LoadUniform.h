// Tiles whose elements all come from one address load a number.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// The page of a step's keys is the same for all of them where a step lies within a page:
///
///   at = splat(j * 16) + range(0, 16)
///   page = load(splat(table) + at / 16)    ->    page = splat(load(table + j * 16 / 16))
///
/// One thread's load in place of a tile's, whose number everything that is computed of it shares.
/// Loads that are volatile stay, and those with a mask that differs between elements.
std::unique_ptr<mlir::Pass> createLoadUniformPass();

} // namespace nereid::transforms
