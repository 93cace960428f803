// What needs a GPU; skipped where there is none.
#include "runtime/CudaDevice.h"

#include "TestArtifacts.h"
#include "runtime/CudaDriver.h"
#include "runtime/Recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

// out[i] = a[i] + b[i] for i < n, 128 elements a program.
const char *addPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n,
                    .param .u64 hidden)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %d<8>;
  .reg .f32 %f<4>;
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [b];
  ld.param.u64 %d3, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 128, %r3;
  setp.ge.s32 %p1, %r4, %r1;
  @%p1 ret;
  mul.wide.s32 %d4, %r4, 4;
  add.s64 %d5, %d1, %d4;
  add.s64 %d6, %d2, %d4;
  add.s64 %d7, %d3, %d4;
  ld.global.f32 %f1, [%d5];
  ld.global.f32 %f2, [%d6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%d7], %f3;
  ret;
}
)";

// Thread 0 of each program writes its index to scratch, reads it back, and records it.
const char *recordPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<16>;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  mov.u32 %r2, %ctaid.x;
  cvt.u64.u32 %d1, %r2;
  ld.param.u64 %d2, [out];
  ld.param.u64 %d3, [hidden];
  ld.global.u64 %d4, [%d3];
  shl.b64 %d5, %d1, 4;
  add.s64 %d6, %d4, %d5;
  st.global.u32 [%d6+8], %r2;
  ld.volatile.global.u32 %r3, [%d6+8];
  shl.b64 %d7, %d1, 2;
  add.s64 %d7, %d2, %d7;
  st.global.u32 [%d7], %r3;
  ld.global.u64 %d8, [%d3+8];
  atom.global.add.u64 %d9, [%d8], 1;
  ld.global.u64 %d10, [%d8+8];
  setp.ge.u64 %p2, %d9, %d10;
  @%p2 ret;
  shl.b64 %d11, %d9, 5;
  add.s64 %d11, %d8, %d11;
  mov.u32 %r4, 5;
  st.global.u32 [%d11+32], %r4;
  st.global.u64 [%d11+40], %d1;
  st.global.u64 [%d11+48], %d1;
  mov.u32 %r5, 0;
  st.global.u32 [%d11+56], %r5;
  mov.u32 %r6, 65536;
  st.global.u32 [%d11+36], %r6;
  ret;
}
)";

const char *faultPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden)
{
  .reg .b64 %d<2>;
  mov.u64 %d1, 64;
  st.global.u64 [%d1], %d1;
  ret;
}
)";

const char *misalignedPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden)
{
  .reg .b64 %d<2>;
  .reg .f32 %f<4>;
  ld.param.u64 %d1, [out];
  ld.volatile.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d1];
  st.volatile.global.v4.f32 [%d1], {%f3, %f2, %f1, %f0};
  ret;
}
)";

const char *trapPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden) { trap; }
)";

// Waits for what nobody writes.
const char *loopPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
AGAIN:
  ld.volatile.global.u32 %r1, [%d1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ret;
}
)";

const char *emptyPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden) { ret; }
)";

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    auto found = device("cuda:0");
    if (!found)
      GTEST_SKIP() << found.error().what;
    gpu = *found;
  }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact) {
    auto kernel = gpu->load(artifact);
    EXPECT_TRUE(kernel) << kernel.error().what;
    return kernel ? *kernel : nullptr;
  }
  Device *gpu = nullptr;
};

const test::KernelOptions addOptions = {
    .slots = {SlotKind::Pointer, SlotKind::Pointer, SlotKind::Pointer, SlotKind::Int}};

struct AddArguments {
  void *a, *b, *out;
  int32_t n;
};

TEST_F(Cuda, AddsVectors) {
  auto kernel = load(test::makePtxArtifact(addPtx, addOptions));
  ASSERT_TRUE(kernel);
  const int n = 100003;
  std::vector<float> a(n), b(n), out(n);
  for (int i = 0; i < n; ++i) {
    a[i] = float(i);
    b[i] = 0.5f * float(i % 100);
  }
  auto own = gpu->createStream();
  ASSERT_TRUE(own) << own.error().what;
  uint64_t before = gpu->memory().stats().currentBytes;
  for (Stream *stream : {&gpu->defaultStream(), own->get()}) {
    auto da = *gpu->allocate(n * 4, stream), db = *gpu->allocate(n * 4, stream),
         dout = *gpu->allocate(n * 4, stream);
    EXPECT_EQ(gpu->memory().stats().currentBytes, before + 12 * uint64_t(n));
    ASSERT_TRUE(stream->copy(da.data(), a.data(), n * 4));
    ASSERT_TRUE(stream->copy(db.data(), b.data(), n * 4));
    ASSERT_TRUE(stream->fill(dout.data(), 0x7fc00000, 4, n));
    AddArguments arguments{da.data(), db.data(), dout.data(), n};
    Status status = stream->launch(*kernel, {&arguments, 28, {uint32_t((n + 127) / 128), 1, 1}});
    ASSERT_TRUE(status) << status.error().what;
    ASSERT_TRUE(stream->copy(out.data(), dout.data(), n * 4));
    ASSERT_TRUE(stream->synchronize());
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(out[i], a[i] + b[i]) << i;
  }
  EXPECT_EQ(gpu->memory().stats().currentBytes, before);
}

TEST_F(Cuda, GivesScratchAndRecords) {
  auto kernel = load(
      test::makePtxArtifact(recordPtx, {.scratchBytes = 16, .flags = CodeRecords, .numWarps = 1}));
  ASSERT_TRUE(kernel);
  auto stream = *gpu->createStream();
  for (uint32_t programs : {10u, 1000u, 3u}) {
    auto out = *gpu->allocate(programs * 4, stream.get());
    void *argument = out.data();
    ASSERT_TRUE(stream->launch(*kernel, {&argument, 8, {programs, 1, 1}}));
    std::vector<uint32_t> cells(programs);
    ASSERT_TRUE(stream->copy(cells.data(), out.data(), programs * 4));
    Status status = stream->synchronize();
    ASSERT_TRUE(status) << status.error().what;
    for (uint32_t i = 0; i < programs; ++i)
      ASSERT_EQ(cells[i], i);
    uint64_t lost;
    auto records = kernel->takeRecords(lost);
    ASSERT_TRUE(records);
    ASSERT_EQ(records->size(), programs);
    uint64_t sum = 0;
    for (const Record &record : *records) {
      EXPECT_EQ(record.site, 5u);
      EXPECT_EQ(RecordKind(record.kind), RecordKind::Print);
      EXPECT_EQ(record.operand, 0);
      sum += record.program;
    }
    EXPECT_EQ(sum, uint64_t(programs) * (programs - 1) / 2);
  }
}

TEST_F(Cuda, CapturesAndReplaysGraphs) {
  auto add = load(test::makePtxArtifact(addPtx, addOptions));
  auto scratch = load(
      test::makePtxArtifact(recordPtx, {.scratchBytes = 16, .flags = CodeRecords, .numWarps = 1}));
  auto stream = *gpu->createStream();
  auto a = *gpu->allocate(512), out = *gpu->allocate(512);
  AddArguments arguments{a.data(), a.data(), a.data(), 128}; // doubles
  void *cells = out.data();
  ASSERT_TRUE(stream->fill(a.data(), 0x3f800000, 4, 128)); // 1.0f
  ASSERT_TRUE(stream->beginCapture());
  ASSERT_TRUE(stream->launch(*add, {&arguments, 28, {1, 1, 1}}));
  ASSERT_TRUE(stream->launch(*add, {&arguments, 28, {1, 1, 1}}));
  Status status = stream->launch(*scratch, {&cells, 8, {100, 1, 1}});
  ASSERT_TRUE(status) << status.error().what;
  auto graph = stream->endCapture();
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ((*graph)->nodeCount(), 3u);
  for (int replay = 0; replay < 3; ++replay)
    ASSERT_TRUE(stream->launch(**graph));
  std::vector<float> result(128);
  ASSERT_TRUE(stream->copy(result.data(), a.data(), 512));
  ASSERT_TRUE(stream->synchronize());
  EXPECT_EQ(result, std::vector<float>(128, 64.0f));
  uint64_t lost;
  EXPECT_EQ(scratch->takeRecords(lost)->size(), 300u);
}

// A host program's own context: kernels, scratch and streams are in it, and it is left as it was.
TEST_F(Cuda, WorksInAContextOfTheProgram) {
  const cuda::Driver &driver = **cuda::driver();
  using Create = cuda::Code (*)(cuda::Context *, unsigned, cuda::DeviceHandle);
  auto create =
      reinterpret_cast<Create>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuCtxCreate_v2"));
  ASSERT_TRUE(create);
  cuda::Context own = nullptr, now = nullptr;
  cuda::StreamHandle theirs = nullptr;
  ASSERT_EQ(create(&own, 0, 0), cuda::Ok); // current from here on
  ASSERT_EQ(driver.cuStreamCreate(&theirs, 1), cuda::Ok);
  ASSERT_EQ(driver.cuCtxPopCurrent(&now), cuda::Ok);
  auto found = cudaDeviceIn(own);
  ASSERT_TRUE(found) << found.error().what;
  Device &mine = **found;
  EXPECT_FALSE(gpu->wrapStream(theirs));
  auto kernel = mine.load(
      test::makePtxArtifact(recordPtx, {.scratchBytes = 16, .flags = CodeRecords, .numWarps = 1}));
  ASSERT_TRUE(kernel) << kernel.error().what;
  auto wrapped = mine.wrapStream(theirs);
  ASSERT_TRUE(wrapped) << wrapped.error().what;
  auto created = *mine.createStream();
  for (Stream *stream : {wrapped->get(), created.get(), &mine.defaultStream()}) {
    constexpr uint32_t programs = 100;
    auto out = *mine.allocate(programs * 4, stream);
    void *argument = out.data();
    Status status = stream->launch(**kernel, {&argument, 8, {programs, 1, 1}});
    ASSERT_TRUE(status) << status.error().what;
    std::vector<uint32_t> cells(programs);
    ASSERT_TRUE(stream->copy(cells.data(), out.data(), programs * 4));
    status = stream->synchronize();
    ASSERT_TRUE(status) << status.error().what;
    for (uint32_t i = 0; i < programs; ++i)
      ASSERT_EQ(cells[i], i);
    uint64_t lost;
    EXPECT_EQ((*kernel)->takeRecords(lost)->size(), programs);
  }
  driver.cuCtxGetCurrent(&now);
  EXPECT_FALSE(now == own);
}

TEST_F(Cuda, TimesWithEvents) {
  auto kernel = load(test::makePtxArtifact(emptyPtx, {.numWarps = 1}));
  auto stream = *gpu->createStream();
  auto start = *gpu->createEvent(), end = *gpu->createEvent();
  void *argument = nullptr;
  ASSERT_TRUE(stream->record(*start));
  ASSERT_TRUE(stream->launch(*kernel, {&argument, 8, {1, 1, 1}}));
  ASSERT_TRUE(stream->record(*end));
  ASSERT_TRUE(end->synchronize());
  auto seconds = end->secondsSince(*start);
  ASSERT_TRUE(seconds);
  EXPECT_GT(*seconds, 0);
  EXPECT_LT(*seconds, 1);
}

TEST_F(Cuda, TracesDeviceTimes) {
  auto kernel = load(test::makePtxArtifact(addPtx, addOptions));
  auto stream = *gpu->createStream();
  const int n = 1 << 24;
  auto a = *gpu->allocate(n * 4, stream.get());
  AddArguments arguments{a.data(), a.data(), a.data(), n};
  ASSERT_TRUE(stream->fill(a.data(), 0, 4, n));
  recorder().take();
  recorder().enable(true);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(stream->launch(*kernel, {&arguments, 28, {n / 128, 1, 1}}));
  ASSERT_TRUE(stream->synchronize());
  recorder().enable(false);
  auto events = recorder().take();
  ASSERT_EQ(events.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i].kind, TraceKind::Launch);
    EXPECT_GT(events[i].deviceEnd - events[i].deviceBegin, 5000); // 128 MiB take over 5 us
    EXPECT_GE(events[i].deviceBegin, events[i].begin - 100000);
    EXPECT_LE(events[i].deviceEnd, events[3].end + 100000);
  }
  EXPECT_NE(chromeTrace(events).find("cuda:0"), std::string::npos);
}

TEST_F(Cuda, RefusesWhatCannotWork) {
  auto shared = gpu->load(test::makePtxArtifact(emptyPtx, {.sharedBytes = 1 << 20}));
  ASSERT_FALSE(shared);
  EXPECT_NE(shared.error().what.find("1048576 bytes of shared memory"), std::string::npos);
  auto broken = gpu->load(test::makePtxArtifact(".version 7.0\n.target sm_80\nnonsense"));
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().what.find("line"), std::string::npos) << broken.error().what;
  auto newer = gpu->load(test::makePtxArtifact(emptyPtx, {.arch = "sm_120"}));
  if (gpu->info().arch != "sm_120") {
    ASSERT_FALSE(newer);
    EXPECT_NE(newer.error().what.find("it has code for sm_120"), std::string::npos);
  }
  auto kernel = load(test::makePtxArtifact(emptyPtx));
  void *argument = nullptr;
  EXPECT_FALSE(gpu->defaultStream().launch(*kernel, {&argument, 8, {1, 70000, 1}}));
  EXPECT_FALSE(gpu->defaultStream().launch(*kernel, {&argument, 4, {1, 1, 1}}));
  auto huge = gpu->allocate(size_t(1) << 50);
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().what.find("no memory on cuda:0"), std::string::npos);
}

// PTX of an empty kernel with `count` pointers.
std::string emptyWith(int count) {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry run(";
  for (int i = 0; i < count; ++i)
    text += ".param .u64 p" + std::to_string(i) + ", ";
  return text + ".param .u64 hidden) { ret; }\n";
}

// Prints, and holds the runtime to a generous multiple of what the driver itself takes.
TEST_F(Cuda, LaunchCostIsNearTheDriver) {
  auto stream = *gpu->createStream();
  const cuda::Driver &driver = **cuda::driver();
  cuda::Context context;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), cuda::Ok);
  ASSERT_EQ(driver.cuCtxPushCurrent(context), cuda::Ok);
  for (int count : {5, 19}) {
    std::string ptx = emptyWith(count);
    test::KernelOptions options;
    options.slots.assign(size_t(count), SlotKind::Pointer);
    options.numWarps = 1;
    auto kernel = load(test::makePtxArtifact(ptx, options));
    ASSERT_TRUE(kernel);
    alignas(64) void *block[32] = {};
    LaunchArguments arguments{block, uint32_t(count) * 8, {1, 1, 1}};

    cuda::Module module;
    cuda::Function function;
    ASSERT_EQ(driver.cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), cuda::Ok);
    ASSERT_EQ(driver.cuModuleGetFunction(&function, module, "run"), cuda::Ok);
    void *parameters[32];
    for (int i = 0; i <= count; ++i)
      parameters[i] = &block[i];
    cuda::LaunchConfig config = {
        1, 1, 1, 32, 1, 1, 0, static_cast<cuda::StreamHandle>(stream->native()), nullptr, 0};

    auto time = [&](auto &&once) {
      double best = 1e9;
      for (int round = 0; round < 50; ++round) {
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 200; ++i)
          once();
        std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        best = std::min(best, spent.count() / 200);
        EXPECT_TRUE(stream->synchronize());
      }
      return best * 1e6;
    };
    double raw = time([&] { driver.cuLaunchKernelEx(&config, function, parameters, nullptr); });
    double ours = time([&] { (void)stream->launch(*kernel, arguments); });
    std::printf("%d arguments: driver %.2f us, Stream::launch %.2f us\n", count, raw, ours);
    EXPECT_LT(ours, 1.5 * raw + 1);
    driver.cuModuleUnload(module);
  }
  driver.cuCtxPopCurrent(&context);
}

// Ends the process's use of the GPU, so it runs in a process of its own.
[[noreturn]] void faultAndLook(Device &gpu, const char *ptx, const char *text) {
  auto kernel = *gpu.load(test::makePtxArtifact(ptx, {.numWarps = 1}));
  auto memory = *gpu.allocate(64);
  void *argument = static_cast<char *>(memory.data()) + 4;
  Stream &stream = gpu.defaultStream();
  bool zeroed = bool(stream.fill(memory.data(), 0, 4, 16)) && stream.synchronize();
  bool launched = bool(stream.launch(*kernel, {&argument, 8, {1, 1, 1}}));
  Status first = stream.synchronize(), second = stream.synchronize();
  bool named = !first && first.error().what.find("`kernel`") != std::string::npos &&
               first.error().what.find("is lost") != std::string::npos &&
               first.error().what.find(text) != std::string::npos;
  auto begin = std::chrono::steady_clock::now();
  bool fast = !second && second.error().what.find("was lost") != std::string::npos &&
              !gpu.allocate(64) && !stream.launch(*kernel, {&argument, 8, {1, 1, 1}});
  kernel = nullptr;
  memory = {};
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "%s\n", first ? "no error" : first.error().what.c_str());
  int code = zeroed && launched && named && fast && spent.count() < 1 ? 0 : 1;
  if (deviceIsStuck())
    std::_Exit(code);
  std::exit(code);
}

TEST_F(Cuda, SurvivesAFaultingKernel) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(faultAndLook(*gpu, faultPtx, "illegal memory access"), testing::ExitedWithCode(0),
              "is lost");
  EXPECT_EXIT(faultAndLook(*gpu, misalignedPtx, "misaligned address"), testing::ExitedWithCode(0),
              "is lost");
  EXPECT_EXIT(faultAndLook(*gpu, trapPtx, ""), testing::ExitedWithCode(0), "is lost");
  // Other processes, this one among them, are unharmed.
  auto kernel = load(test::makePtxArtifact(emptyPtx, {.numWarps = 1}));
  void *argument = nullptr;
  EXPECT_TRUE(gpu->defaultStream().launch(*kernel, {&argument, 8, {1, 1, 1}}));
  EXPECT_TRUE(gpu->synchronize());
}

TEST_F(Cuda, WatchdogEndsTheWaitForALoop) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ::setenv("NEREID_WATCHDOG_SECONDS", "0.5", 1);
  EXPECT_EXIT(faultAndLook(*gpu, loopPtx, "has not ended within 0.5 seconds"),
              testing::ExitedWithCode(0), "is lost");
  ::unsetenv("NEREID_WATCHDOG_SECONDS");
}

TEST_F(Cuda, SaysHowManyThreadsFit) {
  // 1024 threads of 128 registers are two register files.
  std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry run(.param "
                    ".u64 out, .param .u64 hidden)\n.maxnreg 255\n{\n  .reg .b32 %r<200>;\n  .reg "
                    ".b64 %d<2>;\n  ld.param.u64 %d1, [out];\n";
  for (int i = 0; i < 200; ++i)
    ptx += "  ld.volatile.global.u32 %r" + std::to_string(i) + ", [%d1+" + std::to_string(4 * i) +
           "];\n";
  for (int i = 0; i < 200; ++i)
    ptx += "  st.volatile.global.u32 [%d1+" + std::to_string(4 * (199 - i)) + "], %r" +
           std::to_string(i) + ";\n";
  auto kernel = load(test::makePtxArtifact(ptx + "  ret;\n}\n", {.numWarps = 32}));
  ASSERT_TRUE(kernel);
  void *argument = nullptr;
  Status status = gpu->defaultStream().launch(*kernel, {&argument, 8, {1, 1, 1}});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find("1024 threads a program"), std::string::npos)
      << status.error().what;
  EXPECT_TRUE(gpu->synchronize()); // nothing is lost
}

} // namespace
