#include "runtime/Device.h"

#include "runtime/CpuDevice.h"
#include "runtime/CudaDevice.h"

#include <charconv>

namespace nereid::runtime {

Buffer Buffer::wrap(Device &device, void *data, size_t bytes, std::shared_ptr<const void> owner) {
  Buffer buffer;
  buffer.pointer = data;
  buffer.size = bytes;
  buffer.where = &device;
  buffer.owner = std::move(owner);
  return buffer;
}

void Device::setAllocator(std::shared_ptr<Allocator> allocator) {
  std::atomic_store(&custom, std::move(allocator));
}

Result<Buffer> Device::allocate(size_t bytes, Stream *stream) {
  return allocate(bytes, stream ? stream->native() : nullptr, stream ? stream->hold() : nullptr);
}

Result<Buffer> Device::allocate(size_t bytes, void *native, std::shared_ptr<const void> hold) {
  Buffer buffer;
  buffer.size = bytes;
  buffer.where = this;
  if (bytes == 0)
    return buffer;
  if (Status status = usable(); !status)
    return status.takeError();
  std::shared_ptr<Allocator> allocator = std::atomic_load(&custom);
  if (!allocator)
    allocator = ownAllocator();
  // Memory may outlive the CPU's device, which has no context; GPUs live as long as the process.
  Device *gpu = kind() == DeviceKind::Cuda ? this : nullptr;
  void *pointer = [&] {
    CurrentContext current(gpu);
    return allocator->allocate(bytes, native);
  }();
  if (!pointer) {
    if (Status status = usable(); !status) // a fault that the allocator was the first to see
      return status.takeError();
    MemoryStats stats = counter->stats();
    return Error{"no memory on " + name() + " for " + std::to_string(bytes) + " bytes; " +
                     std::to_string(stats.currentBytes) + " bytes are in use",
                 {}};
  }
  counter->allocated(bytes);
  buffer.pointer = pointer;
  buffer.owner =
      std::shared_ptr<const void>(pointer, [allocator, bytes, native, hold = std::move(hold),
                                            counter = counter, gpu](const void *memory) {
        CurrentContext current(gpu);
        allocator->free(const_cast<void *>(memory), bytes, native);
        counter->freed(bytes);
      });
  return buffer;
}

Status Device::usable() const { return Success{}; }
Status Device::checkAddress(const void *) const { return Success{}; }

Status Device::encodeTensorMap(const support::DescriptorRecord &, const void *,
                               std::span<const int64_t>, std::span<const int64_t>, void *) {
  return Error{name() + " has no tensor maps", {}};
}

Result<uint64_t> countPrograms(std::string_view kernel, const std::array<uint32_t, 3> &grid) {
  if (!isGrid(grid))
    return Error{"cannot launch `" + std::string(kernel) + "`: grid (" + std::to_string(grid[0]) +
                     ", " + std::to_string(grid[1]) + ", " + std::to_string(grid[2]) +
                     ") is over (2147483647, 65535, 65535)",
                 {}};
  return uint64_t(grid[0]) * grid[1] * grid[2];
}

Result<Device *> device(std::string_view name) {
  if (name == "cpu")
    return static_cast<Device *>(&cpuDevice());
  if (name == "cuda")
    name = "cuda:0";
  if (name.starts_with("cuda:")) {
    unsigned ordinal = 0;
    std::string_view digits = name.substr(5);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size())
      return cudaDevice(ordinal);
  }
  return Error{"no device is called `" + std::string(name) + "`: there are `cpu` and `cuda:N`", {}};
}

std::vector<Device *> devices() {
  std::vector<Device *> all = {&cpuDevice()};
  for (unsigned ordinal = 0; ordinal < cudaDeviceCount(); ++ordinal)
    if (auto device = cudaDevice(ordinal))
      all.push_back(*device);
  return all;
}

} // namespace nereid::runtime
