#include "ref/Ptx.h"

#include "ir/PtxText.h"
#include "ref/Number.h"

#include <algorithm>
#include <cfenv>
#include <map>

namespace nereid::ref {
namespace {

using State = PtxProgram::State;
using Instruction = PtxProgram::Instruction;
using ptx::Kind;
using ptx::Operand;
using ptx::Unknown;

uint64_t maskOf(unsigned bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }
int64_t signExtend(uint64_t value, unsigned bits) {
  return bits >= 64 ? int64_t(value) : int64_t(value << (64 - bits)) >> (64 - bits);
}

double toDouble(const ptx::Type &type, uint64_t bits) {
  return type.bits == 64   ? std::bit_cast<double>(bits)
         : type.bits == 32 ? std::bit_cast<float>(uint32_t(bits))
                           : support::decodeFloat(type.format, uint32_t(bits & maskOf(type.bits)));
}
uint64_t fromDouble(const ptx::Type &type, double value,
                    support::Round round = support::Round::NearestEven) {
  if (type.bits == 64)
    return std::bit_cast<uint64_t>(value);
  if (type.bits == 32 && round == support::Round::NearestEven)
    return std::bit_cast<uint32_t>(float(value));
  return support::encodeFloat(type.format, value, round);
}

uint64_t read(State &state, const Operand &operand, const ptx::Type &type) {
  switch (operand.form) {
  case Operand::Form::Register:
    return state.registers[operand.reg] & maskOf(type.width());
  case Operand::Form::Integer:
    return operand.integer & maskOf(type.width());
  case Operand::Form::Real:
    return fromDouble(type, operand.real);
  case Operand::Form::Clock:
    return state.outside->clock();
  default:
    return 0;
  }
}
void write(State &state, const Operand &operand, const ptx::Type &type, uint64_t value) {
  if (operand.form == Operand::Form::Register)
    state.registers[operand.reg] = value & maskOf(type.width());
}

// --- instructions ---

double flush(double value) {
  return std::fabs(value) < std::ldexp(1.0, -126) ? std::copysign(0.0, value) : value;
}

struct Modifiers {
  bool ftz, sat, hasNaN, xorsign, abs, hi, lo, wide, satfinite, relu;
  bool towardsZero; ///< .rz
};

/// Float functions of one to three operands, in f64; rounded by the caller.
using Compute = double (*)(double, double, double);
Compute floatFunction(std::string_view name) {
  static const std::map<std::string, Compute, std::less<>> functions = {
      {"add", [](double x, double y, double) { return x + y; }},
      {"sub", [](double x, double y, double) { return x - y; }},
      {"mul", [](double x, double y, double) { return x * y; }},
      {"div", [](double x, double y, double) { return x / y; }},
      {"abs", [](double x, double, double) { return std::fabs(x); }},
      {"neg", [](double x, double, double) { return -x; }},
      {"rcp", [](double x, double, double) { return 1 / x; }},
      {"sqrt", [](double x, double, double) { return std::sqrt(x); }},
      {"rsqrt", [](double x, double, double) { return 1 / std::sqrt(x); }},
      {"ex2", [](double x, double, double) { return std::exp2(x); }},
      {"lg2", [](double x, double, double) { return std::log2(x); }},
      {"sin", [](double x, double, double) { return std::sin(x); }},
      {"cos", [](double x, double, double) { return std::cos(x); }},
      {"tanh", [](double x, double, double) { return std::tanh(x); }},
      {"copysign", [](double x, double y, double) { return std::copysign(y, x); }},
  };
  auto it = functions.find(name);
  return it == functions.end() ? nullptr : it->second;
}

double floatMinMax(double x, double y, bool isMax, const Modifiers &m) {
  bool negative = m.xorsign && std::signbit(x) != std::signbit(y);
  if (m.abs) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  double result;
  if (std::isnan(x) || std::isnan(y))
    result = m.hasNaN || (std::isnan(x) && std::isnan(y)) ? NAN : std::isnan(x) ? y : x;
  else if (x == y)
    result = std::signbit(x) == isMax ? y : x;
  else
    result = (x > y) == isMax ? x : y;
  return m.xorsign ? std::copysign(result, negative ? -1.0 : 1.0) : result;
}

bool compare(std::string_view how, double x, double y, bool &known) {
  bool unordered = std::isnan(x) || std::isnan(y);
  known = true;
  if (how == "eq")
    return x == y;
  if (how == "ne")
    return !unordered && x != y;
  if (how == "lt" || how == "lo")
    return x < y;
  if (how == "le" || how == "ls")
    return x <= y;
  if (how == "gt" || how == "hi")
    return x > y;
  if (how == "ge" || how == "hs")
    return x >= y;
  if (how == "num")
    return !unordered;
  if (how == "nan")
    return unordered;
  if (how.size() == 3 && how[2] == 'u') {
    bool plain = how == "neu" ? x != y : compare(how.substr(0, 2), x, y, known);
    return known && (unordered || plain);
  }
  known = false;
  return false;
}
template <typename T> bool compareInts(std::string_view how, T x, T y) {
  return how == "eq"                  ? x == y
         : how == "ne"                ? x != y
         : how == "lt" || how == "lo" ? x < y
         : how == "le" || how == "ls" ? x <= y
         : how == "gt" || how == "hi" ? x > y
                                      : x >= y;
}

/// An integer as its type reads it.
__int128 integer(const ptx::Type &type, uint64_t bits) {
  return type.kind == Kind::Signed ? __int128(signExtend(bits, type.bits)) : __int128(bits);
}
/// The nearest number of a type, for `.sat` and conversions that clamp.
uint64_t clamp(const ptx::Type &type, __int128 value) {
  __int128 one = 1, low = type.kind == Kind::Signed ? -(one << (type.bits - 1)) : 0,
           high = type.kind == Kind::Signed ? (one << (type.bits - 1)) - 1 : (one << type.bits) - 1;
  return uint64_t(std::clamp(value, low, high));
}

/// Selects bytes of {b, a} by the nibbles of a selector; its upper bit repeats the sign of the
/// byte.
uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = a | uint64_t(b) << 32;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned nibble = selector >> 4 * i & 0xf;
    uint8_t byte = bytes >> 8 * (nibble & 7);
    if (nibble & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << 8 * i;
  }
  return result;
}

/// Any function of three bits, by its table.
uint32_t lookUp3(uint32_t a, uint32_t b, uint32_t c, unsigned table) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}

Instruction floatInstruction(std::string_view op, const ptx::Type &type, const Modifiers &m,
                             const std::vector<Operand> &args) {
  bool fused = op == "fma" || op == "mad", extreme = op == "min" || op == "max";
  Compute compute = floatFunction(op);
  if (!fused && !extreme && !compute)
    return {};
  size_t inputs = args.size() - 1;
  return [=, op = std::string(op), isMax = op == "max"](State &state) {
    uint64_t result = 0;
    for (unsigned lane = 0; lane < type.lanes; ++lane) {
      double in[3] = {};
      for (size_t i = 0; i < std::min<size_t>(inputs, 3); ++i) {
        in[i] = toDouble(type, read(state, args[i + 1], type) >> lane * type.bits);
        if (m.ftz && type.bits == 32)
          in[i] = flush(in[i]);
      }
      double value;
      if (fused)
        value = type.bits == 64 ? std::fma(in[0], in[1], in[2]) : fmaToOdd(in[0], in[1], in[2]);
      else if (extreme)
        value = inputs == 3 ? floatMinMax(floatMinMax(in[0], in[1], isMax, m), in[2], isMax, m)
                            : floatMinMax(in[0], in[1], isMax, m);
      else if (m.towardsZero && (op == "add" || op == "sub"))
        value = fmaToOdd(in[0], 1, op == "add" ? in[1] : -in[1]);
      else
        value = compute(in[0], in[1], in[2]);
      if (m.relu)
        value = value > 0 || std::isnan(value) ? value : 0;
      if (m.sat)
        value = !(value > 0) ? 0 : std::min(value, 1.0);
      uint64_t bits = fromDouble(
          type, value, m.towardsZero ? support::Round::TowardsZero : support::Round::NearestEven);
      if (m.ftz && type.bits == 32)
        bits = fromDouble(type, flush(toDouble(type, bits)));
      result |= (bits & maskOf(type.bits)) << lane * type.bits;
    }
    write(state, args[0], type, result);
  };
}

Instruction integerInstruction(std::string_view op, const ptx::Type &type, const Modifiers &m,
                               const std::vector<Operand> &args) {
  using Fn = std::function<__int128(__int128, __int128, __int128)>;
  unsigned bits = type.bits;
  Fn compute;
  ptx::Type inType = type, outType = type;
  auto product = [=](__int128 x, __int128 y) -> __int128 {
    if (m.hi)
      return bits == 64 && type.kind == Kind::Unsigned
                 ? __int128(((unsigned __int128)(x) * (unsigned __int128)(y)) >> 64)
                 : (x * y) >> bits;
    return __int128((unsigned __int128)(x) * (unsigned __int128)(y));
  };
  if (op == "add")
    compute = [](__int128 x, __int128 y, __int128) { return x + y; };
  else if (op == "sub")
    compute = [](__int128 x, __int128 y, __int128) { return x - y; };
  else if (op == "mul")
    compute = [=](__int128 x, __int128 y, __int128) { return product(x, y); };
  else if (op == "mad")
    compute = [=](__int128 x, __int128 y, __int128 z) { return product(x, y) + z; };
  else if ((op == "mul24" || op == "mad24") && bits == 32) {
    // The low 24 bits of each operand are a number by itself; `hi` is the upper 32 of their 48
    // bits.
    auto low24 = [isSigned = type.kind != Kind::Unsigned](__int128 x) {
      return isSigned ? signExtend(uint64_t(x), 24) : int64_t(x) & 0xFFFFFF;
    };
    compute = [=, adds = op == "mad24"](__int128 x, __int128 y, __int128 z) {
      return __int128((low24(x) * low24(y)) >> (m.hi ? 16 : 0)) + (adds ? z : 0);
    };
  } else if (op == "div")
    compute = [](__int128 x, __int128 y, __int128) { return y == 0 ? __int128(-1) : x / y; };
  else if (op == "rem")
    compute = [](__int128 x, __int128 y, __int128) { return y == 0 ? x : x % y; };
  else if (op == "min")
    compute = [](__int128 x, __int128 y, __int128) { return std::min(x, y); };
  else if (op == "max")
    compute = [](__int128 x, __int128 y, __int128) { return std::max(x, y); };
  else if (op == "abs")
    compute = [](__int128 x, __int128, __int128) { return x < 0 ? -x : x; };
  else if (op == "neg")
    compute = [](__int128 x, __int128, __int128) { return -x; };
  else if (op == "and")
    compute = [](__int128 x, __int128 y, __int128) { return x & y; };
  else if (op == "or")
    compute = [](__int128 x, __int128 y, __int128) { return x | y; };
  else if (op == "xor")
    compute = [](__int128 x, __int128 y, __int128) { return x ^ y; };
  else if (op == "not")
    compute = [](__int128 x, __int128, __int128) { return ~x; };
  else if (op == "cnot")
    compute = [](__int128 x, __int128, __int128) { return __int128(x == 0); };
  else if (op == "shl")
    compute = [=](__int128 x, __int128 y, __int128) {
      return y < 0 || y >= bits ? __int128(0) : x << int(y);
    };
  else if (op == "shr")
    compute = [=](__int128 x, __int128 y, __int128) {
      return x >> int(y < 0 || y > bits ? bits : y);
    };
  else if (op == "popc" || op == "clz" || op == "brev") {
    inType.kind = Kind::Unsigned;
    if (op != "brev")
      outType = {Kind::Unsigned, 32};
    if (op == "popc")
      compute = [](__int128 x, __int128, __int128) { return __int128(std::popcount(uint64_t(x))); };
    else if (op == "clz")
      compute = [=](__int128 x, __int128, __int128) {
        return __int128(x == 0 ? bits : std::countl_zero(uint64_t(x)) - (64 - bits));
      };
    else
      compute = [=](__int128 x, __int128, __int128) {
        __int128 r = 0;
        for (unsigned i = 0; i < bits; ++i)
          r |= (x >> i & 1) << (bits - 1 - i);
        return r;
      };
  } else {
    return {};
  }
  ptx::Type third = type;
  if (m.wide) {
    outType.bits *= 2;
    third = outType;
  }
  // Shift amounts are 32 bits wide, whatever is shifted.
  ptx::Type second = op == "shl" || op == "shr" ? ptx::Type{Kind::Unsigned, 32} : inType;
  return [=](State &state) {
    auto in = [&](size_t i, const ptx::Type &as) -> __int128 {
      return i < args.size() ? integer(as, read(state, args[i], as)) : 0;
    };
    __int128 value = compute(in(1, inType), in(2, second), in(3, third));
    write(state, args[0], outType, m.sat ? clamp(outType, value) : uint64_t(value));
  };
}

// Powers of two from 2^-127 on, 255 for NaN (`ue8m0`); signs are not kept.
double exponentValue(uint64_t code) {
  return code == 255 ? std::nan("") : std::ldexp(1.0, int(code) - 127);
}
uint64_t exponentOf(double x, bool upwards, bool saturates) {
  if (std::isnan(x))
    return 255;
  x = std::fabs(x);
  int exponent = -127;
  if (x > 0x1p-127) {
    exponent = std::isinf(x) ? 128 : std::ilogb(x);
    exponent += upwards && x > std::ldexp(1.0, exponent);
  }
  return uint64_t(std::min(exponent, saturates ? 127 : 128) + 127);
}

/// `cvt`: every pair of scalar types, and the packed ones of two f32 or two lanes.
Instruction convert(const std::vector<std::string> &words, const ptx::Type &to,
                    const ptx::Type &from, const Modifiers &m, const std::vector<Operand> &args) {
  auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  int mode = has("rzi")   ? FE_TOWARDZERO
             : has("rmi") ? FE_DOWNWARD
             : has("rpi") ? FE_UPWARD
                          : FE_TONEAREST;
  auto round = has("rz") ? support::Round::TowardsZero : support::Round::NearestEven;
  bool toExponent = to.name == "ue8m0", upwards = has("rp");
  if (has("rm") || has("rs") || (upwards && !toExponent) || (toExponent && !upwards && !has("rz")))
    return {};
  bool toTf32 = has("tf32"), tiesAway = has("rna");
  bool toInteger = mode != FE_TONEAREST || has("rni");
  auto one = [=](uint64_t bits) -> uint64_t {
    if (from.kind == Kind::Float) {
      double x = from.name == "ue8m0" ? exponentValue(bits & 0xff)
                                      : toDouble(from, bits & maskOf(from.bits));
      if (toExponent)
        return exponentOf(x, upwards, m.satfinite);
      if (m.ftz && from.bits == 32)
        x = flush(x);
      if (to.kind != Kind::Float) {
        x = mode == FE_TOWARDZERO ? std::trunc(x)
            : mode == FE_DOWNWARD ? std::floor(x)
            : mode == FE_UPWARD   ? std::ceil(x)
                                  : std::nearbyint(x);
        if (std::isnan(x))
          return 0;
        return clamp(to, __int128(std::clamp(x, -1e30, 1e30)));
      }
      if (toInteger)
        x = mode == FE_TOWARDZERO ? std::trunc(x)
            : mode == FE_DOWNWARD ? std::floor(x)
            : mode == FE_UPWARD   ? std::ceil(x)
                                  : std::nearbyint(x);
      if (m.relu)
        x = x > 0 || std::isnan(x) ? x : 0;
      if (m.sat)
        x = !(x > 0) ? 0 : std::min(x, 1.0);
      if (toTf32) {
        if (tiesAway)
          return std::bit_cast<uint32_t>(roundToTf32(float(x)));
        support::FloatFormat tf32{8, 10, 127, support::FloatFormat::Specials::Ieee, false};
        return uint64_t(support::encodeFloat(tf32, x, round)) << 13;
      }
      ptx::Type target = to;
      if (m.satfinite)
        target.format.saturates = true;
      // A format without NaN has its largest number in that place.
      if (std::isnan(x) && to.format.specials == support::FloatFormat::Specials::None)
        x = INFINITY;
      return fromDouble(target, x, round);
    }
    __int128 x = integer(from, bits & maskOf(from.bits));
    if (to.kind != Kind::Float)
      return m.sat ? clamp(to, x) : uint64_t(x);
    // Through f64 with an odd last bit, so that rounding happens once.
    unsigned __int128 magnitude = x < 0 ? -x : x;
    if (to.bits != 64 && magnitude >> 53)
      magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
    double value = double(uint64_t(magnitude));
    return fromDouble(to, x < 0 ? -value : value, round);
  };
  if (to.lanes == 2 && from.lanes == 1 && args.size() == 3)
    // The first source goes to the upper half.
    return [=](State &state) {
      uint64_t high = one(read(state, args[1], from)), low = one(read(state, args[2], from));
      write(state, args[0], to, (high & maskOf(to.bits)) << to.bits | (low & maskOf(to.bits)));
    };
  if (to.lanes != from.lanes || args.size() != 2)
    return {};
  return [=](State &state) {
    uint64_t in = read(state, args[1], from), out = 0;
    for (unsigned lane = 0; lane < to.lanes; ++lane)
      out |= (one(in >> lane * from.bits) & maskOf(to.bits)) << lane * to.bits;
    // A register is wider than the type: signed values are extended into it.
    if (to.kind == Kind::Signed)
      out = uint64_t(signExtend(out, to.bits));
    if (args[0].form == Operand::Form::Register)
      state.registers[args[0].reg] = to.kind == Kind::Signed ? out & maskOf(64) : out;
  };
}

/// `mov`: one register, or its parts to and from a list, the lowest first.
Instruction move(const ptx::Type &type, const std::vector<Operand> &args) {
  const Operand &to = args[0], &from = args[1];
  if (from.form == Operand::Form::List) {
    ptx::Type part{Kind::Bits, unsigned(type.width() / from.parts.size())};
    return [=](State &state) {
      uint64_t value = 0;
      for (size_t i = 0; i < from.parts.size(); ++i)
        value |= read(state, from.parts[i], part) << i * part.bits;
      write(state, to, type, value);
    };
  }
  if (to.form == Operand::Form::List) {
    ptx::Type part{Kind::Bits, unsigned(type.width() / to.parts.size())};
    return [=](State &state) {
      uint64_t value = read(state, from, type);
      for (size_t i = 0; i < to.parts.size(); ++i)
        write(state, to.parts[i], part, value >> i * part.bits);
    };
  }
  return [=](State &state) { write(state, to, type, read(state, from, type)); };
}

Unknown unknown(const ptx::Statement &statement) { return {"`" + statement.mnemonic() + "`"}; }

void expect(const ptx::Statement &statement, size_t least, size_t most) {
  if (statement.arguments.size() < least || statement.arguments.size() > most)
    throw unknown(statement);
}

// setp.cmp[.and|or|xor].type p, a, b[, c]
Instruction setPredicate(const ptx::Statement &statement, const Modifiers &m) {
  const std::vector<Operand> &args = statement.arguments;
  ptx::Type type = statement.types[0];
  expect(statement, 3, 4);
  if (statement.words.size() < 3)
    throw unknown(statement);
  std::string how(statement.words[1]);
  bool known;
  compare(how, 0, 0, known);
  if (!known)
    throw unknown(statement);
  char join = statement.has("and")   ? '&'
              : statement.has("or")  ? '|'
              : statement.has("xor") ? '^'
                                     : 0;
  return [=, ftz = m.ftz](State &state) {
    uint64_t a = read(state, args[1], type), b = read(state, args[2], type);
    bool result, ignored;
    if (type.kind == Kind::Float) {
      double x = toDouble(type, a), y = toDouble(type, b);
      if (ftz && type.bits == 32) {
        x = flush(x);
        y = flush(y);
      }
      result = compare(how, x, y, ignored);
    } else if (type.kind == Kind::Signed) {
      result = compareInts(how, signExtend(a, type.bits), signExtend(b, type.bits));
    } else {
      result = compareInts(how, a, b);
    }
    if (join) {
      bool other = read(state, args[3], {Kind::Predicate, 1});
      result = join == '&' ? result && other : join == '|' ? result || other : result != other;
    }
    write(state, args[0], {Kind::Predicate, 1}, result);
  };
}

// What moves bits and bytes about, and chooses; null for what does not.
Instruction bitInstruction(const ptx::Statement &statement) {
  const std::vector<std::string> &words = statement.words;
  const std::vector<Operand> &args = statement.arguments;
  std::string_view op = words[0];
  ptx::Type type = statement.types[0];
  if (op == "selp") {
    expect(statement, 4, 4);
    return [=](State &state) {
      bool first = read(state, args[3], {Kind::Predicate, 1});
      write(state, args[0], type, read(state, args[first ? 1 : 2], type));
    };
  }
  if (op == "lop3") {
    expect(statement, 5, 5);
    return [=](State &state) {
      write(state, args[0], type,
            lookUp3(read(state, args[1], type), read(state, args[2], type),
                    read(state, args[3], type), read(state, args[4], type)));
    };
  }
  if (op == "prmt") {
    expect(statement, 4, 4);
    const uint16_t *mode = words.size() == 3 ? ptx::selectorsOf(words[2]) : nullptr;
    if (!mode && words.size() != 2)
      throw unknown(statement);
    return [=](State &state) {
      uint32_t selector = read(state, args[3], type);
      write(state, args[0], type,
            permuteBytes(read(state, args[1], type), read(state, args[2], type),
                         mode ? mode[selector & 3] : selector));
    };
  }
  if (op == "shf") {
    expect(statement, 4, 4);
    return [=, left = statement.has("l"), wrap = statement.has("wrap")](State &state) {
      uint64_t both = read(state, args[2], type) << 32 | read(state, args[1], type);
      unsigned by = read(state, args[3], type);
      by = wrap ? by & 31 : std::min(by, 32u);
      write(state, args[0], type, left ? both << by >> 32 : both >> by);
    };
  }
  if (op == "bfe") {
    expect(statement, 4, 4);
    return [=](State &state) {
      uint64_t value = read(state, args[1], type);
      unsigned first = read(state, args[2], {}) & 0xff, length = read(state, args[3], {}) & 0xff;
      uint64_t field = first >= type.bits ? 0 : value >> first;
      if (length < type.bits)
        field &= maskOf(length);
      if (type.kind == Kind::Signed && length) {
        unsigned last = std::min(first + length - 1, type.bits - 1);
        if (value >> last & 1)
          field |= ~maskOf(std::min(length, last >= first ? last - first + 1 : 0u));
      }
      write(state, args[0], type, field);
    };
  }
  if (op == "bfi") {
    expect(statement, 5, 5);
    return [=](State &state) {
      uint64_t field = read(state, args[1], type), into = read(state, args[2], type);
      unsigned first = read(state, args[3], {}) & 0xff, length = read(state, args[4], {}) & 0xff;
      uint64_t mask = first >= type.bits ? 0 : maskOf(length) << first;
      write(state, args[0], type, (into & ~mask) | (field << (first & 63) & mask));
    };
  }
  if (op == "dp4a") {
    expect(statement, 4, 4);
    bool leftSigned = statement.types[0].kind == Kind::Signed,
         rightSigned = statement.types.back().kind == Kind::Signed;
    return [=](State &state) {
      uint64_t a = read(state, args[1], type), b = read(state, args[2], type);
      uint64_t sum = read(state, args[3], type);
      for (unsigned i = 0; i < 4; ++i) {
        uint64_t x = a >> 8 * i & 0xff, y = b >> 8 * i & 0xff;
        sum += (leftSigned ? signExtend(x, 8) : int64_t(x)) *
               (rightSigned ? signExtend(y, 8) : int64_t(y));
      }
      write(state, args[0], type, sum);
    };
  }
  return {};
}

// The place of the bit in `mask` that is the |offset|-th set one from `base` on, upwards or
// downwards; for no offset `base` itself, if it is set. All ones where there is none.
uint32_t findSetBit(uint32_t mask, uint32_t base, int32_t offset) {
  auto isSet = [&](int64_t at) { return at >= 0 && at < 32 && (mask >> at & 1); };
  if (offset == 0)
    return isSet(base) ? base : ~0u;
  int64_t left = std::abs(int64_t(offset));
  for (int64_t at = int32_t(base); at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
    if (isSet(at) && --left == 0)
      return uint32_t(at);
  return ~0u;
}

// What finds bits, and makes masks of them; null for what does not.
Instruction searchInstruction(const ptx::Statement &statement) {
  const std::vector<Operand> &args = statement.arguments;
  std::string_view op = statement.words[0];
  ptx::Type type = statement.types[0];
  bool isSigned = type.kind == Kind::Signed, clamps = statement.has("clamp");
  if (op == "fns") {
    expect(statement, 4, 4);
    return [=](State &state) {
      write(state, args[0], type,
            findSetBit(read(state, args[1], type), read(state, args[2], type),
                       int32_t(read(state, args[3], type))));
    };
  }
  if (op == "bfind") {
    expect(statement, 2, 2);
    return [=, counts = statement.has("shiftamt")](State &state) {
      uint64_t x = read(state, args[1], type);
      if (isSigned && signExtend(x, type.bits) < 0)
        x = ~x & maskOf(type.bits);
      uint64_t place = 63 - uint64_t(std::countl_zero(x));
      write(state, args[0], {Kind::Unsigned, 32},
            !x       ? ~uint64_t(0)
            : counts ? type.bits - 1 - place
                     : place);
    };
  }
  if (op == "szext") {
    expect(statement, 3, 3);
    return [=](State &state) {
      uint32_t x = read(state, args[1], type), by = read(state, args[2], {});
      unsigned width = clamps && by >= 32 ? 32 : by & 31;
      x &= maskOf(width);
      write(state, args[0], type, isSigned && width ? uint64_t(signExtend(x, width)) : x);
    };
  }
  if (op == "bmsk") {
    expect(statement, 3, 3);
    return [=](State &state) {
      uint64_t first = read(state, args[1], type), length = read(state, args[2], type);
      first = clamps ? std::min<uint64_t>(first, 32) : first & 31;
      length = clamps ? std::min<uint64_t>(length, 32) : length & 31;
      write(state, args[0], type, maskOf(length) << first);
    };
  }
  return {};
}

// Sums of differences and of short products, a choice by a sign; null for what is none.
Instruction sumInstruction(const ptx::Statement &statement) {
  const std::vector<Operand> &args = statement.arguments;
  std::string_view op = statement.words[0];
  std::vector<ptx::Type> types = statement.types;
  ptx::Type type = types[0];
  if (op == "dp2a" && types.size() == 2 && statement.has("lo") != statement.has("hi")) {
    expect(statement, 4, 4);
    return [=, skipped = statement.has("hi") ? 2 : 0](State &state) {
      uint64_t a = read(state, args[1], type), b = read(state, args[2], type);
      __int128 sum = integer(type, read(state, args[3], type));
      for (unsigned i = 0; i < 2; ++i)
        sum += integer({types[0].kind, 16}, a >> 16 * i & 0xffff) *
               integer({types[1].kind, 8}, b >> 8 * (i + skipped) & 0xff);
      write(state, args[0], type, uint64_t(sum));
    };
  }
  if (op == "sad" && type.kind != Kind::Float) {
    expect(statement, 4, 4);
    return [=](State &state) {
      __int128 x = integer(type, read(state, args[1], type)),
               y = integer(type, read(state, args[2], type));
      write(state, args[0], type, read(state, args[3], type) + uint64_t(x < y ? y - x : x - y));
    };
  }
  // Four bytes of each at a time; with `.add` their sum and the third number.
  if (op == "vabsdiff4" && types.size() == 3 && !statement.has("sat")) {
    expect(statement, 4, 4);
    return [=, adds = statement.has("add")](State &state) {
      uint64_t a = read(state, args[1], {}), b = read(state, args[2], {}), bytes = 0;
      uint64_t sum = read(state, args[3], {});
      for (unsigned i = 0; i < 4; ++i) {
        __int128 x = integer({types[1].kind, 8}, a >> 8 * i & 0xff),
                 y = integer({types[2].kind, 8}, b >> 8 * i & 0xff);
        uint64_t difference = uint64_t(x < y ? y - x : x - y);
        sum += difference;
        bytes |= (difference & 0xff) << 8 * i;
      }
      write(state, args[0], type, adds ? sum : bytes);
    };
  }
  if (op == "slct" && types.size() == 2) {
    expect(statement, 4, 4);
    return [=, flushes = statement.has("ftz")](State &state) {
      uint64_t by = read(state, args[3], types[1]);
      double x = types[1].kind == Kind::Float ? toDouble(types[1], by)
                                              : double(signExtend(by, types[1].bits));
      bool first = (flushes && types[1].kind == Kind::Float ? flush(x) : x) >= 0;
      write(state, args[0], type, read(state, args[first ? 1 : 2], type));
    };
  }
  if (op == "testp" && (type.name == "f32" || type.name == "f64") && statement.words.size() == 3) {
    expect(statement, 2, 2);
    static const std::map<std::string, std::vector<int>, std::less<>> tests = {
        {"finite", {FP_NORMAL, FP_SUBNORMAL, FP_ZERO}},
        {"infinite", {FP_INFINITE}},
        {"number", {FP_NORMAL, FP_SUBNORMAL, FP_ZERO, FP_INFINITE}},
        {"notanumber", {FP_NAN}},
        {"normal", {FP_NORMAL}},
        {"subnormal", {FP_SUBNORMAL}}};
    auto test = tests.find(statement.words[1]);
    if (test == tests.end())
      throw unknown(statement);
    return [=, kinds = test->second](State &state) {
      uint64_t x = read(state, args[1], type);
      int kind = type.bits == 64 ? std::fpclassify(std::bit_cast<double>(x))
                                 : std::fpclassify(std::bit_cast<float>(uint32_t(x)));
      write(state, args[0], {Kind::Predicate, 1},
            std::find(kinds.begin(), kinds.end(), kind) != kinds.end());
    };
  }
  return {};
}

// cvt.pack.sat.narrow.from[.b32] d, a, b[, c]: b in the lowest bits, a above it, c's above those.
Instruction packSaturated(const ptx::Statement &statement) {
  const std::vector<Operand> &args = statement.arguments;
  ptx::Type to = statement.types[0], from = statement.types[1];
  if (statement.types.size() > 3 || !statement.has("sat") || to.kind == Kind::Float ||
      from.kind == Kind::Float || to.bits > 16)
    throw unknown(statement);
  expect(statement, 3, 4);
  return [=](State &state) {
    auto narrow = [&](const Operand &operand) {
      return clamp(to, integer(from, read(state, operand, from))) & maskOf(to.bits);
    };
    uint64_t above = args.size() > 3 ? read(state, args[3], {}) : 0;
    write(state, args[0], {Kind::Bits, 32},
          narrow(args[2]) | narrow(args[1]) << to.bits | above << 2 * to.bits);
  };
}

// `ld` and `st` of global memory: a register, or a list of them.
Instruction accessMemory(const ptx::Statement &statement) {
  const std::vector<Operand> &args = statement.arguments;
  ptx::Type type = statement.types[0];
  for (const char *space : {"shared", "param", "local", "const"})
    if (statement.has(space))
      throw unknown(statement);
  expect(statement, 2, 2);
  bool loads = statement.words[0] == "ld";
  const Operand &memory = args[loads ? 1 : 0], &value = args[loads ? 0 : 1];
  if (memory.form != Operand::Form::Memory)
    throw unknown(statement);
  return [=](State &state) {
    ptx::Type address{Kind::Unsigned, 64};
    uint64_t at = read(state, memory.parts[0], address);
    if (memory.parts.size() > 1)
      at += read(state, memory.parts[1], address);
    std::vector<Operand> parts =
        value.form == Operand::Form::List ? value.parts : std::vector<Operand>{value};
    unsigned bytes = std::max(type.width() / 8, 1u);
    for (const Operand &part : parts) {
      if (loads) {
        uint64_t bits = state.outside->load(at, bytes);
        // A narrow load fills a wider register by its sign.
        if (part.form == Operand::Form::Register)
          state.registers[part.reg] =
              type.kind == Kind::Signed ? uint64_t(signExtend(bits, type.bits)) : bits;
      } else {
        state.outside->store(at, bytes, read(state, part, type));
      }
      at += bytes;
    }
  };
}

Instruction instruction(const ptx::Statement &statement) {
  const std::vector<std::string> &words = statement.words;
  const std::vector<Operand> &args = statement.arguments;
  std::string_view op = words[0];
  auto has = [&](std::string_view word) { return statement.has(word); };
  const std::vector<ptx::Type> &types = statement.types;
  Modifiers m{.ftz = has("ftz"),
              .sat = has("sat"),
              .hasNaN = has("NaN"),
              .xorsign = has("xorsign"),
              .abs = has("abs"),
              .hi = has("hi"),
              .lo = has("lo"),
              .wide = has("wide"),
              .satfinite = has("satfinite"),
              .relu = has("relu"),
              .towardsZero = has("rz")};

  // Programs run one thread at a time, so fences have nothing to order.
  if (op == "fence" || op == "membar" || op == "griddepcontrol" || op == "nanosleep")
    return [](State &) {};
  if (op == "trap")
    return [](State &state) { state.outside->trap(); };
  if (types.empty() || args.empty())
    throw unknown(statement);
  ptx::Type type = types[0];
  if (op == "mov") {
    expect(statement, 2, 2);
    return move(type, args);
  }
  if (op == "cvt" && has("pack") && types.size() > 1)
    return packSaturated(statement);
  if (op == "cvt") {
    if (types.size() != 2)
      throw unknown(statement);
    expect(statement, 2, 3);
    if (Instruction run = convert(words, types[0], types[1], m, args))
      return run;
    throw unknown(statement);
  }
  if (op == "setp")
    return setPredicate(statement, m);
  if (op == "ld" || op == "st")
    return accessMemory(statement);
  for (auto *decode : {bitInstruction, searchInstruction, sumInstruction})
    if (Instruction run = decode(statement))
      return run;
  expect(statement, 2, 4);
  Instruction run = type.kind == Kind::Float ? floatInstruction(op, type, m, args)
                                             : integerInstruction(op, type, m, args);
  if (!run)
    throw unknown(statement);
  return run;
}

} // namespace

PtxProgram::PtxProgram(std::string_view text, unsigned operands) {
  ptx::Text parsed = ptx::parse(text, operands);
  registerCount = parsed.registers;
  for (const ptx::Statement &statement : parsed.statements) {
    Instruction run = instruction(statement);
    if (statement.guard)
      run = [run = std::move(run), guard = *statement.guard,
             isNegated = statement.guardIsNegated](State &state) {
        if ((read(state, guard, {Kind::Predicate, 1}) != 0) != isNegated)
          run(state);
      };
    instructions.push_back(std::move(run));
  }
}

} // namespace nereid::ref
