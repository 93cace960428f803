// Text to tokens: the whole unit at once, into one array, with no allocation a token.
//
// Names and keywords go through one hash table, so a name costs one probe and equal names share
// their characters. F-strings are taken apart here (PEP 701): FStringStart, then FStringMiddle and
// the tokens of each replacement field between LBrace and RBrace, then FStringEnd.
#pragma once

#include "syntax/Arena.h"

#include <optional>
#include <vector>

namespace nereid::syntax {

enum class TokenKind : uint8_t {
  // Tokens that no position of a node ends at come first (see `isSignificant`).
  EndOfFile,
  Newline,
  Indent,
  Dedent,
  Error, ///< the text stops being tokens here; `TokenBuffer::error` says why

  Name,
  Number,
  String,
  FStringStart,
  FStringMiddle,
  FStringEnd,

  LPar,
  RPar,
  LSqb,
  RSqb,
  LBrace,
  RBrace,
  Colon,
  Comma,
  Semi,
  Dot,
  Ellipsis,
  Arrow,
  ColonEqual,
  Exclamation,
  Equal,
  At,
  Plus,
  Minus,
  Star,
  Slash,
  DoubleSlash,
  Percent,
  DoubleStar,
  LeftShift,
  RightShift,
  Amper,
  VBar,
  Circumflex,
  Tilde,
  PlusEqual,
  MinusEqual,
  StarEqual,
  SlashEqual,
  DoubleSlashEqual,
  PercentEqual,
  AtEqual,
  DoubleStarEqual,
  LeftShiftEqual,
  RightShiftEqual,
  AmperEqual,
  VBarEqual,
  CircumflexEqual,
  EqEqual,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,

  KwFalse,
  KwNone,
  KwTrue,
  KwAnd,
  KwAs,
  KwAssert,
  KwAsync,
  KwAwait,
  KwBreak,
  KwClass,
  KwContinue,
  KwDef,
  KwDel,
  KwElif,
  KwElse,
  KwExcept,
  KwFinally,
  KwFor,
  KwFrom,
  KwGlobal,
  KwIf,
  KwImport,
  KwIn,
  KwIs,
  KwLambda,
  KwNonlocal,
  KwNot,
  KwOr,
  KwPass,
  KwRaise,
  KwReturn,
  KwTry,
  KwWhile,
  KwWith,
  KwYield,
  Count
};

inline bool isKeyword(TokenKind kind) { return kind >= TokenKind::KwFalse; }
inline bool isSignificant(TokenKind kind) { return kind > TokenKind::Error; }

struct Token {
  TokenKind kind;
  uint8_t flags;   ///< of a string: `StringFlag`s
  uint32_t offset; ///< into the text
  uint32_t length;
  uint32_t line; ///< as positions count
  uint32_t column;
  uint32_t extra; ///< Name: index in `names`; strings: line of the end; opening bracket: index of
                  ///< the token that closes it, or 0
};

enum StringFlag : uint8_t {
  RawString = 1,
  BytesString = 2,
  UnicodeString = 4,
  TripleString = 8,
  FormatSpec = 16, ///< of FStringMiddle: text of a format specification, where `{{` is no escape
  FieldBrace = 32, ///< of LBrace and RBrace: around a replacement field
};

/// Indices in `TokenBuffer::names` of the names that mean something at certain places.
enum SoftKeyword : uint32_t {
  SoftMatch,
  SoftCase,
  SoftType,
  SoftUnderscore,
  SoftPrint,
  SoftExec,
  SoftCount
};

struct TokenBuffer {
  std::vector<Token> tokens; ///< ends with EndOfFile or Error
  std::vector<Identifier> names;
  std::vector<uint32_t> unclosed; ///< brackets still open at the end, outermost first
  std::optional<Diagnostic> error;
};

struct LexOptions {
  uint32_t firstLine = 1;
  uint32_t firstColumn = 0;
  bool expression = false; ///< line ends and indentation mean nothing, as inside brackets
};

/// `text` is valid UTF-8 with LF line ends and no NUL (see Source.h); names are copied to `arena`.
TokenBuffer lex(std::string_view text, const std::string &file, const LexOptions &options,
                Arena &arena);

/// How a keyword or an operator is spelled; empty for the kinds that have no one spelling.
std::string_view spelling(TokenKind kind);

} // namespace nereid::syntax
