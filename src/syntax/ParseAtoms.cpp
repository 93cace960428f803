// What operators stand between: names, literals, displays, comprehensions, subscripts and calls.
#include "syntax/ParserImpl.h"

namespace nereid::syntax {

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

} // namespace nereid::syntax
