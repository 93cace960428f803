#include "runtime/AtomicGate.h"

#include "support/Forks.h"

namespace nereid::runtime {

AtomicGate &AtomicGate::ofProcess() {
  static AtomicGate *gate = new AtomicGate; // threads may launch while the process ends
  return *gate;
}

bool AtomicGate::enter(bool wantsAlone) {
  const uint64_t mine = uint64_t(support::forkCount()) << 32;
  for (uint64_t seen = state.load(std::memory_order_relaxed);;) {
    uint64_t now = (seen & ~lower) == mine ? seen & lower : 0;
    if (now & isAlone) {
      if (now & wanted || state.compare_exchange_weak(seen, seen | wanted)) {
        state.wait(seen | wanted);
        seen = state.load(std::memory_order_relaxed);
      }
      continue;
    }
    bool goesAlone = wantsAlone && now == 0;
    if (state.compare_exchange_weak(seen, mine | (goesAlone ? isAlone | 1 : now + 1)))
      return goesAlone;
  }
}

void AtomicGate::leave() {
  if (state.fetch_sub(1) & isAlone)
    share();
}

void AtomicGate::share() {
  if (state.fetch_and(~(isAlone | wanted)) & wanted)
    state.notify_all();
}

} // namespace nereid::runtime
