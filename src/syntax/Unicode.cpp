#include "syntax/Unicode.h"

#include <algorithm>
#include <iterator>

namespace nereid::syntax {
namespace {

#include "syntax/UnicodeTables.inc"

// The property holds between an even and an odd entry.
template <size_t N> bool holds(const uint32_t (&changes)[N], uint32_t codePoint) {
  auto after = std::upper_bound(std::begin(changes), std::end(changes), codePoint);
  return (after - std::begin(changes)) % 2 == 1;
}

bool isLetter(uint32_t c) { return (c | 32) - 'a' < 26; }

} // namespace

bool isIdentifierStart(uint32_t c) {
  return c < 0x80 ? isLetter(c) || c == '_' : holds(IdentifierStartChanges, c);
}

bool isIdentifierContinue(uint32_t c) {
  return c < 0x80 ? isLetter(c) || c == '_' || c - '0' < 10 : holds(IdentifierContinueChanges, c);
}

bool isPrintable(uint32_t c) { return c < 0x80 ? c >= 32 && c < 127 : holds(PrintableChanges, c); }

} // namespace nereid::syntax
