// Code on a GPU: loaded, its records, the memory that launches of it share.
#include "runtime/CudaObjects.h"

#include <cstring>
#include <new>

namespace nereid::runtime::cuda {

namespace {

// What this thread calls meanwhile is allowed while a stream is captured.
class AllowedInCapture {
public:
  explicit AllowedInCapture(const Driver &driver) : driver(driver) {
    driver.cuThreadExchangeStreamCaptureMode(&mode);
  }
  ~AllowedInCapture() { driver.cuThreadExchangeStreamCaptureMode(&mode); }
  AllowedInCapture(const AllowedInCapture &) = delete;

private:
  const Driver &driver;
  int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED, then what it was before
};

} // namespace

CudaKernel::~CudaKernel() {
  std::vector<std::shared_ptr<StreamOwner>> held; // streams outlive what is freed in their order
  std::map<StreamHandle, ContextBlock> freed;
  {
    std::lock_guard lock(device.kernelMutex);
    device.kernels.erase(this);
    freed.swap(blocks);
    for (auto &[stream, block] : freed)
      held.push_back(block.stream.lock());
  }
  if (device.isLost())
    return;
  Current current(device);
  // Memory of no stream is not waited for by who gave it.
  if (records || !capturedBlocks.empty())
    (void)device.synchronize();
  if (library)
    device.driver.cuLibraryUnload(library);
  if (module)
    device.driver.cuModuleUnload(module);
  if (records)
    device.driver.cuMemFreeHost(records);
}

Status CudaKernel::load(bool &refused) {
  const Driver &driver = device.driver;
  auto bytes = source.blob(record->code);
  std::string name(source.name()), entry(source.text(record->entry));
  if (source.slots().size() > maxSlots)
    return Error{"cannot load kernel `" + name + "`: " + std::to_string(source.slots().size()) +
                     " arguments, at most " + std::to_string(maxSlots) + " can be passed",
                 {}};
  uint32_t limit = device.info().sharedBytesPerBlock;
  if (record->sharedBytes > limit)
    return Error{"cannot load kernel `" + name + "` on " + device.name() + ": it needs " +
                     std::to_string(record->sharedBytes) + " bytes of shared memory, " +
                     device.info().description + " has " + std::to_string(limit),
                 {}};

  char log[4096] = {};
  enum : int { ErrorLogBuffer = 5, ErrorLogBytes = 6 };
  int options[] = {ErrorLogBuffer, ErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  Current current(device);
  Code result;
  if (driver.cuLibraryLoadData && driver.cuLibraryGetKernel && driver.cuLibraryGetModule &&
      driver.cuKernelGetFunction) {
    result =
        driver.cuLibraryLoadData(&library, bytes.data(), options, values, 2, nullptr, nullptr, 0);
    Kernel kernel = nullptr;
    if (result == Ok)
      result = driver.cuLibraryGetKernel(&kernel, library, entry.c_str());
    if (result == Ok)
      result = driver.cuKernelGetFunction(&function, kernel);
  } else {
    result = driver.cuModuleLoadDataEx(&module, bytes.data(), 2, options, values);
    if (result == Ok)
      result = driver.cuModuleGetFunction(&function, module, entry.c_str());
  }
  if (result != Ok) {
    std::string what = "cannot load kernel `" + name + "` on " + device.name() + " (" +
                       (CodeKind(record->kind) == CodeKind::Ptx ? "PTX for " : "cubin for ") +
                       std::string(source.text(record->arch)) + ")";
    if (log[0])
      what += ": " + std::string(log, ::strnlen(log, sizeof log));
    refused = result == InvalidImage || result == NoBinaryForGpu || result == InvalidPtx ||
              result == NoJitCompiler || result == UnsupportedPtxVersion;
    return device.check(result, what);
  }
  if (record->sharedBytes > 48 * 1024)
    if (Status status =
            device.check(driver.cuFuncSetAttribute(function, MaxDynamicSharedSizeBytes,
                                                   int(record->sharedBytes)),
                         "cannot give `" + name + "` " + std::to_string(record->sharedBytes) +
                             " bytes of shared memory");
        !status)
      return status;
  if (facts.loopAxes) {
    int resident = 0;
    if (driver.cuOccupancyMaxActiveBlocksPerMultiprocessor &&
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, int(facts.threads),
                                                           facts.sharedBytes) == Ok)
      facts.residentBlocks = uint32_t(resident) * device.info().units;
  }
  const uint32_t *cluster = record->cluster;
  if (uint64_t(cluster[0]) * cluster[1] * cluster[2] > 8)
    if (Status status =
            device.check(driver.cuFuncSetAttribute(function, NonPortableClusterSizeAllowed, 1),
                         "cannot give `" + name + "` clusters of over 8 blocks");
        !status)
      return status;
  if (record->flags & support::CodeRecords) {
    // Pinned memory has one address on both sides.
    AllowedInCapture allowed(driver);
    void *memory = nullptr;
    if (Status status = device.check(driver.cuMemAllocHost(&memory, recordBytes),
                                     "cannot load `" + name + "`: no memory for its records");
        !status)
      return status;
    records = new (memory) RecordBuffer{0, recordCapacity, 0, 0, 0};
  }
  return done();
}

Result<NativeCode> CudaKernel::native() {
  if (!module) {
    Module ofLibrary = nullptr;
    Current current(device);
    if (Status status =
            device.check(device.driver.cuLibraryGetModule(&ofLibrary, library),
                         "cannot get the module of `" + std::string(source.name()) + "`");
        !status)
      return status.takeError();
    return NativeCode{ofLibrary, function};
  }
  return NativeCode{module, function};
}

Result<std::array<uint32_t, 3>> CudaKernel::blocksFor(const std::array<uint32_t, 3> &grid) const {
  std::array<uint32_t, 3> blocks = {1, 1, 1};
  uint64_t programs = 1, others = 1;
  for (uint32_t axis = 0; axis < 3; ++axis)
    if (axis < facts.loopAxes)
      programs *= grid[axis];
    else
      others *= blocks[axis] = grid[axis];
  // Blocks count on by as many as there are.
  constexpr uint64_t most = INT32_MAX / 2;
  if (programs > most)
    return Error{"cannot launch `" + *name + "`: " + std::to_string(programs) +
                     " programs, its code counts up to " + std::to_string(most) +
                     "; compile it with NEREID_PROGRAM_LOOPS=off",
                 {}};
  uint64_t resident = std::max<uint64_t>(facts.residentBlocks / others, 1);
  blocks[0] = uint32_t(facts.residentBlocks ? std::min(programs, resident) : programs);
  return blocks;
}

Result<ContextBlock> CudaKernel::makeBlock(uint64_t programs,
                                           const std::shared_ptr<StreamOwner> &stream) {
  auto failed = [&](const std::string &why) {
    return Error{"cannot launch `" + std::string(source.name()) + "`: " +
                     std::to_string(record->scratchBytes) + " bytes of scratch for each of " +
                     std::to_string(programs) + " programs" + why,
                 {}};
  };
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(record->scratchBytes, programs, &bytes) ||
      __builtin_add_overflow(bytes, ContextBlock::scratchOffset, &bytes))
    return failed("");
  // A program may capture in a mode that forbids allocations, which are no part of the graph.
  AllowedInCapture allowed(device.driver);
  auto memory = device.allocate(bytes, stream ? stream->handle : nullptr, nullptr);
  if (!memory)
    return device.isLost() ? memory.takeError() : failed(": " + memory.error().what);
  ContextBlock block{*std::move(memory), stream};
  if (Status status = device.writeWords(
          block.address(),
          {block.address() + ContextBlock::scratchOffset, reinterpret_cast<DevicePointer>(records)},
          stream ? std::optional(stream->handle) : std::nullopt);
      !status)
    return status.takeError();
  return block;
}

bool CudaKernel::hasRecords() const {
  return records && std::atomic_ref(records->claimed).load(std::memory_order_acquire) != 0;
}

Result<std::vector<Record>> CudaKernel::takeRecords(uint64_t &lost) {
  lost = 0;
  std::vector<Record> taken;
  if (!records)
    return taken;
  if (Status status = device.usable(); !status)
    return status.takeError();
  // No launch of the stream that others wait for still writes.
  Current current(device);
  if (Status status = device.settleDefault("cannot read records"); !status)
    return status.takeError();
  if (Status status = device.check(device.driver.cuStreamSynchronize(nullptr),
                                   "cannot read records", source.name());
      !status)
    return status.takeError();
  uint64_t count = std::min(records->claimed, recordCapacity);
  lost = records->claimed - count;
  const auto *first = reinterpret_cast<const Record *>(records + 1);
  taken.assign(first, first + count);
  *records = {0, recordCapacity, 0, 0, 0};
  return taken;
}

} // namespace nereid::runtime::cuda
