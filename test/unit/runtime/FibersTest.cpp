#include "runtime/Fibers.h"

#include "TestArtifacts.h"
#include "runtime/CpuKernel.h"
#include "runtime/ThreadPool.h"

#include <gtest/gtest.h>

#include <mutex>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

struct Case {
  unsigned threads;
  uint64_t seed;
};

class FiberRuns : public testing::TestWithParam<Case> {
protected:
  ThreadPool pool{GetParam().threads};
  FiberOptions options() const {
    FiberOptions options;
    options.seed = GetParam().seed;
    return options;
  }
};

// Each program waits for its neighbour with the higher number: the worst order.
TEST_P(FiberRuns, WaitForLaterPrograms) {
  struct Data {
    std::vector<std::atomic<int>> ready = std::vector<std::atomic<int>>(501);
    std::vector<uint64_t> started;
    std::mutex mutex;
    std::atomic<int> ended = 0;
  } data;
  data.ready[500] = 1;
  auto program = [](void *pointer, uint64_t number, void *arena, Fiber *self) {
    auto &data = *static_cast<Data *>(pointer);
    {
      std::lock_guard lock(data.mutex);
      data.started.push_back(number);
    }
    auto *words = static_cast<uint64_t *>(arena);
    for (int i = 0; i < 8; ++i)
      words[i] = number;
    double kept = double(number) * 0.5; // floating-point state lives across the switch
    while (!data.ready[number + 1].load(std::memory_order_acquire))
      FiberRun::yield(self);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(words[i], number); // the arena is this program's alone
    EXPECT_EQ(kept, double(number) * 0.5);
    data.ready[number].store(1, std::memory_order_release);
    ++data.ended;
  };
  FiberRun run(500, 64, program, &data, options(), nullptr);
  Status status = run.run(pool);
  ASSERT_TRUE(status) << status.error().what;
  EXPECT_EQ(data.ended, 500);
  ASSERT_EQ(data.started.size(), 500u);
  if (GetParam().threads == 1)
    for (uint64_t i = 0; i < 500; ++i)
      ASSERT_EQ(data.started[i], i) << "programs start in ascending order";
}

INSTANTIATE_TEST_SUITE_P(Schedules, FiberRuns,
                         testing::Values(Case{1, 0}, Case{1, 42}, Case{3, 0}, Case{3, 7}),
                         [](const auto &info) {
                           return "Threads" + std::to_string(info.param.threads) + "Seed" +
                                  std::to_string(info.param.seed);
                         });

// A spin lock around a sum that is not atomic, in compiled code.
const char *lockSource = R"(
void run(u64 first, u64 count, const Context *c) {
  long *memory = *(long *const *)c->arguments; // lock, sum
  for (u64 p = first; p < first + count; ++p) {
    while (__atomic_exchange_n(&memory[0], 1, __ATOMIC_ACQUIRE)) c->yield(c);
    long before = memory[1];
    c->yield(c); // hold the lock across a switch
    memory[1] = before + (long)p;
    __atomic_store_n(&memory[0], 0, __ATOMIC_RELEASE);
  }
})";

TEST(FiberKernel, HoldsASpinLock) {
  auto kernel = CpuKernel::load(test::makeArtifact(lockSource, {.flags = CodeYields}));
  ASSERT_TRUE(kernel) << kernel.error().what;
  for (unsigned threads : {1u, 2u, 4u}) {
    ThreadPool pool(threads);
    alignas(64) long memory[2] = {};
    void *argument = memory;
    Status status = (*kernel)->launch({&argument, 8, {200, 1, 1}}, pool);
    ASSERT_TRUE(status) << status.error().what;
    EXPECT_EQ(memory[1], 199 * 200 / 2);
  }
}

TEST(FiberKernel, ReportsADeadlock) {
  auto kernel = CpuKernel::load(test::makeArtifact(lockSource, {.flags = CodeYields}));
  ASSERT_TRUE(kernel);
  ThreadPool pool(2);
  FiberOptions options;
  options.stallSeconds = 0.3;
  alignas(64) long memory[2] = {1, 0}; // held by nobody who would release it
  void *argument = memory;
  Status status = (*kernel)->launch({&argument, 8, {10, 1, 1}}, pool, options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what,
            "kernel `kernel`: deadlock: 10 programs wait for memory that nobody writes");
}

TEST(FiberKernel, StopsAtAFault) {
  auto kernel = CpuKernel::load(test::makeArtifact(R"(
void run(u64 first, u64 count, const Context *c) {
  if (first == 3) { *c->fault = 1; return; }
  for (;;) c->yield(c);
})",
                                                   {.flags = CodeYields}));
  ASSERT_TRUE(kernel);
  ThreadPool pool(2);
  void *argument = nullptr;
  Status status = (*kernel)->launch({&argument, 8, {10, 1, 1}}, pool);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what, "kernel `kernel` trapped");
}

TEST(FiberKernel, BoundsProgramsUnderWay) {
  auto kernel = CpuKernel::load(test::makeArtifact(lockSource, {.flags = CodeYields}));
  ASSERT_TRUE(kernel);
  ThreadPool pool(2);
  FiberOptions options;
  options.maxLive = 4;
  alignas(64) long memory[2] = {};
  void *argument = memory;
  uint64_t before = hostMemory().stats().currentBytes;
  Status status = (*kernel)->launch({&argument, 8, {300, 1, 1}}, pool, options);
  ASSERT_TRUE(status) << status.error().what;
  EXPECT_EQ(memory[1], 299 * 300 / 2);
  EXPECT_EQ(hostMemory().stats().currentBytes, before);
}

} // namespace
