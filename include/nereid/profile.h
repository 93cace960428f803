// What the process did and how long it took, on every device, without a vendor's tools.
//
//   profile::start();
//   {
//     profile::Range step("step");
//     model.run(stream);
//   }
//   profile::Profile seen = profile::stop();
//   std::fputs(seen.table().c_str(), stdout); // compilations, launches, ...: the longest first
//   must(seen.writeTrace("trace.json"));      // for Chrome's viewer and Perfetto
//
// NEREID_TRACE=trace.json records a program that is not to be changed, from its start to its end.
// What runs on a GPU is timed there. Where NVIDIA's CUPTI is found (NEREID_CUPTI), each kernel is,
// also in graphs and of other libraries, with its stream, registers and shared memory; without it a
// graph is one event, and other libraries' work none. Where nothing is recorded, this costs a load
// and a branch a call.
#pragma once

#include "nereid/api.h"
#include "nereid/base.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nereid::runtime {
struct TraceEvent;
struct SampleReport;
} // namespace nereid::runtime

namespace nereid::profile {

/// All events of one kind, name and device.
struct Row {
  std::string kind;   ///< "compile", "load", "launch", "graph", "copy", "fill", "sync", "range",
                      ///< "kernel": of a graph or of another library
  std::string name;   ///< of a kernel, a range, ...
  std::string device; ///< "cpu", "cuda:0"; empty for the host alone
  uint64_t count = 0;
  double seconds = 0;             ///< in all, on the device where that is known
  double least = 0, greatest = 0; ///< seconds
  int64_t bytes = -1;             ///< moved, as the source says it; -1 if that is not known
  int64_t operations = -1;        ///< the same
};

/// What one line of a kernel's source waits for: samples of the program counters of a GPU.
struct Line {
  std::string kernel, file;
  uint32_t line = 0;
  /// The calls that brought the kernel there, the innermost first.
  std::vector<std::pair<std::string, uint32_t>> callers;
  uint64_t samples = 0;
  /// Samples by reason, as the chip's counters name those: "long_scoreboard", "barrier", ...
  std::vector<std::pair<std::string, uint64_t>> reasons;
  std::string waitsFor; ///< the most frequent reason in words; empty if it does not wait
  /// Where the results come from that it waits for, mostly: a load, a shuffle; 0 if that is not
  /// known.
  std::string fromFile;
  uint32_t fromLine = 0;
  std::string hint; ///< what helps; may be empty
};

struct Options {
  /// The GPU ("cuda:0") whose program counters are sampled; empty: none. Samples need CUPTI, and
  /// code that is loaded afterwards or a process that has not used CUPTI before. Times are then
  /// those of events around launches.
  std::string lines;
};

/// What was recorded.
class NEREID_API Profile {
public:
  /// The longest first.
  std::vector<Row> rows() const;
  /// The rows as text, with shares and rates.
  std::string table() const;
  /// How many events were not kept: a million are.
  uint64_t dropped() const { return lost; }
  /// What is missing and why, a line each: no CUPTI, no permission, records that were dropped.
  const std::vector<std::string> &notes() const { return remarks; }
  /// With `Options::lines`: the lines of each kernel, the hottest first.
  std::vector<Line> lines() const;
  /// The hottest of them as text with their source, as far as its files can be read, and hints.
  std::string lineTable() const;
  /// Events as JSON, which Chrome's trace viewer and Perfetto read: a track for each thread of the
  /// host and each stream of a device. Kernels that were sampled have their hottest lines beside
  /// their grid.
  Status writeTrace(const std::string &path) const;

private:
  friend NEREID_API Profile stop();
  std::shared_ptr<const std::vector<runtime::TraceEvent>> events;
  std::shared_ptr<const runtime::SampleReport> samples;
  std::vector<std::string> remarks;
  uint64_t lost = 0;
};

/// Records what all threads do from now on, and forgets what was recorded before.
NEREID_API void start(const Options &options = {});
/// Ends that, and waits for the work that was queued meanwhile.
NEREID_API Profile stop();

/// A part of the program, from construction to destruction, on the calling thread.
class NEREID_API Range {
public:
  explicit Range(std::string_view name);
  ~Range();
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;

private:
  std::unique_ptr<runtime::TraceEvent> event; // null where nothing is recorded
};

} // namespace nereid::profile
