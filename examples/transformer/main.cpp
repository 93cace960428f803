// Generates tokens with a small decoder-only transformer of random weights, with a paged cache of
// keys and values and without one, and checks that both give the same logits. Beside its tokens a
// second stands what the machine allows at most, `at most`: the bytes of a step at the rate of
// reading as many, or its operations at the rate of a large product, whichever takes longer; and
// `products`: what the step's products alone allow with the kernels that it takes. Row `graph` is
// the cache's step captured once and run again for each token.
//
// All work is on a stream of the program's own, and all memory of the device comes from one block
// of its own. With `--keys`, what an earlier run recorded in that file is built ahead, and from
// then on nothing may be compiled; a run that finds no such file writes it.
//
//   transformer [--device cpu|cuda:0] [--tokens N] [--prompt N] [--batches 1,4,16]
//               [--temperature T] [--seed N] [--own-kernels FILE] [--keys FILE] [--memory MIB]
//
// Exit code 0: all logits agree; 1: they do not, or something failed; 2: wrong usage.
#include "Pool.h"
#include "Rates.h"
#include "Reference.h"
#include "Transformer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

using namespace nereid;

namespace {

struct Options {
  std::string device = "cpu", ownKernels = EXAMPLE_KERNELS, keys;
  std::vector<int64_t> batches = {1, 4, 16};
  int64_t tokens = 32, prompt = 24, memoryMiB = 512;
  float temperature = 0.8f;
  uint64_t seed = 1;
};

std::optional<Options> parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string name = argv[i], value = argv[i + 1];
    if (name == "--device")
      options.device = value;
    else if (name == "--own-kernels")
      options.ownKernels = value;
    else if (name == "--keys")
      options.keys = value;
    else if (name == "--memory")
      options.memoryMiB = std::atoll(value.c_str());
    else if (name == "--tokens")
      options.tokens = std::atoll(value.c_str());
    else if (name == "--prompt")
      options.prompt = std::atoll(value.c_str());
    else if (name == "--temperature")
      options.temperature = float(std::atof(value.c_str()));
    else if (name == "--seed")
      options.seed = uint64_t(std::atoll(value.c_str()));
    else if (name == "--batches") {
      options.batches.clear();
      std::istringstream numbers(value);
      for (std::string number; std::getline(numbers, number, ',');)
        options.batches.push_back(std::atoll(number.c_str()));
    } else
      return std::nullopt;
  }
  bool good = argc % 2 == 1 && options.tokens > 0 && options.prompt > 0 && options.memoryMiB > 0 &&
              !options.batches.empty();
  for (int64_t batch : options.batches)
    good &= batch > 0;
  return good ? std::optional(options) : std::nullopt;
}

using Sequences = std::vector<std::vector<int32_t>>;

struct Measure {
  double seconds = 0;
  int64_t tokens = 0, peakCache = 0;
  Transformer::Work work;
  size_t nodes = 0;   ///< of the graph
  int64_t pieces = 0; ///< of memory, asked for while decoding
};

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Rows of logits on the host.
std::vector<float> read(const Tensor &logits, int64_t rows) {
  std::vector<float> all(size_t(rows * logits.shape()[1]));
  Tensor some =
      must(Tensor::wrap(logits.device(), logits.data(), DType::Float32, {rows, logits.shape()[1]}));
  must(some.download(all.data()));
  return all;
}

/// The greatest difference relative to the greatest logit; NaN if there is one.
template <typename T> double difference(std::span<const float> found, std::span<const T> expected) {
  double worst = 0, scale = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    double error = std::abs(double(found[i]) - double(expected[i]));
    worst = error <= worst ? worst : error;
    scale = std::max(scale, std::abs(double(expected[i])));
  }
  return worst / scale;
}

Engine makeEngine() {
  EngineOptions options;
  options.onCompile = [](const CompileEvent &event) {
    if (event.frozen && !event.fromDisk)
      std::printf("compiled while frozen: `%s` (%s)\n", event.kernel.c_str(),
                  event.signature.c_str());
  };
  return must(Engine::create(options));
}

class Run {
public:
  Run(const Options &options, const Device &device, const Pool &pool)
      : options(options), device(device), pool(pool), engine(makeEngine()),
        kernels{must(engine.load(options.ownKernels)), must(kernels::Library::create(engine))},
        weights(sizes, options.seed),
        largest(*std::max_element(options.batches.begin(), options.batches.end())),
        model(kernels, must(device.createStream()), sizes, weights,
              std::max(largest, longest(largest))),
        cache(device, sizes, pagesNeeded(), pageTokens) {}

  bool all() {
    const bool isFrozen = !options.keys.empty() && buildAhead();
    const uint64_t compiledBefore = engine.statistics().compiled;
    std::printf("%s: %s; %lld layers of width %lld, %lld query and %lld key heads, %.1f MiB\n",
                device.name().c_str(), device.description().c_str(), (long long)sizes.layers,
                (long long)sizes.width, (long long)sizes.heads, (long long)sizes.keyHeads,
                double(model.weightBytes()) / (1 << 20));
    rates = measureRates(must(kernels.own.kernel("read")), kernels.library, model.queue(),
                         model.weightBytes() + pagesNeeded() * cache.pageBytes);
    std::printf("%.1f MiB are read at %.1f GB/s; a product of %lld^3 in f32 does %.1f Gflop/s\n",
                double(rates.bufferBytes) / (1 << 20), rates.bytesPerSecond * 1e-9,
                (long long)rates.productSize, rates.operationsPerSecond * 1e-9);
    std::printf("%5s  %-12s %10s %14s %12s %10s %10s  %s\n", "batch", "", "tokens/s", "bytes/token",
                "cache KiB", "products", "at most", "bound by");
    bool good = true;
    for (int64_t batch : options.batches)
      good &= one(batch);
    EngineStatistics made = engine.statistics();
    std::printf("%llu kernels compiled, %llu read from the kernel cache\n",
                (unsigned long long)made.compiled, (unsigned long long)made.fromDisk);
    if (isFrozen) {
      const uint64_t late = made.compiled - compiledBefore;
      std::printf("compiled while frozen: %llu\n", (unsigned long long)late);
      good &= late == 0;
    } else if (!options.keys.empty()) {
      good &= writeKeys();
    }
    return good;
  }

private:
  // A line of the file: "own" or "library", a tab, and the key.
  bool buildAhead() {
    std::ifstream file(options.keys);
    if (!file)
      return false;
    std::vector<std::string> own, library;
    for (std::string line; std::getline(file, line);) {
      const size_t end = std::min(line.find('\t'), line.size());
      (line.substr(0, end) == "own" ? own : library)
          .push_back(line.substr(std::min(end + 1, line.size())));
    }
    auto start = std::chrono::steady_clock::now();
    const size_t built =
        must(kernels.own.buildAhead(own)) + must(kernels.library.buildAhead(library));
    std::printf("%zu keys: %zu kernels built ahead in %.1f s\n", own.size() + library.size(), built,
                since(start));
    engine.freeze(Freeze::Warn);
    return true;
  }
  bool writeKeys() const {
    std::ofstream file(options.keys);
    auto own = kernels.own.recordedKeys(), library = kernels.library.recordedKeys();
    for (const std::string &key : own)
      file << "own\t" << key << "\n";
    for (const std::string &key : library)
      file << "library\t" << key << "\n";
    file.close();
    if (!file)
      std::printf("cannot write %s\n", options.keys.c_str());
    else
      std::printf("%zu keys in %s\n", own.size() + library.size(), options.keys.c_str());
    return bool(file);
  }

  static constexpr int64_t pageTokens = 16;
  static constexpr double tolerance = 1e-4;

  /// Prompts differ in length, so that sequences of a batch are of different pages.
  int64_t promptLength(int64_t i) const { return options.prompt + i * 5 % 11; }
  int64_t longest(int64_t batch) const {
    return options.prompt + std::min<int64_t>(10, batch * 5) + options.tokens;
  }
  int64_t pagesNeeded() const {
    int64_t pages = 0;
    for (int64_t i = 0; i < largest; ++i)
      pages += (promptLength(i) + options.tokens + pageTokens - 1) / pageTokens;
    return pages;
  }

  Sequences prompts(int64_t batch) const {
    std::mt19937 generator{unsigned(options.seed)};
    Sequences all;
    for (int64_t i = 0; i < batch; ++i) {
      all.emplace_back();
      for (int64_t t = 0; t < promptLength(i); ++t)
        all.back().push_back(int32_t(generator() % uint64_t(sizes.vocabulary)));
    }
    return all;
  }

  Sampling sampling(size_t sequence = 0) const {
    constexpr int64_t step = 1009; // more than there are sequences
    return {options.temperature, int64_t(options.seed) * 100003 * step + int64_t(sequence), step};
  }

  /// Sequences that are decoded together, with a token each behind their prompts.
  struct Batch {
    std::vector<int64_t> numbers; ///< in the cache
    std::vector<int32_t> newest;
  };
  Batch begin(const Sequences &sequences, std::vector<std::vector<float>> *logits) {
    Batch batch;
    for (size_t i = 0; i < sequences.size(); ++i) {
      batch.numbers.push_back(cache.blocks.open());
      must(cache.blocks.grow(batch.numbers[i], int64_t(sequences[i].size())));
      Tensor row = model.prefill(sequences[i], &cache, batch.numbers[i]);
      if (logits)
        logits->push_back(read(row, 1));
      batch.newest.push_back(model.sample(row, 1, sampling(i), 0)[0]);
    }
    return batch;
  }
  void end(const Batch &batch) {
    // In an order of its own, so that the next sequences get pages that do not follow each other.
    for (size_t first : {0, 1})
      for (size_t i = first; i < batch.numbers.size(); i += 2)
        must(cache.blocks.close(batch.numbers[i]));
  }
  /// Pages of the longest sequence at its end.
  int64_t tableWidth(const Sequences &prompts) const {
    int64_t longest = 0;
    for (const auto &prompt : prompts)
      longest = std::max(longest, int64_t(prompt.size()) + options.tokens - 1);
    return (longest + pageTokens - 1) / pageTokens;
  }

  /// Generates with the cache; `logits` takes each step's rows, if wanted.
  Measure withCache(Sequences &sequences, std::vector<std::vector<float>> *logits) {
    Measure measure;
    kernels::BlockManager &blocks = cache.blocks;
    const int64_t width = tableWidth(sequences);
    Batch batch = begin(sequences, logits);
    model.takeWork();
    auto start = std::chrono::steady_clock::now();
    for (int64_t step = 1;; ++step) {
      for (size_t i = 0; i < sequences.size(); ++i)
        sequences[i].push_back(batch.newest[i]);
      if (step == options.tokens)
        break;
      for (int64_t number : batch.numbers)
        must(blocks.grow(number, 1));
      Tensor rows = model.decode(batch.newest, cache, batch.numbers, width);
      if (logits)
        logits->push_back(read(rows, int64_t(sequences.size())));
      batch.newest = model.sample(rows, int64_t(sequences.size()), sampling(), step);
      measure.tokens += int64_t(sequences.size());
    }
    measure.seconds = since(start);
    measure.work = model.takeWork();
    measure.peakCache = cache.usedBytes();
    end(batch);
    return measure;
  }

  /// The same with one graph, which is run for each step; the host reads the tokens of each.
  Measure withGraph(Sequences &sequences, const Transformer::Work &work) {
    Measure measure;
    const int64_t width = tableWidth(sequences);
    Batch batch = begin(sequences, nullptr);
    std::vector<int32_t> lengths;
    for (size_t i = 0; i < sequences.size(); ++i) {
      must(cache.blocks.grow(batch.numbers[i], options.tokens - 1));
      lengths.push_back(int32_t(sequences[i].size()) + 1);
      sequences[i].push_back(batch.newest[i]);
    }
    Graph graph =
        model.captureSteps(batch.newest, lengths, cache, batch.numbers, width, sampling(), 1);
    measure.nodes = graph.nodeCount();
    const int64_t piecesBefore = pool.use().pieces;
    auto start = std::chrono::steady_clock::now();
    for (int64_t step = 1; step < options.tokens; ++step) {
      must(model.queue().launch(graph));
      auto newest = model.newestTokens(int64_t(sequences.size()));
      for (size_t i = 0; i < sequences.size(); ++i)
        sequences[i].push_back(newest[i]);
      measure.tokens += int64_t(sequences.size());
    }
    measure.seconds = since(start);
    measure.work = work;
    measure.pieces = pool.use().pieces - piecesBefore;
    measure.peakCache = cache.usedBytes();
    model.takeWork();
    end(batch);
    return measure;
  }

  /// The same tokens, each after all before it were computed again.
  Measure withoutCache(const Sequences &finished, const Sequences &prompts) {
    Measure measure;
    model.takeWork();
    auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < finished.size(); ++i)
      for (size_t length = prompts[i].size() + 1; length < finished[i].size(); ++length) {
        Tensor row = model.prefill(std::span(finished[i]).first(length));
        model.sample(row, 1, sampling(), 0);
        ++measure.tokens;
      }
    measure.seconds = since(start);
    measure.work = model.takeWork();
    return measure;
  }

  /// The greatest difference between the logits of the cache's steps and those of computing each
  /// sequence anew.
  double worstLogits(const Sequences &finished, const Sequences &prompts,
                     const std::vector<std::vector<float>> &logits) {
    double worst = 0;
    const size_t batch = finished.size(), row = size_t(sizes.vocabulary);
    for (size_t i = 0; i < batch; ++i)
      for (size_t step = 0; step < size_t(options.tokens); ++step) {
        auto found = step == 0 ? std::span(logits[i])
                               : std::span(logits[batch + step - 1]).subspan(i * row, row);
        auto expected =
            read(model.prefill(std::span(finished[i]).first(prompts[i].size() + step)), 1);
        double one = difference<float>(found, expected);
        worst = one <= worst ? worst : one;
      }
    return worst;
  }

  bool one(int64_t batch) {
    const Sequences start = prompts(batch);
    Sequences finished = start;
    std::vector<std::vector<float>> logits;
    withCache(finished, &logits); // compiles what is not in the kernel cache yet
    double worst = worstLogits(finished, start, logits);

    Sequences again = start;
    Measure cached = withCache(again, nullptr);
    Sequences replayed = start;
    Measure captured = withGraph(replayed, cached.work);
    Measure anew = withoutCache(finished, start);
    model.decodeProducts(batch); // compiles
    must(model.queue().beginCapture());
    model.decodeProducts(batch);
    Graph productGraph = must(model.queue().endCapture());
    double productSeconds =
        fastestSeconds(model.queue(), [&] { must(model.queue().launch(productGraph)); });
    model.takeWork();
    auto print = [&](const char *how, const Measure &measure, const char *products) {
      const auto &[bytes, operations] = measure.work;
      double tokens = double(std::max<int64_t>(measure.tokens, 1));
      double least = rates.secondsFor(bytes, operations);
      std::printf("%5lld  %-12s %10.1f %14.0f %12.1f %10s %10.1f  %s\n", (long long)batch, how,
                  double(measure.tokens) / measure.seconds, double(bytes) / tokens,
                  double(measure.peakCache) / 1024, products, least > 0 ? tokens / least : 0,
                  rates.boundByBytes(bytes, operations) ? "bytes" : "operations");
    };
    char products[32];
    std::snprintf(products, sizeof products, "%.1f", double(batch) / productSeconds);
    print("cache", cached, products);
    print("graph", captured, products);
    print("no cache", anew, "");
    bool good = report("cached and recomputed logits", worst);
    // Of the last sequence's last step, against plain loops.
    auto expected = referenceLogits(sizes, weights,
                                    std::span(finished.back()).first(finished.back().size() - 1));
    auto &last = logits.back();
    good &= report("cached logits and plain loops",
                   difference<double>(std::span(last).last(size_t(sizes.vocabulary)), expected));
    if (again != finished) {
      std::printf("       the same seed gave other tokens\n");
      good = false;
    }
    std::printf(
        "       a graph of %zu nodes gives %s tokens, and %lld pieces of memory were made\n",
        captured.nodes, replayed == finished ? "the same" : "OTHER", (long long)captured.pieces);
    good &= replayed == finished && captured.pieces == 0;
    std::printf("       tokens:");
    for (size_t i = start[0].size(); i < std::min(finished[0].size(), start[0].size() + 16); ++i)
      std::printf(" %d", finished[0][i]);
    std::printf("\n");
    return good;
  }

  static bool report(const char *what, double worst) {
    bool good = worst <= tolerance;
    std::printf("       %s %s: %.2g of the greatest, at most %.2g\n", what,
                good ? "agree" : "DIFFER", worst, tolerance);
    return good;
  }

  Options options;
  Device device;
  const Pool &pool;
  Engine engine;
  Kernels kernels;
  Sizes sizes;
  Weights weights;
  int64_t largest;
  Transformer model;
  PagedCache cache;
  Rates rates{};
};

} // namespace

int main(int argc, char **argv) try {
  auto options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "usage: transformer [--device cpu|cuda:0] [--tokens N] [--prompt N]\n"
                         "                   [--batches 1,4,16] [--temperature T] [--seed N]\n"
                         "                   [--own-kernels FILE] [--keys FILE] [--memory MIB]\n");
    return 2;
  }
  Device device = must(Device::open(options->device));
  auto pool = std::make_shared<Pool>(device, size_t(options->memoryMiB) << 20);
  device.setAllocator(pool);
  bool good = Run(*options, device, *pool).all();
  device.setAllocator(nullptr);
  const auto [current, peak, pieces] = pool->use();
  std::printf(
      "memory: %lld pieces of a block of %zu MiB, at most %.1f MiB at a time, %zu bytes left\n",
      (long long)pieces, pool->size() >> 20, double(peak) / (1 << 20), current);
  return good && current == 0 ? 0 : 1;
} catch (const std::exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
