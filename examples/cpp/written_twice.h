// Vector add, softmax, matmul and flash attention in C++; written_twice.py has them in the Triton
// language.
#pragma once

#include <nereid/tl.h>

#include <cmath>

namespace written_twice {

namespace tl = nereid::tl;
using tl::all, tl::None;

inline void add(tl::Value x, tl::Value y, tl::Value out, tl::Value n, tl::Value BLOCK) {
  auto i = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
  auto mask = i < n;
  tl::store(out + i, tl::load(x + i, mask) + tl::load(y + i, mask), mask);
}

inline void softmax(tl::Value x, tl::Value out, tl::Value stride, tl::Value n, tl::Value BLOCK) {
  auto row = tl::program_id(0).to(tl::int64);
  auto columns = tl::arange(0, BLOCK);
  auto mask = columns < n;
  auto values = tl::load(x + row * stride + columns, mask, -INFINITY);
  auto powers = tl::exp(values - tl::max(values, 0));
  tl::store(out + row * stride + columns, powers / tl::sum(powers, 0), mask);
}

inline void matmul(tl::Value a, tl::Value b, tl::Value c, tl::Value M, tl::Value N, tl::Value K,
                   tl::Value BM, tl::Value BN, tl::Value BK, tl::Value RELU) {
  auto rows = tl::program_id(0) * BM + tl::arange(0, BM);
  auto columns = tl::program_id(1) * BN + tl::arange(0, BN);
  auto inner = tl::arange(0, BK);
  a += rows[{all, None}] * K + inner[{None, all}];
  b += inner[{all, None}] * N + columns[{None, all}];
  auto sums = tl::zeros({BM, BN}, tl::float32);
  for (auto start : tl::range(0, K, BK)) {
    auto left = K - start;
    auto x = tl::load(a, (rows[{all, None}] < M) & (inner[{None, all}] < left), 0.0);
    auto y = tl::load(b, (inner[{all, None}] < left) & (columns[{None, all}] < N), 0.0);
    sums = tl::dot(x, y, sums, {.input_precision = "ieee"});
    a += BK;
    b += BK * N;
  }
  tl::if_(RELU, [&] { sums = tl::maximum(sums, 0.0); });
  auto inside = (rows[{all, None}] < M) & (columns[{None, all}] < N);
  tl::store(c + rows[{all, None}] * N + columns[{None, all}], sums, inside);
}

// A helper is a function of C++; it is inlined.
inline tl::Value rowsOf(const tl::Value &base, const tl::Value &rows, const tl::Value &n,
                        const tl::Value &D) {
  return tl::load(base + rows[{all, None}] * D + tl::arange(0, D)[{None, all}],
                  rows[{all, None}] < n, 0.0);
}

inline void attention(tl::Value q, tl::Value k, tl::Value v, tl::Value out, tl::Value n,
                      tl::Value scale, tl::Value D, tl::Value BM, tl::Value BN, tl::Value CAUSAL) {
  auto head = tl::program_id(1) * n * D;
  auto rows = tl::program_id(0) * BM + tl::arange(0, BM);
  auto queries = rowsOf(q + head, rows, n, D);
  auto peak = tl::full({BM}, -3.0e38, tl::float32);
  auto total = tl::zeros({BM}, tl::float32);
  auto sums = tl::zeros({BM, D}, tl::float32);
  auto end = n;
  tl::if_(CAUSAL, [&] { end = tl::minimum(n, (tl::program_id(0) + 1) * BM); });
  for (auto start : tl::range(0, end, BN)) {
    auto columns = start + tl::arange(0, BN);
    auto keys = rowsOf(k + head, columns, n, D);
    auto scores = tl::dot(queries, tl::trans(keys), {.input_precision = "ieee"}) * scale;
    auto visible = columns[{None, all}] < n;
    tl::if_(CAUSAL, [&] { visible = visible & (columns[{None, all}] <= rows[{all, None}]); });
    scores = tl::where(visible, scores, -INFINITY);
    auto higher = tl::maximum(peak, tl::max(scores, 1));
    auto shrink = tl::exp(peak - higher);
    auto weights = tl::exp(scores - higher[{all, None}]);
    total = total * shrink + tl::sum(weights, 1);
    auto values = rowsOf(v + head, columns, n, D);
    sums = tl::dot(weights, values, sums * shrink[{all, None}], {.input_precision = "ieee"});
    peak = higher;
  }
  auto at = head + rows[{all, None}] * D + tl::arange(0, D)[{None, all}];
  tl::store(out + at, sums / total[{all, None}], rows[{all, None}] < n);
}

inline tl::Module module() {
  tl::Module module("written_twice.h");
  module.kernel("add", "x, y, out, n, BLOCK: tl.constexpr", add)
      .kernel("softmax", "x, out, stride, n, BLOCK: tl.constexpr", softmax)
      .kernel("matmul",
              "a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, "
              "RELU: tl.constexpr = False",
              matmul)
      .kernel("attention",
              "q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, "
              "CAUSAL: tl.constexpr",
              attention);
  return module;
}

} // namespace written_twice
