// Expressions to source text.
#include "syntax/AstDispatch.h"
#include "syntax/PrinterImpl.h"
#include "syntax/Source.h"

#include <vector>

namespace nereid::syntax {
namespace {

constexpr Level BinaryLevels[] = {Arithmetic, Arithmetic, Term,  Term,   Term,   Term, Power,
                                  Shift,      Shift,      BitOr, BitXor, BitAnd, Term};
constexpr const char *CompareSpellings[] = {"==", "!=", "<",      "<=", ">",
                                            ">=", "is", "is not", "in", "not in"};

Level levelOf(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Yield:
  case ExprKind::YieldFrom:
  case ExprKind::NamedExpr:
    return Any;
  case ExprKind::Lambda:
  case ExprKind::IfExp:
    return Test;
  case ExprKind::BoolOp:
    return cast<BoolOp>(&expr).op == BoolOpKind::Or ? Or : And;
  case ExprKind::UnaryOp:
    return cast<UnaryOp>(&expr).op == UnaryOpKind::Not ? Not : Factor;
  case ExprKind::Compare:
    return Comparison;
  case ExprKind::BinOp:
    return BinaryLevels[size_t(cast<BinOp>(&expr).op)];
  case ExprKind::Await:
    return AwaitLevel;
  case ExprKind::Tuple:
    return Atom; // with its parentheses
  default:
    return Atom;
  }
}

} // namespace

void Printer::expression(const Expr &expr, Level least) {
  if (levelOf(expr) >= least)
    return bare(expr);
  out += '(';
  bare(expr);
  out += ')';
}

template <> void Printer::print(const BinOp &node) { spine(node); }

template <> void Printer::print(const Call &node) { spine(node); }

template <> void Printer::print(const Attribute &node) { spine(node); }

template <> void Printer::print(const Subscript &node) { spine(node); }

template <> void Printer::print(const BoolOp &node) {
  bool isOr = node.op == BoolOpKind::Or;
  list(
      node.values, [&](const Expr *value) { expression(*value, isOr ? And : Not); },
      isOr ? " or " : " and ");
}

template <> void Printer::print(const NamedExpr &node) {
  expression(*node.target);
  optional(" := ", node.value);
}

template <> void Printer::print(const UnaryOp &node) {
  static constexpr const char *spellings[] = {"~", "not ", "+", "-"};
  out += spellings[size_t(node.op)];
  expression(*node.operand, node.op == UnaryOpKind::Not ? Not : Factor);
}

template <> void Printer::print(const Lambda &node) {
  out += "lambda";
  size_t before = out.size();
  arguments(*node.args, /*annotated=*/false);
  if (out.size() > before)
    out.insert(before, 1, ' ');
  optional(": ", node.body);
}

template <> void Printer::print(const IfExp &node) {
  expression(*node.body, Or);
  optional(" if ", node.test, Or);
  optional(" else ", node.orelse);
}

template <> void Printer::print(const Dict &node) {
  out += '{';
  for (size_t i = 0; i < node.keys.size(); ++i) {
    out += i ? ", " : "";
    if (node.keys[i]) {
      expression(*node.keys[i]);
      optional(": ", node.values[i]);
    } else {
      optional("**", node.values[i], BitOr);
    }
  }
  out += '}';
}

template <> void Printer::print(const Set &node) {
  out += '{';
  expressions(node.elts);
  out += '}';
}

template <> void Printer::print(const ListComp &node) {
  out += '[';
  element(*node.elt);
  comprehension(node.generators);
  out += ']';
}

template <> void Printer::print(const SetComp &node) {
  out += '{';
  element(*node.elt);
  comprehension(node.generators);
  out += '}';
}

template <> void Printer::print(const DictComp &node) {
  out += '{';
  expression(*node.key);
  optional(": ", node.value);
  comprehension(node.generators);
  out += '}';
}

template <> void Printer::print(const GeneratorExp &node) {
  out += '(';
  element(*node.elt);
  comprehension(node.generators);
  out += ')';
}

template <> void Printer::print(const Await &node) { optional("await ", node.value, Atom); }

template <> void Printer::print(const Yield &node) {
  out += "yield";
  if (const Expr *value = node.value) {
    out += ' ';
    looseTuple(*value);
  }
}

template <> void Printer::print(const YieldFrom &node) { optional("yield from ", node.value); }

template <> void Printer::print(const Compare &node) {
  expression(*node.left, BitOr);
  for (size_t i = 0; i < node.ops.size(); ++i) {
    out += ' ';
    out += CompareSpellings[size_t(node.ops[i])];
    optional(" ", node.comparators[i], BitOr);
  }
}

// Alone, which no parser makes; as the only piece of an f-string.
template <> void Printer::print(const FormattedValue &node) {
  JoinedStr text;
  Expr *piece = const_cast<FormattedValue *>(&node);
  text.values = {&piece, 1};
  joined(text);
}

template <> void Printer::print(const JoinedStr &node) { joined(node); }

template <> void Printer::print(const Constant &node) { constant(node.value); }

template <> void Printer::print(const Starred &node) { optional("*", node.value, BitOr); }

template <> void Printer::print(const Name &node) { out += node.id; }

template <> void Printer::print(const List &node) {
  out += '[';
  expressions(node.elts);
  out += ']';
}

template <> void Printer::print(const Tuple &node) {
  out += '(';
  tupleElements(node);
  out += ')';
}

template <> void Printer::print(const Slice &node) {
  optional("", node.lower);
  out += ':';
  optional("", node.upper);
  optional(":", node.step);
}

void Printer::bare(const Expr &expr) {
  dispatch(expr, [this](const auto &node) { print(node); });
}

// Long chains of operators, calls, attributes and subscripts, from the left and without recursion.
void Printer::spine(const Expr &expr) {
  struct Link {
    const Expr *expr;
    bool parenthesised;
  };
  std::vector<Link> links;
  const Expr *base = &expr;
  bool parenthesised = false;
  for (;;) {
    const Expr *next;
    Level least = Atom;
    if (const auto *op = dynCast<BinOp>(base)) {
      next = op->left;
      // `**` binds to the right; the others to the left.
      least = op->op == BinaryOp::Pow ? AwaitLevel : BinaryLevels[size_t(op->op)];
    } else if (const auto *call = dynCast<Call>(base)) {
      next = call->func;
    } else if (const auto *attribute = dynCast<Attribute>(base)) {
      next = attribute->value;
    } else if (const auto *subscript = dynCast<Subscript>(base)) {
      next = subscript->value;
    } else {
      break;
    }
    links.push_back({base, parenthesised});
    const auto *number = dynCast<Constant>(next);
    bool touchesDot =
        isa<Attribute>(base) && number && number->value.kind == ConstantValue::Kind::Int;
    parenthesised = levelOf(*next) < least || touchesDot;
    if (parenthesised)
      out += '(';
    base = next;
  }
  bare(*base);
  for (size_t i = links.size(); i-- > 0;) {
    if (parenthesised)
      out += ')';
    trailer(*links[i].expr);
    parenthesised = links[i].parenthesised;
  }
  // The outermost expression's own parentheses are its caller's.
}

// What follows the first operand.
void Printer::trailer(const Expr &expr) {
  if (const auto *op = dynCast<BinOp>(&expr)) {
    out += ' ';
    out += BinarySpellings[size_t(op->op)];
    out += ' ';
    Level level = BinaryLevels[size_t(op->op)];
    expression(*op->right, op->op == BinaryOp::Pow ? Factor : Level(level + 1));
  } else if (const auto *call = dynCast<Call>(&expr)) {
    out += '(';
    if (call->args.size() == 1 && call->keywords.empty() && isa<GeneratorExp>(call->args[0])) {
      const auto &generator = cast<GeneratorExp>(call->args[0]);
      element(*generator.elt);
      comprehension(generator.generators);
    } else {
      callArguments(call->args, call->keywords);
    }
    out += ')';
  } else if (const auto *attribute = dynCast<Attribute>(&expr)) {
    out += '.';
    out += attribute->attr;
  } else if (const auto *subscript = dynCast<Subscript>(&expr)) {
    out += '[';
    slices(*subscript->slice);
    out += ']';
  }
}

void Printer::slices(const Expr &slice) {
  const auto *tuple = dynCast<Tuple>(&slice);
  if (tuple && !tuple->elts.empty())
    tupleElements(*tuple);
  else
    expression(slice);
}

void Printer::callArguments(const Span<Expr *> &args, const Span<Keyword> &keywords) {
  // A `*x` that came after a keyword is printed before it, which gives the same tree.
  expressions(args);
  if (!args.empty() && !keywords.empty())
    out += ", ";
  list(keywords, [&](const Keyword &keyword) {
    if (keyword.arg.empty()) {
      optional("**", keyword.value);
    } else {
      out += keyword.arg;
      optional("=", keyword.value);
    }
  });
}

void Printer::comprehension(const Span<Comprehension> &clauses) {
  for (const Comprehension &clause : clauses) {
    out += clause.isAsync ? " async for " : " for ";
    naked(*clause.target);
    optional(" in ", clause.iter, Or);
    for (const Expr *condition : clause.ifs)
      optional(" if ", condition, Or);
  }
}

void Printer::arguments(const Arguments &args, bool annotated) {
  bool first = true;
  auto comma = [&] {
    if (!first)
      out += ", ";
    first = false;
  };
  auto one = [&](const Arg &arg, const Expr *defaultValue) {
    out += arg.arg;
    if (annotated)
      optional(": ", arg.annotation);
    if (defaultValue)
      optional(annotated && arg.annotation ? " = " : "=", defaultValue);
  };
  uint32_t positional = args.posonlyargs.size() + args.args.size();
  uint32_t firstDefault = positional - args.defaults.size();
  for (uint32_t i = 0; i < positional; ++i) {
    comma();
    uint32_t numOnly = args.posonlyargs.size();
    one(i < numOnly ? args.posonlyargs[i] : args.args[i - numOnly],
        i < firstDefault ? nullptr : args.defaults[i - firstDefault]);
    if (i + 1 == numOnly) {
      comma();
      out += '/';
    }
  }
  if (args.vararg) {
    comma();
    out += '*';
    one(*args.vararg, nullptr);
  } else if (!args.kwonlyargs.empty()) {
    comma();
    out += '*';
  }
  for (uint32_t i = 0; i < args.kwonlyargs.size(); ++i) {
    comma();
    one(args.kwonlyargs[i], args.kwDefaults[i]);
  }
  if (args.kwarg) {
    comma();
    out += "**";
    one(*args.kwarg, nullptr);
  }
}

} // namespace nereid::syntax
