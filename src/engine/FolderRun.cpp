#include "engine/FolderRun.h"

#include "engine/FolderCompare.h"
#include "engine/FolderGroups.h"
#include "engine/FolderPeers.h"
#include "engine/FolderTensors.h"
#include "engine/SpecRequests.h"
#include "runtime/Device.h"
#include "support/EveryCore.h"
#include "target/Gpu.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

namespace nereid::engine {

using emit::Keywords;
using ops::Value;

std::string failureText(const Error &error) {
  std::string text = error.what;
  for (const Diagnostic &diagnostic : error.diagnostics)
    if (diagnostic.severity == Severity::Error) {
      text = diagnostic.message;
      if (diagnostic.where.begin.valid())
        text =
            diagnostic.where.file + ":" + std::to_string(diagnostic.where.begin.line) + ": " + text;
      break;
    }
  return text;
}

TuningRow tuningRow(const std::string &variant, const std::string &device,
                    const std::string &source, const Keywords &bindings) {
  TuningRow row;
  row.variant = variant;
  row.source = source;
  row.which = toBindings(bindings);
  row.target = row.device = device;
  if (auto found = runtime::device(device); found) {
    row.target = (*found)->info().arch;
    row.device = (*found)->info().description;
  }
  return row;
}

namespace {

class FolderRunner {
public:
  FolderRunner(KernelFolder &folder, const FolderRunOptions &options,
               const std::function<void(const FolderRow &)> &onRow)
      : folder(folder), options(options), onRow(onRow), requests(folder.path(), options.kernelFile),
        peers(folder, options) {}

  Status run() {
    folder.setSeed(options.seed);
    folder.setHasData(!std::ranges::all_of(
        options.devices, [](const std::string &device) { return target::gpuChip(device); }));
    for (const std::string &device : options.devices)
      if (auto runner = runnerFor(device); !runner)
        return runner.takeError();
    auto file = TuningFile::read(folder.path() / "tuned.json");
    if (!file)
      return file.takeError();
    tuned = *std::move(file);
    auto hash = folder.sourceHash();
    if (!hash)
      return hash.takeError();
    source = *std::move(hash);
    auto groups = folderGroups(folder, options, tuned, source);
    if (!groups)
      return groups.takeError();
    for (const FolderGroup &group : *groups)
      progress.allRows += group.configs.size();
    for (const FolderGroup &group : *groups)
      if (Status status = runGroup(group); !status)
        return status;
    return Success{};
  }

private:
  // What was compiled ahead for a row.
  struct Ahead {
    std::vector<std::function<Status()>> work;
    double seconds = 0;
    std::optional<Error> error;
  };

  // With what a row's results are compared.
  enum class Proof { None, Reference, First };

  void report() const {
    if (options.onProgress)
      options.onProgress(progress);
  }

  Status runGroup(const FolderGroup &group) {
    firstResults.clear();
    firstConfig.clear();
    std::vector<std::optional<bool>> known(group.configs.size());
    for (size_t i = 0; options.known && i < known.size(); ++i)
      known[i] = options.known(group.row(folder, group.configs[i]));
    std::vector<size_t> open;
    for (size_t i = 0; i < known.size(); ++i)
      if (!known[i])
        open.push_back(i);
    progress.rows += known.size() - open.size();
    progress.compiled = 0;
    std::string kind = group.full + "\n" + group.which.dtype + "\n" + group.device;
    if (options.fewCases && group.device != options.devices.front() && seen.contains(kind)) {
      progress.rows += open.size();
      open.clear();
    }
    report();
    if (open.empty())
      return Success{};
    // The rows that are left are compared with what the known ones were compared with.
    auto first = std::ranges::find(known, std::optional(true));
    if (first != known.end() && options.compareConfigs && !group.which.check) {
      const Keywords &config = group.configs[size_t(first - known.begin())];
      FolderRow row = group.row(folder, config);
      if (Status status = measure(group, config, nullptr, false, row); !status)
        firstResults.clear();
    }
    std::vector<Ahead> ahead(open.size());
    if (open.size() > 1)
      compileAhead(group, open, ahead);
    for (size_t i = 0; i < open.size(); ++i) {
      const Keywords &config = group.configs[open[i]];
      FolderRow row = group.row(folder, config);
      if (options.onStart)
        options.onStart(row);
      if (Status status = measure(group, config, &ahead[i], true, row); !status) {
        row.passed = false;
        row.refused = true;
        row.failure = failureText(status.error());
        row.diagnostics = status.error().diagnostics;
      }
      if (row.skippedReason.empty())
        seen.insert(kind);
      ++progress.rows;
      onRow(row);
      report();
    }
    return Success{};
  }

  // Compiles what the rows of a group will launch, on every core. What is refused here is not
  // tried again.
  void compileAhead(const FolderGroup &group, std::span<const size_t> open,
                    std::vector<Ahead> &ahead) {
    if (group.device == "ref" || target::gpuChip(group.device) || !group.isForDevice() ||
        !place(group))
      return;
    auto runner = runnerFor(group.device);
    if (!runner)
      return; // each row will say so
    for (size_t i = 0; i < open.size(); ++i) {
      auto plan = folder.plan(group.variant, group.configs[open[i]], kept);
      if (!plan)
        continue;
      for (const auto &launch : plan->launches) {
        if (isEmpty(*launch))
          continue;
        auto request = requests.make(*launch);
        auto work = request ? (*runner)->compilation(*request) : request.takeError();
        if (work && *work)
          ahead[i].work.push_back(*std::move(work));
      }
    }
    std::mutex reporting;
    support::onEveryCore(ahead.size(), [&](size_t i) {
      auto start = std::chrono::steady_clock::now();
      for (const auto &work : ahead[i].work)
        if (Status status = work(); !status) {
          ahead[i].error = status.error();
          break;
        }
      ahead[i].work.clear();
      ahead[i].seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::lock_guard lock(reporting);
      ++progress.compiled;
      report();
    });
  }

  // Rows that are only timed share the data of their case: making and sending it takes longer.
  bool sharesData(const FolderGroup &group) const {
    return target::gpuChip(group.device) || (options.time && !group.which.check);
  }

  // Makes the tensors of a case in `kept`, unless rows share them and they are there.
  Status place(const FolderGroup &group) {
    bool shared = sharesData(group);
    std::string key = group.which.task + "\n" + group.which.label;
    if (shared && key == keptFor)
      return Success{};
    for (auto &[name, runner] : runners)
      runner->unbindAll();
    resident.clear();
    keptFor.clear();
    auto build = [&](bool computeInputs) -> Status {
      auto built = folder.build(group.which, computeInputs);
      if (!built)
        return built.takeError();
      kept = std::move(*built);
      inputsAreComputed = computeInputs;
      return Success{};
    };
    if (Status status = build(!shared); !status)
      return status;
    auto flops = folder.flops(kept);
    if (!flops)
      return flops.takeError();
    keptFlops = *flops;
    auto isComputed = [](const auto &input) {
      auto *tensor = input.second.template as<SpecTensor>();
      return tensor && tensor->recipe == SpecTensor::Recipe::Computed;
    };
    if (shared && proofOf(group) == Proof::Reference &&
        std::ranges::any_of(kept.inputs, isComputed))
      if (Status status = build(true); !status)
        return status;
    if (shared)
      keptFor = key;
    return Success{};
  }

  // What the reference makes of the inputs in `kept`, which no launch has seen; the same for all
  // rows of a case.
  Result<const std::map<std::string, support::Array> *> wantedResults() {
    std::string key = kept.which.task + "\n" + kept.which.label;
    if (key != wantedFor) {
      auto results = folder.reference(kept);
      if (!results)
        return results.takeError();
      wanted = *std::move(results);
      wantedFor = key;
    }
    return &wanted;
  }

  bool worksInPlace() const {
    return std::ranges::any_of(kept.outputs, [&](const auto &output) {
      return std::ranges::any_of(kept.inputs, [&](const auto &input) {
        return output.second.template as<SpecTensor>() &&
               output.second.template as<SpecTensor>() == input.second.template as<SpecTensor>();
      });
    });
  }

  // Of the case in `kept`.
  Proof proofOf(const FolderGroup &group) const {
    if (target::gpuChip(group.device))
      return Proof::None;
    if (group.which.check)
      return Proof::Reference;
    double work = keptFlops.value_or(0);
    for (const Keywords *values : {&kept.inputs, &kept.outputs})
      for (const auto &[name, value] : *values)
        if (auto *tensor = value.as<SpecTensor>(); tensor && !keptFlops)
          work += 10 * double(tensor->numel());
    if (work <= options.compareUpTo)
      return Proof::Reference;
    return options.compareConfigs ? Proof::First : Proof::None;
  }

  // Runs one row. `ahead` is what was compiled for it, or null; without `timed` it runs once, to
  // have results that others are compared with.
  Status measure(const FolderGroup &group, const Keywords &config, const Ahead *ahead, bool timed,
                 FolderRow &row) {
    const FolderVariant &variant = group.variant;
    const std::string &device = group.device;
    bool isChip = target::gpuChip(device);
    if (!group.isForDevice()) {
      row.skippedReason = "this variant is not for " + deviceFamily(device);
      return Success{};
    }
    if (ahead && ahead->error)
      return *ahead->error;
    bool shared = sharesData(group);
    if (Status status = place(group); !status)
      return status;
    if (device == "ref" && keptFlops && *keptFlops > options.referenceLimit) {
      row.skippedReason = "too large for the interpreter";
      return Success{};
    }
    Proof proof = proofOf(group);
    // On what no launch has written.
    if (shared && proof != Proof::None && worksInPlace()) {
      keptFor.clear();
      if (Status status = place(group); !status)
        return status;
    }
    auto plan = folder.plan(variant, config, kept);
    if (!plan)
      return plan.takeError();
    if (!plan->skipped.empty()) {
      row.skippedReason = plan->skipped;
      return Success{};
    }
    if (proof == Proof::Reference)
      if (auto results = wantedResults(); !results)
        return results.takeError();

    auto runner = runnerFor(device);
    if (!runner)
      return runner.takeError();
    Runner &on = **runner;
    ResidentTensors &here = resident[&on];
    if (!inputsAreComputed && !isChip && !here.prepared) {
      if (Status status = prepareInputs(kept, device, on, here); !status)
        return status;
      here.prepared = true;
    }
    if (shared && proof != Proof::None) {
      for (const auto &[name, value] : kept.outputs)
        if (auto *tensor = value.as<SpecTensor>(); tensor && here.tensors.erase(tensor))
          on.unbind(tensor->memory);
      if (Status status = folder.renewOutputs(kept); !status)
        return status;
    }
    BoundTensors bound(on, here, kept);
    auto made = requestsOf(*plan, bound);
    if (!made)
      return made.takeError();
    row.compileSeconds = ahead ? ahead->seconds : 0;
    if (Status status = runOnce(on, *made, isChip, row); !status || isChip)
      return status;
    row.samples = 1;
    for (const ref::Finding &finding : row.findings)
      if (finding.diagnostic.severity == Severity::Error) {
        row.passed = false;
        row.failure = finding.diagnostic.message;
        return Success{};
      }

    auto ownBytes = folder.bytes(variant, kept);
    if (!ownBytes)
      return ownBytes.takeError();
    row.bytesMoved = *ownBytes ? **ownBytes : bound.moved;
    row.peakBytes = bound.peak;
    if (keptFlops && *row.bytesMoved > 0)
      row.intensity = *keptFlops / *row.bytesMoved;
    if (Status status = prove(proof, on, row); !status || row.passed == false)
      return status;
    if (!timed)
      return Success{};
    if (options.time && !made->empty())
      if (Status status = timeRow(on, *made, row); !status)
        return status;
    if (Status status = rateRow(on, row); !status)
      return status;
    if (options.time && options.peers)
      return peers.add(kept, on, here.tensors, row);
    return Success{};
  }

  Status runOnce(Runner &on, std::span<const RunRequest> made, bool isChip, FolderRow &row) {
    row.seconds = 0;
    row.launches = int64_t(made.size());
    bool isAssembled = true;
    for (const RunRequest &request : made) {
      auto outcome = on.run(request);
      if (!outcome)
        return outcome.takeError();
      isAssembled &= outcome->isAssembled;
      if (!outcome->code.empty())
        row.code.push_back(std::move(outcome->code));
      *row.seconds += outcome->seconds;
      *row.compileSeconds += outcome->compileSeconds;
      std::move(outcome->findings.begin(), outcome->findings.end(),
                std::back_inserter(row.findings));
    }
    if (isChip) {
      row.seconds.reset(); // nothing ran
      row.assembled = isAssembled;
      row.passed = true;
      if (!isAssembled)
        row.skippedReason = "there is no `ptxas` to assemble with";
    }
    return Success{};
  }

  // Compares what the case in `kept` has written, or keeps it to compare others with.
  Status prove(Proof proof, Runner &on, FolderRow &row) {
    if (proof == Proof::Reference) {
      row.comparedWith = "reference";
      return compareOutputs(folder, kept, on, wanted, row);
    }
    if (proof == Proof::First && firstConfig.empty()) {
      for (const auto &[name, value] : kept.outputs)
        if (auto *tensor = value.as<SpecTensor>()) {
          if (Status status = on.fetch(tensor->memory); !status)
            return status;
          firstResults.insert_or_assign(name, tensor->memory.toArray());
        }
      firstConfig = row.config.empty() ? "the first" : row.config;
      row.passed = true;
    } else if (proof == Proof::First) {
      row.comparedWith = firstConfig;
      return compareOutputs(folder, kept, on, firstResults, row);
    }
    return Success{};
  }

  // Again for longer where the times spread too widely.
  Status timeRow(Runner &on, std::span<const RunRequest> made, FolderRow &row) {
    for (unsigned attempt = 1;; ++attempt) {
      TimeOptions how = *options.time;
      how.seconds *= attempt;
      auto timing = on.time(made, how);
      if (!timing)
        return timing.takeError();
      row.seconds = timing->median;
      row.p20 = timing->p20;
      row.p80 = timing->p80;
      row.samples = timing->samples;
      if (attempt >= options.attempts ||
          timing->p80 - timing->p20 <= options.widestSpread * timing->median)
        break;
    }
    return Success{};
  }

  // What the time comes to in bytes and operations, and beside copies.
  Status rateRow(Runner &on, FolderRow &row) {
    if (*row.seconds <= 0)
      return Success{};
    row.gbps = *row.bytesMoved / *row.seconds / 1e9;
    if (keptFlops)
      row.gflops = *keptFlops / *row.seconds / 1e9;
    if (!options.time || !options.copies)
      return Success{};
    auto rate = on.copyRate();
    if (!rate)
      return rate.takeError();
    if (*rate > 0)
      row.copyShare = *row.gbps * 1e9 / *rate;
    auto seconds = peers.sameCopy(on, *row.bytesMoved);
    if (!seconds)
      return seconds.takeError();
    if (*seconds > 0)
      row.sameCopyShare = *seconds / *row.seconds;
    return Success{};
  }

  // Runs the default variant of the task that makes the `computed` inputs.
  Status prepareInputs(const FolderInstance &instance, const std::string &device, Runner &on,
                       ResidentTensors &here) {
    auto before = folder.preparing(instance);
    if (!before)
      return before.takeError();
    if (!*before)
      return Success{};
    auto variants = folder.variants((*before)->which.task);
    if (!variants)
      return variants.takeError();
    // By the first variant that takes the case.
    std::optional<FolderPlan> plan;
    std::string skipped = "no variant is for this device";
    for (const FolderVariant &variant : *variants) {
      if (!isForDevice(variant, device))
        continue;
      auto made = folder.plan(variant, variant.configs.front(), **before);
      if (!made)
        return made.takeError();
      if (made->skipped.empty()) {
        plan = *std::move(made);
        break;
      }
      skipped = made->skipped;
    }
    if (!plan)
      return Error{"the inputs cannot be prepared: " + skipped, {}};
    BoundTensors bound(on, here, instance);
    auto requests = requestsOf(*plan, bound);
    if (!requests)
      return requests.takeError();
    for (const RunRequest &request : *requests)
      if (auto outcome = on.run(request); !outcome)
        return outcome.takeError();
    return Success{};
  }

  static bool isEmpty(const SpecLaunch &launch) {
    return launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0;
  }

  Result<std::vector<RunRequest>> requestsOf(const FolderPlan &plan, BoundTensors &bound) {
    std::vector<RunRequest> made;
    for (const auto &launch : plan.launches) {
      std::set<SpecTensor *> touched;
      for (const Value &value : launch->args) {
        if (Status status = bound.bind(value); !status)
          return status.takeError();
        SpecTensor *tensor = tensorOf(value);
        if (tensor && touched.insert(tensor).second)
          bound.moved += double(tensor->numel() * int64_t(info(tensor->dtype).bytes));
      }
      for (const auto &[key, value] : launch->keywords)
        if (Status status = bound.bind(value); !status)
          return status.takeError();
      if (isEmpty(*launch))
        continue;
      auto request = requests.make(*launch);
      if (!request)
        return request.takeError();
      made.push_back(std::move(*request));
    }
    return made;
  }

  Result<Runner *> runnerFor(const std::string &device) {
    auto there = runners.find(device);
    if (there == runners.end()) {
      RunnerOptions how;
      how.reference.check = options.check;
      how.describe = options.describe;
      how.reference.maxOperations = options.maxOperations;
      auto made = Runner::create(device, how);
      if (!made)
        return made.takeError();
      there = runners.emplace(device, std::move(*made)).first;
    }
    return there->second.get();
  }

  KernelFolder &folder;
  const FolderRunOptions &options;
  const std::function<void(const FolderRow &)> &onRow;
  SpecRequests requests;
  std::map<std::string, std::unique_ptr<Runner>> runners;
  TuningFile tuned;
  std::string source; ///< the folder's hash
  /// Outputs of the first good configuration of a group, when configurations are compared.
  std::map<std::string, support::Array> firstResults;
  std::string firstConfig;
  std::map<std::string, support::Array> wanted; ///< of the reference
  std::string wantedFor;                        ///< the case in `wanted`
  FolderProgress progress;
  std::set<std::string> seen; ///< variants, dtypes and devices of which a case was run
  FolderInstance kept;
  std::string keptFor; ///< the case in `kept`, if rows may share it
  std::optional<double> keptFlops;
  bool inputsAreComputed = false; ///< else the runners prepare them
  std::map<Runner *, ResidentTensors> resident;
  FolderPeers peers;
};

} // namespace

Status runFolder(KernelFolder &folder, const FolderRunOptions &options,
                 const std::function<void(const FolderRow &)> &onRow) {
  return FolderRunner(folder, options, onRow).run();
}

} // namespace nereid::engine
