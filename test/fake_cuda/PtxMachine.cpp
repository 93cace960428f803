#include "PtxCode.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <random>
#include <sstream>

namespace ptx {

Op opOf(std::string_view name) {
#define NEREID_PTX_NAME(one) {#one, Op::one##_},
  static const std::map<std::string_view, Op> names = {NEREID_PTX_OPS(NEREID_PTX_NAME)};
#undef NEREID_PTX_NAME
  auto found = names.find(name);
  return found == names.end() ? Op::unknown_ : found->second;
}

namespace {

struct Fault {
  std::string text;
};
[[noreturn]] void fail(const std::string &text) { throw Fault{text}; }

// --- numbers ----------------------------------------------------------------------------------

uint64_t maskOf(unsigned bytes) {
  return bytes >= 8 ? ~uint64_t(0) : (uint64_t(1) << bytes * 8) - 1;
}
int64_t signedOf(uint64_t bits, unsigned bytes) {
  unsigned shift = 64 - bytes * 8;
  return int64_t(bits << shift) >> shift;
}

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

double toDouble(uint64_t bits, Type type) {
  switch (type.kind) {
  case Kind::Half:
    return halfToFloat(uint16_t(bits));
  case Kind::Brain:
    return brainToFloat(uint16_t(bits));
  case Kind::Float:
    return type.bytes == 8 ? std::bit_cast<double>(bits)
                           : double(std::bit_cast<float>(uint32_t(bits)));
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
  default:
    return type.bytes == 8 ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(float(value));
  }
}

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

// --- shared memory ----------------------------------------------------------------------------

// Who touched a byte since which of the block's barriers, by warp.
struct Touched {
  uint32_t written = 0, read = 0;   // epoch + 1
  int16_t writer = -1, reader = -1; // -2: several
  uint16_t filling = 0;             // copies on their way here
};

struct Copy {
  uint64_t from = 0, to = 0;
  unsigned bytes = 0, given = 0; // `given` of the bytes come from memory, the rest are zeros
};

struct Thread {
  std::vector<uint64_t> registers;
  size_t pc = 0;
  bool done = false;
  std::vector<Copy> open;                // copies of no group yet
  std::vector<std::vector<Copy>> groups; // oldest first
};

class Block {
public:
  Block(const Kernel &kernel, const Launch &launch, const unsigned (&at)[3], std::mt19937 &random)
      : kernel(kernel), launch(launch), shared(launch.sharedBytes), touched(launch.sharedBytes),
        random(random) {
    std::copy(at, at + 3, place);
    size_t count = size_t(launch.block[0]) * launch.block[1] * launch.block[2];
    threads.resize(count);
    // Registers and shared memory hold anything at first.
    for (Thread &thread : threads)
      thread.registers.assign(kernel.registers, 0x7ff7dead7fc1beef);
    std::fill(shared.begin(), shared.end(), uint8_t(0xff));
  }

  void run() {
    unsigned warps = unsigned((threads.size() + 31) / 32);
    std::vector<unsigned> order(warps);
    for (unsigned w = 0; w < warps; ++w)
      order[w] = w;
    for (;;) {
      std::shuffle(order.begin(), order.end(), random);
      unsigned left = 0;
      for (unsigned w : order) {
        runWarp(w);
        bool isDone = threads[size_t(w) * 32].done;
        left += !isDone;
      }
      if (!left)
        return;
      releaseBarrier(warps);
      ++epoch;
    }
  }

private:
  Thread &lane(unsigned warp, unsigned l) { return threads[size_t(warp) * 32 + l]; }
  unsigned lanesOf(unsigned warp) const {
    return unsigned(std::min<size_t>(32, threads.size() - size_t(warp) * 32));
  }

  static bool isCollective(const Instruction &i) {
    return i.op == Op::shfl_ || i.op == Op::ldmatrix_ || i.op == Op::mma_ || i.op == Op::vote_ ||
           i.op == Op::redux_ || i.op == Op::activemask_ || (i.op == Op::bar_ && i.isWarp);
  }
  static bool isBarrier(const Instruction &i) {
    return (i.op == Op::bar_ || i.op == Op::barrier_) && !i.isWarp;
  }

  // Until all lanes wait for the block or have ended.
  void runWarp(unsigned warp) {
    for (;;) {
      for (unsigned l = 0; l < lanesOf(warp); ++l)
        runThread(warp, l);
      std::vector<unsigned> active;
      for (unsigned l = 0; l < lanesOf(warp); ++l)
        if (!lane(warp, l).done)
          active.push_back(l);
      if (active.empty())
        return;
      size_t pc = lane(warp, active[0]).pc;
      for (unsigned l : active)
        if (lane(warp, l).pc != pc)
          fail("the lanes of a warp wait at `" + kernel.code[pc].full + "` and at `" +
               kernel.code[lane(warp, l).pc].full + "`");
      const Instruction &i = kernel.code[pc];
      if (isBarrier(i)) {
        if (active.size() != lanesOf(warp))
          fail("some lanes have ended that a barrier waits for");
        return;
      }
      collective(warp, i, active);
      for (unsigned l : active)
        ++lane(warp, l).pc;
    }
  }

  void releaseBarrier(unsigned warps) {

    for (unsigned w = 0; w < warps; ++w) {
      Thread &first = lane(w, 0);
      if (first.done)
        fail("a warp has ended that a barrier waits for");
      const Instruction &i = kernel.code[first.pc];
      if (i.operands.size() > 1)
        fail("the model knows barriers of whole blocks alone, not `" + i.full +
             "` of some threads");
      for (unsigned l = 0; l < lanesOf(w); ++l)
        ++lane(w, l).pc;
    }
  }

  // Up to a step that needs others.
  void runThread(unsigned warp, unsigned l) {
    Thread &thread = lane(warp, l);
    current = &thread;
    currentWarp = warp;
    currentLane = l;
    while (!thread.done) {
      if (thread.pc >= kernel.code.size()) {
        thread.done = true;
        break;
      }
      const Instruction &i = kernel.code[thread.pc];
      if (i.predicate >= 0 && bool(thread.registers[size_t(i.predicate)] & 1) == i.negated) {
        ++thread.pc;
        continue;
      }
      if (isCollective(i) || isBarrier(i))
        return;
      if (++steps > 400'000'000)
        fail("the kernel does not end");
      if (i.op == Op::bra_) {
        thread.pc = i.target;
        continue;
      }
      if (i.op == Op::ret_ || i.op == Op::exit_) {
        thread.done = true;
        break;
      }
      try {
        execute(i);
      } catch (Fault &fault) {
        fail("`" + i.full + "`, instruction " + std::to_string(thread.pc) + ", thread " +
             std::to_string(warp * 32 + l) + ": " + fault.text);
      }
      ++thread.pc;
    }
  }

  // --- operands ---

  uint64_t get(const Operand &operand, Type type = {Kind::Bits, 8}) {
    switch (operand.kind) {
    case Operand::Register: {
      uint64_t bits = current->registers[operand.index];
      return operand.isNegated ? ~bits & 1
                               : bits & (type.kind == Kind::Pred ? 1 : maskOf(type.bytes));
    }
    case Operand::Constant:
      return operand.bits & maskOf(type.bytes);
    case Operand::Special:
      return special(operand.name);
    case Operand::Parameter: {
      const Parameter &parameter = kernel.parameters[operand.index];
      uint64_t bits = 0;
      std::memcpy(&bits, launch.arguments[operand.index], std::min<size_t>(8, parameter.bytes));
      return bits;
    }
    case Operand::List: {
      uint64_t bits = 0;
      unsigned each = type.bytes / unsigned(operand.list.size());
      for (size_t i = 0; i < operand.list.size(); ++i)
        bits |= get(operand.list[i], {Kind::Bits, each}) << i * each * 8;
      return bits;
    }
    default:
      fail("a label is no value");
    }
  }
  void set(const Operand &operand, uint64_t bits, Type type) {
    if (operand.kind == Operand::List) {
      unsigned each = type.bytes / unsigned(operand.list.size());
      for (size_t i = 0; i < operand.list.size(); ++i)
        set(operand.list[i], bits >> i * each * 8, {Kind::Bits, each});
      return;
    }
    current->registers[operand.index] =
        type.kind == Kind::Pred ? bits & 1 : bits & maskOf(type.bytes);
  }
  uint64_t special(const std::string &name) const {
    unsigned thread = currentWarp * 32 + currentLane;
    unsigned axis = unsigned(name.back() - 'x');
    if (name == "%laneid")
      return currentLane;
    if (name == "%warpid")
      return currentWarp;
    if (name.starts_with("%tid."))
      return axis == 0   ? thread % launch.block[0]
             : axis == 1 ? thread / launch.block[0] % launch.block[1]
                         : thread / launch.block[0] / launch.block[1];
    if (name.starts_with("%ctaid."))
      return place[axis];
    if (name.starts_with("%nctaid."))
      return launch.grid[axis];
    if (name.starts_with("%ntid."))
      return launch.block[axis];
    return steps; // clocks
  }
  uint64_t address(const Operand &operand) { return get(operand) + uint64_t(operand.offset); }

  // --- memory ---

  static std::string bytesText(uint64_t at, unsigned bytes) {
    return std::to_string(bytes) + " bytes at " + std::to_string(at) + " of shared memory";
  }
  static std::string hexadecimal(const uint8_t *data, unsigned bytes) {
    std::string out;
    char text[3];
    for (unsigned i = bytes; data && i-- > 0;) {
      std::snprintf(text, sizeof text, "%02x", data[i]);
      out += text;
    }
    return out.empty() ? "a copy" : out;
  }
  void inShared(uint64_t at, unsigned bytes) const {
    if (at + bytes > shared.size() || at % std::min(bytes, 16u))
      fail(bytesText(at, bytes) + " are outside of its " + std::to_string(shared.size()) +
           ", or not aligned");
  }
  void noteRead(uint64_t at, unsigned bytes) {
    inShared(at, bytes);
    for (unsigned i = 0; i < bytes; ++i) {
      Touched &byte = touched[at + i];
      if (byte.filling)
        fail(bytesText(at, bytes) + " are read while a copy fills them");
      if (byte.written == epoch + 1 && byte.writer != int(currentWarp))
        fail(bytesText(at, bytes) + " are read by warp " + std::to_string(currentWarp) +
             " and written by warp " + std::to_string(byte.writer) + " without a barrier between");
      byte.reader = byte.read != epoch + 1 || byte.reader == int(currentWarp) ? int16_t(currentWarp)
                                                                              : int16_t(-2);
      byte.read = epoch + 1;
    }
  }
  void noteWrite(uint64_t at, unsigned bytes, const uint8_t *data, bool isCopy = false) {
    inShared(at, bytes);
    for (unsigned i = 0; i < bytes; ++i) {
      Touched &byte = touched[at + i];
      if (byte.filling && !isCopy)
        fail(bytesText(at, bytes) + " are written while a copy fills them");
      // Copies of one value may come from several warps.
      if (byte.written == epoch + 1 && byte.writer != int(currentWarp) &&
          (!data || shared[at + i] != data[i]))
        fail(bytesText(at, bytes) + " are written by warps " + std::to_string(currentWarp) +
             " and " + std::to_string(byte.writer) + " without a barrier between, as " +
             hexadecimal(data, bytes) + " over " + hexadecimal(&shared[at], bytes));
      if (byte.read == epoch + 1 && byte.reader != int(currentWarp) &&
          (!data || shared[at + i] != data[i]))
        fail(bytesText(at, bytes) + " are written by warp " + std::to_string(currentWarp) +
             " and read by " +
             (byte.reader < 0 ? "others" : "warp " + std::to_string(byte.reader)) +
             " without a barrier between");
      byte.written = epoch + 1;
      byte.writer = int16_t(currentWarp);
    }
  }
  void inGlobal(uint64_t at, unsigned bytes) const {
    if (at % bytes)
      fail("the address of " + std::to_string(bytes) + " bytes is not aligned");
    if (!launch.isAllocated(at, bytes))
      fail("global memory outside of all allocations");
  }
  void read(bool isShared, uint64_t at, unsigned bytes, uint8_t *to) {
    if (isShared) {
      noteRead(at, bytes);
      std::memcpy(to, &shared[at], bytes);
    } else {
      inGlobal(at, bytes);
      std::memcpy(to, reinterpret_cast<const void *>(at), bytes);
    }
  }
  void write(bool isShared, uint64_t at, unsigned bytes, const uint8_t *from) {
    if (isShared) {
      noteWrite(at, bytes, from);
      std::memcpy(&shared[at], from, bytes);
    } else {
      inGlobal(at, bytes);
      std::memcpy(reinterpret_cast<void *>(at), from, bytes);
    }
  }

  void loadOrStore(const Instruction &i) {
    bool isStore = i.op == Op::st_, isShared = i.isShared;
    const Operand &memory = i.operands[isStore ? 0 : 1], &values = i.operands[isStore ? 1 : 0];
    Type type = i.types.back();
    if (memory.kind == Operand::Parameter) {
      std::vector<uint8_t> bytes(kernel.parameters[memory.index].bytes);
      std::memcpy(bytes.data(), launch.arguments[memory.index], bytes.size());
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + memory.offset,
                  std::min<size_t>(type.bytes, bytes.size() - size_t(memory.offset)));
      return set(values, extended(bits, type), {Kind::Bits, 8});
    }
    unsigned count = values.kind == Operand::List ? unsigned(values.list.size()) : 1;
    uint8_t data[32];
    uint64_t at = address(memory);
    auto each = [&](unsigned k) -> const Operand & {
      return values.kind == Operand::List ? values.list[k] : values;
    };
    if (isStore) {
      for (unsigned k = 0; k < count; ++k) {
        uint64_t bits = get(each(k));
        std::memcpy(data + k * type.bytes, &bits, type.bytes);
      }
      return write(isShared, at, count * type.bytes, data);
    }
    read(isShared, at, count * type.bytes, data);
    for (unsigned k = 0; k < count; ++k) {
      uint64_t bits = 0;
      std::memcpy(&bits, data + k * type.bytes, type.bytes);
      set(each(k), extended(bits, type), {Kind::Bits, 8});
    }
  }
  // A register that is wider than what is loaded.
  static uint64_t extended(uint64_t bits, Type type) {
    return type.kind == Kind::Signed ? uint64_t(signedOf(bits, type.bytes)) : bits;
  }

  void asyncCopy(const Instruction &i) {
    if (i.has("commit_group")) {
      current->groups.push_back(std::move(current->open));
      current->open.clear();
    } else if (i.has("wait_group")) {
      finish(size_t(get(i.operands[0])));
    } else if (i.has("wait_all")) {
      current->groups.push_back(std::move(current->open));
      current->open.clear();
      finish(0);
    } else if (i.has("async") && !i.has("bulk")) {
      Copy copy{address(i.operands[1]), address(i.operands[0]), unsigned(get(i.operands[2])), 0};
      copy.given =
          i.operands.size() > 3 ? unsigned(get(i.operands[3], {Kind::Bits, 4})) : copy.bytes;
      if (copy.given)
        inGlobal(copy.from, copy.given == copy.bytes ? copy.bytes : 1);
      noteWrite(copy.to, copy.bytes, nullptr);
      for (unsigned k = 0; k < copy.bytes; ++k)
        ++touched[copy.to + k].filling;
      current->open.push_back(copy);
    } else {
      fail("the model does not know this copy");
    }
  }
  void finish(size_t most) {
    while (current->groups.size() > most) {
      for (const Copy &copy : current->groups.front()) {
        std::memset(&shared[copy.to], 0, copy.bytes);
        if (copy.given)
          std::memcpy(&shared[copy.to], reinterpret_cast<const void *>(copy.from), copy.given);
        for (unsigned k = 0; k < copy.bytes; ++k)
          --touched[copy.to + k].filling;
        noteWrite(copy.to, copy.bytes, nullptr, true);
      }
      current->groups.erase(current->groups.begin());
    }
  }

  void atomic(const Instruction &i) {
    bool hasResult = i.op == Op::atom_, isShared = i.isShared;
    const Operand *from = &i.operands[hasResult];
    Type type = i.types.back();
    uint64_t at = address(from[0]), old = 0, value = get(from[1], type), made = value;
    if (isShared) {
      inShared(at, type.bytes);
      std::memcpy(&old, &shared[at], type.bytes);
    } else {
      inGlobal(at, type.bytes);
      std::memcpy(&old, reinterpret_cast<const void *>(at), type.bytes);
    }
    if (i.has("cas"))
      made = old == value ? get(from[2], type) : old;
    else if (i.has("and") || i.has("or") || i.has("xor"))
      made = i.has("and") ? old & value : i.has("or") ? old | value : old ^ value;
    else if (!i.has("exch"))
      made = arithmetic(i.has("add")   ? Op::add_
                        : i.has("min") ? Op::min_
                                       : Op::max_,
                        type, old, value, 0, i);
    if (isShared)
      std::memcpy(&shared[at], &made, type.bytes);
    else
      std::memcpy(reinterpret_cast<void *>(at), &made, type.bytes);
    if (hasResult && i.operands[0].index)
      set(i.operands[0], old, type);
  }

  // --- arithmetic ---

  static double flushed(double value, const Instruction &i, Type type) {
    double least = type.kind == Kind::Half ? 0x1p-14 : 0x1p-126;
    return i.isFtz && type.bytes <= 4 && std::fabs(value) < least ? std::copysign(0., value)
                                                                  : value;
  }

  uint64_t arithmetic(Op name, Type type, uint64_t a, uint64_t b, uint64_t c,
                      const Instruction &i) {
    if (type.kind == Kind::HalfPair || type.kind == Kind::BrainPair) {
      Type one{type.kind == Kind::HalfPair ? Kind::Half : Kind::Brain, 2};
      uint64_t low = arithmetic(name, one, a & 0xffff, b & 0xffff, c & 0xffff, i) & 0xffff;
      return low | (arithmetic(name, one, a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff, i) &
                    0xffff)
                       << 16;
    }
    if (type.isFloat())
      return floating(name, type, a, b, c, i);
    bool isSigned = type.kind == Kind::Signed;
    unsigned width = type.bytes * 8;
    int64_t sa = signedOf(a, type.bytes), sb = signedOf(b, type.bytes);
    a &= maskOf(type.bytes);
    b &= maskOf(type.bytes);
    if (i.isSat) {
      int64_t sum = name == Op::add_ ? sa + sb : sa - sb;
      return uint64_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
    }
    if (name == Op::add_)
      return a + b;
    if (name == Op::sub_)
      return a - b;
    if (name == Op::mul_ || name == Op::mad_) {
      if (i.isWide)
        return (isSigned ? uint64_t(sa * sb) : a * b) + (name == Op::mad_ ? c : 0);
      __int128 whole = isSigned ? __int128(sa) * sb : __int128((unsigned __int128)(a)*b);
      return uint64_t(i.isHi ? whole >> width : whole) + (name == Op::mad_ ? c : 0);
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

  static bool compares(const Instruction &i, Type type, uint64_t a, uint64_t b) {
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
      how = how.substr(0, 2);
      return how == "eq"   ? x == y
             : how == "ne" ? x != y
             : how == "lt" ? x < y
             : how == "le" ? x <= y
             : how == "gt" ? x > y
                           : x >= y;
    }
    if (type.kind == Kind::Signed) {
      int64_t x = signedOf(a, type.bytes), y = signedOf(b, type.bytes);
      return how == "eq"   ? x == y
             : how == "ne" ? x != y
             : how == "lt" ? x < y
             : how == "le" ? x <= y
             : how == "gt" ? x > y
                           : x >= y;
    }
    a &= maskOf(type.bytes);
    b &= maskOf(type.bytes);
    return how == "eq"                  ? a == b
           : how == "ne"                ? a != b
           : how == "lt" || how == "lo" ? a < b
           : how == "le" || how == "ls" ? a <= b
           : how == "gt" || how == "hi" ? a > b
                                        : a >= b;
  }

  static double roundedBy(const Instruction &i, double value) {
    return i.has("rni")   ? std::nearbyint(value)
           : i.has("rmi") ? std::floor(value)
           : i.has("rpi") ? std::ceil(value)
                          : std::trunc(value);
  }
  static uint64_t narrowed(double value, Type to, const Instruction &i) {
    if (i.isSat)
      value = std::isnan(value) ? 0 : std::clamp(value, 0., 1.);
    if (i.isRelu && value <= 0)
      value = 0;
    return fromDouble(flushed(value, i, to), to, i.rounding);
  }
  uint64_t converted(const Instruction &i) {
    Type to = i.types[0], from = i.types[1];
    if (to.kind == Kind::HalfPair || to.kind == Kind::BrainPair) {
      Type one{to.kind == Kind::HalfPair ? Kind::Half : Kind::Brain, 2};
      return narrowed(toDouble(get(i.operands[1], from), from), one, i) << 16 |
             narrowed(toDouble(get(i.operands[2], from), from), one, i);
    }
    uint64_t bits = get(i.operands[1], from);
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
      return std::isnan(value)
                 ? 0x7fffffff
                 : (std::bit_cast<uint32_t>(float(value)) + 0x1000) & ~uint32_t(0x1fff);
    return narrowed(value, to, i);
  }

  void execute(const Instruction &i) {
    const auto &o = i.operands;
    Op name = i.op;
    if (name == Op::ld_ || name == Op::st_)
      return loadOrStore(i);
    if (name == Op::cp_)
      return asyncCopy(i);
    if (name == Op::atom_ || name == Op::red_)
      return atomic(i);
    if (name == Op::fence_ || name == Op::membar_ || name == Op::nanosleep_ ||
        name == Op::griddepcontrol_)
      return;
    if (name == Op::trap_)
      fail("the kernel traps");
    Type type = i.types.empty() ? Type{} : i.types.back();
    if (name == Op::cvt_) // into a register that may be wider
      return set(o[0], extended(converted(i) & maskOf(i.types[0].bytes), i.types[0]),
                 {Kind::Bits, 8});
    if (name == Op::mov_ || name == Op::cvta_)
      return set(o[0], get(o[1], type), type);
    if (name == Op::setp_) {
      bool holds = compares(i, type, get(o[1], type), get(o[2], type));
      if (o.size() > 3) {
        bool other = get(o[3], {Kind::Pred, 1});
        holds = i.has("and") ? holds && other : i.has("or") ? holds || other : holds != other;
      }
      set(o[0], holds, {Kind::Pred, 1});
      if (o[0].second >= 0)
        current->registers[size_t(o[0].second)] = !holds;
      return;
    }
    if (name == Op::selp_)
      return set(o[0], get(get(o[3], {Kind::Pred, 1}) ? o[1] : o[2], type), type);
    uint64_t a = get(o[1], type), b = o.size() > 2 ? get(o[2], type) : 0;
    unsigned width = type.bytes * 8;
    if (name == Op::and_)
      return set(o[0], a & b, type);
    if (name == Op::or_)
      return set(o[0], a | b, type);
    if (name == Op::xor_)
      return set(o[0], a ^ b, type);
    if (name == Op::not_)
      return set(o[0], ~a, type);
    if (name == Op::shl_ || name == Op::shr_) {
      uint64_t by = get(o[2], {Kind::Bits, 4});
      if (name == Op::shl_)
        return set(o[0], by >= width ? 0 : a << by, type);
      if (type.kind == Kind::Signed)
        return set(o[0], uint64_t(signedOf(a, type.bytes) >> std::min<uint64_t>(by, width - 1)),
                   type);
      return set(o[0], by >= width ? 0 : a >> by, type);
    }
    if (name == Op::shf_) {
      uint64_t both = b << 32 | a, by = get(o[3], {Kind::Bits, 4});
      by = i.has("wrap") ? by & 31 : std::min<uint64_t>(by, 32);
      return set(o[0], i.has("l") ? both << by >> 32 : both >> by, type);
    }
    if (name == Op::bfe_) {
      unsigned start = unsigned(b & 255), length = unsigned(get(o[3], {Kind::Bits, 4}) & 255);
      uint64_t field = start >= width ? 0 : a >> start;
      length = std::min(length, width);
      bool isNegative =
          type.kind == Kind::Signed && length && a >> std::min(start + length - 1, width - 1) & 1;
      field = length == 64 ? field : field & ((uint64_t(1) << length) - 1);
      if (isNegative && length < 64)
        field |= ~uint64_t(0) << std::min(length, start >= width ? 0 : width - start);
      return set(o[0], field, type);
    }
    if (name == Op::bfi_) {
      unsigned start = unsigned(get(o[3], {Kind::Bits, 4}) & 255),
               length = unsigned(get(o[4], {Kind::Bits, 4}) & 255);
      uint64_t mask = (length >= 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1) << (start & 63);
      return set(o[0], start >= width ? b : (b & ~mask) | (a << start & mask), type);
    }
    if (name == Op::prmt_) {
      uint64_t both = b << 32 | a, selector = get(o[3], {Kind::Bits, 4}), out = 0;
      for (unsigned k = 0; k < 4; ++k) {
        unsigned pick = selector >> k * 4 & 15;
        uint64_t byte = both >> (pick & 7) * 8 & 255;
        out |= (pick & 8 ? (byte & 128 ? 255 : 0) : byte) << k * 8;
      }
      return set(o[0], out, type);
    }
    if (name == Op::lop3_) {
      uint64_t c = get(o[3], type), table = get(o[4]), out = 0;
      for (unsigned bit = 0; bit < 32; ++bit)
        out |= (table >> ((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)) & 1) << bit;
      return set(o[0], out, type);
    }
    if (name == Op::dp4a_) {
      uint64_t sum = get(o[3], {Kind::Bits, 4});
      for (unsigned at = 0; at < 32; at += 8) {
        auto byteOf = [&](uint64_t word, Type of) {
          uint64_t byte = word >> at & 255;
          return of.kind == Kind::Signed ? signedOf(byte, 1) : int64_t(byte);
        };
        sum += uint64_t(byteOf(a, i.types[0]) * byteOf(b, i.types[1]));
      }
      return set(o[0], sum, {Kind::Bits, 4});
    }
    if (name == Op::popc_)
      return set(o[0], uint64_t(std::popcount(a)), {Kind::Bits, 4});
    if (name == Op::clz_)
      return set(o[0], uint64_t(std::countl_zero(a)) - (64 - width), {Kind::Bits, 4});
    if (name == Op::brev_) {
      uint64_t out = 0;
      for (unsigned bit = 0; bit < width; ++bit)
        out |= (a >> bit & 1) << (width - 1 - bit);
      return set(o[0], out, type);
    }
    if (name == Op::copysign_) {
      uint64_t sign = uint64_t(1) << (width - 1);
      return set(o[0], (a & sign) | (b & ~sign), type);
    }
    bool isWide = i.isWide;
    Type result = isWide ? Type{type.kind, type.bytes * 2} : type;
    uint64_t c = o.size() > 3 ? get(o[3], result) : 0;
    set(o[0], arithmetic(name, type, a, b, c, i), result);
  }

  // --- what a warp does together ---

  void collective(unsigned warp, const Instruction &i, const std::vector<unsigned> &active) {
    currentWarp = warp;
    if (active.size() != 32)
      fail("some lanes have ended that `" + i.full + "` waits for");
    auto as = [&](unsigned l) {
      current = &lane(warp, l);
      currentLane = l;
    };
    if (i.op == Op::shfl_) {
      uint64_t values[32];
      for (unsigned l = 0; l < 32; ++l)
        as(l), values[l] = get(i.operands[1], {Kind::Bits, 4});
      for (unsigned l = 0; l < 32; ++l) {
        as(l);
        unsigned by = unsigned(get(i.operands[2], {Kind::Bits, 4})),
                 c = unsigned(get(i.operands[3], {Kind::Bits, 4}));
        unsigned segment = c >> 8 & 31, clamp = c & 31, low = l & segment,
                 high = low | (clamp & ~segment), from = 0;
        bool isIn = true;
        if (i.has("bfly"))
          from = l ^ by, isIn = from <= high;
        else if (i.has("up"))
          from = l - by, isIn = int(l) - int(by) >= int(high);
        else if (i.has("down"))
          from = l + by, isIn = from <= high;
        else
          from = low | (by & 31 & ~segment), isIn = from <= high;
        if (!isIn)
          from = l;
        set(i.operands[0], values[from], {Kind::Bits, 4});
        if (i.operands[0].second >= 0)
          current->registers[size_t(i.operands[0].second)] = isIn;
      }
    } else if (i.op == Op::vote_) {
      uint64_t bits = 0;
      for (unsigned l = 0; l < 32; ++l)
        as(l), bits |= get(i.operands[1], {Kind::Pred, 1}) << l;
      for (unsigned l = 0; l < 32; ++l) {
        as(l);
        if (i.has("ballot"))
          set(i.operands[0], bits, {Kind::Bits, 4});
        else
          set(i.operands[0], i.has("all") ? bits == 0xffffffff : bits != 0, {Kind::Pred, 1});
      }
    } else if (i.op == Op::redux_) {
      uint64_t sum = 0;
      for (unsigned l = 0; l < 32; ++l) {
        as(l);
        uint64_t one = get(i.operands[1], {Kind::Bits, 4});
        Op how = i.has("add") ? Op::add_ : i.has("min") ? Op::min_ : Op::max_;
        sum = l == 0         ? one
              : i.has("and") ? sum & one
              : i.has("or")  ? sum | one
              : i.has("xor") ? sum ^ one
                             : arithmetic(how, i.types.back(), sum, one, 0, i);
      }
      for (unsigned l = 0; l < 32; ++l)
        as(l), set(i.operands[0], sum, {Kind::Bits, 4});
    } else if (i.op == Op::activemask_) {
      for (unsigned l = 0; l < 32; ++l)
        as(l), set(i.operands[0], 0xffffffff, {Kind::Bits, 4});
    } else if (i.op == Op::ldmatrix_) {
      loadMatrices(warp, i);
    } else if (i.op == Op::mma_) {
      multiply(warp, i);
    }
  }

  // Eight rows of 16 bytes each, by the addresses of eight lanes; lane l gets elements 2 (l % 4)
  // and the next of row l / 4, or of that column.
  void loadMatrices(unsigned warp, const Instruction &i) {
    const Operand &to = i.operands[0];
    bool isTransposed = i.has("trans");
    for (unsigned m = 0; m < to.list.size(); ++m) {
      uint16_t matrix[8][8];
      for (unsigned row = 0; row < 8; ++row) {
        current = &lane(warp, m * 8 + row);
        currentLane = m * 8 + row;
        read(true, address(i.operands[1]), 16, reinterpret_cast<uint8_t *>(matrix[row]));
      }
      for (unsigned l = 0; l < 32; ++l) {
        current = &lane(warp, l);
        unsigned major = l / 4, minor = l % 4 * 2;
        uint32_t first = isTransposed ? matrix[minor][major] : matrix[major][minor],
                 second = isTransposed ? matrix[minor + 1][major] : matrix[major][minor + 1];
        set(to.list[m], first | second << 16, {Kind::Bits, 4});
      }
    }
  }

  // The fragments of the PTX manual: with e elements of an operand in a word, lane l has of word r
  // the row l / 4 + 8 (r % 2) and the columns e (l % 4) + 4 e (r / 2) and following of A, of B the
  // column l / 4 and the rows e (l % 4) + 4 e r and following, and of the sums row l / 4 + 8 (r /
  // 2), column 2 (l % 4) + r % 2.
  void multiply(unsigned warp, const Instruction &i) {
    std::string shape = i.words[2];
    unsigned m = 0, n = 0, k = 0;
    for (const std::string &word : i.words)
      if (std::sscanf(word.c_str(), "m%un%uk%u", &m, &n, &k) == 3)
        shape = word;
    const Operand &d = i.operands[0], &a = i.operands[1], &b = i.operands[2], &c = i.operands[3];
    Type sum = i.types[0], left{}, right{};
    bool isByteFloat = i.types.size() < 4;
    if (isByteFloat)
      fail("the model does not know it");
    left = i.types[1];
    right = i.types[2];
    bool isTf32 = left.kind == Kind::Float && left.bytes == 4, isDouble = left.bytes == 8;
    unsigned word = isDouble ? 8 : 4, e = word / left.bytes;
    std::vector<double> A(m * k), B(k * n), D(m * n);
    auto element = [&](uint64_t bits, unsigned at, Type type) {
      if (isTf32)
        return double(std::bit_cast<float>(uint32_t(bits) & ~uint32_t(0x1fff)));
      return toDouble(bits >> at * type.bytes * 8 & maskOf(type.bytes), type);
    };
    for (unsigned l = 0; l < 32; ++l) {
      current = &lane(warp, l);
      unsigned group = l / 4, t = l % 4;
      for (unsigned r = 0; r < a.list.size(); ++r)
        for (unsigned x = 0; x < e; ++x)
          A[(group + 8 * (r % 2)) * k + e * t + 4 * e * (r / 2) + x] =
              element(get(a.list[r], {Kind::Bits, word}), x, left);
      for (unsigned r = 0; r < b.list.size(); ++r)
        for (unsigned x = 0; x < e; ++x)
          B[(e * t + 4 * e * r + x) * n + group] =
              element(get(b.list[r], {Kind::Bits, word}), x, right);
    }
    for (unsigned row = 0; row < m; ++row)
      for (unsigned column = 0; column < n; ++column)
        for (unsigned x = 0; x < k; ++x)
          D[row * n + column] += A[row * k + x] * B[x * n + column];
    unsigned packed = sum.kind == Kind::Half ? 2 : 1;
    for (unsigned l = 0; l < 32; ++l) {
      current = &lane(warp, l);
      for (unsigned r = 0; r < d.list.size(); ++r) {
        uint64_t out = 0, before = get(c.list[r], {Kind::Bits, word == 8 ? 8u : 4u});
        for (unsigned x = 0; x < packed; ++x) {
          unsigned q = r * packed + x;
          double product = D[(l / 4 + 8 * (q / 2)) * n + 2 * (l % 4) + q % 2];
          uint64_t own = before >> x * 16 & maskOf(sum.bytes);
          uint64_t bits = sum.isFloat() ? fromDouble(toDouble(own, sum) + product, sum)
                                        : uint64_t(int64_t(signedOf(own, 4)) + int64_t(product));
          out |= (bits & maskOf(sum.bytes)) << x * 16;
        }
        set(d.list[r], out, {Kind::Bits, word == 8 ? 8u : 4u});
      }
    }
  }

  const Kernel &kernel;
  const Launch &launch;
  unsigned place[3];
  std::vector<uint8_t> shared;
  std::vector<Touched> touched;
  std::vector<Thread> threads;
  std::mt19937 &random;
  uint32_t epoch = 0;
  uint64_t steps = 0;
  Thread *current = nullptr;
  unsigned currentWarp = 0, currentLane = 0;
};

} // namespace

std::string run(const Kernel &kernel, const Launch &launch) {
  std::mt19937 random(launch.seed);
  try {
    unsigned at[3];
    for (at[2] = 0; at[2] < launch.grid[2]; ++at[2])
      for (at[1] = 0; at[1] < launch.grid[1]; ++at[1])
        for (at[0] = 0; at[0] < launch.grid[0]; ++at[0])
          Block(kernel, launch, at, random).run();
  } catch (Fault &fault) {
    return fault.text;
  }
  return {};
}

} // namespace ptx
