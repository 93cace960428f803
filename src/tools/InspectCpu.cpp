// `nereid inspect` of a CPU: code, vectors, and the loops that the kernel became.
#include "pipeline/Cpu.h"
#include "tools/InspectParts.h"

#include <algorithm>
#include <set>

namespace nereid::tools {

Result<Json> inspectCpu(const InspectWords &words, engine::EmittedKernel &emitted,
                        const LaunchFacts &launch, const analysis::Explanation &lines) {
  auto features = featuresOf(words.level);
  if (!features)
    return features.takeError();
  pipeline::CpuOptions options;
  options.features = *features;
  auto report = pipeline::inspectForCpu(*emitted.module, options);
  if (!report)
    return report.takeError();
  const support::Artifact &artifact = *report->artifact;
  const support::CodeRecord &code = artifact.codes().front();
  Work work = workOf(lines, launch, artifact);
  Json json = {{"kernel", std::string(artifact.name())},
               {"target", "cpu"},
               {"features", std::string(artifact.text(code.features))},
               {"vector_bytes", report->vectorBytes},
               {"code_bytes", report->codeBytes},
               {"scratch_bytes", code.arenaBytes},
               {"loops", Json::array()},
               {"accesses", Json::array()}};
  for (const pipeline::CpuLoop &loop : report->loops) {
    Json row = placeJson(analysis::sourceLine(loop.where));
    row["computes"] = loop.computes;
    row["stored"] = loop.stored.empty() ? Json(nullptr) : Json(loop.stored);
    json["loops"].push_back(std::move(row));
  }
  // The arena is memory too: only lines that reach the caller's memory are listed.
  std::set<std::tuple<std::string, unsigned, std::string>> reading, writing;
  for (const analysis::ExplainedLine &line : lines.lines) {
    if (line.bytesRead > 0)
      reading.insert(placeKey(line));
    if (line.bytesWritten > 0)
      writing.insert(placeKey(line));
  }
  for (const pipeline::CpuAccess &access : report->accesses) {
    analysis::SourceLine place = analysis::sourceLine(access.where);
    if (!(access.isStore ? writing : reading).contains(placeKey(place)))
      continue;
    Json row = placeJson(place);
    row["what"] = access.isStore       ? access.isScattered ? "scatter" : "store"
                  : access.isScattered ? "gather"
                                       : "load";
    row["masked"] = access.isMasked;
    row["lanes"] = access.lanes;
    row["bytes"] = access.lanes * access.elementBytes;
    row["count"] = access.count;
    json["accesses"].push_back(std::move(row));
  }
  json["work"] = workJson(lines, work);
  json["lines"] = linesJson(lines);
  return json;
}

void printCpu(const Json &json, const analysis::Explanation &lines) {
  std::printf("%s on the CPU\n\n", json["kernel"].get<std::string>().c_str());
  std::printf("code           %s\n", bytesText(json["code_bytes"].get<double>()).c_str());
  std::printf("vectors        %d bits\n", 8 * json["vector_bytes"].get<int>());
  std::printf("scratch        %s a thread\n",
              bytesText(json["scratch_bytes"].get<double>()).c_str());
  std::vector<std::vector<std::string>> loops = {{"line", "loop computes", "kept in memory"}};
  for (const Json &row : json["loops"]) {
    std::map<std::string, int> counts;
    for (const Json &name : row["computes"])
      ++counts[name.get<std::string>()];
    std::string names;
    for (const auto &[name, count] : counts)
      names += (names.empty() ? "" : ", ") + name + (count > 1 ? " x" + std::to_string(count) : "");
    loops.push_back({placeText(row), names.empty() ? "-" : names,
                     row["stored"].is_null() ? "no" : row["stored"].get<std::string>()});
  }
  std::vector<std::vector<std::string>> accesses = {{"line", "memory", "lanes", "bytes", "times"}};
  for (const Json &row : json["accesses"])
    accesses.push_back(
        {placeText(row),
         (row["masked"].get<bool>() ? "masked " : "") + row["what"].get<std::string>(),
         std::to_string(row["lanes"].get<int>()), std::to_string(row["bytes"].get<int>()),
         std::to_string(row["count"].get<int>())});
  for (const auto *table : {&loops, &accesses})
    if (table->size() > 1) {
      std::printf("\n");
      printTable(*table, table == &loops ? 3 : 2);
    }
  printLines(lines);
  double least = json["work"]["launch_bytes_least"].get<double>(),
         operations = json["work"]["launch_operations"].get<double>();
  std::printf("\n%s asked for, %s at least, %.4g operations, %.3g a byte\n",
              bytesText(json["work"]["launch_bytes_requested"].get<double>()).c_str(),
              bytesText(least).c_str(), operations, least > 0 ? operations / least : 0);
}

} // namespace nereid::tools
