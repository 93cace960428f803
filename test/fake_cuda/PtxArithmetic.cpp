// Numbers as a GPU computes with them.
#include "PtxArithmetic.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <optional>

namespace ptx {

namespace {

float halfToFloat(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }
uint16_t floatToHalf(double value) { return std::bit_cast<uint16_t>(_Float16(value)); }
float brainToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
// To odd: rounded to fewer bits afterwards, a number is rounded as if once.
double oddDouble(double near, long double error) {
  uint64_t bits = std::bit_cast<uint64_t>(near);
  if (error == 0 || std::isnan(error) || bits & 1)
    return near;
  return std::nextafter(near, error > 0 ? HUGE_VAL : -HUGE_VAL);
}
double oddSum(double x, double y) {
  double sum = x + y, part = sum - x;
  return std::isfinite(sum) ? oddDouble(sum, (x - (sum - part)) + (y - part)) : sum;
}
float oddFloat(double value) {
  float near = float(value);
  if (std::isnan(value) || double(near) == value || std::bit_cast<uint32_t>(near) & 1)
    return near;
  return std::nextafterf(near, value > near ? HUGE_VALF : -HUGE_VALF);
}
uint16_t floatToBrain(double value) {
  if (std::isnan(value))
    return 0x7fff;
  uint32_t bits = std::bit_cast<uint32_t>(oddFloat(value));
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Of 8 bits: to nearest even, what is too large becomes the greatest number (`.satfinite`).
uint8_t floatToByte(double value, unsigned mantissa, int bias, double most, uint8_t mostCode) {
  if (std::isnan(value))
    return 0x7f;
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  double size = std::fabs(value);
  if (size >= most)
    return sign | mostCode;
  if (size == 0)
    return sign;
  int exponent = std::max(std::ilogb(size), 1 - bias);
  int code = int(std::nearbyint(std::ldexp(size, int(mantissa) - exponent))), one = 1 << mantissa;
  // What rounds up to the next power of two carries into the exponent.
  return uint8_t(sign | (code < one ? code : ((exponent + bias - 1) << mantissa) + code));
}
double byteToDouble(uint8_t code, unsigned mantissa, int bias) {
  int exponent = code >> mantissa & ((1 << (7 - mantissa)) - 1), one = 1 << mantissa;
  int digits = code & (one - 1);
  double size =
      std::ldexp(exponent ? one + digits : digits, std::max(exponent, 1) - bias - int(mantissa));
  return code & 0x80 ? -size : size;
}

} // namespace

double toDouble(uint64_t bits, Type type) {
  switch (type.kind) {
  case Kind::Half:
    return halfToFloat(uint16_t(bits));
  case Kind::Brain:
    return brainToFloat(uint16_t(bits));
  case Kind::Float:
    return type.bytes == 8 ? std::bit_cast<double>(bits)
                           : double(std::bit_cast<float>(uint32_t(bits)));
  case Kind::E4M3:
    return (bits & 0x7f) == 0x7f ? std::nan("") : byteToDouble(uint8_t(bits), 3, 7);
  case Kind::E5M2: // the upper byte of a half
    return halfToFloat(uint16_t(bits << 8));
  case Kind::Signed:
    return double(signedOf(bits, type.bytes));
  default:
    return double(bits & maskOf(type.bytes));
  }
}
uint64_t fromDouble(double value, Type type) {
  switch (type.kind) {
  case Kind::Half:
    return floatToHalf(value);
  case Kind::Brain:
    return floatToBrain(value);
  case Kind::E4M3:
    return floatToByte(value, 3, 7, 448, 0x7e);
  case Kind::E5M2:
    return floatToByte(value, 2, 15, 57344, 0x7b);
  default:
    return type.bytes == 8 ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(float(value));
  }
}

namespace {

// By a direction; the bits of floats of one sign are in the order of their sizes.
uint64_t fromDouble(double value, Type type, char rounding) {
  uint64_t near = fromDouble(value, type), sign = uint64_t(1) << (type.bytes * 8 - 1);
  double back = toDouble(near, type);
  if (rounding == 'n' || std::isnan(value) || back == value)
    return near;
  bool isUp = rounding == 'p' || (rounding == 'z' && value < 0);
  if (back > value == !isUp) // on the wrong side of it
    return isUp == bool(near & sign) ? near - 1 : near + 1;
  return near;
}

// What a processor's own arithmetic gives under a rounding of its own.
class Rounding {
public:
  explicit Rounding(char rounding) : before(std::fegetround()) {
    std::fesetround(rounding == 'z'   ? FE_TOWARDZERO
                    : rounding == 'm' ? FE_DOWNWARD
                    : rounding == 'p' ? FE_UPWARD
                                      : FE_TONEAREST);
  }
  ~Rounding() { std::fesetround(before); }
  Rounding(const Rounding &) = delete;

private:
  int before;
};
constexpr bool isArithmetic(Op name) {
  return name == Op::add_ || name == Op::sub_ || name == Op::mul_ || name == Op::div_ ||
         name == Op::sqrt_ || name == Op::rcp_ || name == Op::fma_ || name == Op::mad_;
}
template <typename T> std::remove_volatile_t<T> computed(Op name, T &x, T &y, T &z) {
  return name == Op::add_    ? x + y
         : name == Op::sub_  ? x - y
         : name == Op::mul_  ? x * y
         : name == Op::div_  ? x / y
         : name == Op::sqrt_ ? std::sqrt(x)
         : name == Op::rcp_  ? 1 / x
                             : std::fma(x, y, z);
}
template <typename T> T roundedResult(Op name, T x, T y, T z, char rounding) {
  Rounding scope(rounding);
  volatile T a = x, b = y, c = z; // else the compiler may compute before or after
  volatile T out = computed(name, a, b, c);
  return out;
}

double flushed(double value, const Instruction &i, Type type) {
  double least = type.kind == Kind::Half ? 0x1p-14 : 0x1p-126;
  return i.isFtz && type.bytes <= 4 && std::fabs(value) < least ? std::copysign(0., value) : value;
}

uint64_t floating(Op name, Type type, uint64_t a, uint64_t b, uint64_t c, const Instruction &i) {
  double x = flushed(toDouble(a, type), i, type), y = flushed(toDouble(b, type), i, type),
         z = flushed(toDouble(c, type), i, type), out = 0;
  bool isDouble = type.bytes == 8, isFloat = type.bytes == 4;
  if (name == Op::neg_ || name == Op::abs_) {
    uint64_t sign = uint64_t(1) << (type.bytes * 8 - 1), bits = a & maskOf(type.bytes);
    if (i.isFtz && !std::isnan(x) && x == 0)
      bits &= sign;
    return name == Op::neg_ ? bits ^ sign : bits & ~sign;
  }
  bool isFused = name == Op::fma_ || name == Op::mad_;
  if (i.rounding != 'n' && !isArithmetic(name))
    fail("the model does not know such a rounding");
  if (i.rounding != 'n')
    out = isDouble ? roundedResult(name, x, y, z, i.rounding)
                   : double(roundedResult(name, float(x), float(y), float(z), i.rounding));
  else if (isFused)
    out = isFloat    ? double(std::fma(float(x), float(y), float(z)))
          : isDouble ? std::fma(x, y, z)
                     : oddSum(x * y, z);
  // What is rounded to f64 first is rounded right afterwards for + - * / sqrt of f32 and
  // narrower; not so for fma.
  else if (isArithmetic(name))
    out = computed(name, x, y, z);
  else if (name == Op::min_ || name == Op::max_) {
    bool isNan = std::isnan(x) || std::isnan(y), isNegative = std::signbit(x) != std::signbit(y);
    if (i.isXorSign)
      x = std::fabs(x), y = std::fabs(y);
    if (isNan)
      out = i.isNaN || (std::isnan(x) && std::isnan(y)) ? std::nan("") : std::isnan(x) ? y : x;
    else if (x == y)
      out = std::signbit(x) == (name == Op::min_) ? x : y;
    else
      out = name == Op::min_ ? std::min(x, y) : std::max(x, y);
    if (i.isXorSign && !std::isnan(out))
      out = isNegative ? -out : out;
  } else if (name == Op::rsqrt_)
    out = 1 / std::sqrt(x);
  else if (name == Op::ex2_)
    out = std::exp2(x);
  else if (name == Op::lg2_)
    out = std::log2(x);
  else if (name == Op::sin_)
    out = std::sin(x);
  else if (name == Op::cos_)
    out = std::cos(x);
  else if (name == Op::tanh_)
    out = std::tanh(x);
  else
    fail("the model does not know it");
  if (i.isSat)
    out = std::isnan(out) ? 0 : std::clamp(out, 0., 1.);
  if (i.isRelu && out <= 0)
    out = 0;
  return fromDouble(flushed(out, i, type), type);
}

} // namespace

uint64_t arithmetic(Op name, Type type, uint64_t a, uint64_t b, uint64_t c, const Instruction &i) {
  if (type.kind == Kind::HalfPair || type.kind == Kind::BrainPair) {
    Type one{type.kind == Kind::HalfPair ? Kind::Half : Kind::Brain, 2};
    uint64_t low = arithmetic(name, one, a & 0xffff, b & 0xffff, c & 0xffff, i) & 0xffff;
    return low |
           (arithmetic(name, one, a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff, i) & 0xffff)
               << 16;
  }
  if (type.isFloat())
    return floating(name, type, a, b, c, i);
  bool isSigned = type.kind == Kind::Signed;
  unsigned width = type.bytes * 8;
  int64_t sa = signedOf(a, type.bytes), sb = signedOf(b, type.bytes);
  a &= maskOf(type.bytes);
  b &= maskOf(type.bytes);
  auto saturated = [](int64_t sum) {
    return uint64_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  };
  auto added = [&](uint64_t product) {
    return i.isSat ? saturated(signedOf(product, 4) + signedOf(c, 4)) : product + c;
  };
  if (i.isSat && (name == Op::add_ || name == Op::sub_))
    return saturated(name == Op::add_ ? sa + sb : sa - sb);
  if (name == Op::add_)
    return a + b;
  if (name == Op::sub_)
    return a - b;
  if (name == Op::mul_ || name == Op::mad_) {
    if (i.isWide)
      return (isSigned ? uint64_t(sa * sb) : a * b) + (name == Op::mad_ ? c : 0);
    __int128 whole = isSigned ? __int128(sa) * sb : __int128((unsigned __int128)(a)*b);
    uint64_t product = uint64_t(i.isHi ? whole >> width : whole);
    return name == Op::mad_ ? added(product) : product;
  }
  if (name == Op::mul24_ || name == Op::mad24_) {
    // Of 24 bits each, so that 48 hold the product: `hi` is the upper 32 of them.
    auto low24 = [isSigned](uint64_t x) {
      int64_t bits = int64_t(x & 0xFFFFFF);
      return isSigned && bits >> 23 ? bits - 0x1000000 : bits;
    };
    uint64_t product = uint64_t(low24(a) * low24(b) >> (i.isHi ? 16 : 0));
    return name == Op::mad24_ ? added(product) : product;
  }
  if (name == Op::min_)
    return isSigned ? uint64_t(std::min(sa, sb)) : std::min(a, b);
  if (name == Op::max_)
    return isSigned ? uint64_t(std::max(sa, sb)) : std::max(a, b);
  if (name == Op::div_ || name == Op::rem_) {
    if (b == 0)
      return ~uint64_t(0); // any value
    if (isSigned && sb == -1)
      return name == Op::div_ ? uint64_t(0) - uint64_t(sa) : 0;
    return name == Op::div_ ? (isSigned ? uint64_t(sa / sb) : a / b)
                            : (isSigned ? uint64_t(sa % sb) : a % b);
  }
  if (name == Op::neg_)
    return uint64_t(0) - a;
  if (name == Op::abs_)
    return uint64_t(sa < 0 ? -sa : sa);
  fail("the model does not know it");
}

// Numbers without a sign have names of their own for three of them.
template <typename T> static bool relates(std::string_view how, T x, T y) {
  return how == "eq"                  ? x == y
         : how == "ne"                ? x != y
         : how == "lt" || how == "lo" ? x < y
         : how == "le" || how == "ls" ? x <= y
         : how == "gt" || how == "hi" ? x > y
                                      : x >= y;
}

bool compares(const Instruction &i, Type type, uint64_t a, uint64_t b) {
  std::string_view how = i.words[0];
  if (type.isFloat()) {
    double x = flushed(toDouble(a, type), i, type), y = flushed(toDouble(b, type), i, type);
    bool isNan = std::isnan(x) || std::isnan(y);
    if (how == "num")
      return !isNan;
    if (how == "nan")
      return isNan;
    if (isNan)
      return how.size() == 3;
    return relates(how.substr(0, 2), x, y);
  }
  if (type.kind == Kind::Signed)
    return relates(how, signedOf(a, type.bytes), signedOf(b, type.bytes));
  return relates(how, a & maskOf(type.bytes), b & maskOf(type.bytes));
}

namespace {

double roundedBy(const Instruction &i, double value) {
  return i.has("rni")   ? std::nearbyint(value)
         : i.has("rmi") ? std::floor(value)
         : i.has("rpi") ? std::ceil(value)
                        : std::trunc(value);
}
uint64_t narrowed(double value, Type to, const Instruction &i) {
  if (i.isSat)
    value = std::isnan(value) ? 0 : std::clamp(value, 0., 1.);
  if (i.isRelu && value <= 0)
    value = 0;
  return fromDouble(flushed(value, i, to), to, i.rounding);
}
// A pair of numbers in one register, and what one of them is.
std::optional<Type> halfOf(Type pair) {
  switch (pair.kind) {
  case Kind::HalfPair:
    return Type{Kind::Half, 2};
  case Kind::BrainPair:
    return Type{Kind::Brain, 2};
  case Kind::E4M3Pair:
    return Type{Kind::E4M3, 1};
  case Kind::E5M2Pair:
    return Type{Kind::E5M2, 1};
  default:
    return std::nullopt;
  }
}

} // namespace

uint64_t converted(const Instruction &i, uint64_t bits, uint64_t second) {
  Type to = i.types[0], from = i.types[1];
  if (auto one = halfOf(to)) {
    unsigned width = one->bytes * 8;
    if (auto half = halfOf(from)) // both of one register
      second = bits & maskOf(half->bytes), bits = bits >> half->bytes * 8, from = *half;
    return narrowed(toDouble(bits, from), *one, i) << width |
           (narrowed(toDouble(second, from), *one, i) & maskOf(one->bytes));
  }
  if (!to.isFloat() && !from.isFloat()) {
    if (i.isSat) {
      __int128 value = from.kind == Kind::Signed ? __int128(signedOf(bits, from.bytes))
                                                 : __int128(bits & maskOf(from.bytes)),
               high = maskOf(to.bytes) >> (to.kind == Kind::Signed),
               low = to.kind == Kind::Signed ? -high - 1 : 0;
      return uint64_t(std::clamp(value, low, high));
    }
    return from.kind == Kind::Signed ? uint64_t(signedOf(bits, from.bytes)) : bits;
  }
  double value = flushed(toDouble(bits, from), i, from);
  if (!to.isFloat()) {
    bool isSigned = to.kind == Kind::Signed;
    value = roundedBy(i, value);
    double low = isSigned ? -std::ldexp(1., int(to.bytes * 8 - 1)) : 0,
           high = std::ldexp(1., int(to.bytes * 8 - isSigned));
    if (std::isnan(value))
      return isSigned || to.bytes < 8 ? 0 : uint64_t(1) << 63;
    if (value >= high)
      return isSigned ? maskOf(to.bytes) >> 1 : maskOf(to.bytes);
    if (value <= low)
      return isSigned ? uint64_t(1) << (to.bytes * 8 - 1) : 0;
    return isSigned ? uint64_t(int64_t(value)) : uint64_t(value);
  }
  if (!from.isFloat()) { // rounded once
    long double exact = from.kind == Kind::Signed ? (long double)(signedOf(bits, from.bytes))
                                                  : (long double)(bits & maskOf(from.bytes));
    if (to.bytes < 8)
      return narrowed(oddDouble(double(exact), exact - double(exact)), to, i);
    double near = double(exact);
    bool isUp = i.rounding == 'p' || (i.rounding == 'z' && exact < 0);
    if (i.rounding != 'n' && (isUp ? near < exact : near > exact))
      near = std::nextafter(near, isUp ? HUGE_VAL : -HUGE_VAL);
    return fromDouble(near, to);
  }
  if (i.has("rni") || i.has("rzi") || i.has("rmi") || i.has("rpi"))
    value = roundedBy(i, value);
  if (i.has("rna")) // tf32
    return std::isnan(value) ? 0x7fffffff
                             : (std::bit_cast<uint32_t>(float(value)) + 0x1000) & ~uint32_t(0x1fff);
  return narrowed(value, to, i);
}

} // namespace ptx
