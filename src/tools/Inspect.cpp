// nereid inspect: what the code of a kernel will do to a chip, with no chip at hand. Facts come
// from the compiler's layouts, the assembler and data sheets; nothing is run and nothing is
// measured.
#include "target/Gpu.h"
#include "tools/InspectParts.h"
#include "tools/Suite.h"
#include "tools/Verbs.h"

#include <memory>

namespace nereid::tools {

namespace {

LaunchFacts launchFacts(EmittedCall &call, const analysis::LaunchValues &values) {
  LaunchFacts launch;
  launch.grid = values.grid;
  if (call.arguments)
    for (const auto &[name, value] : call.arguments->all())
      if (auto *tensor = engine::tensorOf(value))
        launch.tensorBytes[name] = double(tensor->numel()) * double(info(tensor->dtype).bytes);
  return launch;
}

/// What was found, as JSON and by line.
struct Inspected {
  Json json;
  analysis::Explanation lines;
};

Result<Inspected> inspected(const InspectWords &words) {
  if (words.chip != "cpu" && !target::gpuChip(words.chip))
    return engine::unknownTarget(words.chip, "cpu");
  auto call = emitKernel(words);
  if (!call)
    return call.takeError();
  engine::noteIgnored((*call)->emitted, words.chip);
  report((*call)->emitted.diagnostics);
  auto values = launchValues(**call, words.grid);
  if (!values)
    return values.takeError();
  LaunchFacts launch = launchFacts(**call, *values);
  analysis::Explanation lines = analysis::explain((*call)->emitted.kernel(), *values);
  auto json = words.chip == "cpu" ? inspectCpu(words, (*call)->emitted, launch, lines)
                                  : inspectGpu(words, (*call)->emitted, launch, lines);
  if (!json)
    return json.takeError();
  return Inspected{*std::move(json), std::move(lines)};
}

int runInspect(const InspectWords &words) {
  auto found = inspected(words);
  if (!found)
    return refuse(found.error());
  if (words.json)
    std::printf("%s\n", found->json.dump().c_str());
  else if (words.chip == "cpu")
    printCpu(found->json, found->lines);
  else
    printGpu(found->json, found->lines);
  return exitDone;
}

void addWords(CLI::App &app, InspectWords &words) {
  addKernelWords(app, words);
  app.add_option("-t,--target", words.chip, "cpu, sm_80, sm_90a, ... (default cpu)");
  app.add_option("-g,--grid", words.grid,
                 "Programs, for waves and the bytes of the launch: \"(cdiv(n, BLOCK),)\"");
  app.add_option(
      "--board", words.board,
      "Whose SMs, clock and memory count: A100, H100, H200, ... (default: A100, A40, L40S, "
      "H200, B200 by target)");
  app.add_option("--cpu", words.level,
                 "Level of the target cpu: x86-64, -v2, -v3, -v4 or native (default)");
}

} // namespace

Result<Json> inspectFacts(const std::vector<std::string> &list) {
  CLI::App app;
  InspectWords words;
  addWords(app, words);
  try {
    // CLI11 takes words from the end.
    app.parse(std::vector<std::string>(list.rbegin(), list.rend()));
  } catch (const CLI::ParseError &error) {
    return Error{"`inspect`: " + std::string(error.what()), {}};
  }
  auto found = inspected(words);
  if (!found)
    return found.takeError();
  return std::move(found->json);
}

Action addInspect(CLI::App &app) {
  auto words = std::make_shared<InspectWords>();
  addWords(app, *words);
  return [words] { return runInspect(*words); };
}

} // namespace nereid::tools
