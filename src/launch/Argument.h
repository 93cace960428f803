// Arguments of a launch as the caller holds them: small views that own nothing.
#pragma once

#include "nereid/base.h"
#include "runtime/Tensor.h"
#include "support/Specialization.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace nereid::launch {

/// A tensor descriptor made on the host (`TensorDescriptor(base, shape, strides, block_shape)`).
struct DescriptorArgument {
  runtime::Tensor tensor; ///< base address, shape, strides, element type
  std::array<int64_t, 5> block = {};
  bool padNan = false;
};

class Argument;

/// A tuple whose elements have names.
struct NamedTupleArgument {
  std::span<const Argument> elements;
  std::string_view names; ///< "x,y"
};

/// One argument. What it points at must live until the launch returns.
class Argument {
public:
  enum class Kind : uint8_t {
    Default, ///< left to the parameter's default, a heuristic or the tuner
    None,
    Bool,
    Int,      ///< of Python: typed by its value (int32, int64, uint64)
    TypedInt, ///< of C++: its own type
    Float,    ///< of Python: float32
    TypedFloat,
    Pointer,
    Tensor,
    Descriptor,
    Tuple,
    NamedTuple,
    String,
    Type,
    Function, ///< a jit function, by its key
  };

  Argument() = default;
  static Argument none() { return make(Kind::None); }
  static Argument boolean(bool value) { return make(Kind::Bool, value, DType::Int1); }
  static Argument integer(int64_t value) { return make(Kind::Int, uint64_t(value), DType::Int64); }
  /// For values from 2**63 up.
  static Argument unsignedInteger(uint64_t value) {
    return make(Kind::Int, value, value >> 63 ? DType::UInt64 : DType::Int64);
  }
  static Argument typed(DType type, int64_t value) {
    return make(Kind::TypedInt, uint64_t(value), type);
  }
  static Argument floating(double value) {
    Argument argument = make(Kind::Float, 0, DType::Float32);
    argument.number = value;
    return argument;
  }
  static Argument typed(DType type, double value) {
    Argument argument = make(Kind::TypedFloat, 0, type);
    argument.number = value;
    return argument;
  }
  static Argument pointer(const void *address, DType pointee) {
    return make(Kind::Pointer, reinterpret_cast<uint64_t>(address), pointee);
  }
  static Argument tensor(const runtime::Tensor &tensor) {
    Argument argument = make(Kind::Tensor, 0, tensor.type());
    argument.object = &tensor;
    return argument;
  }
  static Argument descriptor(const DescriptorArgument &descriptor) {
    Argument argument = make(Kind::Descriptor, 0, descriptor.tensor.type());
    argument.object = &descriptor;
    return argument;
  }
  static Argument tuple(std::span<const Argument> elements) {
    Argument argument = make(Kind::Tuple);
    argument.object = elements.data();
    argument.size = uint32_t(elements.size());
    return argument;
  }
  static Argument tuple(const NamedTupleArgument &tuple) {
    Argument argument = make(Kind::NamedTuple);
    argument.object = &tuple;
    return argument;
  }
  static Argument string(std::string_view text) { return textual(Kind::String, text); }
  static Argument function(std::string_view key) { return textual(Kind::Function, key); }
  static Argument dtype(DType type) { return make(Kind::Type, 0, type); }

  Kind kind = Kind::Default;
  DType type = DType::Int32;
  bool isConstexpr = false; ///< compiled in, also where the parameter is not `tl.constexpr`
  bool isConst = false;     ///< a pointer to memory that may not be written
  uint32_t size = 0;        ///< of a tuple or text
  union {
    uint64_t bits = 0;
    double number;
    const void *object;
  };

  const runtime::Tensor &asTensor() const { return *static_cast<const runtime::Tensor *>(object); }
  const DescriptorArgument &asDescriptor() const {
    return *static_cast<const DescriptorArgument *>(object);
  }
  bool isTuple() const { return kind == Kind::Tuple || kind == Kind::NamedTuple; }
  std::span<const Argument> elements() const {
    if (kind == Kind::NamedTuple)
      return static_cast<const NamedTupleArgument *>(object)->elements;
    return {static_cast<const Argument *>(object), size};
  }
  /// Of a named tuple's elements, "x,y".
  std::string_view names() const {
    return kind == Kind::NamedTuple ? static_cast<const NamedTupleArgument *>(object)->names
                                    : std::string_view();
  }
  std::string_view text() const { return {static_cast<const char *>(object), size}; }

  /// As a caller would give it; views the constant's text.
  static Argument constant(const support::Constant &constant);

private:
  static Argument make(Kind kind, uint64_t bits = 0, DType type = DType::Int32) {
    Argument argument;
    argument.kind = kind;
    argument.type = type;
    argument.bits = bits;
    return argument;
  }
  static Argument textual(Kind kind, std::string_view text) {
    Argument argument = make(kind);
    argument.object = text.data();
    argument.size = uint32_t(text.size());
    return argument;
  }
};

} // namespace nereid::launch
