// Statements of module-level Python, as Python runs them.
//
// A module is run for what its kernels need of it, not for its effects. A statement that fails does
// not stop the module: the names it would have bound say why when a kernel uses them.

#include "emit/Interp.h"

#include "syntax/Printer.h"

namespace nereid::emit {

using namespace syntax;

std::optional<Value> Interp::defined(std::string_view name) {
  auto it = hostOptions.defines.find(std::string(name));
  if (it == hostOptions.defines.end())
    return std::nullopt;
  recordFact("define", std::string(name), it->second.source());
  return fromConstant(it->second);
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
    std::vector<Value> items = iterate(value);
    size_t star = targets.size();
    for (size_t i = 0; i < targets.size(); ++i)
      if (isa<Starred>(targets[i]))
        star = i;
    bool fits = star == targets.size() ? items.size() == targets.size()
                                       : items.size() + 1 >= targets.size();
    if (!fits)
      raise("ValueError", std::to_string(items.size()) + " values can't be unpacked into " +
                              std::to_string(targets.size()) + " names");
    size_t extra = items.size() + 1 - std::min(items.size() + 1, size_t(targets.size()));
    for (size_t i = 0, at = 0; i < targets.size(); ++i) {
      if (i == star) {
        std::vector<Value> rest(items.begin() + at, items.begin() + at + extra);
        assignHost(*targets[i], Value(std::make_shared<ops::List>(std::move(rest))));
        at += extra;
      } else {
        assignHost(*targets[i], items[at++]);
      }
    }
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
      int64_t size = int64_t(list->items.size()), at = asInt(index, "a list index");
      if (at < 0)
        at += size;
      if (at < 0 || at >= size)
        raise("IndexError", "list assignment index out of range");
      list->items[size_t(at)] = std::move(value);
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
        raiseKeyError(index);
      dict->entries.erase(it);
      return;
    }
    if (auto *list = object.as<ops::List>()) {
      int64_t size = int64_t(list->items.size()), at = asInt(index, "a list index");
      if (at < 0)
        at += size;
      if (at < 0 || at >= size)
        raise("IndexError", "list index out of range");
      list->items.erase(list->items.begin() + at);
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

// The frame in which a module's statements run.
static Frame bodyOf(ModuleObject &module) {
  Frame body;
  body.isModule = true;
  body.module = &module;
  body.locals = module.names;
  return body;
}

void Interp::runModuleBody(ModuleObject &module) {
  Frame body = bodyOf(module);
  FrameScope scope(*this, body);
  loading.insert(&module);
  execTolerant(module.tree->body);
  loading.erase(&module);
}

// A package is run when something asks for it, not before its modules as in Python, so a circular
// import may find a module half-way that is complete in Python. The import or the definition of the
// name there is run ahead of its turn.
void Interp::runAhead(ModuleObject &module, std::string_view name) {
  if (!loading.count(&module) || !runsAhead.emplace(&module, name).second)
    return;
  Frame body = bodyOf(module);
  FrameScope scope(*this, body);
  for (Stmt *const &stmt : module.tree->body) {
    const std::vector<std::string_view> &assigned = bodyFacts(*stmt).assigned;
    bool stands =
        isa<Import>(stmt) || isa<ImportFrom>(stmt) || isa<FunctionDef>(stmt) || isa<ClassDef>(stmt);
    if (stands && std::find(assigned.begin(), assigned.end(), name) != assigned.end())
      execTolerant({&stmt, 1});
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

// A host function returns `value`: that alone, unless it may have returned another value earlier.
void Interp::returnHost(Value value) {
  Returned &returned = frame->returned;
  if (!returned.undecided.empty() && returned.value && !sameValue(*returned.value, value))
    value = makeUnknown(returned.undecided);
  returned.value = std::move(value);
}

// The body of a function whose frame is the current one, and what it returns. An exception on the
// path that is left where it may have returned before is not its outcome.
Value Interp::runHostBody(const FunctionObject &function) {
  Frame *current = frame;
  unsigned depthBefore = depth;
  try {
    if (execHost(function.def->body) != Flow::Return)
      returnHost(Value());
  } catch (EvalError &failure) {
    frame = current;
    depth = depthBefore;
    if (failure.fatal || frame->returned.undecided.empty() || !frame->returned.value)
      throw;
  }
  return *frame->returned.value;
}

// Kernels may be defined inside a function (a test, a factory): its body is run as a module is,
// with parameters that are not known.
std::shared_ptr<Names> Interp::localsOf(const FunctionObject &function) {
  Frame body;
  body.mode = Frame::Mode::Host;
  body.function = &function;
  body.module = function.module.get();
  body.enclosing = function.closure;
  body.locals = newScope();
  body.node = function.node();
  stepsLeft = refill = hostOptions.limits.steps;
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  const Arguments &parameters = *function.parameters;
  for (const Span<Arg> &list : {parameters.posonlyargs, parameters.args, parameters.kwonlyargs})
    for (const Arg &arg : list) {
      std::optional<Value> value = defined(arg.arg);
      body.locals->set(arg.arg,
                       value ? Value(std::make_shared<ConstexprBox>(*value))
                             : makeUnknown(function.name() + "." + std::string(arg.arg)),
                       &arg);
    }
  FrameScope scope(*this, body);
  execTolerant(function.def->body);
  return body.locals;
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
  case StmtKind::AugAssign: {
    auto &assign = cast<AugAssign>(&stmt);
    Value old = eval(assign.target);
    Value operand = eval(assign.value);
    frame->node = &stmt;
    if (auto *list = unboxed(old).as<ops::List>(); list && assign.op == BinaryOp::Add) {
      std::vector<Value> items = iterate(operand);
      noteChange(unboxed(old));
      list->items.insert(list->items.end(), items.begin(), items.end());
      return Flow::Next;
    }
    assignHost(*assign.target, binary(assign.op, old, operand));
    return Flow::Next;
  }
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
  case StmtKind::If: {
    const If *current = &cast<If>(&stmt);
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
  case StmtKind::For:
    return execHostFor(cast<For>(&stmt));
  case StmtKind::While: {
    auto &loop = cast<While>(&stmt);
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
  case StmtKind::Try:
    return execHostTry(cast<Try>(&stmt));
  case StmtKind::With:
    return execHostWith(cast<With>(&stmt), 0);
  case StmtKind::Raise: {
    auto &raised = cast<Raise>(&stmt);
    if (!raised.exc) {
      if (frame->handling)
        throw EvalError(*frame->handling);
      raise("RuntimeError", "no active exception to reraise");
    }
    Value exception = unboxed(eval(raised.exc));
    frame->node = &stmt;
    if (auto *type = exception.as<ClassObject>())
      exception = callClass(*type, {}, {});
    auto *instance = exception.as<Instance>();
    if (!instance)
      raise("TypeError", "exceptions must derive from BaseException");
    EvalError failure =
        error(stmt, "Raised",
              instance->type->className + (str(exception).empty() ? "" : ": ") + str(exception));
    failure.pythonType = instance->type->className;
    failure.exception = exception;
    throw failure;
  }
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

// An unknown value as it is bound by an import.
static Value imported(Value value) {
  auto *unknown = value.as<Unknown>();
  if (!unknown)
    return value;
  auto own = std::make_shared<Unknown>(unknown->origin);
  own->isImported = true;
  return Value(own);
}

void Interp::execImport(const Import &stmt) {
  for (const Alias &alias : stmt.names) {
    std::string name(alias.name);
    Value module = imported(importModule(name, frame->module, stmt));
    if (!alias.asname.empty()) {
      bindName(alias.asname, module, stmt);
      continue;
    }
    size_t dot = name.find('.');
    if (dot == std::string::npos) {
      bindName(alias.name, module, stmt);
      continue;
    }
    std::string root = name.substr(0, dot);
    bindName(alias.name.substr(0, dot), imported(importModule(root, frame->module, stmt)), stmt);
  }
}

void Interp::execImportFrom(const ImportFrom &stmt) {
  std::string name(stmt.module);
  if (stmt.level) {
    // `from .a import b`: counted from the package of this module.
    std::string package = frame->module->package;
    for (uint32_t i = 1; i < stmt.level; ++i) {
      size_t dot = package.rfind('.');
      package = dot == std::string::npos ? "" : package.substr(0, dot);
    }
    name = package.empty() ? name : name.empty() ? package : package + "." + name;
  }
  if (name == "__future__")
    return;
  for (const Alias &alias : stmt.names) {
    if (alias.name == "*") {
      Value module = importModule(name, frame->module, stmt);
      if (auto *source = module.as<ModuleObject>())
        for (const Binding &binding : source->names->all())
          if (!binding.deleted && !binding.name.starts_with("_")) {
            if (binding.unusable)
              frame->locals->poison(binding.name, *binding.unusable);
            else
              frame->locals->set(binding.name, binding.value, binding.where);
          }
      continue;
    }
    std::string_view bound = alias.asname.empty() ? alias.name : alias.asname;
    std::string part(alias.name);
    Value module = name.empty() ? Value() : importModule(name, frame->module, stmt);
    std::optional<Value> value;
    bool isBound = false;
    if (auto *source = module.as<ModuleObject>()) {
      if (!source->names->find(part))
        runAhead(*source, intern(part));
      if (const Binding *binding = source->names->find(part)) {
        isBound = true;
        if (binding->unusable) {
          frame->locals->poison(bound, *binding->unusable);
          continue;
        }
        value = binding->value;
      } else if (runAhead(*source, "__getattr__"); source->names->find("__getattr__")) {
        // The module makes such names when they are asked for.
        isBound = true;
        value = makeUnknown(name + "." + part);
      }
    } else if (!module.isNone()) {
      value = attribute(module, part);
    }
    // A module below the package.
    if (!value || (value->as<Unknown>() && module.as<Unknown>())) {
      Value below = importModule(name.empty() ? part : name + "." + part, frame->module, stmt);
      if (!below.as<Unknown>() || !value)
        value = below;
    }
    // Packages guard Triton in a module of their own, and files of them come without it.
    if (value->as<Unknown>() && module.as<Unknown>() && alias.asname.empty() &&
        (part == "triton" || part == "tl"))
      value = nativeModule(part == "tl" ? "triton.language" : part);
    // A name that is bound to an unknown value, such as a fact of the machine, is there.
    if (!isBound && value->as<Unknown>() && !module.isNone() && !module.as<Unknown>() &&
        !module.as<NativeModule>())
      raise("ImportError", "cannot import name `" + part + "` from `" + name + "`");
    bindName(bound, imported(*value), stmt);
  }
}

Value Interp::makeFunction(const FunctionDef &def) {
  auto function = std::make_shared<FunctionObject>();
  function->interp = this;
  function->functionName = def.name;
  function->qualifiedName = frame->qualifiedPrefix + std::string(def.name);
  function->parameters = def.args;
  function->def = &def;
  function->module = frame->module->shared_from_this();
  function->closure = frame->enclosing;
  if (!frame->isModule && !frame->isClassBody)
    function->closure.insert(function->closure.begin(), frame->locals);
  // The unit may bring a default's value (SourceUnit::globals).
  auto defaultOf = [&](const Expr *value, const Arg &parameter) {
    const Binding *given =
        frame->module->names->find(function->qualifiedName + "." + std::string(parameter.arg));
    return given ? given->value : eval(value);
  };
  const Arguments &parameters = *def.args;
  std::vector<const Arg *> positional;
  for (const Span<Arg> &list : {parameters.posonlyargs, parameters.args})
    for (const Arg &parameter : list)
      positional.push_back(&parameter);
  size_t first =
      positional.size() - std::min(positional.size(), size_t(parameters.defaults.size()));
  for (size_t i = first; i < positional.size(); ++i)
    function->defaults.push_back(defaultOf(parameters.defaults[i - first], *positional[i]));
  for (size_t i = 0; i < parameters.kwDefaults.size(); ++i)
    function->kwDefaults.push_back(
        parameters.kwDefaults[i]
            ? std::optional<Value>(defaultOf(parameters.kwDefaults[i], parameters.kwonlyargs[i]))
            : std::nullopt);
  return Value(std::move(function));
}

Value Interp::decorate(Value value, Span<Expr *> decorators) {
  auto kernelOf = [](const Value &one) {
    auto *function = unboxed(one).as<FunctionObject>();
    return function && function->kernel ? function : nullptr;
  };
  for (size_t i = decorators.size(); i-- > 0;) {
    frame->node = decorators[i];
    auto decorated = [&] {
      Value decorator = eval(decorators[i]);
      frame->node = decorators[i];
      return call(decorator, {value}, {});
    };
    FunctionObject *kernel = kernelOf(value);
    if (!kernel) {
      value = decorated();
      continue;
    }
    // What decorates a kernel launches it: keeps compiled ones, counts, logs. Whatever that object
    // is, and even if it can't be made here, the name stands for the kernel.
    Frame *current = frame;
    unsigned depthBefore = depth;
    try {
      if (Value wrapped = decorated(); kernelOf(wrapped))
        value = std::move(wrapped);
    } catch (EvalError &failure) {
      if (failure.fatal)
        throw;
      frame = current;
      depth = depthBefore;
      auto copy = std::make_shared<FunctionObject>(*kernel);
      copy->kernel = std::make_shared<KernelInfo>(*kernel->kernel);
      copy->kernel->decorators.push_back({syntax::print(*decorators[i]),
                                          {},
                                          {},
                                          std::make_shared<const Diagnostic>(failure.diagnostic)});
      value = Value(std::move(copy));
    }
  }
  return value;
}

} // namespace nereid::emit
