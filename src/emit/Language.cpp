// `triton` and `triton.language` as modules: names of the vocabulary, decorators, host helpers.

#include "emit/Interp.h"

#include <cmath>

namespace nereid::emit {

namespace {

Value unknown(std::string origin) { return Value(std::make_shared<Unknown>(std::move(origin))); }

// Modules below triton.language; names in them are those of the op table.
constexpr std::string_view languageModules[] = {"core.",
                                                "math.",
                                                "standard.",
                                                "random.",
                                                "semantic.",
                                                "extra.",
                                                "extra.cuda.",
                                                "extra.cuda.libdevice.",
                                                "extra.libdevice.",
                                                "extra.hip.",
                                                "extra.hip.libdevice.",
                                                "extra.cpu.",
                                                "libdevice.",
                                                "target_info.",
                                                "extra.intel.",
                                                "extra.intel.libdevice."};

// Names that are rows of the table under another path: `tl.core.load` is `tl.load`.
std::vector<std::string> tableNames(const std::string &path, std::string_view name) {
  std::string plain(name);
  if (path == "core." || path == "standard." || path == "random." || path == "semantic.")
    return {plain, path + plain};
  if (path == "math.")
    return {"math." + plain, plain};
  if (path.ends_with("libdevice."))
    return {"libdevice." + plain};
  return {path + plain};
}

int64_t positive(Interp &interp, const Value &value, const char *what) {
  return interp.asInt(value, what);
}

Value cdiv(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  for (auto &[name, value] : keywords)
    args.push_back(value);
  if (args.size() != 2)
    interp.raise("TypeError", "`cdiv` takes 2 arguments");
  bool tiles = false;
  for (Value &arg : args) {
    unbox(arg);
    if (arg.as<Unknown>() && !interp.inKernel())
      return unknown(arg.as<Unknown>()->origin);
    tiles |= arg.isTile();
  }
  using syntax::BinaryOp;
  if (tiles)
    return interp.callOp(*ops::find("cdiv"), args, {});
  Value sum =
      interp.binary(BinaryOp::Add, args[0], interp.binary(BinaryOp::Sub, args[1], Value(1)));
  return interp.binary(BinaryOp::FloorDiv, sum, args[1]);
}

Value nextPowerOf2(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() != 1)
    interp.raise("TypeError", "`next_power_of_2` takes 1 argument");
  Value value = unboxed(args[0]);
  if (value.as<Unknown>() && !interp.inKernel())
    return unknown(value.as<Unknown>()->origin);
  int64_t n = positive(interp, value, "the argument of `next_power_of_2`");
  if (n <= 0)
    return Value(0);
  int64_t power = 1;
  while (power < n && power < (int64_t(1) << 62))
    power <<= 1;
  return Value(power);
}

std::vector<std::string> nameList(Interp &interp, const Value &value,
                                  const FunctionObject &function) {
  std::vector<std::string> names;
  if (unboxed(value).isNone() || unboxed(value).as<Unknown>())
    return names;
  for (const Value &item : interp.iterate(value)) {
    const Value &one = unboxed(item);
    if (one.isStr()) {
      names.push_back(one.asStr());
    } else if (one.isInt()) {
      // By position.
      int64_t at = interp.asInt(one, "a parameter index");
      if (at >= 0 && at < int64_t(function.parameters->args.size()))
        names.push_back(std::string(function.parameters->args[size_t(at)].arg));
    }
  }
  return names;
}

Value makeJit(Interp &interp, const Value &value, const Keywords &keywords) {
  auto *function = unboxed(value).as<FunctionObject>();
  if (!function)
    return value;
  auto jit = std::make_shared<FunctionObject>(*function);
  jit->flavor = FunctionObject::Flavor::Jit;
  jit->kernel = std::make_shared<KernelInfo>();
  for (auto &[name, option] : keywords) {
    if (name == "do_not_specialize")
      jit->kernel->doNotSpecialize = nameList(interp, option, *jit);
    else if (name == "do_not_specialize_on_alignment")
      jit->kernel->doNotSpecializeOnAlignment = nameList(interp, option, *jit);
    else if (name == "noinline" && unboxed(option).isBool())
      jit->kernel->noinline = unboxed(option).asBool();
    else if (name == "debug" && unboxed(option).isBool())
      jit->kernel->debug = unboxed(option).asBool();
  }
  return Value(std::move(jit));
}

Value jit(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  if (!args.empty())
    return makeJit(interp, args[0], keywords);
  Keywords options = keywords;
  return interp.native("jit", [options](Interp &inner, std::vector<Value> &functions, Keywords &) {
    if (functions.empty())
      inner.raise("TypeError", "`jit` decorates a function");
    return makeJit(inner, functions[0], options);
  });
}

// `@autotune(...)` and `@heuristics(...)`: remembered as they are written; the engine reads them.
NativeFunction::Body remembered(std::string decorator) {
  return [decorator](Interp &interp, std::vector<Value> &args, Keywords &keywords) -> Value {
    KernelInfo::Entry entry{decorator, args, keywords, nullptr};
    return interp.native(decorator, [entry](Interp &, std::vector<Value> &functions, Keywords &) {
      if (functions.empty())
        return Value();
      auto *function = unboxed(functions[0]).as<FunctionObject>();
      if (!function || !function->kernel)
        return functions[0];
      auto copy = std::make_shared<FunctionObject>(*function);
      copy->kernel = std::make_shared<KernelInfo>(*function->kernel);
      copy->kernel->decorators.push_back(entry);
      return Value(std::move(copy));
    });
  };
}

Value constexprFunction(Interp &, std::vector<Value> &args, Keywords &) {
  if (args.empty())
    return Value();
  auto *function = unboxed(args[0]).as<FunctionObject>();
  if (!function)
    return args[0];
  auto copy = std::make_shared<FunctionObject>(*function);
  copy->flavor = FunctionObject::Flavor::Constexpr;
  return Value(std::move(copy));
}

Value aggregate(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.empty())
    return Value();
  auto *type = unboxed(args[0]).as<ClassObject>();
  if (!type)
    return args[0];
  type->flavor = ClassObject::Flavor::Aggregate;
  return args[0];
}

// `triton.Config(kwargs, num_warps=4, ...)`.
Value config(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  static const char *names[] = {"kwargs",  "num_warps", "num_stages", "num_ctas",
                                "maxnreg", "pre_hook",  "ir_override"};
  std::shared_ptr<ClassObject> type = interp.configClass();
  auto instance = std::make_shared<Instance>(type);
  instance->fields["kwargs"] = Value(std::make_shared<ops::Dict>());
  instance->fields["num_warps"] = Value(4);
  instance->fields["num_stages"] = Value(3);
  instance->fields["num_ctas"] = Value(1);
  instance->fields["maxnreg"] = Value();
  instance->fields["pre_hook"] = Value();
  for (size_t i = 0; i < args.size() && i < std::size(names); ++i)
    instance->fields[names[i]] = args[i];
  for (auto &[name, value] : keywords)
    instance->fields[name] = value;
  return Value(std::move(instance));
}

} // namespace

std::shared_ptr<ClassObject> Interp::configClass() {
  if (!configType) {
    configType = std::make_shared<ClassObject>();
    configType->interp = this;
    configType->className = "Config";
    Value all = native("all_kwargs", [](Interp &, std::vector<Value> &args, Keywords &) {
      return args.empty() ? Value() : args[0].as<Instance>()->fields["kwargs"];
    });
    all.as<NativeFunction>()->isMethod = true;
    configType->attributes->set("all_kwargs", all);
  }
  return configType;
}

std::optional<Value> Interp::languageAttribute(const LanguageModule &module,
                                               std::string_view name) {
  std::string full = module.path + std::string(name);
  if (auto it = vocabulary.find(full); it != vocabulary.end())
    return it->second;
  std::optional<Value> value;
  if (full == "constexpr" || full == "core.constexpr") {
    const ops::Row *row = ops::find("constexpr");
    value = Value(std::make_shared<OpFunction>(row, false, "constexpr", this));
  }
  if (!value)
    for (const std::string &candidate : tableNames(module.path, name)) {
      bool old = false;
      if (const ops::Row *row = ops::find(candidate, &old)) {
        old |= module.path == "libdevice."; // before 3.0
        if (row->constant)
          value = row->constant();
        else
          value = Value(std::make_shared<OpFunction>(row, old, candidate, this));
        break;
      }
    }
  if (!value)
    for (std::string_view known : languageModules)
      if (known == full + ".")
        value = Value(std::make_shared<LanguageModule>(full + "."));
  if (!value && module.path.empty() && (name == "_aggregate" || name == "aggregate"))
    value = native("aggregate", aggregate);
  if (!value && module.path == "core." && name == "_aggregate")
    value = native("aggregate", aggregate);
  if (!value && name == "_unwrap_if_constexpr" && (module.path.empty() || module.path == "core."))
    value = native("_unwrap_if_constexpr", [](Interp &, std::vector<Value> &args, Keywords &) {
      return args.empty() ? Value() : unboxed(args[0]);
    });
  if (!value && (full == "core.builtin" || full == "extern" || full == "core.extern"))
    value = unknown("tl." + full);
  if (!value && name == "constexpr_function" && (module.path.empty() || module.path == "core."))
    value = native("constexpr_function", constexprFunction);
  if (!value)
    return std::nullopt;
  vocabulary.emplace(full, *value);
  return value;
}

bool Interp::isConstexprAnnotation(const Value &annotation) {
  if (auto *op = annotation.as<OpFunction>())
    return op->row->name == "constexpr";
  if (annotation.isStr())
    return annotation.asStr() == "constexpr" || annotation.asStr().ends_with(".constexpr");
  return false;
}

std::optional<Value> Interp::tritonAttribute(std::string_view name) {
  if (name == "language")
    return Value(std::make_shared<LanguageModule>(""));
  if (name == "jit" || name == "autotune") {
    Value decorator = native(std::string(name), name == "jit" ? jit : remembered("autotune"));
    decorator.as<NativeFunction>()->dropsUnknownOptions = true;
    return decorator;
  }
  if (name == "heuristics")
    return native("heuristics", remembered("heuristics"));
  if (name == "constexpr_function")
    return native("constexpr_function", constexprFunction);
  if (name == "aggregate")
    return native("aggregate", aggregate);
  if (name == "Config")
    return native("Config", config);
  if (name == "cdiv")
    return native("cdiv", cdiv);
  if (name == "next_power_of_2")
    return native("next_power_of_2", nextPowerOf2);
  if (name == "must_use_result")
    return native("must_use_result", [](Interp &interp, std::vector<Value> &args, Keywords &) {
      if (args.size() == 1 && args[0].as<FunctionObject>())
        return args[0];
      return interp.native("must_use_result", [](Interp &, std::vector<Value> &inner, Keywords &) {
        return inner.empty() ? Value() : inner[0];
      });
    });
  if (name == "__version__") {
    recordFact("version", "triton", "3.6.0");
    return Value::str("3.6.0");
  }
  for (const char *module :
       {"runtime", "testing", "tools", "compiler", "backends", "knobs", "extra", "experimental"})
    if (name == module)
      return nativeModule("triton." + std::string(name));
  for (const char *known :
       {"compile", "reinterpret", "set_allocator", "JITFunction", "KernelInterface", "MockTensor",
        "TensorWrapper", "OutOfResources", "CompilationError", "InterpreterError", "TritonError"})
    if (name == known)
      return unknown("triton." + std::string(name));
  return std::nullopt;
}

} // namespace nereid::emit
