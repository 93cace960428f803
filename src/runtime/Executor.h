// Who runs the pieces of a CPU launch. A program may bring its own pool by deriving from Executor.
#pragma once

#include <cstdint>

namespace nereid::runtime {

/// Runs a function on several threads at once. Implementations are safe to call from several
/// threads, and from within a body they run (then it is enough to call `body(data, 0)`).
class Executor {
public:
  using Body = void (*)(void *data, unsigned worker);

  virtual ~Executor() = default;
  /// The most bodies that make sense at a time, at least 1.
  virtual unsigned concurrency() const = 0;
  /// Calls `body(data, w)` for w = 0 and for any further distinct w below `workers`, possibly at
  /// the same time, and returns when all these calls have. Which w are called is up to the
  /// executor: the body takes pieces of work from a shared counter, so the fewest suffice. `body`
  /// does not throw.
  virtual void run(unsigned workers, Body body, void *data) = 0;
};

/// Everything on the calling thread.
class InlineExecutor final : public Executor {
public:
  unsigned concurrency() const override { return 1; }
  void run(unsigned, Body body, void *data) override { body(data, 0); }
};

} // namespace nereid::runtime
