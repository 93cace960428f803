// What the public interface costs beside a kernel's own work, on the CPU: a call of the compiled
// entry point, the same by Kernel::launch, an empty grid of 1,000 programs, and a start with every
// kernel in the cache on disk. The kernels are empty but for their arguments.
#include "nereid/engine.h"
#include "runtime/CpuDevice.h"
#include "runtime/CpuKernel.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace nereid;

namespace {

constexpr const char *text = R"(
import triton
import triton.language as tl

@triton.jit
def empty(a, b, c, n, m):
    pass
)";

// A file of ten kernels that differ, and a cache that holds them.
struct TenKernels {
  TenKernels() {
    std::filesystem::create_directories(folder);
    std::ofstream file(folder / "ten.py");
    file << "import triton\nimport triton.language as tl\n";
    for (int i = 0; i < 10; ++i)
      file << "\n@triton.jit\ndef kernel" << i
           << "(x, y, n, BLOCK: tl.constexpr):\n"
              "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
              "    a = tl.load(x + i, mask=i < n)\n"
              "    tl.store(y + i, tl.exp(a) * "
           << i << " + tl.sum(a), mask=i < n)\n";
    file.close();
    start();
  }
  ~TenKernels() { std::filesystem::remove_all(folder); }

  // As a program starts: everything from the engine on. Gives what was compiled.
  uint64_t start() {
    EngineOptions options;
    options.cacheDirectory = folder / "cache";
    Engine engine = must(Engine::create(options));
    Program program = must(engine.load((folder / "ten.py").string()));
    Device cpu = must(Device::open("cpu"));
    float x[1];
    for (int i = 0; i < 10; ++i)
      must(must(program.kernel("kernel" + std::to_string(i)))
               .prepare(cpu, {Argument(x, DType::Float32), Argument(x, DType::Float32), 1000,
                              named("BLOCK", 1024)}));
    return engine.statistics().compiled;
  }
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("nereid-bench-" + std::to_string(::getpid()));
};

struct Empty {
  Empty() {
    EngineOptions options;
    options.cacheOnDisk = false;
    kernel = must(must(must(Engine::create(options)).loadText(text)).kernel("empty"));
  }
  Kernel kernel;
  Stream stream = must(Device::open("cpu")).stream();
  alignas(16) float a[4] = {};
};

void nothing(uint64_t, uint64_t, const support::CpuContext *) {}

// What any launch must do: fill a block and a context and call through a pointer.
void directCall(benchmark::State &state) {
  Empty empty;
  support::CpuEntry entry = nothing;
  benchmark::DoNotOptimize(entry);
  for (auto _ : state) {
    struct {
      void *a, *b, *c;
      int32_t n, m;
    } block = {empty.a, empty.a, empty.a, 100, 200};
    uint32_t fault = 0;
    support::CpuContext context = {&block,  {1, 1, 1}, 0,       nullptr, nullptr,
                                   nullptr, nullptr,   nullptr, &fault};
    benchmark::DoNotOptimize(context);
    entry(0, 1, &context);
  }
}
BENCHMARK(directCall)->Name("api/direct_call");

void launch(benchmark::State &state) {
  Empty empty;
  Grid grid = {uint32_t(state.range(0))};
  for (auto _ : state)
    benchmark::DoNotOptimize(
        empty.kernel.launch(empty.stream, grid, {empty.a, empty.a, empty.a, 100, 200}).ok());
}
BENCHMARK(launch)->Name("api/launch/programs")->Arg(1)->Arg(1000);

void launchByName(benchmark::State &state) {
  Empty empty;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        empty.kernel
            .launch(empty.stream, {}, {empty.a, empty.a, empty.a, named("n", 100), named("m", 200)})
            .ok());
}
BENCHMARK(launchByName)->Name("api/launch_by_name");

void warmStart(benchmark::State &state) {
  TenKernels ten;
  for (auto _ : state)
    if (ten.start() != 0)
      return state.SkipWithError("a warm start compiled something");
}
BENCHMARK(warmStart)->Name("api/warm_start/ten_kernels")->Unit(benchmark::kMillisecond);

} // namespace
