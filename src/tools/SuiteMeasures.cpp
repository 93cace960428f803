// What a suite measures of the host's side: launches beside a graph of them, a copy beside work.
// All through the public API, as a program would.
#include "nereid/engine.h"
#include "tools/Suite.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace nereid::tools {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char *source = R"(
import triton
import triton.language as tl


@triton.jit
def tiny(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.load(x + i) + 1.0)


@triton.jit
def busy(x, steps):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    v = tl.load(x + at)
    for step in range(steps):
        v = v * 0.999 + 0.001
    tl.store(x + at, v)
)";

// Median and percentiles of passes, after two that are not counted.
Json sampled(double seconds, const std::function<double()> &pass) {
  pass();
  double warm = std::max(pass(), 1e-6);
  size_t count = size_t(std::clamp(seconds / warm, 7.0, 400.0));
  std::vector<double> samples;
  for (size_t i = 0; i < count; ++i)
    samples.push_back(pass());
  std::sort(samples.begin(), samples.end());
  auto at = [&](double share) {
    return samples[size_t(std::lround(share * double(samples.size() - 1)))];
  };
  return {{"seconds", at(0.5)}, {"p20", at(0.2)}, {"p80", at(0.8)}, {"samples", samples.size()}};
}

double clocked(const Device &device, const std::function<void()> &work) {
  auto start = Clock::now();
  work();
  must(device.synchronize());
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Json measure(const std::string &name, const Json &words, const std::string &where, double seconds) {
  Device device = must(Device::open(where));
  Program program = must(must(Engine::create()).loadText(source, "suite.py"));
  Json json;

  if (name == "launches" || name == "graph") {
    int count = words.value("count", 100);
    Kernel tiny = must(program.kernel("tiny"));
    Tensor x = must(Tensor::empty(device, DType::Float32, {64}));
    std::vector<float> zeros(64);
    must(x.upload(zeros.data()));
    Stream stream = must(device.createStream());
    auto launchAll = [&] {
      for (int i = 0; i < count; ++i)
        tiny(stream, {1}, x);
    };
    launchAll(); // compiles
    must(stream.synchronize());
    std::optional<Graph> graph;
    if (name == "graph") {
      must(stream.beginCapture());
      launchAll();
      graph = must(stream.endCapture());
    }
    json = sampled(seconds, [&] {
      return clocked(device, [&] {
        if (graph)
          must(stream.launch(*graph));
        else
          launchAll();
      });
    });
    json["what"] = graph ? "a graph of " + std::to_string(count) + " kernels"
                         : std::to_string(count) + " launches";
    json["launches"] = count;
    return json;
  }

  // A copy from the host on one stream, arithmetic on another; either alone or both.
  bool copies = name == "copy" || name == "both", computes = name == "compute" || name == "both";
  if (!copies && !computes)
    throw Exception(
        Error{"no measure `" + name + "`; there are launches, graph, copy, compute, both", {}});
  int64_t bytes = words.value("bytes", int64_t(256) << 20);
  int64_t steps = words.value("steps", int64_t(100000));
  std::vector<float> from(size_t(bytes / 4), 1.0f);
  Tensor to = must(Tensor::empty(device, DType::Float32, {bytes / 4}));
  Kernel busy = must(program.kernel("busy"));
  uint32_t programs = device.units() * 4;
  Tensor x = must(Tensor::empty(device, DType::Float32, {int64_t(programs) * 256}));
  std::vector<float> ones(size_t(programs) * 256, 1.0f);
  must(x.upload(ones.data()));
  Stream first = must(device.createStream()), second = must(device.createStream());
  json = sampled(seconds, [&] {
    return clocked(device, [&] {
      // The kernel first: a copy from memory that is not pinned holds the host.
      if (computes)
        busy(first, {programs}, x, steps);
      if (copies)
        must(second.copy(to.data(), from.data(), size_t(bytes)));
    });
  });
  json["what"] = name;
  return json;
}

} // namespace

Result<Json> hostMeasure(const std::string &name, const Json &words, const std::string &device,
                         double seconds) {
  try {
    return measure(name, words, device, seconds);
  } catch (const Exception &failure) {
    return failure.error();
  }
}

} // namespace nereid::tools
