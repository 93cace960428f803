// A decoder-only transformer over the calls of nereid/kernels.h; embedding and sampling are kernels
// of its own.
#pragma once

#include "Weights.h"

#include <nereid/kernels.h>

#include <span>
#include <string>

/// Keys and values of all layers, in pages that a BlockManager gives out.
struct PagedCache {
  PagedCache(const nereid::Device &device, const Sizes &sizes, int64_t pages,
             int64_t tokensPerPage);
  nereid::kernels::BlockManager blocks;
  struct Layer {
    nereid::Tensor keys, values; ///< [page, token, key head, head width]
  };
  std::vector<Layer> layers;
  int64_t pageBytes; ///< of all layers
  int64_t usedBytes() const { return blocks.usedPages() * pageBytes; }
};

class Transformer {
public:
  /// `ownKernels` is transformer.py. At most `maxRows` tokens go through at a time, none further
  /// than that from its sequence's first one.
  Transformer(const nereid::Engine &engine, const nereid::Device &device,
              const std::string &ownKernels, const Sizes &sizes, const Weights &weights,
              int64_t maxRows);

  /// One sequence from its first token on; gives the logits after its last. With a cache, keys and
  /// values are kept under `sequence`, which must have grown by these tokens.
  nereid::Tensor prefill(std::span<const int32_t> tokens, PagedCache *cache = nullptr,
                         int64_t sequence = 0);
  /// One more token of each sequence, which must have grown by it; gives a row of logits for each.
  nereid::Tensor decode(std::span<const int32_t> tokens, PagedCache &cache,
                        std::span<const int64_t> sequences);
  /// The products of a step of decoding so many sequences and nothing else, on whatever the last
  /// step has left: what a step takes at least with these kernels.
  void decodeProducts(int64_t rows);
  nereid::Stream &queue() { return stream; }
  /// A token for each row of logits; temperature 0 takes the most probable.
  std::vector<int32_t> sample(const nereid::Tensor &logits, int64_t rows, float temperature,
                              uint64_t seed);

  /// Bytes that products and attention take and give, each tensor counted once a kernel, and their
  /// multiplications and additions.
  struct Work {
    int64_t bytes = 0, operations = 0;
  };
  /// Since this was last called.
  Work takeWork() { return std::exchange(work, {}); }
  int64_t weightBytes() const { return allWeights; }

private:
  /// Matrices are [outputs, inputs]: a step of few tokens reads them row by row.
  struct Layer {
    nereid::Tensor attentionNorm, qkv, attentionOut, mlpNorm, gateUp, down;
  };
  /// Where the tokens of a step belong.
  struct Step {
    int64_t rows;
    PagedCache *cache;
    int64_t tableWidth; ///< of `table`
    bool decodes;       ///< each row is the newest of a sequence of its own
    int64_t context;    ///< tokens whose keys and values are read
    int64_t pairs;      ///< of a token and one that it sees
  };
  nereid::Tensor upload(const std::vector<float> &values, nereid::Shape shape);
  nereid::Tensor uploadTransposed(const std::vector<float> &values, int64_t inputs,
                                  int64_t outputs);
  nereid::Tensor scratch(nereid::DType type, int64_t columns);
  void product(const nereid::Tensor &x, const nereid::Tensor &matrix, const nereid::Tensor &y);
  void projections(const Layer &layer, const nereid::Tensor &normed);
  void attend(const Step &step, size_t layer);
  nereid::Tensor forward(std::span<const int32_t> tokens, const Step &step);

  nereid::Device device;
  nereid::Stream stream;
  nereid::kernels::Library library;
  Sizes sizes;
  int64_t maxRows, allWeights = 0;
  Work work;
  nereid::Kernel embedKernel, sampleKernel;
  nereid::Tensor embedding, finalNorm, head, cosines, sines;
  std::vector<Layer> layers;
  // What a step works on; every row but those of `table` is a token.
  nereid::Tensor tokenIds, positions, lengths, slots, table, x, sum, y, branch, q, k, v, attended,
      gateUp, gated, logits, chosen;
};
