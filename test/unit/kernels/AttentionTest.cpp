#include "Harness.h"

#include <array>
#include <functional>

namespace nereid::kernels::test {
namespace {

/// Attention by loops. Elements are asked by sequence, head, place and column.
struct Reference {
  using At = std::function<double(int64_t b, int64_t h, int64_t i, int64_t d)>;
  int64_t heads, keyHeads, width;
  At q, k, v;
  bool causal = false;
  int64_t window = 0;
  double softCap = 0;
  std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)> bias = {};
  std::function<double(int64_t h)> slope = {};

  double scale() const { return 1 / std::sqrt(double(width)); }
  int64_t keyHead(int64_t h) const { return h / (heads / keyHeads); }

  bool sees(int64_t i, int64_t j, int64_t m, int64_t n) const {
    int64_t position = i + n - m;
    return (!causal || j <= position) &&
           (window == 0 || (j > position - window && (causal || j < position + window)));
  }
  double score(int64_t b, int64_t h, int64_t i, int64_t j, int64_t m, int64_t n) const {
    double s = 0;
    for (int64_t d = 0; d < width; ++d)
      s += q(b, h, i, d) * k(b, keyHead(h), j, d);
    s *= scale();
    if (softCap > 0)
      s = softCap * std::tanh(s / softCap);
    if (slope)
      s -= slope(h) * std::abs(double(i + n - m - j));
    return bias ? s + bias(b, h, i, j) : s;
  }
  /// The weights of a query's keys, and the logarithm of their sum.
  std::pair<std::vector<double>, double> weights(int64_t b, int64_t h, int64_t i, int64_t m,
                                                 int64_t n) const {
    std::vector<double> w(size_t(n), 0.0);
    double sum = 0;
    for (int64_t j = 0; j < n; ++j)
      if (sees(i, j, m, n))
        sum += w[size_t(j)] = std::exp(score(b, h, i, j, m, n));
    for (double &one : w)
      one = sum > 0 ? one / sum : 0;
    return {w, std::log(sum)};
  }
  double out(int64_t b, int64_t h, int64_t i, int64_t d, int64_t m, int64_t n) const {
    if (std::array row = {b, h, i, m, n}; row != lastRow) {
      lastRow = row;
      lastWeights = weights(b, h, i, m, n).first;
    }
    double sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += lastWeights[size_t(j)] * v(b, keyHead(h), j, d);
    return sum;
  }

  // Columns of a row are asked for one after the other.
  mutable std::array<int64_t, 5> lastRow = {-1};
  mutable std::vector<double> lastWeights = {};
};

/// Elements of a row-major [batch, head, place, column].
Reference::At dense(const Array &array) {
  return [&array](int64_t b, int64_t h, int64_t i, int64_t d) {
    return array[((b * array.extent(1) + h) * array.extent(2) + i) * array.extent(3) + d];
  };
}

struct Case {
  DType type;
  int64_t batches, heads, keyHeads, queries, keys, width;
  bool causal = false;
  int64_t window = 0;
  float softCap = 0;
  bool hasBias = false, hasSlopes = false;
};

const Case cases[] = {
    {DType::Float32, 1, 2, 2, 1, 1, 16},
    {DType::Float32, 2, 4, 2, 33, 33, 32, true},
    {DType::Float32, 1, 2, 1, 50, 70, 40, true},
    {DType::Float32, 1, 2, 2, 70, 50, 16, true}, // the first queries see nothing
    {DType::Float32, 1, 2, 2, 9, 0, 16},
    {DType::Float32, 1, 2, 2, 60, 60, 16, true, 20},
    {DType::Float32, 1, 2, 2, 60, 60, 16, false, 7, 2.0f},
    {DType::Float32, 2, 2, 1, 40, 40, 16, true, 0, 0, true, true},
    {DType::Float16, 1, 4, 1, 40, 70, 64, true},
    {DType::BFloat16, 1, 2, 2, 40, 40, 64},
};

TEST(Attention, Forward) {
  for (const Case &c : cases) {
    Array q = Array::random(c.type, {c.batches, c.heads, c.queries, c.width}, 1),
          k = Array::random(c.type, {c.batches, c.keyHeads, c.keys, c.width}, 2),
          v = Array::random(c.type, {c.batches, c.keyHeads, c.keys, c.width}, 3),
          bias = Array::random(c.type, {c.queries, c.keys}, 4),
          slopes = Array::of(DType::Float32, {c.heads}, {0.5, 0.25, 0.125, 0.0625}),
          out = Array::make(c.type, {c.batches, c.heads, c.queries, c.width}),
          lse = Array::make(DType::Float32, {c.batches, c.heads, c.queries});
    Attention call{.q = q,
                   .k = k,
                   .v = v,
                   .out = out,
                   .lse = lse,
                   .causal = c.causal,
                   .window = c.window,
                   .softCap = c.softCap};
    Reference reference{c.heads,  c.keyHeads, c.width,  dense(q), dense(k),
                        dense(v), c.causal,   c.window, c.softCap};
    if (c.hasBias) {
      // One for all heads of all sequences.
      call.bias = bias.view({c.batches, c.heads, c.queries, c.keys}, {0, 0, c.keys, 1});
      reference.bias = [&](int64_t, int64_t, int64_t i, int64_t j) { return bias[i * c.keys + j]; };
    }
    if (c.hasSlopes) {
      call.slopes = slopes;
      reference.slope = [&](int64_t h) { return slopes[h]; };
    }
    setup().run(call);
    auto place = [&](int64_t i, auto &&of) {
      return of(i / c.queries / c.heads, i / c.queries % c.heads, i % c.queries);
    };
    expectNear(
        out,
        [&](int64_t i) {
          return place(i / c.width, [&](int64_t b, int64_t h, int64_t m) {
            return reference.out(b, h, m, i % c.width, c.queries, c.keys);
          });
        },
        unitOf(c.type), 4 * unitOf(c.type) + 1e-5);
    for (int64_t i = 0; i < lse.size(); ++i) {
      double wanted = place(i, [&](int64_t b, int64_t h, int64_t m) {
        return reference.weights(b, h, m, c.queries, c.keys).second;
      });
      if (std::isinf(wanted))
        EXPECT_EQ(lse[i], wanted);
      else
        EXPECT_NEAR(lse[i], wanted, 1e-4);
    }
    // Without lse, which then lies in the workspace.
    Array alone = Array::make(c.type, {c.batches, c.heads, c.queries, c.width});
    call.lse = Tensor();
    call.out = alone;
    setup().run(call);
    expectNear(alone, [&](int64_t i) { return out[i]; }, 0, 0);
  }
}

TEST(Attention, ReadsAProjectionAsItLies) {
  // [token, q of all heads, k, v] in memory.
  const int64_t tokens = 21, heads = 4, keyHeads = 2, width = 16,
                row = (heads + 2 * keyHeads) * width;
  Array qkv = Array::random(DType::Float32, {tokens, row}, 1),
        out = Array::make(DType::Float32, {tokens, heads * width});
  auto part = [&](int64_t first, int64_t count) {
    return qkv.view({1, count, tokens, width}, {tokens * row, width, row, 1}, first * width);
  };
  setup().library.attention(setup().stream,
                            {.q = part(0, heads),
                             .k = part(heads, keyHeads),
                             .v = part(heads + keyHeads, keyHeads),
                             .out = out.view({1, heads, tokens, width},
                                             {tokens * heads * width, width, heads * width, 1}),
                             .causal = true});
  auto at = [&](int64_t first) {
    return [&qkv, first](int64_t, int64_t h, int64_t i, int64_t d) {
      return qkv[i * row + (first + h) * width + d];
    };
  };
  Reference reference{heads, keyHeads, width, at(0), at(heads), at(heads + keyHeads), true};
  expectNear(
      out,
      [&](int64_t i) {
        return reference.out(0, i / width % heads, i / width / heads, i % width, tokens, tokens);
      },
      1e-6, 1e-5);
}

TEST(Attention, DropoutKeepsTheMean) {
  const int64_t n = 400;
  Array q = Array::random(DType::Float32, {1, 1, 4, 16}, 1),
        k = Array::random(DType::Float32, {1, 1, n, 16}, 2),
        v = Array::of(DType::Float32, {1, 1, n, 16}, std::vector<double>(size_t(n) * 16, 1.0)),
        out = Array::make(DType::Float32, {1, 1, 4, 16}),
        again = Array::make(DType::Float32, {1, 1, 4, 16});
  Attention call{.q = q, .k = k, .v = v, .out = out, .scale = 1e-3f, .dropout = 0.25f, .seed = 5};
  setup().run(call);
  for (int64_t i = 0; i < out.size(); ++i)
    EXPECT_NEAR(out[i], 1, 0.15); // five deviations of sqrt(1/3 / 400)
  EXPECT_NE(out[0], 1);
  call.out = again;
  setup().run(call);
  expectNear(again, [&](int64_t i) { return out[i]; }, 0, 0);
}

// Gradients by central differences of sum(out * dout) along random directions.
TEST(Attention, Backward) {
  for (const Case &c :
       {Case{DType::Float32, 2, 4, 2, 20, 20, 16, true}, Case{DType::Float32, 1, 2, 2, 30, 12, 16},
        Case{DType::Float32, 1, 2, 1, 12, 30, 24, true, 9, 3.0f, true, true}}) {
    Array q = Array::random(c.type, {c.batches, c.heads, c.queries, c.width}, 1),
          k = Array::random(c.type, {c.batches, c.keyHeads, c.keys, c.width}, 2),
          v = Array::random(c.type, {c.batches, c.keyHeads, c.keys, c.width}, 3),
          bias = Array::random(c.type, {c.batches, c.heads, c.queries, c.keys}, 4),
          slopes = Array::of(DType::Float32, {c.heads}, {0.5, 0.25, 0.125, 0.0625}),
          out = Array::make(c.type, {c.batches, c.heads, c.queries, c.width}),
          lse = Array::make(DType::Float32, {c.batches, c.heads, c.queries}),
          dout = Array::random(c.type, {c.batches, c.heads, c.queries, c.width}, 5),
          dq = Array::make(c.type, {c.batches, c.heads, c.queries, c.width}),
          dk = Array::make(c.type, {c.batches, c.keyHeads, c.keys, c.width}),
          dv = Array::make(c.type, {c.batches, c.keyHeads, c.keys, c.width});
    Tensor biasOrNone = c.hasBias ? bias.tensor : Tensor(),
           slopesOrNone = c.hasSlopes ? slopes.tensor : Tensor();
    setup().run(Attention{.q = q,
                          .k = k,
                          .v = v,
                          .out = out,
                          .lse = lse,
                          .bias = biasOrNone,
                          .slopes = slopesOrNone,
                          .causal = c.causal,
                          .window = c.window,
                          .softCap = c.softCap});
    setup().run(AttentionBackward{.q = q,
                                  .k = k,
                                  .v = v,
                                  .out = out,
                                  .lse = lse,
                                  .dout = dout,
                                  .dq = dq,
                                  .dk = dk,
                                  .dv = dv,
                                  .bias = biasOrNone,
                                  .slopes = slopesOrNone,
                                  .causal = c.causal,
                                  .window = c.window,
                                  .softCap = c.softCap});
    auto check = [&](const Array &gradient, Reference::At Reference::*input, const Array &base) {
      Array direction = Array::random(
          c.type, {gradient.extent(0), gradient.extent(1), gradient.extent(2), gradient.extent(3)},
          7);
      auto loss = [&](double step) {
        Reference reference{c.heads,  c.keyHeads, c.width,  dense(q), dense(k),
                            dense(v), c.causal,   c.window, c.softCap};
        if (c.hasBias)
          reference.bias = dense(bias);
        if (c.hasSlopes)
          reference.slope = [&](int64_t h) { return slopes[h]; };
        auto from = dense(base), along = dense(direction);
        reference.*input = [=](int64_t b, int64_t h, int64_t i, int64_t d) {
          return from(b, h, i, d) + step * along(b, h, i, d);
        };
        double sum = 0;
        for (int64_t i = 0; i < out.size(); ++i) {
          int64_t row = i / c.width;
          sum += dout[i] * reference.out(row / c.queries / c.heads, row / c.queries % c.heads,
                                         row % c.queries, i % c.width, c.queries, c.keys);
        }
        return sum;
      };
      double along = 0, size = 0;
      for (int64_t i = 0; i < gradient.size(); ++i) {
        along += gradient[i] * direction[i];
        size += std::abs(gradient[i] * direction[i]);
      }
      EXPECT_NEAR(along, (loss(1e-5) - loss(-1e-5)) / 2e-5, 1e-5 * size + 1e-4);
    };
    check(dq, &Reference::q, q);
    check(dk, &Reference::k, k);
    check(dv, &Reference::v, v);
  }
}

TEST(Attention, SequencesOfDifferentLengths) {
  const std::vector<double> cuQ = {0, 20, 21, 21, 50}, cuK = {0, 20, 31, 35, 70};
  const int64_t heads = 4, keyHeads = 2, width = 16, sequences = 4;
  Array q = Array::random(DType::Float32, {50, heads, width}, 1),
        k = Array::random(DType::Float32, {70, keyHeads, width}, 2),
        v = Array::random(DType::Float32, {70, keyHeads, width}, 3),
        out = Array::make(DType::Float32, {50, heads, width}),
        lse = Array::make(DType::Float32, {50, heads}), starts = Array::of(DType::Int32, {5}, cuQ),
        keyStarts = Array::of(DType::Int32, {5}, cuK);
  setup().run(AttentionVarlen{.q = q,
                              .k = k,
                              .v = v,
                              .out = out,
                              .lse = lse,
                              .cuQ = starts,
                              .cuK = keyStarts,
                              .maxQ = 29,
                              .causal = true});
  Array dout = Array::random(DType::Float32, {50, heads, width}, 4),
        dq = Array::make(DType::Float32, {50, heads, width}),
        dk = Array::make(DType::Float32, {70, keyHeads, width}),
        dv = Array::make(DType::Float32, {70, keyHeads, width});
  setup().run(AttentionVarlenBackward{.q = q,
                                      .k = k,
                                      .v = v,
                                      .out = out,
                                      .lse = lse,
                                      .dout = dout,
                                      .dq = dq,
                                      .dk = dk,
                                      .dv = dv,
                                      .cuQ = starts,
                                      .cuK = keyStarts,
                                      .maxQ = 29,
                                      .maxK = 35,
                                      .causal = true});
  // Each sequence by itself, with heads before places.
  for (int64_t b = 0; b < sequences; ++b) {
    const int64_t first = int64_t(cuQ[size_t(b)]), m = int64_t(cuQ[size_t(b + 1)]) - first;
    const int64_t firstKey = int64_t(cuK[size_t(b)]), n = int64_t(cuK[size_t(b + 1)]) - firstKey;
    auto alone = [&](const Array &from, int64_t start, int64_t count, int64_t heads) {
      Array to = Array::make(DType::Float32, {1, heads, count, width});
      for (int64_t i = 0; i < to.size(); ++i)
        to.set(i,
               from[((start + i / width % count) * heads + i / width / count) * width + i % width]);
      return to;
    };
    Array q1 = alone(q, first, m, heads), k1 = alone(k, firstKey, n, keyHeads),
          v1 = alone(v, firstKey, n, keyHeads), dout1 = alone(dout, first, m, heads),
          out1 = Array::make(DType::Float32, {1, heads, m, width}),
          lse1 = Array::make(DType::Float32, {1, heads, m}),
          dq1 = Array::make(DType::Float32, {1, heads, m, width}),
          dk1 = Array::make(DType::Float32, {1, keyHeads, n, width}),
          dv1 = Array::make(DType::Float32, {1, keyHeads, n, width});
    setup().run(Attention{.q = q1, .k = k1, .v = v1, .out = out1, .lse = lse1, .causal = true});
    setup().run(AttentionBackward{.q = q1,
                                  .k = k1,
                                  .v = v1,
                                  .out = out1,
                                  .lse = lse1,
                                  .dout = dout1,
                                  .dq = dq1,
                                  .dk = dk1,
                                  .dv = dv1,
                                  .causal = true});
    auto same = [&](const Array &found, const Array &all, int64_t start, int64_t count,
                    int64_t heads) {
      expectNear(found, [&](int64_t i) { return alone(all, start, count, heads)[i]; }, 1e-5, 1e-5);
    };
    same(out1, out, first, m, heads);
    same(dq1, dq, first, m, heads);
    same(dk1, dk, firstKey, n, keyHeads);
    same(dv1, dv, firstKey, n, keyHeads);
  }
}

// ---- The paged cache

struct PagedCase {
  DType type, cache;
  std::vector<int64_t> lengths;
  int64_t heads, keyHeads, width, page;
};

/// A cache that a BlockManager gave out, with pages of one pool for keys and values.
struct Cache {
  const PagedCase &c;
  BlockManager blocks;
  std::vector<int64_t> sequences;
  int64_t pages, width;
  Array keys, values, kScale, vScale, table, lengths;

  explicit Cache(const PagedCase &c)
      : c(c), blocks(40, c.page), pages(40), width(0),
        keys(Array::make(c.cache, {40, c.page, c.keyHeads, c.width})),
        values(Array::make(c.cache, {40, c.page, c.keyHeads, c.width})),
        kScale(Array::make(DType::Float32, {40, c.page, c.keyHeads})),
        vScale(Array::make(DType::Float32, {40, c.page, c.keyHeads})),
        table(Array::make(DType::Int32, {1})),
        lengths(Array::make(DType::Int32, {int64_t(c.lengths.size())})) {
    for (size_t b = 0; b < c.lengths.size(); ++b)
      sequences.push_back(blocks.open());
    // By turns, so that their pages lie among each other.
    for (int64_t token = 0;; ++token) {
      bool grew = false;
      for (size_t b = 0; b < sequences.size(); ++b)
        if (token < c.lengths[b]) {
          must(blocks.grow(sequences[b], 1));
          grew = true;
        }
      if (!grew)
        break;
    }
    width = blocks.tableWidth(sequences);
    table = Array::make(DType::Int32, {int64_t(sequences.size()), width});
    must(blocks.fill(sequences, width, {table.tensor.data<int32_t>(), size_t(table.size())},
                     {lengths.tensor.data<int32_t>(), sequences.size()}));
  }
  bool isNarrow() const { return info(c.cache).bytes == 1; }
  int64_t row(size_t b, int64_t place) const {
    return blocks.pages(sequences[b])[size_t(place / c.page)] * c.page + place % c.page;
  }
  double at(const Array &part, const Array &scale, size_t b, int64_t head, int64_t place,
            int64_t d) const {
    int64_t head0 = row(b, place) * c.keyHeads + head;
    return part[head0 * c.width + d] * (isNarrow() ? scale[head0] : 1);
  }
  /// All tokens of all sequences at once.
  void store(const Array &k, const Array &v) {
    std::vector<int32_t> slots(size_t(k.extent(0)), -1);
    size_t first = 0;
    for (size_t b = 0; b < sequences.size(); ++b) {
      must(blocks.slots(sequences[b], 0, std::span(slots).subspan(first, size_t(c.lengths[b]))));
      first += size_t(c.lengths[b]);
    }
    Array places = Array::make(DType::Int32, {k.extent(0)});
    std::copy(slots.begin(), slots.end(), places.tensor.data<int32_t>());
    setup().run(StoreKv{.k = k,
                        .v = v,
                        .kCache = keys,
                        .vCache = values,
                        .slots = places,
                        .kScale = isNarrow() ? kScale.tensor : Tensor(),
                        .vScale = isNarrow() ? vScale.tensor : Tensor()});
  }
  Reference reference(Reference::At q) const {
    return {c.heads,
            c.keyHeads,
            c.width,
            std::move(q),
            [this](int64_t b, int64_t h, int64_t i, int64_t d) {
              return at(keys, kScale, size_t(b), h, i, d);
            },
            [this](int64_t b, int64_t h, int64_t i, int64_t d) {
              return at(values, vScale, size_t(b), h, i, d);
            }};
  }
};

const PagedCase pagedCases[] = {
    {DType::Float32, DType::Float32, {1, 37, 100, 16}, 4, 2, 32, 16},
    {DType::Float32, DType::Float32, {5, 9}, 3, 3, 40, 1},
    {DType::Float16, DType::Float16, {33}, 8, 1, 64, 8},
    {DType::Float32, DType::Int8, {3, 40}, 4, 2, 32, 16},
    {DType::Float16, DType::Float8E4NV, {3, 40}, 4, 2, 32, 16},
};

TEST(Paged, Decoding) {
  for (const PagedCase &c : pagedCases) {
    Cache cache(c);
    int64_t total = 0, batch = int64_t(c.lengths.size());
    for (int64_t length : c.lengths)
      total += length;
    Array k = Array::random(c.type, {total + 1, c.keyHeads, c.width}, 1),
          v = Array::random(c.type, {total + 1, c.keyHeads, c.width}, 2);
    cache.store(k, v); // the last token is left out
    for (size_t b = 0, first = 0; b < c.lengths.size(); first += size_t(c.lengths[b++]))
      for (int64_t i = 0; i < c.lengths[b]; ++i)
        for (int64_t d = 0; d < c.width; ++d)
          ASSERT_NEAR(cache.at(cache.keys, cache.kScale, b, 1 % c.keyHeads, i, d),
                      k[((int64_t(first) + i) * c.keyHeads + 1 % c.keyHeads) * c.width + d],
                      c.cache == c.type        ? 0
                      : c.cache == DType::Int8 ? 0.02
                                               : 0.2);

    Array q = Array::random(c.type, {batch, c.heads, c.width}, 3),
          out = Array::make(c.type, {batch, c.heads, c.width});
    PagedAttention call{.q = q,
                        .kCache = cache.keys,
                        .vCache = cache.values,
                        .table = cache.table,
                        .lengths = cache.lengths,
                        .out = out,
                        .kScale = cache.isNarrow() ? cache.kScale.tensor : Tensor(),
                        .vScale = cache.isNarrow() ? cache.vScale.tensor : Tensor()};
    Reference reference = cache.reference([&](int64_t b, int64_t h, int64_t, int64_t d) {
      return q[(b * c.heads + h) * c.width + d];
    });
    auto wanted = [&](int64_t i) {
      int64_t row = i / c.width;
      return reference.out(row / c.heads, row % c.heads, 0, i % c.width, 1,
                           c.lengths[size_t(row / c.heads)]);
    };
    setup().run(call);
    expectNear(out, wanted, unitOf(c.type), 4 * unitOf(c.type) + 2e-5);
  }
}

TEST(Paged, LongSequencesAreSplit) {
  PagedCase c{DType::Float32, DType::Float32, {600}, 2, 1, 16, 16};
  Cache cache(c);
  Array k = Array::random(c.type, {600, 1, 16}, 1), v = Array::random(c.type, {600, 1, 16}, 2),
        q = Array::random(c.type, {1, 2, 16}, 3), out = Array::make(c.type, {1, 2, 16});
  cache.store(k, v);
  PagedAttention call{.q = q,
                      .kCache = cache.keys,
                      .vCache = cache.values,
                      .table = cache.table,
                      .lengths = cache.lengths,
                      .out = out};
  Choice choice = must(setup().library.choose(call));
  if (setup().device.units() > 1) {
    EXPECT_EQ(choice.kernel, "paged_attention: decode.split_kv");
    EXPECT_GT(choice.workspaceBytes, 0u);
  }
  setup().run(call);
  Reference reference =
      cache.reference([&](int64_t, int64_t h, int64_t, int64_t d) { return q[h * 16 + d]; });
  expectNear(
      out, [&](int64_t i) { return reference.out(0, i / 16, 0, i % 16, 1, 600); }, 1e-5, 1e-5);
}

TEST(Paged, AppendsTheNewestToken) {
  PagedCase c{DType::Float32, DType::Float32, {1, 37, 16}, 2, 2, 24, 16};
  Cache cache(c);
  Array k = Array::random(c.type, {3, 2, 24}, 1), v = Array::random(c.type, {3, 2, 24}, 2);
  setup().run(AppendKv{.k = k,
                       .v = v,
                       .kCache = cache.keys,
                       .vCache = cache.values,
                       .table = cache.table,
                       .lengths = cache.lengths});
  int64_t written = 0;
  for (int64_t i = 0; i < cache.keys.size(); ++i)
    written += cache.keys[i] != 77;
  EXPECT_EQ(written, 3 * 2 * 24);
  for (size_t b = 0; b < 3; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < 24; ++d) {
        EXPECT_EQ(cache.at(cache.keys, cache.kScale, b, h, c.lengths[b] - 1, d),
                  k[(int64_t(b) * 2 + h) * 24 + d]);
        EXPECT_EQ(cache.at(cache.values, cache.vScale, b, h, c.lengths[b] - 1, d),
                  v[(int64_t(b) * 2 + h) * 24 + d]);
      }
}

TEST(Paged, PromptsInChunks) {
  PagedCase c{DType::Float32, DType::Float32, {50, 37, 20}, 4, 2, 32, 16};
  const std::vector<double> cuQ = {0, 30, 31, 51}; // the last 30, 1 and 20 tokens
  Cache cache(c);
  Array k = Array::random(c.type, {107, 2, 32}, 1), v = Array::random(c.type, {107, 2, 32}, 2),
        q = Array::random(c.type, {51, 4, 32}, 3), out = Array::make(c.type, {51, 4, 32}),
        starts = Array::of(DType::Int32, {4}, cuQ);
  cache.store(k, v);
  setup().run(PagedPrefill{.q = q,
                           .kCache = cache.keys,
                           .vCache = cache.values,
                           .table = cache.table,
                           .cuQ = starts,
                           .lengths = cache.lengths,
                           .maxQ = 30,
                           .out = out});
  Reference reference = cache.reference([&](int64_t b, int64_t h, int64_t i, int64_t d) {
    return q[((int64_t(cuQ[size_t(b)]) + i) * 4 + h) * 32 + d];
  });
  reference.causal = true;
  expectNear(
      out,
      [&](int64_t i) {
        int64_t token = i / 32 / 4, b = 0;
        while (double(token) >= cuQ[size_t(b + 1)])
          ++b;
        return reference.out(b, i / 32 % 4, token - int64_t(cuQ[size_t(b)]), i % 32,
                             int64_t(cuQ[size_t(b + 1)] - cuQ[size_t(b)]), c.lengths[size_t(b)]);
      },
      1e-6, 2e-5);
}

TEST(Paged, SharedPrefix) {
  // Pages 0 to 2 hold the prefix of all; each sequence then has pages of its own.
  const int64_t page = 16, pages = 12, heads = 4, keyHeads = 2, width = 32, batch = 3;
  const std::vector<double> lengths = {1, 0, 33};
  for (DType type : {DType::Float32, DType::Int8, DType::Float8E4NV}) {
    const bool isNarrow = type != DType::Float32;
    // Steps of 8 bits are large against numbers of order 1.
    const double deviation = type == DType::Int8 ? 40 : 1;
    Array keys = Array::random(type, {pages, page, keyHeads, width}, 1, deviation),
          values = Array::random(type, {pages, page, keyHeads, width}, 2, deviation),
          kScale = Array::make(F32, {pages, page, keyHeads}),
          vScale = Array::make(F32, {pages, page, keyHeads}),
          q = Array::random(F32, {batch, heads, width}, 3),
          out = Array::make(F32, {batch, heads, width}),
          prefix = Array::of(DType::Int32, {3}, {2, 0, 1}),
          table = Array::of(DType::Int32, {batch, 3}, {5, 99, 99, 99, 99, 99, 7, 4, 9}),
          tokens = Array::of(DType::Int32, {batch}, lengths);
    for (int64_t i = 0; i < kScale.size(); ++i) {
      kScale.set(i, (1 + double(i % 7) / 7) / deviation);
      vScale.set(i, (2 - double(i % 5) / 5) / deviation);
    }
    setup().run(PagedSharedPrefix{.q = q,
                                  .kCache = keys,
                                  .vCache = values,
                                  .prefix = prefix,
                                  .table = table,
                                  .lengths = tokens,
                                  .out = out,
                                  .kScale = isNarrow ? kScale.tensor : Tensor(),
                                  .vScale = isNarrow ? vScale.tensor : Tensor()});
    auto at = [&](const Array &pool, const Array &scale) {
      return [&](int64_t b, int64_t h, int64_t i, int64_t d) {
        int64_t number =
            i / page < 3 ? int64_t(prefix[i / page]) : int64_t(table[b * 3 + i / page - 3]);
        int64_t head = (number * page + i % page) * keyHeads + h;
        return pool[head * width + d] * (isNarrow ? scale[head] : 1);
      };
    };
    Reference reference{
        heads,
        keyHeads,
        width,
        [&](int64_t b, int64_t h, int64_t, int64_t d) { return q[(b * heads + h) * width + d]; },
        at(keys, kScale),
        at(values, vScale)};
    expectNear(
        out,
        [&](int64_t i) {
          int64_t b = i / width / heads;
          return reference.out(b, i / width % heads, 0, i % width, 1,
                               3 * page + int64_t(lengths[size_t(b)]));
        },
        1e-5, 2e-5);
  }
}

TEST(Paged, BlockManagerGivesPagesOut) {
  BlockManager blocks(4, 8);
  int64_t a = blocks.open(), b = blocks.open();
  must(blocks.grow(a, 8));
  must(blocks.grow(b, 9));
  EXPECT_EQ(blocks.usedPages(), 3);
  EXPECT_TRUE(blocks.canGrow(a, 8));
  EXPECT_FALSE(blocks.canGrow(a, 9));
  Status full = blocks.grow(a, 9);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().what, "sequence 0 needs 2 pages more, and 1 of 4 are free");
  EXPECT_EQ(blocks.length(a), 8);
  std::vector<int32_t> slots(2);
  must(blocks.slots(b, 7, slots));
  EXPECT_EQ(slots[0], blocks.pages(b)[0] * 8 + 7);
  EXPECT_EQ(slots[1], blocks.pages(b)[1] * 8);
  EXPECT_FALSE(blocks.slots(b, 8, slots).ok());
  must(blocks.close(a));
  EXPECT_FALSE(blocks.close(a).ok());
  EXPECT_FALSE(blocks.grow(a, 1).ok());
  EXPECT_FALSE(blocks.grow(-1, 1).ok());
  EXPECT_EQ(blocks.freePages(), 2);
  EXPECT_EQ(blocks.open(), a); // the number again
  EXPECT_EQ(blocks.length(a), 0);
  std::vector<int32_t> table(4), lengths(2);
  std::vector<int64_t> both = {a, b};
  EXPECT_FALSE(blocks.fill(both, 1, table, lengths).ok());
  must(blocks.fill(both, 2, table, lengths));
  EXPECT_EQ(lengths, (std::vector<int32_t>{0, 9}));
  EXPECT_EQ(table[2], blocks.pages(b)[0]);
  EXPECT_EQ(table[0], 0);
}

} // namespace
} // namespace nereid::kernels::test
