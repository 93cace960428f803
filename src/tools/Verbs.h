// The verbs of the command: each declares its words on a subcommand and returns what runs it.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace nereid::tools {

/// Runs the verb after its words were parsed; gives the exit code.
using Action = std::function<int()>;

Action addList(CLI::App &app);
Action addRun(CLI::App &app);
Action addCheck(CLI::App &app);
Action addExplain(CLI::App &app);
Action addCompile(CLI::App &app);
Action addInspect(CLI::App &app);
Action addTest(CLI::App &app);
Action addBench(CLI::App &app);
Action addProfile(CLI::App &app);
Action addTune(CLI::App &app);
Action addCache(CLI::App &app);
Action addDoctor(CLI::App &app);
Action addLearn(CLI::App &app);

/// `--sarif FILE`, which main takes.
inline void addSarif(CLI::App &app) {
  app.add_option("--sarif", "FILE.sarif: all that is reported, for services that show it by line");
}

/// "FILE.py:KERNEL" in its two parts; the kernel may be left out.
inline std::pair<std::string, std::string> splitTarget(const std::string &text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find('/', colon) != std::string::npos)
    return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

} // namespace nereid::tools
