// Blocks, and the statements that have some; definitions are in ParseDefinitions.cpp.
#include "syntax/ParserImpl.h"

namespace nereid::syntax {

// block = NEWLINE INDENT statement+ DEDENT | simple_stmts
// `after` names the statement for messages: "`if`"; `opener` is its first token.
Span<Stmt *> Parser::parseBlock(std::string_view after, const Token &opener) {
  if (!at(TokenKind::Colon)) {
    checkLexError();
    if (at(TokenKind::Equal))
      fail("AssignInCondition", "`=` cannot stand in " + std::string(after), range(cur()),
           "write `==` to compare, `:=` to bind a name");
    bool unclosed = false;
    for (uint32_t open : buffer.unclosed)
      unclosed |= &buffer.tokens[open] < token;
    if (unclosed || !(at(TokenKind::Newline) || at(TokenKind::EndOfFile)))
      failUnexpected("`:` after " + std::string(after));
    SourcePos end = endOf(last());
    fail("MissingColon", "expected `:` after " + std::string(after),
         {unit.file, end, {end.line, end.column + 1}});
  }
  advance();
  ListBuilder<Stmt *> body(*this);
  if (!at(TokenKind::Newline)) {
    parseSimpleStatements(body);
    return body.finish();
  }
  advance();
  if (!at(TokenKind::Indent))
    fail("MissingIndent", "expected an indented block after " + std::string(after), range(cur()),
         "indent the lines of the block, or write `pass`",
         {{range(opener), "the block belongs to this line"}});
  advance();
  while (!at(TokenKind::Dedent) && !at(TokenKind::EndOfFile))
    parseStatement(body);
  accept(TokenKind::Dedent);
  return body.finish();
}

// statement = compound_stmt | simple_stmts
void Parser::parseStatement(ListBuilder<Stmt *> &into) {
  DepthGuard guard(*this);
  switch (cur().kind) {
  case TokenKind::KwIf:
    return into.push(parseIf());
  case TokenKind::KwWhile:
    return into.push(parseWhile());
  case TokenKind::KwFor:
    return into.push(parseFor(here(), false));
  case TokenKind::KwWith:
    return into.push(parseWith(here(), false));
  case TokenKind::KwTry:
    return into.push(parseTry());
  case TokenKind::KwDef:
    return into.push(parseFunction(here(), false, {}));
  case TokenKind::KwClass:
    return into.push(parseClass({}));
  case TokenKind::At:
    return into.push(parseDecorated());
  case TokenKind::KwAsync:
    return into.push(parseAsync());
  case TokenKind::Name:
    if (cur().extra == SoftMatch && atMatchStatement())
      return into.push(parseMatch());
    break;
  case TokenKind::KwElif:
  case TokenKind::KwElse:
  case TokenKind::KwExcept:
  case TokenKind::KwFinally:
    fail("InvalidSyntax", describe(cur()) + " has no statement to belong to", range(cur()),
         "is its indentation that of the `if`, `for`, `while` or `try`?");
  case TokenKind::Newline:
    // Only where a `;` or nothing at all stands before it.
    if (textOf(cur()).empty()) {
      advance();
      return;
    }
    break;
  default:
    break;
  }
  parseSimpleStatements(into);
}

// if_stmt = "if" named_expression ":" block ("elif" named_expression ":" block)*
//           ("else" ":" block)?
// Built by a loop: machine-written chains have thousands of branches.
Stmt *Parser::parseIf() {
  If *outermost = nullptr;
  ListBuilder<Stmt *> chain(*this);
  do {
    const Token &keyword = cur();
    auto *branch = make<If>(here());
    advance();
    branch->test = parseNamedExpression();
    branch->body = parseBlock(keyword.kind == TokenKind::KwIf ? "`if`" : "`elif`", keyword);
    if (!outermost)
      outermost = branch;
    chain.push(branch);
  } while (at(TokenKind::KwElif));
  Span<Stmt *> orelse;
  if (at(TokenKind::KwElse)) {
    const Token &keyword = advance();
    if (at(TokenKind::KwIf))
      fail("InvalidSyntax", "`else if` is not a branch", range(keyword), "write `elif`");
    orelse = parseBlock("`else`", keyword);
  }
  for (size_t i = chain.size(); i-- > 0;) {
    auto *branch = static_cast<If *>(chain[i]);
    branch->orelse = orelse;
    finish(branch);
    orelse = arena.copy(&chain[i], 1);
  }
  return outermost;
}

// while_stmt = "while" named_expression ":" block ("else" ":" block)?
Stmt *Parser::parseWhile() {
  const Token &keyword = cur();
  auto *loop = make<While>(here());
  advance();
  loop->test = parseNamedExpression();
  loop->body = parseBlock("`while`", keyword);
  if (at(TokenKind::KwElse)) {
    const Token &otherwise = advance();
    loop->orelse = parseBlock("`else`", otherwise);
  }
  return finish(loop);
}

// for_stmt = "for" star_targets "in" star_expressions ":" block ("else" ":" block)?
Stmt *Parser::parseFor(SourcePos begin, bool isAsync) {
  const Token &keyword = cur();
  auto *loop = make<For>(begin);
  loop->isAsync = isAsync;
  advance();
  loop->target = parseTargets();
  expect(TokenKind::KwIn, "after the target of `for`");
  loop->iter = parseStarExpressions();
  loop->body = parseBlock("`for`", keyword);
  if (at(TokenKind::KwElse)) {
    const Token &otherwise = advance();
    loop->orelse = parseBlock("`else`", otherwise);
  }
  return finish(loop);
}

// with_stmt = "with" "(" with_item ("," with_item)* ","? ")" ":" block
//           | "with" with_item ("," with_item)* ":" block
Stmt *Parser::parseWith(SourcePos begin, bool isAsync) {
  const Token &keyword = cur();
  auto *with = make<With>(begin);
  with->isAsync = isAsync;
  advance();
  ListBuilder<WithItem> items(*this);
  if (at(TokenKind::LPar) && withItemsAreParenthesised()) {
    advance();
    do
      items.push(parseWithItem());
    while (accept(TokenKind::Comma) && !at(TokenKind::RPar));
    expect(TokenKind::RPar, "or `,` after an item of `with`");
  } else {
    do
      items.push(parseWithItem());
    while (accept(TokenKind::Comma));
  }
  with->items = items.finish();
  with->body = parseBlock("`with`", keyword);
  return finish(with);
}

// with_item = expression ("as" star_target)?
WithItem Parser::parseWithItem() {
  WithItem item;
  item.contextExpr = parseExpression();
  if (accept(TokenKind::KwAs)) {
    item.optionalVars = parseTarget();
    setContext(item.optionalVars, Context::Store);
  }
  return item;
}

// Whether the `(` here holds the items, rather than starting the first one. It does if `:` follows
// its `)` and nothing in it can only be in an expression: `()`, `yield`, `:=`, `*x` or a generator.
bool Parser::withItemsAreParenthesised() const {
  const Token *tokens = buffer.tokens.data();
  const Token *closing = tokens + token->extra;
  if (!token->extra)
    return true; // never closed; the message will say so
  if (closing[1].kind != TokenKind::Colon || closing == token + 1)
    return false;
  bool itemStarts = true;
  for (const Token *t = token + 1; t < closing; ++t) {
    switch (t->kind) {
    case TokenKind::Star:
    case TokenKind::KwYield:
      if (itemStarts)
        return false;
      break;
    case TokenKind::ColonEqual:
    case TokenKind::KwFor:
      return false;
    case TokenKind::LPar:
    case TokenKind::LSqb:
    case TokenKind::LBrace:
      if (t->extra)
        t = tokens + t->extra;
      break;
    default:
      break;
    }
    itemStarts = t->kind == TokenKind::Comma;
  }
  return true;
}

// try_stmt     = "try" ":" block (except_block+ ("else" ":" block)? finally? | finally)
// except_block = "except" "*"? (expression ("as" NAME)?)? ":" block
// finally      = "finally" ":" block
Stmt *Parser::parseTry() {
  const Token &keyword = cur();
  auto *stmt = make<Try>(here());
  advance();
  stmt->body = parseBlock("`try`", keyword);
  ListBuilder<ExceptHandler> handlers(*this);
  while (at(TokenKind::KwExcept)) {
    const Token &except = cur();
    ExceptHandler handler;
    handler.begin = here();
    advance();
    bool star = at(TokenKind::Star);
    if (!handlers.empty() && star != stmt->isStar)
      fail("InvalidSyntax", "one `try` cannot have both `except` and `except*`", range(except));
    stmt->isStar = star;
    if (star)
      advance();
    if (!at(TokenKind::Colon)) {
      handler.type = parseExpression();
      if (at(TokenKind::Comma))
        fail("InvalidSyntax", "several exception types need parentheses", range(cur()),
             "write `except (A, B):`");
      if (accept(TokenKind::KwAs))
        handler.name = expectName("the name of an exception");
    } else if (star) {
      failUnexpected("an exception type after `except*`");
    }
    handler.body = parseBlock(star ? "`except*`" : "`except`", except);
    finish(&handler);
    handlers.push(handler);
  }
  if (!handlers.empty() && at(TokenKind::KwElse)) {
    const Token &otherwise = advance();
    stmt->orelse = parseBlock("`else`", otherwise);
  }
  if (at(TokenKind::KwFinally)) {
    const Token &finally = advance();
    stmt->finalbody = parseBlock("`finally`", finally);
  } else if (handlers.empty()) {
    fail("InvalidSyntax",
         "expected `except` or `finally` after the block of `try`, not " + describe(cur()),
         range(cur()), "", {{range(keyword), "this `try`"}});
  }
  stmt->handlers = handlers.finish();
  return finish(stmt);
}

// No other statement that starts with a name has a `:` at the end of its line.
bool Parser::atMatchStatement() const {
  const Token &next = peek();
  if (!startsExpression(next))
    return false;
  for (const Token *t = token;; ++t) {
    if (t->kind == TokenKind::Newline)
      return t[-1].kind == TokenKind::Colon;
    if (!isSignificant(t->kind))
      return false;
    if (t->extra &&
        (t->kind == TokenKind::LPar || t->kind == TokenKind::LSqb || t->kind == TokenKind::LBrace))
      t = buffer.tokens.data() + t->extra;
  }
}

// match_stmt = "match" subject_expr ":" NEWLINE INDENT case_block+ DEDENT
// case_block = "case" patterns ("if" named_expression)? ":" block
Stmt *Parser::parseMatch() {
  const Token &keyword = cur();
  auto *match = make<Match>(here());
  advance();
  match->subject = parseStarNamedExpressions();
  expect(TokenKind::Colon, "after the subject of `match`");
  expect(TokenKind::Newline, "");
  if (!accept(TokenKind::Indent))
    fail("MissingIndent", "expected indented `case` blocks after `match`", range(cur()), "",
         {{range(keyword), "this `match`"}});
  ListBuilder<MatchCase> cases(*this);
  while (!at(TokenKind::Dedent) && !at(TokenKind::EndOfFile)) {
    const Token &start = cur();
    if (!atSoft(SoftCase))
      failUnexpected("`case`");
    advance();
    MatchCase branch;
    branch.pattern = parsePatterns();
    if (accept(TokenKind::KwIf))
      branch.guard = parseNamedExpression();
    branch.body = parseBlock("`case`", start);
    cases.push(branch);
  }
  accept(TokenKind::Dedent);
  match->cases = cases.finish();
  return finish(match);
}

// "async" (function_def | for_stmt | with_stmt)
Stmt *Parser::parseAsync() {
  SourcePos begin = here();
  advance();
  switch (cur().kind) {
  case TokenKind::KwDef:
    return parseFunction(begin, true, {});
  case TokenKind::KwFor:
    return parseFor(begin, true);
  case TokenKind::KwWith:
    return parseWith(begin, true);
  default:
    failUnexpected("`def`, `for` or `with` after `async`");
  }
}

} // namespace nereid::syntax
