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
// What runs on a GPU is timed there, except in a graph, which is one event. Where nothing is
// recorded, this costs a load and a branch a call.
#pragma once

#include "nereid/api.h"
#include "nereid/base.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::runtime {
struct TraceEvent;
}

namespace nereid::profile {

/// All events of one kind, name and device.
struct Row {
  std::string kind;   ///< "compile", "load", "launch", "graph", "copy", "fill", "sync", "range"
  std::string name;   ///< of a kernel, a range, ...
  std::string device; ///< "cpu", "cuda:0"; empty for the host alone
  uint64_t count = 0;
  double seconds = 0;             ///< in all, on the device where that is known
  double least = 0, greatest = 0; ///< seconds
  int64_t bytes = -1;             ///< moved, as the source says it; -1 if that is not known
  int64_t operations = -1;        ///< the same
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
  /// Events as JSON, which Chrome's trace viewer and Perfetto read: a track for each thread of the
  /// host and each stream of a device.
  Status writeTrace(const std::string &path) const;

private:
  friend NEREID_API Profile stop();
  std::shared_ptr<const std::vector<runtime::TraceEvent>> events;
  uint64_t lost = 0;
};

/// Records what all threads do from now on, and forgets what was recorded before.
NEREID_API void start();
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
