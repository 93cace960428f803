// Functions of module-level Python: how they are defined, decorated and run.
#include "emit/Interp.h"

#include "syntax/Printer.h"

namespace nereid::emit {

using namespace syntax;

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
  Frame body = frameOf(function, Frame::Mode::Host);
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
