// Expressions with a scope of their own: comprehensions and lambdas.
#include "emit/Interp.h"

namespace nereid::emit {

using namespace syntax;

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
