// Expressions, in both modes. Operators are in Dispatch.cpp, comprehensions in Comprehensions.cpp,
// conditional expressions on tiles in KernelBranches.cpp.
#include "emit/Interp.h"

#include "support/Spelling.h"

namespace nereid::emit {

using namespace syntax;

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
  case ExprKind::NamedExpr:
    return evalNamedExpr(cast<NamedExpr>(&expr));
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
  case ExprKind::Dict:
    return evalDict(cast<Dict>(&expr));
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
  case ExprKind::FormattedValue:
    return evalFormattedValue(cast<FormattedValue>(&expr));
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
      fail("UnsupportedSyntax", "`yield` is not part of the kernel language",
           "return a tuple, or write results through a pointer");
    frame->yielded->push_back(std::move(value));
    return Value();
  }
  case ExprKind::YieldFrom: {
    Value source = eval(cast<YieldFrom>(&expr).value);
    if (!frame->yielded)
      fail("UnsupportedSyntax", "`yield` is not part of the kernel language",
           "return a tuple, or write results through a pointer");
    for (Value &item : iterate(source))
      frame->yielded->push_back(std::move(item));
    return Value();
  }
  case ExprKind::Await:
    fail("UnsupportedSyntax", "`await` can't be evaluated");
  }
  return Value();
}

Value Interp::evalNamedExpr(const NamedExpr &named) {
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

Value Interp::evalDict(const Dict &literal) {
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

Value Interp::evalFormattedValue(const FormattedValue &piece) {
  Value value = eval(piece.value);
  if (auto *unknown = unboxed(value).as<Unknown>()) {
    if (inKernel())
      failUnknown(*unknown, "its text");
    return unboxed(value);
  }
  if (unboxed(value).isTile()) {
    std::string name = isa<Name>(piece.value) ? std::string(cast<Name>(piece.value).id) : "x";
    fail("NotConstexpr",
         "a text is made while compiling, but " +
             (isa<Name>(piece.value) ? "`" + name + "`" : "this value") +
             " is known at run time only",
         "print it at run time: `tl.device_print(\"" + name + "\", " + name + ")`");
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
    fail("UnknownValue",
         "`" + name + "` is not known: it comes from " + originText(unknown->origin),
         "pass it as an argument, or give it a value with `--define " + name + "=VALUE`");
  }
  if (box)
    return box->value;
  if (isGlobal && !hostOptions.allowGlobals && !frame->module->isPrelude && !frame->isPython) {
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
  // Habits of host code, where the module does not even import them.
  if (inKernel() && (name.id == "np" || name.id == "numpy" || name.id == "torch" ||
                     name.id == "math" || name.id == "jnp"))
    hint = "kernels compute with `tl`, as in `tl.exp(x)`; `" + std::string(name.id) +
           "` belongs to the host";
  if (name.id == "tl" || name.id == "triton")
    hint = name.id == "tl" ? "`import triton.language as tl` at the top of the file"
                           : "`import triton` at the top of the file";
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
    if (unboxed(value).as<Unknown>()) {
      auto *native = unboxed(callee).as<NativeFunction>();
      if (native && native->dropsUnknownOptions)
        continue;
      return value;
    }
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

} // namespace nereid::emit
