// Launches that change memory atomically: one that is alone does so without locks.
#include "runtime/AtomicGate.h"
#include "TestArtifacts.h"
#include "runtime/CpuDevice.h"
#include "runtime/CpuKernel.h"
#include "runtime/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

TEST(AtomicGate, OneIsAloneUntilAnotherComes) {
  AtomicGate gate;
  std::atomic<bool> entered = false;
  std::thread other;
  {
    AtomicGate::Launch first(&gate, true);
    EXPECT_TRUE(first.staysAlone());
    other = std::thread([&] {
      AtomicGate::Launch second(&gate, true);
      EXPECT_FALSE(second.staysAlone());
      entered = true;
      entered.notify_all();
    });
    // It comes in as soon as this one has looked, and not before.
    while (first.staysAlone())
      EXPECT_FALSE(entered);
    entered.wait(false);
    EXPECT_FALSE(first.staysAlone());
  }
  other.join();
  EXPECT_TRUE(AtomicGate::Launch(&gate, true).staysAlone());
  {
    AtomicGate::Launch shares(&gate, false), also(&gate, true);
    EXPECT_FALSE(shares.staysAlone());
    EXPECT_FALSE(also.staysAlone());
  }
  EXPECT_FALSE(AtomicGate::Launch(nullptr, true).staysAlone());
}

TEST(AtomicGate, OneThatEndsLetsOthersIn) {
  AtomicGate gate;
  auto *first = new AtomicGate::Launch(&gate, true);
  std::atomic<bool> entered = false;
  std::thread other([&] {
    AtomicGate::Launch second(&gate, false);
    entered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(entered);
  delete first;
  other.join();
}

TEST(AtomicGate, AChildOfAForkStartsAfresh) {
  AtomicGate gate;
  AtomicGate::Launch parents(&gate, true);
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    AtomicGate::Launch childs(&gate, true);
    ::_exit(childs.staysAlone() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(parents.staysAlone());
}

// cells[0] += 1 for each program, slowly where no lock is needed; cells[1] counts those.
const char *atomicCountSource = R"(
void run(u64 first, u64 count, const Context *c) {
  int *cells = *(int *const *)c->arguments;
  for (u64 p = first; p < first + count; ++p)
    if (c->isAlone) {
      int seen = *(volatile int *)cells;
      for (volatile int wait = 0; wait < 20; ++wait) {}
      *(volatile int *)cells = seen + 1;
      *(volatile int *)(cells + 1) += 1;
    } else {
      __atomic_fetch_add(cells, 1, __ATOMIC_RELAXED);
    }
})";

TEST(AtomicGate, LaunchesOfSeveralThreadsLoseNothing) {
  auto kernel = CpuKernel::load(test::makeArtifact(atomicCountSource, {.flags = CodeAtomics}));
  ASSERT_TRUE(kernel) << kernel.error().what;
  constexpr int users = 3, rounds = 200;
  constexpr uint32_t programs = 500;
  std::vector<int> cells(2);
  void *argument = cells.data();
  InlineExecutor one;
  ThreadPool team(2);
  ASSERT_TRUE((*kernel)->launch({&argument, 8, {programs, 1, 1}}, one));
  EXPECT_EQ(cells[1], int(programs)) << "not alone";
  std::vector<std::thread> threads;
  for (int user = 0; user < users; ++user)
    threads.emplace_back([&, user] {
      for (int round = 0; round < rounds; ++round) {
        Executor &mine = user ? static_cast<Executor &>(one) : team;
        ASSERT_TRUE((*kernel)->launch({&argument, 8, {programs, 1, 1}}, mine));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(cells[0], int(programs) * (users * rounds + 1));
}

// What says nothing of atomics is never told to be alone.
TEST(AtomicGate, OthersDoNotTakePart) {
  auto kernel = CpuKernel::load(test::makeArtifact(atomicCountSource));
  ASSERT_TRUE(kernel) << kernel.error().what;
  std::vector<int> cells(2);
  void *argument = cells.data();
  InlineExecutor one;
  ASSERT_TRUE((*kernel)->launch({&argument, 8, {9, 1, 1}}, one));
  EXPECT_EQ(cells[0], 9);
  EXPECT_EQ(cells[1], 0);
}

} // namespace
