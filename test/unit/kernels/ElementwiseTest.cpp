#include "Harness.h"

namespace nereid::kernels::test {
namespace {

double geluOf(double x, bool exact) {
  return exact ? 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)))
               : 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

double gateOf(double x, Activation activation) {
  switch (activation) {
  case Activation::Relu:
    return std::max(x, 0.0);
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  case Activation::Gelu:
    return geluOf(x, false);
  case Activation::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::None:
    break;
  }
  return x;
}

// The slope by central differences: off by the third derivative times step^2 / 6.
template <typename Function> double slopeOf(Function &&f, double x) {
  const double step = 1e-5;
  return (f(x + step) - f(x - step)) / (2 * step);
}

TEST(Elementwise, Add) {
  for (int64_t n : {0, 1, 1000, 5001}) {
    Array x = Array::random(DType::Float32, {n}, 1), y = Array::random(DType::Float32, {n}, 2),
          out = Array::make(DType::Float32, {n});
    setup().run(Add{.x = x, .y = y, .out = out});
    expectNear(out, [&](int64_t i) { return x[i] + y[i]; }, 1e-7, 0);
  }
  // In place, of integers, and of more dimensions.
  Array x = Array::of(DType::Int32, {2, 3}, {1, 2, 3, 4, 5, 6});
  setup().library.add(setup().stream, {.x = x, .y = x, .out = x});
  expectNear(x, [](int64_t i) { return 2.0 * double(i + 1); }, 0, 0);
}

TEST(Elementwise, Gelu) {
  for (DType type : floatTypes)
    for (bool exact : {false, true}) {
      Array x = Array::random(type, {3, 100}, 3, 2), y = Array::make(type, {3, 100});
      setup().run(Gelu{.x = x, .y = y, .exact = exact});
      expectNear(y, [&](int64_t i) { return geluOf(x[i], exact); }, unitOf(type), 4e-6);

      Array dy = Array::random(type, {3, 100}, 4), dx = Array::make(type, {3, 100});
      setup().run(GeluBackward{.x = x, .dy = dy, .dx = dx, .exact = exact});
      auto slope = [&](double at) {
        return slopeOf([&](double one) { return geluOf(one, exact); }, at);
      };
      expectNear(dx, [&](int64_t i) { return dy[i] * slope(x[i]); }, unitOf(type), 2e-5);
    }
}

TEST(Elementwise, GatedUnits) {
  for (Activation activation :
       {Activation::Silu, Activation::Gelu, Activation::Sigmoid, Activation::Relu}) {
    // The halves of the rows of one matrix.
    Array both = Array::random(DType::Float32, {5, 2 * 70}, 5),
          y = Array::make(DType::Float32, {5, 70});
    Tensor gate = both.view({5, 70}, {140, 1}), up = both.view({5, 70}, {140, 1}, 70);
    auto gateAt = [&](int64_t i) { return both[i / 70 * 140 + i % 70]; };
    auto upAt = [&](int64_t i) { return both[i / 70 * 140 + 70 + i % 70]; };
    setup().run(Glu{.gate = gate, .up = up, .y = y, .activation = activation});
    expectNear(y, [&](int64_t i) { return gateOf(gateAt(i), activation) * upAt(i); }, 1e-6, 4e-6);

    Array dy = Array::random(DType::Float32, {5, 70}, 6),
          dgate = Array::make(DType::Float32, {5, 70}), dup = Array::make(DType::Float32, {5, 70});
    setup().run(GluBackward{
        .gate = gate, .up = up, .dy = dy, .dgate = dgate, .dup = dup, .activation = activation});
    expectNear(dup, [&](int64_t i) { return dy[i] * gateOf(gateAt(i), activation); }, 1e-6, 4e-6);
    auto slope = [&](double at) {
      return slopeOf([&](double one) { return gateOf(one, activation); }, at);
    };
    expectNear(dgate, [&](int64_t i) { return dy[i] * upAt(i) * slope(gateAt(i)); }, 1e-6, 2e-5);
  }
}

TEST(Elementwise, Rope) {
  const int64_t B = 2, S = 5, H = 3, D = 16, P = 9;
  for (bool interleaved : {false, true})
    for (int64_t pairs : {8, 4})
      for (bool gathered : {false, true}) {
        // Heads lie before tokens, so that every stride but the last is another.
        Array x = Array::random(DType::Float32, {B, H, S, D}, 7),
              y = Array::make(DType::Float32, {B, S, H, D}),
              cos = Array::random(DType::Float32, {P, pairs}, 8),
              sin = Array::random(DType::Float32, {P, pairs}, 9),
              positions = Array::make(DType::Int32, {B, S});
        for (int64_t i = 0; i < B * S; ++i)
          positions.set(i, double((i * 4 + 1) % P));
        Rope call{.x = x.view({B, S, H, D}, {H * S * D, D, S * D, 1}),
                  .y = y,
                  .cos = cos,
                  .sin = sin,
                  .positions = gathered ? positions.tensor : Tensor(),
                  .interleaved = interleaved};
        setup().run(call);
        auto wanted = [&](int64_t i) {
          int64_t d = i % D, h = i / D % H, s = i / D / H % S, b = i / D / H / S;
          auto at = [&](int64_t column) { return x[((b * H + h) * S + s) * D + column]; };
          if (d >= 2 * pairs)
            return at(d);
          int64_t position = gathered ? int64_t(positions[b * S + s]) : s;
          int64_t pair = interleaved ? d / 2 : d % pairs;
          bool second = interleaved ? d % 2 : d >= pairs;
          double c = cos[position * pairs + pair], n = sin[position * pairs + pair];
          double low = at(interleaved ? 2 * pair : pair),
                 high = at(interleaved ? 2 * pair + 1 : pair + pairs);
          return second ? high * c + low * n : low * c - high * n;
        };
        expectNear(y, wanted, 1e-6, 1e-6);
      }
}

TEST(Elementwise, RopeTurnsBack) {
  const int64_t S = 7, D = 8;
  Array x = Array::random(DType::Float32, {1, S, 2, D}, 1),
        y = Array::make(DType::Float32, {1, S, 2, D}),
        back = Array::make(DType::Float32, {1, S, 2, D}),
        cos = Array::make(DType::Float32, {S, D / 2}),
        sin = Array::make(DType::Float32, {S, D / 2});
  for (int64_t i = 0; i < S * D / 2; ++i) {
    cos.set(i, std::cos(0.3 * double(i)));
    sin.set(i, std::sin(0.3 * double(i)));
  }
  setup().run(Rope{.x = x, .y = y, .cos = cos, .sin = sin});
  setup().run(Rope{.x = y, .y = back, .cos = cos, .sin = sin, .backward = true});
  expectNear(back, [&](int64_t i) { return x[i]; }, 0, 1e-5);
}

TEST(Elementwise, Dropout) {
  const int64_t n = 20000;
  Array x = Array::random(DType::Float32, {n}, 1), y = Array::make(DType::Float32, {n}),
        again = Array::make(DType::Float32, {n});
  setup().run(Dropout{.x = x, .y = y, .p = 0.25f, .seed = 11});
  int64_t dropped = 0;
  for (int64_t i = 0; i < n; ++i) {
    dropped += y[i] == 0;
    if (y[i] != 0)
      ASSERT_NEAR(y[i], x[i] / 0.75, 1e-6);
  }
  EXPECT_NEAR(double(dropped) / double(n), 0.25, 0.02); // six deviations of 0.003
  setup().run(Dropout{.x = x, .y = again, .p = 0.25f, .seed = 11});
  expectNear(again, [&](int64_t i) { return y[i]; }, 0, 0);
  // Another seed, of the same code.
  uint64_t compiled = setup().engine.statistics().compiled;
  setup().run(Dropout{.x = x, .y = again, .p = 0.25f, .seed = 16});
  setup().run(Dropout{.x = x, .y = again, .p = 0.25f, .seed = 1});
  EXPECT_EQ(setup().engine.statistics().compiled, compiled);
  int64_t same = 0;
  for (int64_t i = 0; i < n; ++i)
    same += (y[i] == 0) == (again[i] == 0);
  EXPECT_LT(same, n * 3 / 4);
}

} // namespace
} // namespace nereid::kernels::test
