// nereid compile FILE.py:KERNEL --signature "..." --target ... --emit ...: IR or code, to a file or
// to stdout.
#include "engine/AheadOfTime.h"
#include "engine/Files.h"
#include "engine/PackFile.h"
#include "pipeline/Cpu.h"
#include "pipeline/Gpu.h"
#include "support/Steps.h"
#include "tools/KernelCall.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nereid::tools {

namespace {

struct CompileWords : KernelWords {
  std::string chip = "cpu", form = "tile", out, level = "native", name, grid;
  bool add = false, timePasses = false;
};

const std::map<std::string, pipeline::CpuStage> cpuForms = {{"cpu-plan", pipeline::CpuStage::Plan},
                                                            {"loops", pipeline::CpuStage::Loops},
                                                            {"llvm", pipeline::CpuStage::Llvm},
                                                            {"asm", pipeline::CpuStage::Asm},
                                                            {"obj", pipeline::CpuStage::Object}};
const std::map<std::string, pipeline::GpuStage> gpuForms = {
    {"gpu", pipeline::GpuStage::Gpu},     {"nvvm", pipeline::GpuStage::Nvvm},
    {"llvm", pipeline::GpuStage::Llvm},   {"ptx", pipeline::GpuStage::Ptx},
    {"cubin", pipeline::GpuStage::Cubin}, {"sass", pipeline::GpuStage::Sass}};

const char formNames[] =
    "tile, cpu-plan, loops, llvm, asm, obj, c, so, gpu, nvvm, ptx, cubin, sass, artifact, pack";

bool isForm(const std::string &form) {
  return form == "tile" || form == "c" || form == "so" || form == "artifact" || form == "pack" ||
         cpuForms.contains(form) || gpuForms.contains(form);
}

bool isBinary(const std::string &form) {
  return form == "obj" || form == "so" || form == "cubin" || form == "artifact" || form == "pack";
}

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
    auto artifact = engine::buildArtifact(emitted, words.chip);
    if (!artifact)
      return artifact.takeError();
    return std::string(artifact->bytes().begin(), artifact->bytes().end());
  }
  if (words.chip == "cpu") {
    if (auto form = cpuForms.find(words.form); form != cpuForms.end()) {
      auto features = featuresOf(words.level);
      if (!features)
        return features.takeError();
      return pipeline::emitForCpu(*emitted.module, form->second, {.features = *features});
    }
    std::string hint = gpuForms.contains(words.form) ? ": name a chip, as `--target sm_90a`" : "";
    return Error{"`--emit " + words.form + "` is not for the target cpu" + hint, {}};
  }
  auto chips = target::gpuTargets(words.chip);
  if (words.form == "obj")
    return Error{"`--emit obj` for a GPU writes two files: name one with `-o`", {}};
  const target::GpuChip *chip = chips.front();
  // Who launches text or a cubin by hand knows nothing of blocks that run several programs.
  if (words.programLoops.empty())
    (*emitted.module)->removeAttr(pipeline::programLoopsAttr);
  if (auto form = gpuForms.find(words.form); form != gpuForms.end())
    return pipeline::emitForGpu(*emitted.module, *chip, form->second);
  std::string forms = "tile";
  for (const auto &[name, stage] : gpuForms)
    forms += ", " + name;
  return Error{"`--emit " + words.form + "` is not for the target " + words.chip +
                   ", whose forms are " + forms + ", obj, artifact and pack",
               {}};
}

// Links the object and the header's functions into a shared object, by the C compiler of the
// machine.
Status linkShared(const engine::AheadOfTime &built, const std::filesystem::path &out) {
  std::string pattern = (std::filesystem::temp_directory_path() / "nereid-link-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return Error{"cannot make a temporary folder `" + pattern + "`", {}};
  std::filesystem::path folder = pattern;
  std::string object = (folder / "kernel.o").string();
  Status status = engine::writeFile(object, built.object);
  std::string shared = "-shared", to = "-o", file = out.string(), math = "-lm";
  std::string symbols = "-Wl,-soname," + out.filename().string();
  // Debian's clang has its version in the name, and is no `cc`.
  std::string compilers[] = {"cc", "gcc", "clang", "clang-19"};
  int code = -1;
  for (std::string &compiler : compilers) {
    char *command[] = {compiler.data(), shared.data(), symbols.data(), to.data(),
                       file.data(),     object.data(), math.data(),    nullptr};
    pid_t child;
    if (status && posix_spawnp(&child, command[0], nullptr, nullptr, command, environ) == 0) {
      waitpid(child, &code, 0);
      break;
    }
  }
  std::error_code failed;
  std::filesystem::remove_all(folder, failed);
  if (status && code != 0)
    return Error{
        "cannot link `" + file + "`: " +
            (code < 0 ? "no C compiler is there (`cc`, `gcc`, `clang`)" : "the C compiler failed") +
            "; `--emit obj` needs no linker",
        {}};
  return status;
}

// `obj`, `c` and `so` with `-o FILE`: the code, and FILE with the ending `.h` beside it.
Result<engine::AheadOfTime> buildAheadOfTime(const CompileWords &words, EmittedCall &call,
                                             const std::string &name) {
  if (words.chip != "cpu")
    return engine::buildAheadOfTimeGpu(call.emitted, name, words.chip);
  auto features = featuresOf(words.level);
  if (!features)
    return features.takeError();
  return engine::buildAheadOfTime(call.emitted, name, *features);
}

Status writeAheadOfTime(const CompileWords &words, EmittedCall &call) {
  std::string name = words.name.empty() ? call.chosen.name : words.name;
  std::replace(name.begin(), name.end(), '.', '_');
  auto built = buildAheadOfTime(words, call, name);
  if (!built)
    return built.takeError();
  std::filesystem::path out = words.out;
  if (Status status =
          engine::writeFile(std::filesystem::path(out).replace_extension(".h"), built->header);
      !status)
    return status;
  if (words.form == "c")
    return engine::writeFile(out, built->source);
  if (words.form == "obj")
    return engine::writeFile(out, built->object);
  return linkShared(*built, out);
}

// `pack` with `-o FILE`: what the library `nereid_runtime` launches.
Status writePack(const CompileWords &words, EmittedCall &call) {
  auto signature = engine::signatureOf(*call.chosen.program, call.chosen.name);
  if (!signature)
    return signature.takeError();
  engine::CompileRequest request{call.chosen.name, call.options, words.chip,
                                 call.emitted.specialization, call.defaulted};
  auto tuned = engine::TuningFile::read(tuningPath(words));
  if (!tuned)
    return tuned.takeError();
  // The compiler takes the module with it.
  auto artifact = engine::buildArtifact(call.emitted, words.chip);
  if (!artifact)
    return artifact.takeError();
  engine::PackFile file(words.out);
  if (words.add)
    if (Status status = file.read(); !status)
      return status;
  if (Status status = file.add(*signature, request, *artifact); !status)
    return status;
  if (Status status = file.addDecisions(*call.chosen.program, *signature, *tuned); !status)
    return status;
  return file.write();
}

// What `--json` answers: what was made of which kernel, and where it is.
int answerJson(const CompileWords &words, const EmittedCall &call,
               const std::vector<std::string> &files, const std::string *text) {
  Json json = {{"kernel", call.chosen.name}, {"target", words.chip}, {"emit", words.form}};
  if (text)
    json["text"] = *text;
  json["files"] = files;
  json["diagnostics"] = Json::array();
  for (const Diagnostic &diagnostic : call.emitted.diagnostics)
    json["diagnostics"].push_back(toJson(diagnostic));
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return exitDone;
}

int compile(const CompileWords &words) {
  if (!isForm(words.form))
    return refuse(
        Error{"unknown form `" + words.form + "`; `--emit` takes " + std::string(formNames), {}});
  auto chips = target::gpuTargets(words.chip);
  if (words.chip != "cpu" && chips.empty())
    return refuse(engine::unknownTarget(words.chip));
  if (chips.size() > 1 && words.form != "obj" && words.form != "artifact")
    return refuse(Error{"`--emit " + words.form + "` is of one chip; `" + words.chip + "` are " +
                            std::to_string(chips.size()) + " (obj and artifact take several)",
                        {}});
  if (words.level != "native" && (words.form == "artifact" || words.form == "pack"))
    return refuse(Error{"`--cpu` is not for `--emit " + words.form +
                            "`, whose code is for the CPU at hand; obj, c and so take it",
                        {}});
  if (!words.grid.empty() && words.form != "obj" && words.form != "c" && words.form != "so" &&
      words.form != "artifact" && words.form != "pack")
    return refuse(Error{
        "`--emit " + words.form + "` brings no grid along; obj, c, so, artifact and pack do", {}});
  auto call = emitKernel(words);
  if (!call)
    return refuse(call.error());
  (*call)->emitted.grid = words.grid;
  engine::noteIgnored((*call)->emitted, words.chip);
  report((*call)->emitted.diagnostics);
  bool toFile = !words.out.empty() && words.out != "-";
  if (words.json && !toFile && isBinary(words.form))
    return refuse(
        Error{"`--emit " + words.form + "` is no text for JSON: name a file with `-o`", {}});
  auto done = [&](std::vector<std::string> files) {
    return words.json ? answerJson(words, **call, files, nullptr) : int(exitDone);
  };
  bool isObject = words.form == "obj" && (toFile || words.chip == "cpu");
  if (isObject || (words.chip == "cpu" && (words.form == "c" || words.form == "so"))) {
    if (toFile) {
      if (Status status = writeAheadOfTime(words, **call); !status)
        return refuse(status.error());
      return done({words.out, std::filesystem::path(words.out).replace_extension(".h").string()});
    }
    if (words.form != "obj" || isatty(1))
      return refuse(Error{"`--emit " + words.form + "` writes two files: name one with `-o`", {}});
  }
  if (words.form == "pack") {
    if (!toFile)
      return refuse(Error{"`--emit pack` writes a file: name it with `-o`", {}});
    if (Status status = writePack(words, **call); !status)
      return refuse(status.error());
    return done({words.out});
  }
  if (!toFile && isBinary(words.form) && isatty(1))
    return refuse(
        Error{"`--emit " + words.form +
                  "` is no text for a terminal: name a file with `-o`, or a pipe takes it",
              {}});
  auto produced = produce(words, **call);
  if (!produced)
    return refuse(produced.error());
  if (!toFile && words.json)
    return answerJson(words, **call, {}, &*produced);
  if (!toFile) {
    std::fwrite(produced->data(), 1, produced->size(), stdout);
    return exitDone;
  }
  if (Status status = engine::writeFile(words.out, *produced); !status)
    return refuse(status.error());
  return done({words.out});
}

// To stderr: the code may go to stdout.
void printSteps(std::vector<support::StepEvent> steps, double seconds) {
  std::sort(steps.begin(), steps.end(),
            [](const auto &a, const auto &b) { return a.order < b.order; });
  double named = 0;
  for (const support::StepEvent &step : steps) {
    if (step.depth == 0)
      named += step.seconds;
    std::fprintf(stderr, "%9.2f ms %4.0f%%  %*s%s\n", step.seconds * 1e3,
                 step.seconds / seconds * 100, int(step.depth * 2), "", step.name.c_str());
  }
  std::fprintf(stderr, "%9.2f ms %4.0f%%  the rest\n", (seconds - named) * 1e3,
               (seconds - named) / seconds * 100);
  std::fprintf(stderr, "%9.2f ms        in all\n", seconds * 1e3);
}

int runCompile(const CompileWords &words) {
  if (!words.timePasses)
    return compile(words);
  std::vector<support::StepEvent> steps;
  support::StepListener listener([&](const support::StepEvent &step) { steps.push_back(step); });
  auto start = std::chrono::steady_clock::now();
  int code = compile(words);
  printSteps(std::move(steps),
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return code;
}

} // namespace

Action addCompile(CLI::App &app) {
  auto words = std::make_shared<CompileWords>();
  addKernelWords(app, *words);
  addSarif(app);
  app.add_option("-t,--target", words->chip,
                 "cpu, sm_80, sm_90a, ... (default cpu); obj and artifact also "
                 "take several, as sm_80,sm_90a, or cuda");
  app.add_option("--emit", words->form, std::string(formNames) + " (default tile)");
  app.add_option(
      "-o,--out-path", words->out,
      "Where to write it; - or nothing is stdout. obj, c and so also write a header beside "
      "it, for programs that call the kernel");
  app.add_option("--cpu", words->level,
                 "What code for a CPU may use: x86-64, x86-64-v2, -v3, -v4 or native (default)");
  app.add_flag("--time-passes", words->timePasses,
               "How long each part of the compilation takes, on stderr");
  app.add_flag("--add", words->add,
               "pack: keep the kernels that the file has, and those of other signatures");
  app.add_option("--grid", words->grid,
                 "obj, c, so and pack: the grid of a launch that names none, of the kernel's "
                 "parameters, as \"cdiv(n, BLOCK)\" or \"cdiv(x.shape[0], 64), 2\"");
  app.add_option("--out-name,--on", words->name, "What C names begin with (default: the kernel's)");
  return [words] { return runCompile(*words); };
}

} // namespace nereid::tools
