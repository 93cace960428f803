// Text to tokens.
#include "syntax/LexerImpl.h"
#include "syntax/Source.h"
#include "syntax/Unicode.h"

#include <cstdio>

namespace nereid::syntax {

constexpr std::string_view Spellings[] = {
    "",     "",       "",       "",         "",      "",      "",         "",      "",
    "",     "",       "(",      ")",        "[",     "]",     "{",        "}",     ":",
    ",",    ";",      ".",      "...",      "->",    ":=",    "!",        "=",     "@",
    "+",    "-",      "*",      "/",        "//",    "%",     "**",       "<<",    ">>",
    "&",    "|",      "^",      "~",        "+=",    "-=",    "*=",       "/=",    "//=",
    "%=",   "@=",     "**=",    "<<=",      ">>=",   "&=",    "|=",       "^=",    "==",
    "!=",   "<",      "<=",     ">",        ">=",    "False", "None",     "True",  "and",
    "as",   "assert", "async",  "await",    "break", "class", "continue", "def",   "del",
    "elif", "else",   "except", "finally",  "for",   "from",  "global",   "if",    "import",
    "in",   "is",     "lambda", "nonlocal", "not",   "or",    "pass",     "raise", "return",
    "try",  "while",  "with",   "yield"};
static_assert(std::size(Spellings) == size_t(TokenKind::Count));

void Lexer::lexAll() {
  bool lineBegins = !options.expression;
  for (;;) {
    if (!modes.empty() && modes.back().kind >= Mode::Literal) {
      lexLiteralText();
      continue;
    }
    if (lineBegins && modes.empty()) {
      lineBegins = false;
      if (!lexIndentation())
        break;
    }
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\f'))
      ++p;
    if (p == end)
      break;
    char c = *p;
    switch (classOf(c)) {
    case Letter:
      lexName();
      continue;
    case Digit:
      lexNumber();
      continue;
    default:
      break;
    }
    switch (c) {
    case '\n':
      if (modes.empty() && !options.expression) {
        emit(TokenKind::Newline, p, p + 1);
        lineBegins = true;
      }
      nextLine(++p);
      continue;
    case '#':
      skipComment();
      continue;
    case '\\':
      lexContinuation();
      continue;
    case '"':
    case '\'':
      lexString(p, 0);
      continue;
    default:
      lexOperator(c);
    }
  }
  finish();
}

void Lexer::finish() {
  p = end;
  if (!out.tokens.empty() && out.tokens.back().kind != TokenKind::Newline && !options.expression)
    emit(TokenKind::Newline, p, p);
  for (; indents.size() > 1; indents.pop_back())
    emit(TokenKind::Dedent, p, p);
  emit(TokenKind::EndOfFile, p, p);
}

void Lexer::skipComment() {
  auto *eol = static_cast<const char *>(std::memchr(p, '\n', end - p));
  p = eol ? eol : end;
}

// --- names ---

void Lexer::lexName() {
  const char *from = p;
  bool ascii = true;
  while (p < end && classOf(*p) != Other)
    ascii &= (*p++ & 0x80) == 0;
  if (ascii) {
    if (p < end && (*p == '"' || *p == '\'') && p - from <= 2)
      if (std::optional<uint8_t> flags = prefixFlags({from, size_t(p - from)}))
        return lexString(from, *flags);
  } else {
    checkUnicodeName(from);
  }
  const NameTable::Slot &slot = names.lookup({from, size_t(p - from)});
  emit(slot.kind, from, p, slot.index);
}

// Ends the name before the first character that cannot be in one; fails if none is left.
void Lexer::checkUnicodeName(const char *from) {
  const char *at = from;
  while (at < p) {
    const char *start = at;
    uint32_t c = decodeUtf8(at);
    if (start == from ? isIdentifierStart(c) : isIdentifierContinue(c))
      continue;
    if (start != from) {
      p = start;
      return;
    }
    char hex[16];
    std::snprintf(hex, sizeof hex, "U+%04X", c);
    std::string shown = isPrintable(c) ? "`" + std::string(start, at) + "` " : "";
    std::string_view hint;
    if (c == 0x2018 || c == 0x2019 || c == 0x201C || c == 0x201D)
      hint = "write a plain quote, `'` or `\"`";
    else if (c == 0x2013 || c == 0x2014 || c == 0x2212)
      hint = "write a plain minus sign, `-`";
    else if (c == 0xA0 || c == 0x3000 || (c >= 0x2000 && c <= 0x200B) || c == 0xFEFF)
      hint = "write a plain space";
    else if (c == 0xD7)
      hint = "write `*`";
    fail("InvalidCharacter", "character " + shown + "(" + hex + ") is not part of the language",
         range(start, at), std::string(hint));
  }
}

std::optional<uint8_t> Lexer::prefixFlags(std::string_view prefix) {
  uint8_t flags = 0;
  char first = prefix[0] | 32, second = prefix.size() > 1 ? prefix[1] | 32 : 0;
  auto has = [&](char c) { return first == c || second == c; };
  if (second) {
    if (first == second || !has('r') || !(has('b') || has('f')))
      return std::nullopt;
  } else if (!has('r') && !has('b') && !has('f') && !has('u')) {
    return std::nullopt;
  }
  flags |= has('r') ? RawString : 0;
  flags |= has('b') ? BytesString : 0;
  flags |= prefix[0] == 'u' ? UnicodeString : 0; // CPython's `kind` marks no `U`
  flags |= has('f') ? FormatSpec : 0;            // here: is an f-string
  return flags;
}

// --- brackets ---

void Lexer::pushMode(Mode mode, const char *at) {
  if (modes.size() >= MaxBrackets)
    fail("NestedTooDeep", "brackets nested more than 200 deep", range(at, at + 1),
         "give inner parts a name");
  modes.push_back(mode);
}

void Lexer::open(TokenKind kind, char c) {
  pushMode({Mode::Bracket, c, 0, uint32_t(out.tokens.size())}, p);
  op(kind, 1);
}

void Lexer::close(TokenKind kind, char opening) {
  if (modes.empty())
    fail("MismatchedBracket", "`" + std::string(1, *p) + "` closes nothing", range(p, p + 1),
         std::string("remove it, or open `") + opening + "` before");
  Mode &mode = modes.back();
  Token &opener = out.tokens[mode.token];
  if (mode.kind == Mode::Field || mode.quote != opening) {
    std::string seen(1, mode.kind == Mode::Field ? '{' : mode.quote);
    fail("MismatchedBracket", "`" + std::string(1, *p) + "` does not close `" + seen + "`",
         range(p, p + 1), "", {{rangeOf(opener), "opened here"}});
  }
  opener.extra = uint32_t(out.tokens.size());
  modes.pop_back();
  op(kind, 1);
}

void Lexer::closeField() {
  out.tokens[modes.back().token].extra = uint32_t(out.tokens.size());
  modes.pop_back();
  emit(TokenKind::RBrace, p, p + 1).flags = FieldBrace;
  ++p;
}

// --- operators ---

void Lexer::lexOperator(char c) {
  using enum TokenKind;
  char c1 = end - p > 1 ? p[1] : 0, c2 = end - p > 2 ? p[2] : 0;
  auto either = [&](TokenKind plain, TokenKind withEqual) {
    c1 == '=' ? op(withEqual, 2) : op(plain, 1);
  };
  auto doubled = [&](TokenKind one, TokenKind oneEqual, TokenKind two, TokenKind twoEqual) {
    if (c1 == c)
      c2 == '=' ? op(twoEqual, 3) : op(two, 2);
    else
      either(one, oneEqual);
  };
  switch (c) {
  case '(':
    return open(LPar, c);
  case '[':
    return open(LSqb, c);
  case '{':
    return open(LBrace, c);
  case ')':
    return close(RPar, '(');
  case ']':
    return close(RSqb, '[');
  case '}':
    return inField() ? closeField() : close(RBrace, '{');
  case ':':
    if (inField()) {
      op(Colon, 1);
      modes.push_back(
          {Mode::Spec, modes.back().quote, modes.back().flags, uint32_t(out.tokens.size() - 1)});
      return;
    }
    return either(Colon, ColonEqual);
  case ',':
    return op(Comma, 1);
  case ';':
    return op(Semi, 1);
  case '~':
    return op(Tilde, 1);
  case '.':
    if (classOf(c1) == Digit)
      return lexNumber();
    return c1 == '.' && c2 == '.' ? op(Ellipsis, 3) : op(Dot, 1);
  case '+':
    return either(Plus, PlusEqual);
  case '-':
    return c1 == '>' ? op(Arrow, 2) : either(Minus, MinusEqual);
  case '*':
    return doubled(Star, StarEqual, DoubleStar, DoubleStarEqual);
  case '/':
    return doubled(Slash, SlashEqual, DoubleSlash, DoubleSlashEqual);
  case '<':
    return doubled(Less, LessEqual, LeftShift, LeftShiftEqual);
  case '>':
    return doubled(Greater, GreaterEqual, RightShift, RightShiftEqual);
  case '%':
    return either(Percent, PercentEqual);
  case '@':
    return either(At, AtEqual);
  case '&':
    return either(Amper, AmperEqual);
  case '|':
    return either(VBar, VBarEqual);
  case '^':
    return either(Circumflex, CircumflexEqual);
  case '=':
    return either(Equal, EqEqual);
  case '!':
    if (c1 == '=')
      return op(NotEqual, 2);
    if (inField())
      return op(Exclamation, 1);
    fail("InvalidCharacter", "`!` is not an operator", range(p, p + 1), "write `not`");
  case '$':
  case '?':
  case '`':
    fail("InvalidCharacter",
         c == '`' ? std::string("a back-tick is not part of the language")
                  : "`" + std::string(1, c) + "` is not part of the language",
         range(p, p + 1));
  default: {
    char hex[16];
    std::snprintf(hex, sizeof hex, "U+%04X", static_cast<unsigned char>(c));
    fail("InvalidCharacter", std::string("control character ") + hex + " in the source",
         range(p, p + 1), "is this a text file?");
  }
  }
}

TokenBuffer lex(std::string_view text, const std::string &file, const LexOptions &options,
                Arena &arena) {
  return Lexer(text, file, options, arena).run();
}

std::string_view spelling(TokenKind kind) { return Spellings[size_t(kind)]; }

} // namespace nereid::syntax
