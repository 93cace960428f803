// Calls: binding arguments to parameters, then running what is called.

#include "emit/Interp.h"
#include "ops/ArgumentError.h"

namespace nereid::emit {

using namespace syntax;

namespace {

struct DepthScope {
  explicit DepthScope(unsigned &depth) : depth(depth) { ++depth; }
  ~DepthScope() { --depth; }
  DepthScope(const DepthScope &) = delete;
  unsigned &depth;
};

} // namespace

size_t Interp::stackUsed() const {
  const char *here = static_cast<const char *>(__builtin_frame_address(0));
  return here < stackBase ? size_t(stackBase - here) : size_t(here - stackBase);
}

void Interp::checkStack() {
  if (stackUsed() <= hostOptions.limits.stackBytes)
    return;
  EvalError failure = error(*frame->node, "RecursionTooDeep", "the value is nested without end");
  failure.pythonType = "RecursionError";
  failure.fatal = true;
  throw failure;
}

void Interp::checkDepth(const FunctionObject *function) {
  if (depth <= hostOptions.limits.depth && stackUsed() <= hostOptions.limits.stackBytes)
    return;
  std::string message =
      "calls are nested more than " + std::to_string(hostOptions.limits.depth) + " deep";
  std::string hint;
  // A function that is on the stack many times over calls itself.
  if (function) {
    unsigned times = 0;
    std::vector<std::string> cycle;
    for (Frame *outer = frame; outer; outer = outer->caller) {
      if (!outer->function)
        continue;
      if (times == 0)
        cycle.push_back(outer->function->name());
      if (outer->function->node() == function->node())
        ++times;
    }
    if (times > 1) {
      std::string chain = function->name();
      for (const std::string &name : cycle)
        chain = name + " -> " + chain;
      message = "`" + function->name() + "` calls itself without end: " + chain;
      hint = inKernel() ? "kernels are inlined, so recursion must end while compiling" : "";
    }
  }
  EvalError failure = error(*frame->node, "RecursionTooDeep", message, hint);
  failure.pythonType = "RecursionError";
  failure.fatal = true;
  throw failure;
}

// Positional arguments fill parameters from the left, keywords by name, defaults the rest.
void Interp::bindParameters(const FunctionObject &function, std::vector<Value> args,
                            Keywords keywords, Names &into) {
  const Arguments &parameters = *function.parameters;
  std::string name = function.name();
  uint32_t positionalOnly = parameters.posonlyargs.size();
  uint32_t positional = positionalOnly + parameters.args.size();
  auto parameter = [&](uint32_t i) -> const Arg & {
    return i < positionalOnly ? parameters.posonlyargs[i] : parameters.args[i - positionalOnly];
  };
  std::vector<bool> filled(positional + parameters.kwonlyargs.size());
  std::vector<Value> extra;
  for (uint32_t i = 0; i < args.size(); ++i) {
    if (i < positional) {
      into.set(parameter(i).arg, std::move(args[i]), &parameter(i));
      filled[i] = true;
    } else if (parameters.vararg) {
      extra.push_back(std::move(args[i]));
    } else {
      raise("TypeError", "`" + name + "` takes " + std::to_string(positional) +
                             " positional arguments, but " + std::to_string(args.size()) +
                             " are given");
    }
  }
  auto others = parameters.kwarg ? std::make_shared<ops::Dict>() : nullptr;
  for (auto &[key, value] : keywords) {
    const Arg *wanted = nullptr;
    size_t slot = 0;
    for (uint32_t i = positionalOnly; i < positional && !wanted; ++i)
      if (parameter(i).arg == key) {
        wanted = &parameter(i);
        slot = i;
      }
    for (uint32_t i = 0; i < parameters.kwonlyargs.size() && !wanted; ++i)
      if (parameters.kwonlyargs[i].arg == key) {
        wanted = &parameters.kwonlyargs[i];
        slot = positional + i;
      }
    if (wanted) {
      if (filled[slot])
        raise("TypeError", "`" + name + "` gets two values for `" + key + "`");
      into.set(wanted->arg, std::move(value), wanted);
      filled[slot] = true;
    } else if (others) {
      others->entries.emplace_back(Value::str(key), std::move(value));
    } else {
      raise("TypeError", "`" + name + "` has no parameter `" + key + "`");
    }
  }
  size_t firstDefault = positional - std::min<size_t>(positional, function.defaults.size());
  std::string missing;
  unsigned missingCount = 0;
  auto miss = [&](const Arg &arg) {
    missing += (missing.empty() ? "`" : ", `") + std::string(arg.arg) + "`";
    ++missingCount;
  };
  for (uint32_t i = 0; i < positional; ++i) {
    if (filled[i])
      continue;
    if (i >= firstDefault)
      into.set(parameter(i).arg, function.defaults[i - firstDefault], &parameter(i));
    else
      miss(parameter(i));
  }
  for (uint32_t i = 0; i < parameters.kwonlyargs.size(); ++i) {
    if (filled[positional + i])
      continue;
    if (i < function.kwDefaults.size() && function.kwDefaults[i])
      into.set(parameters.kwonlyargs[i].arg, *function.kwDefaults[i], &parameters.kwonlyargs[i]);
    else
      miss(parameters.kwonlyargs[i]);
  }
  if (missingCount)
    raise("TypeError",
          "`" + name + "` misses " + (missingCount > 1 ? "arguments " : "argument ") + missing);
  if (parameters.vararg)
    into.set(parameters.vararg->arg, Value::tuple(std::move(extra)), parameters.vararg);
  if (parameters.kwarg)
    into.set(parameters.kwarg->arg, Value(std::move(others)), parameters.kwarg);
}

Value Interp::call(const Value &calleeIn, std::vector<Value> args, Keywords keywords) {
  const Value callee = unboxed(calleeIn);
  if (inKernel()) {
    unbox(args);
    for (auto &keyword : keywords)
      unbox(keyword.second);
    dropBuilderArguments(keywords);
  }
  if (callee.isCallable()) {
    // The object may be rebound while it runs.
    std::shared_ptr<ops::Object> keep = callee.object();
    auto &callable = static_cast<ops::Callable &>(*keep);
    // What kernels call most comes first: a cast that fails is slow.
    if (auto *op = dynamic_cast<OpFunction *>(&callable)) {
      if (op->oldSpelling)
        note("OldSpelling", "`tl." + op->spelled + "` is an old spelling",
             "write `" + ops::spelling(*op->row) + "`" +
                 (op->row->name.starts_with("libdevice.")
                      ? " after `from triton.language.extra import libdevice`"
                      : ""));
      return callOp(*op->row, std::move(args), std::move(keywords));
    }
    if (auto *function = dynamic_cast<FunctionObject *>(&callable))
      return callFunction(*function, std::move(args), std::move(keywords));
    if (auto *bound = dynamic_cast<BoundMethod *>(&callable)) {
      args.insert(args.begin(), bound->self);
      return call(Value(std::static_pointer_cast<ops::Object>(bound->function)), std::move(args),
                  std::move(keywords));
    }
    if (auto *native = dynamic_cast<NativeFunction *>(&callable))
      return native->body(*this, args, keywords);
    if (auto *type = dynamic_cast<ClassObject *>(&callable))
      return callClass(*type, std::move(args), std::move(keywords));
    return callable.call(opContext(), std::move(args), std::move(keywords));
  }
  if (auto *unknown = callee.as<Unknown>()) {
    if (inKernel())
      failUnknown(*unknown, "what is called");
    // An unknown decorator leaves the function as it is.
    if (args.size() == 1 && keywords.empty() && args[0].as<FunctionObject>())
      return args[0];
    return unknownCall(*unknown, args);
  }
  if (callee.as<Instance>() || callee.as<AggregateValue>())
    if (auto method = attribute(callee, "__call__"))
      return call(*method, std::move(args), std::move(keywords));
  if (callee.isType())
    fail("NotCallable", "a dtype can't be called",
         "write `tl.cast(x, " + callee.repr() + ")` or `x.to(" + callee.repr() + ")`");
  raise("TypeError", "`" + callee.typeName() + "` object is not callable");
}

Value Interp::callOp(const ops::Row &row, std::vector<Value> args, Keywords keywords) {
  if (row.status == ops::Row::Status::Unsupported)
    fail("UnsupportedOp", "`" + ops::spelling(row) + "` is not supported", std::string(row.remark));
  if (row.prelude) {
    std::shared_ptr<ModuleObject> module = prelude();
    std::string_view name = row.name;
    if (const Binding *found = module->names->find(name.substr(name.rfind('.') + 1)))
      if (auto *function = found->value.as<FunctionObject>()) {
        if (!inKernel())
          fail("NotInKernel", "`" + ops::spelling(row) + "` can be called in kernels only");
        return callFunction(*function, std::move(args), std::move(keywords));
      }
    fail("UnsupportedOp", "`" + ops::spelling(row) + "` has no definition");
  }
  if (row.constant)
    return row.constant();
  if (!inKernel() && row.name == "constexpr" && args.size() == 1)
    return args[0].as<ConstexprBox>() ? args[0] : Value(std::make_shared<ConstexprBox>(args[0]));
  if (row.name == "aggregate_replace" && args.size() == 1)
    return replaceFields(args[0], keywords);
  if (!row.build)
    fail("NotCallable", "`" + ops::spelling(row) + "` can't be called here");
  unbox(args);
  for (auto &keyword : keywords)
    unbox(keyword.second);
  return building([&] {
    std::vector<Value> bound = ops::bind(row, std::move(args), std::move(keywords));
    ops::OpContext &context = opContext();
    try {
      return row.build(context, bound);
    } catch (ops::ArgumentError &failure) {
      // Of the vocabulary's own functions the user has called another one.
      if (!frame->module->isPrelude)
        failure.of(row);
      throw;
    }
  });
}

Value Interp::callFunction(const FunctionObject &function, std::vector<Value> args,
                           Keywords keywords) {
  using Flavor = FunctionObject::Flavor;
  if (!inKernel()) {
    if (function.flavor == Flavor::Jit)
      fail("NotInKernel",
           "`" + function.name() + "` is a kernel function and runs only in kernels");
    return callHostFunction(function, std::move(args), std::move(keywords));
  }
  if (function.flavor == Flavor::Jit)
    return callJit(function, std::move(args), std::move(keywords));

  // Methods of aggregates, and functions made like the builtins of Triton, take tiles as they come.
  if ((!function.owner.expired() && function.flavor == Flavor::Plain) || takesBuilder(function))
    return callPython(function, std::move(args), std::move(keywords));

  // One that is said to run while compiling may ask a tile for its type.
  if (function.flavor == Flavor::Constexpr &&
      (llvm::any_of(args, holdsTile) ||
       llvm::any_of(llvm::make_second_range(keywords), holdsTile))) {
    Value result = unboxed(callPython(function, std::move(args), std::move(keywords)));
    if (holdsTile(result))
      fail("NotConstexpr",
           "the result of `" + function.name() +
               "` is a run-time value, but the function runs while compiling",
           "decorate `" + function.name() + "` with `@triton.jit` to run it in the kernel");
    return result;
  }

  // A compile-time function: runs as Python on values known now.
  auto check = [&](const Value &value, const std::string &which) {
    if (holdsTile(value))
      fail("NotConstexpr",
           which + " of `" + function.name() +
               "` is a run-time value, but the function runs while "
               "compiling",
           "decorate `" + function.name() + "` with `@triton.jit` to run it in the kernel");
  };
  for (size_t i = 0; i < args.size(); ++i)
    check(args[i], "argument " + std::to_string(i + 1));
  for (auto &[name, value] : keywords)
    check(value, "argument `" + name + "`");
  Value result = unboxed(callHostFunction(function, std::move(args), std::move(keywords)));
  if (auto *unknown = result.as<Unknown>())
    failUnknown(*unknown, "the result of `" + function.name() + "`");
  if (result.isList())
    return Value::tuple({result.items().begin(), result.items().end()});
  return result;
}

Frame Interp::frameOf(const FunctionObject &function, Frame::Mode mode) {
  Frame callee;
  callee.mode = mode;
  callee.function = &function;
  callee.module = function.module.get();
  callee.enclosing = function.closure;
  callee.locals = newScope();
  callee.node = function.node();
  return callee;
}

// Inlines a kernel function at the insertion point.
Value Interp::callJit(const FunctionObject &function, std::vector<Value> args, Keywords keywords) {
  Frame callee = frameOf(function, Frame::Mode::Kernel);
  // The prelude is part of the vocabulary: what it builds stands where it is called.
  callee.callSite = location(*frame->node);
  for (Value &arg : args)
    if (arg.isList())
      arg = Value::tuple({arg.items().begin(), arg.items().end()});
  bindParameters(function, std::move(args), std::move(keywords), *callee.locals);
  for (const Binding &binding : callee.locals->all())
    if (binding.value.as<ConstexprBox>())
      callee.locals->set(binding.name, unboxed(binding.value), binding.where);

  const Node *callNode = frame->node;
  DepthScope deeper(depth);
  checkDepth(&function);
  FrameScope scope(*this, callee);
  if (function.lambdaBody)
    return eval(function.lambdaBody);
  execKernel(function.def->body, 0, [] {});
  if (callee.returned.state == Returned::State::Maybe && callee.returned.value &&
      !callee.returned.value->isNone()) {
    callee.node = callee.returned.where ? callee.returned.where : callNode;
    fail("MissingReturn", "`" + function.name() + "` returns a value on some run-time paths only",
         "end the function with a `return` of the same type");
  }
  if (callee.returned.state == Returned::State::No || !callee.returned.value)
    return Value();
  return *callee.returned.value;
}

// A function that calls itself in both branches of undecided `if`s doubles its calls with each:
// where that ends only Python could know. The first rounds are followed for what they change.
bool Interp::isUndecidedRecursion(const FunctionObject &function) const {
  unsigned rounds = 0;
  const void *branch = journal;
  for (const Frame *at = frame; at && function.def; at = at->caller)
    if (at->function && at->function->def == function.def && at->branch != branch) {
      branch = at->branch;
      if (++rounds > 2)
        return true;
    }
  return false;
}

Value Interp::callHostFunction(const FunctionObject &function, std::vector<Value> args,
                               Keywords keywords) {
  if (isUndecidedRecursion(function))
    return makeUnknown(function.name() + "(...)");
  Frame callee = frameOf(function, Frame::Mode::Host);
  callee.branch = journal;
  bindParameters(function, std::move(args), std::move(keywords), *callee.locals);
  DepthScope deeper(depth);
  checkDepth(&function);
  FrameScope scope(*this, callee);
  if (function.lambdaBody)
    return eval(function.lambdaBody);
  std::vector<Value> yielded;
  if (isGenerator(*function.def))
    callee.yielded = &yielded;
  Value result = runHostBody(function);
  if (callee.yielded)
    return Value(std::make_shared<ops::List>(std::move(yielded)));
  return result;
}

Value Interp::callHost(const Value &callee, std::vector<Value> args, Keywords keywords) {
  if (frame)
    return call(callee, std::move(args), std::move(keywords));
  // From outside of the evaluator, on any thread: the limits start anew.
  stepsLeft = hostOptions.limits.steps;
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  depth = 0;
  syntax::Node nowhere;
  ModuleObject ours;
  ours.isPrelude = true; // no place of the user's
  Frame entry;
  entry.mode = Frame::Mode::Host;
  entry.module = &ours;
  entry.node = &nowhere;
  FrameScope scope(*this, entry);
  return call(callee, std::move(args), std::move(keywords));
}

Value Interp::callClass(ClassObject &type, std::vector<Value> args, Keywords keywords) {
  using Flavor = ClassObject::Flavor;
  std::shared_ptr<ClassObject> self = type.shared_from_this();
  if (type.flavor == Flavor::Aggregate)
    return constructAggregate(self, std::move(args), std::move(keywords));
  if (type.flavor == Flavor::Enum) {
    // Enum(value) looks the member up.
    if (args.size() != 1)
      raise("TypeError", "`" + type.className + "` takes one value");
    for (const Value &member : iterate(Value(std::static_pointer_cast<ops::Object>(self))))
      if (equal(member.as<Instance>()->fields["value"], args[0]))
        return member;
    raise("ValueError", repr(args[0]) + " is not a valid " + type.className);
  }
  if (type.flavor == Flavor::NamedTuple || type.flavor == Flavor::Dataclass) {
    std::vector<std::optional<Value>> values(type.fields.size());
    if (args.size() > type.fields.size())
      raise("TypeError", "`" + type.className + "` has " + std::to_string(type.fields.size()) +
                             " fields, but " + std::to_string(args.size()) + " values are given");
    for (size_t i = 0; i < args.size(); ++i)
      values[i] = std::move(args[i]);
    for (auto &[name, value] : keywords) {
      size_t i = 0;
      while (i < type.fields.size() && type.fields[i].name != name)
        ++i;
      if (i == type.fields.size())
        raise("TypeError", "`" + type.className + "` has no field `" + name + "`");
      if (values[i])
        raise("TypeError", "`" + type.className + "` gets two values for `" + name + "`");
      values[i] = std::move(value);
    }
    for (size_t i = 0; i < values.size(); ++i)
      if (!values[i]) {
        if (!type.fields[i].defaultValue)
          raise("TypeError", "`" + type.className + "` misses `" + type.fields[i].name + "`");
        values[i] = type.fields[i].defaultValue;
      }
    if (type.flavor == Flavor::NamedTuple) {
      std::vector<Value> items;
      auto names = std::make_shared<std::vector<std::string>>();
      for (size_t i = 0; i < values.size(); ++i) {
        items.push_back(std::move(*values[i]));
        names->push_back(type.fields[i].name);
      }
      auto tuple = std::make_shared<ops::Tuple>(std::move(items));
      tuple->fieldNames = std::move(names);
      tuple->className = type.className;
      tuple->classObject = self;
      return Value(std::move(tuple));
    }
    auto instance = std::make_shared<Instance>(self);
    for (size_t i = 0; i < values.size(); ++i)
      instance->fields[type.fields[i].name] = std::move(*values[i]);
    Value result(instance);
    if (auto post = attribute(result, "__post_init__"))
      call(*post, {}, {});
    return result;
  }
  if (inKernel())
    for (const Value &arg : args)
      if (!arg.isConstexpr())
        fail("NotConstexpr",
             "`" + type.className + "` is a plain class and can't hold run-time values",
             "decorate it with `@triton.aggregate`");
  auto instance = std::make_shared<Instance>(self);
  Value result(instance);
  if (type.flavor == Flavor::Exception)
    instance->fields["args"] = Value::tuple(args);
  if (const Value *init = type.find("__init__")) {
    args.insert(args.begin(), result);
    call(*init, std::move(args), std::move(keywords));
  } else if (type.flavor != Flavor::Exception && (!args.empty() || !keywords.empty())) {
    raise("TypeError", "`" + type.className + "` takes no arguments");
  }
  return result;
}

// Runs plain Python that may see tiles.
Value Interp::callPython(const FunctionObject &function, std::vector<Value> args, Keywords keywords,
                         AggregateValue *constructing) {
  addBuilderArguments(function, args.size(), keywords);
  Frame callee = frameOf(function, inKernel() ? Frame::Mode::Kernel : Frame::Mode::Host);
  callee.isPython = true;
  if (inKernel())
    callee.callSite = location(*frame->node);
  callee.constructing = constructing;
  bindParameters(function, std::move(args), std::move(keywords), *callee.locals);
  DepthScope deeper(depth);
  checkDepth(&function);
  FrameScope scope(*this, callee);
  if (function.lambdaBody)
    return eval(function.lambdaBody);
  if (!inKernel())
    return runHostBody(function);
  execKernel(function.def->body, 0, [] {});
  return callee.returned.value ? *callee.returned.value : Value();
}

Value Interp::replaceFields(const Value &aggregate, const Keywords &fields) {
  auto *object = unboxed(aggregate).as<AggregateValue>();
  if (!object)
    raise("TypeError", "`tl.aggregate_replace` expects an aggregate, not `" +
                           unboxed(aggregate).typeName() + "`");
  auto copy = std::make_shared<AggregateValue>(*object);
  for (auto &[name, value] : fields) {
    const ClassObject::Field *field = nullptr;
    for (const ClassObject::Field &one : object->type->fields)
      if (one.name == name)
        field = &one;
    if (!field)
      raise("TypeError", "`" + object->type->className + "` has no field `" + name + "`");
    Value plain = unboxed(value);
    checkField(object->type->className, *field, plain);
    *copy->field(name) = std::move(plain);
  }
  return Value(std::move(copy));
}

// Runs `__init__`, which may set the annotated fields only, and each of them once it is done.
Value Interp::constructAggregate(const std::shared_ptr<ClassObject> &type, std::vector<Value> args,
                                 Keywords keywords) {
  auto object = std::make_shared<AggregateValue>();
  object->type = type;
  const Value *init = type->find("__init__");
  if (!init) {
    // As a dataclass: fields in order.
    std::vector<std::optional<Value>> values(type->fields.size());
    if (args.size() > values.size())
      raise("TypeError", "`" + type->className + "` has " + std::to_string(values.size()) +
                             " fields, but " + std::to_string(args.size()) + " values are given");
    for (size_t i = 0; i < args.size(); ++i)
      values[i] = args[i];
    for (auto &[name, value] : keywords) {
      size_t i = 0;
      while (i < type->fields.size() && type->fields[i].name != name)
        ++i;
      if (i == type->fields.size())
        raise("TypeError", "`" + type->className + "` has no field `" + name + "`");
      values[i] = value;
    }
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] || type->fields[i].defaultValue)
        setField(*object, type->fields[i].name,
                 values[i] ? *values[i] : *type->fields[i].defaultValue, true);
  } else if (auto *function = init->as<FunctionObject>()) {
    args.insert(args.begin(), Value(object));
    callPython(*function, std::move(args), std::move(keywords), object.get());
  }
  if (const Value *post = type->find("__post_init__"))
    if (auto *function = post->as<FunctionObject>())
      callPython(*function, {Value(object)}, {}, object.get());
  for (const ClassObject::Field &field : type->fields)
    if (!object->field(field.name)) {
      EvalError failure =
          error(*frame->node, "UninitializedField",
                "the constructor of `" + type->className + "` did not set `" + field.name + "`");
      failure.pythonType = "AttributeError";
      throw failure;
    }
  // In the order of the class, whatever the order of assignment.
  std::vector<std::pair<std::string_view, Value>> ordered;
  for (const ClassObject::Field &field : type->fields)
    ordered.emplace_back(intern(field.name), *object->field(field.name));
  auto result = std::make_shared<AggregateValue>();
  result->type = type;
  result->fields = std::move(ordered);
  return Value(std::move(result));
}

} // namespace nereid::emit
