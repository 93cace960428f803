#include "Harness.h"

#include <numeric>

namespace nereid::kernels::test {
namespace {

struct MatrixSize {
  int64_t rows, columns;
};
constexpr MatrixSize shapes[] = {{0, 5}, {3, 0}, {1, 1}, {3, 17}, {5, 781}, {2, 3000}};

std::vector<double> rowOf(const Array &x, int64_t row, int64_t columns, int64_t step) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < columns; ++i)
    numbers.push_back(x[row * step + i]);
  return numbers;
}

double lseOf(const std::vector<double> &x) {
  double peak = *std::max_element(x.begin(), x.end()), sum = 0;
  for (double one : x)
    sum += std::exp(one - peak);
  return peak + std::log(sum);
}

TEST(Rows, Softmax) {
  for (DType type : floatTypes)
    for (auto [rows, columns] : shapes) {
      // Rows are apart.
      const int64_t step = columns + 3;
      Array x = Array::random(type, {rows, step}, 1, 3), y = Array::make(type, {rows, columns}),
            log = Array::make(type, {rows, columns});
      Tensor view = x.view({rows, columns}, {step, 1});
      setup().run(Softmax{.x = view, .y = y});
      setup().run(LogSoftmax{.x = view, .y = log});
      std::vector<double> lse;
      for (int64_t row = 0; row < rows && columns; ++row)
        lse.push_back(lseOf(rowOf(x, row, columns, step)));
      auto wanted = [&](int64_t i) {
        return x[i / columns * step + i % columns] - lse[size_t(i / columns)];
      };
      expectNear(y, [&](int64_t i) { return std::exp(wanted(i)); }, unitOf(type) + 2e-6, 6e-8);
      expectNear(log, wanted, unitOf(type), 1e-5);

      Array dy = Array::random(type, {rows, columns}, 2), dx = Array::make(type, {rows, columns}),
            dlog = Array::make(type, {rows, columns});
      setup().run(SoftmaxBackward{.y = y, .dy = dy, .dx = dx});
      setup().run(LogSoftmaxBackward{.y = log, .dy = dy, .dx = dlog});
      std::vector<double> products(size_t(rows), 0.0), sums(size_t(rows), 0.0);
      for (int64_t i = 0; i < y.size(); ++i) {
        products[size_t(i / columns)] += y[i] * dy[i];
        sums[size_t(i / columns)] += dy[i];
      }
      expectNear(
          dx, [&](int64_t i) { return y[i] * (dy[i] - products[size_t(i / columns)]); },
          2 * unitOf(type), 1e-5);
      expectNear(
          dlog, [&](int64_t i) { return dy[i] - std::exp(log[i]) * sums[size_t(i / columns)]; },
          2 * unitOf(type), 1e-4);
    }
}

TEST(Rows, LongRowsAndHigherRank) {
  Array x = Array::random(DType::Float32, {2, 2, 20000}, 1, 3),
        y = Array::make(DType::Float32, {2, 2, 20000});
  Softmax call{.x = x, .y = y};
  EXPECT_EQ(must(setup().library.choose(call)).kernel, "softmax: forward.online");
  setup().library.softmax(setup().stream, call);
  std::vector<double> lse;
  for (int64_t row = 0; row < 4; ++row)
    lse.push_back(lseOf(rowOf(x, row, 20000, 20000)));
  expectNear(y, [&](int64_t i) { return std::exp(x[i] - lse[size_t(i / 20000)]); }, 1e-5, 1e-9);
}

TEST(Rows, CrossEntropy) {
  for (DType type : floatTypes)
    for (double smoothing : {0.0, 0.125}) {
      const int64_t rows = 5, columns = 781;
      Array x = Array::random(type, {rows, columns}, 1, 3),
            target = Array::of(DType::Int64, {rows}, {0, 780, -100, 17, 400}),
            loss = Array::make(DType::Float32, {rows}), lse = Array::make(DType::Float32, {rows});
      setup().run(CrossEntropy{
          .x = x, .target = target, .loss = loss, .lse = lse, .smoothing = float(smoothing)});
      auto expected = [&](int64_t row) {
        if (target[row] < 0)
          return 0.0;
        auto numbers = rowOf(x, row, columns, columns);
        double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / columns;
        return lseOf(numbers) - (1 - smoothing) * numbers[size_t(target[row])] - smoothing * mean;
      };
      expectNear(loss, expected, 1e-6, 1e-5);

      Array dloss = Array::random(DType::Float32, {rows}, 2),
            dx = Array::make(type, {rows, columns});
      setup().run(CrossEntropyBackward{.x = x,
                                       .target = target,
                                       .lse = lse,
                                       .dloss = dloss,
                                       .dx = dx,
                                       .smoothing = float(smoothing)});
      std::vector<double> lses;
      for (int64_t row = 0; row < rows; ++row)
        lses.push_back(lseOf(rowOf(x, row, columns, columns)));
      auto gradient = [&](int64_t i) {
        int64_t row = i / columns;
        if (target[row] < 0)
          return 0.0;
        double p = std::exp(x[i] - lses[size_t(row)]);
        double wanted =
            smoothing / columns + (int64_t(target[row]) == i % columns) * (1 - smoothing);
        return dloss[row] * (p - wanted);
      };
      expectNear(dx, gradient, unitOf(type), 2e-5);
    }
}

TEST(Rows, LinearCrossEntropy) {
  // Two chunks of a CPU's rule.
  for (int64_t rows : {0, 5, 300}) {
    const int64_t classes = 40, width = 24;
    Array x = Array::random(DType::Float32, {rows, width}, 1),
          w = Array::random(DType::Float32, {classes, width}, 2),
          target = Array::make(DType::Int32, {rows}), loss = Array::make(DType::Float32, {rows}),
          dx = Array::make(DType::Float32, {rows, width}),
          dw = Array::make(DType::Float32, {classes, width});
    for (int64_t i = 0; i < rows; ++i)
      target.set(i, i == 1 ? -100 : double(i * 7 % classes));
    setup().run(
        LinearCrossEntropy{.x = x, .w = w, .target = target, .loss = loss, .dx = dx, .dw = dw});
    std::vector<double> losses, gx(size_t(rows * width), 0.0), gw(size_t(classes * width), 0.0);
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<double> logits(classes, 0.0);
      for (int64_t c = 0; c < classes; ++c)
        for (int64_t h = 0; h < width; ++h)
          logits[size_t(c)] += x[row * width + h] * w[c * width + h];
      if (target[row] < 0) {
        losses.push_back(0);
        continue;
      }
      double lse = lseOf(logits);
      losses.push_back(lse - logits[size_t(target[row])]);
      for (int64_t c = 0; c < classes; ++c) {
        double g = (std::exp(logits[size_t(c)] - lse) - (double(c) == target[row])) / double(rows);
        for (int64_t h = 0; h < width; ++h) {
          gx[size_t(row * width + h)] += g * w[c * width + h];
          gw[size_t(c * width + h)] += g * x[row * width + h];
        }
      }
    }
    expectNear(loss, [&](int64_t i) { return losses[size_t(i)]; }, 1e-5, 1e-5);
    expectNear(dx, [&](int64_t i) { return gx[size_t(i)]; }, 1e-5, 1e-5);
    expectNear(dw, [&](int64_t i) { return gw[size_t(i)]; }, 1e-5, 1e-5);
  }
}

struct NormCase {
  Array x, w, b, dy;
  int64_t rows, columns;
  NormCase(DType type, MatrixSize size, unsigned seed)
      : x(Array::random(type, {size.rows, size.columns}, seed)),
        w(Array::random(type, {size.columns}, seed + 1)),
        b(Array::random(type, {size.columns}, seed + 2)),
        dy(Array::random(type, {size.rows, size.columns}, seed + 3)), rows(size.rows),
        columns(size.columns) {}
  template <typename Term> double mean(int64_t row, Term &&term) const {
    double total = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
      total += term(i);
    return total / double(columns);
  }
};

TEST(Rows, LayerNorm) {
  for (DType type : floatTypes)
    for (MatrixSize size : {MatrixSize{0, 5}, MatrixSize{1, 1}, MatrixSize{3, 17},
                            MatrixSize{300, 40}, MatrixSize{4, 781}}) {
      NormCase one(type, size, 1);
      auto &[x, w, b, dy, rows, columns] = one;
      Array y = Array::make(type, {rows, columns}), mean = Array::make(DType::Float32, {rows}),
            rstd = Array::make(DType::Float32, {rows});
      setup().run(LayerNorm{.x = x, .w = w, .b = b, .y = y, .mean = mean, .rstd = rstd});
      std::vector<double> means, rstds;
      for (int64_t row = 0; row < rows; ++row) {
        means.push_back(one.mean(row, [&](int64_t i) { return x[i]; }));
        double variance =
            one.mean(row, [&](int64_t i) { return std::pow(x[i] - means.back(), 2); });
        rstds.push_back(1 / std::sqrt(variance + 1e-5f));
      }
      auto hat = [&](int64_t i) {
        return (x[i] - means[size_t(i / columns)]) * rstds[size_t(i / columns)];
      };
      expectNear(
          y, [&](int64_t i) { return hat(i) * w[i % columns] + b[i % columns]; }, unitOf(type),
          2e-5);
      expectNear(mean, [&](int64_t i) { return means[size_t(i)]; }, 1e-5, 1e-6);
      expectNear(rstd, [&](int64_t i) { return rstds[size_t(i)]; }, 1e-5, 0);

      // Without the statistics, which then lie in the workspace.
      Array alone = Array::make(type, {rows, columns});
      LayerNorm call{.x = x, .w = w, .b = b, .y = alone};
      EXPECT_EQ(must(setup().library.workspaceBytes(call)) >= size_t(rows) * 8, true);
      setup().run(call);
      expectNear(alone, [&](int64_t i) { return y[i]; }, 0, 0);

      Array dx = Array::make(type, {rows, columns}), dw = Array::make(type, {columns}),
            db = Array::make(type, {columns});
      setup().run(LayerNormBackward{
          .x = x, .w = w, .dy = dy, .mean = mean, .rstd = rstd, .dx = dx, .dw = dw, .db = db});
      auto g = [&](int64_t i) { return w[i % columns] * dy[i]; };
      const double scale = columns == 1 ? 400 : 1; // a row of one element has a rstd of 300
      std::vector<double> level, projected;
      for (int64_t row = 0; row < rows; ++row) {
        level.push_back(one.mean(row, g));
        projected.push_back(one.mean(row, [&](int64_t j) { return hat(j) * g(j); }));
      }
      expectNear(
          dx,
          [&](int64_t i) {
            int64_t row = i / columns;
            return (g(i) - level[size_t(row)] - hat(i) * projected[size_t(row)]) *
                   rstds[size_t(row)];
          },
          2 * unitOf(type), 2e-5 * scale);
      auto along = [&](int64_t column, auto &&term) {
        double total = 0;
        for (int64_t row = 0; row < rows; ++row)
          total += term(row * columns + column);
        return total;
      };
      expectNear(
          dw, [&](int64_t c) { return along(c, [&](int64_t i) { return dy[i] * hat(i); }); },
          2 * unitOf(type), 1e-4);
      expectNear(
          db, [&](int64_t c) { return along(c, [&](int64_t i) { return dy[i]; }); },
          2 * unitOf(type), 1e-4);
    }
}

TEST(Rows, RmsNorm) {
  for (DType type : floatTypes)
    for (bool withResidual : {false, true})
      for (MatrixSize size : {MatrixSize{0, 5}, MatrixSize{1, 1}, MatrixSize{3, 17},
                              MatrixSize{300, 40}, MatrixSize{4, 781}}) {
        NormCase one(type, size, 1);
        auto &[x, w, residual, dy, rows, columns] = one;
        residual = Array::random(type, {rows, columns}, 9);
        Array y = Array::make(type, {rows, columns}), sum = Array::make(type, {rows, columns}),
              rstd = Array::make(DType::Float32, {rows});
        RmsNorm call{.x = x, .w = w, .y = y, .rstd = rstd};
        if (withResidual) {
          call.residual = residual;
          call.sum = sum;
        }
        setup().run(call);
        const Array &in = withResidual ? sum : x;
        if (withResidual)
          expectNear(sum, [&](int64_t i) { return x[i] + residual[i]; }, unitOf(type), 0);
        std::vector<double> rstds;
        for (int64_t row = 0; row < rows; ++row)
          rstds.push_back(
              1 / std::sqrt(one.mean(row, [&](int64_t i) { return in[i] * in[i]; }) + 1e-6f));
        auto hat = [&](int64_t i) { return in[i] * rstds[size_t(i / columns)]; };
        expectNear(
            y, [&](int64_t i) { return hat(i) * w[i % columns]; }, unitOf(type) + 1e-6, 6e-8);
        expectNear(rstd, [&](int64_t i) { return rstds[size_t(i)]; }, 1e-5, 0);

        Array dx = Array::make(type, {rows, columns}), dw = Array::make(type, {columns}),
              dsum = Array::random(type, {rows, columns}, 10);
        setup().run(RmsNormBackward{.x = in,
                                    .w = w,
                                    .dy = dy,
                                    .dsum = withResidual ? dsum.tensor : Tensor(),
                                    .rstd = rstd,
                                    .dx = dx,
                                    .dw = dw});
        auto g = [&](int64_t i) { return w[i % columns] * dy[i]; };
        const double scale = columns == 1 ? 100 : 1;
        std::vector<double> along;
        for (int64_t row = 0; row < rows; ++row)
          along.push_back(one.mean(row, [&](int64_t j) { return hat(j) * g(j); }));
        expectNear(
            dx,
            [&](int64_t i) {
              int64_t row = i / columns;
              double own = (g(i) - hat(i) * along[size_t(row)]) * rstds[size_t(row)];
              return own + (withResidual ? dsum[i] : 0.0);
            },
            2 * unitOf(type), 2e-5 * scale);
        expectNear(
            dw,
            [&](int64_t c) {
              double total = 0;
              for (int64_t row = 0; row < rows; ++row)
                total += dy[row * columns + c] * hat(row * columns + c);
              return total;
            },
            2 * unitOf(type), 1e-4);
      }
}

} // namespace
} // namespace nereid::kernels::test
