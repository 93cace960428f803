#include "binding/Threads.h"

#include "support/Background.h"

#include <atomic>
#include <thread>
#include <unistd.h>

namespace nereid::python {

namespace {

// Calls that hold the interpreter's lock or wait for it. Counted before `isClosed` is looked at, so
// that either the call or `closeThreads` sees the other.
std::atomic<int> inside = 0;
// Threads in the engine without the interpreter's lock. Counted before `isForking` is looked at.
std::atomic<int> working = 0;
std::atomic<bool> isForking = false;
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
  for (++working; isForking; ++working) {
    --working;
    while (isForking)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
Unlocked::~Unlocked() {
  --working;
  inside += ownCalls;
  if (mustStay()) {
    inside -= ownCalls;
    stay();
  }
  PyEval_RestoreThread(state);
}

void beforeFork() {
  isForking = true;
  PyThreadState *state = PyEval_SaveThread();
  for (int i = 0; working > 0 && i < 30000; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  support::pauseBackground();
  PyEval_RestoreThread(state);
}

void afterFork(bool inChild) {
  support::resumeBackground(inChild);
  isForking = false;
  if (!inChild)
    return;
  inside = ownCalls;
  working = 0;
}

void closeThreads() {
  closer = std::this_thread::get_id();
  isClosed = true;
  PyThreadState *own = PyEval_SaveThread();
  support::pauseBackground(); // for good: what it tells it would tell the interpreter
  PyEval_RestoreThread(own);
  for (int i = 0; inside > ownCalls && i < 3000; ++i) {
    PyThreadState *state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }
}

} // namespace nereid::python
