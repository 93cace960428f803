// Whole kernels in tile IR against plain loops.
#include "Harness.h"

#include "ref/Number.h"

namespace nereid::ref {
namespace {

TEST(Kernel, VectorAddWithARaggedEnd) {
  Kernel kernel(R"(
    func.func @add(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %z: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
      %pid = tile.program_id 0
      %block = arith.constant 64 : i32
      %start = arith.muli %pid, %block : i32
      %r = tile.arange 0 to 64 : tensor<64xi32>
      %s = tile.splat %start : i32 -> tensor<64xi32>
      %o = arith.addi %s, %r : tensor<64xi32>
      %ns = tile.splat %n : i32 -> tensor<64xi32>
      %m = arith.cmpi slt, %o, %ns : tensor<64xi32>
      %xp = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
      %yp = tile.splat %y : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
      %zp = tile.splat %z : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
      %xa = tile.addptr %xp, %o : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
      %ya = tile.addptr %yp, %o : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
      %za = tile.addptr %zp, %o : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
      %xv = tile.load %xa mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
      %yv = tile.load %ya mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
      %sum = arith.addf %xv, %yv : tensor<64xf32>
      tile.store %za, %sum mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
      return
    })");
  constexpr int n = 1000;
  std::vector<float> x(n), y(n), z(n);
  for (int i = 0; i < n; ++i) {
    x[i] = 0.1f * i;
    y[i] = 3.0f - i;
  }
  Statistics statistics = kernel.tensor("x", x).tensor("y", y).tensor("z", z).value(n).run(16);
  for (int i = 0; i < n; ++i)
    EXPECT_EQ(z[i], x[i] + y[i]) << i;
  EXPECT_EQ(statistics.programs, 16u);
  EXPECT_EQ(statistics.bytesLoaded, 2u * n * 4);
  EXPECT_EQ(statistics.bytesStored, 1u * n * 4);
}

constexpr const char *softmaxText = R"(
    func.func @softmax(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %stride: i32, %n: i32) attributes {tile.kernel} {
      %row = tile.program_id 0
      %r = tile.arange 0 to 1024 : tensor<1024xi32>
      %ns = tile.splat %n : i32 -> tensor<1024xi32>
      %m = arith.cmpi slt, %r, %ns : tensor<1024xi32>
      %start = arith.muli %row, %stride : i32
      %xr = tile.addptr %x, %start : !tile.ptr<f32>, i32
      %yr = tile.addptr %y, %start : !tile.ptr<f32>, i32
      %xp = tile.splat %xr : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %yp = tile.splat %yr : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
      %xa = tile.addptr %xp, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %ya = tile.addptr %yp, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
      %low = arith.constant dense<0xFF800000> : tensor<1024xf32>
      %v = tile.load %xa mask %m : tensor<1024xi1> other %low : tensor<1024xf32> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
      %max = tile.reduce (%v) axis 0 : (tensor<1024xf32>) -> f32 {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maxnumf %a, %b : f32
        tile.yield %c : f32
      }
      %maxs = tile.splat %max : f32 -> tensor<1024xf32>
      %d = arith.subf %v, %maxs : tensor<1024xf32>
      %e = math.exp %d : tensor<1024xf32>
      %sum = tile.reduce (%e) axis 0 : (tensor<1024xf32>) -> f32 {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      %sums = tile.splat %sum : f32 -> tensor<1024xf32>
      %q = arith.divf %e, %sums : tensor<1024xf32>
      tile.store %ya, %q mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
      return
    })";

TEST(Kernel, SoftmaxOfRows) {
  constexpr int rows = 37, n = 781;
  std::vector<float> x(rows * n), y(rows * n, -1);
  for (int i = 0; i < rows * n; ++i)
    x[i] = std::sin(i * 0.37f) * 8;
  Kernel kernel(softmaxText);
  kernel.tensor("x", x).tensor("y", y).value(n).value(n).run(rows);
  for (int r = 0; r < rows; ++r) {
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < n; ++i)
      max = std::max(max, double(x[r * n + i]));
    for (int i = 0; i < n; ++i)
      sum += std::exp(x[r * n + i] - max);
    for (int i = 0; i < n; ++i) {
      // x - max is up to 16 and rounded to f32, an absolute error of 2^-21 in the exponent at most.
      double exact = std::exp(x[r * n + i] - max) / sum;
      EXPECT_NEAR(y[r * n + i], exact, 4e-6 * exact) << r << "," << i;
    }
  }
}

// In f64 mode the same kernel is right to the last bits of f64, also between two launches.
TEST(Kernel, SoftmaxInF64) {
  constexpr int n = 781;
  std::vector<float> x(n), y(n);
  std::vector<double> wide(n);
  for (int i = 0; i < n; ++i)
    x[i] = std::sin(i * 0.37f) * 8;
  Kernel kernel(softmaxText, {.precision = Precision::Wide});
  kernel.tensor("x", x).tensor("y", y).value(n).value(n);
  kernel.launch.memory[1].wide = wide.data();
  kernel.run(1);
  double max = -INFINITY, sum = 0;
  for (int i = 0; i < n; ++i)
    max = std::max(max, double(x[i]));
  for (int i = 0; i < n; ++i)
    sum += std::exp(x[i] - max);
  for (int i = 0; i < n; ++i) {
    double exact = std::exp(x[i] - max) / sum;
    EXPECT_NEAR(wide[i], exact, 1e-14 * exact) << i;
    EXPECT_EQ(y[i], float(wide[i])) << i;
  }
}

TEST(Kernel, MatmulOfHalfPrecisionInALoop) {
  Kernel kernel(R"(
    func.func @matmul(%a: !tile.ptr<f16>, %b: !tile.ptr<f16>, %c: !tile.ptr<f32>, %k: i32) attributes {tile.kernel} {
      %zero = arith.constant 0 : i32
      %step = arith.constant 16 : i32
      %acc0 = arith.constant dense<0.0> : tensor<16x32xf32>
      %rm = tile.arange 0 to 16 : tensor<16xi32>
      %rn = tile.arange 0 to 32 : tensor<32xi32>
      %m1 = tile.expand_dims %rm axis 1 : tensor<16xi32> -> tensor<16x1xi32>
      %k1 = tile.expand_dims %rm axis 0 : tensor<16xi32> -> tensor<1x16xi32>
      %n1 = tile.expand_dims %rn axis 0 : tensor<32xi32> -> tensor<1x32xi32>
      %ks = tile.splat %k : i32 -> tensor<16x1xi32>
      %rows = arith.muli %m1, %ks : tensor<16x1xi32>
      %rowsb = tile.broadcast %rows : tensor<16x1xi32> -> tensor<16x16xi32>
      %colsb = tile.broadcast %k1 : tensor<1x16xi32> -> tensor<16x16xi32>
      %ao = arith.addi %rowsb, %colsb : tensor<16x16xi32>
      %width = arith.constant dense<32> : tensor<16x1xi32>
      %brows = arith.muli %m1, %width : tensor<16x1xi32>
      %browsb = tile.broadcast %brows : tensor<16x1xi32> -> tensor<16x32xi32>
      %bcolsb = tile.broadcast %n1 : tensor<1x32xi32> -> tensor<16x32xi32>
      %bo = arith.addi %browsb, %bcolsb : tensor<16x32xi32>
      %as = tile.splat %a : !tile.ptr<f16> -> tensor<16x16x!tile.ptr<f16>>
      %bs = tile.splat %b : !tile.ptr<f16> -> tensor<16x32x!tile.ptr<f16>>
      %ap0 = tile.addptr %as, %ao : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
      %bp0 = tile.addptr %bs, %bo : tensor<16x32x!tile.ptr<f16>>, tensor<16x32xi32>
      %astep = arith.constant dense<16> : tensor<16x16xi32>
      %bstep = arith.constant dense<512> : tensor<16x32xi32>
      %r:3 = scf.for %i = %zero to %k step %step iter_args(%acc = %acc0, %ap = %ap0, %bp = %bp0)
          -> (tensor<16x32xf32>, tensor<16x16x!tile.ptr<f16>>, tensor<16x32x!tile.ptr<f16>>) : i32 {
        %av = tile.load %ap : tensor<16x16x!tile.ptr<f16>> -> tensor<16x16xf16>
        %bv = tile.load %bp : tensor<16x32x!tile.ptr<f16>> -> tensor<16x32xf16>
        %d = tile.dot %av, %bv, %acc precision <tf32> : tensor<16x16xf16>, tensor<16x32xf16> -> tensor<16x32xf32>
        %an = tile.addptr %ap, %astep : tensor<16x16x!tile.ptr<f16>>, tensor<16x16xi32>
        %bn = tile.addptr %bp, %bstep : tensor<16x32x!tile.ptr<f16>>, tensor<16x32xi32>
        scf.yield %d, %an, %bn : tensor<16x32xf32>, tensor<16x16x!tile.ptr<f16>>, tensor<16x32x!tile.ptr<f16>>
      }
      %cs = tile.splat %c : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>>
      %cp = tile.addptr %cs, %bo : tensor<16x32x!tile.ptr<f32>>, tensor<16x32xi32>
      tile.store %cp, %r#0 : tensor<16x32x!tile.ptr<f32>>, tensor<16x32xf32>
      return
    })");
  constexpr int m = 16, n = 32, k = 64;
  std::vector<uint16_t> a(m * k), b(k * n);
  std::vector<float> c(m * n);
  for (int i = 0; i < m * k; ++i)
    a[i] = narrow<F16>(std::sin(i * 0.1f)).bits;
  for (int i = 0; i < k * n; ++i)
    b[i] = narrow<F16>(std::cos(i * 0.3f)).bits;
  kernel.tensor("a", a).tensor("b", b).tensor("c", c).value(k).run();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) {
        float product = widen(F16{a[i * k + l]}) * widen(F16{b[l * n + j]});
        sum = sum + product;
      }
      EXPECT_EQ(c[i * n + j], sum) << i << "," << j;
    }
}

// t = load(p + i); store(p + N - 1 - i, t) reverses: each memory op happens whole.
TEST(Kernel, ReversesInPlace) {
  Kernel kernel(R"(
    func.func @reverse(%p: !tile.ptr<i32>) attributes {tile.kernel} {
      %r = tile.arange 0 to 8 : tensor<8xi32>
      %last = arith.constant dense<7> : tensor<8xi32>
      %q = arith.subi %last, %r : tensor<8xi32>
      %ps = tile.splat %p : !tile.ptr<i32> -> tensor<8x!tile.ptr<i32>>
      %a = tile.addptr %ps, %r : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
      %b = tile.addptr %ps, %q : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
      %t = tile.load %a : tensor<8x!tile.ptr<i32>> -> tensor<8xi32>
      tile.store %b, %t : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
      return
    })");
  std::vector<int32_t> p{0, 1, 2, 3, 4, 5, 6, 7};
  kernel.tensor("p", p).run();
  EXPECT_EQ(p, (std::vector<int32_t>{7, 6, 5, 4, 3, 2, 1, 0}));
}

} // namespace
} // namespace nereid::ref
