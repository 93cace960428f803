#include "launch/Heuristics.h"

#include "launch/Packing.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace nereid::launch {

using support::HostExpression;
using support::HostValue;

namespace {

std::optional<Argument> argumentOf(const HostValue &value) {
  switch (value.kind) {
  case HostValue::Kind::None:
    return Argument::none();
  case HostValue::Kind::Bool:
    return Argument::boolean(value.integer != 0);
  case HostValue::Kind::Int:
    return Argument::integer(value.integer);
  case HostValue::Kind::Float:
    return Argument::floating(value.number);
  case HostValue::Kind::Other:
  case HostValue::Kind::Missing:
    break;
  }
  return std::nullopt;
}

// Arguments by parameter, which are the leaves of these expressions.
struct ByParameter final : support::HostArguments {
  explicit ByParameter(std::span<const Argument> arguments) : arguments(arguments) {}
  HostValue argument(uint32_t leaf) const override {
    return leaf < arguments.size() ? hostValueOf(arguments[leaf]) : HostValue::missing();
  }
  HostValue meta(uint32_t) const override { return HostValue::missing(); }
  const support::HostTensorFacts *tensor(uint32_t leaf) const override {
    return leaf < arguments.size() && hostFactsOf(arguments[leaf], facts) ? &facts : nullptr;
  }
  std::span<const Argument> arguments;
  mutable support::HostTensorFacts facts;
};

} // namespace

bool Heuristics::decides(size_t parameter) const {
  return std::ranges::any_of(rules, [&](const Rule &rule) { return rule.parameter == parameter; });
}

Status Heuristics::add(uint32_t parameter, std::span<const uint8_t> code) {
  Rule rule;
  rule.parameter = parameter;
  rule.code.resize((code.size() + 7) / 8);
  if (!code.empty())
    std::memcpy(rule.code.data(), code.data(), code.size());
  if (!code.empty())
    if (auto checked = HostExpression::open(rule.bytes()); !checked)
      return checked.takeError();
  rules.push_back(std::move(rule));
  return Success{};
}

const Heuristics::Rule *Heuristics::fill(std::span<Argument> arguments) const {
  ByParameter seen(arguments);
  const Rule *open = nullptr;
  for (const Rule &rule : rules) {
    if (arguments[rule.parameter].kind != Argument::Kind::Default)
      continue;
    std::optional<Argument> value;
    if (!rule.code.empty())
      if (support::HostResult result = HostExpression::open(rule.bytes())->evaluate(seen);
          result.ok())
        value = argumentOf(result.value);
    if (value)
      arguments[rule.parameter] = *value;
    else if (!open)
      open = &rule;
  }
  return open;
}

std::string Heuristics::whyOpen(const Rule &rule, const Signature &signature,
                                std::span<const Argument> arguments) const {
  std::string name = "`" + signature.parameters[rule.parameter].name + "`";
  if (rule.code.empty())
    return "its heuristic for " + name + " is no arithmetic of the arguments: give " + name;
  auto expression = HostExpression::open(rule.bytes());
  support::HostNames names;
  for (const Parameter &parameter : signature.parameters)
    names.leaves.push_back(parameter.name);
  support::HostResult result = expression->evaluate(ByParameter(arguments));
  return "its heuristic for " + name + " is `" + expression->toPython(names) +
         "`: " + (result.ok() ? "the result is no number" : result.error);
}

} // namespace nereid::launch
