// Elementwise ops: the same op on each register, or the instructions that the processor has for it.
#include "gpu/RegisterModels.h"
#include "ir/FloatOptions.h"
#include "transforms/Expansions.h"
#include "transforms/ExternExpansions.h"
#include "transforms/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;

namespace nereid::gpu {

namespace {

// For each register, the first one that is known to hold the same value: a mask over an aligned
// vector is compared once.
SmallVector<unsigned> firstOfEqual(Operation *op, RegisterEmitter &emitter, unsigned count) {
  LinearLayout layout = layoutOf(op->getResult(0).getType());
  SmallVector<int64_t> run(layout.rank(), std::numeric_limits<int64_t>::max());
  for (Value result : op->getResults())
    for (auto [length, equal] : llvm::zip(run, emitter.axes.facts(result).constancy))
      length = std::min(length, equal);
  SmallVector<unsigned> first(count);
  std::map<std::vector<int64_t>, unsigned> seen;
  for (unsigned reg = 0; reg < count; ++reg) {
    std::vector<int64_t> which;
    for (auto [at, length] : llvm::zip(layout.apply(reg, 0, 0), run))
      which.push_back(at / length);
    first[reg] = seen.try_emplace(which, reg).first->second;
  }
  return first;
}

} // namespace

void emitElementwise(Operation *op, RegisterEmitter &emitter,
                     llvm::function_ref<Value(ValueRange)> compute) {
  Value result = op->getResult(0);
  if (!isa<RankedTensorType>(result.getType())) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emitter.scalar(operand));
    return emitter.setScalar(result, compute(operands));
  }
  unsigned count = registersOf(layoutOf(result.getType()));
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emitter.operand(operand, count));
  SmallVector<unsigned> first = firstOfEqual(op, emitter, count);
  SmallVector<Value> values;
  for (unsigned reg = 0; reg < count; ++reg) {
    if (first[reg] != reg) {
      values.push_back(values[first[reg]]);
      continue;
    }
    SmallVector<Value> one;
    for (auto &operand : operands)
      one.push_back(operand[reg]);
    values.push_back(compute(one));
  }
  emitter.setRegisters(result, std::move(values));
}

namespace {

Type resultElement(Operation *op, unsigned result = 0) {
  return registerType(tile::elementType(op->getResult(result).getType()));
}

template <typename Op> struct SameOp : RegisterModel<SameOp<Op>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    bool tiles = isa<RankedTensorType>(op->getResult(0).getType());
    unsigned count = tiles ? registersOf(layoutOf(op->getResult(0).getType())) : 1;
    SmallVector<unsigned> first =
        tiles ? firstOfEqual(op, emitter, count) : SmallVector<unsigned>{0};
    SmallVector<SmallVector<Value>> results(op->getNumResults());
    for (unsigned reg = 0; reg < count; ++reg) {
      if (first[reg] != reg) {
        for (auto &values : results)
          values.push_back(values[first[reg]]);
        continue;
      }
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, emitter.operand(operand, count)[reg]);
      Operation *copy = emitter.builder.clone(*op, mapping);
      copy->setLoc(emitter.loc());
      for (OpResult value : copy->getResults()) {
        value.setType(resultElement(op, value.getResultNumber()));
        results[value.getResultNumber()].push_back(value);
      }
    }
    for (auto [result, values] : llvm::zip(op->getResults(), results)) {
      if (tiles)
        emitter.setRegisters(result, values);
      else
        emitter.setScalar(result, values[0]);
    }
  }
};

struct ConstantRegisters : RegisterModel<ConstantRegisters, arith::ConstantOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    TypedAttr value = cast<arith::ConstantOp>(op).getValue();
    if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
      if (!dense.isSplat())
        return emitter.unsupported(op, "elements differ");
      value = cast<TypedAttr>(dense.getSplatValue<Attribute>());
    }
    if (auto number = dyn_cast<FloatAttr>(value);
        number && number.getType().getIntOrFloatBitWidth() == 8)
      value = emitter.builder.getIntegerAttr(emitter.builder.getI8Type(),
                                             number.getValue().bitcastToAPInt());
    Value constant = emitter.builder.create<arith::ConstantOp>(emitter.loc(), value);
    emitElementwise(op, emitter, [&](ValueRange) { return constant; });
  }
};

// Elementwise code on one element, written as a function of the emitter.
template <typename Op, typename Code>
struct Elementwise : RegisterModel<Elementwise<Op, Code>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    emitElementwise(op, emitter,
                    [&](ValueRange values) { return Code::emit(cast<Op>(op), emitter, values); });
  }
};

struct SelectCode {
  static Value emit(arith::SelectOp, RegisterEmitter &e, ValueRange v) {
    return e.builder.create<LLVM::SelectOp>(e.loc(), v[0], v[1], v[2]);
  }
};
template <transforms::Total kind> struct TotalCode {
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    return transforms::expandTotal(e.builder, e.loc(), kind, v[0], v[1]);
  }
};
// Both halves of a product of 32 bits come from one instruction. LLVM and the assembler make two of
// them where both are wanted, as Philox does in each of its rounds. Here each half takes the whole
// product, and LLVM drops the copy of it.
Value wholeProduct(RegisterEmitter &e, ValueRange v) {
  return e.assembly("mul.wide.u32 $0, $1, $2;", "=l,r,r", e.builder.getI64Type(), v, /*pure=*/true);
}
bool isSameFactor(Value a, Value b) {
  Attribute x, y;
  return a == b || (matchPattern(a, m_Constant(&x)) && matchPattern(b, m_Constant(&y)) && x == y);
}
// Whether the other half of the product is wanted too, of the factors in this order.
template <typename Half> Half otherHalf(Operation *op) {
  Value a = op->getOperand(0), b = op->getOperand(1);
  if (!tile::elementType(op->getResult(0).getType()).isInteger(32))
    return nullptr;
  for (Value factor : {a, b})
    for (Operation *user : factor.getUsers())
      if (auto half = dyn_cast<Half>(user); half && half->getBlock() == op->getBlock() &&
                                            half.getType() == op->getResult(0).getType() &&
                                            isSameFactor(half.getLhs(), a) &&
                                            isSameFactor(half.getRhs(), b))
        return half;
  return nullptr;
}

struct MulHighCode {
  static Value emit(tile::MulHiUIOp op, RegisterEmitter &e, ValueRange v) {
    if (otherHalf<arith::MulIOp>(op)) {
      Value upper = e.builder.create<arith::ShRUIOp>(e.loc(), wholeProduct(e, v), e.i64(32));
      return e.builder.create<arith::TruncIOp>(e.loc(), v[0].getType(), upper);
    }
    return transforms::expandMulHigh(e.builder, e.loc(), v[0], v[1]);
  }
};
struct MulLowCode {
  static Value emit(arith::MulIOp op, RegisterEmitter &e, ValueRange v) {
    if (otherHalf<tile::MulHiUIOp>(op))
      return e.builder.create<arith::TruncIOp>(e.loc(), v[0].getType(), wholeProduct(e, v));
    return e.builder.create<arith::MulIOp>(e.loc(), v[0], v[1], op.getOverflowFlags());
  }
};
// The instruction saturates, at the bounds of small types too, and gives 0 for NaN, unless one of
// the types has 64 bits.
struct FPToIntCode {
  static Value emit(tile::FPToIntOp op, RegisterEmitter &e, ValueRange v) {
    OpBuilder &b = e.builder;
    Type from = tile::elementType(op.getSource().getType()), type = resultElement(op);
    Value source = v[0];
    if (from.getIntOrFloatBitWidth() < 32 && (!from.isF16() || type.isInteger(1)))
      source = transforms::expandFloatConversion(b, e.loc(), source, from, b.getF32Type());
    if (type.isInteger(1))
      return b.create<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::UNE, source,
                                     e.zero(source.getType()));
    unsigned fromBits = source.getType().getIntOrFloatBitWidth(),
             toBits = type.getIntOrFloatBitWidth();
    std::string text = ("cvt.rzi." + Twine(op.getIsUnsigned() ? "u" : "s") + Twine(toBits) + ".f" +
                        Twine(fromBits) + " $0, $1;")
                           .str();
    StringRef in = fromBits == 64 ? "d" : fromBits == 32 ? "f" : "h";
    std::string constraints = (Twine(toBits == 64 ? "=l," : "=r,") + in).str();
    Value operand = fromBits == 16 ? e.cast(source, b.getI16Type()) : source;
    Value result = e.assembly(text, constraints, b.getIntegerType(std::max(toBits, 32u)), {operand},
                              /*pure=*/true);
    if (fromBits == 64 || toBits == 64) {
      Value isNaN = b.create<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::UNO, source, source);
      result = b.create<LLVM::SelectOp>(e.loc(), isNaN, e.zero(result.getType()), result);
    }
    return toBits < 32 ? Value(b.create<arith::TruncIOp>(e.loc(), type, result)) : result;
  }
};
// Computes the registers of a tile's op on one operand `size` at a time; where there are fewer, or
// the op is on a scalar, `compute` gets fewer. It returns as many as it gets.
void emitInGroups(Operation *op, RegisterEmitter &emitter, unsigned size,
                  llvm::function_ref<SmallVector<Value>(ValueRange)> compute) {
  Value source = op->getOperand(0), result = op->getResult(0);
  if (!isa<RankedTensorType>(result.getType()))
    return emitter.setScalar(result, compute(emitter.scalar(source))[0]);
  unsigned count = registersOf(layoutOf(result.getType()));
  auto sources = emitter.operand(source, count);
  SmallVector<unsigned> first = firstOfEqual(op, emitter, count), own;
  for (unsigned reg = 0; reg < count; ++reg)
    if (first[reg] == reg)
      own.push_back(reg);
  SmallVector<Value> values(count);
  for (ArrayRef<unsigned> rest = own; !rest.empty();) {
    ArrayRef<unsigned> group = rest.take_front(size);
    rest = rest.drop_front(group.size());
    SmallVector<Value> some;
    for (unsigned reg : group)
      some.push_back(sources[reg]);
    for (auto [reg, value] : llvm::zip(group, compute(some)))
      values[reg] = value;
  }
  for (unsigned reg = 0; reg < count; ++reg)
    values[reg] = values[first[reg]];
  emitter.setRegisters(result, std::move(values));
}

// Bytes that are neighbours in a vector, as one number of their bits, where LLVM does not put
// together again what was taken apart; null if they are none.
Value wordOfBytes(RegisterEmitter &e, ValueRange bytes) {
  auto first = bytes[0].getDefiningOp<LLVM::ExtractElementOp>();
  APInt at;
  if (!first || !matchPattern(first.getPosition(), m_ConstantInt(&at)) ||
      at.getZExtValue() % bytes.size())
    return {};
  for (auto [k, byte] : llvm::enumerate(bytes)) {
    auto one = byte.getDefiningOp<LLVM::ExtractElementOp>();
    APInt next;
    if (!one || one.getVector() != first.getVector() ||
        !matchPattern(one.getPosition(), m_ConstantInt(&next)) ||
        next.getZExtValue() != at.getZExtValue() + k)
      return {};
  }
  auto vector = cast<VectorType>(first.getVector().getType());
  Type word = e.builder.getIntegerType(unsigned(8 * bytes.size()));
  int64_t words = vector.getNumElements() / int64_t(bytes.size());
  if (words * int64_t(bytes.size()) != vector.getNumElements())
    return {};
  Value whole =
      e.builder.create<LLVM::BitcastOp>(e.loc(), VectorType::get(words, word), first.getVector());
  return e.builder.create<LLVM::ExtractElementOp>(e.loc(), whole,
                                                  e.i32(int32_t(at.getZExtValue() / bytes.size())));
}

// Integers of 8 bits as floats. `I2F` has an eighth of the rate of other instructions, so the byte
// becomes the low bits of a float of whose size one unit is the last bit, and that float's size is
// taken off: 2^23 for f32, 2^10 for f16, of which one instruction does two. A negative byte counts
// from 128 more.
template <typename Op> struct ByteToFloat : RegisterModel<ByteToFloat<Op>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Type to = resultElement(op);
    if (!registerType(tile::elementType(op->getOperand(0).getType())).isInteger(8) || to.isF64())
      return emitElementwise(op, emitter, [&](ValueRange v) -> Value {
        return emitter.builder.create<Op>(emitter.loc(), to, v[0]);
      });
    emitInGroups(op, emitter, 4, [&](ValueRange bytes) { return converted(emitter, bytes, to); });
  }

  static SmallVector<Value> converted(RegisterEmitter &e, ValueRange bytes, Type to) {
    OpBuilder &b = e.builder;
    constexpr bool isSigned = std::is_same_v<Op, arith::SIToFPOp>;
    Value word = bytes.size() == 4 ? wordOfBytes(e, bytes) : Value();
    if (word && isSigned)
      word = b.create<arith::XOrIOp>(e.loc(), word, e.i32(int32_t(0x80808080)));
    auto permute = [&](Value from, uint32_t with, unsigned selector) {
      return e.assembly(("prmt.b32 $0, $1, " + Twine(with) + ", " + Twine(selector) + ";").str(),
                        "=r,r", b.getI32Type(), from, /*pure=*/true);
    };
    SmallVector<Value> floats;
    if (word && to.isF16()) {
      Type pair = VectorType::get(2, to);
      Value size = b.create<arith::ConstantOp>(
          e.loc(), SplatElementsAttr::get(cast<VectorType>(pair),
                                          b.getFloatAttr(to, isSigned ? 1024 + 128 : 1024)));
      for (unsigned selector : {0x4140u, 0x4342u}) {
        Value halves =
            b.create<LLVM::BitcastOp>(e.loc(), pair, permute(word, 0x64646464, selector));
        llvm::append_range(floats, e.elementsOf(b.create<arith::SubFOp>(e.loc(), halves, size)));
      }
      return floats;
    }
    Type f32 = b.getF32Type();
    Value size =
        b.create<arith::ConstantOp>(e.loc(), b.getF32FloatAttr(isSigned ? 8388608 + 128 : 8388608));
    for (auto [k, byte] : llvm::enumerate(bytes)) {
      Value bits;
      if (word) {
        bits = permute(word, 0x4b000000, 0x7440u + unsigned(k));
      } else {
        bits = b.create<arith::ExtUIOp>(e.loc(), b.getI32Type(), byte);
        bits = b.create<arith::XOrIOp>(e.loc(), bits, e.i32(isSigned ? 0x4b000080 : 0x4b000000));
      }
      Value wide =
          b.create<arith::SubFOp>(e.loc(), b.create<LLVM::BitcastOp>(e.loc(), f32, bits), size);
      floats.push_back(transforms::expandFloatConversion(b, e.loc(), wide, f32, to));
    }
    return floats;
  }
};

// Conversions from and to numbers of 8 bits that have an instruction, which takes two.
class FPConvertRegisters : public RegisterModel<FPConvertRegisters, tile::FPConvertOp> {
public:
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto convert = cast<tile::FPConvertOp>(op);
    Type from = tile::elementType(convert.getSource().getType()),
         to = tile::elementType(convert.getType());
    bool narrows = bool(nameOf(to));
    if (!emitter.chip.can(target::Fp8Convert) || !(nameOf(from) || narrows) || from.isF64() ||
        to.isF64() || (narrows && convert.getRounding() != tile::Rounding::RTNE))
      return emitElementwise(op, emitter, [&](ValueRange v) {
        return transforms::expandFloatConversion(emitter.builder, emitter.loc(), v[0], from, to,
                                                 convert.getRounding());
      });
    emitInGroups(op, emitter, 2, [&](ValueRange values) {
      SmallVector<Value> wide =
          widened(emitter, values, from, narrows ? emitter.builder.getF32Type() : to);
      return narrows ? narrowed(emitter, wide, to) : wide;
    });
  }

private:
  static const char *nameOf(Type type) {
    return isa<Float8E4M3FNType>(type) ? "e4m3x2" : isa<Float8E5M2Type>(type) ? "e5m2x2" : nullptr;
  }

  // One number or two, exactly. Through f16, which has all numbers of 8 bits.
  static SmallVector<Value> widened(RegisterEmitter &e, ValueRange values, Type from, Type to) {
    OpBuilder &b = e.builder;
    SmallVector<Value> sources(values);
    if (const char *name = nameOf(from)) {
      Type i32 = b.getI32Type(), half = b.getF16Type();
      Value pair = sources.size() == 2 ? wordOfBytes(e, sources) : Value();
      if (!pair) {
        pair = b.create<arith::ExtUIOp>(e.loc(), i32, sources[0]);
        if (sources.size() == 2)
          pair = b.create<arith::OrIOp>(
              e.loc(), pair,
              b.create<arith::ShLIOp>(e.loc(), b.create<arith::ExtUIOp>(e.loc(), i32, sources[1]),
                                      e.i32(8)));
        pair = b.create<arith::TruncIOp>(e.loc(), b.getI16Type(), pair);
      }
      Value word = e.assembly((Twine("cvt.rn.f16x2.") + name + " $0, $1;").str(), "=r,h", i32, pair,
                              /*pure=*/true);
      Value halves = b.create<LLVM::BitcastOp>(e.loc(), VectorType::get(2, half), word);
      for (auto [i, source] : llvm::enumerate(sources))
        source = b.create<LLVM::ExtractElementOp>(e.loc(), halves, e.i32(int32_t(i)));
      from = half;
    }
    for (Value &source : sources)
      source = transforms::expandFloatConversion(b, e.loc(), source, from, to);
    return sources;
  }

  // Of f32, to nearest even; what is too large, also infinity, becomes the greatest number.
  static SmallVector<Value> narrowed(RegisterEmitter &e, ValueRange values, Type to) {
    OpBuilder &b = e.builder;
    Value upper = values.size() == 2 ? values[1] : e.zero(b.getF32Type());
    Value pair = e.assembly((Twine("cvt.rn.satfinite.") + nameOf(to) + ".f32 $0, $1, $2;").str(),
                            "=h,f,f", b.getI16Type(), {upper, values[0]}, /*pure=*/true);
    pair = b.create<arith::ExtUIOp>(e.loc(), b.getI32Type(), pair);
    SmallVector<Value> codes = {b.create<arith::TruncIOp>(e.loc(), b.getI8Type(), pair)};
    if (values.size() == 2)
      codes.push_back(b.create<arith::TruncIOp>(e.loc(), b.getI8Type(),
                                                b.create<arith::ShRUIOp>(e.loc(), pair, e.i32(8))));
    return codes;
  }
};
struct CastCode {
  static Value emit(Operation *op, RegisterEmitter &e, ValueRange v) {
    return e.cast(v[0], resultElement(op));
  }
};
struct AddPtrCode {
  static Value emit(tile::AddPtrOp op, RegisterEmitter &e, ValueRange v) {
    OpBuilder &b = e.builder;
    Value offset = v[1];
    if (offset.getType() != b.getI64Type())
      offset = op.getIsUnsigned()
                   ? b.create<arith::ExtUIOp>(e.loc(), b.getI64Type(), offset).getResult()
                   : b.create<arith::ExtSIOp>(e.loc(), b.getI64Type(), offset).getResult();
    Type pointee = cast<tile::PtrType>(tile::elementType(op.getType())).getPointee();
    Type memory = pointee.isInteger(1) ? b.getI8Type() : registerType(pointee);
    return b.create<LLVM::GEPOp>(e.loc(), v[0].getType(), memory, v[0], offset);
  }
};
struct OperandCode {
  static Value emit(Operation *, RegisterEmitter &, ValueRange v) { return v[0]; }
};

// --- functions ---

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
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    FloatAttr divisor;
    if (!v[0].getType().isF32() ||
        (matchPattern(v[1], m_Constant(&divisor)) && divisor.getValue().getExactInverse(nullptr)))
      return e.builder.create<arith::DivFOp>(e.loc(), v[0], v[1]);
    return e.assembly("div.full.f32 $0, $1, $2;", "=f,f,f", v[0].getType(), v, true);
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

// log2(x) of a normal x > 0 as a sum of two floats, to about 32 bits: with x = 2^n m, m near 1 and
// q = 2 (m - 1) / (m + 1), log m = q + q^3 / 12 + q^5 / 80 + ...
std::pair<Value, Value> logarithmInTwo(RegisterEmitter &e, Value x) {
  OpBuilder &b = e.builder;
  constexpr uint32_t rootOfHalf = 0x3f3504f3;
  Value bits = e.cast(x, b.getI32Type());
  Value raised = b.create<arith::SubIOp>(e.loc(), bits, e.i32(rootOfHalf));
  Value count = b.create<arith::ShRSIOp>(e.loc(), raised, e.i32(23));
  Value n = b.create<arith::SIToFPOp>(e.loc(), b.getF32Type(), count);
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
  // Of 0, infinity, NaN, denormal numbers and products that are none, digits do not matter or are
  // not there.
  Value plain = special(e, "ex2.approx.f32", mul(e, y, special(e, "lg2.approx.f32", size)));
  auto compare = [&](arith::CmpFPredicate predicate, Value p, Value q) -> Value {
    return b.create<arith::CmpFOp>(e.loc(), predicate, p, q);
  };
  using P = arith::CmpFPredicate;
  auto isWithin = [&](Value value, double least, double most) {
    return e.both(compare(P::OGE, value, f32(e, least)), compare(P::OLE, value, f32(e, most)));
  };
  Value isNear = e.both(isWithin(size, 0x1p-126, 0x1.fffffep127), isWithin(product, -160, 130));
  Value result = b.create<arith::SelectOp>(e.loc(), isNear, near, plain);
  Value half = mul(e, y, f32(e, 0.5));
  Value isInteger = compare(P::OEQ, b.create<math::FloorOp>(e.loc(), y), y);
  Value isOdd = e.both(isInteger, compare(P::UNE, b.create<math::FloorOp>(e.loc(), half), half));
  Value negative = compare(P::OLT, x, f32(e, 0));
  Value minus = b.create<arith::NegFOp>(e.loc(), result);
  auto select = [&](Value c, Value p, Value q) -> Value {
    return b.create<arith::SelectOp>(e.loc(), c, p, q);
  };
  Value nan = b.create<arith::ConstantOp>(e.loc(), b.getF32FloatAttr(NAN));
  Value signedResult = select(isInteger, select(isOdd, minus, result), nan);
  result = select(negative, signedResult, result);
  // Anything to the power 0, and 1 to any power, is 1.
  Value isOne =
      b.create<arith::OrIOp>(e.loc(), compare(P::OEQ, y, f32(e, 0)), compare(P::OEQ, x, f32(e, 1)));
  return select(isOne, f32(e, 1), result);
}

// A call of CUDA's library of device functions, which is linked when the code is written.
Value callLibdevice(RegisterEmitter &e, const Twine &name, Type result, ValueRange v) {
  OpBuilder &b = e.builder;
  auto module = b.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string symbol = ("__nv_" + name).str();
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

// `exp2` where a launch says `enable_reflect_ftz=False`.
constexpr StringLiteral keptExp2 = "exp2 with subnormal numbers";

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
  // As Triton does: an exponential below the least normal number is zero.
  if (name == "exp2")
    return special(e, "ex2.approx.ftz.f32", v[0]);
  if (name == keptExp2)
    return special(e, "ex2.approx.f32", v[0]);
  if (name == "exp")
    return special(e, "ex2.approx.f32", mul(e, v[0], f32(e, 1.44269504088896341)));
  // `lg2.approx` is good to an absolute 2^-22 only: it has no digits right near 1.
  if (name == "log10")
    return mul(e, emitMath("log", e, v), f32(e, 0.434294481903251828));
  if (name == "exp10")
    return special(e, "ex2.approx.f32", mul(e, v[0], f32(e, 3.32192809488736235)));
  if (name == "rsqrt")
    return special(e, "rsqrt.approx.f32", v[0]);
  if (name == "powf")
    return power(e, v[0], v[1]);
  transforms::MathBase base;
  auto exp = [&](Value x) { return emitMath("exp", e, x); };
  auto divide = [&](Value x, Value y) { return DivCode::emit(nullptr, e, {x, y}); };
  base.exp = exp;
  base.divide = divide;
  return transforms::expandMath(b, e.loc(), name, v, base);
}

struct MathCode {
  static Value emit(Operation *op, RegisterEmitter &e, ValueRange v) {
    StringRef name = op->getName().stripDialect();
    if (name == "exp2" && op->getParentOfType<ModuleOp>()->hasAttr(tile::noReflectFtzAttr))
      name = keptExp2;
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
    if (v[0].getType().isF32() && (name == "expf" || name == "exp10f"))
      return exactExponential(e, v[0], name == "expf" ? M_E : 10);
    value = transforms::expandExtern(
        e.builder, e.loc(), name, v, resultElement(op),
        [&](StringRef function, ValueRange values) { return emitMath(function, e, values); });
    return value ? value : callLibdevice(e, name, resultElement(op), v);
  }
};
// As Triton's `tl.sqrt`: 1 ulp.
struct SqrtCode {
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    if (!v[0].getType().isF32())
      return e.builder.create<math::SqrtOp>(e.loc(), v[0]);
    return special(e, "sqrt.approx.f32", v[0]);
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

template <template <typename> typename Model, typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}
template <typename Code, typename... Ops> void attachCode(MLIRContext *context) {
  (Ops::template attachInterface<Elementwise<Ops, Code>>(*context), ...);
}

} // namespace

void registerElementwiseRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    attach<SameOp, AddFOp, SubFOp, MulFOp, NegFOp, MaximumFOp, MinimumFOp, MaxNumFOp, MinNumFOp,
           AddIOp, SubIOp, DivSIOp, DivUIOp, RemSIOp, RemUIOp, AndIOp, OrIOp, XOrIOp, ShLIOp,
           ShRSIOp, ShRUIOp, MaxSIOp, MaxUIOp, MinSIOp, MinUIOp, CmpIOp, CmpFOp, ExtFOp, TruncFOp,
           ExtSIOp, ExtUIOp, TruncIOp, FPToSIOp, FPToUIOp, BitcastOp, AddUIExtendedOp,
           MulSIExtendedOp, MulUIExtendedOp>(context);
    attach<ByteToFloat, SIToFPOp, UIToFPOp>(context);
    attachCode<MulLowCode, MulIOp>(context);
    ConstantOp::attachInterface<ConstantRegisters>(*context);
    attachCode<DivCode, DivFOp>(context);
    attachCode<RemCode, RemFOp>(context);
    attachCode<SelectCode, SelectOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attach<SameOp, AbsFOp, AbsIOp, CeilOp, FloorOp, TruncOp, RoundEvenOp, FmaOp, CopySignOp,
           CountLeadingZerosOp, CountTrailingZerosOp, CtPopOp>(context);
    attachCode<SqrtCode, SqrtOp>(context);
    attachCode<MathCode, ExpOp, Exp2Op, ExpM1Op, LogOp, Log2Op, Log10Op, Log1pOp, SinOp, CosOp,
               TanOp, TanhOp, SinhOp, CoshOp, AsinOp, AcosOp, AtanOp, Atan2Op, AsinhOp, AcoshOp,
               AtanhOp, ErfOp, CbrtOp, PowFOp, RsqrtOp, RoundOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    using transforms::Total;
    attachCode<TotalCode<Total::DivS>, DivSIOp>(context);
    attachCode<TotalCode<Total::DivU>, DivUIOp>(context);
    attachCode<TotalCode<Total::RemS>, RemSIOp>(context);
    attachCode<TotalCode<Total::RemU>, RemUIOp>(context);
    attachCode<TotalCode<Total::ShL>, ShLOp>(context);
    attachCode<TotalCode<Total::ShRS>, ShRSOp>(context);
    attachCode<TotalCode<Total::ShRU>, ShRUOp>(context);
    attachCode<MulHighCode, MulHiUIOp>(context);
    attachCode<FPToIntCode, FPToIntOp>(context);
    FPConvertOp::attachInterface<FPConvertRegisters>(*context);
    attachCode<CastCode, BitcastOp, PtrToIntOp, IntToPtrOp>(context);
    attachCode<AddPtrCode, AddPtrOp>(context);
    attachCode<OperandCode, HintOp>(context);
    attachCode<SqrtRnCode, SqrtRnOp>(context);
    attachCode<DivRnCode, DivRnOp>(context);
    attachCode<ExternCode, ExternOp>(context);
  });
}

} // namespace nereid::gpu
