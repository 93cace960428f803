// Literals as Python's `repr` shows them.
#include "syntax/Printer.h"
#include "syntax/Source.h"
#include "syntax/Unicode.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace nereid::syntax {
namespace {

void appendHex(std::string &out, char kind, uint32_t value, int digits) {
  out += '\\';
  out += kind;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[value >> shift & 15];
}

} // namespace

std::string reprString(std::string_view text, bool bytes, bool ascii) {
  bool single = text.find('\'') != std::string_view::npos;
  char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out;
  out.reserve(text.size() + 3);
  if (bytes)
    out += 'b';
  out += quote;
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    const char *start = p;
    uint32_t c = bytes ? static_cast<unsigned char>(*p++) : decodeUtf8(p);
    if (c == uint32_t(quote) || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c >= 32 && c < 127) {
      out += char(c);
    } else if (!bytes && !ascii && isPrintable(c)) {
      out.append(start, p);
    } else if (c < 0x100) {
      appendHex(out, 'x', c, 2);
    } else if (c < 0x10000) {
      appendHex(out, 'u', c, 4);
    } else {
      appendHex(out, 'U', c, 8);
    }
  }
  out += quote;
  return out;
}

std::string reprFloat(double value) {
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  if (std::isnan(value))
    return "nan";
  char buffer[40];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, result.ptr - buffer);
  std::string out;
  if (text.starts_with('-')) {
    out = "-";
    text.remove_prefix(1);
  }
  size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 2)
    digits += text.substr(2, e - 2);
  int exponent = 0;
  const char *from = text.data() + e + 1;
  std::from_chars(*from == '+' ? from + 1 : from, text.data() + text.size(), exponent);

  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1)
      out += "." + digits.substr(1);
    std::string magnitude = std::to_string(std::abs(exponent));
    out += exponent < 0 ? "e-" : "e+";
    if (magnitude.size() < 2)
      out += '0';
    return out + magnitude;
  }
  if (exponent < 0)
    return out + "0." + std::string(size_t(-exponent - 1), '0') + digits;
  size_t whole = size_t(exponent) + 1;
  if (digits.size() <= whole)
    return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string reprImaginary(double value) {
  std::string text = reprFloat(value);
  if (text.ends_with(".0"))
    text.resize(text.size() - 2);
  return text + "j";
}

std::string decimalDigits(std::string_view hex) {
  constexpr uint64_t Base = 1'000'000'000;
  std::vector<uint32_t> limbs; // base 10^9, lowest first
  auto value = [](char c) { return uint64_t(c <= '9' ? c - '0' : c - 'a' + 10); };
  while (!hex.empty()) {
    size_t take = hex.size() % 7 ? hex.size() % 7 : 7;
    uint64_t carry = 0;
    for (char c : hex.substr(0, take))
      carry = carry * 16 + value(c);
    for (uint32_t &limb : limbs) {
      uint64_t wide = (uint64_t(limb) << (4 * take)) + carry;
      limb = uint32_t(wide % Base);
      carry = wide / Base;
    }
    if (carry)
      limbs.push_back(uint32_t(carry % Base));
    hex.remove_prefix(take);
  }
  if (limbs.empty())
    return "0";
  std::string out = std::to_string(limbs.back());
  for (size_t i = limbs.size() - 1; i-- > 0;) {
    std::string part = std::to_string(limbs[i]);
    out += std::string(9 - part.size(), '0') + part;
  }
  return out;
}

} // namespace nereid::syntax
