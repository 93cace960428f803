// The public classes of devices and tensors, over those of the runtime.
#include "api/Empty.h"
#include "launch/Argument.h"
#include "nereid/tensor.h"
#include "runtime/CpuDevice.h"
#include "runtime/CudaDevice.h"
#include "runtime/Tensor.h"

#include <algorithm>

// As dlpack.h declares them (version 0.8 and later): the ABI that every producer shares.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(DLManagedTensor *self);
};
}
// NOLINTEND(readability-identifier-naming)

namespace nereid {

Allocator::~Allocator() = default;
Executor::~Executor() = default;

// ---- Events, graphs, streams

namespace {
Error noEvent() { return emptyHandle("Event", "Device::createEvent"); }
Error noStream() { return emptyHandle("Stream", "Device::stream"); }
Error noGraph() { return emptyHandle("Graph", "Stream::endCapture"); }
Error noTensor() { return emptyHandle("Tensor", "Tensor::wrap"); }
} // namespace

Status Event::synchronize() const { return impl ? impl->synchronize() : noEvent(); }
Result<bool> Event::query() const {
  if (!impl)
    return noEvent();
  return impl->query();
}
Result<double> Event::secondsSince(const Event &start) const {
  if (!impl || !start.impl)
    return noEvent();
  return impl->secondsSince(*start.impl);
}

size_t Graph::nodeCount() const { return impl ? impl->nodeCount() : 0; }

Device Stream::device() const { return Device(impl ? &impl->device() : &runtime::cpuDevice()); }
void *Stream::native() const { return impl ? impl->native() : nullptr; }
Status Stream::synchronize() const { return impl ? impl->synchronize() : noStream(); }
Status Stream::record(const Event &event) const {
  return !impl ? noStream() : !event.impl ? noEvent() : impl->record(*event.impl);
}
Status Stream::wait(const Event &event) const {
  return !impl ? noStream() : !event.impl ? noEvent() : impl->wait(*event.impl);
}
Status Stream::copy(void *to, const void *from, size_t bytes) const {
  if (!impl)
    return noStream();
  if (bytes && (!to || !from))
    return Error{"cannot copy " + std::to_string(bytes) + " bytes " +
                     (to ? "from a null pointer" : "to a null pointer"),
                 {}};
  return impl->copy(to, from, bytes);
}
Status Stream::beginCapture() const { return impl ? impl->beginCapture() : noStream(); }
Status Stream::launch(const Graph &graph) const {
  return !impl ? noStream() : !graph.impl ? noGraph() : impl->launch(*graph.impl);
}

Result<Graph> Stream::endCapture() const {
  if (!impl)
    return noStream();
  auto graph = impl->endCapture();
  if (!graph)
    return graph.takeError();
  Graph handle;
  handle.impl = *std::move(graph);
  return handle;
}

// ---- Devices

Result<Device> Device::open(std::string_view name) {
  auto found = runtime::device(name);
  if (!found)
    return found.takeError();
  return Device(*found);
}

Result<Device> Device::inContext(void *native) {
  auto found = runtime::cudaDeviceIn(native);
  if (!found)
    return found.takeError();
  return Device(*found);
}

std::vector<Device> Device::all() {
  std::vector<Device> all;
  for (runtime::Device *device : runtime::devices())
    all.push_back(Device(device));
  return all;
}

const std::string &Device::name() const { return impl->info().name; }
const std::string &Device::description() const { return impl->info().description; }
const std::string &Device::architecture() const { return impl->info().arch; }
bool Device::isCpu() const { return impl->kind() == runtime::DeviceKind::Cpu; }
unsigned Device::units() const { return impl->info().units; }

MemoryUse Device::memory() const {
  runtime::MemoryStats stats = impl->memory().stats();
  return {stats.currentBytes, stats.peakBytes, stats.allocations};
}
void Device::resetPeakMemory() const { impl->memory().resetPeak(); }

void Device::setAllocator(std::shared_ptr<Allocator> allocator) const {
  struct Adapter final : runtime::Allocator {
    std::shared_ptr<nereid::Allocator> to;
    void *allocate(size_t bytes, void *stream) override {
      try {
        return to->allocate(bytes, stream);
      } catch (const std::bad_alloc &) {
        return nullptr;
      }
    }
    void free(void *pointer, size_t bytes, void *stream) override {
      to->free(pointer, bytes, stream);
    }
  };
  std::shared_ptr<Adapter> adapter;
  if (allocator) {
    adapter = std::make_shared<Adapter>();
    adapter->to = std::move(allocator);
  }
  impl->setAllocator(std::move(adapter));
}

Status Device::setExecutor(std::shared_ptr<Executor> executor) const {
  struct Adapter final : runtime::Executor {
    std::shared_ptr<nereid::Executor> to;
    unsigned concurrency() const override { return std::max(1u, to->concurrency()); }
    void run(unsigned workers, Body body, void *data) override { to->run(workers, body, data); }
  };
  if (!isCpu())
    return Error{"device " + name() + " runs kernels by itself: only the CPU takes an executor",
                 {}};
  std::shared_ptr<Adapter> adapter;
  if (executor) {
    adapter = std::make_shared<Adapter>();
    adapter->to = std::move(executor);
  }
  runtime::cpuDevice().setExecutor(std::move(adapter));
  return Success{};
}

Stream Device::stream() const {
  Stream stream;
  stream.impl = std::shared_ptr<runtime::Stream>(std::shared_ptr<void>(), &impl->defaultStream());
  return stream;
}

Result<Stream> Device::createStream() const {
  auto made = impl->createStream();
  if (!made)
    return made.takeError();
  Stream stream;
  stream.impl = *std::move(made);
  return stream;
}

Result<Stream> Device::wrapStream(void *native) const {
  auto made = impl->wrapStream(native);
  if (!made)
    return made.takeError();
  Stream stream;
  stream.impl = *std::move(made);
  return stream;
}

Result<Event> Device::createEvent() const {
  auto made = impl->createEvent();
  if (!made)
    return made.takeError();
  Event event;
  event.impl = *std::move(made);
  return event;
}

Status Device::synchronize() const { return impl->synchronize(); }

// ---- Tensors

Result<Tensor> Tensor::wrap(const Device &device, void *data, DType type, Shape shape,
                            Shape strides, std::shared_ptr<const void> owner) {
  auto made =
      runtime::Tensor::wrap(*device.impl, data, type, shape.sizes, strides.sizes, std::move(owner));
  if (!made)
    return made.takeError();
  if (!data && made->numel() > 0)
    return Error{"a null pointer for a tensor of " + std::to_string(made->numel()) + " elements",
                 {}};
  if (Status status = device.impl->checkAddress(data); !status)
    return Error{"cannot make a tensor of " + device.name() + ": " + status.error().what, {}};
  return Tensor(std::make_shared<const runtime::Tensor>(*std::move(made)));
}

Result<Tensor> Tensor::wrapHost(void *data, size_t elements, DType type, Shape shape) {
  auto made = wrap(Device(&runtime::cpuDevice()), data, type, shape);
  if (made && uint64_t(made->size()) > elements)
    return Error{"a tensor of " + std::to_string(made->size()) + " elements over memory of " +
                     std::to_string(elements),
                 {}};
  return made;
}

Result<Tensor> Tensor::empty(const Device &device, DType type, Shape shape) {
  auto made = runtime::Tensor::empty(*device.impl, type, shape.sizes);
  if (!made)
    return made.takeError();
  return Tensor(std::make_shared<const runtime::Tensor>(*std::move(made)));
}

Result<Tensor> Tensor::view(Shape shape, Shape strides, int64_t first) const {
  if (!impl)
    return noTensor();
  const uint64_t width = uint64_t(info(type()).bytes), all = bytes() / width;
  auto outside = [&](const std::string &what) {
    return Error{"a view of " + what + " of a tensor that spans " + std::to_string(all), {}};
  };
  auto isNegative = [](int64_t stride) { return stride < 0; };
  if (std::ranges::any_of(strides.sizes, isNegative) ||
      std::ranges::any_of(this->strides(), isNegative))
    return outside("elements at negative strides");
  if (first < 0 || uint64_t(first) > all)
    return outside("elements from " + std::to_string(first) + " on");
  auto made = runtime::Tensor::wrap(*impl->device(), data<char>() + uint64_t(first) * width, type(),
                                    shape.sizes, strides.sizes, impl);
  if (!made)
    return made.takeError();
  if (const uint64_t wanted = uint64_t(made->spanBytes()) / width; wanted > all - uint64_t(first))
    return outside(std::to_string(wanted) + " elements from " + std::to_string(first) + " on");
  return Tensor(std::make_shared<const runtime::Tensor>(*std::move(made)));
}

// One without memory is of no elements.
void *Tensor::data() const { return impl ? impl->data() : nullptr; }
Device Tensor::device() const { return Device(impl ? impl->device() : &runtime::cpuDevice()); }
DType Tensor::type() const { return impl ? impl->type() : DType::Float32; }
std::span<const int64_t> Tensor::shape() const {
  return impl ? impl->shape() : std::span<const int64_t>();
}
std::span<const int64_t> Tensor::strides() const {
  return impl ? impl->strides() : std::span<const int64_t>();
}
int64_t Tensor::size() const { return impl ? impl->numel() : 0; }
size_t Tensor::bytes() const { return impl ? size_t(impl->spanBytes()) : 0; }
bool Tensor::isContiguous() const { return !impl || impl->isContiguous(); }

namespace {
// Copies `tensor` to or from the host and waits.
Status transfer(const Tensor &tensor, void *to, const void *from) {
  if (!tensor)
    return noTensor();
  if (!tensor.isContiguous())
    return Error{"cannot copy a tensor with gaps: its strides are not row-major", {}};
  if (tensor.size() == 0)
    return Success{};
  if (!to || !from)
    return Error{"cannot copy " + std::to_string(tensor.bytes()) +
                     " bytes of a tensor: the pointer of the host is null",
                 {}};
  runtime::Device &device = tensor.device().internal();
  // Earlier work on any stream may still use the memory.
  if (Status status = device.synchronize(); !status)
    return status;
  if (Status status = device.defaultStream().copy(to, from, tensor.bytes()); !status)
    return status;
  return device.defaultStream().synchronize();
}
} // namespace

Status Tensor::upload(const void *host) const { return transfer(*this, data(), host); }
Status Tensor::download(void *host) const { return transfer(*this, host, data()); }

Result<TensorDescriptor> TensorDescriptor::make(const Tensor &tensor, Shape block, bool padNan) {
  if (!tensor)
    return noTensor();
  auto made = std::make_shared<launch::DescriptorArgument>();
  size_t rank = tensor.shape().size();
  if (rank == 0 || rank > made->block.size())
    return Error{"a descriptor of a tensor of " + std::to_string(rank) +
                     " dimensions; 1 to 5 are possible",
                 {}};
  if (block.sizes.size() != rank)
    return Error{"a block of " + std::to_string(block.sizes.size()) +
                     " dimensions for a tensor of " + std::to_string(rank),
                 {}};
  for (int64_t size : block.sizes)
    if (size <= 0 || (size & (size - 1)))
      return Error{"a block size of " + std::to_string(size) + "; powers of two are possible", {}};
  if (tensor.strides().back() != 1)
    return Error{"the last stride of a tensor under a descriptor is " +
                     std::to_string(tensor.strides().back()) + ", it must be 1",
                 {}};
  made->tensor = tensor.internal();
  std::copy(block.sizes.begin(), block.sizes.end(), made->block.begin());
  made->padNan = padNan;
  TensorDescriptor descriptor;
  descriptor.impl = std::move(made);
  return descriptor;
}

// ---- DLPack

namespace {

struct DLTypeRow {
  uint8_t code, bits;
  DType type;
};
constexpr DLTypeRow dlTypes[] = {
    {6, 8, DType::Int1},      {0, 8, DType::Int8},         {0, 16, DType::Int16},
    {0, 32, DType::Int32},    {0, 64, DType::Int64},       {1, 8, DType::UInt8},
    {1, 16, DType::UInt16},   {1, 32, DType::UInt32},      {1, 64, DType::UInt64},
    {2, 16, DType::Float16},  {2, 32, DType::Float32},     {2, 64, DType::Float64},
    {4, 16, DType::BFloat16}, {10, 8, DType::Float8E4NV},  {11, 8, DType::Float8E4B8},
    {12, 8, DType::Float8E5}, {13, 8, DType::Float8E5B16},
};
enum DLDeviceType { DlCpu = 1, DlCuda = 2, DlCudaHost = 3, DlCudaManaged = 13 };

// What a DLPack tensor that we give away keeps alive.
struct Exported {
  explicit Exported(Tensor tensor) : tensor(std::move(tensor)) {}
  DLManagedTensor managed = {};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

} // namespace

Result<Tensor> Tensor::fromDLPack(DLManagedTensor *managed) {
  if (!managed)
    return Error{"a null DLPack tensor", {}};
  const DLTensor &from = managed->dl_tensor;
  std::optional<DType> type;
  for (const DLTypeRow &row : dlTypes)
    if (row.code == from.dtype.code && row.bits == from.dtype.bits && from.dtype.lanes == 1)
      type = row.type;
  if (!type)
    return Error{"a DLPack tensor of type code " + std::to_string(from.dtype.code) + " with " +
                     std::to_string(from.dtype.bits) + " bits and " +
                     std::to_string(from.dtype.lanes) + " lanes, which no kernel can take",
                 {}};
  std::string name;
  switch (from.device.device_type) {
  case DlCpu:
  case DlCudaHost:
    name = "cpu";
    break;
  case DlCuda:
  case DlCudaManaged:
    name = "cuda:" + std::to_string(from.device.device_id);
    break;
  default:
    return Error{"a DLPack tensor on a device of type " + std::to_string(from.device.device_type) +
                     ", neither CPU nor CUDA",
                 {}};
  }
  if (from.ndim < 0)
    return Error{"a DLPack tensor of " + std::to_string(from.ndim) + " dimensions", {}};
  auto device = Device::open(name);
  if (!device)
    return device.takeError();
  // Taken over only when nothing can fail any more.
  struct Hold {
    DLManagedTensor *managed = nullptr;
    ~Hold() {
      if (managed && managed->deleter)
        managed->deleter(managed);
    }
  };
  auto hold = std::make_shared<Hold>();
  std::span<const int64_t> shape(from.shape, size_t(from.ndim)), strides;
  if (from.strides)
    strides = {from.strides, size_t(from.ndim)};
  auto made =
      wrap(*device, static_cast<char *>(from.data) + from.byte_offset, *type, shape, strides, hold);
  if (made)
    hold->managed = managed;
  return made;
}

Result<DLManagedTensor *> Tensor::toDLPack() const {
  if (!impl)
    return noTensor();
  const DLTypeRow *row = std::find_if(std::begin(dlTypes), std::end(dlTypes),
                                      [&](const DLTypeRow &one) { return one.type == type(); });
  if (row == std::end(dlTypes))
    return Error{"DLPack has no type for `" + std::string(info(type()).name) + "`", {}};
  auto *exported = new Exported(*this);
  exported->shape.assign(shape().begin(), shape().end());
  exported->strides.assign(strides().begin(), strides().end());
  DLTensor &to = exported->managed.dl_tensor;
  to.data = data();
  to.device = {DlCpu, 0};
  if (!device().isCpu())
    to.device = {DlCuda, std::stoi(device().name().substr(device().name().find(':') + 1))};
  to.ndim = int32_t(exported->shape.size());
  to.dtype = {row->code, row->bits, 1};
  to.shape = exported->shape.data();
  to.strides = exported->strides.data();
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = [](DLManagedTensor *self) {
    delete static_cast<Exported *>(self->manager_ctx);
  };
  return &exported->managed;
}

} // namespace nereid
