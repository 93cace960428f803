// How launches are measured, by tools that run kernels and by the tuner.
#pragma once

#include "runtime/Device.h"

#include <functional>
#include <limits>

namespace nereid::engine {

/// How long to measure.
struct TimeOptions {
  double seconds = 0.5; ///< spent on samples, about
  unsigned minSamples = 7, maxSamples = 400;
  /// On a GPU: another buffer is read after the one that is overwritten, so that no sample pays for
  /// lines of the second-level cache that memory has yet to see.
  bool isCacheRead = false;
  /// A pass that takes longer by a quarter of its samples is not measured further.
  double hopeless = std::numeric_limits<double>::infinity();
};

/// What takes this many times as long as the fastest by a quarter of its samples will not become
/// the fastest.
inline constexpr double hopelessRatio = 1.2;

/// Seconds of one pass over some launches: percentiles of the samples.
struct Timing {
  double median = 0, p20 = 0, p80 = 0;
  unsigned samples = 0;
};

Timing percentiles(std::vector<double> seconds);

/// Samples of `once`, which gives seconds, until the time is used up.
Result<Timing> sampled(const TimeOptions &options, const std::function<Result<double>()> &once);

using Pass = std::function<Status(runtime::Stream &)>;

/// Measures passes on a GPU by events in a stream, after overwriting the second-level cache.
class EventTimer {
public:
  explicit EventTimer(runtime::Device &device) : device(device) {}
  /// `afterScrub`, if given, is queued between the overwriting and the sample. Caches, branch
  /// predictors and clocks settle first.
  Result<Timing> time(runtime::Stream &stream, const Pass &pass, const TimeOptions &options,
                      const Pass &afterScrub = nullptr);

private:
  runtime::Device &device;
  runtime::Buffer scrub; // overwritten to empty the second-level cache
};

} // namespace nereid::engine
