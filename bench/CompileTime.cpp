// How long kernels take from their text's syntax tree to an artifact for this CPU, in a process
// that has compiled before; and how large their code is for blocks of 256 and 16384. The goals
// stand beside. Arguments: rounds.
#include "engine/Compile.h"
#include "engine/Files.h"
#include "support/Artifact.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace nereid;

namespace {

struct Row {
  const char *name, *folder, *kernel, *signature;
  double goal; // milliseconds
};

constexpr Row rows[] = {
    {"elementwise", "gelu", "gelu_tanh", "*fp32:16, *fp32:16, i32:16, 1024", 25},
    {"softmax", "softmax", "softmax_row", "*fp32:16, *fp32:16, i32:16, i32:16, i32:16, 1024", 40},
    {"layer norm", "layer_norm", "layer_norm_row",
     "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, fp32, "
     "1024",
     40},
    {"matmul", "matmul", "matmul",
     "*fp32:16, *fp32:16, None, *fp32:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, "
     "128, 128, 64, 8, \"none\", \"ieee\"",
     120},
    {"flash forward", "flash_attention", "flash_forward",
     "*fp32:16, *fp32:16, *fp32:16, None, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, i32:16, "
     "i32:16, "
     "i32:16, i32:16, i32:16, i32:16, 0, 0, 0, i32:16, i32:16, i32:16, i32:16, 1, i32:16, i32:16, "
     "fp32, 0.0, 0, 64, 64, 64, 64, True, False, \"ieee\"",
     200},
};

[[noreturn]] void die(const Error &error) {
  std::fprintf(stderr, "%s\n", error.what.c_str());
  for (const Diagnostic &diagnostic : error.diagnostics)
    std::fprintf(stderr, "  %s\n", diagnostic.message.c_str());
  std::exit(1);
}

template <typename T> T taken(Result<T> result) {
  if (!result)
    die(result.error());
  return std::move(*result);
}

// Of the processor, not of the clock on the wall: the machine may be busy with other things, and
// the compiler is one thread.
double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

support::Artifact compile(emit::Program &program, const Row &row, double *emitted = nullptr) {
  double start = now();
  auto specialization = taken(support::Specialization::parse(row.signature));
  auto kernel = taken(engine::emitKernel(program, row.kernel, specialization, {}, {}));
  if (emitted)
    *emitted = now() - start;
  return taken(engine::buildArtifact(kernel, "cpu"));
}

size_t codeBytes(const support::Artifact &artifact) {
  return artifact.blob(artifact.codes()[0].code).size();
}

} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  std::printf("%-16s %10s %10s %10s %12s\n", "median, ms", "in all", "front end", "goal",
              "object bytes");
  for (const Row &row : rows) {
    auto program = taken(engine::loadProgram(
        std::string(NEREID_SOURCE_DIR "/kernels/") + row.folder + "/kernel.py", {}));
    std::vector<std::pair<double, double>> times;
    size_t size = codeBytes(compile(*program, row)); // the first one warms the process up
    for (int round = 0; round < rounds; ++round) {
      double front, start = now();
      compile(*program, row, &front);
      times.push_back({now() - start, front});
    }
    std::sort(times.begin(), times.end());
    auto [all, front] = times[times.size() / 2];
    std::printf("%-16s %10.1f %10.1f %10.0f %12zu\n", row.name, all * 1e3, front * 1e3, row.goal,
                size);
    // Up to each stage.
    constexpr std::pair<const char *, pipeline::CpuStage> stages[] = {
        {"tile", pipeline::CpuStage::Tile},
        {"plan", pipeline::CpuStage::Plan},
        {"loops", pipeline::CpuStage::Loops},
        {"llvm", pipeline::CpuStage::Llvm},
        {"object", pipeline::CpuStage::Object}};
    std::printf("  ");
    for (auto [name, stage] : stages) {
      std::vector<double> spent;
      for (int round = 0; round < rounds; ++round) {
        auto specialization = taken(support::Specialization::parse(row.signature));
        auto kernel = taken(engine::emitKernel(*program, row.kernel, specialization, {}, {}));
        double start = now();
        taken(pipeline::emitForCpu(*kernel.module, stage));
        spent.push_back(now() - start);
      }
      std::sort(spent.begin(), spent.end());
      std::printf("  %s %.1f", name, spent[spent.size() / 2] * 1e3);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
