// `nereid inspect` of a GPU: registers, occupancy, accesses, and the roofline of a board.
#include "pipeline/Gpu.h"
#include "tools/InspectParts.h"

#include <algorithm>
#include <cmath>

namespace nereid::tools {

namespace {

// Accesses of one line and shape are one row.
struct AccessRow {
  analysis::SourceLine place;
  gpu::AccessFact fact;
};

std::vector<AccessRow> rowsOf(const std::vector<gpu::AccessFact> &facts) {
  std::vector<AccessRow> rows;
  for (const gpu::AccessFact &fact : facts) {
    analysis::SourceLine place = analysis::sourceLine(fact.where);
    auto same = [&](const AccessRow &row) {
      return placeKey(row.place) == placeKey(place) && row.fact.space == fact.space &&
             row.fact.what == fact.what && row.fact.bytes == fact.bytes &&
             row.fact.elements == fact.elements && row.fact.transactions == fact.transactions &&
             row.fact.fewest == fact.fewest && row.fact.isAtEnd == fact.isAtEnd;
    };
    auto found = std::find_if(rows.begin(), rows.end(), same);
    if (found == rows.end())
      rows.push_back({place, fact});
    else
      found->fact.count += fact.count;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const AccessRow &a, const AccessRow &b) {
    return placeKey(a.place) < placeKey(b.place);
  });
  return rows;
}

struct Waves {
  uint64_t programs = 0, atOnce = 0;
  double waves = 0;
  double busy = 0; ///< share of the last wave's places, and of all those before it, that have work
};

Waves wavesOf(const LaunchFacts &launch, const target::Occupancy &occupancy,
              const target::GpuBoard &board) {
  Waves out;
  out.programs = launch.programs();
  out.atOnce = uint64_t(occupancy.blocks) * board.sms;
  if (!out.atOnce)
    return out;
  out.waves = double(out.programs) / double(out.atOnce);
  out.busy = out.programs ? out.waves / std::ceil(out.waves) : 0;
  return out;
}

struct Roofline {
  double memorySeconds = 0, tensorSeconds = 0, plainSeconds = 0;
  double bytesASecond = 0, tensorRate = 0, plainRate = 0; ///< operations a second; tensor: 16 bits
  const char *bound() const {
    return memorySeconds >= std::max(tensorSeconds, plainSeconds) ? "memory"
           : tensorSeconds >= plainSeconds                        ? "tensor cores"
                                                                  : "arithmetic";
  }
  double least() const { return std::max({memorySeconds, tensorSeconds, plainSeconds}); }
};

Roofline rooflineOf(const target::GpuChip &chip, const target::GpuBoard &board, const Work &work,
                    const analysis::Explanation &lines, double programs, bool hasTensorProducts) {
  Roofline out;
  double clocks = double(board.sms) * board.megahertz * 1e6;
  out.bytesASecond = board.gigabytesASecond * 1e9;
  out.tensorRate = clocks * chip.mma16PerClock * 2;
  out.plainRate = clocks * chip.fma32PerClock * 2;
  out.memorySeconds = work.least / out.bytesASecond;
  double dots = 0;
  for (const auto &[element, operations] : lines.dotOperations) {
    // Twice as fast with half the bits.
    double speed = element.find('8') != std::string::npos ? 2 : element == "f32" ? 0.5 : 1;
    double seconds = programs * operations;
    dots += seconds;
    if (hasTensorProducts)
      out.tensorSeconds += seconds / (out.tensorRate * speed);
    else
      out.plainSeconds += seconds / out.plainRate;
  }
  // Other operations fill one half of a multiply-add each.
  out.plainSeconds += (work.operations - dots) * 2 / out.plainRate;
  return out;
}

std::string timeText(double seconds) {
  return seconds < 1e-3 ? text("%.3g us", seconds * 1e6) : text("%.4g ms", seconds * 1e3);
}

double share(unsigned part, unsigned whole) { return whole ? double(part) / double(whole) : 1; }

// What to do about what costs most, one line each.
Json hintsOf(const Json &json) {
  Json hints = Json::array();
  if (!json["spill_load_bytes"].is_null() &&
      json["spill_load_bytes"].get<int64_t>() + json["spill_store_bytes"].get<int64_t>() > 0)
    hints.push_back("registers spill: take more warps than " + json["num_warps"].dump() +
                    " or a smaller block");
  for (const Json &row : json["accesses"]) {
    if (row["space"] != "global" || row["at_end"] ||
        row["what"].get<std::string>().starts_with("bulk"))
      continue;
    std::string place = placeText(row) + ": the " + row["what"].get<std::string>() + " ";
    constexpr double poor = 0.5;
    constexpr int64_t widest = 16;
    if (row["coalescing"].get<double>() < poor)
      hints.push_back(place + "touches " + row["sectors"].dump() + " sectors where " +
                      row["sectors_at_best"].dump() +
                      " would do: neighbouring elements of the tile are not known to be neighbours "
                      "in memory. Of a tile of rows let the last dimension run along memory, and "
                      "transpose in the kernel (`tl.trans`); a stride that is 1 is told by its "
                      "value, as `i32:1` in a signature");
    else if (row["elements"] == 1 &&
             row["bytes"].get<int64_t>() * row["count"].get<int64_t>() >= widest &&
             row["bytes"].get<int64_t>() < widest)
      hints.push_back(place + "moves one element at a time: pass sizes and strides that are "
                              "multiples of 16 (8 and 4 help too), or promise it with "
                              "`tl.multiple_of`");
  }
  const Json &waves = json["waves"];
  if (!waves.is_null() && waves["busy"].get<double>() < 0.5)
    hints.push_back(waves["programs"].dump() + " programs for " + waves["at_once"].dump() +
                    " places: smaller blocks give more of them");
  return hints;
}

Json accessesJson(const std::vector<gpu::AccessFact> &facts) {
  Json rows = Json::array();
  for (const AccessRow &row : rowsOf(facts)) {
    bool isGlobal = row.fact.space == gpu::MemorySpace::Global;
    Json access = placeJson(row.place);
    access["space"] = isGlobal ? "global" : "shared";
    access["what"] = row.fact.what + (row.fact.isAtEnd ? " at the end" : "");
    access["at_end"] = row.fact.isAtEnd;
    access["bytes"] = row.fact.bytes;
    access["elements"] = row.fact.elements;
    access["count"] = row.fact.count;
    access[isGlobal ? "sectors" : "cycles"] = row.fact.transactions;
    access[isGlobal ? "sectors_at_best" : "cycles_at_best"] = row.fact.fewest;
    if (isGlobal)
      access["coalescing"] = share(row.fact.fewest, row.fact.transactions);
    else
      access["conflict_ways"] = share(row.fact.transactions, row.fact.fewest);
    rows.push_back(std::move(access));
  }
  return rows;
}

Json instructionsJson(const std::vector<gpu::InstructionFact> &facts) {
  Json rows = Json::array();
  for (const gpu::InstructionFact &fact : facts) {
    Json row = placeJson(analysis::sourceLine(fact.where));
    row["kind"] = fact.kind;
    row["name"] = fact.name;
    row["count"] = fact.count;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json wavesJson(const LaunchFacts &launch, const target::Occupancy &resident,
               const target::GpuBoard &board) {
  if (!launch.programs())
    return nullptr;
  Waves waves = wavesOf(launch, resident, board);
  return {{"programs", waves.programs},
          {"at_once", waves.atOnce},
          {"waves", waves.waves},
          {"busy", waves.busy}};
}

Json rooflineJson(const Roofline &roof, const Work &work) {
  return {{"bytes_a_second", roof.bytesASecond},
          {"operations_a_second_16_bit_products", roof.tensorRate},
          {"operations_a_second", roof.plainRate},
          {"intensity", work.least > 0 ? work.operations / work.least : 0},
          {"memory_seconds", roof.memorySeconds},
          {"tensor_seconds", roof.tensorSeconds},
          {"arithmetic_seconds", roof.plainSeconds},
          {"least_seconds", roof.least()},
          {"bound", roof.bound()}};
}

Result<const target::GpuBoard *> boardOf(const std::string &name, const target::GpuChip &chip) {
  auto carries = [&](const target::GpuBoard &board) {
    return target::gpuChip(board.chip)->capability == chip.capability;
  };
  const target::GpuBoard *board = target::gpuBoard(name, chip);
  if (board && carries(*board))
    return board;
  std::string known;
  for (const target::GpuBoard &row : target::gpuBoards())
    if (carries(row))
      known += (known.empty() ? "" : ", ") + std::string(row.name);
  const std::string chipName(chip.name);
  return Error{"`--board " + name + "` " + (board ? "has no " + chipName : "is not known") +
                   (known.empty() ? "" : "; those of " + chipName + " are " + known),
               {}};
}

std::string word(const Json &value) { return value.get<std::string>(); }

std::string number(const Json &value) {
  return value.is_null() ? "?" : std::to_string(value.get<int64_t>());
}

// What a program is given and how many run at once: the upper rows.
void printResources(const Json &json) {
  std::printf("warps          %s\n", number(json["num_warps"]).c_str());
  for (const Json &way : json["launch"])
    std::printf("launched       %s\n", way == "pdl" ? "before the launch ahead has ended"
                                                    : "with all programs at once, or not at all");
  if (json["program_loop"].get<bool>())
    std::printf("a block runs   several programs\n");
  else if (std::string lacks = word(json["program_loop_lacks"]); !lacks.empty())
    std::printf("a block runs   one program: %s\n", lacks.c_str());
  if (json["registers"].is_null())
    std::printf("registers      not known: %s\n", word(json["registers_unknown"]).c_str());
  else
    std::printf("registers      %s a thread, spills %s B stored, %s B loaded\n",
                number(json["registers"]).c_str(), number(json["spill_store_bytes"]).c_str(),
                number(json["spill_load_bytes"]).c_str());
  std::printf("shared memory  %s a program\n",
              bytesText(json["shared_bytes"].get<double>()).c_str());
  const Json &occupancy = json["occupancy"], &waves = json["waves"];
  std::printf("occupancy      %s programs, %s warps an SM (%.0f%%), limited by %s\n",
              number(occupancy["blocks"]).c_str(), number(occupancy["warps"]).c_str(),
              100 * occupancy["share"].get<double>(), word(occupancy["limited_by"]).c_str());
  if (!waves.is_null())
    std::printf("waves          %s programs, %s at once: %.2f waves, %.0f%% of the places used\n",
                number(waves["programs"]).c_str(), number(waves["at_once"]).c_str(),
                waves["waves"].get<double>(), 100 * waves["busy"].get<double>());
}

void printInstructions(const Json &instructions) {
  std::map<std::string, int64_t> kinds;
  for (const Json &row : instructions) {
    std::string name = word(row["name"]);
    kinds[name.empty() ? word(row["kind"]) : name] += row["count"].get<int64_t>();
  }
  for (bool first = true; const auto &[name, count] : kinds) {
    std::printf("%-14s %lld x %s\n", first ? "instructions" : "", (long long)count, name.c_str());
    first = false;
  }
}

void printAccesses(const Json &accesses) {
  std::vector<std::vector<std::string>> global = {
      {"line", "global memory", "bytes", "elements", "times", "sectors", "at best", "coalescing"}};
  std::vector<std::vector<std::string>> shared = {
      {"line", "shared memory", "bytes", "elements", "times", "cycles", "at best", "conflicts"}};
  for (const Json &row : accesses) {
    bool isGlobal = row["space"] == "global";
    (isGlobal ? global : shared)
        .push_back({placeText(row), row["what"], number(row["bytes"]), number(row["elements"]),
                    number(row["count"]), number(row[isGlobal ? "sectors" : "cycles"]),
                    number(row[isGlobal ? "sectors_at_best" : "cycles_at_best"]),
                    isGlobal ? text("%.0f%%", 100 * row["coalescing"].get<double>())
                             : text("%.3g-way", row["conflict_ways"].get<double>())});
  }
  for (const auto *table : {&global, &shared})
    if (table->size() > 1) {
      std::printf("\n");
      printTable(*table, 2);
    }
}

void printRoofline(const Json &json) {
  const Json &roof = json["roofline"], &work = json["work"];
  bool isLaunch = !json["waves"].is_null();
  std::printf("\n%s: %s asked for, %s at least, %.4g operations, %.3g a byte\n",
              isLaunch ? "the launch" : "one program",
              bytesText(work["launch_bytes_requested"].get<double>()).c_str(),
              bytesText(work["launch_bytes_least"].get<double>()).c_str(),
              work["launch_operations"].get<double>(), roof["intensity"].get<double>());
  if (!isLaunch)
    return;
  auto seconds = [&](const char *which) { return timeText(roof[which].get<double>()); };
  std::printf("roofline: memory %s, tensor cores %s, arithmetic %s: bound by %s, at least %s\n",
              seconds("memory_seconds").c_str(), seconds("tensor_seconds").c_str(),
              seconds("arithmetic_seconds").c_str(), word(roof["bound"]).c_str(),
              seconds("least_seconds").c_str());
}

} // namespace

Result<Json> inspectGpu(const InspectWords &words, engine::EmittedKernel &emitted,
                        const LaunchFacts &launch, const analysis::Explanation &lines) {
  const target::GpuChip &chip = *target::gpuChip(words.chip);
  auto board = boardOf(words.board, chip);
  if (!board)
    return board.takeError();
  auto report = pipeline::inspectForGpu(*emitted.module, chip);
  if (!report)
    return report.takeError();
  const support::Artifact &artifact = *report->artifact;
  const support::CodeRecord &code = artifact.codes().front();
  auto ifAssembled = [&](auto value) { return report->isAssembled ? Json(value) : Json(nullptr); };
  target::Occupancy resident =
      target::occupancy(chip, code.numWarps, code.registers, code.sharedBytes);
  Work work = workOf(lines, launch, artifact);
  bool hasTensorProducts =
      std::any_of(report->instructions.begin(), report->instructions.end(),
                  [](const auto &fact) { return fact.kind == "wgmma" || fact.kind == "mma.sync"; });
  double programs = std::max<double>(1, double(launch.programs()));
  Roofline roof = rooflineOf(chip, **board, work, lines, programs, hasTensorProducts);

  Json json = {{"kernel", std::string(artifact.name())},
               {"target", words.chip},
               {"board", std::string((*board)->name)},
               {"num_warps", code.numWarps},
               {"launch", Json::array()},
               {"registers", ifAssembled(code.registers)},
               {"spill_store_bytes", ifAssembled(code.spillStoreBytes)},
               {"spill_load_bytes", ifAssembled(code.spillLoadBytes)},
               {"stack_bytes", ifAssembled(code.stackBytes)},
               {"program_loop", (code.flags & support::CodeLoopsOverPrograms) != 0},
               {"program_loop_lacks", report->whyNoProgramLoop},
               {"shared_bytes", code.sharedBytes}};
  if (code.flags & support::CodePdl)
    json["launch"].push_back("pdl");
  if (code.flags & support::CodeCooperative)
    json["launch"].push_back("cooperative_grid");
  if (!report->isAssembled)
    json["registers_unknown"] = "no `ptxas` on this machine";
  json["occupancy"] = {{"blocks", resident.blocks},
                       {"warps", resident.warps},
                       {"share", share(resident.warps, chip.warpsPerSm)},
                       {"limited_by", std::string(resident.limit)},
                       {"blocks_by_warps", resident.byWarps},
                       {"blocks_by_registers", ifAssembled(resident.byRegisters)},
                       {"blocks_by_shared_memory", resident.byShared}};
  json["waves"] = wavesJson(launch, resident, **board);
  json["accesses"] = accessesJson(report->accesses);
  json["instructions"] = instructionsJson(report->instructions);
  json["warnings"] = report->warnings;
  json["hints"] = hintsOf(json);
  json["work"] = workJson(lines, work);
  json["lines"] = linesJson(lines);
  json["roofline"] = rooflineJson(roof, work);
  return json;
}

void printGpu(const Json &json, const analysis::Explanation &lines) {
  std::printf("%s on %s (%s)\n\n", word(json["kernel"]).c_str(), word(json["target"]).c_str(),
              word(json["board"]).c_str());
  printResources(json);
  printInstructions(json["instructions"]);
  for (const Json &warning : json["warnings"])
    std::printf("warning        %s\n", word(warning).c_str());
  printAccesses(json["accesses"]);
  for (bool first = true; const Json &hint : json["hints"]) {
    std::printf("%shint: %s\n", first ? "\n" : "", word(hint).c_str());
    first = false;
  }
  printLines(lines);
  printRoofline(json);
}

} // namespace nereid::tools
