// Does a process that compiles and launches without end stay as it is? Each generation is an engine
// that compiles many kernels that no one compiled before, launches each a few times, compares what
// it wrote, and goes. Memory, mappings, threads and open files after a generation must be those
// after the second one.
//
//   soak [COMPILES] [DEVICE]
#include <nereid/engine.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <string>

using namespace nereid;

namespace {

constexpr int generation = 100; ///< compiles
constexpr int launches = 4;     ///< of each kernel
constexpr int64_t elements = 1000;
/// What a generation may leave behind: the allocator's pages move by so much from one to the next.
constexpr double megabytesASteadyProcessMoves = 8;

struct Held {
  double megabytes = 0; ///< resident, after freed pages went back
  int mappings = 0, files = 0, threads = 0;
};

int entries(const char *folder) {
  int count = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(folder))
    ++count;
  return count;
}

Held held() {
  ::malloc_trim(0);
  Held now;
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  now.megabytes = double(resident) * 4096 / 1e6;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    ++now.mappings;
  now.files = entries("/proc/self/fd");
  now.threads = entries("/proc/self/task");
  return now;
}

// Kernels of several kinds; `number` makes each a new one. All compute y = x * number + a value.
std::string source(int number) {
  std::string n = std::to_string(number) + ".0";
  const char *head = "import triton\nimport triton.language as tl\n\n"
                     "@triton.jit\n"
                     "def add(a, b):\n"
                     "    return a + b\n\n"
                     "@triton.jit\n"
                     "def soak(x, y, n, BLOCK: tl.constexpr):\n"
                     "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                     "    a = tl.load(x + i, mask=i < n, other=0.0)\n";
  const std::string bodies[] = {
      "    r = a * " + n + "\n",
      "    r = add(a * " + n + ", tl.zeros([BLOCK], tl.float32))\n",
      "    r = a\n"
      "    for k in range(0, 3):\n"
      "        r += tl.where(k == 1, a * (" +
          n + " - 1.0), 0.0)\n",
      "    s = tl.sum(tl.where(i < n, 1.0, 0.0), axis=0)\n"
      "    r = tl.where(s > -1.0, a * " +
          n + ", 0.0)\n",
      "    t = tl.reshape(a, [BLOCK // 4, 4]) * " + n +
          "\n"
          "    r = tl.reshape(tl.trans(tl.trans(t)), [BLOCK])\n",
      "    tl.device_assert(n > 0, \"nothing\")\n"
      "    r = tl.fma(a, " +
          n + ", 0.0)\n",
  };
  return head + bodies[size_t(number) % std::size(bodies)] + "    tl.store(y + i, r, mask=i < n)\n";
}

// One kernel, from text to numbers.
bool compileAndLaunch(const Engine &engine, const Device &device, const Tensor &x, const Tensor &y,
                      const std::vector<float> &values, int number) {
  Program program = must(engine.loadText(source(number)));
  Kernel kernel = must(program.kernel("soak"));
  for (int i = 0; i < launches; ++i)
    kernel(device.stream(), Grid{uint32_t((elements + 255) / 256)}, x, y, elements,
           named("BLOCK", 256));
  std::vector<float> out(values.size());
  must(y.download(out.data()));
  for (size_t i = 0; i < out.size(); ++i)
    if (std::abs(out[i] - values[i] * float(number)) > 1e-5f * std::abs(out[i])) {
      std::printf("kernel %d: y[%zu] is %g, not %g\n", number, i, double(out[i]),
                  double(values[i]) * number);
      return false;
    }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  int compiles = argc > 1 ? std::atoi(argv[1]) : 1000;
  Device device = must(Device::open(argc > 2 ? argv[2] : "cpu"));
  std::vector<float> values(elements);
  for (int64_t i = 0; i < elements; ++i)
    values[size_t(i)] = float(i % 97) - 48;
  Tensor x = must(Tensor::empty(device, DType::Float32, {elements}));
  Tensor y = must(Tensor::empty(device, DType::Float32, {elements}));
  must(x.upload(values.data()));

  auto start = std::chrono::steady_clock::now();
  Held first, last;
  std::printf("%10s %12s %10s %8s %8s %10s\n", "compiles", "resident MB", "mappings", "files",
              "threads", "seconds");
  int done = 0;
  for (int round = 0; done < compiles || round < 3; ++round) {
    {
      EngineOptions options;
      options.cacheOnDisk = false;
      Engine engine = must(Engine::create(options));
      for (int i = 0; i < generation; ++i)
        if (!compileAndLaunch(engine, device, x, y, values, ++done))
          return 1;
      if (engine.statistics().compiled != uint64_t(generation)) {
        std::printf("%d kernels were compiled, not %d\n", int(engine.statistics().compiled),
                    generation);
        return 1;
      }
    }
    last = held();
    if (round == 1)
      first = last;
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%10d %12.1f %10d %8d %8d %10.1f\n", done, last.megabytes, last.mappings,
                last.files, last.threads, seconds.count());
    std::fflush(stdout);
  }
  double grown = last.megabytes - first.megabytes;
  bool steady = grown < megabytesASteadyProcessMoves && last.files == first.files &&
                last.threads == first.threads && last.mappings - first.mappings < 50;
  std::printf(
      "soak: %d compiles, %d launches on %s: %+.1f MB, %+d mappings, %+d files, %+d threads: %s\n",
      done, done * launches, device.name().c_str(), grown, last.mappings - first.mappings,
      last.files - first.files, last.threads - first.threads, steady ? "steady" : "IT GROWS");
  return steady ? 0 : 1;
}
