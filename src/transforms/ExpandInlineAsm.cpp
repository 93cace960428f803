#include "transforms/ExpandInlineAsm.h"

#include "ir/AsmOperands.h"
#include "ir/PtxText.h"
#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

using ptx::Kind;
using ptx::Operand;
using ptx::Statement;

// Runs statements on registers that are integers: scalars, or tiles with an element a register.
class Emitter {
public:
  // `like` has the shape of every register.
  Emitter(OpBuilder &b, Location loc, Type like, unsigned count)
      : b(b), loc(loc), shape(dyn_cast<RankedTensorType>(like)), registers(count) {}

  void run(const ptx::Text &text) {
    for (const Statement &statement : text.statements)
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
    return shape ? Type(RankedTensorType::get(shape.getShape(), element)) : element;
  }
  Type integerType(unsigned width) { return shaped(b.getIntegerType(width)); }
  Value constant(TypedAttr value) {
    if (shape)
      value = DenseElementsAttr::get(cast<ShapedType>(shaped(value.getType())), Attribute(value));
    return b.create<arith::ConstantOp>(loc, value);
  }
  Value integer(uint64_t value, unsigned width) {
    return constant(b.getIntegerAttr(b.getIntegerType(width),
                                     APInt(64, value).zextOrTrunc(width).getSExtValue()));
  }
  Value real(double value, Type element) { return constant(b.getFloatAttr(element, value)); }
  static unsigned widthOf(Value value) {
    return getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  }
  Value resized(Value value, unsigned width, bool isSigned = false) {
    unsigned now = widthOf(value);
    if (now == width)
      return value;
    if (now > width)
      return b.create<arith::TruncIOp>(loc, integerType(width), value);
    return isSigned ? b.create<arith::ExtSIOp>(loc, integerType(width), value).getResult()
                    : b.create<arith::ExtUIOp>(loc, integerType(width), value).getResult();
  }
  Value shiftedRight(Value value, unsigned by) {
    return by ? make<tile::ShRUOp>(value, integer(by, widthOf(value))) : value;
  }
  Value shiftedLeft(Value value, unsigned by) {
    return by ? make<tile::ShLOp>(value, integer(by, widthOf(value))) : value;
  }
  Value asBits(Value value) {
    Type element = getElementTypeOrSelf(value);
    if (isa<tile::PtrType>(element))
      return b.create<tile::PtrToIntOp>(loc, integerType(64), value);
    if (isa<IntegerType>(element))
      return value;
    return b.create<tile::BitcastOp>(loc, integerType(widthOf(value)), value);
  }
  Value fromBits(Value value, Type element) {
    if (isa<tile::PtrType>(element))
      return b.create<tile::IntToPtrOp>(loc, shaped(element), value);
    if (isa<IntegerType>(element))
      return value;
    return b.create<tile::BitcastOp>(loc, shaped(element), value);
  }
  // The values side by side, the first in the lowest bits.
  Value packed(ArrayRef<Value> parts, unsigned width) {
    Value all;
    for (auto [i, part] : llvm::enumerate(parts)) {
      Value moved = shiftedLeft(resized(part, width), i * widthOf(part));
      all = all ? make<arith::OrIOp>(all, moved) : moved;
    }
    return all;
  }

private:
  template <typename Op> Value make(Value x, Value y) { return b.create<Op>(loc, x, y); }
  Value select(Value condition, Value x, Value y) {
    return b.create<arith::SelectOp>(loc, condition, x, y);
  }
  Value compareFloats(arith::CmpFPredicate predicate, Value x, Value y) {
    return b.create<arith::CmpFOp>(loc, predicate, x, y);
  }
  Value compareIntegers(arith::CmpIPredicate predicate, Value x, Value y) {
    return b.create<arith::CmpIOp>(loc, predicate, x, y);
  }
  Value function(StringRef symbol, Value x) {
    return b.create<tile::ExternOp>(loc, x.getType(), ("__nv_" + symbol).str(), x);
  }

  [[noreturn]] void unknown(const Statement &s) const {
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

  Value read(const Statement &s, const Operand &operand, const ptx::Type &type) {
    switch (operand.form) {
    case Operand::Form::Register:
      return bitsOf(operand.reg, type.width());
    case Operand::Form::Integer:
      return integer(operand.integer, type.width());
    case Operand::Form::Real:
      if (Type element = floatType(type); element && type.lanes == 1)
        return asBits(real(operand.real, element));
      break;
    default:
      break;
    }
    unknown(s);
  }
  void write(const Operand &operand, Value value, Value guard) {
    if (operand.form != Operand::Form::Register)
      return;
    Value &reg = registers[operand.reg];
    reg = guard ? select(guard, value, bitsOf(operand.reg, widthOf(value))) : value;
  }

  void run(const Statement &s) {
    // What orders programs or spends time: nothing to do where each runs in its own order.
    if (s.operation() == "griddepcontrol" || s.operation() == "nanosleep")
      return;
    bool traps = s.operation() == "trap";
    if (!traps && (s.types.empty() || s.arguments.empty()))
      unknown(s);
    Value guard;
    if (s.guard) {
      guard = read(s, *s.guard, {Kind::Predicate, 1});
      if (s.guardIsNegated)
        guard = make<arith::XOrIOp>(guard, integer(1, 1));
    }
    if (traps)
      return trap(guard);
    if (s.operation() == "mov" && s.arguments.size() == 2 &&
        s.arguments[0].form == Operand::Form::List) {
      const std::vector<Operand> &parts = s.arguments[0].parts;
      unsigned width = s.types[0].width() / parts.size();
      Value whole = read(s, s.arguments[1], s.types[0]);
      for (auto [i, part] : llvm::enumerate(parts))
        write(part, resized(shiftedRight(whole, i * width), width), guard);
      return;
    }
    write(s.arguments[0], result(s), guard);
  }

  // A failed assertion: the launch ends with an error, and the process goes on.
  void trap(Value guard) {
    Value holds = guard ? make<arith::XOrIOp>(guard, integer(1, 1))
                        : b.create<arith::ConstantOp>(loc, b.getBoolAttr(false)).getResult();
    b.create<tile::AssertOp>(loc, holds, ptx::trapMessage, /*mask=*/Value());
  }

  void takes(const Statement &s, size_t least, size_t most) {
    if (s.arguments.size() < least || s.arguments.size() > most)
      unknown(s);
  }

  Value result(const Statement &s) {
    const ptx::Type &type = s.types[0];
    const std::string &operation = s.operation();
    auto in = [&](size_t i) { return read(s, s.arguments[i], type); };
    auto predicate = [&](size_t i) { return read(s, s.arguments[i], {Kind::Predicate, 1}); };
    auto number = [&](size_t i) -> uint64_t { // an operand that must be known
      if (s.arguments[i].form != Operand::Form::Integer)
        unknown(s);
      return s.arguments[i].integer;
    };
    if (operation == "mov") {
      takes(s, 2, 2);
      if (s.arguments[1].form != Operand::Form::List)
        return in(1);
      ptx::Type part{Kind::Bits, unsigned(type.width() / s.arguments[1].parts.size())};
      SmallVector<Value> parts;
      for (const Operand &operand : s.arguments[1].parts)
        parts.push_back(read(s, operand, part));
      return packed(parts, type.width());
    }
    if (operation == "cvt")
      return converted(s);
    if (operation == "setp")
      return comparison(s);
    if (operation == "selp") {
      takes(s, 4, 4);
      return select(predicate(3), in(1), in(2));
    }
    if (operation == "lop3") {
      takes(s, 5, 5);
      return lookUp(in(1), in(2), in(3), number(4));
    }
    if (operation == "prmt" && s.words.size() == 2) {
      takes(s, 4, 4);
      Value bytes[] = {in(1), in(2)};
      return chosenBytes(packed(bytes, 64), in(3));
    }
    if (operation == "shf") {
      takes(s, 4, 4);
      Value halves[] = {in(1), in(2)};
      Value both = packed(halves, 64), by = in(3);
      by = s.has("wrap") ? make<arith::AndIOp>(by, integer(31, 32))
                         : make<arith::MinUIOp>(by, integer(32, 32));
      by = resized(by, 64);
      return resized(s.has("l") ? shiftedRight(make<tile::ShLOp>(both, by), 32)
                                : make<tile::ShRUOp>(both, by),
                     32);
    }
    if (operation == "bfe" && type.kind == Kind::Unsigned) {
      takes(s, 4, 4);
      Value first = resized(byteOf(s, 2), type.bits);
      return make<arith::AndIOp>(make<tile::ShRUOp>(in(1), first), lowBits(s, 3, type.bits));
    }
    if (operation == "bfi") {
      takes(s, 5, 5);
      Value first = resized(byteOf(s, 3), type.bits);
      Value mask = make<tile::ShLOp>(lowBits(s, 4, type.bits), first);
      Value field = make<arith::AndIOp>(make<tile::ShLOp>(in(1), first), mask);
      Value rest = make<arith::AndIOp>(in(2), make<arith::XOrIOp>(mask, integer(~0ull, type.bits)));
      return make<arith::OrIOp>(rest, field);
    }
    if (operation == "dp4a") {
      takes(s, 4, 4);
      bool isSigned[] = {type.kind == Kind::Signed, s.types.back().kind == Kind::Signed};
      Value sum = in(3);
      for (unsigned i = 0; i < 4; ++i) {
        auto byte = [&](unsigned k) {
          return resized(resized(shiftedRight(in(k + 1), 8 * i), 8), 32, isSigned[k]);
        };
        sum = make<arith::AddIOp>(sum, make<arith::MulIOp>(byte(0), byte(1)));
      }
      return sum;
    }
    takes(s, 2, 4);
    return type.kind == Kind::Float ? floatResult(s) : integerResult(s);
  }

  // --- bits ---

  Value byteOf(const Statement &s, size_t argument) {
    return make<arith::AndIOp>(read(s, s.arguments[argument], {}), integer(0xff, 32));
  }
  // As many ones as an operand says.
  Value lowBits(const Statement &s, size_t argument, unsigned width) {
    Value length = byteOf(s, argument);
    Value ones = make<arith::SubIOp>(make<tile::ShLOp>(integer(1, width), resized(length, width)),
                                     integer(1, width));
    // A shift by the width or more gives 0, and 0 - 1 all ones.
    return ones;
  }
  Value lookUp(Value a, Value b, Value c, uint64_t table) {
    Value ones = integer(~0ull, widthOf(a)), all = integer(0, widthOf(a));
    auto either = [&](Value value, bool isSet) {
      return isSet ? value : make<arith::XOrIOp>(value, ones);
    };
    for (unsigned i = 0; i < 8; ++i)
      if (table >> i & 1)
        all = make<arith::OrIOp>(
            all, make<arith::AndIOp>(make<arith::AndIOp>(either(a, i & 4), either(b, i & 2)),
                                     either(c, i & 1)));
    return all;
  }
  // Bytes of eight by the nibbles of a selector, whose upper bit repeats the sign of the byte.
  Value chosenBytes(Value bytes, Value selector) {
    Value all = integer(0, 32);
    for (unsigned i = 0; i < 4; ++i) {
      Value nibble = make<arith::AndIOp>(shiftedRight(selector, 4 * i), integer(0xf, 32));
      Value at = make<tile::ShLOp>(make<arith::AndIOp>(nibble, integer(7, 32)), integer(3, 32));
      Value byte = resized(make<tile::ShRUOp>(bytes, resized(at, 64)), 8);
      Value isSign = compareIntegers(arith::CmpIPredicate::ne,
                                     make<arith::AndIOp>(nibble, integer(8, 32)), integer(0, 32));
      byte = select(isSign, make<tile::ShRSOp>(byte, integer(7, 8)), byte);
      all = make<arith::OrIOp>(all, shiftedLeft(resized(byte, 32), 8 * i));
    }
    return all;
  }

  // --- comparisons ---

  Value comparison(const Statement &s) { // setp.cmp[.and|or|xor].type p, a, b[, c]
    takes(s, 3, 4);
    const ptx::Type &type = s.types[0];
    StringRef how = s.words[1];
    Value x = read(s, s.arguments[1], type), y = read(s, s.arguments[2], type), truth;
    if (type.kind == Kind::Float) {
      Type element = floatType(type);
      if (!element || type.lanes != 1)
        unknown(s);
      using P = arith::CmpFPredicate;
      auto predicate = llvm::StringSwitch<std::optional<P>>(how)
                           .Case("eq", P::OEQ)
                           .Case("ne", P::ONE)
                           .Cases("lt", "lo", P::OLT)
                           .Cases("le", "ls", P::OLE)
                           .Cases("gt", "hi", P::OGT)
                           .Cases("ge", "hs", P::OGE)
                           .Case("equ", P::UEQ)
                           .Case("neu", P::UNE)
                           .Case("ltu", P::ULT)
                           .Case("leu", P::ULE)
                           .Case("gtu", P::UGT)
                           .Case("geu", P::UGE)
                           .Case("num", P::ORD)
                           .Case("nan", P::UNO)
                           .Default(std::nullopt);
      if (!predicate)
        unknown(s);
      bool flushes = s.has("ftz") && element.isF32();
      truth = compareFloats(*predicate, flushed(fromBits(x, element), flushes),
                            flushed(fromBits(y, element), flushes));
    } else {
      bool isSigned = type.kind == Kind::Signed;
      using P = arith::CmpIPredicate;
      auto predicate = llvm::StringSwitch<std::optional<P>>(how)
                           .Case("eq", P::eq)
                           .Case("ne", P::ne)
                           .Cases("lt", "lo", isSigned ? P::slt : P::ult)
                           .Cases("le", "ls", isSigned ? P::sle : P::ule)
                           .Cases("gt", "hi", isSigned ? P::sgt : P::ugt)
                           .Cases("ge", "hs", isSigned ? P::sge : P::uge)
                           .Default(std::nullopt);
      if (!predicate)
        unknown(s);
      truth = compareIntegers(*predicate, x, y);
    }
    if (s.arguments.size() == 3)
      return truth;
    Value other = read(s, s.arguments[3], {Kind::Predicate, 1});
    if (s.has("and"))
      return make<arith::AndIOp>(truth, other);
    if (s.has("or"))
      return make<arith::OrIOp>(truth, other);
    if (s.has("xor"))
      return make<arith::XOrIOp>(truth, other);
    unknown(s);
  }

  // --- integers ---

  Value integerResult(const Statement &s) {
    const ptx::Type &type = s.types[0];
    StringRef operation = s.operation();
    unsigned bits = type.bits;
    bool isSigned = type.kind == Kind::Signed;
    auto in = [&](size_t i) { return read(s, s.arguments[i], type); };
    auto wide = [&](Value value) { return resized(value, 2 * bits, isSigned); };
    if (operation == "mul" || operation == "mad") {
      takes(s, operation == "mul" ? 3 : 4, operation == "mul" ? 3 : 4);
      Value product;
      if (s.has("wide") || (s.has("hi") && bits < 64)) {
        product = make<arith::MulIOp>(wide(in(1)), wide(in(2)));
        if (s.has("hi"))
          product = resized(shiftedRight(product, bits), bits);
      } else if (s.has("hi")) {
        if (isSigned)
          unknown(s);
        product = make<tile::MulHiUIOp>(in(1), in(2));
      } else {
        product = make<arith::MulIOp>(in(1), in(2));
      }
      if (operation == "mul")
        return product;
      ptx::Type third{type.kind, widthOf(product)};
      return make<arith::AddIOp>(product, read(s, s.arguments[3], third));
    }
    if ((operation == "add" || operation == "sub") && s.has("sat")) {
      if (bits != 32 || !isSigned)
        unknown(s);
      Value sum = operation == "add" ? make<arith::AddIOp>(wide(in(1)), wide(in(2)))
                                     : make<arith::SubIOp>(wide(in(1)), wide(in(2)));
      sum = make<arith::MaxSIOp>(sum, integer(uint64_t(int64_t(INT32_MIN)), 64));
      return resized(make<arith::MinSIOp>(sum, integer(INT32_MAX, 64)), 32);
    }
    bool isShift = operation == "shl" || operation == "shr";
    if (isShift) {
      takes(s, 3, 3);
      Value by = read(s, s.arguments[2], {Kind::Unsigned, 32});
      // Amounts beyond the width give the same as the width, which fits any type.
      by = resized(make<arith::MinUIOp>(by, integer(bits, 32)), bits);
      return operation == "shl" ? make<tile::ShLOp>(in(1), by)
             : isSigned         ? make<tile::ShRSOp>(in(1), by)
                                : make<tile::ShRUOp>(in(1), by);
    }
    if (s.arguments.size() == 3) {
      Value x = in(1), y = in(2);
      if (operation == "add")
        return make<arith::AddIOp>(x, y);
      if (operation == "sub")
        return make<arith::SubIOp>(x, y);
      if (operation == "div")
        return isSigned ? make<tile::DivSIOp>(x, y) : make<tile::DivUIOp>(x, y);
      if (operation == "rem")
        return isSigned ? make<tile::RemSIOp>(x, y) : make<tile::RemUIOp>(x, y);
      if (operation == "min")
        return isSigned ? make<arith::MinSIOp>(x, y) : make<arith::MinUIOp>(x, y);
      if (operation == "max")
        return isSigned ? make<arith::MaxSIOp>(x, y) : make<arith::MaxUIOp>(x, y);
      if (operation == "and")
        return make<arith::AndIOp>(x, y);
      if (operation == "or")
        return make<arith::OrIOp>(x, y);
      if (operation == "xor")
        return make<arith::XOrIOp>(x, y);
    } else if (s.arguments.size() == 2) {
      Value x = in(1), zero = integer(0, bits);
      if (operation == "neg")
        return make<arith::SubIOp>(zero, x);
      if (operation == "abs")
        return make<arith::MaxSIOp>(x, make<arith::SubIOp>(zero, x));
      if (operation == "not")
        return make<arith::XOrIOp>(x, integer(~0ull, bits));
      if (operation == "cnot")
        return resized(compareIntegers(arith::CmpIPredicate::eq, x, zero), bits);
      bool isLong = bits == 64;
      if (operation == "popc")
        return resized(function(isLong ? "popcll" : "popc", x), 32);
      if (operation == "clz")
        return resized(function(isLong ? "clzll" : "clz", x), 32);
      if (operation == "brev")
        return function(isLong ? "brevll" : "brev", x);
    }
    unknown(s);
  }

  // --- floats ---

  Value flushed(Value x, bool flushes) {
    if (!flushes)
      return x;
    Value size = b.create<math::AbsFOp>(loc, x);
    Value tiny = compareFloats(arith::CmpFPredicate::OLT, size, real(0x1p-126, b.getF32Type()));
    Value zero = b.create<math::CopySignOp>(loc, real(0, b.getF32Type()), x);
    return select(tiny, zero, x);
  }
  Value toFloat(Value x, Type element, bool towardsZero = false) {
    Type to = shaped(element);
    if (x.getType() == to)
      return x;
    return b.create<tile::FPConvertOp>(loc, to, x,
                                       towardsZero ? tile::Rounding::RTZ : tile::Rounding::RTNE);
  }

  Value minOrMax(Value x, Value y, const Statement &s) {
    Value sign;
    if (s.has("xorsign")) {
      sign = make<arith::XOrIOp>(asBits(x), asBits(y));
      sign = fromBits(sign, getElementTypeOrSelf(x));
    }
    if (s.has("abs")) {
      x = b.create<math::AbsFOp>(loc, x);
      y = b.create<math::AbsFOp>(loc, y);
    }
    bool isMax = s.operation() == "max";
    Value result = s.has("NaN")
                       ? isMax ? make<arith::MaximumFOp>(x, y) : make<arith::MinimumFOp>(x, y)
                   : isMax ? make<arith::MaxNumFOp>(x, y)
                           : make<arith::MinNumFOp>(x, y);
    return sign ? b.create<math::CopySignOp>(loc, result, sign).getResult() : result;
  }

  // x + y in f64 of which the bits that f32 drops may be dropped: one less where rounding took the
  // sum away from zero.
  Value sumTowardsZero(Value x, Value y) {
    Value sum = make<arith::AddFOp>(x, y), added = make<arith::SubFOp>(sum, x);
    Value lost = make<arith::AddFOp>(make<arith::SubFOp>(x, make<arith::SubFOp>(sum, added)),
                                     make<arith::SubFOp>(y, added));
    Value zero = real(0, b.getF64Type());
    using P = arith::CmpFPredicate;
    auto both = [&](P first, P second) {
      return make<arith::AndIOp>(compareFloats(first, lost, zero),
                                 compareFloats(second, sum, zero));
    };
    Value isBeyond = make<arith::OrIOp>(both(P::OLT, P::OGT), both(P::OGT, P::OLT));
    Value less = fromBits(make<arith::SubIOp>(asBits(sum), integer(1, 64)), b.getF64Type());
    return select(isBeyond, less, sum);
  }

  // One lane. Narrow types are computed in a wider one and rounded once.
  Value floatFunction(const Statement &s, Type element, ArrayRef<Value> in) {
    StringRef operation = s.operation();
    bool towardsZero = s.has("rz");
    bool isFused = operation == "fma" || operation == "mad";
    if (operation == "abs" && in.size() == 1)
      return b.create<math::AbsFOp>(loc, in[0]);
    if (operation == "neg" && in.size() == 1)
      return b.create<arith::NegFOp>(loc, in[0]);
    if (operation == "copysign" && in.size() == 2)
      return b.create<math::CopySignOp>(loc, in[1], in[0]);
    if (operation == "min" || operation == "max") {
      if (in.size() != 2 && in.size() != 3)
        unknown(s);
      Value result = minOrMax(in[0], in[1], s);
      return in.size() == 3 ? minOrMax(result, in[2], s) : result;
    }
    bool isNarrow = element.getIntOrFloatBitWidth() < 32;
    Type wide = towardsZero || (isNarrow && isFused) ? Type(b.getF64Type())
                : isNarrow                           ? Type(b.getF32Type())
                                                     : element;
    SmallVector<Value> v;
    for (Value x : in)
      v.push_back(toFloat(x, wide));
    auto done = [&](Value x) { return toFloat(x, element, towardsZero); };
    if (isFused && v.size() == 3)
      return done(towardsZero ? sumTowardsZero(make<arith::MulFOp>(v[0], v[1]), v[2])
                              : b.create<math::FmaOp>(loc, v[0], v[1], v[2]).getResult());
    if (v.size() == 2) {
      if (towardsZero && (operation == "add" || operation == "sub"))
        return done(sumTowardsZero(
            v[0], operation == "add" ? v[1] : b.create<arith::NegFOp>(loc, v[1]).getResult()));
      if (operation == "add")
        return done(make<arith::AddFOp>(v[0], v[1]));
      if (operation == "sub")
        return done(make<arith::SubFOp>(v[0], v[1]));
      if (operation == "mul")
        return done(make<arith::MulFOp>(v[0], v[1]));
      if (operation == "div")
        return done(make<tile::DivRnOp>(v[0], v[1]));
    }
    if (v.size() == 1) {
      Value one = real(1, wide);
      if (operation == "rcp")
        return done(make<tile::DivRnOp>(one, v[0]));
      if (operation == "sqrt")
        return done(b.create<tile::SqrtRnOp>(loc, v[0]));
      if (operation == "rsqrt")
        return done(b.create<math::RsqrtOp>(loc, v[0]));
      if (operation == "ex2")
        return done(b.create<math::Exp2Op>(loc, v[0]));
      if (operation == "lg2")
        return done(b.create<math::Log2Op>(loc, v[0]));
      if (operation == "sin")
        return done(b.create<math::SinOp>(loc, v[0]));
      if (operation == "cos")
        return done(b.create<math::CosOp>(loc, v[0]));
      if (operation == "tanh")
        return done(function(wide.isF64() ? "tanh" : "tanhf", v[0]));
    }
    unknown(s);
  }

  Value floatResult(const Statement &s) {
    const ptx::Type &type = s.types[0];
    Type element = floatType(type);
    if (!element || type.bits < 16 || s.has("rm") || s.has("rp") ||
        (type.bits == 64 && s.has("rz")))
      unknown(s);
    bool flushes = s.has("ftz") && element.isF32();
    SmallVector<Value> words, lanes;
    for (const Operand &operand : llvm::ArrayRef(s.arguments).drop_front())
      words.push_back(read(s, operand, type));
    for (unsigned lane = 0; lane < type.lanes; ++lane) {
      SmallVector<Value> in;
      for (Value word : words)
        in.push_back(flushed(
            fromBits(resized(shiftedRight(word, lane * type.bits), type.bits), element), flushes));
      Value x = floatFunction(s, element, in), zero = real(0, element);
      if (s.has("relu"))
        x = select(compareFloats(arith::CmpFPredicate::UGT, x, zero), x, zero);
      if (s.has("sat"))
        x = make<arith::MinNumFOp>(make<arith::MaxNumFOp>(x, zero), real(1, element));
      lanes.push_back(asBits(flushed(x, flushes)));
    }
    return packed(lanes, type.width());
  }

  // --- conversions ---

  Value converted(const Statement &s) {
    if (s.types.size() != 2 || s.has("rm") || s.has("rp") || s.has("rs"))
      unknown(s);
    const ptx::Type &to = s.types[0], &from = s.types[1];
    if (to.lanes == 2 && from.lanes == 1 && s.arguments.size() == 3) {
      // The first source goes to the upper half.
      Value halves[] = {convertedLane(s, read(s, s.arguments[2], from)),
                        convertedLane(s, read(s, s.arguments[1], from))};
      return packed(halves, to.width());
    }
    if (to.lanes != from.lanes || s.arguments.size() != 2)
      unknown(s);
    Value word = read(s, s.arguments[1], from);
    SmallVector<Value> lanes;
    for (unsigned lane = 0; lane < to.lanes; ++lane)
      lanes.push_back(convertedLane(s, resized(shiftedRight(word, lane * from.bits), from.bits)));
    Value result = packed(lanes, to.width());
    // A register is wider than the type: signed values are extended into it.
    return to.kind == Kind::Signed ? resized(result, 64, /*isSigned=*/true) : result;
  }

  Value convertedLane(const Statement &s, Value bits) {
    const ptx::Type &to = s.types[0], &from = s.types[1];
    bool toFloats = to.kind == Kind::Float, toSigned = to.kind == Kind::Signed;
    Type target = toFloats ? floatType(to) : b.getIntegerType(to.bits);
    if (from.kind != Kind::Float) {
      bool isSigned = from.kind == Kind::Signed;
      if (toFloats) {
        // Exact in f64 up to 53 bits, and rounded once from there.
        if (!target || (from.bits == 64 && !target.isF64()))
          unknown(s);
        Type wide = shaped(b.getF64Type());
        Value x = isSigned ? b.create<arith::SIToFPOp>(loc, wide, bits).getResult()
                           : b.create<arith::UIToFPOp>(loc, wide, bits).getResult();
        return asBits(toFloat(x, target, s.has("rz")));
      }
      if (!s.has("sat"))
        return resized(bits, to.bits, isSigned);
      if (from.bits == 64 || to.bits == 64)
        unknown(s);
      Value x = resized(bits, 64, isSigned);
      int64_t low = toSigned ? -(int64_t(1) << (to.bits - 1)) : 0;
      int64_t high = (int64_t(1) << (toSigned ? to.bits - 1 : to.bits)) - 1;
      x = make<arith::MaxSIOp>(x, integer(uint64_t(low), 64));
      return resized(make<arith::MinSIOp>(x, integer(uint64_t(high), 64)), to.bits);
    }
    Type source = floatType(from);
    if (!source || !target)
      unknown(s);
    Value x = flushed(fromBits(bits, source), s.has("ftz") && source.isF32());
    if (s.has("rzi"))
      x = b.create<math::TruncOp>(loc, x);
    else if (s.has("rmi"))
      x = b.create<math::FloorOp>(loc, x);
    else if (s.has("rpi"))
      x = b.create<math::CeilOp>(loc, x);
    else if (s.has("rni"))
      x = b.create<math::RoundEvenOp>(loc, x);
    else if (!toFloats)
      unknown(s);
    if (!toFloats)
      return b.create<tile::FPToIntOp>(loc, integerType(to.bits), x, !toSigned);
    Value zero = real(0, source);
    if (s.has("relu"))
      x = select(compareFloats(arith::CmpFPredicate::UGT, x, zero), x, zero);
    if (s.has("sat"))
      x = make<arith::MinNumFOp>(make<arith::MaxNumFOp>(x, zero), real(1, source));
    if (to.name == "tf32") {
      // To the nearest of ten bits, ties away from zero.
      if (!s.has("rna") || !source.isF32())
        unknown(s);
      Value rounded = make<arith::AndIOp>(make<arith::AddIOp>(asBits(x), integer(0x1000, 32)),
                                          integer(0xffffe000, 32));
      Value finite = compareFloats(arith::CmpFPredicate::OLT, b.create<math::AbsFOp>(loc, x),
                                   real(INFINITY, source));
      return select(finite, rounded, asBits(x));
    }
    if (s.has("satfinite") && to.bits > 8)
      unknown(s);
    return asBits(toFloat(x, target, s.has("rz")));
  }

  OpBuilder &b;
  Location loc;
  RankedTensorType shape;
  std::vector<Value> registers;
};

// The registers of one group of elements before and after the text.
SmallVector<Value> emit(Emitter &e, const tile::AsmOperands &operands, const ptx::Text &text,
                        ValueRange elements, TypeRange outputs) {
  unsigned at = operands.outputRegisters;
  size_t next = 0;
  for (const tile::AsmPacking &packing : operands.inputs)
    for (unsigned r = 0; r < packing.registers; ++r, ++at) {
      SmallVector<Value> parts;
      for (unsigned i = 0; i < packing.elementsIn(r); ++i)
        parts.push_back(e.asBits(elements[next++]));
      unsigned width = packing.bits * parts.size();
      e.setBits(at, e.packed(parts, std::max(width, Emitter::widthOf(parts[0]))));
      if (auto output = operands.tiedTo(at))
        e.setBits(*output, e.bitsOf(at, width));
    }
  e.run(text);
  SmallVector<Value> results;
  at = 0;
  for (auto [packing, type] : llvm::zip(operands.outputs, outputs))
    for (unsigned r = 0; r < packing.registers; ++r, ++at) {
      unsigned count = packing.elementsIn(r);
      Value whole = e.bitsOf(at, packing.bits * count);
      for (unsigned i = 0; i < count; ++i)
        results.push_back(
            e.fromBits(e.resized(e.shiftedRight(whole, i * packing.bits), packing.bits),
                       tile::elementType(type)));
    }
  return results;
}

// Throws ptx::Unknown.
void expand(tile::InlineAsmOp op) {
  tile::AsmOperands operands(op);
  if (!operands.problem.empty())
    throw ptx::Unknown{operands.problem};
  ptx::Text text = ptx::parse(std::string_view(op.getText()), operands.registers);
  OpBuilder b(op);
  Location loc = op.getLoc();
  unsigned pack = op.getPack();
  auto shape = dyn_cast<RankedTensorType>(op.getOutputs().getTypes().front());
  if (pack == 1 || !shape) {
    Emitter e(b, loc, op.getOutputs().getTypes().front(), text.registers);
    op->replaceAllUsesWith(emit(e, operands, text, op.getInputs(), op.getOutputs().getTypes()));
    op.erase();
    return;
  }
  if (op.getInputs().empty())
    throw ptx::Unknown{"several elements at a time without an input"};
  auto map = b.create<tile::MapOp>(loc, op.getOutputs().getTypes(), op.getInputs(), pack);
  Block *body = b.createBlock(&map.getBody());
  for (Type type : op.getInputs().getTypes())
    for (unsigned i = 0; i < pack; ++i)
      body->addArgument(tile::elementType(type), loc);
  Emitter e(b, loc, tile::elementType(shape), text.registers);
  SmallVector<Value> results =
      emit(e, operands, text, body->getArguments(), op.getOutputs().getTypes());
  b.create<tile::YieldOp>(loc, results);
  op->replaceAllUsesWith(map);
  op.erase();
}

struct ExpandInlineAsmPass : PassWrapper<ExpandInlineAsmPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandInlineAsmPass)
  StringRef getArgument() const override { return "tile-expand-inline-asm"; }
  StringRef getDescription() const override { return "inline PTX becomes tile operations"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, tile::TileDialect>();
  }
  void runOnOperation() override {
    SmallVector<tile::InlineAsmOp> texts;
    getOperation().walk([&](tile::InlineAsmOp op) { texts.push_back(op); });
    for (tile::InlineAsmOp op : texts)
      try {
        expand(op);
      } catch (ptx::Unknown &unknown) {
        op->emitError() << "inline PTX `" << op.getText().trim()
                        << "` has no meaning outside of an NVIDIA GPU: " << unknown.what;
        signalPassFailure();
      }
  }
};

} // namespace

std::unique_ptr<Pass> createExpandInlineAsmPass() {
  return std::make_unique<ExpandInlineAsmPass>();
}

void registerExpandInlineAsmPass() { PassRegistration<ExpandInlineAsmPass>(); }

} // namespace nereid::transforms
