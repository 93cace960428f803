// nereid bench --suite: measures the rows of each claim and says whether it holds.
#include "tools/Suite.h"

#include "engine/Files.h"
#include "engine/FolderRun.h"
#include "runtime/Device.h"
#include "tools/FolderRows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <unistd.h>

namespace nereid::tools {

namespace {

namespace fs = std::filesystem;

// (p80 - p20) / median of a row above this, three times in a row, and the claim is not reported.
constexpr double widestClaimSpread = 0.15;
constexpr int attempts = 3;

Json bindingsJson(const emit::Keywords &bindings) {
  Json json = Json::object();
  for (const auto &[key, value] : bindings) {
    if (value.isBool())
      json[key] = value.asBool();
    else if (value.isInt())
      json[key] = value.asInteger().toInt64().value_or(0);
    else if (value.isFloat())
      json[key] = numberJson(value.asFloat());
    else if (value.isStr())
      json[key] = value.asStr();
    else
      json[key] = value.repr();
  }
  return json;
}

class SuiteRunner {
public:
  SuiteRunner(const SuiteWords &words, fs::path base, const std::string &device)
      : words(words), base(std::move(base)), device(device) {}

  /// The row, measured again while its spread is too wide.
  Result<Json> measure(const SuiteRow &row, bool timed) {
    for (int attempt = 1;; ++attempt) {
      auto json = once(row, timed, words.seconds * attempt);
      if (!json || attempt == attempts || !timed ||
          spreadOf(*json).value_or(0) <= widestClaimSpread)
        return json;
    }
  }

private:
  Result<Json> once(const SuiteRow &row, bool timed, double seconds) {
    if (!row.measure.empty())
      return hostMeasure(row.measure, bindingsJson(row.bindings), device, seconds);
    if (!row.inspect.empty()) {
      std::istringstream stream(row.inspect);
      std::vector<std::string> list;
      for (std::string word; stream >> word;)
        list.push_back(list.empty() ? (base / word).lexically_normal().generic_string() : word);
      auto facts = inspectFacts(list);
      if (facts)
        (*facts)["what"] = list.front();
      return facts;
    }
    auto folder = engine::KernelFolder::open((base / row.folder).lexically_normal());
    if (!folder)
      return folder.takeError();
    engine::FolderRunOptions options;
    options.devices = {device};
    options.variants = {row.variant};
    options.ownCase = row.bindings;
    options.allConfigs = row.allConfigs;
    if (timed) {
      options.time.emplace();
      options.time->seconds = seconds;
    }
    std::optional<Json> best;
    std::string failure;
    Status status = engine::runFolder(**folder, options, [&](const engine::FolderRow &found) {
      if (!found.failure.empty() || !found.skippedReason.empty()) {
        failure = found.failure + found.skippedReason;
        return;
      }
      Json json = rowJson(found);
      // One run, the first of all, is no measurement.
      if (!timed)
        for (const char *key : {"seconds", "gflops", "gbps", "samples"})
          json[key] = nullptr;
      if (!best || *found.seconds < numberOf(*best, "seconds").value_or(INFINITY))
        best = std::move(json);
    });
    if (!status)
      return status.takeError();
    if (!best)
      return Error{failure.empty() ? "the folder has no variant `" + row.variant + "`" : failure,
                   {}};
    (*best)["case"] = bindingsJson(row.bindings);
    return *std::move(best);
  }

  const SuiteWords &words;
  fs::path base;
  std::string device;
};

std::string boundText(const SuiteClaim &claim) {
  std::string text;
  if (claim.least)
    text += "at least " + numberText(claim.least, "%.3g") + claim.unit;
  if (claim.most)
    text +=
        (text.empty() ? "at most " : ", at most ") + numberText(claim.most, "%.3g") + claim.unit;
  return text;
}

// What a row shows to people; host measures and `inspect` bring figures of their own.
std::vector<std::string> shownRow(const std::string &name, const Json &row) {
  std::string shape =
      row.contains("shape") && row["shape"].is_string()
          ? row["variant"].get<std::string>() + " " + row["shape"].get<std::string>()
          : row.value("what", "");
  return {"  " + name,
          shape,
          figureText(row, "seconds", "%.1f", 1e6),
          numberText(spreadOf(row), "%.0f%%", 100),
          figureText(row, "gbps", "%.0f"),
          figureText(row, "copy_share", "%.0f%%", 100),
          figureText(row, "gflops", "%.0f"),
          figureText(row, "launches", "%.0f"),
          figureText(row, "peak_bytes", "%.1f", 1e-6)};
}

struct Outcome {
  Json json;
  std::vector<std::vector<std::string>> table;
  bool holds = false;
};

Outcome runClaim(SuiteFile &file, const SuiteClaim &claim, SuiteRunner &runner) {
  Outcome out;
  Json rows = Json::object();
  std::string problem;
  for (const SuiteRow &row : claim.rows) {
    auto json = runner.measure(row, claim.timed);
    if (!json) {
      problem = "row `" + row.name + "`: " + engine::failureText(json.error());
      break;
    }
    if (auto spread = spreadOf(*json); claim.timed && spread && *spread > widestClaimSpread)
      problem =
          "not reported: row `" + row.name + "` spreads by " + numberText(spread, "%.0f%%", 100);
    out.table.push_back(shownRow(row.name, *json));
    if (row.inList)
      rows[row.name].push_back(std::move(*json));
    else
      rows[row.name] = std::move(*json);
  }
  std::optional<double> found;
  if (problem.empty()) {
    auto figure = file.figure(claim, rows);
    if (figure && std::isfinite(*figure)) {
      found = *figure;
      out.holds =
          (!claim.least || *figure >= *claim.least) && (!claim.most || *figure <= *claim.most);
    } else {
      problem = figure ? "the figure is not a finite number" : engine::failureText(figure.error());
    }
  }
  auto orNull = [](const std::optional<double> &value) {
    return value ? numberJson(*value) : Json(nullptr);
  };
  std::string verdict = !problem.empty() ? problem : out.holds ? "holds" : "MISSED";
  out.json = {{"name", claim.name}, {"claim", claim.text},          {"figure", orNull(found)},
              {"unit", claim.unit}, {"least", orNull(claim.least)}, {"most", orNull(claim.most)},
              {"verdict", verdict}, {"rows", std::move(rows)}};
  return out;
}

// A file, or a name: that of a file in bench/suites of the directory where one works.
fs::path suitePath(const std::string &suite) {
  return suite.ends_with(".py") ? fs::path(suite) : fs::path("bench/suites") / (suite + ".py");
}

} // namespace

int runSuite(const SuiteWords &words) {
  fs::path path = suitePath(words.suite);
  auto file = SuiteFile::open(path);
  if (!file)
    return refuse(file.error());
  std::vector<std::string> devices = words.devices;
  if (devices.empty())
    for (runtime::Device *device : runtime::devices())
      devices.push_back(device->name());
  Json reports = Json::array();
  bool good = true, any = false;
  for (const std::string &device : devices) {
    std::string family = device.substr(0, device.find(':'));
    auto claims = (*file)->claims(family);
    if (!claims)
      return refuse(claims.error());
    Json report = machineJson(device);
    report["method"] = {
        {"statistic", "median of the samples; spread is (p80 - p20) / median"},
        {"widest_spread", widestClaimSpread},
        {"attempts", attempts},
        {"warm_up", "a tenth of the samples' time, and at least two launches"},
        {"clock", family == "cpu"
                      ? "wall clock, caches as the pass before left them"
                      : "events in the stream, the cache overwritten before each sample"},
        {"seconds_a_row", words.seconds}};
    report["claims"] = Json::array();
    if (!words.json) {
      std::string what = report.value("description", device);
      std::printf("%s: %s, %s%s\n", words.suite.c_str(), device.c_str(), what.c_str(),
                  family == "cpu" ? ". These are figures of a CPU." : "");
    }
    SuiteRunner runner(words, path.parent_path(), device);
    for (const SuiteClaim &claim : *claims) {
      if (claim.name.find(words.match) == std::string::npos)
        continue;
      any = true;
      Outcome outcome = runClaim(**file, claim, runner);
      good = good && outcome.holds;
      if (!words.json) {
        auto figure = numberOf(outcome.json, "figure");
        std::printf("\n%s: %s\n  %s%s (%s): %s\n", claim.name.c_str(), claim.text.c_str(),
                    numberText(figure, "%.3g").c_str(), figure ? claim.unit.c_str() : "",
                    boundText(claim).c_str(), outcome.json["verdict"].get<std::string>().c_str());
        outcome.table.insert(outcome.table.begin(), {"  row", "what", "us", "spread", "GB/s",
                                                     "of copy", "GFLOP/s", "launches", "peak MB"});
        printTable(filled(std::move(outcome.table)), 2);
        std::fflush(stdout);
      }
      report["claims"].push_back(std::move(outcome.json));
    }
    reports.push_back(std::move(report));
  }
  if (!any)
    return refuse(Error{"the suite has no claim that contains `" + words.match + "`", {}});
  if (words.json)
    std::printf("%s\n", Json({{"suite", words.suite}, {"runs", reports}}).dump(1).c_str());
  return good ? exitDone : exitRefused;
}

} // namespace nereid::tools
