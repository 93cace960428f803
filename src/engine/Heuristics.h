// The functions of `@triton.heuristics` as host expressions.
#pragma once

#include "emit/Program.h"
#include "launch/Heuristics.h"

namespace nereid::engine {

/// Those of one kernel: arithmetic of the arguments becomes host expressions, and what else there
/// is is left to the evaluator. The caller holds the program's evaluator.
Result<launch::Heuristics> heuristicsOf(emit::Program &program, const launch::Signature &signature);

} // namespace nereid::engine
