// Runs the kernels of written_twice.h and those of written_twice.py on the same numbers.
//
//   written_twice FILE_OF_WRITTEN_TWICE_PY [DEVICE]
#include "written_twice.h"
#include "tensors.h"

#include <nereid/engine.h>

#include <cstdio>
#include <cstring>

using namespace nereid;

namespace {

Tensor randomTensor(const Device &device, Shape shape, unsigned seed) {
  size_t count = 1;
  for (int64_t size : shape.sizes)
    count *= size_t(size);
  return upload(device, randomNumbers(count, seed), shape);
}

} // namespace

int main(int argc, char **argv) try {
  Device device = must(Device::open(argc > 2 ? argv[2] : "cpu"));
  Engine engine = must(Engine::create());
  Program programs[] = {must(engine.load(written_twice::module())),
                        must(engine.load(argc > 1 ? argv[1] : "written_twice.py"))};

  const int64_t n = 1000, rows = 50, m = 70, k = 90, heads = 2, queries = 100, d = 32;
  Tensor a = randomTensor(device, {rows, n}, 1), b = randomTensor(device, {rows, n}, 2);
  Tensor q = randomTensor(device, {heads, queries, d}, 3),
         keys = randomTensor(device, {heads, queries, d}, 4),
         values = randomTensor(device, {heads, queries, d}, 5);
  int differ = 0;
  for (const char *name : {"add", "softmax", "matmul", "attention"}) {
    std::vector<float> results[2];
    for (int i = 0; i < 2; ++i) {
      Kernel kernel = must(programs[i].kernel(name));
      Tensor out = randomTensor(device, {rows, n}, 6);
      const Stream &stream = device.stream();
      if (!std::strcmp(name, "add"))
        kernel(stream, {blocks(rows * n, 1024)}, a, b, out, rows * n, named("BLOCK", 1024));
      else if (!std::strcmp(name, "softmax"))
        kernel(stream, {uint32_t(rows)}, a, out, n, n, named("BLOCK", 1024));
      else if (!std::strcmp(name, "matmul"))
        kernel(stream, {blocks(m, 32), blocks(m, 32)}, a, b, out, m, m, k, named("BM", 32),
               named("BN", 32), named("BK", 32), named("RELU", true));
      else
        kernel(stream, {blocks(queries, 32), uint32_t(heads)}, q, keys, values, out, queries, 0.2f,
               named("D", d), named("BM", 32), named("BN", 32), named("CAUSAL", true));
      must(stream.synchronize());
      results[i] = download(out);
    }
    bool same = results[0] == results[1];
    std::printf("%-10s %s\n", name, same ? "same" : "DIFFERENT");
    differ += !same;
  }
  return differ;
} catch (const Exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
