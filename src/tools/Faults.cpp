#include "tools/Faults.h"

#include "tools/Output.h"

#include <atomic>
#include <csignal>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace nereid::tools {

namespace {

// What the handler reads: nothing may be allocated there.
std::string faulty;
std::vector<Fenced> fenced;

void say(std::string_view text) {
  if (::write(2, text.data(), text.size()) < 0)
    return;
}

void tellFault(int, siginfo_t *what, void *) {
  // Other threads of the kernel fault too: the first one speaks, and ends them all.
  static std::atomic_flag isTold;
  while (isTold.test_and_set())
    ::pause();
  const auto at = uintptr_t(what->si_addr);
  const Fenced *nearest = nullptr;
  for (const Fenced &one : fenced)
    if (at >= one.begin && (!nearest || one.begin > nearest->begin))
      nearest = &one;
  say("nereid: error: ");
  say(faulty);
  constexpr uintptr_t near = 1 << 16;
  if (nearest && at - nearest->end < near) {
    say(" accesses memory behind the end of `");
    say(nearest->name);
    say("`");
  } else {
    say(" accesses memory outside of all tensors");
  }
  say("\n   hint: `nereid check` with the same arguments says in which line\n");
  ::_exit(exitRefused);
}

} // namespace

void tellFaults(std::string who, std::vector<Fenced> tensors) {
  faulty = std::move(who);
  fenced = std::move(tensors);
  struct sigaction action = {};
  action.sa_sigaction = tellFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

void forgetFaults() {
  ::signal(SIGSEGV, SIG_DFL);
  ::signal(SIGBUS, SIG_DFL);
}

} // namespace nereid::tools
