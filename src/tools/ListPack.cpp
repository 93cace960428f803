// `nereid list FILE.pack`: the code that a pack has, and what it decides at each launch.
#include "tools/ListPack.h"

#include "launch/Pack.h"
#include "support/HostExpression.h"

#include <cstdio>
#include <cstring>
#include <fstream>

namespace nereid::tools {

namespace {

// "cdiv(n, BLOCK), heads"; empty if the code brings no grid along.
std::string gridOf(const support::Artifact &artifact) {
  support::HostNames names;
  for (const support::ParameterRecord &parameter : artifact.parameters())
    names.leaves.emplace_back(artifact.text(parameter.name));
  std::string text;
  for (const support::ExpressionRecord &expression : artifact.expressions())
    if (support::ExpressionRole(expression.role) == support::ExpressionRole::Grid)
      if (auto axis = support::HostExpression::open(artifact.blob(expression.code)))
        text += (text.empty() ? "" : ", ") + axis->toPython(names);
  return text;
}

Json listKernel(const launch::Pack &pack, const launch::PackedKernelRow &row, bool asJson) {
  Json parameters = Json::array(), entries = Json::array(), computed = Json::array();
  std::string head, remarks;
  for (const launch::Parameter &parameter : row.signature.parameters) {
    parameters.push_back({{"name", parameter.name}, {"constexpr", parameter.isConstexpr}});
    head += (head.empty() ? "" : ", ") + parameter.name;
  }
  for (const launch::Heuristics::Rule &rule : row.heuristics.all()) {
    const std::string &name = row.signature.parameters[rule.parameter].name;
    computed.push_back(name);
    remarks += (remarks.empty() ? "  [computes `" : ", `") + name + "`";
  }
  if (!row.choices.empty())
    remarks += (remarks.empty() ? "  [" : ", ") + std::to_string(row.choices.size()) +
               (row.choices.size() == 1 ? " configuration by key" : " configurations by key");
  std::vector<std::vector<std::string>> table = {{"", "target", "warps", "bytes", "signature"}};
  std::string grid;
  for (const launch::PackEntry &entry : row.entries) {
    auto artifact = pack.artifact(entry);
    std::string ownGrid = artifact ? gridOf(*artifact) : "";
    entries.push_back({{"target", entry.target},
                       {"signature", entry.specialization.text()},
                       {"num_warps", entry.chosen.numWarps},
                       {"num_stages", entry.chosen.numStages},
                       {"bytes", entry.artifact.size()},
                       {"grid", ownGrid.empty() ? Json(nullptr) : Json(ownGrid)}});
    table.push_back({"", entry.target,
                     entry.target == "cpu" ? "-" : std::to_string(entry.chosen.numWarps),
                     std::to_string(entry.artifact.size()), entry.specialization.text()});
    if (grid.empty())
      grid = ownGrid;
  }
  if (!grid.empty())
    remarks += (remarks.empty() ? "  [grid (" : ", grid (") + grid + ")";
  if (!asJson) {
    std::printf("%s(%s)%s\n", row.signature.name.c_str(), head.c_str(),
                remarks.empty() ? "" : (remarks + "]").c_str());
    printTable(table, /*numbersFrom=*/2, /*numbersTo=*/4);
  }
  return {{"name", row.signature.name},
          {"parameters", std::move(parameters)},
          {"computed", std::move(computed)},
          {"choices", row.choices.size()},
          {"entries", std::move(entries)}};
}

} // namespace

bool isPack(const std::string &path) {
  char start[8] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(start, sizeof start) && std::memcmp(start, launch::packMagic, sizeof start) == 0;
}

Result<Json> listPack(const std::string &path, bool asJson) {
  auto pack = launch::Pack::map(path);
  if (!pack)
    return pack.takeError();
  Json json = {{"kernels", Json::array()}};
  for (const launch::PackedKernelRow &row : pack->kernels())
    json["kernels"].push_back(listKernel(*pack, row, asJson));
  return json;
}

} // namespace nereid::tools
