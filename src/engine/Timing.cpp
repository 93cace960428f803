#include "engine/Timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace nereid::engine {

namespace {
using Clock = std::chrono::steady_clock;

// What takes this many times as long as the fastest by a quarter of its samples will not become
// the fastest.
constexpr double hopelessRatio = 1.2;
// Contestants within this of the fastest are measured again, so many of them so many times, each
// time for a share of what there is for one.
constexpr double closeRatio = 1.1, turnShare = 0.1;
constexpr size_t mostClose = 4;
constexpr unsigned turns = 3;
// Overwriting the cache once takes some 90 us on an H200.
constexpr unsigned mostFills = 16;

// With so many samples a quarter of the time is enough for a glance.
constexpr unsigned glanceSamples = 20;

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
         !(options.isGlance && seconds.size() >= glanceSamples && spent >= options.seconds / 4) &&
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

Result<std::vector<std::optional<Timing>>> contest(size_t contestants, const TimeOptions &options,
                                                   const TimeOne &time) {
  std::vector<std::optional<Timing>> timings(contestants);
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < contestants; ++i) {
    TimeOptions glance = options;
    glance.isGlance = true;
    glance.hopeless = hopelessRatio * least;
    auto timing = time(i, glance);
    if (!timing)
      return timing.takeError();
    timings[i] = *timing;
    if (timings[i])
      least = std::min(least, timings[i]->median);
  }
  TimeOptions turn = options;
  turn.seconds *= turnShare;
  turn.maxSamples = std::max(turn.minSamples, unsigned(turnShare * turn.maxSamples));
  if (least > turn.seconds) // a turn holds no launch
    return timings;
  std::vector<size_t> close;
  for (size_t i = 0; i < contestants; ++i)
    if (timings[i] && timings[i]->median <= closeRatio * least)
      close.push_back(i);
  std::ranges::stable_sort(close, {}, [&](size_t i) { return timings[i]->median; });
  close.resize(std::min(close.size(), mostClose));
  if (close.size() < 2)
    return timings;
  // The times of the glance belong to other moments.
  std::vector<std::optional<Timing>> shortest(contestants);
  for (unsigned i = 0; i < turns; ++i)
    for (size_t one : close) {
      auto timing = time(one, turn);
      if (!timing)
        return timing.takeError();
      if (!*timing || !shortest[one] || (*timing)->median < shortest[one]->median)
        shortest[one] = *timing;
    }
  for (size_t one : close)
    timings[one] = shortest[one];
  return timings;
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
  std::vector<bool> isLate;
  unsigned fills = 1;
  auto queue = [&](unsigned samples) -> Status {
    events.clear();
    isLate.clear();
    for (unsigned i = 0; i < samples; ++i) {
      auto begin = device.createEvent(), end = device.createEvent();
      if (!begin || !end)
        return begin ? end.takeError() : begin.takeError();
      for (unsigned j = 0; j < fills; ++j)
        if (Status status = stream.fill(scrub.data(), i + j, 4, scrub.bytes() / 4); !status)
          return status;
      for (Status status : {afterScrub ? afterScrub(stream) : Status(Success{}),
                            stream.record(**begin), pass(stream), stream.record(**end)})
        if (!status)
          return status;
      auto hasBegun = (*begin)->query();
      if (!hasBegun)
        return hasBegun.takeError();
      isLate.push_back(*hasBegun);
      events.emplace_back(std::move(*begin), std::move(*end));
    }
    return stream.synchronize();
  };
  std::vector<double> seconds;
  auto take = [&](unsigned samples) -> Status {
    for (;; fills *= 2) {
      if (Status status = queue(samples); !status)
        return status;
      auto late = unsigned(std::ranges::count(isLate, true));
      if (2 * late > samples && fills < mostFills)
        continue;
      for (unsigned i = 0; i < samples; ++i) {
        if (isLate[i] && late < samples)
          continue;
        auto took = events[i].second->secondsSince(*events[i].first);
        if (!took)
          return took.takeError();
        seconds.push_back(*took);
      }
      return Success{};
    }
  };
  auto samples = unsigned(std::clamp<double>(options.seconds / std::max(warm->median, 1e-6),
                                             options.minSamples, options.maxSamples));
  if (options.isGlance)
    samples = std::min(samples, std::max(glanceSamples, samples / 4));
  // A few tell how often the cache is to be overwritten; a quarter, whether there is hope.
  unsigned taken = 0;
  for (unsigned upTo : {std::min(samples, 5u), std::max(1u, samples / 4), samples}) {
    if (upTo <= taken)
      continue;
    if (taken >= samples / 4 && taken && medianOf(seconds) > options.hopeless)
      break;
    if (Status status = take(upTo - taken); !status)
      return status.takeError();
    taken = upTo;
  }
  return percentiles(std::move(seconds));
}

} // namespace nereid::engine
