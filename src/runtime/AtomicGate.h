// Which launches of this process change memory atomically at the same time.
//
// A launch that runs on one thread needs no locked instruction for its atomics while no other
// launch has any. It enters alone; one that comes meanwhile waits until the one that is alone
// looks, which it does between a few programs, and then both go on with locks.
#pragma once

#include <atomic>
#include <cstdint>

namespace nereid::runtime {

class AtomicGate {
public:
  /// That of the process.
  static AtomicGate &ofProcess();

  /// A launch under way; none without a gate. `wantsAlone`: its programs wait for nothing and run
  /// on one thread.
  class Launch {
  public:
    Launch(AtomicGate *gate, bool wantsAlone)
        : gate(gate), alone(gate && gate->enter(wantsAlone)) {}
    ~Launch() {
      if (gate)
        gate->leave();
    }
    Launch(const Launch &) = delete;

    /// Whether the launch is alone until it asks again: not if others came and wait.
    bool staysAlone() {
      if (alone && gate->isWanted()) {
        gate->share();
        alone = false;
      }
      return alone;
    }

  private:
    AtomicGate *gate;
    bool alone;
  };

private:
  bool enter(bool wantsAlone);
  void leave();
  void share();
  bool isWanted() const { return state.load(std::memory_order_relaxed) & wanted; }

  // Launches under way; the fork since which they are counted in the upper half. A child of a fork
  // has none of its parent's.
  static constexpr uint64_t isAlone = uint64_t(1) << 31, wanted = uint64_t(1) << 30,
                            lower = uint64_t(UINT32_MAX);
  std::atomic<uint64_t> state = 0;
};

} // namespace nereid::runtime
