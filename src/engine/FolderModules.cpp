#include "engine/FolderModules.h"

#include "engine/ReferenceModule.h"
#include "support/ReadFile.h"
#include "syntax/Parser.h"

#include <cmath>

namespace nereid::engine {

namespace fs = std::filesystem;
using emit::findKeyword;
using emit::Interp;
using emit::Keywords;
using ops::Value;
using support::Array;

Keywords entries(Interp &interp, const Value &value, std::string_view what) {
  auto *dict = value.as<ops::Dict>();
  if (!dict)
    interp.raise("TypeError", std::string(what) + " is a dict, not `" + value.typeName() + "`");
  Keywords out;
  for (const auto &[key, entry] : dict->entries)
    out.emplace_back(key.isStr() ? key.asStr() : interp.str(key), entry);
  return out;
}

std::vector<std::string_view> parameterNames(const emit::FunctionObject &function) {
  std::vector<std::string_view> names;
  for (const syntax::Arg &arg : function.parameters->posonlyargs)
    names.push_back(arg.arg);
  for (const syntax::Arg &arg : function.parameters->args)
    names.push_back(arg.arg);
  for (const syntax::Arg &arg : function.parameters->kwonlyargs)
    names.push_back(arg.arg);
  return names;
}

Value FolderModules::field(const std::string &task, std::string_view key) {
  if (!task.empty()) {
    Keywords table = entries(interp, taskTable(task), "a task");
    if (const Value *own = findKeyword(table, key))
      return *own;
  }
  const emit::Binding *binding = spec->names->find(key);
  return binding ? use(*binding) : Value();
}

Value FolderModules::use(const emit::Binding &binding) {
  if (!binding.unusable)
    return binding.value;
  Diagnostic diagnostic;
  diagnostic.code = binding.unusable->code;
  diagnostic.message = "`" + std::string(binding.name) + "` " + binding.unusable->why;
  diagnostic.hint = binding.unusable->hint;
  diagnostic.where = binding.unusable->where;
  diagnostic.notes = binding.unusable->notes;
  throw emit::EvalError{diagnostic, "NameError", {}, false};
}

Value FolderModules::taskTable(const std::string &task) {
  const emit::Binding *tasks = spec->names->find("tasks");
  Keywords table = tasks ? entries(interp, use(*tasks), "`tasks`") : Keywords{};
  const Value *found = findKeyword(table, task);
  if (!found)
    interp.raise("KeyError", "the spec has no task `" + task + "`");
  return *found;
}

Value FolderModules::bind(const Value &callee, std::initializer_list<const Keywords *> scopes) {
  auto *function = callee.as<emit::FunctionObject>();
  if (!function)
    interp.raise("TypeError", "expected a function in the spec, not `" + callee.typeName() + "`");
  Keywords chosen;
  std::vector<std::string_view> names = parameterNames(*function);
  size_t positional = function->parameters->posonlyargs.size() + function->parameters->args.size();
  for (size_t i = 0; i < names.size(); ++i) {
    const Value *value = nullptr;
    for (const Keywords *scope : scopes)
      if (!value)
        value = findKeyword(*scope, names[i]);
    bool hasDefault = i < positional ? i + function->defaults.size() >= positional
                                     : function->kwDefaults[i - positional].has_value();
    if (value) {
      chosen.emplace_back(names[i], *value);
    } else if (!hasDefault) {
      std::string known;
      for (const Keywords *scope : scopes)
        for (const auto &[key, unused] : *scope)
          known += (known.empty() ? "" : ", ") + key;
      interp.raise("NameError", "`" + function->name() + "` names `" + std::string(names[i]) +
                                    "`, which is none of " + known);
    }
  }
  return interp.callHost(callee, {}, std::move(chosen));
}

Keywords FolderModules::exact(const Keywords &inputs) {
  Keywords out;
  for (const auto &[key, value] : inputs) {
    auto *tensor = value.as<SpecTensor>();
    out.emplace_back(key, tensor ? toValue(tensor->memory.toArray()) : value);
  }
  return out;
}

std::string FolderModules::preparingTask(const std::string &task) {
  Value prepare = field(task, "prepare");
  if (!prepare.isStr())
    interp.raise("ValueError", "`computed` inputs need `prepare` to name a task");
  return prepare.asStr();
}

void FolderModules::allocate(SpecTensor &tensor, const std::string &seed) const {
  if (hasData)
    tensor.allocate(seed);
  else
    tensor.reserve();
}

std::string FolderModules::seedOf(const FolderCase &which) const {
  return seedPrefix + name + "/" + which.label + "/";
}

void FolderModules::buildOutputs(FolderInstance &instance) {
  std::string seed = seedOf(instance.which);
  for (auto &[key, value] : entries(interp,
                                    bind(field(instance.which.task, "outputs"),
                                         {&instance.inputs, &instance.which.bindings}),
                                    "the result of `outputs`")) {
    if (findKeyword(instance.outputs, key))
      continue;
    if (auto *tensor = value.as<SpecTensor>()) {
      tensor->name = key;
      if (!tensor->allocated)
        allocate(*tensor, seed + key);
    }
    instance.outputs.emplace_back(key, value);
  }
}

std::map<std::string, Array> FolderModules::runReference(const std::string &task,
                                                         const Keywords &inputs,
                                                         const Keywords &bindings) {
  return runReference(task, exact(inputs), bindings, {});
}

std::map<std::string, Array> FolderModules::runReference(const std::string &task,
                                                         const Keywords &arrays,
                                                         const Keywords &bindings,
                                                         const Keywords &instead) {
  std::string function = task.empty() ? "reference" : task;
  const emit::Binding *binding = reference ? reference->names->find(function) : nullptr;
  if (!binding)
    interp.raise("NameError", reference
                                  ? "`reference.py` has no function `" + function + "`"
                                  : "the folder has no `reference.py` to compare results with");
  std::map<std::string, Array> out;
  for (auto &[key, value] : entries(interp, bind(use(*binding), {&instead, &arrays, &bindings}),
                                    "the result of a reference"))
    out.emplace(key, toArray(interp, value));
  return out;
}

// By the difference of two losses, a small step to both sides along random signs of one input.
// Inputs of narrow types are left out: their reference has results that were rounded to them.
void FolderModules::checkGradient(const FolderInstance &instance,
                                  const std::map<std::string, Array> &results) {
  const std::string &task = instance.which.task;
  Value rule = field(task, "gradient");
  if (rule.isNone() || (!instance.which.dtype.empty() && instance.which.dtype != "f32"))
    return;
  Keywords fields = entries(interp, rule, "`gradient`");
  auto part = [&](std::string_view key) {
    const Value *value = findKeyword(fields, key);
    if (!value)
      interp.raise("KeyError", "`gradient` has no `" + std::string(key) + "`");
    return *value;
  };
  const std::string of = interp.str(part("of"));
  const Keywords arrays = exact(instance.inputs), given = entries(interp, part("given"), "`given`");
  auto array = [&](const Keywords &scope, std::string_view name) -> std::optional<Array> {
    const Value *value = findKeyword(scope, name);
    return value && !value->isNone() ? std::optional(toArray(interp, *value)) : std::nullopt;
  };
  constexpr double step = 1e-5;
  for (const auto &[result, inputName] : entries(interp, part("by"), "`by`")) {
    const std::string input = interp.str(inputName);
    auto found = results.find(result);
    if (found == results.end())
      interp.raise("KeyError", "`" + task + "` gives no `" + result + "`");
    const Array &gradient = found->second;
    // What the gradient does not depend on is no input of its task: any place will do.
    Array place = array(arrays, input).value_or(Array(Array::Kind::Float, gradient.shape()));
    if (place.shape() != gradient.shape())
      interp.raise("ValueError", "`" + result + "` has not the shape of `" + input + "`");
    auto signOf = [](int64_t i) {
      return (uint64_t(i) * 0x9e3779b97f4a7c15) >> 40 & 1 ? 1.0 : -1.0;
    };
    auto loss = [&](double by) {
      Array moved(Array::Kind::Float, place.shape());
      for (int64_t i = 0; i < moved.size(); ++i)
        moved.floats()[size_t(i)] = place.floatAt(i) + by * signOf(i);
      auto forward = runReference(of, arrays, instance.which.bindings, {{input, toValue(moved)}});
      double sum = 0;
      for (const auto &[output, weightName] : given) {
        auto weight = array(arrays, interp.str(weightName));
        auto value = forward.find(output);
        if (!weight || value == forward.end() ||
            (weight->rank() > 0 && weight->size() != value->second.size()))
          interp.raise("ValueError", "`" + output + "` of `" + of + "` and `" +
                                         interp.str(weightName) + "` do not go together");
        for (int64_t i = 0; i < value->second.size(); ++i)
          sum += weight->floatAt(weight->rank() > 0 ? i : 0) * value->second.floatAt(i);
      }
      return sum;
    };
    double expected = 0, size = 0;
    for (int64_t i = 0; i < gradient.size(); ++i) {
      expected += gradient.floatAt(i) * signOf(i);
      size += std::abs(gradient.floatAt(i));
    }
    const double seen = (loss(step) - loss(-step)) / (2 * step);
    if (std::isfinite(expected) && std::isfinite(seen) &&
        std::abs(expected - seen) > 1e-4 * size + 1e-6)
      interp.raise("ValueError", "`" + result + "` of `" + task + "` is not the gradient of `" +
                                     of + "` by `" + input + "`: along one direction " +
                                     std::to_string(expected) + ", by differences " +
                                     std::to_string(seen));
  }
}

Status FolderModules::load(const fs::path &file, bool isSpec,
                           std::shared_ptr<emit::ModuleObject> &into) {
  auto text = support::readFile(file, support::largestSource);
  if (!text)
    return text.takeError();
  emit::SourceUnit unit;
  unit.file = (path / file.filename()).lexically_normal().generic_string();
  unit.module = file.stem().string();
  unit.text = std::move(*text);
  syntax::ParseResult parsed = syntax::parseModule(unit.text, unit.file);
  if (!parsed.module)
    return Error{"`" + unit.file + "` cannot be parsed", parsed.diagnostics};
  into = interp.loadModule(unit, parsed.module, isSpec ? specNames() : Keywords{});
  return Success{};
}

} // namespace nereid::engine
