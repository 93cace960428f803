// A file as a launch meets it for the first time: parsed, its module-level code run, kernels
// emitted. docs/design/front-end-speed.md has the targets and what was seen.
#include "emit/Program.h"
#include "syntax/Parser.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

using namespace nereid;

namespace {

// Our kernels one after the other, whole top-level statements, up to `lines`.
std::string moduleOfLines(int64_t lines) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(NEREID_SOURCE_DIR "/kernels"))
    if (entry.path().filename() == "kernel.py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  int64_t seen = 0;
  for (const auto &file : files) {
    std::ifstream stream(file);
    std::string source(std::istreambuf_iterator<char>(stream), {});
    for (size_t begin = 0; begin < source.size() && seen < lines;) {
      size_t end = std::min(source.find("\n\n\n", begin), source.size() - 3) + 3;
      std::string_view piece(source.data() + begin, end - begin);
      text += piece;
      seen += std::count(piece.begin(), piece.end(), '\n');
      begin = end;
    }
  }
  return text;
}

// What a launch would say, by what our kernels call their parameters.
support::Specialization launchOf(const emit::KernelSummary &kernel) {
  using support::ArgumentClass, support::Constant;
  static const std::map<std::string, Constant, std::less<>> constants = {
      {"PRECISION", Constant::string("ieee")},   {"ACTIVATION", Constant::string("relu")},
      {"GATE", Constant::string("silu")},        {"CAUSAL", Constant::boolean(true)},
      {"DROPOUT", Constant::boolean(true)},      {"EDGE", Constant::boolean(true)},
      {"EVEN_K", Constant::boolean(true)},       {"SMOOTH", Constant::boolean(true)},
      {"PER_TENSOR", Constant::boolean(true)},   {"DESCENDING", Constant::boolean(true)},
      {"RENORMALISE", Constant::boolean(true)},  {"RELU", Constant::boolean(true)},
      {"UPDATE", Constant::boolean(true)},       {"BACKWARD", Constant::boolean(false)},
      {"INTERLEAVED", Constant::boolean(false)}, {"SOFT_CAP", Constant::floating(0.0)},
      {"WINDOW", Constant::integer(0)},          {"K", Constant::integer(2)}};
  static const std::set<std::string, std::less<>> floats = {
      "scale", "p", "epsilon", "smoothing", "growth", "backoff", "margin", "rate", "LARGEST"};
  support::Specialization launch;
  for (const emit::ParameterSummary &parameter : kernel.parameters) {
    const std::string &name = parameter.name;
    auto constant = constants.find(name);
    bool isIndex = name.find("table") != std::string::npos || name.starts_with("target") ||
                   name.starts_with("lengths") || name.starts_with("offsets") ||
                   name.starts_with("expert") || name.starts_with("source") ||
                   name.starts_with("row_") || name.starts_with("counts") ||
                   name.starts_with("starts") || name.starts_with("ticket");
    launch.arguments.push_back(
        !parameter.isConstexpr && name.ends_with("_ptr")
            ? ArgumentClass::pointer(isIndex                     ? DType::Int32
                                     : name.starts_with("state") ? DType::Int64
                                                                 : DType::Float32,
                                     16)
        : !parameter.isConstexpr
            ? ArgumentClass::scalar(floats.contains(name) ? DType::Float32 : DType::Int32,
                                    floats.contains(name) ? 1 : 16)
        : constant != constants.end() ? ArgumentClass::compiledIn(constant->second)
                                      : ArgumentClass::compiledIn(Constant::integer(32)));
  }
  return launch;
}

// A kernel that a folder launches by its name; the others are helpers. One with descriptors needs
// more than names say.
bool isKernel(const emit::KernelSummary &kernel) {
  static const std::string specs = [] {
    std::string all;
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(NEREID_SOURCE_DIR "/kernels"))
      if (entry.path().filename() == "spec.py") {
        std::ifstream stream(entry.path());
        all += std::string(std::istreambuf_iterator<char>(stream), {});
      }
    return all;
  }();
  return specs.find('"' + kernel.name + '"') != std::string::npos &&
         std::none_of(kernel.parameters.begin(), kernel.parameters.end(),
                      [](const auto &one) { return one.name.ends_with("_desc"); });
}

void parse(benchmark::State &state) {
  std::string text = moduleOfLines(state.range(0));
  for (auto _ : state) {
    auto result = syntax::parseModule(text, "bench.py");
    if (!result.module)
      return state.SkipWithError("does not parse");
    benchmark::DoNotOptimize(result.module);
  }
  state.SetBytesProcessed(state.iterations() * int64_t(text.size()));
  state.counters["lines"] = double(std::count(text.begin(), text.end(), '\n'));
}

void load(benchmark::State &state) {
  emit::SourceUnit unit;
  unit.text = moduleOfLines(state.range(0));
  unit.file = "bench.py";
  for (auto _ : state) {
    emit::LoadedProgram loaded = emit::Program::load(unit);
    if (!loaded.program)
      return state.SkipWithError("does not parse");
    benchmark::DoNotOptimize(loaded.program);
  }
  state.counters["lines"] = double(std::count(unit.text.begin(), unit.text.end(), '\n'));
}

// `all`: each kernel of the file; else the last one that is not refused (helpers may stand behind
// the line where the file was cut), which is what one launch waits for.
void loadAndEmit(benchmark::State &state, bool all) {
  emit::SourceUnit unit;
  unit.text = moduleOfLines(state.range(0));
  unit.file = "bench.py";
  std::vector<emit::KernelSummary> kernels = emit::Program::load(unit).program->kernels();
  std::erase_if(kernels, [](const auto &kernel) { return !isKernel(kernel); });
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  if (!all) {
    emit::LoadedProgram loaded = emit::Program::load(unit);
    while (kernels.size() > 1 && !loaded.program
                                      ->emit(context, kernels.back().name, launchOf(kernels.back()),
                                             {}, ops::CompileOptions())
                                      .module)
      kernels.pop_back();
    kernels.erase(kernels.begin(), kernels.end() - 1);
  }
  std::vector<support::Specialization> launches;
  for (const emit::KernelSummary &kernel : kernels)
    launches.push_back(launchOf(kernel));

  size_t emitted = 0, refused = 0;
  std::string why;
  for (auto _ : state) {
    emitted = refused = 0;
    emit::LoadedProgram loaded = emit::Program::load(unit);
    for (size_t i = 0; i < kernels.size(); ++i) {
      emit::Emitted result =
          loaded.program->emit(context, kernels[i].name, launches[i], {}, ops::CompileOptions());
      ++(result.module ? emitted : refused);
      if (!result.module && why.empty())
        why = kernels[i].name + ": " + result.diagnostics.back().message;
    }
  }
  if (emitted == 0 || refused * 10 > emitted)
    state.SkipWithError(("kernels are refused, the first " + why).c_str());
  state.counters["kernels"] = double(emitted);
  state.counters["refused"] = double(refused);
  state.counters["lines"] = double(std::count(unit.text.begin(), unit.text.end(), '\n'));
}

BENCHMARK(parse)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK(load)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loadAndEmit, one, false)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loadAndEmit, all, true)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);

} // namespace
