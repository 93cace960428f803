#include "engine/FolderRun.h"

#include "engine/FolderPeers.h"
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
    auto groups = makeGroups();
    if (!groups)
      return groups.takeError();
    for (const Group &group : *groups)
      progress.allRows += group.configs.size();
    for (const Group &group : *groups)
      if (Status status = runGroup(group); !status)
        return status;
    return Success{};
  }

private:
  // What a runner holds of the case in `kept`.
  struct Resident {
    std::set<SpecTensor *> tensors;
    bool prepared = false;
  };

  // Rows of one case, variant and device: they follow each other.
  struct Group {
    FolderCase which;
    FolderVariant variant;
    std::string full, device; // `full` is "task.variant"
    std::vector<Keywords> configs;
  };

  // What was compiled ahead for a row.
  struct Ahead {
    std::vector<std::function<Status()>> work;
    double seconds = 0;
    std::optional<Error> error;
  };

  // With what a row's results are compared.
  enum class Proof { None, Reference, First };

  static std::string fullName(const std::string &task, const FolderVariant &variant) {
    return task.empty() ? variant.name : task + "." + variant.name;
  }
  bool isWanted(const std::string &task, const FolderVariant &variant) const {
    std::string full = fullName(task, variant);
    return options.variants.empty() ||
           std::ranges::any_of(options.variants, [&](const std::string &name) {
             return name == full || name == variant.name;
           });
  }

  Result<std::vector<Group>> makeGroups() {
    std::optional<Search> search;
    if (!options.search.empty()) {
      auto made = Search::make(
          folder, options.search, options.set,
          [this](const auto &task, const auto &variant) { return isWanted(task, variant); });
      if (!made)
        return made.takeError();
      search.emplace(*std::move(made));
    }
    std::vector<Group> groups;
    for (const std::string &task : folder.tasks()) {
      auto variants = folder.variants(task);
      if (!variants)
        return variants.takeError();
      Result<std::vector<FolderCase>> cases =
          options.ownCase ? std::vector{KernelFolder::ownCase(task, *options.ownCase)}
          : search        ? search->cases(task)
                          : folder.cases(task, options.set);
      if (!cases)
        return cases.takeError();
      for (const FolderCase &which : *cases) {
        if (which.label.find(options.match) == std::string::npos)
          continue;
        for (const FolderVariant &variant : *variants) {
          if (!isWanted(task, variant))
            continue;
          for (const std::string &device : options.devices) {
            Group group{which, variant, fullName(task, variant), device, {}};
            if (!options.allConfigs)
              group.configs = {chosen(which, variant, group.full, device)};
            else
              group.configs = search ? search->configs(task, variant) : variant.configs;
            for (size_t i = group.configs.size(); search && i-- > 0;) {
              auto takes = search->takes(which, group.configs[i]);
              if (!takes)
                return takes.takeError();
              if (!*takes)
                group.configs.erase(group.configs.begin() + long(i));
            }
            if (!group.configs.empty())
              groups.push_back(std::move(group));
          }
        }
      }
    }
    return groups;
  }

  static FolderRow rowOf(const KernelFolder &folder, const Group &group, const Keywords &config) {
    FolderRow row;
    row.kernel = folder.name();
    row.variant = group.full;
    row.device = group.device;
    row.dtype = group.which.dtype;
    row.shape = group.which.label;
    row.config = bindingsText(config);
    row.bindings = group.which.bindings;
    row.configuration = config;
    return row;
  }

  void report() const {
    if (options.onProgress)
      options.onProgress(progress);
  }

  Status runGroup(const Group &group) {
    firstResults.clear();
    firstConfig.clear();
    std::vector<std::optional<bool>> known(group.configs.size());
    for (size_t i = 0; options.known && i < known.size(); ++i)
      known[i] = options.known(rowOf(folder, group, group.configs[i]));
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
      FolderRow row = rowOf(folder, group, config);
      if (Status status = measure(group, config, nullptr, false, row); !status)
        firstResults.clear();
    }
    std::vector<Ahead> ahead(open.size());
    if (open.size() > 1)
      compileAhead(group, open, ahead);
    for (size_t i = 0; i < open.size(); ++i) {
      const Keywords &config = group.configs[open[i]];
      FolderRow row = rowOf(folder, group, config);
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
  void compileAhead(const Group &group, std::span<const size_t> open, std::vector<Ahead> &ahead) {
    if (group.device == "ref" || target::gpuChip(group.device) || !isFor(group) || !place(group))
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

  // The configuration that was measured to be best, if the spec still has it, else the first.
  const Keywords &chosen(const FolderCase &which, const FolderVariant &variant,
                         const std::string &full, const std::string &device) const {
    const TuningRow launch = tuningRow(full, device, source, which.bindings);
    const TuningRow *row = options.tuned ? tuned.find(launch) : nullptr;
    for (const Keywords &config : variant.configs)
      if (row && sameBindings(toBindings(config), row->config))
        return config;
    for (const Keywords &config : variant.configs)
      if (!options.tuned || !tuned.refusal(launch, toBindings(config)))
        return config;
    return variant.configs.front();
  }

  static bool isFor(const FolderVariant &variant, const std::string &device) {
    return variant.targets.empty() ||
           std::ranges::find(variant.targets, family(device)) != variant.targets.end();
  }
  static bool isFor(const Group &group) { return isFor(group.variant, group.device); }
  static std::string family(const std::string &device) {
    return target::gpuChip(device) ? "cuda" : device.substr(0, device.find(':'));
  }
  // Rows that are only timed share the data of their case: making and sending it takes longer.
  bool sharesData(const Group &group) const {
    return target::gpuChip(group.device) || (options.time && !group.which.check);
  }

  // Makes the tensors of a case in `kept`, unless rows share them and they are there.
  Status place(const Group &group) {
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
  Proof proofOf(const Group &group) const {
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
  Status measure(const Group &group, const Keywords &config, const Ahead *ahead, bool timed,
                 FolderRow &row) {
    const FolderVariant &variant = group.variant;
    const std::string &device = group.device;
    bool isChip = target::gpuChip(device);
    if (!isFor(group)) {
      row.skippedReason = "this variant is not for " + family(device);
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
    Resident &here = resident[&on];
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
    Bound bound(on, here, kept);
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
      return compare(kept, on, wanted, row);
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
      return compare(kept, on, firstResults, row);
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
                       Resident &here) {
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
      if (!isFor(variant, device))
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
    Bound bound(on, here, instance);
    auto requests = requestsOf(*plan, bound);
    if (!requests)
      return requests.takeError();
    for (const RunRequest &request : *requests)
      if (auto outcome = on.run(request); !outcome)
        return outcome.takeError();
    return Success{};
  }

  // The tensors of some launches, made known to a runner. Temporaries are forgotten at the end.
  class Bound {
  public:
    Bound(Runner &on, Resident &here, const FolderInstance &instance) : on(on), here(here) {
      for (const Keywords *values : {&instance.inputs, &instance.outputs})
        for (const auto &[name, value] : *values)
          if (auto *tensor = value.as<SpecTensor>())
            lasting.insert(tensor);
    }
    ~Bound() {
      for (SpecTensor *tensor : tensors)
        if (!lasting.contains(tensor)) {
          on.unbind(tensor->memory);
          here.tensors.erase(tensor);
        }
    }
    Bound(const Bound &) = delete;

    Status bind(const Value &value) {
      SpecTensor *tensor = value.as<SpecTensor>();
      if (auto *descriptor = value.as<SpecDescriptor>())
        tensor = descriptor->tensor.get();
      if (!tensor || !tensors.insert(tensor).second)
        return Success{};
      peak += double(tensor->memory.allocationBytes());
      if (!here.tensors.insert(tensor).second)
        return Success{};
      return on.bind(tensor->memory, tensor->name, tensor->recipe != SpecTensor::Recipe::Empty);
    }

    double moved = 0; ///< bytes, each tensor of a launch once
    double peak = 0;  ///< bytes of all tensors

  private:
    Runner &on;
    Resident &here;
    std::set<SpecTensor *> tensors, lasting;
  };

  static bool isEmpty(const SpecLaunch &launch) {
    return launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0;
  }

  Result<std::vector<RunRequest>> requestsOf(const FolderPlan &plan, Bound &bound) {
    std::vector<RunRequest> made;
    for (const auto &launch : plan.launches) {
      std::set<SpecTensor *> touched;
      for (const Value &value : launch->args) {
        if (Status status = bound.bind(value); !status)
          return status.takeError();
        auto *tensor = value.as<SpecTensor>();
        if (auto *descriptor = value.as<SpecDescriptor>())
          tensor = descriptor->tensor.get();
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

  // Whether an element holds what memory does that nobody has written.
  static bool isPoison(const support::HostTensor &memory, size_t element) {
    std::vector<uint8_t> poison = support::HostTensor(memory.dtype(), {1}).packed();
    std::vector<uint8_t> all = memory.packed();
    return std::equal(poison.begin(), poison.end(), all.begin() + element * poison.size());
  }

  // Fills `passed`, the worst error and its tolerance.
  Status compare(const FolderInstance &instance, Runner &on,
                 const std::map<std::string, support::Array> &wanted, FolderRow &row) {
    row.passed = true;
    double worst = -1;
    for (const auto &[name, value] : instance.outputs) {
      auto *tensor = value.as<SpecTensor>();
      auto want = wanted.find(name);
      if (!tensor || want == wanted.end())
        continue;
      if (Status status = on.fetch(tensor->memory); !status)
        return status;
      auto tolerance = folder.tolerance(instance, name);
      if (!tolerance)
        return tolerance.takeError();
      support::Comparison comparison;
      try {
        comparison = support::compare(tensor->memory, want->second, *tolerance);
      } catch (support::ArrayError &error) {
        return Error{"`" + name + "`: " + error.message, {}};
      }
      double badness =
          comparison.tolerance > 0 ? comparison.error / comparison.tolerance : comparison.error;
      if (comparison.worstIndex >= 0 && badness > worst) {
        worst = badness;
        row.maxError = comparison.error;
        row.tolerance = comparison.tolerance;
      }
      if (!comparison.passed) {
        row.passed = false;
        char text[256];
        std::snprintf(
            text, sizeof text,
            "`%s` differs in %lld of %lld elements, worst at %lld: %.9g, expected %.9g +- %.3g",
            name.c_str(), (long long)comparison.failures, (long long)want->second.size(),
            (long long)comparison.worstIndex, comparison.got, comparison.want,
            comparison.tolerance);
        row.failure = text;
        if (tensor->recipe == SpecTensor::Recipe::Empty &&
            isPoison(tensor->memory, size_t(comparison.worstIndex)))
          row.failure += ", as if nothing was stored there";
        else if (comparison.tolerance == 0 && info(tensor->dtype).isFloat)
          row.failure += "; `tolerance` in spec.py says what may differ";
      }
    }
    return Success{};
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
  std::map<Runner *, Resident> resident;
  FolderPeers peers;
};

} // namespace

Status runFolder(KernelFolder &folder, const FolderRunOptions &options,
                 const std::function<void(const FolderRow &)> &onRow) {
  return FolderRunner(folder, options, onRow).run();
}

} // namespace nereid::engine
