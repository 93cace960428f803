// What the driver without a GPU (Driver.cpp) tells the profiler's library without one (Cupti.cpp).
#pragma once

#include <cstddef>

struct FakeWork {
  enum Kind { Kernel, Copy, Fill } kind = Kernel;
  const char *name = "";
  unsigned grid[3] = {}, block[3] = {}, sharedBytes = 0;
  size_t bytes = 0;
  const void *stream = nullptr;
  bool isOfGraph = false;
};

struct FakeHooks {
  void (*call)(bool begins); ///< around each call that queues work
  void (*work)(const FakeWork &);
  void (*module)(const void *code); ///< is loaded
};

extern "C" void fake_cuda_watch(const FakeHooks *hooks);
