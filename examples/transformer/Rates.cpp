#include "Rates.h"

#include <algorithm>
#include <chrono>

using namespace nereid;

double fastestSeconds(const Stream &stream, const std::function<void()> &pass) {
  auto timed = [&] {
    auto start = std::chrono::steady_clock::now();
    pass();
    must(stream.synchronize());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  timed();
  double least = timed();
  for (double spent = 0; spent < 0.2;) {
    double seconds = timed();
    least = std::min(least, seconds);
    spent += seconds;
  }
  return least;
}

Rates measureRates(const Kernel &read, const kernels::Library &library, const Stream &stream,
                   int64_t bytes) {
  const Device device = stream.device();
  Rates rates{};

  // Each program reads `steps` blocks.
  constexpr int64_t block = 1024, steps = 4, share = block * steps * int64_t(sizeof(float));
  const int64_t programs = std::max<int64_t>(1, bytes / share);
  rates.bufferBytes = programs * share;
  Tensor buffer = must(Tensor::empty(device, DType::Float32, {rates.bufferBytes / 4}));
  Tensor sums = must(Tensor::empty(device, DType::Float32, {programs}));
  must(buffer.upload(std::vector<float>(size_t(rates.bufferBytes / 4), 1.0f).data()));
  // Passes without a wait between them, as a step of decoding has.
  constexpr int passes = 8;
  double seconds = fastestSeconds(stream, [&] {
    for (int pass = 0; pass < passes; ++pass)
      read(stream, {uint32_t(programs)}, buffer, sums, named("STEPS", steps),
           named("BLOCK", block));
  });
  rates.bytesPerSecond = double(rates.bufferBytes) * passes / seconds;

  rates.productSize = device.name() == "cpu" ? 768 : 4096;
  const int64_t n = rates.productSize;
  Tensor a = must(Tensor::empty(device, DType::Float32, {n, n}));
  Tensor c = must(Tensor::empty(device, DType::Float32, {n, n}));
  must(a.upload(std::vector<float>(size_t(n * n), 1.0f).data()));
  rates.operationsPerSecond = 2 * double(n) * double(n) * double(n) / fastestSeconds(stream, [&] {
                                library.matmul(stream, {.a = a, .b = a, .c = c});
                              });
  return rates;
}
