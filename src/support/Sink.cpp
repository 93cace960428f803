#include "support/Sink.h"

#include <atomic>
#include <mutex>

namespace nereid::support {

namespace {
struct State {
  std::atomic<bool> enabled = false;
  std::recursive_mutex mutex; // a sink may log
  LogSink sink;
};

State &state() {
  static auto *instance = new State();
  return *instance;
}
} // namespace

void setLogSink(LogSink sink) {
  std::lock_guard lock(state().mutex);
  state().sink = std::move(sink);
  state().enabled = bool(state().sink);
}

bool logEnabled() { return state().enabled.load(std::memory_order_relaxed); }

void log(LogLevel level, std::string_view message) {
  if (!logEnabled())
    return;
  std::lock_guard lock(state().mutex);
  if (state().sink)
    state().sink(level, message);
}

} // namespace nereid::support
