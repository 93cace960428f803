#include "support/Forks.h"

#include <atomic>
#include <pthread.h>

namespace nereid::support {

namespace {
std::atomic<unsigned> forks = 0;
}

unsigned forkCount() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

} // namespace nereid::support
