// Numbers.
#include "syntax/LexerImpl.h"

namespace nereid::syntax {

// digits ("_"? digits)*
template <typename Is> void Lexer::lexDigits(std::string_view kind, Is isDigit) {
  for (;;) {
    while (p < end && isDigit(*p))
      ++p;
    if (p == end || *p != '_')
      return;
    ++p;
    if (p == end || !isDigit(*p))
      fail("InvalidNumber", "a digit must follow `_` in a " + std::string(kind) + " literal",
           range(p - 1, p));
  }
}

void Lexer::lexNumber() {
  const char *from = p;
  auto decimal = [](char c) { return classOf(c) == Digit; };
  if (*p == '0' && end - p > 1) {
    auto prefixed = [&](std::string_view kind, auto isDigit) {
      p += 2;
      if (p < end && *p == '_')
        ++p;
      if (p == end || !isDigit(*p))
        fail("InvalidNumber", "no digits in this " + std::string(kind) + " literal",
             range(from, p));
      lexDigits(kind, isDigit);
      if (p < end && classOf(*p) == Digit)
        fail("InvalidNumber",
             "digit `" + std::string(1, *p) + "` is not " +
                 (kind[0] == 'o' ? "an octal" : "a binary") + " digit",
             range(p, p + 1));
      endNumber(from, kind);
    };
    switch (p[1] | 32) {
    case 'x':
      return prefixed("hexadecimal", [](char c) {
        return classOf(c) == Digit || ((c | 32) >= 'a' && (c | 32) <= 'f');
      });
    case 'o':
      return prefixed("octal", [](char c) { return c >= '0' && c <= '7'; });
    case 'b':
      return prefixed("binary", [](char c) { return c == '0' || c == '1'; });
    default:
      break;
    }
  }
  bool integer = true;
  if (*p != '.')
    lexDigits("decimal", decimal);
  const char *wholeEnd = p;
  if (p < end && *p == '.') {
    integer = false;
    ++p;
    if (p < end && decimal(*p))
      lexDigits("decimal", decimal);
  }
  if (p < end && (*p | 32) == 'e') {
    const char *at = p + 1;
    if (at < end && (*at == '+' || *at == '-'))
      ++at;
    if (at < end && decimal(*at)) {
      integer = false;
      p = at;
      lexDigits("decimal", decimal);
    }
  }
  if (p < end && (*p | 32) == 'j') {
    integer = false;
    ++p;
  }
  if (integer && *from == '0')
    for (const char *at = from; at < wholeEnd; ++at)
      if (*at != '0' && *at != '_')
        fail("InvalidNumber", "a decimal integer may not start with `0`", range(from, wholeEnd),
             "write `0o" + std::string(from + 1, wholeEnd) + "` for an octal one");
  endNumber(from, integer ? "decimal" : "number");
}

// A name may not touch a number, except the keywords that can follow an expression (`1if x`).
void Lexer::endNumber(const char *from, std::string_view kind) {
  if (p < end && classOf(*p) == Letter) {
    std::string_view rest(p, size_t(end - p));
    bool keyword = false;
    for (std::string_view word : {"and", "else", "for", "if", "in", "is", "not", "or"})
      keyword |= rest.starts_with(word);
    if (!keyword) {
      const char *at = p;
      while (at < end && classOf(*at) != Other)
        ++at;
      std::string tail(p, at);
      if (tail.size() > 40)
        tail = tail.substr(0, 40) + "...";
      fail("InvalidNumber", "`" + tail + "` follows a " + std::string(kind) + " literal",
           range(p, at), classOf(*from) == Digit ? "a name cannot start with a digit" : "");
    }
  }
  emit(TokenKind::Number, from, p);
}

} // namespace nereid::syntax
