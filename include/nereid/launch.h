// What every launch takes: arguments, grids, and how failures are told.
#pragma once

#include "nereid/tensor.h"

#include <span>
#include <stdexcept>

namespace nereid {

/// The failure in words, with each diagnostic as `file:line:column: error: ... [Code]`, its line,
/// if the file can be read or the program of the text still lives, and its hint.
NEREID_API std::string describe(const Error &error);

/// What `must` throws.
class NEREID_API Exception : public std::runtime_error {
public:
  explicit Exception(Error error);
  ~Exception() override;
  const Error &error() const { return *failure; }

private:
  std::shared_ptr<const Error> failure;
};

/// The value, or an Exception.
template <typename T> T must(Result<T> result) {
  if (!result)
    throw Exception(result.takeError());
  return *std::move(result);
}

// Clang warns where what is viewed ends before the view.
#ifdef __clang__
#define NEREID_BORROWED [[clang::lifetimebound]]
#else
#define NEREID_BORROWED
#endif

/// An argument of a launch: a small view. The tensor, descriptor, text or list that it is made from
/// lives until the launch returns; temporaries do only in the call itself. Numbers are typed as
/// Triton types Python's: an int is int32 if it fits, a float is float32; parameters with an
/// annotation take that type.
class NEREID_API Argument {
public:
  /// The parameter's default.
  Argument() : bits(0) {}
  Argument(const Tensor &tensor NEREID_BORROWED);
  Argument(const TensorDescriptor &descriptor NEREID_BORROWED);
  Argument(DType type);
  Argument(std::nullptr_t) : Argument() { kind = None; }
  Argument(bool value) : Argument() {
    kind = Bool;
    type = DType::Int1;
    bits = value;
  }
  template <typename T>
    requires std::is_integral_v<T>
  Argument(T value) : Argument() {
    kind = Int;
    bits = uint64_t(value);
    type = std::is_unsigned_v<T> && bits >> 63 ? DType::UInt64 : DType::Int64;
  }
  template <typename T>
    requires std::is_floating_point_v<T>
  Argument(T value) : Argument() {
    kind = Float;
    type = DType::Float32;
    number = double(value);
  }
  /// A pointer to memory of the launch's device.
  template <typename T>
    requires(sizeof(DTypeOf<std::remove_cv_t<T>>) > 0)
  Argument(T *pointer)
      : Argument(const_cast<const void *>(static_cast<const volatile void *>(pointer)),
                 DTypeOf<std::remove_cv_t<T>>::value) {}
  Argument(const void *pointer, DType pointee);
  /// A string for a `tl.constexpr` parameter.
  Argument(std::string_view text NEREID_BORROWED);
  Argument(const char *text) : Argument(std::string_view(text)) {}
  /// A tuple. A launch with one allocates.
  Argument(std::span<const Argument> elements NEREID_BORROWED);

  std::string_view name; ///< of the parameter; empty: by position

private:
  friend struct ArgumentReader;
  // Kind and type are numbered as the launch path numbers them, which takes them as they are.
  enum Kind : uint8_t {
    Default = 0,
    None = 1,
    Bool = 2,
    Int = 3,
    Float = 5,
    Pointer = 7,
    TensorView = 8,
    Descriptor = 9,
    Tuple = 10,
    Text = 12,
    Type = 13
  };
  Kind kind = Default;
  DType type = DType::Int32;
  size_t count = 0;
  union {
    uint64_t bits;
    double number;
    const void *object;
  };
};

/// An argument for the parameter `name`.
template <typename T> Argument named(std::string_view name, T &&value) {
  Argument argument(std::forward<T>(value));
  argument.name = name;
  return argument;
}

/// How many programs run along each axis. One with a zero in it runs nothing.
struct Grid {
  uint32_t x = 1, y = 1, z = 1;
};

/// A parameter of a kernel.
struct KernelParameter {
  std::string name;
  bool isConstexpr = false;
};

/// What a launch printed or which assertion failed in it.
struct KernelMessage {
  std::string text;
  bool isAssert = false;
  uint32_t program[3] = {};
};

/// What a program and the library must have in common: the version, and how the C++ library and the
/// compiler lay out what is passed between them.
struct Abi {
  const char *version = NEREID_VERSION;
  size_t sizes[6] = {sizeof(std::string), sizeof(std::vector<int>), sizeof(Diagnostic),
                     sizeof(Error),       sizeof(Argument),         sizeof(Tensor)};
};
/// Why a program with this ABI can't use the library, or null. What opens the library asks it.
NEREID_API const char *abiMismatch(const Abi &program);

} // namespace nereid
