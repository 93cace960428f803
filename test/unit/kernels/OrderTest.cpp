// Mixture of experts, sorting, running sums and counts.
#include "Harness.h"

#include <algorithm>
#include <numeric>

namespace nereid::kernels::test {
namespace {

TEST(Experts, RouteOrderPermuteCombine) {
  const int64_t tokens = 50, experts = 6, k = 2, width = 40;
  Array logits = Array::random(DType::Float32, {tokens, experts}, 1),
        weight = Array::make(DType::Float32, {tokens, k}),
        expert = Array::make(DType::Int32, {tokens, k}),
        row = Array::make(DType::Int32, {tokens, k}),
        source = Array::make(DType::Int32, {tokens * k}),
        offsets = Array::make(DType::Int32, {experts + 1});
  setup().run(MoeRoute{.logits = logits, .weight = weight, .expert = expert});
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<int64_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return logits[t * experts + a] > logits[t * experts + b];
    });
    double a = std::exp(logits[t * experts + order[0]]),
           b = std::exp(logits[t * experts + order[1]]);
    EXPECT_EQ(expert[t * k], double(order[0]));
    EXPECT_EQ(expert[t * k + 1], double(order[1]));
    EXPECT_NEAR(weight[t * k], a / (a + b), 1e-6);
  }
  setup().run(MoeOrder{.expert = expert, .row = row, .source = source, .offsets = offsets});
  std::vector<int64_t> assignments(tokens * k);
  std::iota(assignments.begin(), assignments.end(), 0);
  std::stable_sort(assignments.begin(), assignments.end(),
                   [&](int64_t a, int64_t b) { return expert[a] < expert[b]; });
  expectNear(source, [&](int64_t i) { return double(assignments[size_t(i)]); }, 0, 0);
  expectNear(
      row,
      [&](int64_t i) {
        return double(std::find(assignments.begin(), assignments.end(), i) - assignments.begin());
      },
      0, 0);
  expectNear(
      offsets,
      [&](int64_t e) {
        return double(std::count_if(assignments.begin(), assignments.end(),
                                    [&](int64_t a) { return expert[a] < double(e); }));
      },
      0, 0);

  Array x = Array::random(DType::Float32, {tokens, width}, 2),
        y = Array::make(DType::Float32, {tokens * k, width}),
        out = Array::make(DType::Float32, {tokens, width});
  setup().run(MoePermute{.x = x, .source = source, .y = y});
  expectNear(
      y, [&](int64_t i) { return x[assignments[size_t(i / width)] / k * width + i % width]; }, 0,
      0);
  setup().run(MoeCombine{.row = row, .y = y, .weight = weight, .out = out});
  expectNear(out, [&](int64_t i) { return x[i]; }, 1e-5, 1e-6); // weights add to 1

  Array dout = Array::random(DType::Float32, {tokens, width}, 3),
        dy = Array::make(DType::Float32, {tokens * k, width}),
        dweight = Array::make(DType::Float32, {tokens, k});
  setup().run(MoeCombineBackward{
      .weight = weight, .dout = dout, .y = y, .source = source, .dy = dy, .dweight = dweight});
  expectNear(
      dy,
      [&](int64_t i) {
        int64_t a = assignments[size_t(i / width)];
        return weight[a] * dout[a / k * width + i % width];
      },
      1e-6, 0);
  expectNear(
      dweight,
      [&](int64_t a) {
        double sum = 0;
        for (int64_t h = 0; h < width; ++h)
          sum += dout[a / k * width + h] * y[int64_t(row[a]) * width + h];
        return sum;
      },
      1e-5, 1e-5);
}

TEST(Experts, Layer) {
  const int64_t tokens = 20, experts = 4, k = 2, width = 24, inner = 40;
  Array x = Array::random(DType::Float32, {tokens, width}, 1),
        logits = Array::random(DType::Float32, {tokens, experts}, 2),
        gateUp = Array::random(DType::Float32, {experts, width, 2 * inner}, 3, 0.2),
        down = Array::random(DType::Float32, {experts, inner, width}, 4, 0.2),
        out = Array::make(DType::Float32, {tokens, width});
  MoeLayer call{.x = x, .logits = logits, .gateUp = gateUp, .down = down, .out = out, .k = k};
  EXPECT_GT(must(setup().library.workspaceBytes(call)), size_t(tokens * k * (inner + width) * 4));
  setup().run(call);
  std::vector<double> expected(size_t(tokens * width), 0.0);
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<int64_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return logits[t * experts + a] > logits[t * experts + b];
    });
    double total = 0;
    for (int64_t i = 0; i < k; ++i)
      total += std::exp(logits[t * experts + order[size_t(i)]]);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t e = order[size_t(i)];
      for (int64_t n = 0; n < inner; ++n) {
        double gate = 0, up = 0;
        for (int64_t h = 0; h < width; ++h) {
          gate += x[t * width + h] * gateUp[(e * width + h) * 2 * inner + n];
          up += x[t * width + h] * gateUp[(e * width + h) * 2 * inner + inner + n];
        }
        double hidden =
            gate / (1 + std::exp(-gate)) * up * std::exp(logits[t * experts + e]) / total;
        for (int64_t h = 0; h < width; ++h)
          expected[size_t(t * width + h)] += hidden * down[(e * inner + n) * width + h];
      }
    }
  }
  expectNear(out, [&](int64_t i) { return expected[size_t(i)]; }, 1e-5, 1e-5);
}

TEST(Order, SortAndTopK) {
  for (DType type : {DType::Float32, DType::Float16})
    for (bool descending : {false, true})
      for (int64_t columns : {1, 17, 300}) {
        Array x = Array::random(type, {3, columns}, 1), y = Array::make(type, {3, columns}),
              index = Array::make(DType::Int32, {3, columns});
        for (int64_t i = 0; i < x.size(); ++i)
          x.set(i, std::round(x[i] * 4)); // with equal ones
        setup().run(Sort{.x = x, .y = y, .index = index, .descending = descending});
        const int64_t k = std::min<int64_t>(columns, 5);
        Array top = Array::make(type, {3, k}), place = Array::make(DType::Int32, {3, k});
        setup().run(TopK{.x = x, .y = top, .index = place});
        for (int64_t row = 0; row < 3; ++row) {
          // -0 comes before 0.
          auto key = [&](int64_t i) {
            return std::pair(x[row * columns + i], !std::signbit(x[row * columns + i]));
          };
          std::vector<int64_t> up(static_cast<size_t>(columns)), fall;
          std::iota(up.begin(), up.end(), 0);
          fall = up;
          std::stable_sort(up.begin(), up.end(),
                           [&](int64_t a, int64_t b) { return key(a) < key(b); });
          std::stable_sort(fall.begin(), fall.end(),
                           [&](int64_t a, int64_t b) { return key(a) > key(b); });
          for (int64_t i = 0; i < columns; ++i) {
            int64_t wanted = (descending ? fall : up)[size_t(i)];
            ASSERT_EQ(index[row * columns + i], double(wanted));
            ASSERT_EQ(y[row * columns + i], x[row * columns + wanted]);
          }
          for (int64_t i = 0; i < k; ++i)
            ASSERT_EQ(place[row * k + i], double(fall[size_t(i)]));
        }
      }
}

TEST(Order, Cumsum) {
  Array x = Array::random(DType::Float32, {3, 5000}, 1), y = Array::make(DType::Float32, {3, 5000});
  auto sums = [](const Array &x, int64_t columns) {
    std::vector<double> all;
    for (int64_t i = 0; i < x.size(); ++i)
      all.push_back(x[i] + (i % columns ? all.back() : 0));
    return all;
  };
  setup().run(Cumsum{.x = x, .y = y});
  expectNear(y, [all = sums(x, 5000)](int64_t i) { return all[size_t(i)]; }, 0, 1e-3);

  Array long1 = Array::random(DType::Float32, {100000}, 2),
        long2 = Array::make(DType::Float32, {100000});
  Cumsum call{.x = long1, .y = long2};
  EXPECT_EQ(must(setup().library.choose(call)).kernel, "scan: vector.three_launches");
  setup().run(call);
  expectNear(long2, [all = sums(long1, 100000)](int64_t i) { return all[size_t(i)]; }, 0, 1e-2);

  Array whole = Array::of(DType::Int64, {2, 3}, {1, 2, 3, -4, 5, 6}),
        total = Array::make(DType::Int64, {2, 3});
  setup().run(Cumsum{.x = whole, .y = total});
  expectNear(total, [&, all = sums(whole, 3)](int64_t i) { return all[size_t(i)]; }, 0, 0);
}

TEST(Order, Histogram) {
  Array x = Array::make(DType::Int32, {7, 500}), counts = Array::make(DType::Int32, {10});
  for (int64_t i = 0; i < x.size(); ++i)
    x.set(i, double(i * i % 17 - 3));
  setup().run(Histogram{.x = x, .counts = counts});
  expectNear(
      counts,
      [&](int64_t bin) {
        double count = 0;
        for (int64_t i = 0; i < x.size(); ++i)
          count += x[i] == double(bin);
        return count;
      },
      0, 0);
  Array none = Array::make(DType::Int32, {0});
  setup().run(Histogram{.x = none, .counts = counts});
  expectNear(counts, [](int64_t) { return 0.0; }, 0, 0);
}

TEST(Products, QuantizeRows) {
  for (DType type : {DType::Int8, DType::Float8E4NV, DType::Float8E5}) {
    Array x = Array::random(DType::Float32, {4, 300}, 1), q = Array::make(type, {4, 300}),
          scale = Array::make(DType::Float32, {4});
    for (int64_t i = 0; i < 300; ++i)
      x.set(i, 0);
    setup().run(QuantizeRows{.x = x, .q = q, .scale = scale});
    EXPECT_EQ(scale[0], 0);
    for (int64_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(q[i] * scale[i / 300], x[i],
                  type == DType::Int8
                      ? 0.51 * scale[i / 300]
                      : 1.01 * unitOf(type) * std::abs(x[i]) + scale[i / 300] * 1e-2);
  }
}

} // namespace
} // namespace nereid::kernels::test
