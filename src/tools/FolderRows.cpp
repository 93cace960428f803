#include "tools/FolderRows.h"

#include "engine/BuildId.h"
#include "runtime/Device.h"
#include "support/Spelling.h"

#include <cstdio>
#include <ctime>
#include <set>
#include <unistd.h>

namespace nereid::tools {

namespace {

template <typename T> Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}
Json orNull(const std::optional<double> &value) {
  return value ? numberJson(*value) : Json(nullptr);
}

} // namespace

CLI::Option *addFolderWords(CLI::App &app, FolderWords &words) {
  CLI::Option *folders = app.add_option("folders", words.folders, "Kernel folders");
  app.add_option("--device", words.devices,
                 "ref, cpu or cuda:N; may be given more than once (default: each one present)")
      ->allow_extra_args(false);
  app.add_option("--cases", words.set, "Which cases of the spec: cases, demo or bench")
      ->check(CLI::IsMember({"cases", "demo", "bench"}))
      ->capture_default_str();
  app.add_option("--variant", words.variants,
                 "TASK.VARIANT or VARIANT: this one only; may be given more than once")
      ->allow_extra_args(false);
  app.add_option("--match", words.match, "Only cases whose label contains this");
  app.add_flag("--all-configs", words.allConfigs, "Every configuration, not the first alone");
  app.add_flag("--untuned", words.untuned,
               "The first configuration of each variant, not the tuned one");
  app.add_flag("--json", words.json, "Rows as JSON");
  return folders;
}

Error noSuchCase(const FolderWords &words) {
  return {"no case has a label that contains `" + words.match + "`", {}};
}

Status checkVariants(const FolderWords &words) {
  std::set<std::string> known;
  for (const std::string &path : words.folders) {
    auto folder = engine::KernelFolder::open(path);
    if (!folder)
      return folder.takeError();
    for (const std::string &task : (*folder)->tasks()) {
      auto variants = (*folder)->variants(task);
      if (!variants)
        return variants.takeError();
      for (const engine::FolderVariant &variant : *variants) {
        known.insert(variant.name);
        known.insert(task.empty() ? variant.name : task + "." + variant.name);
      }
    }
  }
  for (const std::string &wanted : words.variants) {
    if (known.contains(wanted))
      continue;
    support::Spelling spelling(wanted);
    std::string all;
    for (const std::string &name : known) {
      spelling.consider(name);
      all += (all.empty() ? "`" : ", `") + name + "`";
    }
    return Error{"no folder has a variant `" + wanted + "`; " +
                     (spelling.best().empty() ? "there are " + all : spelling.hint()),
                 {}};
  }
  return Success{};
}

Result<Json> runFolders(const FolderWords &words, engine::FolderRunOptions options,
                        const std::function<std::string(const engine::FolderRow &, Json &)> &each) {
  if (!words.devices.empty())
    options.devices = words.devices;
  if (!words.variants.empty())
    if (Status status = checkVariants(words); !status)
      return status.takeError();
  options.set = words.set;
  options.variants = words.variants;
  options.allConfigs = words.allConfigs;
  options.seed = words.seed;
  options.fewCases = words.fewCases;
  options.describe = words.describe;
  options.tuned = !words.untuned;
  bool progress = !words.json && isatty(2);
  Json rows = Json::array();
  for (const std::string &path : words.folders) {
    auto folder = engine::KernelFolder::open(path);
    if (!folder)
      return folder.takeError();
    Status status = engine::runFolder(**folder, options, [&](const engine::FolderRow &row) {
      rows.push_back(rowJson(row));
      std::string line = each(row, rows.back());
      if (progress)
        std::fprintf(stderr, "\r%s ", line.c_str());
    });
    if (progress)
      std::fprintf(stderr, "\r\033[K");
    if (!status)
      return status.takeError();
  }
  return rows;
}

std::optional<double> spreadOf(const engine::FolderRow &row) {
  if (!row.p20 || !row.p80 || row.seconds.value_or(0) <= 0)
    return std::nullopt;
  return (*row.p80 - *row.p20) / *row.seconds;
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
      {"assembled", orNull(row.assembled)},
      {"max_error", orNull(row.maxError)},
      {"tolerance", orNull(row.tolerance)},
      {"seconds", orNull(row.seconds)},
      {"p20", orNull(row.p20)},
      {"p80", orNull(row.p80)},
      {"samples", orNull(row.samples)},
      {"launches", orNull(row.launches)},
      {"bytes_moved", orNull(row.bytesMoved)},
      {"peak_bytes", orNull(row.peakBytes)},
      {"gflops", orNull(row.gflops)},
      {"gbps", orNull(row.gbps)},
      {"intensity", orNull(row.intensity)},
      {"peak_share", nullptr},
      {"copy_share", orNull(row.copyShare)},
      {"compile_seconds", orNull(row.compileSeconds)},
      {"skipped_reason", row.skippedReason.empty() ? Json(nullptr) : Json(row.skippedReason)},
      {"peers", Json::array()}};
  for (const engine::PeerRow &peer : row.peers) {
    Json entry = {{"name", peer.name},
                  {"seconds", orNull(peer.seconds)},
                  {"agrees", orNull(peer.agrees)},
                  {"max_error", orNull(peer.maxError)}};
    if (!peer.failure.empty())
      entry["failure"] = peer.failure;
    json["peers"].push_back(std::move(entry));
  }
  if (!row.failure.empty())
    json["failure"] = row.failure;
  return json;
}

Json machineJson(const std::string &device) {
  Json json = {{"device", device}, {"build", engine::buildId()}};
  if (auto found = runtime::device(device); found) {
    const runtime::DeviceInfo &info = (*found)->info();
    json["description"] = info.description;
    json["arch"] = info.arch;
    json["units"] = info.units;
    json["memory_bytes"] = info.memoryBytes;
    json["cache_bytes"] = info.cacheBytes;
    json["clock_khz"] = info.clockKHz;
  }
  char date[32];
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(date, sizeof date, "%Y-%m-%d", &parts);
  json["date"] = date;
  return json;
}

std::string numberText(const std::optional<double> &value, const char *format) {
  if (!value)
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

} // namespace nereid::tools
