#include "syntax/ParserImpl.h"

#include <array>
#include <utility>

namespace nereid::syntax {
namespace {

constexpr auto AugmentedOps = [] {
  std::array<int8_t, size_t(TokenKind::Count)> table{};
  for (int8_t &op : table)
    op = -1;
  auto row = [&](TokenKind kind, BinaryOp op) { table[size_t(kind)] = int8_t(op); };
  row(TokenKind::PlusEqual, BinaryOp::Add);
  row(TokenKind::MinusEqual, BinaryOp::Sub);
  row(TokenKind::StarEqual, BinaryOp::Mult);
  row(TokenKind::SlashEqual, BinaryOp::Div);
  row(TokenKind::DoubleSlashEqual, BinaryOp::FloorDiv);
  row(TokenKind::PercentEqual, BinaryOp::Mod);
  row(TokenKind::AtEqual, BinaryOp::MatMult);
  row(TokenKind::DoubleStarEqual, BinaryOp::Pow);
  row(TokenKind::LeftShiftEqual, BinaryOp::LShift);
  row(TokenKind::RightShiftEqual, BinaryOp::RShift);
  row(TokenKind::AmperEqual, BinaryOp::BitAnd);
  row(TokenKind::VBarEqual, BinaryOp::BitOr);
  row(TokenKind::CircumflexEqual, BinaryOp::BitXor);
  return table;
}();

// Whether one letter more, less or other, or two letters swapped, make `a` of `b`.
bool oneSlipApart(std::string_view a, std::string_view b) {
  if (a.size() > b.size())
    std::swap(a, b);
  if (b.size() - a.size() > 1)
    return false;
  size_t i = 0;
  while (i < a.size() && a[i] == b[i])
    ++i;
  if (a.size() < b.size())
    return a.substr(i) == b.substr(i + 1);
  if (i == a.size())
    return false;
  bool swapped = i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] &&
                 a.substr(i + 2) == b.substr(i + 2);
  return swapped || a.substr(i + 1) == b.substr(i + 1);
}

} // namespace

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

// simple_stmts = simple_stmt (";" simple_stmt)* ";"? NEWLINE
void Parser::parseSimpleStatements(ListBuilder<Stmt *> &into) {
  for (;;) {
    const Token &start = cur();
    Stmt *stmt = parseSimpleStatement();
    into.push(stmt);
    if (accept(TokenKind::Semi)) {
      if (accept(TokenKind::Newline))
        return;
      continue;
    }
    if (accept(TokenKind::Newline))
      return;
    const auto *expr = dynCast<ExprStmt>(stmt);
    failStatementEnd(start, expr ? expr->value : nullptr);
  }
}

// A simple statement is over, but its line is not.
void Parser::failStatementEnd(const Token &start, const Expr *expr) {
  checkLexError();
  std::string end = "expected the end of the statement, not " + describe(cur());
  if (at(TokenKind::ColonEqual))
    fail("InvalidSyntax", "`:=` at the level of a statement", range(cur()), "write `=`");
  if (last().kind == TokenKind::String && at(TokenKind::Name) &&
      last().offset + last().length == cur().offset)
    fail("InvalidSyntax", end, range(cur()),
         "inside a string its own quote is written with a `\\` before it");
  if (start.kind != TokenKind::Name || !expr || !isa<Name>(expr))
    failUnexpected("the end of the statement");

  std::string name(nameOf(start));
  if ((start.extra == SoftPrint || start.extra == SoftExec) && startsExpression())
    fail("PrintStatement", "`" + name + "` is a function", range(start),
         "write `" + name + "(...)`");
  if (name == "elseif" || name == "elsif")
    fail("InvalidSyntax", "`" + name + "` is not a keyword", range(start), "write `elif`");
  if ((name == "function" || name == "func" || name == "fn") && at(TokenKind::Name))
    fail("InvalidSyntax", "`" + name + "` is not a keyword", range(start), "write `def`");
  if (startsExpression())
    for (int kind = int(TokenKind::KwAssert); kind < int(TokenKind::Count); ++kind)
      if (spelling(TokenKind(kind)).size() > 2 && oneSlipApart(name, spelling(TokenKind(kind))))
        fail("InvalidSyntax", end, range(cur()),
             "did you mean `" + std::string(spelling(TokenKind(kind))) + "` for `" + name + "`?");
  failUnexpected("the end of the statement");
}

Stmt *Parser::parseSimpleStatement() {
  auto keyword = [&](auto *node) -> Stmt * {
    advance();
    return finish(node);
  };
  switch (cur().kind) {
  case TokenKind::KwReturn:
    return parseReturn();
  case TokenKind::KwImport:
    return parseImport();
  case TokenKind::KwFrom:
    return parseImportFrom();
  case TokenKind::KwRaise:
    return parseRaise();
  case TokenKind::KwPass:
    return keyword(make<Pass>(here()));
  case TokenKind::KwBreak:
    return keyword(make<Break>(here()));
  case TokenKind::KwContinue:
    return keyword(make<Continue>(here()));
  case TokenKind::KwDel:
    return parseDelete();
  case TokenKind::KwAssert:
    return parseAssert();
  case TokenKind::KwGlobal:
  case TokenKind::KwNonlocal:
    return parseGlobal();
  case TokenKind::Name:
    if (cur().extra == SoftType && peek().kind == TokenKind::Name)
      return parseTypeAlias();
    return parseExpressionStatement();
  default:
    if (!startsExpression() && !at(TokenKind::KwYield))
      failUnexpected("a statement");
    return parseExpressionStatement();
  }
}

// assignment = NAME ":" expression ("=" annotated_rhs)?
//            | ("(" single_target ")" | single_subscript_attribute_target) ":" expression
//              ("=" annotated_rhs)?
//            | (star_targets "=")+ (yield_expr | star_expressions)
//            | single_target augassign (yield_expr | star_expressions)
// and an expression alone.
Stmt *Parser::parseExpressionStatement() {
  SourcePos begin = here();
  bool bare = !at(TokenKind::LPar);
  Expr *first = parseStarExpressionsOrYield();

  if (at(TokenKind::Equal)) {
    ListBuilder<Expr *> targets(*this);
    Expr *value = first;
    while (at(TokenKind::Equal)) {
      setContext(value, Context::Store);
      advance();
      targets.push(value);
      if (!startsExpression() && !at(TokenKind::KwYield))
        failUnexpected("a value after `=`");
      value = parseStarExpressionsOrYield();
    }
    auto *assign = make<Assign>(begin);
    assign->targets = targets.finish();
    assign->value = value;
    return finish(assign);
  }

  if (int op = AugmentedOps[size_t(cur().kind)]; op >= 0) {
    requireSingleTarget(first, "`" + std::string(textOf(cur())) + "`");
    setContext(first, Context::Store);
    advance();
    auto *assign = make<AugAssign>(begin);
    assign->target = first;
    assign->op = BinaryOp(op);
    assign->value = parseStarExpressionsOrYield();
    return finish(assign);
  }

  if (at(TokenKind::Colon) && peek().kind != TokenKind::Newline &&
      (isa<Name>(first) || isa<Attribute>(first) || isa<Subscript>(first) || isa<Tuple>(first) ||
       isa<List>(first)))
    return parseAnnotatedAssignment(first, begin, bare);

  auto *stmt = make<ExprStmt>(begin);
  stmt->value = first;
  return finish(stmt);
}

Stmt *Parser::parseAnnotatedAssignment(Expr *target, SourcePos begin, bool bare) {
  if (isa<Tuple>(target) || isa<List>(target))
    fail("InvalidTarget",
         "only a single target can be annotated, not " + std::string(describe(target)),
         range(target));
  setContext(target, Context::Store);
  advance();
  auto *assign = make<AnnAssign>(begin);
  assign->target = target;
  assign->annotation = parseExpression();
  assign->simple = bare && isa<Name>(target);
  if (accept(TokenKind::Equal))
    assign->value = parseStarExpressionsOrYield();
  return finish(assign);
}

// return_stmt = "return" star_expressions?
Stmt *Parser::parseReturn() {
  auto *stmt = make<Return>(here());
  advance();
  if (startsExpression())
    stmt->value = parseStarExpressions();
  return finish(stmt);
}

// del_stmt = "del" del_target ("," del_target)* ","?
Stmt *Parser::parseDelete() {
  auto *stmt = make<Delete>(here());
  advance();
  ListBuilder<Expr *> targets(*this);
  do {
    if (!targets.empty() && !startsExpression())
      break;
    Expr *target = parseBinary(1);
    setContext(target, Context::Del);
    targets.push(target);
  } while (accept(TokenKind::Comma));
  stmt->targets = targets.finish();
  return finish(stmt);
}

// raise_stmt = "raise" (expression ("from" expression)?)?
Stmt *Parser::parseRaise() {
  auto *stmt = make<Raise>(here());
  advance();
  if (startsExpression()) {
    stmt->exc = parseExpression();
    if (accept(TokenKind::KwFrom))
      stmt->cause = parseExpression();
  }
  return finish(stmt);
}

// assert_stmt = "assert" expression ("," expression)?
Stmt *Parser::parseAssert() {
  auto *stmt = make<Assert>(here());
  advance();
  stmt->test = parseExpression();
  if (accept(TokenKind::Comma))
    stmt->msg = parseExpression();
  return finish(stmt);
}

// dotted_name = NAME ("." NAME)*
std::string_view Parser::parseDottedName(std::string_view what) {
  Identifier first = expectName(what);
  if (!at(TokenKind::Dot))
    return first;
  std::string name(first);
  while (accept(TokenKind::Dot)) {
    name += '.';
    name += expectName(what);
  }
  return arena.copy(name);
}

// import_name = "import" dotted_name ("as" NAME)? ("," dotted_name ("as" NAME)?)*
Stmt *Parser::parseImport() {
  auto *stmt = make<Import>(here());
  advance();
  ListBuilder<Alias> names(*this);
  do {
    Alias alias;
    alias.begin = here();
    alias.name = parseDottedName("the name of a module");
    if (accept(TokenKind::KwAs))
      alias.asname = expectName("the name of a module");
    finish(&alias);
    names.push(alias);
  } while (accept(TokenKind::Comma));
  stmt->names = names.finish();
  return finish(stmt);
}

// import_from = "from" ("." | "...")* dotted_name "import" import_targets
//             | "from" ("." | "...")+ "import" import_targets
// import_targets = "(" import_as_name ("," import_as_name)* ","? ")"
//                | import_as_name ("," import_as_name)* | "*"
Stmt *Parser::parseImportFrom() {
  auto *stmt = make<ImportFrom>(here());
  advance();
  for (; at(TokenKind::Dot) || at(TokenKind::Ellipsis); advance())
    stmt->level += at(TokenKind::Dot) ? 1 : 3;
  if (!stmt->level || !at(TokenKind::KwImport))
    stmt->module = parseDottedName("the name of a module");
  expect(TokenKind::KwImport, "after the module");
  ListBuilder<Alias> names(*this);
  if (at(TokenKind::Star)) {
    Alias alias;
    alias.begin = here();
    alias.name = "*";
    advance();
    finish(&alias);
    names.push(alias);
  } else {
    bool parenthesised = accept(TokenKind::LPar);
    for (;;) {
      Alias alias;
      alias.begin = here();
      alias.name = expectName("an imported name");
      if (accept(TokenKind::KwAs))
        alias.asname = expectName("an imported name");
      finish(&alias);
      names.push(alias);
      if (!at(TokenKind::Comma))
        break;
      const Token &comma = advance();
      if (parenthesised && at(TokenKind::RPar))
        break;
      if (!parenthesised && at(TokenKind::Newline))
        fail("InvalidSyntax", "a `,` ends this list of names", range(comma),
             "put the names in parentheses to go on in the next line");
    }
    if (parenthesised)
      expect(TokenKind::RPar, "or `,` after an imported name");
  }
  stmt->names = names.finish();
  return finish(stmt);
}

// global_stmt   = "global" NAME ("," NAME)*
// nonlocal_stmt = "nonlocal" NAME ("," NAME)*
Stmt *Parser::parseGlobal() {
  SourcePos begin = here();
  bool global = advance().kind == TokenKind::KwGlobal;
  ListBuilder<Identifier> names(*this);
  do
    names.push(expectName("a name"));
  while (accept(TokenKind::Comma));
  if (global) {
    auto *stmt = make<Global>(begin);
    stmt->names = names.finish();
    return finish(stmt);
  }
  auto *stmt = make<Nonlocal>(begin);
  stmt->names = names.finish();
  return finish(stmt);
}

// type_alias = "type" NAME type_params? "=" expression
Stmt *Parser::parseTypeAlias() {
  auto *stmt = make<TypeAlias>(here());
  advance();
  auto *name = make<Name>(here());
  name->id = nameOf(advance());
  name->ctx = Context::Store;
  stmt->name = finish(name);
  stmt->typeParams = parseTypeParams();
  expect(TokenKind::Equal, "in a type alias");
  stmt->value = parseExpression();
  return finish(stmt);
}

// type_params = "[" type_param ("," type_param)* ","? "]"
// type_param  = NAME (":" expression)? ("=" expression)? | "*" NAME ("=" star_expression)?
//             | "**" NAME ("=" expression)?
Span<TypeParam *> Parser::parseTypeParams() {
  if (!accept(TokenKind::LSqb))
    return {};
  ListBuilder<TypeParam *> params(*this);
  while (!at(TokenKind::RSqb)) {
    auto *param = make<TypeParam>(here());
    if (accept(TokenKind::Star))
      param->kind = TypeParam::Kind::TypeVarTuple;
    else if (accept(TokenKind::DoubleStar))
      param->kind = TypeParam::Kind::ParamSpec;
    param->name = expectName("a type parameter");
    if (param->kind == TypeParam::Kind::TypeVar && accept(TokenKind::Colon))
      param->bound = parseExpression();
    if (accept(TokenKind::Equal))
      param->defaultValue =
          param->kind == TypeParam::Kind::TypeVarTuple ? parseStarExpression() : parseExpression();
    params.push(finish(param));
    if (!accept(TokenKind::Comma))
      break;
  }
  if (params.empty())
    failUnexpected("a type parameter");
  expect(TokenKind::RSqb, "or `,` after a type parameter");
  return params.finish();
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

// decorators = ("@" named_expression NEWLINE)+
Stmt *Parser::parseDecorated() {
  ListBuilder<Expr *> decorators(*this);
  while (accept(TokenKind::At)) {
    decorators.push(parseNamedExpression());
    expect(TokenKind::Newline, "");
  }
  Span<Expr *> all = decorators.finish();
  switch (cur().kind) {
  case TokenKind::KwDef:
    return parseFunction(here(), false, all);
  case TokenKind::KwClass:
    return parseClass(all);
  case TokenKind::KwAsync:
    if (peek().kind == TokenKind::KwDef) {
      SourcePos begin = here();
      advance();
      return parseFunction(begin, true, all);
    }
    [[fallthrough]];
  default:
    failUnexpected("`def` or `class` after a decorator");
  }
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

// function_def = "def" NAME type_params? "(" parameters? ")" ("->" expression)? ":" block
Stmt *Parser::parseFunction(SourcePos begin, bool isAsync, Span<Expr *> decorators) {
  const Token &keyword = cur();
  auto *function = make<FunctionDef>(begin);
  function->isAsync = isAsync;
  function->decorators = decorators;
  advance();
  function->name = expectName("the name of a function");
  function->typeParams = parseTypeParams();
  if (at(TokenKind::Colon))
    fail("InvalidSyntax", "expected `(` after the name of a function, not `:`", range(cur()),
         "write `def " + std::string(function->name) + "():`");
  expect(TokenKind::LPar, "after the name of a function");
  function->args = parseParameters(TokenKind::RPar);
  expect(TokenKind::RPar, "or `,` after a parameter");
  if (accept(TokenKind::Arrow))
    function->returns = parseExpression();
  function->body = parseBlock("the head of a function", keyword);
  return finish(function);
}

// class_def = "class" NAME type_params? ("(" arguments? ")")? ":" block
Stmt *Parser::parseClass(Span<Expr *> decorators) {
  const Token &keyword = cur();
  auto *cls = make<ClassDef>(here());
  cls->decorators = decorators;
  advance();
  cls->name = expectName("the name of a class");
  cls->typeParams = parseTypeParams();
  if (at(TokenKind::LPar)) {
    const Token &opener = advance();
    ListBuilder<Expr *> bases(*this);
    ListBuilder<Keyword> keywords(*this);
    parseArguments(opener, bases, keywords, /*allowGenerator=*/false);
    cls->bases = bases.finish();
    cls->keywords = keywords.finish();
  }
  cls->body = parseBlock("the head of a class", keyword);
  return finish(cls);
}

// parameters = (param ("," param)* ("," "/")?)? ("," "*" star_param? ("," param)*)?
//              ("," "**" NAME annotation?)? ","?
// param      = NAME annotation? ("=" expression)?
// star_param = NAME (":" star_expression)?
// Of a `lambda` (closed by a colon) they have no annotations.
Arguments *Parser::parseParameters(TokenKind closing) {
  auto *parameters = arena.make<Arguments>();
  bool annotated = closing == TokenKind::RPar;
  ListBuilder<Arg> args(*this);
  ListBuilder<Expr *> defaults(*this);
  uint32_t positional = 0, beforeStar = 0, numDefaults = 0;
  bool slash = false, star = false;
  const Token *bareStar = nullptr;

  auto parseArg = [&](bool starred) {
    Arg arg;
    arg.begin = here();
    arg.arg = expectName("the name of a parameter");
    if (annotated && accept(TokenKind::Colon))
      arg.annotation = starred ? parseStarExpression() : parseExpression();
    finish(&arg);
    return arg;
  };
  auto single = [&](const Arg &arg) { return arena.copy(&arg, 1).first; };

  while (!at(closing)) {
    if (at(TokenKind::Slash)) {
      if (slash || star || args.empty())
        fail("BadParameter",
             slash  ? "a second `/` among the parameters"
             : star ? "`/` comes before `*` among the parameters"
                    : "`/` needs a parameter before it",
             range(cur()));
      slash = true;
      positional = uint32_t(args.size());
      advance();
    } else if (at(TokenKind::Star)) {
      if (star)
        fail("BadParameter", "a second `*` among the parameters", range(cur()));
      star = true;
      beforeStar = uint32_t(args.size());
      const Token &token = advance();
      if (at(TokenKind::Comma)) {
        bareStar = &token;
      } else if (at(closing)) {
        fail("BadParameter", "no parameter follows the `*`", range(token));
      } else {
        parameters->vararg = single(parseArg(true));
        if (at(TokenKind::Equal))
          fail("BadParameter", "a `*` parameter cannot have a default", range(cur()));
      }
    } else if (at(TokenKind::DoubleStar)) {
      if (bareStar)
        fail("BadParameter", "no parameter follows the `*`", range(*bareStar));
      advance();
      parameters->kwarg = single(parseArg(false));
      if (at(TokenKind::Equal))
        fail("BadParameter", "a `**` parameter cannot have a default", range(cur()));
      accept(TokenKind::Comma);
      if (!at(closing) && (at(TokenKind::Name) || at(TokenKind::Star) ||
                           at(TokenKind::DoubleStar) || at(TokenKind::Slash)))
        fail("BadParameter", "nothing can follow the `**` parameter", range(cur()));
      break;
    } else {
      if (at(TokenKind::LPar))
        fail("BadParameter", "a parameter is a plain name", range(cur()),
             "take the tuple apart in the body");
      Arg arg = parseArg(false);
      args.push(arg);
      bareStar = nullptr;
      if (accept(TokenKind::Equal)) {
        if (at(TokenKind::Comma) || at(closing))
          fail("BadParameter", "expected a value after `=`", range(cur()));
        defaults.push(parseExpression());
        numDefaults += !star;
      } else if (star) {
        defaults.push(nullptr);
      } else if (numDefaults) {
        fail("BadParameter",
             "parameter `" + std::string(arg.arg) + "` has no default but follows one that has",
             {unit.file, arg.begin, arg.end}, "give it one, or put it first");
      }
    }
    if (!accept(TokenKind::Comma))
      break;
  }
  if (bareStar)
    fail("BadParameter", "no parameter follows the `*`", range(*bareStar));

  if (!star)
    beforeStar = uint32_t(args.size());
  Span<Arg> all = args.finish();
  parameters->posonlyargs = {all.first, positional};
  parameters->args = {all.first + positional, beforeStar - positional};
  parameters->kwonlyargs = {all.first + beforeStar, all.count - beforeStar};
  Span<Expr *> values = defaults.finish();
  parameters->defaults = {values.first, numDefaults};
  parameters->kwDefaults = {values.first + numDefaults, values.count - numDefaults};
  return parameters;
}

} // namespace nereid::syntax
