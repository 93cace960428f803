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

struct nereid_event {
  Event event;
};
struct nereid_graph {
  Graph graph;
};

namespace {
thread_local std::string lastError;
thread_local std::vector<Diagnostic> lastDiagnostics;
} // namespace

nereid_status c::fail(nereid_status status, std::string_view what) {
  lastDiagnostics.clear();
  try {
    lastError = what;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

nereid_status c::fail(Error error) {
  fail(NEREID_FAILED, describe(error));
  lastDiagnostics = std::move(error.diagnostics);
  return NEREID_FAILED;
}

Status c::tell(Result<std::vector<KernelMessage>> messages, nereid_message_callback callback,
               void *data) {
  if (!messages)
    return messages.takeError();
  for (const KernelMessage &message : *messages)
    callback(data, message.text.c_str(), message.isAssert, message.program);
  return Success{};
}

namespace {
// What the program gave, until nothing uses it any more.
template <typename Functions> class Given {
public:
  explicit Given(const Functions &functions) : functions(functions) {}
  Given(const Given &) = delete;
  ~Given() {
    if (functions.release)
      functions.release(functions.data);
  }

protected:
  const Functions functions;
};

class GivenAllocator final : public Allocator, Given<nereid_allocator> {
public:
  using Given::Given;
  void *allocate(size_t bytes, void *stream) override {
    return functions.allocate(functions.data, bytes, stream);
  }
  void free(void *pointer, size_t bytes, void *stream) override {
    functions.free(functions.data, pointer, bytes, stream);
  }
};

class GivenExecutor final : public Executor, Given<nereid_executor> {
public:
  using Given::Given;
  unsigned concurrency() const override { return functions.concurrency; }
  void run(unsigned workers, Body body, void *data) override {
    functions.run(functions.data, workers, body, data);
  }
};
} // namespace

extern "C" {

const char *nereid_last_error(void) { return lastError.c_str(); }
const char *nereid_version(void) { return NEREID_VERSION; }

nereid_status nereid_last_diagnostic(size_t index, nereid_diagnostic *to) {
  if (!to || index >= lastDiagnostics.size())
    return to ? NEREID_FAILED : NEREID_BAD_CALL; // the last error stays
  static constexpr const char *severities[] = {"note", "warning", "error"};
  const Diagnostic &from = lastDiagnostics[index];
  *to = {severities[size_t(from.severity)],
         from.code.c_str(),
         from.message.c_str(),
         from.hint.c_str(),
         from.where.file.c_str(),
         from.where.begin.line,
         from.where.begin.column};
  return NEREID_OK;
}

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

const char *nereid_device_name(const nereid_device *device) {
  return device ? device->device.name().c_str() : "";
}
const char *nereid_device_description(const nereid_device *device) {
  return device ? device->device.description().c_str() : "";
}
const char *nereid_device_architecture(const nereid_device *device) {
  return device ? device->device.architecture().c_str() : "";
}
unsigned nereid_device_units(const nereid_device *device) {
  return device ? device->device.units() : 0;
}
nereid_status nereid_device_memory(nereid_device *device, int resetPeak, nereid_memory_use *use) {
  return guarded(device && use, [&]() -> Status {
    MemoryUse now = device->device.memory();
    *use = {now.current, now.peak, now.allocations};
    if (resetPeak)
      device->device.resetPeakMemory();
    return Success{};
  });
}

nereid_status nereid_device_set_allocator(nereid_device *device,
                                          const nereid_allocator *allocator) {
  return guarded(device && (!allocator || (allocator->allocate && allocator->free)),
                 [&]() -> Status {
                   device->device.setAllocator(
                       allocator ? std::make_shared<GivenAllocator>(*allocator) : nullptr);
                   return Success{};
                 });
}
nereid_status nereid_device_set_executor(nereid_device *device, const nereid_executor *executor) {
  return guarded(device && (!executor || executor->run), [&]() -> Status {
    if (executor && !executor->concurrency)
      return Error{"`concurrency` of the executor is 0; it is 1 or more", {}};
    return device->device.setExecutor(executor ? std::make_shared<GivenExecutor>(*executor)
                                               : nullptr);
  });
}

nereid_status nereid_stream_create(nereid_device *device, nereid_stream **stream) {
  return guarded(device && stream, [&] { return give(stream, device->device.createStream()); });
}
void *nereid_stream_native(const nereid_stream *stream) {
  return stream ? stream->stream.native() : nullptr;
}

nereid_status nereid_event_create(nereid_device *device, nereid_event **event) {
  return guarded(device && event, [&] { return give(event, device->device.createEvent()); });
}
void nereid_event_destroy(nereid_event *event) { delete event; }
nereid_status nereid_stream_record(nereid_stream *stream, nereid_event *event) {
  return guarded(stream && event, [&] { return stream->stream.record(event->event); });
}
nereid_status nereid_stream_wait(nereid_stream *stream, nereid_event *event) {
  return guarded(stream && event, [&] { return stream->stream.wait(event->event); });
}
nereid_status nereid_event_synchronize(nereid_event *event) {
  return guarded(event, [&] { return event->event.synchronize(); });
}
nereid_status nereid_event_query(nereid_event *event, int *isReached) {
  return guarded(event && isReached, [&]() -> Status {
    auto reached = event->event.query();
    if (!reached)
      return reached.takeError();
    *isReached = *reached;
    return Success{};
  });
}
nereid_status nereid_event_seconds(nereid_event *start, nereid_event *end, double *seconds) {
  return guarded(start && end && seconds, [&]() -> Status {
    auto between = end->event.secondsSince(start->event);
    if (!between)
      return between.takeError();
    *seconds = *between;
    return Success{};
  });
}

nereid_status nereid_stream_begin_capture(nereid_stream *stream) {
  return guarded(stream, [&] { return stream->stream.beginCapture(); });
}
nereid_status nereid_stream_end_capture(nereid_stream *stream, nereid_graph **graph) {
  return guarded(stream && graph, [&] { return give(graph, stream->stream.endCapture()); });
}
nereid_status nereid_stream_launch_graph(nereid_stream *stream, nereid_graph *graph) {
  return guarded(stream && graph, [&] { return stream->stream.launch(graph->graph); });
}
size_t nereid_graph_nodes(const nereid_graph *graph) {
  return graph ? graph->graph.nodeCount() : 0;
}
void nereid_graph_destroy(nereid_graph *graph) { delete graph; }

nereid_status nereid_tensor_wrap(nereid_device *device, void *data, nereid_dtype dtype, size_t rank,
                                 const int64_t *shape, const int64_t *strides,
                                 nereid_tensor **tensor) {
  return guarded(device && (shape || !rank) && tensor, [&] {
    return give(tensor,
                Tensor::wrap(device->device, data, typeOf(dtype), std::span(shape, rank),
                             strides ? std::span(strides, rank) : std::span<const int64_t>()));
  });
}
nereid_status nereid_tensor_empty(nereid_device *device, nereid_dtype dtype, size_t rank,
                                  const int64_t *shape, nereid_tensor **tensor) {
  return guarded(device && (shape || !rank) && tensor, [&] {
    return give(tensor, Tensor::empty(device->device, typeOf(dtype), std::span(shape, rank)));
  });
}
nereid_status nereid_tensor_from_dlpack(DLManagedTensor *from, nereid_tensor **tensor) {
  return guarded(from && tensor, [&] { return give(tensor, Tensor::fromDLPack(from)); });
}
nereid_status nereid_tensor_to_dlpack(const nereid_tensor *tensor, DLManagedTensor **to) {
  return guarded(tensor && to, [&]() -> Status {
    *to = nullptr;
    auto made = tensor->tensor.toDLPack();
    if (!made)
      return made.takeError();
    *to = *made;
    return Success{};
  });
}
void nereid_tensor_destroy(nereid_tensor *tensor) { delete tensor; }
void *nereid_tensor_data(const nereid_tensor *tensor) {
  return tensor ? tensor->tensor.data() : nullptr;
}
nereid_status nereid_tensor_upload(nereid_tensor *tensor, const void *host) {
  return guarded(tensor && host, [&] { return tensor->tensor.upload(host); });
}
nereid_status nereid_tensor_download(const nereid_tensor *tensor, void *host) {
  return guarded(tensor && host, [&] { return tensor->tensor.download(host); });
}

nereid_status nereid_descriptor_create(const nereid_tensor *tensor, const int64_t *block,
                                       int padNan, nereid_descriptor **descriptor) {
  return guarded(tensor && block && descriptor, [&] {
    return give(descriptor, TensorDescriptor::make(tensor->tensor,
                                                   std::span(block, tensor->tensor.shape().size()),
                                                   padNan != 0));
  });
}
void nereid_descriptor_destroy(nereid_descriptor *descriptor) { delete descriptor; }

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
nereid_status nereid_profile_start_lines(const char *device) {
  return guarded(device, [&]() -> Status {
    profile::start({.lines = device});
    return Success{};
  });
}

static void tellLine(const profile::Line &line, const nereid_profile_reader &reader) {
  std::vector<const char *> reasons, callerFiles;
  std::vector<uint64_t> reasonSamples;
  std::vector<uint32_t> callerLines;
  for (const auto &[reason, samples] : line.reasons) {
    reasons.push_back(reason.c_str());
    reasonSamples.push_back(samples);
  }
  for (const auto &[file, number] : line.callers) {
    callerFiles.push_back(file.c_str());
    callerLines.push_back(number);
  }
  const nereid_profile_line told = {.kernel = line.kernel.c_str(),
                                    .file = line.file.c_str(),
                                    .line = line.line,
                                    .samples = line.samples,
                                    .waits_for = line.waitsFor.c_str(),
                                    .hint = line.hint.c_str(),
                                    .from_file = line.fromFile.c_str(),
                                    .from_line = line.fromLine,
                                    .reason_count = reasons.size(),
                                    .reasons = reasons.data(),
                                    .reason_samples = reasonSamples.data(),
                                    .caller_count = callerFiles.size(),
                                    .caller_files = callerFiles.data(),
                                    .caller_lines = callerLines.data()};
  reader.line(reader.data, &told);
}

nereid_status nereid_profile_finish(const nereid_profile_reader *given) {
  return guarded(true, [&]() -> Status {
    const auto reader = sized(given);
    const profile::Profile profile = profile::stop();
    if (reader.table)
      reader.table(reader.data, profile.table().c_str());
    if (reader.note)
      for (const std::string &note : profile.notes())
        reader.note(reader.data, note.c_str());
    if (reader.line)
      for (const profile::Line &line : profile.lines())
        tellLine(line, reader);
    if (reader.line_table)
      reader.line_table(reader.data, profile.lineTable().c_str());
    return reader.trace ? profile.writeTrace(reader.trace) : Status(Success{});
  });
}
nereid_status nereid_profile_stop(const char *path, nereid_text_callback callback, void *data) {
  const nereid_profile_reader reader = {
      .size = sizeof reader, .trace = path, .table = callback, .data = data};
  return nereid_profile_finish(&reader);
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
  return guarded(kernel && stream && (arguments || !count), [&] {
    Arguments given(arguments, count);
    return grid ? kernel->kernel.launch(stream->stream, {grid[0], grid[1], grid[2]}, given.all())
                : kernel->kernel.launch(stream->stream, given.all());
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
