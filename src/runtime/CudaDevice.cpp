#include "runtime/CudaDevice.h"

#include "runtime/CudaObjects.h"
#include "runtime/DeviceActivity.h"

#include <cstring>

namespace nereid::runtime {

namespace cuda {

// Whether a watchdog has given up waiting for a kernel.
static std::atomic<bool> isStuck = false;

Current::Current(const CudaDevice &device) {
  Context now = nullptr;
  device.driver.cuCtxGetCurrent(&now);
  if (now != device.context && device.driver.cuCtxPushCurrent(device.context) == Ok)
    pushed = &device.driver;
}

Current::~Current() {
  Context popped;
  if (pushed)
    pushed->cuCtxPopCurrent(&popped);
}

namespace {

// Memory on a stream comes and goes in the stream's order; memory on no stream is there at once,
// and freeing it waits for the device.
class CudaAllocator final : public Allocator {
public:
  explicit CudaAllocator(CudaDevice &device) : device(device) {}
  void *allocate(size_t bytes, void *stream) override {
    Current current(device);
    DevicePointer pointer = 0;
    Code code =
        stream && device.hasPools
            ? device.driver.cuMemAllocAsync(&pointer, bytes, static_cast<StreamHandle>(stream))
            : device.driver.cuMemAlloc(&pointer, bytes);
    if (code != Ok && code != NoMemory)
      device.failedQuietly(code, "cannot allocate memory");
    return code == Ok ? reinterpret_cast<void *>(pointer) : nullptr;
  }
  void free(void *pointer, size_t, void *stream) override {
    if (device.isLost())
      return;
    Current current(device);
    auto address = reinterpret_cast<DevicePointer>(pointer);
    if (stream && device.hasPools)
      device.driver.cuMemFreeAsync(address, static_cast<StreamHandle>(stream));
    else
      device.driver.cuMemFree(address);
  }

private:
  CudaDevice &device;
};

} // namespace

Status CudaDevice::start(unsigned ordinal) {
  if (Status status = check(driver.cuDeviceGet(&handle, int(ordinal)), "cannot open " + name());
      !status)
    return status;
  auto attribute = [&](int which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, handle);
    return value;
  };
  char text[256] = {};
  driver.cuDeviceGetName(text, sizeof text - 1, handle);
  description.description = text;
  major = attribute(CapabilityMajor);
  minor = attribute(CapabilityMinor);
  const target::GpuChip *chip = target::gpuChipForDevice(unsigned(major), unsigned(minor));
  if (!chip)
    return Error{name() + " (" + description.description + ") has compute capability " +
                     std::to_string(major) + "." + std::to_string(minor) +
                     ", at least 8.0 is needed",
                 {}};
  description.arch = std::string(chip->name);
  description.units = unsigned(attribute(MultiprocessorCount));
  description.cacheBytes = uint64_t(attribute(L2CacheBytes));
  description.sharedBytesPerBlock = uint32_t(attribute(SharedBytesPerBlockOptin));
  description.clockKHz = uint32_t(attribute(ClockRate));
  size_t bytes = 0;
  driver.cuDeviceTotalMem(&bytes, handle);
  description.memoryBytes = bytes;
  hasPools = attribute(MemoryPoolsSupported) != 0;
  if (isPrimary)
    if (Status status = check(driver.cuDevicePrimaryCtxRetain(&context, handle),
                              "cannot open the primary context of " + name());
        !status)
      return status;
  Current current(*this);
  constexpr unsigned nonBlocking = 1;
  if (Status status = check(driver.cuStreamCreate(&side, nonBlocking), "cannot create a stream");
      !status)
    return status;
  legacyStream = std::make_unique<CudaStream>(*this, nullptr, true);
  allocator = std::make_shared<CudaAllocator>(*this);
  return done();
}

Status CudaDevice::failed(Code code, std::string_view what, std::string_view kernel) {
  std::string text = std::string(what) + ": " + driver.explain(code);
  // Errors that a kernel causes end the context: illegal address, instruction, program counter,
  // misalignment, assertion, trap, time-out, hardware stack error, uncorrectable memory.
  bool fatal =
      code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719) || code == 214;
  if (fatal && !lost.exchange(true)) {
    text += "; " +
            (kernel.empty() ? std::string("a kernel")
                            : "`" + std::string(kernel) + "` or a kernel before it") +
            " faulted, and " + name() + " is lost to this process";
  }
  return Error{std::move(text), {}};
}

Status CudaDevice::stuck(std::string_view what, const StreamOwner *stream) {
  isStuck = true;
  if (lost.exchange(true))
    return lostEarlier();
  std::string kernel = lastKernel(stream);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", watchdogSeconds);
  return Error{
      std::string(what) + ": " +
          (kernel.empty() ? std::string("its work") : "`" + kernel + "` or a kernel before it") +
          " has not ended within " + seconds + " seconds, the limit of NEREID_WATCHDOG_SECONDS; " +
          name() + " is lost to this process",
      {}};
}

Status CudaDevice::lostEarlier() const {
  std::lock_guard lock(lossMutex);
  if (!untold.empty())
    return Error{std::exchange(untold, {}), {}};
  return Error{name() + " was lost to an earlier fault: start a new process to use it again", {}};
}

void CudaDevice::failedQuietly(Code code, std::string_view what) {
  bool before = isLost();
  Status status = failed(code, what, lastKernel(nullptr));
  std::lock_guard lock(lossMutex);
  if (!before && isLost())
    untold = status.error().what;
}

Status CudaDevice::settle(const StreamOwner &stream, std::string_view what) {
  int capturing = 0;
  if (watchdogSeconds <= 0 || driver.cuStreamIsCapturing(stream.handle, &capturing) != Ok ||
      capturing) [[likely]]
    return done();
  auto query = [&] { return driver.cuStreamQuery(stream.handle); };
  return await(query, query, what, &stream);
}

Status CudaDevice::settleDefault(std::string_view what) {
  return settle(*static_cast<CudaStream &>(*legacyStream).ownership, what);
}

std::string CudaDevice::lastKernel(const StreamOwner *stream) const {
  auto nameOf = [](const StreamOwner &of) {
    const std::string *name = of.lastKernel.load(std::memory_order_relaxed);
    return name ? *name : std::string();
  };
  if (stream)
    return nameOf(*stream);
  std::set<std::string> all;
  std::lock_guard lock(streamMutex);
  for (const StreamOwner *each : streams)
    all.insert(nameOf(*each));
  std::string text;
  for (const std::string &name : all)
    if (!name.empty())
      text += (text.empty() ? "" : "`, `") + name;
  return text;
}

void CudaDevice::freeBlocksOf(StreamHandle stream) {
  std::vector<ContextBlock> freed;
  std::lock_guard lock(kernelMutex);
  for (CudaKernel *kernel : kernels) {
    std::lock_guard blockLock(kernel->blockMutex);
    if (auto found = kernel->blocks.find(stream); found != kernel->blocks.end()) {
      freed.push_back(std::move(found->second));
      kernel->blocks.erase(found);
    }
  }
}

Status CudaDevice::writeWords(DevicePointer to, std::initializer_list<uint64_t> words,
                              std::optional<StreamHandle> stream) {
  std::unique_lock lock(sideMutex, std::defer_lock);
  if (!stream)
    lock.lock();
  Current current(*this);
  for (uint64_t word : words)
    for (unsigned half = 0; half < 2; ++half, to += 4)
      if (Status status = check(driver.cuMemsetD32Async(to, uint32_t(word >> (32 * half)), 1,
                                                        stream ? *stream : side),
                                "cannot write to " + name());
          !status)
        return status;
  if (stream)
    return done();
  return check(driver.cuStreamSynchronize(side), "cannot write to " + name());
}

Status CudaDevice::checkAddress(const void *address) const {
  constexpr unsigned ofADevice = 2;
  auto pointer = reinterpret_cast<DevicePointer>(address);
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  // What the driver does not know may be the host's memory that this GPU can reach.
  if (!address || driver.cuPointerGetAttribute(&type, PointerMemoryType, pointer) != Ok ||
      type != ofADevice ||
      driver.cuPointerGetAttribute(&managed, PointerIsManaged, pointer) != Ok || managed ||
      driver.cuPointerGetAttribute(&ordinal, PointerDeviceOrdinal, pointer) != Ok ||
      ordinal == handle)
    return done();
  // Another GPU's, and reached where the program has enabled access to its peer.
  Current current(*this);
  DevicePointer reached = 0;
  if (driver.cuPointerGetAttribute(&reached, PointerDeviceAddress, pointer) == Ok)
    return done();
  return Error{"the memory is cuda:" + std::to_string(ordinal) + "'s, not " + name() + "'s", {}};
}

Result<std::unique_ptr<Stream>> CudaDevice::createStream() {
  if (Status status = usable(); !status)
    return status.takeError();
  Current current(*this);
  StreamHandle stream = nullptr;
  constexpr unsigned nonBlocking = 1;
  if (Status status = check(driver.cuStreamCreate(&stream, nonBlocking), "cannot create a stream");
      !status)
    return status.takeError();
  return std::unique_ptr<Stream>(std::make_unique<CudaStream>(*this, stream, false));
}

// Functions, events and memory belong to a context, and a kernel reaches no memory of another one:
// a launch on a stream of a context that is not ours would fail or fault in the host program's.
Result<std::unique_ptr<Stream>> CudaDevice::wrapStream(void *native) {
  auto handle = static_cast<StreamHandle>(native);
  auto wrapped = [&] {
    return std::unique_ptr<Stream>(std::make_unique<CudaStream>(*this, handle, true));
  };
  auto refuse = [&](const std::string &why) {
    return Error{"cannot use a stream of the program on " + name() + ": " + why, {}};
  };
  if (Status status = usable(); !status)
    return status.takeError();
  // The default streams of a thread and of a process are those of whichever context is current.
  constexpr uintptr_t lastOfDefault = 2;
  if (reinterpret_cast<uintptr_t>(native) <= lastOfDefault)
    return wrapped();
  Current current(*this);
  Context theirs = nullptr;
  // What is no answer, as from drivers that cannot tell while the stream captures, is no refusal.
  Code code = driver.cuStreamGetCtx(handle, &theirs);
  if (code == InvalidHandle || code == InvalidContext || code == ContextIsDestroyed)
    return refuse("the driver knows no such stream, or its context was destroyed: " +
                  driver.explain(code));
  if (code != Ok || !theirs || theirs == context)
    return wrapped();
  DeviceHandle device = -1;
  if (driver.cuCtxPushCurrent(theirs) == Ok) {
    Context popped = nullptr;
    driver.cuCtxGetDevice(&device);
    driver.cuCtxPopCurrent(&popped);
  }
  if (device >= 0 && device != this->handle)
    return refuse("it is a stream of cuda:" + std::to_string(device));
  return refuse("it is of another context, whose kernels do not reach memory of this one; open the "
                "device in it (`Device::inContext`)");
}

Result<std::unique_ptr<Event>> CudaDevice::createEvent() {
  if (Status status = usable(); !status)
    return status.takeError();
  Current current(*this);
  EventHandle event = nullptr;
  if (Status status = check(driver.cuEventCreate(&event, 0), "cannot create an event"); !status)
    return status.takeError();
  return std::unique_ptr<Event>(std::make_unique<CudaEvent>(*this, event));
}

Status CudaDevice::synchronize() {
  if (Status status = usable(); !status)
    return status;
  Current current(*this);
  return await([&] { return driver.cuCtxSynchronize(); },
               [&] {
                 std::lock_guard lock(streamMutex);
                 for (const StreamOwner *stream : streams)
                   if (Code code = driver.cuStreamQuery(stream->handle); code != Ok)
                     return code;
                 return Code(Ok);
               },
               "cannot synchronize " + name(), nullptr);
}

namespace {
// CUtensorMapDataType; 8-bit floats travel as bytes.
int tensorMapType(DType type) {
  switch (type) {
  case DType::Int16:
  case DType::UInt16:
    return 1;
  case DType::UInt32:
    return 2;
  case DType::Int32:
    return 3;
  case DType::UInt64:
    return 4;
  case DType::Int64:
    return 5;
  case DType::Float16:
    return 6;
  case DType::Float32:
    return 7;
  case DType::Float64:
    return 8;
  case DType::BFloat16:
    return 9;
  default:
    return 0;
  }
}
} // namespace

Status CudaDevice::encodeTensorMap(const support::DescriptorRecord &descriptor, const void *base,
                                   std::span<const int64_t> shape, std::span<const int64_t> strides,
                                   void *map) {
  auto refuse = [](const std::string &why) {
    return Error{"cannot describe a tensor to the copy engine: " + why, {}};
  };
  if (!driver.cuTensorMapEncodeTiled)
    return refuse("the driver knows no tensor maps, CUDA 12.0 does");
  uint32_t rank = descriptor.rank;
  if (shape.size() != rank || strides.size() != rank)
    return refuse("it has " + std::to_string(shape.size()) + " dimensions, the kernel expects " +
                  std::to_string(rank));
  int64_t elementBytes = nereid::info(DType(descriptor.type)).bytes;
  if (reinterpret_cast<uintptr_t>(base) % 16)
    return refuse("its address is no multiple of 16");
  if (strides[rank - 1] != 1)
    return refuse("its last dimension has stride " + std::to_string(strides[rank - 1]) +
                  ", it must be 1");
  // The hardware counts dimensions from the innermost one.
  uint64_t sizes[support::maxRank], steps[support::maxRank];
  uint32_t box[support::maxRank], traversal[support::maxRank];
  for (uint32_t i = 0; i < rank; ++i) {
    uint32_t from = rank - 1 - i;
    if (shape[from] < 1 || shape[from] > int64_t(1) << 32)
      return refuse("dimension " + std::to_string(from) + " has size " +
                    std::to_string(shape[from]));
    sizes[i] = uint64_t(shape[from]);
    box[i] = descriptor.box[from];
    traversal[i] = descriptor.elementStride[from];
    if (i == 0)
      continue;
    int64_t step;
    if (__builtin_mul_overflow(strides[from], elementBytes, &step) || step <= 0 || step % 16 ||
        step >= int64_t(1) << 40)
      return refuse("the stride of dimension " + std::to_string(from) + " is " +
                    std::to_string(strides[from]) + " elements of " + std::to_string(elementBytes) +
                    " bytes, no multiple of 16 bytes below 2^40");
    steps[i - 1] = uint64_t(step);
  }
  Current current(*this);
  return check(driver.cuTensorMapEncodeTiled(
                   static_cast<TensorMap *>(map), tensorMapType(DType(descriptor.type)), rank,
                   const_cast<void *>(base), sizes, steps, box, traversal, descriptor.interleave,
                   descriptor.swizzle, descriptor.l2Promotion, descriptor.padding),
               "cannot describe a tensor to the copy engine");
}

Result<std::shared_ptr<LoadedKernel>> CudaDevice::load(const support::Artifact &artifact) {
  if (Status status = usable(); !status)
    return status.takeError();
  std::string has;
  std::optional<Error> refusal; // of the code that came first
  std::string_view ptx;
  for (const CodeRecord &code : artifact.codes()) {
    std::string_view arch = artifact.text(code.arch);
    has += (has.empty() ? "" : ", ") + std::string(arch);
    const target::GpuChip *chip = target::gpuChip(arch);
    bool isPtx = CodeKind(code.kind) == CodeKind::Ptx;
    bool runs = chip && ((CodeKind(code.kind) == CodeKind::Cubin &&
                          target::cubinRunsOn(*chip, unsigned(major), unsigned(minor))) ||
                         (isPtx && target::ptxRunsOn(*chip, unsigned(major), unsigned(minor))));
    if (!runs)
      continue;
    TraceScope trace(TraceKind::Load, artifact.name(), name());
    auto kernel = std::make_shared<CudaKernel>(*this, artifact, code);
    add(kernel.get());
    bool refused = false;
    Status status = kernel->load(refused);
    if (status)
      return std::shared_ptr<LoadedKernel>(std::move(kernel));
    if (!refused)
      return status.takeError();
    if (isPtx) {
      auto bytes = artifact.blob(code.code);
      ptx = std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    }
    if (!refusal)
      refusal = status.takeError();
  }
  if (refusal) {
    constexpr std::string_view word = ".version ";
    std::string version;
    if (size_t at = ptx.find(word); at != ptx.npos)
      version = ptx.substr(at + word.size(), ptx.find('\n', at) - at - word.size());
    refusal->what += "; the driver is for CUDA " + std::to_string(driver.version / 1000) + "." +
                     std::to_string(driver.version % 1000 / 10) +
                     (version.empty() ? "" : " and the code's PTX of version " + version) +
                     ", which a newer driver takes";
    return *std::move(refusal);
  }
  return Error{"kernel `" + std::string(artifact.name()) + "` has no code for " + name() + " (" +
                   description.description + ", " + description.arch + "); it has code for " +
                   (has.empty() ? "nothing" : has),
               {}};
}

} // namespace cuda

using cuda::CudaDevice;
using cuda::Ok;

CurrentContext::CurrentContext(Device *device) {
  auto *cuda = dynamic_cast<CudaDevice *>(device);
  isPushed = cuda && cuda->driver.cuCtxPushCurrent(cuda->context) == Ok;
}

CurrentContext::~CurrentContext() {
  cuda::Context popped;
  if (isPushed)
    (*cuda::driver())->cuCtxPopCurrent(&popped);
}

bool deviceIsStuck() { return cuda::isStuck; }

unsigned cudaDeviceCount() {
  auto opened = cuda::driver();
  int count = 0;
  if (!opened || (*opened)->cuDeviceGetCount(&count) != Ok)
    return 0;
  return unsigned(std::max(count, 0));
}

// In a context of the host program, or in the primary one.
static Result<Device *> cudaDevice(unsigned ordinal, cuda::Context theirs) {
  auto opened = cuda::driver();
  if (!opened)
    return Error{"cannot open cuda:" + std::to_string(ordinal) + ": " + opened.error().what, {}};
  // Never torn down: the driver may be gone before our static objects are.
  using Key = std::pair<unsigned, cuda::Context>;
  static auto *registry = new std::map<Key, std::unique_ptr<CudaDevice>>();
  static std::mutex registryMutex;
  std::lock_guard lock(registryMutex);
  auto found = registry->find({ordinal, theirs});
  if (found != registry->end())
    return static_cast<Device *>(found->second.get());
  if (unsigned count = cudaDeviceCount(); ordinal >= count)
    return Error{"there is no cuda:" + std::to_string(ordinal) + ": the driver sees " +
                     std::to_string(count) + " devices",
                 {}};
  auto device = std::make_unique<CudaDevice>(**opened, ordinal, theirs);
  if (Status status = device->start(ordinal); !status)
    return status.takeError();
  DeviceActivity::instance().add(*device);
  auto [place, isNew] = registry->emplace(Key{ordinal, theirs}, std::move(device));
  return static_cast<Device *>(place->second.get());
}

Result<Device *> cudaDevice(unsigned ordinal) { return cudaDevice(ordinal, nullptr); }

Result<Device *> cudaDeviceIn(void *context) {
  auto opened = cuda::driver();
  if (!opened)
    return Error{"cannot use a context of the program: " + opened.error().what, {}};
  const cuda::Driver &driver = **opened;
  auto theirs = static_cast<cuda::Context>(context);
  cuda::DeviceHandle handle = -1;
  cuda::Code code = theirs ? driver.cuCtxPushCurrent(theirs) : cuda::Code(cuda::InvalidContext);
  if (code == cuda::Ok) {
    cuda::Context popped = nullptr;
    code = driver.cuCtxGetDevice(&handle);
    driver.cuCtxPopCurrent(&popped);
  }
  if (code != cuda::Ok)
    return Error{"cannot use a context of the program: " + driver.explain(code), {}};
  // Whether it is the primary one, asked without making that.
  unsigned flags = 0;
  int isActive = 0;
  if (driver.cuDevicePrimaryCtxGetState(handle, &flags, &isActive) == cuda::Ok && isActive) {
    auto primary = cudaDevice(unsigned(handle));
    if (!primary || static_cast<CudaDevice *>(*primary)->context == theirs)
      return primary;
  }
  return cudaDevice(unsigned(handle), theirs);
}

} // namespace nereid::runtime
