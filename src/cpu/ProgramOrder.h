// Along which axis of the grid a launch runs first.
//
// A grid of (rows, blocks of columns) numbers its programs down the rows, so that each reads some
// KiB of another row: of another page, which nothing fetches ahead. Run along the axis whose next
// program goes on in memory where this one ended, the rows are read in order:
//
//     0 4  8 12             0  1  2  3
//     1 5  9 13   becomes   4  5  6  7     blocks of columns to the right
//     2 6 10 14             8  9 10 11
#pragma once

#include "analysis/KernelFacts.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallVector.h"

namespace nereid::cpu {

/// How far an address goes where the number of a program grows by one along an axis, in elements: a
/// product of a constant and of integer arguments of the kernel.
struct ProgramStep {
  int64_t factor = 0;
  llvm::SmallVector<mlir::BlockArgument, 2> arguments = {};
  bool isZero() const { return factor == 0; }
};

/// The axis that programs run along first if all that is asked holds in the launch.
struct LeadingAxis {
  /// `along`: the step along the axis, at most `reach`; less than the step `across`, along x, if
  /// that is known.
  struct Condition {
    ProgramStep along;
    std::optional<ProgramStep> across;
    int64_t reach;
  };
  unsigned axis = 0; ///< 0: programs run in the order of their numbers
  llvm::SmallVector<Condition, 2> conditions = {};
};

/// Looks at the larger tiles that a kernel loads and stores. Programs keep the order of their
/// numbers where those see it: in what they print, in atomic accesses, where one waits for another,
/// and where the launch orders those that share memory (`KernelFacts::sharedAxes`).
LeadingAxis leadingAxis(mlir::FunctionOpInterface kernel, const analysis::KernelFacts &facts);

/// The same for a grid of one axis whose numbers a kernel splits by itself, `p // n` and `p % n`:
/// where a row lies across memory, an element a line, and the next quotient reads the next element
/// of each line, quotients run first, as far as the launch has all of them:
///
///   m = programs / n;  q, r = p // n, p % n   ==>   q, r = p % m, p // m
void orderSplitPrograms(mlir::FunctionOpInterface kernel);

} // namespace nereid::cpu
