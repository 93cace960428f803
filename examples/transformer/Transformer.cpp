#include "Transformer.h"

#include <bit>
#include <cmath>
#include <numeric>

using namespace nereid;
using namespace nereid::kernels;

namespace {

int64_t powerOfTwo(int64_t size) { return int64_t(std::bit_ceil(uint64_t(size))); }

Tensor view(const Tensor &tensor, Shape shape, Shape strides = {}, int64_t first = 0) {
  return must(tensor.view(shape, strides, first));
}
Tensor firstRows(const Tensor &tensor, int64_t rows) {
  return view(tensor, {rows, tensor.shape()[1]});
}

} // namespace

PagedCache::PagedCache(const Device &device, const Sizes &sizes, int64_t pages,
                       int64_t tokensPerPage)
    : blocks(pages, tokensPerPage),
      pageBytes(2 * sizes.layers * tokensPerPage * sizes.keyRow() * int64_t(sizeof(float))) {
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    auto pool = [&] {
      return must(Tensor::empty(device, DType::Float32,
                                {pages, tokensPerPage, sizes.keyHeads, sizes.headWidth}));
    };
    layers.push_back({pool(), pool()});
  }
}

Transformer::Transformer(const Engine &engine, const Device &device, const std::string &ownKernels,
                         const Sizes &sizes, const Weights &weights, int64_t maxRows)
    : device(device), stream(device.stream()), library(must(Library::create(engine))), sizes(sizes),
      maxRows(maxRows) {
  Program own = must(engine.load(ownKernels));
  embedKernel = must(own.kernel("embed"));
  sampleKernel = must(own.kernel("sample"));

  const int64_t width = sizes.width;
  embedding = upload(weights.embedding, {sizes.vocabulary, width});
  finalNorm = upload(weights.norm, {width});
  head = uploadTransposed(weights.head, width, sizes.vocabulary);
  for (const LayerWeights &layer : weights.layers)
    layers.push_back(
        {upload(layer.attentionNorm, {width}), uploadTransposed(layer.qkv, width, sizes.qkvRow()),
         uploadTransposed(layer.attentionOut, sizes.queryRow(), width),
         upload(layer.mlpNorm, {width}), uploadTransposed(layer.gateUp, width, 2 * sizes.hidden),
         uploadTransposed(layer.down, sizes.hidden, width)});

  // Pair i of a head turns by position * base^(-2 i / D).
  const int64_t pairs = sizes.headWidth / 2;
  std::vector<float> cosine, sine;
  for (int64_t position = 0; position < maxRows; ++position)
    for (int64_t i = 0; i < pairs; ++i) {
      double angle =
          double(position) * std::exp2(-Sizes::log2RotaryBase * double(i) / double(pairs));
      cosine.push_back(float(std::cos(angle)));
      sine.push_back(float(std::sin(angle)));
    }
  cosines = upload(cosine, {maxRows, pairs});
  sines = upload(sine, {maxRows, pairs});

  for (Tensor *integers : {&tokenIds, &positions, &lengths, &slots, &chosen})
    *integers = scratch(DType::Int32, 1);
  table = scratch(DType::Int32, maxRows);
  for (Tensor *row : {&x, &sum, &y, &branch})
    *row = scratch(DType::Float32, width);
  q = scratch(DType::Float32, sizes.queryRow());
  attended = scratch(DType::Float32, sizes.queryRow());
  k = scratch(DType::Float32, sizes.keyRow());
  v = scratch(DType::Float32, sizes.keyRow());
  gateUp = scratch(DType::Float32, 2 * sizes.hidden);
  gated = scratch(DType::Float32, sizes.hidden);
  logits = scratch(DType::Float32, sizes.vocabulary);
}

Tensor Transformer::upload(const std::vector<float> &values, Shape shape) {
  Tensor tensor = must(Tensor::empty(device, DType::Float32, shape));
  must(tensor.upload(values.data()));
  allWeights += int64_t(tensor.bytes());
  return tensor;
}

Tensor Transformer::uploadTransposed(const std::vector<float> &values, int64_t inputs,
                                     int64_t outputs) {
  std::vector<float> turned(values.size());
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t o = 0; o < outputs; ++o)
      turned[size_t(o * inputs + i)] = values[size_t(i * outputs + o)];
  return upload(turned, {outputs, inputs});
}

Tensor Transformer::scratch(DType type, int64_t columns) {
  return must(Tensor::empty(device, type, {maxRows, columns}));
}

void Transformer::product(const Tensor &x, const Tensor &matrix, const Tensor &y) {
  const int64_t outputs = matrix.shape()[0], inputs = matrix.shape()[1];
  work.bytes += int64_t(matrix.bytes() + x.bytes() + y.bytes());
  work.operations += 2 * x.shape()[0] * inputs * outputs;
  library.matmul(stream, {.a = x, .b = view(matrix, {inputs, outputs}, {1, inputs}), .c = y});
}

// Queries, keys and values of normed rows.
void Transformer::projections(const Layer &layer, const Tensor &normed) {
  const int64_t width = sizes.width;
  int64_t first = 0; // rows of the matrix
  for (const Tensor *part : {&q, &k, &v}) {
    const int64_t outputs = part->shape()[1];
    product(normed, view(layer.qkv, {outputs, width}, {}, first * width),
            firstRows(*part, normed.shape()[0]));
    first += outputs;
  }
}

// Turns queries and keys by their positions, keeps keys and values, and attends.
void Transformer::attend(const Step &step, size_t layer) {
  const int64_t rows = step.rows, d = sizes.headWidth;
  const int64_t heads = sizes.heads, keyHeads = sizes.keyHeads;
  work.bytes +=
      (rows * 2 * sizes.queryRow() + step.context * 2 * sizes.keyRow()) * int64_t(sizeof(float));
  work.operations += 4 * step.pairs * sizes.queryRow();
  Tensor places = view(positions, {1, rows});
  for (auto [part, count] : {std::pair(&q, heads), {&k, keyHeads}}) {
    Tensor turned = view(*part, {1, rows, count, d});
    library.rope(stream,
                 {.x = turned, .y = turned, .cos = cosines, .sin = sines, .positions = places});
  }
  Tensor keys = view(k, {rows, keyHeads, d}), values = view(v, {rows, keyHeads, d});
  if (step.cache) {
    PagedCache::Layer &cache = step.cache->layers[layer];
    if (step.decodes) {
      Tensor tables = view(table, {rows, step.tableWidth}), tokens = view(lengths, {rows});
      library.append_kv(stream, {.k = keys,
                                 .v = values,
                                 .kCache = cache.keys,
                                 .vCache = cache.values,
                                 .table = tables,
                                 .lengths = tokens});
      library.paged_attention(stream, {.q = view(q, {rows, heads, d}),
                                       .kCache = cache.keys,
                                       .vCache = cache.values,
                                       .table = tables,
                                       .lengths = tokens,
                                       .out = view(attended, {rows, heads, d})});
      return;
    }
    library.store_kv(stream, {.k = keys,
                              .v = values,
                              .kCache = cache.keys,
                              .vCache = cache.values,
                              .slots = view(slots, {rows})});
  }
  // Heads before tokens, as they lie.
  auto byHead = [&](const Tensor &tensor, int64_t count) {
    return view(tensor, {1, count, rows, d}, {rows * count * d, d, count * d, 1});
  };
  library.attention(stream, {.q = byHead(q, heads),
                             .k = byHead(k, keyHeads),
                             .v = byHead(v, keyHeads),
                             .out = byHead(attended, heads),
                             .causal = true});
}

// Gives the logits of every row of a decoding step, else of the last row.
Tensor Transformer::forward(std::span<const int32_t> tokens, const Step &step) {
  const int64_t rows = step.rows, width = sizes.width, hidden = sizes.hidden;
  must(stream.copy(tokenIds.data(), tokens.data(), tokens.size_bytes()));
  embedKernel(stream, {uint32_t(rows)}, tokenIds, embedding, x, width,
              named("BLOCK", powerOfTwo(width)));
  Tensor in = firstRows(x, rows), out = firstRows(sum, rows), normed = firstRows(y, rows);
  Tensor pending; // what the last layer adds to x; none before the first
  auto normalize = [&](const Tensor &gain) {
    library.rms_norm(stream, {.x = in,
                              .w = gain,
                              .y = normed,
                              .residual = pending,
                              .sum = pending ? out : Tensor(),
                              .epsilon = Sizes::epsilon});
    if (pending)
      std::swap(in, out);
    pending = firstRows(branch, rows);
  };
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer &layer = layers[i];
    normalize(layer.attentionNorm);
    projections(layer, normed);
    attend(step, i);
    product(firstRows(attended, rows), layer.attentionOut, pending);

    normalize(layer.mlpNorm);
    product(normed, layer.gateUp, firstRows(gateUp, rows));
    library.glu(stream, {.gate = view(gateUp, {rows, hidden}, {2 * hidden, 1}),
                         .up = view(gateUp, {rows, hidden}, {2 * hidden, 1}, hidden),
                         .y = firstRows(gated, rows)});
    product(firstRows(gated, rows), layer.down, pending);
  }
  normalize(finalNorm);
  const int64_t wanted = step.decodes ? rows : 1;
  product(view(normed, {wanted, width}, {}, (rows - wanted) * width), head,
          firstRows(logits, wanted));
  return logits;
}

void Transformer::decodeProducts(int64_t rows) {
  const Tensor in = firstRows(x, rows), out = firstRows(branch, rows);
  for (const Layer &layer : layers) {
    projections(layer, in);
    product(firstRows(attended, rows), layer.attentionOut, out);
    product(in, layer.gateUp, firstRows(gateUp, rows));
    product(firstRows(gated, rows), layer.down, out);
  }
  product(in, head, firstRows(logits, rows));
}

Tensor Transformer::prefill(std::span<const int32_t> tokens, PagedCache *cache, int64_t sequence) {
  const int64_t rows = int64_t(tokens.size());
  std::vector<int32_t> at(tokens.size()), places(tokens.size());
  std::iota(at.begin(), at.end(), 0);
  must(stream.copy(positions.data(), at.data(), at.size() * sizeof(int32_t)));
  if (cache) {
    must(cache->blocks.slots(sequence, 0, places));
    must(stream.copy(slots.data(), places.data(), places.size() * sizeof(int32_t)));
  }
  must(stream.synchronize());
  return forward(tokens, {rows, cache, 0, false, rows, rows * (rows + 1) / 2});
}

Tensor Transformer::decode(std::span<const int32_t> tokens, PagedCache &cache,
                           std::span<const int64_t> sequences) {
  const int64_t rows = int64_t(tokens.size());
  Step step{rows, &cache, cache.blocks.tableWidth(sequences), true, 0, 0};
  std::vector<int32_t> at, tokensOf(tokens.size()), tables(size_t(rows * step.tableWidth));
  must(cache.blocks.fill(sequences, step.tableWidth, tables, tokensOf));
  for (int32_t length : tokensOf) {
    at.push_back(length - 1);
    step.context += length;
  }
  step.pairs = step.context;
  auto send = [&](const Tensor &to, const std::vector<int32_t> &from) {
    must(stream.copy(to.data(), from.data(), from.size() * sizeof(int32_t)));
  };
  send(positions, at);
  send(lengths, tokensOf);
  send(table, tables);
  must(stream.synchronize());
  return forward(tokens, step);
}

std::vector<int32_t> Transformer::sample(const Tensor &logits, int64_t rows, float temperature,
                                         uint64_t seed) {
  sampleKernel(stream, {uint32_t(rows)}, logits, chosen, sizes.vocabulary,
               temperature > 0 ? 1 / temperature : 1.0f, int64_t(seed),
               named("BLOCK", powerOfTwo(sizes.vocabulary)), named("GREEDY", temperature <= 0));
  std::vector<int32_t> tokens(static_cast<size_t>(rows));
  must(stream.copy(tokens.data(), chosen.data(), tokens.size() * sizeof(int32_t)));
  must(stream.synchronize());
  return tokens;
}
