// nereid bench FOLDER...: each case of `bench` timed, each variant on each device.
#include "engine/Files.h"
#include "runtime/Device.h"
#include "tools/BenchPage.h"
#include "tools/FolderRows.h"
#include "tools/Suite.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace nereid::tools {

namespace {

struct BenchWords {
  std::vector<std::string> folders, devices, variants;
  std::string set = "bench", match, html, csv, suite;
  double seconds = 0.5;
  bool json = false, allConfigs = false;
  bool untuned = false;
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
  Json rows = Json::array();
  std::vector<std::vector<std::string>> table = {{"kernel", "variant", "device", "shape", "config",
                                                  "us", "spread", "GB/s", "of copy", "GFLOP/s",
                                                  "launches", "compile ms"}};
  std::vector<std::string> remarks;
  engine::FolderRunOptions options;
  options.devices = words.devices;
  if (options.devices.empty())
    for (runtime::Device *device : runtime::devices())
      options.devices.push_back(device->name());
  options.set = words.set;
  options.match = words.match;
  options.variants = words.variants;
  options.allConfigs = words.allConfigs;
  options.tuned = !words.untuned;
  options.time.emplace();
  options.time->seconds = words.seconds;
  bool progress = !words.json && isatty(2), failed = false;
  for (const std::string &path : words.folders) {
    auto folder = engine::KernelFolder::open(path);
    if (!folder)
      return refuse(folder.error());
    Status status = engine::runFolder(**folder, options, [&](const engine::FolderRow &row) {
      rows.push_back(rowJson(row));
      std::string place = row.kernel + " " + row.variant + " (" + row.shape + ") on " + row.device;
      if (!row.failure.empty()) {
        failed = true;
        remarks.push_back(place + ": " + row.failure);
        return;
      }
      if (!row.skippedReason.empty()) {
        remarks.push_back(place + ": skipped: " + row.skippedReason);
        return;
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
      if (progress)
        std::fprintf(stderr, "\r%zu rows ", rows.size());
    });
    if (progress)
      std::fprintf(stderr, "\r\033[K");
    if (!status)
      return refuse(status.error());
  }
  if (!words.html.empty())
    if (Status status = engine::writeFile(words.html, benchPage(rows)); !status)
      return refuse(status.error());
  if (!words.csv.empty())
    if (Status status = engine::writeFile(words.csv, benchCsv(rows)); !status)
      return refuse(status.error());
  if (words.json) {
    std::printf("%s\n", Json({{"rows", rows}}).dump().c_str());
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
  auto folders = app.add_option_group("what");
  folders->add_option("folders", words->folders, "Kernel folders");
  CLI::Option *suite = folders->add_option(
      "--suite", words->suite, "Claims about rows: FILE.py, or the name of one in bench/suites");
  folders->require_option(1);
  app.add_option("--device", words->devices,
                 "ref, cpu or cuda:N; may be given more than once (default: each one present)")
      ->allow_extra_args(false);
  app.add_option("--cases", words->set, "Which cases of the spec: bench, demo or cases")
      ->check(CLI::IsMember({"cases", "demo", "bench"}));
  app.add_option("--match", words->match,
                 "Only cases whose label contains this; only such claims of a suite");
  app.add_option("--variant", words->variants,
                 "TASK.VARIANT or VARIANT: time this one only; may be given more than once")
      ->allow_extra_args(false);
  app.add_option("--seconds", words->seconds, "Time for the samples of one row")
      ->check(CLI::Range(0.001, 600.0));
  app.add_flag("--all-configs", words->allConfigs, "Every configuration, not the first alone");
  app.add_flag("--untuned", words->untuned,
               "The first configuration of each variant, not the tuned one");
  app.add_option("--html", words->html, "Write a page with rooflines, scaling and all rows");
  app.add_option("--csv", words->csv, "Write the rows as comma-separated values");
  app.add_flag("--json", words->json, "Rows as JSON");
  for (const char *name : {"--cases", "--variant", "--all-configs", "--untuned", "--html", "--csv"})
    suite->excludes(app.get_option(name));
  return [words] { return runBench(*words); };
}

} // namespace nereid::tools
