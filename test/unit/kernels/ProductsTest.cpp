#include "Harness.h"

namespace nereid::kernels::test {
namespace {

// Element [i, j] of a b, both given by their elements.
template <typename A, typename B> double dot(int64_t depth, A &&a, B &&b) {
  double sum = 0;
  for (int64_t k = 0; k < depth; ++k)
    sum += a(k) * b(k);
  return sum;
}

struct ProductSize {
  int64_t m, n, k;
};

TEST(Products, Matmul) {
  for (DType type : floatTypes)
    for (auto [m, n, k] :
         {ProductSize{0, 4, 4}, {1, 1, 1}, {5, 7, 0}, {7, 70, 33}, {100, 72, 40}, {1, 130, 64}}) {
      Array a = Array::random(type, {m, k}, 1), b = Array::random(type, {k, n}, 2),
            c = Array::make(type, {m, n});
      setup().run(Matmul{.a = a, .b = b, .c = c});
      expectNear(
          c,
          [&](int64_t i) {
            return dot(
                k, [&](int64_t d) { return a[i / n * k + d]; },
                [&](int64_t d) { return b[d * n + i % n]; });
          },
          unitOf(type), 1e-5);
    }
}

TEST(Products, TransposedOperandsAndEpilogue) {
  const int64_t m = 33, n = 40, k = 48;
  Array a = Array::random(DType::Float32, {k, m}, 1), b = Array::random(DType::Float32, {n, k}, 2),
        bias = Array::random(DType::Float32, {n}, 3),
        residual = Array::random(DType::Float32, {m, n}, 4),
        c = Array::make(DType::Float32, {m, n});
  Tensor at = a.view({m, k}, {1, m}), bt = b.view({k, n}, {1, k});
  auto sum = [&](int64_t i) {
    return dot(
        k, [&](int64_t d) { return a[d * m + i / n]; },
        [&](int64_t d) { return b[i % n * k + d]; });
  };
  for (Activation activation :
       {Activation::None, Activation::Relu, Activation::Silu, Activation::Gelu}) {
    auto f = [&](double x) {
      return activation == Activation::Relu   ? std::max(x, 0.0)
             : activation == Activation::Silu ? x / (1 + std::exp(-x))
             : activation == Activation::Gelu
                 ? 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
                 : x;
    };
    setup().run(Matmul{.a = at,
                       .b = bt,
                       .c = c,
                       .bias = bias,
                       .residual = residual,
                       .alpha = 0.25f,
                       .activation = activation});
    expectNear(
        c, [&](int64_t i) { return f(0.25 * sum(i) + bias[i % n]) + residual[i]; }, 1e-6, 2e-5);
  }
  // The residual in the result's place.
  Array grown = Array::random(DType::Float32, {m, n}, 4);
  setup().library.matmul(setup().stream, {.a = at, .b = bt, .c = grown, .residual = grown});
  expectNear(grown, [&](int64_t i) { return sum(i) + residual[i]; }, 1e-6, 2e-5);
}

TEST(Products, OneRowAgainstATransposedMatrix) {
  for (int64_t m : {1, 3}) {
    const int64_t n = 70, k = 600;
    Array a = Array::random(DType::Float32, {m, k}, 1),
          b = Array::random(DType::Float32, {n, k}, 2),
          bias = Array::random(DType::Float32, {n}, 3), c = Array::make(DType::Float32, {m, n});
    Matmul call{.a = a, .b = b.view({k, n}, {1, k}), .c = c, .bias = bias};
    EXPECT_EQ(must(setup().library.choose(call)).kernel,
              m == 1 ? "matmul: row" : "matmul: grouped");
    setup().run(call);
    expectNear(
        c,
        [&](int64_t i) {
          return dot(
                     k, [&](int64_t d) { return a[i / n * k + d]; },
                     [&](int64_t d) { return b[i % n * k + d]; }) +
                 bias[i % n];
        },
        1e-6, 1e-4);
  }
}

TEST(Products, MatmulOfEightBits) {
  const int64_t m = 17, n = 24, k = 64;
  for (DType type : {DType::Float8E4NV, DType::Float8E5}) {
    Array a = Array::random(type, {m, k}, 1), b = Array::random(type, {k, n}, 2),
          c = Array::make(DType::Float16, {m, n});
    setup().run(Matmul{.a = a, .b = b, .c = c});
    auto wanted = [&](int64_t i) {
      return dot(
          k, [&](int64_t d) { return a[i / n * k + d]; },
          [&](int64_t d) { return b[d * n + i % n]; });
    };
    expectNear(c, wanted, unitOf(DType::Float16), 1e-4);
    Array scale = Array::of(DType::Float32, {1}, {0.5}), narrow = Array::make(type, {m, n});
    setup().run(Matmul{.a = a, .b = b, .c = narrow, .scale = scale});
    expectNear(narrow, [&](int64_t i) { return wanted(i) / 0.5; }, 1.1 * unitOf(type), 1e-2);
  }
}

TEST(Products, Batched) {
  const int64_t batches = 3, m = 20, n = 40, k = 33;
  for (DType type : floatTypes) {
    Array a = Array::random(type, {batches, m, k}, 1), b = Array::random(type, {k, n}, 2),
          c = Array::make(type, {batches, m, n});
    // One b for all.
    setup().run(MatmulBatched{.a = a, .b = b.view({batches, k, n}, {0, n, 1}), .c = c});
    expectNear(
        c,
        [&](int64_t i) {
          return dot(
              k, [&](int64_t d) { return a[i / n * k + d]; },
              [&](int64_t d) { return b[d * n + i % n]; });
        },
        unitOf(type), 1e-5);
  }
}

TEST(Products, Grouped) {
  const std::vector<double> offsets = {0, 70, 70, 71, 100};
  const int64_t groups = 4, rows = 100, n = 40, k = 24;
  Array a = Array::random(DType::Float32, {rows, k}, 1),
        b = Array::random(DType::Float32, {groups, k, n}, 2),
        c = Array::make(DType::Float32, {rows, n}),
        at = Array::of(DType::Int32, {groups + 1}, offsets);
  setup().run(MatmulGrouped{.a = a, .b = b, .c = c, .offsets = at});
  expectNear(
      c,
      [&](int64_t i) {
        int64_t group = 0, row = i / n;
        while (offsets[size_t(group + 1)] <= double(row))
          ++group;
        return dot(
            k, [&](int64_t d) { return a[i / n * k + d]; },
            [&](int64_t d) { return b[(group * k + d) * n + i % n]; });
      },
      1e-6, 1e-5);
}

TEST(Products, GroupedWeightGradient) {
  const std::vector<double> offsets = {0, 70, 70, 71, 100};
  const int64_t groups = 4, rows = 100, n = 40, k = 24;
  Array a = Array::random(DType::Float32, {rows, k}, 1),
        dc = Array::random(DType::Float32, {rows, n}, 2),
        db = Array::make(DType::Float32, {groups, k, n}),
        at = Array::of(DType::Int32, {groups + 1}, offsets);
  setup().run(MatmulGroupedWeightGradient{.a = a, .dc = dc, .offsets = at, .db = db});
  expectNear(
      db,
      [&](int64_t i) {
        int64_t group = i / n / k, first = int64_t(offsets[size_t(group)]);
        return dot(
            int64_t(offsets[size_t(group + 1)]) - first,
            [&](int64_t r) { return a[(first + r) * k + i / n % k]; },
            [&](int64_t r) { return dc[(first + r) * n + i % n]; });
      },
      1e-6, 2e-5);
}

TEST(Products, BlockScaled) {
  const int64_t m = 20, n = 150, k = 200;
  for (DType type : {DType::Int8, DType::Float8E4NV}) {
    Array a = Array::random(DType::Float32, {m, k}, 1),
          b = Array::random(DType::Float32, {n, k}, 2), aq = Array::make(type, {m, k}),
          bq = Array::make(type, {n, k}), aScale = Array::make(DType::Float32, {2, m}),
          bScale = Array::make(DType::Float32, {2, 2}), c = Array::make(DType::Float32, {m, n});
    setup().run(QuantizeBlocks{.x = a, .q = aq, .scale = aScale});
    setup().run(QuantizeBlocks{.x = b, .q = bq, .scale = bScale, .square = true});
    auto aAt = [&](int64_t row, int64_t d) { return aq[row * k + d] * aScale[d / 128 * m + row]; };
    auto bAt = [&](int64_t row, int64_t d) {
      return bq[row * k + d] * bScale[row / 128 * 2 + d / 128];
    };
    for (int64_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(aAt(i / k, i % k), a[i], type == DType::Int8 ? 0.02 : 0.2);
    setup().run(MatmulBlockScaled{.a = aq, .b = bq, .c = c, .aScale = aScale, .bScale = bScale});
    expectNear(
        c,
        [&](int64_t i) {
          return dot(
              k, [&](int64_t d) { return aAt(i / n, d); },
              [&](int64_t d) { return bAt(i % n, d); });
        },
        1e-5, 1e-4);
  }
}

TEST(Products, Scaled) {
  const int64_t m = 20, n = 33, k = 64;
  for (DType type : {DType::Int8, DType::Float8E4NV})
    for (bool perTensor : {false, true}) {
      Array a = Array::random(type, {m, k}, 1, type == DType::Int8 ? 40 : 1),
            b = Array::random(type, {n, k}, 2, type == DType::Int8 ? 40 : 1),
            aScale = Array::of(DType::Float32, {perTensor ? 1 : m},
                               std::vector<double>(size_t(m), 0.125)),
            bScale = Array::random(DType::Float32, {perTensor ? 1 : n}, 3),
            bias = Array::random(DType::Float32, {n}, 4), c = Array::make(DType::Float32, {m, n});
      setup().run(
          MatmulScaled{.a = a, .b = b, .c = c, .aScale = aScale, .bScale = bScale, .bias = bias});
      expectNear(
          c,
          [&](int64_t i) {
            return dot(
                       k, [&](int64_t d) { return a[i / n * k + d]; },
                       [&](int64_t d) { return b[i % n * k + d]; }) *
                       0.125 * bScale[perTensor ? 0 : i % n] +
                   bias[i % n];
          },
          1e-6, 1e-4);
    }
}

TEST(Products, Matvec) {
  for (auto [m, n, k] : {ProductSize{0, 1, 1}, {0, 130, 781}, {0, 20, 0}, {0, 0, 5}}) {
    Array w = Array::random(DType::Float32, {n, k}, 1), x = Array::random(DType::Float32, {k}, 2),
          bias = Array::random(DType::Float32, {n}, 3), y = Array::make(DType::Float32, {n});
    setup().run(Matvec{.w = w, .x = x, .y = y, .bias = bias});
    expectNear(
        y,
        [&](int64_t i) {
          return dot(
                     k, [&](int64_t d) { return w[i * k + d]; }, [&](int64_t d) { return x[d]; }) +
                 bias[i];
        },
        1e-6, 2e-5);
  }
  Array w = Array::random(DType::Int8, {9, 600}, 1, 50),
        x = Array::random(DType::Float16, {600}, 2), scale = Array::random(DType::Float32, {9}, 3),
        y = Array::make(DType::Float32, {9});
  setup().run(Matvec{.w = w, .x = x, .y = y, .scale = scale});
  expectNear(
      y,
      [&](int64_t i) {
        return scale[i] *
               dot(600, [&](int64_t d) { return w[i * 600 + d]; }, [&](int64_t d) { return x[d]; });
      },
      1e-5, 2e-3);
}

} // namespace
} // namespace nereid::kernels::test
