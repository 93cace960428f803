// Generates tokens with a small decoder-only transformer of random weights, with a paged cache of
// keys and values and without one, and checks that both give the same logits. Beside its tokens a
// second stands what the machine allows at most, `at most`: the bytes of a step at the rate of
// reading as many, or its operations at the rate of a large product, whichever takes longer; and
// `products`: what the step's products alone allow with the kernels that it takes.
//
//   transformer [--device cpu|cuda:0] [--tokens N] [--prompt N] [--batches 1,4,16]
//               [--temperature T] [--seed N] [--own-kernels FILE]
//
// Exit code 0: all logits agree; 1: they do not, or something failed; 2: wrong usage.
#include "Rates.h"
#include "Reference.h"
#include "Transformer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>

using namespace nereid;

namespace {

struct Options {
  std::string device = "cpu", ownKernels = EXAMPLE_KERNELS;
  std::vector<int64_t> batches = {1, 4, 16};
  int64_t tokens = 32, prompt = 24;
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
  bool good = argc % 2 == 1 && options.tokens > 0 && options.prompt > 0 && !options.batches.empty();
  for (int64_t batch : options.batches)
    good &= batch > 0;
  return good ? std::optional(options) : std::nullopt;
}

using Sequences = std::vector<std::vector<int32_t>>;

struct Measure {
  double seconds = 0;
  int64_t tokens = 0, peakCache = 0;
  Transformer::Work work;
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

class Run {
public:
  Run(const Options &options)
      : options(options), device(must(Device::open(options.device))),
        engine(must(Engine::create())), weights(sizes, options.seed),
        largest(*std::max_element(options.batches.begin(), options.batches.end())),
        model(engine, device, options.ownKernels, sizes, weights,
              std::max(largest, longest(largest))),
        cache(device, sizes, pagesNeeded(), pageTokens) {}

  bool all() {
    std::printf("%s: %s; %lld layers of width %lld, %lld query and %lld key heads, %.1f MiB\n",
                device.name().c_str(), device.description().c_str(), (long long)sizes.layers,
                (long long)sizes.width, (long long)sizes.heads, (long long)sizes.keyHeads,
                double(model.weightBytes()) / (1 << 20));
    rates = measureRates(engine, device, options.ownKernels,
                         model.weightBytes() + pagesNeeded() * cache.pageBytes);
    std::printf("%.1f MiB are read at %.1f GB/s; a product of %lld^3 in f32 does %.1f Gflop/s\n",
                double(rates.bufferBytes) / (1 << 20), rates.bytesPerSecond * 1e-9,
                (long long)rates.productSize, rates.operationsPerSecond * 1e-9);
    std::printf("%5s  %-12s %10s %14s %12s %10s %10s  %s\n", "batch", "", "tokens/s", "bytes/token",
                "cache KiB", "products", "at most", "bound by");
    bool good = true;
    for (int64_t batch : options.batches)
      good &= one(batch);
    EngineStatistics kernels = engine.statistics();
    std::printf("%llu kernels compiled, %llu read from the kernel cache\n",
                (unsigned long long)kernels.compiled, (unsigned long long)kernels.fromDisk);
    return good;
  }

private:
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

  /// Generates with the cache; `logits` takes each step's rows, if wanted.
  Measure withCache(Sequences &sequences, std::vector<std::vector<float>> *logits) {
    Measure measure;
    kernels::BlockManager &blocks = cache.blocks;
    std::vector<int64_t> numbers;
    std::vector<int32_t> newest;
    for (size_t i = 0; i < sequences.size(); ++i) {
      numbers.push_back(blocks.open());
      must(blocks.grow(numbers[i], int64_t(sequences[i].size())));
      Tensor row = model.prefill(sequences[i], &cache, numbers[i]);
      if (logits)
        logits->push_back(read(row, 1));
      newest.push_back(model.sample(row, 1, options.temperature, seedOf(0, i))[0]);
    }
    model.takeWork();
    auto start = std::chrono::steady_clock::now();
    for (int64_t step = 1;; ++step) {
      for (size_t i = 0; i < sequences.size(); ++i)
        sequences[i].push_back(newest[i]);
      if (step == options.tokens)
        break;
      for (int64_t number : numbers)
        must(blocks.grow(number, 1));
      Tensor rows = model.decode(newest, cache, numbers);
      if (logits)
        logits->push_back(read(rows, int64_t(sequences.size())));
      newest = model.sample(rows, int64_t(sequences.size()), options.temperature, seedOf(step, 0));
      measure.tokens += int64_t(sequences.size());
    }
    measure.seconds = since(start);
    measure.work = model.takeWork();
    measure.peakCache = cache.usedBytes();
    // In an order of its own, so that the next sequences get pages that do not follow each other.
    for (size_t i = 0; i < numbers.size(); i += 2)
      must(blocks.close(numbers[i]));
    for (size_t i = 1; i < numbers.size(); i += 2)
      must(blocks.close(numbers[i]));
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
        model.sample(row, 1, options.temperature, options.seed);
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
    Measure anew = withoutCache(finished, start);
    double productSeconds = fastestSeconds(model.queue(), [&] { model.decodeProducts(batch); });
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

  uint64_t seedOf(int64_t step, size_t sequence) const {
    return (options.seed * 100003 + uint64_t(step)) * 1009 + sequence;
  }

  Options options;
  Device device;
  Engine engine;
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
                         "                   [--own-kernels FILE]\n");
    return 2;
  }
  return Run(*options).all() ? 0 : 1;
} catch (const std::exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
