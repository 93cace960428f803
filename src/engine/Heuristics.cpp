#include "engine/Heuristics.h"

#include "emit/Names.h"
#include "emit/Objects.h"
#include "launch/Packing.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace nereid::engine {

using Kind = launch::Argument::Kind;
using support::HostExpression;
using support::HostValue;

namespace {

// What a function of one parameter gives back, if it does nothing else.
const syntax::Expr *resultOf(const emit::FunctionObject &function) {
  const syntax::Arguments &parameters = *function.parameters;
  if (parameters.args.size() != 1 || parameters.posonlyargs.size() ||
      parameters.kwonlyargs.size() || parameters.vararg || parameters.kwarg ||
      !function.closure.empty())
    return nullptr;
  if (function.lambdaBody)
    return function.lambdaBody;
  if (!function.def || function.def->body.size() != 1)
    return nullptr;
  auto *result = syntax::dynCast<syntax::Return>(function.def->body[0]);
  return result ? result->value : nullptr;
}

// Whether a name of the module is Python's `min` or `max`, or the module `triton`.
bool isLibrary(const emit::ModuleObject &module, std::string_view name) {
  const emit::Binding *binding = module.names->find(name);
  if (name != "triton")
    return !binding && (name == "min" || name == "max");
  auto *known = binding ? binding->value.as<emit::NativeModule>() : nullptr;
  return known && known->name == "triton";
}

// Whether the expression sees what the function would see.
bool canAnswer(const launch::Argument &argument, ExpressionReader::Asked::What what) {
  bool isTensor = argument.kind == Kind::Tensor;
  switch (what) {
  case ExpressionReader::Asked::Tensor:
    return isTensor;
  case ExpressionReader::Asked::Address:
    return isTensor || argument.kind == Kind::Pointer;
  case ExpressionReader::Asked::Presence:
    if (isTensor || argument.kind == Kind::Pointer)
      return true;
    [[fallthrough]];
  case ExpressionReader::Asked::Value:
    switch (argument.kind) {
    case Kind::Int:
    case Kind::TypedInt:
      return argument.type != DType::UInt64 || !(argument.bits >> 63);
    case Kind::None:
    case Kind::Bool:
    case Kind::Float:
    case Kind::TypedFloat:
      return true;
    default:
      return false;
    }
  }
  return false;
}

launch::Argument argumentOf(const HostValue &value) {
  switch (value.kind) {
  case HostValue::Kind::Bool:
    return launch::Argument::boolean(value.integer != 0);
  case HostValue::Kind::Int:
    return launch::Argument::integer(value.integer);
  case HostValue::Kind::Float:
    return launch::Argument::floating(value.number);
  case HostValue::Kind::None:
    break;
  }
  return launch::Argument::none();
}

// Arguments by parameter; the leaves of these expressions are the parameters.
struct ByParameter final : support::HostArguments {
  explicit ByParameter(std::span<const launch::Argument> arguments) : arguments(arguments) {}
  HostValue argument(uint32_t leaf) const override { return launch::hostValueOf(arguments[leaf]); }
  HostValue meta(uint32_t) const override { return HostValue::none(); }
  const support::HostTensorFacts *tensor(uint32_t leaf) const override {
    if (arguments[leaf].kind != Kind::Tensor)
      return nullptr;
    const runtime::Tensor &tensor = arguments[leaf].asTensor();
    facts = {tensor.shape(), tensor.strides(), tensor.itemBytes()};
    return &facts;
  }
  std::span<const launch::Argument> arguments;
  mutable support::HostTensorFacts facts;
};

} // namespace

Result<Heuristics> Heuristics::of(emit::Program &program, const launch::Signature &signature) {
  Heuristics all;
  auto functions = program.heuristics(signature.name);
  if (!functions)
    return functions.takeError();
  std::vector<ExpressionLeaf> leaves;
  for (const launch::Parameter &parameter : signature.parameters)
    leaves.push_back({parameter.name, ""});
  for (const auto &[name, value] : *functions) {
    Rule rule;
    while (rule.parameter < leaves.size() && leaves[rule.parameter].name != name)
      ++rule.parameter;
    if (rule.parameter == leaves.size())
      continue; // `num_warps` and the like, which configurations hold
    auto *function = value.as<emit::FunctionObject>();
    if (const syntax::Expr *result = function ? resultOf(*function) : nullptr) {
      ExpressionReader reader(
          leaves, function->parameters->args[0].arg,
          [&](std::string_view name) { return isLibrary(*function->module, name); });
      if (auto bytes = reader.read(result)) {
        rule.code.resize((bytes->size() + 7) / 8);
        std::memcpy(rule.code.data(), bytes->data(), bytes->size());
        rule.asked = reader.asked();
      }
    }
    all.rules.push_back(std::move(rule));
  }
  return all;
}

bool Heuristics::decides(size_t parameter) const {
  return std::ranges::any_of(rules, [&](const Rule &rule) { return rule.parameter == parameter; });
}

bool Heuristics::fill(std::span<launch::Argument> arguments) const {
  ByParameter seen(arguments);
  bool areAll = true;
  for (const Rule &rule : rules) {
    if (arguments[rule.parameter].kind != Kind::Default)
      continue;
    auto canBeAnswered = [&](const ExpressionReader::Asked &one) {
      return canAnswer(arguments[one.leaf], one.what);
    };
    if (rule.code.empty() || !std::ranges::all_of(rule.asked, canBeAnswered)) {
      areAll = false;
      continue;
    }
    auto expression = HostExpression::open(
        {reinterpret_cast<const uint8_t *>(rule.code.data()), rule.code.size() * 8});
    support::HostResult value = expression->evaluate(seen);
    if (value.ok())
      arguments[rule.parameter] = argumentOf(value.value);
    else
      areAll = false;
  }
  return areAll;
}

} // namespace nereid::engine
