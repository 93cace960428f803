// Statements of inline PTX on bits and integers.
#include "transforms/AsmEmitter.h"

using namespace mlir;

namespace nereid::transforms {

using ptx::Kind;
using ptx::Operand;
using ptx::Statement;

// --- operands ---

Value AsmEmitter::read(const Statement &s, const Operand &operand, const ptx::Type &type) {
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
void AsmEmitter::write(const Operand &operand, Value value, Value guard) {
  if (operand.form != Operand::Form::Register)
    return;
  Value &reg = registers[operand.reg];
  reg = guard ? select(guard, value, bitsOf(operand.reg, widthOf(value))) : value;
}

void AsmEmitter::run(const Statement &s) {
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
void AsmEmitter::trap(Value guard) {
  Value holds = guard ? make<arith::XOrIOp>(guard, integer(1, 1))
                      : b.create<arith::ConstantOp>(loc, b.getBoolAttr(false)).getResult();
  b.create<tile::AssertOp>(loc, holds, ptx::trapMessage, /*mask=*/Value());
}

void AsmEmitter::takes(const Statement &s, size_t least, size_t most) {
  if (s.arguments.size() < least || s.arguments.size() > most)
    unknown(s);
}

Value AsmEmitter::result(const Statement &s) {
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
    return s.has("pack") ? packSaturated(s) : converted(s);
  if (operation == "testp")
    return floatClass(s);
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
  if (operation == "prmt") {
    takes(s, 4, 4);
    const uint16_t *mode = s.words.size() == 3 ? ptx::selectorsOf(s.words[2]) : nullptr;
    if (!mode && s.words.size() != 2)
      unknown(s);
    Value bytes[] = {in(1), in(2)}, selector = in(3);
    if (mode) {
      uint64_t all = 0;
      for (unsigned i = 0; i < 4; ++i)
        all |= uint64_t(mode[i]) << 16 * i;
      Value at = shiftedLeft(make<arith::AndIOp>(selector, integer(3, 32)), 4);
      selector = resized(make<tile::ShRUOp>(integer(all, 64), resized(at, 64)), 32);
    }
    return chosenBytes(packed(bytes, 64), selector);
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
  if (Value found = fieldResult(s))
    return found;
  if (Value found = sumResult(s))
    return found;
  takes(s, 2, 4);
  return type.kind == Kind::Float ? floatResult(s) : integerResult(s);
}

// --- bits ---

Value AsmEmitter::byteOf(const Statement &s, size_t argument) {
  return make<arith::AndIOp>(read(s, s.arguments[argument], {}), integer(0xff, 32));
}
// As many ones as an operand says.
Value AsmEmitter::lowBits(const Statement &s, size_t argument, unsigned width) {
  Value length = byteOf(s, argument);
  Value ones = make<arith::SubIOp>(make<tile::ShLOp>(integer(1, width), resized(length, width)),
                                   integer(1, width));
  // A shift by the width or more gives 0, and 0 - 1 all ones.
  return ones;
}
Value AsmEmitter::lookUp(Value a, Value b, Value c, uint64_t table) {
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
Value AsmEmitter::chosenBytes(Value bytes, Value selector) {
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

// bfe of a signed type: above the field, and above the number, the field's last bit.
Value AsmEmitter::signedField(const Statement &s) {
  takes(s, 4, 4);
  unsigned bits = s.types[0].bits;
  Value x = read(s, s.arguments[1], s.types[0]), first = byteOf(s, 2), length = byteOf(s, 3);
  // How far the field's last bit is from the top.
  Value end = make<arith::MinUIOp>(make<arith::AddIOp>(first, length), integer(bits, 32));
  Value above = resized(make<arith::SubIOp>(integer(bits, 32), end), bits);
  Value field = make<tile::ShRSOp>(make<tile::ShLOp>(x, above), above);
  field = make<tile::ShRSOp>(field, resized(minShift(first, bits), bits));
  Value isNone = compareIntegers(arith::CmpIPredicate::eq, length, integer(0, 32));
  return select(isNone, integer(0, bits), field);
}

// fns: the place of the |offset|-th bit that is set from `base` on, downwards for a negative
// offset; for none `base`, if it is set. All ones where there is none.
Value AsmEmitter::setBit(Value mask, Value base, Value offset) {
  using P = arith::CmpIPredicate;
  Value zero = integer(0, 32), one = integer(1, 32), last = integer(31, 32);
  // Downwards is upwards in the mirror.
  Value isDown = compareIntegers(P::slt, offset, zero);
  Value from = select(isDown, make<arith::SubIOp>(last, base), base);
  Value x = select(isDown, function("brev", mask), mask);
  Value by = minShift(from, 32);
  x = make<tile::ShLOp>(make<tile::ShRUOp>(x, by), by);
  Value isBase = compareIntegers(P::eq, offset, zero);
  x = select(isBase, make<arith::AndIOp>(x, make<tile::ShLOp>(one, by)), x);
  Value left = select(isDown, make<arith::SubIOp>(zero, offset), offset);
  left = select(isBase, zero, make<arith::SubIOp>(left, one));
  Value isThere = compareIntegers(P::ult, left, function("popc", x)), at = zero;
  // Halves that hold too few bits are passed by.
  for (unsigned width : {16u, 8u, 4u, 2u, 1u}) {
    Value half =
        make<arith::AndIOp>(make<tile::ShRUOp>(x, at), integer((uint64_t(1) << width) - 1, 32));
    Value count = function("popc", half);
    Value passes = compareIntegers(P::uge, left, count);
    left = select(passes, make<arith::SubIOp>(left, count), left);
    at = select(passes, make<arith::AddIOp>(at, integer(width, 32)), at);
  }
  // Of a number that is not there the place is of no meaning, and below 32 in any case.
  at = select(isDown, make<arith::SubIOp>(last, at), at);
  return select(isThere, at, integer(~0ull, 32));
}

Value AsmEmitter::highestBit(const Statement &s) {
  takes(s, 2, 2);
  const ptx::Type &type = s.types[0];
  Value x = read(s, s.arguments[1], type), zero = integer(0, type.bits);
  if (type.kind == Kind::Signed) // the highest bit that is not the sign
    x = make<arith::XOrIOp>(x, make<tile::ShRSOp>(x, integer(type.bits - 1, type.bits)));
  Value above = resized(function(type.bits == 64 ? "clzll" : "clz", x), 32);
  Value place = s.has("shiftamt") ? above : make<arith::SubIOp>(integer(type.bits - 1, 32), above);
  return select(compareIntegers(arith::CmpIPredicate::eq, x, zero), integer(~0ull, 32), place);
}

// szext: the lowest bits alone, or with the highest of them above.
Value AsmEmitter::widened(const Statement &s) {
  takes(s, 3, 3);
  Value x = read(s, s.arguments[1], s.types[0]), width = read(s, s.arguments[2], {});
  width = s.has("clamp") ? minShift(width, 32) : make<arith::AndIOp>(width, integer(31, 32));
  Value above = make<arith::SubIOp>(integer(32, 32), width); // 32 shifts all out
  Value low = make<tile::ShLOp>(x, above);
  return s.types[0].kind == Kind::Signed ? make<tile::ShRSOp>(low, above)
                                         : make<tile::ShRUOp>(low, above);
}

Value AsmEmitter::maskOfBits(const Statement &s) {
  takes(s, 3, 3);
  auto amount = [&](size_t i) {
    Value value = read(s, s.arguments[i], s.types[0]);
    return s.has("clamp") ? minShift(value, 32) : make<arith::AndIOp>(value, integer(31, 32));
  };
  Value first = amount(1);
  Value ones = make<arith::SubIOp>(make<tile::ShLOp>(integer(1, 32), amount(2)), integer(1, 32));
  return make<tile::ShLOp>(ones, first);
}

// What finds bits, and makes masks of them; null for what does not.
Value AsmEmitter::fieldResult(const Statement &s) {
  const ptx::Type &type = s.types[0];
  StringRef operation = s.operation();
  if (operation == "bfe" && type.kind == Kind::Signed)
    return signedField(s);
  if (operation == "bfind")
    return highestBit(s);
  if (operation == "szext")
    return widened(s);
  if (operation == "bmsk")
    return maskOfBits(s);
  if (operation != "fns")
    return {};
  takes(s, 4, 4);
  return setBit(read(s, s.arguments[1], type), read(s, s.arguments[2], type),
                read(s, s.arguments[3], type));
}

// Sums of differences and of short products, a choice by a sign; null for what is none.
Value AsmEmitter::sumResult(const Statement &s) {
  const ptx::Type &type = s.types[0];
  StringRef operation = s.operation();
  using P = arith::CmpIPredicate;
  auto difference = [&](Value x, Value y, bool isSigned) {
    Value isLess = compareIntegers(isSigned ? P::slt : P::ult, x, y);
    return select(isLess, make<arith::SubIOp>(y, x), make<arith::SubIOp>(x, y));
  };
  // Some bits of an operand, as a number of 32.
  auto part = [&](size_t i, unsigned first, unsigned bits, Kind kind) {
    Value whole = read(s, s.arguments[i], {});
    return resized(resized(shiftedRight(whole, first), bits), 32, kind == Kind::Signed);
  };
  if (operation == "dp2a" && s.types.size() == 2 && s.has("lo") != s.has("hi")) {
    takes(s, 4, 4);
    Value sum = read(s, s.arguments[3], type);
    for (unsigned i = 0; i < 2; ++i)
      sum = make<arith::AddIOp>(
          sum, make<arith::MulIOp>(part(1, 16 * i, 16, type.kind),
                                   part(2, 8 * i + (s.has("hi") ? 16 : 0), 8, s.types[1].kind)));
    return sum;
  }
  if (operation == "sad" && type.kind != Kind::Float) {
    takes(s, 4, 4);
    Value apart = difference(read(s, s.arguments[1], type), read(s, s.arguments[2], type),
                             type.kind == Kind::Signed);
    return make<arith::AddIOp>(apart, read(s, s.arguments[3], type));
  }
  // Four bytes of each at a time; with `.add` their sum and the third number.
  if (operation == "vabsdiff4" && s.types.size() == 3 && !s.has("sat")) {
    takes(s, 4, 4);
    Value sum = read(s, s.arguments[3], {});
    SmallVector<Value> bytes;
    for (unsigned i = 0; i < 4; ++i) {
      Value apart = difference(part(1, 8 * i, 8, s.types[1].kind),
                               part(2, 8 * i, 8, s.types[2].kind), /*isSigned=*/true);
      sum = make<arith::AddIOp>(sum, apart);
      bytes.push_back(resized(apart, 8));
    }
    return s.has("add") ? sum : packed(bytes, 32);
  }
  if (operation == "slct" && s.types.size() == 2) {
    takes(s, 4, 4);
    Value by = read(s, s.arguments[3], s.types[1]), isFirst;
    if (s.types[1].name == "f32") {
      Value zero = real(0, b.getF32Type());
      isFirst = compareFloats(arith::CmpFPredicate::OGE,
                              flushed(fromBits(by, b.getF32Type()), s.has("ftz")), zero);
    } else {
      isFirst = compareIntegers(P::sge, by, integer(0, widthOf(by)));
    }
    return select(isFirst, read(s, s.arguments[1], type), read(s, s.arguments[2], type));
  }
  return {};
}

// --- comparisons ---

// setp.cmp[.and|or|xor].type p, a, b[, c]
Value AsmEmitter::comparison(const Statement &s) {
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

// x + y or x - y of s32, held to its range.
Value AsmEmitter::saturatedSum(Value x, Value y, bool subtracts) {
  x = resized(x, 64, true);
  y = resized(y, 64, true);
  Value sum = subtracts ? Value(make<arith::SubIOp>(x, y)) : Value(make<arith::AddIOp>(x, y));
  sum = make<arith::MaxSIOp>(sum, integer(uint64_t(int64_t(INT32_MIN)), 64));
  return resized(make<arith::MinSIOp>(sum, integer(INT32_MAX, 64)), 32);
}

Value AsmEmitter::integerResult(const Statement &s) {
  const ptx::Type &type = s.types[0];
  StringRef operation = s.operation();
  unsigned bits = type.bits;
  bool isSigned = type.kind == Kind::Signed;
  auto in = [&](size_t i) { return read(s, s.arguments[i], type); };
  auto wide = [&](Value value) { return resized(value, 2 * bits, isSigned); };
  if (operation == "mul24" || operation == "mad24") {
    takes(s, operation == "mul24" ? 3 : 4, operation == "mul24" ? 3 : 4);
    // The low 24 bits of each operand are a number by itself; `hi` is the upper 32 of their 48
    // bits.
    auto low24 = [&](Value value) -> Value {
      Value upper = make<tile::ShLOp>(value, integer(8, 32));
      return isSigned ? Value(make<tile::ShRSOp>(upper, integer(8, 32)))
                      : Value(make<tile::ShRUOp>(upper, integer(8, 32)));
    };
    Value product = make<arith::MulIOp>(wide(low24(in(1))), wide(low24(in(2))));
    product = resized(s.has("hi") ? shiftedRight(product, 16) : product, 32);
    if (s.has("sat"))
      return saturatedSum(product, in(3), false);
    return operation == "mul24" ? product : Value(make<arith::AddIOp>(product, in(3)));
  }
  if (operation == "mul" || operation == "mad") {
    takes(s, operation == "mul" ? 3 : 4, operation == "mul" ? 3 : 4);
    Value product;
    if (s.has("wide") || (s.has("hi") && bits < 64)) {
      product = make<arith::MulIOp>(wide(in(1)), wide(in(2)));
      if (s.has("hi"))
        product = resized(shiftedRight(product, bits), bits);
    } else if (s.has("hi")) {
      product = make<tile::MulHiUIOp>(in(1), in(2));
      // A negative number stands for 2^64 more than it is.
      for (size_t i = 1; isSigned && i < 3; ++i) {
        Value sign = make<tile::ShRSOp>(in(i), integer(63, 64));
        product = make<arith::SubIOp>(product, make<arith::AndIOp>(sign, in(3 - i)));
      }
    } else {
      product = make<arith::MulIOp>(in(1), in(2));
    }
    if (operation == "mul")
      return product;
    if (s.has("sat"))
      return saturatedSum(product, in(3), false);
    ptx::Type third{type.kind, widthOf(product)};
    return make<arith::AddIOp>(product, read(s, s.arguments[3], third));
  }
  if ((operation == "add" || operation == "sub") && s.has("sat")) {
    if (bits != 32 || !isSigned)
      unknown(s);
    return saturatedSum(in(1), in(2), operation == "sub");
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

} // namespace nereid::transforms
