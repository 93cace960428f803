// The part of the C interface that needs no compiler: devices, streams, packs.
#include "api/CHandles.h"
#include "nereid/pack.h"
#include "nereid/profile.h"

using namespace nereid;
using namespace nereid::c;

static_assert(int(NEREID_FLOAT8E4B15) == int(DType::Float8E4B15));

struct nereid_pack {
  Pack pack;
  std::vector<std::string> names;
};
struct nereid_packed_kernel {
  PackedKernel kernel;
};

namespace {
thread_local std::string lastError;
}

nereid_status c::fail(nereid_status status, std::string_view what) {
  try {
    lastError = what;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

Status c::tell(Result<std::vector<KernelMessage>> messages, nereid_message_callback callback,
               void *data) {
  if (!messages)
    return messages.takeError();
  for (const KernelMessage &message : *messages)
    callback(data, message.text.c_str(), message.isAssert, message.program);
  return Success{};
}

extern "C" {

const char *nereid_last_error(void) { return lastError.c_str(); }
const char *nereid_version(void) { return NEREID_VERSION; }

static Status giveDevice(nereid_device **device, Result<Device> opened) {
  *device = nullptr;
  if (!opened)
    return opened.takeError();
  *device = new nereid_device{*std::move(opened), {}, {}};
  return Success{};
}
nereid_status nereid_device_open(const char *name, nereid_device **device) {
  return guarded(name && device, [&] { return giveDevice(device, Device::open(name)); });
}
nereid_status nereid_device_in_context(void *native, nereid_device **device) {
  return guarded(native && device, [&] { return giveDevice(device, Device::inContext(native)); });
}
void nereid_device_destroy(nereid_device *device) { delete device; }

nereid_status nereid_device_allocate(nereid_device *device, size_t bytes, void **data) {
  if (data)
    *data = nullptr;
  return guarded(device && data, [&]() -> Status {
    auto buffer = device->device.internal().allocate(bytes ? bytes : 1);
    if (!buffer)
      return buffer.takeError();
    void *address = buffer->data();
    std::lock_guard lock(device->mutex);
    device->buffers[address] = *std::move(buffer);
    *data = address;
    return Success{};
  });
}
nereid_status nereid_device_free(nereid_device *device, void *data) {
  return guarded(device, [&]() -> Status {
    std::lock_guard lock(device->mutex);
    if (data && !device->buffers.erase(data))
      return Error{"memory that this handle of " + device->device.name() + " did not allocate", {}};
    return Success{};
  });
}
nereid_status nereid_device_synchronize(nereid_device *device) {
  return guarded(device, [&] { return device->device.synchronize(); });
}

nereid_status nereid_stream_default(nereid_device *device, nereid_stream **stream) {
  return guarded(device && stream,
                 [&] { return give(stream, Result<Stream>(device->device.stream())); });
}
nereid_status nereid_stream_wrap(nereid_device *device, void *native, nereid_stream **stream) {
  return guarded(device && stream, [&] { return give(stream, device->device.wrapStream(native)); });
}
void nereid_stream_destroy(nereid_stream *stream) { delete stream; }
nereid_status nereid_stream_synchronize(nereid_stream *stream) {
  return guarded(stream, [&] { return stream->stream.synchronize(); });
}
nereid_status nereid_stream_copy(nereid_stream *stream, void *to, const void *from, size_t bytes) {
  return guarded(stream && ((to && from) || !bytes),
                 [&] { return stream->stream.copy(to, from, bytes); });
}

// Those that have begun on this thread and not ended.
static thread_local std::vector<std::unique_ptr<profile::Range>> ranges;

void nereid_profile_start(void) {
  guarded(true, []() -> Status {
    profile::start();
    return Success{};
  });
}
nereid_status nereid_profile_stop(const char *path, void (*callback)(void *, const char *),
                                  void *data) {
  return guarded(true, [&]() -> Status {
    profile::Profile profile = profile::stop();
    if (callback)
      callback(data, profile.table().c_str());
    return path ? profile.writeTrace(path) : Status(Success{});
  });
}
void nereid_range_begin(const char *name) {
  guarded(true, [&]() -> Status {
    ranges.push_back(std::make_unique<profile::Range>(name ? name : ""));
    return Success{};
  });
}
void nereid_range_end(void) {
  if (!ranges.empty())
    ranges.pop_back();
}

nereid_status nereid_pack_open(const char *path, nereid_pack **pack) {
  return guarded(path && pack, [&]() -> Status {
    *pack = nullptr;
    auto opened = Pack::open(path);
    if (!opened)
      return opened.takeError();
    auto names = opened->kernels();
    *pack = new nereid_pack{*std::move(opened), std::move(names)};
    return Success{};
  });
}
void nereid_pack_destroy(nereid_pack *pack) { delete pack; }
size_t nereid_pack_count(const nereid_pack *pack) { return pack ? pack->names.size() : 0; }
const char *nereid_pack_name(const nereid_pack *pack, size_t index) {
  return index < nereid_pack_count(pack) ? pack->names[index].c_str() : nullptr;
}
nereid_status nereid_pack_kernel(nereid_pack *pack, const char *name,
                                 nereid_packed_kernel **kernel) {
  return guarded(pack && name && kernel, [&] { return give(kernel, pack->pack.kernel(name)); });
}
void nereid_packed_kernel_destroy(nereid_packed_kernel *kernel) { delete kernel; }

nereid_status nereid_packed_kernel_launch(nereid_packed_kernel *kernel, nereid_stream *stream,
                                          const uint32_t grid[3], const nereid_argument *arguments,
                                          size_t count) {
  return guarded(kernel && stream && grid && (arguments || !count), [&] {
    return kernel->kernel.launch(stream->stream, {grid[0], grid[1], grid[2]},
                                 Arguments(arguments, count).all());
  });
}
nereid_status nereid_packed_kernel_prepare(nereid_packed_kernel *kernel, nereid_device *device,
                                           const nereid_argument *arguments, size_t count) {
  return guarded(kernel && device && (arguments || !count), [&] {
    return kernel->kernel.prepare(device->device, Arguments(arguments, count).all());
  });
}
nereid_status nereid_packed_kernel_take_messages(nereid_packed_kernel *kernel,
                                                 nereid_message_callback callback, void *data) {
  return guarded(kernel && callback,
                 [&] { return tell(kernel->kernel.takeMessages(), callback, data); });
}
}
