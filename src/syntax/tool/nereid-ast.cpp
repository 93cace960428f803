// Prints the trees of source files, for scripts/compare-ast.py and lit tests.
//
//   nereid-ast [--dump | --ascii | --loose | --print | --check | --time] FILE...    - is stdin
//   nereid-ast ... --files LIST     one path a line; `-` is stdin
// With several files each tree is one line of output, or `error: ...`.
#include "syntax/Parser.h"
#include "syntax/Printer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

using namespace nereid;
using namespace nereid::syntax;

namespace {

enum class Mode { Dump, Ascii, Loose, Print, Check, Time };

std::string readAll(std::istream &in) { return {std::istreambuf_iterator<char>(in), {}}; }

bool readFile(const std::string &path, std::string &text) {
  if (path == "-") {
    text = readAll(std::cin);
    return true;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return false;
  text = readAll(in);
  return true;
}

// Parsing what was printed must give the tree that was printed.
bool roundTrips(const Module &module, std::string &why) {
  ParseResult again = parseModule(print(module), module.file);
  if (!again.module) {
    why = again.diagnostics.front().message;
    return false;
  }
  why = "the tree differs";
  return dump(module, {.positions = false}) == dump(*again.module, {.positions = false});
}

double bestSeconds(const std::string &text, const std::string &path) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    std::string copy = text;
    auto start = std::chrono::steady_clock::now();
    ParseResult result = parseModule(std::move(copy), path);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  return best;
}

bool process(const std::string &path, Mode mode, bool single) {
  std::string text;
  if (!readFile(path, text)) {
    std::cout << "error: cannot read " << path << "\n";
    return false;
  }
  if (mode == Mode::Time) {
    size_t lines = size_t(std::count(text.begin(), text.end(), '\n'));
    double seconds = bestSeconds(text, path);
    std::printf("%-60s %7zu lines %8.3f ms\n", path.c_str(), lines, seconds * 1e3);
    return true;
  }
  ParseResult result = parseModule(text, path);
  if (!result.module || (single && !result.diagnostics.empty())) {
    for (const Diagnostic &diagnostic : result.diagnostics)
      if (single)
        std::cout << render(diagnostic, {{path, text}});
      else
        std::cout << "error: " << diagnostic.where.begin.line << ":"
                  << diagnostic.where.begin.column << ": " << diagnostic.message << "\n";
    if (!result.module)
      return false;
  }
  std::string why;
  switch (mode) {
  case Mode::Dump:
  case Mode::Ascii:
  case Mode::Loose:
    std::cout << dump(*result.module,
                      {.looseFStrings = mode == Mode::Loose, .ascii = mode != Mode::Dump})
              << "\n";
    break;
  case Mode::Print:
    std::cout << print(*result.module);
    break;
  default:
    if (roundTrips(*result.module, why)) {
      std::cout << "ok\n";
    } else {
      std::cout << "error: " << path << ": " << why << "\n";
      return false;
    }
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  std::ios::sync_with_stdio(false);
  Mode mode = Mode::Dump;
  std::vector<std::string> files;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--dump") {
      mode = Mode::Dump;
    } else if (arg == "--ascii") {
      mode = Mode::Ascii;
    } else if (arg == "--loose") {
      mode = Mode::Loose;
    } else if (arg == "--print") {
      mode = Mode::Print;
    } else if (arg == "--check") {
      mode = Mode::Check;
    } else if (arg == "--time") {
      mode = Mode::Time;
    } else if (arg == "--files" && i + 1 < argc) {
      list = true;
      std::string text, line;
      readFile(argv[++i], text);
      for (char c : text)
        if (c == '\n')
          files.push_back(std::move(line)), line.clear();
        else
          line += c;
    } else {
      files.push_back(arg);
    }
  }
  bool ok = true;
  for (const std::string &file : files)
    ok &= process(file, mode, !list && files.size() == 1);
  std::cout.flush();
  return ok ? 0 : 1;
}
