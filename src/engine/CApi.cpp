// The C interface over the public classes. Nothing is thrown across it.
#include "nereid/c.h"
#include "nereid/engine.h"
#include "runtime/Device.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

using namespace nereid;

static_assert(int(NEREID_FLOAT8E4B15) == int(DType::Float8E4B15));

struct nereid_engine {
  Engine engine;
};
struct nereid_program {
  Program program;
};
struct nereid_kernel {
  Kernel kernel;
};
struct nereid_device {
  Device device;
  std::mutex mutex;
  std::map<void *, runtime::Buffer> buffers; // given out by nereid_device_allocate
};
struct nereid_stream {
  Stream stream;
};

namespace {

thread_local std::string lastError;

nereid_status fail(nereid_status status, std::string_view what) {
  try {
    lastError = what;
  } catch (...) {
    lastError.clear();
  }
  return status;
}

/// Runs `body`, which gives a Status; whatever it throws ends here.
template <typename Body> nereid_status guarded(bool valid, Body body) {
  if (!valid)
    return fail(NEREID_BAD_CALL, "a null handle or pointer");
  try {
    Status status = body();
    return status ? NEREID_OK : fail(NEREID_FAILED, describe(status.error()));
  } catch (const std::bad_alloc &) {
    return fail(NEREID_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    return fail(NEREID_FAILED, error.what());
  } catch (...) {
    return fail(NEREID_FAILED, "an unknown exception");
  }
}

/// Puts a value into a new handle.
template <typename Handle, typename T> Status give(Handle **to, Result<T> value) {
  if (!value)
    return value.takeError();
  *to = new Handle{*std::move(value)};
  return Success{};
}

// Arguments by the C++ interface, on the stack unless there are many.
class Arguments {
public:
  Arguments(const nereid_argument *given, size_t count) : count(count) {
    Argument *at = few.data();
    if (count > few.size()) {
      many.resize(count);
      at = many.data();
    }
    for (size_t i = 0; i < count; ++i)
      at[i] = read(given[i]);
    first = at;
  }
  std::span<const Argument> all() const { return {first, count}; }

private:
  static Argument read(const nereid_argument &given) {
    auto type = DType(given.dtype);
    Argument argument;
    switch (given.kind) {
    case NEREID_ARG_DEFAULT:
      break;
    case NEREID_ARG_NONE:
      argument = nullptr;
      break;
    case NEREID_ARG_BOOL:
      argument = given.value.integer != 0;
      break;
    case NEREID_ARG_INT:
      argument = given.value.integer;
      break;
    case NEREID_ARG_FLOAT:
      argument = given.value.number;
      break;
    case NEREID_ARG_POINTER:
      argument = Argument(given.value.pointer, type);
      break;
    case NEREID_ARG_TEXT:
      argument = std::string_view(given.value.text ? given.value.text : "");
      break;
    case NEREID_ARG_DTYPE:
      argument = type;
      break;
    default:
      throw std::runtime_error("argument kind " + std::to_string(int(given.kind)) +
                               " is not known");
    }
    if (unsigned(given.dtype) > unsigned(NEREID_FLOAT8E4B15))
      throw std::runtime_error("data type " + std::to_string(int(given.dtype)) + " is not known");
    if (given.name)
      argument.name = given.name;
    return argument;
  }
  std::array<Argument, 16> few;
  std::vector<Argument> many;
  const Argument *first;
  size_t count;
};

// A structure of the caller as far as it knows it; the rest is zero.
template <typename Options> Options sized(const Options *given) {
  Options options = {};
  if (given)
    std::memcpy(static_cast<void *>(&options), given, std::min(given->size, sizeof options));
  return options;
}

} // namespace

extern "C" {

const char *nereid_last_error(void) { return lastError.c_str(); }
const char *nereid_version(void) { return NEREID_VERSION; }

nereid_status nereid_engine_create(const nereid_engine_options *options, nereid_engine **engine) {
  return guarded(engine, [&] {
    nereid_engine_options given = sized(options);
    EngineOptions to;
    if (given.cache_directory)
      to.cacheDirectory = given.cache_directory;
    to.cacheOnDisk = !given.no_disk_cache;
    return give(engine, Engine::create(std::move(to)));
  });
}
void nereid_engine_destroy(nereid_engine *engine) { delete engine; }

nereid_status nereid_program_load(nereid_engine *engine, const char *path,
                                  nereid_program **program) {
  return guarded(engine && path && program,
                 [&] { return give(program, engine->engine.load(path)); });
}
nereid_status nereid_program_load_text(nereid_engine *engine, const char *text, size_t size,
                                       const char *name, nereid_program **program) {
  return guarded(engine && (text || !size) && program, [&] {
    return give(program, engine->engine.loadText({text, size}, name ? name : "<text>"));
  });
}
void nereid_program_destroy(nereid_program *program) { delete program; }

nereid_status nereid_kernel_get(nereid_program *program, const char *name,
                                const nereid_compile_options *options, nereid_kernel **kernel) {
  return guarded(program && name && kernel, [&] {
    nereid_compile_options given = sized(options);
    CompileOptions to;
    if (given.num_warps)
      to.numWarps = given.num_warps;
    if (given.num_stages)
      to.numStages = given.num_stages;
    if (given.num_ctas)
      to.numCtas = given.num_ctas;
    to.maxRegisters = given.max_registers;
    to.debug = given.debug != 0;
    if (given.input_precision)
      to.inputPrecision = given.input_precision;
    return give(kernel, program->program.kernel(name, to));
  });
}
void nereid_kernel_destroy(nereid_kernel *kernel) { delete kernel; }

nereid_status nereid_device_open(const char *name, nereid_device **device) {
  return guarded(name && device, [&]() -> Status {
    auto opened = Device::open(name);
    if (!opened)
      return opened.takeError();
    *device = new nereid_device{*std::move(opened), {}, {}};
    return Success{};
  });
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

nereid_status nereid_kernel_launch(nereid_kernel *kernel, nereid_stream *stream,
                                   const uint32_t grid[3], const nereid_argument *arguments,
                                   size_t count) {
  return guarded(kernel && stream && grid && (arguments || !count), [&] {
    return kernel->kernel.launch(stream->stream, {grid[0], grid[1], grid[2]},
                                 Arguments(arguments, count).all());
  });
}
nereid_status nereid_kernel_prepare(nereid_kernel *kernel, nereid_device *device,
                                    const nereid_argument *arguments, size_t count) {
  return guarded(kernel && device && (arguments || !count), [&] {
    return kernel->kernel.prepare(device->device, Arguments(arguments, count).all());
  });
}
}
