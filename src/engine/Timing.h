// How launches are measured, by tools that run kernels and by the tuner.
#pragma once

#include "runtime/Device.h"

#include <functional>
#include <limits>
#include <optional>
#include <vector>

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
  /// A quarter of the time is enough if it gives twenty samples.
  bool isGlance = false;
};

/// Seconds of one pass over some launches: percentiles of the samples.
struct Timing {
  double median = 0, p20 = 0, p80 = 0;
  unsigned samples = 0;
};

Timing percentiles(std::vector<double> seconds);

/// Samples of `once`, which gives seconds, until the time is used up.
Result<Timing> sampled(const TimeOptions &options, const std::function<Result<double>()> &once);

/// Measures contestant `index`; nothing if it failed and is out.
using TimeOne =
    std::function<Result<std::optional<Timing>>(size_t index, const TimeOptions &options)>;

/// The times of contestants that compute the same, measured to find the fastest: a glance at each,
/// a shorter one at those far behind. Then the closest are measured again in turns, since the first
/// times were taken one after the other, under the clocks and the load of their moments. What
/// disturbs a turn makes it longer, so the shortest time of each counts. Nothing for those that
/// are out.
Result<std::vector<std::optional<Timing>>> contest(size_t contestants, const TimeOptions &options,
                                                   const TimeOne &time);

using Pass = std::function<Status(runtime::Stream &)>;

/// Measures passes on a GPU by events in a stream, after overwriting the second-level cache. Late
/// samples, whose beginning the GPU reached before the host had queued their end, are left out:
/// they may hold time in which the GPU waited for the host. Overwriting gives the host a start;
/// where that is not enough for half of the samples, the cache is overwritten several times.
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
