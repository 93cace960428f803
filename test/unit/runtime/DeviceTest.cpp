#include "runtime/Device.h"

#include "TestArtifacts.h"
#include "runtime/CpuDevice.h"
#include "runtime/CudaDevice.h"
#include "runtime/CudaDriver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

// cell[p] += factor for each program.
const char *addSource = R"(
typedef struct { int *cells; int factor; } Args;
void run(u64 first, u64 count, const Context *c) {
  const Args *a = c->arguments;
  for (u64 p = first; p < first + count; ++p) a->cells[p] += a->factor;
})";

struct CellArguments {
  int *cells;
  int factor;
};

Artifact addArtifact() {
  return test::makeArtifact(addSource, {.slots = {SlotKind::Pointer, SlotKind::Int}});
}

TEST(Device, FindsDevicesByName) {
  auto cpu = device("cpu");
  ASSERT_TRUE(cpu);
  EXPECT_EQ((*cpu)->name(), "cpu");
  EXPECT_GE((*cpu)->info().units, 1u);
  EXPECT_GT((*cpu)->info().memoryBytes, 0u);
  EXPECT_EQ(devices().front(), *cpu);
  for (const char *wrong : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0"})
    EXPECT_FALSE(device(wrong)) << wrong;
}

TEST(Device, CountsMemory) {
  CpuDevice &cpu = cpuDevice();
  uint64_t before = cpu.memory().stats().currentBytes;
  {
    auto first = cpu.allocate(1000);
    ASSERT_TRUE(first);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first->data()) % 64, 0u);
    Buffer copy = *first;
    cpu.memory().resetPeak();
    {
      auto second = cpu.allocate(3000);
      ASSERT_TRUE(second);
      EXPECT_EQ(cpu.memory().stats().currentBytes, before + 4000);
    }
    *first = Buffer();
    EXPECT_EQ(cpu.memory().stats().currentBytes, before + 1000);
    EXPECT_EQ(cpu.memory().stats().peakBytes, before + 4000);
  }
  EXPECT_EQ(cpu.memory().stats().currentBytes, before);
  auto huge = cpu.allocate(SIZE_MAX / 2);
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().what.find("no memory on cpu"), std::string::npos);
}

TEST(Device, UsesAForeignAllocator) {
  struct Counting final : Allocator {
    void *allocate(size_t bytes, void *) override {
      ++made;
      return std::malloc(bytes);
    }
    void free(void *pointer, size_t, void *) override {
      ++freed;
      std::free(pointer);
    }
    int made = 0, freed = 0;
  };
  auto allocator = std::make_shared<Counting>();
  CpuDevice &cpu = cpuDevice();
  cpu.setAllocator(allocator);
  auto buffer = cpu.allocate(100);
  cpu.setAllocator(nullptr);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(allocator->made, 1);
  EXPECT_EQ(allocator->freed, 0);
  *buffer = Buffer();
  EXPECT_EQ(allocator->freed, 1);
}

class CpuStreams : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (GetParam()) {
      owned = std::move(*cpuDevice().createStream());
      stream = owned.get();
    } else {
      stream = &cpuDevice().defaultStream();
    }
    kernel = *cpuDevice().load(addArtifact());
  }
  std::unique_ptr<Stream> owned;
  Stream *stream = nullptr;
  std::shared_ptr<LoadedKernel> kernel;
};

TEST_P(CpuStreams, RunWorkInOrder) {
  std::vector<int> cells(1000), copy(1000);
  ASSERT_TRUE(stream->fill(cells.data(), 7, 4, cells.size()));
  for (int round = 0; round < 10; ++round) {
    CellArguments arguments{cells.data(), round};
    ASSERT_TRUE(stream->launch(*kernel, {&arguments, 12, {1000, 1, 1}}));
    arguments = {nullptr, -1}; // the block was copied
  }
  ASSERT_TRUE(stream->copy(copy.data(), cells.data(), 4000));
  ASSERT_TRUE(stream->synchronize());
  EXPECT_EQ(copy, std::vector<int>(1000, 7 + 45));
}

TEST_P(CpuStreams, TimeWithEvents) {
  auto start = *cpuDevice().createEvent(), end = *cpuDevice().createEvent();
  EXPECT_FALSE(end->secondsSince(*start)); // not recorded
  std::vector<int> cells(100);
  CellArguments arguments{cells.data(), 1};
  ASSERT_TRUE(stream->record(*start));
  ASSERT_TRUE(stream->launch(*kernel, {&arguments, 12, {100, 1, 1}}));
  ASSERT_TRUE(stream->record(*end));
  ASSERT_TRUE(end->synchronize());
  EXPECT_TRUE(*end->query());
  auto seconds = end->secondsSince(*start);
  ASSERT_TRUE(seconds);
  EXPECT_GT(*seconds, 0);
  EXPECT_LT(*seconds, 10);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CpuStreams, testing::Bool(),
                         [](const auto &info) { return info.param ? "Queued" : "Inline"; });

TEST(CpuStream, WaitsForEventsOfOtherStreams) {
  auto kernel = *cpuDevice().load(test::makeArtifact(R"(
void run(u64 first, u64 count, const Context *c) {
  volatile int *flag = *(int *volatile *)c->arguments;
  while (!*flag) ;
  flag[1] = 5;
})"));
  auto slow = *cpuDevice().createStream(), fast = *cpuDevice().createStream();
  auto event = *cpuDevice().createEvent();
  alignas(64) std::atomic<int> flag[2] = {};
  int seen = 0;
  void *argument = flag;
  ASSERT_TRUE(slow->launch(*kernel, {&argument, 8, {1, 1, 1}}));
  ASSERT_TRUE(slow->record(*event));
  ASSERT_TRUE(fast->wait(*event));
  ASSERT_TRUE(fast->copy(&seen, &flag[1], 4));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(*event->query());
  flag[0] = 1;
  ASSERT_TRUE(fast->synchronize());
  EXPECT_EQ(seen, 5);
}

TEST(CpuDevice, WaitsForAllStreams) {
  std::vector<uint32_t> cells(1 << 20);
  auto first = *cpuDevice().createStream(), second = *cpuDevice().createStream();
  for (uint32_t i = 1; i <= 20; ++i)
    for (Stream *stream : {first.get(), second.get()}) {
      size_t half = cells.size() / 2;
      ASSERT_TRUE(stream->fill(&cells[stream == first.get() ? 0 : half], i, 4, half));
    }
  ASSERT_TRUE(cpuDevice().synchronize());
  EXPECT_EQ(std::count(cells.begin(), cells.end(), 20u), int64_t(cells.size()));

  // What was only recorded is not waited for.
  ASSERT_TRUE(first->beginCapture());
  ASSERT_TRUE(first->fill(cells.data(), 7, 4, cells.size()));
  ASSERT_TRUE(cpuDevice().synchronize());
  EXPECT_EQ(cells[0], 20u);
  ASSERT_TRUE(first->endCapture());
  second.reset();
  EXPECT_TRUE(cpuDevice().synchronize());
}

// As on a GPU: a program may drop a tensor as soon as what uses it is queued.
TEST(CpuDevice, FreesMemoryBehindQueuedWork) {
  Device &device = cpuDevice();
  auto stream = *device.createStream();
  auto event = *device.createEvent();
  constexpr size_t bytes = 64 << 20;
  auto from = std::make_unique<Buffer>(*device.allocate(bytes));
  Buffer to = *device.allocate(bytes);
  ASSERT_TRUE(stream->fill(from->data(), 7, 1, bytes));
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(stream->copy(to.data(), from->data(), bytes));
  ASSERT_TRUE(stream->record(*event));
  from.reset();
  EXPECT_TRUE(*event->query());
  EXPECT_EQ(static_cast<const char *>(to.data())[bytes - 1], 7);
}

TEST(CpuStream, ReplaysAGraph) {
  auto stream = *cpuDevice().createStream();
  auto kernel = *cpuDevice().load(addArtifact());
  std::vector<int> cells(50);
  CellArguments arguments{cells.data(), 3};
  ASSERT_TRUE(stream->beginCapture());
  ASSERT_TRUE(stream->fill(cells.data(), 0, 4, cells.size()));
  ASSERT_TRUE(stream->launch(*kernel, {&arguments, 12, {50, 1, 1}}));
  ASSERT_TRUE(stream->launch(*kernel, {&arguments, 12, {25, 1, 1}}));
  EXPECT_FALSE(stream->synchronize());
  auto graph = stream->endCapture();
  ASSERT_TRUE(graph);
  EXPECT_EQ((*graph)->nodeCount(), 3u);
  ASSERT_TRUE(stream->synchronize());
  EXPECT_EQ(cells, std::vector<int>(50)); // recorded, not run
  for (int replay = 0; replay < 2; ++replay) {
    ASSERT_TRUE(stream->launch(**graph));
    ASSERT_TRUE(stream->synchronize());
    EXPECT_EQ(cells[0], 6);
    EXPECT_EQ(cells[49], 3);
  }
  EXPECT_FALSE(stream->endCapture());
  EXPECT_FALSE(cpuDevice().defaultStream().beginCapture());
}

TEST(CpuStream, ReportsLateFailuresOnce) {
  auto kernel = *cpuDevice().load(
      test::makeArtifact("void run(u64 f, u64 n, const Context *c) { *c->fault = 1; }"));
  auto stream = *cpuDevice().createStream();
  void *argument = nullptr;
  ASSERT_TRUE(stream->launch(*kernel, {&argument, 8, {1, 1, 1}}));
  Status status = stream->synchronize();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what, "kernel `kernel` trapped");
  EXPECT_TRUE(stream->synchronize());
}

TEST(CpuKernel, KeepsRecordsUntilTheyAreTaken) {
  auto kernel = *cpuDevice().load(test::makeArtifact(R"(
void nereid_record(const Context *, u32 site, u32 operandAndKind, u64 program, u32 index, u64 value);
void run(u64 first, u64 count, const Context *c) {
  for (u64 p = first; p < first + count; ++p)
    nereid_record(c, 3, 1 | 1 << 16, p, 7, p * p);
})",
                                                     {.flags = CodeRecords}));
  void *argument = nullptr;
  Stream &stream = cpuDevice().defaultStream();
  ASSERT_TRUE(stream.launch(*kernel, {&argument, 8, {100, 1, 1}}));
  uint64_t lost;
  auto records = kernel->takeRecords(lost);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 100u);
  EXPECT_EQ(lost, 0u);
  uint64_t sum = 0;
  for (const Record &record : *records) {
    EXPECT_EQ(record.site, 3u);
    EXPECT_EQ(record.operand, 1u);
    EXPECT_EQ(RecordKind(record.kind), RecordKind::Print);
    EXPECT_EQ(record.index, 7u);
    EXPECT_EQ(record.value, record.program * record.program);
    sum += record.program;
  }
  EXPECT_EQ(sum, 99u * 100 / 2);
  EXPECT_TRUE(kernel->takeRecords(lost)->empty());
  ASSERT_TRUE(stream.launch(*kernel, {&argument, 8, {uint32_t(recordCapacity) + 10, 1, 1}}));
  EXPECT_EQ(kernel->takeRecords(lost)->size(), recordCapacity);
  EXPECT_EQ(lost, 10u);
}

TEST(CudaDriver, SaysWhyThereIsNone) {
  auto missing = cuda::openDriver("libcuda-of-nobody.so.1");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("libcuda-of-nobody.so.1"), std::string::npos);
  auto other = cuda::openDriver("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("lacks `cuInit`"), std::string::npos) << other.error().what;
}

TEST(CudaDevice, WithoutADriverIsAnError) {
  if (cudaDeviceCount())
    GTEST_SKIP() << "this machine has a GPU";
  auto gpu = device("cuda:0");
  ASSERT_FALSE(gpu);
  EXPECT_NE(gpu.error().what.find("cannot open cuda:0"), std::string::npos) << gpu.error().what;
  EXPECT_EQ(devices().size(), 1u);
}

} // namespace
