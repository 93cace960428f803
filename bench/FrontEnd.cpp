// A file as a launch meets it for the first time: parsed, its module-level code run, kernels
// emitted. docs/design/front-end-speed.md has the targets and what was seen.
#include "emit/Program.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace nereid;

namespace {

// Our kernels one after the other, again and again under names of their own, up to `lines`.
std::string moduleOfLines(int64_t lines) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(NEREID_SOURCE_DIR "/kernels"))
    if (entry.path().filename() == "kernel.py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  int64_t seen = 0;
  for (unsigned copy = 0; !files.empty() && seen < lines; ++copy)
    for (const auto &file : files) {
      std::ifstream stream(file);
      std::string source(std::istreambuf_iterator<char>(stream), {});
      // A helper is called by its name, so that only kernels are renamed.
      if (copy)
        for (size_t at = 0; (at = source.find("_ptr", at)) != std::string::npos; ++at) {
          size_t open = source.rfind("def ", at), paren = source.find('(', open);
          if (source.find(')', open) > at && source.compare(paren - 1, 1, "_") != 0)
            source.insert(paren, "_" + std::to_string(copy) + "_");
          at = source.find("\n\n\n", at);
          if (at == std::string::npos)
            break;
        }
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
  support::Specialization launch;
  for (const emit::ParameterSummary &parameter : kernel.parameters) {
    const std::string &name = parameter.name;
    support::ArgumentClass argument = support::ArgumentClass::scalar(DType::Int32, 16);
    if (name == "PRECISION")
      argument = support::ArgumentClass::compiledIn(support::Constant::string("ieee"));
    else if (name == "ACTIVATION")
      argument = support::ArgumentClass::compiledIn(support::Constant::string("relu"));
    else if (name == "CAUSAL" || name == "DROPOUT" || name == "EDGE")
      argument = support::ArgumentClass::compiledIn(support::Constant::boolean(true));
    else if (parameter.isConstexpr)
      argument = support::ArgumentClass::compiledIn(support::Constant::integer(32));
    else if (name.ends_with("_ptr"))
      argument = support::ArgumentClass::pointer(DType::Float32, 16);
    else if (name == "scale" || name == "p" || name == "epsilon")
      argument = support::ArgumentClass::scalar(DType::Float32, 1);
    launch.arguments.push_back(argument);
  }
  return launch;
}

bool isKernel(const emit::KernelSummary &kernel) {
  return !kernel.parameters.empty() && kernel.parameters[0].name.ends_with("_ptr");
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

// `all`: each kernel of the file; else the last one, which is what one launch waits for.
void loadAndEmit(benchmark::State &state, bool all) {
  emit::SourceUnit unit;
  unit.text = moduleOfLines(state.range(0));
  unit.file = "bench.py";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  size_t emitted = 0, refused = 0;
  for (auto _ : state) {
    emitted = refused = 0;
    emit::LoadedProgram loaded = emit::Program::load(unit);
    std::vector<emit::KernelSummary> kernels = loaded.program->kernels();
    std::erase_if(kernels, [](const auto &kernel) { return !isKernel(kernel); });
    if (!all && !kernels.empty())
      kernels.erase(kernels.begin(), kernels.end() - 1);
    for (const emit::KernelSummary &kernel : kernels) {
      emit::Emitted result =
          loaded.program->emit(context, kernel.name, launchOf(kernel), {}, ops::CompileOptions());
      ++(result.module ? emitted : refused);
    }
  }
  if (emitted == 0 || refused * 5 > emitted)
    state.SkipWithError("kernels are refused");
  state.counters["kernels"] = double(emitted);
  state.counters["refused"] = double(refused);
  state.counters["lines"] = double(std::count(unit.text.begin(), unit.text.end(), '\n'));
}

BENCHMARK(load)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loadAndEmit, one, false)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loadAndEmit, all, true)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);

} // namespace
