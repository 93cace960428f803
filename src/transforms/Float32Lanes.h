// Arithmetic on f32, or on vectors of it, and on the i32 with the same bits: what expansions of
// functions into polynomials are written with.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nereid::transforms {

struct Float32Lanes {
  using Value = mlir::Value;

  Float32Lanes(mlir::OpBuilder &b, mlir::Location loc, mlir::Type real)
      : b(b), loc(loc), real(real), integer(with(b.getI32Type())) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type real;    ///< f32 or a vector of it
  mlir::Type integer; ///< i32 or a vector as long

  /// As many lanes of another element.
  mlir::Type with(mlir::Type element) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(real);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }
  Value constant(mlir::TypedAttr value) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(real))
      value = mlir::DenseElementsAttr::get(vector.clone(value.getType()), mlir::Attribute(value));
    return b.create<mlir::arith::ConstantOp>(loc, value);
  }
  Value number(double value) { return constant(b.getF32FloatAttr(float(value))); }
  Value bits(uint32_t value) { return constant(b.getI32IntegerAttr(int32_t(value))); }

  Value mul(Value x, Value y) { return b.create<mlir::arith::MulFOp>(loc, x, y); }
  Value add(Value x, Value y) { return b.create<mlir::arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<mlir::arith::SubFOp>(loc, x, y); }
  Value fma(Value x, Value y, Value z) { return b.create<mlir::LLVM::FMulAddOp>(loc, x, y, z); }
  Value round(Value x) { return b.create<mlir::math::RoundEvenOp>(loc, x); }
  Value abs(Value x) { return b.create<mlir::math::AbsFOp>(loc, x); }
  Value withSign(Value x, Value sign) { return b.create<mlir::math::CopySignOp>(loc, x, sign); }

  Value addBits(Value x, Value y) { return b.create<mlir::arith::AddIOp>(loc, x, y); }
  Value subBits(Value x, Value y) { return b.create<mlir::arith::SubIOp>(loc, x, y); }
  Value andBits(Value x, Value y) { return b.create<mlir::arith::AndIOp>(loc, x, y); }
  Value orBits(Value x, Value y) { return b.create<mlir::arith::OrIOp>(loc, x, y); }
  Value shl(Value x, unsigned by) { return b.create<mlir::arith::ShLIOp>(loc, x, bits(by)); }
  Value shr(Value x, unsigned by) { return b.create<mlir::arith::ShRUIOp>(loc, x, bits(by)); }
  Value sar(Value x, unsigned by) { return b.create<mlir::arith::ShRSIOp>(loc, x, bits(by)); }

  Value toBits(Value x) { return b.create<mlir::LLVM::BitcastOp>(loc, integer, x); }
  Value toReal(Value x) { return b.create<mlir::LLVM::BitcastOp>(loc, real, x); }
  Value toInt(Value x) { return b.create<mlir::arith::FPToSIOp>(loc, integer, x); }
  Value fromInt(Value x) { return b.create<mlir::arith::SIToFPOp>(loc, real, x); }

  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value isNan(Value x) { return compare(mlir::arith::CmpFPredicate::UNO, x, x); }
  Value above(Value x, Value y) { // unsigned bits
    return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::ugt, x, y);
  }
  Value select(Value c, Value x, Value y) { return b.create<mlir::arith::SelectOp>(loc, c, x, y); }

  /// c[0] + x (c[1] + x (c[2] + ...
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(c));
    return sum;
  }

private:
  Value compare(mlir::arith::CmpFPredicate how, Value x, Value y) {
    return b.create<mlir::arith::CmpFOp>(loc, how, x, y);
  }
};

} // namespace nereid::transforms
