// A start with everything built: ten kernels from a pack, launched once each. `startup.py` makes
// the pack and times the process.
#include <nereid/pack.h>

#include <cstdio>

using namespace nereid;

int main(int, char **argv) try {
  Device device = must(Device::open("cpu"));
  Pack pack = must(Pack::open(argv[1]));
  alignas(64) static float memory[3][1 << 16];
  for (int i = 0; i < (1 << 16); ++i)
    memory[0][i] = memory[1][i] = 1;
  const float *x = memory[0], *y = memory[1];
  float *out = memory[2];
  PackedKernel add = must(pack.kernel("add")), softmax = must(pack.kernel("softmax")),
               matmul = must(pack.kernel("matmul")), attention = must(pack.kernel("attention"));
  const Stream &stream = device.stream();
  for (int block : {128, 256, 512, 1024}) {
    add(stream, {4}, x, y, out, 1000, named("BLOCK", block));
    softmax(stream, {4}, x, out, 100, 100, named("BLOCK", block));
  }
  matmul(stream, {2, 2}, x, y, out, 64, 64, 64, 32, 32, 32, true);
  attention(stream, {2, 1}, x, y, x, out, 64, 0.125f, 32, 32, 32, true);
  must(stream.synchronize());
  return out[0] == 1 ? 0 : 1;
} catch (const Exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 2;
}
