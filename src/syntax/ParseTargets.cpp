// What is assigned to, deleted or bound by a loop.
#include "syntax/ParserImpl.h"

namespace nereid::syntax {

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
