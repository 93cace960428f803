#include "syntax/ParserImpl.h"

#include "syntax/Source.h"

#include <algorithm>

namespace nereid::syntax {

Parser::Parser(Module &unit, const LexOptions &options)
    : unit(unit), arena(*unit.arena), buffer(lex(unit.text, unit.file, options, arena)) {
  token = lastToken = buffer.tokens.data();
  checkLexError();
}

// file = statement* EOF
Span<Stmt *> Parser::parseFile() {
  ListBuilder<Stmt *> body(*this);
  while (!at(TokenKind::EndOfFile))
    parseStatement(body);
  return body.finish();
}

// eval = star_expressions EOF
Expr *Parser::parseOneExpression() {
  if (at(TokenKind::EndOfFile))
    fail("InvalidSyntax", "expected an expression, not the end of the text", range(cur()));
  Expr *expr = parseStarExpressions();
  if (!at(TokenKind::EndOfFile))
    failUnexpected("the end of the expression");
  return expr;
}

// --- tokens ---

const Token &Parser::peek(size_t n) const {
  const Token *end = buffer.tokens.data() + buffer.tokens.size() - 1;
  return size_t(end - token) <= n ? *end : token[n];
}

const Token &Parser::advance() {
  const Token &consumed = *token;
  if (isSignificant(consumed.kind))
    lastToken = token;
  if (consumed.kind != TokenKind::EndOfFile)
    ++token;
  checkLexError();
  return consumed;
}

// What the lexer could not read is reported once the parser gets there, so that of two errors the
// first in the text wins.
void Parser::checkLexError() {
  if (token->kind == TokenKind::Error)
    throw SyntaxFailure{*buffer.error};
}

bool Parser::accept(TokenKind kind) {
  if (token->kind != kind)
    return false;
  advance();
  return true;
}

SourcePos Parser::endOf(const Token &t) const {
  bool spansLines = t.kind == TokenKind::String || t.kind == TokenKind::FStringMiddle;
  if (!spansLines || t.extra == t.line)
    return {t.line, t.column + t.length};
  std::string_view text = textOf(t);
  return {t.extra, uint32_t(text.size() - text.rfind('\n') - 1) + unit.firstColumn};
}

// --- errors ---

void Parser::fail(std::string_view code, std::string message, SourceRange where, std::string hint,
                  std::vector<Diagnostic::Label> labels) {
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.message = std::move(message);
  diagnostic.where = std::move(where);
  diagnostic.hint = std::move(hint);
  diagnostic.labels = std::move(labels);
  throw SyntaxFailure{std::move(diagnostic)};
}

void Parser::failNesting() {
  fail("NestedTooDeep", "nested more than " + std::to_string(MaxTreeDepth) + " deep", range(cur()),
       "give inner parts a name");
}

std::string Parser::describe(const Token &t) const {
  switch (t.kind) {
  case TokenKind::EndOfFile:
    return "the end of the file";
  case TokenKind::Newline:
    return "the end of the line";
  case TokenKind::Indent:
    return "a deeper indentation";
  case TokenKind::Dedent:
    return "the end of the block";
  case TokenKind::String:
  case TokenKind::FStringStart:
    return "a string";
  case TokenKind::FStringMiddle:
    return "the text of an f-string";
  case TokenKind::FStringEnd:
    return "the end of the f-string";
  default: {
    std::string_view text = textOf(t);
    return "`" + std::string(text.substr(0, 40)) + (text.size() > 40 ? "...`" : "`");
  }
  }
}

// A bracket that nothing closes makes the parser stumble anywhere after it; the bracket is the
// news.
void Parser::failUnexpected(std::string_view expected) {
  checkLexError();
  for (size_t i = buffer.unclosed.size(); i-- > 0;) {
    const Token &opener = buffer.tokens[buffer.unclosed[i]];
    if (&opener < token) {
      bool field = opener.flags & FieldBrace;
      std::vector<Diagnostic::Label> labels;
      if (!at(TokenKind::EndOfFile) && !textOf(cur()).empty())
        labels.push_back({range(cur()), "no closing bracket before this"});
      fail(field ? "BadFString" : "UnclosedBracket",
           "`" + std::string(textOf(opener)) + "` is never closed", range(opener), "",
           std::move(labels));
    }
  }
  if (at(TokenKind::Indent))
    fail("BadIndent", "unexpected indentation", range(cur()),
         "only the line after a `:` starts a deeper block");
  fail("InvalidSyntax", "expected " + std::string(expected) + ", not " + describe(cur()),
       range(cur()));
}

const Token &Parser::expect(TokenKind kind, std::string_view context) {
  if (at(kind))
    return advance();
  std::string expected = "`" + std::string(spelling(kind)) + "`";
  if (!context.empty())
    expected += " " + std::string(context);
  failUnexpected(expected);
}

Identifier Parser::expectName(std::string_view what) {
  if (at(TokenKind::Name))
    return nameOf(advance());
  if (isKeyword(cur().kind))
    fail("KeywordAsName", describe(cur()) + " is a keyword and cannot be " + std::string(what),
         range(cur()), "choose another name, such as `" + std::string(textOf(cur())) + "_`");
  failUnexpected(what == "a name" ? what : "a name");
}

// --- units ---

namespace {

template <typename Use>
void parseUnit(std::string text, std::string file, uint32_t firstLine, uint32_t firstColumn,
               bool expression, std::shared_ptr<const Module> &module,
               std::vector<Diagnostic> &diagnostics, Use use) {
  auto unit = std::make_shared<Module>();
  unit->file = std::move(file);
  unit->text = std::move(text);
  unit->firstLine = firstLine;
  unit->firstColumn = firstColumn;
  unit->arena = std::make_shared<Arena>();
  if (auto error = decodeSource(unit->text, unit->file, firstLine)) {
    diagnostics.push_back(std::move(*error));
    return;
  }
  try {
    Parser parser(*unit, {firstLine, firstColumn, expression});
    use(parser, *unit);
    diagnostics = std::move(parser.warnings);
    module = std::move(unit);
  } catch (SyntaxFailure &failure) {
    diagnostics.push_back(std::move(failure.diagnostic));
  }
}

} // namespace

ParseResult parseModule(std::string text, std::string file, uint32_t firstLine,
                        uint32_t firstColumn) {
  ParseResult result;
  parseUnit(std::move(text), std::move(file), firstLine, firstColumn, false, result.module,
            result.diagnostics,
            [](Parser &parser, Module &unit) { unit.body = parser.parseFile(); });
  return result;
}

ParseExpressionResult parseExpression(std::string text, std::string file, uint32_t firstLine,
                                      uint32_t firstColumn) {
  ParseExpressionResult result;
  parseUnit(std::move(text), std::move(file), firstLine, firstColumn, true, result.module,
            result.diagnostics, [&](Parser &parser, Module &unit) {
              Expr *expr = parser.parseOneExpression();
              auto *stmt = unit.arena->make<ExprStmt>();
              stmt->begin = expr->begin;
              stmt->end = expr->end;
              stmt->value = expr;
              Stmt *body = stmt;
              unit.body = unit.arena->copy(&body, 1);
              result.expr = expr;
            });
  return result;
}

std::string_view Module::line(uint32_t number) const {
  if (number < firstLine)
    return {};
  std::string_view rest = text;
  for (uint32_t skip = number - firstLine; skip; --skip) {
    size_t end = rest.find('\n');
    if (end == std::string_view::npos)
      return {};
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

} // namespace nereid::syntax
