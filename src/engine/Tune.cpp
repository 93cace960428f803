// Kernel::tune: all configurations compiled at once, run one at a time, their results compared.
#include "api/Empty.h"
#include "engine/Agreement.h"
#include "engine/KernelParts.h"
#include "engine/Timing.h"
#include "nereid/engine.h"
#include "support/EveryCore.h"
#include "support/FloatFormat.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

namespace nereid {

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<uint8_t>;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The contents of all outputs.
Result<std::vector<Bytes>> contents(const std::vector<Tensor> &outputs) {
  std::vector<Bytes> all;
  for (const Tensor &tensor : outputs) {
    all.emplace_back(tensor.bytes());
    if (Status status = tensor.download(all.back().data()); !status)
      return status.takeError();
  }
  return all;
}

Status restore(const std::vector<Tensor> &outputs, const std::vector<Bytes> &from) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (Status status = outputs[i].upload(from[i].data()); !status)
      return status;
  return Success{};
}

double element(DType type, const uint8_t *at) {
  if (type == DType::Float64 || type == DType::Float32) {
    double wide;
    float narrow;
    if (type == DType::Float64)
      return std::memcpy(&wide, at, 8), wide;
    return std::memcpy(&narrow, at, 4), narrow;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, at, info(type).bytes);
  return support::decodeFloat(support::formatOf(type), bits);
}

bool agree(const std::vector<Tensor> &outputs, const std::vector<Bytes> &a,
           const std::vector<Bytes> &b) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    DType type = outputs[i].type();
    if (a[i] == b[i])
      continue;
    if (!info(type).isFloat)
      return false;
    size_t width = info(type).bytes;
    // Errors are measured against the tensor's magnitude: small elements are sums of large ones.
    double magnitude = 0;
    for (size_t at = 0; at < a[i].size(); at += width)
      if (double value = std::abs(element(type, &a[i][at])); std::isfinite(value))
        magnitude = std::max(magnitude, value);
    for (size_t at = 0; at < a[i].size(); at += width) {
      double x = element(type, &a[i][at]), y = element(type, &b[i][at]);
      bool same = x == y || (std::isnan(x) && std::isnan(y)) ||
                  std::abs(x - y) <= engine::toleranceBetween(type) * magnitude;
      if (!same)
        return false;
    }
  }
  return true;
}

struct Candidate {
  TuneRow row;
  std::optional<Kernel> kernel;

  void refuse(const Error &error) {
    row.failure = describe(error);
    kernel.reset();
  }
};

// On the host's clock, the seconds of a launch: samples of several launches each, so that the clock
// and the wait weigh little.
template <typename Launch>
Result<engine::Timing> measure(const Launch &launch, const Stream &stream,
                               engine::TimeOptions options) {
  auto sample = [&](int launches) -> Result<double> {
    auto start = Clock::now();
    for (int i = 0; i < launches; ++i)
      if (Status status = launch(); !status)
        return status.takeError();
    if (Status status = stream.synchronize(); !status)
      return status.takeError();
    return since(start);
  };
  auto first = sample(1);
  if (!first)
    return first.takeError();
  int launches = int(std::clamp(200e-6 / std::max(*first, 1e-9), 1.0, 1000.0));
  options.minSamples = 1;
  options.maxSamples = 1000;
  options.hopeless *= launches;
  auto timing = engine::sampled(options, [&] { return sample(launches); });
  if (timing)
    for (double *seconds : {&timing->median, &timing->p20, &timing->p80})
      *seconds /= launches;
  return timing;
}

std::vector<Candidate> candidatesOf(const std::vector<Configuration> &all,
                                    const std::vector<std::string> &refused,
                                    const std::function<Grid(const Configuration &)> &grid) {
  std::vector<Candidate> candidates(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    TuneRow &row = candidates[i].row;
    row.configuration = all[i];
    if (i < refused.size() && !refused[i].empty())
      row.failure = refused[i];
    else if (Grid size = grid(all[i]); !size.x || !size.y || !size.z) // it would be the fastest
      row.failure = "its grid of (" + std::to_string(size.x) + ", " + std::to_string(size.y) +
                    ", " + std::to_string(size.z) +
                    ") has no program; `Configuration::integer` is 0 for a name that is not there";
  }
  return candidates;
}

// The fastest first, the refused last.
std::vector<TuneRow> rankedRows(std::vector<Candidate> candidates) {
  std::vector<TuneRow> rows;
  for (Candidate &candidate : candidates)
    rows.push_back(std::move(candidate.row));
  std::stable_sort(rows.begin(), rows.end(), [](const TuneRow &a, const TuneRow &b) {
    return std::pair(!a.failure.empty(), a.seconds) < std::pair(!b.failure.empty(), b.seconds);
  });
  return rows;
}

// Runs candidates one at a time, each on the same contents of its outputs.
class Trial {
public:
  using Launch = std::function<Status(const Candidate &)>;
  /// Takes a candidate out; an error if nothing can go on then.
  using Refuse = std::function<Status(Candidate &, const Error &)>;

  Trial(const Stream &stream, std::vector<Candidate> &candidates, Launch launch, Refuse refuse)
      : stream(stream), device(stream.device().internal()), candidates(candidates),
        launch(std::move(launch)), refuse(std::move(refuse)) {}

  /// `cleared` are zero before each run; `kept` as they are now.
  Status keepContents(std::vector<Tensor> kept, const std::vector<Tensor> &cleared) {
    size_t count = kept.size();
    outputs = std::move(kept);
    outputs.insert(outputs.end(), cleared.begin(), cleared.end());
    auto now = contents(outputs);
    if (!now)
      return now.takeError();
    before = *std::move(now);
    for (size_t i = count; i < before.size(); ++i)
      std::fill(before[i].begin(), before[i].end(), 0);
    return Success{};
  }
  Status restoreContents() const { return restore(outputs, before); }

  /// Runs each once and refuses those whose results are not those of most.
  Status compare() {
    engine::Agreement<std::vector<Bytes>> agreement;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!candidates[i].kernel)
        continue;
      if (Status status = restoreContents(); !status)
        return status;
      Status status = launch(candidates[i]);
      if (status)
        status = stream.synchronize();
      if (!status) {
        if (Status goesOn = refuse(candidates[i], status.error()); !goesOn)
          return goesOn;
        continue;
      }
      auto results = contents(outputs);
      if (!results)
        return results.takeError();
      agreement.add(i, *std::move(results),
                    [&](const auto &a, const auto &b) { return agree(outputs, a, b); });
    }
    agreement.refuseOthers([&](size_t i, std::string why) {
      candidates[i].row.failure = std::move(why);
      candidates[i].kernel.reset();
    });
    return Success{};
  }

  Status time(double seconds) {
    engine::EventTimer timer(device);
    auto one = [&](size_t i,
                   const engine::TimeOptions &options) -> Result<std::optional<engine::Timing>> {
      Candidate &candidate = candidates[i];
      if (!candidate.kernel)
        return std::optional<engine::Timing>();
      if (Status status = restoreContents(); !status)
        return status.takeError();
      auto launchIt = [&] { return launch(candidate); };
      auto timing =
          device.kind() == runtime::DeviceKind::Cpu
              ? measure(launchIt, stream, options)
              : timer.time(
                    stream.internal(), [&](runtime::Stream &) { return launchIt(); }, options);
      if (timing)
        return std::optional(*timing);
      if (Status status = refuse(candidate, timing.error()); !status)
        return status.takeError();
      return std::optional<engine::Timing>();
    };
    auto timings = engine::contest(candidates.size(), {.seconds = seconds}, one);
    if (!timings)
      return timings.takeError();
    for (size_t i = 0; i < candidates.size(); ++i)
      if ((*timings)[i])
        candidates[i].row.seconds = (*timings)[i]->median;
    return Success{};
  }

private:
  const Stream &stream;
  runtime::Device &device;
  std::vector<Candidate> &candidates;
  Launch launch;
  Refuse refuse;
  std::vector<Tensor> outputs;
  std::vector<Bytes> before;
};

// The fastest of those that are left, or null.
const Candidate *fastest(const std::vector<Candidate> &candidates) {
  const Candidate *best = nullptr;
  for (const Candidate &candidate : candidates)
    if (candidate.kernel && (!best || candidate.row.seconds < best->row.seconds))
      best = &candidate;
  return best;
}

} // namespace

Result<std::vector<TuneRow>> Kernel::tune(const Stream &stream,
                                          const std::function<Grid(const Configuration &)> &grid,
                                          std::span<const Argument> arguments,
                                          const TuneOptions &options) const {
  if (!grid)
    return Error{"tuning `" + name() + "` needs a function that gives the grid of a configuration",
                 {}};
  if (!stream)
    return emptyHandle("Stream", "Device::stream");
  auto all = configurations(arguments);
  if (!all)
    return all.takeError();
  if (all->empty())
    return Error{"`" + name() + "` has no configurations to choose from", {}};
  auto parts = tunedParts(stream, arguments);
  if (!parts)
    return parts.takeError();

  std::vector<Candidate> candidates = candidatesOf(*all, parts->refused, grid);
  auto launch = [&](const Candidate &candidate) -> Status {
    if (parts->hasHooks)
      if (Status status = callHook(stream, arguments, false); !status)
        return status;
    Status status = candidate.kernel->launch(stream, grid(candidate.row.configuration), arguments);
    if (status && parts->hasHooks)
      return callHook(stream, arguments, true);
    return status;
  };
  // After a fault the driver answers nothing more: there is nothing to go on with here.
  auto refuse = [&](Candidate &candidate, const Error &error) -> Status {
    candidate.refuse(error);
    if (stream.device().internal().usable())
      return Success{};
    std::string what = "tuning `" + name() + "` ends at the configuration `" +
                       candidate.row.configuration.text() + "`: " + describe(error);
    Status kept = keepTuned(stream.device(), arguments, size_t(&candidate - candidates.data()), 0,
                            describe(error));
    if (!kept)
      what += "; " + kept.error().what;
    else if (parts->tuningFile.empty())
      what += "; with an `EngineOptions::tuningFile` the next process would pass over it";
    else
      what +=
          "; `" + parts->tuningFile + "` refuses it from now on: start the process again to go on";
    return Error{std::move(what), {}};
  };
  Trial trial(stream, candidates, launch, refuse);
  std::vector<Tensor> kept = options.outputs, cleared;
  for (const auto &[tensor, isZero] : parts->tensors)
    (isZero ? cleared : kept).push_back(tensor);
  if (Status status = trial.keepContents(std::move(kept), cleared); !status)
    return status.takeError();

  support::onEveryCore(candidates.size(), [&](size_t i) {
    Candidate &candidate = candidates[i];
    if (!candidate.row.failure.empty())
      return;
    auto kernel = with((*all)[i]);
    if (!kernel) {
      candidate.refuse(kernel.error());
      return;
    }
    candidate.kernel = *std::move(kernel);
    if (Status status = candidate.kernel->prepare(stream.device(), arguments); !status)
      candidate.refuse(status.error());
  });
  if (Status status = trial.compare(); !status)
    return status.takeError();
  if (Status status = trial.time(options.seconds); !status)
    return status.takeError();
  if (Status status = trial.restoreContents(); !status)
    return status.takeError();

  if (const Candidate *best = fastest(candidates))
    if (Status status = keepTuned(stream.device(), arguments, size_t(best - candidates.data()),
                                  best->row.seconds);
        !status)
      return status.takeError();
  std::vector<TuneRow> rows = rankedRows(std::move(candidates));
  if (!rows[0].failure.empty())
    return Error{"no configuration of `" + name() + "` can be taken; the first: " + rows[0].failure,
                 {}};
  return rows;
}

} // namespace nereid
