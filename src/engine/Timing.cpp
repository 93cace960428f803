#include "engine/Timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace nereid::engine {

namespace {
using Clock = std::chrono::steady_clock;

double medianOf(std::vector<double> seconds) {
  auto middle = seconds.begin() + std::ptrdiff_t(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}
} // namespace

Timing percentiles(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  auto at = [&](double share) {
    return seconds[size_t(std::lround(share * double(seconds.size() - 1)))];
  };
  return {at(0.5), at(0.2), at(0.8), unsigned(seconds.size())};
}

Result<Timing> sampled(const TimeOptions &options, const std::function<Result<double>()> &once) {
  std::vector<double> seconds;
  double spent = 0;
  bool isJudged = false;
  while (seconds.size() < options.maxSamples &&
         (seconds.size() < options.minSamples || spent < options.seconds) &&
         (seconds.empty() || spent < 20 * options.seconds)) {
    auto sample = once();
    if (!sample)
      return sample.takeError();
    seconds.push_back(*sample);
    spent += *sample;
    if (!isJudged && spent >= options.seconds / 4 && 4 * seconds.size() >= options.minSamples) {
      isJudged = true;
      if (medianOf(seconds) > options.hopeless)
        break;
    }
  }
  return percentiles(std::move(seconds));
}

Result<Timing> EventTimer::time(runtime::Stream &stream, const Pass &pass,
                                const TimeOptions &options, const Pass &afterScrub) {
  auto clocked = [&]() -> Result<double> {
    auto start = Clock::now();
    if (Status status = pass(stream); !status)
      return status.takeError();
    if (Status status = stream.synchronize(); !status)
      return status.takeError();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  auto warm = sampled({.seconds = options.seconds / 10, .minSamples = 2}, clocked);
  if (!warm)
    return warm;
  if (!scrub) {
    auto buffer =
        device.allocate(std::max<size_t>(4 * device.info().cacheBytes, size_t(256) << 20));
    if (!buffer)
      return buffer.takeError();
    scrub = std::move(*buffer);
  }
  std::vector<std::pair<std::unique_ptr<runtime::Event>, std::unique_ptr<runtime::Event>>> events;
  auto queue = [&](unsigned samples) -> Status {
    for (unsigned i = 0; i < samples; ++i) {
      auto begin = device.createEvent(), end = device.createEvent();
      if (!begin || !end)
        return begin ? end.takeError() : begin.takeError();
      // The fill also hides the host's part of the launches that follow.
      for (Status status : {stream.fill(scrub.data(), i, 4, scrub.bytes() / 4),
                            afterScrub ? afterScrub(stream) : Status(Success{}),
                            stream.record(**begin), pass(stream), stream.record(**end)})
        if (!status)
          return status;
      events.emplace_back(std::move(*begin), std::move(*end));
    }
    return stream.synchronize();
  };
  std::vector<double> seconds;
  auto take = [&](unsigned samples) -> Status {
    events.clear();
    if (Status status = queue(samples); !status)
      return status;
    for (auto &[begin, end] : events) {
      auto took = end->secondsSince(*begin);
      if (!took)
        return took.takeError();
      seconds.push_back(*took);
    }
    return Success{};
  };
  const auto samples = unsigned(std::clamp<double>(options.seconds / std::max(warm->median, 1e-6),
                                                   options.minSamples, options.maxSamples));
  // One batch if there is nothing to decide on the way.
  const unsigned first = std::isinf(options.hopeless) ? samples : std::max(1u, samples / 4);
  if (Status status = take(first); !status)
    return status.takeError();
  if (first < samples && medianOf(seconds) <= options.hopeless)
    if (Status status = take(samples - first); !status)
      return status.takeError();
  return percentiles(std::move(seconds));
}

} // namespace nereid::engine
