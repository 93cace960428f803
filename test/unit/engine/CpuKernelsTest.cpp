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

// A mask that is off in the same lanes always, and in all of them sometimes.
TEST(CpuKernels, MasksThatAreHalfConstant) {
  const char *source = R"(
func.func @k(%p: !tile.ptr<i32>, %q: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %i = tile.arange 0 to 64 : tensor<64xi32>
  %zero = arith.constant 0 : i32
  %some = arith.cmpi sgt, %n, %zero : i32
  %all = tile.splat %some : i1 -> tensor<64xi1>
  %five = arith.constant dense<FIRST> : tensor<64xi32>
  %in = arith.cmpi COMPARE, %i, %five : tensor<64xi32>
  %mask = arith.andi %all, %in : tensor<64xi1>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %from = tile.addptr %ps, %i : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %v = tile.load %from mask %mask : tensor<64xi1> : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  %more = arith.addi %v, %i : tensor<64xi32>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %to = tile.addptr %qs, %i : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  tile.store %to, %more : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %q2 = tile.addptr %to, %sixtyfour : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  tile.store %q2, %more mask %mask : tensor<64xi1> : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  return
}
)";
  for (const char *level : {"x86-64", "x86-64-v3", "native"})
    for (int first : {0, 3, 5, 8, 17, 60})
      for (bool below : {true, false}) {
        auto features = target::cpuLevel(level);
        ASSERT_TRUE(features);
        if (!target::hostCpuFeatures().covers(*features))
          continue;
        std::string text = source;
        auto set = [&](const std::string &name, const std::string &value) {
          text.replace(text.find(name), name.size(), value);
        };
        set("FIRST", std::to_string(first));
        set("COMPARE", below ? "slt" : "sge");
        set("  %all =", "  %sixtyfour = arith.constant dense<64> : tensor<64xi32>\n  %all =");
        auto kernel = compileForCpu(text, {*features});
        ASSERT_TRUE(kernel.kernel) << kernel.failure;
        for (int n : {0, 1}) {
          std::vector<int32_t> x(64, 1000), out(128, -1);
          kernel.run(Arguments().add(x.data()).add(out.data()).add(int32_t(n)), {1, 1, 1});
          for (int i = 0; i < 64; ++i) {
            bool on = n && (below ? i < first : i >= first);
            ASSERT_EQ(out[i], i + (on ? 1000 : 0)) << level << " " << first << " " << n;
            ASSERT_EQ(out[64 + i], on ? i + 1000 : -1) << level << " " << first << " " << n;
          }
        }
      }
}

// A row is cut at a mask that counts in a tile which the same loop stores, for the reads at places
// of their own behind it. The arena holds anything before.
TEST(CpuKernels, MasksOfWhatTheRowStores) {
  auto kernel = compileForCpu(R"(
func.func @k(%p: !tile.ptr<i32>, %q: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %lane = tile.arange 0 to 1024 : tensor<1024xi32>
  %range = tile.arange 7 to 1031 : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %in = arith.cmpi slt, %range, %ns : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<1024x!tile.ptr<i32>>
  %from = tile.addptr %ps, %lane : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  %zero = arith.constant dense<0> : tensor<1024xi32>
  %x = tile.load %from mask %in : tensor<1024xi1> other %zero : tensor<1024xi32> : tensor<1024x!tile.ptr<i32>> -> tensor<1024xi32>
  %y = arith.muli %x, %range : tensor<1024xi32>
  %sum = tile.reduce(%y) axis 0 : (tensor<1024xi32>) -> i32 {
  ^bb0(%l: i32, %r: i32):
    %c = arith.addi %l, %r : i32
    tile.yield %c : i32
  }
  %turned = tile.reshape %range : tensor<1024xi32> -> tensor<32x32xi32>
  %t = tile.trans %turned [1, 0] : tensor<32x32xi32> -> tensor<32x32xi32>
  %flat = tile.reshape %t : tensor<32x32xi32> -> tensor<1024xi32>
  %sums = tile.splat %sum : i32 -> tensor<1024xi32>
  %out = arith.addi %flat, %sums : tensor<1024xi32>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<1024x!tile.ptr<i32>>
  %to = tile.addptr %qs, %lane : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  tile.store %to, %out : tensor<1024x!tile.ptr<i32>>, tensor<1024xi32>
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  for (int n : {700, 7, 8, 63, 1031}) {
    std::vector<int32_t> x(1024), out(1024);
    int32_t sum = 0;
    for (int i = 0; i < 1024; ++i) {
      x[i] = i % 13;
      sum += i + 7 < n ? x[i] * (i + 7) : 0;
    }
    kernel.run(Arguments().add(x.data()).add(out.data()).add(int32_t(n)), {1, 1, 1});
    for (int i = 0; i < 1024; ++i)
      ASSERT_EQ(out[i], sum + i % 32 * 32 + i / 32 + 7) << n << " " << i;
  }
}

size_t codeBytes(std::string source, const std::string &block) {
  for (size_t at = 0; (at = source.find("1024", at)) != std::string::npos; at += block.size())
    source.replace(at, 4, block);
  auto kernel = compileForCpu(source);
  EXPECT_TRUE(kernel.kernel) << kernel.failure;
  if (!kernel.kernel)
    return 0;
  const auto &artifact = kernel.kernel->artifact();
  return artifact.blob(artifact.codes()[0].code).size();
}

TEST(CpuKernels, CodeDoesNotGrowWithTheBlock) {
  for (const char *source : {vectorAdd, softmax}) {
    size_t small = codeBytes(source, "256"), large = codeBytes(source, "16384");
    EXPECT_GT(small, 0u);
    EXPECT_LE(double(large), 1.2 * double(small));
    EXPECT_LE(double(small), 1.2 * double(large));
  }
}

// A launch that writes more than the cache holds goes past it, but for vectors that begin inside of
// a line and those that a mask cuts.
TEST(CpuKernels, LargeWritesGoPastTheCache) {
  int64_t n = int64_t(target::hostCacheBytes() / 16) + 12345;
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

// Long rows of a large launch leave while the next program computes: all of them, wherever they
// begin, and also where they take the place of what they are computed from.
TEST(CpuKernels, RowsThatLeaveDuringTheNextProgram) {
  std::string text = softmax;
  for (size_t at; (at = text.find("1024")) != std::string::npos;)
    text.replace(at, 4, "4096");
  const int rows = int(target::hostCacheBytes() / 4 / (4096 * sizeof(float))) + 3;
  if (rows < 4 || rows > 1 << 14)
    GTEST_SKIP() << "the cache is of unknown size, or too large for a test";
  for (const char *level : {"native", "x86-64-v3"}) {
    auto features = target::cpuLevel(level);
    if (!features || !target::hostCpuFeatures().covers(*features))
      continue;
    auto kernel = compileForCpu(text, {*features});
    ASSERT_TRUE(kernel.kernel) << kernel.failure;
    for (int n : {4096, 4000, 4001, 70})
      for (bool inPlace : {false, true}) {
        auto x = randomFloats(rows * n, 3);
        std::vector<float> memory(x.size() + 32, -1);
        auto address = reinterpret_cast<uintptr_t>(memory.data());
        float *y = reinterpret_cast<float *>((address + 63) / 64 * 64);
        if (inPlace)
          std::copy(x.begin(), x.end(), y);
        kernel.run(Arguments().add(inPlace ? y : x.data()).add(y).add(int32_t(n)),
                   {uint32_t(rows), 1, 1});
        for (int row = 0; row < rows; row += row + 31 < rows ? 31 : 1) {
          float most = *std::max_element(&x[row * n], &x[row * n] + n), sum = 0;
          for (int i = 0; i < n; ++i)
            sum += std::exp(x[row * n + i] - most);
          for (int i = 0; i < n; ++i) {
            float want = std::exp(x[row * n + i] - most) / sum;
            ASSERT_NEAR(y[row * n + i], want, 1e-4f * want) << n << " " << row << " " << i;
          }
        }
        ASSERT_EQ(y[x.size()], -1.f) << "written past the end";
      }
  }
}

// The next row comes to the first cache only of a processor whose first cache holds it beside the
// one that is worked on.
TEST(CpuKernels, RowsAheadGoWhereTheyFit) {
  for (const char *text : {"avx2,fma", "avx2,fma,avxvnni"}) {
    mlir::MLIRContext context(testRegistry(), mlir::MLIRContext::Threading::DISABLED);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(softmax, &context);
    ASSERT_TRUE(module);
    auto features = target::CpuFeatureSet::parse(text);
    ASSERT_TRUE(features);
    auto plan = pipeline::emitForCpu(*module, pipeline::CpuStage::Plan, {*features});
    ASSERT_TRUE(plan) << explain(plan.error());
    EXPECT_NE(plan->find("fetches 1 ahead"), plan->npos);
    EXPECT_EQ(plan->find("ahead into the second cache") == plan->npos, features->has("avxvnni"))
        << text;
  }
}

// Rows longer than the first cache holds beside the weights that all programs read: every second
// program stores from the end of its row on (`FusionPlan::alternates`).
TEST(CpuKernels, RowsStoredFromBothEnds) {
  auto kernel = compileForCpu(R"(
func.func @scaled(%x: !tile.ptr<f32>, %w: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %row = tile.program_id 0
  %start = arith.muli %row, %n : i32
  %xr = tile.addptr %x, %start : !tile.ptr<f32>, i32
  %yr = tile.addptr %y, %start : !tile.ptr<f32>, i32
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %ns = tile.splat %n : i32 -> tensor<4096xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<4096xi32>
  %none = arith.constant dense<0.0> : tensor<4096xf32>
  %xs = tile.splat %xr : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
  %v = tile.load %xp mask %mask : tensor<4096xi1> other %none : tensor<4096xf32> : tensor<4096x!tile.ptr<f32>> -> tensor<4096xf32>
  %first = tile.reduce(%v) axis 0 : (tensor<4096xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tile.yield %m : f32
  }
  %firsts = tile.splat %first : f32 -> tensor<4096xf32>
  %d = arith.subf %v, %firsts : tensor<4096xf32>
  %second = tile.reduce(%d) axis 0 : (tensor<4096xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %m = arith.minnumf %a, %b : f32
    tile.yield %m : f32
  }
  %seconds = tile.splat %second : f32 -> tensor<4096xf32>
  %ws = tile.splat %w : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
  %wp = tile.addptr %ws, %r : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
  %wv = tile.load %wp mask %mask : tensor<4096xi1> other %none : tensor<4096xf32> : tensor<4096x!tile.ptr<f32>> -> tensor<4096xf32>
  %e = arith.subf %d, %seconds : tensor<4096xf32>
  %q = arith.mulf %e, %wv : tensor<4096xf32>
  %ys = tile.splat %yr : !tile.ptr<f32> -> tensor<4096x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %r : tensor<4096x!tile.ptr<f32>>, tensor<4096xi32>
  tile.store %yp, %q mask %mask : tensor<4096xi1> : tensor<4096x!tile.ptr<f32>>, tensor<4096xf32>
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  const int many = int(target::hostCacheBytes() / 4 / (4096 * sizeof(float))) + 3;
  for (int rows : {2, many < 1 << 14 ? many : 5}) // with the second, the launch streams
    for (int n : {4096, 4001, 4000, 70, 1})
      for (bool inPlace : {false, true}) {
        auto x = randomFloats(rows * n, 3), w = randomFloats(4096, 5);
        std::vector<float> memory(x.size() + 32, -1);
        auto address = reinterpret_cast<uintptr_t>(memory.data());
        float *y = reinterpret_cast<float *>((address + 63) / 64 * 64);
        if (inPlace)
          std::copy(x.begin(), x.end(), y);
        kernel.run(Arguments().add(inPlace ? y : x.data()).add(w.data()).add(y).add(int32_t(n)),
                   {uint32_t(rows), 1, 1});
        for (int row = 0; row < rows; ++row) {
          // A masked lane counts, as 0.
          float most = n < 4096 ? 0 : -INFINITY, least = n < 4096 ? 0 : INFINITY;
          for (int i = 0; i < n; ++i) {
            most = std::max(most, x[row * n + i]);
            least = std::min(least, x[row * n + i]);
          }
          for (int i = 0; i < n; ++i)
            ASSERT_EQ(y[row * n + i], ((x[row * n + i] - most) - (least - most)) * w[i])
                << n << " " << row << " " << i;
        }
        ASSERT_EQ(y[x.size()], -1.f) << "written past the end";
      }
}

// The largest and the smallest number of a row, NaN passed over; NaN if there is no number.
TEST(CpuKernels, ExtremesPassNanOver) {
  auto kernel = compileForCpu(R"(
func.func @extremes(%p: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %c = tile.arange 0 to 1024 : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %in = arith.cmpi slt, %c, %ns : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %at = tile.addptr %ps, %c : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %none = arith.constant dense<0x7FC00000> : tensor<1024xf32>
  %x = tile.load %at mask %in : tensor<1024xi1> other %none : tensor<1024xf32> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %most = tile.reduce(%x) axis 0 : (tensor<1024xf32>) -> f32 {
  ^bb0(%l: f32, %r: f32):
    %s = arith.maxnumf %l, %r : f32
    tile.yield %s : f32
  }
  %least = tile.reduce(%x) axis 0 : (tensor<1024xf32>) -> f32 {
  ^bb0(%l: f32, %r: f32):
    %s = arith.minnumf %l, %r : f32
    tile.yield %s : f32
  }
  tile.store %out, %most : !tile.ptr<f32>, f32
  %one = arith.constant 1 : i32
  %second = tile.addptr %out, %one : !tile.ptr<f32>, i32
  tile.store %second, %least : !tile.ptr<f32>, f32
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (int n : {0, 1, 16, 63, 64, 65, 781, 1024})
    for (float filler : {NAN, -INFINITY, INFINITY, 0.0f})
      for (int numberAt : {-1, 0, 5, n / 2, n - 1}) {
        std::vector<float> x(1024, filler), out(2, 7);
        if (numberAt >= 0 && numberAt < n)
          x[numberAt] = 42;
        float most = NAN, least = NAN;
        for (int i = 0; i < n; ++i) {
          most = std::fmax(most, x[i]);
          least = std::fmin(least, x[i]);
        }
        kernel.run(Arguments().add(x.data()).add(out.data()).add(int32_t(n)), {1, 1, 1});
        EXPECT_TRUE(same(out[0], most)) << n << " " << filler << " " << numberAt << ": " << out[0];
        EXPECT_TRUE(same(out[1], least)) << n << " " << filler << " " << numberAt << ": " << out[1];
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

// Two arrays through two pointers: out += in, row by row, where the arrays may be one, be apart, or
// overlap by a row. What a program reads it reads before it writes.
TEST(CpuKernels, RowsThatMayOverlap) {
  constexpr int rows = 8, columns = 64, stride = 80;
  auto kernel = compileForCpu(R"(
func.func @shift(%p: !tile.ptr<i32>, %q: !tile.ptr<i32>, %stride: i32) attributes {tile.kernel} {
  %r = tile.arange 0 to 8 : tensor<8xi32>
  %rs = tile.splat %stride : i32 -> tensor<8xi32>
  %starts = arith.muli %r, %rs : tensor<8xi32>
  %down = tile.expand_dims %starts axis 1 : tensor<8xi32> -> tensor<8x1xi32>
  %downs = tile.broadcast %down : tensor<8x1xi32> -> tensor<8x64xi32>
  %c = tile.arange 0 to 64 : tensor<64xi32>
  %across = tile.expand_dims %c axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %acrosses = tile.broadcast %across : tensor<1x64xi32> -> tensor<8x64xi32>
  %at = arith.addi %downs, %acrosses : tensor<8x64xi32>
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<8x64x!tile.ptr<i32>>
  %from = tile.addptr %ps, %at : tensor<8x64x!tile.ptr<i32>>, tensor<8x64xi32>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<8x64x!tile.ptr<i32>>
  %to = tile.addptr %qs, %at : tensor<8x64x!tile.ptr<i32>>, tensor<8x64xi32>
  %v = tile.load %from : tensor<8x64x!tile.ptr<i32>> -> tensor<8x64xi32>
  %one = arith.constant dense<1000> : tensor<8x64xi32>
  %w = arith.addi %v, %one : tensor<8x64xi32>
  tile.store %to, %w : tensor<8x64x!tile.ptr<i32>>, tensor<8x64xi32>
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  // Rows apart, touching each other, and on top of each other.
  for (int step : {stride, columns, 16})
    for (int by : {0, 1, 16, step, columns, 3 * step, rows * stride, -1, -step, -64}) {
      std::vector<int32_t> memory(4096);
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = int32_t(i);
      std::vector<int32_t> want = memory;
      int32_t *from = memory.data() + 1024;
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c)
          want[1024 + by + r * step + c] = 1024 + r * step + c + 1000;
      kernel.run(Arguments().add(from).add(from + by).add(int32_t(step)), {1, 1, 1});
      EXPECT_EQ(memory, want) << "rows " << step << " apart, written " << by << " behind";
    }
}

// What lanes read at quotients lies between what the first and the last lane read: where the store
// overwrites none of that, nothing is kept first.
TEST(CpuKernels, QuotientsThatTheStoreMayOverwrite) {
  constexpr int lanes = 64;
  auto kernel = compileForCpu(R"(
func.func @channels(%x: !tile.ptr<i32>, %w: !tile.ptr<i32>, %y: !tile.ptr<i32>, %d: i32) attributes {tile.kernel} {
  %c = tile.arange 0 to 64 : tensor<64xi32>
  %ds = tile.splat %d : i32 -> tensor<64xi32>
  %q = tile.divsi %c, %ds : tensor<64xi32>
  %xs = tile.splat %x : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %ws = tile.splat %w : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %ys = tile.splat %y : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %ax = tile.addptr %xs, %c : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %aw = tile.addptr %ws, %q : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %ay = tile.addptr %ys, %c : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %vx = tile.load %ax : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  %vw = tile.load %aw : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  %sum = arith.addi %vx, %vw : tensor<64xi32>
  tile.store %ay, %sum : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  for (int divisor : {1, 3, 16, 100, -1, -5})
    for (int by : {-64, -63, -20, -1, 0, 1, 5, 20, 63, 64, 128}) {
      std::vector<int32_t> memory(512), x(lanes);
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = int32_t(i);
      for (int i = 0; i < lanes; ++i)
        x[size_t(i)] = 1000 * i;
      std::vector<int32_t> want = memory;
      for (int i = 0; i < lanes; ++i)
        want[size_t(256 + i)] = 1000 * i + 256 + by + i / divisor;
      kernel.run(Arguments()
                     .add(x.data())
                     .add(memory.data() + 256 + by)
                     .add(memory.data() + 256)
                     .add(int32_t(divisor)),
                 {1, 1, 1});
      EXPECT_EQ(memory, want) << "by " << divisor << ", read " << by << " behind";
    }
}

// A row at a time by a loop that carries two sums of rows and fetches ahead, with rows that end
// anywhere.
TEST(CpuKernels, LoopsThatCarryRows) {
  auto kernel = compileForCpu(R"(
func.func @sums(%p: !tile.ptr<f32>, %out: !tile.ptr<f32>, %rows: i32, %n: i32) attributes {tile.kernel} {
  %c = tile.arange 0 to 1024 : tensor<1024xi32>
  %ns = tile.splat %n : i32 -> tensor<1024xi32>
  %in = arith.cmpi slt, %c, %ns : tensor<1024xi32>
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum:2 = scf.for %i = %c0 to %rows step %c1 iter_args(%a = %zero, %b = %zero) -> (tensor<1024xf32>, tensor<1024xf32>) : i32 {
    %start = arith.muli %i, %n : i32
    %q = tile.addptr %p, %start : !tile.ptr<f32>, i32
    %qs = tile.splat %q : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
    %at = tile.addptr %qs, %c : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %x = tile.load %at mask %in : tensor<1024xi1> other %zero : tensor<1024xf32> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
    %m = tile.reduce(%x) axis 0 : (tensor<1024xf32>) -> f32 {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      tile.yield %s : f32
    }
    %ms = tile.splat %m : f32 -> tensor<1024xf32>
    %y = arith.mulf %x, %ms : tensor<1024xf32>
    tile.store %at, %y mask %in : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
    %d = arith.addf %a, %x : tensor<1024xf32>
    %e = arith.addf %b, %y : tensor<1024xf32>
    scf.yield %d, %e : tensor<1024xf32>, tensor<1024xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %o = tile.addptr %os, %c : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %o, %sum#0 mask %in : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  %o2 = tile.addptr %o, %ns : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %o2, %sum#1 mask %in : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  constexpr int rows = 5;
  for (int n : {1, 16, 100, 781, 1000, 1024}) {
    std::vector<float> x(rows * n), out(2 * n, -1), want(2 * n), after(rows * n);
    for (int i = 0; i < rows * n; ++i)
      x[i] = float(i % 7 - 3);
    for (int r = 0; r < rows; ++r) {
      float sum = 0;
      for (int c = 0; c < n; ++c)
        sum += x[r * n + c];
      for (int c = 0; c < n; ++c) {
        after[r * n + c] = x[r * n + c] * sum;
        want[c] += x[r * n + c];
        want[n + c] += after[r * n + c];
      }
    }
    kernel.run(Arguments().add(x.data()).add(out.data()).add(int32_t(rows)).add(int32_t(n)),
               {1, 1, 1});
    EXPECT_EQ(out, want) << n;
    EXPECT_EQ(x, after) << n;
  }
}

// A row is stored and another one carried, both computed from what is read; the store may be of the
// memory that is read, of other memory, or overlap it by some elements.
TEST(CpuKernels, StoresBesideWhatIsCarried) {
  auto kernel = compileForCpu(R"(
func.func @both(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %out: !tile.ptr<f32>, %rows: i32, %n: i32) attributes {tile.kernel} {
  %c = tile.arange 0 to 256 : tensor<256xi32>
  %ns = tile.splat %n : i32 -> tensor<256xi32>
  %in = arith.cmpi slt, %c, %ns : tensor<256xi32>
  %zero = arith.constant dense<0.0> : tensor<256xf32>
  %two = arith.constant dense<2.0> : tensor<256xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %rows step %c1 iter_args(%a = %zero) -> (tensor<256xf32>) : i32 {
    %start = arith.muli %i, %n : i32
    %starts = tile.splat %start : i32 -> tensor<256xi32>
    %offsets = arith.addi %starts, %c : tensor<256xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
    %from = tile.addptr %ps, %offsets : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
    %x = tile.load %from mask %in : tensor<256xi1> other %zero : tensor<256xf32> : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
    %qs = tile.splat %q : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
    %to = tile.addptr %qs, %offsets : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
    %twice = arith.mulf %x, %two : tensor<256xf32>
    %y = arith.addf %twice, %a : tensor<256xf32>
    tile.store %to, %y mask %in : tensor<256xi1> : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
    %b = arith.addf %a, %x : tensor<256xf32>
    scf.yield %b : tensor<256xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %o = tile.addptr %os, %c : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  tile.store %o, %sum mask %in : tensor<256xi1> : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}
)");
  ASSERT_TRUE(kernel.kernel) << kernel.failure;
  constexpr int rows = 4;
  for (int n : {1, 16, 100, 255, 256})
    for (int by : {0, 1, 16, n, 2 * n, 1024, -1, -16, -n}) {
      std::vector<float> memory(4096), out(n, -1), sum(n);
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = float(i % 13);
      std::vector<float> want = memory;
      float *from = want.data() + 1024;
      for (int r = 0; r < rows; ++r) {
        std::vector<float> x(from + r * n, from + (r + 1) * n);
        for (int c = 0; c < n; ++c) {
          from[by + r * n + c] = 2 * x[c] + sum[c];
          sum[c] += x[c];
        }
      }
      float *p = memory.data() + 1024;
      kernel.run(Arguments().add(p).add(p + by).add(out.data()).add(int32_t(rows)).add(int32_t(n)),
                 {1, 1, 1});
      EXPECT_EQ(memory, want) << n << " columns, written " << by << " behind";
      EXPECT_EQ(out, sum) << n << " columns, written " << by << " behind";
    }
}

} // namespace
