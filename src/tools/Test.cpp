// nereid test FOLDER...: each case of each variant against the reference.
#include "runtime/Device.h"
#include "support/HostTensor.h"
#include "tools/FolderRows.h"

#include <cstdio>
#include <memory>

namespace nereid::tools {

namespace {

int runTest(const FolderWords &words, Attempts &attempts) {
  std::vector<std::vector<std::string>> table = {{"kernel", "variant", "device", "shape", "result",
                                                  "max error", "tolerance", "launches", "ms"}};
  std::vector<std::string> failures;
  size_t passed = 0, failed = 0, skipped = 0;
  auto sum = [&] {
    return std::to_string(passed) + " passed, " + std::to_string(failed) + " failed, " +
           std::to_string(skipped) + " skipped";
  };
  engine::FolderRunOptions options;
  options.devices = {"ref"};
  for (runtime::Device *device : runtime::devices())
    options.devices.push_back(device->name());
  options.match = words.match;
  support::HostTensor::fence(true);
  auto rows = runFolders(words, std::move(options), attempts, [&](Json &row) {
    row["seed"] = words.seed;
    bool isSkipped = !textOf(row, "skipped_reason").empty(), isFailed = row["passed"] == false;
    ++(isSkipped ? skipped : isFailed ? failed : passed);
    if (isFailed)
      failures.push_back(placeOf(row) + ": " + textOf(row, "failure") +
                         (words.seed ? " (--seed " + std::to_string(words.seed) + ")" : ""));
    table.push_back({textOf(row, "kernel"), textOf(row, "variant"), textOf(row, "device"),
                     textOf(row, "shape"),
                     isSkipped                  ? "skipped"
                     : isFailed                 ? "FAILED"
                     : row["assembled"] == true ? "assembled"
                                                : "passed",
                     figureText(row, "max_error", "%.2e"), figureText(row, "tolerance", "%.2e"),
                     figureText(row, "launches", "%.0f"), figureText(row, "seconds", "%.3g", 1e3)});
    return sum();
  });
  if (!rows)
    return refuse(rows.error());
  if (rows->empty() && !words.match.empty())
    return refuse(noSuchCase(words));
  if (words.json) {
    std::printf("%s\n", Json({{"rows", *rows}}).dump().c_str());
  } else {
    printTable(table, 5);
    for (const std::string &failure : failures)
      std::printf("%s\n", failure.c_str());
    std::printf("%s\n", sum().c_str());
  }
  return failed ? exitRefused : exitDone;
}

} // namespace

Action addTest(CLI::App &app) {
  auto words = std::make_shared<FolderWords>();
  words->set = "cases";
  addFolderWords(app, *words)->required();
  app.get_option("--device")
      ->description("ref, cpu or cuda:N; may be given more than once (default: each one present). "
                    "A chip such as "
                    "sm_90a: compile and assemble for it, run nothing");
  app.add_option("--seed", words->seed,
                 "Other data for all inputs; a failure names it (default: 0, each case's own)");
  app.add_flag("--code", words->describe,
               "With --json, of a chip's rows: spills, instructions and accesses of each kernel");
  app.add_flag("--few", words->fewCases,
               "On devices behind the first, one case of each variant and dtype");
  return [words] {
    return Attempts::run([&](Attempts &attempts) { return runTest(*words, attempts); });
  };
}

} // namespace nereid::tools
