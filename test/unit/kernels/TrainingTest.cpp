// Loss scaling and scales of fp8, against the formulas.
#include "Harness.h"

#include <algorithm>
#include <limits>

namespace nereid::kernels::test {
namespace {

const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");

Array one(double number) { return Array::of(F32, {1}, {number}); }

TEST(Training, Unscale) {
  for (DType type : {DType::Float32, DType::Float16, DType::BFloat16}) {
    // More than a program takes.
    Array grad = Array::random(type, {50, 100}, 1, 100), out = Array::make(type, {50, 100}),
          overflow = one(0);
    setup().run(Unscale{.grad = grad, .scale = one(1024), .out = out, .overflow = overflow});
    expectNear(
        out, [&](int64_t i) { return grad[i] / 1024; }, 0, type == DType::Float16 ? 6e-8 : 0);
    EXPECT_EQ(overflow[0], 0);
    // In place, another tensor of the same step, whose flag stays.
    for (double bad : {inf, -inf, nan}) {
      Array broken = Array::random(type, {5000}, 2);
      broken.set(4321, bad);
      overflow.set(0, 0);
      setup().run(Unscale{.grad = broken, .scale = one(2), .out = broken, .overflow = overflow});
      EXPECT_EQ(overflow[0], 1) << bad;
      setup().run(Unscale{.grad = grad, .scale = one(2), .out = out, .overflow = overflow});
      EXPECT_EQ(overflow[0], 1) << bad;
    }
  }
}

TEST(Training, LossScale) {
  Array scale = one(1024), overflow = one(0), steps = Array::of(DType::Int32, {1}, {0});
  UpdateScale call{.scale = scale,
                   .steps = steps,
                   .overflow = overflow,
                   .growth = 2,
                   .backoff = 0.25f,
                   .interval = 3};
  const std::vector<bool> overflows = {false, false, false, false, true, false, false, false};
  double wanted = 1024;
  int since = 0;
  for (bool overflowed : overflows) {
    overflow.set(0, overflowed);
    setup().run(call);
    ++since;
    if (overflowed || since == 3) {
      wanted *= overflowed ? 0.25 : 2;
      since = 0;
    }
    EXPECT_EQ(scale[0], wanted);
    EXPECT_EQ(steps[0], since);
    EXPECT_EQ(overflow[0], 0);
  }
  // A scale that would overflow itself stays.
  scale.set(0, 3e38);
  const double before = scale[0];
  for (int i = 0; i < 3; ++i)
    setup().run(call);
  EXPECT_EQ(scale[0], before);
}

TEST(Training, DelayedScaling) {
  for (DType type : {DType::Float8E4NV, DType::Float8E5}) {
    const double largest = type == DType::Float8E4NV ? 448 : 57344;
    // Two tensors, histories of three steps, five steps; the tensors grow until they outgrow their
    // scale, and the first has an infinity once.
    Array history = Array::of(F32, {2, 3}, std::vector<double>(6)),
          amax = Array::of(F32, {2}, {0, 0}), scale = Array::of(F32, {2}, {1, 1}),
          inverse = Array::make(F32, {2});
    std::vector<std::vector<double>> seen(2);
    std::vector<double> scales = {1, 1};
    for (int step = 0; step < 5; ++step) {
      for (int64_t t = 0; t < 2; ++t) {
        Array x = Array::random(F32, {3, 3000}, unsigned(10 * t + step), std::ldexp(1, 4 * step)),
              q = Array::make(type, {3, 3000});
        if (t == 0 && step == 2)
          x.set(5000, inf);
        setup().run(CastFp8{
            .x = x, .scale = scale.view({1}, {1}, t), .q = q, .amax = amax.view({1}, {1}, t)});
        double peak = 0;
        for (int64_t i = 0; i < x.size(); ++i)
          peak = std::max(peak, std::abs(x[i]));
        EXPECT_EQ(amax[t], peak);
        seen[size_t(t)].insert(seen[size_t(t)].begin(), peak);
        seen[size_t(t)].resize(3);
        const double unit = type == DType::Float8E4NV ? 1.0 / 16 : 1.0 / 8;
        expectNear(
            q, [&](int64_t i) { return std::clamp(x[i] * scales[size_t(t)], -largest, largest); },
            unit, 1e-3);
      }
      setup().run(UpdateFp8Scales{.history = history,
                                  .amax = amax,
                                  .scale = scale,
                                  .inverse = inverse,
                                  .type = type,
                                  .margin = 1});
      for (size_t t = 0; t < 2; ++t) {
        const double peak = *std::max_element(seen[t].begin(), seen[t].end());
        if (peak < inf)
          scales[t] = largest / peak / 2;
        EXPECT_NEAR(scale[int64_t(t)], scales[t], 1e-6 * scales[t]) << step;
        EXPECT_NEAR(inverse[int64_t(t)] * scales[t], 1, 1e-6);
        EXPECT_EQ(amax[int64_t(t)], 0);
        for (size_t i = 0; i < 3; ++i)
          EXPECT_EQ(history[int64_t(3 * t + i)], seen[t][i]);
        scales[t] = scale[int64_t(t)];
      }
    }
  }
}

TEST(Training, LongHistories) {
  // One tensor a program, and the last program not full.
  for (int64_t length : {1, 100, 4096}) {
    const int64_t tensors = 37;
    Array history = Array::random(F32, {tensors, length}, 1), amax = Array::make(F32, {tensors}),
          scale = Array::make(F32, {tensors}), inverse = Array::make(F32, {tensors});
    std::vector<double> peaks(tensors);
    for (int64_t t = 0; t < tensors; ++t) {
      amax.set(t, double(t) / 8);
      peaks[size_t(t)] = amax[t];
      for (int64_t i = 0; i < length; ++i) {
        history.set(t * length + i, std::abs(history[t * length + i]));
        if (i + 1 < length)
          peaks[size_t(t)] = std::max(peaks[size_t(t)], history[t * length + i]);
      }
    }
    setup().run(
        UpdateFp8Scales{.history = history, .amax = amax, .scale = scale, .inverse = inverse});
    expectNear(
        scale, [&](int64_t t) { return peaks[size_t(t)] > 0 ? 448 / peaks[size_t(t)] : 77; }, 1e-6,
        0);
  }
}

} // namespace
} // namespace nereid::kernels::test
