#include "engine/KernelFolder.h"

#include "emit/Interp.h"
#include "engine/ReferenceModule.h"
#include "support/Hash.h"
#include "support/ReadFile.h"
#include "support/Spelling.h"
#include "syntax/Parser.h"

#include <algorithm>

namespace nereid::engine {

namespace fs = std::filesystem;
using emit::findKeyword;
using emit::Interp;
using emit::Keywords;
using ops::Value;
using support::Array;

namespace {

// The entries of a Python dict with text keys.
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

double toDouble(Interp &interp, const Value &value, std::string_view what) {
  if (value.isFloat())
    return value.asFloat();
  if (value.isInt())
    return value.asInteger().toDouble();
  if (value.isBool())
    return value.asBool();
  if (auto *array = value.as<ArrayObject>(); array && array->array.size() == 1)
    return array->array.floatAt(0);
  interp.raise("TypeError", std::string(what) + " is a number, not `" + value.typeName() + "`");
}

} // namespace

struct KernelFolder::State {
  fs::path path;
  std::string name;
  std::string seedPrefix; ///< makes other data of the same names
  bool hasData = true;    ///< else tensors have memory alone
  Interp interp{emit::HostOptions{}};
  std::shared_ptr<emit::ModuleObject> spec, reference;

  Value field(const std::string &task, std::string_view key) {
    if (!task.empty()) {
      Keywords table = entries(interp, taskTable(task), "a task");
      if (const Value *own = findKeyword(table, key))
        return *own;
    }
    const emit::Binding *binding = spec->names->find(key);
    return binding ? use(*binding) : Value();
  }
  Value use(const emit::Binding &binding) {
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
  Value taskTable(const std::string &task) {
    const emit::Binding *tasks = spec->names->find("tasks");
    Keywords table = tasks ? entries(interp, use(*tasks), "`tasks`") : Keywords{};
    const Value *found = findKeyword(table, task);
    if (!found)
      interp.raise("KeyError", "the spec has no task `" + task + "`");
    return *found;
  }

  // The rule of the contract: a function of a spec receives what its parameters name.
  Value bind(const Value &callee, std::initializer_list<const Keywords *> scopes) {
    auto *function = callee.as<emit::FunctionObject>();
    if (!function)
      interp.raise("TypeError", "expected a function in the spec, not `" + callee.typeName() + "`");
    Keywords chosen;
    std::vector<std::string_view> names = parameterNames(*function);
    size_t positional =
        function->parameters->posonlyargs.size() + function->parameters->args.size();
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

  // Inputs as the reference receives them.
  Keywords exact(const Keywords &inputs) {
    Keywords out;
    for (const auto &[key, value] : inputs) {
      auto *tensor = value.as<SpecTensor>();
      out.emplace_back(key, tensor ? toValue(tensor->memory.toArray()) : value);
    }
    return out;
  }
  std::string preparingTask(const std::string &task) {
    Value prepare = field(task, "prepare");
    if (!prepare.isStr())
      interp.raise("ValueError", "`computed` inputs need `prepare` to name a task");
    return prepare.asStr();
  }

  void allocate(SpecTensor &tensor, const std::string &seed) const {
    if (hasData)
      tensor.allocate(seed);
    else
      tensor.reserve();
  }

  // Of a case's tensors, before their names.
  std::string seedOf(const FolderCase &which) const {
    return seedPrefix + name + "/" + which.label + "/";
  }

  // Adds the outputs that are not there yet.
  void buildOutputs(FolderInstance &instance) {
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

  std::map<std::string, Array> runReference(const std::string &task, const Keywords &inputs,
                                            const Keywords &bindings) {
    return runReference(task, exact(inputs), bindings, {});
  }

  // Of arrays; those of `instead` take the place of others.
  std::map<std::string, Array> runReference(const std::string &task, const Keywords &arrays,
                                            const Keywords &bindings, const Keywords &instead) {
    std::string function = task.empty() ? "reference" : task;
    const emit::Binding *binding = reference ? reference->names->find(function) : nullptr;
    if (!binding)
      interp.raise("NameError", "`reference.py` has no function `" + function + "`");
    std::map<std::string, Array> out;
    for (auto &[key, value] : entries(interp, bind(use(*binding), {&instead, &arrays, &bindings}),
                                      "the result of a reference"))
      out.emplace(key, toArray(interp, value));
    return out;
  }

  // Where a task says of which other one it is the gradient: its reference against that one's, by
  // the difference of two losses, a small step to both sides along random signs of one input.
  // Inputs of narrow types are left out: their reference has results that were rounded to them.
  void checkGradient(const FolderInstance &instance, const std::map<std::string, Array> &results) {
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
    const Keywords arrays = exact(instance.inputs),
                   given = entries(interp, part("given"), "`given`");
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

  Status load(const fs::path &file, bool isSpec, std::shared_ptr<emit::ModuleObject> &into) {
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
};

namespace {

// Evaluation throws; a folder answers with values.
template <typename T, typename F> Result<T> answered(F f) {
  try {
    return f();
  } catch (emit::EvalError &error) {
    return Error{error.diagnostic.message, {error.diagnostic}};
  } catch (support::ArrayError &error) {
    return Error{error.message, {}};
  }
}

std::string shown(const Value &value) {
  if (value.isStr())
    return value.asStr();
  if (value.isBool())
    return value.asBool() ? "True" : "False";
  return value.repr();
}

/// That `path` has no spec.py, and which folder beside it has one and a name like it: a day of the
/// course is known by its number.
Error noFolder(const fs::path &path) {
  const fs::path whole = fs::path(path / "").lexically_normal().parent_path();
  const std::string name = whole.filename().string();
  const fs::path above = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  support::Spelling spelling(name);
  std::string longer;
  std::error_code failed;
  for (const fs::directory_entry &entry : fs::directory_iterator(above, failed)) {
    const std::string other = entry.path().filename().string();
    if (!fs::exists(entry.path() / "spec.py", failed))
      continue;
    spelling.consider(other);
    if (!name.empty() && other.starts_with(name) && (longer.empty() || other < longer))
      longer = other;
  }
  if (longer.empty())
    longer = spelling.best();
  std::string what = "`" + path.string() + "` is no kernel folder: there is no `" +
                     (path / "spec.py").string() + "`";
  std::vector<std::string> inside;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, failed))
    if (fs::exists(entry.path() / "spec.py", failed))
      inside.push_back(entry.path().filename().string());
  if (!inside.empty())
    what += "; it holds " + std::to_string(inside.size()) + ", as `" +
            (path / *std::min_element(inside.begin(), inside.end())).string() + "`: `" +
            (path / "*" / "").string() + "` names them all";
  else if (!longer.empty())
    what += "; did you mean `" +
            (whole.has_parent_path() ? whole.parent_path() / longer : fs::path(longer)).string() +
            "`?";
  else if (name.find(".py") != std::string::npos)
    what += "; a kernel of a file is timed by `nereid profile`";
  return {what, {}};
}

} // namespace

std::string bindingsText(const Keywords &bindings) {
  std::string text;
  for (const auto &[key, value] : bindings)
    text += (text.empty() ? "" : " ") + key + "=" + shown(value);
  return text;
}

KernelFolder::KernelFolder() : state(std::make_unique<State>()) {}
KernelFolder::~KernelFolder() = default;
void KernelFolder::setHasData(bool hasData) { state->hasData = hasData; }

void KernelFolder::setSeed(uint64_t seed) {
  state->seedPrefix = seed ? std::to_string(seed) + "/" : "";
}
const std::string &KernelFolder::name() const { return state->name; }
const fs::path &KernelFolder::path() const { return state->path; }

Result<std::unique_ptr<KernelFolder>> KernelFolder::open(const fs::path &path) {
  std::unique_ptr<KernelFolder> folder(new KernelFolder);
  State &state = *folder->state;
  state.path = path;
  state.name = fs::absolute(path / "").lexically_normal().parent_path().filename().string();
  state.interp.addModule("numpy", numpyModule());
  state.interp.addModule("nereid.reference", referenceModule());
  return answered<std::unique_ptr<KernelFolder>>([&]() -> Result<std::unique_ptr<KernelFolder>> {
    if (std::error_code failed; !fs::exists(path / "spec.py", failed) && !failed)
      return noFolder(path);
    if (auto status = state.load(path / "spec.py", true, state.spec); !status)
      return status.takeError();
    if (std::error_code ignored; fs::exists(path / "reference.py", ignored))
      if (auto status = state.load(path / "reference.py", false, state.reference); !status)
        return status.takeError();
    return std::move(folder);
  });
}

std::vector<std::string> KernelFolder::tasks() const {
  const emit::Binding *tasks = state->spec->names->find("tasks");
  auto *dict = tasks ? tasks->value.as<ops::Dict>() : nullptr;
  if (!dict)
    return {""};
  std::vector<std::string> names;
  for (const auto &[key, value] : dict->entries)
    names.push_back(key.isStr() ? key.asStr() : "");
  return names;
}

Result<std::vector<FolderVariant>> KernelFolder::variants(const std::string &task) {
  return answered<std::vector<FolderVariant>>([&] {
    Interp &interp = state->interp;
    std::vector<FolderVariant> out;
    for (auto &[name, value] : entries(interp, state->field(task, "variants"), "`variants`")) {
      FolderVariant variant;
      variant.name = name;
      variant.run = value;
      if (value.as<ops::Dict>()) {
        Keywords fields = entries(interp, value, "a variant");
        const Value *run = findKeyword(fields, "run"), *configs = findKeyword(fields, "configs"),
                    *targets = findKeyword(fields, "targets"),
                    *bytes = findKeyword(fields, "bytes");
        if (!run)
          interp.raise("KeyError", "variant `" + name + "` has no `run`");
        variant.run = *run;
        if (configs)
          for (const Value &config : interp.iterate(*configs))
            variant.configs.push_back(entries(interp, config, "a configuration"));
        if (targets)
          for (const Value &target : interp.iterate(*targets))
            variant.targets.push_back(interp.str(target));
        if (bytes)
          variant.bytes = *bytes;
      }
      if (variant.configs.empty())
        variant.configs.emplace_back();
      out.push_back(std::move(variant));
    }
    return out;
  });
}

bool takes(const FolderVariant &variant, std::string_view name) {
  auto *function = variant.run.as<emit::FunctionObject>();
  if (!function)
    return false;
  std::vector<std::string_view> names = parameterNames(*function);
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<std::vector<std::string>> KernelFolder::caseNames(const std::string &task) {
  return answered<std::vector<std::string>>([&] {
    std::vector<std::string> names;
    Value inputs = state->field(task, "inputs");
    if (auto *function = inputs.as<emit::FunctionObject>())
      for (std::string_view name : parameterNames(*function))
        names.emplace_back(name);
    return names;
  });
}

Result<bool> KernelFolder::holds(const std::string &expression, const FolderCase &which,
                                 const Keywords &config) {
  syntax::ParseExpressionResult parsed = syntax::parseExpression(expression, "<where>");
  if (!parsed.module)
    return Error{"`" + expression + "` is no expression", parsed.diagnostics};
  return answered<bool>([&] {
    auto names = std::make_shared<emit::Names>();
    Value inputs = state->field(which.task, "inputs");
    if (auto *function = inputs.as<emit::FunctionObject>()) {
      std::vector<std::string_view> parameters = parameterNames(*function);
      size_t positional =
          function->parameters->posonlyargs.size() + function->parameters->args.size();
      for (size_t i = 0; i < parameters.size(); ++i) {
        size_t first = positional - function->defaults.size();
        if (i < positional && i >= first)
          names->set(parameters[i], function->defaults[i - first]);
        else if (i >= positional && function->kwDefaults[i - positional])
          names->set(parameters[i], *function->kwDefaults[i - positional]);
      }
    }
    for (const Keywords *scope : {&which.bindings, &config})
      for (const auto &[name, value] : *scope)
        names->set(name, value);
    return state->interp.truth(state->interp.evaluate(*parsed.expr, state->spec, names));
  });
}

FolderCase KernelFolder::ownCase(const std::string &task, const Keywords &bindings) {
  FolderCase one;
  one.task = task;
  one.label = bindingsText(bindings);
  one.check = false;
  one.bindings = bindings;
  if (const Value *dtype = findKeyword(bindings, "dtype"); dtype && dtype->isStr())
    one.dtype = dtype->asStr();
  return one;
}

Result<std::vector<FolderCase>> KernelFolder::cases(const std::string &task, std::string_view set) {
  return answered<std::vector<FolderCase>>([&] {
    Interp &interp = state->interp;
    std::vector<FolderCase> out;
    Value list = state->field(task, set);
    if (list.isNone())
      return out;
    for (const Value &item : interp.iterate(list)) {
      Keywords bindings;
      std::string label;
      bool check = set == "cases";
      for (auto &[key, value] : entries(interp, item, "a case")) {
        if (key == "label")
          label = interp.str(value);
        else if (key == "check")
          check = interp.truth(value);
        else
          bindings.emplace_back(key, value);
      }
      FolderCase one = ownCase(task, bindings);
      one.check = check;
      if (!label.empty())
        one.label = std::move(label);
      out.push_back(std::move(one));
    }
    return out;
  });
}

Result<FolderInstance> KernelFolder::build(const FolderCase &which, bool computeInputs) {
  return answered<FolderInstance>([&] {
    State &s = *state;
    FolderInstance instance;
    instance.which = which;
    std::string seed = s.seedOf(which);
    instance.inputs = entries(s.interp, s.bind(s.field(which.task, "inputs"), {&which.bindings}),
                              "the result of `inputs`");
    const Value *special = findKeyword(which.bindings, "special");
    const std::string planted = special ? s.interp.str(*special) : "";
    bool computed = false, isPlanted = !special;
    for (auto &[name, value] : instance.inputs)
      if (auto *tensor = value.as<SpecTensor>()) {
        tensor->name = name;
        s.allocate(*tensor, seed + name);
        if (special && name == planted && info(tensor->dtype).isFloat) {
          if (s.hasData)
            support::plantSpecial(tensor->memory);
          isPlanted = true;
        }
        computed |= tensor->recipe == SpecTensor::Recipe::Computed;
      }
    if (!isPlanted)
      s.interp.raise("NameError", "`special` names `" + planted + "`, which is no input of floats");
    if (computed && computeInputs) {
      std::string prepare = s.preparingTask(which.task);
      auto results = s.runReference(prepare, instance.inputs, which.bindings);
      for (auto &[name, value] : instance.inputs)
        if (auto *tensor = value.as<SpecTensor>();
            tensor && tensor->recipe == SpecTensor::Recipe::Computed) {
          auto result = results.find(name);
          if (result == results.end())
            s.interp.raise("KeyError", "task `" + prepare + "` gives no `" + name + "`");
          tensor->memory.fromArray(result->second);
        }
    }
    s.buildOutputs(instance);
    return instance;
  });
}

Status KernelFolder::renewOutputs(FolderInstance &instance) {
  return answered<Success>([&] {
    std::string seed = state->seedOf(instance.which);
    for (auto &[name, value] : instance.outputs)
      if (auto *tensor = value.as<SpecTensor>(); tensor && !findKeyword(instance.inputs, name))
        state->allocate(*tensor, seed + name);
    return Success{};
  });
}

Result<std::string> KernelFolder::sourceHash() const {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto &entry : fs::directory_iterator(state->path, failed))
    if (entry.path().extension() == ".py" && entry.path().filename() != "reference.py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  support::Hasher hasher;
  for (const fs::path &file : files) {
    auto text = support::readFile(file, support::largestSource);
    if (!text)
      return text.takeError();
    hasher.add(file.filename().string()).add(*text);
  }
  return hasher.finish().hex();
}

Result<std::optional<FolderInstance>> KernelFolder::preparing(const FolderInstance &instance) {
  return answered<std::optional<FolderInstance>>([&]() -> std::optional<FolderInstance> {
    State &s = *state;
    FolderInstance out;
    Keywords computed;
    for (auto &[name, value] : instance.inputs) {
      auto *tensor = value.as<SpecTensor>();
      bool isComputed = tensor && tensor->recipe == SpecTensor::Recipe::Computed;
      (isComputed ? computed : out.inputs).emplace_back(name, value);
    }
    if (computed.empty())
      return std::nullopt;
    out.which = instance.which;
    out.which.task = s.preparingTask(instance.which.task);
    out.outputs = std::move(computed);
    s.buildOutputs(out);
    return out;
  });
}

Result<FolderPlan> KernelFolder::plan(const FolderVariant &variant, const Keywords &config,
                                      const FolderInstance &instance) {
  return answered<FolderPlan>([&] {
    State &s = *state;
    FolderPlan plan;
    Value result = s.bind(variant.run,
                          {&config, &instance.outputs, &instance.inputs, &instance.which.bindings});
    if (auto *unsupported = result.as<SpecUnsupported>()) {
      plan.skipped = unsupported->reason;
      return plan;
    }
    size_t temporaries = 0;
    auto settle = [&](const Value &value) {
      SpecTensor *tensor = value.as<SpecTensor>();
      if (auto *descriptor = value.as<SpecDescriptor>())
        tensor = descriptor->tensor.get();
      if (tensor && !tensor->allocated) {
        tensor->name = "temporary" + std::to_string(temporaries++);
        s.allocate(*tensor, s.seedPrefix + s.name + "/" + tensor->name);
      }
    };
    for (const Value &item : s.interp.iterate(result)) {
      if (!item.as<SpecLaunch>())
        s.interp.raise("TypeError", "variant `" + variant.name +
                                        "` gives a list of launches; found `" + item.typeName() +
                                        "`");
      auto launch = std::static_pointer_cast<SpecLaunch>(item.object());
      for (const Value &value : launch->args)
        settle(value);
      for (const auto &[key, value] : launch->keywords)
        settle(value);
      plan.launches.push_back(std::move(launch));
    }
    return plan;
  });
}

Result<std::map<std::string, Array>> KernelFolder::reference(const FolderInstance &instance) {
  return answered<std::map<std::string, Array>>([&] {
    auto results =
        state->runReference(instance.which.task, instance.inputs, instance.which.bindings);
    state->checkGradient(instance, results);
    return results;
  });
}

Result<support::Tolerance> KernelFolder::tolerance(const FolderInstance &instance,
                                                   const std::string &output) {
  return answered<support::Tolerance>([&] {
    State &s = *state;
    Value rule = s.field(instance.which.task, "tolerance");
    if (rule.isCallable())
      rule = s.bind(rule, {&instance.which.bindings, &instance.inputs});
    if (rule.isNone())
      return support::Tolerance{};
    Keywords fields = entries(s.interp, rule, "`tolerance`");
    if (const Value *own = findKeyword(fields, output); own && own->as<ops::Dict>())
      fields = entries(s.interp, *own, "`tolerance`");
    support::Tolerance out;
    if (const Value *relative = findKeyword(fields, "rel"))
      out.relative = toDouble(s.interp, *relative, "`rel`");
    if (const Value *absolute = findKeyword(fields, "abs"))
      out.absolute = toDouble(s.interp, *absolute, "`abs`");
    return out;
  });
}

Result<std::optional<double>> KernelFolder::flops(const FolderInstance &instance) {
  return answered<std::optional<double>>([&]() -> std::optional<double> {
    Value rule = state->field(instance.which.task, "flops");
    if (rule.isNone())
      return std::nullopt;
    return toDouble(state->interp, state->bind(rule, {&instance.which.bindings, &instance.inputs}),
                    "`flops`");
  });
}

Result<std::map<std::string, std::string>> KernelFolder::peers(const std::string &task) {
  return answered<std::map<std::string, std::string>>([&] {
    std::map<std::string, std::string> texts;
    Value all = state->field(task, "peers");
    if (!all.isNone())
      for (const auto &[name, text] : entries(state->interp, all, "`peers`"))
        if (text.isStr())
          texts[name] = text.asStr();
    return texts;
  });
}

Result<std::optional<double>> KernelFolder::bytes(const FolderVariant &variant,
                                                  const FolderInstance &instance) {
  return answered<std::optional<double>>([&]() -> std::optional<double> {
    if (variant.bytes.isNone())
      return std::nullopt;
    return toDouble(
        state->interp,
        state->bind(variant.bytes, {&instance.outputs, &instance.inputs, &instance.which.bindings}),
        "`bytes`");
  });
}

} // namespace nereid::engine
