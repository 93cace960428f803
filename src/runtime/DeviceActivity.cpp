#include "runtime/DeviceActivity.h"

#include "runtime/Device.h"
#include "runtime/PcSampling.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <span>
#include <utility>

namespace nereid::runtime {

using namespace cupti;

namespace {
constexpr size_t bufferBytes = 1 << 20; // some 5000 records

// Calls come first: without them the library correlates nothing.
constexpr ActivityKind watched[] = {DriverCallActivity, CorrelationActivity, KernelActivity,
                                    CopyActivity,       PeerCopyActivity,    FillActivity};

std::string readable(const char *name) {
  if (!name)
    return "a kernel";
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : name;
}

// CUpti_ActivityMemcpyKind in words.
std::string copyName(uint8_t kind) {
  switch (kind) {
  case 1:
    return "copy to the device";
  case 2:
    return "copy to the host";
  case 8:
    return "copy on the device";
  case 10:
    return "copy between devices";
  default:
    return "copy";
  }
}
} // namespace

DeviceActivity &DeviceActivity::instance() {
  static auto *made = new DeviceActivity(); // the library calls it to the end of the process
  return *made;
}

void DeviceActivity::add(Device &gpu) {
  {
    std::lock_guard lock(deviceMutex);
    devices.push_back(&gpu);
  }
  recorder().watchWith(*this);
}

void DeviceActivity::note(std::string text) {
  std::lock_guard lock(mutex);
  if (std::ranges::find(notes, text) == notes.end())
    notes.push_back(std::move(text));
}

std::vector<std::string> DeviceActivity::takeNotes() {
  std::lock_guard lock(mutex);
  auto told = [&](uint64_t &count, const char *what) {
    if (uint64_t many = std::exchange(count, 0))
      notes.push_back(std::to_string(many) + what);
  };
  told(lost, " records of what the device did were dropped: CUPTI had no memory for them, the "
             "profile lacks them");
  told(untimed, " kernels or copies have no time: CUPTI had no memory on the device for theirs");
  return std::exchange(notes, {});
}

bool DeviceActivity::start() {
  auto failed = [&](const std::string &why) {
    note("times on the device are those of events around launches; " + why);
    return false;
  };
  if (PcSampler::isRunning())
    return failed("program counters are sampled meanwhile");
  auto opened = cupti::library();
  if (!opened)
    return failed(opened.error().what);
  library = *opened;
  // A subscriber is what tells that somebody else profiles this process: their buffers would be
  // taken over otherwise.
  Code code = library->cuptiSubscribe(
      &subscriber, [](void *, uint32_t, uint32_t, const void *) {}, nullptr);
  if (code != NoError)
    return failed(library->explain(code));
  code = library->cuptiActivityRegisterCallbacks(&giveBuffer, &takeBuffer);
  size_t enabled = 0;
  while (code == NoError && enabled < std::size(watched))
    code = library->cuptiActivityEnable(watched[enabled++]);
  if (code != NoError) {
    for (ActivityKind kind : std::span(watched).first(enabled))
      library->cuptiActivityDisable(kind);
    library->cuptiUnsubscribe(subscriber);
    return failed(library->explain(code));
  }
  compareClocks();
  return true;
}

// The library's clock is read between two readings of ours; the closest pair counts.
void DeviceActivity::compareClocks() {
  int64_t closest = INT64_MAX;
  for (int i = 0; i < 16; ++i) {
    uint64_t theirs = 0;
    int64_t before = Recorder::now();
    if (library->cuptiGetTimestamp(&theirs) != NoError)
      return;
    int64_t between = Recorder::now() - before;
    if (between < closest) {
      closest = between;
      clockDistance = int64_t(theirs) - (before + between / 2);
    }
  }
}

void DeviceActivity::stop() {
  flush();
  for (ActivityKind kind : watched)
    library->cuptiActivityDisable(kind);
  library->cuptiUnsubscribe(subscriber);
}

void DeviceActivity::enter(uint64_t call) {
  library->cuptiActivityPushExternalCorrelationId(ourCorrelation, call);
}

void DeviceActivity::leave() {
  uint64_t call = 0;
  library->cuptiActivityPopExternalCorrelationId(ourCorrelation, &call);
}

void DeviceActivity::giveBuffer(uint8_t **buffer, size_t *bytes, size_t *maxRecords) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(8, bufferBytes));
  *bytes = *buffer ? bufferBytes : 0;
  *maxRecords = 0; // as many as fit
}

void DeviceActivity::takeBuffer(cupti::Context context, uint32_t stream, uint8_t *buffer, size_t,
                                size_t valid) {
  DeviceActivity &self = instance();
  {
    std::lock_guard lock(self.mutex);
    void *record = nullptr;
    while (valid && self.library->cuptiActivityGetNextRecord(buffer, valid, &record) == NoError)
      self.read(record);
    size_t dropped = 0;
    if (self.library->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == NoError)
      self.lost += dropped;
  }
  std::free(buffer);
}

void DeviceActivity::read(const void *record) {
  Work work;
  auto common = [&](const auto &from) {
    work.device = from.device;
    work.stream = from.stream;
    work.correlation = from.correlation;
    work.begin = from.start;
    work.end = from.end;
    work.isOfGraph = from.graphNode != 0;
  };
  switch (*static_cast<const uint32_t *>(record)) {
  case KernelActivity: {
    const auto &kernel = *static_cast<const KernelRecord *>(record);
    common(kernel);
    work.name = readable(kernel.name);
    for (size_t axis = 0; axis < 3; ++axis) {
      work.grid[axis] = uint32_t(kernel.grid[axis]);
      work.shape.block[axis] = uint32_t(kernel.block[axis]);
    }
    work.shape.registers = kernel.registers;
    work.shape.sharedBytes = uint32_t(kernel.staticShared + kernel.dynamicShared);
    work.shape.localBytes = kernel.localBytes;
    break;
  }
  case CopyActivity: {
    const auto &copy = *static_cast<const CopyRecord *>(record);
    common(copy);
    work.kind = TraceKind::Copy;
    work.name = copyName(copy.copyKind);
    work.bytes = int64_t(copy.bytes) * 2; // read and written
    break;
  }
  case PeerCopyActivity: {
    const auto &copy = *static_cast<const PeerCopyRecord *>(record);
    common(copy);
    work.kind = TraceKind::Copy;
    work.name = copyName(copy.copyKind);
    work.bytes = int64_t(copy.bytes) * 2;
    break;
  }
  case FillActivity: {
    const auto &fill = *static_cast<const FillRecord *>(record);
    common(fill);
    work.kind = TraceKind::Fill;
    work.name = "fill";
    work.bytes = int64_t(fill.bytes);
    break;
  }
  case CorrelationActivity: {
    const auto &row = *static_cast<const CorrelationRecord *>(record);
    if (row.external == ourCorrelation && ours.size() < Recorder::capacity)
      ours[row.correlation] = row.id;
    return;
  }
  case DriverCallActivity: {
    const auto &call = *static_cast<const CallRecord *>(record);
    if (calls.size() < Recorder::capacity)
      calls[call.correlation] = {call.start, call.end, call.thread};
    return;
  }
  default:
    return;
  }
  if (!work.begin || work.end <= work.begin)
    ++untimed;
  else if (seen.size() < Recorder::capacity)
    seen.push_back(std::move(work));
  else
    ++lost;
}

void DeviceActivity::flush() {
  std::vector<Device *> all;
  {
    std::lock_guard lock(deviceMutex);
    all = devices;
  }
  for (Device *gpu : all)
    if (gpu->usable())
      (void)gpu->synchronize(); // who waits for the device next is told of a fault again
  library->cuptiActivityFlushAll(flushForced);
}

void DeviceActivity::complete(std::vector<TraceEvent> &events) {
  if (!library)
    return;
  if (recorder().watcher())
    flush();
  std::lock_guard lock(mutex);
  auto onOurClock = [&](uint64_t time) { return int64_t(time) - clockDistance; };
  std::unordered_map<uint64_t, TraceEvent *> byCall;
  for (TraceEvent &event : events)
    if (event.call)
      byCall[event.call] = &event;
  // Threads by the numbers of the library, as far as they made calls that were recorded.
  std::unordered_map<uint32_t, uint64_t> threads;
  for (const auto &[correlation, call] : ours)
    if (auto event = byCall.find(call), made = byCall.end(); event != made)
      if (auto host = calls.find(correlation); host != calls.end())
        threads[host->second.thread] = event->second->thread;

  std::vector<TraceEvent> others;
  for (Work &work : seen) {
    int64_t begin = onOurClock(work.begin), end = onOurClock(work.end);
    TraceEvent *event = nullptr;
    if (auto call = ours.find(work.correlation); call != ours.end())
      if (auto found = byCall.find(call->second); found != byCall.end())
        event = found->second;
    if (event) {
      bool isFirst = event->deviceEnd == 0;
      event->deviceBegin = isFirst ? begin : std::min(event->deviceBegin, begin);
      event->deviceEnd = isFirst ? end : std::max(event->deviceEnd, end);
      event->stream = work.stream;
      if (work.shape.registers && !work.isOfGraph)
        event->shape = work.shape;
      if (!work.isOfGraph)
        continue;
    }
    // A node of a graph, or another library's.
    TraceEvent other;
    other.kind = work.kind;
    other.name = std::move(work.name);
    other.device = "cuda:" + std::to_string(work.device);
    other.stream = work.stream;
    other.deviceBegin = begin;
    other.deviceEnd = end;
    other.begin = other.end = begin;
    other.grid = work.grid;
    other.shape = work.shape;
    other.bytes = work.bytes;
    if (event) {
      other.call = event->call;
    } else if (auto host = calls.find(work.correlation);
               host != calls.end() && !work.isOfGraph) { // one call for all nodes
      other.begin = onOurClock(host->second.begin);
      other.end = onOurClock(host->second.end);
      auto thread = threads.find(host->second.thread);
      other.thread = thread != threads.end() ? thread->second : host->second.thread;
    }
    others.push_back(std::move(other));
  }
  events.insert(events.end(), std::make_move_iterator(others.begin()),
                std::make_move_iterator(others.end()));
  seen.clear();
  ours.clear();
  calls.clear();
}

} // namespace nereid::runtime
