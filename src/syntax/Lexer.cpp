#include "syntax/Lexer.h"

#include "syntax/Source.h"
#include "syntax/Unicode.h"

#include <array>
#include <cstdio>

namespace nereid::syntax {
namespace {

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

constexpr std::string_view SoftSpellings[] = {"match", "case", "type", "_", "print", "exec"};
static_assert(std::size(SoftSpellings) == SoftCount);

enum CharClass : uint8_t { Other, Letter, Digit };
constexpr std::array<uint8_t, 256> CharClasses = [] {
  std::array<uint8_t, 256> table{};
  for (int c = 0; c < 256; ++c)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80)
      table[c] = Letter;
    else if (c >= '0' && c <= '9')
      table[c] = Digit;
  return table;
}();
uint8_t classOf(char c) { return CharClasses[static_cast<unsigned char>(c)]; }

// Open addressing; keywords are in it from the start, so one probe tells names from keywords.
class NameTable {
public:
  NameTable(std::vector<Identifier> &names, Arena &arena) : names(names), arena(arena) {
    slots.resize(1024);
    for (int kind = int(TokenKind::KwFalse); kind < int(TokenKind::Count); ++kind)
      insert(Spellings[kind], TokenKind(kind));
    for (std::string_view soft : SoftSpellings)
      lookup(soft);
  }

  struct Slot {
    const char *text = nullptr;
    uint32_t length = 0;
    uint32_t hash = 0;
    uint32_t index = 0;
    TokenKind kind = TokenKind::Name;
  };

  const Slot &lookup(std::string_view text) {
    uint32_t hash = hashOf(text);
    for (size_t i = hash & (slots.size() - 1);; i = (i + 1) & (slots.size() - 1)) {
      Slot &slot = slots[i];
      if (!slot.text)
        return insert(arena.copy(text), TokenKind::Name);
      if (slot.hash == hash && slot.length == text.size() &&
          !std::memcmp(slot.text, text.data(), text.size()))
        return slot;
    }
  }

private:
  static uint32_t hashOf(std::string_view text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (unsigned char c : text)
      hash = (hash ^ c) * 0x100000001b3;
    return uint32_t(hash ^ hash >> 32);
  }

  Slot &place(const Slot &slot) {
    size_t i = slot.hash & (slots.size() - 1);
    while (slots[i].text)
      i = (i + 1) & (slots.size() - 1);
    return slots[i] = slot;
  }

  const Slot &insert(std::string_view text, TokenKind kind) {
    if (++used * 2 > slots.size()) {
      std::vector<Slot> old(slots.size() * 2);
      old.swap(slots);
      for (const Slot &slot : old)
        if (slot.text)
          place(slot);
    }
    Slot slot{text.data(), uint32_t(text.size()), hashOf(text), 0, kind};
    if (kind == TokenKind::Name) {
      slot.index = uint32_t(names.size());
      names.push_back(text);
    }
    return place(slot);
  }

  std::vector<Slot> slots;
  size_t used = 0;
  std::vector<Identifier> &names;
  Arena &arena;
};

// Ends lexing; `TokenBuffer::error` gets it.
struct LexError {
  Diagnostic diagnostic;
};

class Lexer {
public:
  Lexer(std::string_view text, const std::string &file, const LexOptions &options, Arena &arena)
      : begin(text.data()), p(begin), end(begin + text.size()), lineStart(begin),
        line(options.firstLine), options(options), file(file), names(out.names, arena) {
    out.tokens.reserve(text.size() / 3 + 16);
  }

  TokenBuffer run() {
    try {
      lexAll();
    } catch (LexError &error) {
      out.error = std::move(error.diagnostic);
      out.tokens.push_back({TokenKind::Error, 0, uint32_t(p - begin), 0,
                            out.error->where.begin.line, out.error->where.begin.column, 0});
    }
    for (const Mode &mode : modes)
      if (mode.kind != Mode::Literal && mode.kind != Mode::Spec)
        out.unclosed.push_back(mode.token);
    return std::move(out);
  }

private:
  // What the lexer is inside of. Brackets nest in literals and the other way round.
  struct Mode {
    enum Kind : uint8_t {
      Bracket, ///< ( [ {
      Field,   ///< { of an f-string
      Literal, ///< the text of an f-string
      Spec,    ///< the format specification of the Field below it
    } kind;
    char quote = 0;     ///< of the enclosing f-string; the opening character of a Bracket
    uint8_t flags = 0;  ///< of the enclosing f-string
    uint32_t token = 0; ///< that opened it
  };

  // --- places and errors ---

  uint32_t columnOf(const char *at) const { return uint32_t(at - lineStart) + options.firstColumn; }
  SourcePos here(const char *at) const { return {line, columnOf(at)}; }
  SourceRange range(const char *from, const char *to) const { return {file, here(from), here(to)}; }
  SourceRange rangeOf(const Token &token) const {
    return {file, {token.line, token.column}, {token.line, token.column + token.length}};
  }

  [[noreturn]] void fail(std::string code, std::string message, SourceRange where,
                         std::string hint = "", std::vector<Diagnostic::Label> labels = {}) {
    Diagnostic diagnostic;
    diagnostic.code = std::move(code);
    diagnostic.message = std::move(message);
    diagnostic.where = std::move(where);
    diagnostic.hint = std::move(hint);
    diagnostic.labels = std::move(labels);
    throw LexError{std::move(diagnostic)};
  }

  // --- emitting ---

  Token &emit(TokenKind kind, const char *from, const char *to, uint32_t extra = 0) {
    return out.tokens.emplace_back(
        Token{kind, 0, uint32_t(from - begin), uint32_t(to - from), line, columnOf(from), extra});
  }
  void op(TokenKind kind, int length) {
    emit(kind, p, p + length);
    p += length;
  }
  void nextLine(const char *start) {
    ++line;
    lineStart = start;
  }

  // --- the loop ---

  void lexAll() {
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

  void finish() {
    p = end;
    if (!out.tokens.empty() && out.tokens.back().kind != TokenKind::Newline && !options.expression)
      emit(TokenKind::Newline, p, p);
    for (; indents.size() > 1; indents.pop_back())
      emit(TokenKind::Dedent, p, p);
    emit(TokenKind::EndOfFile, p, p);
  }

  void skipComment() {
    auto *eol = static_cast<const char *>(std::memchr(p, '\n', end - p));
    p = eol ? eol : end;
  }

  // --- indentation ---

  struct Indentation {
    uint32_t columns = 0; ///< a tab moves to the next multiple of 8
    uint32_t spaces = 0;  ///< a tab counts as one space; differs in order from `columns` if mixed
  };

  // Skips blank lines, then compares the indentation of a line with that of the block around it.
  // False at the end of the text.
  bool lexIndentation() {
    Indentation now, continued;
    for (;;) {
      if (p == end)
        return false;
      char c = *p;
      if (c == ' ') {
        ++now.columns;
        ++now.spaces;
        ++p;
      } else if (c == '\t') {
        now.columns = (now.columns / 8 + 1) * 8;
        ++now.spaces;
        ++p;
      } else if (c == '\f') {
        now = {};
        ++p;
      } else if (c == '#') {
        skipComment();
      } else if (c == '\n') {
        nextLine(++p);
        now = continued = {};
      } else if (c == '\\') {
        // A continued indentation is that of its first line.
        if (!continued.columns)
          continued = now;
        lexContinuation();
      } else {
        break;
      }
    }
    if (continued.columns)
      now = continued;

    Indentation &top = indents.back();
    if (now.columns == top.columns) {
      if (now.spaces != top.spaces)
        failTabs();
      return true;
    }
    if (now.columns > top.columns) {
      if (now.spaces <= top.spaces)
        failTabs();
      if (indents.size() >= MaxIndents)
        fail("NestedTooDeep", "more than 99 levels of indentation", range(p, p + 1),
             "move the inner part into a function");
      indents.push_back(now);
      emit(TokenKind::Indent, p, p);
      return true;
    }
    while (indents.size() > 1 && now.columns < indents.back().columns) {
      indents.pop_back();
      emit(TokenKind::Dedent, p, p);
    }
    if (now.columns != indents.back().columns) {
      std::string seen = std::to_string(now.columns);
      fail("BadIndent", "indentation of " + seen + " columns does not match any outer block",
           range(p, p + 1),
           "the enclosing block is indented by " + std::to_string(indents.back().columns) +
               " columns");
    }
    if (now.spaces != indents.back().spaces)
      failTabs();
    return true;
  }

  [[noreturn]] void failTabs() {
    fail("TabsAndSpaces",
         "indentation mixes tabs and spaces in a way that depends on the tab width",
         range(lineStart, p), "indent with spaces only");
  }

  void lexContinuation() {
    const char *slash = p++;
    if (p == end)
      fail("InvalidSyntax", "unexpected end of file after a line continuation `\\`",
           range(slash, slash + 1));
    if (*p != '\n')
      fail("InvalidSyntax", "unexpected character after a line continuation `\\`", range(p, p + 1),
           "nothing may follow the `\\`, not even a space");
    nextLine(++p);
    if (p == end)
      fail("InvalidSyntax", "unexpected end of file after a line continuation `\\`", range(p, p));
  }

  // --- names ---

  void lexName() {
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
  void checkUnicodeName(const char *from) {
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

  static std::optional<uint8_t> prefixFlags(std::string_view prefix) {
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

  // --- strings ---

  // A string whose prefix starts at `from` and whose quote is at `p`.
  void lexString(const char *from, uint8_t flags) {
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

  [[noreturn]] void failUnterminated(const char *from, bool triple, uint32_t startLine,
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
  void lexLiteralText() {
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

  [[noreturn]] void failFString(const Mode &mode) {
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

  // --- brackets ---

  void pushMode(Mode mode, const char *at) {
    if (modes.size() >= MaxBrackets)
      fail("NestedTooDeep", "brackets nested more than 200 deep", range(at, at + 1),
           "give inner parts a name");
    modes.push_back(mode);
  }

  void open(TokenKind kind, char c) {
    pushMode({Mode::Bracket, c, 0, uint32_t(out.tokens.size())}, p);
    op(kind, 1);
  }

  void close(TokenKind kind, char opening) {
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

  void closeField() {
    out.tokens[modes.back().token].extra = uint32_t(out.tokens.size());
    modes.pop_back();
    emit(TokenKind::RBrace, p, p + 1).flags = FieldBrace;
    ++p;
  }

  bool inField() const { return !modes.empty() && modes.back().kind == Mode::Field; }

  // --- operators ---

  void lexOperator(char c) {
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

  // --- numbers ---

  // digits ("_"? digits)*
  void lexDigits(std::string_view kind, auto &&isDigit) {
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

  void lexNumber() {
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
  void endNumber(const char *from, std::string_view kind) {
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

  static constexpr size_t MaxIndents = 100;
  static constexpr size_t MaxBrackets = 200;

  const char *begin, *p, *end;
  const char *lineStart;
  uint32_t line;
  LexOptions options;
  const std::string &file;
  TokenBuffer out;
  NameTable names;
  std::vector<Mode> modes;
  std::vector<Indentation> indents = {{}};
};

} // namespace

TokenBuffer lex(std::string_view text, const std::string &file, const LexOptions &options,
                Arena &arena) {
  return Lexer(text, file, options, arena).run();
}

std::string_view spelling(TokenKind kind) { return Spellings[size_t(kind)]; }

} // namespace nereid::syntax
