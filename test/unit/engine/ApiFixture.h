// What tests of the public API share: kernels, an engine whose cache lies in a directory of the
// test, and dlpack.h.
#pragma once

#include "nereid/engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <unistd.h>
#include <vector>

// As dlpack.h declares them, under its names: a deleter is called through them from the other side.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(DLManagedTensor *self);
};
}
// NOLINTEND(readability-identifier-naming)

namespace nereid::test {

// Kernels that most tests of the public API launch.
inline constexpr const char *text = R"(
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in (4, 8)], key=["n"])
@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

@triton.jit
def show(n):
    tl.device_print("n", n)

@triton.jit
def pair(xy, out):
    tl.store(out, xy[0] + xy[1])

@triton.jit
def wrong(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), undefined_name)

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 48}),
                          triton.Config({"BLOCK": 128})], key=[])
@triton.jit
def increment(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    step = 1 if BLOCK != 32 else 2
    tl.store(x + i, tl.load(x + i, mask=i < n) + step, mask=i < n)

@triton.jit
def copy(source, target):
    target.store([0, 0], source.load([0, 0]))
)";

class ApiTest : public ::testing::Test {
protected:
  void SetUp() override {
    directory = std::filesystem::temp_directory_path() /
                ("nereid-api-" + std::to_string(::getpid()) + "-" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  Engine engine(std::function<void(const CompileEvent &)> onCompile = {}) {
    EngineOptions options;
    options.cacheDirectory = directory;
    options.onCompile = std::move(onCompile);
    return must(Engine::create(std::move(options)));
  }
  Kernel kernel(const Engine &engine, const char *name) {
    return must(must(engine.loadText(text, "text.py")).kernel(name));
  }

  // Launches `scale` over n numbers and says whether the result is right.
  static bool scaleWorks(const Kernel &scale, int64_t n) {
    std::vector<float> x(static_cast<size_t>(n)), out(x.size(), -1);
    std::iota(x.begin(), x.end(), 1.0f);
    scale(cpu().stream(), {uint32_t((n + 63) / 64)}, must(Tensor::wrap(std::span(x), {n})),
          out.data(), n, 3.0, named("BLOCK", 64));
    for (size_t i = 0; i < x.size(); ++i)
      if (out[i] != 3 * x[i])
        return false;
    return true;
  }
  static Device cpu() { return must(Device::open("cpu")); }

  std::filesystem::path directory;
};

/// A tensor on the CPU.
inline Tensor tensorOf(std::vector<float> values) {
  Tensor tensor =
      must(Tensor::empty(must(Device::open("cpu")), DType::Float32, {int64_t(values.size())}));
  must(tensor.upload(values.data()));
  return tensor;
}

} // namespace nereid::test
