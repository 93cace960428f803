// CUPTI without a GPU: it sees what the driver beside it is asked to do, and says that each kernel
// took 10 us for each four warps, a copy 5 us and a fill 2 us. Of each kernel that is launched its
// first instructions are sampled: 100 times a load that is waited for at 0x10, 40 times a barrier
// at 0x20, 10 times an instruction that issues at 0x30.
//
// Words of FAKE_CUPTI: old, privileges, busy, dropped, untimed, nosampling, full.
#include "runtime/Cupti.h"
#include "Hooks.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace nereid::runtime::cupti;

namespace {
bool has(const char *word) {
  const char *scenario = std::getenv("FAKE_CUPTI");
  return scenario && (" " + std::string(scenario) + " ").find(" " + std::string(word) + " ") !=
                         std::string::npos;
}

std::mutex mutex;
bool enabled[64] = {};
BufferRequested requestBuffer = nullptr;
BufferCompleted completeBuffer = nullptr;
Callback callback = nullptr;
void *callbackUser = nullptr;
bool isSubscribed = false, wantsModules = false;

std::vector<std::vector<char>> records;
uint32_t correlations = 0;
thread_local uint32_t correlation = 0;
thread_local uint64_t callBegan = 0;
thread_local std::vector<uint64_t> externals;

uint64_t clockNow() {
  timespec time;
  ::clock_gettime(CLOCK_REALTIME, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

template <typename Record> void add(const Record &record) {
  std::lock_guard lock(mutex);
  if (!enabled[record.kind])
    return;
  const auto *bytes = reinterpret_cast<const char *>(&record);
  records.emplace_back(bytes, bytes + sizeof record);
}

void onCall(bool begins) {
  if (begins) {
    std::lock_guard lock(mutex);
    correlation = ++correlations;
    callBegan = clockNow();
    return;
  }
  // As the library does: a correlation only with the record of a call.
  if (!externals.empty() && enabled[DriverCallActivity])
    add(CorrelationRecord{CorrelationActivity, ourCorrelation, externals.back(), correlation, 0});
  add(CallRecord{DriverCallActivity, 307, callBegan, clockNow(), 1, 77, correlation, 0});
}

// Sampling, of one context.
bool samples = false, isStarted = false;
std::vector<uint32_t> wanted;
PcData *atEnd = nullptr;
struct Sampled {
  uint64_t cubin = 0;
  std::string name;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> counts; // by offset and reason
};
std::map<std::string, Sampled> sampled; // by kernel
std::map<std::string, uint64_t> cubinOf;
uint64_t elsewhere = 0;

const char *const reasonNames[] = {
    "smsp__pcsamp_sample_count", "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_barrier", "smsp__pcsamp_warps_issue_stalled_selected"};

uint64_t checksum(const void *bytes, size_t count) {
  uint64_t sum = 1469598103934665603u;
  for (size_t i = 0; i < count; ++i)
    sum = (sum ^ static_cast<const uint8_t *>(bytes)[i]) * 1099511628211u;
  return sum;
}

size_t elfBytes(const void *code) {
  Elf64_Ehdr head;
  std::memcpy(&head, code, sizeof head);
  return head.e_shoff + size_t(head.e_shnum) * sizeof(Elf64_Shdr);
}

void onModule(const void *code) {
  if (std::memcmp(code, ELFMAG, SELFMAG) != 0)
    return;
  size_t bytes = elfBytes(code);
  {
    std::lock_guard lock(mutex);
    if (samples) // others it does not know
      cubinOf[""] = checksum(code, bytes);
  }
  if (!wantsModules)
    return;
  ModuleData module = {1, bytes, static_cast<const char *>(code)};
  ResourceData about = {nullptr, nullptr, &module};
  callback(callbackUser, ResourceDomain, ModuleLoaded, &about);
}

void onWork(const FakeWork &work) {
  uint64_t start = has("untimed") ? 0 : clockNow() + 1000;
  uint64_t node = work.isOfGraph ? 5 : 0;
  auto stream = uint32_t(reinterpret_cast<uintptr_t>(work.stream) ? 13 : 7);
  auto fill = [&](auto &record, uint32_t kind, uint64_t nanoseconds) {
    record.kind = kind;
    record.start = start;
    record.end = start ? start + nanoseconds : 0;
    record.context = 1;
    record.stream = stream;
    record.correlation = correlation;
    record.graphNode = node;
  };
  if (work.kind == FakeWork::Kernel) {
    KernelRecord record = {};
    fill(record, KernelActivity, 10000 * work.block[0] / 128);
    for (int axis = 0; axis < 3; ++axis) {
      record.grid[axis] = int32_t(work.grid[axis]);
      record.block[axis] = int32_t(work.block[axis]);
    }
    record.registers = 42;
    record.dynamicShared = int32_t(work.sharedBytes);
    static std::map<std::string, int> names; // they live on
    {
      std::lock_guard lock(mutex);
      record.name = names.emplace(work.name, 0).first->first.c_str();
      if (samples && isStarted) {
        if (auto cubin = cubinOf.find(""); cubin != cubinOf.end()) {
          Sampled &into = sampled[work.name];
          into.cubin = cubin->second;
          into.name = work.name;
          into.counts[{0x10, 1}] += 100;
          into.counts[{0x10, 2}] += 90;
          into.counts[{0x20, 3}] += 40;
          into.counts[{0x30, 4}] += 10;
        } else {
          elsewhere += 150;
        }
      }
    }
    add(record);
  } else if (work.kind == FakeWork::Copy) {
    CopyRecord record = {};
    fill(record, CopyActivity, 5000);
    record.copyKind = 8;
    record.bytes = work.bytes;
    add(record);
  } else {
    FillRecord record = {};
    fill(record, FillActivity, 2000);
    record.bytes = work.bytes;
    add(record);
  }
}

void watchDriver() {
  static const FakeHooks hooks = {onCall, onWork, onModule};
  static const bool once = [] {
    void *driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto watch =
        driver ? reinterpret_cast<void (*)(const FakeHooks *)>(::dlsym(driver, "fake_cuda_watch"))
               : nullptr;
    if (watch)
      watch(&hooks);
    return watch != nullptr;
  }();
  (void)once;
}
} // namespace

#pragma GCC visibility push(default)
extern "C" {
Code cuptiGetVersion(uint32_t *version) { return *version = has("old") ? 12 : 28, NoError; }
Code cuptiGetResultString(Code code, const char **text) {
  *text = code == InvalidOperation ? "CUPTI_ERROR_INVALID_OPERATION" : "CUPTI_ERROR_UNKNOWN";
  return NoError;
}
Code cuptiSubscribe(Subscriber *subscriber, Callback function, void *user) {
  watchDriver();
  if (isSubscribed || has("busy"))
    return SeveralSubscribers;
  isSubscribed = true;
  callback = function;
  callbackUser = user;
  *subscriber = reinterpret_cast<Subscriber>(&isSubscribed);
  return NoError;
}
Code cuptiUnsubscribe(Subscriber) { return isSubscribed = wantsModules = false, NoError; }
Code cuptiEnableCallback(uint32_t enable, Subscriber, uint32_t domain, uint32_t id) {
  wantsModules = enable && domain == ResourceDomain && id == ModuleLoaded;
  return NoError;
}
Code cuptiGetTimestamp(uint64_t *time) { return *time = clockNow(), NoError; }
Code cuptiActivityRegisterCallbacks(BufferRequested request, BufferCompleted complete) {
  requestBuffer = request;
  completeBuffer = complete;
  return NoError;
}
Code cuptiActivityEnable(uint32_t kind) {
  if (has("privileges") && kind == KernelActivity)
    return InsufficientPrivileges;
  return enabled[kind] = true, NoError;
}
Code cuptiActivityDisable(uint32_t kind) { return enabled[kind] = false, NoError; }

// The records in buffers of a few each, one behind the other with its length before it.
Code cuptiActivityFlushAll(uint32_t) {
  std::vector<std::vector<char>> taken;
  {
    std::lock_guard lock(mutex);
    taken.swap(records);
  }
  for (size_t next = 0; next < taken.size();) {
    uint8_t *buffer = nullptr;
    size_t bytes = 0, most = 0, used = 0;
    requestBuffer(&buffer, &bytes, &most);
    if (!buffer)
      return OutOfMemory;
    for (int i = 0; i < 5 && next < taken.size(); ++i, ++next) {
      size_t length = taken[next].size();
      std::memcpy(buffer + used, &length, sizeof length);
      std::memcpy(buffer + used + sizeof length, taken[next].data(), length);
      used += sizeof length + length;
    }
    completeBuffer(nullptr, 0, buffer, bytes, used);
  }
  return NoError;
}
Code cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
  uint8_t *next = buffer;
  size_t length = 0;
  if (*record) {
    auto *now = static_cast<uint8_t *>(*record);
    std::memcpy(&length, now - sizeof length, sizeof length);
    next = now + length;
  }
  if (next >= buffer + valid)
    return LimitReached;
  *record = next + sizeof length;
  return NoError;
}
Code cuptiActivityGetNumDroppedRecords(Context, uint32_t, size_t *dropped) {
  static bool told = false;
  *dropped = has("dropped") && !std::exchange(told, true) ? 12 : 0;
  return NoError;
}
Code cuptiActivityPushExternalCorrelationId(uint32_t, uint64_t id) {
  return externals.push_back(id), NoError;
}
Code cuptiActivityPopExternalCorrelationId(uint32_t, uint64_t *id) {
  *id = externals.back();
  return externals.pop_back(), NoError;
}

Code cuptiPCSamplingEnable(SamplingCall *call) {
  watchDriver();
  if (has("nosampling"))
    return NotSupported;
  if (has("privileges"))
    return InsufficientPrivileges;
  if (call->size != sizeof(SamplingCall) || !call->context)
    return InvalidOperation;
  return samples = true, NoError;
}
Code cuptiPCSamplingStart(SamplingCall *) { return isStarted = true, NoError; }
Code cuptiPCSamplingStop(SamplingCall *) { return isStarted = false, NoError; }
Code cuptiPCSamplingSetConfigurationAttribute(SettingsCall *call) {
  for (size_t i = 0; i < call->count; ++i) {
    const SamplingSetting &setting = call->settings[i];
    if (setting.attribute == StallReasons)
      wanted.assign(setting.reasons.indices, setting.reasons.indices + setting.reasons.count);
    if (setting.attribute == DataBuffer)
      atEnd = static_cast<PcData *>(setting.buffer);
  }
  return wanted.empty() || !atEnd ? InvalidOperation : NoError;
}
Code cuptiPCSamplingGetConfigurationAttribute(SettingsCall *call) {
  for (size_t i = 0; i < call->count; ++i)
    call->settings[i].number = call->settings[i].attribute == SamplingPeriod ? 11 : 0;
  return NoError;
}
// A place at a time, so that several calls are needed.
Code cuptiPCSamplingGetData(DataCall *call) {
  PcData &data = *call->data;
  data.count = 0;
  data.samplesElsewhere = std::exchange(elsewhere, 0);
  data.isBufferFull = has("full");
  data.dropped = has("full") ? 1000 : 0;
  for (auto &[name, kernel] : sampled) {
    if (kernel.counts.empty())
      continue;
    uint64_t offset = kernel.counts.begin()->first.first;
    PcRecord &record = data.records[data.count++];
    record.cubin = kernel.cubin;
    record.offset = offset;
    record.name = const_cast<char *>(kernel.name.c_str());
    record.reasonCount = 0;
    while (!kernel.counts.empty() && kernel.counts.begin()->first.first == offset) {
      auto [key, count] = *kernel.counts.begin();
      for (uint32_t reason : wanted)
        if (reason == key.second)
          record.reasons[record.reasonCount++] = {reason, count};
      kernel.counts.erase(kernel.counts.begin());
    }
    break;
  }
  data.remaining = 0;
  for (auto &[name, kernel] : sampled)
    data.remaining += kernel.counts.size();
  return NoError;
}
Code cuptiPCSamplingDisable(SamplingCall *) {
  if (atEnd)
    atEnd->count = 0;
  return samples = false, NoError;
}
Code cuptiPCSamplingGetNumStallReasons(ReasonCountCall *call) {
  return *call->count = std::size(reasonNames), NoError;
}
Code cuptiPCSamplingGetStallReasons(ReasonNamesCall *call) {
  for (size_t i = 0; i < call->count; ++i) {
    call->indices[i] = uint32_t(i);
    std::strncpy(call->names[i], reasonNames[i], reasonNameBytes - 1);
  }
  return NoError;
}
Code cuptiGetCubinCrc(CrcCall *call) {
  return call->crc = checksum(call->cubin, call->cubinBytes), NoError;
}
}
#pragma GCC visibility pop
