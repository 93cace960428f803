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
constexpr int BitwiseOr = 1; // the weakest binary operator

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

// atom = NAME | "True" | "False" | "None" | "..." | NUMBER | strings
//      | tuple | group | genexp | list | listcomp | dict | set | dictcomp | setcomp
Expr *Parser::parseAtom() {
  auto constant = [&](ConstantValue::Kind kind) {
    auto *node = make<Constant>(here());
    node->value.kind = kind;
    advance();
    return finish(node);
  };
  switch (cur().kind) {
  case TokenKind::Name: {
    auto *name = make<Name>(here());
    name->id = nameOf(advance());
    return finish(name);
  }
  case TokenKind::Number:
    return parseNumberToken();
  case TokenKind::String:
  case TokenKind::FStringStart:
    return parseStrings();
  case TokenKind::LPar:
    return parseParenthesised();
  case TokenKind::LSqb:
    return parseListDisplay();
  case TokenKind::LBrace:
    return parseBraces();
  case TokenKind::KwTrue:
    return constant(ConstantValue::Kind::True);
  case TokenKind::KwFalse:
    return constant(ConstantValue::Kind::False);
  case TokenKind::KwNone:
    return constant(ConstantValue::Kind::None);
  case TokenKind::Ellipsis:
    return constant(ConstantValue::Kind::Ellipsis);
  default:
    break;
  }
  if (isKeyword(cur().kind)) {
    switch (cur().kind) {
    case TokenKind::KwNot:
      fail("InvalidSyntax", "`not` cannot follow an operator", range(cur()),
           "put the `not` part in parentheses");
    case TokenKind::KwLambda:
      fail("InvalidSyntax", "`lambda` cannot follow an operator", range(cur()),
           "put the `lambda` in parentheses");
    case TokenKind::KwYield:
      fail("InvalidSyntax", "`yield` cannot stand inside an expression", range(cur()),
           "put the `yield` in parentheses");
    default:
      break;
    }
  }
  failForeignOperator();
  if (at(TokenKind::Star) || at(TokenKind::DoubleStar))
    fail("InvalidSyntax", "cannot unpack with " + describe(cur()) + " here", range(cur()));
  failUnexpected("an expression");
}

bool Parser::atComprehension() const {
  return at(TokenKind::KwFor) || (at(TokenKind::KwAsync) && peek().kind == TokenKind::KwFor);
}

// for_if_clause = "async"? "for" star_targets "in" disjunction ("if" disjunction)*
Span<Comprehension> Parser::parseComprehensionClauses() {
  ListBuilder<Comprehension> clauses(*this);
  while (atComprehension()) {
    Comprehension clause;
    clause.isAsync = accept(TokenKind::KwAsync);
    advance();
    clause.target = parseTargets();
    expect(TokenKind::KwIn, "after the target of `for`");
    clause.iter = parseDisjunction();
    ListBuilder<Expr *> ifs(*this);
    while (accept(TokenKind::KwIf))
      ifs.push(parseDisjunction());
    clause.ifs = ifs.finish();
    clauses.push(clause);
  }
  return clauses.finish();
}

// After an element of a bracketed list neither a comma nor the closing bracket stands.
void Parser::failAfterElement(const Expr *element, std::string_view expected) {
  bool unclosed = false;
  for (uint32_t open : buffer.unclosed)
    unclosed |= &buffer.tokens[open] < token;
  if (!unclosed && startsExpression() && !at(TokenKind::Star) && !at(TokenKind::Minus) &&
      !at(TokenKind::Plus))
    fail("MissingComma", "expected `,` or " + std::string(expected) + " before " + describe(cur()),
         range(cur()), "is a comma missing?", {{range(element), "after this"}});
  if (!unclosed && at(TokenKind::Equal))
    fail("AssignInCondition", "`=` cannot stand inside an expression", range(cur()),
         "write `==` to compare, `:=` to bind a name");
  failUnexpected("`,` or " + std::string(expected));
}

// tuple  = "(" (star_named_expression "," (star_named_expression ("," ...)* ","?)?)? ")"
// group  = "(" (yield_expr | named_expression) ")"
// genexp = "(" named_expression for_if_clause+ ")"
Expr *Parser::parseParenthesised() {
  SourcePos begin = here();
  advance();
  if (at(TokenKind::RPar)) {
    auto *tuple = make<Tuple>(begin);
    advance();
    return finish(tuple);
  }
  if (at(TokenKind::KwYield)) {
    Expr *yield = parseYield();
    expect(TokenKind::RPar, "after `yield`");
    return yield;
  }
  Expr *first = parseStarNamedExpression();
  if (atComprehension()) {
    if (isa<Starred>(first))
      fail("InvalidSyntax", "cannot unpack with `*` in a comprehension", range(first));
    auto *generator = make<GeneratorExp>(begin);
    generator->elt = first;
    generator->generators = parseComprehensionClauses();
    if (!at(TokenKind::RPar))
      failAfterElement(first, "`)`");
    advance();
    return finish(generator);
  }
  if (at(TokenKind::RPar)) {
    if (isa<Starred>(first))
      fail("InvalidSyntax", "cannot unpack with `*` here", range(first),
           "write `(*x,)` for a tuple");
    advance();
    return first;
  }
  if (!at(TokenKind::Comma))
    failAfterElement(first, "`)`");
  ListBuilder<Expr *> elts(*this);
  elts.push(first);
  while (accept(TokenKind::Comma) && startsExpression())
    elts.push(parseStarNamedExpression());
  if (!at(TokenKind::RPar))
    failAfterElement(elts.back(), "`)`");
  advance();
  auto *tuple = make<Tuple>(begin);
  tuple->elts = elts.finish();
  return finish(tuple);
}

// list     = "[" (star_named_expression ("," star_named_expression)* ","?)? "]"
// listcomp = "[" named_expression for_if_clause+ "]"
Expr *Parser::parseListDisplay() {
  SourcePos begin = here();
  advance();
  ListBuilder<Expr *> elts(*this);
  if (startsExpression()) {
    elts.push(parseStarNamedExpression());
    if (atComprehension()) {
      if (isa<Starred>(elts[0]))
        fail("InvalidSyntax", "cannot unpack with `*` in a comprehension", range(elts[0]));
      auto *comp = make<ListComp>(begin);
      comp->elt = elts[0];
      comp->generators = parseComprehensionClauses();
      if (!at(TokenKind::RSqb))
        failAfterElement(elts[0], "`]`");
      advance();
      return finish(comp);
    }
    while (accept(TokenKind::Comma) && startsExpression())
      elts.push(parseStarNamedExpression());
  }
  if (!at(TokenKind::RSqb)) {
    if (elts.empty())
      failUnexpected("an expression or `]`");
    failAfterElement(elts.back(), "`]`");
  }
  advance();
  auto *list = make<List>(begin);
  list->elts = elts.finish();
  return finish(list);
}

// set      = "{" star_named_expression ("," star_named_expression)* ","? "}"
// setcomp  = "{" named_expression for_if_clause+ "}"
Expr *Parser::parseBraces() {
  SourcePos begin = here();
  advance();
  if (at(TokenKind::RBrace) || at(TokenKind::DoubleStar))
    return parseDictRest(begin, nullptr);
  if (!startsExpression())
    failUnexpected("an expression or `}`");
  bool bindsName = at(TokenKind::Name) && peek().kind == TokenKind::ColonEqual;
  Expr *first = parseStarNamedExpression();
  if (at(TokenKind::Colon) && !isa<Starred>(first) && !bindsName)
    return parseDictRest(begin, first);
  if (atComprehension()) {
    if (isa<Starred>(first))
      fail("InvalidSyntax", "cannot unpack with `*` in a comprehension", range(first));
    auto *comp = make<SetComp>(begin);
    comp->elt = first;
    comp->generators = parseComprehensionClauses();
    if (!at(TokenKind::RBrace))
      failAfterElement(first, "`}`");
    advance();
    return finish(comp);
  }
  ListBuilder<Expr *> elts(*this);
  elts.push(first);
  while (accept(TokenKind::Comma) && startsExpression())
    elts.push(parseStarNamedExpression());
  if (!at(TokenKind::RBrace))
    failAfterElement(elts.back(), "`}`");
  advance();
  auto *set = make<Set>(begin);
  set->elts = elts.finish();
  return finish(set);
}

// dict     = "{" (item ("," item)* ","?)? "}"    item = expression ":" expression | "**" bitwise_or
// dictcomp = "{" expression ":" expression for_if_clause+ "}"
// `key` is the first key, already read; null if there is none.
Expr *Parser::parseDictRest(SourcePos begin, Expr *key) {
  // Keys and values in turn, since one list cannot grow below another.
  ListBuilder<Expr *> items(*this);
  bool first = true;
  while (!at(TokenKind::RBrace)) {
    if (!first || !key) {
      key = nullptr;
      if (!at(TokenKind::DoubleStar))
        key = parseExpression();
    }
    if (key) {
      if (!at(TokenKind::Colon)) {
        if (at(TokenKind::Comma) || at(TokenKind::RBrace))
          fail("InvalidSyntax", "expected `:` and a value after this key of a dictionary",
               range(key));
        failUnexpected("`:` after a key of a dictionary");
      }
      advance();
      if (!startsExpression() || at(TokenKind::Star))
        failUnexpected("a value after the `:` of a dictionary");
    } else {
      advance();
    }
    Expr *value = key ? parseExpression() : parseBinary(BitwiseOr);
    if (first && atComprehension()) {
      if (!key)
        fail("InvalidSyntax", "cannot unpack with `**` in a comprehension", range(value));
      auto *comp = make<DictComp>(begin);
      comp->key = key;
      comp->value = value;
      comp->generators = parseComprehensionClauses();
      if (!at(TokenKind::RBrace))
        failAfterElement(value, "`}`");
      advance();
      return finish(comp);
    }
    items.push(key);
    items.push(value);
    first = false;
    if (!accept(TokenKind::Comma)) {
      if (!at(TokenKind::RBrace))
        failAfterElement(value, "`}`");
      break;
    }
  }
  advance();
  auto *dict = make<Dict>(begin);
  size_t count = items.size();
  ListBuilder<Expr *> half(*this);
  for (size_t i = 0; i < count; i += 2)
    half.push(items[i]);
  dict->keys = half.finish();
  half.clear();
  for (size_t i = 1; i < count; i += 2)
    half.push(items[i]);
  dict->values = half.finish();
  return finish(dict);
}

// slices = slice | (slice | "*" expression) ("," (slice | "*" expression))* ","?
Expr *Parser::parseSlices() {
  SourcePos begin = here();
  auto element = [&]() -> Expr * {
    if (!at(TokenKind::Star))
      return parseSlice();
    SourcePos star = here();
    advance();
    return makeStarred(star, parseExpression());
  };
  if (at(TokenKind::RSqb))
    fail("InvalidSyntax", "expected an index between `[` and `]`", range(cur()));
  Expr *first = element();
  if (!at(TokenKind::Comma) && !isa<Starred>(first))
    return first;
  ListBuilder<Expr *> elts(*this);
  elts.push(first);
  while (accept(TokenKind::Comma) && (startsExpression() || at(TokenKind::Colon)))
    elts.push(element());
  auto *tuple = make<Tuple>(begin);
  tuple->elts = elts.finish();
  return finish(tuple);
}

// slice = expression? ":" expression? (":" expression?)? | named_expression
Expr *Parser::parseSlice() {
  SourcePos begin = here();
  Expr *lower = at(TokenKind::Colon) ? nullptr : parseNamedExpression();
  if (!at(TokenKind::Colon))
    return lower;
  advance();
  auto *slice = make<Slice>(begin);
  slice->lower = lower;
  if (startsExpression())
    slice->upper = parseExpression();
  if (accept(TokenKind::Colon) && startsExpression())
    slice->step = parseExpression();
  return finish(slice);
}

// primary genexp | primary "(" arguments? ")"
Expr *Parser::parseCall(Expr *func, SourcePos begin) {
  const Token &opener = advance();
  auto *call = make<Call>(begin);
  call->func = func;
  ListBuilder<Expr *> args(*this);
  ListBuilder<Keyword> keywords(*this);
  parseArguments(opener, args, keywords, /*allowGenerator=*/true);
  call->args = args.finish();
  call->keywords = keywords.finish();
  return finish(call);
}

// arguments = argument ("," argument)* ","?
// argument  = NAME "=" expression | "*" expression | "**" expression | named_expression
// Positional ones come before `NAME=`, and neither `*` nor positional ones after `**`.
void Parser::parseArguments(const Token &opener, ListBuilder<Expr *> &args,
                            ListBuilder<Keyword> &keywords, bool allowGenerator) {
  bool named = false;    // a `NAME=` or a `**` came
  bool unpacked = false; // a `**` came
  while (!at(TokenKind::RPar)) {
    SourcePos begin = here();
    const Expr *element;
    if (at(TokenKind::Star)) {
      if (unpacked)
        fail("BadArgument", "`*` cannot follow `**` among the arguments of a call", range(cur()));
      advance();
      args.push(makeStarred(begin, parseExpression()));
      element = args.back();
    } else if (at(TokenKind::DoubleStar) ||
               (at(TokenKind::Name) && peek().kind == TokenKind::Equal)) {
      Keyword keyword;
      keyword.begin = begin;
      if (at(TokenKind::Name)) {
        keyword.arg = nameOf(advance());
        if (peek().kind == TokenKind::Comma || peek().kind == TokenKind::RPar)
          fail("BadArgument", "expected a value after `" + std::string(keyword.arg) + "=`",
               range(cur()));
      } else {
        unpacked = true;
      }
      advance();
      keyword.value = parseExpression();
      finish(&keyword);
      keywords.push(keyword);
      named = true;
      element = keyword.value;
      if (atComprehension())
        fail("BadArgument", "a generator expression among arguments needs parentheses",
             range(cur()), "write `" + std::string(keyword.arg) + "=(... for ...)`");
    } else {
      Expr *arg = parseNamedExpression();
      element = arg;
      if (atComprehension()) {
        auto *generator = make<GeneratorExp>(beginOf(opener));
        generator->elt = arg;
        generator->generators = parseComprehensionClauses();
        if (!args.empty() || named || !at(TokenKind::RPar) || !allowGenerator)
          fail("BadArgument", "a generator expression among arguments needs parentheses",
               {unit.file, begin, endOf(last())});
        advance();
        args.push(finish(generator));
        return;
      }
      if (at(TokenKind::Equal))
        fail("BadArgument",
             "the name of a keyword argument cannot be " + std::string(describe(arg)), range(arg),
             "write `==` to compare");
      if (named)
        fail("BadArgument",
             unpacked ? "a positional argument follows `**`"
                      : "a positional argument follows a keyword argument",
             range(arg), "put positional arguments first");
      args.push(arg);
    }
    if (!accept(TokenKind::Comma)) {
      if (!at(TokenKind::RPar))
        failAfterElement(element, "`)`");
      break;
    }
  }
  advance();
}

// star_targets = star_target ("," star_target)* ","?    (of `for`, up to `in`)
Expr *Parser::parseTargets() {
  SourcePos begin = here();
  Expr *first = parseTarget();
  if (!at(TokenKind::Comma)) {
    setContext(first, Context::Store);
    return first;
  }
  ListBuilder<Expr *> elts(*this);
  elts.push(first);
  while (accept(TokenKind::Comma) && startsExpression())
    elts.push(parseTarget());
  auto *tuple = make<Tuple>(begin);
  tuple->elts = elts.finish();
  finish(tuple);
  setContext(tuple, Context::Store);
  return tuple;
}

// star_target = "*" star_target | t_primary "." NAME | t_primary "[" slices "]" | star_atom
// Reads a little more than that, so that the message can say what cannot be assigned to.
Expr *Parser::parseTarget() {
  SourcePos begin = here();
  if (accept(TokenKind::Star))
    return makeStarred(begin, parseBinary(BitwiseOr));
  return parseBinary(BitwiseOr);
}

// --- targets ---

std::string_view Parser::describe(const Expr *expr) const {
  switch (expr->kind) {
  case ExprKind::BoolOp:
  case ExprKind::BinOp:
  case ExprKind::UnaryOp:
    return "an expression";
  case ExprKind::NamedExpr:
    return "a `:=` expression";
  case ExprKind::Lambda:
    return "a `lambda`";
  case ExprKind::IfExp:
    return "a conditional expression";
  case ExprKind::Dict:
    return "a dictionary";
  case ExprKind::Set:
    return "a set";
  case ExprKind::ListComp:
  case ExprKind::SetComp:
  case ExprKind::DictComp:
    return "a comprehension";
  case ExprKind::GeneratorExp:
    return "a generator expression";
  case ExprKind::Await:
    return "an `await` expression";
  case ExprKind::Yield:
  case ExprKind::YieldFrom:
    return "a `yield` expression";
  case ExprKind::Compare:
    return "a comparison";
  case ExprKind::Call:
    return "a function call";
  case ExprKind::FormattedValue:
  case ExprKind::JoinedStr:
    return "an f-string";
  case ExprKind::Constant:
    switch (cast<Constant>(expr).value.kind) {
    case ConstantValue::Kind::None:
      return "`None`";
    case ConstantValue::Kind::True:
      return "`True`";
    case ConstantValue::Kind::False:
      return "`False`";
    case ConstantValue::Kind::Ellipsis:
      return "`...`";
    default:
      return "a literal";
    }
  case ExprKind::Attribute:
    return "an attribute";
  case ExprKind::Subscript:
    return "a subscript";
  case ExprKind::Starred:
    return "a starred expression";
  case ExprKind::Name:
    return "a name";
  case ExprKind::List:
    return "a list";
  case ExprKind::Tuple:
    return "a tuple";
  case ExprKind::Slice:
    return "a slice";
  }
  return "an expression";
}

// star_target, del_target: gives names, attributes, subscripts, and lists of them, a context.
void Parser::setContext(Expr *expr, Context ctx) {
  switch (expr->kind) {
  case ExprKind::Name:
    static_cast<Name *>(expr)->ctx = ctx;
    return;
  case ExprKind::Attribute:
    static_cast<Attribute *>(expr)->ctx = ctx;
    return;
  case ExprKind::Subscript:
    static_cast<Subscript *>(expr)->ctx = ctx;
    return;
  case ExprKind::Starred: {
    auto *starred = static_cast<Starred *>(expr);
    if (ctx == Context::Del || isa<Starred>(starred->value))
      break;
    starred->ctx = ctx;
    setContext(starred->value, ctx);
    return;
  }
  case ExprKind::List:
  case ExprKind::Tuple: {
    Span<Expr *> elts;
    if (expr->kind == ExprKind::List) {
      static_cast<List *>(expr)->ctx = ctx;
      elts = static_cast<List *>(expr)->elts;
    } else {
      static_cast<Tuple *>(expr)->ctx = ctx;
      elts = static_cast<Tuple *>(expr)->elts;
    }
    for (Expr *elt : elts)
      setContext(elt, ctx);
    return;
  }
  default:
    break;
  }
  std::string what(describe(expr));
  if (ctx == Context::Del)
    fail("InvalidTarget", "cannot delete " + what, range(expr));
  bool comparable = isa<Call>(expr) || isa<BinOp>(expr) || isa<Compare>(expr) ||
                    isa<BoolOp>(expr) || isa<UnaryOp>(expr) || what == "a literal";
  fail("InvalidTarget", "cannot assign to " + what, range(expr),
       comparable && at(TokenKind::Equal) ? "write `==` to compare" : "");
}

// single_target = NAME | t_primary "." NAME | t_primary "[" slices "]" | "(" single_target ")"
void Parser::requireSingleTarget(const Expr *expr, std::string_view what) {
  if (!isa<Name>(expr) && !isa<Attribute>(expr) && !isa<Subscript>(expr))
    fail("InvalidTarget",
         std::string(describe(expr)) + " cannot be the target of " + std::string(what),
         range(expr));
}

} // namespace nereid::syntax
