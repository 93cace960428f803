// Functions and classes: decorators, parameters, parameters of types.
#include "syntax/ParserImpl.h"

namespace nereid::syntax {

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
