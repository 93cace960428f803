#include "binding/Threads.h"

#include <atomic>
#include <thread>
#include <unistd.h>

namespace nereid::python {

namespace {

// Calls that hold the interpreter's lock or wait for it. Counted before `isClosed` is looked at, so
// that either the call or `closeThreads` sees the other.
std::atomic<int> inside = 0;
std::atomic<bool> isClosed = false;
std::thread::id closer;
thread_local int ownCalls = 0;

bool mustStay() { return isClosed && std::this_thread::get_id() != closer; }

[[noreturn]] void stay() {
  for (;;)
    ::pause();
}

} // namespace

Inside::Inside() {
  ++inside;
  ++ownCalls;
  if (mustStay()) {
    inside -= ownCalls;
    PyEval_SaveThread();
    stay();
  }
}
Inside::~Inside() {
  --ownCalls;
  --inside;
}

Unlocked::Unlocked() {
  inside -= ownCalls;
  state = PyEval_SaveThread();
}
Unlocked::~Unlocked() {
  inside += ownCalls;
  if (mustStay()) {
    inside -= ownCalls;
    stay();
  }
  PyEval_RestoreThread(state);
}

void closeThreads() {
  closer = std::this_thread::get_id();
  isClosed = true;
  for (int i = 0; inside > ownCalls && i < 3000; ++i) {
    PyThreadState *state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }
}

} // namespace nereid::python
