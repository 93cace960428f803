// nereid learn: puzzles from a copy to causal attention. The interpreter runs what a learner wrote,
// watches every access, and compares the results with a plain formula.
#include "engine/Files.h"
#include "engine/FolderRun.h"
#include "launch/DiskCache.h"
#include "support/ReadFile.h"
#include "support/Spelling.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace nereid::tools {

namespace {

namespace fs = std::filesystem;

constexpr char puzzleBytes[] = {
#include "tools/Puzzles.inc"
};

struct Puzzle {
  std::string name;  ///< "03_mask"
  std::string title; ///< "Masks"
  std::string text;  ///< the file that a learner gets
  std::vector<std::string> hints;
  std::string spec, reference; ///< of a kernel folder
};

// Sections of puzzles.py, in order.
std::vector<Puzzle> readPuzzles() {
  std::vector<Puzzle> puzzles;
  std::string *section = nullptr;
  std::string_view all(puzzleBytes, sizeof puzzleBytes);
  while (!all.empty()) {
    std::string_view line = all.substr(0, all.find('\n'));
    all.remove_prefix(std::min(all.size(), line.size() + 1));
    if (!line.starts_with("#%% ")) {
      if (section)
        (*section += line) += '\n';
      continue;
    }
    line.remove_prefix(4);
    if (line == "hint") {
      section = &puzzles.back().hints.emplace_back();
    } else if (line == "spec") {
      section = &puzzles.back().spec;
    } else if (line == "reference") {
      section = &puzzles.back().reference;
    } else {
      size_t colon = line.find(": ");
      Puzzle &puzzle = puzzles.emplace_back();
      puzzle.name = line.substr(0, colon);
      puzzle.title = line.substr(colon + 2);
      section = &puzzle.text;
    }
  }
  for (Puzzle &puzzle : puzzles) {
    // The blank line in front of the next puzzle belongs to neither.
    while (puzzle.reference.ends_with("\n\n"))
      puzzle.reference.pop_back();
    if (puzzle.spec.find("\ntolerance") == std::string::npos)
      puzzle.spec += "tolerance = dict(rel=1e-5, abs=1e-5)\n";
    puzzle.spec += "variants = dict(solution=run)\n";
  }
  return puzzles;
}

const std::vector<Puzzle> &allPuzzles() {
  static const std::vector<Puzzle> puzzles = readPuzzles();
  return puzzles;
}

// "3", "03", "mask" or "03_mask".
Result<const Puzzle *> findPuzzle(const std::string &word) {
  support::Spelling spelling(word);
  for (const Puzzle &puzzle : allPuzzles()) {
    std::string number = puzzle.name.substr(0, 2), shortName = puzzle.name.substr(3);
    if (word == puzzle.name || word == shortName || word == number || "0" + word == number)
      return &puzzle;
    spelling.consider(shortName);
  }
  return Error{"there is no puzzle `" + word + "`; " +
                   (spelling.best().empty() ? "`nereid learn` lists them" : spelling.hint()),
               {}};
}

/// What a learner has solved and been told, in a file of JSON.
class Progress {
public:
  static Result<Progress> open(const std::string &word) {
    Progress progress;
    progress.path = word;
    if (word.empty()) {
      fs::path cache = launch::DiskCache::written(launch::DiskCache::defaultDirectories());
      if (cache.empty())
        return progress; // the puzzles need none: `save` says that it is not kept
      progress.path = cache / "learn.json";
    }
    std::error_code missing;
    if (!fs::exists(progress.path, missing))
      return progress;
    auto text = support::readFile(progress.path, support::largestSource);
    if (!text)
      return text.takeError();
    Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object())
      return Error{"`" + progress.path.string() +
                       "` is no file of progress; name another one with "
                       "`--progress`, or remove it",
                   {}};
    for (const Puzzle &puzzle : allPuzzles()) {
      const Json row = json.value(puzzle.name, Json::object());
      if (!row.is_object())
        continue;
      if (auto solved = row.find("solved"); solved != row.end() && solved->is_boolean())
        progress.states[puzzle.name].solved = *solved;
      if (auto hints = row.find("hints"); hints != row.end() && hints->is_number_unsigned())
        progress.states[puzzle.name].hints = std::min(hints->get<size_t>(), puzzle.hints.size());
    }
    return progress;
  }
  struct State {
    bool solved = false;
    size_t hints = 0; ///< shown so far
  };
  State &of(const Puzzle &puzzle) { return states[puzzle.name]; }
  /// What was solved or told counts also where it cannot be kept: then a note says so.
  void save() const {
    Status kept = path.empty() ? Status(Error{"there is no cache directory", {}}) : write();
    if (!kept)
      std::fprintf(stderr,
                   "nereid: note: the progress is not kept: %s; `--progress FILE` names a place\n",
                   kept.error().what.c_str());
  }

private:
  Status write() const {
    Json json = Json::object();
    for (const auto &[name, state] : states)
      json[name] = {{"solved", state.solved}, {"hints", state.hints}};
    std::error_code ignored;
    if (!path.parent_path().empty())
      fs::create_directories(path.parent_path(), ignored);
    return engine::writeFile(path, json.dump(2) + "\n");
  }

  fs::path path;
  std::map<std::string, State> states;
};

struct LearnWords {
  std::string what, progress, directory = ".";
  bool hint = false, json = false;
};

int list(const LearnWords &words, Progress &progress) {
  Json json = {{"puzzles", Json::array()}};
  std::vector<std::vector<std::string>> table = {{"puzzle", "topic", "state", "hints"}};
  size_t solved = 0;
  for (const Puzzle &puzzle : allPuzzles()) {
    const Progress::State &state = progress.of(puzzle);
    solved += state.solved;
    json["puzzles"].push_back({{"name", puzzle.name},
                               {"title", puzzle.title},
                               {"solved", state.solved},
                               {"hints_shown", state.hints},
                               {"hints", puzzle.hints.size()}});
    table.push_back({puzzle.name, puzzle.title, state.solved ? "solved" : "-",
                     std::to_string(state.hints) + " of " + std::to_string(puzzle.hints.size())});
  }
  if (words.json) {
    std::printf("%s\n", json.dump().c_str());
    return exitDone;
  }
  printTable(table, 4);
  std::printf("\n%zu of %zu solved. `nereid learn 1` writes the first puzzle to a file, `nereid "
              "learn FILE.py` checks it.\n",
              solved, allPuzzles().size());
  return exitDone;
}

int hint(const LearnWords &words, const Puzzle &puzzle, Progress &progress) {
  Progress::State &state = progress.of(puzzle);
  bool isNew = state.hints < puzzle.hints.size();
  if (isNew)
    ++state.hints;
  Json json = {{"puzzle", puzzle.name}, {"hints", Json::array()}};
  for (size_t i = 0; i < state.hints; ++i) {
    json["hints"].push_back(puzzle.hints[i]);
    if (!words.json && (!isNew || i + 1 == state.hints))
      std::printf("hint %zu of %zu: %s", i + 1, puzzle.hints.size(), puzzle.hints[i].c_str());
  }
  if (isNew)
    progress.save();
  if (words.json)
    std::printf("%s\n", json.dump().c_str());
  return exitDone;
}

int show(const LearnWords &words, const Puzzle &puzzle) {
  fs::path file = fs::path(words.directory) / (puzzle.name + ".py");
  std::error_code missing;
  bool isThere = fs::exists(file, missing);
  if (!isThere)
    if (Status status = engine::writeFile(file, puzzle.text); !status)
      return refuse(status.error());
  if (words.json) {
    std::printf("%s\n", Json({{"puzzle", puzzle.name},
                              {"title", puzzle.title},
                              {"text", puzzle.text},
                              {"file", file.string()},
                              {"written", !isThere}})
                            .dump()
                            .c_str());
    return exitDone;
  }
  std::printf("%s: %s\n\n%s\n%s `%s`. Check it with `nereid learn %s`.\n", puzzle.name.c_str(),
              puzzle.title.c_str(), puzzle.text.c_str(), isThere ? "You have" : "Written to",
              file.c_str(), file.c_str());
  return exitDone;
}

// A learner's file on all cases of a puzzle, as a kernel folder of its own runs.
Result<std::vector<engine::FolderRow>> runCases(const std::string &file, const Puzzle &puzzle) {
  if (!fs::exists(file))
    return Error{"there is no file `" + file + "`; `nereid learn " + puzzle.name.substr(0, 2) +
                     "` writes it",
                 {}};
  if (auto source = engine::readSource(file); !source)
    return source.takeError();
  std::string pattern = (fs::temp_directory_path() / "nereid-learn-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return Error{"cannot make a temporary folder `" + pattern + "`", {}};
  fs::path folderPath = fs::path(pattern) / puzzle.name;
  std::error_code failed;
  fs::create_directories(folderPath, failed);
  Status status = engine::writeFile(folderPath / "spec.py", puzzle.spec);
  if (status)
    status = engine::writeFile(folderPath / "reference.py", puzzle.reference);
  std::vector<engine::FolderRow> rows;
  if (status) {
    auto folder = engine::KernelFolder::open(folderPath);
    if (folder) {
      engine::FolderRunOptions options;
      options.check = true;
      options.maxOperations = 2'000'000; // a hundred times what any puzzle needs
      options.kernelFile = file;
      status = engine::runFolder(**folder, options,
                                 [&](const engine::FolderRow &row) { rows.push_back(row); });
    } else {
      status = folder.takeError();
    }
  }
  fs::remove_all(pattern, failed);
  if (!status)
    return status.takeError();
  return rows;
}

// What is wrong with the first case that fails, which is enough to work on.
void reportCase(const engine::FolderRow &row) {
  std::vector<Diagnostic> diagnostics = row.diagnostics;
  for (Diagnostic &diagnostic : diagnostics)
    if (diagnostic.code == "NoSuchKernel")
      diagnostic.hint = "the puzzle launches it by this name: keep the `def` line that it came "
                        "with";
  report(diagnostics);
  report(row.findings);
  bool said = !row.diagnostics.empty() || !row.findings.empty();
  std::printf("%s\n", said ? ("the case " + row.shape + " does not pass").c_str()
                           : ("with " + row.shape + ": " + row.failure).c_str());
}

int check(const LearnWords &words, const Puzzle &puzzle, Progress &progress) {
  auto rows = runCases(words.what, puzzle);
  if (!rows)
    return refuse(rows.error());
  bool solved = true;
  Json json = {{"puzzle", puzzle.name}, {"cases", Json::array()}};
  for (const engine::FolderRow &row : *rows) {
    bool passed = row.passed.value_or(false);
    Json one = {{"case", row.shape}, {"passed", passed}, {"findings", Json::array()}};
    for (const ref::Finding &finding : row.findings)
      one["findings"].push_back(toJson(finding));
    one["failure"] = row.failure.empty() ? Json(nullptr) : Json(row.failure);
    json["cases"].push_back(std::move(one));
    if (!passed && solved && !words.json)
      reportCase(row);
    solved &= passed;
  }
  solved &= !rows->empty();
  if (solved && !progress.of(puzzle).solved) {
    progress.of(puzzle).solved = true;
    progress.save();
  }
  json["solved"] = solved;
  if (words.json) {
    std::printf("%s\n", json.dump().c_str());
  } else if (solved) {
    std::printf("%s is solved.", puzzle.name.c_str());
    for (const Puzzle &next : allPuzzles())
      if (!progress.of(next).solved) {
        std::printf(" Next: `nereid learn %d`, %s.", std::atoi(next.name.c_str()),
                    next.title.c_str());
        break;
      }
    std::printf("\n");
  } else if (!puzzle.hints.empty()) {
    std::printf("`nereid learn %d --hint` helps.\n", std::atoi(puzzle.name.c_str()));
  }
  return solved ? exitDone : exitRefused;
}

int runLearn(const LearnWords &words) {
  auto progress = Progress::open(words.progress);
  if (!progress)
    return refuse(progress.error());
  if (words.what.empty())
    return list(words, *progress);
  bool isFile = words.what.ends_with(".py");
  auto puzzle = findPuzzle(isFile ? fs::path(words.what).stem().string() : words.what);
  if (!puzzle)
    return refuse(isFile ? Error{"`" + words.what +
                                     "` is not named after a puzzle; the file of "
                                     "the first one is 01_copy.py",
                                 {}}
                         : puzzle.error());
  if (words.hint)
    return hint(words, **puzzle, *progress);
  return isFile ? check(words, **puzzle, *progress) : show(words, **puzzle);
}

} // namespace

Action addLearn(CLI::App &app) {
  auto words = std::make_shared<LearnWords>();
  app.add_option("what", words->what,
                 "A puzzle (3, mask, 03_mask): shown, and written to a file if there is none; or "
                 "such a FILE.py: checked");
  app.add_flag("--hint", words->hint, "The next hint");
  app.add_option("--dir", words->directory, "Where files of puzzles are written (default: here)");
  app.add_option("--progress", words->progress,
                 "File of what is solved (default: learn.json in the cache directory)");
  app.add_flag("--json", words->json, "Answer in JSON");
  return [words] { return runLearn(*words); };
}

} // namespace nereid::tools
