// What the runtime makes of a driver's answers, on a driver without a GPU (test/fake_cuda). Each
// case is a process of its own, because a process opens one driver.
#include "TestArtifacts.h"
#include "runtime/CudaDevice.h"
#include "runtime/CudaDriver.h"
#include "support/Knobs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

class FakeCuda : public testing::Test {
protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const char *path = std::getenv("LD_LIBRARY_PATH");
    before = path ? path : "";
    ::setenv("LD_LIBRARY_PATH", NEREID_BINARY_DIR "/fake_cuda", 1);
  }
  void TearDown() override {
    ::setenv("LD_LIBRARY_PATH", before.c_str(), 1);
    ::unsetenv("FAKE_CUDA");
    ::unsetenv("NEREID_WATCHDOG_SECONDS");
  }
  std::string before;
};

// The process ends well if `body`, given the process's first GPU or why there is none, says what is
// expected: each text a part of the message, in order of the calls; "" means that nothing failed.
using Body = std::vector<std::string> (*)(Result<Device *> gpu);
[[noreturn]] void expectMessages(Body body, std::initializer_list<std::string> parts) {
  std::vector<std::string> said = body(device("cuda:0"));
  bool good = said.size() == parts.size();
  for (size_t i = 0; good && i < said.size(); ++i)
    good = parts.begin()[i].empty() ? said[i].empty()
                                    : said[i].find(parts.begin()[i]) != std::string::npos;
  for (const std::string &text : said)
    std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(good ? 0 : 1); // as a program does whose device is stuck
}

#define EXPECT_MESSAGES(scenario, body, ...)                                                       \
  ::setenv("FAKE_CUDA", scenario, 1);                                                              \
  EXPECT_EXIT(expectMessages(body, {__VA_ARGS__}), testing::ExitedWithCode(0), "")

std::string text(const Status &status) { return status ? "" : status.error().what; }
template <typename T> std::string text(const Result<T> &result) {
  return result ? "" : result.error().what;
}

std::shared_ptr<LoadedKernel> load(Device &gpu, const test::KernelOptions &options = {}) {
  return *gpu.load(test::makePtxArtifact(".version 7.0\n", options));
}
Status launch(Stream &stream, LoadedKernel &kernel) {
  void *argument = nullptr;
  return stream.launch(kernel, {&argument, 8, {1, 1, 1}});
}

std::vector<std::string> opened(Result<Device *> gpu) { return {text(gpu)}; }

TEST_F(FakeCuda, SaysWhyThereIsNoDevice) {
  EXPECT_MESSAGES("", opened, "");
  EXPECT_MESSAGES("nodevice", opened, "there is no cuda:0: the driver sees 0 devices");
  EXPECT_MESSAGES("noinit", opened,
                  "the CUDA driver does not start: no CUDA-capable device is detected "
                  "(CUDA_ERROR_NO_DEVICE)");
  EXPECT_MESSAGES("old", opened,
                  "the CUDA driver is too old: it supports CUDA 10.2, at least 11.4 is needed");
  EXPECT_MESSAGES("sm75", opened, "has compute capability 7.5, at least 8.0 is needed");
}

TEST_F(FakeCuda, SurvivesTheEndOfMemory) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    uint64_t before = (*gpu)->memory().stats().currentBytes;
    std::string large = text((*gpu)->allocate(2 << 20));
    std::string small = text((*gpu)->allocate(1000));
    return {large, small, (*gpu)->memory().stats().currentBytes == before ? "" : "memory is lost"};
  };
  EXPECT_MESSAGES("oom", body, "no memory on cuda:0 for 2097152 bytes; 0 bytes are in use", "", "");
}

TEST_F(FakeCuda, RefusesWhatDoesNotFit) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto large = (*gpu)->load(test::makePtxArtifact("", {.sharedBytes = 300000}));
    auto kernel = load(**gpu, {.numWarps = 32});
    return {text(large), text(launch((*gpu)->defaultStream(), *kernel))};
  };
  EXPECT_MESSAGES(
      "resources", body,
      "cannot load kernel `kernel` on cuda:0: it needs 300000 bytes of shared memory, "
      "Fake GPU has 232448",
      "cannot launch `kernel` on cuda:0: 1024 threads a program, and with 128 registers "
      "a thread at most 512 fit");
}

TEST_F(FakeCuda, KeepsDevicesAndContextsApart) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    const cuda::Driver &driver = **cuda::driver();
    Device &other = **device("cuda:1");
    cuda::Context mine = nullptr, now = nullptr;
    driver.cuDevicePrimaryCtxRetain(&mine, 1);
    driver.cuCtxPushCurrent(mine); // the host program's, of another device
    auto kernel = load(**gpu);
    std::string wrong = text(launch(other.defaultStream(), *kernel));
    std::string right = text(launch((*gpu)->defaultStream(), *kernel));
    auto event = *other.createEvent();
    std::string marked = text((*gpu)->defaultStream().record(*event));
    driver.cuCtxGetCurrent(&now);
    return {wrong, right, marked, now == mine ? "" : "the host program's context was changed",
            text(device("cuda:2"))};
  };
  EXPECT_MESSAGES("", body, "cannot launch `kernel` on cuda:1: it was loaded for another device",
                  "", "cannot record on cuda:0 an event of another device", "",
                  "there is no cuda:2: the driver sees 2 devices");
}

TEST_F(FakeCuda, ReportsAFaultOnce) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto stream = *(*gpu)->createStream();
    auto kernel = load(**gpu);
    auto memory = *(*gpu)->allocate(1000);
    std::vector<std::string> said = {text(launch(*stream, *kernel)), text(stream->synchronize()),
                                     text(stream->synchronize()),    text(launch(*stream, *kernel)),
                                     text((*gpu)->allocate(1000)),   text((*gpu)->createStream()),
                                     text(device("cuda:0"))};
    return said;
  };
  const char *later = "cuda:0 was lost to an earlier fault";
  EXPECT_MESSAGES("trap", body, "",
                  "cannot synchronize a stream: unspecified launch failure "
                  "(CUDA_ERROR_LAUNCH_FAILED); `kernel` or a kernel before it faulted, and cuda:0 "
                  "is lost to this process",
                  later, later, later, later, "");
  EXPECT_MESSAGES("misaligned", body, "", "misaligned address", later, later, later, later, "");
}

// Whoever notices first tells the whole story: here the device as a whole, and an allocation.
TEST_F(FakeCuda, NamesTheKernelWhoeverNotices) {
  auto device = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu);
    auto stream = *(*gpu)->createStream();
    return {text(launch(*stream, *kernel)), text((*gpu)->synchronize())};
  };
  EXPECT_MESSAGES("trap", device, "", "`kernel` or a kernel before it faulted");
  auto allocation = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu);
    std::string launched = text(launch((*gpu)->defaultStream(), *kernel));
    return {launched, text((*gpu)->allocate(1000)), text((*gpu)->allocate(1000))};
  };
  EXPECT_MESSAGES("trap", allocation, "", "`kernel` or a kernel before it faulted", "was lost");
}

// The driver ends the process (test/fake_cuda) when it is asked to wait for the kernel.
TEST_F(FakeCuda, WatchdogGivesUpOnALoop) {
  ::setenv("NEREID_WATCHDOG_SECONDS", "0.05", 1);
  const char *loop =
      "`kernel` or a kernel before it has not ended within 0.05 seconds, the limit of "
      "NEREID_WATCHDOG_SECONDS; cuda:0 is lost to this process";
  const char *later = "cuda:0 was lost to an earlier fault";
  auto waiting = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto begin = std::chrono::steady_clock::now();
    std::vector<std::string> said;
    {
      auto stream = *(*gpu)->createStream();
      auto kernel = load(**gpu, {.scratchBytes = 16});
      auto memory = *(*gpu)->allocate(1000), queued = *(*gpu)->allocate(1000, stream.get());
      said = {text(launch(*stream, *kernel)), text(stream->synchronize()),
              text((*gpu)->synchronize()), text(stream->copy(memory.data(), queued.data(), 100))};
    } // everything is given back
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    said.push_back(spent.count() < 5 ? "" : "it took long");
    said.push_back(deviceIsStuck() ? "" : "nobody knows that the device is stuck");
    return said;
  };
  EXPECT_MESSAGES("hang", waiting, "", loop, later, later, "", "");
  auto others = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu);
    char host[16];
    auto memory = *(*gpu)->allocate(16);
    std::string launched = text(launch((*gpu)->defaultStream(), *kernel));
    return {launched, text((*gpu)->defaultStream().copy(host, memory.data(), 16)),
            text((*gpu)->synchronize())};
  };
  EXPECT_MESSAGES("hang", others, "", loop, later);
  auto whole = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu);
    auto stream = *(*gpu)->createStream();
    return {text(launch(*stream, *kernel)), text((*gpu)->synchronize())};
  };
  EXPECT_MESSAGES("hang", whole, "", loop);
  EXPECT_MESSAGES("", whole, "", ""); // kernels that end are waited for
}

} // namespace
