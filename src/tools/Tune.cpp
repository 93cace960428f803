// nereid tune: every configuration compiled, checked and timed; the best goes to the tuning file
// that `run`, `test`, `bench` and programs read.
#include "engine/Agreement.h"
#include "engine/Timing.h"
#include "runtime/Device.h"
#include "support/Array.h"
#include "support/EveryCore.h"
#include "tools/Attempts.h"
#include "tools/FolderRows.h"
#include "tools/KernelCall.h"
#include "tools/Verbs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

namespace nereid::tools {

namespace {

struct TuneWords : KernelWords {
  std::vector<std::string> targets, devices, variants;
  std::string set = "bench", match, grid;
  double seconds = 0.1;
  bool dryRun = false;
};

/// A configuration that was tried.
struct Trial {
  std::string config;
  std::optional<double> seconds, spread;
  std::string failure;
  engine::TuningRow row; ///< to be kept of the best, and of those that are `refused`
  bool refused = false;  ///< it cost a process, now or when the file was written
};

// Notes that a trial cost an earlier attempt its process.
void refuseTrial(Trial &trial, const std::string &why) {
  trial.failure = trial.row.failure = why;
  trial.row = engine::stamped(std::move(trial.row));
  trial.refused = true;
}

/// The trials of one launch, and what they are about.
struct TunedLaunch {
  std::string kernel, variant, device, shape;
  std::vector<Trial> trials;
};

class TuneReport {
public:
  explicit TuneReport(const TuneWords &words) : words(words) {}

  /// The rows to keep: of the best configuration, if one can be taken, and of what is refused.
  std::vector<engine::TuningRow> add(TunedLaunch contest) {
    auto &trials = contest.trials;
    std::stable_sort(trials.begin(), trials.end(), [](const Trial &a, const Trial &b) {
      return std::pair(!a.failure.empty(), a.seconds.value_or(0)) <
             std::pair(!b.failure.empty(), b.seconds.value_or(0));
    });
    size_t good = size_t(std::count_if(trials.begin(), trials.end(),
                                       [](const Trial &trial) { return trial.failure.empty(); }));
    std::vector<engine::TuningRow> kept;
    for (const Trial &trial : trials)
      if (trial.refused)
        kept.push_back(trial.row);
    Json list = Json::array();
    std::string place = contest.kernel + (contest.variant.empty() ? "" : " " + contest.variant) +
                        (contest.shape.empty() ? "" : " (" + contest.shape + ")") + " on " +
                        contest.device;
    for (const Trial &trial : trials) {
      list.push_back({{"config", trial.config},
                      {"seconds", trial.seconds ? numberJson(*trial.seconds) : Json(nullptr)},
                      {"spread", trial.spread ? numberJson(*trial.spread) : Json(nullptr)},
                      {"failure", trial.failure.empty() ? Json(nullptr) : Json(trial.failure)}});
      if (!trial.failure.empty())
        remarks.push_back(place + ", " + trial.config + ": " + trial.failure);
    }
    json.push_back({{"kernel", contest.kernel},
                    {"variant", contest.variant},
                    {"device", contest.device},
                    {"shape", contest.shape},
                    {"configs", list}});
    if (good == 0) {
      failed = true;
      table.push_back({contest.kernel, contest.variant, contest.device, contest.shape, "-", "-",
                       "-", "-", "0/" + std::to_string(trials.size())});
      return kept;
    }
    const Trial &best = trials[0], &worst = trials[good - 1];
    auto micro = [](const std::optional<double> &seconds) {
      return numberText(seconds, "%.1f", 1e6);
    };
    table.push_back({contest.kernel, contest.variant, contest.device, contest.shape, best.config,
                     micro(best.seconds), micro(worst.seconds),
                     numberText(best.spread, "%.0f%%", 100),
                     std::to_string(good) + "/" + std::to_string(trials.size())});
    if (good > 1 && best.spread && *best.seconds * (1 + *best.spread) >= *trials[1].seconds)
      remarks.push_back(place + ": " + trials[1].config + " is as good within the spread");
    kept.push_back(best.row);
    return kept;
  }

  std::set<std::string> written; ///< tuning files

  int finish() const {
    if (words.json) {
      std::printf("%s\n", Json({{"rows", json}, {"files", written}}).dump().c_str());
    } else {
      printTable(table, 5);
      for (const std::string &remark : remarks)
        std::printf("%s\n", remark.c_str());
      for (const std::string &path : written)
        std::printf("kept in `%s`\n", path.c_str());
    }
    return failed ? exitRefused : exitDone;
  }

private:
  const TuneWords &words;
  Json json = Json::array();
  std::vector<std::vector<std::string>> table = {
      {"kernel", "variant", "device", "shape", "best", "us", "worst us", "spread", "good"}};
  std::vector<std::string> remarks;
  bool failed = false;
};

std::vector<std::string> devicesOf(const TuneWords &words) {
  if (!words.devices.empty())
    return words.devices;
  std::vector<std::string> names;
  for (runtime::Device *device : runtime::devices())
    names.push_back(device->name());
  return names;
}

Status keep(const TuneWords &words, const std::string &path,
            const std::vector<engine::TuningRow> &rows, TuneReport &report) {
  if (words.dryRun || rows.empty())
    return Success{};
  report.written.insert(path);
  return engine::TuningFile::merge(path, rows);
}

Status tuneFolder(const TuneWords &words, const std::string &path, Attempts &attempts,
                  TuneReport &report) {
  std::string tuned = (std::filesystem::path(path) / "tuned.json").string();
  auto file = engine::TuningFile::read(tuned);
  if (!file)
    return file.takeError();
  auto folder = engine::KernelFolder::open(path);
  if (!folder)
    return folder.takeError();
  FolderWords wanted;
  wanted.folders = words.targets;
  std::erase_if(wanted.folders,
                [](const std::string &target) { return !std::filesystem::is_directory(target); });
  wanted.variants = words.variants;
  wanted.match = words.match;
  if (Status status = checkVariants(wanted); !status)
    return status;
  auto source = (*folder)->sourceHash();
  if (!source)
    return source.takeError();
  engine::FolderRunOptions options;
  options.devices = devicesOf(words);
  options.set = words.set;
  options.match = words.match;
  options.variants = words.variants;
  options.allConfigs = options.compareConfigs = true;
  options.copies = false; // only the time decides
  options.time.emplace();
  options.time->seconds = words.seconds;
  std::vector<TunedLaunch> contests; // configurations of a launch follow each other
  auto stepOf = [&](const engine::FolderRow &row) {
    return path + " " + row.variant + " (" + row.shape + ") on " + row.device + ", " + row.config;
  };
  auto trialOf = [&](const engine::FolderRow &row) {
    Trial trial;
    trial.config = row.config;
    trial.row = engine::tuningRow(row.variant, row.device, *source, row.bindings);
    trial.row.config = engine::toBindings(row.configuration);
    return trial;
  };
  auto measured = [](Trial &trial, double seconds) {
    trial.seconds = trial.row.seconds = seconds;
    trial.row = engine::stamped(std::move(trial.row));
  };
  auto add = [&](const engine::FolderRow &row, Trial trial) {
    if (contests.empty() || contests.back().variant != row.variant ||
        contests.back().device != row.device || contests.back().shape != row.shape)
      contests.push_back({row.kernel, row.variant, row.device, row.shape, {}});
    contests.back().trials.push_back(std::move(trial));
  };
  options.known = [&](const engine::FolderRow &row) -> std::optional<bool> {
    Trial trial = trialOf(row);
    if (const std::string *why = attempts.lost(stepOf(row))) {
      refuseTrial(trial, *why);
    } else if (const auto *refusal = file->refusal(trial.row, trial.row.config)) {
      trial.failure = engine::refusedBefore(*refusal, tuned);
    } else if (const Json *known = attempts.known(stepOf(row))) {
      trial.failure = known->at("failure");
      if (trial.failure.empty())
        measured(trial, known->at("seconds"));
      if (known->contains("spread"))
        trial.spread = known->at("spread");
    } else {
      return std::nullopt;
    }
    bool passed = trial.failure.empty();
    add(row, std::move(trial));
    return passed;
  };
  options.onStart = [&](const engine::FolderRow &row) { attempts.begins(stepOf(row)); };
  Status status = engine::runFolder(**folder, options, [&](const engine::FolderRow &row) {
    attempts.goOnOrLose(row.device, row.failure);
    if (!row.skippedReason.empty())
      return;
    Trial trial = trialOf(row);
    trial.failure = row.failure;
    Json result = {{"failure", row.failure}};
    if (row.failure.empty()) {
      measured(trial, *row.seconds);
      result["seconds"] = *row.seconds;
      if (row.p20 && row.p80 && *row.seconds > 0)
        result["spread"] = *(trial.spread = (*row.p80 - *row.p20) / *row.seconds);
    }
    attempts.ends(stepOf(row), result);
    add(row, std::move(trial));
  });
  if (!status)
    return status;
  if (contests.empty())
    return words.match.empty() ? Error{"`" + path + "` has nothing to tune in `--cases " +
                                           words.set + "` on the devices here",
                                       {}}
                               : noSuchCase(wanted);
  std::vector<engine::TuningRow> rows;
  for (TunedLaunch &contest : contests)
    for (engine::TuningRow &row : report.add(std::move(contest)))
      rows.push_back(std::move(row));
  return keep(words, tuned, rows, report);
}

// An autotuned kernel on given arguments.
class KernelTuner {
public:
  KernelTuner(const TuneWords &words, std::string device, Attempts &attempts)
      : words(words), device(std::move(device)), attempts(attempts), arguments(words.seed) {}

  Result<TunedLaunch> run() {
    auto file = chooseKernel(words);
    if (!file)
      return file.takeError();
    chosen = std::move(*file);
    if (Status status = arguments.parse(words.values()); !status)
      return status.takeError();
    engine::TunedLaunch launch = tunedLaunch(chosen, arguments.all(), device);
    auto choices = engine::chooseConfiguration(launch, nullptr);
    if (!choices)
      return choices.takeError();
    size_t count = choices->configurations.size();
    if (count == 0)
      return Error{"`" + chosen.name +
                       "` is not autotuned: `@triton.autotune(configs=[...], key=[...])` above "
                       "`@triton.jit` says what to choose from",
                   {}};
    for (const auto &[name, value] : choices->configurations[0].values)
      if (emit::findKeyword(launch.given, name))
        return Error{"`" + name + "` is what the configurations of `" + chosen.name +
                         "` choose: leave it out",
                     {}};
    auto row = engine::tuningRow(launch, *choices);
    if (!row)
      return row.takeError();
    auto tuned = engine::TuningFile::read(tuningPath(words));
    if (!tuned)
      return tuned.takeError();
    auto made = engine::Runner::create(device);
    if (!made)
      return made.takeError();
    runner = std::move(*made);
    for (engine::SpecTensor *tensor : arguments.tensors())
      before.push_back(tensor->memory.packed());

    TunedLaunch contest{chosen.name, "", device, "", {}};
    for (const auto &[name, value] : row->which)
      contest.shape +=
          (contest.shape.empty() ? "" : " ") + name + "=" +
          (value.kind == support::Constant::Kind::String ? value.text : value.source());
    requests.resize(count);
    for (size_t i = 0; i < count; ++i) {
      Trial trial;
      trial.config = choices->configurations[i].text();
      trial.row = *row;
      trial.row.config = engine::toBindings(choices->configurations[i]);
      if (const std::string *why = attempts.lost(step(trial)))
        refuseTrial(trial, *why);
      else if (const auto *refusal = tuned->refusal(*row, trial.row.config))
        trial.failure = engine::refusedBefore(*refusal, tuningPath(words));
      else if (Status status = prepare(launch, i); !status)
        trial.failure = engine::failureText(status.error());
      contest.trials.push_back(std::move(trial));
    }
    compile(contest.trials);
    runEachOnce(contest.trials);
    if (words.grid.empty() && !words.json)
      noteOneProgram(chosen);
    if (Status status = timeEach(contest.trials); !status)
      return status.takeError();
    return contest;
  }

private:
  std::string step(const Trial &trial) const {
    return words.target + " on " + device + ", " + trial.config;
  }

  // The tensors as they were given.
  Status renew() {
    runner->unbindAll();
    size_t at = 0;
    for (engine::SpecTensor *tensor : arguments.tensors()) {
      tensor->memory.unpack(before[at++].data());
      if (Status status = runner->bind(tensor->memory, tensor->name,
                                       tensor->recipe != engine::SpecTensor::Recipe::Empty);
          !status)
        return status;
    }
    return Success{};
  }

  // Makes the request of configuration `index`.
  Status prepare(const engine::TunedLaunch &launch, size_t index) {
    auto choices = engine::chooseConfiguration(launch, nullptr, index);
    if (!choices)
      return choices.takeError();
    auto request = launchRequest(words, chosen, arguments, *choices, words.grid);
    if (!request)
      return request.takeError();
    requests[index] = *std::move(request);
    return Success{};
  }

  // Compiles what the trials will launch, on every core.
  void compile(std::vector<Trial> &trials) {
    std::vector<std::function<Status()>> work(trials.size());
    for (size_t i = 0; i < trials.size(); ++i)
      if (trials[i].failure.empty())
        if (auto one = runner->compilation(requests[i]))
          work[i] = *std::move(one);
    support::onEveryCore(trials.size(), [&](size_t i) {
      if (!work[i])
        return;
      if (Status status = work[i](); !status)
        trials[i].failure = engine::failureText(status.error());
    });
  }

  // Launches configuration `index`: what it leaves in the tensors.
  Result<std::vector<support::Array>> once(size_t index) {
    if (Status status = renew(); !status)
      return status.takeError();
    if (auto outcome = runner->run(requests[index]); !outcome)
      return outcome.takeError();
    std::vector<support::Array> results;
    for (engine::SpecTensor *tensor : arguments.tensors()) {
      if (Status status = runner->fetch(tensor->memory); !status)
        return status.takeError();
      results.push_back(tensor->memory.toArray());
    }
    return results;
  }

  // Each once; those whose results differ are refused.
  void runEachOnce(std::vector<Trial> &trials) {
    engine::Agreement<std::vector<support::Array>> agreement;
    for (size_t i = 0; i < trials.size(); ++i) {
      Trial &trial = trials[i];
      if (!trial.failure.empty())
        continue;
      attempts.begins(step(trial));
      if (auto results = once(i)) {
        agreement.add(i, *std::move(results),
                      [&](const auto &a, const auto &b) { return agree(a, b); });
      } else {
        trial.failure = engine::failureText(results.error());
        attempts.goOnOrLose(device, trial.failure);
      }
      attempts.ends(step(trial), {});
    }
    agreement.refuseOthers([&](size_t i, std::string why) { trials[i].failure = std::move(why); });
  }

  Status timeEach(std::vector<Trial> &trials) {
    std::vector<unsigned> rounds(trials.size());
    auto one = [&](size_t i,
                   const engine::TimeOptions &options) -> Result<std::optional<engine::Timing>> {
      Trial &trial = trials[i];
      if (!trial.failure.empty())
        return std::optional<engine::Timing>();
      std::string timed = step(trial) + ", timed " + std::to_string(rounds[i]++);
      if (const Json *known = attempts.known(timed))
        return std::optional(
            engine::Timing{known->at("median"), known->at("p20"), known->at("p80")});
      attempts.begins(step(trial));
      Status status = renew();
      auto timing = status ? runner->time({&requests[i], 1}, options) : status.takeError();
      if (!timing) {
        trial.failure = engine::failureText(timing.error());
        attempts.goOnOrLose(device, trial.failure);
        return std::optional<engine::Timing>();
      }
      attempts.ends(timed,
                    {{"median", timing->median}, {"p20", timing->p20}, {"p80", timing->p80}});
      return std::optional(*timing);
    };
    auto timings = engine::contest(trials.size(), {.seconds = words.seconds}, one);
    if (!timings)
      return timings.takeError();
    for (size_t i = 0; i < trials.size(); ++i)
      if (const auto &timing = (*timings)[i]) {
        trials[i].seconds = trials[i].row.seconds = timing->median;
        trials[i].spread = (timing->p80 - timing->p20) / timing->median;
        trials[i].row = engine::stamped(std::move(trials[i].row));
      }
    return Success{};
  }

  bool agree(const std::vector<support::Array> &a, const std::vector<support::Array> &b) {
    size_t at = 0;
    for (engine::SpecTensor *tensor : arguments.tensors()) {
      support::HostTensor other(tensor->dtype, tensor->memory.shape());
      other.fromArray(a[at]);
      double bound = engine::toleranceBetween(tensor->dtype);
      if (!support::compare(other, b[at], {bound, bound}).passed)
        return false;
      ++at;
    }
    return true;
  }

  const TuneWords &words;
  std::string device;
  Attempts &attempts;
  ChosenKernel chosen;
  CallArguments arguments;
  std::unique_ptr<engine::Runner> runner;
  std::vector<std::vector<uint8_t>> before;
  std::vector<engine::RunRequest> requests;
};

Status tuneKernel(const TuneWords &words, Attempts &attempts, TuneReport &report) {
  std::vector<engine::TuningRow> rows;
  for (const std::string &device : devicesOf(words)) {
    auto contest = KernelTuner(words, device, attempts).run();
    if (!contest)
      return contest.takeError();
    for (engine::TuningRow &row : report.add(std::move(*contest)))
      rows.push_back(std::move(row));
  }
  return keep(words, tuningPath(words), rows, report);
}

int runTune(TuneWords words, Attempts &attempts) {
  TuneReport report(words);
  if (auto folder = std::filesystem::path(words.tuned).parent_path();
      !words.dryRun && !folder.empty() && !std::filesystem::is_directory(folder))
    return refuse(
        Error{"`--tuned " + words.tuned + "`: there is no folder `" + folder.string() + "`", {}});
  for (const std::string &target : words.targets) {
    words.target = target;
    bool isFolder = std::filesystem::is_directory(target);
    if (!isFolder && target.find(".py") == std::string::npos)
      return refuse(Error{"`" + target + "` is neither a kernel folder nor FILE.py:KERNEL", {}});
    if (Status status = isFolder ? tuneFolder(words, target, attempts, report)
                                 : tuneKernel(words, attempts, report);
        !status)
      return refuse(status.error());
  }
  return report.finish();
}

} // namespace

Action addTune(CLI::App &app) {
  auto words = std::make_shared<TuneWords>();
  app.add_option("targets", words->targets,
                 "Kernel folders, or FILE.py:KERNEL of an autotuned kernel with its arguments")
      ->required();
  app.add_option("--device", words->devices,
                 "cpu or cuda:N; may be given more than once (default: each one present)")
      ->allow_extra_args(false);
  app.add_option("--cases", words->set, "Which cases of a folder's spec: bench, demo or cases")
      ->check(CLI::IsMember({"cases", "demo", "bench"}));
  app.add_option("--match", words->match, "Only cases whose label contains this");
  app.add_option("--variant", words->variants,
                 "TASK.VARIANT or VARIANT: tune this one only; may be given more than once")
      ->allow_extra_args(false);
  app.add_option("--seconds", words->seconds, "Time for the samples of one configuration")
      ->check(CLI::Range(0.001, 600.0));
  app.add_flag("--dry-run", words->dryRun, "Write no tuning file");
  app.add_option("-g,--grid", words->grid, "Programs of a kernel: \"(cdiv(n, BLOCK),)\"");
  addKernelOptions(app, *words);
  return [words] {
    return Attempts::run([&](Attempts &attempts) { return runTune(*words, attempts); });
  };
}

} // namespace nereid::tools
