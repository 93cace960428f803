// What functions that are made like Triton's builtins get beside a call's own arguments:
// `_semantic`
// (`_builder` before 3.4), which makes operations, and `_generator`, which calls kernel functions.
// Here operations are made without either, so that vocabulary and methods take and drop them.
#include "emit/Interp.h"

namespace nereid::emit {

namespace {

/// Attributes by name; what is not among them goes to `others`.
struct Namespace : NativeObject {
  using Lookup = std::function<std::optional<Value>(Interp &, std::string_view)>;
  Namespace(std::string type, Lookup lookup) : type(std::move(type)), lookup(std::move(lookup)) {}
  std::string typeName() const override { return type; }
  std::string repr() const override { return "<" + type + ">"; }
  std::optional<Value> attribute(Interp &interp, std::string_view name) override {
    return lookup(interp, name);
  }
  std::string type;
  Lookup lookup;
};

Value make(std::string type, Namespace::Lookup lookup) {
  return Value(std::make_shared<Namespace>(std::move(type), std::move(lookup)));
}

// `_semantic.builder.options`: how the kernel is compiled.
std::optional<Value> option(Interp &interp, std::string_view name) {
  const ops::CompileOptions &options = interp.opContext().options;
  bool isCuda = options.targetBackend == "cuda";
  if (name == "num_warps")
    return Value(options.numWarps);
  if (name == "num_stages")
    return Value(options.numStages);
  if (name == "num_ctas")
    return Value(options.numCtas);
  if (name == "warp_size")
    return Value(32);
  if (name == "backend_name")
    return Value::str(options.targetBackend);
  if (name == "arch")
    return Value::str(isCuda ? "sm" + std::to_string(options.targetArch) : options.targetBackend);
  if (name == "debug")
    return Value(options.debug);
  if (name == "sanitize_overflow")
    return Value(options.sanitizeOverflow);
  if (name == "default_dot_input_precision")
    return Value::str(options.defaultInputPrecision);
  return std::nullopt;
}

Value builderObject() {
  return make("builder", [](Interp &, std::string_view name) -> std::optional<Value> {
    if (name == "options")
      return make("options", option);
    return std::nullopt;
  });
}

Value semanticObject() {
  return make("TritonSemantic", [](Interp &interp, std::string_view name) -> std::optional<Value> {
    if (name == "builder")
      return builderObject();
    if (name == "to_tensor")
      return interp.native("to_tensor", [](Interp &interp, std::vector<Value> &args, Keywords &) {
        if (args.empty())
          interp.raise("TypeError", "`to_tensor` takes 1 argument");
        return interp.building(
            [&] { return Value(ops::toTile(interp.opContext(), unboxed(args[0]))); });
      });
    // Its other methods have the names and parameters of the language: `cast`, `add`, `where`.
    return interp.attribute(Value(std::make_shared<LanguageModule>("")), name);
  });
}

Value generatorObject() {
  return make("generator", [](Interp &interp, std::string_view name) -> std::optional<Value> {
    if (name != "call_JitFunction")
      return std::nullopt;
    return interp.native(
        "call_JitFunction", [](Interp &interp, std::vector<Value> &args, Keywords &named) {
          for (auto &[key, value] : named)
            if (key == "args" || key == "kwargs")
              args.push_back(value);
          if (args.size() < 2 || args.size() > 3)
            interp.raise("TypeError", "`call_JitFunction` takes a function, `args` and `kwargs`");
          Keywords keywords;
          if (args.size() == 3)
            if (auto *given = unboxed(args[2]).as<ops::Dict>())
              for (auto &[key, value] : given->entries)
                setKeyword(keywords, std::string(key.asStr()), value);
          return interp.call(args[0], interp.iterate(unboxed(args[1])), std::move(keywords));
        });
  });
}

bool isBuilderArgument(std::string_view name) {
  return name == "_semantic" || name == "_builder" || name == "_generator";
}

} // namespace

bool takesBuilder(const FunctionObject &function) {
  auto any = [](auto &parameters) {
    return llvm::any_of(parameters, [](const syntax::Arg &one) {
      return one.arg == "_semantic" || one.arg == "_builder";
    });
  };
  return any(function.parameters->args) || any(function.parameters->kwonlyargs);
}

void dropBuilderArguments(Keywords &keywords) {
  std::erase_if(keywords, [](auto &keyword) { return isBuilderArgument(keyword.first); });
}

void addBuilderArguments(const FunctionObject &function, size_t positional, Keywords &keywords) {
  auto add = [&](const syntax::Arg &one) {
    if (one.arg == "_semantic")
      setKeyword(keywords, "_semantic", semanticObject());
    else if (one.arg == "_builder")
      setKeyword(keywords, "_builder", builderObject());
    else if (one.arg == "_generator")
      setKeyword(keywords, "_generator", generatorObject());
  };
  // Those that the caller fills by position stay its own.
  for (size_t i = positional; i < function.parameters->args.size(); ++i)
    add(function.parameters->args[i]);
  for (const syntax::Arg &one : function.parameters->kwonlyargs)
    add(one);
}

} // namespace nereid::emit
