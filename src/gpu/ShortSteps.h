// Steps of loops that load a few bytes.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// On an access of a joined step: which of its steps it is of. What stores of different ones write
/// is apart, as of the steps of any loop.
inline constexpr llvm::StringLiteral joinedStepAttr = "tilegpu.joined_step";

/// Where the steps of a loop without products load less than 16 bytes of a thread at once, as of a
/// row by 128 columns, several become one, whose loads start together:
///
///   for i in 0..n: s += load(p + i)    =>    for j in 0..(n + 1) / 2:
///                                              i, k, runs = 2 j, 2 j + 1, 2 j + 1 < n
///                                              a, b = load(p + i), load(p + k, mask runs)
///                                              s += a; s = runs ? s + b : s
///
/// Beyond the last step nothing is loaded, stored or changed. Where their number is not known a
/// loop of one step runs as it was. What a step keeps of a row or finds kept (`KeptRows.h`) is a
/// branch of several steps, so that the assembler sees all loads of either side. Loops that take
/// the same steps are joined alike or not at all. As with loads ahead
/// (`LoadsAhead.h`) no step reads what the step before stores through another argument.
///
/// Only of steps without branches of their own, and without a move between threads. Runs behind
/// `keepRows`.
void joinShortSteps(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
