// What a compilation is made of, and how long each part takes: who wants to know listens while it
// compiles, on its own thread. Costs a thread-local load where nobody does.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace nereid::support {

/// A part of a compilation that has ended.
struct StepEvent {
  std::string name;
  double seconds = 0;
  double processorSeconds = 0; ///< of this thread; programs that it waits for are not in it
  size_t depth = 0;            ///< of the steps it is part of
  size_t order = 0;            ///< of its beginning, from 0
};

/// Hears of the steps of its thread while it lives. The one made last hears them alone.
class StepListener {
public:
  explicit StepListener(std::function<void(const StepEvent &)> onStep);
  ~StepListener();
  StepListener(const StepListener &) = delete;

  static bool isListening();

private:
  friend class Step;
  std::function<void(const StepEvent &)> onStep;
  StepListener *outer;
  size_t depth = 0, begun = 0;
};

/// A step, from its construction to its destruction.
class Step {
public:
  explicit Step(std::string_view name);
  ~Step();
  Step(const Step &) = delete;

private:
  StepListener *listener;
  StepEvent event;
  std::chrono::steady_clock::time_point start;
  double processorStart = 0;
};

/// Calls `body` as a step.
template <typename Body> decltype(auto) inStep(std::string_view name, Body &&body) {
  Step step(name);
  return body();
}

} // namespace nereid::support
