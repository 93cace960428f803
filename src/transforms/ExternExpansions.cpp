#include "transforms/ExternExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

Value constant(OpBuilder &b, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, value))
                                           : TypedAttr(b.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return b.create<arith::ConstantOp>(loc, attr);
}

// "tanhf" of a float and "tanh" of a double are one function; so are quick forms and their slow
// ones.
StringRef plainName(StringRef name, Type operand) {
  name.consume_front("fast_");
  if (getElementTypeOrSelf(operand).isF32() && name != "erf")
    name.consume_back("f");
  return name;
}

bool isMathFunction(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", true)
      .Cases("sin", "cos", "tan", "asin", "acos", "atan", "atan2", true)
      .Cases("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", true)
      .Cases("erf", "erfc", "cbrt", "pow", "rsqrt", "hypot", "fmod", "tgamma", "lgamma", true)
      .Cases("round", "remainder", "nextafter", "fdim", "logb", "j0", "j1", "y0", "y1", true)
      .Default(false);
}

// `element` in the shape of `like`: a scalar or a vector.
Type vectorOf(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

// x^n for a small n that is known, by the products that CUDA's library makes; else null.
Value smallPower(OpBuilder &b, Location loc, Value x, Value n) {
  Attribute attribute;
  if (!matchPattern(n, m_Constant(&attribute)))
    return {};
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (!number || number.getValue().abs().ugt(64))
    return {};
  int64_t power = number.getInt();
  Value one = constant(b, loc, x.getType(), 1), result;
  for (uint64_t left = std::abs(power); left; left >>= 1) {
    if (left & 1)
      result = result ? b.create<arith::MulFOp>(loc, result, x).getResult() : x;
    if (left > 1)
      x = b.create<arith::MulFOp>(loc, x, x);
  }
  if (!result)
    return one;
  return power < 0 ? b.create<arith::DivFOp>(loc, one, result).getResult() : result;
}

// A call of a function of libdevice. What stands for it is null where it is none of those at hand.
struct ExternCall {
  OpBuilder &b;
  Location loc;
  StringRef name;
  ValueRange v; ///< operands
  Type result;

  Type type() const { return v[0].getType(); }
  Value number(double is) const { return constant(b, loc, type(), is); }

  Value arithmetic(StringRef plain) const;
  Value compositionOfFloats(StringRef plain) const;
  Value bitCount() const;
  Value integerArithmetic() const;
  Value meanOrDistance() const;
  Value permutedBytes() const;
  Value bits() const;
};

// Functions of floats that are one operation.
Value ExternCall::arithmetic(StringRef plain) const {
  if (plain == "rint" || plain == "nearbyint")
    return b.create<math::RoundEvenOp>(loc, v[0]);
  if (plain == "floor")
    return b.create<math::FloorOp>(loc, v[0]);
  if (plain == "ceil")
    return b.create<math::CeilOp>(loc, v[0]);
  if (plain == "trunc")
    return b.create<math::TruncOp>(loc, v[0]);
  if (plain == "fabs")
    return b.create<math::AbsFOp>(loc, v[0]);
  if (plain == "sqrt" || name == "fsqrt_rn" || name == "dsqrt_rn")
    return b.create<math::SqrtOp>(loc, v[0]);
  if (plain == "copysign")
    return b.create<math::CopySignOp>(loc, v[0], v[1]);
  if (plain == "fmax")
    return b.create<arith::MaxNumFOp>(loc, v[0], v[1]);
  if (plain == "fmin")
    return b.create<arith::MinNumFOp>(loc, v[0], v[1]);
  if (plain == "fma" || name == "fmaf_rn" || name == "fma_rn")
    return b.create<LLVM::FMAOp>(loc, v[0], v[1], v[2]);
  if (name == "fdiv_rn" || name == "ddiv_rn" || name == "fast_fdividef")
    return b.create<arith::DivFOp>(loc, v[0], v[1]);
  if (name == "fadd_rn" || name == "dadd_rn")
    return b.create<arith::AddFOp>(loc, v[0], v[1]);
  if (name == "fsub_rn" || name == "dsub_rn")
    return b.create<arith::SubFOp>(loc, v[0], v[1]);
  if (name == "fmul_rn" || name == "dmul_rn")
    return b.create<arith::MulFOp>(loc, v[0], v[1]);
  if (name == "frcp_rn" || name == "drcp_rn")
    return b.create<arith::DivFOp>(loc, number(1), v[0]);
  return {};
}

Value ExternCall::compositionOfFloats(StringRef plain) const {
  auto test = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
    Value truth = b.create<arith::CmpFOp>(loc, predicate, x, y);
    return truth.getType() == result ? truth
                                     : b.create<arith::ExtUIOp>(loc, result, truth).getResult();
  };
  if (name == "frsqrt_rn") {
    // Rounded once, from a double.
    Type wide = vectorOf(type(), b.getF64Type());
    Value root = b.create<math::SqrtOp>(loc, b.create<arith::ExtFOp>(loc, wide, v[0]));
    Value inverse = b.create<arith::DivFOp>(loc, constant(b, loc, wide, 1), root);
    return b.create<arith::TruncFOp>(loc, type(), inverse);
  }
  if (name == "saturatef") {
    Value low = b.create<arith::MaxNumFOp>(loc, v[0], constant(b, loc, type(), 0));
    return b.create<arith::MinNumFOp>(loc, low, number(1));
  }
  if (name == "isnanf" || name == "isnand")
    return test(arith::CmpFPredicate::UNO, v[0], v[0]);
  if (name == "isinff" || name == "isinfd")
    return test(arith::CmpFPredicate::OEQ, b.create<math::AbsFOp>(loc, v[0]), number(INFINITY));
  if (name == "finitef" || name == "isfinited")
    return test(arith::CmpFPredicate::OLT, b.create<math::AbsFOp>(loc, v[0]), number(INFINITY));
  if (plain == "powi")
    return smallPower(b, loc, v[0], v[1]);
  if (name == "double2loint" || name == "double2hiint") {
    Type wide = vectorOf(type(), b.getI64Type());
    Value bits = b.create<LLVM::BitcastOp>(loc, wide, v[0]);
    if (name == "double2hiint")
      bits = b.create<arith::ShRUIOp>(loc, bits, constant(b, loc, wide, 32));
    return b.create<arith::TruncIOp>(loc, result, bits);
  }
  if (name == "float_as_int" || name == "float_as_uint" || name == "double_as_longlong")
    return b.create<LLVM::BitcastOp>(loc, result, v[0]);
  return {};
}

Value ExternCall::bitCount() const {
  // Counts are of 32 bits, also those of 64-bit numbers.
  auto count = [&](Value value) -> Value {
    if (value.getType() == result)
      return value;
    return b.create<arith::TruncIOp>(loc, result, value);
  };
  if (name == "clz" || name == "clzll")
    return count(b.create<math::CountLeadingZerosOp>(loc, v[0]));
  if (name == "popc" || name == "popcll")
    return count(b.create<math::CtPopOp>(loc, v[0]));
  if (name == "ffs" || name == "ffsll") {
    Value zero = constant(b, loc, type(), 0), one = constant(b, loc, type(), 1);
    Value place =
        b.create<arith::AddIOp>(loc, b.create<math::CountTrailingZerosOp>(loc, v[0]), one);
    Value none = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, v[0], zero);
    return count(b.create<arith::SelectOp>(loc, none, zero, place));
  }
  return {};
}

Value ExternCall::integerArithmetic() const {
  if (name == "brev" || name == "brevll")
    return b.create<LLVM::BitReverseOp>(loc, v[0]);
  if (name == "abs" || name == "llabs")
    return b.create<math::AbsIOp>(loc, v[0]);
  if (name == "mulhi" || name == "mul64hi")
    return b.create<arith::MulSIExtendedOp>(loc, v[0], v[1]).getHigh();
  if (name == "umulhi" || name == "umul64hi")
    return b.create<arith::MulUIExtendedOp>(loc, v[0], v[1]).getHigh();
  if (name == "mul24" || name == "umul24") {
    auto low = [&](Value x) -> Value {
      Value upper = constant(b, loc, type(), 8), shifted = b.create<arith::ShLIOp>(loc, x, upper);
      return name == "mul24" ? b.create<arith::ShRSIOp>(loc, shifted, upper).getResult()
                             : b.create<arith::ShRUIOp>(loc, shifted, upper).getResult();
    };
    return b.create<arith::MulIOp>(loc, low(v[0]), low(v[1]));
  }
  return {};
}

Value ExternCall::meanOrDistance() const {
  if (name == "hadd" || name == "rhadd" || name == "uhadd" || name == "urhadd") {
    // The mean without a carry: the common bits and half of the others.
    bool up = name.contains('r'), isUnsigned = name.starts_with("u");
    Value one = constant(b, loc, type(), 1), others = b.create<arith::XOrIOp>(loc, v[0], v[1]);
    Value half = isUnsigned ? b.create<arith::ShRUIOp>(loc, others, one).getResult()
                            : b.create<arith::ShRSIOp>(loc, others, one).getResult();
    return up ? b.create<arith::SubIOp>(loc, b.create<arith::OrIOp>(loc, v[0], v[1]), half)
                    .getResult()
              : b.create<arith::AddIOp>(loc, b.create<arith::AndIOp>(loc, v[0], v[1]), half)
                    .getResult();
  }
  if (name == "sad" || name == "usad") {
    bool isSigned = name == "sad";
    Value more = b.create<arith::CmpIOp>(
        loc, isSigned ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt, v[0], v[1]);
    Value distance = b.create<arith::SelectOp>(loc, more, b.create<arith::SubIOp>(loc, v[0], v[1]),
                                               b.create<arith::SubIOp>(loc, v[1], v[0]));
    return b.create<arith::AddIOp>(loc, distance, v[2]);
  }
  return {};
}

// `byte_perm`: each byte is one of the eight of two words.
Value ExternCall::permutedBytes() const {
  Value sum = constant(b, loc, type(), 0);
  for (int64_t place = 0; place < 4; ++place) {
    Value selected = b.create<arith::ShRUIOp>(loc, v[2], number(4 * place));
    Value upper = b.create<arith::AndIOp>(loc, selected, number(4));
    Value source = b.create<arith::SelectOp>(
        loc, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, upper, number(0)), v[1], v[0]);
    Value shift =
        b.create<arith::ShLIOp>(loc, b.create<arith::AndIOp>(loc, selected, number(3)), number(3));
    Value byte =
        b.create<arith::AndIOp>(loc, b.create<arith::ShRUIOp>(loc, source, shift), number(0xff));
    sum = b.create<arith::OrIOp>(loc, sum, b.create<arith::ShLIOp>(loc, byte, number(8 * place)));
  }
  return sum;
}

// The bits of integers as a float.
Value ExternCall::bits() const {
  if (name == "hiloint2double") {
    Type wide = vectorOf(type(), b.getI64Type());
    Value upper = b.create<arith::ShLIOp>(loc, b.create<arith::ExtUIOp>(loc, wide, v[0]),
                                          constant(b, loc, wide, 32));
    return b.create<LLVM::BitcastOp>(
        loc, result, b.create<arith::OrIOp>(loc, upper, b.create<arith::ExtUIOp>(loc, wide, v[1])));
  }
  if (name == "int_as_float" || name == "uint_as_float" || name == "longlong_as_double")
    return b.create<LLVM::BitcastOp>(loc, result, v[0]);
  return {};
}

} // namespace

Value expandExtern(OpBuilder &b, Location loc, StringRef name, ValueRange v, Type result,
                   llvm::function_ref<Value(StringRef, ValueRange)> math) {
  if (v.empty())
    return {};
  ExternCall call{b, loc, name, v, result};
  if (isa<FloatType>(getElementTypeOrSelf(call.type()))) {
    StringRef plain = plainName(name, call.type());
    if (isMathFunction(plain))
      return math(plain == "pow" ? "powf" : plain, v);
    Value made = call.arithmetic(plain);
    return made ? made : call.compositionOfFloats(plain);
  }
  if (name == "byte_perm")
    return call.permutedBytes();
  for (auto family : {&ExternCall::bitCount, &ExternCall::integerArithmetic,
                      &ExternCall::meanOrDistance, &ExternCall::bits})
    if (Value made = (call.*family)())
      return made;
  return {};
}

} // namespace nereid::transforms
