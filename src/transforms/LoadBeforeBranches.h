// Loads of a branch start while what decides about it is still loaded.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Moves loads of a branch in front of it, where memory decides which branch is taken and a store
/// behind both writes what the load reads: the address is good on every path, and two latencies
/// become one.
///
///   n = load(count)                       n = load(count)
///   if n == 0: s = x                 =>   y = load(p)
///   else:      s = x + load(p)            s = n == 0 ? x : x + y
///   store(p, s)                           store(p, s)
///
/// This is what a program does that adds its share behind a lock. A load that follows something of
/// its branch that writes or waits stays, and so do all where a path may end or wait for others
/// before it stores.
std::unique_ptr<mlir::Pass> createLoadBeforeBranchesPass();

} // namespace nereid::transforms
