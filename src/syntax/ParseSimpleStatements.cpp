// Statements that end with their line.
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

} // namespace nereid::syntax
