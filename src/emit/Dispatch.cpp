// Who answers an operator: a tile (`ops`), an object with methods of its own, or Python's rules for
// values known now (Operators.cpp).
#include "emit/Interp.h"

namespace nereid::emit {

using namespace syntax;

namespace {

ops::BinaryOperator tileOperator(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return ops::BinaryOperator::Add;
  case BinaryOp::Sub:
    return ops::BinaryOperator::Sub;
  case BinaryOp::Mult:
    return ops::BinaryOperator::Mul;
  case BinaryOp::MatMult:
    return ops::BinaryOperator::MatMul;
  case BinaryOp::Div:
    return ops::BinaryOperator::TrueDiv;
  case BinaryOp::Mod:
    return ops::BinaryOperator::Mod;
  case BinaryOp::Pow:
    return ops::BinaryOperator::Pow;
  case BinaryOp::LShift:
    return ops::BinaryOperator::LShift;
  case BinaryOp::RShift:
    return ops::BinaryOperator::RShift;
  case BinaryOp::BitOr:
    return ops::BinaryOperator::Or;
  case BinaryOp::BitXor:
    return ops::BinaryOperator::Xor;
  case BinaryOp::BitAnd:
    return ops::BinaryOperator::And;
  case BinaryOp::FloorDiv:
    return ops::BinaryOperator::FloorDiv;
  }
  return ops::BinaryOperator::Add;
}

ops::BinaryOperator tileComparison(CompareOp op) {
  switch (op) {
  case CompareOp::Eq:
    return ops::BinaryOperator::Eq;
  case CompareOp::NotEq:
    return ops::BinaryOperator::NotEq;
  case CompareOp::Lt:
    return ops::BinaryOperator::Lt;
  case CompareOp::LtE:
    return ops::BinaryOperator::LtE;
  case CompareOp::Gt:
    return ops::BinaryOperator::Gt;
  default:
    return ops::BinaryOperator::GtE;
  }
}

constexpr std::string_view binaryNames[] = {"add", "sub", "mul",     "matmul", "truediv",
                                            "mod", "pow", "lshift",  "rshift", "or",
                                            "xor", "and", "floordiv"};
constexpr std::string_view compareNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
// The comparison that holds of (b, a) when the given one holds of (a, b).
constexpr std::string_view reflectedCompareNames[] = {"eq", "ne", "gt", "ge", "lt", "le"};

} // namespace

Value Interp::binary(BinaryOp op, const Value &lhsIn, const Value &rhsIn) {
  const Value &lhs = plainMember(unboxed(lhsIn)), &rhs = plainMember(unboxed(rhsIn));
  if (isUserObject(lhs) || isUserObject(rhs)) {
    std::string_view name = binaryNames[unsigned(op)];
    if (isUserObject(lhs))
      if (auto method = attribute(lhs, "__" + std::string(name) + "__"))
        return call(*method, {rhs}, {});
    if (isUserObject(rhs))
      if (auto method = attribute(rhs, "__r" + std::string(name) + "__"))
        return call(*method, {lhs}, {});
  }
  if (lhs.isTile() || rhs.isTile()) {
    return building([&] { return ops::binary(opContext(), tileOperator(op), lhs, rhs); });
  }
  Value result = hostBinary(op, lhs, rhs);
  // Arithmetic on constexprs gives a constexpr, so that `B = tl.constexpr(A * 2)` may say `B = A *
  // 2`.
  if (!inKernel() && (lhsIn.as<ConstexprBox>() || rhsIn.as<ConstexprBox>()))
    return Value(std::make_shared<ConstexprBox>(std::move(result)));
  return result;
}

Value Interp::unary(UnaryOpKind op, const Value &operandIn) {
  const Value &operand = unboxed(operandIn);
  if (operand.isTile()) {
    ops::UnaryOperator tileOp = op == UnaryOpKind::Invert ? ops::UnaryOperator::Invert
                                : op == UnaryOpKind::Not  ? ops::UnaryOperator::Not
                                : op == UnaryOpKind::UAdd ? ops::UnaryOperator::Pos
                                                          : ops::UnaryOperator::Neg;
    return building([&] { return ops::unary(opContext(), tileOp, operand); });
  }
  if (operand.as<Unknown>())
    return operand;
  Value result;
  if (op == UnaryOpKind::Not) {
    result = Value(!truth(operand));
  } else if (isUserObject(operand)) {
    const char *name = op == UnaryOpKind::Invert ? "__invert__"
                       : op == UnaryOpKind::UAdd ? "__pos__"
                                                 : "__neg__";
    return call(requireAttribute(operand, name), {}, {});
  } else if (operand.isFloat() && op != UnaryOpKind::Invert) {
    result = op == UnaryOpKind::USub ? Value(-operand.asFloat()) : operand;
  } else if (operand.isInt() || operand.isBool()) {
    Integer number = operand.isBool() ? Integer(operand.asBool()) : operand.asInteger();
    result = Value(op == UnaryOpKind::USub     ? -number
                   : op == UnaryOpKind::Invert ? ~number
                                               : number);
  } else {
    const char *sign = op == UnaryOpKind::Invert ? "~" : op == UnaryOpKind::UAdd ? "+" : "-";
    raise("TypeError",
          std::string("unary `") + sign + "` has no meaning for `" + operand.typeName() + "`");
  }
  if (!inKernel() && operandIn.as<ConstexprBox>())
    return Value(std::make_shared<ConstexprBox>(std::move(result)));
  return result;
}

Value Interp::compare(CompareOp op, const Value &lhsIn, const Value &rhsIn) {
  if (op == CompareOp::Is || op == CompareOp::IsNot) {
    const Value &lhs = unboxed(lhsIn), &rhs = unboxed(rhsIn);
    if (lhs.as<Unknown>())
      return lhs;
    if (rhs.as<Unknown>())
      return rhs;
    // A member that is an argument and that of a module may come of two units.
    auto isMember = [](const Value &value) {
      auto *instance = value.as<Instance>();
      return instance && instance->type->flavor == ClassObject::Flavor::Enum;
    };
    bool same = isMember(lhs) && isMember(rhs) ? ops::equal(lhs, rhs) : identical(lhs, rhs);
    return Value(same == (op == CompareOp::Is));
  }
  const Value &lhs = plainMember(unboxed(lhsIn)), &rhs = plainMember(unboxed(rhsIn));
  if (unsigned(op) < 6 && (isUserObject(lhs) || isUserObject(rhs))) {
    if (isUserObject(lhs))
      if (auto method = attribute(lhs, "__" + std::string(compareNames[unsigned(op)]) + "__"))
        return call(*method, {rhs}, {});
    if (isUserObject(rhs))
      if (auto method =
              attribute(rhs, "__" + std::string(reflectedCompareNames[unsigned(op)]) + "__"))
        return call(*method, {lhs}, {});
  }
  if ((lhs.isTile() || rhs.isTile()) && unsigned(op) < 6) {
    const Value &other = lhs.isTile() ? rhs : lhs;
    // A tile is never None, a string or a type; `==` says so without a run-time comparison.
    if ((op == CompareOp::Eq || op == CompareOp::NotEq) && !other.isTile() && !other.isNumber())
      return Value(op == CompareOp::NotEq);
    return building([&] { return ops::binary(opContext(), tileComparison(op), lhs, rhs); });
  }
  if (lhs.as<Unknown>())
    return lhs;
  if (rhs.as<Unknown>())
    return rhs;
  if ((op == CompareOp::In || op == CompareOp::NotIn) && (rhs.isTuple() || rhs.isList())) {
    std::vector<Value> items;
    for (const Value &item : rhs.items())
      items.push_back(plainMember(item));
    Value plain = Value::tuple(std::move(items));
    checkMembership(plain, lhs);
    return Value(hostCompare(op, lhs, plain));
  }
  if (op == CompareOp::In || op == CompareOp::NotIn)
    checkMembership(rhs, lhs);
  Value result(hostCompare(op, lhs, rhs));
  if (!inKernel() && (lhsIn.as<ConstexprBox>() || rhsIn.as<ConstexprBox>()))
    return Value(std::make_shared<ConstexprBox>(std::move(result)));
  return result;
}

// `x.__rshift__(4)`: an operator by its name.
std::optional<Value> Interp::operatorMethod(const Value &self, std::string_view name) {
  if (name.size() < 5 || name.substr(0, 2) != "__" || name.substr(name.size() - 2) != "__")
    return std::nullopt;
  std::string_view plain = name.substr(2, name.size() - 4);
  auto method = [&](size_t operands, auto compute) {
    return native(
        std::string(name),
        [=, name = std::string(name)](Interp &interp, std::vector<Value> &args, Keywords &named) {
          if (args.size() != operands || !named.empty())
            interp.raise("TypeError", "`" + name + "` takes " + std::to_string(operands) +
                                          (operands == 1 ? " argument" : " arguments"));
          return compute(interp, args);
        });
  };
  if (plain == "neg" || plain == "invert")
    return method(0, [self, op = plain == "neg" ? UnaryOpKind::USub : UnaryOpKind::Invert](
                         Interp &interp, std::vector<Value> &) { return interp.unary(op, self); });
  for (unsigned i = 0; i < std::size(compareNames); ++i)
    if (plain == compareNames[i])
      return method(1, [=](Interp &interp, std::vector<Value> &args) {
        return interp.compare(CompareOp(i), self, args[0]);
      });
  for (unsigned i = 0; i < std::size(binaryNames); ++i) {
    bool isReflected = plain[0] == 'r' && plain.substr(1) == binaryNames[i];
    if (isReflected || plain == binaryNames[i])
      return method(1, [=](Interp &interp, std::vector<Value> &args) {
        return isReflected ? interp.binary(BinaryOp(i), args[0], self)
                           : interp.binary(BinaryOp(i), self, args[0]);
      });
  }
  return std::nullopt;
}

// `i >= 0 & i < n` compares `i`, `0 & i` and `n`. Triton takes no chain of comparisons, so that no
// kernel of its own means this one.
void Interp::refuseLooseMask(const Expr &middle) {
  if (middle.kind != ExprKind::BinOp)
    return;
  BinaryOp loose = cast<BinOp>(&middle).op;
  // A node does not cover the parentheses around it.
  std::string_view before =
      frame->module->tree->line(middle.begin.line).substr(0, middle.begin.column);
  if ((loose != BinaryOp::BitAnd && loose != BinaryOp::BitOr) ||
      before.substr(0, before.find_last_not_of(" \t") + 1).ends_with('('))
    return;
  std::string op = loose == BinaryOp::BitAnd ? "&" : "|";
  failAt(middle, "OperandTypes", "`" + op + "` binds more tightly than the comparisons around it",
         "put each comparison in parentheses: `(i >= 0) " + op + " (i < n)`");
}

Value Interp::evalCompare(const Compare &expr) {
  Value lhs = eval(expr.left);
  Value all;
  for (uint32_t i = 0; i < expr.ops.size(); ++i) {
    Value rhs = eval(expr.comparators[i]);
    if (i + 1 < expr.ops.size() && (lhs.isTile() || rhs.isTile()))
      refuseLooseMask(*expr.comparators[i]);
    Value one = compare(expr.ops[i], lhs, rhs);
    if (expr.ops.size() == 1)
      return one;
    // a < b < c is a < b and b < c.
    if (i == 0) {
      all = one;
    } else if (all.isTile() && one.isTile()) {
      all = building(
          [&] { return ops::binary(opContext(), ops::BinaryOperator::LogicalAnd, all, one); });
    } else if (one.isTile()) {
      all = one;
    } else if (!truth(one)) {
      all = one;
    }
    if (!all.isTile() && !all.as<Unknown>() && !truth(all))
      return all;
    lhs = std::move(rhs);
  }
  return all;
}

} // namespace nereid::emit
