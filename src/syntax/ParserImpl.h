// The recursive-descent parser, in nine files: Parser.cpp (units, tokens, errors), then from the
// outside in ParseStatements.cpp, ParseDefinitions.cpp, ParseSimpleStatements.cpp,
// ParsePatterns.cpp, ParseExpressions.cpp, ParseTargets.cpp, ParseAtoms.cpp and ParseStrings.cpp
// (f-strings). The grammar stands above each function; names in it are CPython's.
#pragma once

#include "syntax/Lexer.h"
#include "syntax/Parser.h"

#include <tuple>

namespace nereid::syntax {

/// Leaves the parser with the one error it reports; never leaves this room.
struct SyntaxFailure {
  Diagnostic diagnostic;
};

class Parser {
public:
  Parser(Module &unit, const LexOptions &options);

  Span<Stmt *> parseFile();
  Expr *parseOneExpression();

  std::vector<Diagnostic> warnings;

private:
  // --- tokens ---

  const Token &cur() const { return *token; }
  const Token &peek(size_t n = 1) const;
  const Token &last() const { return *lastToken; } ///< the last significant token consumed
  bool at(TokenKind kind) const { return token->kind == kind; }
  bool atSoft(SoftKeyword soft) const {
    return token->kind == TokenKind::Name && token->extra == soft;
  }
  const Token &advance();
  bool accept(TokenKind kind);
  std::string_view textOf(const Token &t) const {
    return std::string_view(unit.text).substr(t.offset, t.length);
  }
  Identifier nameOf(const Token &t) const { return buffer.names[t.extra]; }

  SourcePos beginOf(const Token &t) const { return {t.line, t.column}; }
  SourcePos endOf(const Token &t) const;
  SourcePos here() const { return beginOf(*token); }
  SourceRange range(const Token &t) const { return {unit.file, beginOf(t), endOf(t)}; }
  SourceRange range(const Node *n) const { return {unit.file, n->begin, n->end}; }

  // --- making nodes ---

  template <typename T> T *make(SourcePos begin) {
    T *node = arena.make<T>();
    node->begin = begin;
    return node;
  }
  /// Ends a node at the last significant token.
  template <typename T> T *finish(T *node) {
    node->end = endOf(last());
    return node;
  }

  /// Collects the elements of a `Span`; lists nest like the calls that build them.
  template <typename T> class ListBuilder {
  public:
    explicit ListBuilder(Parser &parser)
        : arena(parser.arena), items(std::get<std::vector<T>>(parser.scratch)), base(items.size()) {
    }
    ListBuilder(const ListBuilder &) = delete;
    ~ListBuilder() { items.erase(items.begin() + base, items.end()); }
    void push(const T &item) { items.push_back(item); }
    size_t size() const { return items.size() - base; }
    bool empty() const { return size() == 0; }
    T &operator[](size_t i) { return items[base + i]; }
    T &back() { return items.back(); }
    void clear() { items.erase(items.begin() + base, items.end()); }
    Span<T> finish() const { return arena.copy(items.data() + base, size()); }

  private:
    Arena &arena;
    std::vector<T> &items;
    size_t base;
  };

  /// Counts the nodes on the way from the root.
  class DepthGuard {
  public:
    explicit DepthGuard(Parser &parser) : depth(parser.depth) {
      if (++depth > MaxTreeDepth) {
        --depth;
        parser.failNesting();
      }
    }
    ~DepthGuard() { --depth; }

  private:
    uint32_t &depth;
  };

  // --- errors ---

  [[noreturn]] void fail(std::string_view code, std::string message, SourceRange where,
                         std::string hint = "", std::vector<Diagnostic::Label> labels = {});
  [[noreturn]] void failNesting();
  /// The current token cannot stand here; `context` says what was being read.
  [[noreturn]] void failUnexpected(std::string_view expected);
  /// Two expressions stand side by side inside brackets.
  [[noreturn]] void failAfterElement(const Expr *element, std::string_view expected);
  const Token &expect(TokenKind kind, std::string_view context);
  /// A name that is being bound or used; says so if a keyword stands there.
  Identifier expectName(std::string_view what);
  void checkLexError();
  std::string describe(const Token &t) const;

  // --- statements ---

  Span<Stmt *> parseBlock(std::string_view after, const Token &opener);
  void parseStatement(ListBuilder<Stmt *> &into);
  void parseSimpleStatements(ListBuilder<Stmt *> &into);
  Stmt *parseSimpleStatement();
  Stmt *parseExpressionStatement();
  Stmt *parseAnnotatedAssignment(Expr *target, SourcePos begin, bool bare);
  Stmt *parseReturn();
  Stmt *parseDelete();
  Stmt *parseRaise();
  Stmt *parseAssert();
  Stmt *parseImport();
  Stmt *parseImportFrom();
  Stmt *parseGlobal();
  Stmt *parseTypeAlias();
  Stmt *parseIf();
  Stmt *parseWhile();
  Stmt *parseFor(SourcePos begin, bool isAsync);
  Stmt *parseWith(SourcePos begin, bool isAsync);
  WithItem parseWithItem();
  bool withItemsAreParenthesised() const;
  Stmt *parseTry();
  Stmt *parseMatch();
  bool atMatchStatement() const;
  Stmt *parseFunction(SourcePos begin, bool isAsync, Span<Expr *> decorators);
  Stmt *parseClass(Span<Expr *> decorators);
  Stmt *parseDecorated();
  Stmt *parseAsync();
  Span<TypeParam *> parseTypeParams();
  Arguments *parseParameters(TokenKind closing);
  std::string_view parseDottedName(std::string_view what);
  [[noreturn]] void failStatementEnd(const Token &start, const Expr *expr);

  // --- expressions ---

  Expr *parseStarExpressions();
  Expr *parseStarExpressionsOrYield();
  Expr *parseStarExpression();
  Expr *parseNamedExpression();
  Expr *parseStarNamedExpression();
  Expr *parseStarNamedExpressions();
  Expr *parseExpression();
  Expr *parseYield();
  Expr *parseLambda();
  Expr *parseDisjunction();
  Expr *parseConjunction();
  Expr *parseInversion();
  Expr *parseComparison();
  bool acceptCompareOp(CompareOp &op);
  static constexpr int BitwiseOr = 1; ///< the weakest binary operator
  Expr *parseBinary(int minimum);
  Expr *parseFactor();
  Expr *parsePower();
  Expr *parsePrimary();
  Expr *parseAtom();
  void failForeignOperator();
  Expr *parseParenthesised();
  Expr *parseListDisplay();
  Expr *parseBraces();
  Expr *parseDictRest(SourcePos begin, Expr *key);
  Expr *parseSlices();
  Expr *parseSlice();
  Expr *parseCall(Expr *func, SourcePos begin);
  void parseArguments(const Token &opener, ListBuilder<Expr *> &args,
                      ListBuilder<Keyword> &keywords, bool allowGenerator);
  Span<Comprehension> parseComprehensionClauses();
  Expr *parseTargets();
  Expr *parseTarget();
  Expr *makeStarred(SourcePos begin, Expr *value);
  bool atComprehension() const;
  bool startsExpression() const { return startsExpression(cur()); }
  bool startsExpression(const Token &t) const;
  void setContext(Expr *expr, Context ctx);
  void requireSingleTarget(const Expr *expr, std::string_view what);
  std::string_view describe(const Expr *expr) const;

  // --- strings and numbers ---

  Expr *parseNumberToken();
  Expr *parseStrings();
  struct StringPieces;
  void parsePlainString(StringPieces &pieces);
  void parseFString(StringPieces &pieces);
  /// Up to `end`, which messages call `what`.
  void parseMiddle(StringPieces &pieces, TokenKind end, std::string_view what);
  void parseField(StringPieces &pieces);
  std::string_view sourceBetween(const Token &from, const Token &to);
  Expr *parseFormatSpec();
  std::string_view decode(const Token &t, std::string_view body, uint8_t flags, bool fstring);

  // --- patterns ---

  Pattern *parsePatterns();
  Pattern *parsePattern();
  Pattern *parseOrPattern();
  Pattern *parseClosedPattern();
  Pattern *parseStarPattern();
  Pattern *parseMaybeStarPattern();
  Pattern *parseGroupOrSequence();
  Pattern *parseMappingPattern();
  Pattern *parseNamePattern();
  Pattern *parseClassPattern(Expr *cls, SourcePos begin);
  Expr *parseLiteralPattern();
  Expr *parseSignedNumber();
  Identifier parseCaptureTarget(std::string_view what);

  friend class DepthGuard;

  Module &unit;
  Arena &arena;
  TokenBuffer buffer;
  const Token *token = nullptr;
  const Token *lastToken = nullptr;
  uint32_t depth = 0;
  std::tuple<std::vector<Expr *>, std::vector<Stmt *>, std::vector<Pattern *>, std::vector<Keyword>,
             std::vector<Alias>, std::vector<WithItem>, std::vector<Comprehension>,
             std::vector<ExceptHandler>, std::vector<MatchCase>, std::vector<Arg>,
             std::vector<TypeParam *>, std::vector<Identifier>, std::vector<CompareOp>>
      scratch;
};

} // namespace nereid::syntax
