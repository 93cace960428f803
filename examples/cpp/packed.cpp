// Launches a kernel from a pack. Links `nereid_runtime`: there is no compiler in this process.
//
//   nereid compile written_twice.py:add --signature "*fp32:16, *fp32:16, *fp32:16, i32, 1024" \
//     --emit pack --grid "cdiv(n, BLOCK)" -o kernels.pack
//   packed kernels.pack
#include "tensors.h"

#include <nereid/pack.h>

#include <cstdio>
#include <fstream>
#include <string>

using namespace nereid;

int main(int argc, char **argv) try {
  Device device = must(Device::open("cpu"));
  Pack pack = must(Pack::open(argc > 1 ? argv[1] : "kernels.pack"));
  std::printf("%zu kernels\n", pack.kernels().size());

  const int64_t n = 100000;
  auto x = randomNumbers(n, 1), y = randomNumbers(n, 2);
  Tensor xs = upload(device, x, {n}), ys = upload(device, y, {n});
  Tensor out = must(Tensor::empty(device, DType::Float32, {n}));
  PackedKernel add = must(pack.kernel("add"));
  add(device.stream(), {blocks(n, 1024)}, xs, ys, out, n, named("BLOCK", 1024));
  std::vector<float> sums = download(out);
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i)
    wrong += sums[size_t(i)] != x[size_t(i)] + y[size_t(i)];
  std::printf("%lld of %lld sums are wrong\n", (long long)wrong, (long long)n);

  // Without a grid the launch takes the one that the pack brings along.
  must(add.launch(device.stream(), {xs, xs, out, n, named("BLOCK", 1024)}));
  sums = download(out);
  for (int64_t i = 0; i < n; ++i)
    wrong += sums[size_t(i)] != 2 * x[size_t(i)];

  // What the pack lacks is refused, not compiled.
  Status refused = add.launch(device.stream(), {1}, {xs, ys, out, n, named("BLOCK", 64)});
  std::printf("refused: %s\n", refused ? "no" : refused.error().what.c_str());

  std::string line;
  int compilers = 0;
  for (std::ifstream maps("/proc/self/maps"); std::getline(maps, line);)
    compilers += line.find("LLVM") != line.npos || line.find("MLIR") != line.npos ||
                 line.find("libnereid.so") != line.npos;
  std::printf("%s compiler is loaded\n", compilers ? "a" : "no");
  return wrong || compilers || refused;
} catch (const Exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
