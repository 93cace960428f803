// What a launch costs on a GPU beside the driver's own call: Kernel::launch, and what it does in
// turn, against cuLaunchKernelEx, with 5 and 19 arguments, and a graph of 100 kernels against one
// that was captured without us. Host time of a launch, least of many rounds.
#include "engine/BindingAccess.h"
#include "launch/Launcher.h"
#include "nereid/engine.h"
#include "runtime/CudaDriver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace nereid;
namespace cuda = nereid::runtime::cuda;

namespace {

constexpr int rounds = 60, launchesARound = 200, nodes = 100;

// A kernel that does nothing, of so many pointers.
std::string kernelText(int count) {
  std::string text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef empty(";
  for (int i = 0; i < count; ++i)
    text += (i ? ", p" : "p") + std::to_string(i);
  return text + "):\n    pass\n";
}

std::string ptxText(int count) {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry run(";
  for (int i = 0; i <= count; ++i)
    text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
  return text + ") { ret; }\n";
}

void check(cuda::Code code, const char *what) {
  if (code != cuda::Ok)
    throw Exception(Error{std::string(what) + ": error " + std::to_string(code), {}});
}

// Microseconds of one call, by the host's clock; what is queued is waited for between rounds.
template <typename Call> double hostTime(const Stream &stream, int calls, Call call) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
      call();
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / calls);
    must(stream.synchronize());
  }
  return best * 1e6;
}

// Microseconds on the device, by events around one call.
template <typename Call> double deviceTime(const Device &device, const Stream &stream, Call call) {
  double best = 1e9;
  Event begin = must(device.createEvent()), end = must(device.createEvent());
  for (int round = 0; round < rounds; ++round) {
    must(stream.record(begin));
    call();
    must(stream.record(end));
    must(end.synchronize());
    best = std::min(best, must(end.secondsSince(begin)));
  }
  return best * 1e6;
}

} // namespace

int main() try {
  Device device = must(Device::open("cuda:0"));
  Stream stream = must(device.createStream());
  const cuda::Driver &driver = **cuda::driver();
  cuda::Context context;
  check(driver.cuDevicePrimaryCtxRetain(&context, 0), "the context");
  check(driver.cuCtxPushCurrent(context), "the context");
  auto native = static_cast<cuda::StreamHandle>(stream.native());
  Engine engine = must(Engine::create());
  Tensor memory = must(Tensor::empty(device, DType::Float32, {1024}));
  auto *pointer = static_cast<float *>(memory.data());

  std::printf("%s\n%-28s %10s %10s %10s\n", device.description().c_str(),
              "microseconds of the host", "driver", "launch", "more");
  for (int count : {5, 19}) {
    Kernel kernel = must(must(engine.loadText(kernelText(count), "empty.py")).kernel("empty"));
    auto arguments = std::vector<Argument>(size_t(count), Argument(pointer));
    must(kernel.launch(stream, {1}, arguments));

    cuda::Module module;
    cuda::Function function;
    std::string ptx = ptxText(count);
    check(driver.cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), "the module");
    check(driver.cuModuleGetFunction(&function, module, "run"), "the function");
    std::vector<void *> values(size_t(count) + 1, pointer), parameters;
    for (void *&value : values)
      parameters.push_back(&value);
    cuda::LaunchConfig config = {1, 1, 1, 128, 1, 1, 0, native, nullptr, 0};
    auto raw = [&] {
      check(driver.cuLaunchKernelEx(&config, function, parameters.data(), nullptr), "a launch");
    };
    double theirs = hostTime(stream, launchesARound, raw);
    double ours =
        hostTime(stream, launchesARound, [&] { must(kernel.launch(stream, {1}, arguments)); });
    auto report = [&](const std::string &what, double time) {
      std::printf("%-28s %10.2f %10.2f %10.2f\n", what.c_str(), theirs, time, time - theirs);
    };
    report(std::to_string(count) + " arguments", ours);

    // The parts of that: arguments that are bound by position already, a block that is packed.
    auto bound = std::vector<launch::Argument>(size_t(count),
                                               launch::Argument::pointer(pointer, DType::Float32));
    report("  bound", hostTime(stream, launchesARound, [&] {
             must(engine::BindingAccess::launch(kernel, stream, {1}, bound));
           }));
    runtime::LoadedKernel &loaded =
        *must(engine::BindingAccess::launch(kernel, stream, {1}, bound))->kernel;
    alignas(support::packedAlignment) char block[support::packedLimit] = {};
    runtime::LaunchArguments packed = {block, loaded.artifact().kernel().packedBytes, {1, 1, 1}};
    report("  packed", hostTime(stream, launchesARound,
                                [&] { must(stream.internal().launch(loaded, packed)); }));
    // The driver with all parameters in one buffer, as far as it takes that.
    size_t bytes = values.size() * sizeof(void *);
    void *buffer[] = {reinterpret_cast<void *>(1), values.data(), reinterpret_cast<void *>(2),
                      &bytes, nullptr};
    report("  driver, one buffer", hostTime(stream, launchesARound, [&] {
             check(driver.cuLaunchKernelEx(&config, function, nullptr, buffer), "a launch");
           }));
    if (count != 5)
      continue;

    // Graphs of the same kernels.
    must(stream.beginCapture());
    for (int i = 0; i < nodes; ++i)
      must(kernel.launch(stream, {1}, arguments));
    Graph graph = must(stream.endCapture());
    constexpr int relaxed = 2;
    cuda::GraphHandle rawGraph;
    cuda::GraphExec rawExec;
    check(driver.cuStreamBeginCapture(native, relaxed), "a capture");
    for (int i = 0; i < nodes; ++i)
      raw();
    check(driver.cuStreamEndCapture(native, &rawGraph), "a capture");
    check(driver.cuGraphInstantiateWithFlags(&rawExec, rawGraph, 0), "a graph");
    auto replayRaw = [&] { check(driver.cuGraphLaunch(rawExec, native), "a graph"); };
    auto replay = [&] { must(stream.launch(graph)); };
    theirs = hostTime(stream, 10, replayRaw);
    ours = hostTime(stream, 10, replay);
    std::printf("%-28s %10.2f %10.2f %10.2f\n", "a graph of 100", theirs, ours, ours - theirs);
    theirs = deviceTime(device, stream, replayRaw) / nodes;
    ours = deviceTime(device, stream, replay) / nodes;
    std::printf("%-28s %10.2f %10.2f %10.2f\n", "the same, device, a kernel", theirs, ours,
                ours - theirs);
  }
  return 0;
} catch (const Exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
