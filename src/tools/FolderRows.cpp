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
                        Attempts &attempts, const std::function<std::string(Json &)> &each) {
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
  auto add = [&](Json row) {
    rows.push_back(std::move(row));
    std::string line = each(rows.back());
    if (progress)
      std::fprintf(stderr, "\r%s ", line.c_str());
  };
  std::string folderPath;
  auto stepOf = [&](const Json &row) {
    return folderPath + ": " + placeOf(row) + ", " + textOf(row, "config");
  };
  options.known = [&](const engine::FolderRow &row) -> std::optional<bool> {
    Json json = rowJson(row);
    std::string step = stepOf(json);
    if (const std::string *why = attempts.lost(step)) {
      json["passed"] = false;
      json["failure"] = *why;
      add(std::move(json));
      return false;
    }
    const Json *known = attempts.known(step);
    if (!known)
      return std::nullopt;
    add(*known);
    return textOf(*known, "failure").empty();
  };
  options.onStart = [&, also = options.onStart](const engine::FolderRow &row) {
    attempts.begins(stepOf(rowJson(row)));
    if (also)
      also(row);
  };
  for (const std::string &path : words.folders) {
    folderPath = path;
    auto folder = engine::KernelFolder::open(path);
    if (!folder)
      return folder.takeError();
    Status status = engine::runFolder(**folder, options, [&](const engine::FolderRow &row) {
      attempts.goOnOrLose(row.device, row.failure);
      Json json = rowJson(row);
      attempts.ends(stepOf(json), json);
      add(std::move(json));
    });
    if (progress)
      std::fprintf(stderr, "\r\033[K");
    if (!status)
      return status.takeError();
  }
  return rows;
}

std::optional<double> numberOf(const Json &row, const char *key) {
  auto found = row.find(key);
  if (found == row.end() || !found->is_number())
    return std::nullopt;
  return found->get<double>();
}

std::string textOf(const Json &row, const char *key) {
  auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string placeOf(const Json &row) {
  return textOf(row, "kernel") + " " + textOf(row, "variant") + " (" + textOf(row, "shape") +
         ") on " + textOf(row, "device");
}

std::optional<double> spreadOf(const Json &row) {
  auto median = numberOf(row, "seconds"), low = numberOf(row, "p20"), high = numberOf(row, "p80");
  if (!median || !low || !high || *median <= 0)
    return std::nullopt;
  return (*high - *low) / *median;
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
      {"same_copy_share", orNull(row.sameCopyShare)},
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
  if (!row.code.empty())
    json["code"] = row.code;
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

std::string numberText(const std::optional<double> &value, const char *format, double by) {
  if (!value)
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value * by);
  return text;
}

std::string figureText(const Json &row, const char *key, const char *format, double by) {
  std::string unordered = textOf(row, key); // "nan", "inf"
  return unordered.empty() ? numberText(numberOf(row, key), format, by) : unordered;
}

} // namespace nereid::tools
