// The memory that attention asks for: measured by the device's own counter, over n.
//
//   memory ROOT [DEVICE]
#include "common.h"

namespace {

constexpr int64_t D = 16;

struct Inputs {
  Tensor q, k, v, out, lse;
  int64_t n;
};

void standard(const Device &device, const Program &program, const Inputs &x) {
  Tensor s = empty(device, {x.n, x.n}), weights = empty(device, {x.n, x.n});
  uint32_t tiles = blocks(x.n, 32);
  Kernel scores = must(program.kernel("scores")), softmax = must(program.kernel("softmax")),
         values = must(program.kernel("weighted_values"));
  Stream stream = device.stream();
  int64_t row = 1;
  while (row < x.n)
    row *= 2;
  scores(stream, {tiles, tiles, 1}, x.q, x.k, s, 1, 1, x.n, x.n, 1 / std::sqrt(float(D)),
         named("D", D), named("BLOCK_D", D), named("BLOCK_M", 32), named("BLOCK_N", 32),
         named("PRECISION", "ieee"));
  softmax(stream, {uint32_t(x.n)}, s, weights, x.lse, x.n, named("BLOCK", row));
  values(stream, {tiles, 1}, weights, x.v, x.out, 1, 1, x.n, x.n, named("D", D),
         named("BLOCK_D", D), named("BLOCK_M", 32), named("BLOCK_N", 32),
         named("PRECISION", "ieee"));
  must(stream.synchronize()); // before the scores go
}

void flash(const Device &device, const Program &program, const Inputs &x) {
  Kernel kernel = must(program.kernel("flash"));
  kernel(device.stream(), {blocks(x.n, 32), 1}, x.q, x.k, x.v, x.out, x.lse, x.n, x.n,
         1 / std::sqrt(float(D)), named("D", D), named("BLOCK_M", 32), named("BLOCK_N", 32),
         named("CAUSAL", false));
  must(device.stream().synchronize());
}

} // namespace

int main(int argc, char **argv) {
  return exercise(argc, argv, [](const std::string &root, const Device &device, Engine engine) {
    Program steps = must(engine.load(root + "/kernels/attention_standard/kernel.py"));
    Program whole = must(engine.load(root + "/examples/track/day32_flash_forward/kernel.py"));
    bool good = true;
    double peaks[2][2] = {};
    const int64_t sizes[] = {256, 1024};
    for (int at = 0; at < 2; ++at) {
      int64_t n = sizes[at];
      auto numbers = [&](unsigned seed) {
        return upload(device, randomNumbers(n * D, seed), {n, D});
      };
      Inputs x{numbers(1), numbers(2), numbers(3), empty(device, {n, D}), empty(device, {n}), n};
      std::vector<float> outs[2];
      for (int way = 0; way < 2; ++way) {
        device.resetPeakMemory();
        if (way)
          flash(device, whole, x);
        else
          standard(device, steps, x);
        peaks[way][at] = double(device.memory().peak);
        outs[way] = download(x.out);
      }
      std::printf("n = %lld: standard %.0f KB, flash %.0f KB\n", (long long)n, peaks[0][at] / 1024,
                  peaks[1][at] / 1024);
      good &= equal("  the two", outs[1], outs[0], 1e-5);
    }
    double slopes[2];
    for (int way = 0; way < 2; ++way)
      slopes[way] =
          std::log(peaks[way][1] / peaks[way][0]) / std::log(double(sizes[1]) / double(sizes[0]));
    std::printf("memory grows as n^%.2f and n^%.2f\n", slopes[0], slopes[1]);
    return good && slopes[0] > 1.9 && slopes[1] < 1.05;
  });
}
