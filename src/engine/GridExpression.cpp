#include "engine/GridExpression.h"

#include "engine/AheadOfTimeText.h"
#include "support/HostExpression.h"
#include "support/Spelling.h"
#include "syntax/Parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace nereid::engine {

using support::HostExpression;
using support::HostExpressionBuilder;
using support::HostOp;

namespace {

std::optional<int64_t> wholeNumber(std::string_view text, int base) {
  int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                 : std::nullopt;
}

struct OperationName {
  std::string_view name;
  HostOp op;
};
constexpr OperationName functions[] = {
    {"cdiv", HostOp::Cdiv}, {"min", HostOp::Min}, {"max", HostOp::Max}};

class GridReader {
public:
  using Node = HostExpressionBuilder::Node;
  explicit GridReader(std::span<const GridLeaf> leaves) : leaves(leaves) {}

  Node read(const syntax::Expr *expr) {
    // The bytes hold no deeper tree (HostExpression::maxDepth).
    if (++depth > HostExpression::maxDepth)
      return refuse("it nests too deeply");
    Node made = readOne(expr);
    --depth;
    return made;
  }

  HostExpressionBuilder tree;
  std::string refused; ///< why, or empty

private:
  Node refuse(std::string why) {
    if (refused.empty())
      refused = std::move(why);
    return tree.none();
  }

  // "n", "pair[0]", "pair.scale", as leaves are called; empty for what is no such name. A loop, as
  // such chains may be of any length (syntax/Parser.h).
  static std::string nameOf(const syntax::Expr *expr) {
    for (std::string end;;) {
      if (auto *name = syntax::dynCast<syntax::Name>(expr))
        return std::string(name->id) + end;
      if (auto *attribute = syntax::dynCast<syntax::Attribute>(expr)) {
        end = "." + std::string(attribute->attr) + end;
        expr = attribute->value;
        continue;
      }
      auto *subscript = syntax::dynCast<syntax::Subscript>(expr);
      auto index = subscript ? integerOf(subscript->slice) : std::nullopt;
      if (!index)
        return "";
      end = "[" + std::to_string(*index) + "]" + end;
      expr = subscript->value;
    }
  }

  static std::optional<int64_t> integerOf(const syntax::Expr *expr) {
    if (auto *unary = syntax::dynCast<syntax::UnaryOp>(expr);
        unary && unary->op == syntax::UnaryOpKind::USub) {
      auto value = integerOf(unary->operand);
      return value ? std::optional(-*value) : std::nullopt;
    }
    auto *constant = syntax::dynCast<syntax::Constant>(expr);
    return constant && constant->value.kind == syntax::ConstantValue::Kind::Int
               ? wholeNumber(constant->value.text, 16)
               : std::nullopt;
  }

  std::optional<uint32_t> leafNumber(std::string_view name) const {
    auto at = std::find_if(leaves.begin(), leaves.end(),
                           [&](const GridLeaf &leaf) { return leaf.name == name; });
    return at == leaves.end() ? std::nullopt : std::optional(uint32_t(at - leaves.begin()));
  }

  Node leaf(const std::string &name) {
    auto number = leafNumber(name);
    if (!number) {
      support::Spelling spelling(name);
      for (const GridLeaf &one : leaves)
        spelling.consider(one.name);
      std::string hint = spelling.hint();
      return refuse("the kernel has no parameter `" + name + "`" +
                    (hint.empty() ? "" : "; " + hint));
    }
    const std::string &value = leaves[*number].value;
    if (value.empty())
      return tree.argument(*number);
    if (auto known = wholeNumber(value, 10))
      return tree.integer(*known);
    if (value == "True" || value == "False")
      return tree.boolean(value == "True");
    return refuse("`" + name + "` is " + value + ", no integer");
  }

  // The tensor of `x.shape[0]`, `x.stride(0)`, `x.numel()`.
  std::optional<uint32_t> tensorNumber(const syntax::Expr *expr) {
    auto number = leafNumber(nameOf(expr));
    if (number && leaves[*number].value.empty())
      return number;
    refuse("`" + nameOf(expr) + "` is no tensor that is passed");
    return std::nullopt;
  }

  Node call(const syntax::Call &call) {
    std::string name = nameOf(call.func);
    if (name.starts_with("triton."))
      name = name.substr(7);
    if (call.keywords.empty()) {
      for (const OperationName &function : functions)
        if (name == function.name && call.args.size() == 2) {
          Node left = read(call.args[0]), right = read(call.args[1]);
          return tree.binary(function.op, left, right);
        }
      if (name == "next_power_of_2" && call.args.size() == 1)
        return tree.unary(HostOp::NextPowerOf2, read(call.args[0]));
      auto *method = syntax::dynCast<syntax::Attribute>(call.func);
      if (method && method->attr == "numel" && call.args.empty()) {
        auto tensor = tensorNumber(method->value);
        return tensor ? tree.numel(*tensor) : tree.none();
      }
      auto axis = call.args.size() == 1 ? integerOf(call.args[0]) : std::nullopt;
      if (method && method->attr == "stride" && axis) {
        auto tensor = tensorNumber(method->value);
        return tensor ? tree.stride(*tensor, *axis) : tree.none();
      }
    }
    return refuse("it calls what a grid cannot hold; there are `cdiv(x, y)`, `min(x, y)`, "
                  "`max(x, y)`, `next_power_of_2(x)`, `x.numel()` and `x.stride(0)`");
  }

  std::optional<HostOp> operation(syntax::BinaryOp op) {
    switch (op) {
    case syntax::BinaryOp::Add:
      return HostOp::Add;
    case syntax::BinaryOp::Sub:
      return HostOp::Subtract;
    case syntax::BinaryOp::Mult:
      return HostOp::Multiply;
    case syntax::BinaryOp::FloorDiv:
      return HostOp::FloorDivide;
    case syntax::BinaryOp::Mod:
      return HostOp::Modulo;
    case syntax::BinaryOp::Pow:
      return HostOp::Power;
    case syntax::BinaryOp::LShift:
      return HostOp::ShiftLeft;
    case syntax::BinaryOp::RShift:
      return HostOp::ShiftRight;
    case syntax::BinaryOp::BitAnd:
      return HostOp::BitAnd;
    case syntax::BinaryOp::BitOr:
      return HostOp::BitOr;
    case syntax::BinaryOp::BitXor:
      return HostOp::BitXor;
    default:
      return std::nullopt;
    }
  }

  std::optional<HostOp> operation(syntax::CompareOp op) {
    switch (op) {
    case syntax::CompareOp::Eq:
      return HostOp::Equal;
    case syntax::CompareOp::NotEq:
      return HostOp::NotEqual;
    case syntax::CompareOp::Lt:
      return HostOp::Less;
    case syntax::CompareOp::LtE:
      return HostOp::LessEqual;
    case syntax::CompareOp::Gt:
      return HostOp::Greater;
    case syntax::CompareOp::GtE:
      return HostOp::GreaterEqual;
    default:
      return std::nullopt;
    }
  }

  Node readOne(const syntax::Expr *expr) {
    if (auto value = integerOf(expr))
      return tree.integer(*value);
    if (auto *binary = syntax::dynCast<syntax::BinOp>(expr)) {
      auto op = operation(binary->op);
      if (!op)
        return refuse(binary->op == syntax::BinaryOp::Div
                          ? "`/` gives a float; `//` divides integers"
                          : "`@` multiplies no integers");
      Node left = read(binary->left), right = read(binary->right);
      return tree.binary(*op, left, right);
    }
    if (auto *unary = syntax::dynCast<syntax::UnaryOp>(expr)) {
      Node operand = read(unary->operand);
      switch (unary->op) {
      case syntax::UnaryOpKind::USub:
        return tree.unary(HostOp::Negate, operand);
      case syntax::UnaryOpKind::Invert:
        return tree.unary(HostOp::Invert, operand);
      case syntax::UnaryOpKind::Not:
        return tree.unary(HostOp::Not, operand);
      case syntax::UnaryOpKind::UAdd:
        return operand;
      }
    }
    if (auto *compare = syntax::dynCast<syntax::Compare>(expr); compare && compare->ops.size() == 1)
      if (auto op = operation(compare->ops[0])) {
        Node left = read(compare->left), right = read(compare->comparators[0]);
        return tree.binary(*op, left, right);
      }
    if (auto *choice = syntax::dynCast<syntax::IfExp>(expr)) {
      Node test = read(choice->test), body = read(choice->body), other = read(choice->orelse);
      return tree.select(test, body, other);
    }
    if (auto *called = syntax::dynCast<syntax::Call>(expr))
      return call(*called);
    if (auto *subscript = syntax::dynCast<syntax::Subscript>(expr)) {
      auto *shape = syntax::dynCast<syntax::Attribute>(subscript->value);
      auto axis = integerOf(subscript->slice);
      if (shape && shape->attr == "shape" && axis) {
        auto tensor = tensorNumber(shape->value);
        return tensor ? tree.shape(*tensor, *axis) : tree.none();
      }
    }
    if (std::string name = nameOf(expr); !name.empty())
      return leaf(name);
    return refuse("it is no arithmetic of integers and parameters");
  }

  std::span<const GridLeaf> leaves;
  uint32_t depth = 0;
};

} // namespace

Result<std::vector<std::vector<uint8_t>>> gridExpressions(const std::string &text,
                                                          std::span<const GridLeaf> leaves) {
  auto fail = [&](const std::string &why) {
    return Error{"cannot read the grid `" + text + "`: " + why, {}};
  };
  auto parsed = syntax::parseExpression(text, "--grid");
  if (!parsed.module) {
    const Diagnostic &first = parsed.diagnostics.front();
    return fail(first.message + (first.hint.empty() ? "" : "; " + first.hint));
  }
  std::vector<const syntax::Expr *> axes = {parsed.expr};
  if (auto *tuple = syntax::dynCast<syntax::Tuple>(parsed.expr))
    axes.assign(tuple->elts.begin(), tuple->elts.end());
  if (axes.empty() || axes.size() > 3)
    return fail("it has " + std::to_string(axes.size()) + " axes, not one to three");
  std::vector<std::vector<uint8_t>> out;
  for (const syntax::Expr *axis : axes) {
    GridReader reader(leaves);
    auto root = reader.read(axis);
    if (!reader.refused.empty())
      return fail(reader.refused);
    auto bytes = reader.tree.finish(root);
    if (!bytes)
      return fail(bytes.error().what);
    out.push_back(*std::move(bytes));
  }
  return out;
}

namespace {

Result<std::string> axisInC(const support::Artifact &artifact,
                            const support::ExpressionRecord &axis) {
  auto expression = HostExpression::open(artifact.blob(axis.code));
  if (!expression)
    return expression.takeError();
  support::HostNames names;
  for (const support::ParameterRecord &parameter : artifact.parameters())
    names.leaves.push_back("(int64_t)" + nameInC(artifact.text(parameter.name)));
  for (const support::HostNode &node : expression->nodes()) {
    HostOp op = HostOp(node.op);
    bool asksTensor = op == HostOp::Numel || op == HostOp::Shape || op == HostOp::Stride;
    if (op != HostOp::Argument && !asksTensor)
      continue;
    const support::ParameterRecord &parameter = artifact.parameters()[node.a];
    std::string called = "`" + std::string(artifact.text(parameter.name)) + "`";
    if (asksTensor)
      return Error{"the grid asks for the shape of " + called +
                       ", which a C program does not pass: use parameters that are numbers",
                   {}};
    if (support::SlotKind(artifact.slots()[parameter.firstSlot].kind) != support::SlotKind::Int)
      return Error{"the grid counts with " + called + ", which is no integer", {}};
  }
  return expression->toC(names);
}

} // namespace

Result<std::string> wholeGridInC(const support::Artifact &artifact, const std::string &name,
                                 bool isGpu) {
  std::string axes[3] = {"1", "1", "1"};
  bool isThere = false;
  for (const support::ExpressionRecord &expression : artifact.expressions()) {
    if (support::ExpressionRole(expression.role) != support::ExpressionRole::Grid)
      continue;
    auto axis = axisInC(artifact, expression);
    if (!axis)
      return axis.takeError();
    axes[expression.index] = *std::move(axis);
    isThere = true;
  }
  if (!isThere)
    return std::string();
  ParameterText all = parametersOf(artifact, "");
  std::string parameters = isGpu                    ? "void *stream" + all.parameters
                           : all.parameters.empty() ? "void"
                                                    : all.parameters.substr(2);
  return replaced(R"(
#ifndef NEREID_HOST_EXPRESSIONS
#define NEREID_HOST_EXPRESSIONS
$HELPERS#endif

/* The whole grid, as big as the arguments ask for. */
static inline int $NAME_$VERB_all($PARAMETERS) {
  const int64_t gx = $X, gy = $Y, gz = $Z;
  if (gx < 0 || gy < 0 || gz < 0 || gx > UINT32_MAX || gy > UINT32_MAX || gz > UINT32_MAX)
    return $BAD_GRID;
  return $NAME_$VERB($STREAM(uint32_t)gx, (uint32_t)gy, (uint32_t)gz$GIVEN);
}
)",
                  {{"HELPERS", std::string(support::hostExpressionHelpersC())},
                   {"NAME", name},
                   {"VERB", isGpu ? "launch" : "run"},
                   {"PARAMETERS", parameters},
                   {"X", axes[0]},
                   {"Y", axes[1]},
                   {"Z", axes[2]},
                   {"BAD_GRID", isGpu ? "NEREID_CUDA_BAD_GRID" : "NEREID_KERNEL_BAD_GRID"},
                   {"STREAM", isGpu ? "stream, " : ""},
                   {"GIVEN", all.given}});
}

} // namespace nereid::engine
