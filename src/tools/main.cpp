// `nereid VERB ...`: one binary, one file a verb.
#include "runtime/Device.h"
#include "support/Spelling.h"
#include "tools/Help.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

using namespace nereid::tools;

namespace {

int unknownVerb(const CLI::App &app, const std::string &word) {
  nereid::support::Spelling spelling(word);
  std::string names;
  for (const CLI::App *verb : app.get_subcommands(nullptr)) {
    spelling.consider(verb->get_name());
    names += (names.empty() ? "`" : ", `") + verb->get_name() + "`";
  }
  std::fprintf(stderr, "nereid: error: there is no verb `%s`\n   hint: %s\n", word.c_str(),
               spelling.best().empty() ? ("there are " + names).c_str() : spelling.hint().c_str());
  return exitUsage;
}

// "; `run` and `check` have", where verbs beside this one take an option of that name.
std::string verbsWith(const CLI::App &verb, const std::string &option) {
  std::vector<std::string> names;
  if (const CLI::App *all = verb.get_parent(); all && option.starts_with("--"))
    for (const CLI::App *other : all->get_subcommands({}))
      for (const CLI::Option *known : other->get_options())
        if (known->check_lname(option.substr(2)))
          names.push_back("`" + other->get_name() + "`");
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "; " : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text + (names.empty() ? "" : names.size() == 1 ? " has" : " have");
}

// A word that the verb does not take: what it takes that is spelt like it.
std::string unexpectedWord(const CLI::App &verb) {
  const std::vector<std::string> words = verb.remaining();
  auto option = std::find_if(words.begin(), words.end(),
                             [](const std::string &word) { return word.starts_with("-"); });
  if (option == words.end())
    return "`" + verb.get_name() + "` takes no word `" + (words.empty() ? "" : words.front()) + "`";
  std::string name = option->substr(0, option->find('='));
  nereid::support::Spelling spelling(name);
  for (const CLI::Option *known : verb.get_options())
    for (const std::string &word : known->get_lnames())
      spelling.consider("--" + word);
  return "`" + verb.get_name() + "` has no option `" + name + "`" +
         (spelling.best().empty() ? verbsWith(verb, name) : "; " + spelling.hint());
}

// What the verb needs and was not given: one word, or one of a group.
std::string missingWord(const CLI::App &verb) {
  std::string needs = "`" + verb.get_name() + "` needs ";
  for (const CLI::Option *option : verb.get_options())
    if (option->get_required() && option->count() == 0)
      return needs + "`" + option->get_name() + "`: " + option->get_description();
  for (const CLI::App *group : verb.get_subcommands(nullptr)) {
    std::string names;
    for (const CLI::Option *option : group->get_options())
      if (option != group->get_help_ptr())
        names += (names.empty() ? "`" : ", `") + option->get_name() + "`";
    if (group->get_require_option_min() > 0 && group->count_all() == 0)
      return needs + "one of " + names;
    if (group->get_require_option_max() > 0 && group->count_all() > group->get_require_option_max())
      return "`" + verb.get_name() + "` takes only one of " + names;
  }
  return "";
}

std::string usageMessage(const CLI::App *app, const CLI::Error &error) {
  bool isRequired = error.get_name() == "RequiredError", hasVerb = !app->get_subcommands().empty();
  // Without any word: what there is, rather than where to ask for it.
  if (isRequired && !hasVerb && app->remaining().empty())
    return app->help();
  while (!app->get_subcommands().empty())
    app = app->get_subcommands().front();
  // A word that is not taken comes before one that is missing: it may be that one, misspelt.
  bool isExtra = error.get_exit_code() == int(CLI::ExitCodes::ExtrasError) ||
                 (isRequired && !app->remaining().empty());
  std::string what = isExtra ? unexpectedWord(*app) : isRequired ? missingWord(*app) : error.what();
  return "nereid: error: " + what + "\n   hint: `nereid help" +
         (hasVerb ? " " + app->get_name() : "") + "` lists what it takes\n";
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("An engine for the Triton kernel language", "nereid");
  app.require_subcommand(1);
  app.failure_message(usageMessage);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "nereid " NEREID_PROJECT_VERSION);
  app.footer("`nereid VERB --help` says what a verb takes. A first kernel: `nereid learn`.\n"
             "Exit status: 0 done; 1 refused, or something was found; 2 words that a verb does not "
             "take.");
  const std::string kernel = "softmax.py:softmax_row",
                    types = kernel + " --signature \"*fp32:16, *fp32:16, i32, 1024\"",
                    call = kernel + " --grid \"(64,)\" --const BLOCK=1024 --arg N=781 \\\n"
                                    "      --arg \"x_ptr=randn(64x781,f32)\" "
                                    "--arg \"y_ptr=zeros(64x781,f32)\"";
  struct Verb {
    const char *name, *summary;
    Action (*add)(CLI::App &);
    std::string example; ///< README.md has the kernel
  };
  const Verb verbs[] = {
      {"list",
       "The kernels of a file or a pack: parameters, constexprs, what is unsupported and why",
       addList, "softmax.py"},
      {"run", "Run a kernel on tensors", addRun, call + " --print y_ptr"},
      {"check",
       "Run a kernel and verify every access: bounds, races, uninitialised reads, overflow, NaN",
       addCheck, call},
      {"explain", "Shapes, types, masks and bytes of each line", addExplain, types},
      {"compile", "Compile a kernel and write IR or code", addCompile,
       types + " --target sm_90a --emit ptx"},
      {"inspect",
       "Registers, occupancy, widths, coalescing, bank conflicts, roofline: with no GPU at hand",
       addInspect, types + " --target sm_90a"},
      {"test", "Run kernel folders against their references", addTest,
       "kernels/softmax --device cpu"},
      {"bench", "Time the kernels of kernel folders", addBench, "kernels/softmax --device cpu"},
      {"profile", "Launch a kernel many times and show where the time goes", addProfile, call},
      {"tune", "Time every configuration and keep the best in a tuning file", addTune,
       "kernels/softmax --device cpu"},
      {"cache", "What is kept of built kernels, and what to remove of it", addCache, "list"},
      {"doctor", "What this machine has, and why something of it is not used", addDoctor, ""},
      {"learn", "Puzzles from a copy to causal attention, checked as you solve them", addLearn,
       "copy"},
  };
  std::vector<std::pair<CLI::App *, Action>> actions;
  for (const Verb &verb : verbs) {
    CLI::App *sub = app.add_subcommand(verb.name, verb.summary);
    if (!verb.example.empty())
      sub->footer("Example:\n  nereid " + std::string(verb.name) + " " + verb.example);
    actions.emplace_back(sub, verb.add(*sub));
  }
  // Behind the verbs, which do not take it.
  app.set_help_all_flag("--help-all", "Help of every verb");
  // `nereid help VERB` is `nereid VERB --help`.
  std::vector<char *> words(argv, argv + argc);
  char help[] = "--help";
  if (argc > 1 && words[1] == std::string_view("help")) {
    words.erase(words.begin() + 1);
    words.resize(std::min<size_t>(words.size(), 2));
    words.push_back(help);
  }
  auto named = [&](const Verb &verb) { return std::string_view(words[1]) == verb.name; };
  if (words.size() > 1 && words[1][0] != '-' &&
      std::none_of(std::begin(verbs), std::end(verbs), named))
    return unknownVerb(app, words[1]);
  try {
    app.parse(int(words.size()), words.data());
  } catch (const CLI::ParseError &error) {
    int code = app.exit(error);
    if (code != 0 && std::count(words.begin(), words.end(), std::string_view("--json")))
      std::printf("%s\n",
                  Json{{"error", error.what()}, {"diagnostics", Json::array()}}.dump().c_str());
    return code == 0 ? exitDone : exitUsage;
  }
  for (auto &[sub, action] : actions)
    if (sub->parsed()) {
      const CLI::Option *json = sub->get_option_no_throw("--json");
      answerInJson(json && json->count());
      if (const CLI::Option *log = sub->get_option_no_throw("--sarif"); log && log->count())
        logSarif(log->as<std::string>());
      int code = written(action());
      if (nereid::runtime::deviceIsStuck()) {
        std::fflush(nullptr);
        std::_Exit(code);
      }
      return code;
    }
  return exitUsage;
}
