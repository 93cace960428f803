// nereid explain: what each line does to one program.
#include "analysis/Explain.h"
#include "engine/Files.h"
#include "tools/KernelCall.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <map>
#include <memory>

namespace nereid::tools {

namespace {

std::string bytesText(int64_t bytes) {
  char text[32];
  if (bytes < 1024)
    std::snprintf(text, sizeof text, "%lld B", (long long)bytes);
  else if (bytes < 1024 * 1024)
    std::snprintf(text, sizeof text, "%.4g KiB", double(bytes) / 1024);
  else
    std::snprintf(text, sizeof text, "%.4g MiB", double(bytes) / (1024 * 1024));
  return text;
}

std::vector<std::string> linesOf(const std::string &file) {
  std::vector<std::string> lines;
  if (auto text = engine::readSource(file)) {
    std::string line;
    for (char c : *text) {
      if (c == '\n') {
        lines.push_back(std::move(line));
        line.clear();
      } else if (c != '\r') {
        line += c;
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Json explanationJson(const analysis::Explanation &e) {
  Json json = {{"kernel", e.kernel}, {"parameters", Json::array()}, {"lines", Json::array()}};
  for (const auto &[name, type] : e.parameters)
    json["parameters"].push_back({{"name", name}, {"type", type}});
  for (const analysis::ExplainedLine &line : e.lines) {
    Json ops = Json::array();
    for (const analysis::ExplainedOp &op : line.ops)
      ops.push_back({{"what", op.what},
                     {"type", op.type},
                     {"note", op.note},
                     {"bytes_read", op.bytesRead},
                     {"bytes_written", op.bytesWritten},
                     {"operations", op.operations}});
    json["lines"].push_back({{"file", line.file},
                             {"line", line.line},
                             {"called_from", line.calledFrom},
                             {"loop_depth", line.loopDepth},
                             {"ops", ops}});
  }
  json["bytes_read"] = e.bytesRead;
  json["bytes_written"] = e.bytesWritten;
  json["operations"] = e.operations;
  json["has_loops"] = e.hasLoops;
  json["largest_tile_bytes"] = e.largestTileBytes;
  return json;
}

void print(const analysis::Explanation &e) {
  std::printf("%s(", e.kernel.c_str());
  for (size_t i = 0; i < e.parameters.size(); ++i)
    std::printf("%s%s: %s", i ? ", " : "", e.parameters[i].first.c_str(),
                e.parameters[i].second.c_str());
  std::printf("), one program:\n\n");
  std::map<std::string, std::vector<std::string>> sources;
  std::string file;
  for (const analysis::ExplainedLine &line : e.lines) {
    if (line.file != file)
      std::printf("%s\n", line.file.c_str());
    file = line.file;
    auto [it, isNew] = sources.try_emplace(file);
    if (isNew)
      it->second = linesOf(file);
    const std::string text =
        line.line && line.line <= it->second.size() ? it->second[line.line - 1] : "";
    std::printf("%5u | %s\n", line.line, text.c_str());
    for (const analysis::ExplainedOp &op : line.ops) {
      std::string out = "      |     " + op.what + " " + op.type;
      if (op.bytesRead)
        out += ", reads " + bytesText(op.bytesRead);
      if (op.bytesWritten)
        out += ", writes " + bytesText(op.bytesWritten);
      if (!op.note.empty())
        out += ", " + op.note;
      if (op.operations)
        out += ", " + std::to_string(op.operations) + " operations";
      if (line.loopDepth)
        out += line.loopDepth == 1 ? ", in a loop"
                                   : ", in " + std::to_string(line.loopDepth) + " nested loops";
      if (!line.calledFrom.empty())
        out += ", called from " + line.calledFrom;
      std::printf("%s\n", out.c_str());
    }
  }
  double intensity = e.bytesRead + e.bytesWritten
                         ? double(e.operations) / double(e.bytesRead + e.bytesWritten)
                         : 0;
  std::printf(
      "\none program: reads %s, writes %s, %lld operations, %.3g a byte%s; largest tile %s\n",
      bytesText(e.bytesRead).c_str(), bytesText(e.bytesWritten).c_str(), (long long)e.operations,
      intensity, e.hasLoops ? " (loops whose length is not known count once)" : "",
      bytesText(e.largestTileBytes).c_str());
}

} // namespace

Action addExplain(CLI::App &app) {
  auto words = std::make_shared<KernelWords>();
  addKernelWords(app, *words);
  auto grid = std::make_shared<std::string>();
  app.add_option("-g,--grid", *grid,
                 "Programs, as `run` takes them: the sums are those of one program on average");
  return [words, grid] {
    auto kernel = emitKernel(*words);
    if (!kernel)
      return refuse(kernel.error());
    report((*kernel)->emitted.diagnostics);
    // A signature says nothing that a grid could be computed from.
    auto values = launchValues(**kernel, words->arguments.empty() ? "" : *grid);
    if (!values)
      return refuse(values.error());
    auto explanation = analysis::explain((*kernel)->emitted.kernel(), *values);
    if (words->json)
      std::printf("%s\n", explanationJson(explanation).dump().c_str());
    else
      print(explanation);
    return exitDone;
  };
}

} // namespace nereid::tools
