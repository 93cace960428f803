// nereid bench FOLDER...: each case of `bench` timed, each variant on each device.
#include "engine/Files.h"
#include "runtime/Device.h"
#include "tools/BenchPage.h"
#include "tools/FolderRows.h"
#include "tools/Suite.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <memory>

namespace nereid::tools {

namespace {

struct BenchWords : FolderWords {
  std::string match, html, csv, suite;
  double seconds = 0.5;
};

// (p80 - p20) / median above this says that something else ran beside the kernel.
constexpr double widestSpread = 0.25;

int runBench(const BenchWords &words) {
  if (!words.suite.empty())
    return runSuite({.suite = words.suite,
                     .match = words.match,
                     .devices = words.devices,
                     .seconds = words.seconds,
                     .json = words.json});
  std::vector<std::vector<std::string>> table = {{"kernel", "variant", "device", "shape", "config",
                                                  "us", "spread", "GB/s", "of copy", "GFLOP/s",
                                                  "launches", "compile ms"}};
  std::vector<std::string> remarks;
  engine::FolderRunOptions options;
  options.devices.clear();
  for (runtime::Device *device : runtime::devices())
    options.devices.push_back(device->name());
  options.match = words.match;
  options.time.emplace();
  options.time->seconds = words.seconds;
  bool failed = false;
  size_t count = 0;
  auto rows = runFolders(words, std::move(options), [&](const engine::FolderRow &row) {
    std::string progress = std::to_string(++count) + " rows";
    std::string place = row.kernel + " " + row.variant + " (" + row.shape + ") on " + row.device;
    if (!row.failure.empty()) {
      failed = true;
      remarks.push_back(place + ": " + row.failure);
      return progress;
    }
    if (!row.skippedReason.empty()) {
      remarks.push_back(place + ": skipped: " + row.skippedReason);
      return progress;
    }
    auto scaled = [](const std::optional<double> &value, double by) {
      return value ? std::optional(*value * by) : std::nullopt;
    };
    std::optional<double> spread;
    if (row.p20 && row.p80 && *row.seconds > 0)
      spread = (*row.p80 - *row.p20) / *row.seconds;
    if (spread && *spread > widestSpread)
      remarks.push_back(place + ": the samples spread widely; is something else running?");
    table.push_back(
        {row.kernel, row.variant, row.device, row.shape, row.config,
         numberText(scaled(row.seconds, 1e6), "%.1f"), numberText(scaled(spread, 100), "%.0f%%"),
         numberText(row.gbps, "%.0f"), numberText(scaled(row.copyShare, 100), "%.0f%%"),
         numberText(row.gflops, "%.0f"), row.launches ? std::to_string(*row.launches) : "-",
         numberText(scaled(row.compileSeconds, 1e3), "%.1f")});
    return progress;
  });
  if (!rows)
    return refuse(rows.error());
  if (!words.html.empty())
    if (Status status = engine::writeFile(words.html, benchPage(*rows)); !status)
      return refuse(status.error());
  if (!words.csv.empty())
    if (Status status = engine::writeFile(words.csv, benchCsv(*rows)); !status)
      return refuse(status.error());
  if (words.json) {
    std::printf("%s\n", Json({{"rows", *rows}}).dump().c_str());
  } else {
    printTable(table, 5);
    for (const std::string &remark : remarks)
      std::printf("%s\n", remark.c_str());
  }
  return failed ? exitRefused : exitDone;
}

} // namespace

Action addBench(CLI::App &app) {
  auto words = std::make_shared<BenchWords>();
  words->set = "bench";
  CLI::Option *folders = addFolderWords(app, *words);
  CLI::Option *suite = app.add_option(
      "--suite", words->suite, "Claims about rows: FILE.py, or the name of one in bench/suites");
  app.add_option_group("what")->require_option(1)->add_options(folders, suite);
  app.add_option("--match", words->match,
                 "Only cases whose label contains this; only such claims of a suite");
  app.add_option("--seconds", words->seconds, "Time for the samples of one row")
      ->check(CLI::Range(0.001, 600.0));
  app.add_option("--html", words->html, "Write a page with rooflines, scaling and all rows");
  app.add_option("--csv", words->csv, "Write the rows as comma-separated values");
  for (const char *name : {"--cases", "--variant", "--all-configs", "--untuned", "--html", "--csv"})
    suite->excludes(app.get_option(name));
  return [words] { return runBench(*words); };
}

} // namespace nereid::tools
