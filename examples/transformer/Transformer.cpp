#include "Transformer.h"

#include <bit>
#include <cmath>
#include <numeric>

using namespace nereid;

namespace {
uint32_t blocks(int64_t size, int64_t block) { return uint32_t((size + block - 1) / block); }
int64_t powerOfTwo(int64_t size) { return int64_t(std::bit_ceil(uint64_t(size))); }
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

Transformer::Transformer(const Engine &engine, const Device &device, const std::string &kernels,
                         const std::string &ownKernels, const Sizes &sizes, const Weights &weights,
                         int64_t maxRows)
    : device(device), stream(device.stream()), sizes(sizes), maxRows(maxRows) {
  auto shared = [&](const char *folder, const char *name) {
    return must(must(engine.load(kernels + "/" + folder + "/kernel.py")).kernel(name));
  };
  normKernel = shared("rms_norm", "rms_norm_row");
  matmulKernel = shared("matmul", "matmul");
  flashKernel = shared("flash_attention", "flash_forward");
  pagedKernel = shared("paged_attention", "decode");
  Program own = must(engine.load(ownKernels));
  embedKernel = must(own.kernel("embed"));
  splitKernel = must(own.kernel("split_rotate"));
  appendKernel = must(own.kernel("append"));
  fewRowsKernel = must(own.kernel("few_rows"));
  swigluKernel = must(own.kernel("swiglu"));
  sampleKernel = must(own.kernel("sample"));

  const int64_t width = sizes.width;
  embedding = upload(weights.embedding, {sizes.vocabulary, width});
  finalNorm = upload(weights.norm, {width});
  head = upload(weights.head, {width, sizes.vocabulary});
  for (const LayerWeights &layer : weights.layers)
    layers.push_back(
        {upload(layer.attentionNorm, {width}), upload(layer.qkv, {width, sizes.qkvRow()}),
         upload(layer.attentionOut, {sizes.queryRow(), width}), upload(layer.mlpNorm, {width}),
         upload(layer.gateUp, {width, 2 * sizes.hidden}),
         upload(layer.down, {sizes.hidden, width})});

  for (Tensor *integers : {&tokenIds, &positions, &lengths, &sequenceOf, &chosen})
    *integers = scratch(DType::Int32, 1);
  table = scratch(DType::Int32, maxRows);
  for (Tensor *row : {&x, &sum, &y, &branch})
    *row = scratch(DType::Float32, width);
  rstd = scratch(DType::Float32, 1);
  qkv = scratch(DType::Float32, sizes.qkvRow());
  q = scratch(DType::Float32, sizes.queryRow());
  attended = scratch(DType::Float32, sizes.queryRow());
  k = scratch(DType::Float32, sizes.keyRow());
  v = scratch(DType::Float32, sizes.keyRow());
  lse = scratch(DType::Float32, sizes.heads);
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

Tensor Transformer::scratch(DType type, int64_t columns) {
  return must(Tensor::empty(device, type, {maxRows, columns}));
}

// out = norm(in + residual), where the sum is kept in `sum`; both may be none.
void Transformer::norm(const Tensor &in, const Tensor &residual, const Tensor &gain,
                       const Tensor &out, const Tensor &sum, int64_t rows) {
  normKernel(stream, {uint32_t(rows)}, in, residual, gain, out, sum, rstd, sizes.width,
             Sizes::epsilon, named("BLOCK", powerOfTwo(sizes.width)));
}

void Transformer::product(const Tensor &x, const Tensor &matrix, const Tensor &y, int64_t rows) {
  const int64_t inner = matrix.shape()[0], columns = matrix.shape()[1];
  traffic += int64_t(matrix.bytes()) + rows * (inner + columns) * int64_t(sizeof(float));
  if (rows < 8) {
    const int64_t block = 64;
    fewRowsKernel(stream, {blocks(columns, block), uint32_t(rows)}, x, matrix, y, columns, inner,
                  named("BLOCK_N", block), named("BLOCK_K", 16));
    return;
  }
  const int64_t blockM = rows <= 16 ? 16 : 32, blockN = 64;
  matmulKernel(stream, {blocks(rows, blockM) * blocks(columns, blockN)}, x, matrix, nullptr, y,
               rows, columns, inner, inner, 1, columns, 1, columns, 1, named("BLOCK_M", blockM),
               named("BLOCK_N", blockN), named("BLOCK_K", 32), named("GROUP_M", 8),
               named("ACTIVATION", "none"), named("PRECISION", "ieee"));
}

void Transformer::attend(const Step &step, size_t layer) {
  const int64_t d = sizes.headWidth, row = sizes.queryRow(), keyRow = sizes.keyRow();
  const float scale = 1 / std::sqrt(float(d));
  traffic += (step.rows * 2 * row + step.context * 2 * keyRow) * int64_t(sizeof(float));
  if (step.cache) {
    PagedCache::Layer &cache = step.cache->layers[layer];
    const int64_t page = step.cache->blocks.tokensPerPage();
    appendKernel(stream, {uint32_t(step.rows)}, k, v, cache.keys, cache.values, table, sequenceOf,
                 positions, step.tableWidth, named("ROW", keyRow), named("PAGE", page),
                 named("BLOCK", powerOfTwo(keyRow)));
    if (step.decodes) {
      pagedKernel(stream, {uint32_t(step.rows), uint32_t(sizes.keyHeads)}, q, cache.keys,
                  cache.values, table, lengths, attended, sizes.keyHeads, sizes.group(), scale,
                  cache.keys.strides()[0], step.tableWidth, named("D", d),
                  named("BLOCK_D", powerOfTwo(d)),
                  named("BLOCK_G", std::max<int64_t>(16, powerOfTwo(sizes.group()))),
                  named("PAGE", page), named("BLOCK_N", 32), named("PRECISION", "ieee"));
      return;
    }
  }
  const int64_t blockM = 32;
  flashKernel(stream, {blocks(step.rows, blockM), uint32_t(sizes.heads)}, q, k, v, nullptr,
              attended, lse, 0, d, row, 0, d, keyRow, 0, d, keyRow, 0, 0, 0, 0, d, row, sizes.heads,
              sizes.group(), step.rows, step.rows, scale, 0.0, 0, named("D", d),
              named("BLOCK_D", powerOfTwo(d)), named("BLOCK_M", blockM), named("BLOCK_N", 32),
              named("CAUSAL", true), named("DROPOUT", false), named("PRECISION", "ieee"));
}

// Gives the logits of every row of a decoding step, else of the last row.
Tensor Transformer::forward(std::span<const int32_t> tokens, const Step &step) {
  const int64_t rows = step.rows, width = sizes.width;
  must(stream.copy(tokenIds.data(), tokens.data(), tokens.size_bytes()));
  embedKernel(stream, {uint32_t(rows)}, tokenIds, embedding, x, width,
              named("BLOCK", powerOfTwo(width)));
  Tensor pending; // what the last layer adds to x; none before the first
  Tensor in = x, out = sum;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer &layer = layers[i];
    auto normalize = [&](const Tensor &gain) {
      norm(in, pending, gain, y, pending ? out : Tensor(), rows);
      if (pending)
        std::swap(in, out);
      pending = branch;
    };
    normalize(layer.attentionNorm);
    product(y, layer.qkv, qkv, rows);
    splitKernel(stream, {uint32_t(rows), uint32_t(sizes.heads + 2 * sizes.keyHeads)}, qkv,
                positions, q, k, v, named("H", sizes.heads), named("KV", sizes.keyHeads),
                named("D", sizes.headWidth), named("LOG2_BASE", Sizes::log2RotaryBase));
    attend(step, i);
    product(attended, layer.attentionOut, branch, rows);

    normalize(layer.mlpNorm);
    product(y, layer.gateUp, gateUp, rows);
    const int64_t block = 256;
    swigluKernel(stream, {uint32_t(rows), blocks(sizes.hidden, block)}, gateUp, gated, sizes.hidden,
                 named("BLOCK", block));
    product(gated, layer.down, branch, rows);
  }
  norm(in, branch, finalNorm, y, out, rows);
  const int64_t wanted = step.decodes ? rows : 1;
  Tensor last = must(Tensor::wrap(device, y.data<float>() + (rows - wanted) * width, DType::Float32,
                                  {wanted, width}));
  product(last, head, logits, wanted);
  return logits;
}

Tensor Transformer::prefill(std::span<const int32_t> tokens, PagedCache *cache, int64_t sequence) {
  const int64_t rows = int64_t(tokens.size());
  std::vector<int32_t> at(tokens.size());
  std::iota(at.begin(), at.end(), 0);
  must(stream.copy(positions.data(), at.data(), at.size() * sizeof(int32_t)));
  int64_t pages = 0;
  std::vector<int32_t> zero(tokens.size()); // the table has one row
  if (cache) {
    const auto &table = cache->blocks.table(sequence);
    pages = int64_t(table.size());
    must(stream.copy(this->table.data(), table.data(), table.size() * sizeof(int32_t)));
    must(stream.copy(sequenceOf.data(), zero.data(), zero.size() * sizeof(int32_t)));
  }
  must(stream.synchronize());
  return forward(tokens, {rows, cache, pages, false, rows});
}

Tensor Transformer::decode(std::span<const int32_t> tokens, PagedCache &cache,
                           std::span<const int64_t> sequences) {
  const int64_t rows = int64_t(tokens.size());
  Step step{rows, &cache, 0, true, 0};
  for (int64_t sequence : sequences)
    step.tableWidth = std::max(step.tableWidth, int64_t(cache.blocks.table(sequence).size()));
  std::vector<int32_t> at, length, which, tables(size_t(rows * step.tableWidth));
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t sequence = sequences[size_t(i)];
    length.push_back(int32_t(cache.blocks.length(sequence)));
    at.push_back(length.back() - 1);
    which.push_back(int32_t(i));
    step.context += length.back();
    const auto &pages = cache.blocks.table(sequence);
    std::copy(pages.begin(), pages.end(), tables.begin() + i * step.tableWidth);
  }
  auto send = [&](const Tensor &to, const std::vector<int32_t> &from) {
    must(stream.copy(to.data(), from.data(), from.size() * sizeof(int32_t)));
  };
  send(positions, at);
  send(lengths, length);
  send(sequenceOf, which);
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
