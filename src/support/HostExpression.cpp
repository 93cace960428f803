#include "support/HostExpression.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace nereid::support {

HostValue HostValue::boolean(bool value) { return {.kind = Kind::Bool, .integer = value}; }

HostValue HostValue::of(int64_t value) { return {.kind = Kind::Int, .integer = value}; }

HostValue HostValue::of(double value) { return {.kind = Kind::Float, .number = value}; }

unsigned operandCount(HostOp op) {
  if (op < HostOp::Negate)
    return 0;
  if (op < HostOp::Add)
    return 1;
  return op < HostOp::Select ? 2 : 3;
}

// --- checking ---

Result<HostExpression> HostExpression::open(std::span<const uint8_t> bytes) {
  auto damaged = [](const char *what) {
    return Error{std::string("damaged host expression: ") + what, {}};
  };
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(HostNode))
    return damaged("misaligned");
  if (bytes.empty() || bytes.size() % sizeof(HostNode))
    return damaged("no whole number of nodes");
  size_t count = bytes.size() / sizeof(HostNode);
  if (count > maxNodes)
    return damaged("too many nodes");
  HostExpression expression;
  expression.tree = {reinterpret_cast<const HostNode *>(bytes.data()), count};
  // Each node has one user, so a walk from the root ends within `count` steps; depth is bounded for
  // the sake of the stack.
  uint8_t used[maxNodes] = {}, depth[maxNodes] = {};
  for (size_t i = 0; i < count; ++i) {
    const HostNode &node = expression.tree[i];
    if (node.op >= uint8_t(HostOp::Count))
      return damaged("unknown operation");
    const uint32_t operands[] = {node.a, node.b, node.c};
    for (unsigned k = 0; k < operandCount(HostOp(node.op)); ++k) {
      if (operands[k] >= i || used[operands[k]]++)
        return damaged("an operand that is used twice or too early");
      depth[i] = std::max<uint8_t>(depth[i], depth[operands[k]] + 1);
    }
    if (depth[i] >= maxDepth)
      return damaged("nested too deep");
  }
  for (size_t i = 0; i + 1 < count; ++i)
    if (!used[i])
      return damaged("a node without user");
  return expression;
}

// --- evaluation ---

namespace {
using Kind = HostValue::Kind;

HostResult fail(const char *error) { return {{}, error}; }
HostResult give(int64_t value) { return {HostValue::of(value), nullptr}; }
HostResult give(double value) { return {HostValue::of(value), nullptr}; }
HostResult giveBool(bool value) { return {HostValue::boolean(value), nullptr}; }

constexpr const char *overflow = "an integer does not fit 64 bits";
constexpr const char *divisionByZero = "division by zero";
constexpr const char *noneOperand = "an operand is None";
constexpr const char *otherOperand = "an operand is no number";
constexpr const char *floatOperand = "an operand of an integer operation is a float";

int64_t floorQuotient(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t floorRemainder(int64_t a, int64_t b) {
  int64_t remainder = a % b;
  return remainder && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

double floatRemainder(double x, double y) {
  double remainder = std::fmod(x, y);
  if (remainder == 0)
    return std::copysign(0.0, y);
  return (remainder < 0) != (y < 0) ? remainder + y : remainder;
}

// Through the remainder, as CPython does: x / y itself may round up to the next integer.
double floatQuotient(double x, double y) {
  double quotient = (x - floatRemainder(x, y)) / y;
  if (quotient == 0)
    return std::copysign(0.0, x / y);
  double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

HostResult toInt(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63))
    return fail(overflow);
  return give(int64_t(value));
}

HostResult power(HostValue a, HostValue b) {
  if (a.isFloat() || b.isFloat() || b.integer < 0)
    return give(std::pow(a.asDouble(), b.asDouble()));
  int64_t base = a.integer, exponent = b.integer, result = 1;
  for (;;) {
    if (exponent & 1)
      if (__builtin_mul_overflow(result, base, &result))
        return fail(overflow);
    if ((exponent >>= 1) == 0)
      return give(result);
    if (__builtin_mul_overflow(base, base, &base))
      return fail(overflow);
  }
}

HostResult shift(HostOp op, int64_t value, int64_t amount) {
  if (amount < 0)
    return fail("a negative shift");
  if (op == HostOp::ShiftRight)
    return give(value >> std::min<int64_t>(amount, 63));
  if (value == 0)
    return give(int64_t(0));
  if (amount > 62 || (value << amount) >> amount != value)
    return fail(overflow);
  return give(value << amount);
}

// Exact, also where a double could not hold the integer.
int compare(HostValue a, HostValue b, bool &unordered) {
  unordered = false;
  if (!a.isFloat() && !b.isFloat())
    return a.integer < b.integer ? -1 : a.integer > b.integer;
  auto x = (long double)(a.isFloat() ? (long double)a.number : (long double)a.integer);
  auto y = (long double)(b.isFloat() ? (long double)b.number : (long double)b.integer);
  unordered = std::isnan(x) || std::isnan(y);
  return x < y ? -1 : x > y;
}

HostResult unary(HostOp op, HostValue value) {
  if (op == HostOp::IsNone)
    return giveBool(value.isNone());
  if (value.kind == Kind::Other)
    return fail(otherOperand);
  if (op == HostOp::Not)
    return giveBool(!value.truth());
  if (op == HostOp::ToBool)
    return giveBool(value.truth());
  if (value.isNone())
    return fail(noneOperand);
  int64_t integer = value.isFloat() ? 0 : value.integer;
  switch (op) {
  case HostOp::Negate:
    if (value.isFloat())
      return give(-value.number);
    return integer == INT64_MIN ? fail(overflow) : give(-integer);
  case HostOp::Abs:
    if (value.isFloat())
      return give(std::fabs(value.number));
    return integer == INT64_MIN ? fail(overflow) : give(integer < 0 ? -integer : integer);
  case HostOp::Invert:
    return value.isFloat() ? fail(floatOperand) : give(~integer);
  case HostOp::ToInt:
    return value.isFloat() ? toInt(std::trunc(value.number)) : give(integer);
  case HostOp::Floor:
    return value.isFloat() ? toInt(std::floor(value.number)) : give(integer);
  case HostOp::Ceil:
    return value.isFloat() ? toInt(std::ceil(value.number)) : give(integer);
  case HostOp::ToFloat:
    return give(value.asDouble());
  case HostOp::Sqrt:
    return value.asDouble() < 0 ? fail("square root of a negative number")
                                : give(std::sqrt(value.asDouble()));
  case HostOp::Log2:
    return value.asDouble() <= 0 ? fail("logarithm of a number that is not positive")
                                 : give(std::log2(value.asDouble()));
  case HostOp::Exp2:
    return give(std::exp2(value.asDouble()));
  case HostOp::NextPowerOf2:
    if (value.isFloat())
      return fail(floatOperand);
    if (integer <= 0)
      return give(int64_t(0));
    return integer > int64_t(1) << 62 ? fail(overflow)
                                      : give(int64_t(std::bit_ceil(uint64_t(integer))));
  default:
    return fail("unknown operation");
  }
}

HostResult binary(HostOp op, HostValue a, HostValue b) {
  if (a.kind == Kind::Other || b.kind == Kind::Other)
    return fail(otherOperand);
  if (op == HostOp::Equal || op == HostOp::NotEqual) {
    bool unordered = false;
    bool equal = a.isNone() || b.isNone() ? a.isNone() && b.isNone()
                                          : compare(a, b, unordered) == 0 && !unordered;
    return giveBool(equal == (op == HostOp::Equal));
  }
  if (a.isNone() || b.isNone())
    return fail(noneOperand);
  bool isFloat = a.isFloat() || b.isFloat();
  double x = a.asDouble(), y = b.asDouble();
  int64_t i = isFloat ? 0 : a.integer, j = isFloat ? 0 : b.integer, result;
  bool unordered;
  switch (op) {
  case HostOp::Add:
    if (isFloat)
      return give(x + y);
    return __builtin_add_overflow(i, j, &result) ? fail(overflow) : give(result);
  case HostOp::Subtract:
    if (isFloat)
      return give(x - y);
    return __builtin_sub_overflow(i, j, &result) ? fail(overflow) : give(result);
  case HostOp::Multiply:
    if (isFloat)
      return give(x * y);
    return __builtin_mul_overflow(i, j, &result) ? fail(overflow) : give(result);
  case HostOp::Divide:
    return y == 0 ? fail(divisionByZero) : give(x / y);
  case HostOp::FloorDivide:
    if (y == 0)
      return fail(divisionByZero);
    if (isFloat)
      return give(floatQuotient(x, y));
    return i == INT64_MIN && j == -1 ? fail(overflow) : give(floorQuotient(i, j));
  case HostOp::Modulo:
    if (y == 0)
      return fail(divisionByZero);
    if (isFloat)
      return give(floatRemainder(x, y));
    return give(j == -1 ? 0 : floorRemainder(i, j));
  case HostOp::Cdiv:
    if (y == 0)
      return fail(divisionByZero);
    if (isFloat)
      return give(floatQuotient(x + y - 1, y));
    if (__builtin_add_overflow(i, j, &result) || __builtin_sub_overflow(result, 1, &result) ||
        (result == INT64_MIN && j == -1))
      return fail(overflow);
    return give(floorQuotient(result, j));
  case HostOp::Power:
    return x == 0 && y < 0 ? fail(divisionByZero) : power(a, b);
  case HostOp::BitAnd:
  case HostOp::BitOr:
  case HostOp::BitXor:
    if (isFloat)
      return fail(floatOperand);
    result = op == HostOp::BitAnd ? i & j : op == HostOp::BitOr ? i | j : i ^ j;
    return a.kind == Kind::Bool && b.kind == Kind::Bool ? giveBool(result) : give(result);
  case HostOp::ShiftLeft:
  case HostOp::ShiftRight:
    return isFloat ? fail(floatOperand) : shift(op, i, j);
  case HostOp::Less:
    return giveBool(compare(a, b, unordered) < 0);
  case HostOp::LessEqual:
    return giveBool(compare(a, b, unordered) <= 0 && !unordered);
  case HostOp::Greater:
    return giveBool(compare(a, b, unordered) > 0);
  case HostOp::GreaterEqual:
    return giveBool(compare(a, b, unordered) >= 0 && !unordered);
  case HostOp::Min:
    // Python keeps the first of equals.
    return {compare(b, a, unordered) < 0 ? b : a, nullptr};
  case HostOp::Max:
    return {compare(b, a, unordered) > 0 ? b : a, nullptr};
  default:
    return fail("unknown operation");
  }
}

HostResult dimension(std::span<const int64_t> sizes, int64_t index) {
  auto count = int64_t(sizes.size());
  if (index < -count || index >= count)
    return fail("a dimension that the tensor does not have");
  return give(sizes[size_t(index < 0 ? index + count : index)]);
}

HostResult ofTensor(const HostNode &node, const HostArguments &arguments) {
  const HostTensorFacts *tensor = arguments.tensor(node.a);
  if (!tensor)
    return fail("an argument that is asked for its shape is no tensor");
  switch (HostOp(node.op)) {
  case HostOp::ElementBytes:
    return give(int64_t(tensor->elementBytes));
  case HostOp::Address:
    return give(int64_t(reinterpret_cast<uintptr_t>(tensor->address)));
  case HostOp::TypeIn:
    return giveBool(node.immediate >> unsigned(tensor->type) & 1);
  default:
    break;
  }
  if (!tensor->hasShape)
    return fail("an argument that is asked for its shape is a bare pointer");
  switch (HostOp(node.op)) {
  case HostOp::Rank:
    return give(int64_t(tensor->shape.size()));
  case HostOp::Shape:
    return dimension(tensor->shape, node.immediate);
  case HostOp::Stride:
    return dimension(tensor->strides, node.immediate);
  default: {
    int64_t count = 1;
    for (int64_t size : tensor->shape)
      if (__builtin_mul_overflow(count, size, &count))
        return fail(overflow);
    return give(count);
  }
  }
}

HostResult evaluateNode(std::span<const HostNode> tree, uint32_t index,
                        const HostArguments &arguments) {
  const HostNode &node = tree[index];
  auto op = HostOp(node.op);
  switch (op) {
  case HostOp::None:
    return {HostValue::none(), nullptr};
  case HostOp::Bool:
    return giveBool(node.immediate != 0);
  case HostOp::Int:
    return give(node.immediate);
  case HostOp::Float:
    return give(std::bit_cast<double>(node.immediate));
  case HostOp::Argument: {
    HostValue value = arguments.argument(node.a);
    return {value,
            value.kind == Kind::Missing ? "an argument that it asks for is not given" : nullptr};
  }
  case HostOp::Meta:
    return {arguments.meta(node.a), nullptr};
  case HostOp::Numel:
  case HostOp::Rank:
  case HostOp::ElementBytes:
  case HostOp::Shape:
  case HostOp::Stride:
  case HostOp::Address:
  case HostOp::TypeIn:
    return ofTensor(node, arguments);
  default:
    break;
  }
  HostResult first = evaluateNode(tree, node.a, arguments);
  if (!first.ok())
    return first;
  bool decides = op == HostOp::Select || op == HostOp::And || op == HostOp::Or;
  if (decides && first.value.kind == Kind::Other)
    return fail(otherOperand);
  if (op == HostOp::Select)
    return evaluateNode(tree, first.value.truth() ? node.b : node.c, arguments);
  if ((op == HostOp::And && !first.value.truth()) || (op == HostOp::Or && first.value.truth()))
    return first;
  if (operandCount(op) == 1)
    return unary(op, first.value);
  HostResult second = evaluateNode(tree, node.b, arguments);
  if (!second.ok() || op == HostOp::And || op == HostOp::Or)
    return second;
  return binary(op, first.value, second.value);
}
} // namespace

HostResult HostExpression::evaluate(const HostArguments &arguments) const {
  return evaluateNode(tree, uint32_t(tree.size() - 1), arguments);
}

// --- building ---

HostExpressionBuilder::Node HostExpressionBuilder::leaf(HostOp op, uint32_t number,
                                                        int64_t immediate) {
  HostNode node;
  node.op = uint8_t(op);
  node.a = number;
  node.immediate = immediate;
  nodes.push_back(node);
  return Node(nodes.size() - 1);
}

using Node = HostExpressionBuilder::Node;

Node HostExpressionBuilder::none() { return leaf(HostOp::None, 0); }
Node HostExpressionBuilder::boolean(bool value) { return leaf(HostOp::Bool, 0, value); }
Node HostExpressionBuilder::integer(int64_t value) { return leaf(HostOp::Int, 0, value); }
Node HostExpressionBuilder::floating(double value) {
  return leaf(HostOp::Float, 0, std::bit_cast<int64_t>(value));
}
Node HostExpressionBuilder::argument(uint32_t number) { return leaf(HostOp::Argument, number); }
Node HostExpressionBuilder::meta(uint32_t number) { return leaf(HostOp::Meta, number); }
Node HostExpressionBuilder::numel(uint32_t number) { return leaf(HostOp::Numel, number); }
Node HostExpressionBuilder::rank(uint32_t number) { return leaf(HostOp::Rank, number); }
Node HostExpressionBuilder::elementBytes(uint32_t number) {
  return leaf(HostOp::ElementBytes, number);
}
Node HostExpressionBuilder::shape(uint32_t number, int64_t dimension) {
  return leaf(HostOp::Shape, number, dimension);
}
Node HostExpressionBuilder::stride(uint32_t number, int64_t dimension) {
  return leaf(HostOp::Stride, number, dimension);
}
Node HostExpressionBuilder::address(uint32_t number) { return leaf(HostOp::Address, number); }
Node HostExpressionBuilder::typeIn(uint32_t number, std::span<const DType> types) {
  uint64_t set = 0;
  for (DType type : types)
    set |= uint64_t(1) << unsigned(type);
  return leaf(HostOp::TypeIn, number, int64_t(set));
}

Node HostExpressionBuilder::unary(HostOp op, Node operand) { return leaf(op, operand); }

Node HostExpressionBuilder::binary(HostOp op, Node left, Node right) {
  Node node = leaf(op, left);
  nodes[node].b = right;
  return node;
}

Node HostExpressionBuilder::select(Node condition, Node whenTrue, Node whenFalse) {
  Node node = binary(HostOp::Select, condition, whenTrue);
  nodes[node].c = whenFalse;
  return node;
}

Node HostExpressionBuilder::copy(Node tree) {
  HostNode node = nodes[tree];
  unsigned count = operandCount(HostOp(node.op));
  if (count > 0)
    node.a = copy(node.a);
  if (count > 1)
    node.b = copy(node.b);
  if (count > 2)
    node.c = copy(node.c);
  nodes.push_back(node);
  return Node(nodes.size() - 1);
}

Result<std::vector<uint8_t>> HostExpressionBuilder::finish(Node root) const {
  std::vector<bool> reached(nodes.size());
  if (root >= nodes.size())
    return Error{"cannot build a host expression without root", {}};
  reached[root] = true;
  for (size_t i = root + 1; i-- > 0;) {
    if (!reached[i])
      continue;
    const uint32_t operands[] = {nodes[i].a, nodes[i].b, nodes[i].c};
    for (unsigned k = 0; k < operandCount(HostOp(nodes[i].op)); ++k) {
      if (operands[k] >= i)
        return Error{"cannot build a host expression: an operand behind its user", {}};
      reached[operands[k]] = true;
    }
  }
  std::vector<uint32_t> place(nodes.size());
  std::vector<HostNode> kept;
  for (size_t i = 0; i <= root; ++i) {
    if (!reached[i])
      continue;
    HostNode node = nodes[i];
    uint32_t *operands[] = {&node.a, &node.b, &node.c};
    for (unsigned k = 0; k < operandCount(HostOp(node.op)); ++k)
      *operands[k] = place[*operands[k]];
    place[i] = uint32_t(kept.size());
    kept.push_back(node);
  }
  std::vector<uint8_t> bytes(kept.size() * sizeof(HostNode));
  std::memcpy(bytes.data(), kept.data(), bytes.size());
  if (auto checked = HostExpression::open(bytes); !checked)
    return Error{"cannot build a host expression: " + checked.error().what, {}};
  return bytes;
}

} // namespace nereid::support
