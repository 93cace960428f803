// Decoding with a paged cache: a loop of launches, and the same step as a graph.
//
//   decode ROOT [DEVICE]
#include "common.h"

#include <chrono>

namespace {

constexpr int64_t heads = 8, kvHeads = 2, D = 32, page = 16, tokens = 70,
                  pages = (tokens + page - 1) / page;

/// Everything that a step reads and writes, at places that stay: what a graph needs.
struct Decoder {
  Decoder(const Engine &engine, const std::string &root, const Device &device,
          const std::vector<float> &qs, const std::vector<float> &ks, const std::vector<float> &vs)
      : device(device),
        own(must(engine.load(root + "/examples/exercises/ex_19_kv_cache/kernel.py"))),
        library(must(engine.load(root + "/kernels/paged_attention/kernel.py"))),
        next(must(own.kernel("next_token"))), keep(must(own.kernel("keep"))),
        append(must(library.kernel("append"))), attend(must(library.kernel("decode"))),
        allQ(upload(device, qs, {tokens, heads, D})),
        allK(upload(device, ks, {tokens, kvHeads, D})),
        allV(upload(device, vs, {tokens, kvHeads, D})), q(empty(device, {heads, D})),
        k(empty(device, {kvHeads, D})), v(empty(device, {kvHeads, D})),
        kCache(empty(device, {pages, page, kvHeads, D})),
        vCache(empty(device, {pages, page, kvHeads, D})), out(empty(device, {heads, D})),
        allOut(empty(device, {tokens, heads, D})),
        table(must(Tensor::empty(device, DType::Int32, {1, pages}))),
        lengths(must(Tensor::empty(device, DType::Int32, {1}))) {
    std::vector<int32_t> places;
    for (int32_t i = 0; i < pages; ++i)
      places.push_back(pages - 1 - i); // any order will do
    must(table.upload(places.data()));
    restart();
  }

  void restart() {
    int32_t none = 0;
    must(lengths.upload(&none));
  }

  void step(const Stream &stream) {
    const int64_t row = kvHeads * D;
    next(stream, {1}, allQ, allK, allV, q, k, v, lengths, heads * D, row, named("BLOCK", 256));
    append(stream, {1, 1}, k, v, kCache, vCache, table, lengths, row, page * row, pages, row, row,
           named("PAGE", page), named("BLOCK", 512));
    attend(stream, {1, uint32_t(kvHeads)}, q, kCache, vCache, table, lengths, out, kvHeads,
           heads / kvHeads, 1 / std::sqrt(float(D)), page * row, pages, heads * D, named("D", D),
           named("BLOCK_D", D), named("BLOCK_G", 16), named("PAGE", page), named("BLOCK_N", 32),
           named("PRECISION", "ieee"));
    keep(stream, {1}, out, allOut, lengths, heads * D, named("BLOCK", 256));
  }

  Device device;
  Program own, library;
  Kernel next, keep, append, attend;
  Tensor allQ, allK, allV, q, k, v, kCache, vCache, out, allOut, table, lengths;
};

std::vector<double> byFormula(const std::vector<float> &qs, const std::vector<float> &ks,
                              const std::vector<float> &vs) {
  std::vector<double> wanted(size_t(tokens * heads * D));
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < heads; ++h) {
      int64_t kv = h / (heads / kvHeads);
      std::vector<double> weights;
      double sum = 0;
      for (int64_t s = 0; s <= t; ++s) {
        double score = 0;
        for (int64_t d = 0; d < D; ++d)
          score += double(qs[(t * heads + h) * D + d]) * ks[(s * kvHeads + kv) * D + d];
        weights.push_back(std::exp(score / std::sqrt(double(D))));
        sum += weights.back();
      }
      for (int64_t s = 0; s <= t; ++s)
        for (int64_t d = 0; d < D; ++d)
          wanted[(t * heads + h) * D + d] += weights[s] / sum * vs[(s * kvHeads + kv) * D + d];
    }
  return wanted;
}

} // namespace

int main(int argc, char **argv) {
  return exercise(argc, argv, [](const std::string &root, const Device &device, Engine engine) {
    auto qs = randomNumbers(tokens * heads * D, 1), ks = randomNumbers(tokens * kvHeads * D, 2),
         vs = randomNumbers(tokens * kvHeads * D, 3);
    Decoder decoder(engine, root, device, qs, ks, vs);
    auto wanted = byFormula(qs, ks, vs);
    Stream stream = must(device.createStream());
    decoder.step(stream); // compiles
    must(stream.synchronize());

    using Clock = std::chrono::steady_clock;
    bool good = true;
    auto decodeAll = [&](const char *name, auto step) {
      decoder.restart();
      auto start = Clock::now();
      for (int64_t t = 0; t < tokens; ++t)
        step();
      must(stream.synchronize());
      double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      std::printf("%s: %.0f tokens a second\n", name, double(tokens) / seconds);
      good &= equal("  outputs", download(decoder.allOut), wanted, 1e-5);
    };
    decodeAll("a loop of launches", [&] { decoder.step(stream); });

    must(stream.beginCapture());
    decoder.step(stream);
    Graph graph = must(stream.endCapture());
    decodeAll("a graph of one step", [&] { must(stream.launch(graph)); });
    return good && graph.nodeCount() == 4;
  });
}
