// The functions that the CPU computes with its own code, against the C library in double.
#include "CpuHarness.h"

#include <cmath>
#include <functional>

using namespace nereid;
using namespace nereid::test;

namespace {

struct Function {
  const char *op;
  double (*exact)(double);
  double low, high;
  double ulps; // greatest error seen, rounded up
};

// Units in the last place of the exact result, as a float.
double ulpsOff(float got, double want) {
  if (std::isnan(want))
    return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(float(want)))
    return got == float(want) ? 0 : INFINITY;
  double unit = std::ldexp(1.0, std::max(std::ilogb(want == 0 ? 1e-45 : want), -126) - 23);
  return std::abs(got - want) / unit;
}

TEST(CpuMath, ErrorsAreSmall) {
  const Function functions[] = {
      {"math.exp", std::exp, -105, 90, 1.8},
      {"math.exp2", std::exp2, -151, 129, 1.8},
      {"math.log", std::log, 1e-42, 1e38, 1.5},
      {"math.log2", std::log2, 1e-42, 1e38, 1.5},
      {"math.tanh", std::tanh, -12, 12, 1.5},
      {"math.erf", std::erf, -5, 5, 2},
      {"math.expm1", std::expm1, -20, 88.9, 2},
      {"math.log1p", std::log1p, -0.999, 1e6, 1},
      {"math.sin", std::sin, -100, 100, 1.6},
      {"math.sin", std::sin, 1e-30, 1e38, 1},
      {"math.cos", std::cos, -100, 100, 1.6},
      {"math.cos", std::cos, -1e10, 1e10, 1.6},
      {"math.sqrt", std::sqrt, 0, 1e30, 0.5},
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, 1.5},
  };
  constexpr int count = 1 << 16;
  for (const Function &function : functions) {
    auto kernel = compileForCpu(std::string(R"(
func.func @f(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %b = arith.constant 1024 : i32
  %s = arith.muli %pid, %b : i32
  %ss = tile.splat %s : i32 -> tensor<1024xi32>
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %o = arith.addi %ss, %r : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %f = )") + function.op + R"( %v : tensor<1024xf32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %yp, %f : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
})");
    ASSERT_TRUE(kernel.kernel) << kernel.failure;
    std::vector<float> x(count), y(count);
    for (int i = 0; i < count; ++i) {
      double t = double(i) / (count - 1);
      // Half of the points evenly, half of them by magnitude.
      if (i % 2 && function.low > 0)
        x[i] = float(function.low * std::pow(function.high / function.low, t));
      else if (i % 2)
        x[i] =
            float(function.high * std::pow(1e-12, t)) * (i % 4 == 1 && function.low < -1 ? -1 : 1);
      else
        x[i] = float(function.low + (function.high - function.low) * t);
      x[i] = std::clamp(x[i], float(function.low), float(function.high));
    }
    x[0] = NAN;
    x[2] = 0;
    x[4] = -0.f;
    x[6] = INFINITY;
    x[8] = -INFINITY;
    kernel.run(Arguments().add(x.data()).add(y.data()), {count / 1024, 1, 1});
    double worst = 0;
    float where = 0;
    for (int i = 0; i < count; ++i)
      if (double off = ulpsOff(y[i], function.exact(x[i])); off > worst) {
        worst = off;
        where = x[i];
      }
    EXPECT_LE(worst, function.ulps) << function.op << " at " << where;
    RecordProperty(function.op, std::to_string(worst));
    printf("%s: %.2f ulp at %g\n", function.op, worst, where);
  }
}

// What stands between the passes along a row: a sum divided by a count that all programs have, and
// one divided by a root.
TEST(CpuMath, ScalarsBetweenPasses) {
  constexpr const char *source = R"(
func.func @f(%x: !tile.ptr<f32>, %q: !tile.ptr<f32>, %r: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %xp = tile.addptr %x, %pid : !tile.ptr<f32>, i32
  %qp = tile.addptr %q, %pid : !tile.ptr<f32>, i32
  %rp = tile.addptr %r, %pid : !tile.ptr<f32>, i32
  %v = tile.load %xp : !tile.ptr<f32> -> f32
  %count = arith.sitofp %n : i32 to f32
  %mean = arith.divf %v, %count : f32
  %one = arith.constant 1.0 : f32
  %root = math.sqrt %v : f32
  %rstd = arith.divf %one, %root : f32
  tile.store %qp, %mean : !tile.ptr<f32>, f32
  tile.store %rp, %rstd : !tile.ptr<f32>, f32
  return
}
)";
  std::vector<float> x = {0,      -0.f,         INFINITY, -INFINITY, NAN, 1e-45f,
                          1e-40f, 1.17549e-38f, 3.4e38f,  -1e-42f,   -2,  1};
  for (int i = 0; i < 4000; ++i)
    x.push_back(float(std::pow(10.0, -44 + 82.0 * i / 4000) * (1 + i % 7)) * (i % 5 ? 1.f : -1.f));
  for (const char *level : {"native", "x86-64"})
    for (int32_t n : {0, 1, 3, 7, 781, 4096, -5, 2147483647}) {
      pipeline::CpuOptions options;
      options.features = *target::cpuLevel(level);
      auto kernel = compileForCpu(source, options);
      ASSERT_TRUE(kernel.kernel) << kernel.failure;
      std::vector<float> q(x.size()), r(x.size());
      kernel.run(Arguments().add(x.data()).add(q.data()).add(r.data()).add(n),
                 {uint32_t(x.size()), 1, 1});
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_LE(ulpsOff(q[i], double(x[i]) / float(n)), 1.5) << x[i] << " / " << n;
        EXPECT_LE(ulpsOff(r[i], 1 / std::sqrt(double(x[i]))), 2) << "1 / sqrt of " << x[i];
      }
    }
}

} // namespace
