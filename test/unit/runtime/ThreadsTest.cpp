// Many threads use everything of the CPU runtime at once; the sanitizer for races watches
// (`./dev test sanitizers`).
#include "TestArtifacts.h"
#include "runtime/CpuDevice.h"
#include "runtime/Recorder.h"
#include "runtime/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

// cell[p] += 1 for each program, and a record.
const char *recordSource = R"(
void nereid_record(const Context *, u32 site, u32 operandAndKind, u64 program, u32 index, u64 value);
void run(u64 first, u64 count, const Context *c) {
  int *cells = *(int *const *)c->arguments;
  for (u64 p = first; p < first + count; ++p) {
    cells[p] += 1;
    nereid_record(c, 1, 1 << 16, p, 0, p);
  }
})";

TEST(Threads, UseEverythingAtOnce) {
  CpuDevice &cpu = cpuDevice();
  Artifact artifact = test::makeArtifact(recordSource, {.flags = CodeRecords});
  auto shared = *cpu.load(artifact);
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> observed = 0, taken = 0, lost = 0;
  uint64_t memoryBefore = cpu.memory().stats().currentBytes;
  constexpr int users = 4, rounds = 25;
  constexpr uint32_t programs = 300;

  auto use = [&](int number) {
    auto stream = *cpu.createStream(), other = *cpu.createStream();
    auto done = *cpu.createEvent();
    for (int round = 0; round < rounds; ++round) {
      // Every third round has a kernel of its own.
      auto kernel = round % 3 ? shared : *cpu.load(artifact);
      auto memory = *cpu.allocate(programs * 4, stream.get());
      auto *cells = static_cast<int *>(memory.data());
      void *argument = cells;
      ASSERT_TRUE(stream->fill(cells, 0, 4, programs));
      ASSERT_TRUE(stream->launch(*kernel, {&argument, 8, {programs, 1, 1}}));
      ASSERT_TRUE(stream->record(*done));
      ASSERT_TRUE(other->wait(*done));
      ASSERT_TRUE(other->launch(*kernel, {&argument, 8, {programs, 1, 1}}));
      ASSERT_TRUE(other->synchronize());
      for (uint32_t p = 0; p < programs; ++p)
        ASSERT_EQ(cells[p], 2) << number << " " << round;
      std::vector<int> direct(programs);
      argument = direct.data();
      ASSERT_TRUE(cpu.defaultStream().launch(*kernel, {&argument, 8, {programs, 1, 1}}));
      ASSERT_EQ(direct[programs - 1], 1);
      uint64_t missed = 0;
      taken += kernel->takeRecords(missed)->size();
      lost += missed;
    }
  };
  auto disturb = [&] {
    auto own = std::make_shared<ThreadPool>(3);
    for (int turn = 0; !stop; ++turn) {
      recorder().enable(turn % 2);
      recorder().observe(turn % 3 ? [&](const TraceEvent &) { ++observed; }
                                  : std::function<void(const TraceEvent &)>());
      cpu.setExecutor(turn % 4 ? own : nullptr);
      for (const TraceEvent &event : recorder().take())
        EXPECT_GE(event.end, event.begin);
      (void)cpu.memory().stats();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < users; ++number)
    threads.emplace_back(use, number);
  std::thread disturber(disturb);
  for (std::thread &thread : threads)
    thread.join();
  stop = true;
  disturber.join();
  cpu.setExecutor(nullptr);
  recorder().enable(false);
  recorder().observe({});
  recorder().take();
  uint64_t missed = 0;
  taken += shared->takeRecords(missed)->size();
  EXPECT_EQ(taken + lost + missed, uint64_t(users) * rounds * programs * 3);
  EXPECT_EQ(cpu.memory().stats().currentBytes, memoryBefore);
}

} // namespace
