// Numbers as a GPU computes with them: registers are bits, of which an instruction's type says what
// they are.
#pragma once

#include "PtxCode.h"

namespace ptx {

inline uint64_t maskOf(unsigned bytes) {
  return bytes >= 8 ? ~uint64_t(0) : (uint64_t(1) << bytes * 8) - 1;
}
inline int64_t signedOf(uint64_t bits, unsigned bytes) {
  unsigned shift = 64 - bytes * 8;
  return int64_t(bits << shift) >> shift;
}

double toDouble(uint64_t bits, Type type);
/// To nearest.
uint64_t fromDouble(double value, Type type);

/// add, sub, mul, fma and so on, with the words of `i`.
uint64_t arithmetic(Op name, Type type, uint64_t a, uint64_t b, uint64_t c, const Instruction &i);
bool compares(const Instruction &i, Type type, uint64_t a, uint64_t b);
/// What `cvt` gives of its operand, or two.
uint64_t converted(const Instruction &i, uint64_t bits, uint64_t second);

} // namespace ptx
