#include "support/Steps.h"

#include <ctime>
#include <utility>

namespace nereid::support {

namespace {
thread_local StepListener *listening = nullptr;

double processorTime() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}
} // namespace

StepListener::StepListener(std::function<void(const StepEvent &)> onStep)
    : onStep(std::move(onStep)), outer(std::exchange(listening, this)) {}

StepListener::~StepListener() { listening = outer; }

bool StepListener::isListening() { return listening; }

Step::Step(std::string_view name) : listener(listening) {
  if (!listener) [[likely]]
    return;
  event.name = name;
  event.depth = listener->depth++;
  event.order = listener->begun++;
  processorStart = processorTime();
  start = std::chrono::steady_clock::now();
}

Step::~Step() {
  if (!listener) [[likely]]
    return;
  event.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  event.processorSeconds = processorTime() - processorStart;
  --listener->depth;
  listener->onStep(event);
}

} // namespace nereid::support
