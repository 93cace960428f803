#include "Reference.h"

#include <algorithm>
#include <cmath>

namespace {

using Row = std::vector<double>;

Row normalized(const Row &x, const std::vector<float> &gain) {
  double squares = 0;
  for (double value : x)
    squares += value * value;
  double scale = 1 / std::sqrt(squares / double(x.size()) + Sizes::epsilon);
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * scale * gain[i];
  return y;
}

Row times(const Row &x, const std::vector<float> &matrix) {
  size_t outputs = matrix.size() / x.size();
  Row y(outputs);
  for (size_t k = 0; k < x.size(); ++k)
    for (size_t n = 0; n < outputs; ++n)
      y[n] += x[k] * matrix[k * outputs + n];
  return y;
}

void add(Row &x, const Row &y) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += y[i];
}

void rotate(double *head, int64_t width, int64_t position) {
  for (int64_t i = 0; i < width / 2; ++i) {
    double angle =
        double(position) * std::exp2(-2.0 * double(i) / double(width) * Sizes::log2RotaryBase);
    double low = head[i], high = head[i + width / 2];
    head[i] = low * std::cos(angle) - high * std::sin(angle);
    head[i + width / 2] = high * std::cos(angle) + low * std::sin(angle);
  }
}

} // namespace

std::vector<double> referenceLogits(const Sizes &sizes, const Weights &weights,
                                    std::span<const int32_t> tokens) {
  const int64_t d = sizes.headWidth;
  std::vector<Row> x;
  for (int32_t token : tokens) {
    auto row = weights.embedding.begin() + token * sizes.width;
    x.emplace_back(row, row + sizes.width);
  }
  for (const LayerWeights &layer : weights.layers) {
    std::vector<Row> qkv;
    for (size_t t = 0; t < x.size(); ++t) {
      qkv.push_back(times(normalized(x[t], layer.attentionNorm), layer.qkv));
      for (int64_t head = 0; head < sizes.heads + sizes.keyHeads; ++head)
        rotate(&qkv[t][size_t(head * d)], d, int64_t(t));
    }
    for (size_t t = 0; t < x.size(); ++t) {
      Row attended(size_t(sizes.queryRow()));
      for (int64_t head = 0; head < sizes.heads; ++head) {
        const double *q = &qkv[t][size_t(head * d)];
        size_t key = size_t(sizes.queryRow() + head / sizes.group() * d);
        size_t value = key + size_t(sizes.keyRow());
        Row scores(t + 1);
        for (size_t s = 0; s <= t; ++s)
          for (int64_t i = 0; i < d; ++i)
            scores[s] += q[i] * qkv[s][key + size_t(i)] / std::sqrt(double(d));
        double peak = *std::max_element(scores.begin(), scores.end()), sum = 0;
        for (double &score : scores)
          sum += score = std::exp(score - peak);
        for (size_t s = 0; s <= t; ++s)
          for (int64_t i = 0; i < d; ++i)
            attended[size_t(head * d + i)] += scores[s] / sum * qkv[s][value + size_t(i)];
      }
      add(x[t], times(attended, layer.attentionOut));
    }
    for (Row &row : x) {
      Row gateUp = times(normalized(row, layer.mlpNorm), layer.gateUp), gated(size_t(sizes.hidden));
      for (size_t i = 0; i < gated.size(); ++i)
        gated[i] = gateUp[i] / (1 + std::exp(-gateUp[i])) * gateUp[gated.size() + i];
      add(row, times(gated, layer.down));
    }
  }
  return times(normalized(x.back(), weights.norm), weights.head);
}
