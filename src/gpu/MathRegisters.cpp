// Quotients, roots and functions: the instructions that the processor has for them, or what they
// are expanded to.
#include "gpu/ElementwiseModels.h"
#include "ir/FloatOptions.h"
#include "transforms/ExternExpansions.h"
#include "transforms/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

Value f32(RegisterEmitter &e, double value) {
  return e.builder.create<arith::ConstantOp>(e.loc(), e.builder.getF32FloatAttr(float(value)));
}
Value mul(RegisterEmitter &e, Value a, Value b) {
  return e.builder.create<arith::MulFOp>(e.loc(), a, b);
}
// An instruction of the special function unit.
Value special(RegisterEmitter &e, StringRef instruction, Value x) {
  return e.assembly((instruction + " $0, $1;").str(), "=f,f", e.builder.getF32Type(), x, true);
}

// As fast as Triton's `/`, and as exact: 2 ulp. A power of two divides exactly by a product.
struct DivCode {
  static Value emit(Operation *op, RegisterEmitter &e, ValueRange v) {
    FloatAttr divisor;
    if (!v[0].getType().isF32() ||
        (matchPattern(v[1], m_Constant(&divisor)) && divisor.getValue().getExactInverse(nullptr)))
      return e.builder.create<arith::DivFOp>(e.loc(), v[0], v[1]);
    auto quotient = dyn_cast_or_null<arith::DivFOp>(op);
    bool quick = quotient && bitEnumContainsAll(quotient.getFastmath(), arith::FastMathFlags::afn);
    return e.assembly(quick ? "div.approx.f32 $0, $1, $2;" : "div.full.f32 $0, $1, $2;", "=f,f,f",
                      v[0].getType(), v, true);
  }
};
// The remainder that has the sign of x. The quotient is off by one where its rounding passes an
// integer, which a second look finds; exact while it has no more digits than the type.
struct RemCode {
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    OpBuilder &b = e.builder;
    Value x = v[0], y = v[1];
    Type type = x.getType();
    if (type.getIntOrFloatBitWidth() < 32) {
      Value wide[2];
      for (unsigned i : {0, 1})
        wide[i] = b.create<arith::ExtFOp>(e.loc(), b.getF32Type(), v[i]);
      return b.create<arith::TruncFOp>(e.loc(), type, emit(nullptr, e, wide));
    }
    auto number = [&](double value) -> Value {
      return b.create<arith::ConstantOp>(e.loc(), b.getFloatAttr(type, value));
    };
    auto compare = [&](arith::CmpFPredicate predicate, Value p, Value q) -> Value {
      return b.create<arith::CmpFOp>(e.loc(), predicate, p, q);
    };
    auto select = [&](Value c, Value p, Value q) -> Value {
      return b.create<arith::SelectOp>(e.loc(), c, p, q);
    };
    using P = arith::CmpFPredicate;
    Value size = b.create<math::AbsFOp>(e.loc(), x), divisor = b.create<math::AbsFOp>(e.loc(), y);
    Value quotient = b.create<math::TruncOp>(
        e.loc(), b.create<arith::DivFOp>(e.loc(), size, divisor).getResult());
    Value rest = b.create<LLVM::FMAOp>(
        e.loc(), b.create<arith::NegFOp>(e.loc(), quotient).getResult(), divisor, size);
    rest = select(compare(P::OLT, rest, number(0)), b.create<arith::AddFOp>(e.loc(), rest, divisor),
                  rest);
    rest = select(compare(P::OGE, rest, divisor), b.create<arith::SubFOp>(e.loc(), rest, divisor),
                  rest);
    // A finite number is its own remainder of an infinity.
    Value isBelow = compare(P::OLT, size, divisor);
    rest = select(isBelow, size, rest);
    return b.create<math::CopySignOp>(e.loc(), rest, x);
  }
};

Value emitMath(StringRef name, RegisterEmitter &e, ValueRange v);

Value fma(RegisterEmitter &e, Value a, Value b, Value c) {
  return e.builder.create<LLVM::FMAOp>(e.loc(), a, b, c);
}
Value sub(RegisterEmitter &e, Value a, Value b) {
  return e.builder.create<arith::SubFOp>(e.loc(), a, b);
}
// A product that is rounded by itself, so that what rounding took can be told.
Value roundedMul(RegisterEmitter &e, Value a, Value b) {
  return e.assembly("mul.rn.f32 $0, $1, $2;", "=f,f,f", a.getType(), {a, b}, /*pure=*/true);
}
// To the nearest integer, away from zero at halves. The greatest number below 1/2 carries no number
// below a half over, halves themselves by the rounding of the sum, and is lost beside numbers that
// have no fraction. x may be a product, whose rounding counts: the sum must not be fused with it.
Value roundAway(RegisterEmitter &e, Value x) {
  OpBuilder &b = e.builder;
  Type bits = b.getI32Type();
  Value sign = b.create<arith::AndIOp>(e.loc(), b.create<arith::BitcastOp>(e.loc(), bits, x),
                                       e.i32(int32_t(0x80000000)));
  Value half =
      b.create<arith::OrIOp>(e.loc(), sign, e.i32(llvm::bit_cast<int32_t>(0x1.fffffep-2f)));
  Value sum = e.assembly("add.rn.f32 $0, $1, $2;", "=f,f,f", x.getType(),
                         {x, b.create<arith::BitcastOp>(e.loc(), x.getType(), half)},
                         /*pure=*/true);
  return b.create<math::TruncOp>(e.loc(), sum);
}
// 2^n x for an integer n within [-300, 300], in two steps, of which the second may round.
Value scale(RegisterEmitter &e, Value x, Value n) {
  OpBuilder &b = e.builder;
  Value whole = b.create<arith::FPToSIOp>(e.loc(), b.getI32Type(), n);
  Value half = b.create<arith::ShRSIOp>(e.loc(), whole, e.i32(1));
  for (Value part : {half, b.create<arith::SubIOp>(e.loc(), whole, half).getResult()}) {
    Value exponent = b.create<arith::AddIOp>(e.loc(), part, e.i32(127));
    x = mul(e, x, e.cast(b.create<arith::ShLIOp>(e.loc(), exponent, e.i32(23)), b.getF32Type()));
  }
  return x;
}

// base^x, to 2 ulp as CUDA's. The whole digits n of the result come from a sum whose unit is 1, and
// are its exponent; a number between 0 and 1 that is limited to them, by the instruction itself,
// keeps n within
// [-126, 126]. Beyond, what is left goes to `ex2`, which gives 0 or infinity, and a NaN passes.
Value exactExponential(RegisterEmitter &e, Value x, double base) {
  OpBuilder &b = e.builder;
  Type f32Type = b.getF32Type();
  double digits = std::log2(base);
  constexpr float unitOne = 0x1.8p23f; // floats near it are whole
  Value share = e.assembly("fma.rn.sat.f32 $0, $1, $2, $3;", "=f,f,f,f", f32Type,
                           {x, f32(e, digits / 252), f32(e, 0.5)}, /*pure=*/true);
  Value count = e.assembly("fma.rm.f32 $0, $1, $2, $3;", "=f,f,f,f", f32Type,
                           {share, f32(e, 252), f32(e, unitOne + 1)}, /*pure=*/true);
  Value n = sub(e, count, f32(e, unitOne + 127));
  float head = float(digits);
  Value rest = fma(e, x, f32(e, head), b.create<arith::NegFOp>(e.loc(), n));
  rest = fma(e, x, f32(e, digits - head), rest);
  Value power = b.create<arith::ShLIOp>(e.loc(), e.cast(count, b.getI32Type()), e.i32(23));
  return mul(e, special(e, "ex2.approx.ftz.f32", rest), e.cast(power, f32Type));
}

// log2(x) of x > 0 as a sum of two floats, to about 32 bits: with x = 2^n m, m near 1 and
// q = 2 (m - 1) / (m + 1), log m = q + q^3 / 12 + q^5 / 80 + ...
std::pair<Value, Value> logarithmInTwo(RegisterEmitter &e, Value x) {
  OpBuilder &b = e.builder;
  constexpr uint32_t rootOfHalf = 0x3f3504f3;
  constexpr int exponentOfLarger = 24; // what makes a denormal number a normal one
  Value isDenormal =
      b.create<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::OLT, x, f32(e, 0x1p-126));
  Value larger = mul(e, x, f32(e, std::ldexp(1.0, exponentOfLarger)));
  x = b.create<arith::SelectOp>(e.loc(), isDenormal, larger, x);
  Value bits = e.cast(x, b.getI32Type());
  Value raised = b.create<arith::SubIOp>(e.loc(), bits, e.i32(rootOfHalf));
  Value count = b.create<arith::ShRSIOp>(e.loc(), raised, e.i32(23));
  Value n = b.create<arith::SIToFPOp>(e.loc(), b.getF32Type(), count);
  n = b.create<arith::SelectOp>(e.loc(), isDenormal, sub(e, n, f32(e, exponentOfLarger)), n);
  Value m =
      e.cast(b.create<arith::SubIOp>(
                 e.loc(), bits, b.create<arith::ShLIOp>(e.loc(), count, e.i32(23)).getResult()),
             b.getF32Type());
  Value less = sub(e, m, f32(e, 1)), more = b.create<arith::AddFOp>(e.loc(), m, f32(e, 1));
  Value inverse = b.create<arith::DivFOp>(e.loc(), f32(e, 1), more);
  Value q = roundedMul(e, b.create<arith::AddFOp>(e.loc(), less, less), inverse);
  // What q lacks: 2 (m - 1) - q (m + 1), where m + 1 is 2 + (m - 1).
  Value lack = b.create<arith::AddFOp>(e.loc(), sub(e, less, q), sub(e, less, q));
  lack = mul(e, fma(e, b.create<arith::NegFOp>(e.loc(), q), less, lack), inverse);
  Value square = mul(e, q, q);
  Value series = fma(e, square, f32(e, 1.0 / 2304), f32(e, 1.0 / 448));
  series = fma(e, series, square, f32(e, 1.0 / 80));
  series = mul(e, fma(e, series, square, f32(e, 1.0 / 12)), square);
  constexpr double perLog = 1.44269504088896341;
  float head = float(perLog);
  Value high = roundedMul(e, q, f32(e, head));
  Value low = fma(e, q, f32(e, head), b.create<arith::NegFOp>(e.loc(), high));
  low = fma(e, q, f32(e, perLog - head), low);
  low = fma(e, lack, f32(e, head), low);
  low = fma(e, high, series, low);
  Value sum = b.create<arith::AddFOp>(e.loc(), n, high); // |n| is 0 or more than |high|
  return {sum, b.create<arith::AddFOp>(e.loc(), sub(e, high, sub(e, sum, n)), low)};
}

// |x|^y by logarithms, to 4 ulp as CUDA's, with the sign of x where y is an odd integer.
Value power(RegisterEmitter &e, Value x, Value y) {
  OpBuilder &b = e.builder;
  Value size = b.create<math::AbsFOp>(e.loc(), x);
  auto [high, low] = logarithmInTwo(e, size);
  Value product = roundedMul(e, y, high);
  Value rest = fma(e, y, high, b.create<arith::NegFOp>(e.loc(), product));
  rest = fma(e, y, low, rest);
  Value limited = b.create<arith::MinNumFOp>(
      e.loc(), b.create<arith::MaxNumFOp>(e.loc(), product, f32(e, -160)), f32(e, 130));
  Value n = b.create<math::RoundEvenOp>(e.loc(), limited);
  Value fraction = b.create<arith::AddFOp>(e.loc(), sub(e, limited, n), rest);
  Value near = scale(e, special(e, "ex2.approx.ftz.f32", fraction), n);
  // Of 0, infinity, NaN and products that are none, digits do not matter or are not there.
  Value plain = special(e, "ex2.approx.f32", mul(e, y, special(e, "lg2.approx.f32", size)));
  auto compare = [&](arith::CmpFPredicate predicate, Value p, Value q) -> Value {
    return b.create<arith::CmpFOp>(e.loc(), predicate, p, q);
  };
  using P = arith::CmpFPredicate;
  auto isWithin = [&](Value value, double least, double most) {
    return e.both(compare(P::OGE, value, f32(e, least)), compare(P::OLE, value, f32(e, most)));
  };
  Value isNear = e.both(isWithin(size, 0x1p-149, 0x1.fffffep127), isWithin(product, -160, 130));
  Value result = b.create<arith::SelectOp>(e.loc(), isNear, near, plain);
  Value half = mul(e, y, f32(e, 0.5));
  Value isInteger = compare(P::OEQ, b.create<math::FloorOp>(e.loc(), y), y);
  Value isOdd = e.both(isInteger, compare(P::UNE, b.create<math::FloorOp>(e.loc(), half), half));
  auto select = [&](Value c, Value p, Value q) -> Value {
    return b.create<arith::SelectOp>(e.loc(), c, p, q);
  };
  result = select(isOdd, b.create<math::CopySignOp>(e.loc(), result, x), result);
  // Numbers below zero have powers that are whole; infinity is even.
  Value isBelow = e.both(compare(P::OLT, x, f32(e, 0)), compare(P::OGT, x, f32(e, -INFINITY)));
  Value isBroken = compare(P::UNE, b.create<math::FloorOp>(e.loc(), y), y);
  Value nan = b.create<arith::ConstantOp>(e.loc(), b.getF32FloatAttr(NAN));
  result = select(e.both(isBelow, isBroken), nan, result);
  // Anything to the power 0, and 1 to any power, is 1; (-1)^inf, too.
  Value isOne =
      b.create<arith::OrIOp>(e.loc(), compare(P::OEQ, y, f32(e, 0)), compare(P::OEQ, x, f32(e, 1)));
  Value isEndless = compare(P::OEQ, b.create<math::AbsFOp>(e.loc(), y), f32(e, INFINITY));
  isOne =
      b.create<arith::OrIOp>(e.loc(), isOne, e.both(compare(P::OEQ, size, f32(e, 1)), isEndless));
  return select(isOne, f32(e, 1), result);
}

// A call of a library's function, which is linked when the code is written.
Value callLibrary(RegisterEmitter &e, const std::string &symbol, Type result, ValueRange v) {
  OpBuilder &b = e.builder;
  auto module = b.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    function = b.create<LLVM::LLVMFuncOp>(
        module.getLoc(), symbol,
        LLVM::LLVMFunctionType::get(result, SmallVector<Type>(v.getTypes())));
  }
  return b.create<LLVM::CallOp>(e.loc(), function, v).getResult();
}

// CUDA's own.
Value callLibdevice(RegisterEmitter &e, const Twine &name, Type result, ValueRange v) {
  return callLibrary(e, ("__nv_" + name).str(), result, v);
}

// An instruction that counts subnormal numbers as zero, as Triton's does, which saves scaling them
// in and out; unless a launch says `enable_reflect_ftz=False`.
Value flushing(RegisterEmitter &e, StringRef instruction, ValueRange v) {
  auto module = e.builder.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string text = instruction.str();
  text += module->hasAttr(tile::noReflectFtzAttr) ? ".f32 $0, $1" : ".ftz.f32 $0, $1";
  text += v.size() == 2 ? ", $2;" : ";";
  return e.assembly(text, v.size() == 2 ? "=f,f,f" : "=f,f", e.builder.getF32Type(), v,
                    /*pure=*/true);
}

// The quick functions of libdevice are instructions of the special function unit. Null for others.
Value emitQuick(StringRef name, RegisterEmitter &e, ValueRange v) {
  auto logarithm = [&] { return flushing(e, "lg2.approx", v[0]); };
  auto power = [&](Value x) { return flushing(e, "ex2.approx", x); };
  auto sine = [&] { return flushing(e, "sin.approx", v[0]); };
  auto cosine = [&] { return flushing(e, "cos.approx", v[0]); };
  auto divide = [&](Value x, Value y) { return flushing(e, "div.approx", {x, y}); };
  if (!name.consume_front("fast_") || !v[0].getType().isF32())
    return {};
  if (name == "fdividef")
    return divide(v[0], v[1]);
  if (name == "sinf")
    return sine();
  if (name == "cosf")
    return cosine();
  if (name == "tanf")
    return divide(sine(), cosine());
  if (name == "log2f")
    return logarithm();
  if (name == "logf")
    return mul(e, logarithm(), f32(e, 0.693147180559945309));
  if (name == "log10f")
    return mul(e, logarithm(), f32(e, 0.301029995663981195));
  if (name == "expf")
    return power(mul(e, v[0], f32(e, 1.44269504088896341)));
  if (name == "exp10f")
    return power(mul(e, v[0], f32(e, 3.32192809488736235)));
  if (name == "powf")
    return power(mul(e, v[1], logarithm()));
  return {};
}

// Null for a function that is not known.
Value emitMath(StringRef name, RegisterEmitter &e, ValueRange v) {
  OpBuilder &b = e.builder;
  Type type = v[0].getType();
  if (type.getIntOrFloatBitWidth() < 32) {
    SmallVector<Value> wide;
    for (Value value : v)
      wide.push_back(b.create<arith::ExtFOp>(e.loc(), b.getF32Type(), value));
    Value result = emitMath(name, e, wide);
    return result ? b.create<arith::TruncFOp>(e.loc(), type, result).getResult() : Value();
  }
  if (type.isF64())
    return callLibdevice(e, name == "powf" ? "pow" : name, type, v);
  if (!type.isF32())
    return {};
  if (name == "exp2")
    return flushing(e, "ex2.approx", v[0]);
  if (name == "exp")
    return special(e, "ex2.approx.f32", mul(e, v[0], f32(e, 1.44269504088896341)));
  // `lg2.approx` is good to an absolute 2^-22 only: it has no digits right near 1.
  if (name == "log10")
    return mul(e, emitMath("log", e, v), f32(e, 0.434294481903251828));
  if (name == "exp10")
    return special(e, "ex2.approx.f32", mul(e, v[0], f32(e, 3.32192809488736235)));
  if (name == "rsqrt")
    return flushing(e, "rsqrt.approx", v[0]);
  if (name == "powf")
    return power(e, v[0], v[1]);
  if (name == "round")
    return roundAway(e, v[0]);
  transforms::MathBase base;
  auto exp = [&](Value x) { return emitMath("exp", e, x); };
  auto divide = [&](Value x, Value y) { return DivCode::emit(nullptr, e, {x, y}); };
  auto root = [&](Value x) { return flushing(e, "sqrt.approx", x); };
  base.exp = exp;
  base.divide = divide;
  base.sqrt = root;
  return transforms::expandMath(b, e.loc(), name, v, base);
}

struct MathCode {
  static Value emit(Operation *op, RegisterEmitter &e, ValueRange v) {
    StringRef name = op->getName().stripDialect();
    if (Value value = emitMath(name, e, v))
      return value;
    e.unsupported(op);
    return e.undef(v[0].getType());
  }
};
// The instruction that a conversion such as `ull2float_rz` is; null for other functions. LLVM takes
// libdevice's for a conversion to nearest.
Value emitConversion(StringRef name, RegisterEmitter &e, Value v, Type result) {
  auto [from, rest] = name.split('2');
  auto [to, mode] = rest.split('_');
  StringRef source = llvm::StringSwitch<StringRef>(from)
                         .Case("int", "s32")
                         .Case("uint", "u32")
                         .Case("ll", "s64")
                         .Case("ull", "u64")
                         .Default("");
  StringRef target =
      llvm::StringSwitch<StringRef>(to).Case("float", "f32").Case("double", "f64").Default("");
  if (source.empty() || target.empty() || mode.size() != 2)
    return {};
  std::string constraints = {'=', target == "f64" ? 'd' : 'f', ',',
                             source.ends_with("64") ? 'l' : 'r'};
  mode = mode == "rd" ? "rm" : mode == "ru" ? "rp" : mode; // as PTX calls downwards and upwards
  return e.assembly(("cvt." + mode + "." + target + "." + source + " $0, $1;").str(), constraints,
                    result, v, /*pure=*/true);
}
struct ExternCode {
  static Value emit(tile::ExternOp op, RegisterEmitter &e, ValueRange v) {
    StringRef name = op.getSymbol();
    Value value;
    if (!name.consume_front("__nv_")) {
      e.unsupported(op, "unknown function `" + name + "`");
      return e.undef(resultElement(op));
    }
    if (Value converted = emitConversion(name, e, v[0], resultElement(op)))
      return converted;
    if (Value quick = emitQuick(name, e, v))
      return quick;
    if (name == "sqrtf")
      return flushing(e, "sqrt.approx", v[0]);
    if (v[0].getType().isF32() && (name == "expf" || name == "exp10f"))
      return exactExponential(e, v[0], name == "expf" ? M_E : 10);
    value = transforms::expandExtern(
        e.builder, e.loc(), name, v, resultElement(op),
        [&](StringRef function, ValueRange values) { return emitMath(function, e, values); });
    return value ? value : callLibdevice(e, name, resultElement(op), v);
  }
};
struct LibraryCallCode {
  static Value emit(tile::LibraryCallOp op, RegisterEmitter &e, ValueRange v) {
    return callLibrary(e, op.codeSymbol(), resultElement(op), v);
  }
};
// As Triton's `tl.sqrt`: 1 ulp.
struct SqrtCode {
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    if (!v[0].getType().isF32())
      return e.builder.create<math::SqrtOp>(e.loc(), v[0]);
    return flushing(e, "sqrt.approx", v[0]);
  }
};
struct SqrtRnCode {
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    return e.builder.create<math::SqrtOp>(e.loc(), v[0]);
  }
};
struct DivRnCode {
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    return e.builder.create<arith::DivFOp>(e.loc(), v[0], v[1]);
  }
};

} // namespace

void registerMathRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachCode<DivCode, arith::DivFOp>(context);
    attachCode<RemCode, arith::RemFOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attachCode<SqrtCode, SqrtOp>(context);
    attachCode<MathCode, ExpOp, Exp2Op, ExpM1Op, LogOp, Log2Op, Log10Op, Log1pOp, SinOp, CosOp,
               TanOp, TanhOp, SinhOp, CoshOp, AsinOp, AcosOp, AtanOp, Atan2Op, AsinhOp, AcoshOp,
               AtanhOp, ErfOp, CbrtOp, PowFOp, RsqrtOp, RoundOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    attachCode<SqrtRnCode, tile::SqrtRnOp>(context);
    attachCode<DivRnCode, tile::DivRnOp>(context);
    attachCode<ExternCode, tile::ExternOp>(context);
    attachCode<LibraryCallCode, tile::LibraryCallOp>(context);
  });
}

} // namespace nereid::gpu
