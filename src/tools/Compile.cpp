// nereid compile FILE.py:KERNEL --signature "..." --target ... --emit ...: IR or code, to a file or
// to stdout.
#include "engine/Files.h"
#include "pipeline/Cpu.h"
#include "pipeline/Gpu.h"
#include "tools/KernelCall.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <map>
#include <memory>
#include <unistd.h>

namespace nereid::tools {

namespace {

struct CompileWords : KernelWords {
  std::string chip = "cpu", form = "tile", out;
};

const std::map<std::string, pipeline::CpuStage> cpuForms = {{"cpu-plan", pipeline::CpuStage::Plan},
                                                            {"loops", pipeline::CpuStage::Loops},
                                                            {"llvm", pipeline::CpuStage::Llvm},
                                                            {"asm", pipeline::CpuStage::Asm},
                                                            {"obj", pipeline::CpuStage::Object}};
const std::map<std::string, pipeline::GpuStage> gpuForms = {{"gpu", pipeline::GpuStage::Gpu},
                                                            {"nvvm", pipeline::GpuStage::Nvvm},
                                                            {"llvm", pipeline::GpuStage::Llvm},
                                                            {"ptx", pipeline::GpuStage::Ptx},
                                                            {"cubin", pipeline::GpuStage::Cubin}};

Result<std::string> produce(const CompileWords &words, EmittedCall &call) {
  engine::EmittedKernel &emitted = call.emitted;
  if (words.form == "tile") {
    std::string text;
    llvm::raw_string_ostream os(text);
    mlir::OpPrintingFlags flags;
    emitted.module->print(os, flags);
    return text + "\n";
  }
  if (words.form == "artifact") {
    auto bytes = engine::buildArtifact(emitted, words.chip);
    if (!bytes)
      return bytes.takeError();
    return std::string(bytes->begin(), bytes->end());
  }
  if (words.chip == "cpu") {
    if (auto form = cpuForms.find(words.form); form != cpuForms.end())
      return pipeline::emitForCpu(*emitted.module, form->second);
    return Error{"`--emit " + words.form + "` is not for the target cpu", {}};
  }
  const target::GpuChip *chip = target::gpuChip(words.chip);
  if (auto form = gpuForms.find(words.form); form != gpuForms.end())
    return pipeline::emitForGpu(*emitted.module, *chip, form->second);
  return Error{"`--emit " + words.form + "` is not for the target " + words.chip, {}};
}

int runCompile(const CompileWords &words) {
  if (words.chip != "cpu" && !target::gpuChip(words.chip)) {
    std::string known = "cpu";
    for (const target::GpuChip &row : target::gpuChips())
      known += ", " + std::string(row.name);
    return refuse(Error{"unknown target `" + words.chip + "`; known are " + known, {}});
  }
  auto call = emitKernel(words);
  if (!call)
    return refuse(call.error());
  report((*call)->emitted.diagnostics);
  auto produced = produce(words, **call);
  if (!produced)
    return refuse(produced.error());
  if (words.out.empty() || words.out == "-") {
    std::fwrite(produced->data(), 1, produced->size(), stdout);
    return exitDone;
  }
  if (Status status = engine::writeFile(words.out, *produced); !status)
    return refuse(status.error());
  return exitDone;
}

} // namespace

Action addCompile(CLI::App &app) {
  auto words = std::make_shared<CompileWords>();
  addKernelWords(app, *words);
  app.add_option("-t,--target", words->chip, "cpu, sm_80, sm_90a, ... (default cpu)");
  app.add_option(
      "--emit", words->form,
      "tile, cpu-plan, loops, llvm, asm, obj, gpu, nvvm, ptx, cubin, artifact (default tile)");
  app.add_option("-o,--out-path", words->out, "Where to write it; - or nothing is stdout");
  return [words] { return runCompile(*words); };
}

} // namespace nereid::tools
