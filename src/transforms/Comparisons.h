// Comparisons of integers.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace nereid::transforms {

/// What says of `b, a` what `predicate` says of `a, b`, of signed numbers.
inline mlir::arith::CmpIPredicate turned(mlir::arith::CmpIPredicate predicate) {
  using P = mlir::arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  default:
    return predicate;
  }
}

} // namespace nereid::transforms
