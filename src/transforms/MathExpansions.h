// Functions of f32 written with arith and LLVM ops, for both back ends: on scalars and on vectors.
//
// Errors are those of a float evaluation, at most a few ulp over the whole range; the measured ones
// stand beside each function in test/unit/engine/MathTest.cpp.
#pragma once

#include "mlir/IR/Builders.h"

#include <optional>

namespace nereid::transforms {

/// The base that a machine has instructions or good code for; the other functions are made of
/// these.
struct MathBase {
  /// e^x, rounded to a few ulp, also for results that underflow.
  llvm::function_ref<mlir::Value(mlir::Value)> exp;
  /// 1 / x to 1 ulp for x >= 1, 0 for infinity; null: a quotient is as good.
  llvm::function_ref<mlir::Value(mlir::Value)> reciprocal;
  /// A quotient to 2 ulp; null: the exact one is as good.
  llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> divide;
  /// A root to 1 ulp; null: the exact one is as good.
  llvm::function_ref<mlir::Value(mlir::Value)> sqrt;
};

/// e^r for |r| <= ln(2)/2 within 4e-9: 1 + r + r^2 q(r), with q fitted to the least relative error.
inline constexpr double exponential[] = {1.0,
                                         1.0,
                                         0.4999999403953552,
                                         0.1666652113199234,
                                         0.04166838899254799,
                                         0.00836874544620514,
                                         0.0013814540579915047};

/// `function` as MLIR's math dialect spells it ("tanh", "erf", "sin", "log", ...) of f32
/// operands; null if it is not known here.
mlir::Value expandMath(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef function,
                       mlir::ValueRange operands, const MathBase &base);

} // namespace nereid::transforms
