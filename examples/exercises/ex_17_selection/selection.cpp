// A kernel chosen by the size of the problem, as libraries of kernels do, with the epilogue inside.
//
//   selection ROOT [DEVICE]
#include "common.h"

namespace {

struct Problem {
  int64_t m, n, k;
};

struct Tile {
  int m, n, k, warps;
};

/// relu(A B + bias).
class Gemm {
public:
  Gemm(const Engine &engine, const std::string &root, const Device &device)
      : program(must(engine.load(root + "/kernels/matmul/kernel.py"))), device(device) {}

  /// What was chosen.
  std::string operator()(const Tensor &a, const Tensor &b, const Tensor &bias, const Tensor &c,
                         Problem p) const {
    if (p.m <= 16)
      return tiled(a, b, bias, c, p, {16, 128, 64, 4});
    if (blocks(p.m, 128) * blocks(p.n, 128) > device.units())
      return tiled(a, b, bias, c, p, {128, 128, 64, 8});
    if (p.k >= 8 * std::max(p.m, p.n))
      return splitK(a, b, bias, c, p);
    return tiled(a, b, bias, c, p, {64, 64, 32, 4});
  }

private:
  std::string tiled(const Tensor &a, const Tensor &b, const Tensor &bias, const Tensor &c,
                    Problem p, Tile tile) const {
    CompileOptions options;
    options.numWarps = tile.warps;
    Kernel kernel = must(program.kernel("matmul", options));
    kernel(device.stream(), {blocks(p.m, tile.m) * blocks(p.n, tile.n)}, a, b, bias, c, p.m, p.n,
           p.k, p.k, 1, p.n, 1, p.n, 1, named("BLOCK_M", tile.m), named("BLOCK_N", tile.n),
           named("BLOCK_K", tile.k), named("GROUP_M", 8), named("ACTIVATION", "relu"),
           named("PRECISION", "ieee"));
    return "tiles of " + std::to_string(tile.m) + " x " + std::to_string(tile.n);
  }

  std::string splitK(const Tensor &a, const Tensor &b, const Tensor &bias, const Tensor &c,
                     Problem p) const {
    int64_t depth = int64_t(blocks(blocks(p.k, 8), 64)) * 64, splits = blocks(p.k, depth);
    Tensor partial = empty(device, {splits, p.m, p.n});
    Kernel parts = must(program.kernel("matmul_split_k")), sum = must(program.kernel("sum_splits"));
    parts(device.stream(), {blocks(p.m, 32) * blocks(p.n, 64), uint32_t(splits)}, a, b, partial,
          p.m, p.n, p.k, depth, p.k, 1, p.n, 1, named("BLOCK_M", 32), named("BLOCK_N", 64),
          named("BLOCK_K", 64), named("PRECISION", "ieee"));
    sum(device.stream(), {uint32_t(p.m), blocks(p.n, 512)}, partial, bias, c, p.m, p.n, splits, p.n,
        1, named("BLOCK", 512), named("ACTIVATION", "relu"));
    must(device.stream().synchronize()); // before `partial` goes
    return std::to_string(splits) + " slices of K";
  }

  Program program;
  Device device;
};

} // namespace

int main(int argc, char **argv) {
  return exercise(argc, argv, [](const std::string &root, const Device &device, Engine engine) {
    Gemm gemm(engine, root, device);
    bool good = true;
    std::vector<std::string> choices;
    for (Problem p : {Problem{5, 200, 64}, {300, 260, 64}, {20, 30, 1000}, {40, 50, 60}}) {
      auto as = randomNumbers(p.m * p.k, 1), bs = randomNumbers(p.k * p.n, 2),
           biases = randomNumbers(p.n, 3);
      Tensor a = upload(device, as, {p.m, p.k}), b = upload(device, bs, {p.k, p.n}),
             bias = upload(device, biases, {p.n});
      Tensor c = empty(device, {p.m, p.n});
      choices.push_back(gemm(a, b, bias, c, p));
      std::vector<double> wanted;
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          double sum = biases[j];
          for (int64_t l = 0; l < p.k; ++l)
            sum += double(as[i * p.k + l]) * bs[l * p.n + j];
          wanted.push_back(std::max(sum, 0.0));
        }
      std::string name = std::to_string(p.m) + " x " + std::to_string(p.n) + " x " +
                         std::to_string(p.k) + " by " + choices.back();
      good &= equal(name.c_str(), download(c), wanted, 3 * double(p.k) * 1.2e-7 + 1e-6);
    }
    return good && choices[0] == "tiles of 16 x 128" && choices[2] == "8 slices of K";
  });
}
