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

Transformer::Transformer(const ::Kernels &kernels, const Stream &stream, const Sizes &sizes,
                         const Weights &weights, int64_t maxRows)
    : stream(stream), device(stream.device()), library(kernels.library), sizes(sizes),
      maxRows(maxRows) {
  embedKernel = must(kernels.own.kernel("embed"));
  sampleKernel = must(kernels.own.kernel("sample"));
  sampleNextKernel = must(kernels.own.kernel("sample_next"));

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

  for (Tensor *integers : {&tokenIds, &positions, &lengths, &steps, &slots, &chosen})
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

void Transformer::send(const Tensor &to, std::span<const int32_t> from) {
  must(stream.copy(to.data(), from.data(), from.size_bytes()));
}

void Transformer::launch(const Kernel &kernel, int64_t programs,
                         std::initializer_list<Argument> arguments) {
  must(onlyPrepares ? kernel.prepare(device, arguments)
                    : kernel.launch(stream, {uint32_t(programs)}, arguments));
}

void Transformer::product(const Tensor &x, const Tensor &matrix, const Tensor &y) {
  const int64_t outputs = matrix.shape()[0], inputs = matrix.shape()[1];
  work.bytes += int64_t(matrix.bytes() + x.bytes() + y.bytes());
  work.operations += 2 * x.shape()[0] * inputs * outputs;
  run(Matmul{.a = x, .b = view(matrix, {inputs, outputs}, {1, inputs}), .c = y});
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
    run(Rope{.x = turned, .y = turned, .cos = cosines, .sin = sines, .positions = places});
  }
  Tensor keys = view(k, {rows, keyHeads, d}), values = view(v, {rows, keyHeads, d});
  if (step.cache) {
    PagedCache::Layer &cache = step.cache->layers[layer];
    if (step.decodes) {
      Tensor tables = view(table, {rows, step.tableWidth}), tokens = view(lengths, {rows});
      run(AppendKv{.k = keys,
                   .v = values,
                   .kCache = cache.keys,
                   .vCache = cache.values,
                   .table = tables,
                   .lengths = tokens});
      run(PagedAttention{.q = view(q, {rows, heads, d}),
                         .kCache = cache.keys,
                         .vCache = cache.values,
                         .table = tables,
                         .lengths = tokens,
                         .out = view(attended, {rows, heads, d})});
      return;
    }
    run(StoreKv{.k = keys,
                .v = values,
                .kCache = cache.keys,
                .vCache = cache.values,
                .slots = view(slots, {rows})});
  }
  // Heads before tokens, as they lie.
  auto byHead = [&](const Tensor &tensor, int64_t count) {
    return view(tensor, {1, count, rows, d}, {rows * count * d, d, count * d, 1});
  };
  run(Attention{.q = byHead(q, heads),
                .k = byHead(k, keyHeads),
                .v = byHead(v, keyHeads),
                .out = byHead(attended, heads),
                .causal = true});
}

// Gives the logits of every row of a decoding step, else of the last row.
Tensor Transformer::forward(const Step &step) {
  const int64_t rows = step.rows, width = sizes.width, hidden = sizes.hidden;
  launch(embedKernel, rows, {tokenIds, embedding, x, width, named("BLOCK", powerOfTwo(width))});
  Tensor in = firstRows(x, rows), out = firstRows(sum, rows), normed = firstRows(y, rows);
  Tensor pending; // what the last layer adds to x; none before the first
  auto normalize = [&](const Tensor &gain) {
    run(RmsNorm{.x = in,
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
    run(Glu{.gate = view(gateUp, {rows, hidden}, {2 * hidden, 1}),
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
  send(tokenIds, tokens);
  send(positions, at);
  if (cache) {
    must(cache->blocks.slots(sequence, 0, places));
    send(slots, places);
  }
  must(stream.synchronize());
  return forward({rows, cache, 0, false, rows, rows * (rows + 1) / 2});
}

// What a step of decoding reads beside weights and cache. `lengths` count the tokens.
void Transformer::sendTables(std::span<const int32_t> tokens, PagedCache &cache,
                             std::span<const int64_t> sequences, std::span<const int32_t> lengths,
                             int64_t tableWidth) {
  std::vector<int32_t> at, owned(tokens.size()), tables(tokens.size() * size_t(tableWidth));
  must(cache.blocks.fill(sequences, tableWidth, tables, owned));
  for (int32_t length : lengths)
    at.push_back(length - 1);
  send(tokenIds, tokens);
  send(positions, at);
  send(this->lengths, lengths);
  send(table, tables);
  must(stream.synchronize());
}

Tensor Transformer::decode(std::span<const int32_t> tokens, PagedCache &cache,
                           std::span<const int64_t> sequences, int64_t tableWidth) {
  std::vector<int32_t> tokensOf;
  for (int64_t sequence : sequences)
    tokensOf.push_back(int32_t(cache.blocks.length(sequence)));
  const int64_t context = std::accumulate(tokensOf.begin(), tokensOf.end(), int64_t(0));
  sendTables(tokens, cache, sequences, tokensOf, tableWidth);
  return forward({int64_t(tokens.size()), &cache, tableWidth, true, context, context});
}

Graph Transformer::captureSteps(std::span<const int32_t> tokens, std::span<const int32_t> lengths,
                                PagedCache &cache, std::span<const int64_t> sequences,
                                int64_t tableWidth, const Sampling &sampling, int64_t step) {
  const int64_t rows = int64_t(tokens.size());
  sendTables(tokens, cache, sequences, lengths, tableWidth);
  std::vector<int32_t> numbers(tokens.size(), int32_t(step));
  send(steps, numbers);
  must(stream.synchronize());
  auto all = [&] {
    forward({rows, &cache, tableWidth, true, 0, 0});
    launch(sampleNextKernel, rows,
           {logits, tokenIds, positions, this->lengths, steps, sizes.vocabulary,
            sampling.temperature > 0 ? 1 / sampling.temperature : 1.0f, sampling.seed,
            sampling.seedStep, named("BLOCK", powerOfTwo(sizes.vocabulary)),
            named("GREEDY", sampling.temperature <= 0)});
  };
  // While a stream captures, nothing can be compiled and no memory be made.
  onlyPrepares = true;
  all();
  onlyPrepares = false;
  must(stream.beginCapture());
  all();
  return must(stream.endCapture());
}

std::vector<int32_t> Transformer::newestTokens(int64_t rows) {
  std::vector<int32_t> tokens(static_cast<size_t>(rows));
  must(stream.copy(tokens.data(), tokenIds.data(), tokens.size() * sizeof(int32_t)));
  must(stream.synchronize());
  return tokens;
}

std::vector<int32_t> Transformer::sample(const Tensor &logits, int64_t rows,
                                         const Sampling &sampling, int64_t step) {
  launch(sampleKernel, rows,
         {logits, chosen, sizes.vocabulary,
          sampling.temperature > 0 ? 1 / sampling.temperature : 1.0f,
          sampling.seed + step * sampling.seedStep, named("BLOCK", powerOfTwo(sizes.vocabulary)),
          named("GREEDY", sampling.temperature <= 0)});
  std::vector<int32_t> tokens(static_cast<size_t>(rows));
  must(stream.copy(tokens.data(), chosen.data(), tokens.size() * sizeof(int32_t)));
  must(stream.synchronize());
  return tokens;
}
