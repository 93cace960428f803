// Strings, and the text of f-strings up to their replacement fields.
#include "syntax/LexerImpl.h"

namespace nereid::syntax {

// A string whose prefix starts at `from` and whose quote is at `p`.
void Lexer::lexString(const char *from, uint8_t flags) {
  char quote = *p;
  bool triple = end - p >= 3 && p[1] == quote && p[2] == quote;
  if (triple)
    flags |= TripleString;
  if (flags & FormatSpec) {
    flags &= ~FormatSpec;
    p += triple ? 3 : 1;
    pushMode({Mode::Literal, quote, flags, uint32_t(out.tokens.size())}, from);
    emit(TokenKind::FStringStart, from, p).flags = flags;
    return;
  }
  uint32_t startLine = line;
  const char *startLineStart = lineStart;
  p += triple ? 3 : 1;
  for (;;) {
    if (p == end)
      failUnterminated(from, triple, startLine, startLineStart);
    char c = *p++;
    if (c == quote) {
      if (!triple)
        break;
      if (end - p >= 2 && p[0] == quote && p[1] == quote) {
        p += 2;
        break;
      }
    } else if (c == '\n') {
      if (!triple)
        failUnterminated(from, false, startLine, startLineStart);
      nextLine(p);
    } else if (c == '\\' && p < end) {
      if (*p++ == '\n')
        nextLine(p);
    }
  }
  Token &token = out.tokens.emplace_back();
  token = {TokenKind::String,
           flags,
           uint32_t(from - begin),
           uint32_t(p - from),
           startLine,
           uint32_t(from - startLineStart) + options.firstColumn,
           line};
}

void Lexer::failUnterminated(const char *from, bool triple, uint32_t startLine,
                             const char *startLineStart) {
  uint32_t lastLine = line;
  line = startLine;
  lineStart = startLineStart;
  if (triple)
    fail("UnterminatedString",
         "this triple-quoted string is not closed; the file ends at line " +
             std::to_string(lastLine),
         range(from, from + 1), "close it with three quotes");
  // The quote of the f-string around this place more likely was to end that one.
  if (inField() && modes.back().quote == *from && !(modes.back().flags & TripleString))
    fail("BadFString", "the replacement field of this f-string is not closed",
         rangeOf(out.tokens[modes.back().token]), "add `}`");
  fail("UnterminatedString", "this string is not closed on its line", range(from, from + 1),
       "close it with the quote that opened it, or use three quotes for a string of many lines");
}

// The text of an f-string up to a replacement field or its end.
void Lexer::lexLiteralText() {
  Mode mode = modes.back();
  bool spec = mode.kind == Mode::Spec, triple = mode.flags & TripleString;
  const char *from = p;
  uint32_t startLine = line, startColumn = columnOf(p);
  auto flush = [&](const char *to) {
    if (to == from)
      return;
    out.tokens.push_back({TokenKind::FStringMiddle, uint8_t(mode.flags | (spec ? FormatSpec : 0)),
                          uint32_t(from - begin), uint32_t(to - from), startLine, startColumn,
                          line});
  };
  for (;;) {
    if (p == end)
      failFString(mode);
    char c = *p;
    if (c == mode.quote &&
        (!triple || (end - p >= 3 && p[1] == mode.quote && p[2] == mode.quote))) {
      if (spec)
        fail("BadFString", "the replacement field of this f-string is not closed",
             rangeOf(out.tokens[modes[modes.size() - 2].token]), "add `}`");
      flush(p);
      emit(TokenKind::FStringEnd, p, p + (triple ? 3 : 1));
      p += triple ? 3 : 1;
      modes.pop_back();
      return;
    }
    switch (c) {
    case '\n':
      if (!triple)
        failFString(mode);
      nextLine(++p);
      continue;
    case '\\':
      ++p;
      if (p == end || *p == '{' || *p == '}')
        continue;
      if (*p == 'N' && !(mode.flags & RawString) && end - p > 1 && p[1] == '{') {
        // The braces of a character name are no field.
        for (p += 2; p < end && *p != '}' && *p != '\n' && *p != mode.quote;)
          ++p;
        if (p < end && *p == '}')
          ++p;
        continue;
      }
      if (*p++ == '\n')
        nextLine(p);
      continue;
    case '{':
      if (!spec && end - p > 1 && p[1] == '{') {
        p += 2;
        continue;
      }
      flush(p);
      pushMode({Mode::Field, mode.quote, mode.flags, uint32_t(out.tokens.size())}, p);
      emit(TokenKind::LBrace, p, p + 1).flags = FieldBrace;
      ++p;
      return;
    case '}':
      if (spec) {
        flush(p);
        modes.pop_back();
        closeField();
        return;
      }
      if (end - p > 1 && p[1] == '}') {
        p += 2;
        continue;
      }
      fail("BadFString", "a single `}` in an f-string", range(p, p + 1),
           "write `}}` for the character itself");
    default:
      ++p;
    }
  }
}

void Lexer::failFString(const Mode &mode) {
  // Of a Spec the string's own token is further down.
  size_t i = modes.size();
  while (i-- && modes[i].kind != Mode::Literal) {
  }
  const Token &start = out.tokens[modes[i].token];
  bool triple = mode.flags & TripleString;
  fail("UnterminatedString",
       triple ? "this triple-quoted f-string is not closed; the file ends at line " +
                    std::to_string(line)
              : "this f-string is not closed on its line",
       rangeOf(start),
       triple ? "close it with three quotes" : "close it with the quote that opened it");
}

} // namespace nereid::syntax
