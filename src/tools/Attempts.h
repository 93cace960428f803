// Work whose steps may cost the process: a kernel that faults takes the GPU from it, one that
// leaves its tensors on a CPU may end it.
#pragma once

#include "tools/Output.h"

#include <functional>
#include <map>
#include <string>

namespace nereid::tools {

/// Runs work in a child process. When a step loses that, another child begins again and is told so,
/// with what the steps before came to: it passes over the one and need not repeat the others.
/// Nothing may use a device before `run`, since a GPU does not survive a fork.
class Attempts {
public:
  /// Gives the exit code of the attempt that came to its end. It comes back in the child too, whose
  /// process then ends as this one would.
  static int run(const std::function<int(Attempts &)> &work);

  /// How an earlier attempt was lost in a step; null if none was.
  const std::string *lost(const std::string &step) const;
  /// What `ends` said of a step in this or an earlier attempt; null if nothing.
  const Json *known(const std::string &step) const;

  void begins(const std::string &step);
  void ends(const std::string &step, const Json &result);
  /// Behind a step that used a device: if that is lost, this attempt ends here.
  void goOnOrLose(const std::string &device, const std::string &failure);

private:
  [[noreturn]] void lose(const std::string &why);
  void tell(const Json &line) const;

  int out = -1; // to the parent
  std::string current;
  std::map<std::string, std::string> losses;
  std::map<std::string, Json> results;
};

} // namespace nereid::tools
