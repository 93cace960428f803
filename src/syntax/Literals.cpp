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

namespace {

class StringDecoder {
public:
  StringDecoder(std::string_view text, StringDecoding how, std::string &out)
      : text(text), how(how), out(out) {}

  std::optional<LiteralError> decode(UnknownName &unknownName) {
    std::string_view stops = how.raw             ? how.doubledBraces ? "{}" : ""
                             : how.doubledBraces ? "\\{}"
                                                 : "\\";
    while (at < text.size()) {
      size_t stop =
          stops.empty() ? text.size() : std::min(text.find_first_of(stops, at), text.size());
      out.append(text, at, stop - at);
      at = stop;
      if (at == text.size())
        break;
      if (text[at] == '\\') {
        if (auto error = escape(unknownName))
          return error;
        continue;
      }
      // The lexer lets only doubled braces through, except that `\{` ends a piece.
      char brace = text[at++];
      out += brace;
      at += isAt(brace);
    }
    return std::nullopt;
  }

private:
  bool isAt(char c) const { return at < text.size() && text[at] == c; }
  bool isOctal() const { return at < text.size() && text[at] >= '0' && text[at] <= '7'; }

  // escape = "\\" (newline | symbol | "x" hex{2} | "u" hex{4} | "U" hex{8} | "N{" name "}"
  //                | octal{1,3})
  std::optional<LiteralError> escape(UnknownName &unknownName) {
    constexpr std::string_view symbols = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
    start = at++;
    if (at == text.size()) {
      out += '\\';
      return std::nullopt;
    }
    if (isOctal()) {
      octalEscape();
      return std::nullopt;
    }
    char c = text[at++];
    if (size_t symbol = symbols.find(c); symbol != std::string_view::npos) {
      out += meanings[symbol];
      return std::nullopt;
    }
    if (c == '\n')
      return std::nullopt;
    if (c == 'x')
      return hexEscape(2);
    if (!how.bytes && c == 'u')
      return hexEscape(4);
    if (!how.bytes && c == 'U')
      return hexEscape(8);
    if (!how.bytes && c == 'N')
      return namedCharacter(unknownName);
    // Not an escape: the backslash stays.
    out += '\\';
    if (how.doubledBraces && (c == '{' || c == '}'))
      --at;
    else
      out += c;
    return std::nullopt;
  }

  std::optional<LiteralError> hexEscape(size_t digits) {
    char letter = text[at - 1];
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i, ++at) {
      int digit = at < text.size() ? hexValue(text[at]) : -1;
      if (digit < 0)
        return bad(at - start,
                   "`\\" + std::string(1, letter) + "` needs " + std::to_string(digits) +
                       " hexadecimal digits, not " + std::to_string(i),
                   asBackslash);
      code = code << 4 | uint32_t(digit);
    }
    if (code > 0x10FFFF)
      return bad(at - start, "no character has a number above 10FFFF", "");
    append(code);
    return std::nullopt;
  }

  void octalEscape() {
    uint32_t code = 0;
    for (int i = 0; i < 3 && isOctal(); ++i)
      code = code * 8 + uint32_t(text[at++] - '0');
    append(code);
  }

  std::optional<LiteralError> namedCharacter(UnknownName &unknownName) {
    size_t close = isAt('{') ? text.find('}', at) : std::string_view::npos;
    if (close == std::string_view::npos || close == at + 1)
      return bad(2, "`\\N` needs the name of a character in braces", asBackslash);
    unknownName = {uint32_t(start), uint32_t(close + 1 - start)};
    append(0xFFFD);
    at = close + 1;
    return std::nullopt;
  }

  void append(uint32_t code) {
    if (how.bytes)
      out += char(code);
    else
      appendUtf8(out, code);
  }
  LiteralError bad(size_t length, std::string message, std::string hint) const {
    return {uint32_t(start), uint32_t(length), "InvalidEscape", std::move(message),
            std::move(hint)};
  }
  static constexpr const char *asBackslash =
      "write `\\\\` for a backslash, or an `r\"...\"` string";

  std::string_view text;
  StringDecoding how;
  std::string &out;
  size_t at = 0, start = 0; // `start`: of the escape at hand
};

} // namespace

std::optional<LiteralError> decodeString(std::string_view text, StringDecoding how,
                                         std::string &out, UnknownName &unknownName) {
  return StringDecoder(text, how, out).decode(unknownName);
}

} // namespace nereid::syntax
