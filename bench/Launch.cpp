// What a launch costs on the CPU beside the work itself: a direct call of a function, the loaded
// kernel, the launch path, and what a program calls (nereid/pack.h), on one program and on an empty
// grid of 1,000. The kernel is made by clang-19 at start.
#include "launch/Launcher.h"
#include "launch/Pack.h"
#include "nereid/pack.h"
#include "runtime/CpuDevice.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace nereid;
using namespace nereid::launch;
using LaunchArgument = launch::Argument;
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
  return *builder.finish();
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
    for (LaunchArgument &argument : arguments)
      argument = LaunchArgument::pointer(memory, DType::Float32);
  }
  Signature signature;
  LaunchArgument arguments[5];
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

void emptyFunction(unsigned long, unsigned long, const void *) {}

void functionCall(benchmark::State &state) {
  void (*volatile function)(unsigned long, unsigned long, const void *) = emptyFunction;
  for (auto _ : state)
    function(0, 1, nullptr);
}
BENCHMARK(functionCall)->Name("launch/function_call");

void packedKernel(benchmark::State &state) {
  Call call;
  std::string path = "/tmp/nereid-bench-" + std::to_string(std::rand()) + ".pack";
  for (size_t i = 0; i < 5; ++i)
    call.signature.parameters[i].name = "p" + std::to_string(i);
  Artifact artifact = emptyKernel();
  PackBuilder builder;
  (void)builder.add(call.signature, {"cpu",
                                     "",
                                     *Specialization::parse("*fp32:16, *fp32:16, *fp32:16, "
                                                            "*fp32:16, *fp32:16"),
                                     {},
                                     artifact.bytes()});
  std::vector<uint8_t> bytes = builder.finish();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), long(bytes.size()));
  auto pack = nereid::Pack::open(path);
  std::remove(path.c_str());
  if (!pack)
    return state.SkipWithError(pack.error().what.c_str());
  PackedKernel kernel = *pack->kernel("empty");
  Device device = *Device::open("cpu");
  float *p = reinterpret_cast<float *>(call.memory);
  Grid grid = {uint32_t(state.range(0))};
  Stream stream = device.stream();
  if (Status status = kernel.launch(stream, grid, {p, p, p, p, p}); !status)
    return state.SkipWithError(status.error().what.c_str());
  for (auto _ : state)
    benchmark::DoNotOptimize(bool(kernel.launch(stream, grid, {p, p, p, p, p})));
}
BENCHMARK(packedKernel)->Name("launch/public/programs")->Arg(1)->Arg(1000);

} // namespace
