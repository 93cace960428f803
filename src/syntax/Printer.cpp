// Tree to source text.
#include "syntax/Printer.h"
#include "syntax/Source.h"
#include "syntax/Unicode.h"

#include <cmath>
#include <vector>

namespace nereid::syntax {
namespace {

// How tightly a construct binds; an operand that binds less than its place asks for is put in
// parentheses.
enum Level : uint8_t {
  Any,  ///< tuple without parentheses, yield
  Test, ///< lambda, conditional expression
  Or,
  And,
  Not,
  Comparison,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Arithmetic,
  Term,
  Factor,
  Power,
  AwaitLevel,
  Atom,
};

constexpr const char *BinarySpellings[] = {"+",  "-",  "*", "@", "/", "%", "**",
                                           "<<", ">>", "|", "^", "&", "//"};
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

class Printer {
public:
  std::string out;

  void module(const Module &module) { statements(module.body); }
  void statement(const Stmt &stmt);
  void expression(const Expr &expr, Level least = Test);
  void pattern(const Pattern &pattern);

private:
  // --- statements ---

  void line() { out.append(4 * indent, ' '); }
  void statements(const Span<Stmt *> &body) {
    for (const Stmt *stmt : body)
      statement(*stmt);
  }
  void block(const Span<Stmt *> &body) {
    out += ":\n";
    ++indent;
    statements(body);
    --indent;
  }
  void orelse(const Span<Stmt *> &body) {
    if (body.empty())
      return;
    line();
    out += "else";
    block(body);
  }
  void simple(const Stmt &stmt);
  void ifChain(const If &first);
  void function(const FunctionDef &node);
  void classDef(const ClassDef &node);
  void tryStmt(const Try &node);
  void match(const Match &node);
  void with(const With &node);
  void decorators(const Span<Expr *> &list);
  void typeParams(const Span<TypeParam *> &params);
  void aliases(const Span<Alias> &names);

  // --- expressions ---

  template <typename T, typename Each>
  void list(const Span<T> &values, Each each, const char *between = ", ") {
    bool first = true;
    for (const T &value : values) {
      if (!first)
        out += between;
      first = false;
      each(value);
    }
  }
  void expressions(const Span<Expr *> &values) {
    list(values, [&](const Expr *value) { element(*value); });
  }
  void optional(const char *before, const Expr *expr, Level least = Test) {
    if (!expr)
      return;
    out += before;
    expression(*expr, least);
  }
  /// Where a tuple needs no parentheses and `yield` may stand.
  void naked(const Expr &expr) {
    const auto *tuple = dynCast<Tuple>(&expr);
    if (tuple && !tuple->elts.empty())
      tupleElements(*tuple);
    else if (isa<Yield>(&expr) || isa<YieldFrom>(&expr))
      bare(expr);
    else
      expression(expr);
  }
  void tupleElements(const Tuple &tuple) {
    expressions(tuple.elts);
    if (tuple.elts.size() == 1)
      out += ',';
  }
  void element(const Expr &expr) { expression(expr, Test); }
  void bare(const Expr &expr);
  void spine(const Expr &expr);
  void trailer(const Expr &expr);
  void slices(const Expr &slice);
  void arguments(const Arguments &args, bool annotated);
  void callArguments(const Span<Expr *> &args, const Span<Keyword> &keywords);
  void comprehension(const Span<Comprehension> &clauses);
  void constant(const ConstantValue &value);
  void joined(const JoinedStr &node);
  void joinedPieces(const JoinedStr &node, char quote, bool spec);
  void literalText(std::string_view text, char quote, bool spec);
  void docString(std::string_view text);

  uint32_t indent = 0;
  uint32_t fstringDepth = 0;
};

// --- expressions ---

void Printer::expression(const Expr &expr, Level least) {
  if (levelOf(expr) >= least)
    return bare(expr);
  out += '(';
  bare(expr);
  out += ')';
}

void Printer::bare(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::BinOp:
  case ExprKind::Call:
  case ExprKind::Attribute:
  case ExprKind::Subscript:
    return spine(expr);
  case ExprKind::BoolOp: {
    const auto &node = cast<BoolOp>(&expr);
    bool isOr = node.op == BoolOpKind::Or;
    return list(
        node.values, [&](const Expr *value) { expression(*value, isOr ? And : Not); },
        isOr ? " or " : " and ");
  }
  case ExprKind::NamedExpr: {
    const auto &node = cast<NamedExpr>(&expr);
    expression(*node.target);
    return optional(" := ", node.value);
  }
  case ExprKind::UnaryOp: {
    static constexpr const char *spellings[] = {"~", "not ", "+", "-"};
    const auto &node = cast<UnaryOp>(&expr);
    out += spellings[size_t(node.op)];
    return expression(*node.operand, node.op == UnaryOpKind::Not ? Not : Factor);
  }
  case ExprKind::Lambda: {
    const auto &node = cast<Lambda>(&expr);
    out += "lambda";
    size_t before = out.size();
    arguments(*node.args, /*annotated=*/false);
    if (out.size() > before)
      out.insert(before, 1, ' ');
    return optional(": ", node.body);
  }
  case ExprKind::IfExp: {
    const auto &node = cast<IfExp>(&expr);
    expression(*node.body, Or);
    optional(" if ", node.test, Or);
    return optional(" else ", node.orelse);
  }
  case ExprKind::Dict: {
    const auto &node = cast<Dict>(&expr);
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
    return;
  }
  case ExprKind::Set:
    out += '{';
    expressions(cast<Set>(&expr).elts);
    out += '}';
    return;
  case ExprKind::ListComp: {
    const auto &node = cast<ListComp>(&expr);
    out += '[';
    element(*node.elt);
    comprehension(node.generators);
    out += ']';
    return;
  }
  case ExprKind::SetComp: {
    const auto &node = cast<SetComp>(&expr);
    out += '{';
    element(*node.elt);
    comprehension(node.generators);
    out += '}';
    return;
  }
  case ExprKind::DictComp: {
    const auto &node = cast<DictComp>(&expr);
    out += '{';
    expression(*node.key);
    optional(": ", node.value);
    comprehension(node.generators);
    out += '}';
    return;
  }
  case ExprKind::GeneratorExp: {
    const auto &node = cast<GeneratorExp>(&expr);
    out += '(';
    element(*node.elt);
    comprehension(node.generators);
    out += ')';
    return;
  }
  case ExprKind::Await:
    return optional("await ", cast<Await>(&expr).value, Atom);
  case ExprKind::Yield:
    out += "yield";
    if (const Expr *value = cast<Yield>(&expr).value) {
      out += ' ';
      const auto *tuple = dynCast<Tuple>(value);
      if (tuple && !tuple->elts.empty())
        tupleElements(*tuple);
      else
        expression(*value);
    }
    return;
  case ExprKind::YieldFrom:
    return optional("yield from ", cast<YieldFrom>(&expr).value);
  case ExprKind::Compare: {
    const auto &node = cast<Compare>(&expr);
    expression(*node.left, BitOr);
    for (size_t i = 0; i < node.ops.size(); ++i) {
      out += ' ';
      out += CompareSpellings[size_t(node.ops[i])];
      optional(" ", node.comparators[i], BitOr);
    }
    return;
  }
  case ExprKind::FormattedValue: {
    // Alone, which no parser makes; as the only piece of an f-string.
    JoinedStr node;
    Expr *piece = const_cast<Expr *>(&expr);
    node.values = {&piece, 1};
    return joined(node);
  }
  case ExprKind::JoinedStr:
    return joined(cast<JoinedStr>(&expr));
  case ExprKind::Constant:
    return constant(cast<Constant>(&expr).value);
  case ExprKind::Starred:
    return optional("*", cast<Starred>(&expr).value, BitOr);
  case ExprKind::Name:
    out += cast<Name>(&expr).id;
    return;
  case ExprKind::List:
    out += '[';
    expressions(cast<List>(&expr).elts);
    out += ']';
    return;
  case ExprKind::Tuple:
    out += '(';
    tupleElements(cast<Tuple>(&expr));
    out += ')';
    return;
  case ExprKind::Slice: {
    const auto &node = cast<Slice>(&expr);
    optional("", node.lower);
    out += ':';
    optional("", node.upper);
    optional(":", node.step);
    return;
  }
  }
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

void Printer::constant(const ConstantValue &value) {
  using Kind = ConstantValue::Kind;
  switch (value.kind) {
  case Kind::None:
    out += "None";
    return;
  case Kind::True:
    out += "True";
    return;
  case Kind::False:
    out += "False";
    return;
  case Kind::Ellipsis:
    out += "...";
    return;
  case Kind::Int:
    // Decimal up to 1024 bits; its conversion takes quadratic time.
    out += value.text.size() <= 256 ? decimalDigits(value.text) : "0x" + std::string(value.text);
    return;
  case Kind::Float:
    out += std::isinf(value.number) ? "1e309" : reprFloat(value.number);
    return;
  case Kind::Complex:
    out += std::isinf(value.number) ? "1e309j" : reprImaginary(value.number);
    return;
  case Kind::Str:
    if (value.unicodePrefix)
      out += 'u';
    out += reprString(value.text);
    return;
  case Kind::Bytes:
    out += reprString(value.text, /*bytes=*/true);
    return;
  }
}

void Printer::joined(const JoinedStr &node) {
  for (const Expr *piece : node.values)
    if (const auto *text = dynCast<Constant>(piece); text && text->value.unicodePrefix) {
      out += "u'' ";
      break;
    }
  // Quotes alternate, so that strings one level deep can be read by Pythons before 3.12 too.
  char quote = fstringDepth++ % 2 ? '"' : '\'';
  out += 'f';
  out += quote;
  joinedPieces(node, quote, /*spec=*/false);
  out += quote;
  --fstringDepth;
}

void Printer::joinedPieces(const JoinedStr &node, char quote, bool spec) {
  for (const Expr *piece : node.values) {
    if (const auto *text = dynCast<Constant>(piece)) {
      literalText(text->value.text, quote, spec);
    } else if (const auto *field = dynCast<FormattedValue>(piece)) {
      out += '{';
      size_t start = out.size();
      // Below `Or` a `lambda` would have its `:` taken for that of the format.
      expression(*field->value, Or);
      if (out[start] == '{')
        out.insert(start, 1, ' ');
      if (field->conversion != -1) {
        out += '!';
        out += char(field->conversion);
      }
      if (const auto *format = dynCast<JoinedStr>(field->formatSpec)) {
        out += ':';
        joinedPieces(*format, quote, /*spec=*/true);
      }
      out += '}';
    }
  }
}

void Printer::literalText(std::string_view text, char quote, bool spec) {
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    const char *start = p;
    uint32_t c = decodeUtf8(p);
    if (c == '{' || c == '}') {
      if (spec)
        out += c == '{' ? "\\x7b" : "\\x7d";
      else
        out.append(2, char(c));
    } else if (c == uint32_t(quote) || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (isPrintable(c)) {
      out.append(start, p);
    } else {
      std::string escaped = reprString({start, size_t(p - start)});
      out += std::string_view(escaped).substr(1, escaped.size() - 2);
    }
  }
}

// A string that is a statement, with its lines as lines.
void Printer::docString(std::string_view text) {
  out += "\"\"\"";
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    const char *start = p;
    uint32_t c = decodeUtf8(p);
    // Neither three quotes nor one at the end may stand bare.
    bool quote = c == '"' && (p == end || *p == '"');
    if (quote || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c == '\n' || isPrintable(c)) {
      out.append(start, p);
    } else {
      std::string escaped = reprString({start, size_t(p - start)});
      out += std::string_view(escaped).substr(1, escaped.size() - 2);
    }
  }
  out += "\"\"\"";
}

// --- patterns ---

void Printer::pattern(const Pattern &pattern) {
  auto patterns = [&](const Span<Pattern *> &values) {
    list(values, [&](const Pattern *value) { this->pattern(*value); });
  };
  // Alternatives and the pattern before `as` are closed patterns.
  auto closed = [&](const Pattern *value, bool allowOr) {
    const auto *as = dynCast<MatchAs>(value);
    bool parenthesised = (as && as->pattern) || (isa<MatchOr>(value) && !allowOr);
    out += parenthesised ? "(" : "";
    this->pattern(*value);
    out += parenthesised ? ")" : "";
  };
  switch (pattern.kind) {
  case PatternKind::MatchValue:
    return expression(*cast<MatchValue>(&pattern).value);
  case PatternKind::MatchSingleton:
    return constant(cast<MatchSingleton>(&pattern).value);
  case PatternKind::MatchSequence:
    out += '[';
    patterns(cast<MatchSequence>(&pattern).patterns);
    out += ']';
    return;
  case PatternKind::MatchMapping: {
    const auto &node = cast<MatchMapping>(&pattern);
    out += '{';
    for (size_t i = 0; i < node.keys.size(); ++i) {
      out += i ? ", " : "";
      expression(*node.keys[i]);
      out += ": ";
      this->pattern(*node.patterns[i]);
    }
    if (!node.rest.empty()) {
      out += node.keys.empty() ? "**" : ", **";
      out += node.rest;
    }
    out += '}';
    return;
  }
  case PatternKind::MatchClass: {
    const auto &node = cast<MatchClass>(&pattern);
    expression(*node.cls);
    out += '(';
    patterns(node.patterns);
    for (size_t i = 0; i < node.kwdAttrs.size(); ++i) {
      out += i || !node.patterns.empty() ? ", " : "";
      out += node.kwdAttrs[i];
      out += '=';
      this->pattern(*node.kwdPatterns[i]);
    }
    out += ')';
    return;
  }
  case PatternKind::MatchStar: {
    Identifier name = cast<MatchStar>(&pattern).name;
    out += '*';
    out += name.empty() ? "_" : name;
    return;
  }
  case PatternKind::MatchAs: {
    const auto &node = cast<MatchAs>(&pattern);
    if (node.pattern) {
      closed(node.pattern, true);
      out += " as ";
    }
    out += node.name.empty() ? "_" : node.name;
    return;
  }
  case PatternKind::MatchOr:
    return list(
        cast<MatchOr>(&pattern).patterns, [&](const Pattern *value) { closed(value, false); },
        " | ");
  }
}

// --- statements ---

void Printer::decorators(const Span<Expr *> &list) {
  for (const Expr *decorator : list) {
    line();
    out += '@';
    expression(*decorator);
    out += '\n';
  }
}

void Printer::typeParams(const Span<TypeParam *> &params) {
  if (params.empty())
    return;
  out += '[';
  list(params, [&](const TypeParam *param) {
    static constexpr const char *stars[] = {"", "**", "*"};
    out += stars[size_t(param->kind)];
    out += param->name;
    optional(": ", param->bound);
    optional(" = ", param->defaultValue);
  });
  out += ']';
}

void Printer::function(const FunctionDef &node) {
  decorators(node.decorators);
  line();
  out += node.isAsync ? "async def " : "def ";
  out += node.name;
  typeParams(node.typeParams);
  out += '(';
  arguments(*node.args, /*annotated=*/true);
  out += ')';
  optional(" -> ", node.returns);
  block(node.body);
}

void Printer::classDef(const ClassDef &node) {
  decorators(node.decorators);
  line();
  out += "class ";
  out += node.name;
  typeParams(node.typeParams);
  if (!node.bases.empty() || !node.keywords.empty()) {
    out += '(';
    callArguments(node.bases, node.keywords);
    out += ')';
  }
  block(node.body);
}

void Printer::ifChain(const If &first) {
  const If *branch = &first;
  const char *keyword = "if ";
  for (;;) {
    line();
    out += keyword;
    expression(*branch->test);
    block(branch->body);
    const If *next = branch->orelse.size() == 1 ? dynCast<If>(branch->orelse[0]) : nullptr;
    if (!next)
      return orelse(branch->orelse);
    branch = next;
    keyword = "elif ";
  }
}

void Printer::with(const With &node) {
  line();
  out += node.isAsync ? "async with " : "with ";
  // `with (a, b):` has two items; one tuple takes parentheses of its own.
  bool single = node.items.size() == 1 && !node.items[0].optionalVars &&
                isa<Tuple>(node.items[0].contextExpr);
  out += single ? "(" : "";
  list(node.items, [&](const WithItem &item) {
    expression(*item.contextExpr);
    optional(" as ", item.optionalVars);
  });
  out += single ? ")" : "";
  block(node.body);
}

void Printer::tryStmt(const Try &node) {
  line();
  out += "try";
  block(node.body);
  for (const ExceptHandler &handler : node.handlers) {
    line();
    out += node.isStar ? "except*" : "except";
    optional(" ", handler.type);
    if (!handler.name.empty()) {
      out += " as ";
      out += handler.name;
    }
    block(handler.body);
  }
  orelse(node.orelse);
  if (!node.finalbody.empty()) {
    line();
    out += "finally";
    block(node.finalbody);
  }
}

void Printer::match(const Match &node) {
  line();
  out += "match ";
  expression(*node.subject);
  out += ":\n";
  ++indent;
  for (const MatchCase &branch : node.cases) {
    line();
    out += "case ";
    pattern(*branch.pattern);
    optional(" if ", branch.guard);
    block(branch.body);
  }
  --indent;
}

void Printer::aliases(const Span<Alias> &names) {
  list(names, [&](const Alias &alias) {
    out += alias.name;
    if (!alias.asname.empty()) {
      out += " as ";
      out += alias.asname;
    }
  });
}

void Printer::statement(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::FunctionDef:
    return function(cast<FunctionDef>(&stmt));
  case StmtKind::ClassDef:
    return classDef(cast<ClassDef>(&stmt));
  case StmtKind::For: {
    const auto &node = cast<For>(&stmt);
    line();
    out += node.isAsync ? "async for " : "for ";
    naked(*node.target);
    out += " in ";
    naked(*node.iter);
    block(node.body);
    return orelse(node.orelse);
  }
  case StmtKind::While: {
    const auto &node = cast<While>(&stmt);
    line();
    optional("while ", node.test);
    block(node.body);
    return orelse(node.orelse);
  }
  case StmtKind::If:
    return ifChain(cast<If>(&stmt));
  case StmtKind::With:
    return with(cast<With>(&stmt));
  case StmtKind::Match:
    return match(cast<Match>(&stmt));
  case StmtKind::Try:
    return tryStmt(cast<Try>(&stmt));
  default:
    line();
    simple(stmt);
    out += '\n';
  }
}

void Printer::simple(const Stmt &stmt) {
  auto names = [&](const char *keyword, const Span<Identifier> &list) {
    out += keyword;
    this->list(list, [&](Identifier name) { out += name; });
  };
  switch (stmt.kind) {
  case StmtKind::Return:
    out += "return";
    if (const Expr *value = cast<Return>(&stmt).value) {
      out += ' ';
      const auto *tuple = dynCast<Tuple>(value);
      if (tuple && !tuple->elts.empty())
        tupleElements(*tuple);
      else
        expression(*value);
    }
    return;
  case StmtKind::Delete:
    out += "del ";
    return expressions(cast<Delete>(&stmt).targets);
  case StmtKind::Assign: {
    const auto &node = cast<Assign>(&stmt);
    for (const Expr *target : node.targets) {
      naked(*target);
      out += " = ";
    }
    return naked(*node.value);
  }
  case StmtKind::TypeAlias: {
    const auto &node = cast<TypeAlias>(&stmt);
    optional("type ", node.name);
    typeParams(node.typeParams);
    return optional(" = ", node.value);
  }
  case StmtKind::AugAssign: {
    const auto &node = cast<AugAssign>(&stmt);
    expression(*node.target);
    out += ' ';
    out += BinarySpellings[size_t(node.op)];
    out += "= ";
    return naked(*node.value);
  }
  case StmtKind::AnnAssign: {
    const auto &node = cast<AnnAssign>(&stmt);
    bool parenthesised = !node.simple && isa<Name>(node.target);
    out += parenthesised ? "(" : "";
    expression(*node.target);
    out += parenthesised ? ")" : "";
    optional(": ", node.annotation);
    if (node.value) {
      out += " = ";
      naked(*node.value);
    }
    return;
  }
  case StmtKind::Raise: {
    const auto &node = cast<Raise>(&stmt);
    out += "raise";
    optional(" ", node.exc);
    return optional(" from ", node.cause);
  }
  case StmtKind::Assert: {
    const auto &node = cast<Assert>(&stmt);
    optional("assert ", node.test);
    return optional(", ", node.msg);
  }
  case StmtKind::Import:
    out += "import ";
    return aliases(cast<Import>(&stmt).names);
  case StmtKind::ImportFrom: {
    const auto &node = cast<ImportFrom>(&stmt);
    out += "from ";
    out.append(node.level, '.');
    out += node.module;
    out += " import ";
    return aliases(node.names);
  }
  case StmtKind::Global:
    return names("global ", cast<Global>(&stmt).names);
  case StmtKind::Nonlocal:
    return names("nonlocal ", cast<Nonlocal>(&stmt).names);
  case StmtKind::ExprStmt: {
    const Expr *value = cast<ExprStmt>(&stmt).value;
    const auto *constant = dynCast<Constant>(value);
    if (constant && constant->value.kind == ConstantValue::Kind::Str &&
        !constant->value.unicodePrefix)
      return docString(constant->value.text);
    return naked(*value);
  }
  case StmtKind::Pass:
    out += "pass";
    return;
  case StmtKind::Break:
    out += "break";
    return;
  case StmtKind::Continue:
    out += "continue";
    return;
  default:
    return;
  }
}

} // namespace

std::string print(const Expr &expr) {
  Printer printer;
  printer.expression(expr);
  return std::move(printer.out);
}

std::string print(const Stmt &stmt) {
  Printer printer;
  printer.statement(stmt);
  return std::move(printer.out);
}

std::string print(const Pattern &pattern) {
  Printer printer;
  printer.pattern(pattern);
  return std::move(printer.out);
}

std::string print(const Module &module) {
  Printer printer;
  printer.module(module);
  return std::move(printer.out);
}

} // namespace nereid::syntax
