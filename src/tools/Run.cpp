// nereid run, check and profile: a kernel on tensors, on any device, under the interpreter's eyes
// or the recorder's.
#include "engine/Files.h"
#include "runtime/Recorder.h"
#include "support/Npy.h"
#include "support/Spelling.h"
#include "tools/FolderRows.h"
#include "tools/KernelCall.h"
#include "tools/Output.h"
#include "tools/ProfileAnswer.h"
#include "tools/Verbs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <unistd.h>
#include <utility>

namespace nereid::tools {

namespace {

struct RunWords : KernelWords {
  std::string grid, device = "cpu";
  std::vector<std::string> print, save;
  bool emulateTf32 = false, wide = false;
  int repeat = 0; ///< launches to profile
  std::string trace;
  bool lines = false; ///< sample where the kernel waits
};

// How far the interpreter is, on a terminal, of a launch that takes longer than a moment.
class InterpreterLine {
public:
  void show(const ref::Progress &progress) {
    constexpr double wait = 1, between = 0.2;
    double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (now < shownAt + (isShown ? between : wait))
      return;
    std::fprintf(stderr, "\r%llu of %llu programs, %llu operations, %.0f s\033[K",
                 (unsigned long long)progress.programs, (unsigned long long)progress.allPrograms,
                 (unsigned long long)progress.operations, now);
    shownAt = now;
    isShown = true;
  }
  void clear() {
    if (std::exchange(isShown, false))
      std::fprintf(stderr, "\r\033[K");
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double shownAt = 0;
  bool isShown = false;
};

// No fault: a kernel may leave places to others. But a grid that is too small looks like this.
void tellNeverStored(const std::vector<ref::NeverStored> &all) {
  for (const ref::NeverStored &one : all)
    if (one.count == one.elements)
      std::fprintf(stderr, "nereid: note: `%s` is `empty`, and the launch stored nothing to it\n",
                   one.tensor.c_str());
    else
      std::fprintf(stderr,
                   "nereid: note: the launch stored nothing to %llu of %llu elements of `%s`, "
                   "which is `empty`; the first is %s\n"
                   "   hint: if all of it is the result, see whether the grid covers it\n",
                   (unsigned long long)one.count, (unsigned long long)one.elements,
                   one.tensor.c_str(), one.first.c_str());
}

int answer(const RunWords &words, const CallArguments &arguments, const engine::RunOutcome &outcome,
           bool check) {
  bool failed = false;
  for (const ref::Finding &finding : outcome.findings)
    failed |= finding.diagnostic.severity == Severity::Error;
  if (words.json) {
    Json json = {{"outputs", Json::object()}, {"prints", outcome.prints}};
    for (const std::string &name : words.print)
      if (auto *tensor = arguments.tensor(name))
        json["outputs"][name] = toJson(tensor->memory);
    if (check || !outcome.findings.empty()) {
      json["findings"] = Json::array();
      for (const ref::Finding &finding : outcome.findings)
        json["findings"].push_back(toJson(finding));
    }
    for (const ref::NeverStored &one : outcome.statistics.neverStored)
      json["never_stored"].push_back({{"tensor", one.tensor},
                                      {"first", one.first},
                                      {"count", one.count},
                                      {"elements", one.elements}});
    json["seconds"] = outcome.seconds;
    json["compile_seconds"] = outcome.compileSeconds;
    std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    for (const std::string &line : outcome.prints)
      std::printf("%s\n", line.c_str());
    for (const std::string &name : words.print)
      if (auto *tensor = arguments.tensor(name))
        std::printf("%s: %s\n", name.c_str(), summary(tensor->memory).c_str());
  }
  report(outcome.findings);
  if (check && !words.json) {
    tellNeverStored(outcome.statistics.neverStored);
    if (outcome.findings.empty())
      std::printf("no findings: %llu programs, %llu operations\n",
                  (unsigned long long)outcome.statistics.programs,
                  (unsigned long long)outcome.statistics.operations);
    else
      std::printf("%zu finding%s\n", outcome.findings.size(),
                  outcome.findings.size() == 1 ? "" : "s");
  }
  return failed ? exitRefused : exitDone;
}

Error noTensor(const std::string &option, const std::string &name, CallArguments &arguments) {
  support::Spelling spelling(name);
  std::string all;
  for (engine::SpecTensor *tensor : arguments.tensors()) {
    spelling.consider(tensor->name);
    all += (all.empty() ? "there are `" : ", `") + tensor->name + "`";
  }
  return {
      "`" + option + " " + name + "`: there is no tensor of that name; " +
          (spelling.best().empty() ? all.empty() ? "no argument is one" : all : spelling.hint()),
      {}};
}

// The launch that the words describe; its tensors are those of `arguments`.
Result<engine::RunRequest> requestOf(const RunWords &words, ChosenKernel &chosen,
                                     CallArguments &arguments, bool check) {
  // A kernel that is not there is said to be so, not to have no configuration.
  if (auto signature = engine::signatureOf(*chosen.program, chosen.name); !signature)
    return signature.takeError();
  auto choices =
      chooseLaunch(words, tunedLaunch(chosen, arguments.all(), check ? "ref" : words.device));
  if (!choices)
    return choices.takeError();
  auto request = launchRequest(words, chosen, arguments, *choices, words.grid);
  if (request)
    request->options.debug |= check;
  return request;
}

// Which tensor goes to which file: asked before anything runs.
using Saved = std::vector<std::pair<engine::SpecTensor *, std::string>>;
Result<Saved> savedTensors(const RunWords &words, CallArguments &arguments) {
  Saved saved;
  for (const std::string &word : words.save) {
    size_t equals = word.find('=');
    if (equals == std::string::npos)
      return Error{"`--save " + word + "` is not TENSOR=FILE.npy", {}};
    const std::string name = word.substr(0, equals);
    engine::SpecTensor *tensor = arguments.tensor(name);
    if (!tensor)
      return noTensor("--save", name, arguments);
    saved.emplace_back(tensor, word.substr(equals + 1));
  }
  return saved;
}

Status save(const Saved &saved) {
  for (const auto &[tensor, path] : saved) {
    auto bytes = support::writeNpy(tensor->dtype, tensor->shape, tensor->memory.packed());
    if (Status status =
            engine::writeFile(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
        !status)
      return status;
  }
  return Success{};
}

int execute(const RunWords &words, bool check) {
  if (!words.signature.empty())
    return refuse(Error{"a launch takes values, as `--arg n=1000`, and no `--signature`", {}});
  auto chosen = chooseKernel(words);
  if (!chosen)
    return refuse(chosen.error());
  // A compiled kernel that leaves its tensors is told so, before it harms what lies behind them.
  support::HostTensor::fence(!check && words.device == "cpu");
  CallArguments arguments(words.seed);
  if (Status status = arguments.parse(words.values()); !status)
    return refuse(status.error());
  for (const std::string &name : words.print)
    if (!arguments.tensor(name))
      return refuse(noTensor("--print", name, arguments));
  auto saved = savedTensors(words, arguments);
  if (!saved)
    return refuse(saved.error());
  auto request = requestOf(words, *chosen, arguments, check);
  if (!request)
    return refuse(request.error());

  engine::RunnerOptions options;
  options.reference.check = check;
  options.reference.emulateTf32 = words.emulateTf32;
  if (words.wide)
    options.reference.precision = ref::Precision::Wide;
  InterpreterLine line;
  if (!words.json && isatty(2))
    options.onProgress = [&](const ref::Progress &progress) { line.show(progress); };
  auto runner = engine::Runner::create(check ? "ref" : words.device, options);
  if (!runner)
    return refuse(runner.error());
  for (engine::SpecTensor *tensor : arguments.tensors())
    if (Status status = (*runner)->bind(tensor->memory, tensor->name,
                                        tensor->recipe != engine::SpecTensor::Recipe::Empty);
        !status)
      return refuse(status.error());
  ProfileAnswer profile;
  auto launches = [&] {
    auto outcome = (*runner)->run(*request);
    for (int i = 1; i < words.repeat && outcome; ++i)
      outcome = (*runner)->run(*request);
    return outcome;
  };
  // Samples come first, so that the code is loaded under the sampler, and are taken apart from the
  // times, which they would lengthen.
  if (words.lines) {
    profile.sample(*(*runner)->runtimeDevice());
    if (auto sampled = launches(); !sampled)
      return refuse(sampled.error());
    profile.finishSamples();
  }
  if (words.repeat)
    runtime::recorder().enable(true);
  auto outcome = launches();
  line.clear();
  if (!outcome)
    return refuse(outcome.error());
  if (words.grid.empty() && !words.json)
    noteOneProgram(*chosen);
  report(outcome->notes);
  for (engine::SpecTensor *tensor : arguments.tensors())
    if (Status status = (*runner)->fetch(tensor->memory); !status)
      return refuse(status.error());
  if (Status status = save(*saved); !status)
    return refuse(status.error());
  if (words.repeat) {
    runtime::recorder().enable(false);
    profile.takeEvents();
    if (!words.trace.empty())
      if (Status status = runtime::writeTrace(words.trace, profile.events,
                                              profile.samples ? &*profile.samples : nullptr);
          !status)
        return refuse(status.error());
    profile.print(*chosen->program, words.json);
    return exitDone;
  }
  return answer(words, arguments, *outcome, check);
}

std::shared_ptr<RunWords> addWords(CLI::App &app) {
  auto words = std::make_shared<RunWords>();
  addKernelWords(app, *words);
  app.add_option("-g,--grid", words->grid, "Programs: \"(cdiv(n, BLOCK),)\" (default 1)");
  app.add_option("--print", words->print, "Tensor to show afterwards")->allow_extra_args(false);
  app.add_flag("--emulate-tf32", words->emulateTf32,
               "Round f32 operands of dot to tf32 as a GPU does (ref)");
  return words;
}

} // namespace

Action addRun(CLI::App &app) {
  auto words = addWords(app);
  app.add_option("--device", words->device, "ref, cpu or cuda:N (default cpu)");
  app.add_option("--save", words->save, "TENSOR=FILE.npy: written afterwards")
      ->allow_extra_args(false);
  app.add_flag("--wide", words->wide,
               "Every float in f64 and nothing rounded but what is stored at the end (ref)");
  auto verify = std::make_shared<bool>(false);
  app.add_flag("--check", *verify, "Verify every access: `nereid check`");
  return [words, verify] {
    if (*verify)
      return execute(*words, true);
    if (words->wide && words->device != "ref")
      return refuse(Error{"only the interpreter computes `--wide`: add `--device ref`", {}});
    return execute(*words, false);
  };
}

Action addCheck(CLI::App &app) {
  auto words = addWords(app);
  addSarif(app);
  return [words] { return execute(*words, true); };
}

Action addProfile(CLI::App &app) {
  auto words = addWords(app);
  words->repeat = 20;
  app.add_option("--device", words->device, "cpu or cuda:N (default cpu)");
  app.add_option("--repeat", words->repeat,
                 "Launches, each on what the one before left (default 20)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--trace", words->trace,
                 "FILE.json: the events, for chrome://tracing and ui.perfetto.dev");
  app.add_flag("--lines", words->lines,
               "Where the kernel waits: samples of its program counters by line (cuda:N)");
  return [words] {
    if (words->device == "ref")
      return refuse(Error{"the interpreter is not profiled: choose cpu or cuda:N", {}});
    if (words->lines && !words->device.starts_with("cuda"))
      return refuse(
          Error{"`--lines` samples the program counters of a GPU: add `--device cuda:0`", {}});
    return execute(*words, false);
  };
}

} // namespace nereid::tools
