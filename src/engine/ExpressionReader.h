// Python expressions of a launch's arguments, as host expressions (support/HostExpression.h): the
// grid that a kernel built ahead brings along, and what `@triton.heuristics` computes.
#pragma once

#include "support/HostExpression.h"
#include "syntax/Ast.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nereid::engine {

/// A leaf of the arguments: its name, and what was compiled in for it (empty if it is passed).
struct ExpressionLeaf {
  std::string name, value;
};

/// Reads one expression.
class ExpressionReader {
public:
  /// Leaves are known by their names: `cdiv(n, BLOCK)`. Values are integers, as for a grid.
  explicit ExpressionReader(std::span<const ExpressionLeaf> leaves) : leaves(leaves) {}
  /// Leaves are items of `subject`, the parameter of a function: `args["n"] % args["BLOCK"] == 0`.
  /// Values may be floats, flags and None too. `isKnown` says whether a name that such a function
  /// calls means what it seems to: "min", "triton".
  ExpressionReader(std::span<const ExpressionLeaf> leaves, std::string_view subject,
                   std::function<bool(std::string_view)> isKnown)
      : leaves(leaves), subject(subject), isKnown(std::move(isKnown)) {}

  /// The bytes of the expression; an error says why it is none, for a message that names it.
  Result<std::vector<uint8_t>> read(const syntax::Expr *expr);

  /// What was read asks of leaves, by number.
  struct Asked {
    uint32_t leaf;
    enum What : uint8_t { Value, Presence, Address, Tensor } what;
  };
  const std::vector<Asked> &asked() const { return asks; }

private:
  using Node = support::HostExpressionBuilder::Node;
  Node refuse(std::string why);
  Node readTree(const syntax::Expr *expr);
  Node readOne(const syntax::Expr *expr);
  Node readConstant(const syntax::ConstantValue &value);
  Node readCompare(const syntax::Compare &compare);
  Node call(const syntax::Call &call);
  Node leaf(const std::string &name);
  Node ask(uint32_t leaf, Asked::What what);
  std::string nameOf(const syntax::Expr *expr) const;
  std::optional<uint32_t> leafNumber(std::string_view name) const;
  std::optional<uint32_t> tensorNumber(const syntax::Expr *expr);
  bool isFunction() const { return !subject.empty(); }

  std::span<const ExpressionLeaf> leaves;
  std::string subject;
  std::function<bool(std::string_view)> isKnown;
  support::HostExpressionBuilder tree;
  std::vector<Asked> asks;
  std::string refused; ///< why, or empty
  uint32_t depth = 0;
};

} // namespace nereid::engine
