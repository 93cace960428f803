#include "tools/Attempts.h"

#include "runtime/Device.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nereid::tools {

namespace {

constexpr int lostCode = 86; // of an attempt that said which step lost it

// Whoever stops the command does not mean the step that runs.
bool isFromOutside(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT ||
         signal == SIGKILL || signal == SIGPIPE;
}

} // namespace

const std::string *Attempts::lost(const std::string &step) const {
  auto found = losses.find(step);
  return found == losses.end() ? nullptr : &found->second;
}

const Json *Attempts::known(const std::string &step) const {
  auto found = results.find(step);
  return found == results.end() ? nullptr : &found->second;
}

void Attempts::tell(const Json &line) const {
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t at = 0; out >= 0 && at < text.size();) {
    ssize_t written = ::write(out, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR)
      return; // the parent is gone, and this process goes with it
    at += written > 0 ? size_t(written) : 0;
  }
}

void Attempts::begins(const std::string &step) { tell({"begins", step}); }
void Attempts::ends(const std::string &step, const Json &result) {
  results[step] = result;
  tell({"ends", step, result});
}
void Attempts::goOnOrLose(const std::string &device, const std::string &failure) {
  auto found = runtime::device(device);
  if (found && !(*found)->usable())
    lose(failure);
}
void Attempts::lose(const std::string &why) {
  tell({"lost", why});
  std::fflush(nullptr);
  // What would wait for the device on the way out has nothing to wait for.
  ::_exit(lostCode);
}

int Attempts::run(const std::function<int(Attempts &)> &work) {
  Attempts all;
  for (;;) {
    int ends[2];
    std::fflush(nullptr);
    pid_t child = ::pipe2(ends, O_CLOEXEC) == 0 ? ::fork() : -1;
    if (child < 0)
      return work(all); // without a safety net
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      ::close(ends[0]);
      all.out = ends[1];
      return work(all);
    }
    ::close(ends[1]);
    all.current.clear();
    bool isLost = false;
    FILE *in = ::fdopen(ends[0], "r");
    char *line = nullptr;
    size_t room = 0;
    while (::getline(&line, &room, in) > 0) {
      Json told = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!told.is_array() || told.size() < 2)
        continue; // it ended within the line
      if (told[0] == "begins") {
        all.current = told[1];
      } else if (told[0] == "ends") {
        all.results[told[1]] = told[2];
        all.current.clear();
      } else {
        isLost = true;
        all.losses[all.current] = told[1];
      }
    }
    std::free(line);
    std::fclose(in);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
      ;
    if (WIFEXITED(status) && WEXITSTATUS(status) != lostCode)
      return WEXITSTATUS(status);
    if (isLost)
      continue;
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::string how = std::string("ended by `") + ::strsignal(signal) + "`";
    if (all.current.empty() || isFromOutside(signal))
      return refuse({"the process that measures was " + how +
                         (all.current.empty() ? "" : " at " + all.current),
                     {}});
    all.losses[all.current] = "its launch was " + how + "; `nereid check` may say where";
  }
}

} // namespace nereid::tools
