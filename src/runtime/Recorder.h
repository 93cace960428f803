// The runtime's own record of what it does (contract 9): compilations, launches, copies,
// synchronisation, and ranges that the program names. Works on every device without a vendor's
// tools; costs one relaxed load where it is off.
#pragma once

#include "nereid/base.h"
#include "support/Artifact.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::runtime {

struct SampleReport;

/// A Kernel is one that no launch of the runtime queued: of a graph, or of another library.
enum class TraceKind : uint8_t { Compile, Load, Launch, Graph, Copy, Fill, Sync, Range, Kernel };

/// "compile", "launch", ...
std::string_view name(TraceKind kind);

/// Knows when work that was queued on a device ran there, once it has.
class DeviceTimer {
public:
  virtual ~DeviceTimer() = default;
  /// Nanoseconds on the recorder's clock; waits for the work. False if the device cannot say.
  virtual bool times(int64_t &begin, int64_t &end) = 0;
};

/// How a kernel ran on a GPU, where a watcher saw it.
struct KernelShape {
  std::array<uint32_t, 3> block = {};
  uint32_t registers = 0;   ///< a thread; 0: nobody saw it
  uint32_t sharedBytes = 0; ///< a block
  uint32_t localBytes = 0;  ///< a thread: spills and arrays
};

/// Something that took time.
struct TraceEvent {
  TraceKind kind = TraceKind::Range;
  std::string name;
  std::string device;                     ///< "cpu", "cuda:0"; empty for the host alone
  uint64_t stream = 0;                    ///< distinguishes streams of a device
  uint64_t thread = 0;                    ///< small number of the host thread, from 1; 0: none
  uint64_t call = 0;                      ///< number of the call that a watcher knows it by
  int64_t begin = 0, end = 0;             ///< nanoseconds on the recorder's clock, of the host call
  int64_t deviceBegin = 0, deviceEnd = 0; ///< on the device, equal if not known
  std::array<uint32_t, 3> grid = {};      ///< of a launch
  KernelShape shape;
  int64_t bytes = -1;                 ///< moved, -1 if not known
  int64_t operations = -1;            ///< -1 if not known
  std::shared_ptr<DeviceTimer> timer; ///< until it is resolved

  /// How long it ran: on the device if that is known, else on the host.
  int64_t duration() const {
    return deviceEnd > deviceBegin ? deviceEnd - deviceBegin : end - begin;
  }
};

/// Sees by itself what devices do, whoever queued it.
class DeviceWatcher {
public:
  virtual ~DeviceWatcher() = default;
  /// False if it cannot watch now: then work is timed as it is without it.
  virtual bool start() = 0;
  virtual void stop() = 0;
  /// The calling thread queues work for a call of this number, until `leave`.
  virtual void enter(uint64_t call) = 0;
  virtual void leave() = 0;
  /// Waits for what is queued, gives the events of calls their times and adds what else it saw.
  virtual void complete(std::vector<TraceEvent> &events) = 0;
  /// What it has to say of what it saw or why it did not, once.
  virtual std::vector<std::string> takeNotes() = 0;
};

class Recorder {
public:
  /// Starts and stops. Off at first.
  void enable(bool on);
  bool enabled() const { return active.load(std::memory_order_relaxed); }

  /// Nanoseconds on the one clock of all events.
  static int64_t now();
  /// A small number of the calling thread, the same for its life.
  static uint64_t threadNumber();

  void add(TraceEvent event);
  /// All events so far, in order of their beginning, with device times; forgets them.
  std::vector<TraceEvent> take();
  /// How many events were not kept, since `take` was last called.
  uint64_t dropped() const;

  /// Called for each event as it is added, on the thread that adds it. An empty function ends it.
  void observe(std::function<void(const TraceEvent &)> observer);

  /// The watcher that events are recorded with from now on; it lives as long as the process. The
  /// first one stays.
  void watchWith(DeviceWatcher &watcher);
  /// Null where none watches now.
  DeviceWatcher *watcher() const { return watching.load(std::memory_order_acquire); }
  /// Lines for whoever reads the events: what is missing in them, and why.
  std::vector<std::string> takeNotes();

  static constexpr size_t capacity = 1 << 20;

  /// Records from now on, and writes all of it at the end of the process: NEREID_TRACE.
  void traceProcess(std::string path);

private:
  void traceAtExit();
  void startWatching();

  std::atomic<bool> active = false;
  std::atomic<DeviceWatcher *> watching = nullptr;
  std::mutex watcherMutex;
  DeviceWatcher *known = nullptr; // whether it watches or not
  mutable std::mutex mutex;
  std::vector<TraceEvent> events;
  uint64_t lost = 0;
  std::shared_ptr<const std::function<void(const TraceEvent &)>> observer;
  std::string path; // of `traceProcess`
  std::atomic<bool> hasDeviceTimes = false;
};

/// The process's recorder.
Recorder &recorder();

/// An event that begins now on this thread; null if the recorder is off.
std::unique_ptr<TraceEvent> beginEvent(TraceKind kind, std::string_view name,
                                       std::string_view device = {});
/// Records one that ends now, if the recorder is still on.
void endEvent(std::unique_ptr<TraceEvent> event);

/// Records the time from its construction to its destruction, if the recorder is on at both ends.
class TraceScope {
public:
  explicit TraceScope(TraceKind kind, std::string_view name, std::string_view device = {}) {
    if (recorder().enabled()) [[unlikely]]
      event = beginEvent(kind, name, device);
  }
  ~TraceScope() {
    if (event) [[unlikely]]
      endEvent(std::move(event));
  }
  TraceScope(const TraceScope &) = delete;

  /// To add facts; null where nothing is recorded.
  TraceEvent *operator->() { return event.get(); }
  explicit operator bool() const { return event != nullptr; }

private:
  std::unique_ptr<TraceEvent> event;
};

/// Fills in bytes and operations of a launch from what the compiler knows of one program.
void describeWork(const support::Artifact &artifact, uint64_t programs, TraceEvent &event);

/// One row of the table that `profile` prints.
struct TraceRow {
  TraceKind kind = TraceKind::Range;
  std::string name, device;
  uint64_t count = 0;
  int64_t total = 0, least = 0, greatest = 0; ///< nanoseconds
  int64_t bytes = 0, operations = 0;          ///< -1 if one of them is not known
  KernelShape shape;                          ///< of the first launch that was seen
};

/// Sums up by kind, name and device; longest total first.
std::vector<TraceRow> summarize(const std::vector<TraceEvent> &events);

/// Such rows as text, a line each.
std::string traceTable(const std::vector<TraceRow> &rows);

/// As Chrome's trace viewer and Perfetto read it: host threads and device streams are tracks. What
/// runs of a kernel that `samples` (may be null) know has its hottest lines among its arguments.
std::string chromeTrace(const std::vector<TraceEvent> &events,
                        const SampleReport *samples = nullptr);
/// Writes that into a file.
Status writeTrace(const std::string &path, const std::vector<TraceEvent> &events,
                  const SampleReport *samples = nullptr);

} // namespace nereid::runtime
