#include "engine/Heuristics.h"

#include "emit/Names.h"
#include "emit/Objects.h"
#include "engine/ExpressionReader.h"

namespace nereid::engine {

namespace {

// A function of one parameter, and of nothing around it but its module.
bool isPlain(const emit::FunctionObject &function) {
  const syntax::Arguments &parameters = *function.parameters;
  return parameters.args.size() == 1 && parameters.posonlyargs.empty() &&
         parameters.kwonlyargs.empty() && !parameters.vararg && !parameters.kwarg &&
         function.closure.empty();
}

NameMeaning meaningOf(const emit::ModuleObject &module, std::string_view name) {
  const emit::Binding *binding = module.names->find(name);
  if (!binding)
    return {"builtins", {}};
  if (binding->unusable || binding->lastStep || binding->deleted)
    return {};
  ops::Value value = emit::unboxed(binding->value);
  if (auto *native = value.as<emit::NativeModule>())
    return {native->name, {}};
  if (auto *language = value.as<emit::LanguageModule>())
    return {language->path.empty() ? "triton.language" : "", {}};
  if (value.isBool())
    return {"", support::HostValue::boolean(value.asBool())};
  if (value.isFloat())
    return {"", support::HostValue::of(value.asFloat())};
  auto integer = value.isInt() ? value.asInteger().toInt64() : std::nullopt;
  return {"", integer ? std::optional(support::HostValue::of(*integer)) : std::nullopt};
}

} // namespace

Result<launch::Heuristics> heuristicsOf(emit::Program &program,
                                        const launch::Signature &signature) {
  launch::Heuristics all;
  auto functions = program.heuristics(signature.name);
  if (!functions)
    return functions.takeError();
  std::vector<ExpressionLeaf> leaves;
  for (const launch::Parameter &parameter : signature.parameters)
    leaves.push_back({parameter.name, ""});
  for (const auto &[name, value] : *functions) {
    uint32_t parameter = 0;
    while (parameter < leaves.size() && leaves[parameter].name != name)
      ++parameter;
    if (parameter == leaves.size())
      continue; // `num_warps` and the like, which configurations hold
    auto *function = value.as<emit::FunctionObject>();
    std::vector<uint8_t> code; // empty: for the evaluator
    if (function && isPlain(*function)) {
      ExpressionReader reader(
          leaves, function->parameters->args[0].arg,
          [&](std::string_view name) { return meaningOf(*function->module, name); });
      const syntax::FunctionDef *def = function->def;
      auto bytes = function->lambdaBody ? reader.read(function->lambdaBody)
                   : def                ? reader.readBody({def->body.begin(), def->body.end()})
                                        : Result<std::vector<uint8_t>>(Error{"", {}});
      if (bytes)
        code = *std::move(bytes);
    }
    if (Status status = all.add(parameter, code); !status)
      return status.takeError();
  }
  return all;
}

} // namespace nereid::engine
