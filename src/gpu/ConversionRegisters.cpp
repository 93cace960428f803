// Conversions between numbers that have instructions of their own.
#include "gpu/ElementwiseModels.h"
#include "gpu/IntegerRange.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

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

// `prmt` of a word and a constant.
Value permuted(RegisterEmitter &e, Value word, uint32_t with, unsigned selector) {
  return e.assembly(("prmt.b32 $0, $1, " + Twine(with) + ", " + Twine(selector) + ";").str(),
                    "=r,r", e.builder.getI32Type(), word, /*pure=*/true);
}
// Which puts the word's bytes, from the first or third on, below two upper bytes of the constant.
constexpr unsigned bytesInHalves[] = {0x4140, 0x4342};

// Bytes of a word become 16-bit integers two at a time.
struct WidenedRegisters : RegisterModel<WidenedRegisters, arith::ExtUIOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Value result = op->getResult(0);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    bool isBytes = type && type.getElementType().isInteger(16) &&
                   tile::elementType(op->getOperand(0).getType()).isInteger(8);
    if (!isBytes)
      return emitElementwise(op, emitter, [&](ValueRange v) { return widened(op, emitter, v[0]); });
    emitInGroups(op, emitter, 4, [&](ValueRange bytes) {
      SmallVector<Value> wide;
      if (Value word = bytes.size() == 4 ? emitter.wordOf(bytes) : Value()) {
        for (unsigned selector : bytesInHalves)
          wide.push_back(permuted(emitter, word, 0, selector));
        return emitter.unpackHalves(wide, emitter.builder.getI16Type());
      }
      for (Value byte : bytes)
        wide.push_back(widened(op, emitter, byte));
      return wide;
    });
  }

private:
  static Value widened(Operation *op, RegisterEmitter &e, Value number) {
    return e.builder.create<arith::ExtUIOp>(e.loc(), resultElement(op), number);
  }
};

// Wider integers that are known to be small, as floats: each is added to the bits of a float of
// whose size one unit is the last bit, and that float is taken off. Where they may be negative it
// is one in the middle of its binade.
//
//   f16: 0x6400 + x is 1024 + x for x of 0 to 1023, 0x6600 + x is 1536 + x for x of -512 to 511
//   bf16: 0x4300 + x is 128 + x for x of 0 to 127, 0x4340 + x is 192 + x for x of -64 to 63
struct SmallIntegers {
  uint32_t bits; ///< of the float that is added and taken off
  double size;
  unsigned perWord; ///< as many as an instruction subtracts at once

  /// Null where the numbers may be larger, or the instruction is as good: of a few, and of truths,
  /// which are selected.
  static std::optional<SmallIntegers> of(Operation *op, Type to) {
    constexpr unsigned few = 4;
    Value source = op->getOperand(0);
    auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    IntegerRange range = rangeOf(source);
    if (!tile || registersOf(layoutOf(tile)) < few || to.isF64() || range.isWithin(0, 1) ||
        (isa<arith::UIToFPOp>(op) && range.isNegative()))
      return std::nullopt;
    if (to.isF16()) {
      if (range.isWithin(0, 1023))
        return SmallIntegers{0x6400, 1024, 2};
      if (range.isWithin(-512, 511))
        return SmallIntegers{0x6600, 1536, 2};
    }
    if (to.isBF16()) {
      if (range.isWithin(0, 127))
        return SmallIntegers{0x4300, 128, 2};
      if (range.isWithin(-64, 63))
        return SmallIntegers{0x4340, 192, 2};
    }
    constexpr int64_t units = 1 << 23;
    if (range.isWithin(0, units - 1))
      return SmallIntegers{0x4b000000, units, 1};
    if (range.isWithin(-units / 2, units / 2 - 1))
      return SmallIntegers{0x4b400000, 1.5 * units, 1};
    return std::nullopt;
  }

  // Two halves, less the size of both.
  static SmallVector<Value> lessSize(RegisterEmitter &e, Value word, Type half, double size) {
    OpBuilder &b = e.builder;
    if (half.isBF16()) {
      uint64_t less =
          b.getFloatAttr(half, -size).getValue().bitcastToAPInt().getZExtValue() * 0x10001;
      return e.unpackHalves(emitHalves(e, HalvesOp::Sum, half, word, e.i32(int32_t(less))), half);
    }
    auto pair = VectorType::get(2, half);
    return e.elementsOf(b.create<arith::SubFOp>(
        e.loc(), e.cast(word, pair),
        b.create<arith::ConstantOp>(e.loc(),
                                    SplatElementsAttr::get(pair, b.getFloatAttr(half, size)))));
  }

  SmallVector<Value> converted(RegisterEmitter &e, ValueRange numbers, Type to) const {
    OpBuilder &b = e.builder;
    Type f32 = b.getF32Type();
    // A second number in the upper half of the word: the lower one is positive by then.
    Value word = inWord(e, numbers[0]);
    if (numbers.size() == 2)
      word = b.create<arith::AddIOp>(
          e.loc(), word, b.create<arith::ShLIOp>(e.loc(), inWord(e, numbers[1]), e.i32(16)));
    word = b.create<arith::AddIOp>(e.loc(), word,
                                   e.i32(int32_t(perWord == 2 ? bits * 0x10001 : bits)));
    if (perWord == 1) {
      Value wide = b.create<arith::SubFOp>(
          e.loc(), b.create<LLVM::BitcastOp>(e.loc(), f32, word),
          b.create<arith::ConstantOp>(e.loc(), b.getF32FloatAttr(float(size))));
      return {transforms::expandFloatConversion(b, e.loc(), wide, f32, to)};
    }
    SmallVector<Value> out = lessSize(e, word, to, size);
    out.resize(numbers.size());
    return out;
  }

private:
  static Value inWord(RegisterEmitter &e, Value number) {
    OpBuilder &b = e.builder;
    unsigned width = number.getType().getIntOrFloatBitWidth();
    if (width == 32)
      return number;
    return width > 32 ? b.create<arith::TruncIOp>(e.loc(), b.getI32Type(), number).getResult()
                      : b.create<arith::ExtSIOp>(e.loc(), b.getI32Type(), number).getResult();
  }
};

// Integers of 8 bits as floats, and others that are known to be small. `I2F` has an eighth of the
// rate of other instructions, so the byte becomes the low bits of a float of whose size one unit is
// the last bit, and that float's size is taken off: 2^23 for f32, 2^10 for f16, of which one
// instruction does two. A negative byte counts from 128 more.
template <typename Op> struct IntegerToFloat : RegisterModel<IntegerToFloat<Op>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Type to = resultElement(op);
    if (registerType(tile::elementType(op->getOperand(0).getType())).isInteger(8) && !to.isF64())
      return emitInGroups(op, emitter, 4,
                          [&](ValueRange bytes) { return converted(emitter, bytes, to); });
    if (auto small = SmallIntegers::of(op, to))
      return emitInGroups(op, emitter, small->perWord, [&](ValueRange numbers) {
        return small->converted(emitter, numbers, to);
      });
    emitElementwise(op, emitter, [&](ValueRange v) -> Value {
      return emitter.builder.create<Op>(emitter.loc(), to, v[0]);
    });
  }

  static SmallVector<Value> converted(RegisterEmitter &e, ValueRange bytes, Type to) {
    OpBuilder &b = e.builder;
    constexpr bool isSigned = std::is_same_v<Op, arith::SIToFPOp>;
    Value word = bytes.size() == 4 ? e.wordOf(bytes) : Value();
    if (word && isSigned)
      word = b.create<arith::XOrIOp>(e.loc(), word, e.i32(int32_t(0x80808080)));
    SmallVector<Value> floats;
    if (word && to.isF16()) {
      for (unsigned selector : bytesInHalves)
        llvm::append_range(floats,
                           SmallIntegers::lessSize(e, permuted(e, word, 0x64646464, selector), to,
                                                   isSigned ? 1024 + 128 : 1024));
      return floats;
    }
    Type f32 = b.getF32Type();
    Value size =
        b.create<arith::ConstantOp>(e.loc(), b.getF32FloatAttr(isSigned ? 8388608 + 128 : 8388608));
    for (auto [k, byte] : llvm::enumerate(bytes)) {
      Value bits;
      if (word) {
        bits = permuted(e, word, 0x4b000000, 0x7440u + unsigned(k));
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
      Value pair = sources.size() == 2 ? e.wordOf(sources) : Value();
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
    if (values.size() == 2)
      return e.elementsOf(e.cast(pair, VectorType::get(2, b.getI8Type())));
    return {b.create<arith::TruncIOp>(e.loc(), b.getI8Type(), pair)};
  }
};

} // namespace

void registerConversionRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ExtUIOp::attachInterface<WidenedRegisters>(*context);
    arith::SIToFPOp::attachInterface<IntegerToFloat<arith::SIToFPOp>>(*context);
    arith::UIToFPOp::attachInterface<IntegerToFloat<arith::UIToFPOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    attachCode<FPToIntCode, tile::FPToIntOp>(context);
    tile::FPConvertOp::attachInterface<FPConvertRegisters>(*context);
  });
}

} // namespace nereid::gpu
