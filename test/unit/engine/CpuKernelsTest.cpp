// The three kernels of the walking skeleton, from tile IR to results on this CPU.
#include "CpuHarness.h"
#include "Kernels.h"

#include "target/Cpu.h"

#include <cmath>
#include <random>

using namespace nereid;
using namespace nereid::test;

namespace {

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float &value : out)
    value = normal(generator);
  return out;
}

TEST(CpuKernels, VectorAdd) {
  auto kernel = compileForCpu(vectorAdd);
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  const auto &artifact = kernel.kernel->artifact();
  ASSERT_EQ(artifact.slots().size(), 4u);
  EXPECT_EQ(artifact.slots()[0].access, support::AccessRead);
  EXPECT_EQ(artifact.slots()[2].access, support::AccessWrite);
  EXPECT_EQ(artifact.kernel().gridRank, 1u);

  for (int n : {1, 15, 1024, 1025, 5000}) {
    auto x = randomFloats(n, 1), y = randomFloats(n, 2);
    std::vector<float> out(n + 16, -1);
    kernel.run(Arguments().add(x.data()).add(y.data()).add(out.data()).add(int32_t(n)),
               {uint32_t(n + 1023) / 1024, 1, 1});
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(out[i], x[i] + y[i]) << i;
    for (int i = n; i < n + 16; ++i)
      ASSERT_EQ(out[i], -1) << "written past the end";
  }
}

TEST(CpuKernels, EveryFeatureLevelAgrees) {
  for (const char *level : {"x86-64", "x86-64-v3", "native"}) {
    auto features = target::cpuLevel(level);
    ASSERT_TRUE(features);
    if (!target::hostCpuFeatures().covers(*features))
      continue;
    auto kernel = compileForCpu(vectorAdd, {*features});
    ASSERT_TRUE(kernel.kernel) << kernel.failure;
    auto x = randomFloats(1500, 1), y = randomFloats(1500, 2);
    std::vector<float> out(1500);
    kernel.run(Arguments().add(x.data()).add(y.data()).add(out.data()).add(int32_t(1500)),
               {2, 1, 1});
    for (int i = 0; i < 1500; ++i)
      ASSERT_EQ(out[i], x[i] + y[i]) << level << " " << i;
  }
}

// A launch that writes more than the cache holds goes past it, but for vectors that begin inside of
// a line and those that a mask cuts.
TEST(CpuKernels, LargeWritesGoPastTheCache) {
  int64_t n = int64_t(target::hostCacheBytes() / 4) + 12345;
  if (n < 20000 || n > int64_t(1) << 26)
    GTEST_SKIP() << "the cache is of unknown size, or too large for a test";
  auto kernel = compileForCpu(vectorAdd);
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  std::vector<float> x(n), y(n), memory(n + 64);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = float(i % 1000);
    y[i] = float(i % 777);
  }
  for (unsigned shift : {0u, 4u}) { // of the 16 bytes that are promised
    std::fill(memory.begin(), memory.end(), -1.f);
    auto address = reinterpret_cast<uintptr_t>(memory.data());
    float *out = reinterpret_cast<float *>((address + 63) / 64 * 64) + shift;
    kernel.run(Arguments().add(x.data()).add(y.data()).add(out).add(int32_t(n)),
               {uint32_t((n + 1023) / 1024), 1, 1});
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(out[i], x[i] + y[i]) << i;
    for (int64_t i = n; i < n + 16; ++i)
      ASSERT_EQ(out[i], -1.f) << "written past the end";
  }
}

TEST(CpuKernels, Softmax) {
  auto kernel = compileForCpu(softmax);
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  constexpr int rows = 7, n = 781;
  auto x = randomFloats(rows * n, 3);
  std::vector<float> y(rows * n, -1);
  kernel.run(Arguments().add(x.data()).add(y.data()).add(int32_t(n)), {rows, 1, 1});
  for (int row = 0; row < rows; ++row) {
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < n; ++i)
      max = std::max<double>(max, x[row * n + i]);
    for (int i = 0; i < n; ++i)
      sum += std::exp(x[row * n + i] - max);
    for (int i = 0; i < n; ++i) {
      double want = std::exp(x[row * n + i] - max) / sum;
      ASSERT_NEAR(y[row * n + i], want, 1e-6 * want) << row << " " << i;
    }
  }
}

TEST(CpuKernels, HalfMatmul) {
  auto kernel = compileForCpu(halfMatmul);
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  constexpr int M = 45, N = 70, K = 37;
  auto af = randomFloats(M * K, 4), bf = randomFloats(K * N, 5);
  std::vector<_Float16> a(af.begin(), af.end()), b(bf.begin(), bf.end()), c(M * N);
  kernel.run(Arguments().add(a.data()).add(b.data()).add(c.data()).add(M).add(N).add(K), {2, 2, 1});
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double want = 0;
      for (int k = 0; k < K; ++k)
        want += double(a[i * K + k]) * double(b[k * N + j]);
      ASSERT_NEAR(double(c[i * N + j]), want, 1e-3 * std::abs(want) + 1e-3) << i << " " << j;
    }
}

TEST(CpuKernels, ReductionsScansAndShapes) {
  auto kernel = compileForCpu(shapes);
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  constexpr int M = 64, N = 32;
  auto x = randomFloats(M * N, 6);
  std::vector<float> columns(N), rows(M), turned(M * N), scan(M * N), last(M);
  int32_t count = 0;
  float total = 0;
  kernel.run(Arguments()
                 .add(x.data())
                 .add(columns.data())
                 .add(rows.data())
                 .add(turned.data())
                 .add(scan.data())
                 .add(last.data())
                 .add(&count)
                 .add(&total),
             {1, 1, 1});
  int positive = 0;
  for (int j = 0; j < N; ++j) {
    double sum = 0;
    for (int i = 0; i < M; ++i)
      sum += x[i * N + j];
    EXPECT_NEAR(columns[j], sum, 1e-5);
  }
  for (int i = 0; i < M; ++i) {
    float max = -INFINITY;
    double sum = 0;
    for (int j = 0; j < N; ++j) {
      max = std::max(max, x[i * N + j]);
      sum += x[i * N + j];
      EXPECT_NEAR(scan[i * N + j], sum, 1e-5);
      EXPECT_EQ(turned[j * M + i], x[i * N + j]);
      positive += x[i * N + j] > 0;
    }
    EXPECT_EQ(rows[i], max);
    EXPECT_EQ(last[i], x[i * N + N - 1]) << "an ordered combine lost the order";
  }
  EXPECT_EQ(count, positive);
  EXPECT_EQ(total, x.back());
}

// load, then store backwards over the same memory: the whole tile is read first.
TEST(CpuKernels, ReversesInPlace) {
  auto kernel = compileForCpu(R"(
func.func @reverse(%p: !tile.ptr<i32>) attributes {tile.kernel} {
  %r = tile.arange 0 to 256 : tensor<256xi32>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>>
  %from = tile.addptr %ps, %r : tensor<256x!tile.ptr<i32>>, tensor<256xi32>
  %v = tile.load %from : tensor<256x!tile.ptr<i32>> -> tensor<256xi32>
  %last = arith.constant dense<255> : tensor<256xi32>
  %b = arith.subi %last, %r : tensor<256xi32>
  %to = tile.addptr %ps, %b : tensor<256x!tile.ptr<i32>>, tensor<256xi32>
  tile.store %to, %v : tensor<256x!tile.ptr<i32>>, tensor<256xi32>
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  std::vector<int32_t> data(256);
  for (int i = 0; i < 256; ++i)
    data[i] = i;
  kernel.run(Arguments().add(data.data()), {1, 1, 1});
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(data[i], 255 - i);
}

} // namespace
