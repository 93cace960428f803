// Kernels of kernels/ on one thread of the CPU, as ratios: products and attention to the peak of
// the multiply-add unit, row-wise kernels to plain loops compiled by clang -O3 -march=native. The
// peaks and the loops (bench/peers/loops.cpp) are measured in the same rounds. Arguments choose
// rows by a part of their names; `--seconds=S` measures each for so long, `--peers=FILE.so` has the
// loops, compiled elsewhere, for a machine with no compiler. Then, with one thread a
// processor that this process may use (`taskset`), a product as a ratio to one thread, and kernels
// on tensors that no cache holds as ratios to a copy of memory. `curve` chooses tables of the best
// tiles by type, size and threads, which take minutes, and `order` what the order of programs is
// worth.
#include "engine/Compile.h"
#include "engine/Files.h"
#include "engine/Runner.h"
#include "runtime/CpuDevice.h"
#include "runtime/ThreadPool.h"
#include "target/Cpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <thread>

using namespace nereid;
using engine::HostArgument;
using support::HostTensor;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
// Time that this thread has had a processor: on a busy machine the only one that says something
// about work of milliseconds.
double processorTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

[[noreturn]] void die(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// The peers, compiled for this machine unless a library of them is given.
class Peers {
public:
  explicit Peers(const char *compiled) {
    std::string base = compiled ? compiled : "/tmp/nereid-peers-" + std::to_string(now());
    std::string command = "clang++-19 -O3 -march=native -ffast-math -fveclib=libmvec -shared "
                          "-fPIC " NEREID_SOURCE_DIR "/bench/peers/loops.cpp -o " +
                          base;
    if (!compiled && std::system(command.c_str()) != 0)
      die("cannot compile bench/peers/loops.cpp (where no clang++-19 is, give --peers=FILE.so)");
    library = dlopen(base.c_str(), RTLD_NOW);
    if (!compiled)
      std::remove(base.c_str());
    if (!library)
      die(dlerror());
  }
  template <typename F> F *find(const char *name) {
    return reinterpret_cast<F *>(dlsym(library, name));
  }

private:
  void *library;
};

HostTensor normal(DType dtype, std::vector<int64_t> shape, const char *seed) {
  HostTensor tensor(dtype, std::move(shape));
  support::fillNormal(tensor, seed);
  return tensor;
}

// Large ones are one part again and again.
HostTensor normalRows(int64_t m, int64_t n, const char *seed) {
  HostTensor part = normal(DType::Float32, {std::min<int64_t>(m, 64), n}, seed);
  HostTensor tensor(DType::Float32, {m, n});
  for (int64_t row = 0; row < m; row += 64)
    std::memcpy(static_cast<float *>(tensor.data()) + row * n, part.data(),
                size_t(std::min<int64_t>(m - row, 64) * n) * sizeof(float));
  return tensor;
}

HostTensor bytes(std::vector<int64_t> shape, unsigned seed) {
  HostTensor tensor(DType::Int8, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.numel(); ++i)
    tensor.setInt(i, int8_t(random()));
  return tensor;
}

HostArgument integer(int64_t value) {
  HostArgument out;
  out.value = launch::Argument::integer(value);
  return out;
}
HostArgument real(double value) {
  HostArgument out;
  out.value = launch::Argument::floating(value);
  return out;
}
HostArgument boolean(bool value) {
  HostArgument out;
  out.value = launch::Argument::boolean(value);
  return out;
}
HostArgument none() {
  HostArgument out;
  out.value = launch::Argument::none();
  return out;
}
HostArgument word(const char *text) {
  HostArgument out;
  out.text = text;
  out.value.kind = launch::Argument::Kind::String;
  return out;
}
HostArgument of(HostTensor &tensor, const char *name) {
  HostArgument out;
  out.tensor = &tensor;
  out.name = name;
  return out;
}

// One kernel with its arguments, ready to launch again and again.
class Case {
public:
  Case(const std::string &folder, const std::string &kernel, std::vector<HostArgument> arguments,
       std::array<uint32_t, 3> grid, const char *file = "kernel.py") {
    auto loaded = engine::loadProgram(NEREID_SOURCE_DIR "/kernels/" + folder + "/" + file, {});
    if (!loaded)
      die(loaded.error().what);
    program = std::move(*loaded);
    request.program = program.get();
    request.kernel = kernel;
    request.arguments = std::move(arguments);
    // The rest has defaults.
    auto signature = engine::signatureOf(*program, kernel);
    if (!signature)
      die(signature.error().what);
    HostArgument rest;
    rest.value.kind = launch::Argument::Kind::Default;
    request.arguments.resize(std::max(request.arguments.size(), signature->parameters.size()),
                             rest);
    request.grid = grid;
    auto made = engine::Runner::create("cpu");
    if (!made)
      die(made.error().what);
    runner = std::move(*made);
    for (HostArgument &argument : request.arguments)
      if (argument.tensor)
        if (Status status = runner->bind(*argument.tensor, argument.name); !status)
          die(status.error().what);
  }
  double seconds() {
    auto outcome = runner->run(request);
    if (!outcome)
      die(outcome.error().what + (outcome.error().diagnostics.empty()
                                      ? ""
                                      : ": " + outcome.error().diagnostics[0].message));
    return outcome->seconds;
  }

  // Of this thread, at most: the clock counts what others do meanwhile, processor time the host's
  // part of a launch.
  double ownSeconds() {
    double start = processorTime(), clock = seconds();
    return std::min(clock, processorTime() - start);
  }

private:
  std::unique_ptr<emit::Program> program;
  std::unique_ptr<engine::Runner> runner;
  engine::RunRequest request;
};

struct Blocks {
  int m, n, k;
  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};
constexpr int64_t productSizes[] = {128, 256, 300, 512, 777, 1000, 1024, 2048};
constexpr Blocks productBlocks[] = {{64, 64, 64},    {128, 128, 64}, {128, 128, 128},
                                    {256, 256, 128}, {64, 256, 128}, {128, 128, 256},
                                    {128, 256, 256}};

// A square product with its operands; of bytes, with K adjacent in both.
struct Product {
  Product(DType dtype, int64_t size, Blocks blocks)
      : size(size), a(operand(dtype, size, 1)), b(operand(dtype, size, 2)),
        c(dtype == DType::Int8 ? DType::Float32 : dtype, {size, size}), scale(DType::Float32, {1}),
        kernel(dtype == DType::Int8 ? ofBytes(blocks) : ofFloats(blocks)) {}
  double operations() const { return 2.0 * size * size * size; }

  int64_t size;
  HostTensor a, b, c, scale;
  Case kernel;

private:
  static HostTensor operand(DType dtype, int64_t size, unsigned seed) {
    return dtype == DType::Int8 ? bytes({size, size}, seed)
                                : normal(dtype, {size, size}, seed == 1 ? "a" : "b");
  }
  std::array<uint32_t, 3> grid(Blocks blocks) const {
    return {uint32_t((size + blocks.m - 1) / blocks.m * ((size + blocks.n - 1) / blocks.n)), 1, 1};
  }
  Case ofFloats(Blocks blocks) {
    return Case("matmul", "matmul",
                {of(a, "a"), of(b, "b"), none(), of(c, "c"), integer(size), integer(size),
                 integer(size), integer(size), integer(1), integer(size), integer(1), integer(size),
                 integer(1), integer(blocks.m), integer(blocks.n), integer(blocks.k), integer(8),
                 word("none"), word("ieee")},
                grid(blocks));
  }
  Case ofBytes(Blocks blocks) {
    float one = 1;
    std::memcpy(scale.data(), &one, sizeof(one));
    return Case("matmul_scaled", "matmul_scaled",
                {of(a, "a"), of(b, "b"), of(scale, "s"), of(scale, "s"), none(), of(c, "c"), none(),
                 integer(size), integer(size), integer(size), integer(size), integer(size),
                 integer(size), integer(blocks.m), integer(blocks.n), integer(blocks.k), integer(8),
                 boolean(size % blocks.k == 0), boolean(true)},
                grid(blocks));
  }
};

double secondsEach = 1;

// `a` and `b` measured in turn: the time that one of ten rounds stays below, since the machine
// may be busy with other things.
std::pair<double, double> measure(const std::function<double()> &a,
                                  const std::function<double()> &b) {
  std::vector<double> x, y;
  a();
  b();
  double end = now() + secondsEach;
  while ((now() < end || x.size() < 5) && x.size() < 400) {
    x.push_back(a());
    y.push_back(b());
  }
  auto low = [](std::vector<double> &of) {
    std::nth_element(of.begin(), of.begin() + of.size() / 10, of.end());
    return of[of.size() / 10];
  };
  return {low(x), low(y)};
}

double timed(const std::function<void()> &work) {
  double start = now();
  work();
  return now() - start;
}

double processorSeconds(const std::function<void()> &work) {
  double start = processorTime();
  work();
  return processorTime() - start;
}

// Gives each part of a grid to another worker than the launch before.
class Rotating final : public runtime::Executor {
public:
  explicit Rotating(std::shared_ptr<runtime::ThreadPool> pool) : pool(std::move(pool)) {}
  unsigned concurrency() const override { return pool->concurrency(); }
  void run(unsigned workers, Body body, void *data) override {
    struct Turned {
      Body body;
      void *data;
      unsigned by, workers;
    } turned{body, data, ++round, workers};
    pool->run(
        workers,
        [](void *data, unsigned worker) {
          auto &turned = *static_cast<Turned *>(data);
          turned.body(turned.data, (worker + turned.by) % turned.workers);
        },
        &turned);
  }

private:
  std::shared_ptr<runtime::ThreadPool> pool;
  unsigned round = 0;
};

// The rows, by groups. Arguments of the command choose.
class Bench {
public:
  Bench(std::vector<std::string> parts, const char *compiledPeers)
      : parts(std::move(parts)), peers(compiledPeers) {
    device.setExecutor(std::make_shared<runtime::InlineExecutor>());
  }

  void run() {
    std::printf("%-44s %10s %10s\n", "", "Gflop/s", "of peak");
    products();
    attention();
    std::printf("%-44s %10s %10s\n", "", "GB/s", "of loop");
    rows();
    device.setExecutor(pool);
    productOfAll();
    orderOfProducts();
    orderOfAttention();
    orderOfUpdates();
    curve();
    rowsInMemory();
  }

private:
  // All are, where none is named, but for those that take minutes: they must be.
  bool chosen(const std::string &name) const { return parts.empty() || isNamed(name); }
  bool isNamed(const std::string &name) const {
    return std::any_of(parts.begin(), parts.end(), [&](const std::string &part) {
      return name.find(part) != std::string::npos;
    });
  }

  // Each runs a fixed number of operations and returns it.
  using Peak = double();
  Peak *peakOf(DType dtype) {
    return peers.find<Peak>(dtype == DType::Int8       ? "peak_int8"
                            : dtype == DType::BFloat16 ? "peak_bf16"
                                                       : "peak_f32");
  }

  void againstPeak(const std::string &name, double operations, Case &kernel, double (*peak)()) {
    double work = peak();
    auto [mine, theirs] = measure([&] { return kernel.ownSeconds(); },
                                  [&] { return processorSeconds([&] { peak(); }); });
    double rate = operations / mine, best = work / theirs;
    std::printf("%-44s %10.1f %9.0f%%\n", name.c_str(), rate * 1e-9, 100 * rate / best);
    std::fflush(stdout);
  }

  void products() {
    for (DType dtype : {DType::Float32, DType::BFloat16, DType::Float16, DType::Int8})
      for (int64_t size : productSizes)
        for (Blocks blocks : productBlocks) {
          std::string name = "matmul " + std::string(info(dtype).name) + " " +
                             std::to_string(size) + " tile " + blocks.text();
          if (!chosen(name))
            continue;
          Product product(dtype, size, blocks);
          againstPeak(name, product.operations(), product.kernel, peakOf(dtype));
        }
  }

  void attention() {
    for (DType dtype : {DType::Float32, DType::BFloat16})
      for (bool causal : {false, true})
        for (int block : {64, 128}) {
          constexpr int64_t heads = 8, n = 2048, d = 64;
          std::string name = "attention " + std::string(info(dtype).name) +
                             (causal ? " causal" : " full") + " " + std::to_string(block);
          if (!chosen(name))
            continue;
          HostTensor q = normal(dtype, {1, heads, n, d}, "q"),
                     k = normal(dtype, {1, heads, n, d}, "k"),
                     v = normal(dtype, {1, heads, n, d}, "v"), out(dtype, {1, heads, n, d}),
                     lse(DType::Float32, {1, heads, n});
          std::vector<HostArgument> arguments = {of(q, "q"), of(k, "k"),     of(v, "v"),
                                                 none(),     of(out, "out"), of(lse, "lse")};
          for (int tensor = 0; tensor < 5; ++tensor)
            for (int64_t stride : {heads * n * d, n * d, d})
              arguments.push_back(integer(tensor == 3 ? 0 : stride));
          for (HostArgument &more : std::vector<HostArgument>{
                   integer(heads), integer(1), integer(n), integer(n), real(0.125), real(0),
                   integer(0), integer(d), integer(d), integer(block), integer(block),
                   boolean(causal), boolean(false), word("ieee")})
            arguments.push_back(more);
          Case kernel("flash_attention", "flash_forward", arguments,
                      {uint32_t(n / block), heads, 1});
          double pairs = causal ? n * (n + 1) / 2.0 : double(n) * n;
          againstPeak(name, 4.0 * heads * pairs * d, kernel, peakOf(dtype));
        }
  }

  void againstLoop(const std::string &name, double bytes, Case &kernel,
                   const std::function<void()> &loop) {
    auto [mine, theirs] = measure([&] { return kernel.seconds(); }, [&] { return timed(loop); });
    std::printf("%-44s %10.1f %9.0f%%\n", name.c_str(), bytes / mine * 1e-9, 100 * theirs / mine);
    std::fflush(stdout);
  }

  void rows() {
    struct Rows {
      int64_t m, n;
    };
    // In the second cache; ragged; in memory.
    for (Rows rows : {Rows{128, 512}, Rows{64, 781}, Rows{8192, 4096}}) {
      auto [m, n] = rows;
      int64_t block = 1;
      while (block < n)
        block *= 2;
      std::string size = " " + std::to_string(m) + "x" + std::to_string(n);
      if (!chosen("add" + size) && !chosen("softmax" + size) &&
          !chosen("softmax backward" + size) && !chosen("layer norm" + size))
        continue;
      HostTensor x = normalRows(m, n, "x"), y(DType::Float32, {m, n}), z = normalRows(m, n, "z"),
                 w = normal(DType::Float32, {n}, "w"), b = normal(DType::Float32, {n}, "b"),
                 mean(DType::Float32, {m}), rstd(DType::Float32, {m});
      auto *xs = static_cast<float *>(x.data()), *ys = static_cast<float *>(y.data()),
           *zs = static_cast<float *>(z.data()), *ws = static_cast<float *>(w.data()),
           *bs = static_cast<float *>(b.data()), *means = static_cast<float *>(mean.data()),
           *rstds = static_cast<float *>(rstd.data());
      uint32_t programs = uint32_t(m);
      if (chosen("add" + size)) {
        Case kernel("vector_add", "add",
                    {of(x, "x"), of(z, "z"), of(y, "y"), integer(m * n), integer(4096)},
                    {uint32_t((m * n + 4095) / 4096), 1, 1});
        auto *loop = peers.find<void(const float *, const float *, float *, long)>("add");
        againstLoop("add" + size, 12.0 * m * n, kernel, [&] { loop(xs, zs, ys, m * n); });
      }
      if (chosen("softmax" + size)) {
        Case kernel("softmax", "softmax_row",
                    {of(x, "x"), of(y, "y"), integer(n), integer(n), integer(n), integer(block)},
                    {programs, 1, 1});
        auto *loop = peers.find<void(const float *, float *, long, long)>("softmax");
        againstLoop("softmax" + size, 8.0 * m * n, kernel, [&] { loop(xs, ys, m, n); });
      }
      if (chosen("softmax backward" + size)) {
        Case kernel("softmax", "softmax_backward_row",
                    {of(x, "x"), of(z, "z"), of(y, "y"), integer(n), integer(block)},
                    {programs, 1, 1});
        auto *loop =
            peers.find<void(const float *, const float *, float *, long, long)>("softmax_backward");
        againstLoop("softmax backward" + size, 12.0 * m * n, kernel,
                    [&] { loop(xs, zs, ys, m, n); });
      }
      if (chosen("layer norm" + size)) {
        Case kernel("layer_norm", "layer_norm_row",
                    {of(x, "x"), of(w, "w"), of(b, "b"), of(y, "y"), of(mean, "mean"),
                     of(rstd, "rstd"), integer(n), integer(n), integer(n), real(1e-5),
                     integer(block)},
                    {programs, 1, 1});
        auto *loop = peers.find<void(const float *, const float *, const float *, float *, float *,
                                     float *, long, long)>("layer_norm");
        againstLoop("layer norm" + size, 8.0 * m * n, kernel,
                    [&] { loop(xs, ws, bs, ys, means, rstds, m, n); });
      }
    }
  }

  void productOfAll() {
    if (chosen("all matmul")) {
      Product product(DType::Float32, 1024, {128, 256, 256});
      Case &kernel = product.kernel;
      auto alone = std::make_shared<runtime::InlineExecutor>();
      auto [together, one] = measure([&] { return kernel.seconds(); },
                                     [&] {
                                       device.setExecutor(alone);
                                       double seconds = kernel.seconds();
                                       device.setExecutor(pool);
                                       return seconds;
                                     });
      std::printf("%-44s %10.1f %9.2fx of one thread (%u threads)\n", "all matmul float32 1024",
                  1e-9 * product.operations() / together, one / together, pool->concurrency());
    }
  }

  // What the order of programs is worth that a launch chooses by what they share, beside the order
  // of their numbers and, for products, that of kernels that group their tiles.
  void inTurn(const std::string &name, double operations, std::vector<Case *> kernels) {
    for (bool all : {false, true}) {
      device.setExecutor(all ? std::static_pointer_cast<runtime::Executor>(pool)
                             : std::make_shared<runtime::InlineExecutor>());
      std::vector<double> least(kernels.size(), 1e9);
      double end = now() + secondsEach * double(kernels.size());
      for (int round = 0; round < 4 || now() < end; ++round)
        for (size_t i = 0; i < kernels.size(); ++i) {
          double seconds = all ? kernels[i]->seconds() : kernels[i]->ownSeconds();
          if (round)
            least[i] = std::min(least[i], seconds);
        }
      std::printf("%-32s %u threads: by number %.1f Gflop/s, by what is shared %.0f%%",
                  name.c_str(), all ? pool->concurrency() : 1, 1e-9 * operations / least[0],
                  100 * least[0] / least[1]);
      if (kernels.size() > 2)
        std::printf(", grouped %.0f%%", 100 * least[0] / least[2]);
      std::printf("\n");
      std::fflush(stdout);
    }
  }

  void orderOfProducts() {
    for (auto [size, blocks] :
         {std::pair(2048, Blocks{128, 128, 128}), {4096, {128, 128, 128}}, {4096, {64, 64, 128}}}) {
      std::string name = "order product " + std::to_string(size) + " " + blocks.text();
      if (!isNamed(name))
        continue;
      HostTensor a = normalRows(size, size, "a"), b = normalRows(size, size, "b"),
                 c(DType::Float32, {size, size});
      uint32_t rows = uint32_t(size / blocks.m), columns = uint32_t(size / blocks.n);
      auto product = [&](bool byAxes, int64_t group) {
        return Case("../bench/order", "product",
                    {of(a, "a"), of(b, "b"), of(c, "c"), integer(size), integer(size),
                     integer(blocks.m), integer(blocks.n), integer(blocks.k), boolean(byAxes),
                     integer(group)},
                    {byAxes ? rows : rows * columns, byAxes ? columns : 1, 1});
      };
      Case byNumber = product(false, rows), byAxes = product(true, 1), grouped = product(false, 8);
      inTurn(name, 2.0 * size * size * size, {&byNumber, &byAxes, &grouped});
    }
  }

  void orderOfAttention() {
    if (std::string name = "order attention"; isNamed(name)) {
      constexpr int64_t heads = 16, n = 2048, d = 64, block = 128;
      auto tensor = [&](const char *seed) { return normal(DType::Float32, {heads, n, d}, seed); };
      HostTensor q = tensor("q"), k = tensor("k"), v = tensor("v"),
                 out(DType::Float32, {heads, n, d});
      auto attention = [&](bool byAxes) {
        return Case(
            "../bench/order", "attention",
            {of(q, "q"), of(k, "k"), of(v, "v"), of(out, "out"), integer(heads), integer(n),
             real(0.125), integer(d), integer(block), boolean(byAxes)},
            {uint32_t(byAxes ? heads : heads * n / block), uint32_t(byAxes ? n / block : 1), 1});
      };
      Case byNumber = attention(false), byAxes = attention(true);
      inTurn(name, 4.0 * heads * n * n * d, {&byNumber, &byAxes});
    }
  }

  // A tensor of which every worker has its part in its second cache, updated again and again.
  void orderOfUpdates() {
    if (std::string name = "order updates"; isNamed(name)) {
      const int64_t size = 64 * 1024 * pool->concurrency();
      HostTensor x = normal(DType::Float32, {size}, "x"), y(DType::Float32, {size});
      Case kernel("vector_add", "add",
                  {of(x, "x"), of(y, "y"), of(y, "y"), integer(size), integer(4096)},
                  {uint32_t(size / 4096), 1, 1});
      auto rotating = std::make_shared<Rotating>(pool);
      auto by = [&](const std::shared_ptr<runtime::Executor> &executor) {
        return [&] {
          device.setExecutor(executor);
          kernel.seconds();
          return kernel.seconds();
        };
      };
      std::shared_ptr<runtime::Executor> same = pool, other = rotating;
      auto [stays, moves] = measure(by(same), by(other));
      std::printf("%-32s %u threads: %.1f GB/s, %.0f%% of that where parts change hands\n",
                  name.c_str(), pool->concurrency(), 12e-9 * double(size) / stays,
                  100 * moves / stays);
      device.setExecutor(pool);
    }
  }

  // The best of the tiles for every size, beside the peak of that many threads.
  void curve() {
    for (DType dtype : {DType::Float32, DType::BFloat16, DType::Int8})
      for (int64_t size : productSizes) {
        std::string name = "curve " + std::string(info(dtype).name) + " " + std::to_string(size);
        if (!isNamed(name))
          continue;
        double (*peak)() = peakOf(dtype);
        double best[2] = {}, work = peak();
        std::string tile[2];
        for (Blocks blocks : productBlocks) {
          Product product(dtype, size, blocks);
          device.setExecutor(std::make_shared<runtime::InlineExecutor>());
          auto [alone, ofPeak] = measure([&] { return product.kernel.ownSeconds(); },
                                         [&] { return processorSeconds(peak); });
          device.setExecutor(pool);
          auto [together, ofOne] =
              measure([&] { return product.kernel.seconds(); }, [&] { return timed(peak); });
          double shares[] = {product.operations() / alone / (work / ofPeak),
                             product.operations() / together / (work / ofOne) /
                                 pool->concurrency()};
          for (int i : {0, 1})
            if (shares[i] > best[i])
              best[i] = shares[i], tile[i] = blocks.text();
        }
        std::printf("%-32s %5.0f%% of peak with %s, %u threads %.0f%% with %s\n", name.c_str(),
                    100 * best[0], tile[0].c_str(), pool->concurrency(), 100 * best[1],
                    tile[1].c_str());
        std::fflush(stdout);
      }
  }

  // Each tensor twice what the last cache holds; rows that the first cache holds easily, and longer
  // ones.
  void rowsInMemory() {
    const char *allRows[] = {"all add",        "all gelu",
                             "all softmax",    "all softmax backward",
                             "all layer norm", "all layer norm backward"};
    if (std::none_of(std::begin(allRows), std::end(allRows),
                     [&](const char *row) { return chosen(row); }))
      return;
    MemoryRows rows(*this);
    rows.copies();
    rows.elementwise();
    for (int64_t n : {1024, 2048, 4096, 8192}) {
      rows.softmax(n);
      rows.layerNorm(n);
    }
  }

  class MemoryRows {
  public:
    explicit MemoryRows(Bench &bench) : bench(bench) {}

    // The rate of a copy that writes past the cache, as kernels do, and of a loop that does not.
    void copies() {
      auto [streamed, cached] =
          measure([&] { return copyBy("copy"); }, [&] { return copyBy("copy_plain"); });
      std::printf("%-44s %10s %10s %10s\n", "all threads, tensors in memory", "GB/s", "of copy",
                  "by hand");
      std::printf("%-44s %10.1f %9.0f%%\n", "copy that does not stream", copied / cached * 1e-9,
                  100 * streamed / cached);
    }

    void elementwise() {
      if (bench.chosen("all add")) {
        Case kernel("vector_add", "add",
                    {of(xRows, "x"), of(zRows, "z"), of(yRows, "y"), integer(size), integer(4096)},
                    {uint32_t(size / 4096), 1, 1});
        againstCopy("add", 12.0 * size, kernel, 0, {});
      }
      if (bench.chosen("all gelu")) {
        Case kernel("gelu", "gelu_tanh",
                    {of(xRows, "x"), of(yRows, "y"), integer(size), integer(4096)},
                    {uint32_t(size / 4096), 1, 1});
        againstCopy("gelu", 8.0 * size, kernel, 0, {});
      }
    }

    // Rows of `n` elements.
    void softmax(int64_t n) {
      int64_t m = size / n;
      if (bench.chosen("all softmax")) {
        Case kernel(
            "softmax", "softmax_row",
            {of(xRows, "x"), of(yRows, "y"), integer(n), integer(n), integer(n), integer(n)},
            {uint32_t(m), 1, 1});
        againstCopy(
            "softmax" + shape(n), 8.0 * size, kernel, m,
            hand("rows_softmax", n, [=, this](void *loop, int64_t at, int64_t, int64_t count) {
              reinterpret_cast<void (*)(const float *, float *, long, long)>(loop)(x + at, y + at,
                                                                                   count, n);
            }));
      }
      if (bench.chosen("all softmax backward")) {
        Case kernel("softmax", "softmax_backward_row",
                    {of(xRows, "x"), of(zRows, "z"), of(yRows, "y"), integer(n), integer(n)},
                    {uint32_t(m), 1, 1});
        againstCopy(
            "softmax backward" + shape(n), 12.0 * size, kernel, m,
            hand("rows_softmax_backward", n,
                 [=, this](void *loop, int64_t at, int64_t, int64_t count) {
                   reinterpret_cast<void (*)(const float *, const float *, float *, long, long)>(
                       loop)(x + at, z + at, y + at, count, n);
                 }));
      }
    }

    void layerNorm(int64_t n) {
      constexpr int64_t each = 64; // rows a program of the gradients
      int64_t m = size / n;
      HostTensor wRow = normal(DType::Float32, {n}, "w"), bRow = normal(DType::Float32, {n}, "b"),
                 meanRow(DType::Float32, {m}), rstdRow(DType::Float32, {m}),
                 dwRows(DType::Float32, {m / each, n}), dbRows(DType::Float32, {m / each, n});
      float *w = data(wRow), *b = data(bRow), *mean = data(meanRow), *rstd = data(rstdRow),
            *dw = data(dwRows), *db = data(dbRows);
      if (bench.chosen("all layer norm")) {
        Case kernel("layer_norm", "layer_norm_row",
                    {of(xRows, "x"), of(wRow, "w"), of(bRow, "b"), of(yRows, "y"),
                     of(meanRow, "mean"), of(rstdRow, "rstd"), integer(n), integer(n), integer(n),
                     real(1e-5), integer(n)},
                    {uint32_t(m), 1, 1});
        againstCopy("layer norm" + shape(n), 8.0 * size, kernel, m,
                    hand("rows_layer_norm", n,
                         [=, this](void *loop, int64_t at, int64_t row, int64_t count) {
                           reinterpret_cast<void (*)(const float *, const float *, const float *,
                                                     float *, float *, float *, long, long)>(loop)(
                               x + at, w, b, y + at, mean + row, rstd + row, count, n);
                         }));
      }
      if (bench.chosen("all layer norm backward")) {
        Case kernel("layer_norm", "backward_lock_free",
                    {of(xRows, "x"), of(wRow, "w"), of(zRows, "dy"), of(meanRow, "mean"),
                     of(rstdRow, "rstd"), of(yRows, "dx"), of(dwRows, "dw"), of(dbRows, "db"),
                     integer(m), integer(n), integer(each), integer(n)},
                    {uint32_t(m / each), 1, 1}, "backward.py");
        auto part = [=, this](void *loop, int64_t at) {
          reinterpret_cast<void (*)(const float *, const float *, const float *, const float *,
                                    const float *, float *, float *, float *, long, long)>(loop)(
              x + at * each * n, w, z + at * each * n, mean + at * each, rstd + at * each,
              y + at * each * n, dw + at * n, db + at * n, each, n);
        };
        againstCopy("layer norm backward" + shape(n), 12.0 * size, kernel, m / each,
                    hand("rows_layer_norm_backward", n,
                         [=](void *loop, int64_t, int64_t first, int64_t count) {
                           for (int64_t at = first; at < first + count; ++at)
                             part(loop, at);
                         }));
      }
    }

  private:
    using Hand = std::function<void(int64_t, int64_t)>; // rows: the first, and one behind the last

    static float *data(HostTensor &tensor) { return static_cast<float *>(tensor.data()); }
    std::string shape(int64_t n) const {
      return " " + std::to_string(size / n) + "x" + std::to_string(n);
    }

    // A loop by hand, if it is there, called with the first element and row and how many rows. The
    // rows ahead of the last one are fetched, too.
    template <typename Call> Hand hand(const char *name, int64_t n, Call call) {
      void *loop = bench.peers.find<void>(name);
      if (!loop)
        return {};
      return [=](int64_t first, int64_t last) { call(loop, first * n, first, last - first); };
    }

    // work(first, last) of `count` things, of which each worker has a share.
    void shared(int64_t count, const Hand &work) const {
      std::vector<std::thread> threads;
      for (unsigned worker = 0; worker < workers; ++worker) {
        int64_t first = count * worker / workers, last = count * (worker + 1) / workers;
        if (workers == 1)
          return work(first, last);
        threads.emplace_back([=, &work] { work(first, last); });
      }
      for (std::thread &thread : threads)
        thread.join();
    }
    // One thread by its processor time, so that others on the machine do not count.
    double timedLoop(const std::function<void()> &work) const {
      return workers == 1 ? processorSeconds(work) : timed(work);
    }

    double copyBy(const char *name) {
      auto *loop = bench.peers.find<void(const float *, float *, long)>(name);
      return timedLoop([&] {
        shared(size / 16, [&](int64_t first, int64_t last) {
          loop(x + 16 * first, y + 16 * first, 16 * (last - first));
        });
      });
    }

    // A kernel, and loops by hand on `count` things, in turns with the copy.
    void againstCopy(const std::string &name, double bytes, Case &kernel, int64_t count,
                     const Hand &byHand) {
      auto share = [&](const std::function<double()> &work) {
        auto [mine, theirs] = measure(work, [&] { return copyBy("copy"); });
        return std::pair(bytes / mine, bytes / mine / (copied / theirs));
      };
      auto [rate, ofCopy] =
          share([&] { return workers == 1 ? kernel.ownSeconds() : kernel.seconds(); });
      std::printf("%-44s %10.1f %9.0f%%", name.c_str(), rate * 1e-9, 100 * ofCopy);
      if (byHand)
        std::printf(" %9.0f%%",
                    100 * share([&] { return timedLoop([&] { shared(count, byHand); }); }).second);
      std::printf("\n");
      std::fflush(stdout);
    }

    Bench &bench;
    const unsigned workers = bench.pool->concurrency();
    const int64_t size = std::max<int64_t>(8192 * 4096, int64_t(target::hostCacheBytes()) / 2);
    const double copied = 8.0 * double(size); // bytes of a copy
    HostTensor xRows = normalRows(size / 4096, 4096, "x"),
               zRows = normalRows(size / 4096, 4096, "z"),
               yRows = HostTensor(DType::Float32, {size / 4096, 4096});
    float *const x = data(xRows), *const z = data(zRows), *const y = data(yRows);
  };

  std::vector<std::string> parts;
  Peers peers;
  runtime::CpuDevice &device = static_cast<runtime::CpuDevice &>(**runtime::device("cpu"));
  std::shared_ptr<runtime::ThreadPool> pool = std::make_shared<runtime::ThreadPool>();
};

} // namespace

int main(int argc, char **argv) {
  const char *compiledPeers = nullptr;
  std::vector<std::string> parts;
  for (int i = 1; i < argc; ++i) {
    std::string_view option = argv[i];
    const char *value = argv[i] + std::min(option.find('='), option.size() - 1) + 1;
    if (option.starts_with("--seconds="))
      secondsEach = std::atof(value);
    else if (option.starts_with("--peers="))
      compiledPeers = value;
    else if (!option.starts_with("--"))
      parts.emplace_back(option);
    else
      die("bench_cpu_kernels [--seconds=S] [--peers=FILE.so] [part of a row's name ...]");
  }
  Bench(std::move(parts), compiledPeers).run();
  return 0;
}
