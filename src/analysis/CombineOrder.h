// Whether the order in which a reduction meets its elements changes what it gives.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"

#include <optional>

namespace nereid::analysis {

/// True if each result is one op that commutes, of the two elements of its own source, whichever
/// stands first.
bool commutes(mlir::Block &combine);

/// True if the elements may change places but for what rounding makes of it, as in Welford's
/// combination of means, which is written from the left one's point of view:
///
///   n = n1 + n2, mean = mean1 + (mean2 - mean1) * (n == 0 ? 0 : n2 / n)
bool commutesBeforeRounding(mlir::Block &combine);

/// A combination that only compares two elements and keeps one of them, the same one when they
/// change places, as those of the greatest with its index do: `tl.max`, and PyTorch's compiler,
/// whose greatest is NaN.
///
///   a > b | (a == b & i < j) | b != b ? (a, i) : (b, j)
///   a > b | a != a & b == b | (a == b | a != a & b != b) & i < j ? (a, i) : (b, j)
struct Choice {
  /// An element that any other one is kept in place of: one attribute for each source.
  llvm::SmallVector<mlir::TypedAttr, 2> least;
  /// If given, elements that are NaN there are passed over, and the left one of two such is kept:
  /// of a row of nothing else the first.
  std::optional<unsigned> passesNanOver;
};
std::optional<Choice> choiceInAnyOrder(mlir::Block &combine);

} // namespace nereid::analysis
