// nereid test FOLDER...: each case of each variant against the reference.
#include "runtime/Device.h"
#include "tools/FolderRows.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace nereid::tools {

namespace {

struct TestWords {
  std::vector<std::string> folders, devices, variants;
  std::string set = "cases";
  bool json = false, allConfigs = false, quiet = false;
  bool untuned = false;
};

int runTest(const TestWords &words) {
  Json rows = Json::array();
  std::vector<std::vector<std::string>> table = {{"kernel", "variant", "device", "shape", "result",
                                                  "max error", "tolerance", "launches", "ms"}};
  std::vector<std::string> failures;
  size_t passed = 0, failed = 0, skipped = 0;
  engine::FolderRunOptions options;
  options.devices = words.devices;
  if (options.devices.empty()) {
    options.devices = {"ref"};
    for (runtime::Device *device : runtime::devices())
      options.devices.push_back(device->name());
  }
  options.set = words.set;
  options.variants = words.variants;
  options.allConfigs = words.allConfigs;
  options.tuned = !words.untuned;
  bool progress = !words.json && isatty(2);
  for (const std::string &path : words.folders) {
    auto folder = engine::KernelFolder::open(path);
    if (!folder)
      return refuse(folder.error());
    Status status = engine::runFolder(**folder, options, [&](const engine::FolderRow &row) {
      rows.push_back(rowJson(row));
      bool isSkipped = !row.skippedReason.empty(), isFailed = row.passed && !*row.passed;
      ++(isSkipped ? skipped : isFailed ? failed : passed);
      if (isFailed)
        failures.push_back(row.kernel + " " + row.variant + " (" + row.shape + ") on " +
                           row.device + ": " + row.failure);
      table.push_back(
          {row.kernel, row.variant, row.device, row.shape,
           isSkipped  ? "skipped"
           : isFailed ? "FAILED"
                      : "passed",
           numberText(row.maxError, "%.2e"), numberText(row.tolerance, "%.2e"),
           row.launches ? std::to_string(*row.launches) : "-",
           numberText(row.seconds ? std::optional(*row.seconds * 1e3) : std::nullopt, "%.3g")});
      if (progress)
        std::fprintf(stderr, "\r%zu passed, %zu failed, %zu skipped ", passed, failed, skipped);
    });
    if (progress)
      std::fprintf(stderr, "\r\033[K");
    if (!status)
      return refuse(status.error());
  }
  if (words.json) {
    std::printf("%s\n", Json({{"rows", rows}}).dump().c_str());
  } else {
    printTable(table, 5);
    for (const std::string &failure : failures)
      std::printf("%s\n", failure.c_str());
    std::printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
  }
  return failed ? exitRefused : exitDone;
}

} // namespace

Action addTest(CLI::App &app) {
  auto words = std::make_shared<TestWords>();
  app.add_option("folders", words->folders, "Kernel folders")->required();
  app.add_option(
         "--device", words->devices,
         "ref, cpu or cuda:N; may be given more than once (default: each one present). A chip "
         "such as sm_90a: compile and assemble for it, run nothing")
      ->allow_extra_args(false);
  app.add_option("--cases", words->set, "Which cases of the spec: cases, demo or bench")
      ->check(CLI::IsMember({"cases", "demo", "bench"}));
  app.add_option("--variant", words->variants,
                 "TASK.VARIANT or VARIANT: run this one only; may be given more than once")
      ->allow_extra_args(false);
  app.add_flag("--all-configs", words->allConfigs, "Every configuration, not the first alone");
  app.add_flag("--untuned", words->untuned,
               "The first configuration of each variant, not the tuned one");
  app.add_flag("--json", words->json, "Rows as JSON");
  return [words] { return runTest(*words); };
}

} // namespace nereid::tools
