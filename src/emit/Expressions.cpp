// Expressions, in both modes. Whatever only Python can do lies in Operators.cpp; whatever needs
// tiles goes to `ops` or, for conditional expressions, to KernelBranches.cpp.

#include "emit/Interp.h"

#include "support/Spelling.h"

#include "syntax/Printer.h"

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

// Has methods of its own: an object of a class written in Python.
} // namespace

Value Interp::eval(const Expr *expr) {
  const Node *outer = frame->node;
  frame->node = expr;
  step();
  Value value = evalUnlocated(*expr);
  // What a name holds was weighed when it was made; in a kernel each use walks it for tiles.
  if (value.isObject() && (inKernel() || expr->kind != ExprKind::Name))
    weigh(value);
  frame->node = outer;
  return value;
}

Value Interp::evalUnlocated(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Constant:
    return evalConstant(cast<Constant>(&expr));
  case ExprKind::Name:
    return evalName(cast<Name>(&expr));
  case ExprKind::BinOp:
  case ExprKind::Call:
  case ExprKind::Attribute:
  case ExprKind::Subscript:
    return evalChain(expr);
  case ExprKind::UnaryOp: {
    auto &op = cast<UnaryOp>(&expr);
    Value operand = eval(op.operand);
    return unary(op.op, operand);
  }
  case ExprKind::BoolOp:
    return evalBoolOp(cast<BoolOp>(&expr));
  case ExprKind::Compare:
    return evalCompare(cast<Compare>(&expr));
  case ExprKind::IfExp:
    return evalIfExp(cast<IfExp>(&expr));
  case ExprKind::NamedExpr: {
    auto &named = cast<NamedExpr>(&expr);
    Value value = eval(named.value);
    if (inKernel()) {
      assignKernel(*named.target, value, /*settles=*/true);
      if (auto *name = dynCast<Name>(named.target))
        value = frame->locals->find(name->id)->value;
    } else {
      assignHost(*named.target, value);
    }
    return value;
  }
  case ExprKind::Tuple:
    return Value::tuple(evalItems(cast<Tuple>(&expr).elts));
  case ExprKind::List: {
    std::vector<Value> items = evalItems(cast<List>(&expr).elts);
    if (inKernel()) // nothing in a kernel changes a list, so it is a tuple there
      return Value::tuple(std::move(items));
    return Value(std::make_shared<ops::List>(std::move(items)));
  }
  case ExprKind::Set: {
    auto set = std::make_shared<SetObject>();
    for (Value &item : evalItems(cast<Set>(&expr).elts))
      addTo(*set, std::move(item));
    return Value(std::move(set));
  }
  case ExprKind::Dict: {
    auto &literal = cast<Dict>(&expr);
    auto dict = std::make_shared<ops::Dict>();
    auto put = [&](Value key, Value value) {
      for (auto &entry : dict->entries)
        if (equal(entry.first, key)) {
          entry.second = std::move(value);
          return;
        }
      dict->entries.emplace_back(std::move(key), std::move(value));
    };
    for (uint32_t i = 0; i < literal.values.size(); ++i) {
      if (literal.keys[i]) {
        Value key = eval(literal.keys[i]);
        put(unboxed(key), eval(literal.values[i]));
        continue;
      }
      Value other = eval(literal.values[i]);
      if (other.as<Unknown>())
        return other;
      auto *from = other.as<ops::Dict>();
      if (!from)
        raise("TypeError", "`**` needs a dict, not `" + other.typeName() + "`");
      for (auto &[key, value] : from->entries)
        put(key, value);
    }
    return Value(std::move(dict));
  }
  case ExprKind::ListComp: {
    auto &comp = cast<ListComp>(&expr);
    return evalComprehension(expr, comp.elt, nullptr, comp.generators);
  }
  case ExprKind::SetComp: {
    auto &comp = cast<SetComp>(&expr);
    return evalComprehension(expr, comp.elt, nullptr, comp.generators);
  }
  case ExprKind::GeneratorExp: {
    auto &comp = cast<GeneratorExp>(&expr);
    return evalComprehension(expr, comp.elt, nullptr, comp.generators);
  }
  case ExprKind::DictComp: {
    auto &comp = cast<DictComp>(&expr);
    return evalComprehension(expr, comp.key, comp.value, comp.generators);
  }
  case ExprKind::JoinedStr:
    return evalJoinedStr(cast<JoinedStr>(&expr));
  case ExprKind::FormattedValue: {
    auto &piece = cast<FormattedValue>(&expr);
    Value value = eval(piece.value);
    if (auto *unknown = unboxed(value).as<Unknown>()) {
      if (inKernel())
        failUnknown(*unknown, "its text");
      return unboxed(value);
    }
    if (piece.conversion == 'r' || piece.conversion == 'a')
      value = Value::str(repr(value));
    else if (piece.conversion == 's')
      value = Value::str(str(value));
    std::string spec;
    if (piece.formatSpec) {
      Value text = eval(piece.formatSpec);
      if (!text.isStr())
        return text;
      spec = text.asStr();
    }
    return Value::str(format(value, spec));
  }
  case ExprKind::Lambda:
    return evalLambda(cast<Lambda>(&expr));
  case ExprKind::Slice: {
    auto &slice = cast<syntax::Slice>(&expr);
    Value start = slice.lower ? unboxed(eval(slice.lower)) : Value();
    Value stop = slice.upper ? unboxed(eval(slice.upper)) : Value();
    Value stride = slice.step ? unboxed(eval(slice.step)) : Value();
    return Value(std::make_shared<ops::Slice>(start, stop, stride));
  }
  case ExprKind::Starred:
    fail("UnsupportedSyntax", "`*` can stand here only in a call, a tuple or a list");
  case ExprKind::Yield: {
    auto &yield = cast<Yield>(&expr);
    Value value = yield.value ? eval(yield.value) : Value();
    if (!frame->yielded)
      fail("UnsupportedSyntax", "`yield` is not part of the kernel language");
    frame->yielded->push_back(std::move(value));
    return Value();
  }
  case ExprKind::YieldFrom: {
    Value source = eval(cast<YieldFrom>(&expr).value);
    if (!frame->yielded)
      fail("UnsupportedSyntax", "`yield` is not part of the kernel language");
    for (Value &item : iterate(source))
      frame->yielded->push_back(std::move(item));
    return Value();
  }
  case ExprKind::Await:
    fail("UnsupportedSyntax", "`await` can't be evaluated");
  }
  return Value();
}

Value Interp::evalConstant(const Constant &constant) {
  const ConstantValue &value = constant.value;
  switch (value.kind) {
  case ConstantValue::Kind::None:
    return Value();
  case ConstantValue::Kind::True:
    return Value(true);
  case ConstantValue::Kind::False:
    return Value(false);
  case ConstantValue::Kind::Int:
    if (value.text.size() > Integer::maxBits / 4)
      fail("IntegerTooLarge",
           "the integer has more than " + std::to_string(Integer::maxBits) + " bits");
    return Value(Integer::fromHex(value.text));
  case ConstantValue::Kind::Float:
    return Value(value.number);
  case ConstantValue::Kind::Str:
  case ConstantValue::Kind::Bytes:
    return Value::str(std::string(value.text));
  case ConstantValue::Kind::Ellipsis:
    return requireAttribute(Value(std::make_shared<LanguageModule>("")), "...");
  case ConstantValue::Kind::Complex:
    fail("UnsupportedSyntax", "complex numbers can't be evaluated");
  }
  return Value();
}

const Binding *Interp::lookup(std::string_view name) {
  if (const Binding *found = frame->locals->find(name))
    return found;
  for (const std::shared_ptr<Names> &scope : frame->enclosing)
    if (const Binding *found = scope->find(name))
      return found;
  if (const Binding *found = frame->module->names->find(name))
    return found;
  return builtins->find(name);
}

Value Interp::useBinding(const Binding &binding, bool isGlobal) {
  std::string name(binding.name);
  if (binding.unusable) {
    const Unusable &why = *binding.unusable;
    if (why.loop && inKernel() && !kernel->lastSteps.count({why.loop, name}))
      throw WantsLastStep{why.loop, name};
    EvalError failure = error(*frame->node, why.code, "`" + name + "` " + why.why, why.hint);
    if (why.where.begin.valid())
      failure.diagnostic.labels.push_back({why.where, "here"});
    for (const Diagnostic &note : why.notes)
      failure.diagnostic.notes.insert(failure.diagnostic.notes.begin(), note);
    throw failure;
  }
  if (!inKernel())
    return binding.value;
  if (binding.lastStep)
    checkLastStep(binding);
  auto *box = binding.value.as<ConstexprBox>();
  if (auto *unknown = unboxed(binding.value).as<Unknown>(); unknown && isGlobal) {
    // What is imported is the host's itself; a value that was assigned may be given.
    if (unknown->isImported)
      failIfHost(*unknown);
    fail("UnknownValue", "`" + name + "` is not known: it comes from `" + unknown->origin + "`",
         "pass it as an argument, or give it a value with `--define " + name + "=VALUE`");
  }
  if (box)
    return box->value;
  if (isGlobal && !hostOptions.allowGlobals && !frame->module->isPrelude) {
    const Value &value = binding.value;
    bool isPlain = value.isNumber() || value.isStr() || value.isList() || value.as<ops::Dict>() ||
                   value.as<SetObject>() ||
                   (value.isTuple() && !value.as<ops::Tuple>()->fieldNames);
    if (isPlain)
      fail("GlobalNotConstexpr",
           "`" + name + "` is a global `" + value.typeName() +
               "`, and kernels may read only constexpr globals",
           "write `" + name + " = tl.constexpr(" + repr(value) + ")`, or pass it as a parameter");
  }
  return binding.value;
}

Value Interp::evalName(const Name &name) {
  if (const Binding *found = frame->locals->find(name.id))
    return useBinding(*found, frame->isModule);
  if (const Binding *found = lookup(name.id)) {
    bool isBuiltin = builtins->find(name.id) == found;
    return useBinding(*found, !isBuiltin);
  }
  std::string hint;
  // A name of the vocabulary without its module.
  if (inKernel() && ops::find(name.id)) {
    std::string module = "tl";
    for (const Binding &binding : frame->module->names->all())
      if (auto *language = unboxed(binding.value).as<LanguageModule>())
        if (language->path.empty() && !binding.deleted)
          module = binding.name;
    hint = "did you mean `" + module + "." + std::string(name.id) + "`?";
  }
  support::Spelling spelling(name.id);
  for (const Names *scope : {frame->locals.get(), frame->module->names.get(), builtins.get()})
    for (const Binding &binding : scope->all())
      if (!binding.deleted && !binding.unusable)
        spelling.consider(binding.name);
  EvalError failure =
      error(*frame->node, "UndefinedName", "`" + std::string(name.id) + "` is not defined",
            hint.empty() ? spelling.hint() : hint);
  failure.pythonType = "NameError";
  throw failure;
}

Value Interp::evalBoolOp(const BoolOp &expr) {
  bool isAnd = expr.op == BoolOpKind::And;
  if (!inKernel()) {
    Value value;
    std::optional<Value> unknown; // the rest may still decide: `unknown and False` is false
    for (const Expr *operand : expr.values) {
      value = eval(operand);
      if (unboxed(value).as<Unknown>()) {
        unknown = unboxed(value);
        continue;
      }
      if (truth(value) != isAnd)
        return value;
    }
    return unknown ? *unknown : value;
  }
  // Values known now may decide, or drop out; tiles do not short-circuit.
  std::vector<Value> tiles;
  Value value;
  for (const Expr *operand : expr.values) {
    value = unboxed(eval(operand));
    if (value.isTile()) {
      tiles.push_back(value);
      continue;
    }
    if (truth(value) != isAnd)
      return value;
  }
  if (tiles.empty())
    return value;
  ops::BinaryOperator op = isAnd ? ops::BinaryOperator::LogicalAnd : ops::BinaryOperator::LogicalOr;
  Value result = tiles.back();
  for (size_t i = tiles.size() - 1; i-- > 0;)
    result = building([&] { return ops::binary(opContext(), op, tiles[i], result); });
  return result;
}

Value Interp::binary(BinaryOp op, const Value &lhsIn, const Value &rhsIn) {
  const Value &lhs = unboxed(lhsIn), &rhs = unboxed(rhsIn);
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
  const Value &lhs = unboxed(lhsIn), &rhs = unboxed(rhsIn);
  if (op == CompareOp::Is || op == CompareOp::IsNot) {
    if (lhs.as<Unknown>())
      return lhs;
    if (rhs.as<Unknown>())
      return rhs;
    return Value(identical(lhs, rhs) == (op == CompareOp::Is));
  }
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

Value Interp::evalCompare(const Compare &expr) {
  Value lhs = eval(expr.left);
  Value all;
  for (uint32_t i = 0; i < expr.ops.size(); ++i) {
    Value rhs = eval(expr.comparators[i]);
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

Value Interp::evalIfExp(const IfExp &expr) {
  Value condition = unboxed(eval(expr.test));
  if (condition.isTile())
    return runtimeIfExp(expr, condition);
  if (auto *unknown = condition.as<Unknown>()) {
    if (inKernel())
      failUnknown(*unknown, "this condition");
    return Value(std::make_shared<Unknown>(unknown->origin));
  }
  return eval(truth(condition) ? expr.body : expr.orelse);
}

std::vector<Value> Interp::evalItems(Span<Expr *> items) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const Expr *item : items) {
    if (auto *starred = dynCast<Starred>(item)) {
      Value all = eval(starred->value);
      for (Value &value : iterate(all))
        values.push_back(std::move(value));
    } else {
      Value value = eval(item);
      values.push_back(inKernel() ? unboxed(value) : value);
    }
  }
  return values;
}

// `a.b(c)[d] + e` is nested on its left as deep as it is long; it is walked with a loop.
Value Interp::evalChain(const Expr &expr) {
  llvm::SmallVector<const Expr *, 8> links;
  const Expr *base = &expr;
  for (bool isLink = true; isLink;) {
    switch (base->kind) {
    case ExprKind::BinOp:
      links.push_back(base);
      base = cast<BinOp>(base).left;
      break;
    case ExprKind::Call:
      links.push_back(base);
      base = cast<Call>(base).func;
      break;
    case ExprKind::Attribute:
      links.push_back(base);
      base = cast<Attribute>(base).value;
      break;
    case ExprKind::Subscript:
      links.push_back(base);
      base = cast<Subscript>(base).value;
      break;
    default:
      isLink = false;
    }
  }
  Value value = eval(base);
  for (const Expr *link : llvm::reverse(links)) {
    frame->node = link;
    step();
    switch (link->kind) {
    case ExprKind::BinOp: {
      auto &op = cast<BinOp>(link);
      Value rhs = eval(op.right);
      value = binary(op.op, value, rhs);
      break;
    }
    case ExprKind::Call:
      value = evalCall(cast<Call>(link), std::move(value));
      break;
    case ExprKind::Attribute:
      value = requireAttribute(value, cast<Attribute>(link).attr);
      break;
    default: {
      Value index = evalIndex(*cast<Subscript>(link).slice);
      value = subscript(value, index);
    }
    }
  }
  return value;
}

Value Interp::evalIndex(const Expr &expr) { return unboxed(eval(&expr)); }

Value Interp::evalCall(const Call &expr, Value callee) {
  std::vector<Value> args;
  args.reserve(expr.args.size());
  for (const Expr *arg : expr.args) {
    if (auto *starred = dynCast<Starred>(arg)) {
      Value all = eval(starred->value);
      if (unboxed(all).as<Unknown>())
        return all;
      for (Value &value : iterate(all))
        args.push_back(std::move(value));
    } else {
      args.push_back(eval(arg));
    }
  }
  Keywords keywords;
  for (const Keyword &keyword : expr.keywords) {
    Value value = eval(keyword.value);
    if (!keyword.arg.empty()) {
      keywords.emplace_back(std::string(keyword.arg), std::move(value));
      continue;
    }
    if (unboxed(value).as<Unknown>())
      return value;
    auto *dict = unboxed(value).as<ops::Dict>();
    if (!dict)
      raise("TypeError", "`**` needs a dict, not `" + value.typeName() + "`");
    for (auto &[key, item] : dict->entries) {
      if (!key.isStr())
        raise("TypeError", "keywords must be strings");
      keywords.emplace_back(key.asStr(), item);
    }
  }
  return call(callee, std::move(args), std::move(keywords));
}

Value Interp::evalComprehension(const Expr &expr, const Expr *element, const Expr *value,
                                Span<Comprehension> clauses) {
  std::vector<Value> items;
  auto dict = value ? std::make_shared<ops::Dict>() : nullptr;
  std::optional<Value> unknown;
  // Clause after clause, each a loop inside the one before.
  std::function<void(uint32_t)> run = [&](uint32_t clause) {
    if (clause == clauses.size()) {
      Value item = eval(element);
      if (!value) {
        items.push_back(inKernel() ? unboxed(item) : item);
        return;
      }
      Value mapped = eval(value);
      for (auto &entry : dict->entries)
        if (equal(entry.first, item)) {
          entry.second = std::move(mapped);
          return;
        }
      dict->entries.emplace_back(unboxed(item), std::move(mapped));
      return;
    }
    const Comprehension &loop = clauses[clause];
    Value source = eval(loop.iter);
    if (unboxed(source).as<Unknown>()) {
      unknown = unboxed(source);
      return;
    }
    for (Value &item : iterate(source)) {
      if (unknown)
        return;
      step();
      if (inKernel())
        assignKernel(*loop.target, item);
      else
        assignHost(*loop.target, item);
      bool wanted = true;
      for (const Expr *filter : loop.ifs) {
        Value test = unboxed(eval(filter));
        if (test.isTile())
          fail("RuntimeCondition", "a comprehension can't be filtered by a run-time value");
        if (test.as<Unknown>()) {
          unknown = test;
          return;
        }
        if (!truth(test)) {
          wanted = false;
          break;
        }
      }
      if (wanted)
        run(clause + 1);
    }
  };

  if (inKernel()) {
    // Targets live in the comprehension only.
    std::vector<std::string_view> targets;
    for (const Comprehension &loop : clauses)
      targetNames(*loop.target, targets);
    Names before = *frame->locals;
    run(0);
    for (std::string_view name : targets) {
      if (const Binding *old = before.find(name))
        frame->locals->set(name, old->value, old->where);
      else
        frame->locals->erase(name);
    }
  } else {
    Frame inner;
    inner.mode = frame->mode;
    inner.function = frame->function;
    inner.module = frame->module;
    inner.locals = newScope();
    inner.enclosing = frame->enclosing;
    inner.enclosing.insert(inner.enclosing.begin(), frame->locals);
    inner.node = &expr;
    FrameScope scope(*this, inner);
    run(0);
  }
  if (unknown)
    return *unknown;
  if (value)
    return Value(std::move(dict));
  if (expr.kind == ExprKind::SetComp) {
    auto set = std::make_shared<SetObject>();
    for (Value &item : items)
      addTo(*set, std::move(item));
    return Value(std::move(set));
  }
  if (inKernel())
    return Value::tuple(std::move(items));
  return Value(std::make_shared<ops::List>(std::move(items)));
}

Value Interp::evalJoinedStr(const JoinedStr &expr) {
  std::string text;
  for (const Expr *piece : expr.values) {
    Value value = eval(piece);
    if (!value.isStr())
      return value;
    step(value.asStr().size() / 4);
    text += value.asStr();
  }
  return Value::str(std::move(text));
}

Value Interp::evalLambda(const Lambda &expr) {
  auto function = std::make_shared<FunctionObject>();
  function->interp = this;
  function->flavor = inKernel() ? FunctionObject::Flavor::Jit : FunctionObject::Flavor::Plain;
  function->functionName = "<lambda>";
  function->qualifiedName = "<lambda>";
  function->parameters = expr.args;
  function->lambdaBody = expr.body;
  function->module = frame->module->shared_from_this();
  function->closure = frame->enclosing;
  if (!frame->isModule && !frame->isClassBody)
    function->closure.insert(function->closure.begin(), frame->locals);
  for (const Expr *value : expr.args->defaults)
    function->defaults.push_back(eval(value));
  for (const Expr *value : expr.args->kwDefaults)
    function->kwDefaults.push_back(value ? std::optional<Value>(eval(value)) : std::nullopt);
  return Value(std::move(function));
}

} // namespace nereid::emit
