// Events as Chrome's trace viewer and Perfetto read them.
#include "runtime/PcSampling.h"
#include "runtime/Recorder.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

namespace nereid::runtime {

namespace {
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      (result += '\\') += c;
    } else if (uint8_t(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", unsigned(uint8_t(c)));
      result += buffer;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string microseconds(int64_t nanoseconds) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3f", double(nanoseconds) * 1e-3);
  return buffer;
}

std::string triple(const std::array<uint32_t, 3> &numbers) {
  return "[" + std::to_string(numbers[0]) + "," + std::to_string(numbers[1]) + "," +
         std::to_string(numbers[2]) + "]";
}

// Spans of one stream that overlap without one enclosing the other (nodes of a graph, a dependent
// launch that begins early) stand on tracks beside each other.
class Lanes {
public:
  /// The first track with room; spans come in order of their beginning, the longest first.
  size_t place(int64_t begin, int64_t end) {
    for (size_t lane = 0;; ++lane) {
      if (lane == open.size())
        open.emplace_back();
      std::vector<int64_t> &ends = open[lane];
      while (!ends.empty() && ends.back() <= begin)
        ends.pop_back();
      if (ends.empty() || end <= ends.back()) {
        ends.push_back(end);
        return lane;
      }
    }
  }

private:
  std::vector<std::vector<int64_t>> open;
};

class Writer {
public:
  // Process 1 is the host, one track a thread; devices follow, one track a stream.
  explicit Writer(const SampleReport *samples) {
    constexpr size_t mostLines = 5;
    if (samples)
      for (const KernelSamples &kernel : samples->kernels) {
        std::string list;
        for (const std::string &line : hottestLines(kernel, mostLines))
          list += (list.empty() ? "" : ",") + quoted(line);
        lines[kernel.kernel] = "[" + list + "]";
      }
    emit(R"({"name":"process_name","ph":"M","pid":1,"args":{"name":"host"}})");
  }

  void host(const TraceEvent &event) { span(event, 1, event.thread, event.begin, event.end); }

  void onDevice(const TraceEvent &event) {
    int process = processOf(event.device);
    size_t lane = lanes[{process, event.stream}].place(event.deviceBegin, event.deviceEnd);
    uint64_t track = trackOf(process, event.stream, lane);
    auto sampled = lines.find(event.name);
    bool isKernel = event.kind == TraceKind::Launch || event.kind == TraceKind::Kernel;
    span(event, process, track, event.deviceBegin, event.deviceEnd,
         isKernel && sampled != lines.end() ? sampled->second : "");
    arrow(event, process, track);
  }
  /// Where arrows to what a call queued begin.
  void remember(const TraceEvent &event) { callers[event.call] = &event; }

  std::string finish() { return text + "\n]}\n"; }

private:
  void emit(const std::string &object) {
    text += isFirst ? "\n" : ",\n";
    isFirst = false;
    text += object;
  }

  int processOf(const std::string &device) {
    auto [found, isNew] = processes.emplace(device, int(processes.size()) + 2);
    if (isNew)
      emit("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" + std::to_string(found->second) +
           ",\"args\":{\"name\":" + quoted(device) + "}}");
    return found->second;
  }

  uint64_t trackOf(int process, uint64_t stream, size_t lane) {
    auto [found, isNew] = tracks.emplace(std::tuple(process, stream, lane), tracks.size() + 1);
    if (isNew) {
      constexpr uint64_t leastHandle = 1 << 16; // smaller ones are numbers that CUPTI gives
      char name[64];
      std::snprintf(name, sizeof name, stream < leastHandle ? "stream %llu" : "stream %#llx",
                    (unsigned long long)stream);
      emit("{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":" + std::to_string(process) +
           ",\"tid\":" + std::to_string(found->second) + ",\"args\":{\"name\":" +
           quoted(name + (lane ? ", beside " + std::to_string(lane) : std::string())) + "}}");
    }
    return found->second;
  }

  void span(const TraceEvent &event, int process, uint64_t track, int64_t begin, int64_t end,
            const std::string &hottest = "") {
    std::string arguments;
    auto add = [&](const char *key, const std::string &value) {
      arguments += (arguments.empty() ? "\"" : ",\"") + std::string(key) + "\":" + value;
    };
    if (!event.device.empty())
      add("device", quoted(event.device));
    if (event.kind == TraceKind::Launch || event.kind == TraceKind::Kernel)
      add("grid", triple(event.grid));
    if (event.shape.registers) {
      add("block", triple(event.shape.block));
      add("registers", std::to_string(event.shape.registers));
      add("shared_bytes", std::to_string(event.shape.sharedBytes));
      add("local_bytes", std::to_string(event.shape.localBytes));
    }
    if (event.bytes >= 0)
      add("bytes", std::to_string(event.bytes));
    if (event.operations >= 0)
      add("operations", std::to_string(event.operations));
    if (!hottest.empty())
      add("hottest_lines", hottest);
    emit("{\"name\":" + quoted(event.name) + ",\"cat\":" + quoted(name(event.kind)) +
         ",\"ph\":\"X\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(track) +
         ",\"ts\":" + microseconds(begin) + ",\"dur\":" +
         microseconds(std::max<int64_t>(end - begin, 0)) + ",\"args\":{" + arguments + "}}");
  }

  // From the host's call to its work on the device.
  void arrow(const TraceEvent &event, int process, uint64_t track) {
    const TraceEvent *from = &event;
    if (auto caller = callers.find(event.call); !event.thread && caller != callers.end())
      from = caller->second;
    if (!from->thread)
      return;
    std::string id = std::to_string(++arrows);
    emit("{\"name\":\"queued\",\"cat\":\"queued\",\"ph\":\"s\",\"id\":" + id +
         ",\"pid\":1,\"tid\":" + std::to_string(from->thread) +
         ",\"ts\":" + microseconds(from->begin) + "}");
    emit("{\"name\":\"queued\",\"cat\":\"queued\",\"ph\":\"f\",\"bp\":\"e\",\"id\":" + id +
         ",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(track) +
         ",\"ts\":" + microseconds(event.deviceBegin) + "}");
  }

  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool isFirst = true;
  std::map<std::string, std::string, std::less<>> lines; // the hottest, by kernel
  std::map<std::string, int> processes;
  std::map<std::pair<int, uint64_t>, Lanes> lanes; // by process and stream
  std::map<std::tuple<int, uint64_t, size_t>, uint64_t> tracks;
  std::map<uint64_t, const TraceEvent *> callers;
  uint64_t arrows = 0;
};
} // namespace

std::string chromeTrace(const std::vector<TraceEvent> &events, const SampleReport *samples) {
  Writer writer(samples);
  std::vector<const TraceEvent *> onDevice;
  for (const TraceEvent &event : events) {
    if (event.thread) {
      writer.host(event);
      if (event.call)
        writer.remember(event);
    }
    if (event.deviceEnd > event.deviceBegin)
      onDevice.push_back(&event);
  }
  std::ranges::sort(onDevice, {}, [](const TraceEvent *event) {
    return std::tuple(event->deviceBegin, -event->deviceEnd, event);
  });
  for (const TraceEvent *event : onDevice)
    writer.onDevice(*event);
  return writer.finish();
}

} // namespace nereid::runtime
