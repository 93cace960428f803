// `nereid VERB ...`: one binary, one file a verb.
#include "runtime/Device.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

using namespace nereid::tools;

int main(int argc, char **argv) {
  CLI::App app("An engine for the Triton kernel language");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every verb");
  struct Verb {
    const char *name, *summary;
    Action (*add)(CLI::App &);
  };
  const Verb verbs[] = {
      {"list", "The kernels of a file: parameters, constexprs, what is unsupported and why",
       addList},
      {"run", "Run a kernel on tensors", addRun},
      {"check",
       "Run a kernel and verify every access: bounds, races, uninitialised reads, overflow, NaN",
       addCheck},
      {"explain", "Shapes, types, masks and bytes of each line", addExplain},
      {"compile", "Compile a kernel and write IR or code", addCompile},
      {"inspect",
       "Registers, occupancy, widths, coalescing, bank conflicts, roofline: with no GPU at hand",
       addInspect},
      {"test", "Run kernel folders against their references", addTest},
      {"bench", "Time the kernels of kernel folders", addBench},
      {"profile", "Launch a kernel many times and show where the time goes", addProfile},
      {"tune", "Time every configuration and keep the best in a tuning file", addTune},
      {"cache", "What is kept of built kernels, and what to remove of it", addCache},
      {"doctor", "What this machine has, and why something of it is not used", addDoctor},
      {"learn", "Puzzles from a copy to causal attention, checked as you solve them", addLearn},
  };
  std::vector<std::pair<CLI::App *, Action>> actions;
  for (const Verb &verb : verbs) {
    CLI::App *sub = app.add_subcommand(verb.name, verb.summary);
    actions.emplace_back(sub, verb.add(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    int code = app.exit(error);
    return code == 0 ? exitDone : exitUsage;
  }
  for (auto &[sub, action] : actions)
    if (sub->parsed()) {
      int code = action();
      if (nereid::runtime::deviceIsStuck()) {
        std::fflush(nullptr);
        std::_Exit(code);
      }
      return code;
    }
  return exitUsage;
}
