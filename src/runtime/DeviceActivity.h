// Watches GPUs through CUPTI's activity records: when each kernel, copy and fill ran, whoever
// queued it, on which stream, and with how many registers and bytes.
#pragma once

#include "runtime/Cupti.h"
#include "runtime/Recorder.h"

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace nereid::runtime {

class Device;

class DeviceActivity final : public DeviceWatcher {
public:
  /// The process's; a GPU that is opened adds itself.
  static DeviceActivity &instance();
  void add(Device &gpu);

  bool start() override;
  void stop() override;
  void enter(uint64_t call) override;
  void leave() override;
  void complete(std::vector<TraceEvent> &events) override;
  std::vector<std::string> takeNotes() override;

private:
  // What ran on a device.
  struct Work {
    TraceKind kind = TraceKind::Kernel;
    std::string name;
    uint32_t device = 0, stream = 0, correlation = 0;
    uint64_t begin = 0, end = 0; // of the library's clock
    int64_t bytes = -1;
    std::array<uint32_t, 3> grid = {};
    KernelShape shape;
    bool isOfGraph = false;
  };
  // The host's call that queued some.
  struct Call {
    uint64_t begin = 0, end = 0;
    uint32_t thread = 0;
  };

  static void giveBuffer(uint8_t **buffer, size_t *bytes, size_t *maxRecords);
  static void takeBuffer(cupti::Context, uint32_t, uint8_t *buffer, size_t, size_t valid);
  void read(const void *record);
  void flush();
  void note(std::string text);
  void compareClocks();

  const cupti::Functions *library = nullptr;
  cupti::Subscriber subscriber = nullptr;
  int64_t clockDistance = 0; // from the recorder's clock to the library's

  std::mutex deviceMutex;
  std::vector<Device *> devices;

  std::mutex mutex; // of what follows, which the library's threads fill
  std::vector<Work> seen;
  std::unordered_map<uint32_t, uint64_t> ours; // correlation -> number of the call
  std::unordered_map<uint32_t, Call> calls;    // by correlation
  uint64_t lost = 0, untimed = 0;
  std::vector<std::string> notes;
};

} // namespace nereid::runtime
