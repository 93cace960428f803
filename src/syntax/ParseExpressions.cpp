// Expressions by the strength of their operators; what stands between those is in ParseAtoms.cpp.
#include "syntax/ParserImpl.h"

#include <array>

namespace nereid::syntax {
namespace {

// Binary operators by strength; 0 is none. `**` is stronger and binds to the right (parsePower).
struct BinaryRow {
  uint8_t strength = 0;
  BinaryOp op{};
};
constexpr auto BinaryTable = [] {
  std::array<BinaryRow, size_t(TokenKind::Count)> table{};
  auto row = [&](TokenKind kind, uint8_t strength, BinaryOp op) {
    table[size_t(kind)] = {strength, op};
  };
  row(TokenKind::VBar, 1, BinaryOp::BitOr);
  row(TokenKind::Circumflex, 2, BinaryOp::BitXor);
  row(TokenKind::Amper, 3, BinaryOp::BitAnd);
  row(TokenKind::LeftShift, 4, BinaryOp::LShift);
  row(TokenKind::RightShift, 4, BinaryOp::RShift);
  row(TokenKind::Plus, 5, BinaryOp::Add);
  row(TokenKind::Minus, 5, BinaryOp::Sub);
  row(TokenKind::Star, 6, BinaryOp::Mult);
  row(TokenKind::Slash, 6, BinaryOp::Div);
  row(TokenKind::DoubleSlash, 6, BinaryOp::FloorDiv);
  row(TokenKind::Percent, 6, BinaryOp::Mod);
  row(TokenKind::At, 6, BinaryOp::MatMult);
  return table;
}();

constexpr auto ExpressionStarts = [] {
  std::array<bool, size_t(TokenKind::Count)> table{};
  for (TokenKind kind :
       {TokenKind::Name, TokenKind::Number, TokenKind::String, TokenKind::FStringStart,
        TokenKind::LPar, TokenKind::LSqb, TokenKind::LBrace, TokenKind::Minus, TokenKind::Plus,
        TokenKind::Tilde, TokenKind::Star, TokenKind::Ellipsis, TokenKind::KwNot, TokenKind::KwNone,
        TokenKind::KwLambda, TokenKind::KwAwait, TokenKind::KwTrue, TokenKind::KwFalse,
        TokenKind::KwYield})
    table[size_t(kind)] = true;
  return table;
}();

} // namespace

bool Parser::startsExpression(const Token &t) const {
  return ExpressionStarts[size_t(t.kind)] && t.kind != TokenKind::KwYield;
}

Expr *Parser::makeStarred(SourcePos begin, Expr *value) {
  auto *starred = make<Starred>(begin);
  starred->value = value;
  return finish(starred);
}

// star_expressions = star_expression ("," star_expression)* ","?
Expr *Parser::parseStarExpressions() {
  SourcePos begin = here();
  Expr *first = parseStarExpression();
  if (!at(TokenKind::Comma))
    return first;
  ListBuilder<Expr *> elts(*this);
  elts.push(first);
  while (accept(TokenKind::Comma) && startsExpression())
    elts.push(parseStarExpression());
  auto *tuple = make<Tuple>(begin);
  tuple->elts = elts.finish();
  return finish(tuple);
}

Expr *Parser::parseStarExpressionsOrYield() {
  return at(TokenKind::KwYield) ? parseYield() : parseStarExpressions();
}

// star_expression = "*" bitwise_or | expression
Expr *Parser::parseStarExpression() {
  if (!at(TokenKind::Star))
    return parseExpression();
  SourcePos begin = here();
  advance();
  return makeStarred(begin, parseBinary(BitwiseOr));
}

// named_expression = NAME ":=" expression | expression
Expr *Parser::parseNamedExpression() {
  if (!at(TokenKind::Name) || peek().kind != TokenKind::ColonEqual) {
    Expr *expr = parseExpression();
    if (at(TokenKind::ColonEqual))
      fail("InvalidTarget", "`:=` can only bind a name, not " + std::string(describe(expr)),
           range(expr));
    return expr;
  }
  DepthGuard guard(*this);
  SourcePos begin = here();
  auto *target = make<Name>(begin);
  target->id = nameOf(advance());
  target->ctx = Context::Store;
  finish(target);
  advance();
  auto *named = make<NamedExpr>(begin);
  named->target = target;
  named->value = parseExpression();
  return finish(named);
}

// star_named_expression = "*" bitwise_or | named_expression
Expr *Parser::parseStarNamedExpression() {
  if (!at(TokenKind::Star))
    return parseNamedExpression();
  return parseStarExpression();
}

// subject_expr = star_named_expression ("," star_named_expression)* ","?
Expr *Parser::parseStarNamedExpressions() {
  SourcePos begin = here();
  Expr *first = parseStarNamedExpression();
  if (!at(TokenKind::Comma))
    return first;
  ListBuilder<Expr *> elts(*this);
  elts.push(first);
  while (accept(TokenKind::Comma) && startsExpression())
    elts.push(parseStarNamedExpression());
  auto *tuple = make<Tuple>(begin);
  tuple->elts = elts.finish();
  return finish(tuple);
}

// expression = disjunction "if" disjunction "else" expression | disjunction | lambda
Expr *Parser::parseExpression() {
  DepthGuard guard(*this);
  if (at(TokenKind::KwLambda))
    return parseLambda();
  SourcePos begin = here();
  Expr *body = parseDisjunction();
  if (!at(TokenKind::KwIf))
    return body;
  const Token &keyword = advance();
  auto *choice = make<IfExp>(begin);
  choice->body = body;
  choice->test = parseDisjunction();
  if (!at(TokenKind::KwElse)) {
    if (at(TokenKind::Equal))
      failUnexpected("`else`");
    fail("InvalidSyntax", "expected `else` after this `if`, not " + describe(cur()), range(cur()),
         "a conditional expression is written `a if condition else b`",
         {{range(keyword), "this `if`"}});
  }
  advance();
  choice->orelse = parseExpression();
  return finish(choice);
}

// yield_expr = "yield" "from" expression | "yield" star_expressions?
Expr *Parser::parseYield() {
  DepthGuard guard(*this);
  SourcePos begin = here();
  advance();
  if (accept(TokenKind::KwFrom)) {
    auto *yield = make<YieldFrom>(begin);
    yield->value = parseExpression();
    return finish(yield);
  }
  auto *yield = make<Yield>(begin);
  if (startsExpression())
    yield->value = parseStarExpressions();
  return finish(yield);
}

// lambdef = "lambda" parameters? ":" expression
Expr *Parser::parseLambda() {
  SourcePos begin = here();
  advance();
  auto *lambda = make<Lambda>(begin);
  lambda->args = parseParameters(TokenKind::Colon);
  expect(TokenKind::Colon, "after the parameters of `lambda`");
  lambda->body = parseExpression();
  return finish(lambda);
}

// disjunction = conjunction ("or" conjunction)*
Expr *Parser::parseDisjunction() {
  SourcePos begin = here();
  Expr *first = parseConjunction();
  if (!at(TokenKind::KwOr))
    return first;
  ListBuilder<Expr *> values(*this);
  values.push(first);
  while (accept(TokenKind::KwOr))
    values.push(parseConjunction());
  auto *op = make<BoolOp>(begin);
  op->op = BoolOpKind::Or;
  op->values = values.finish();
  return finish(op);
}

// conjunction = inversion ("and" inversion)*
Expr *Parser::parseConjunction() {
  SourcePos begin = here();
  Expr *first = parseInversion();
  if (!at(TokenKind::KwAnd))
    return first;
  ListBuilder<Expr *> values(*this);
  values.push(first);
  while (accept(TokenKind::KwAnd))
    values.push(parseInversion());
  auto *op = make<BoolOp>(begin);
  op->op = BoolOpKind::And;
  op->values = values.finish();
  return finish(op);
}

// inversion = "not" inversion | comparison
Expr *Parser::parseInversion() {
  if (!at(TokenKind::KwNot))
    return parseComparison();
  DepthGuard guard(*this);
  auto *op = make<UnaryOp>(here());
  advance();
  op->op = UnaryOpKind::Not;
  op->operand = parseInversion();
  return finish(op);
}

bool Parser::acceptCompareOp(CompareOp &op) {
  switch (cur().kind) {
  case TokenKind::EqEqual:
    op = CompareOp::Eq;
    break;
  case TokenKind::NotEqual:
    op = CompareOp::NotEq;
    break;
  case TokenKind::Less:
    if (peek().kind == TokenKind::Greater && peek().offset == cur().offset + 1)
      fail("InvalidSyntax", "`<>` is not an operator", {unit.file, here(), endOf(peek())},
           "write `!=`");
    op = CompareOp::Lt;
    break;
  case TokenKind::LessEqual:
    op = CompareOp::LtE;
    break;
  case TokenKind::Greater:
    op = CompareOp::Gt;
    break;
  case TokenKind::GreaterEqual:
    op = CompareOp::GtE;
    break;
  case TokenKind::KwIn:
    op = CompareOp::In;
    break;
  case TokenKind::KwNot:
    if (peek().kind != TokenKind::KwIn)
      return false;
    advance();
    op = CompareOp::NotIn;
    break;
  case TokenKind::KwIs:
    advance();
    op = accept(TokenKind::KwNot) ? CompareOp::IsNot : CompareOp::Is;
    return true;
  default:
    return false;
  }
  advance();
  return true;
}

// comparison = bitwise_or (("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" "in" | "is" |
//              "is" "not") bitwise_or)*
Expr *Parser::parseComparison() {
  SourcePos begin = here();
  Expr *left = parseBinary(BitwiseOr);
  CompareOp op;
  if (!acceptCompareOp(op))
    return left;
  ListBuilder<CompareOp> ops(*this);
  ListBuilder<Expr *> comparators(*this);
  do {
    ops.push(op);
    comparators.push(parseBinary(BitwiseOr));
  } while (acceptCompareOp(op));
  auto *compare = make<Compare>(begin);
  compare->left = left;
  compare->ops = ops.finish();
  compare->comparators = comparators.finish();
  return finish(compare);
}

// bitwise_or = bitwise_or "|" bitwise_xor | bitwise_xor, and so on down to
// term       = term ("*" | "/" | "//" | "%" | "@") factor | factor
// by the strength of the operators.
Expr *Parser::parseBinary(int minimum) {
  SourcePos begin = here();
  Expr *left = parseFactor();
  for (;;) {
    BinaryRow row = BinaryTable[size_t(cur().kind)];
    if (row.strength < minimum || !row.strength)
      return left;
    advance();
    auto *op = make<BinOp>(begin);
    op->left = left;
    op->op = row.op;
    op->right = parseBinary(row.strength + 1);
    left = finish(op);
  }
}

// factor = ("+" | "-" | "~") factor | power
Expr *Parser::parseFactor() {
  UnaryOpKind kind;
  switch (cur().kind) {
  case TokenKind::Plus:
    kind = UnaryOpKind::UAdd;
    break;
  case TokenKind::Minus:
    kind = UnaryOpKind::USub;
    break;
  case TokenKind::Tilde:
    kind = UnaryOpKind::Invert;
    break;
  default:
    return parsePower();
  }
  DepthGuard guard(*this);
  auto *op = make<UnaryOp>(here());
  advance();
  op->op = kind;
  op->operand = parseFactor();
  return finish(op);
}

// power         = await_primary "**" factor | await_primary
// await_primary = "await" primary | primary
Expr *Parser::parsePower() {
  SourcePos begin = here();
  Expr *base;
  if (at(TokenKind::KwAwait)) {
    advance();
    auto *await = make<Await>(begin);
    await->value = parsePrimary();
    base = finish(await);
  } else {
    base = parsePrimary();
  }
  if (!at(TokenKind::DoubleStar))
    return base;
  DepthGuard guard(*this);
  advance();
  auto *op = make<BinOp>(begin);
  op->left = base;
  op->op = BinaryOp::Pow;
  op->right = parseFactor();
  return finish(op);
}

// primary = primary "." NAME | primary "(" arguments? ")" | primary "[" slices "]" | atom
Expr *Parser::parsePrimary() {
  SourcePos begin = here();
  Expr *expr = parseAtom();
  for (;;) {
    switch (cur().kind) {
    case TokenKind::Dot: {
      advance();
      auto *attribute = make<Attribute>(begin);
      attribute->value = expr;
      attribute->attr = expectName("the name of an attribute");
      expr = finish(attribute);
      continue;
    }
    case TokenKind::LPar:
      expr = parseCall(expr, begin);
      continue;
    case TokenKind::LSqb: {
      advance();
      auto *subscript = make<Subscript>(begin);
      subscript->value = expr;
      subscript->slice = parseSlices();
      if (!at(TokenKind::RSqb))
        failAfterElement(subscript->slice, "`]`");
      advance();
      expr = finish(subscript);
      continue;
    }
    default:
      return expr;
    }
  }
}

// `&&`, `||`, `++` and `--` of other languages are two operators here, and no operand follows.
void Parser::failForeignOperator() {
  const Token &before = last();
  auto adjacent = [](const Token &a, const Token &b) { return a.offset + a.length == b.offset; };
  if ((at(TokenKind::Amper) || at(TokenKind::VBar)) && before.kind == cur().kind &&
      adjacent(before, cur())) {
    bool isAnd = at(TokenKind::Amper);
    fail("InvalidSyntax", isAnd ? "`&&` is not an operator" : "`||` is not an operator",
         {unit.file, beginOf(before), endOf(cur())}, isAnd ? "write `and`" : "write `or`");
  }
  if ((before.kind == TokenKind::Plus || before.kind == TokenKind::Minus) &&
      &before > buffer.tokens.data() && before.kind == (&before)[-1].kind &&
      adjacent((&before)[-1], before) && !isKeyword(cur().kind)) {
    std::string sign(textOf(before));
    fail("InvalidSyntax", "`" + sign + sign + "` is not an operator",
         {unit.file, beginOf((&before)[-1]), endOf(before)}, "write `" + sign + "= 1`");
  }
}

} // namespace nereid::syntax
