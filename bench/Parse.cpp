// Text to tree, on our own kernels repeated up to a given number of lines.
#include "syntax/Parser.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

std::string moduleOfLines(int64_t lines) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(NEREID_SOURCE_DIR "/kernels"))
    if (entry.path().filename() == "kernel.py")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  while (!files.empty() && std::count(text.begin(), text.end(), '\n') < lines)
    for (const auto &file : files) {
      std::ifstream stream(file);
      text.append(std::istreambuf_iterator<char>(stream), {});
    }
  size_t end = 0;
  for (int64_t line = 0; line < lines && end < text.size(); ++line)
    end = text.find('\n', end) + 1;
  // Cut before a top-level statement, so that the piece is a module.
  end = std::min(text.find("\n\n\n@", end), text.size());
  return text.substr(0, end) + "\n";
}

void parse(benchmark::State &state) {
  std::string text = moduleOfLines(state.range(0));
  for (auto _ : state) {
    auto result = nereid::syntax::parseModule(text, "bench.py");
    if (!result.module)
      state.SkipWithError("does not parse");
    benchmark::DoNotOptimize(result.module);
  }
  state.SetBytesProcessed(state.iterations() * text.size());
  state.counters["lines"] = std::count(text.begin(), text.end(), '\n');
}

BENCHMARK(parse)->Arg(300)->Arg(2000)->Unit(benchmark::kMillisecond);

} // namespace
