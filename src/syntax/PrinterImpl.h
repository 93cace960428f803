// The printer, in five files: Printer.cpp (what it is called for), PrintStatements.cpp,
// PrintExpressions.cpp, PrintStrings.cpp and PrintPatterns.cpp.
#pragma once

#include "syntax/Ast.h"
#include "syntax/Printer.h"

namespace nereid::syntax {

/// How tightly a construct binds; an operand that binds less than its place asks for is put in
/// parentheses.
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

inline constexpr const char *BinarySpellings[] = {"+",  "-",  "*", "@", "/", "%", "**",
                                                  "<<", ">>", "|", "^", "&", "//"};

/// Writes a tree behind `out`; never leaves this room.
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
  /// Where a tuple needs no parentheses.
  void looseTuple(const Expr &expr) {
    const auto *tuple = dynCast<Tuple>(&expr);
    if (tuple && !tuple->elts.empty())
      tupleElements(*tuple);
    else
      expression(expr);
  }
  /// Where `yield` needs none either.
  void naked(const Expr &expr) {
    if (isa<Yield>(&expr) || isa<YieldFrom>(&expr))
      bare(expr);
    else
      looseTuple(expr);
  }
  void tupleElements(const Tuple &tuple) {
    expressions(tuple.elts);
    if (tuple.elts.size() == 1)
      out += ',';
  }
  void element(const Expr &expr) { expression(expr, Test); }
  /// Without parentheses around it.
  void bare(const Expr &expr);
  template <typename Kind> void print(const Kind &node);
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

} // namespace nereid::syntax
