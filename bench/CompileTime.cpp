// How long kernels take from their text's syntax tree to an artifact, in a process that has
// compiled before, and what of it each part takes: the front end, the passes, LLVM, `ptxas`. Goals
// stand beside; on a GPU they are for everything but `ptxas`. Arguments: rounds, target (cpu,
// sm_90a, ...).
#include "engine/Compile.h"
#include "engine/Files.h"
#include "support/Artifact.h"
#include "support/Steps.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

using namespace nereid;

namespace {

struct Row {
  const char *name, *folder, *kernel, *signature;
  double goal; // milliseconds
  int warps = 4;
  const char *file = "kernel.py";
};

constexpr Row cpuRows[] = {
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

constexpr Row gpuRows[] = {
    {"vector add", "vector_add", "add", "*fp32:16, *fp32:16, *fp32:16, i32:16, 1024", 25},
    {"softmax", "softmax", "softmax_row", "*fp32:16, *fp32:16, i32:16, i32:16, i32:16, 1024", 25},
    {"layer norm", "layer_norm", "layer_norm_row",
     "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, fp32, "
     "1024",
     25},
    {"matmul", "matmul", "matmul",
     "*fp16:16, *fp16:16, None, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, "
     "128, 128, 64, 8, \"none\", \"ieee\"",
     60, 8},
    {"flash forward", "flash_attention", "flash_forward",
     "*fp16:16, *fp16:16, *fp16:16, None, *fp16:16, *fp32:16, i32:16, i32:16, i32:16, i32:16, "
     "i32:16, i32:16, i32:16, i32:16, i32:16, 0, 0, 0, i32:16, i32:16, i32:16, i32:16, 1, i32:16, "
     "i32:16, fp32, 0.0, 0, 64, 128, 64, 64, True, False, \"ieee\"",
     120, 8},
    // The goal for gradients is for all of their kernels together.
    {"flash dk dv", "flash_attention", "backward_dk_dv",
     "*fp16:16, *fp16:16, *fp16:16, None, *fp16:16, *fp32:16, *fp32:16, *fp16:16, *fp16:16, 0, 0, "
     "0, i32:16, 1, i32:16, i32:16, fp32, 0.0, 0, 64, 64, 64, 64, True, False, \"ieee\"",
     250, 4, "backward.py"},
    {"flash dq", "flash_attention", "backward_dq",
     "*fp16:16, *fp16:16, *fp16:16, None, *fp16:16, *fp32:16, *fp32:16, *fp16:16, 0, 0, 0, i32:16, "
     "1, i32:16, i32:16, fp32, 0.0, 0, 64, 64, 64, 64, True, False, \"ieee\"",
     250, 4, "backward.py"},
    {"flash one pass", "flash_attention", "backward_one_pass",
     "tensordesc<fp16[1, 1, 64, 128]>, tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, "
     "128, "
     "128]>, tensordesc<fp16[1, 1, 64, 128]>, tensordesc<fp32[1, 64]>, tensordesc<fp32[1, 64]>, "
     "tensordesc<fp32[1, 1, 64, 128]>, tensordesc<fp16[1, 1, 128, 128]>, tensordesc<fp16[1, 1, "
     "128, 128]>, None, 1, i32:16, i32:16, fp32, 128, 64, 128, True, \"ieee\"",
     250, 8, "one_pass.py"},
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

enum Part { FrontEnd, Passes, Llvm, Ptxas, Rest, partCount };

Part partOf(const std::string &step) {
  return step == "front end"                                     ? FrontEnd
         : step.find("ptxas") != step.npos                       ? Ptxas
         : step.find("LLVM") != step.npos || step == "libdevice" ? Llvm
                                                                 : Passes;
}

// Of the processor, not of the clock on the wall: the machine may be busy with other things, and
// the compiler is one thread. The assembler is a program of its own, by the clock.
struct Times {
  double parts[partCount] = {};
  double own() const { return parts[FrontEnd] + parts[Passes] + parts[Llvm] + parts[Rest]; }
};

support::Artifact compile(emit::Program &program, const Row &row, const char *target,
                          Times *times = nullptr) {
  Times spent;
  support::StepListener listener([&](const support::StepEvent &step) {
    if (step.depth == 1) {
      Part part = partOf(step.name);
      spent.parts[part] += part == Ptxas ? step.seconds : step.processorSeconds;
    } else if (step.depth == 0) {
      spent.parts[Rest] += step.processorSeconds;
    }
  });
  support::Artifact artifact = support::inStep("all", [&] {
    auto specialization = taken(support::Specialization::parse(row.signature));
    ops::CompileOptions options;
    options.numWarps = row.warps;
    auto kernel = taken(engine::emitKernel(program, row.kernel, specialization, {}, options));
    return taken(engine::buildArtifact(kernel, target));
  });
  spent.parts[Rest] -= spent.parts[FrontEnd] + spent.parts[Passes] + spent.parts[Llvm];
  if (times)
    *times = spent;
  return artifact;
}

size_t codeBytes(const support::Artifact &artifact) {
  return artifact.blob(artifact.codes()[0].code).size();
}

} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  const char *target = argc > 2 ? argv[2] : "cpu";
  bool isCpu = std::string_view(target) == "cpu";
  std::printf("%-16s %8s %10s %8s %8s %8s %8s %8s %12s\n", "median, ms", "own", "front end",
              "passes", "LLVM", "rest", "goal", "ptxas", "code bytes");
  for (const Row &row : isCpu ? std::span<const Row>(cpuRows) : std::span<const Row>(gpuRows)) {
    auto program = taken(engine::loadProgram(
        std::string(NEREID_SOURCE_DIR "/kernels/") + row.folder + "/" + row.file, {}));
    size_t size = codeBytes(compile(*program, row, target)); // the first one warms the process up
    std::vector<Times> all(size_t(std::max(rounds, 1)));
    for (Times &times : all)
      compile(*program, row, target, &times);
    std::sort(all.begin(), all.end(),
              [](const Times &a, const Times &b) { return a.own() < b.own(); });
    const Times &middle = all[all.size() / 2];
    auto ms = [&](Part part) { return middle.parts[part] * 1e3; };
    std::printf("%-16s %8.1f %10.1f %8.1f %8.1f %8.1f %8.0f %8.1f %12zu\n", row.name,
                middle.own() * 1e3, ms(FrontEnd), ms(Passes), ms(Llvm), ms(Rest), row.goal,
                ms(Ptxas), size);
    std::fflush(stdout);
  }
  return 0;
}
