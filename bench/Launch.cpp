// What a launch costs on the CPU beside the work itself: a direct call, the launch path on one
// program, and an empty grid of 1,000 programs. The kernel is made by clang-19 at start.
#include "launch/Launcher.h"
#include "runtime/CpuDevice.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace nereid;
using namespace nereid::launch;
using namespace nereid::support;

namespace {

std::vector<uint8_t> emptyObject() {
  std::string base = "/tmp/nereid-bench-" + std::to_string(std::rand());
  std::ofstream(base + ".c") << "void run(unsigned long f, unsigned long n, const void *c) {}\n";
  std::vector<uint8_t> bytes;
  if (std::system(("clang-19 -O2 -c -fPIC " + base + ".c -o " + base + ".o").c_str()) == 0) {
    std::ifstream file(base + ".o", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::remove((base + ".c").c_str());
  std::remove((base + ".o").c_str());
  return bytes;
}

// Five pointers, as many kernels have.
Artifact emptyKernel() {
  ArtifactBuilder builder;
  builder.kernel.name = builder.text("empty");
  for (uint32_t i = 0; i < 5; ++i) {
    std::string name = "p" + std::to_string(i);
    builder.parameters.push_back({builder.text(name), {}, 0, i, 1});
    builder.addSlot(name, SlotKind::Pointer, DType::Float32, i);
  }
  CodeRecord code;
  code.arch = builder.text("x86-64");
  code.entry = builder.text("run");
  code.code = builder.blob(emptyObject());
  builder.codes.push_back(code);
  return *Artifact::take(*builder.finish());
}

struct Source final : KernelSource {
  Result<Artifact> kernelFor(const Specialization &, std::span<const uint32_t>, uint32_t) override {
    return emptyKernel();
  }
};

struct Call {
  Call() {
    signature.name = "empty";
    signature.parameters.resize(5);
    for (Argument &argument : arguments)
      argument = Argument::pointer(memory, DType::Float32);
  }
  Signature signature;
  Argument arguments[5];
  alignas(64) char memory[64] = {};
};

void directCall(benchmark::State &state) {
  auto kernel = runtime::cpuDevice().load(emptyKernel());
  if (!kernel)
    return state.SkipWithError(kernel.error().what.c_str());
  alignas(64) void *block[5] = {};
  runtime::LaunchArguments arguments{block, sizeof block, {1, 1, 1}};
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  for (auto _ : state)
    benchmark::DoNotOptimize(bool(stream.launch(**kernel, arguments)));
}
BENCHMARK(directCall)->Name("launch/loaded_kernel");

void launchPath(benchmark::State &state) {
  Call call;
  Source source;
  Launcher launcher(call.signature, runtime::cpuDevice(), source);
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  Launcher::Grid grid = {uint32_t(state.range(0)), 1, 1};
  for (auto _ : state)
    benchmark::DoNotOptimize(bool(launcher.launch(stream, call.arguments, grid)));
}
BENCHMARK(launchPath)->Name("launch/path/programs")->Arg(1)->Arg(1000);

} // namespace
