// The patterns of `match` statements.
#include "syntax/ParserImpl.h"

namespace nereid::syntax {

// patterns = open_sequence_pattern | pattern
// open_sequence_pattern = maybe_star_pattern "," (maybe_star_pattern ("," ...)* ","?)?
Pattern *Parser::parsePatterns() {
  SourcePos begin = here();
  Pattern *first = parseMaybeStarPattern();
  if (!at(TokenKind::Comma)) {
    if (isa<MatchStar>(first))
      fail("BadPattern", "a starred pattern stands in a sequence", range(first),
           "write `*x,` or `[*x]`");
    return first;
  }
  ListBuilder<Pattern *> patterns(*this);
  patterns.push(first);
  while (accept(TokenKind::Comma) && !at(TokenKind::Colon) && !at(TokenKind::KwIf))
    patterns.push(parseMaybeStarPattern());
  auto *sequence = make<MatchSequence>(begin);
  sequence->patterns = patterns.finish();
  return finish(sequence);
}

// pattern = or_pattern "as" capture_target | or_pattern
Pattern *Parser::parsePattern() {
  DepthGuard guard(*this);
  SourcePos begin = here();
  Pattern *pattern = parseOrPattern();
  if (!accept(TokenKind::KwAs))
    return pattern;
  auto *as = make<MatchAs>(begin);
  as->pattern = pattern;
  as->name = parseCaptureTarget("the target of `as`");
  return finish(as);
}

Identifier Parser::parseCaptureTarget(std::string_view what) {
  if (atSoft(SoftUnderscore))
    fail("BadPattern", "`_` binds nothing and cannot be " + std::string(what), range(cur()));
  Identifier name = expectName(what);
  if (at(TokenKind::Dot) || at(TokenKind::LPar))
    fail("BadPattern", std::string(what) + " is a plain name", range(cur()));
  return name;
}

// or_pattern = closed_pattern ("|" closed_pattern)*
Pattern *Parser::parseOrPattern() {
  SourcePos begin = here();
  Pattern *first = parseClosedPattern();
  if (!at(TokenKind::VBar))
    return first;
  ListBuilder<Pattern *> patterns(*this);
  patterns.push(first);
  while (accept(TokenKind::VBar))
    patterns.push(parseClosedPattern());
  auto *any = make<MatchOr>(begin);
  any->patterns = patterns.finish();
  return finish(any);
}

// closed_pattern = literal_pattern | capture_pattern | "_" | value_pattern | group_pattern
//                | sequence_pattern | mapping_pattern | class_pattern
Pattern *Parser::parseClosedPattern() {
  SourcePos begin = here();
  auto singleton = [&](ConstantValue::Kind kind) {
    auto *pattern = make<MatchSingleton>(begin);
    pattern->value.kind = kind;
    advance();
    return finish(pattern);
  };
  switch (cur().kind) {
  case TokenKind::KwNone:
    return singleton(ConstantValue::Kind::None);
  case TokenKind::KwTrue:
    return singleton(ConstantValue::Kind::True);
  case TokenKind::KwFalse:
    return singleton(ConstantValue::Kind::False);
  case TokenKind::Number:
  case TokenKind::Minus:
  case TokenKind::String:
  case TokenKind::FStringStart: {
    auto *pattern = make<MatchValue>(begin);
    pattern->value = parseLiteralPattern();
    return finish(pattern);
  }
  case TokenKind::LPar:
  case TokenKind::LSqb:
    return parseGroupOrSequence();
  case TokenKind::LBrace:
    return parseMappingPattern();
  case TokenKind::Name:
    return parseNamePattern();
  default:
    failUnexpected("a pattern");
  }
}

// literal_expr = signed_number | signed_number ("+" | "-") imaginary_number | strings
Expr *Parser::parseLiteralPattern() {
  SourcePos begin = here();
  if (at(TokenKind::String) || at(TokenKind::FStringStart)) {
    Expr *string = parseStrings();
    if (isa<JoinedStr>(string))
      fail("BadPattern", "an f-string cannot be a pattern", range(string),
           "use a guard: `case x if x == f\"...\"`");
    return string;
  }
  Expr *number = parseSignedNumber();
  if (!at(TokenKind::Plus) && !at(TokenKind::Minus))
    return number;
  auto *sum = make<BinOp>(begin);
  sum->left = number;
  sum->op = at(TokenKind::Plus) ? BinaryOp::Add : BinaryOp::Sub;
  advance();
  auto isImaginary = [](const Expr *expr) {
    const auto *constant = dynCast<Constant>(expr);
    return constant && constant->value.kind == ConstantValue::Kind::Complex;
  };
  const Expr *real = number;
  if (const auto *negated = dynCast<UnaryOp>(number))
    real = negated->operand;
  if (isImaginary(real))
    fail("BadPattern", "the first part of a complex number is a real one", range(number));
  if (!at(TokenKind::Number))
    failUnexpected("an imaginary number");
  sum->right = parseNumberToken();
  if (!isImaginary(sum->right))
    fail("BadPattern", "the second part of a complex number is an imaginary one", range(sum->right),
         "a pattern is no place for arithmetic; use a guard");
  return finish(sum);
}

// signed_number = NUMBER | "-" NUMBER
Expr *Parser::parseSignedNumber() {
  if (at(TokenKind::Number))
    return parseNumberToken();
  auto *negated = make<UnaryOp>(here());
  expect(TokenKind::Minus, "or a number");
  negated->op = UnaryOpKind::USub;
  if (!at(TokenKind::Number))
    failUnexpected("a number");
  negated->operand = parseNumberToken();
  return finish(negated);
}

// capture_pattern = NAME    value_pattern = NAME ("." NAME)+    class_pattern = see below
Pattern *Parser::parseNamePattern() {
  SourcePos begin = here();
  bool wildcard = atSoft(SoftUnderscore);
  auto *name = make<Name>(begin);
  name->id = nameOf(advance());
  Expr *value = finish(name);
  while (accept(TokenKind::Dot)) {
    auto *attribute = make<Attribute>(begin);
    attribute->value = value;
    attribute->attr = expectName("the name of an attribute");
    value = finish(attribute);
  }
  if (at(TokenKind::LPar))
    return parseClassPattern(value, begin);
  if (isa<Attribute>(value)) {
    auto *pattern = make<MatchValue>(begin);
    pattern->value = value;
    return finish(pattern);
  }
  auto *pattern = make<MatchAs>(begin);
  if (!wildcard)
    pattern->name = name->id;
  return finish(pattern);
}

// maybe_star_pattern = "*" (NAME | "_") | pattern
Pattern *Parser::parseMaybeStarPattern() {
  return at(TokenKind::Star) ? parseStarPattern() : parsePattern();
}

Pattern *Parser::parseStarPattern() {
  auto *star = make<MatchStar>(here());
  advance();
  if (atSoft(SoftUnderscore))
    advance();
  else
    star->name = parseCaptureTarget("the target of `*`");
  return finish(star);
}

// group_pattern    = "(" pattern ")"
// sequence_pattern = "[" (maybe_star_pattern ("," maybe_star_pattern)* ","?)? "]"
//                  | "(" open_sequence_pattern? ")"
Pattern *Parser::parseGroupOrSequence() {
  SourcePos begin = here();
  const Token &opener = advance();
  bool round = opener.kind == TokenKind::LPar;
  TokenKind closing = round ? TokenKind::RPar : TokenKind::RSqb;
  ListBuilder<Pattern *> patterns(*this);
  bool comma = false;
  while (!at(closing)) {
    patterns.push(parseMaybeStarPattern());
    if (!at(TokenKind::Comma))
      break;
    comma = true;
    advance();
  }
  expect(closing, "or `,` after a pattern");
  if (round && !comma && patterns.size() == 1) {
    if (isa<MatchStar>(patterns[0]))
      fail("BadPattern", "a starred pattern stands in a sequence", range(patterns[0]),
           "write `(*x,)`");
    return patterns[0];
  }
  auto *sequence = make<MatchSequence>(begin);
  sequence->patterns = patterns.finish();
  return finish(sequence);
}

// mapping_pattern = "{" (item ("," item)* ","?)? "}"
// item            = (literal_expr | attr | "None" | "True" | "False") ":" pattern | "**" NAME
Pattern *Parser::parseMappingPattern() {
  SourcePos begin = here();
  advance();
  auto *mapping = make<MatchMapping>(begin);
  ListBuilder<Expr *> keys(*this);
  ListBuilder<Pattern *> patterns(*this);
  while (!at(TokenKind::RBrace)) {
    if (at(TokenKind::DoubleStar)) {
      const Token &stars = advance();
      mapping->rest = parseCaptureTarget("the target of `**`");
      accept(TokenKind::Comma);
      if (!at(TokenKind::RBrace))
        fail("BadPattern", "`**` comes last in a mapping pattern", range(stars));
      break;
    }
    switch (cur().kind) {
    case TokenKind::KwNone:
    case TokenKind::KwTrue:
    case TokenKind::KwFalse:
      keys.push(parseAtom());
      break;
    case TokenKind::Name: {
      SourcePos from = here();
      auto *name = make<Name>(from);
      name->id = nameOf(advance());
      Expr *key = finish(name);
      if (!at(TokenKind::Dot))
        fail("BadPattern", "a key of a mapping pattern is a literal or a dotted name", range(key));
      while (accept(TokenKind::Dot)) {
        auto *attribute = make<Attribute>(from);
        attribute->value = key;
        attribute->attr = expectName("the name of an attribute");
        key = finish(attribute);
      }
      keys.push(key);
      break;
    }
    case TokenKind::Number:
    case TokenKind::Minus:
    case TokenKind::String:
    case TokenKind::FStringStart:
      keys.push(parseLiteralPattern());
      break;
    default:
      failUnexpected("a key of a mapping pattern");
    }
    expect(TokenKind::Colon, "after a key of a mapping pattern");
    patterns.push(parsePattern());
    if (!accept(TokenKind::Comma))
      break;
  }
  expect(TokenKind::RBrace, "or `,` after a pattern");
  mapping->keys = keys.finish();
  mapping->patterns = patterns.finish();
  return finish(mapping);
}

// class_pattern = name_or_attr "(" (argument ("," argument)* ","?)? ")"
// argument      = pattern | NAME "=" pattern      (the named ones last)
Pattern *Parser::parseClassPattern(Expr *cls, SourcePos begin) {
  advance();
  auto *pattern = make<MatchClass>(begin);
  pattern->cls = cls;
  // Positional and named patterns share a list, since one cannot grow below the other.
  ListBuilder<Pattern *> patterns(*this);
  ListBuilder<Identifier> names(*this);
  while (!at(TokenKind::RPar)) {
    if (at(TokenKind::Name) && peek().kind == TokenKind::Equal) {
      names.push(nameOf(advance()));
      advance();
    } else if (!names.empty()) {
      fail("BadPattern", "a positional pattern follows a named one", range(cur()),
           "put positional patterns first");
    }
    patterns.push(parsePattern());
    if (!accept(TokenKind::Comma))
      break;
  }
  expect(TokenKind::RPar, "or `,` after a pattern");
  Span<Pattern *> all = patterns.finish();
  uint32_t positional = uint32_t(all.count - names.size());
  pattern->patterns = {all.first, positional};
  pattern->kwdAttrs = names.finish();
  pattern->kwdPatterns = {all.first + positional, uint32_t(names.size())};
  return finish(pattern);
}

} // namespace nereid::syntax
