// Fibers: programs of a grid that wait for each other on fewer threads than there are programs.
//
// A kernel whose loop spins on memory that another program writes calls `yield` on that back edge.
// Each worker then puts the program aside and starts the next one of the grid (always in ascending
// order, as a GPU does), or goes on with one that was put aside. A program stays on its worker.
#pragma once

#include "nereid/base.h"
#include "runtime/Executor.h"
#include "runtime/Memory.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace nereid::runtime {

struct FiberOptions {
  /// 0: programs take turns. Otherwise the next one is drawn with this seed, for tests of kernels.
  uint64_t seed = 0;
  size_t stackBytes = 256 * 1024;
  /// Programs that may be under way at a time on all workers. A grid whose programs all wait for a
  /// later one needs as many as it has.
  uint64_t maxLive = 32768;
  /// If every program under way does nothing but yield for this long, and none ends, the launch
  /// fails. 0: never.
  double stallSeconds = 30;
};

/// One grid, run once.
class FiberRun {
public:
  /// A program: runs to its end, calling `FiberRun::yield(self)` where it waits.
  using Program = void (*)(void *data, uint64_t program, void *arena, class Fiber *self);

  FiberRun(uint64_t programs, uint32_t arenaBytes, Program program, void *data,
           const FiberOptions &options, const uint32_t *fault)
      : programs(programs), arenaBytes(arenaBytes), program(program), data(data), options(options),
        fault(fault) {}

  /// Returns when all programs have ended, or with why not: no memory for stacks, or a deadlock
  /// with the number of programs that wait.
  Status run(Executor &executor);

  /// Called by a program on its own fiber.
  static void yield(Fiber *self);

private:
  struct Stall {
    uint64_t progress;
    int64_t since;
  };
  void work(unsigned worker);
  bool stalled(Stall &stall);

  const uint64_t programs;
  const uint32_t arenaBytes;
  const Program program;
  void *const data;
  const FiberOptions options;
  const uint32_t *const fault; ///< non-zero ends the run early

  alignas(64) std::atomic<uint64_t> next = 0;     ///< first program that is not started
  alignas(64) std::atomic<uint64_t> progress = 0; ///< programs started or ended so far
  std::atomic<uint64_t> live = 0;                 ///< programs under way
  std::atomic<bool> outOfMemory = false;
  std::atomic<uint64_t> waiting = 0;           ///< programs of a deadlock, once there is one
  std::vector<std::atomic<int64_t>> turnStart; ///< by worker: when its turn began, 0 between turns

  friend class Fiber;
};

} // namespace nereid::runtime
