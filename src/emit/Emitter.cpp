// A kernel and its specialisation -> a module of tile IR.

#include "emit/Parameters.h"
#include "emit/Program.h"

#include "ir/TileOps.h"
#include "support/Spelling.h"
#include "syntax/Parser.h"
#include "syntax/Printer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <set>

namespace nereid::emit {

using namespace syntax;
using support::ArgumentClass;

namespace {

// A parameter, or a leaf of a tuple parameter, that the kernel receives at run time.
struct Slot {
  std::string name;
  Type type;
  ArgumentClass kind;
};

Type typeOf(const ArgumentClass &argument) {
  switch (argument.kind) {
  case ArgumentClass::Kind::Pointer:
    return Type::pointer(Type::scalar(argument.type), argument.isConst);
  case ArgumentClass::Kind::Descriptor:
    return Type::descriptor(argument.block, Type::scalar(argument.type),
                            unsigned(argument.block.size()), argument.padNan);
  default:
    return Type::scalar(argument.type);
  }
}

void collectSlots(const ArgumentClass &argument, const std::string &name,
                  std::vector<Slot> &slots) {
  switch (argument.kind) {
  case ArgumentClass::Kind::Constant:
    return;
  case ArgumentClass::Kind::Tuple:
    for (size_t i = 0; i < argument.elements.size(); ++i)
      collectSlots(argument.elements[i],
                   name + "." + (argument.names.empty() ? std::to_string(i) : argument.names[i]),
                   slots);
    return;
  default:
    if (!argument.isOne)
      slots.push_back({name, typeOf(argument), argument});
  }
}

Value bindArgument(Interp &interp, const ArgumentClass &argument, mlir::Block &entry,
                   size_t &next) {
  switch (argument.kind) {
  case ArgumentClass::Kind::Constant:
    return interp.fromConstant(argument.constant);
  case ArgumentClass::Kind::Tuple: {
    std::vector<Value> items;
    for (const ArgumentClass &element : argument.elements)
      items.push_back(bindArgument(interp, element, entry, next));
    auto tuple = std::make_shared<ops::Tuple>(std::move(items));
    if (!argument.names.empty())
      tuple->fieldNames = std::make_shared<const std::vector<std::string>>(argument.names);
    return Value(std::move(tuple));
  }
  default:
    if (argument.isOne)
      return Value(1);
    return Value(Tile{entry.getArgument(unsigned(next++)), typeOf(argument)});
  }
}

std::string annotationText(const Arg &arg) {
  if (!arg.annotation)
    return "";
  if (auto *text = dynCast<Constant>(arg.annotation))
    if (text->value.kind == ConstantValue::Kind::Str)
      return std::string(text->value.text);
  return print(*arg.annotation);
}

bool namesConstexpr(const std::string &annotation) {
  return annotation == "constexpr" || annotation.ends_with(".constexpr");
}

bool namesConst(const std::string &annotation) {
  return annotation == "const" || annotation.ends_with(".const");
}

// The default of a parameter as source, or none.
const Expr *defaultOf(const Arguments &arguments, size_t index) {
  size_t positional = arguments.posonlyargs.size() + arguments.args.size();
  if (index < positional) {
    size_t first = positional - std::min<size_t>(positional, arguments.defaults.size());
    return index >= first ? arguments.defaults[index - first] : nullptr;
  }
  if (index < keywordOnlyFrom(arguments))
    return nullptr;
  index -= keywordOnlyFrom(arguments);
  return index < arguments.kwDefaults.size() ? arguments.kwDefaults[index] : nullptr;
}

} // namespace

LoadedProgram Program::load(const SourceUnit &unit, HostOptions options) {
  LoadedProgram result;
  ParseResult parsed = parseModule(unit.text, unit.file, unit.firstLine, unit.firstColumn);
  result.diagnostics = std::move(parsed.diagnostics);
  if (!parsed.module)
    return result;
  std::unique_ptr<Program> program(new Program);
  program->tree = parsed.module;
  program->interpreter = std::make_unique<Interp>(std::move(options));
  try {
    program->moduleObject = program->interpreter->loadModule(unit, parsed.module);
  } catch (EvalError &failure) {
    result.diagnostics.push_back(std::move(failure.diagnostic));
    return result;
  }
  result.program = std::move(program);
  return result;
}

std::vector<std::pair<std::string, std::string_view>> Program::sources() const {
  std::vector<std::pair<std::string, std::string_view>> all;
  for (auto &[name, module] : interpreter->modules())
    if (module->tree)
      all.emplace_back(module->tree->file, module->tree->text);
  return all;
}

namespace {

// What the expression of a decorator calls, without its arguments.
const Expr &decoratorFunction(const Expr &decorator) {
  auto *call = dynCast<Call>(&decorator);
  return call ? *call->func : decorator;
}

// The last name of what it calls.
std::string_view nameOf(const Expr &decorator) {
  const Expr &expr = decoratorFunction(decorator);
  if (auto *attribute = dynCast<Attribute>(&expr))
    return attribute->attr;
  auto *plain = dynCast<Name>(&expr);
  return plain ? plain->id : std::string_view();
}

// What the first name in the expression of a decorator is bound to; null for none.
const Binding *rootOf(const Expr &decorator, const Names &names) {
  const Expr *expr = &decoratorFunction(decorator);
  while (auto *attribute = dynCast<Attribute>(expr))
    expr = attribute->value;
  auto *root = dynCast<Name>(expr);
  return root ? names.find(root->id) : nullptr;
}
bool isUnknown(const Binding *binding) {
  return binding && !binding->unusable && unboxed(binding->value).as<Unknown>();
}

// Whether a decorator, by its name, makes a function a kernel. A `jit` of a module that the engine
// has no source of belongs to another language.
bool isJit(const Expr &decorator, const Names &names) {
  return nameOf(decorator) == "jit" && !isUnknown(rootOf(decorator, names));
}

bool isAutotune(const Expr &decorator) {
  std::string_view name = nameOf(decorator);
  return name == "autotune" || name.ends_with("_autotune");
}

// A kernel by its parameters and decorators.
KernelSummary summarize(std::string name, uint32_t line, const Arguments &arguments,
                        Span<Expr *> decorators) {
  KernelSummary summary;
  summary.name = std::move(name);
  summary.line = line;
  for (const Expr *decorator : decorators) {
    summary.autotuned |= isAutotune(*decorator);
    summary.decorators.push_back(print(*decorator));
  }
  size_t index = 0;
  for (const Arg *arg : parametersOf(arguments)) {
    ParameterSummary parameter;
    parameter.name = std::string(arg->arg);
    parameter.annotation = annotationText(*arg);
    parameter.isConstexpr = namesConstexpr(parameter.annotation);
    if (const Expr *value = defaultOf(arguments, index))
      parameter.defaultValue = print(*value);
    ++index;
    summary.parameters.push_back(std::move(parameter));
  }
  return summary;
}

// The same of a function that module-level code made a kernel.
KernelSummary summarize(const std::string &name, const FunctionObject &function) {
  Span<Expr *> decorators = function.def ? function.def->decorators : Span<Expr *>();
  KernelSummary summary =
      summarize(name, function.node()->begin.line, *function.parameters, decorators);
  for (const KernelInfo::Entry &entry : function.kernel->decorators)
    summary.autotuned |= entry.decorator == "autotune";
  return summary;
}

void collectKernels(Span<Stmt *> body, const std::string &prefix, const Names &names,
                    std::vector<KernelSummary> &kernels) {
  for (const Stmt *stmt : body) {
    switch (stmt->kind) {
    case StmtKind::FunctionDef: {
      auto &def = cast<FunctionDef>(stmt);
      if (llvm::any_of(def.decorators, [&](const Expr *one) { return isJit(*one, names); }))
        kernels.push_back(
            summarize(prefix + std::string(def.name), def.begin.line, *def.args, def.decorators));
      collectKernels(def.body, prefix + std::string(def.name) + ".", names, kernels);
      break;
    }
    case StmtKind::ClassDef:
      collectKernels(cast<ClassDef>(stmt).body,
                     prefix + std::string(cast<ClassDef>(stmt).name) + ".", names, kernels);
      break;
    case StmtKind::If: {
      const If *chain = &cast<If>(stmt);
      for (;;) {
        collectKernels(chain->body, prefix, names, kernels);
        if (chain->orelse.size() != 1 || !isa<If>(chain->orelse[0]))
          break;
        chain = static_cast<const If *>(chain->orelse[0]);
      }
      collectKernels(chain->orelse, prefix, names, kernels);
      break;
    }
    case StmtKind::For:
      collectKernels(cast<For>(stmt).body, prefix, names, kernels);
      collectKernels(cast<For>(stmt).orelse, prefix, names, kernels);
      break;
    case StmtKind::While:
      collectKernels(cast<While>(stmt).body, prefix, names, kernels);
      collectKernels(cast<While>(stmt).orelse, prefix, names, kernels);
      break;
    case StmtKind::With:
      collectKernels(cast<With>(stmt).body, prefix, names, kernels);
      break;
    case StmtKind::Try: {
      auto &attempt = cast<Try>(stmt);
      collectKernels(attempt.body, prefix, names, kernels);
      for (const ExceptHandler &handler : attempt.handlers)
        collectKernels(handler.body, prefix, names, kernels);
      collectKernels(attempt.orelse, prefix, names, kernels);
      collectKernels(attempt.finalbody, prefix, names, kernels);
      break;
    }
    case StmtKind::Match:
      for (const MatchCase &arm : cast<Match>(stmt).cases)
        collectKernels(arm.body, prefix, names, kernels);
      break;
    default:
      break;
    }
  }
}

} // namespace

std::vector<KernelSummary> Program::kernels() const {
  std::vector<KernelSummary> all;
  collectKernels(tree->body, "", *moduleObject->names, all);
  // `k = triton.jit(f)` and `k = triton.autotune(...)(k)` make kernels without a decorator; another
  // name of a kernel is no other kernel.
  std::set<std::string> listed;
  std::set<const ops::Object *> seen;
  for (const KernelSummary &one : all) {
    listed.insert(one.name);
    const Binding *binding = moduleObject->names->find(one.name);
    if (binding && !binding->unusable)
      seen.insert(unboxed(binding->value).as<FunctionObject>());
  }
  for (const Binding &binding : moduleObject->names->all()) {
    auto *function = unboxed(binding.value).as<FunctionObject>();
    std::string name(binding.name);
    if (!function || !function->kernel || function->module.get() != moduleObject.get() ||
        listed.count(name) || !seen.insert(function).second)
      continue;
    KernelSummary summary = summarize(name, *function);
    auto place = llvm::upper_bound(all, summary,
                                   [](const auto &a, const auto &b) { return a.line < b.line; });
    all.insert(place, std::move(summary));
  }
  return all;
}

namespace {

[[noreturn]] void failAt(SourceRange where, std::string code, std::string message,
                         std::string hint) {
  EvalError failure;
  failure.diagnostic.code = std::move(code);
  failure.diagnostic.message = std::move(message);
  failure.diagnostic.hint = std::move(hint);
  failure.diagnostic.where = std::move(where);
  throw failure;
}

// What a name is bound to; module-level code may know why it cannot be used.
Value usable(const Binding &binding, const std::string &kernel, const std::string &file) {
  if (!binding.unusable)
    return unboxed(binding.value);
  EvalError failure;
  failure.diagnostic.code = binding.unusable->code;
  failure.diagnostic.message = "`" + kernel + "` " + binding.unusable->why;
  failure.diagnostic.hint = binding.unusable->hint;
  failure.diagnostic.notes = binding.unusable->notes;
  failure.diagnostic.where = binding.unusable->where;
  if (failure.diagnostic.where.file.empty())
    failure.diagnostic.where.file = file;
  throw failure;
}

// What `outer.inner` is of a class or a function of the module; null if there is none.
std::optional<Value> memberOf(Interp &interp, const Value &outer, const std::string &inner,
                              const std::string &kernel, const std::string &file) {
  if (auto *type = outer.as<ClassObject>()) {
    const Value *member = type->find(inner);
    return member ? std::optional(*member) : std::nullopt;
  }
  auto *function = outer.as<FunctionObject>();
  if (!function || !function->def)
    return std::nullopt;
  std::shared_ptr<Names> locals = interp.localsOf(*function);
  const Binding *local = locals->find(inner);
  return local ? std::optional(usable(*local, kernel, file)) : std::nullopt;
}

// Refuses a function without a decorator of ours: one that was not found may be such. It may
// stand in the place of a kernel of its name, one of those that the source `shows`.
[[noreturn]] void refusePlain(const FunctionObject &function, const std::string &kernel,
                              const std::vector<KernelSummary> &shown) {
  SourceRange at{function.module->tree->file, function.node()->begin, function.node()->begin};
  auto hidden = std::ranges::find(shown, kernel, &KernelSummary::name);
  if (hidden != shown.end() && hidden->line < function.node()->begin.line) {
    auto other = std::ranges::find_if(shown, [&](const KernelSummary &one) {
      return one.name != kernel && one.line == hidden->line;
    });
    failAt(at, "NotAKernel",
           "`" + kernel + "` is a plain function, which takes the place of the kernel of line " +
               std::to_string(hidden->line),
           other != shown.end() ? "that kernel is `" + other->name + "`, too"
                                : "rename one of them");
  }
  std::string unknown;
  for (const Expr *one : function.def ? function.def->decorators : Span<Expr *>())
    if (isUnknown(rootOf(*one, *function.module->names)))
      unknown = print(*one);
  failAt(at, "NotAKernel",
         "`" + kernel + "` is a plain function, not a kernel" +
             (unknown.empty() ? "" : ": the module that `@" + unknown + "` is of was not found"),
         unknown.empty() ? "decorate it with `@triton.jit`"
                         : "put that module beside the file, or decorate it with `@triton.jit`");
}

} // namespace

std::shared_ptr<FunctionObject> Program::find(const std::string &kernel) {
  size_t dot = kernel.find('.');
  if (const Binding *binding = moduleObject->names->find(kernel.substr(0, dot))) {
    std::optional<Value> value = usable(*binding, kernel, tree->file);
    while (value && dot != std::string::npos) {
      size_t next = kernel.find('.', dot + 1);
      value = memberOf(*interpreter, *value, kernel.substr(dot + 1, next - dot - 1), kernel,
                       tree->file);
      dot = next;
    }
    if (auto *function = value ? value->as<FunctionObject>() : nullptr) {
      if (function->flavor != FunctionObject::Flavor::Jit)
        refusePlain(*function, kernel,
                    function->module->tree == tree ? kernels() : std::vector<KernelSummary>());
      return std::static_pointer_cast<FunctionObject>(value->object());
    }
  }
  std::vector<KernelSummary> known = kernels();
  for (const KernelSummary &one : known)
    if (one.name == kernel)
      failAt({tree->file, {one.line, 0}, {one.line, 0}}, "KernelNotReachable",
             "`" + kernel + "` is in the source, but module-level code does not define it here",
             "a function or a branch that is not taken holds it; choose branches with `--define`");
  std::string names;
  support::Spelling spelling(kernel);
  for (const KernelSummary &one : known) {
    names += (names.empty() ? "`" : ", `") + one.name + "`";
    spelling.consider(one.name);
  }
  std::string hint = !spelling.best().empty() ? spelling.hint()
                     : known.empty()          ? "the file has no `@triton.jit` function"
                     : known.size() == 1      ? "there is " + names
                                              : "there are " + names;
  failAt({.file = tree->file}, "NoSuchKernel", "there is no kernel `" + kernel + "`", hint);
}

namespace {

[[noreturn]] void refuse(const FunctionObject &kernel, const Node &node, std::string code,
                         std::string message, std::string hint) {
  EvalError failure;
  failure.diagnostic.code = std::move(code);
  failure.diagnostic.message = std::move(message);
  failure.diagnostic.hint = std::move(hint);
  failure.diagnostic.where = {kernel.module->tree->file, node.begin, node.end};
  throw failure;
}

// What each parameter of a kernel is: compiled in, or arriving at run time.
struct Bindings {
  std::vector<ArgumentClass> classes;
  std::vector<std::optional<Value>> defaults; ///< where nothing is given
  std::vector<Slot> slots;
};

Bindings bindingsOf(const FunctionObject &kernel, const support::Specialization &specialization,
                    const std::map<std::string, support::Constant> &constants,
                    std::span<const uint32_t> defaulted) {
  const Arguments &signature = *kernel.parameters;
  std::vector<const Arg *> parameters = parametersOf(signature);
  if (signature.kwarg)
    refuse(kernel, *signature.kwarg, "VariadicKernel", "a kernel can't have `**` parameters",
           "write the parameters out");
  if (specialization.arguments.size() > parameters.size())
    refuse(kernel, *kernel.def, "SignatureMismatch",
           "`" + kernel.name() + "` has " + std::to_string(parameters.size()) +
               " parameters, but the signature describes " +
               std::to_string(specialization.arguments.size()),
           "");
  Bindings out;
  out.defaults.resize(parameters.size());
  std::string missing;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Arg &parameter = *parameters[i];
    std::string name(parameter.arg);
    ArgumentClass &bound = out.classes.emplace_back();
    auto constant = constants.find(name);
    bool isGiven = i < specialization.arguments.size() &&
                   std::find(defaulted.begin(), defaulted.end(), i) == defaulted.end();
    if (isGiven && constant == constants.end()) {
      bound = specialization.arguments[i];
      if (bound.kind == ArgumentClass::Kind::Pointer)
        bound.isConst |= namesConst(annotationText(parameter));
      if (namesConstexpr(annotationText(parameter)) &&
          bound.kind != ArgumentClass::Kind::Constant && bound.kind != ArgumentClass::Kind::Tuple)
        refuse(kernel, parameter, "NotConstexpr",
               "`" + name + "` is a `tl.constexpr`, but its argument is a `" + bound.text() + "`",
               "give a value in its place in the signature");
    } else if (constant != constants.end()) {
      bound = ArgumentClass::compiledIn(constant->second);
    } else if (defaultOf(signature, i)) {
      size_t positional = signature.posonlyargs.size() + signature.args.size();
      out.defaults[i] = i < positional ? kernel.defaults[i - (positional - kernel.defaults.size())]
                                       : *kernel.kwDefaults[i - keywordOnlyFrom(signature)];
      continue;
    } else if (&parameter == signature.vararg) {
      bound.kind = ArgumentClass::Kind::Tuple;
      continue;
    } else {
      missing += (missing.empty() ? "`" : ", `") + name + "`";
      continue;
    }
    collectSlots(bound, name, out.slots);
  }
  if (!missing.empty())
    refuse(kernel, *kernel.def, "SignatureMismatch",
           "nothing is given for " + missing + " of `" + kernel.name() + "`",
           "the command takes values as `--arg n=1000` and `--const BLOCK=1024`, or types as "
           "`--signature \"*fp32, i32, 1024\"`");
  return out;
}

void setOptions(mlir::ModuleOp module, const ops::CompileOptions &options) {
  mlir::Builder builder(module.getContext());
  auto set = [&](llvm::StringRef name, int value) {
    module->setAttr(name, builder.getI32IntegerAttr(value));
  };
  set(tile::numWarpsAttr, options.numWarps);
  set(tile::numStagesAttr, options.numStages);
  set(tile::numCtasAttr, options.numCtas);
  if (options.maxnreg)
    set(tile::maxRegistersAttr, options.maxnreg);
}

// The function without its body.
mlir::func::FuncOp declare(mlir::OpBuilder &builder, mlir::Location loc, const std::string &name,
                           const std::vector<Slot> &slots) {
  mlir::MLIRContext *context = builder.getContext();
  llvm::SmallVector<mlir::Type> types;
  std::vector<mlir::DictionaryAttr> argumentAttrs;
  for (const Slot &slot : slots) {
    types.push_back(slot.type.lower(context));
    mlir::NamedAttrList facts;
    facts.append(tile::argNameAttr, builder.getStringAttr(slot.name));
    facts.append(tile::argDTypeAttr, builder.getStringAttr(slot.type.signature()));
    if (slot.kind.divisibility > 1)
      facts.append(tile::divisibilityAttr, builder.getI64IntegerAttr(slot.kind.divisibility));
    argumentAttrs.push_back(facts.getDictionary(context));
  }
  return builder.create<mlir::func::FuncOp>(
      loc, name, mlir::FunctionType::get(context, types, {}),
      mlir::NamedAttribute(builder.getStringAttr(tile::kernelAttr), builder.getUnitAttr()),
      argumentAttrs);
}

// What the front end let pass and the verifier refuses is a fault of ours, not of the user.
bool isValid(mlir::func::FuncOp func, const std::string &file,
             std::vector<Diagnostic> &diagnostics) {
  mlir::ScopedDiagnosticHandler handler(func.getContext(), [&](mlir::Diagnostic &diagnostic) {
    Diagnostic internal;
    internal.code = "InternalError";
    internal.message = "the emitted IR is not valid: " + diagnostic.str();
    internal.hint = "this is a fault of the compiler; please report the kernel";
    internal.where.file = file;
    mlir::LocationAttr place = diagnostic.getLocation();
    while (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(place))
      place = call.getCallee();
    if (auto line = mlir::dyn_cast<mlir::FileLineColLoc>(place))
      internal.where = {line.getFilename().str(),
                        {line.getLine(), line.getColumn() - 1},
                        {line.getLine(), line.getColumn()}};
    diagnostics.push_back(std::move(internal));
    return mlir::success();
  });
  // The module holds nothing but the function, so that its table of symbols is none to verify.
  return mlir::succeeded(mlir::verify(func));
}

} // namespace

Emitted Program::emit(mlir::MLIRContext &context, const std::string &kernelName,
                      const support::Specialization &specialization,
                      const std::map<std::string, support::Constant> &constants,
                      const ops::CompileOptions &options, std::span<const uint32_t> defaulted) {
  Emitted result;
  result.diagnostics = std::exchange(choiceNotes, {});
  loadDialects(context);
  try {
    std::shared_ptr<FunctionObject> kernel = find(kernelName);
    const Bindings bindings = bindingsOf(*kernel, specialization, constants, defaulted);

    mlir::OpBuilder builder(&context);
    auto fileAttr = builder.getStringAttr(kernel->module->tree->file);
    mlir::Location loc =
        mlir::FileLineColLoc::get(fileAttr, kernel->def->begin.line, kernel->def->begin.column + 1);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    setOptions(*module, options);
    builder.setInsertionPointToEnd(module->getBody());
    mlir::func::FuncOp func = declare(builder, loc, kernel->name(), bindings.slots);
    mlir::Block *entry = func.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    // Built anew where a name is read behind the loop that defines it: few kernels do.
    std::set<WantsLastStep> lastSteps;
    for (size_t notes = result.diagnostics.size();; result.diagnostics.resize(notes)) {
      std::vector<Value> arguments;
      size_t next = 0;
      for (size_t i = 0; i < bindings.classes.size(); ++i)
        arguments.push_back(bindings.defaults[i]
                                ? unboxed(*bindings.defaults[i])
                                : bindArgument(*interpreter, bindings.classes[i], *entry, next));
      try {
        interpreter->emitBody(*kernel, std::move(arguments),
                              {builder, options, result.diagnostics, lastSteps});
        break;
      } catch (WantsLastStep &wanted) {
        lastSteps.insert(std::move(wanted));
        entry->clear();
        builder.setInsertionPointToStart(entry);
      }
    }
    builder.create<mlir::func::ReturnOp>(loc);
    if (isValid(func, tree->file, result.diagnostics))
      result.module = std::move(module);
  } catch (EvalError &failure) {
    result.diagnostics.push_back(std::move(failure.diagnostic));
  }
  return result;
}

KernelSummary Program::summary(const std::string &kernel) {
  std::shared_ptr<FunctionObject> function = find(kernel);
  KernelSummary found = summarize(kernel, *function);
  auto lists = [](const std::vector<std::string> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (ParameterSummary &parameter : found.parameters) {
    parameter.doNotSpecialize = lists(function->kernel->doNotSpecialize, parameter.name);
    parameter.doNotSpecializeOnAlignment =
        lists(function->kernel->doNotSpecializeOnAlignment, parameter.name);
  }
  return found;
}

} // namespace nereid::emit
