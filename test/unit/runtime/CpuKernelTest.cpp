#include "runtime/CpuKernel.h"

#include "TestArtifacts.h"
#include "runtime/GridOrder.h"
#include "runtime/Shares.h"
#include "runtime/ThreadPool.h"
#include "target/Cpu.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <numeric>
#include <set>
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

// In whatever order the axes that are marked ask for.
TEST(CpuKernel, RunsEveryProgramOnceInEachOrder) {
  ThreadPool pool(4);
  InlineExecutor inlined;
  for (uint32_t shared = 0; shared < 8; ++shared) {
    auto kernel =
        CpuKernel::load(makeArtifact(countSource, {.flags = shared * CodeFlag::CodeSharesX}));
    ASSERT_TRUE(kernel) << kernel.error().what;
    for (Executor *executor : {static_cast<Executor *>(&pool), static_cast<Executor *>(&inlined)})
      for (auto [x, y, z] :
           {std::array{1u, 1u, 1u}, {7u, 5u, 3u}, {20u, 1u, 33u}, {1u, 17u, 19u}, {64u, 64u, 1u}}) {
        std::vector<int> cells(size_t(x) * y * z);
        int *pointer = cells.data();
        Status status = (*kernel)->launch({&pointer, sizeof pointer, {x, y, z}}, *executor);
        ASSERT_TRUE(status) << status.error().what;
        EXPECT_EQ(std::count(cells.begin(), cells.end(), 1), std::ptrdiff_t(cells.size()))
            << shared << ": " << x << " " << y << " " << z;
      }
  }
}

TEST(GridOrder, KeepsWhatIsSharedTogether) {
  auto order = [](std::array<uint32_t, 3> grid, unsigned shared) {
    std::vector<uint64_t> out;
    uint64_t programs = uint64_t(grid[0]) * grid[1] * grid[2];
    // In pieces that do not fit the bands.
    for (uint64_t first = 0; first < programs; first += 3)
      GridOrder(grid, shared)
          .forRange(first, std::min<uint64_t>(3, programs - first),
                    [&](uint64_t program, uint64_t count) {
                      for (uint64_t i = 0; i < count; ++i)
                        out.push_back(program + i);
                    });
    return out;
  };
  using Order = std::vector<uint64_t>;
  // Along x: by number. Along y: by columns. Along both: in bands of eight columns.
  EXPECT_EQ(order({4, 2, 1}, 0b001), (Order{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(order({4, 2, 1}, 0b010), (Order{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(order({10, 2, 1}, 0b011),
            (Order{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 8, 9, 18, 19}));
  // A batch along x comes last; an axis of one program does not count.
  EXPECT_EQ(order({2, 2, 2}, 0b110), (Order{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(order({4, 1, 2}, 0b010), (Order{0, 1, 2, 3, 4, 5, 6, 7}));
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

// Sanitizers have a handler of their own, which keeps the word.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEREID_CATCHES_FAULTS 0
#elif defined(__has_feature)
#define NEREID_CATCHES_FAULTS !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define NEREID_CATCHES_FAULTS 1
#endif

#if NEREID_CATCHES_FAULTS
// A kernel that leaves its memory fails its launch; the next one runs.
TEST(CpuKernel, TellsMemoryThatIsNotThere) {
  auto kernel = CpuKernel::load(makeArtifact(R"(
void run(u64 first, u64 count, const Context *c) {
  int *from = ((int *const *)c->arguments)[0], *to = ((int *const *)c->arguments)[1];
  for (u64 p = first; p < first + count; ++p)
    ((volatile int *)to)[p] = ((volatile int *)from)[p];
}
)",
                                             {.slots = {SlotKind::Pointer, SlotKind::Pointer}}));
  ASSERT_TRUE(kernel) << kernel.error().what;
  ThreadPool pool(3);
  InlineExecutor inlined;
  std::vector<int> cells(64, 1), copied(64);
  char *nowhere = reinterpret_cast<char *>(uintptr_t(1) << 46);
  static constexpr int constants[64] = {1};
  auto launch = [&](Executor &executor, void *from, void *to) -> std::string {
    std::array<void *, 2> pointers = {from, to};
    Status status = (*kernel)->launch({pointers.data(), sizeof pointers, {64, 1, 1}}, executor);
    return status ? "" : status.error().what;
  };
  for (Executor *executor : {static_cast<Executor *>(&inlined), static_cast<Executor *>(&pool)}) {
    std::string reads = launch(*executor, nullptr, copied.data());
    EXPECT_TRUE(reads.starts_with("kernel `kernel` reads memory that is not there, at 0x"))
        << reads;
    EXPECT_NE(reads.find(": its argument `p0` is a null pointer"), std::string::npos) << reads;
    std::string writes = launch(*executor, cells.data(), nowhere);
    EXPECT_TRUE(writes.starts_with("kernel `kernel` writes to memory that is not there")) << writes;
    EXPECT_NE(writes.find(" bytes from the start of `p1`"), std::string::npos) << writes;
    std::string far =
        launch(*executor, reinterpret_cast<void *>(uintptr_t(1) << 62), copied.data());
    EXPECT_EQ(far,
              "kernel `kernel` reaches memory that is not there: no memory can have such an "
              "address; `nereid check`, or the interpreter (TRITON_INTERPRET=1), says in which "
              "line");
    std::string constant = launch(*executor, cells.data(), const_cast<int *>(constants));
    EXPECT_TRUE(constant.starts_with("kernel `kernel` writes to memory that is read-only, at 0x"))
        << constant;
    EXPECT_EQ(launch(*executor, cells.data(), copied.data()), "");
    EXPECT_EQ(copied, cells);
  }
}

// Also one that waits for other programs, on a stack of its own and after it was another thread's.
TEST(CpuKernel, TellsMemoryThatIsNotThereOnFibers) {
  auto kernel = CpuKernel::load(makeArtifact(
      R"(
void run(u64 first, u64 count, const Context *c) {
  volatile int *turn = ((int *const *)c->arguments)[0];
  while (__atomic_load_n(turn, 2) != (int)first) c->yield(c);
  __atomic_store_n(turn, (int)first + 1, 3);
  if (first == 40) *(((int *volatile *)c->arguments)[1]) = 1;
}
)",
      {.flags = CodeFlag::CodeYields, .slots = {SlotKind::Pointer, SlotKind::Pointer}}));
  ASSERT_TRUE(kernel) << kernel.error().what;
  ThreadPool pool(3);
  int turn = 0;
  std::array<void *, 2> pointers = {&turn, nullptr};
  Status status = (*kernel)->launch({pointers.data(), sizeof pointers, {64, 1, 1}}, pool);
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().what.starts_with("kernel `kernel` writes to memory that is not there, "
                                              "at 0x0: its argument `p1` is a null pointer;"))
      << status.error().what;
}

// What is no kernel's ends the process as before, and so does a signal that somebody sends.
TEST(CpuKernelDeathTest, LeavesOtherFaultsAlone) {
  auto kernel = CpuKernel::load(makeArtifact(countSource));
  ASSERT_TRUE(kernel);
  EXPECT_EXIT(*static_cast<volatile int *>(nullptr) = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(::raise(SIGSEGV), testing::KilledBySignal(SIGSEGV), "");
}

// A handler of the program, set before or after, is called.
TEST(CpuKernelDeathTest, LeavesHandlersOfTheProgram) {
  auto faulty = [] {
    auto kernel = CpuKernel::load(makeArtifact(countSource));
    int *pointer = nullptr;
    InlineExecutor executor;
    (void)(*kernel)->launch({&pointer, sizeof pointer, {1, 1, 1}}, executor);
    ::_exit(1);
  };
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, [](int) { ::_exit(7); });
        faulty();
      },
      testing::ExitedWithCode(7), "");
}
#endif

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

// Of each job worker w is the same thread, and all come if there is work for all.
TEST(ThreadPool, KeepsWorkersOnTheirThreads) {
  constexpr unsigned workers = 70;
  ThreadPool pool(workers);
  struct State {
    std::atomic<unsigned> here = 0;
    std::array<std::thread::id, workers> threads;
  } first, second;
  for (State *state : {&first, &second})
    pool.run(
        workers,
        [](void *data, unsigned worker) {
          auto &state = *static_cast<State *>(data);
          state.threads[worker] = std::this_thread::get_id();
          ++state.here;
          while (state.here < workers)
            std::this_thread::yield();
        },
        state);
  EXPECT_EQ(first.threads, second.threads);
  EXPECT_EQ(first.threads[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(first.threads.begin(), first.threads.end()).size(), workers);
}

TEST(Shares, GivesEachPieceOnce) {
  ThreadPool pool(4);
  for (unsigned workers : {1u, 3u, 100u})
    for (uint64_t pieces : {0u, 1u, 7u, 5000u}) {
      Shares shares;
      shares.split(pieces, workers);
      struct State {
        Shares &shares;
        std::vector<std::atomic<int>> taken;
      } state{shares, std::vector<std::atomic<int>>(pieces)};
      pool.run(
          4,
          [](void *data, unsigned worker) {
            auto &state = *static_cast<State *>(data);
            for (uint64_t piece; state.shares.take(worker, piece);)
              ++state.taken[piece];
          },
          &state);
      for (std::atomic<int> &times : state.taken)
        EXPECT_EQ(times, 1);
    }
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
