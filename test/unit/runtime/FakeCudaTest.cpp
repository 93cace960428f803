// What the runtime makes of a driver's answers, on a driver without a GPU (test/fake_cuda). Each
// case is a process of its own, because a process opens one driver.
#include "FakeCuda.h"
#include "TestArtifacts.h"
#include "runtime/CudaDevice.h"
#include "runtime/CudaDriver.h"
#include "support/Knobs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

class FakeCuda : public test::FakeCuda {
protected:
  void TearDown() override { ::unsetenv("NEREID_WATCHDOG_SECONDS"); }
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

std::string whatOf(const Status &status) { return status ? "" : status.error().what; }
template <typename T> std::string whatOf(const Result<T> &result) {
  return result ? "" : result.error().what;
}

std::shared_ptr<LoadedKernel> load(Device &gpu, const test::KernelOptions &options = {}) {
  return *gpu.load(test::makePtxArtifact(".version 7.0\n", options));
}
Status launchOne(Stream &stream, LoadedKernel &kernel) {
  void *argument = nullptr;
  return stream.launch(kernel, {&argument, 8, {1, 1, 1}});
}

std::vector<std::string> opened(Result<Device *> gpu) { return {whatOf(gpu)}; }

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
    std::string large = whatOf((*gpu)->allocate(2 << 20));
    std::string small = whatOf((*gpu)->allocate(1000));
    return {large, small, (*gpu)->memory().stats().currentBytes == before ? "" : "memory is lost"};
  };
  EXPECT_MESSAGES("oom", body, "no memory on cuda:0 for 2097152 bytes; 0 bytes are in use", "", "");
}

TEST_F(FakeCuda, RefusesWhatDoesNotFit) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto large = (*gpu)->load(test::makePtxArtifact("", {.sharedBytes = 300000}));
    auto kernel = load(**gpu, {.numWarps = 32});
    return {whatOf(large), whatOf(launchOne((*gpu)->defaultStream(), *kernel))};
  };
  EXPECT_MESSAGES(
      "resources", body,
      "cannot load kernel `kernel` on cuda:0: it needs 300000 bytes of shared memory, "
      "Fake GPU has 232448",
      "cannot launch `kernel` on cuda:0: 1024 threads a program, and with 128 registers "
      "a thread at most 512 fit");
}

// Kernels of a folder are compiled and loaded side by side.
TEST_F(FakeCuda, LoadsFromSeveralThreads) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    std::string code = ".version 8.0\n.target sm_80\n.address_size 64\n"
                       ".visible .entry kernel(.param .u64 first)\n{\n ret;\n}\n";
    constexpr int each = 100;
    std::vector<std::shared_ptr<LoadedKernel>> kernels[8];
    std::vector<std::jthread> threads;
    for (auto &mine : kernels)
      threads.emplace_back([&mine, &code, gpu] {
        for (int i = 0; i < each; ++i)
          if (auto loaded = (*gpu)->load(test::makePtxArtifact(code)))
            mine.push_back(*loaded);
      });
    threads.clear();
    std::vector<std::string> said;
    for (auto &mine : kernels) {
      said.push_back(mine.size() == each ? "" : "a thread loaded too few");
      said.push_back(whatOf(launchOne((*gpu)->defaultStream(), *mine.back())));
    }
    return said;
  };
  EXPECT_MESSAGES("runs", body, "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "");
}

TEST_F(FakeCuda, KeepsDevicesAndContextsApart) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    const cuda::Driver &driver = **cuda::driver();
    Device &other = **device("cuda:1");
    cuda::Context mine = nullptr, now = nullptr;
    driver.cuDevicePrimaryCtxRetain(&mine, 1);
    driver.cuCtxPushCurrent(mine); // the host program's, of another device
    auto kernel = load(**gpu);
    std::string wrong = whatOf(launchOne(other.defaultStream(), *kernel));
    std::string right = whatOf(launchOne((*gpu)->defaultStream(), *kernel));
    auto event = *other.createEvent();
    std::string marked = whatOf((*gpu)->defaultStream().record(*event));
    driver.cuCtxGetCurrent(&now);
    return {wrong, right, marked, now == mine ? "" : "the host program's context was changed",
            whatOf(device("cuda:2"))};
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
    std::vector<std::string> said = {whatOf(launchOne(*stream, *kernel)),
                                     whatOf(stream->synchronize()),
                                     whatOf(stream->synchronize()),
                                     whatOf(launchOne(*stream, *kernel)),
                                     whatOf((*gpu)->allocate(1000)),
                                     whatOf((*gpu)->createStream()),
                                     whatOf(device("cuda:0"))};
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
    return {whatOf(launchOne(*stream, *kernel)), whatOf((*gpu)->synchronize())};
  };
  EXPECT_MESSAGES("trap", device, "", "`kernel` or a kernel before it faulted");
  auto allocation = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu);
    std::string launched = whatOf(launchOne((*gpu)->defaultStream(), *kernel));
    return {launched, whatOf((*gpu)->allocate(1000)), whatOf((*gpu)->allocate(1000))};
  };
  EXPECT_MESSAGES("trap", allocation, "", "`kernel` or a kernel before it faulted", "was lost");
}

// A graph is blamed by its kernels, and whoever asks an event hears them too.
TEST_F(FakeCuda, NamesKernelsBehindGraphsAndEvents) {
  auto graph = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu), other = load(**gpu, {.name = "other"});
    auto stream = *(*gpu)->createStream();
    std::vector<std::string> said = {whatOf(stream->beginCapture())};
    for (const auto &each : {kernel, other, kernel})
      said.push_back(whatOf(launchOne(*stream, *each)));
    auto captured = *stream->endCapture();
    said.push_back(whatOf(stream->launch(*captured)));
    said.push_back(whatOf(stream->synchronize()));
    return said;
  };
  EXPECT_MESSAGES("trap", graph, "", "", "", "", "",
                  "`kernel`, `other` or a kernel before it faulted");
  auto event = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu), other = load(**gpu, {.name = "other"});
    auto stream = *(*gpu)->createStream(), idle = *(*gpu)->createStream();
    auto mark = *(*gpu)->createEvent();
    std::vector<std::string> said = {whatOf(stream->record(*mark))};
    said.push_back(whatOf(launchOne(*stream, *kernel)));
    said.push_back(whatOf(mark->query()));
    return said;
  };
  EXPECT_MESSAGES("trap", event, "", "",
                  "cannot query an event: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED); "
                  "`kernel` or a kernel before it faulted");
}

// What a host program asks the driver without us.
template <typename Signature> Signature *ofDriver(const char *name) {
  return reinterpret_cast<Signature *>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), name));
}
long calls(const char *name) { return ofDriver<long(const char *)>("fake_cuda_calls")(name); }
std::string unless(bool good, const char *problem) { return good ? "" : problem; }

TEST_F(FakeCuda, TellsTheDriverHowALaunchStarts) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    std::vector<std::string> said;
    auto stream = *(*gpu)->createStream();
    auto launched = [&](uint32_t flags, uint32_t scratch, long early, long together) {
      long before[] = {calls("attribute 6"), calls("attribute 2")};
      auto kernel = load(**gpu, {.scratchBytes = scratch, .flags = flags});
      said.push_back(whatOf(launchOne(*stream, *kernel)));
      said.push_back(unless(calls("attribute 6") - before[0] == early, "another early start"));
      said.push_back(unless(calls("attribute 2") - before[1] == together, "another cooperation"));
    };
    launched(0, 0, 0, 0);
    launched(CodePdl, 0, 1, 0);
    launched(CodeCooperative, 0, 0, 1);
    launched(CodePdl | CodeCooperative, 0, 1, 1);
    launched(CodePdl, 16, 0, 0); // launches that share scratch must not overlap
    return said;
  };
  EXPECT_MESSAGES("", body, "", "", "", "", "", "", "", "", "", "", "", "", "", "", "");
}

// Three blocks of it run at once there.
TEST_F(FakeCuda, LaunchesBlocksThatRunSeveralPrograms) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    std::vector<std::string> said;
    auto stream = *(*gpu)->createStream();
    auto expect = [&](uint32_t rank, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> blocks) {
      auto kernel = load(**gpu, {.flags = CodeLoopsOverPrograms, .gridRank = rank});
      void *argument = nullptr;
      said.push_back(whatOf(stream->launch(*kernel, {&argument, 8, grid})));
      auto *last = ofDriver<const uint32_t *()>("fake_cuda_last_grid")();
      said.push_back(unless(std::equal(blocks.begin(), blocks.end(), last), "other blocks"));
    };
    expect(1, {7, 1, 1}, {3, 1, 1});
    expect(2, {4, 5, 1}, {3, 1, 1});
    expect(2, {2, 1, 1}, {2, 1, 1});
    expect(2, {4, 5, 2}, {1, 1, 2}); // an axis that the kernel does not read
    auto kernel = load(**gpu, {.flags = CodeLoopsOverPrograms, .gridRank = 2});
    void *argument = nullptr;
    said.push_back(whatOf(stream->launch(*kernel, {&argument, 8, {1u << 30, 2, 1}})));
    return said;
  };
  EXPECT_MESSAGES("", body, "", "", "", "", "", "", "", "", "NEREID_PROGRAM_LOOPS=off");
}

TEST_F(FakeCuda, LaunchesOnAStreamOfTheProgram) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    const cuda::Driver &driver = **cuda::driver();
    cuda::Context primary = nullptr, now = nullptr;
    driver.cuDevicePrimaryCtxRetain(&primary, 0);
    driver.cuCtxPushCurrent(primary);
    cuda::StreamHandle theirs = nullptr;
    driver.cuStreamCreate(&theirs, 0);
    driver.cuCtxPopCurrent(&now);
    auto kernel = load(**gpu, {.scratchBytes = 16});
    std::vector<std::string> said;
    {
      auto stream = *(*gpu)->wrapStream(theirs);
      said = {whatOf(launchOne(*stream, *kernel)), whatOf(stream->synchronize()),
              unless(stream->native() == theirs, "another handle")};
    }
    said.push_back(unless(ofDriver<cuda::StreamHandle()>("fake_cuda_last_stream")() == theirs,
                          "the launch came elsewhere"));
    said.push_back(unless(calls("cuStreamDestroy") == 0, "the program's stream is gone"));
    driver.cuCtxGetCurrent(&now);
    said.push_back(unless(!now, "a context was left current"));
    driver.cuStreamDestroy(theirs);
    said.push_back(whatOf((*gpu)->wrapStream(theirs)));
    return said;
  };
  EXPECT_MESSAGES("", body, "", "", "", "", "", "",
                  "cannot use a stream of the program on cuda:0: the driver knows no such stream");
}

TEST_F(FakeCuda, RefusesStreamsAndMemoryOfOthers) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    const cuda::Driver &driver = **cuda::driver();
    cuda::Context own = nullptr, now = nullptr;
    ofDriver<int(cuda::Context *, unsigned, int)>("cuCtxCreate_v2")(&own, 0, 0);
    cuda::StreamHandle theirs = nullptr;
    driver.cuStreamCreate(&theirs, 0);
    Device &other = **device("cuda:1");
    auto elsewhere = *other.createStream();
    auto memory = *(*gpu)->allocate(100), otherMemory = *other.allocate(100);
    std::vector<std::string> said = {whatOf((*gpu)->wrapStream(theirs)),
                                     whatOf((*gpu)->wrapStream(elsewhere->native())),
                                     whatOf(other.wrapStream(elsewhere->native())),
                                     whatOf((*gpu)->checkAddress(memory.data())),
                                     whatOf((*gpu)->checkAddress(otherMemory.data())),
                                     whatOf((*gpu)->checkAddress(nullptr))};
    driver.cuCtxGetCurrent(&now);
    said.push_back(unless(now == own, "the host program's context was changed"));
    return said;
  };
  EXPECT_MESSAGES("", body, "it is of another context, whose kernels do not reach memory of this",
                  "cannot use a stream of the program on cuda:0: it is a stream of cuda:1", "", "",
                  "the memory is cuda:1's, not cuda:0's", "", "");
}

// Kernels, scratch and streams of a device that is opened in a context of the program are its own.
TEST_F(FakeCuda, WorksInAContextOfTheProgram) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    const cuda::Driver &driver = **cuda::driver();
    cuda::Context own = nullptr, primary = nullptr, now = nullptr, theirs = nullptr;
    driver.cuDevicePrimaryCtxRetain(&primary, 1);
    ofDriver<int(cuda::Context *, unsigned, int)>("cuCtxCreate_v2")(&own, 0, 1);
    cuda::StreamHandle handle = nullptr;
    driver.cuStreamCreate(&handle, 0);
    driver.cuCtxPopCurrent(&now);
    Device *mine = *cudaDeviceIn(own);
    std::vector<std::string> said = {unless(mine == *cudaDeviceIn(own), "two devices"),
                                     unless(mine != *device("cuda:1"), "the primary context"),
                                     unless(*cudaDeviceIn(primary) == *device("cuda:1"), "no"),
                                     whatOf(cudaDeviceIn(nullptr))};
    auto kernel = load(*mine, {.scratchBytes = 16, .flags = CodeRecords});
    auto stream = *mine->wrapStream(handle), created = *mine->createStream();
    driver.cuStreamGetCtx(static_cast<cuda::StreamHandle>(created->native()), &theirs);
    said.push_back(unless(theirs == own, "a stream of another context"));
    for (Stream *each : {stream.get(), created.get(), &mine->defaultStream()})
      said.push_back(whatOf(launchOne(*each, *kernel)));
    said.push_back(whatOf(launchOne((*gpu)->defaultStream(), *kernel)));
    said.push_back(whatOf((*device("cuda:1"))->wrapStream(handle)));
    driver.cuCtxGetCurrent(&now);
    said.push_back(unless(!now, "a context was left current"));
    return said;
  };
  EXPECT_MESSAGES("", body, "", "", "", "cannot use a context of the program", "", "", "", "",
                  "cannot launch `kernel` on cuda:0: it was loaded for another device",
                  "it is of another context", "");
}

// Memory of the program, with the stream that it was asked for.
struct Program final : Allocator {
  void *allocate(size_t bytes, void *stream) override {
    cuda::Context now = nullptr;
    (*cuda::driver())->cuCtxGetCurrent(&now);
    hadContext = hadContext && now;
    log += "+" + std::to_string(bytes) + (stream ? stream == expected ? "s" : "?" : "");
    return bytes <= most ? std::aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr;
  }
  void free(void *pointer, size_t bytes, void *stream) override {
    log += "-" + std::to_string(bytes) + (stream ? stream == expected ? "s" : "?" : "");
    std::free(pointer);
  }
  void *expected = nullptr;
  size_t most = 1 << 30;
  bool hadContext = true;
  std::string log;
};

TEST_F(FakeCuda, TakesScratchFromTheProgram) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto memory = std::make_shared<Program>();
    (*gpu)->setAllocator(memory);
    std::vector<std::string> said;
    auto stream = *(*gpu)->createStream();
    memory->expected = stream->native();
    auto kernel = load(**gpu, {.scratchBytes = 1000});
    auto run = [&](uint32_t programs) {
      void *argument = nullptr;
      return whatOf(stream->launch(*kernel, {&argument, 8, {programs, 1, 1}}));
    };
    for (uint32_t programs : {1, 1, 3, 2})
      said.push_back(run(programs));
    said.push_back(memory->log);
    memory->most = 5000;
    said.push_back(run(10));
    memory->most = 1 << 30;
    // Of no stream while one captures: the graph may run anywhere.
    said.push_back(whatOf(stream->beginCapture()));
    said.push_back(run(1));
    {
      auto graph = *stream->endCapture();
      memory->log.clear();
    }
    said.push_back(memory->log);
    memory->log.clear();
    stream = nullptr; // what kernels keep for it goes with it
    said.push_back(memory->log);
    memory->log.clear();
    kernel = load(**gpu, {.flags = CodeRecords}); // records lie in the host's memory
    said.push_back(memory->log);
    kernel = nullptr;
    said.push_back(unless((*gpu)->memory().stats().currentBytes == 0, "memory is lost"));
    said.push_back(unless(memory->hadContext, "no context was current"));
    said.push_back(unless(calls("cuMemAllocAsync") == 0, "memory of the driver was taken"));
    (*gpu)->setAllocator(nullptr);
    return said;
  };
  EXPECT_MESSAGES(
      "", body, "", "", "", "", "+1256s+3256s-1256s",
      "cannot launch `kernel`: 1000 bytes of scratch for each of 10 programs: no memory "
      "on cuda:0 for 10256 bytes; 3256 bytes are in use",
      "", "", "-1256", "-3256s", "", "", "", "");
  // The driver's own, in the stream's order.
  auto own = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu, {.scratchBytes = 16});
    auto stream = *(*gpu)->createStream();
    std::string launched = whatOf(launchOne(*stream, *kernel));
    stream = nullptr;
    auto large = load(**gpu, {.scratchBytes = 4 << 20});
    return {launched, unless(calls("cuMemAllocAsync") == 1 && calls("cuMemFreeAsync") == 1, "else"),
            whatOf(launchOne((*gpu)->defaultStream(), *large))};
  };
  EXPECT_MESSAGES("oom", own, "", "",
                  "cannot launch `kernel`: 4194304 bytes of scratch for each of 1 programs: no "
                  "memory on cuda:0 for 4194560 bytes");
}

TEST_F(FakeCuda, LoadsCodeThatTheDriverTakes) {
  auto both = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto builder = test::startArtifact({});
    CodeRecord cubin;
    cubin.kind = uint32_t(CodeKind::Cubin);
    cubin.arch = builder.text("sm_90");
    cubin.entry = builder.text("run");
    cubin.numWarps = 4;
    cubin.code = builder.blob(std::vector<uint8_t>{0x7f, 'E', 'L', 'F'});
    builder.codes.push_back(cubin);
    CodeRecord ptx;
    ptx.kind = uint32_t(CodeKind::Ptx);
    ptx.arch = builder.text("sm_80");
    ptx.code = builder.ptx(".version 8.5\n.target sm_80\n");
    auto kernel = (*gpu)->load(test::finishArtifact(builder, ptx, {}));
    return {whatOf(kernel),
            kernel ? CodeKind((*kernel)->code().kind) == CodeKind::Ptx ? "PTX" : "cubin" : "",
            std::to_string(calls("cuLibraryLoadData")) + " libraries, " +
                std::to_string(calls("cuModuleLoadDataEx")) + " modules"};
  };
  EXPECT_MESSAGES("", both, "", "cubin", "1 libraries, 0 modules");
  EXPECT_MESSAGES("nocubin", both, "", "PTX", "2 libraries, 0 modules");
  EXPECT_MESSAGES("cuda118", both, "", "cubin", "0 libraries, 1 modules");
  EXPECT_MESSAGES("cuda118 nocubin", both, "", "PTX", "0 libraries, 2 modules");
  EXPECT_MESSAGES(
      "cuda118 nocubin noptx", both,
      "cannot load kernel `kernel` on cuda:0 (cubin for sm_90): an error "
      "(CUDA_ERROR_NO_BINARY_FOR_GPU); the driver is for CUDA 11.8 and the code's PTX of "
      "version 8.5, which a newer driver takes",
      "", "0 libraries, 2 modules");
}

// What the copy engine cannot walk is refused before it is asked.
TEST_F(FakeCuda, RefusesTensorMapsThatHardwareCannotWalk) {
  auto body = [](Result<Device *> gpu) -> std::vector<std::string> {
    DescriptorRecord descriptor;
    descriptor.rank = 2;
    descriptor.type = uint8_t(DType::Float16);
    for (int i = 0; i < 2; ++i)
      descriptor.box[i] = descriptor.elementStride[i] = 1;
    alignas(64) char map[tensorMapBytes];
    auto encode = [&](uintptr_t address, std::vector<int64_t> shape, std::vector<int64_t> strides) {
      return whatOf((*gpu)->encodeTensorMap(descriptor, reinterpret_cast<void *>(address), shape,
                                            strides, map));
    };
    return {
        encode(4096, {64, 128}, {128, 1}),          encode(4104, {64, 128}, {128, 1}),
        encode(4096, {64, 128}, {132, 1}),          encode(4096, {64, 128}, {128, 2}),
        encode(4096, {4, 64, 128}, {8192, 128, 1}), encode(4096, {0, 128}, {128, 1}),
        encode(4096, {64, 128}, {-128, 1}),         encode(4096, {2, 128}, {int64_t(1) << 39, 1})};
  };
  const char *about = "cannot describe a tensor to the copy engine: ";
  EXPECT_MESSAGES("", body, "", "its address is no multiple of 16",
                  "the stride of dimension 0 is 132 elements of 2 bytes, no multiple of 16 bytes",
                  "its last dimension has stride 2, it must be 1",
                  std::string(about) + "it has 3 dimensions, the kernel expects 2",
                  "dimension 0 has size 0", "the stride of dimension 0 is -128 elements",
                  "no multiple of 16 bytes below 2^40");
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
      said = {whatOf(launchOne(*stream, *kernel)), whatOf(stream->synchronize()),
              whatOf((*gpu)->synchronize()),
              whatOf(stream->copy(memory.data(), queued.data(), 100))};
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
    std::string launched = whatOf(launchOne((*gpu)->defaultStream(), *kernel));
    return {launched, whatOf((*gpu)->defaultStream().copy(host, memory.data(), 16)),
            whatOf((*gpu)->synchronize())};
  };
  EXPECT_MESSAGES("hang", others, "", loop, later);
  auto whole = [](Result<Device *> gpu) -> std::vector<std::string> {
    auto kernel = load(**gpu);
    auto stream = *(*gpu)->createStream();
    return {whatOf(launchOne(*stream, *kernel)), whatOf((*gpu)->synchronize())};
  };
  EXPECT_MESSAGES("hang", whole, "", loop);
  EXPECT_MESSAGES("", whole, "", ""); // kernels that end are waited for
}

} // namespace
