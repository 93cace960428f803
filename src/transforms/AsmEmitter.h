// Inline PTX as integer arithmetic of tile IR: AsmEmitter.cpp (statements, bits, comparisons,
// integers) and AsmEmitterFloats.cpp (floats, conversions).
#pragma once

#include "ir/PtxText.h"
#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

namespace nereid::transforms {

/// Runs statements on registers that are integers: scalars, or tiles with an element a register.
class AsmEmitter {
  using Type = mlir::Type;
  using Value = mlir::Value;

public:
  // `like` has the shape of every register.
  AsmEmitter(mlir::OpBuilder &b, mlir::Location loc, Type like, unsigned count)
      : b(b), loc(loc), shape(mlir::dyn_cast<mlir::RankedTensorType>(like)), registers(count) {}

  void run(const ptx::Text &text) {
    for (const ptx::Statement &statement : text.statements)
      run(statement);
  }

  // A register's lowest bits, as an integer of so many.
  Value bitsOf(unsigned reg, unsigned width) {
    Value value = registers[reg];
    return value ? resized(value, width) : integer(0, width);
  }
  void setBits(unsigned reg, Value value) { registers[reg] = value; }

  // --- values ---

  Type shaped(Type element) const {
    return shape ? Type(mlir::RankedTensorType::get(shape.getShape(), element)) : element;
  }
  Type integerType(unsigned width) { return shaped(b.getIntegerType(width)); }
  Value constant(mlir::TypedAttr value) {
    if (shape)
      value = mlir::DenseElementsAttr::get(mlir::cast<mlir::ShapedType>(shaped(value.getType())),
                                           mlir::Attribute(value));
    return b.create<mlir::arith::ConstantOp>(loc, value);
  }
  Value integer(uint64_t value, unsigned width) {
    return constant(b.getIntegerAttr(b.getIntegerType(width),
                                     llvm::APInt(64, value).zextOrTrunc(width).getSExtValue()));
  }
  Value real(double value, Type element) { return constant(b.getFloatAttr(element, value)); }
  static unsigned widthOf(Value value) {
    return mlir::getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  }
  Value resized(Value value, unsigned width, bool isSigned = false) {
    unsigned now = widthOf(value);
    if (now == width)
      return value;
    if (now > width)
      return b.create<mlir::arith::TruncIOp>(loc, integerType(width), value);
    return isSigned ? b.create<mlir::arith::ExtSIOp>(loc, integerType(width), value).getResult()
                    : b.create<mlir::arith::ExtUIOp>(loc, integerType(width), value).getResult();
  }
  Value shiftedRight(Value value, unsigned by) {
    return by ? make<tile::ShRUOp>(value, integer(by, widthOf(value))) : value;
  }
  Value shiftedLeft(Value value, unsigned by) {
    return by ? make<tile::ShLOp>(value, integer(by, widthOf(value))) : value;
  }
  Value asBits(Value value) {
    Type element = mlir::getElementTypeOrSelf(value);
    if (mlir::isa<tile::PtrType>(element))
      return b.create<tile::PtrToIntOp>(loc, integerType(64), value);
    if (mlir::isa<mlir::IntegerType>(element))
      return value;
    return b.create<tile::BitcastOp>(loc, integerType(widthOf(value)), value);
  }
  Value fromBits(Value value, Type element) {
    if (mlir::isa<tile::PtrType>(element))
      return b.create<tile::IntToPtrOp>(loc, shaped(element), value);
    if (mlir::isa<mlir::IntegerType>(element))
      return value;
    return b.create<tile::BitcastOp>(loc, shaped(element), value);
  }
  // The values side by side, the first in the lowest bits.
  Value packed(mlir::ArrayRef<Value> parts, unsigned width) {
    Value all;
    for (auto [i, part] : llvm::enumerate(parts)) {
      Value moved = shiftedLeft(resized(part, width), i * widthOf(part));
      all = all ? make<mlir::arith::OrIOp>(all, moved) : moved;
    }
    return all;
  }

private:
  template <typename Op> Value make(Value x, Value y) { return b.create<Op>(loc, x, y); }
  // Shifts by what may be more than the width, which gives what the width gives.
  Value minShift(Value by, unsigned width) {
    return make<mlir::arith::MinUIOp>(by, integer(width, widthOf(by)));
  }
  Value select(Value condition, Value x, Value y) {
    return b.create<mlir::arith::SelectOp>(loc, condition, x, y);
  }
  Value compareFloats(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return b.create<mlir::arith::CmpFOp>(loc, predicate, x, y);
  }
  Value compareIntegers(mlir::arith::CmpIPredicate predicate, Value x, Value y) {
    return b.create<mlir::arith::CmpIOp>(loc, predicate, x, y);
  }
  Value function(mlir::StringRef symbol, Value x) {
    return b.create<tile::ExternOp>(loc, x.getType(), ("__nv_" + symbol).str(), x);
  }

  [[noreturn]] void unknown(const ptx::Statement &s) const {
    throw ptx::Unknown{"`" + s.mnemonic() + "`"};
  }
  // The element type of floats of a PTX type; null if there is none.
  Type floatType(const ptx::Type &type) {
    return llvm::StringSwitch<Type>(type.name)
        .Case("f64", b.getF64Type())
        .Cases("f32", "tf32", b.getF32Type())
        .Case("f16", b.getF16Type())
        .Case("bf16", b.getBF16Type())
        .Case("e4m3", b.getFloat8E4M3FNType())
        .Case("e5m2", b.getFloat8E5M2Type())
        .Default(Type());
  }

  // --- operands ---

  Value read(const ptx::Statement &s, const ptx::Operand &operand, const ptx::Type &type);
  void write(const ptx::Operand &operand, Value value, Value guard);
  void run(const ptx::Statement &s);
  void trap(Value guard);
  void takes(const ptx::Statement &s, size_t least, size_t most);
  Value result(const ptx::Statement &s);

  // --- bits ---

  Value byteOf(const ptx::Statement &s, size_t argument);
  Value lowBits(const ptx::Statement &s, size_t argument, unsigned width);
  Value lookUp(Value a, Value b, Value c, uint64_t table);
  Value chosenBytes(Value bytes, Value selector);
  Value signedField(const ptx::Statement &s);
  Value setBit(Value mask, Value base, Value offset);
  Value highestBit(const ptx::Statement &s);
  Value widened(const ptx::Statement &s);
  Value maskOfBits(const ptx::Statement &s);
  Value fieldResult(const ptx::Statement &s);
  Value sumResult(const ptx::Statement &s);

  // --- comparisons, integers ---

  Value comparison(const ptx::Statement &s);
  Value integerResult(const ptx::Statement &s);
  Value saturatedSum(Value x, Value y, bool subtracts);

  // --- floats, conversions ---

  Value flushed(Value x, bool flushes);
  Value toFloat(Value x, Type element, bool towardsZero = false);
  Value minOrMax(Value x, Value y, const ptx::Statement &s);
  Value sumTowardsZero(Value x, Value y);
  Value floatFunction(const ptx::Statement &s, Type element, mlir::ArrayRef<Value> in);
  Value floatResult(const ptx::Statement &s);
  Value floatClass(const ptx::Statement &s);
  Value converted(const ptx::Statement &s);
  Value convertedLane(const ptx::Statement &s, Value bits);
  Value packSaturated(const ptx::Statement &s);
  static bool isSmallFloat(const ptx::Type &type) {
    return type.name == "e2m1" || type.name == "e2m3" || type.name == "e3m2" ||
           type.name == "ue8m0";
  }
  Value fromSmallFloat(const ptx::Type &type, Value bits);
  Value toSmallFloat(const ptx::Type &type, Value x);
  Value toExponent(Value x, bool upwards, bool saturates);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::RankedTensorType shape;
  std::vector<Value> registers;
};

} // namespace nereid::transforms
