#include "engine/ExpressionReader.h"

#include "support/Spelling.h"

#include <algorithm>
#include <charconv>

namespace nereid::engine {

using support::HostExpression;
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

using Builder = support::HostExpressionBuilder;

// What tensors are asked by a call.
struct TensorMethod {
  std::string_view name;
  Builder::Node (Builder::*plain)(uint32_t);
  Builder::Node (Builder::*withAxis)(uint32_t, int64_t);
};
constexpr TensorMethod tensorMethods[] = {{"numel", &Builder::numel, nullptr},
                                          {"dim", &Builder::rank, nullptr},
                                          {"element_size", &Builder::elementBytes, nullptr},
                                          {"data_ptr", &Builder::address, nullptr},
                                          {"stride", nullptr, &Builder::stride},
                                          {"size", nullptr, &Builder::shape}};

std::optional<int64_t> integerOf(const syntax::Expr *expr) {
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

std::optional<HostOp> operation(syntax::BinaryOp op) {
  switch (op) {
  case syntax::BinaryOp::Add:
    return HostOp::Add;
  case syntax::BinaryOp::Sub:
    return HostOp::Subtract;
  case syntax::BinaryOp::Mult:
    return HostOp::Multiply;
  case syntax::BinaryOp::Div:
    return HostOp::Divide;
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

bool isNone(const syntax::Expr *expr) {
  auto *constant = syntax::dynCast<syntax::Constant>(expr);
  return constant && constant->value.kind == syntax::ConstantValue::Kind::None;
}

} // namespace

Result<std::vector<uint8_t>> ExpressionReader::read(const syntax::Expr *expr) {
  return finish(readTree(expr));
}

Result<std::vector<uint8_t>> ExpressionReader::readBody(std::span<syntax::Stmt *const> body) {
  return finish(readStatements(body));
}

Result<std::vector<uint8_t>> ExpressionReader::finish(Node root) {
  if (!refused.empty())
    return Error{refused, {}};
  return tree.finish(root);
}

// body = { docstring | name "=" expr | "if" expr ":" body ["else" ":" body] } "return" expr
// A body that does not return goes on behind its `if`.
ExpressionReader::Node ExpressionReader::readStatements(std::span<syntax::Stmt *const> body) {
  if (++depth > HostExpression::maxDepth)
    return refuse("it nests too deeply");
  for (size_t i = 0; i < body.size(); ++i) {
    if (auto *result = syntax::dynCast<syntax::Return>(body[i])) {
      Node made = result->value ? readTree(result->value) : tree.none();
      --depth;
      return made;
    }
    if (auto *choice = syntax::dynCast<syntax::If>(body[i])) {
      auto rest = body.subspan(i + 1);
      auto branch = [&](std::span<syntax::Stmt *const> statements) {
        std::vector<syntax::Stmt *> all(statements.begin(), statements.end());
        all.insert(all.end(), rest.begin(), rest.end());
        auto before = locals;
        Node made = readStatements(all);
        locals = std::move(before);
        return made;
      };
      Node test = readTree(choice->test);
      Node body = branch({choice->body.begin(), choice->body.end()});
      Node other = branch({choice->orelse.begin(), choice->orelse.end()});
      --depth;
      return tree.select(test, body, other);
    }
    auto *plain = syntax::dynCast<syntax::ExprStmt>(body[i]);
    auto *assigned = syntax::dynCast<syntax::Assign>(body[i]);
    auto *name = assigned && assigned->targets.size() == 1
                     ? syntax::dynCast<syntax::Name>(assigned->targets[0])
                     : nullptr;
    // A value is read where it is used; one whose names change meanwhile would be another.
    if (name && name->id != subject && locals.try_emplace(name->id, assigned->value).second)
      continue;
    if (!plain || !syntax::dynCast<syntax::Constant>(plain->value))
      return refuse("it does more than to compute");
  }
  return refuse("it may return nothing");
}

ExpressionReader::Node ExpressionReader::readName(std::string_view name) {
  if (auto local = locals.find(name); local != locals.end()) {
    const syntax::Expr *value = local->second;
    // In what it was given, the name means what it meant before.
    locals.erase(local);
    Node made = readTree(value);
    locals.emplace(name, value);
    return made;
  }
  auto number = meaningOf(name).number;
  if (!number)
    return refuse("`" + std::string(name) + "` is no number");
  switch (number->kind) {
  case support::HostValue::Kind::Bool:
    return tree.boolean(number->integer != 0);
  case support::HostValue::Kind::Float:
    return tree.floating(number->number);
  default:
    return tree.integer(number->integer);
  }
}

ExpressionReader::Node ExpressionReader::refuse(std::string why) {
  if (refused.empty())
    refused = std::move(why);
  return tree.none();
}

ExpressionReader::Node ExpressionReader::readTree(const syntax::Expr *expr) {
  // The bytes hold no deeper tree (HostExpression::maxDepth).
  if (++depth > HostExpression::maxDepth || ++count > HostExpression::maxNodes)
    return refuse("it nests too deeply");
  Node made = readOne(expr);
  --depth;
  return made;
}

// "n", "pair[0]", "pair.scale", as leaves are called, in a function behind its `args["..."]`; empty
// for what is no such name. A loop, as such chains may be of any length (syntax/Parser.h).
std::string ExpressionReader::nameOf(const syntax::Expr *expr) const {
  for (std::string end;;) {
    if (auto *name = syntax::dynCast<syntax::Name>(expr))
      return isFunction() || name->id == subject ? "" : std::string(name->id) + end;
    if (auto *attribute = syntax::dynCast<syntax::Attribute>(expr)) {
      end = "." + std::string(attribute->attr) + end;
      expr = attribute->value;
      continue;
    }
    auto *subscript = syntax::dynCast<syntax::Subscript>(expr);
    if (!subscript)
      return "";
    auto *key = syntax::dynCast<syntax::Constant>(subscript->slice);
    auto *from = syntax::dynCast<syntax::Name>(subscript->value);
    if (!subject.empty() && from && from->id == subject && key &&
        key->value.kind == syntax::ConstantValue::Kind::Str)
      return std::string(key->value.text) + end;
    auto index = integerOf(subscript->slice);
    if (!index)
      return "";
    end = "[" + std::to_string(*index) + "]" + end;
    expr = subscript->value;
  }
}

std::optional<uint32_t> ExpressionReader::leafNumber(std::string_view name) const {
  auto at = std::find_if(leaves.begin(), leaves.end(),
                         [&](const ExpressionLeaf &leaf) { return leaf.name == name; });
  return at == leaves.end() ? std::nullopt : std::optional(uint32_t(at - leaves.begin()));
}

ExpressionReader::Node ExpressionReader::leaf(const std::string &name) {
  auto number = leafNumber(name);
  if (!number) {
    support::Spelling spelling(name);
    for (const ExpressionLeaf &one : leaves)
      spelling.consider(one.name);
    std::string hint = spelling.hint();
    return refuse("the kernel has no parameter `" + name + "`" + (hint.empty() ? "" : "; " + hint));
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

// The tensor of `x.shape[0]`, `x.stride(0)`, `x.numel()`, `x.dtype`.
std::optional<uint32_t> ExpressionReader::tensorNumber(const syntax::Expr *expr) {
  auto number = leafNumber(nameOf(expr));
  if (number && leaves[*number].value.empty())
    return number;
  refuse("`" + nameOf(expr) + "` is no tensor that is passed");
  return std::nullopt;
}

ExpressionReader::Node ExpressionReader::call(const syntax::Call &call) {
  auto *plain = syntax::dynCast<syntax::Name>(call.func);
  auto *method = syntax::dynCast<syntax::Attribute>(call.func);
  auto *owner = method ? syntax::dynCast<syntax::Name>(method->value) : nullptr;
  bool isTriton = owner && owner->id == "triton";
  std::string_view name = plain ? std::string_view(plain->id) : isTriton ? method->attr : "";
  if (!name.empty() && !(isTriton ? isOf("triton", "triton") : isOf(name, "builtins")))
    return refuse("`" + std::string(name) + "` is not the library's");
  if (call.keywords.empty()) {
    for (const OperationName &function : functions)
      if (name == function.name && call.args.size() == 2) {
        Node left = readTree(call.args[0]), right = readTree(call.args[1]);
        return tree.binary(function.op, left, right);
      }
    if (name == "next_power_of_2" && call.args.size() == 1)
      return tree.unary(HostOp::NextPowerOf2, readTree(call.args[0]));
    for (const TensorMethod &one : tensorMethods) {
      auto axis = call.args.size() == 1 ? integerOf(call.args[0]) : std::nullopt;
      if (!method || method->attr != one.name || (one.plain ? !call.args.empty() : !axis))
        continue;
      auto tensor = tensorNumber(method->value);
      if (!tensor)
        return tree.none();
      return one.plain ? (tree.*one.plain)(*tensor) : (tree.*one.withAxis)(*tensor, *axis);
    }
  }
  return refuse("it calls what a grid cannot hold; there are `cdiv(x, y)`, `min(x, y)`, "
                "`max(x, y)`, `next_power_of_2(x)`, `x.numel()` and `x.stride(0)`");
}

// `torch.float16`, `tl.float16`, `triton.language.float16`.
std::optional<DType> ExpressionReader::typeOf(const syntax::Expr *expr) const {
  auto *attribute = syntax::dynCast<syntax::Attribute>(expr);
  if (!attribute)
    return std::nullopt;
  auto *module = syntax::dynCast<syntax::Name>(attribute->value);
  auto *inner = syntax::dynCast<syntax::Attribute>(attribute->value);
  auto *outer = inner ? syntax::dynCast<syntax::Name>(inner->value) : nullptr;
  bool isLanguage =
      outer && outer->id == "triton" && inner->attr == "language" && isOf("triton", "triton");
  if (isLanguage || (module && (isOf(module->id, "torch") || isOf(module->id, "triton.language"))))
    return parseDType(attribute->attr);
  return std::nullopt;
}

// One type, or those of a list.
std::optional<std::vector<DType>> ExpressionReader::typesOf(const syntax::Expr *expr) const {
  std::vector<const syntax::Expr *> all = {expr};
  auto take = [&](const auto *list) {
    if (list)
      all.assign(list->elts.begin(), list->elts.end());
  };
  take(syntax::dynCast<syntax::Tuple>(expr));
  take(syntax::dynCast<syntax::List>(expr));
  take(syntax::dynCast<syntax::Set>(expr));
  std::vector<DType> types;
  for (const syntax::Expr *one : all) {
    auto type = typeOf(one);
    if (!type)
      return std::nullopt;
    types.push_back(*type);
  }
  return types;
}

// `x.dtype == torch.float16`, `x.dtype in (torch.float16, torch.bfloat16)`; nothing for what is no
// comparison of types.
std::optional<ExpressionReader::Node>
ExpressionReader::readTypeTest(const syntax::Compare &compare) {
  using Op = syntax::CompareOp;
  auto *left = syntax::dynCast<syntax::Attribute>(compare.left);
  auto types = typesOf(compare.comparators[0]);
  if (!left || left->attr != "dtype" || !types)
    return std::nullopt;
  Op op = compare.ops[0];
  bool isIn = op == Op::In || op == Op::NotIn;
  bool isOne = op == Op::Eq || op == Op::NotEq || op == Op::Is || op == Op::IsNot;
  if (!isIn && !(isOne && typeOf(compare.comparators[0])))
    return std::nullopt;
  auto tensor = tensorNumber(left->value);
  if (!tensor)
    return tree.none();
  Node test = tree.typeIn(*tensor, *types);
  bool isNegative = op == Op::NotIn || op == Op::NotEq || op == Op::IsNot;
  return isNegative ? tree.unary(HostOp::Not, test) : test;
}

// What a tensor has without a call: `x.ndim`, `x.itemsize`, `x.dtype.itemsize`.
std::optional<ExpressionReader::Node>
ExpressionReader::attribute(const syntax::Attribute &attribute) {
  if (leafNumber(nameOf(&attribute))) // a field of a tuple
    return std::nullopt;
  const syntax::Expr *owner = attribute.value;
  if (attribute.attr == "itemsize")
    if (auto *type = syntax::dynCast<syntax::Attribute>(owner); type && type->attr == "dtype")
      owner = type->value;
  if ((attribute.attr != "itemsize" && attribute.attr != "ndim") || !leafNumber(nameOf(owner)))
    return std::nullopt;
  auto tensor = tensorNumber(owner);
  if (!tensor)
    return tree.none();
  return attribute.attr == "ndim" ? tree.rank(*tensor) : tree.elementBytes(*tensor);
}

ExpressionReader::Node ExpressionReader::readConstant(const syntax::ConstantValue &value) {
  using Kind = syntax::ConstantValue::Kind;
  switch (value.kind) {
  case Kind::None:
    return tree.none();
  case Kind::True:
  case Kind::False:
    return tree.boolean(value.kind == Kind::True);
  case Kind::Float:
    return tree.floating(value.number);
  default:
    return refuse("it holds what is no number");
  }
}

ExpressionReader::Node ExpressionReader::readCompare(const syntax::Compare &compare) {
  if (compare.ops.size() == 1) {
    syntax::CompareOp op = compare.ops[0];
    if (isFunction() && (op == syntax::CompareOp::Is || op == syntax::CompareOp::IsNot) &&
        isNone(compare.comparators[0]))
      if (auto number = leafNumber(nameOf(compare.left))) {
        Node missing = tree.unary(HostOp::IsNone, tree.argument(*number));
        return op == syntax::CompareOp::Is ? missing : tree.unary(HostOp::Not, missing);
      }
    if (auto test = readTypeTest(compare))
      return *test;
    if (auto known = operation(op)) {
      Node left = readTree(compare.left), right = readTree(compare.comparators[0]);
      return tree.binary(*known, left, right);
    }
  }
  return refuse("it compares in a way that is not known here");
}

ExpressionReader::Node ExpressionReader::readOne(const syntax::Expr *expr) {
  if (auto value = integerOf(expr))
    return tree.integer(*value);
  if (auto *constant = syntax::dynCast<syntax::Constant>(expr); constant && isFunction())
    return readConstant(constant->value);
  if (auto *binary = syntax::dynCast<syntax::BinOp>(expr)) {
    auto op = operation(binary->op);
    if (op == HostOp::Divide && !isFunction())
      return refuse("`/` gives a float; `//` divides integers");
    if (!op)
      return refuse("`@` multiplies no integers");
    Node left = readTree(binary->left), right = readTree(binary->right);
    return tree.binary(*op, left, right);
  }
  if (auto *unary = syntax::dynCast<syntax::UnaryOp>(expr)) {
    Node operand = readTree(unary->operand);
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
  if (auto *compare = syntax::dynCast<syntax::Compare>(expr))
    return readCompare(*compare);
  if (auto *logic = syntax::dynCast<syntax::BoolOp>(expr)) {
    HostOp op = logic->op == syntax::BoolOpKind::And ? HostOp::And : HostOp::Or;
    Node all = readTree(logic->values[0]);
    for (size_t i = 1; i < logic->values.size(); ++i)
      all = tree.binary(op, all, readTree(logic->values[i]));
    return all;
  }
  if (auto *choice = syntax::dynCast<syntax::IfExp>(expr)) {
    Node test = readTree(choice->test), body = readTree(choice->body),
         other = readTree(choice->orelse);
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
  if (auto *name = syntax::dynCast<syntax::Name>(expr); name && isFunction())
    return readName(name->id);
  if (auto *asked = syntax::dynCast<syntax::Attribute>(expr))
    if (auto known = attribute(*asked))
      return *known;
  if (std::string name = nameOf(expr); !name.empty())
    return leaf(name);
  return refuse("it is no arithmetic of integers and parameters");
}

} // namespace nereid::engine
