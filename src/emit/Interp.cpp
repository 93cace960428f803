// The frame of the evaluator: errors and where they are, limits, modules, the way into a kernel.

#include "emit/Interp.h"

#include "emit/Parameters.h"
#include "support/Spelling.h"
#include "syntax/Parser.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "ir/TileOps.h"

#include <algorithm>
#include <utility>

namespace nereid::emit {

using namespace syntax;

void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::func::FuncDialect>();
}

struct Interp::Scratch {
  mlir::MLIRContext mlirContext{mlir::MLIRContext::Threading::DISABLED};
  mlir::OpBuilder builder{&mlirContext};
  ops::CompileOptions options;
  ops::OpContext opContext{builder, mlir::UnknownLoc::get(&mlirContext), options,
                           [](std::string, std::string, std::string) {}};
  /// Where a builder leaves what is refused afterwards.
  mlir::Block block;

  Scratch() {
    loadDialects(mlirContext);
    builder.setInsertionPointToStart(&block);
  }
};

Interp::Interp(HostOptions options) : hostOptions(std::move(options)) {
  stepsLeft = refill = hostOptions.limits.steps;
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  makeBuiltins();
}

namespace {

/// Drops what is gone and what is there twice; says when to do so again.
template <typename T> size_t prune(std::vector<std::weak_ptr<T>> &list) {
  std::erase_if(list, [](auto &one) { return one.expired(); });
  std::ranges::sort(list, [](auto &a, auto &b) { return a.owner_before(b); });
  auto same = [](auto &a, auto &b) { return !a.owner_before(b) && !b.owner_before(a); };
  list.erase(std::unique(list.begin(), list.end(), same), list.end());
  return std::max<size_t>(1024, 2 * list.size());
}

} // namespace

Interp::~Interp() {
  // Functions hold their modules and scopes, and those their functions; a list may hold itself.
  for (auto &[name, module] : loaded)
    *module->names = Names();
  if (preludeModule)
    *preludeModule->names = Names();
  for (auto &scope : scopes)
    if (auto names = scope.lock())
      *names = Names();
  for (auto &weak : holders) {
    std::shared_ptr<ops::Object> holder = weak.lock();
    std::vector<Value> held;
    if (auto *list = dynamic_cast<ops::List *>(holder.get())) {
      held.swap(list->items);
    } else if (auto *set = dynamic_cast<SetObject *>(holder.get())) {
      held.swap(set->items);
    } else if (auto *dict = dynamic_cast<ops::Dict *>(holder.get())) {
      for (auto &[key, value] : std::exchange(dict->entries, {}))
        held.push_back(std::move(value));
    } else if (auto *instance = dynamic_cast<Instance *>(holder.get())) {
      for (auto &[name, value] : std::exchange(instance->fields, {}))
        held.push_back(std::move(value));
    } else if (auto *type = dynamic_cast<ClassObject *>(holder.get())) {
      *type->attributes = Names();
    }
    for (Value &value : held)
      drop(std::move(value));
  }
}

std::shared_ptr<Names> Interp::newScope() {
  auto names = std::make_shared<Names>();
  if (scopes.size() >= scopesToPrune)
    scopesToPrune = prune(scopes);
  scopes.push_back(names);
  return names;
}

void Interp::noteStore(const Value &holder, const Value &value) {
  noteChange(holder);
  if (!holder.isObject() || !value.isObject() || value.isStr() || value.isTile() || value.isType())
    return;
  if (holders.size() >= holdersToPrune)
    holdersToPrune = prune(holders);
  holders.push_back(holder.object());
}

// --- errors ---

SourceRange Interp::rangeOf(const Node &node, const ModuleObject *module) const {
  if (!module && frame)
    module = frame->module;
  return {module && module->tree ? module->tree->file : "", node.begin, node.end};
}

namespace {

// What `except` sees.
const std::pair<std::string_view, std::string_view> pythonTypes[] = {
    {"UndefinedName", "NameError"},      {"NoAttribute", "AttributeError"},
    {"NotCallable", "TypeError"},        {"IntegerTooLarge", "OverflowError"},
    {"ImportFailed", "ImportError"},     {"UnknownValue", "RuntimeError"},
    {"NestedTooDeep", "RecursionError"}, {"UnsupportedSyntax", "SyntaxError"},
    {"NotInKernel", "RuntimeError"},
};

} // namespace

EvalError Interp::error(const Node &node, std::string code, std::string message, std::string hint) {
  EvalError failure;
  Diagnostic &diagnostic = failure.diagnostic;
  diagnostic.severity = Severity::Error;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  for (auto &[name, type] : pythonTypes)
    if (name == code)
      failure.pythonType = type;
  diagnostic.code = std::move(code);

  // Inside the vocabulary's own functions the user's place is where they were called.
  const Frame *place = frame;
  const Node *where = &node;
  while (place && place->module->isPrelude && place->caller) {
    place = place->caller;
    where = place->node;
  }
  if (!place || !where)
    return failure;
  diagnostic.where = rangeOf(*where, place->module);
  std::vector<size_t> times; // that each note stands for
  for (const Frame *inner = place, *outer = place->caller; outer;
       inner = outer, outer = outer->caller) {
    if (outer->module->isPrelude || !outer->node)
      continue;
    // Comprehensions run in frames of their own but are no calls.
    if (inner->function == outer->function && inner->module == outer->module &&
        inner->function == nullptr)
      continue;
    if (!inner->function)
      continue;
    Diagnostic note;
    note.severity = Severity::Note;
    note.message = "in `" + inner->function->name() + "`, called here";
    note.where = rangeOf(*outer->node, outer->module);
    // Of a function that calls itself, each place is told once.
    auto &notes = diagnostic.notes;
    auto placeOf = [](const Diagnostic &told) {
      return std::tie(told.message, told.where.file, told.where.begin.line,
                      told.where.begin.column);
    };
    bool isTold = false;
    for (size_t i = 0; i < notes.size() && !isTold; ++i)
      if (placeOf(notes[i]) == placeOf(note)) {
        ++times[i];
        isTold = true;
      }
    if (isTold)
      continue;
    if (notes.size() == 12)
      break;
    notes.push_back(std::move(note));
    times.push_back(1);
  }
  for (size_t i = 0; i < times.size(); ++i)
    if (times[i] > 1)
      diagnostic.notes[i].message += ", " + std::to_string(times[i]) + " times";
  return failure;
}

void Interp::fail(std::string code, std::string message, std::string hint) {
  static const Node nowhere;
  throw error(frame && frame->node ? *frame->node : nowhere, std::move(code), std::move(message),
              std::move(hint));
}

void Interp::failAt(const Node &node, std::string code, std::string message, std::string hint) {
  throw error(node, std::move(code), std::move(message), std::move(hint));
}

void Interp::failIfHost(const Unknown &unknown) {
  const std::string &origin = unknown.origin;
  bool isHost = origin.starts_with("numpy.") || origin.starts_with("torch.");
  if (!inKernel() || !isHost || origin.find('(') != std::string::npos)
    return;
  std::string name = origin.substr(origin.rfind('.') + 1);
  std::string own = ops::find(name) ? "use `tl." + name + "`" : ops::elsewhere(name);
  fail("UnknownValue", "`" + origin + "` is the host's: kernels can't use it",
       own.empty() ? "kernels call functions of `tl` and of `@triton.jit`; a value of the host is "
                     "given with `--define NAME=VALUE`"
                   : own);
}

void Interp::failUnknown(const Unknown &unknown, std::string_view need) {
  failIfHost(unknown);
  fail("UnknownValue",
       std::string(need) + " is not known while compiling: it comes from " +
           originText(unknown.origin),
       "only a Python process could know it; give the name that holds it a value with "
       "`--define NAME=VALUE`");
}

void Interp::raise(std::string type, std::string message) {
  static const Node nowhere;
  EvalError failure =
      error(frame && frame->node ? *frame->node : nowhere, type, std::move(message));
  failure.pythonType = std::move(type);
  throw failure;
}

// The key that a misspelt one most likely means, else those that there are, of a dict that a
// message has room for.
static std::string keysInstead(Interp &interp, const Value &key, const ops::Dict *among) {
  if (!among || among->entries.empty() || among->entries.size() > 64)
    return {};
  std::string all;
  Value wanted = unboxed(key);
  support::Spelling spelling(wanted.isStr() ? wanted.asStr() : "");
  for (const auto &[one, value] : among->entries) {
    if (wanted.isStr() && one.isStr())
      spelling.consider(one.asStr());
    all += (all.empty() ? "" : ", ") + interp.repr(one);
  }
  if (!spelling.best().empty())
    return "; " + spelling.hint();
  return all.size() > 160 ? std::string() : "; there are " + all;
}

void Interp::raiseKeyError(const Value &key, const ops::Dict *among) {
  auto instance = std::make_shared<Instance>(builtinClass("KeyError"));
  instance->fields["args"] = Value::tuple({unboxed(key)});
  EvalError failure = error(*frame->node, "KeyError",
                            "there is no key " + repr(key) + keysInstead(*this, key, among));
  failure.pythonType = "KeyError";
  failure.exception = Value(std::move(instance));
  throw failure;
}

void Interp::note(std::string code, std::string message, std::string hint) {
  if (!kernel || !frame)
    return;
  const Frame *place = frame;
  while (place->module->isPrelude && place->caller)
    place = place->caller;
  if (place != frame)
    return; // old spellings in the prelude are ours
  Diagnostic diagnostic;
  diagnostic.severity = Severity::Note;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostic.where = rangeOf(*place->node, place->module);
  for (const Diagnostic &other : kernel->diagnostics)
    if (other.code == diagnostic.code && other.message == diagnostic.message &&
        other.where.begin.line == diagnostic.where.begin.line &&
        other.where.begin.column == diagnostic.where.begin.column)
      return; // an unrolled or repeated call
  kernel->diagnostics.push_back(std::move(diagnostic));
}

void Interp::failTooManySteps() {
  stepsLeft = 0;
  EvalError failure =
      error(*frame->node, "TooManySteps",
            "evaluation does not end within " + std::to_string(hostOptions.limits.steps) + " steps",
            inKernel() ? "use run-time loops (`range`, `tl.range`) in place of "
                         "unrolled ones"
                       : "");
  failure.fatal = true;
  throw failure;
}

void Interp::weigh(const Value &value, unsigned nesting) {
  if (!value.isObject())
    return;
  if (nesting > hostOptions.limits.nesting)
    fail("NestedTooDeep",
         "a value is nested more than " + std::to_string(hostOptions.limits.nesting) + " deep");
  if (value.isStr()) {
    step(value.asStr().size() / 16);
  } else if (value.isTuple() || value.isList()) {
    step(1 + value.items().size() / 2);
    for (const Value &item : value.items())
      weigh(item, nesting + 1);
  } else if (auto *dict = value.as<ops::Dict>()) {
    step(1 + dict->entries.size());
    for (auto &[key, item] : dict->entries) {
      weigh(key, nesting + 1);
      weigh(item, nesting + 1);
    }
  }
}

void Interp::addTo(SetObject &set, Value item) {
  step(1 + set.items.size() / 2);
  set.add(std::move(item));
}

std::string_view Interp::intern(std::string_view text) {
  auto it = names.find(text);
  if (it == names.end())
    it = names.insert(std::string(text)).first;
  return *it;
}

Value Interp::native(std::string name, NativeFunction::Body body) {
  auto function = std::make_shared<NativeFunction>(std::move(name), std::move(body));
  function->interp = this;
  return Value(std::move(function));
}

void Interp::recordFact(std::string kind, std::string name, std::string value) {
  recorded.insert({std::move(kind), std::move(name), std::move(value)});
}

Value Interp::fromConstant(const support::Constant &constant) {
  using Kind = support::Constant::Kind;
  switch (constant.kind) {
  case Kind::None:
    return Value();
  case Kind::Bool:
    return Value(constant.flag);
  case Kind::Int: {
    bool negative = !constant.text.empty() && constant.text[0] == '-';
    Integer value(0);
    for (char digit : std::string_view(constant.text).substr(negative))
      value = value * Integer(10) + Integer(digit - '0');
    return Value(negative ? -value : value);
  }
  case Kind::Float:
    return Value(constant.number);
  case Kind::String:
    return Value::str(constant.text);
  case Kind::Type:
    return Value::type(Type::scalar(constant.type));
  case Kind::Function: {
    // "module.name@hash"
    std::string path = constant.text.substr(0, constant.text.find('@'));
    size_t dot = path.rfind('.');
    std::string module = dot == std::string::npos ? "" : path.substr(0, dot);
    std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    if (std::optional<Value> native = module.empty() ? std::nullopt : nativeModule(module))
      if (auto found = attribute(*native, name))
        return *found;
    auto it = loaded.find(module);
    if (it == loaded.end() && !module.empty() && resolver) {
      static const Node nowhere;
      importModule(module, nullptr, nowhere);
      it = loaded.find(module);
    }
    if (it != loaded.end())
      if (const Binding *binding = it->second->names->find(name))
        if (!binding->unusable)
          return binding->value;
    if (module.empty())
      for (auto &[other, candidate] : loaded)
        if (const Binding *binding = candidate->names->find(name))
          if (!binding->unusable)
            return binding->value;
    return Value(std::make_shared<Unknown>(path));
  }
  }
  return Value();
}

Value Interp::fromInjected(const InjectedValue &from, const ModuleObject &into) {
  Value value;
  switch (from.kind) {
  case InjectedValue::Kind::Constant:
    value = fromConstant(from.constant);
    break;
  case InjectedValue::Kind::Tuple: {
    std::vector<Value> items;
    for (const InjectedValue &element : from.elements)
      items.push_back(fromInjected(element, into));
    auto tuple = std::make_shared<ops::Tuple>(std::move(items));
    if (!from.names.empty())
      tuple->fieldNames = std::make_shared<const std::vector<std::string>>(from.names);
    value = Value(std::move(tuple));
    break;
  }
  default: {
    static const Node nowhere;
    value = importModule(from.module, &into, nowhere);
    if (from.kind == InjectedValue::Kind::Module)
      break;
    auto found = attribute(value, from.function);
    value = found ? *found : Value(std::make_shared<Unknown>(from.module + "." + from.function));
  }
  }
  return from.isConstexpr ? Value(std::make_shared<ConstexprBox>(std::move(value))) : value;
}

// --- modules ---

std::shared_ptr<ModuleObject> Interp::loadModule(const SourceUnit &unit,
                                                 std::shared_ptr<const Module> tree,
                                                 const Keywords &given) {
  auto module = std::make_shared<ModuleObject>();
  module->name = moduleName(unit);
  size_t dot = module->name.rfind('.');
  bool isPackage = unit.file.ends_with("__init__.py");
  module->package = isPackage                  ? module->name
                    : dot == std::string::npos ? ""
                                               : module->name.substr(0, dot);
  module->tree = std::move(tree);
  loaded[module->name] = module;
  if (unit.resolver)
    resolver = unit.resolver;
  // A statement that took all steps halves what those of all modules behind it have.
  stepsLeft = refill;
  stackBase = static_cast<const char *>(__builtin_frame_address(0));

  module->names->set("__name__", Value::str(module->name));
  module->names->set("__file__", Value::str(unit.file));
  for (auto &[name, value] : given)
    module->names->set(intern(name), value);
  for (auto &[name, value] : unit.globals)
    module->names->set(intern(name), fromInjected(value, *module));
  runModuleBody(*module);
  // Names that only `--define` gives, and those that waited for names of the module.
  for (auto &[name, definition] : hostOptions.defines) {
    const Binding *known = module->names->find(name);
    if (known && !unboxed(known->value).as<Unknown>())
      continue;
    module->names->set(intern(name), Value(std::make_shared<ConstexprBox>(
                                         evaluateDefinition(name, definition, *module))));
  }
  return module;
}

void Interp::addModule(const std::string &name, Value module) {
  nativeModules[name] = std::move(module);
}

Value Interp::importModule(const std::string &name, const ModuleObject *from, const Node &node) {
  auto it = loaded.find(name);
  if (it != loaded.end())
    return Value(it->second);
  if (std::optional<Value> module = nativeModule(name))
    return *module;
  if (resolver && !name.empty()) {
    // A sibling is found under the package first.
    std::vector<std::string> candidates = {name};
    if (from && !from->package.empty() && name.find(from->package + ".") != 0)
      candidates.push_back(from->package + "." + name);
    for (const std::string &candidate : candidates) {
      auto known = loaded.find(candidate);
      if (known != loaded.end())
        return Value(known->second);
      std::shared_ptr<const SourceUnit> unit = resolver(candidate);
      if (!unit)
        continue;
      ParseResult parsed = parseModule(unit->text, unit->file, unit->firstLine, unit->firstColumn);
      recordFact("import", candidate, "");
      if (!parsed.module) {
        EvalError failure = error(node, "ImportFailed", "`" + candidate + "` can't be parsed");
        failure.diagnostic.notes = parsed.diagnostics;
        throw failure;
      }
      units[candidate] = unit;
      uint64_t steps = stepsLeft;
      const char *stack = stackBase;
      Resolver outer = resolver;
      auto module = loadModule(*unit, parsed.module);
      resolver = outer;
      stepsLeft = steps;
      stackBase = stack;
      return Value(module);
    }
  }
  recordFact("import", name, "missing");
  // What Triton itself would have is known: code that tries other vendors' modules goes on.
  if (name.starts_with("triton.language.") && frame)
    raise("ModuleNotFoundError", "there is no module `" + name + "`");
  return makeUnknown(name);
}

Value Interp::evaluate(const Expr &expr, std::shared_ptr<ModuleObject> module,
                       std::shared_ptr<Names> locals) {
  Frame body;
  body.mode = Frame::Mode::Host;
  body.isModule = locals == module->names;
  body.module = module.get();
  body.locals = std::move(locals);
  body.node = &expr;
  stepsLeft = hostOptions.limits.steps;
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  FrameScope scope(*this, body);
  return eval(&expr);
}

std::shared_ptr<ModuleObject> Interp::prelude() {
  if (preludeModule)
    return preludeModule;
  // Parsed once a process; running its definitions is cheap.
  static const std::shared_ptr<const Module> tree = [] {
    return parseModule(std::string(ops::preludeSource()), "<prelude>").module;
  }();
  auto module = std::make_shared<ModuleObject>();
  module->name = "triton.language.prelude";
  module->tree = tree;
  module->isPrelude = true;
  preludeModule = module;
  Frame *outer = frame;
  frame = nullptr;
  if (tree)
    runModuleBody(*module);
  frame = outer;
  return module;
}

// --- kernels ---

const ops::CompileOptions &Interp::compileOptions() const {
  static const ops::CompileOptions defaults;
  return kernel ? kernel->options : defaults;
}

mlir::Location Interp::location(const Node &node) {
  mlir::MLIRContext *mlirContext = kernel->builder.getContext();
  if (frame->module->isPrelude && frame->callSite)
    return frame->callSite;
  if (!frame->fileAttr)
    frame->fileAttr = mlir::StringAttr::get(mlirContext, frame->module->tree->file);
  mlir::Location here =
      mlir::FileLineColLoc::get(frame->fileAttr, node.begin.line, node.begin.column + 1);
  if (frame->callSite)
    return mlir::CallSiteLoc::get(here, mlir::Location(frame->callSite));
  return here;
}

void Interp::failTooLarge() {
  operationsLeft = 1; // for the message
  EvalError failure = error(*frame->node, "KernelTooLarge",
                            "the kernel grows past " +
                                std::to_string(hostOptions.limits.operations) + " operations",
                            "use run-time loops (`range`, `tl.range`) in place of unrolled ones");
  failure.fatal = true;
  throw failure;
}

ops::OpContext &Interp::opContext() {
  if (!kernel) {
    // At module level no op may stay, but constants and attributes of types ask for a context.
    if (!scratch)
      scratch = std::make_unique<Scratch>();
    return scratch->opContext;
  }
  if (frame && frame->node)
    context->loc = location(*frame->node);
  // Each request builds a few ops; endless unrolling ends in an error and not in swap.
  if (operationsLeft == 0)
    failTooLarge();
  --operationsLeft;
  return *context;
}

void Interp::refuseScratchOps() {
  if (scratch->block.empty())
    return;
  scratch->block.clear();
  fail("NotInKernel", "tensors are made in kernels only",
       "move this into a function with `@triton.jit`");
}

void Interp::emitBody(FunctionObject &function, std::vector<Value> arguments,
                      KernelContext kernelContext) {
  kernel = &kernelContext;
  context.emplace(ops::OpContext{
      kernelContext.builder, mlir::UnknownLoc::get(kernelContext.builder.getContext()),
      kernelContext.options, [this](std::string code, std::string message, std::string hint) {
        note(std::move(code), std::move(message), std::move(hint));
      }});
  stepsLeft = hostOptions.limits.steps;
  stackBase = static_cast<const char *>(__builtin_frame_address(0));
  operationsLeft = hostOptions.limits.operations;
  depth = 0;
  Frame *outer = frame;
  struct Leave {
    Interp &interp;
    Frame *outer;
    ~Leave() {
      interp.kernel = nullptr;
      interp.context.reset();
      interp.frame = outer;
      interp.depth = 0;
    }
  } leave{*this, outer};
  frame = nullptr;

  Frame body = frameOf(function, Frame::Mode::Kernel);
  FrameScope scope(*this, body);
  uint32_t at = 0;
  for (const Arg *arg : parametersOf(*function.parameters))
    if (at < arguments.size())
      body.locals->set(arg->arg, std::move(arguments[at++]), arg);
  execKernel(function.def->body, 0, [] {});
  if (body.returned.value && !body.returned.value->isNone())
    failAt(body.returned.where ? *body.returned.where : *function.node(), "KernelReturnsValue",
           "a kernel can't return a value", "store it through a pointer");
}

} // namespace nereid::emit
