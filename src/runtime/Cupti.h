// CUPTI, NVIDIA's library for profilers, opened at run time as the driver is. Our own declarations
// of the part we use, after NVIDIA's public headers (cupti_activity.h, cupti_pcsampling.h,
// cupti_callbacks.h and cupti_result.h of CUDA 12.9 to 13.5): nothing here needs a toolkit.
#pragma once

#include "nereid/base.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace nereid::runtime::cupti {

using Code = int; ///< CUptiResult
using Context = struct CuptiContextTag *;
using Subscriber = struct CuptiSubscriberTag *;

enum : Code {
  NoError = 0,
  InvalidOperation = 7,
  OutOfMemory = 8,
  LimitReached = 12, ///< no further record in a buffer
  NotCompatible = 14,
  HardwareBusy = 26,
  NotSupported = 27,
  VirtualDevice = 33,
  InsufficientPrivileges = 35,
  SeveralSubscribers = 39,
  VirtualDevicePrivileges = 40,
};

// ---- Callbacks

enum CallbackDomain : uint32_t { ResourceDomain = 3 };
enum ResourceCallback : uint32_t { ModuleLoaded = 6 };

/// What a callback of the resource domain is given.
struct ResourceData {
  Context context;
  void *handle; ///< of the stream, for callbacks of those
  void *about;  ///< ModuleData for those of modules
};
struct ModuleData {
  uint32_t module;
  size_t cubinBytes;
  const char *cubin;
};
using Callback = void (*)(void *user, uint32_t domain, uint32_t id, const void *data);

// ---- Activity records

enum ActivityKind : uint32_t {
  CopyActivity = 1,
  FillActivity = 2,
  DriverCallActivity = 4,
  KernelActivity = 10, ///< of kernels that may overlap
  PeerCopyActivity = 22,
  CorrelationActivity = 39,
};
constexpr uint32_t ourCorrelation = 3; ///< CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
constexpr uint32_t flushForced = 1;    ///< also buffers with records that are not finished

// The beginning of each record, which versions share; later versions are longer. Times are
// nanoseconds on the clock of `cuptiGetTimestamp`, 0 where there was no memory to take them.
struct KernelRecord {
  uint32_t kind;
  uint8_t cacheConfig, sharedConfig;
  uint16_t registers;
  uint32_t cacheRequested, cacheExecuted;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t staticShared, dynamicShared;
  uint32_t localBytes, localTotal;
  uint32_t correlation;
  int64_t gridId;
  const char *name; ///< mangled; lives as long as its module
  void *reserved;
  uint64_t queued, submitted;
  uint8_t launchType, carveoutRequested, carveout, pad;
  uint32_t sharedExecuted;
  uint64_t graphNode; ///< 0 outside of graphs
};
static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, grid) == 52 &&
              offsetof(KernelRecord, correlation) == 92 && offsetof(KernelRecord, name) == 104 &&
              offsetof(KernelRecord, graphNode) == 144);

struct CopyRecord {
  uint32_t kind;
  uint8_t copyKind, from, to, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtimeCorrelation, pad;
  void *reserved;
  uint64_t graphNode;
};
static_assert(offsetof(CopyRecord, correlation) == 44 && offsetof(CopyRecord, graphNode) == 64);

struct PeerCopyRecord {
  uint32_t kind;
  uint8_t copyKind, from, to, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, fromDevice, fromContext, toDevice, toContext, correlation;
  void *reserved;
  uint64_t graphNode;
};
static_assert(offsetof(PeerCopyRecord, correlation) == 60 &&
              offsetof(PeerCopyRecord, graphNode) == 72);

struct FillRecord {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memoryKind;
  uint32_t pad;
  void *reserved;
  uint64_t graphNode;
};
static_assert(offsetof(FillRecord, correlation) == 44 && offsetof(FillRecord, graphNode) == 64);

struct CallRecord {
  uint32_t kind, call;
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};
static_assert(offsetof(CallRecord, correlation) == 32);

/// Comes before the record of a call that was made between `Push` and `Pop`.
struct CorrelationRecord {
  uint32_t kind, external;
  uint64_t id;
  uint32_t correlation, reserved;
};

using BufferRequested = void (*)(uint8_t **buffer, size_t *bytes, size_t *maxRecords);
using BufferCompleted = void (*)(Context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                 size_t valid);

// ---- Samples of the program counter

/// Of a reason why a warp did not issue, or that it did.
struct StallCount {
  uint32_t reason, samples;
};
struct PcRecord {
  size_t size;
  uint64_t cubin;  ///< `cuptiGetCubinCrc`
  uint64_t offset; ///< from the function's beginning
  uint32_t function, pad;
  char *name; ///< of the function; ours to free
  size_t reasonCount;
  StallCount *reasons;
  uint32_t correlation, tail; ///< 0 where kernels run as they do without samples
};
static_assert(sizeof(PcRecord) == 64);

struct PcData {
  size_t size, capacity;
  uint64_t samples, dropped;
  size_t count, remaining;
  uint64_t range;
  PcRecord *records;
  uint64_t samplesElsewhere; ///< in code that has no records, as the driver's own
  uint8_t isBufferFull, tail[7];
};
static_assert(sizeof(PcData) == 80);

enum SamplingAttribute : uint32_t {
  SamplingPeriod = 1, ///< every 2^n cycles, n from 5 to 31
  StallReasons = 2,
  ScratchBytes = 3,
  HardwareBufferBytes = 4,
  CollectionMode = 5,
  StartStopControl = 6,
  OutputFormat = 7,
  DataBuffer = 8,
};
enum : uint32_t { ContinuousMode = 1, ParsedOutput = 1 };

struct SamplingSetting {
  SamplingAttribute attribute = SamplingPeriod;
  Code status = NoError;
  union {
    uint64_t words[3] = {};
    uint32_t number;
    size_t bytes;
    void *buffer;
    struct {
      size_t count;
      uint32_t *indices;
    } reasons;
  };
};
static_assert(sizeof(SamplingSetting) == 32);

// Each call takes one of these; `size` says how far it is known to the caller.
struct SamplingCall {
  size_t size = 3 * sizeof(void *);
  void *priv = nullptr;
  Context context = nullptr;
};
struct SettingsCall : SamplingCall {
  size_t count = 0;
  SamplingSetting *settings = nullptr;
};
struct DataCall : SamplingCall {
  PcData *data = nullptr;
};
struct ReasonCountCall : SamplingCall {
  size_t *count = nullptr;
};
struct ReasonNamesCall : SamplingCall {
  size_t count = 0;
  uint32_t *indices = nullptr;
  char **names = nullptr; ///< of `reasonNameBytes` each
};
constexpr size_t reasonNameBytes = 128;
struct CrcCall {
  size_t size = sizeof(CrcCall);
  size_t cubinBytes = 0;
  const void *cubin = nullptr;
  uint64_t crc = 0;
};

#define NEREID_CUPTI_FUNCTIONS(REQUIRED, OPTIONAL)                                                 \
  REQUIRED(cuptiGetResultString, (Code, const char **))                                            \
  REQUIRED(cuptiSubscribe, (Subscriber *, Callback, void *))                                       \
  REQUIRED(cuptiUnsubscribe, (Subscriber))                                                         \
  REQUIRED(cuptiEnableCallback, (uint32_t, Subscriber, uint32_t, uint32_t))                        \
  REQUIRED(cuptiGetTimestamp, (uint64_t *))                                                        \
  REQUIRED(cuptiActivityRegisterCallbacks, (BufferRequested, BufferCompleted))                     \
  REQUIRED(cuptiActivityEnable, (uint32_t))                                                        \
  REQUIRED(cuptiActivityDisable, (uint32_t))                                                       \
  REQUIRED(cuptiActivityFlushAll, (uint32_t))                                                      \
  REQUIRED(cuptiActivityGetNextRecord, (uint8_t *, size_t, void **))                               \
  REQUIRED(cuptiActivityGetNumDroppedRecords, (Context, uint32_t, size_t *))                       \
  REQUIRED(cuptiActivityPushExternalCorrelationId, (uint32_t, uint64_t))                           \
  REQUIRED(cuptiActivityPopExternalCorrelationId, (uint32_t, uint64_t *))                          \
  OPTIONAL(cuptiPCSamplingEnable, (SamplingCall *))                                                \
  OPTIONAL(cuptiPCSamplingDisable, (SamplingCall *))                                               \
  OPTIONAL(cuptiPCSamplingStart, (SamplingCall *))                                                 \
  OPTIONAL(cuptiPCSamplingStop, (SamplingCall *))                                                  \
  OPTIONAL(cuptiPCSamplingSetConfigurationAttribute, (SettingsCall *))                             \
  OPTIONAL(cuptiPCSamplingGetConfigurationAttribute, (SettingsCall *))                             \
  OPTIONAL(cuptiPCSamplingGetData, (DataCall *))                                                   \
  OPTIONAL(cuptiPCSamplingGetNumStallReasons, (ReasonCountCall *))                                 \
  OPTIONAL(cuptiPCSamplingGetStallReasons, (ReasonNamesCall *))                                    \
  OPTIONAL(cuptiGetCubinCrc, (CrcCall *))

/// The table of functions.
struct Functions {
#define NEREID_DECLARE(name, signature) Code(*name) signature = nullptr;
  NEREID_CUPTI_FUNCTIONS(NEREID_DECLARE, NEREID_DECLARE)
#undef NEREID_DECLARE

  uint32_t version = 0; ///< 18 is CUDA 11.8, 28 is 12.9, 130000 is 13.0

  bool canSample() const { return cuptiPCSamplingEnable && cuptiPCSamplingStart; }
  /// What stands in the way and what helps.
  std::string explain(Code code) const;
};

/// The library, opened once; or why there is none. NEREID_CUPTI names it, or is `off`.
Result<const Functions *> library();

/// Opens a library as CUPTI; `library()` without its memory, for tests.
Result<std::unique_ptr<Functions>> open(const std::string &path);

} // namespace nereid::runtime::cupti
