// Two GPUs in one process: those of the machine where there are two, else those of a driver without
// any (test/fake_cuda), whose kernels run on a model.
#include "../runtime/FakeCuda.h"
#include "Harness.h"

#include "runtime/CudaDriver.h"

#include <dlfcn.h>
#include <thread>

namespace nereid::kernels::test {
namespace {

constexpr const char *source = R"(
import triton
import triton.language as tl

@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

@triton.jit
def blocks(source, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    out.store([at, 0], source.load([at, 0]) + 1)

@triton.jit
def tell(value):
    tl.device_print("value", value)

@triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, i, mask=i < n)
)";

constexpr int64_t count = 1000;
constexpr Grid grid = {(count + 255) / 256};

struct Gpu {
  explicit Gpu(const std::string &name)
      : device(must(Device::open(name))), stream(must(device.createStream())),
        x(must(Tensor::empty(device, DType::Float32, {count}))),
        y(must(Tensor::empty(device, DType::Float32, {count}))) {
    std::vector<float> values(count);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i);
    must(x.upload(values.data()));
    must(y.upload(std::vector<float>(count, -1).data()));
  }

  Device device;
  Stream stream;
  Tensor x, y; ///< 0, 1, 2 ...; -1
};

/// What `tensor` holds is `factor` times its index.
void expectMultiples(const Tensor &tensor, float factor) {
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  must(tensor.download(values.data()));
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], factor * float(i)) << tensor.device().name() << ", element " << i;
}
std::string text(const Status &status) { return status ? "" : describe(status.error()); }

struct Pair {
  Gpu gpus[2] = {Gpu("cuda:0"), Gpu("cuda:1")};
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Program program = must(engine.loadText(source));
  Kernel scale = must(program.kernel("scale"));

  void launch(const Gpu &on, const Tensor &x, const Tensor &y, float factor) {
    scale(on.stream, grid, x, y, count, factor, named("BLOCK", 256));
  }

  // One thread, in turns; what is alike is compiled once.
  void launchInTurns() {
    for (float factor : {2.0f, 3.0f, 4.0f}) {
      for (Gpu &gpu : gpus)
        launch(gpu, gpu.x, gpu.y, factor + float(&gpu - gpus));
      for (Gpu &gpu : gpus) {
        must(gpu.stream.synchronize());
        expectMultiples(gpu.y, factor + float(&gpu - gpus));
      }
    }
    EXPECT_EQ(engine.statistics().compiled, 1u);
  }

  void launchFromTwoThreads() {
    std::vector<std::thread> threads;
    for (Gpu &gpu : gpus)
      threads.emplace_back([&] {
        for (int round = 1; round <= 20; ++round) {
          launch(gpu, gpu.x, gpu.y, float(round));
          must(gpu.stream.synchronize());
          expectMultiples(gpu.y, float(round));
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  void describeBlocks() {
    Kernel blocks = must(program.kernel("blocks"));
    for (Gpu &gpu : gpus) {
      Tensor from = must(gpu.x.view({32, 16})), to = must(gpu.y.view({32, 16}));
      blocks(gpu.stream, {2}, must(TensorDescriptor::make(from, {16, 16})),
             must(TensorDescriptor::make(to, {16, 16})), named("BLOCK", 16));
      must(gpu.stream.synchronize());
      std::vector<float> values(512);
      must(to.download(values.data()));
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], float(i + 1)) << gpu.device.name();
    }
  }

  // What the second computes waits for what the first copied there.
  void copyAcross() {
    launch(gpus[0], gpus[0].x, gpus[0].y, 5);
    must(gpus[0].stream.copy(gpus[1].x.data(), gpus[0].y.data(), gpus[0].y.bytes()));
    Event copied = must(gpus[0].device.createEvent());
    must(gpus[0].stream.record(copied));
    must(gpus[1].stream.wait(copied));
    launch(gpus[1], gpus[1].x, gpus[1].y, 2);
    must(gpus[1].stream.synchronize());
    expectMultiples(gpus[1].y, 10);
    EXPECT_TRUE(must(copied.query()));
  }

  void captureGraphs() {
    Graph graphs[2];
    for (int i : {0, 1}) {
      Gpu &gpu = gpus[i];
      must(gpu.stream.beginCapture());
      launch(gpu, gpu.x, gpu.y, 2);
      launch(gpu, gpu.y, gpu.x, 1);
      graphs[i] = must(gpu.stream.endCapture());
      EXPECT_EQ(graphs[i].nodeCount(), 2u);
    }
    for (int round = 0; round < 3; ++round)
      for (int i : {1, 0})
        must(gpus[i].stream.launch(graphs[i]));
    for (Gpu &gpu : gpus) {
      must(gpu.stream.synchronize());
      expectMultiples(gpu.x, 8);
    }
    EXPECT_EQ(text(gpus[0].stream.launch(graphs[1])),
              "cannot run on cuda:0 a graph of another device");
  }

  void refuseWhatLiesElsewhere() {
    auto said = [&](const Argument &x, const Argument &y) {
      return text(scale.launch(gpus[0].stream, grid, {x, y, count, 2.0f, named("BLOCK", 256)}));
    };
    EXPECT_EQ(said(gpus[1].x, gpus[0].y),
              "cannot launch `scale`: argument `x` is on cuda:1, the launch is on cuda:0");
    EXPECT_EQ(said(gpus[0].x, gpus[1].y),
              "cannot launch `scale`: argument `out` is on cuda:1, the launch is on cuda:0");
    EXPECT_NE(
        said(gpus[1].x.data<double>(), gpus[0].y)
            .find("cannot launch `scale` on cuda:0: `x`: the memory is cuda:1's, not cuda:0's"),
        std::string::npos);
    EXPECT_EQ(text(gpus[0].device.wrapStream(gpus[1].stream.native())),
              "cannot use a stream of the program on cuda:0: it is a stream of cuda:1");
    Event events[2] = {must(gpus[0].device.createEvent()), must(gpus[1].device.createEvent())};
    EXPECT_EQ(text(gpus[0].stream.record(events[1])),
              "cannot record on cuda:0 an event of another device");
    for (int i : {0, 1}) {
      must(gpus[i].stream.record(events[i]));
      must(events[i].synchronize());
    }
    auto seconds = events[0].secondsSince(events[1]);
    EXPECT_FALSE(seconds);
    EXPECT_EQ(text(seconds), "cannot take the time between events of two devices");
    // Nothing of it has cost a device.
    launchInTurns();
  }
  template <typename T> static std::string text(const Result<T> &result) {
    return result ? "" : describe(result.error());
  }
  static std::string text(const Status &status) { return test::text(status); }

  // Where the program enables it, kernels of one reach memory of the other.
  void reachAPeer() {
    const runtime::cuda::Driver &driver = **runtime::cuda::driver();
    void *library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto can = reinterpret_cast<int (*)(int *, int, int)>(dlsym(library, "cuDeviceCanAccessPeer"));
    auto enable = reinterpret_cast<int (*)(runtime::cuda::Context, unsigned)>(
        dlsym(library, "cuCtxEnablePeerAccess"));
    auto disable =
        reinterpret_cast<int (*)(runtime::cuda::Context)>(dlsym(library, "cuCtxDisablePeerAccess"));
    int possible = 0;
    if (can(&possible, 0, 1) || !possible)
      GTEST_SKIP() << "cuda:0 cannot reach memory of cuda:1";
    runtime::cuda::Context contexts[2], popped;
    for (int i : {0, 1})
      driver.cuDevicePrimaryCtxRetain(&contexts[i], i);
    driver.cuCtxPushCurrent(contexts[0]);
    ASSERT_EQ(enable(contexts[1], 0), 0);
    driver.cuCtxPopCurrent(&popped);

    Tensor theirs = must(Tensor::wrap(gpus[0].device, gpus[1].y.data(), DType::Float32, {count}));
    launch(gpus[0], gpus[0].x, theirs, 7);
    must(gpus[0].stream.synchronize());
    expectMultiples(gpus[1].y, 7);

    driver.cuCtxPushCurrent(contexts[0]);
    ASSERT_EQ(disable(contexts[1]), 0);
    driver.cuCtxPopCurrent(&popped);
    EXPECT_EQ(text(Tensor::wrap(gpus[0].device, gpus[1].y.data(), DType::Float32, {count})),
              "cannot make a tensor of cuda:0: the memory is cuda:1's, not cuda:0's");
  }

  void callTheLibrary() {
    Library library = must(Library::create(engine));
    for (Gpu &gpu : gpus) {
      auto ones = [&](Shape shape) {
        Tensor tensor = must(Tensor::empty(gpu.device, DType::Float32, shape));
        must(tensor.upload(std::vector<float>(size_t(tensor.size()), 1).data()));
        return tensor;
      };
      Tensor x = ones({4, 256}), w = ones({256}), y = ones({4, 256}), b = ones({256, 16}),
             c = ones({4, 16});
      library.rms_norm(gpu.stream, {.x = x, .w = w, .y = y, .epsilon = 3});
      library.matmul(gpu.stream, {.a = y, .b = b, .c = c});
      must(gpu.stream.synchronize());
      std::vector<float> values(64);
      must(c.download(values.data()));
      for (float value : values)
        ASSERT_NEAR(value, 128, 1e-3) << gpu.device.name();
    }
  }

  void takeMessages() {
    Kernel tell = must(program.kernel("tell"));
    for (Gpu &gpu : gpus)
      tell(gpu.stream, {1}, 10 + int64_t(&gpu - gpus));
    std::string all;
    for (Gpu &gpu : gpus)
      must(gpu.stream.synchronize());
    for (const KernelMessage &message : must(tell.takeMessages()))
      all += message.text + ";";
    EXPECT_NE(all.find("value: 10"), std::string::npos) << all;
    EXPECT_NE(all.find("value: 11"), std::string::npos) << all;
  }

  void tune() {
    Kernel tuned = must(program.kernel("tuned"));
    for (Gpu &gpu : gpus) {
      const std::array<Argument, 2> arguments = {gpu.y, count};
      auto rows = must(tuned.tune(
          gpu.stream,
          [](const Configuration &one) { return Grid{uint32_t(count / one.integer("BLOCK") + 1)}; },
          arguments, {.seconds = 0.001}));
      EXPECT_EQ(rows.size(), 2u);
      for (const TuneRow &row : rows)
        EXPECT_EQ(row.failure, "") << gpu.device.name();
    }
  }

  void countMemory() {
    uint64_t before[2] = {gpus[0].device.memory().current, gpus[1].device.memory().current};
    Tensor tensor = must(Tensor::empty(gpus[1].device, DType::Float32, {1 << 18}));
    EXPECT_EQ(gpus[0].device.memory().current, before[0]);
    EXPECT_EQ(gpus[1].device.memory().current, before[1] + (1 << 20));
  }

  void checkAll() {
    launchInTurns();
    launchFromTwoThreads();
    describeBlocks();
    countMemory();
    tune();
    callTheLibrary();
    Pair().copyAcross();
    Pair().captureGraphs();
    Pair().refuseWhatLiesElsewhere();
    Pair().reachAPeer();
    runtime::cuda::Context now = nullptr;
    (**runtime::cuda::driver()).cuCtxGetCurrent(&now);
    EXPECT_EQ(now, nullptr) << "a context was left current";
  }
};

TEST(Cuda, WorksOnTwoDevices) {
  auto second = Device::open("cuda:1");
  if (!second)
    GTEST_SKIP() << second.error().what;
  Pair().checkAll();
  Pair().takeMessages(); // the model knows no functions, which records are written by
}

[[noreturn]] void checkOnTheModel() {
  Pair().checkAll();
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(SeveralDevices, WorkOnAModel) {
  runtime::test::FakeDriver driver;
  ::setenv("NEREID_PTXAS", NEREID_SOURCE_DIR "/test/fake_cuda/ptxas.sh", 1);
  for (const char *scenario : {"runs", "runs sm90"}) {
    ::setenv("FAKE_CUDA", scenario, 1);
    EXPECT_EXIT(checkOnTheModel(), testing::ExitedWithCode(0), "");
  }
  ::unsetenv("NEREID_PTXAS");
}

} // namespace
} // namespace nereid::kernels::test
