// Python expressions of a launch's arguments, as host expressions (support/HostExpression.h): the
// grid that a kernel built ahead brings along, and what `@triton.heuristics` computes.
#pragma once

#include "support/HostExpression.h"
#include "syntax/Ast.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nereid::engine {

/// A leaf of the arguments: its name, and what was compiled in for it (empty if it is passed).
struct ExpressionLeaf {
  std::string name, value;
};

/// What a name of a function's module means: it is of a library ("torch", "triton",
/// "triton.language", "builtins"), or a number; or neither.
struct NameMeaning {
  std::string library;
  std::optional<support::HostValue> number;
};
using MeaningOf = std::function<NameMeaning(std::string_view)>;

/// Reads one expression.
class ExpressionReader {
public:
  /// Leaves are known by their names, `cdiv(n, BLOCK)`, or as items of `subject`, the parameter of
  /// a function, `meta["BLOCK"]`. Values are integers, as for a grid; names of libraries are what
  /// they seem to be.
  explicit ExpressionReader(std::span<const ExpressionLeaf> leaves, std::string_view subject = {})
      : leaves(leaves), subject(subject) {}
  /// Leaves are items of `subject` alone: `args["n"] % args["BLOCK"] == 0`. Values may be floats,
  /// flags and None too.
  ExpressionReader(std::span<const ExpressionLeaf> leaves, std::string_view subject,
                   MeaningOf meaningOf)
      : leaves(leaves), subject(subject), meaningOf(std::move(meaningOf)) {}

  /// The bytes of the expression; an error says why it is none, for a message that names it.
  Result<std::vector<uint8_t>> read(const syntax::Expr *expr);
  /// The same of a function's body: names for values, `if` and `return`.
  Result<std::vector<uint8_t>> readBody(std::span<syntax::Stmt *const> body);

private:
  using Node = support::HostExpressionBuilder::Node;
  Node refuse(std::string why);
  Node readStatements(std::span<syntax::Stmt *const> body);
  Result<std::vector<uint8_t>> finish(Node root);
  Node readTree(const syntax::Expr *expr);
  Node readName(std::string_view name);
  Node readOne(const syntax::Expr *expr);
  Node readConstant(const syntax::ConstantValue &value);
  Node readCompare(const syntax::Compare &compare);
  Node call(const syntax::Call &call);
  Node leaf(const std::string &name);
  std::optional<Node> readTypeTest(const syntax::Compare &compare);
  std::optional<Node> attribute(const syntax::Attribute &attribute);
  std::optional<DType> typeOf(const syntax::Expr *expr) const;
  std::optional<std::vector<DType>> typesOf(const syntax::Expr *expr) const;
  std::string nameOf(const syntax::Expr *expr) const;
  std::optional<uint32_t> leafNumber(std::string_view name) const;
  std::optional<uint32_t> tensorNumber(const syntax::Expr *expr);
  bool isOf(std::string_view name, std::string_view library) const {
    return !meaningOf || (!locals.contains(name) && meaningOf(name).library == library);
  }
  bool isFunction() const { return meaningOf != nullptr; }

  std::span<const ExpressionLeaf> leaves;
  std::string subject;
  MeaningOf meaningOf;
  std::map<std::string_view, const syntax::Expr *> locals; ///< values that a function names
  support::HostExpressionBuilder tree;
  std::string refused; ///< why, or empty
  uint32_t depth = 0, count = 0;
};

} // namespace nereid::engine
