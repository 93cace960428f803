#include "runtime/Recorder.h"

#include "support/Knobs.h"
#include "support/Sink.h"
#include "support/Table.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace nereid::runtime {

std::string_view name(TraceKind kind) {
  static constexpr std::string_view names[] = {"compile", "load", "launch", "graph", "copy",
                                               "fill",    "sync", "range",  "kernel"};
  return names[size_t(kind)];
}

int64_t Recorder::now() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              start)
      .count();
}

uint64_t Recorder::threadNumber() {
  static std::atomic<uint64_t> next = 1;
  thread_local const uint64_t mine = next.fetch_add(1);
  return mine;
}

void Recorder::enable(bool on) {
  std::lock_guard lock(watcherMutex);
  if (active.exchange(on, std::memory_order_relaxed) == on || !known)
    return;
  if (on) {
    startWatching();
  } else if (watching.exchange(nullptr)) {
    known->stop();
  }
}

void Recorder::watchWith(DeviceWatcher &watcher) {
  std::lock_guard lock(watcherMutex);
  if (std::exchange(known, known ? known : &watcher))
    return;
  if (enabled())
    startWatching();
}

void Recorder::startWatching() {
  if (known->start())
    watching.store(known, std::memory_order_release);
}

std::vector<std::string> Recorder::takeNotes() {
  std::lock_guard lock(watcherMutex);
  return known ? known->takeNotes() : std::vector<std::string>();
}

void Recorder::add(TraceEvent event) {
  if ((event.timer || event.call) && !path.empty() && !hasDeviceTimes.exchange(true))
    traceAtExit();
  std::shared_ptr<const std::function<void(const TraceEvent &)>> watching;
  {
    std::lock_guard lock(mutex);
    watching = observer;
    if (!watching) {
      if (events.size() < capacity)
        events.push_back(std::move(event));
      else
        ++lost;
      return;
    }
    if (events.size() < capacity)
      events.push_back(event);
    else
      ++lost;
  }
  (*watching)(event);
}

std::vector<TraceEvent> Recorder::take() {
  std::vector<TraceEvent> taken;
  {
    std::lock_guard lock(mutex);
    taken.swap(events);
    lost = 0;
  }
  for (TraceEvent &event : taken) {
    if (event.timer && !event.timer->times(event.deviceBegin, event.deviceEnd))
      event.deviceBegin = event.deviceEnd = 0;
    event.timer = nullptr;
  }
  {
    std::lock_guard lock(watcherMutex);
    if (known)
      known->complete(taken);
  }
  // What encloses comes before what it encloses.
  std::sort(taken.begin(), taken.end(), [](const TraceEvent &a, const TraceEvent &b) {
    return std::pair(a.begin, b.end) < std::pair(b.begin, a.end);
  });
  return taken;
}

uint64_t Recorder::dropped() const {
  std::lock_guard lock(mutex);
  return lost;
}

void Recorder::observe(std::function<void(const TraceEvent &)> function) {
  auto shared =
      function
          ? std::make_shared<const std::function<void(const TraceEvent &)>>(std::move(function))
          : nullptr;
  std::lock_guard lock(mutex);
  observer = std::move(shared);
}

Recorder &recorder() {
  static auto *instance = [] {
    auto *made = new Recorder(); // used by threads that outlive static objects
    if (const std::string &path = support::knobs().trace; !path.empty())
      made->traceProcess(path);
    return made;
  }();
  return *instance;
}

// A driver ends in a function of its own that runs at the end of the process, before those that
// were there earlier: a trace with times of a device is written by one that came after the first of
// them.
void Recorder::traceAtExit() {
  std::atexit([] {
    Recorder &all = recorder();
    if (std::vector<TraceEvent> events = all.take(); !events.empty())
      if (Status status = writeTrace(all.path, events); !status)
        support::log(support::LogLevel::Warning, status.error().what);
    for (const std::string &note : all.takeNotes())
      support::log(support::LogLevel::Warning, note);
  });
}

void Recorder::traceProcess(std::string to) {
  path = std::move(to);
  if (size_t place = path.find("%p"); place != std::string::npos)
    path.replace(place, 2, std::to_string(::getpid()));
  enable(true);
  traceAtExit();
}

std::unique_ptr<TraceEvent> beginEvent(TraceKind kind, std::string_view name,
                                       std::string_view device) {
  if (!recorder().enabled())
    return nullptr;
  auto event = std::make_unique<TraceEvent>();
  event->kind = kind;
  event->name = name;
  event->device = device;
  event->thread = Recorder::threadNumber();
  event->begin = Recorder::now();
  return event;
}

void endEvent(std::unique_ptr<TraceEvent> event) {
  if (!event)
    return;
  event->end = Recorder::now();
  if (recorder().enabled())
    recorder().add(std::move(*event));
}

void describeWork(const support::Artifact &artifact, uint64_t programs, TraceEvent &event) {
  const support::KernelRecord &kernel = artifact.kernel();
  int64_t bytes, operations;
  if (kernel.bytesRead >= 0 && kernel.bytesWritten >= 0 &&
      !__builtin_add_overflow(kernel.bytesRead, kernel.bytesWritten, &bytes) &&
      !__builtin_mul_overflow(bytes, int64_t(programs), &bytes))
    event.bytes = bytes;
  if (kernel.operations >= 0 &&
      !__builtin_mul_overflow(kernel.operations, int64_t(programs), &operations))
    event.operations = operations;
}

std::vector<TraceRow> summarize(const std::vector<TraceEvent> &events) {
  std::map<std::tuple<TraceKind, std::string, std::string>, TraceRow> rows;
  auto accumulate = [](int64_t &sum, int64_t part) { sum = sum < 0 || part < 0 ? -1 : sum + part; };
  for (const TraceEvent &event : events) {
    TraceRow &row = rows[{event.kind, event.name, event.device}];
    int64_t duration = event.duration();
    if (row.count++ == 0) {
      row.kind = event.kind;
      row.name = event.name;
      row.device = event.device;
      row.least = row.greatest = duration;
    }
    row.total += duration;
    row.least = std::min(row.least, duration);
    row.greatest = std::max(row.greatest, duration);
    if (!row.shape.registers)
      row.shape = event.shape;
    accumulate(row.bytes, event.bytes);
    accumulate(row.operations, event.operations);
  }
  std::vector<TraceRow> sorted;
  for (auto &[key, row] : rows)
    sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(), [](const TraceRow &a, const TraceRow &b) {
    return std::tie(b.total, a.name, a.device) < std::tie(a.total, b.name, b.device);
  });
  return sorted;
}

std::string traceTable(const std::vector<TraceRow> &rows) {
  std::vector<std::vector<std::string>> table = {{"what", "name", "device", "times", "total ms",
                                                  "share", "mean us", "least us", "greatest us",
                                                  "GB/s", "GFLOP/s"}};
  // Only where somebody watched the device.
  const bool hasShapes =
      std::ranges::any_of(rows, [](const TraceRow &row) { return row.shape.registers != 0; });
  if (hasShapes)
    table[0].insert(table[0].end(), {"registers", "shared B"});
  int64_t all = 0;
  for (const TraceRow &row : rows)
    all += row.total;
  auto number = [](double value, const char *format) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, format, value);
    return std::string(buffer);
  };
  // Bytes a nanosecond are GB a second, operations likewise.
  auto rate = [&](int64_t amount, int64_t nanoseconds) {
    return amount > 0 && nanoseconds > 0 ? number(double(amount) / double(nanoseconds), "%.2f")
                                         : "-";
  };
  for (const TraceRow &row : rows) {
    table.push_back(
        {std::string(name(row.kind)), row.name, row.device.empty() ? "host" : row.device,
         std::to_string(row.count), number(double(row.total) * 1e-6, "%.3f"),
         number(100 * double(row.total) / double(std::max<int64_t>(all, 1)), "%.0f%%"),
         number(double(row.total) * 1e-3 / double(row.count), "%.1f"),
         number(double(row.least) * 1e-3, "%.1f"), number(double(row.greatest) * 1e-3, "%.1f"),
         rate(row.bytes, row.total), rate(row.operations, row.total)});
    if (hasShapes)
      for (uint32_t value : {row.shape.registers, row.shape.sharedBytes})
        table.back().push_back(row.shape.registers ? std::to_string(value) : "-");
  }
  return support::tableText(table, 3);
}

Status writeTrace(const std::string &path, const std::vector<TraceEvent> &events,
                  const SampleReport *samples) {
  std::ofstream file(path, std::ios::binary);
  file << chromeTrace(events, samples);
  file.close();
  if (!file)
    return Error{"cannot write the trace `" + path + "`: " + std::strerror(errno), {}};
  return Success{};
}

} // namespace nereid::runtime
