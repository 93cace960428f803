#include "engine/Hooks.h"

#include "support/FloatFormat.h"

#include <cstring>
#include <functional>
#include <numeric>

namespace nereid::engine {

using emit::NativeObject;
using ops::Value;
using support::Constant;

namespace {

Value tupleOf(std::span<const int64_t> numbers) {
  std::vector<Value> values(numbers.begin(), numbers.end());
  return Value(std::make_shared<ops::Tuple>(std::move(values)));
}

// The bits of `number` as an element of `type`.
uint64_t bitsOf(double number, DType type) {
  uint64_t bits = 0;
  if (!info(type).isFloat) {
    int64_t whole = int64_t(number);
    std::memcpy(&bits, &whole, 8);
  } else if (type == DType::Float64) {
    std::memcpy(&bits, &number, 8);
  } else if (type == DType::Float32) {
    float narrow = float(number);
    std::memcpy(&bits, &narrow, 4);
  } else {
    bits = support::encodeFloat(support::formatOf(type), number);
  }
  return bits;
}

} // namespace

namespace {

// A tensor as decorators see it: what it is, not what it holds. Of a bare pointer the type alone is
// known.
struct TensorFacts : NativeObject {
  TensorFacts(std::string name, DType type) : name(std::move(name)), type(type) {}
  TensorFacts(std::string name, const runtime::Tensor &tensor)
      : name(std::move(name)), type(tensor.type()),
        shape(std::in_place, tensor.shape().begin(), tensor.shape().end()),
        strides(tensor.strides().begin(), tensor.strides().end()) {}
  std::string typeName() const override { return "tensor"; }
  std::string repr() const override { return "the argument `" + name + "`"; }

  std::optional<Value> attribute(emit::Interp &interp, std::string_view asked) override {
    auto value = known(interp, asked);
    return value ? value : interp.makeUnknown(repr() + "." + std::string(asked));
  }

  std::optional<Value> known(emit::Interp &interp, std::string_view asked) const {
    auto method = [&](auto body) {
      return interp.native(std::string(asked),
                           [body](emit::Interp &interp, std::vector<Value> &args,
                                  emit::Keywords &) -> Value { return body(interp, args); });
    };
    auto number = [&](int64_t value) {
      return method([value](emit::Interp &, std::vector<Value> &) { return Value(value); });
    };
    if (asked == "dtype")
      return Value::type(ops::Type::scalar(type));
    if (asked == "element_size")
      return number(info(type).bytes);
    if (asked == "itemsize")
      return Value(int64_t(info(type).bytes));
    if (!shape)
      return std::nullopt;
    if (asked == "shape")
      return tupleOf(*shape);
    if (asked == "ndim")
      return Value(int64_t(shape->size()));
    if (asked == "dim")
      return number(int64_t(shape->size()));
    if (asked == "numel")
      return number(std::accumulate(shape->begin(), shape->end(), int64_t(1), std::multiplies()));
    if (asked == "stride" || asked == "size")
      return method([of = asked == "size" ? *shape : strides](emit::Interp &interp,
                                                              std::vector<Value> &args) {
        if (args.empty())
          return tupleOf(of);
        int64_t axis = interp.asInt(args[0], "the dimension"), rank = int64_t(of.size());
        if (axis < -rank || axis >= rank)
          interp.raise("IndexError", "the tensor has " + std::to_string(rank) + " dimensions");
        return Value(of[size_t(axis < 0 ? axis + rank : axis)]);
      });
    return std::nullopt;
  }

  std::string name;
  DType type;
  std::optional<std::vector<int64_t>> shape;
  std::vector<int64_t> strides;
};

} // namespace

struct HookedLaunch::Tensor final : TensorFacts {
  Tensor(std::string name, const runtime::Tensor &tensor, runtime::Stream &stream)
      : TensorFacts(std::move(name), tensor), tensor(tensor), stream(stream) {}

  std::optional<Value> attribute(emit::Interp &interp, std::string_view name) override {
    if (name == "zero_" || name == "fill_") {
      bool isFill = name == "fill_";
      return interp.native(std::string(name),
                           [this, isFill](emit::Interp &interp, std::vector<Value> &args,
                                          emit::Keywords &) -> Value {
                             double number = 0;
                             if (isFill) {
                               if (args.size() != 1 || !(args[0].isInt() || args[0].isFloat()))
                                 interp.raise("TypeError", "`fill_` takes a number");
                               number = args[0].isFloat() ? args[0].asFloat()
                                                          : args[0].asInteger().toDouble();
                             }
                             fill(interp, number);
                             return Value();
                           });
    }
    return known(interp, name);
  }

  void fill(emit::Interp &interp, double number) {
    if (!tensor.isContiguous())
      interp.raise("RuntimeError", "a hook fills contiguous tensors only");
    unsigned width = tensor.elementBytes();
    uint64_t bits = bitsOf(number, tensor.type());
    size_t count = size_t(tensor.numel());
    // Wider elements are pairs of words; only those of equal halves can be filled.
    if (width == 8) {
      if (uint32_t(bits) != uint32_t(bits >> 32))
        interp.raise("RuntimeError", "a hook fills elements of 8 bytes with 0 or -1 only");
      width = 4;
      count *= 2;
    }
    if (Status status = stream.fill(tensor.data(), uint32_t(bits), width, count); !status)
      interp.raise("RuntimeError", status.error().what);
  }

  const runtime::Tensor &tensor;
  runtime::Stream &stream;
};

struct HookedLaunch::Descriptor final : NativeObject {
  explicit Descriptor(const launch::DescriptorArgument &from) : argument(from) {}
  std::string typeName() const override { return "TensorDescriptor"; }
  std::string repr() const override { return "TensorDescriptor"; }

  std::optional<Value> attribute(emit::Interp &, std::string_view name) override {
    size_t rank = argument.tensor.rank();
    if (name == "shape")
      return tupleOf(argument.tensor.shape());
    if (name == "strides")
      return tupleOf(argument.tensor.strides());
    if (name == "block_shape")
      return tupleOf({argument.block.data(), rank});
    return std::nullopt;
  }
  bool setAttribute(emit::Interp &interp, std::string_view name, const Value &value) override {
    if (name != "block_shape")
      return false;
    std::vector<Value> sizes = interp.iterate(value);
    if (sizes.size() != argument.tensor.rank())
      interp.raise("ValueError", "a block of " + std::to_string(sizes.size()) +
                                     " dimensions for a descriptor of " +
                                     std::to_string(argument.tensor.rank()));
    for (size_t i = 0; i < sizes.size(); ++i)
      argument.block[i] = interp.asInt(emit::unboxed(sizes[i]), "a size of the block");
    isChanged = true;
    return true;
  }

  launch::DescriptorArgument argument;
  bool isChanged = false;
};

std::optional<Value> hostValue(emit::Interp &interp, const launch::Argument &argument) {
  using Kind = launch::Argument::Kind;
  switch (argument.kind) {
  case Kind::None:
    return interp.fromConstant(Constant::none());
  case Kind::Bool:
    return interp.fromConstant(Constant::boolean(argument.bits != 0));
  case Kind::Int:
  case Kind::TypedInt:
    return interp.fromConstant(argument.type == DType::UInt64
                                   ? Constant::integer(std::to_string(argument.bits))
                                   : Constant::integer(int64_t(argument.bits)));
  case Kind::Float:
  case Kind::TypedFloat:
    return interp.fromConstant(Constant::floating(argument.number));
  case Kind::String:
    return interp.fromConstant(Constant::string(std::string(argument.text())));
  case Kind::Type:
    return interp.fromConstant(Constant::dtype(argument.type));
  default:
    return std::nullopt;
  }
}

Value decoratorValue(emit::Interp &interp, const std::string &name,
                     const launch::Argument &argument) {
  using Kind = launch::Argument::Kind;
  if (auto known = hostValue(interp, argument))
    return *known;
  if (argument.kind == Kind::Tensor)
    return Value(std::make_shared<TensorFacts>(name, argument.asTensor()));
  if (argument.kind == Kind::Pointer)
    return Value(std::make_shared<TensorFacts>(name, argument.type));
  return interp.makeUnknown("the argument `" + name + "`");
}

HookedLaunch::HookedLaunch(emit::Interp &interp, const launch::Signature &signature,
                           std::span<launch::Argument> arguments, runtime::Stream &stream)
    : interp(interp), arguments(arguments) {
  auto dict = std::make_shared<ops::Dict>();
  using Kind = launch::Argument::Kind;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &name = signature.parameters[i].name;
    Value value = interp.makeUnknown("the argument `" + name + "`");
    if (auto known = hostValue(interp, arguments[i])) {
      value = *known;
    } else if (arguments[i].kind == Kind::Tensor) {
      value = Value(std::make_shared<Tensor>(name, arguments[i].asTensor(), stream));
    } else if (arguments[i].kind == Kind::Descriptor) {
      auto descriptor = std::make_shared<Descriptor>(arguments[i].asDescriptor());
      descriptors.emplace_back(i, descriptor);
      value = Value(descriptor);
    } else if (arguments[i].kind == Kind::Default) {
      continue;
    }
    dict->entries.emplace_back(Value::str(name), value);
  }
  named = Value(dict);
}

HookedLaunch::~HookedLaunch() = default;

Status HookedLaunch::call(const Value &hook, emit::Keywords words) {
  try {
    interp.callHost(hook, {named}, std::move(words));
  } catch (emit::EvalError &error) {
    Diagnostic diagnostic = error.diagnostic;
    diagnostic.message = "a hook of the kernel fails: " + diagnostic.message;
    return Error{diagnostic.message, {diagnostic}};
  }
  for (auto &[index, descriptor] : descriptors)
    if (descriptor->isChanged)
      arguments[index] = launch::Argument::descriptor(descriptor->argument);
  return Success{};
}

} // namespace nereid::engine
