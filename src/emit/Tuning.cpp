// What `@triton.autotune` and `@triton.heuristics` say, and what they choose for a launch.

#include "emit/Program.h"

#include "support/Integer.h"

#include <algorithm>

namespace nereid::emit {

namespace {

// An argument of a decorator, by position or name; None if it has none.
Value wordOf(const KernelInfo::Entry &entry, size_t position, std::string_view name) {
  if (const Value *given = findKeyword(entry.keywords, name))
    return *given;
  return position < entry.args.size() ? entry.args[position] : Value();
}

[[noreturn]] void failUnknown(Interp &interp, const Value &value, const std::string &need) {
  if (auto *unknown = value.as<Unknown>())
    interp.failUnknown(*unknown, need);
  interp.raise("TypeError", need + " is " + interp.repr(value));
}

int optionOf(Interp &interp, const Value &value, const char *name, int otherwise) {
  if (value.isNone())
    return otherwise;
  if (!value.isInt())
    failUnknown(interp, value, std::string("`") + name + "` of a `Config`");
  return int(interp.asInt(value, name));
}

Keywords stringKeys(Interp &interp, const Value &dict, const char *what) {
  auto *entries = dict.as<ops::Dict>();
  if (!entries)
    failUnknown(interp, dict, what);
  Keywords out;
  for (const auto &[key, value] : entries->entries)
    out.emplace_back(interp.str(key), value);
  return out;
}

Configuration configurationOf(Interp &interp, const Value &value) {
  auto *instance = value.as<Instance>();
  if (!instance || instance->type != interp.configClass())
    failUnknown(interp, value, "an entry of `configs`");
  Configuration out;
  auto field = [&](const char *name) {
    auto it = instance->fields.find(name);
    return it == instance->fields.end() ? Value() : it->second;
  };
  out.values = stringKeys(interp, field("kwargs"), "the first argument of a `Config`");
  out.numWarps = optionOf(interp, field("num_warps"), "num_warps", 4);
  out.numStages = optionOf(interp, field("num_stages"), "num_stages", 3);
  if (out.numStages == 0) // no copies ahead, as with one
    out.numStages = 1;
  out.numCtas = optionOf(interp, field("num_ctas"), "num_ctas", 1);
  out.maxnreg = optionOf(interp, field("maxnreg"), "maxnreg", 0);
  out.preHook = field("pre_hook");
  return out;
}

std::vector<Value> configsOf(Interp &interp, const KernelInfo::Entry &entry) {
  Value configs = wordOf(entry, 0, "configs");
  if (configs.as<Unknown>())
    failUnknown(interp, configs, "`configs` of `autotune`");
  std::vector<Value> out = interp.iterate(configs);
  // Triton runs a kernel with no configurations as it is.
  if (out.empty())
    out.push_back(interp.callHost(*interp.tritonAttribute("Config"),
                                  {Value(std::make_shared<ops::Dict>())}, {}));
  return out;
}

// The configurations that `prune_configs_by` leaves.
std::vector<Value> pruned(Interp &interp, const KernelInfo::Entry &entry,
                          std::vector<Value> configs, const Keywords &known) {
  Value by = wordOf(entry, 6, "prune_configs_by");
  if (by.isNone())
    return configs;
  Keywords rules = stringKeys(interp, by, "`prune_configs_by`");
  auto named = std::make_shared<ops::Dict>();
  for (const auto &[name, value] : known)
    named->entries.emplace_back(Value::str(name), value);
  if (const Value *early = findKeyword(rules, "early_config_prune"); early && !early->isNone()) {
    Value list = interp.callHost(*interp.builtin("list"),
                                 {Value(std::make_shared<ops::Tuple>(configs))}, {});
    Value kept = interp.callHost(*early, {list, Value(named)}, known);
    if (kept.as<Unknown>())
      failUnknown(interp, kept, "the result of `early_config_prune`");
    configs = interp.iterate(kept);
    if (configs.empty())
      interp.raise("ValueError", "`early_config_prune` leaves no configuration");
  }
  const Value *model = findKeyword(rules, "perf_model"), *top = findKeyword(rules, "top_k");
  if (model && !model->isNone() && top && !top->isNone()) {
    size_t keep = top->isFloat() && top->asFloat() <= 1.0
                      ? size_t(double(configs.size()) * top->asFloat())
                      : size_t(std::max<int64_t>(0, interp.asInt(*top, "`top_k`")));
    if (keep < configs.size()) {
      std::vector<std::pair<double, Value>> timed;
      for (const Value &config : configs) {
        Keywords words = known;
        Configuration data = configurationOf(interp, config);
        for (const auto &[name, value] : data.values)
          setKeyword(words, name, value);
        setKeyword(words, "num_warps", Value(data.numWarps));
        setKeyword(words, "num_stages", Value(data.numStages));
        setKeyword(words, "num_ctas", Value(data.numCtas));
        Value seconds = interp.callHost(*model, {}, words);
        if (!seconds.isFloat() && !seconds.isInt())
          failUnknown(interp, seconds, "the result of `perf_model`");
        timed.emplace_back(seconds.isFloat() ? seconds.asFloat() : seconds.asInteger().toDouble(),
                           config);
      }
      std::stable_sort(timed.begin(), timed.end(),
                       [](const auto &a, const auto &b) { return a.first < b.first; });
      configs.clear();
      for (size_t i = 0; i < std::max<size_t>(keep, 1); ++i)
        configs.push_back(timed[i].second);
    }
  }
  return configs;
}

// Whether a launch gives every parameter, or every one without a default.
bool isGiven(const FunctionObject &kernel, const Keywords &arguments, bool haveDefaults) {
  const syntax::Arguments &parameters = *kernel.parameters;
  size_t positional = parameters.args.size();
  size_t required = positional - (haveDefaults ? std::min(positional, kernel.defaults.size()) : 0);
  for (size_t i = 0; i < required; ++i)
    if (!findKeyword(arguments, parameters.args[i].arg))
      return false;
  for (size_t i = 0; i < parameters.kwonlyargs.size(); ++i)
    if (!(haveDefaults && i < kernel.kwDefaults.size() && kernel.kwDefaults[i]) &&
        !findKeyword(arguments, parameters.kwonlyargs[i].arg))
      return false;
  return true;
}

// A note that something could not be done, with the reason.
Diagnostic noteOf(const Diagnostic &failure, std::string code, std::string what) {
  Diagnostic note = failure;
  note.severity = Severity::Note;
  note.code = std::move(code);
  note.message = std::move(what) + ": " + failure.message;
  note.notes.resize(std::min<size_t>(note.notes.size(), 2)); // the cause, not all calls around it
  return note;
}

template <typename T, typename Body> Result<T> answered(const std::string &kernel, Body body) {
  try {
    return body();
  } catch (EvalError &error) {
    Diagnostic diagnostic = error.diagnostic;
    diagnostic.message = "cannot choose a configuration of `" + kernel + "`: " + diagnostic.message;
    if (diagnostic.hint.empty())
      diagnostic.hint = "decorators see the arguments that were given, by the kernel's names";
    return Error{diagnostic.message, {diagnostic}};
  }
}

} // namespace

std::string Configuration::text() const {
  std::string out;
  for (const auto &[name, value] : values)
    out += name + "=" + value.repr() + " ";
  out += "num_warps=" + std::to_string(numWarps) + " num_stages=" + std::to_string(numStages);
  if (numCtas != 1)
    out += " num_ctas=" + std::to_string(numCtas);
  if (maxnreg)
    out += " maxnreg=" + std::to_string(maxnreg);
  return out;
}

Result<std::vector<Configuration>> Program::configurations(const std::string &kernel) {
  return answered<std::vector<Configuration>>(kernel, [&] {
    std::vector<Configuration> out;
    for (const KernelInfo::Entry &entry : find(kernel)->kernel->decorators)
      if (entry.decorator == "autotune" && !entry.failure)
        for (const Value &config : configsOf(*interpreter, entry))
          out.push_back(configurationOf(*interpreter, config));
    return out;
  });
}

bool Program::prunesConfigurations(const std::string &kernel) {
  auto prunes = [](const KernelInfo::Entry &entry) {
    return entry.decorator == "autotune" && !wordOf(entry, 6, "prune_configs_by").isNone();
  };
  return std::ranges::any_of(find(kernel)->kernel->decorators, prunes);
}

Result<Keywords> Program::heuristics(const std::string &kernel) {
  return answered<Keywords>(kernel, [&] {
    Keywords rules;
    const auto &decorators = find(kernel)->kernel->decorators;
    for (auto entry = decorators.rbegin(); entry != decorators.rend(); ++entry) {
      if (entry->decorator != "heuristics" || entry->failure)
        continue;
      Value values = unboxed(wordOf(*entry, 0, "values"));
      if (values.as<Unknown>())
        continue;
      for (auto &rule : stringKeys(*interpreter, values, "`values` of `heuristics`"))
        rules.push_back(std::move(rule));
    }
    return rules;
  });
}

namespace {

// Applies the decorators of a kernel to a launch, the innermost first.
class Chooser {
public:
  Chooser(Interp &interp, const FunctionObject &kernel, const std::string &name,
          const Keywords &arguments, std::optional<size_t> configuration,
          std::vector<Diagnostic> &notes)
      : interp(interp), kernel(kernel), name(name), arguments(arguments),
        configuration(configuration), notes(notes), known(arguments) {}

  LaunchChoices choose() {
    const auto &decorators = kernel.kernel->decorators;
    for (auto entry = decorators.rbegin(); entry != decorators.rend(); ++entry)
      apply(*entry);
    return std::move(choices);
  }

private:
  void apply(const KernelInfo::Entry &entry) {
    if (entry.failure) {
      if (!isGiven(kernel, arguments, true))
        throw EvalError(*entry.failure);
      notes.push_back(noteOf(*entry.failure, "DecoratorFailed",
                             "`@" + entry.decorator + "` could not be applied"));
      return;
    }
    const bool isHeuristics = entry.decorator == "heuristics";
    // What can't be known has nothing to add to a launch that gives everything.
    Value words = unboxed(wordOf(entry, 0, isHeuristics ? "values" : "configs"));
    if (words.as<Unknown>() && isGiven(kernel, arguments, false))
      return;
    if (isHeuristics)
      compute(words);
    else
      configure(entry);
  }

  // What nobody gave is added to the launch, and decorators further out see it.
  void add(const std::string &parameter, const Value &value) {
    if (findKeyword(arguments, parameter))
      return;
    setKeyword(known, parameter, value);
    setKeyword(choices.added, parameter, value);
  }

  void compute(const Value &rules) {
    for (const auto &[parameter, rule] : stringKeys(interp, rules, "`values` of `heuristics`")) {
      if (findKeyword(arguments, parameter))
        continue;
      auto seen = std::make_shared<ops::Dict>();
      for (const auto &[key, value] : known)
        seen->entries.emplace_back(Value::str(key), value);
      Value chosen = interp.callHost(rule, {Value(seen)}, {});
      if (auto *unknown = chosen.as<Unknown>())
        interp.failUnknown(*unknown, "the heuristic for `" + parameter + "`");
      add(parameter, unboxed(chosen));
    }
  }

  void configure(const KernelInfo::Entry &entry) {
    choices.configurations.clear();
    for (const Value &config : surviving(entry))
      choices.configurations.push_back(configurationOf(interp, config));
    choices.key = namesIn(wordOf(entry, 1, "key"));
    choices.resetToZero = namesIn(wordOf(entry, 2, "reset_to_zero"));
    choices.restoreValue = namesIn(wordOf(entry, 3, "restore_value"));
    choices.preHook = wordOf(entry, 4, "pre_hook");
    choices.postHook = wordOf(entry, 5, "post_hook");
    choices.chosen = configuration.value_or(0);
    if (choices.chosen >= choices.configurations.size())
      interp.raise("IndexError", "there is no configuration " + std::to_string(choices.chosen) +
                                     "; `" + name + "` has " +
                                     std::to_string(choices.configurations.size()));
    const Configuration &chosen = choices.configurations[choices.chosen];
    for (const auto &[parameter, value] : chosen.values)
      add(parameter, unboxed(value));
    add("num_warps", Value(chosen.numWarps));
    add("num_stages", Value(chosen.numStages));
    add("num_ctas", Value(chosen.numCtas));
    if (chosen.maxnreg)
      add("maxnreg", Value(chosen.maxnreg));
  }

  // The configurations that pruning leaves. One needs no choice, and neither do values that are all
  // given: nothing is asked then.
  std::vector<Value> surviving(const KernelInfo::Entry &entry) {
    std::vector<Value> configs = configsOf(interp, entry);
    auto holdsGiven = [&](const Value &config) {
      Configuration sets = configurationOf(interp, config);
      return std::ranges::all_of(
          sets.values, [&](const auto &word) { return findKeyword(arguments, word.first); });
    };
    if (configs.size() < 2 || std::ranges::all_of(configs, holdsGiven))
      return configs;
    try {
      return pruned(interp, entry, configs, known);
    } catch (EvalError &failure) {
      // Without a launch the values that pruning asks for are not there.
      const std::string &code = failure.diagnostic.code;
      if (failure.fatal || (code != "UnknownValue" && code != "UnknownDefinition"))
        throw;
      Diagnostic note = noteOf(failure.diagnostic, "PruneFailed",
                               "all " + std::to_string(configs.size()) + " configurations of `" +
                                   name + "` are kept, since they could not be pruned");
      note.hint = "give the values that pruning asks for with `--arg`, or choose with `--config`";
      if (note.where.file.empty())
        note.where = {kernel.module->tree->file, kernel.node()->begin, kernel.node()->begin};
      notes.push_back(std::move(note));
      return configs;
    }
  }

  std::vector<std::string> namesIn(const Value &list) {
    std::vector<std::string> names;
    if (!list.isNone())
      for (const Value &one : interp.iterate(list))
        names.push_back(interp.str(one));
    return names;
  }

  Interp &interp;
  const FunctionObject &kernel;
  const std::string &name;
  const Keywords &arguments;
  std::optional<size_t> configuration;
  std::vector<Diagnostic> &notes;
  Keywords known; // what the functions of decorators see; what nobody gave is unknown to them
  LaunchChoices choices;
};

} // namespace

Result<LaunchChoices> Program::choose(const std::string &kernel, const Keywords &arguments,
                                      std::optional<size_t> configuration) {
  return answered<LaunchChoices>(kernel, [&] {
    choiceNotes.clear();
    std::shared_ptr<FunctionObject> function = find(kernel);
    return Chooser(*interpreter, *function, kernel, arguments, configuration, choiceNotes).choose();
  });
}

} // namespace nereid::emit
