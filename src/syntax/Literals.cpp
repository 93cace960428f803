#include "syntax/Literals.h"

#include "syntax/Parser.h"
#include "syntax/Source.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace nereid::syntax {
namespace {

int hexValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string_view trimZeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits.empty() ? "0" : digits;
}

// Hexadecimal digits of a number given in base 2^bits.
std::string fromPowerOfTwo(std::string_view digits, int bits) {
  std::string out;
  uint32_t pending = 0;
  int have = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    pending |= uint32_t(hexValue(digits[i])) << have;
    for (have += bits; have >= 4; have -= 4, pending >>= 4)
      out += "0123456789abcdef"[pending & 15];
  }
  if (have)
    out += "0123456789abcdef"[pending & 15];
  std::reverse(out.begin(), out.end());
  return out;
}

// Schoolbook conversion, 18 digits and 64 bits at a time.
std::string fromDecimal(std::string_view digits) {
  std::vector<uint64_t> limbs;
  while (!digits.empty()) {
    size_t take = digits.size() % 18 ? digits.size() % 18 : 18;
    uint64_t scale = 1, carry = 0;
    for (char c : digits.substr(0, take)) {
      carry = carry * 10 + uint64_t(c - '0');
      scale *= 10;
    }
    for (uint64_t &limb : limbs) {
      unsigned __int128 wide = (unsigned __int128)limb * scale + carry;
      limb = uint64_t(wide);
      carry = uint64_t(wide >> 64);
    }
    if (carry)
      limbs.push_back(carry);
    digits.remove_prefix(take);
  }
  std::string out;
  for (size_t i = limbs.size(); i-- > 0;) {
    char buffer[17];
    for (int k = 0; k < 16; ++k)
      buffer[k] = "0123456789abcdef"[limbs[i] >> (60 - 4 * k) & 15];
    out.append(buffer, 16);
  }
  return out;
}

double parseDouble(std::string_view digits) {
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc::result_out_of_range)
    return value;
  // Too large or too small: the place of the first digit that counts tells which.
  size_t e = digits.find_first_of("eE");
  std::string_view mantissa = digits.substr(0, e);
  size_t point = std::min(mantissa.find('.'), mantissa.size());
  size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos)
    return 0;
  bool negative = e != std::string_view::npos && digits[e + 1] == '-';
  int64_t exponent = 0;
  if (e != std::string_view::npos)
    for (char c : digits.substr(e + 1))
      if (c >= '0' && c <= '9')
        exponent = std::min<int64_t>(exponent * 10 + (c - '0'), int64_t(1) << 40);
  int64_t magnitude = (negative ? -exponent : exponent) + int64_t(point) - int64_t(first);
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0;
}

} // namespace

std::optional<LiteralError> parseNumber(std::string_view text, ConstantValue &value, Arena &arena) {
  std::string plain;
  std::string_view digits = text;
  if (text.find('_') != std::string_view::npos) {
    std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
                 [](char c) { return c != '_'; });
    digits = plain;
  }
  value.kind = ConstantValue::Kind::Int;
  if (digits.size() > 2 && digits[0] == '0') {
    int bits = 0;
    switch (digits[1] | 32) {
    case 'x':
      bits = 4;
      break;
    case 'o':
      bits = 3;
      break;
    case 'b':
      bits = 1;
      break;
    default:
      break;
    }
    if (bits) {
      value.text = arena.copy(trimZeros(fromPowerOfTwo(digits.substr(2), bits)));
      return std::nullopt;
    }
  }
  if (digits.find_first_not_of("0123456789") == std::string_view::npos) {
    if (digits.size() == 1) {
      value.text = std::string_view("0123456789").substr(digits[0] - '0', 1);
      return std::nullopt;
    }
    digits = trimZeros(digits);
    if (digits.size() > MaxDecimalDigits)
      return LiteralError{0, uint32_t(text.size()), "IntegerTooLong",
                          "a decimal integer of " + std::to_string(digits.size()) +
                              " digits, more than " + std::to_string(MaxDecimalDigits),
                          "write it in hexadecimal"};
    std::string hex = fromDecimal(digits);
    value.text = arena.copy(trimZeros(hex));
    return std::nullopt;
  }
  value.kind = ConstantValue::Kind::Float;
  if ((digits.back() | 32) == 'j') {
    value.kind = ConstantValue::Kind::Complex;
    digits.remove_suffix(1);
  }
  value.number = parseDouble(digits);
  return std::nullopt;
}

bool needsDecoding(std::string_view text, StringDecoding how) {
  if (!how.raw && text.find('\\') != std::string_view::npos)
    return true;
  return how.doubledBraces && text.find_first_of("{}") != std::string_view::npos;
}

std::optional<LiteralError> decodeString(std::string_view text, StringDecoding how,
                                         std::string &out, UnknownName &unknownName) {
  size_t i = 0, n = text.size();
  std::string_view stops = how.raw             ? how.doubledBraces ? "{}" : ""
                           : how.doubledBraces ? "\\{}"
                                               : "\\";
  while (i < n) {
    size_t stop = stops.empty() ? n : std::min(text.find_first_of(stops, i), n);
    out.append(text, i, stop - i);
    i = stop;
    if (i == n)
      break;
    char c = text[i];
    if (c != '\\') {
      // The lexer lets only doubled braces through, except that `\{` ends a piece.
      out += c;
      i += i + 1 < n && text[i + 1] == c ? 2 : 1;
      continue;
    }
    size_t start = i++;
    if (i == n) {
      out += '\\';
      break;
    }
    c = text[i++];
    auto hexEscape = [&](size_t digits) -> std::optional<LiteralError> {
      uint32_t code = 0;
      for (size_t k = 0; k < digits; ++k, ++i) {
        int digit = i < n ? hexValue(text[i]) : -1;
        if (digit < 0)
          return LiteralError{uint32_t(start), uint32_t(i - start), "InvalidEscape",
                              "`\\" + std::string(1, c) + "` needs " + std::to_string(digits) +
                                  " hexadecimal digits, not " + std::to_string(k),
                              "write `\\\\` for a backslash, or an `r\"...\"` string"};
        code = code << 4 | uint32_t(digit);
      }
      if (code > 0x10FFFF)
        return LiteralError{uint32_t(start), uint32_t(i - start), "InvalidEscape",
                            "no character has a number above 10FFFF", ""};
      if (how.bytes)
        out += char(code);
      else
        appendUtf8(out, code);
      return std::nullopt;
    };
    switch (c) {
    case '\n':
      continue;
    case '\\':
    case '\'':
    case '"':
      out += c;
      continue;
    case 'a':
      out += '\a';
      continue;
    case 'b':
      out += '\b';
      continue;
    case 'f':
      out += '\f';
      continue;
    case 'n':
      out += '\n';
      continue;
    case 'r':
      out += '\r';
      continue;
    case 't':
      out += '\t';
      continue;
    case 'v':
      out += '\v';
      continue;
    case 'x':
      if (auto error = hexEscape(2))
        return error;
      continue;
    case 'u':
    case 'U':
      if (how.bytes)
        break;
      if (auto error = hexEscape(c == 'u' ? 4 : 8))
        return error;
      continue;
    case 'N': {
      if (how.bytes)
        break;
      size_t close = i < n && text[i] == '{' ? text.find('}', i) : std::string_view::npos;
      if (close == std::string_view::npos || close == i + 1)
        return LiteralError{uint32_t(start), 2, "InvalidEscape",
                            "`\\N` needs the name of a character in braces",
                            "write `\\\\` for a backslash, or an `r\"...\"` string"};
      unknownName = {uint32_t(start), uint32_t(close + 1 - start)};
      appendUtf8(out, 0xFFFD);
      i = close + 1;
      continue;
    }
    default:
      break;
    }
    if (c >= '0' && c <= '7') {
      uint32_t code = uint32_t(c - '0');
      for (int k = 0; k < 2 && i < n && text[i] >= '0' && text[i] <= '7'; ++k)
        code = code * 8 + uint32_t(text[i++] - '0');
      if (how.bytes)
        out += char(code);
      else
        appendUtf8(out, code);
      continue;
    }
    // Not an escape: the backslash stays.
    out += '\\';
    --i;
    if (how.doubledBraces && (c == '{' || c == '}'))
      continue;
    out += text[i++];
  }
  return std::nullopt;
}

} // namespace nereid::syntax
