#include "engine/SpecModule.h"

#include "emit/Interp.h"
#include "engine/NativeArguments.h"
#include "engine/ReferenceModule.h"
#include "support/FloatFormat.h"

#include <bit>
#include <cmath>

namespace nereid::engine {

using emit::Interp;
using emit::Keywords;
using ops::Value;

std::optional<DType> specDType(std::string_view text) {
  if (text.size() > 1 && text[0] == 'f' && text[1] >= '0' && text[1] <= '9')
    return parseDType("fp" + std::string(text.substr(1)));
  return parseDType(text);
}

std::string specName(DType type) {
  std::string_view signature = info(type).signature;
  return signature.starts_with("fp") ? "f" + std::string(signature.substr(2))
                                     : std::string(signature);
}

DType dtypeArgument(Interp &interp, const Value &value) {
  if (value.isStr())
    if (auto dtype = specDType(value.asStr()))
      return *dtype;
  std::string known;
  for (unsigned i = 0; i <= unsigned(DType::Float8E4B15); ++i)
    known += (known.empty() ? "" : ", ") + specName(DType(i));
  interp.raise("ValueError", "unknown dtype " + interp.repr(value) + "; there are " + known);
}

namespace {

Value specFunction(std::string name, std::function<Value(Interp &, NativeArguments &)> body) {
  return Value(std::make_shared<emit::NativeFunction>(
      name, [name, body](Interp &interp, std::vector<Value> &args, Keywords &keywords) {
        NativeArguments arguments(interp, name, args, keywords);
        Value result = body(interp, arguments);
        arguments.finish();
        return result;
      }));
}

std::vector<int64_t> intList(Interp &interp, const Value &value, std::string_view what) {
  std::vector<int64_t> out;
  if (value.isTuple() || value.isList())
    for (const Value &item : value.items())
      out.push_back(interp.asInt(item, what));
  else
    out.push_back(interp.asInt(value, what));
  return out;
}

double number(Interp &interp, const Value &value) {
  if (value.isFloat())
    return value.asFloat();
  if (value.isBool())
    return value.asBool();
  if (value.isInt())
    return value.asInteger().toDouble();
  interp.raise("TypeError", "expected a number, not `" + value.typeName() + "`");
}

// The part that all builders share: shape, dtype, `strides=`, `offset=`.
std::shared_ptr<SpecTensor> makeTensor(Interp &interp, NativeArguments &args,
                                       std::vector<int64_t> shape, DType dtype) {
  auto tensor = std::make_shared<SpecTensor>();
  tensor->dtype = dtype;
  tensor->shape = std::move(shape);
  if (Value strides = args.keyword("strides", Value()); !strides.isNone()) {
    tensor->strides = intList(interp, strides, "a stride");
  } else {
    tensor->strides.assign(tensor->shape.size(), 1);
    for (size_t d = tensor->shape.size(); d-- > 1;)
      tensor->strides[d - 1] = tensor->strides[d] * std::max<int64_t>(tensor->shape[d], 1);
  }
  tensor->offset = interp.asInt(args.keyword("offset", Value(0)), "`offset`");
  const std::string shapeText = support::shapeText(tensor->shape);
  for (int64_t extent : tensor->shape)
    if (extent < 0)
      interp.raise("ValueError", "the shape " + shapeText + " has a negative extent");
  if (tensor->strides.size() != tensor->shape.size())
    interp.raise("ValueError", "the strides " + support::shapeText(tensor->strides) +
                                   " are not one for each extent of the shape " + shapeText);
  if (tensor->offset < 0)
    interp.raise("ValueError", "`offset` is " + std::to_string(tensor->offset) +
                                   ", but a tensor begins inside of its memory");
  return tensor;
}

// "zeros(100, f32)", for who left the type out.
std::string withType(const std::string &name, std::span<const int64_t> shape,
                     std::string_view between, std::string_view type) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  if (shape.size() != 1)
    text = "(" + text + ")";
  return name + "(" + text + ", " + std::string(between) + std::string(type) + ")";
}

Value builder(std::string name, SpecTensor::Recipe recipe) {
  using Recipe = SpecTensor::Recipe;
  return specFunction(name, [recipe, name](Interp &interp, NativeArguments &args) -> Value {
    std::vector<int64_t> shape;
    if (recipe == Recipe::Range || recipe == Recipe::Permutation)
      shape = {interp.asInt(args.required("n"), "`n`")};
    else
      shape = intList(interp, args.required("shape"), "an extent");
    int64_t low = 0, high = 0;
    if (recipe == Recipe::Integers) {
      low = interp.asInt(args.required("low"), "`low`");
      high = interp.asInt(args.required("high"), "`high`");
    }
    bool isInteger = recipe != Recipe::Normal && recipe != Recipe::Uniform;
    std::string between =
        recipe == Recipe::Integers ? std::to_string(low) + ", " + std::to_string(high) + ", " : "";
    DType dtype = dtypeArgument(
        interp, args.required("dtype", withType(name, shape, between, isInteger ? "i32" : "f32")));
    double a = 0, b = 1;
    if (recipe == Recipe::Normal) {
      a = number(interp, args.optional("mean", Value(0)));
      b = number(interp, args.optional("std", Value(1)));
    } else if (recipe == Recipe::Uniform) {
      a = number(interp, args.optional("low", Value(0)));
      b = number(interp, args.optional("high", Value(1)));
    }
    auto tensor = makeTensor(interp, args, std::move(shape), dtype);
    tensor->recipe = recipe;
    tensor->a = a, tensor->b = b, tensor->low = low, tensor->high = high;
    return Value(tensor);
  });
}

Value constant(std::string name, std::optional<double> fixed) {
  return specFunction(name, [fixed, name](Interp &interp, NativeArguments &args) -> Value {
    auto shape = intList(interp, args.required("shape"), "an extent");
    double value = fixed ? *fixed : number(interp, args.required("value"));
    DType dtype = dtypeArgument(
        interp, args.required("dtype", withType(name, shape,
                                                fixed ? "" : Value(value).repr() + ", ", "f32")));
    auto tensor = makeTensor(interp, args, std::move(shape), dtype);
    tensor->recipe = SpecTensor::Recipe::Fill;
    tensor->a = value;
    return Value(tensor);
  });
}

template <double (*f)(double)> Value realFunction(std::string name) {
  return specFunction(name, [](Interp &interp, NativeArguments &args) {
    return Value(f(number(interp, args.required("x"))));
  });
}

double epsilon(Interp &interp, const Value &value) {
  if (value.isStr() && value.asStr() == "tf32")
    return 0x1p-10;
  DType dtype = dtypeArgument(interp, value);
  if (dtype == DType::Float64)
    return 0x1p-52;
  if (!info(dtype).isFloat)
    return 0;
  return std::ldexp(1.0, -int(support::formatOf(dtype).mantissaBits));
}

} // namespace

SpecTensor *tensorOf(const Value &value) {
  if (auto *descriptor = value.as<SpecDescriptor>())
    return descriptor->tensor.get();
  return value.as<SpecTensor>();
}

std::string SpecTensor::repr() const {
  return "tensor of shape " + support::shapeText(shape) + " and dtype " +
         std::string(info(dtype).signature);
}

int64_t SpecTensor::numel() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::optional<Value> SpecTensor::attribute(Interp &, std::string_view name) {
  auto ints = [](const std::vector<int64_t> &list) {
    std::vector<Value> items(list.begin(), list.end());
    return Value::tuple(std::move(items));
  };
  if (name == "shape")
    return ints(shape);
  if (name == "strides")
    return ints(strides);
  if (name == "dtype")
    return Value::str(std::string(specName(dtype)));
  if (name == "nbytes")
    return Value(numel() * int64_t(info(dtype).bytes));
  if (name == "ndim")
    return Value(int64_t(shape.size()));
  if (name == "numel" || name == "element_size")
    return specFunction(std::string(name),
                        [n = name == "numel" ? numel() : int64_t(info(dtype).bytes)](
                            Interp &, NativeArguments &) { return Value(n); });
  if (name == "stride")
    return specFunction(
        "stride", [ints, strides = strides](Interp &interp, NativeArguments &args) -> Value {
          Value dim = args.optional("dim", Value());
          if (dim.isNone())
            return ints(strides);
          int64_t d = interp.asInt(dim, "`dim`"), rank = int64_t(strides.size());
          if (d < -rank || d >= rank)
            interp.raise("IndexError", "dimension " + std::to_string(d) + " of a tensor of rank " +
                                           std::to_string(rank));
          return Value(strides[size_t(d < 0 ? d + rank : d)]);
        });
  return std::nullopt;
}

void SpecTensor::reserve() {
  memory =
      support::HostTensor(dtype, shape, strides, offset, support::HostTensor::Content::Untouched);
  allocated = true;
}

void SpecTensor::allocate(std::string_view seed) {
  memory = support::HostTensor(dtype, shape, strides, offset);
  allocated = true;
  switch (recipe) {
  case Recipe::Normal:
    support::fillNormal(memory, seed, a, b);
    break;
  case Recipe::Uniform:
    support::fillUniform(memory, seed, a, b);
    break;
  case Recipe::Integers:
    support::fillInteger(memory, seed, low, high);
    break;
  case Recipe::Fill:
    support::fillValue(memory, a);
    break;
  case Recipe::Range:
    support::fillRange(memory);
    break;
  case Recipe::Permutation:
    support::fillPermutation(memory, seed);
    break;
  case Recipe::Values:
    memory.fromArray(values);
    break;
  case Recipe::Special:
    support::fillSpecial(memory);
    break;
  case Recipe::Empty:
  case Recipe::Computed:
    break; // poison stays
  }
}

std::optional<Value> SpecDescriptor::attribute(Interp &interp, std::string_view name) {
  return tensor->attribute(interp, name);
}

namespace {

// The names that a spec sees, as they are collected.
struct Names {
  std::vector<std::pair<std::string, Value>> all;

  void add(std::string name, Value value) { all.emplace_back(std::move(name), std::move(value)); }
  void addTensors();
  void addRequests();
  void addNumbers();
};

void Names::addTensors() {
  using Recipe = SpecTensor::Recipe;
  for (auto [name, recipe] : {std::pair{"randn", Recipe::Normal},
                              {"rand", Recipe::Uniform},
                              {"randint", Recipe::Integers},
                              {"empty", Recipe::Empty},
                              {"arange", Recipe::Range},
                              {"permutation", Recipe::Permutation},
                              {"special", Recipe::Special},
                              {"computed", Recipe::Computed}})
    add(name, builder(name, recipe));
  add("zeros", constant("zeros", 0));
  add("ones", constant("ones", 1));
  add("full", constant("full", std::nullopt));
  auto values = [](Interp &interp, NativeArguments &args) -> Value {
    support::Array array = toArray(interp, args.required("data"));
    auto tensor =
        makeTensor(interp, args, array.shape(), dtypeArgument(interp, args.required("dtype")));
    tensor->recipe = Recipe::Values;
    tensor->values = std::move(array);
    return Value(tensor);
  };
  // The second name is what lists of a command line become: a kernel's parameter may be `values`.
  for (const char *name : {"values", "__values"})
    add(name, specFunction("values", values));
}

// What a spec's functions give back, beside tensors.
void Names::addRequests() {
  add("launch", specFunction("launch", [](Interp &interp, NativeArguments &args) -> Value {
        auto launch = std::make_shared<SpecLaunch>();
        Value kernel = args.required("kernel"), grid = args.required("grid");
        if (!kernel.isStr())
          interp.raise("TypeError", "the kernel of a launch is named by text, not by `" +
                                        kernel.typeName() + "`");
        launch->kernel = kernel.asStr();
        if (size_t colon = launch->kernel.rfind(':'); colon != std::string::npos) {
          launch->file = launch->kernel.substr(0, colon);
          launch->kernel = launch->kernel.substr(colon + 1);
        }
        auto extents = intList(interp, grid, "an extent of the grid");
        if (!grid.isTuple() || extents.empty() || extents.size() > 3)
          interp.raise("ValueError",
                       "the grid of `" + launch->kernel + "` is not a tuple of one to three ints");
        for (size_t i = 0; i < extents.size(); ++i)
          launch->grid[i] = extents[i];
        launch->args = args.rest();
        launch->keywords = args.restKeywords();
        return Value(launch);
      }));
  add("descriptor", specFunction("descriptor", [](Interp &interp, NativeArguments &args) -> Value {
        auto descriptor = std::make_shared<SpecDescriptor>();
        Value tensor = args.required("tensor");
        if (!tensor.as<SpecTensor>())
          interp.raise("TypeError",
                       "a descriptor is made of a tensor, not of `" + tensor.typeName() + "`");
        descriptor->tensor = std::static_pointer_cast<SpecTensor>(tensor.object());
        descriptor->block = intList(interp, args.required("block_shape"), "an extent of the block");
        Value padding = args.optional("padding", Value::str("zero"));
        descriptor->paddingIsNan = padding.isStr() && padding.asStr() == "nan";
        return Value(descriptor);
      }));
  add("unsupported",
      specFunction("unsupported", [](Interp &interp, NativeArguments &args) -> Value {
        auto object = std::make_shared<SpecUnsupported>();
        object->reason = interp.str(args.required("reason"));
        return Value(object);
      }));
}

void Names::addNumbers() {
  add("cdiv", specFunction("cdiv", [](Interp &interp, NativeArguments &args) -> Value {
        Integer a(interp.asInt(args.required("a"), "`a`")),
            b(interp.asInt(args.required("b"), "`b`"));
        if (b.isZero())
          interp.raise("ZeroDivisionError", "cdiv by 0");
        return Value(-Integer::floorDiv(-a, b));
      }));
  add("next_power_of_2",
      specFunction("next_power_of_2", [](Interp &interp, NativeArguments &args) -> Value {
        int64_t n = interp.asInt(args.required("n"), "`n`");
        if (n > int64_t(1) << 62)
          interp.raise("ValueError", "next_power_of_2 of " + std::to_string(n));
        return Value(int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(n, 1)))));
      }));
  add("prod", specFunction("prod", [](Interp &interp, NativeArguments &args) -> Value {
        Integer product(1);
        for (const Value &item : interp.iterate(args.required("values")))
          product = product * Integer(interp.asInt(item, "a factor"));
        return Value(product);
      }));
  add("sqrt", realFunction<std::sqrt>("sqrt"));
  add("exp", realFunction<std::exp>("exp"));
  add("log", realFunction<std::log>("log"));
  add("log2", realFunction<std::log2>("log2"));
  add("eps", specFunction("eps", [](Interp &interp, NativeArguments &args) {
        return Value(epsilon(interp, args.required("dtype")));
      }));
  add("sizeof", specFunction("sizeof", [](Interp &interp, NativeArguments &args) {
        return Value(int64_t(info(dtypeArgument(interp, args.required("dtype"))).bytes));
      }));
  add("inf", Value(double(INFINITY)));
  add("nan", Value(std::nan("")));
}

} // namespace

std::vector<std::pair<std::string, Value>> specNames() {
  Names names;
  names.addTensors();
  names.addRequests();
  names.addNumbers();
  return std::move(names.all);
}

} // namespace nereid::engine
