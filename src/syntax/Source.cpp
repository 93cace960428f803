#include "syntax/Source.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace nereid::syntax {
namespace {

// Offsets in tokens are 32 bits wide; the margin keeps arithmetic on them safe too.
constexpr size_t MaxSourceBytes = size_t(1) << 30;

Diagnostic sourceError(std::string code, std::string message, const std::string &file, SourcePos at,
                       std::string hint) {
  Diagnostic diagnostic;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.where = {file, at, {at.line, at.column + 1}};
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

SourcePos positionOf(std::string_view text, size_t offset, uint32_t firstLine) {
  std::string_view before = text.substr(0, offset);
  size_t lineStart = before.rfind('\n');
  lineStart = lineStart == std::string_view::npos ? 0 : lineStart + 1;
  return {firstLine + uint32_t(std::count(before.begin(), before.end(), '\n')),
          uint32_t(offset - lineStart)};
}

// The bytes of the UTF-8 sequence at `p`, or 0 if it is not one.
size_t sequenceLength(const unsigned char *p, size_t left) {
  auto continues = [&](size_t i) { return (p[i] & 0xC0) == 0x80; };
  if (p[0] < 0x80)
    return 1;
  if (p[0] >= 0xC2 && p[0] < 0xE0)
    return left >= 2 && continues(1) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] < 0xF0) {
    if (left < 3 || !continues(1) || !continues(2))
      return 0;
    bool overlong = p[0] == 0xE0 && p[1] < 0xA0, surrogate = p[0] == 0xED && p[1] >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (p[0] >= 0xF0 && p[0] < 0xF5) {
    if (left < 4 || !continues(1) || !continues(2) || !continues(3))
      return 0;
    bool overlong = p[0] == 0xF0 && p[1] < 0x90, beyond = p[0] == 0xF4 && p[1] >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

// Offset of the first byte that is not UTF-8, or npos.
size_t findInvalidUtf8(std::string_view text) {
  auto *p = reinterpret_cast<const unsigned char *>(text.data());
  size_t i = 0, n = text.size();
  while (i < n) {
    uint64_t word;
    if (i + 8 <= n && (std::memcpy(&word, p + i, 8), !(word & 0x8080808080808080))) {
      i += 8;
      continue;
    }
    size_t length = sequenceLength(p + i, n - i);
    if (!length)
      return i;
    i += length;
  }
  return std::string_view::npos;
}

// CRLF and CR become LF, in place.
void normaliseLineEnds(std::string &text) {
  size_t from = text.find('\r');
  if (from == std::string::npos)
    return;
  size_t to = from;
  for (; from < text.size(); ++from) {
    char c = text[from];
    if (c == '\r') {
      c = '\n';
      if (from + 1 < text.size() && text[from + 1] == '\n')
        ++from;
    }
    text[to++] = c;
  }
  text.resize(to);
}

// The encoding that a line `# ... coding: NAME` declares, in lower case with `-` for `_`; empty if
// the line is none. `blank` tells whether the next line may still declare one.
std::string cookieOf(std::string_view line, bool &blank) {
  size_t i = line.find_first_not_of(" \t\f");
  blank = i == std::string_view::npos || line[i] == '#';
  if (i == std::string_view::npos || line[i] != '#')
    return {};
  for (; (i = line.find("coding", i)) != std::string_view::npos; i += 6) {
    size_t at = i + 6;
    if (at >= line.size() || (line[at] != ':' && line[at] != '='))
      continue;
    at = line.find_first_not_of(" \t", at + 1);
    std::string name;
    for (; at < line.size(); ++at) {
      unsigned char c = line[at];
      if (!std::isalnum(c) && c != '-' && c != '_' && c != '.')
        break;
      name += c == '_' ? '-' : char(std::tolower(c));
    }
    if (!name.empty())
      return name;
  }
  return {};
}

enum class Encoding { Utf8, Ascii, Latin1, AsciiSuperset, Unknown };

Encoding encodingOf(std::string_view name) {
  auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is({"utf-8", "utf8", "u8", "utf", "utf-8-sig", "cp65001"}) || name.starts_with("utf-8-"))
    return Encoding::Utf8;
  if (is({"ascii", "us-ascii", "646"}))
    return Encoding::Ascii;
  if (is({"latin-1", "latin1", "l1", "latin", "8859", "cp819", "iso8859-1", "iso-8859-1",
          "iso-latin-1"}) ||
      name.starts_with("iso-8859-1-") || name.starts_with("latin-1-"))
    return Encoding::Latin1;
  for (std::string_view prefix :
       {"iso-8859-",   "iso8859-", "latin", "cp125", "cp43",  "cp85",   "cp86",
        "windows-125", "koi8-",    "euc-",  "gb",    "big5",  "mac-",   "shift-jis",
        "sjis",        "cp932",    "cp936", "cp949", "cp950", "tis-620"})
    if (name.starts_with(prefix))
      return Encoding::AsciiSuperset;
  return Encoding::Unknown;
}

void latin1ToUtf8(std::string &text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (unsigned char c : text)
    appendUtf8(out, c);
  text = std::move(out);
}

} // namespace

std::optional<Diagnostic> decodeSource(std::string &text, const std::string &file,
                                       uint32_t firstLine) {
  if (text.size() > MaxSourceBytes)
    return sourceError("SourceTooLarge",
                       "the source has " + std::to_string(text.size()) + " bytes, more than " +
                           std::to_string(MaxSourceBytes),
                       file, {firstLine, 0}, "");
  bool mark = text.starts_with("\xEF\xBB\xBF");
  if (mark)
    text.erase(0, 3);
  normaliseLineEnds(text);

  std::string cookie;
  uint32_t cookieLine = firstLine;
  std::string_view rest = text;
  bool blank = true;
  for (int i = 0; i < 2 && blank && cookie.empty(); ++i) {
    size_t end = std::min(rest.find('\n'), rest.size());
    cookie = cookieOf(rest.substr(0, end), blank);
    cookieLine = firstLine + i;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }

  Encoding encoding = cookie.empty() ? Encoding::Utf8 : encodingOf(cookie);
  if (encoding == Encoding::Unknown)
    return sourceError("InvalidEncoding", "unknown encoding `" + cookie + "`", file,
                       {cookieLine, 0}, "save the file as UTF-8 and remove the declaration");
  if (mark && encoding != Encoding::Utf8)
    return sourceError("InvalidEncoding",
                       "the file starts with a UTF-8 byte-order mark but declares `" + cookie + "`",
                       file, {cookieLine, 0}, "remove the declaration");

  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return sourceError("InvalidEncoding", "the source is UTF-16", file, {firstLine, 0},
                       "save the file as UTF-8");
  if (size_t nul = text.find('\0'); nul != std::string::npos)
    return sourceError("InvalidEncoding", "the source contains a null byte", file,
                       positionOf(text, nul, firstLine), "is this a text file?");

  bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  if (ascii)
    return std::nullopt;
  if (encoding == Encoding::Latin1) {
    latin1ToUtf8(text);
    return std::nullopt;
  }
  size_t bad =
      encoding == Encoding::Utf8
          ? findInvalidUtf8(text)
          : size_t(std::find_if(text.begin(), text.end(), [](char c) { return c & 0x80; }) -
                   text.begin());
  if (bad == std::string::npos)
    return std::nullopt;
  static constexpr char digits[] = "0123456789abcdef";
  unsigned char byte = text[bad];
  std::string hex = {'0', 'x', digits[byte >> 4], digits[byte & 15]};
  SourcePos at = positionOf(text, bad, firstLine);
  switch (encoding) {
  case Encoding::Ascii:
    return sourceError("InvalidEncoding", "byte " + hex + " is not ASCII, as the file declares",
                       file, at, "save the file as UTF-8 and remove the declaration");
  case Encoding::AsciiSuperset:
    return sourceError("InvalidEncoding", "encoding `" + cookie + "` is not supported", file,
                       {cookieLine, 0}, "save the file as UTF-8 and remove the declaration");
  default:
    return sourceError("InvalidEncoding", "byte " + hex + " is not valid UTF-8", file, at,
                       "save the file as UTF-8");
  }
}

uint32_t decodeUtf8(const char *&p) {
  auto byte = [&] { return uint32_t(static_cast<unsigned char>(*p++)); };
  uint32_t c = byte();
  if (c < 0x80)
    return c;
  int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
  c &= 0x3F >> more;
  while (more--)
    c = c << 6 | (byte() & 0x3F);
  return c;
}

void appendUtf8(std::string &out, uint32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += {char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    out += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 0x3F)), char(0x80 | (c & 0x3F))};
  } else {
    out += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 0x3F)), char(0x80 | (c >> 6 & 0x3F)),
            char(0x80 | (c & 0x3F))};
  }
}

} // namespace nereid::syntax
