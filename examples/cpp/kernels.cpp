// Vector add, softmax and matmul from C++, each compared with a plain loop.
//
//   kernels KERNEL_FOLDER [DEVICE]
#include "tensors.h"

#include <nereid/engine.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace nereid;

namespace {

bool report(const char *name, const std::vector<float> &found, const std::vector<double> &expected,
            double tolerance) {
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    double error = std::abs(found[i] - expected[i]);
    worst = error <= worst ? worst : error; // a NaN stays
  }
  bool good = found.size() == expected.size() && worst <= tolerance;
  std::printf("%-12s %s, greatest error %.3g of %.3g\n", name, good ? "equal" : "DIFFERENT", worst,
              tolerance);
  return good;
}

bool vectorAdd(const Engine &engine, const Device &device, const std::string &kernels) {
  const int64_t n = 100003;
  auto x = randomNumbers(n, 1), y = randomNumbers(n, 2);
  Tensor xs = upload(device, x, {n}), ys = upload(device, y, {n});
  Tensor out = must(Tensor::empty(device, DType::Float32, {n}));

  Kernel add = must(must(engine.load(kernels + "/vector_add/kernel.py")).kernel("add"));
  add(device.stream(), {blocks(n, 1024)}, xs, ys, out, n, named("BLOCK", 1024));

  std::vector<double> expected(n);
  for (int64_t i = 0; i < n; ++i)
    expected[i] = x[i] + y[i];
  return report("vector add", download(out), expected, 0);
}

bool softmax(const Engine &engine, const Device &device, const std::string &kernels) {
  const int64_t rows = 333, columns = 781;
  auto x = randomNumbers(rows * columns, 3);
  Tensor xs = upload(device, x, {rows, columns});
  Tensor out = must(Tensor::empty(device, DType::Float32, {rows, columns}));

  Kernel row = must(must(engine.load(kernels + "/softmax/kernel.py")).kernel("softmax_row"));
  row(device.stream(), {uint32_t(rows)}, xs, out, xs.strides()[0], out.strides()[0], columns,
      named("BLOCK", 1024));

  std::vector<double> expected(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    const float *from = &x[size_t(r * columns)];
    double peak = *std::max_element(from, from + columns), sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += expected[size_t(r * columns + c)] = std::exp(from[c] - peak);
    for (int64_t c = 0; c < columns; ++c)
      expected[size_t(r * columns + c)] /= sum;
  }
  return report("softmax", download(out), expected, 1e-6);
}

bool matmul(const Engine &engine, const Device &device) {
  // The kernel may just as well be text of the program.
  const char *text = R"(
import triton
import triton.language as tl

@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        y = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        sums = tl.dot(x, y, sums, input_precision="ieee")
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=(rows[:, None] < M) & (columns[None, :] < N))
)";
  const int64_t m = 130, n = 75, k = 99;
  auto a = randomNumbers(m * k, 4), b = randomNumbers(k * n, 5);
  Tensor as = upload(device, a, {m, k}), bs = upload(device, b, {k, n});
  Tensor out = must(Tensor::empty(device, DType::Float32, {m, n}));

  Kernel kernel = must(must(engine.loadText(text, "matmul.py")).kernel("matmul"));
  kernel(device.stream(), {blocks(m, 32), blocks(n, 32)}, as, bs, out, m, n, k, named("BM", 32),
         named("BN", 32), named("BK", 32));

  std::vector<double> expected(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        expected[i * n + j] += double(a[i * k + l]) * b[l * n + j];
  return report("matmul", download(out), expected, 1e-4);
}

} // namespace

int main(int argc, char **argv) try {
  std::string kernels = argc > 1 ? argv[1] : "kernels";
  Device device = must(Device::open(argc > 2 ? argv[2] : "cpu"));
  std::printf("%s: %s\n", device.name().c_str(), device.description().c_str());
  Engine engine = must(Engine::create());
  bool good = vectorAdd(engine, device, kernels);
  good &= softmax(engine, device, kernels);
  good &= matmul(engine, device);

  // A refused call is a value until somebody asks for an exception.
  Kernel add = must(must(engine.load(kernels + "/vector_add/kernel.py")).kernel("add"));
  Status refused = add.launch(device.stream(), {1}, {1, 2, 3, 4, named("BLOK", 1024)});
  std::printf("refused: %s\n", refused ? "no" : refused.error().what.c_str());
  good &= !refused;
  return good ? 0 : 1;
} catch (const Exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
