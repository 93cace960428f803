#include "runtime/KernelSymbols.h"

#include "support/LaunchAbi.h"
#include "support/SpecialFunctions.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <math.h>

namespace nereid::runtime {

using support::CpuContext;
using support::Record;
using support::RecordBuffer;
using support::RecordKind;

namespace {

// Rounds a double to `fraction` bits of fraction with a bias of `bias`, to nearest even, and
// returns the sign, exponent and fraction packed. Every float is a double, so both widths share
// this.
uint16_t roundTo16(double value, int fraction, int exponentBits) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint16_t sign = uint16_t(bits >> 63 << 15);
  int bias = (1 << (exponentBits - 1)) - 1;
  uint16_t infinity = uint16_t(((1 << exponentBits) - 1) << fraction);
  uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  int exponent = int(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) {
    if (mantissa == 0)
      return sign | infinity;
    // Keep the upper payload and make the NaN quiet.
    return sign | infinity | uint16_t(1 << (fraction - 1)) | uint16_t(mantissa >> (52 - fraction));
  }
  if (exponent == 0)
    return sign; // far below the least denormal of either format
  mantissa |= uint64_t(1) << 52;
  int target = exponent - 1023 + bias; // the exponent field, if positive
  int drop = 52 - fraction;
  if (target <= 0) {
    drop += 1 - target;
    target = 0;
  } else {
    target -= 1; // the implicit bit adds one back
  }
  if (drop > 54)
    return sign;
  uint64_t kept = mantissa >> drop, rest = mantissa & ((uint64_t(1) << drop) - 1);
  uint64_t half = uint64_t(1) << (drop - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  uint64_t packed = (uint64_t(target) << fraction) + kept;
  return sign | uint16_t(std::min<uint64_t>(packed, infinity));
}

float extendHalf(_Float16 half) {
  uint16_t bits = std::bit_cast<uint16_t>(half);
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f) // the hardware makes a NaN quiet
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13 | (mantissa ? 0x400000 : 0));
  if (exponent == 0) {
    float magnitude = float(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

_Float16 truncateDoubleToHalf(double value) {
  return std::bit_cast<_Float16>(roundTo16(value, 10, 5));
}
_Float16 truncateToHalf(float value) { return truncateDoubleToHalf(value); }
// A __bf16 is returned in the same register. Clang 19 may convert a __bf16 through float to return
// it, which would be a call to this very function, so the type here is _Float16.
_Float16 truncateDoubleToBFloat(double value) {
  return std::bit_cast<_Float16>(roundTo16(value, 7, 8));
}
_Float16 truncateToBFloat(float value) { return truncateDoubleToBFloat(value); }

// LLVM expands these inline or calls the compiler's support library, which the process has.
__int128 divide128(__int128 a, __int128 b) { return a / b; }
__int128 remainder128(__int128 a, __int128 b) { return a % b; }
unsigned __int128 divideUnsigned128(unsigned __int128 a, unsigned __int128 b) { return a / b; }
unsigned __int128 remainderUnsigned128(unsigned __int128 a, unsigned __int128 b) { return a % b; }

void writeRecord(const CpuContext *context, uint32_t site, uint32_t operandAndKind,
                 uint64_t program, uint32_t index, uint64_t value) {
  RecordBuffer *buffer = context->records;
  if (!buffer)
    return;
  auto kind = uint16_t(operandAndKind >> 16);
  if (RecordKind(kind) == RecordKind::Assert)
    std::atomic_ref(buffer->failures).fetch_add(1, std::memory_order_relaxed);
  uint64_t slot = std::atomic_ref(buffer->claimed).fetch_add(1, std::memory_order_relaxed);
  if (slot >= buffer->capacity)
    return;
  Record &record = reinterpret_cast<Record *>(buffer + 1)[slot];
  record.site = site;
  record.operand = uint16_t(operandAndKind);
  record.program = program;
  record.value = value;
  record.index = index;
  record.reserved = 0;
  std::atomic_ref(record.kind).store(kind, std::memory_order_release);
}

int64_t readClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Symbol {
  std::string_view name;
  uint64_t address;
};

template <typename Function> uint64_t addressOf(Function *function) {
  return reinterpret_cast<uint64_t>(function);
}

// glibc declares it for C23 only; any glibc since 2.25 has it.
extern "C" double roundeven(double) noexcept;
extern "C" float roundevenf(float) noexcept;

const auto &table() {
  static const auto sorted = [] {
    std::array symbols = {
#define MEMORY(name) Symbol{#name, addressOf(&::name)},
#define UNARY(type, name) Symbol{#name, addressOf(static_cast<type (*)(type)>(&::name))},
#define BINARY(type, name) Symbol{#name, addressOf(static_cast<type (*)(type, type)>(&::name))},
#define TERNARY(type, name)                                                                        \
  Symbol{#name, addressOf(static_cast<type (*)(type, type, type)>(&::name))},
#define RUNTIME(name, definition) Symbol{#name, addressOf(&definition)},
#include "support/CpuSymbols.def"
    };
    std::sort(symbols.begin(), symbols.end(),
              [](const Symbol &a, const Symbol &b) { return a.name < b.name; });
    return symbols;
  }();
  return sorted;
}

} // namespace

uint64_t kernelSymbol(std::string_view name) {
  const auto &symbols = table();
  auto found = std::lower_bound(symbols.begin(), symbols.end(), name,
                                [](const Symbol &a, std::string_view b) { return a.name < b; });
  return found != symbols.end() && found->name == name ? found->address : 0;
}

} // namespace nereid::runtime
