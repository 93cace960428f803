#include "tools/Search.h"

#include "engine/BuildId.h"
#include "runtime/Device.h"
#include "support/ReadFile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <unistd.h>

namespace nereid::tools {

namespace {

// What can become of a combination.
constexpr const char *good = "good", *noisy = "noisy", *wrong = "wrong", *refused = "refused",
                     *skipped = "skipped";

const char *verdictOn(const engine::FolderRow &row, const Json &json, double widestSpread) {
  if (!row.skippedReason.empty())
    return skipped;
  if (row.refused)
    return refused;
  if (!row.failure.empty())
    return wrong;
  return spreadOf(json).value_or(0) > widestSpread ? noisy : good;
}

double secondsOf(const Json &row) { return row["seconds"].get<double>(); }

// The file of `--output`: a row of JSON a line. A run that was ended leaves at most its last line
// torn, which counts as nothing.
class RowFile {
public:
  Status open(const std::string &path) {
    bool isTorn = false;
    if (std::error_code missing; std::filesystem::exists(path, missing)) {
      auto text = support::readFile(path, size_t(1) << 30);
      if (!text)
        return text.takeError();
      isTorn = !text->empty() && text->back() != '\n';
      size_t from = 0, strange = 0, lines = 0;
      for (size_t to; from < text->size(); from = to + 1) {
        to = std::min(text->find('\n', from), text->size());
        Json row = Json::parse(text->begin() + long(from), text->begin() + long(to), nullptr,
                               /*allow_exceptions=*/false);
        ++lines;
        if (row.is_object() && row.contains("identity") && row.contains("verdict")) {
          std::string identity = row["identity"].dump();
          rows[identity] = std::move(row);
        } else {
          strange += to < text->size();
        }
      }
      if (strange == lines && lines > 0)
        return Error{"`" + path + "` is not a file of rows of a search", {}};
    }
    file.open(path, std::ios::app);
    if (isTorn)
      file << '\n';
    if (!file.flush())
      return Error{"`" + path + "` cannot be written", {}};
    return Success{};
  }

  const Json *find(const Json &identity) const {
    auto found = rows.find(identity.dump());
    return found == rows.end() ? nullptr : &found->second;
  }
  Status add(const Json &row) {
    if (!file.is_open())
      return Success{};
    file << row.dump() << '\n';
    if (!file.flush())
      return Error{"the rows cannot be written", {}};
    return Success{};
  }

private:
  std::map<std::string, Json> rows; // by identity
  std::ofstream file;
};

// Everything that a row's time depends on, the engine among it.
Json identityOf(const engine::FolderRow &row, const std::string &source) {
  engine::TuningRow where = engine::tuningRow(row.variant, row.device, source, row.bindings);
  return Json::array({row.kernel, row.variant, row.device, where.device, where.target, row.shape,
                      row.config, source, engine::buildId()});
}

// The rows of one shape on one device.
struct Contest {
  std::string kernel, task, device, shape;
  std::vector<const Json *> rows; // good ones first, fastest first, once ranked
  size_t count = 0;               // of good ones
};

std::vector<Contest> ranked(const Json &rows) {
  std::vector<Contest> contests;
  std::map<std::vector<std::string>, size_t> places;
  for (const Json &row : rows) {
    std::string variant = row["variant"];
    size_t dot = variant.find('.');
    Contest one{row["kernel"],
                dot == std::string::npos ? "" : variant.substr(0, dot),
                row["device"],
                row["shape"],
                {}};
    auto [place, isNew] =
        places.try_emplace({one.kernel, one.task, one.device, one.shape}, contests.size());
    if (isNew)
      contests.push_back(std::move(one));
    contests[place->second].rows.push_back(&row);
  }
  for (Contest &contest : contests) {
    auto isGood = [](const Json *row) { return (*row)["verdict"] == good; };
    auto middle = std::stable_partition(contest.rows.begin(), contest.rows.end(), isGood);
    contest.count = size_t(middle - contest.rows.begin());
    std::stable_sort(contest.rows.begin(), middle,
                     [](const Json *a, const Json *b) { return secondsOf(*a) < secondsOf(*b); });
  }
  return contests;
}

class Report {
public:
  Report(const Json &rows, double widestSpread) : widestSpread(widestSpread) {
    for (const Contest &contest : ranked(rows))
      add(contest);
    for (const auto &[reason, found] : reasons)
      remarks.push_back(
          found.second +
          (found.first > 1 ? " and " + std::to_string(found.first - 1) + " more" : std::string()) +
          ": refused: " + reason[2]);
  }

  Json best = Json::array();
  bool failed = false; ///< a result is wrong, or a shape has no configuration that can be taken

  void print() const {
    printTable(table, 5);
    for (const std::string &remark : remarks)
      std::printf("%s\n", remark.c_str());
  }

private:
  void add(const Contest &contest) {
    std::map<std::string, size_t> count;
    for (const Json *row : contest.rows) {
      std::string verdict = (*row)["verdict"];
      ++count[verdict];
      if (verdict == wrong) {
        failed = true;
        remarks.push_back(place(*row) + ": wrong: " + (*row)["failure"].get<std::string>());
      } else if (verdict == refused) {
        auto &[times, example] = reasons[{contest.kernel, contest.device, (*row)["failure"]}];
        if (times++ == 0)
          example = place(*row);
      }
    }
    if (count[noisy])
      remarks.push_back(contest.kernel + " (" + contest.shape + ") on " + contest.device + ": " +
                        std::to_string(count[noisy]) + " left out: their samples spread by over " +
                        numberText(widestSpread, "%.0f%%", 100) + " in each attempt");
    size_t tried = contest.rows.size() - count[skipped];
    if (tried == 0)
      return;
    std::string share = std::to_string(contest.count) + "/" + std::to_string(tried);
    Json entry = {{"kernel", contest.kernel}, {"task", contest.task},  {"device", contest.device},
                  {"shape", contest.shape},   {"good", contest.count}, {"tried", tried}};
    if (contest.count == 0) {
      failed = true;
      entry["variant"] = entry["config"] = entry["seconds"] = entry["next"] = nullptr;
      best.push_back(std::move(entry));
      table.push_back({contest.kernel, "-", contest.device, contest.shape, "-", "-", "-", "-", "-",
                       "-", share, "-"});
      return;
    }
    const Json &winner = *contest.rows[0];
    std::optional<double> next;
    if (contest.count > 1)
      next = secondsOf(*contest.rows[1]) / secondsOf(winner);
    for (const char *key : {"variant", "config", "seconds", "spread", "gbps", "gflops"})
      entry[key] = winner[key];
    entry["next"] = next ? numberJson(*next) : Json(nullptr);
    best.push_back(std::move(entry));
    table.push_back(
        {contest.kernel, winner["variant"], contest.device, contest.shape, winner["config"],
         figureText(winner, "seconds", "%.1f", 1e6), figureText(winner, "spread", "%.0f%%", 100),
         figureText(winner, "gbps", "%.0f"), figureText(winner, "copy_share", "%.0f%%", 100),
         figureText(winner, "gflops", "%.0f"), share, numberText(next, "%.2fx")});
    if (next && winner["spread"].is_number() && *next <= 1 + winner["spread"].get<double>())
      remarks.push_back(place(*contest.rows[1]) + " is as good within the spread");
  }

  static std::string place(const Json &row) {
    std::string config = row["config"];
    return row["kernel"].get<std::string>() + " " + row["variant"].get<std::string>() + " (" +
           row["shape"].get<std::string>() + ") on " + row["device"].get<std::string>() +
           (config.empty() ? "" : ", " + config);
  }

  double widestSpread;
  std::vector<std::vector<std::string>> table = {{"kernel", "variant", "device", "shape", "best",
                                                  "us", "spread", "GB/s", "of copy", "GFLOP/s",
                                                  "good", "next"}};
  std::vector<std::string> remarks;
  // Why rows were refused, by kernel, device and reason: how many, and one of them.
  std::map<std::array<std::string, 3>, std::pair<size_t, std::string>> reasons;
};

// A line on a terminal that is written over.
class ProgressLine {
public:
  explicit ProgressLine(bool isShown) : isShown(isShown) {}
  ~ProgressLine() {
    if (isShown)
      std::fprintf(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine &) = delete;

  void show(const engine::FolderProgress &progress) const {
    if (isShown)
      std::fprintf(stderr, "\r%zu of %zu rows, %zu of the next compiled, best %s us\033[K",
                   progress.rows, progress.allRows, progress.compiled,
                   numberText(fastest, "%.1f").c_str());
  }
  std::optional<double> fastest; ///< microseconds, of the rows so far

private:
  bool isShown;
};

} // namespace

int runSearch(const FolderWords &folders, const SearchWords &words,
              engine::FolderRunOptions options, const BenchFiles &files, Attempts &attempts) {
  for (const std::string &text : words.axes) {
    auto axis = engine::parseSearchAxis(text);
    if (!axis)
      return refuse(axis.error());
    options.search.axes.push_back(*std::move(axis));
  }
  options.search.where = words.where;
  options.compareUpTo = words.compareUpTo;
  options.allConfigs = options.compareConfigs = true;
  options.attempts = 3;
  if (!folders.devices.empty())
    options.devices = folders.devices;
  options.set = folders.set;
  options.variants = folders.variants;

  RowFile file;
  if (!words.output.empty())
    if (Status status = file.open(words.output); !status)
      return refuse(status.error());
  Json rows = Json::array();
  size_t kept = 0;
  Status written = Success{};
  auto add = [&](Json row, const Json &identity) {
    attempts.ends(identity.dump(), row);
    rows.push_back(row);
    row["identity"] = identity;
    if (written)
      written = file.add(row);
  };
  for (const std::string &path : folders.folders) {
    auto folder = engine::KernelFolder::open(path);
    if (!folder)
      return refuse(folder.error());
    auto source = (*folder)->sourceHash();
    if (!source)
      return refuse(source.error());
    ProgressLine line(!folders.json && isatty(2));
    options.onProgress = [&](const engine::FolderProgress &progress) { line.show(progress); };
    options.known = [&](const engine::FolderRow &row) -> std::optional<bool> {
      const Json identity = identityOf(row, *source);
      if (const Json *known = attempts.known(identity.dump())) {
        rows.push_back(*known);
        return (*known)["verdict"] == good;
      }
      if (const std::string *why = attempts.lost(identity.dump())) {
        Json lost = rowJson(row);
        lost["failure"] = *why;
        lost["verdict"] = refused;
        add(std::move(lost), identity);
        return false;
      }
      const Json *found = file.find(identity);
      // What was only noisy is worth another try.
      if (!found || (*found)["verdict"] == noisy)
        return std::nullopt;
      ++kept;
      rows.push_back(*found);
      rows.back().erase("identity");
      return (*found)["verdict"] == good;
    };
    options.onStart = [&](const engine::FolderRow &row) {
      attempts.begins(identityOf(row, *source).dump());
    };
    Status status = engine::runFolder(**folder, options, [&](const engine::FolderRow &row) {
      attempts.goOnOrLose(row.device, row.failure);
      Json json = rowJson(row);
      auto spread = spreadOf(json);
      json["verdict"] = verdictOn(row, json, options.widestSpread);
      json["spread"] = spread ? numberJson(*spread) : Json(nullptr);
      json["compared_with"] = row.comparedWith.empty() ? Json(nullptr) : Json(row.comparedWith);
      if (json["verdict"] == good && *row.seconds * 1e6 < line.fastest.value_or(INFINITY))
        line.fastest = *row.seconds * 1e6;
      add(std::move(json), identityOf(row, *source));
    });
    if (!status)
      return refuse(status.error());
    if (!written)
      return refuse(written.error());
  }
  if (rows.empty())
    return refuse(Error{"the search is empty: no case and configuration is left", {}});
  if (kept)
    std::fprintf(stderr, "%zu of %zu rows were in `%s`\n", kept, rows.size(), words.output.c_str());
  Json machines = machinesOf(rows);
  if (Status status = writeFiles(files, rows, machines); !status)
    return refuse(status.error());
  Report report(rows, options.widestSpread);
  if (folders.json)
    std::printf(
        "%s\n",
        Json({{"machines", machines}, {"rows", rows}, {"best", report.best}}).dump().c_str());
  else
    report.print();
  return report.failed ? exitRefused : exitDone;
}

} // namespace nereid::tools
