// nereid bench FOLDER...: each case of `bench` timed, each variant on each device.
#include "runtime/Device.h"
#include "support/ReadFile.h"
#include "tools/BenchPage.h"
#include "tools/FolderRows.h"
#include "tools/Search.h"
#include "tools/Suite.h"
#include "tools/Verbs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace nereid::tools {

namespace {

struct BenchWords : FolderWords {
  std::string suite;
  double seconds = 0.5;
  bool peers = false;
  std::string peerCommand, cache = "written";
  SearchWords search;
  std::string rows; ///< a file of rows that were measured before
  BenchFiles files;
};

// (p80 - p20) / median above this says that something else ran beside the kernel.
constexpr double widestSpread = 0.25;

std::string inQuotes(const std::string &word) {
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// What a command measured of the same folders: rows as `bench/peers.py` writes them, a task's name
// or a variant in `variant`, who it is in `device`.
Result<Json> commandRows(const BenchWords &words) {
  std::string file = (std::filesystem::temp_directory_path() /
                      ("nereid-peers-" + std::to_string(::getpid()) + ".json"))
                         .string();
  std::string command = words.peerCommand;
  for (const std::string &folder : words.folders)
    command += " " + inQuotes(folder);
  if (!words.match.empty())
    command += " --match " + inQuotes(words.match);
  if (words.cache != "written")
    command += " --cache " + words.cache;
  command += " --seconds " + std::to_string(words.seconds) + " --json " + inQuotes(file) + " 1>&2";
  int status = std::system(command.c_str());
  Json parsed = Json::parse(std::ifstream(file), nullptr, /*allow_exceptions=*/false);
  std::error_code failed;
  std::filesystem::remove(file, failed);
  if (status != 0 || !parsed.is_object() || !parsed.contains("rows"))
    return Error{"`" + command + "` gave no rows", {}};
  return parsed["rows"];
}

// Those of its rows that belong beside one of ours: the same case, and the same variant where
// they have variants.
void addPeers(const Json &measured, Json &ours) {
  std::string variant = textOf(ours, "variant"), task = variant.substr(0, variant.find('.'));
  if (!textOf(ours, "device").starts_with("cuda"))
    return;
  for (const Json &theirs : measured) {
    std::string name = textOf(theirs, "variant");
    if (textOf(theirs, "kernel") != textOf(ours, "kernel") ||
        textOf(theirs, "shape") != textOf(ours, "shape") ||
        (name != variant && name != task && !name.empty()))
      continue;
    Json peer = {{"name", theirs.value("device", "")},
                 {"seconds", theirs.value("seconds", Json())}};
    if (theirs.value("failure", Json()).is_string())
      peer["failure"] = theirs["failure"];
    ours["peers"].push_back(std::move(peer));
  }
}

// "cublaslt 0.97, torch 1.02": their time by ours.
std::string peersText(const Json &peers, double seconds) {
  std::string text;
  for (const Json &peer : peers)
    if (peer["seconds"].is_number()) {
      char part[64];
      std::snprintf(part, sizeof part, "%s%s %.2f", text.empty() ? "" : ", ",
                    peer["name"].get<std::string>().c_str(),
                    peer["seconds"].get<double>() / seconds);
      text += part;
    }
  return text.empty() ? "-" : text;
}

// Rows that --json, --output or a suite's --json left in a file, and on what they were measured.
Result<std::pair<Json, Json>> readRows(const std::string &path) {
  auto text = support::readFile(path, size_t(1) << 30);
  if (!text)
    return text.takeError();
  Json rows = Json::array(), machines = Json::array();
  Json whole = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (whole.is_object() && whole.contains("rows")) {
    rows = whole["rows"];
    // docs/results/kernels has all rows of one machine.
    machines = whole.contains("machine") ? Json::array({whole["machine"]})
                                         : whole.value("machines", Json::array());
  } else if (whole.is_object() && whole.contains("runs")) {
    for (const Json &run : whole["runs"]) {
      machines.push_back(run);
      machines.back().erase("claims");
      for (const Json &claim : run.value("claims", Json::array())) {
        const Json named = claim.value("rows", Json::object());
        for (const auto &[name, found] : named.items())
          for (const Json &row : found.is_array() ? found : Json::array({found}))
            rows.push_back(row);
      }
    }
  } else {
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);)
      if (Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false); row.is_object())
        rows.push_back(std::move(row));
  }
  if (!rows.is_array() || rows.empty())
    return Error{"`" + path + "` has no rows", {}};
  return std::pair(std::move(rows), std::move(machines));
}

// Draws rows that were measured before.
int showRows(const BenchWords &words) {
  auto read = readRows(words.rows);
  if (!read)
    return refuse(read.error());
  Json rows = Json::array();
  for (Json &row : read->first) {
    std::string shape = row.value("shape", ""), variant = row.value("variant", ""),
                kernel = row.value("kernel", "");
    auto isNamed = [&](const std::string &name) {
      return name == variant || name == kernel || name == kernel + "." + variant;
    };
    if (shape.find(words.match) != std::string::npos &&
        (words.variants.empty() || std::ranges::any_of(words.variants, isNamed)))
      rows.push_back(std::move(row));
  }
  if (Status status = writeFiles(words.files, rows, read->second); !status)
    return refuse(status.error());
  if (words.json)
    std::printf("%s\n", Json({{"machines", read->second}, {"rows", rows}}).dump().c_str());
  return exitDone;
}

/// The rows of a run as text, and what there is to say of them.
class BenchText {
public:
  explicit BenchText(bool hasPeers) : hasPeers(hasPeers) {
    if (hasPeers)
      table[0].push_back("peers' time by ours");
  }
  void add(const Json &row) {
    std::string place = placeOf(row);
    if (std::string failure = textOf(row, "failure"); !failure.empty()) {
      failed = true;
      return remarks.push_back(place + ": " + failure);
    }
    if (std::string reason = textOf(row, "skipped_reason"); !reason.empty())
      return remarks.push_back(place + ": skipped: " + reason);
    std::optional<double> spread = spreadOf(row);
    if (spread && *spread > widestSpread)
      remarks.push_back(place + ": the samples spread widely; is something else running?");
    table.push_back({textOf(row, "kernel"), textOf(row, "variant"), textOf(row, "device"),
                     textOf(row, "shape"), textOf(row, "config"),
                     figureText(row, "seconds", "%.1f", 1e6), numberText(spread, "%.0f%%", 100),
                     figureText(row, "gbps", "%.0f"), figureText(row, "copy_share", "%.0f%%", 100),
                     figureText(row, "same_copy_share", "%.0f%%", 100),
                     figureText(row, "gflops", "%.0f"), figureText(row, "launches", "%.0f"),
                     figureText(row, "compile_seconds", "%.1f", 1e3)});
    const Json peers = row.value("peers", Json::array());
    for (const Json &peer : peers)
      addPeer(place, peer);
    if (hasPeers)
      table.back().push_back(peersText(peers, numberOf(row, "seconds").value_or(0)));
  }
  void print() {
    printTable(filled(std::move(table)), 5);
    for (const std::string &remark : remarks)
      std::printf("%s\n", remark.c_str());
  }
  /// A row could not be measured, or differs from a peer.
  bool failed = false;

private:
  void addPeer(const std::string &place, const Json &peer) {
    std::string name = textOf(peer, "name"), failure = textOf(peer, "failure");
    if (!failure.empty())
      remarks.push_back(place + ": " + name + ": " + failure);
    if (peer.value("agrees", Json()) == false) {
      failed = true;
      remarks.push_back(place + ": differs from " + name + " by " +
                        figureText(peer, "max_error", "%.3g"));
    }
  }

  bool hasPeers;
  std::vector<std::vector<std::string>> table = {{"kernel", "variant", "device", "shape", "config",
                                                  "us", "spread", "GB/s", "of copy", "of same copy",
                                                  "GFLOP/s", "launches", "compile ms"}};
  std::vector<std::string> remarks;
};

int runBench(const BenchWords &words, Attempts &attempts) {
  engine::FolderRunOptions options;
  options.devices.clear();
  for (runtime::Device *device : runtime::devices())
    options.devices.push_back(device->name());
  options.match = words.match;
  options.time.emplace();
  options.time->seconds = words.seconds;
  options.time->isCacheRead = words.cache == "read";
  options.peers = words.peers;
  if (!words.search.axes.empty())
    return runSearch(words, words.search, std::move(options), words.files, attempts);
  Json fromCommand = Json::array();
  if (const Json *known = attempts.known(words.peerCommand)) {
    fromCommand = *known;
  } else if (!words.peerCommand.empty()) {
    auto measured = commandRows(words);
    if (!measured)
      return refuse(measured.error());
    fromCommand = *std::move(measured);
    attempts.ends(words.peerCommand, fromCommand);
  }
  BenchText text(words.peers || !words.peerCommand.empty());
  size_t count = 0;
  auto rows = runFolders(words, std::move(options), attempts, [&](Json &row) {
    addPeers(fromCommand, row);
    if (words.cache != "written")
      row["cache"] = words.cache;
    text.add(row);
    return std::to_string(++count) + " rows";
  });
  if (!rows)
    return refuse(rows.error());
  if (rows->empty() && !words.match.empty())
    return refuse(noSuchCase(words));
  Json machines = machinesOf(*rows);
  if (Status status = writeFiles(words.files, *rows, machines); !status)
    return refuse(status.error());
  if (words.json)
    std::printf("%s\n", Json({{"machines", machines}, {"rows", *rows}}).dump().c_str());
  else
    text.print();
  return text.failed ? exitRefused : exitDone;
}

} // namespace

Action addBench(CLI::App &app) {
  auto words = std::make_shared<BenchWords>();
  words->set = "bench";
  CLI::Option *folders = addFolderWords(app, *words);
  CLI::Option *suite = app.add_option(
      "--suite", words->suite, "Claims about rows: FILE.py, or the name of one in bench/suites");
  CLI::Option_group *what = app.add_option_group("what");
  CLI::Option *rows = app.add_option("--rows", words->rows,
                                     "Measure nothing: take the rows of a file that --json or "
                                     "--output wrote, for --html, --csv and --plot");
  what->add_options(folders, suite, rows);
  what->require_option(1);
  for (CLI::Option *option : {suite, rows})
    option->group("Instead of folders");
  app.get_option("--match")->description(
      "Only cases whose label contains this; only such claims of a suite");
  app.add_option("--seconds", words->seconds, "Time for the samples of one row")
      ->check(CLI::Range(0.001, 600.0));
  app.add_option(
         "--cache", words->cache,
         "What a GPU's second-level cache holds before each sample: lines that were written "
         "and that memory gets while the sample runs, or lines that were read")
      ->check(CLI::IsMember({"written", "read"}))
      ->excludes(suite)
      ->capture_default_str();
  app.add_option("--html", words->files.html, "Write a page with rooflines, scaling and all rows");
  app.add_option("--csv", words->files.csv, "Write the rows as comma-separated values");
  CLI::Option *plot = app.add_option("--plot", words->files.plot, "Write one plot as an SVG file");
  CLI::Option *axes = app.add_option("--axes", words->files.words.axes,
                                     "With --plot: X:Y, each a column of --json or a name that the "
                                     "case or configuration binds")
                          ->capture_default_str();
  CLI::Option *by =
      app.add_option("--by", words->files.words.by,
                     "With --plot: columns or names; rows that agree in them are one line")
          ->delimiter(',')
          ->capture_default_str();
  CLI::Option *title =
      app.add_option("--title", words->files.words.title, "With --plot: what it shows");
  for (CLI::Option *option : {axes, by, title})
    option->needs(plot);
  app.add_flag(
      "--peers", words->peers,
      "On a GPU, time cuBLASLt beside products, and compare with its results; --plot draws the "
      "peers that rows have");
  app.add_option("--peer-command", words->peerCommand,
                 "Run this with the folders, --seconds and --json FILE first, and show its rows "
                 "beside: \"python3 bench/peers.py\" has Triton and PyTorch");
  CLI::Option *search =
      app.add_option(
             "--search", words->search.axes,
             "Sweep what a case binds or a configuration has: \"M=1024:8192:*2\", "
             "\"M=N=K=512,1024\", \"BLOCK_M=32:128:32\"; may be given more than once. All "
             "configurations are compiled, compared and timed; shows the best for each shape")
          ->allow_extra_args(false);
  CLI::Option *where =
      app.add_option("--where", words->search.where,
                     "With --search: only combinations for which this Python expression holds: "
                     "\"BLOCK_M * BLOCK_N <= 16384\"");
  CLI::Option *output = app.add_option(
      "--output", words->search.output,
      "With --search: add each row to this file as it comes, and measure none again that it has");
  CLI::Option *compareUpTo =
      app.add_option(
             "--compare-up-to", words->search.compareUpTo,
             "With --search: compare cases of at most so many operations with the reference, "
             "larger ones with their first configuration")
          ->check(CLI::Range(0.0, 1e18))
          ->capture_default_str();
  for (CLI::Option *option : {where, output, compareUpTo})
    option->needs(search);
  for (const char *name : {"--all-configs", "--untuned", "--peers", "--peer-command"})
    search->excludes(app.get_option(name));
  for (const char *name : {"--cases", "--variant", "--all-configs", "--untuned", "--html", "--csv",
                           "--plot", "--peers", "--peer-command", "--search"})
    suite->excludes(app.get_option(name));
  for (const char *name :
       {"--device", "--cases", "--all-configs", "--untuned", "--peer-command", "--search"})
    rows->excludes(app.get_option(name));
  return [words] {
    words->files.words.peers = words->peers || !words->peerCommand.empty();
    if (!words->rows.empty())
      return showRows(*words);
    if (!words->suite.empty())
      return runSuite({.suite = words->suite,
                       .match = words->match,
                       .devices = words->devices,
                       .seconds = words->seconds,
                       .json = words->json});
    return Attempts::run([&](Attempts &attempts) { return runBench(*words, attempts); });
  };
}

} // namespace nereid::tools
