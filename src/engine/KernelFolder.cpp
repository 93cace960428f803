#include "engine/KernelFolder.h"

#include "engine/FolderModules.h"
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

struct KernelFolder::State : FolderModules {};

namespace {

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
    what += "; a kernel of a file is verified by `nereid check` and timed by `nereid profile`";
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
      SpecTensor *tensor = tensorOf(value);
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
