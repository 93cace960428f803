// nereid test FOLDER...: each case of each variant against the reference.
#include "engine/FolderRun.h"
#include "runtime/Device.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace nereid::tools {

namespace {

struct TestWords {
  std::vector<std::string> folders, devices;
  std::string set = "cases", variant;
  bool json = false, allConfigs = false, quiet = false;
};

template <typename T> Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}
Json orNull(const std::optional<double> &value) {
  return value ? numberJson(*value) : Json(nullptr);
}

Json rowJson(const engine::FolderRow &row) {
  Json json = {
      {"kernel", row.kernel},
      {"variant", row.variant},
      {"device", row.device},
      {"dtype", row.dtype},
      {"shape", row.shape},
      {"config", row.config},
      {"passed", orNull(row.passed)},
      {"assembled", nullptr},
      {"max_error", orNull(row.maxError)},
      {"tolerance", orNull(row.tolerance)},
      {"seconds", orNull(row.seconds)},
      {"p20", nullptr},
      {"p80", nullptr},
      {"samples", row.seconds ? Json(1) : Json(nullptr)},
      {"launches", orNull(row.launches)},
      {"bytes_moved", orNull(row.bytesMoved)},
      {"peak_bytes", orNull(row.peakBytes)},
      {"gflops", orNull(row.gflops)},
      {"gbps", orNull(row.gbps)},
      {"intensity", orNull(row.intensity)},
      {"peak_share", nullptr},
      {"copy_share", nullptr},
      {"compile_seconds", orNull(row.compileSeconds)},
      {"skipped_reason", row.skippedReason.empty() ? Json(nullptr) : Json(row.skippedReason)},
      {"peers", Json::array()}};
  if (!row.failure.empty())
    json["failure"] = row.failure;
  return json;
}

std::string number(const std::optional<double> &value, const char *format) {
  if (!value)
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

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
  options.variant = words.variant;
  options.allConfigs = words.allConfigs;
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
           number(row.maxError, "%.2e"), number(row.tolerance, "%.2e"),
           row.launches ? std::to_string(*row.launches) : "-",
           number(row.seconds ? std::optional(*row.seconds * 1e3) : std::nullopt, "%.3g")});
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
  app.add_option("--device", words->devices,
                 "ref, cpu or cuda:N; may be given more than once (default: each one present)");
  app.add_option("--cases", words->set, "Which cases of the spec: cases, demo or bench")
      ->check(CLI::IsMember({"cases", "demo", "bench"}));
  app.add_option("--variant", words->variant, "TASK.VARIANT or VARIANT: run this one only");
  app.add_flag("--all-configs", words->allConfigs, "Every configuration, not the first alone");
  app.add_flag("--json", words->json, "Rows as JSON");
  return [words] { return runTest(*words); };
}

} // namespace nereid::tools
