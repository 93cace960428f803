// What both files of the C interface share: handles, and the line that nothing is thrown across.
#pragma once

#include "nereid/c.h"
#include "nereid/launch.h"
#include "runtime/Device.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

struct nereid_device {
  nereid::Device device;
  std::mutex mutex;
  std::map<void *, nereid::runtime::Buffer> buffers; // given out by nereid_device_allocate
};
struct nereid_stream {
  nereid::Stream stream;
};
struct nereid_tensor {
  nereid::Tensor tensor;
};
struct nereid_descriptor {
  nereid::TensorDescriptor descriptor;
};

namespace nereid::c {

/// Keeps `what` for nereid_last_error and gives `status` back.
nereid_status fail(nereid_status status, std::string_view what);
/// The same, with diagnostics.
nereid_status fail(Error error);

/// Runs `body`, which gives a Status; whatever it throws ends here.
template <typename Body>
nereid_status guarded(bool valid, Body body, const char *call = __builtin_FUNCTION()) {
  if (!valid)
    return fail(NEREID_BAD_CALL, "a null handle or pointer is given to " + std::string(call));
  try {
    Status status = body();
    return status ? NEREID_OK : fail(status.takeError());
  } catch (const std::bad_alloc &) {
    return fail(NEREID_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    return fail(NEREID_FAILED, error.what());
  } catch (...) {
    return fail(NEREID_FAILED, "an unknown exception");
  }
}

/// Puts a value into a new handle, which is null if there is none.
template <typename Handle, typename T> Status give(Handle **to, Result<T> value) {
  *to = nullptr;
  if (!value)
    return value.takeError();
  *to = new Handle{*std::move(value)};
  return Success{};
}

inline DType typeOf(nereid_dtype type) {
  if (unsigned(type) > unsigned(NEREID_FLOAT8E4B15))
    throw std::runtime_error("data type " + std::to_string(int(type)) + " is not known");
  return DType(type);
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
    DType type = typeOf(given.dtype);
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
    case NEREID_ARG_TENSOR:
      argument = given.value.tensor ? Argument(given.value.tensor->tensor) : Argument(nullptr);
      break;
    case NEREID_ARG_DESCRIPTOR:
      if (!given.value.descriptor)
        throw std::runtime_error("an argument is a null descriptor");
      argument = given.value.descriptor->descriptor;
      break;
    default:
      throw std::runtime_error("argument kind " + std::to_string(int(given.kind)) +
                               " is not known");
    }
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
  if (given && given->size < sizeof given->size)
    throw std::runtime_error("`size` of the options is " + std::to_string(given->size) +
                             ": it says how much of them the program knows, `sizeof options`");
  if (given)
    std::memcpy(static_cast<void *>(&options), given, std::min(given->size, sizeof options));
  return options;
}

/// Hands each message to the caller's function.
Status tell(Result<std::vector<KernelMessage>> messages, nereid_message_callback callback,
            void *data);

} // namespace nereid::c
