#include "runtime/CpuKernel.h"

#include "TestArtifacts.h"
#include "runtime/ThreadPool.h"
#include "target/Cpu.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

using test::makeArtifact;

// Every program adds 1 to its own cell, at x + grid[0] * (y + grid[1] * z).
const char *countSource = R"(
void run(u64 first, u64 count, const Context *c) {
  int *cells = *(int *const *)c->arguments;
  for (u64 p = first; p < first + count; ++p) {
    u64 x = p % c->grid[0], y = p / c->grid[0] % c->grid[1], z = p / c->grid[0] / c->grid[1];
    cells[x + c->grid[0] * (y + c->grid[1] * z)] += 1;
  }
})";

TEST(CpuKernel, RunsEveryProgramOnce) {
  auto kernel = CpuKernel::load(makeArtifact(countSource));
  ASSERT_TRUE(kernel) << kernel.error().what;
  ThreadPool pool(4);
  InlineExecutor inlined;
  for (Executor *executor : {static_cast<Executor *>(&pool), static_cast<Executor *>(&inlined)})
    for (auto [x, y, z] : {std::array{1u, 1u, 1u}, {7u, 5u, 3u}, {100000u, 1u, 1u}, {3u, 0u, 2u}}) {
      std::vector<int> cells(size_t(x) * y * z + 1);
      int *pointer = cells.data();
      LaunchArguments arguments{&pointer, sizeof pointer, {x, y, z}};
      Status status = (*kernel)->launch(arguments, *executor);
      ASSERT_TRUE(status) << status.error().what;
      EXPECT_EQ(cells.back(), 0);
      cells.pop_back();
      EXPECT_EQ(std::count(cells.begin(), cells.end(), 1), std::ptrdiff_t(cells.size()));
    }
}

TEST(CpuKernel, GivesEachWorkerAnArenaAndEachProgramScratch) {
  auto kernel = CpuKernel::load(makeArtifact(R"(
void run(u64 first, u64 count, const Context *c) {
  u64 *cells = *(u64 *const *)c->arguments;
  volatile u64 *arena = c->arena;
  for (u64 p = first; p < first + count; ++p) {
    ((u64 *)c->scratch)[p] = p * 3;
    for (int i = 0; i < 512; ++i) arena[i] = p + i;
    u64 sum = 0;
    for (int i = 0; i < 512; ++i) sum += arena[i] - i;
    cells[p] = sum / 512 + ((u64 *)c->scratch)[p] + ((u64)arena % 64);
  }
})",
                                             {.arenaBytes = 4096, .scratchBytes = 8}));
  ASSERT_TRUE(kernel);
  ThreadPool pool(3);
  std::vector<uint64_t> cells(5000);
  uint64_t *pointer = cells.data();
  ASSERT_TRUE((*kernel)->launch({&pointer, 8, {5000, 1, 1}}, pool));
  for (size_t p = 0; p < cells.size(); ++p)
    ASSERT_EQ(cells[p], 4 * p);
}

TEST(CpuKernel, ReportsFaultsAndStops) {
  auto kernel = CpuKernel::load(makeArtifact(R"(
void run(u64 first, u64 count, const Context *c) { *c->fault = 1; }
)"));
  ASSERT_TRUE(kernel);
  InlineExecutor executor;
  int *pointer = nullptr;
  Status status = (*kernel)->launch({&pointer, 8, {4, 1, 1}}, executor);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what, "kernel `kernel` trapped");
}

TEST(CpuKernel, RefusesWrongArgumentsAndHugeGrids) {
  auto kernel = CpuKernel::load(makeArtifact(countSource));
  ASSERT_TRUE(kernel);
  InlineExecutor executor;
  int *pointer = nullptr;
  EXPECT_FALSE((*kernel)->launch({&pointer, 4, {1, 1, 1}}, executor));
  EXPECT_FALSE((*kernel)->launch({&pointer, 8, {1u << 31, 1, 1}}, executor));
  EXPECT_FALSE((*kernel)->launch({&pointer, 8, {1, 65536, 1}}, executor));
}

TEST(CpuKernel, ChecksFeatures) {
  auto unknown = CpuKernel::load(makeArtifact(countSource, {.features = "avx,warp-drive"}));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().what.find("warp-drive"), std::string::npos);
  std::string lacking;
  for (const auto &feature : target::cpuFeatures())
    if (!target::hostCpuFeatures().has(feature.name))
      lacking = feature.name;
  if (lacking.empty())
    GTEST_SKIP() << "this processor has every feature of the table";
  auto kernel = CpuKernel::load(makeArtifact(countSource, {.features = lacking.c_str()}));
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().what.find(lacking + ", which this processor lacks"), std::string::npos)
      << kernel.error().what;
}

TEST(ThreadPool, RunsManySmallJobs) {
  ThreadPool pool(4);
  for (int round = 0; round < 20000; ++round) {
    struct State {
      std::atomic<int> next = 0, sum = 0;
    } state;
    pool.run(
        4,
        [](void *data, unsigned) {
          auto &state = *static_cast<State *>(data);
          for (int i; (i = state.next.fetch_add(1)) < 10;)
            state.sum += i;
        },
        &state);
    ASSERT_EQ(state.sum, 45) << round;
  }
}

TEST(ThreadPool, ServesSeveralCallersAndNestedRuns) {
  ThreadPool pool(3);
  std::atomic<int> total = 0;
  auto nested = [](void *data, unsigned) { ++*static_cast<std::atomic<int> *>(data); };
  struct State {
    ThreadPool *pool;
    std::atomic<int> *total;
    std::atomic<int> next;
    Executor::Body nested;
  };
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        State state{&pool, &total, 0, nested};
        pool.run(
            3,
            [](void *data, unsigned) {
              auto &state = *static_cast<State *>(data);
              while (state.next.fetch_add(1) < 6)
                state.pool->run(2, state.nested, state.total);
            },
            &state);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(total, 4 * 500 * 6);
}

TEST(ThreadPool, WakesSleepers) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // Two bodies that wait for each other can only finish on two threads.
    std::atomic<int> here = 0;
    pool.run(
        2,
        [](void *data, unsigned) {
          auto &here = *static_cast<std::atomic<int> *>(data);
          ++here;
          while (here < 2)
            std::this_thread::yield();
        },
        &here);
  }
}

} // namespace
