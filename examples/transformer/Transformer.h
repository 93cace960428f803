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

/// How a token is chosen; temperature 0 takes the most probable. Step s of a sequence has the seed
/// `seed + s * seedStep`.
struct Sampling {
  float temperature = 0;
  int64_t seed = 0, seedStep = 1;
};

/// Where the kernels come from.
struct Kernels {
  nereid::Program own; ///< transformer.py
  nereid::kernels::Library library;
};

class Transformer {
public:
  /// All work goes to `stream`. At most `maxRows` tokens go through at a time, none further than
  /// that from its sequence's first one.
  Transformer(const Kernels &kernels, const nereid::Stream &stream, const Sizes &sizes,
              const Weights &weights, int64_t maxRows);

  /// One sequence from its first token on; gives the logits after its last. With a cache, keys and
  /// values are kept under `sequence`, which must have grown by these tokens.
  nereid::Tensor prefill(std::span<const int32_t> tokens, PagedCache *cache = nullptr,
                         int64_t sequence = 0);
  /// One more token of each sequence, which must have grown by it; gives a row of logits for each.
  /// A sequence has at most `tableWidth` pages, in this step and those that are to take the same
  /// kernels.
  nereid::Tensor decode(std::span<const int32_t> tokens, PagedCache &cache,
                        std::span<const int64_t> sequences, int64_t tableWidth);
  /// A step as a graph that takes the tokens which the run of it before chose: nothing of it comes
  /// from the host. The first takes `tokens`, of step number `step`; the sequences, whose lengths
  /// count these, must own the pages of all steps.
  nereid::Graph captureSteps(std::span<const int32_t> tokens, std::span<const int32_t> lengths,
                             PagedCache &cache, std::span<const int64_t> sequences,
                             int64_t tableWidth, const Sampling &sampling, int64_t step);
  /// The tokens that the last run of the graph chose. Waits.
  std::vector<int32_t> newestTokens(int64_t rows);
  /// The products of a step of decoding so many sequences and nothing else, on whatever the last
  /// step has left: what a step takes at least with these kernels.
  void decodeProducts(int64_t rows);
  nereid::Stream &queue() { return stream; }
  /// A token for each row of logits.
  std::vector<int32_t> sample(const nereid::Tensor &logits, int64_t rows, const Sampling &sampling,
                              int64_t step);

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
  void send(const nereid::Tensor &to, std::span<const int32_t> from);
  void sendTables(std::span<const int32_t> tokens, PagedCache &cache,
                  std::span<const int64_t> sequences, std::span<const int32_t> lengths,
                  int64_t tableWidth);
  // Every call and launch goes through these two: what is prepared is what runs.
  template <typename Call> void run(const Call &call) {
    must(onlyPrepares ? library.prepare(stream, call) : library.run(stream, call));
  }
  void launch(const nereid::Kernel &kernel, int64_t programs,
              std::initializer_list<nereid::Argument> arguments);
  void product(const nereid::Tensor &x, const nereid::Tensor &matrix, const nereid::Tensor &y);
  void projections(const Layer &layer, const nereid::Tensor &normed);
  void attend(const Step &step, size_t layer);
  nereid::Tensor forward(const Step &step);

  nereid::Stream stream;
  nereid::Device device;
  nereid::kernels::Library library;
  bool onlyPrepares = false;
  Sizes sizes;
  int64_t maxRows, allWeights = 0;
  Work work;
  nereid::Kernel embedKernel, sampleKernel, sampleNextKernel;
  nereid::Tensor embedding, finalNorm, head, cosines, sines;
  std::vector<Layer> layers;
  // What a step works on; every row but those of `table` is a token.
  nereid::Tensor tokenIds, positions, lengths, steps, slots, table, x, sum, y, branch, q, k, v,
      attended, gateUp, gated, logits, chosen;
};
