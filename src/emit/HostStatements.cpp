// Statements of module-level Python, as Python runs them.
//
// A module is run for what its kernels need of it, not for its effects. A statement that fails does
// not stop the module: the names it would have bound say why when a kernel uses them.
#include "emit/Interp.h"

#include "llvm/ADT/ScopeExit.h"

namespace nereid::emit {

using namespace syntax;

std::optional<Value> Interp::defined(std::string_view name) {
  auto it = hostOptions.defines.find(std::string(name));
  if (it == hostOptions.defines.end() || evaluating)
    return std::nullopt;
  const Definition &definition = it->second;
  recordFact("define", std::string(name), definition.text);
  return evaluateDefinition(it->first, definition, *frame->module);
}

Value Interp::evaluateDefinition(std::string_view name, const Definition &definition,
                                 ModuleObject &module) {
  auto scope = newScope();
  scope->set("tl", importModule("triton.language", nullptr, *definition.expr));
  scope->set("torch", importModule("torch", nullptr, *definition.expr));
  Frame body;
  body.module = &module;
  body.locals = std::move(scope);
  body.node = definition.expr;
  FrameScope inside(*this, body);
  evaluating = &definition;
  auto done = llvm::make_scope_exit([&] { evaluating = nullptr; });
  try {
    return eval(definition.expr);
  } catch (const EvalError &error) {
    if (error.fatal)
      throw;
    std::string origin = "--define " + std::string(name) + "=" + definition.text;
    failedDefinitions[origin] = error.diagnostic.message;
    return Value(std::make_shared<Unknown>(std::move(origin)));
  }
}

std::string Interp::originText(const std::string &origin) const {
  auto failed = failedDefinitions.find(origin);
  return "`" + origin + "`" + (failed == failedDefinitions.end() ? "" : ": " + failed->second);
}

// Binds a name in the scope that the statement stands in.
void Interp::bindName(std::string_view name, Value value, const Node &where) {
  if (frame->isModule)
    if (std::optional<Value> override = defined(name))
      value = Value(std::make_shared<ConstexprBox>(*override));
  if (frame->globalNames.count(name)) {
    frame->module->names->set(name, std::move(value), &where);
    return;
  }
  if (frame->nonlocalNames.count(name))
    for (auto &scope : frame->enclosing)
      if (scope->find(name)) {
        scope->set(name, std::move(value), &where);
        return;
      }
  frame->locals->set(name, std::move(value), &where);
}

std::string Interp::unpack(Span<Expr *> targets, const std::vector<Value> &items,
                           llvm::function_ref<Value(std::vector<Value>)> makeRest,
                           llvm::function_ref<void(const Expr &, Value)> assign) {
  size_t star = targets.size();
  for (size_t i = 0; i < targets.size(); ++i)
    if (isa<Starred>(targets[i]))
      star = i;
  bool fits =
      star == targets.size() ? items.size() == targets.size() : items.size() + 1 >= targets.size();
  if (!fits)
    return std::to_string(items.size()) + " values can't be unpacked into " +
           std::to_string(targets.size()) + " names";
  for (size_t i = 0, at = 0; i < targets.size(); ++i) {
    if (i != star) {
      assign(*targets[i], items[at++]);
      continue;
    }
    size_t extra = items.size() + 1 - targets.size();
    assign(*cast<Starred>(targets[i]).value,
           makeRest({items.begin() + at, items.begin() + at + extra}));
    at += extra;
  }
  return {};
}

// The place that an index names, from the end where it is negative.
std::optional<size_t> Interp::placeIn(const ops::List &list, const Value &index) {
  int64_t size = int64_t(list.items.size()), at = asInt(index, "a list index");
  if (at < 0)
    at += size;
  if (at < 0 || at >= size)
    return std::nullopt;
  return size_t(at);
}

void Interp::assignHost(const Expr &target, Value value) {
  switch (target.kind) {
  case ExprKind::Name:
    return bindName(cast<Name>(&target).id, std::move(value), target);
  case ExprKind::Starred:
    return assignHost(*cast<Starred>(&target).value, std::move(value));
  case ExprKind::Tuple:
  case ExprKind::List: {
    Span<Expr *> targets =
        target.kind == ExprKind::Tuple ? cast<Tuple>(&target).elts : cast<List>(&target).elts;
    if (auto *unknown = unboxed(value).as<Unknown>()) {
      for (const Expr *one : targets)
        assignHost(*one, Value(std::make_shared<Unknown>(unknown->origin)));
      return;
    }
    std::string misfit = unpack(
        targets, iterate(value),
        [](std::vector<Value> rest) { return Value(std::make_shared<ops::List>(std::move(rest))); },
        [&](const Expr &one, Value item) { assignHost(one, std::move(item)); });
    if (!misfit.empty())
      raise("ValueError", std::move(misfit));
    return;
  }
  case ExprKind::Attribute: {
    Value object = eval(cast<Attribute>(&target).value);
    frame->node = &target;
    return setAttribute(object, cast<Attribute>(&target).attr, std::move(value));
  }
  case ExprKind::Subscript: {
    auto &item = cast<Subscript>(&target);
    Value object = unboxed(eval(item.value));
    Value index = evalIndex(*item.slice);
    frame->node = &target;
    weigh(value, 1);
    noteStore(object, value);
    if (object.as<Unknown>())
      return;
    if (auto *dict = object.as<ops::Dict>()) {
      for (auto &entry : dict->entries)
        if (equal(entry.first, index)) {
          entry.second = std::move(value);
          return;
        }
      dict->entries.emplace_back(index, std::move(value));
      return;
    }
    if (auto *list = object.as<ops::List>()) {
      std::optional<size_t> at = placeIn(*list, index);
      if (!at)
        raise("IndexError", "list assignment index out of range");
      list->items[*at] = std::move(value);
      return;
    }
    if (object.as<Instance>()) {
      call(requireAttribute(object, "__setitem__"), {index, std::move(value)}, {});
      return;
    }
    raise("TypeError", "`" + object.typeName() + "` object has no item assignment");
  }
  default:
    fail("UnsupportedSyntax", "this can't be assigned to");
  }
}

void Interp::deleteTarget(const Expr &target) {
  if (auto *name = dynCast<Name>(&target)) {
    frame->locals->erase(name->id);
    return;
  }
  if (auto *tuple = dynCast<Tuple>(&target)) {
    for (const Expr *item : tuple->elts)
      deleteTarget(*item);
    return;
  }
  if (auto *item = dynCast<Subscript>(&target)) {
    Value object = unboxed(eval(item->value));
    Value index = evalIndex(*item->slice);
    noteChange(object);
    if (auto *dict = object.as<ops::Dict>()) {
      auto it = std::find_if(dict->entries.begin(), dict->entries.end(),
                             [&](auto &entry) { return equal(entry.first, index); });
      if (it == dict->entries.end())
        raiseKeyError(index, dict);
      dict->entries.erase(it);
      return;
    }
    if (auto *list = object.as<ops::List>()) {
      std::optional<size_t> at = placeIn(*list, index);
      if (!at)
        raise("IndexError", "list index out of range");
      list->items.erase(list->items.begin() + ptrdiff_t(*at));
    }
  }
}

void Interp::poisonTargets(const Stmt &stmt, const EvalError &failure) {
  for (std::string_view name : bodyFacts(stmt).assigned) {
    if (frame->isModule)
      if (std::optional<Value> override = defined(name)) {
        frame->locals->set(name, Value(std::make_shared<ConstexprBox>(*override)), &stmt);
        continue;
      }
    if (failure.fatal && stepsLeft == 0) {
      frame->locals->poison(
          name, {failure.diagnostic.code,
                 "has no value: module-level code reached a limit: " + failure.diagnostic.message,
                 "give a name that the code waits for a value with `--define`",
                 failure.diagnostic.where, failure.diagnostic.notes});
      continue;
    }
    Diagnostic cause = failure.diagnostic;
    cause.severity = Severity::Note;
    frame->locals->poison(name, {"ModuleLevelFailure",
                                 "has no value: the statement that defines it failed",
                                 "give it one with `--define " + std::string(name) + "=VALUE`",
                                 {},
                                 {std::move(cause)}});
  }
}

// Runs statements one by one; those that fail poison what they would have bound. One that takes all
// steps leaves half as many to those behind it, so that all together take at most twice the limit.
Interp::Flow Interp::execTolerant(Span<Stmt *> statements) {
  Frame *current = frame;
  bool inFunction = !frame->isModule && !frame->isClassBody;
  for (const Stmt *stmt : statements) {
    unsigned depthBefore = depth;
    try {
      if (Flow flow = execHost(*stmt); flow != Flow::Next)
        return flow;
    } catch (EvalError &failure) {
      frame = current;
      depth = depthBefore;
      if (stepsLeft == 0)
        stepsLeft = refill /= 2;
      if (inFunction && isa<Raise>(stmt))
        return Flow::Raise;
      poisonTargets(*stmt, failure);
      if (inFunction && bodyFacts(*stmt).returns) {
        std::string origin = (frame->function ? frame->function->name() : "") + "(...)";
        returnHost(makeUnknown(origin));
        frame->returned.undecided = origin;
        if (isa<Return>(stmt))
          return Flow::Return;
      }
    }
  }
  return Flow::Next;
}

Interp::Flow Interp::execHost(Span<Stmt *> body) {
  for (const Stmt *stmt : body) {
    Flow flow = execHost(*stmt);
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Interp::Flow Interp::execHost(const Stmt &stmt) {
  frame->node = &stmt;
  step();
  switch (stmt.kind) {
  case StmtKind::ExprStmt:
    if (!isa<Constant>(cast<ExprStmt>(&stmt).value))
      eval(cast<ExprStmt>(&stmt).value);
    return Flow::Next;
  case StmtKind::Assign: {
    auto &assign = cast<Assign>(&stmt);
    Value value = eval(assign.value);
    frame->node = &stmt;
    for (const Expr *target : assign.targets)
      assignHost(*target, value);
    return Flow::Next;
  }
  case StmtKind::AnnAssign: {
    auto &assign = cast<AnnAssign>(&stmt);
    if (frame->isClassBody)
      if (auto *name = dynCast<Name>(assign.target))
        frame->annotated.push_back({name->id, assign.annotation, assign.value != nullptr});
    if (!assign.value)
      return Flow::Next;
    Value value = eval(assign.value);
    frame->node = &stmt;
    assignHost(*assign.target, std::move(value));
    return Flow::Next;
  }
  case StmtKind::AugAssign:
    execHostAugAssign(cast<AugAssign>(&stmt));
    return Flow::Next;
  case StmtKind::Pass:
    return Flow::Next;
  case StmtKind::Break:
    return Flow::Break;
  case StmtKind::Continue:
    return Flow::Continue;
  case StmtKind::Return: {
    auto &ret = cast<Return>(&stmt);
    returnHost(ret.value ? eval(ret.value) : Value());
    return Flow::Return;
  }
  case StmtKind::If:
    return execHostIf(cast<If>(&stmt));
  case StmtKind::For:
    return execHostFor(cast<For>(&stmt));
  case StmtKind::While:
    return execHostWhile(cast<While>(&stmt));
  case StmtKind::Try:
    return execHostTry(cast<Try>(&stmt));
  case StmtKind::With:
    return execHostWith(cast<With>(&stmt), 0);
  case StmtKind::Raise:
    execHostRaise(cast<Raise>(&stmt));
  case StmtKind::Assert: {
    auto &check = cast<Assert>(&stmt);
    Value condition = unboxed(eval(check.test));
    if (condition.as<Unknown>() || truth(condition))
      return Flow::Next;
    raise("AssertionError", check.msg ? str(eval(check.msg)) : "");
  }
  case StmtKind::Import:
    execImport(cast<Import>(&stmt));
    return Flow::Next;
  case StmtKind::ImportFrom:
    execImportFrom(cast<ImportFrom>(&stmt));
    return Flow::Next;
  case StmtKind::FunctionDef: {
    auto &def = cast<FunctionDef>(&stmt);
    Value function = decorate(makeFunction(def), def.decorators);
    bindName(def.name, std::move(function), stmt);
    return Flow::Next;
  }
  case StmtKind::ClassDef: {
    auto &def = cast<ClassDef>(&stmt);
    Value type = decorate(makeClass(def), def.decorators);
    bindName(def.name, std::move(type), stmt);
    return Flow::Next;
  }
  case StmtKind::Global:
    for (Identifier name : cast<Global>(&stmt).names)
      frame->globalNames.insert(name);
    return Flow::Next;
  case StmtKind::Nonlocal:
    for (Identifier name : cast<Nonlocal>(&stmt).names)
      frame->nonlocalNames.insert(name);
    return Flow::Next;
  case StmtKind::Delete:
    for (const Expr *target : cast<Delete>(&stmt).targets)
      deleteTarget(*target);
    return Flow::Next;
  case StmtKind::TypeAlias:
    if (auto *name = dynCast<Name>(cast<TypeAlias>(&stmt).name))
      bindName(name->id, Value(std::make_shared<Unknown>(std::string(name->id))), stmt);
    return Flow::Next;
  case StmtKind::Match:
    fail("UnsupportedSyntax", "`match` can't be evaluated");
  }
  return Flow::Next;
}

void Interp::execHostAugAssign(const AugAssign &assign) {
  Value old = eval(assign.target);
  Value operand = eval(assign.value);
  frame->node = &assign;
  if (auto *list = unboxed(old).as<ops::List>(); list && assign.op == BinaryOp::Add) {
    std::vector<Value> items = iterate(operand);
    noteChange(unboxed(old));
    list->items.insert(list->items.end(), items.begin(), items.end());
    return;
  }
  assignHost(*assign.target, binary(assign.op, old, operand));
}

Interp::Flow Interp::execHostIf(const If &stmt) {
  const If *current = &stmt;
  // A name with two definitions is as open as what they depend on.
  auto conditionOf = [&]() -> Value {
    try {
      return unboxed(eval(current->test));
    } catch (const EvalError &failure) {
      if (failure.diagnostic.code != "UnknownDefinition")
        throw;
      const std::string &message = failure.diagnostic.message;
      size_t open = message.find('`'), close = message.find('`', open + 1);
      return makeUnknown(close == std::string::npos ? "a name with two definitions"
                                                    : message.substr(open + 1, close - open - 1));
    }
  };
  for (;;) {
    frame->node = current;
    Value condition = conditionOf();
    if (condition.as<Unknown>())
      return execUnknownIf(*current, condition);
    if (truth(condition))
      return execHost(current->body);
    if (current->orelse.size() != 1 || !isa<If>(current->orelse[0]))
      return execHost(current->orelse);
    current = static_cast<const If *>(current->orelse[0]);
    step();
  }
}

Interp::Flow Interp::execHostWhile(const While &loop) {
  for (;;) {
    frame->node = &loop;
    step();
    if (!truth(eval(loop.test)))
      return execHost(loop.orelse);
    Flow flow = execHost(loop.body);
    if (flow == Flow::Return)
      return flow;
    if (flow == Flow::Break)
      return Flow::Next;
  }
}

void Interp::execHostRaise(const Raise &raised) {
  if (!raised.exc) {
    if (frame->handling)
      throw EvalError(*frame->handling);
    raise("RuntimeError", "no active exception to reraise");
  }
  Value exception = unboxed(eval(raised.exc));
  frame->node = &raised;
  if (auto *type = exception.as<ClassObject>())
    exception = callClass(*type, {}, {});
  auto *instance = exception.as<Instance>();
  if (!instance)
    raise("TypeError", "exceptions must derive from BaseException");
  EvalError failure =
      error(raised, "Raised",
            instance->type->className + (str(exception).empty() ? "" : ": ") + str(exception));
  failure.pythonType = instance->type->className;
  failure.exception = exception;
  throw failure;
}

Interp::Flow Interp::execHostFor(const For &stmt) {
  Value source = unboxed(eval(stmt.iter));
  frame->node = &stmt;
  if (auto *unknown = source.as<Unknown>()) {
    // Any number of rounds: what the body assigns is unknown afterwards.
    for (std::string_view name : bodyFacts(stmt).assigned)
      bindName(name, Value(std::make_shared<Unknown>(unknown->origin)), stmt);
    return Flow::Next;
  }
  for (Value &item : iterate(source)) {
    frame->node = &stmt;
    step();
    assignHost(*stmt.target, std::move(item));
    Flow flow = execHost(stmt.body);
    if (flow == Flow::Return)
      return flow;
    if (flow == Flow::Break)
      return Flow::Next;
  }
  return execHost(stmt.orelse);
}

Interp::Flow Interp::execHostTry(const Try &stmt) {
  auto finish = [&](Flow flow) {
    Flow last = execHost(stmt.finalbody);
    return last == Flow::Next ? flow : last;
  };
  Frame *current = frame;
  unsigned depthBefore = depth;
  Flow flow;
  try {
    try {
      flow = execHost(stmt.body);
      if (flow == Flow::Next)
        flow = execHost(stmt.orelse);
    } catch (EvalError &failure) {
      frame = current;
      depth = depthBefore;
      if (failure.fatal)
        throw;
      const ExceptHandler *chosen = nullptr;
      for (const ExceptHandler &handler : stmt.handlers) {
        if (!handler.type || matchesException(failure, unboxed(eval(handler.type)))) {
          chosen = &handler;
          break;
        }
      }
      if (!chosen)
        throw;
      if (!chosen->name.empty())
        bindName(chosen->name, exceptionObject(failure), stmt);
      auto handled = std::make_shared<const EvalError>(failure);
      auto outer = frame->handling;
      frame->handling = handled;
      flow = execHost(chosen->body);
      frame->handling = outer;
    }
  } catch (EvalError &) {
    frame = current;
    depth = depthBefore;
    Flow last = execHost(stmt.finalbody);
    if (last != Flow::Next)
      return last;
    throw;
  }
  return finish(flow);
}

bool Interp::matchesException(const EvalError &failure, const Value &type) {
  if (type.isTuple()) {
    for (const Value &one : type.items())
      if (matchesException(failure, unboxed(one)))
        return true;
    return false;
  }
  // `except torch.Error`: whether it would match can't be told; it is not ours.
  auto *wanted = type.as<ClassObject>();
  if (!wanted)
    return false;
  if (auto *raised = failure.exception.as<Instance>())
    return raised->type->derivesFrom(*wanted);
  std::shared_ptr<ClassObject> raised =
      builtinClass(failure.pythonType.empty() ? "Exception" : failure.pythonType);
  return raised && raised->derivesFrom(*wanted);
}

Value Interp::exceptionObject(const EvalError &failure) {
  if (!failure.exception.isNone())
    return failure.exception;
  std::shared_ptr<ClassObject> type = builtinClass(failure.pythonType);
  if (!type)
    type = builtinClass("Exception");
  auto instance = std::make_shared<Instance>(type);
  instance->fields["args"] = Value::tuple({Value::str(failure.diagnostic.message)});
  return Value(std::move(instance));
}

Interp::Flow Interp::execHostWith(const With &stmt, size_t item) {
  if (item == stmt.items.size())
    return execHost(stmt.body);
  const WithItem &entry = stmt.items[item];
  Value manager = unboxed(eval(entry.contextExpr));
  if (manager.as<Unknown>()) {
    if (entry.optionalVars)
      assignHost(*entry.optionalVars, manager);
    return execHostWith(stmt, item + 1);
  }
  Value enter = requireAttribute(manager, "__enter__");
  Value leave = requireAttribute(manager, "__exit__");
  Value entered = call(enter, {}, {});
  if (entry.optionalVars)
    assignHost(*entry.optionalVars, entered);
  Frame *current = frame;
  unsigned depthBefore = depth;
  Flow flow;
  try {
    flow = execHostWith(stmt, item + 1);
  } catch (EvalError &failure) {
    frame = current;
    depth = depthBefore;
    if (failure.fatal)
      throw;
    Value exception = exceptionObject(failure);
    if (truth(call(leave, {Value(), exception, Value()}, {})))
      return Flow::Next;
    throw;
  }
  call(leave, {Value(), Value(), Value()}, {});
  return flow;
}

} // namespace nereid::emit
