// The lexer, in four files: Lexer.cpp (the loop, names, brackets and operators),
// LexIndentation.cpp, LexNumbers.cpp and LexStrings.cpp (f-strings too).
#pragma once

#include "syntax/Lexer.h"
#include "syntax/NameTable.h"

#include <array>
#include <optional>

namespace nereid::syntax {

enum CharClass : uint8_t { Other, Letter, Digit };
inline constexpr std::array<uint8_t, 256> CharClasses = [] {
  std::array<uint8_t, 256> table{};
  for (int c = 0; c < 256; ++c)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80)
      table[c] = Letter;
    else if (c >= '0' && c <= '9')
      table[c] = Digit;
  return table;
}();
inline uint8_t classOf(char c) { return CharClasses[static_cast<unsigned char>(c)]; }

/// Ends lexing; `TokenBuffer::error` gets it.
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

  void lexAll();
  void finish();
  void skipComment();

  // --- indentation ---

  struct Indentation {
    uint32_t columns = 0; ///< a tab moves to the next multiple of 8
    uint32_t spaces = 0;  ///< a tab counts as one space; differs in order from `columns` if mixed
  };
  bool lexIndentation();
  [[noreturn]] void failTabs();
  void lexContinuation();

  // --- names ---

  void lexName();
  void checkUnicodeName(const char *from);
  static std::optional<uint8_t> prefixFlags(std::string_view prefix);

  // --- strings ---

  void lexString(const char *from, uint8_t flags);
  [[noreturn]] void failUnterminated(const char *from, bool triple, uint32_t startLine,
                                     const char *startLineStart);
  void lexLiteralText();
  [[noreturn]] void failFString(const Mode &mode);

  // --- brackets ---

  void pushMode(Mode mode, const char *at);
  void open(TokenKind kind, char c);
  void close(TokenKind kind, char opening);
  void closeField();
  bool inField() const { return !modes.empty() && modes.back().kind == Mode::Field; }

  // --- operators ---

  void lexOperator(char c);

  // --- numbers ---

  /// digits ("_"? digits)*
  template <typename Is> void lexDigits(std::string_view kind, Is isDigit);
  void lexNumber();
  void endNumber(const char *from, std::string_view kind);

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

} // namespace nereid::syntax
