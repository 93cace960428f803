#include "engine/ReferenceModule.h"

#include "emit/Interp.h"
#include "engine/NativeArguments.h"

#include <cmath>
#include <map>
#include <numbers>

namespace nereid::engine {

using emit::Interp;
using emit::Keywords;
using ops::Value;
using support::Array;
using support::ArrayBinary;
using support::ArrayError;
using support::ArrayReduction;
using support::ArrayUnary;

namespace {

// Runs array code; a misuse becomes a ValueError at the line that made it.
template <typename F> auto guarded(Interp &interp, F f) {
  try {
    return f();
  } catch (ArrayError &error) {
    interp.raise("ValueError", error.message);
  }
}

std::optional<int64_t> optionalInt(Interp &interp, const Value &value, const char *what) {
  if (value.isNone())
    return std::nullopt;
  return interp.asInt(value, what);
}

Array::Shape shapeArgument(Interp &interp, const Value &value) {
  Array::Shape shape;
  if (value.isTuple() || value.isList())
    for (const Value &extent : value.items())
      shape.push_back(interp.asInt(extent, "an extent"));
  else
    shape.push_back(interp.asInt(value, "an extent"));
  return shape;
}

// A kind is one of `float`, `int`, `bool` and NumPy's names for them.
Array::Kind kindArgument(Interp &interp, const Value &value) {
  std::string name = value.isStr() ? value.asStr() : interp.str(value);
  for (auto [part, kind] : {std::pair{"float", Array::Kind::Float},
                            {"int", Array::Kind::Int},
                            {"bool", Array::Kind::Bool}})
    if (name.find(part) != std::string::npos)
      return kind;
  interp.raise("TypeError", "an array is of float64, int64 or bool, not of `" + name + "`");
}

using Body = Value (*)(Interp &, NativeArguments &);

Value function(std::string name, std::function<Value(Interp &, NativeArguments &)> body) {
  return Value(std::make_shared<emit::NativeFunction>(
      name, [name, body](Interp &interp, std::vector<Value> &args, Keywords &keywords) {
        NativeArguments arguments(interp, name, args, keywords);
        return guarded(interp, [&] {
          Value result = body(interp, arguments);
          arguments.finish();
          return result;
        });
      }));
}

template <ArrayUnary op> Value applyUnary(Interp &interp, NativeArguments &args) {
  return toValue(support::unary(op, toArray(interp, args.required("x"))));
}
template <ArrayBinary op> Value applyBinary(Interp &interp, NativeArguments &args) {
  Array a = toArray(interp, args.required("x1"));
  return toValue(support::binary(op, a, toArray(interp, args.required("x2"))));
}
template <ArrayReduction op> Value applyReduction(Interp &interp, NativeArguments &args) {
  Array a = toArray(interp, args.required("a"));
  auto axis = optionalInt(interp, args.optional("axis", Value()), "`axis`");
  bool keep = interp.truth(args.optional("keepdims", Value(false)));
  return toValue(support::reduce(op, a, axis, keep));
}
template <bool lower> Value applyTriangle(Interp &interp, NativeArguments &args) {
  Array a = toArray(interp, args.required("m"));
  return toValue(support::triangle(a, interp.asInt(args.optional("k", Value(0)), "`k`"), lower));
}
template <Array (*join)(std::span<const Array>, int64_t)>
Value applyJoin(Interp &interp, NativeArguments &args) {
  std::vector<Array> arrays;
  for (const Value &item : interp.iterate(args.required("arrays")))
    arrays.push_back(toArray(interp, item));
  return toValue(join(arrays, interp.asInt(args.optional("axis", Value(0)), "`axis`")));
}

Array filled(Array::Kind kind, Array::Shape shape, const Array &value) {
  return value.astype(kind).broadcastTo(shape);
}
Array::Kind dtypeOr(Interp &interp, const Value &dtype, Array::Kind kind) {
  return dtype.isNone() ? kind : kindArgument(interp, dtype);
}

struct Entry {
  const char *name;
  Body body;
};

// The whole of what the contract names.
const Entry numpyFunctions[] = {
    {"exp", applyUnary<ArrayUnary::Exp>},
    {"exp2", applyUnary<ArrayUnary::Exp2>},
    {"log", applyUnary<ArrayUnary::Log>},
    {"log2", applyUnary<ArrayUnary::Log2>},
    {"sqrt", applyUnary<ArrayUnary::Sqrt>},
    {"tanh", applyUnary<ArrayUnary::Tanh>},
    {"sin", applyUnary<ArrayUnary::Sin>},
    {"cos", applyUnary<ArrayUnary::Cos>},
    {"abs", applyUnary<ArrayUnary::Abs>},
    {"floor", applyUnary<ArrayUnary::Floor>},
    {"ceil", applyUnary<ArrayUnary::Ceil>},
    {"isnan", applyUnary<ArrayUnary::IsNan>},
    {"isinf", applyUnary<ArrayUnary::IsInf>},
    {"sign", applyUnary<ArrayUnary::Sign>},
    {"square", applyUnary<ArrayUnary::Square>},
    {"maximum", applyBinary<ArrayBinary::Maximum>},
    {"minimum", applyBinary<ArrayBinary::Minimum>},
    {"sum", applyReduction<ArrayReduction::Sum>},
    {"max", applyReduction<ArrayReduction::Max>},
    {"min", applyReduction<ArrayReduction::Min>},
    {"mean", applyReduction<ArrayReduction::Mean>},
    {"prod", applyReduction<ArrayReduction::Prod>},
    {"any", applyReduction<ArrayReduction::Any>},
    {"all", applyReduction<ArrayReduction::All>},
    {"argmax", applyReduction<ArrayReduction::ArgMax>},
    {"tril", applyTriangle<true>},
    {"triu", applyTriangle<false>},
    {"concatenate", applyJoin<support::concatenate>},
    {"stack", applyJoin<support::stack>},
    {"matmul",
     [](Interp &interp, NativeArguments &args) {
       Array a = toArray(interp, args.required("x1"));
       return toValue(support::matmul(a, toArray(interp, args.required("x2"))));
     }},
    {"where",
     [](Interp &interp, NativeArguments &args) {
       Array condition = toArray(interp, args.required("condition"));
       Array a = toArray(interp, args.required("x"));
       return toValue(support::where(condition, a, toArray(interp, args.required("y"))));
     }},
    {"cumsum",
     [](Interp &interp, NativeArguments &args) {
       Array a = toArray(interp, args.required("a"));
       auto axis = optionalInt(interp, args.optional("axis", Value()), "`axis`");
       return toValue(axis ? support::cumsum(a, *axis) : support::cumsum(a.reshape({a.size()}), 0));
     }},
    {"arange",
     [](Interp &interp, NativeArguments &args) {
       int64_t start = 0, stop = interp.asInt(args.required("start"), "`start`");
       if (Value second = args.optional("stop", Value()); !second.isNone())
         start = std::exchange(stop, interp.asInt(second, "`stop`"));
       return toValue(
           support::arange(start, stop, interp.asInt(args.optional("step", Value(1)), "`step`")));
     }},
    {"zeros",
     [](Interp &interp, NativeArguments &args) {
       auto shape = shapeArgument(interp, args.required("shape"));
       return toValue(
           Array(dtypeOr(interp, args.optional("dtype", Value()), Array::Kind::Float), shape));
     }},
    {"ones",
     [](Interp &interp, NativeArguments &args) {
       auto shape = shapeArgument(interp, args.required("shape"));
       auto kind = dtypeOr(interp, args.optional("dtype", Value()), Array::Kind::Float);
       return toValue(filled(kind, shape, Array::scalar(int64_t(1))));
     }},
    {"full",
     [](Interp &interp, NativeArguments &args) {
       auto shape = shapeArgument(interp, args.required("shape"));
       Array value = toArray(interp, args.required("fill_value"));
       return toValue(
           filled(dtypeOr(interp, args.optional("dtype", Value()), value.kind()), shape, value));
     }},
    {"zeros_like",
     [](Interp &interp, NativeArguments &args) {
       Array like = toArray(interp, args.required("a"));
       return toValue(
           Array(dtypeOr(interp, args.optional("dtype", Value()), like.kind()), like.shape()));
     }},
    {"ones_like",
     [](Interp &interp, NativeArguments &args) {
       Array like = toArray(interp, args.required("a"));
       auto kind = dtypeOr(interp, args.optional("dtype", Value()), like.kind());
       return toValue(filled(kind, like.shape(), Array::scalar(int64_t(1))));
     }},
    {"broadcast_to",
     [](Interp &interp, NativeArguments &args) {
       Array a = toArray(interp, args.required("array"));
       return toValue(a.broadcastTo(shapeArgument(interp, args.required("shape"))));
     }},
    {"repeat",
     [](Interp &interp, NativeArguments &args) {
       Array a = toArray(interp, args.required("a"));
       int64_t count = interp.asInt(args.required("repeats"), "`repeats`");
       auto axis = optionalInt(interp, args.optional("axis", Value()), "`axis`");
       return toValue(axis ? support::repeat(a, count, *axis)
                           : support::repeat(a.reshape({a.size()}), count, 0));
     }},
    {"expand_dims",
     [](Interp &interp, NativeArguments &args) {
       Array a = toArray(interp, args.required("a"));
       return toValue(a.expandDims(interp.asInt(args.required("axis"), "`axis`")));
     }},
    {"take",
     [](Interp &interp, NativeArguments &args) {
       Array a = toArray(interp, args.required("a")),
             index = toArray(interp, args.required("indices"));
       return toValue(
           support::take(a, index, optionalInt(interp, args.optional("axis", Value()), "`axis`")));
     }},
    {"sort",
     [](Interp &interp, NativeArguments &args) {
       Array a = toArray(interp, args.required("a"));
       return toValue(support::sort(a, interp.asInt(args.optional("axis", Value(-1)), "`axis`")));
     }},
};

Value numpyAttribute(std::string_view name) {
  static const std::map<std::string_view, double> constants = {
      {"inf", INFINITY}, {"nan", std::nan("")}, {"pi", std::numbers::pi}, {"e", std::numbers::e}};
  if (auto it = constants.find(name); it != constants.end())
    return Value(it->second);
  return Value::str(std::string(name)); // float64, int64, bool_: kinds are named by text
}

// Philox 4x32-10 (Salmon et al., SC'11), one of four words: what `tl.randint4x` draws.
uint32_t philox(uint64_t seed, uint64_t offset, int64_t word) {
  uint32_t c0 = uint32_t(offset), c1 = uint32_t(offset >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c0, p2 = uint64_t(0xCD9E8D57) * c2;
    c0 = uint32_t(p2 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p2);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const uint32_t words[] = {c0, c1, c2, c3};
  return words[word & 3];
}

const Entry referenceFunctions[] = {
    {"erf", applyUnary<ArrayUnary::Erf>},
    {"uniform",
     [](Interp &interp, NativeArguments &args) {
       uint64_t seed = uint64_t(interp.asInt(args.required("seed"), "`seed`"));
       Array offsets = toArray(interp, args.required("offset")).astype(Array::Kind::Int);
       int64_t word = interp.asInt(args.optional("word", Value(0)), "`word`");
       Array out(Array::Kind::Float, offsets.shape());
       for (int64_t i = 0; i < offsets.size(); ++i) {
         int32_t bits = int32_t(philox(seed, uint64_t(offsets.ints()[i]), word));
         // As tl.rand rounds: the integer to f32, times an f32 scale.
         out.floats()[i] = float(bits < 0 ? -bits - 1 : bits) * 4.6566127342e-10f;
       }
       return toValue(out);
     }},
};

Value module(const char *name, std::span<const Entry> entries, Value (*other)(std::string_view)) {
  auto functions = std::make_shared<std::map<std::string, Value, std::less<>>>();
  for (const Entry &entry : entries)
    functions->emplace(entry.name, function(entry.name, entry.body));
  return Value(std::make_shared<emit::NativeModule>(
      name, [functions, other](Interp &, std::string_view attribute) -> std::optional<Value> {
        if (auto it = functions->find(attribute); it != functions->end())
          return it->second;
        static constexpr std::string_view plain[] = {"inf",     "nan",   "pi",   "e",
                                                     "float64", "int64", "bool_"};
        if (other && std::find(std::begin(plain), std::end(plain), attribute) != std::end(plain))
          return other(attribute);
        return std::nullopt;
      }));
}

// --- operators and methods of arrays ---

const std::map<std::string_view, ArrayBinary> operators = {{"add", ArrayBinary::Add},
                                                           {"sub", ArrayBinary::Sub},
                                                           {"mul", ArrayBinary::Mul},
                                                           {"truediv", ArrayBinary::TrueDiv},
                                                           {"floordiv", ArrayBinary::FloorDiv},
                                                           {"mod", ArrayBinary::Mod},
                                                           {"pow", ArrayBinary::Pow},
                                                           {"and", ArrayBinary::And},
                                                           {"or", ArrayBinary::Or},
                                                           {"xor", ArrayBinary::Xor}};
const std::map<std::string_view, ArrayBinary> comparisons = {
    {"lt", ArrayBinary::Lt},  {"le", ArrayBinary::LtE}, {"gt", ArrayBinary::Gt},
    {"ge", ArrayBinary::GtE}, {"eq", ArrayBinary::Eq},  {"ne", ArrayBinary::NotEq}};

Value indexArray(Interp &interp, const Array &array, const Value &index) {
  std::vector<support::ArrayIndex> items;
  auto bound = [&](const Value &value) { return optionalInt(interp, value, "a bound of a slice"); };
  auto add = [&](const Value &item) {
    if (item.isNone())
      items.push_back(support::NewAxis{});
    else if (auto *slice = item.as<ops::Slice>())
      items.push_back(
          support::ArraySlice{bound(slice->start), bound(slice->stop), bound(slice->step)});
    else if (item.isObject() && item.typeName() == "ellipsis")
      items.push_back(support::EllipsisIndex{});
    else
      items.push_back(interp.asInt(item, "an index"));
  };
  if (index.isTuple())
    for (const Value &item : index.items())
      add(item);
  else
    add(index);
  return toValue(support::index(array, items));
}

} // namespace

std::string ArrayObject::repr() const {
  return "array of shape " + support::shapeText(array.shape());
}

Array toArray(Interp &interp, const Value &value) {
  if (auto *object = value.as<ArrayObject>())
    return object->array;
  if (value.isBool())
    return Array::scalar(value.asBool());
  if (value.isInt())
    return Array::scalar(interp.asInt(value, "a number of an array"));
  if (value.isFloat())
    return Array::scalar(value.asFloat());
  if (value.isTuple() || value.isList()) {
    std::vector<Array> rows;
    for (const Value &item : value.items())
      rows.push_back(toArray(interp, item));
    if (rows.empty())
      return Array(Array::Kind::Float, {0});
    return guarded(interp, [&] { return support::stack(rows, 0); });
  }
  interp.raise("TypeError", "expected an array or a number, not `" + value.typeName() + "`");
}

Value toValue(Array array) { return Value(std::make_shared<ArrayObject>(std::move(array))); }

std::optional<Value> ArrayObject::attribute(Interp &, std::string_view name) {
  auto ints = [](const Array::Shape &shape) {
    std::vector<Value> items;
    for (int64_t extent : shape)
      items.emplace_back(extent);
    return Value::tuple(std::move(items));
  };
  if (name == "shape")
    return ints(array.shape());
  if (name == "ndim")
    return Value(array.rank());
  if (name == "size")
    return Value(array.size());
  if (name == "T")
    return toValue(array.transpose({}));
  Array self = array;
  if (name == "astype")
    return function("astype", [self](Interp &interp, NativeArguments &args) {
      return toValue(self.astype(kindArgument(interp, args.required("dtype"))));
    });
  if (name == "reshape" || name == "transpose")
    return function(std::string(name),
                    [self, isReshape = name == "reshape"](Interp &interp, NativeArguments &args) {
                      std::vector<Value> rest = args.rest();
                      Array::Shape shape =
                          rest.size() == 1 ? shapeArgument(interp, rest[0])
                                           : shapeArgument(interp, Value::tuple(std::move(rest)));
                      return toValue(isReshape ? self.reshape(shape) : self.transpose(shape));
                    });
  if (name == "swapaxes")
    return function("swapaxes", [self](Interp &interp, NativeArguments &args) {
      int64_t a = interp.asInt(args.required("axis1"), "an axis");
      return toValue(self.swapaxes(a, interp.asInt(args.required("axis2"), "an axis")));
    });

  if (name.size() < 5 || !name.starts_with("__") || !name.ends_with("__"))
    return std::nullopt;
  std::string_view op = name.substr(2, name.size() - 4);
  auto binaryMethod = [&](ArrayBinary kind, bool reflected) {
    return function(std::string(name),
                    [self, kind, reflected](Interp &interp, NativeArguments &args) {
                      Array other = toArray(interp, args.required("other"));
                      return toValue(reflected ? support::binary(kind, other, self)
                                               : support::binary(kind, self, other));
                    });
  };
  if (auto it = comparisons.find(op); it != comparisons.end())
    return binaryMethod(it->second, false);
  if (auto it = operators.find(op); it != operators.end())
    return binaryMethod(it->second, false);
  if (op.starts_with("r"))
    if (auto it = operators.find(op.substr(1)); it != operators.end())
      return binaryMethod(it->second, true);
  if (op == "matmul" || op == "rmatmul")
    return function(
        std::string(name), [self, reflected = op[0] == 'r'](Interp &interp, NativeArguments &args) {
          Array other = toArray(interp, args.required("other"));
          return toValue(reflected ? support::matmul(other, self) : support::matmul(self, other));
        });
  if (op == "neg" || op == "invert" || op == "abs") {
    ArrayUnary kind = op == "neg"   ? ArrayUnary::Neg
                      : op == "abs" ? ArrayUnary::Abs
                                    : ArrayUnary::Invert;
    return function(std::string(name), [self, kind](Interp &, NativeArguments &) {
      return toValue(support::unary(kind, self));
    });
  }
  if (op == "pos")
    return function("__pos__", [self](Interp &, NativeArguments &) { return toValue(self); });
  if (op == "getitem")
    return function("__getitem__", [self](Interp &interp, NativeArguments &args) {
      return indexArray(interp, self, args.required("index"));
    });
  if (op == "len" && array.rank() > 0)
    return function("__len__",
                    [self](Interp &, NativeArguments &) { return Value(self.shape()[0]); });
  if (op == "bool" || op == "float" || op == "int")
    return function(std::string(name),
                    [self, op = std::string(op)](Interp &interp, NativeArguments &) -> Value {
                      if (self.size() != 1)
                        interp.raise("ValueError", "an array of shape " +
                                                       support::shapeText(self.shape()) +
                                                       " is not one number");
                      return op == "bool"  ? Value(self.boolAt(0))
                             : op == "int" ? Value(self.intAt(0))
                                           : Value(self.floatAt(0));
                    });
  return std::nullopt;
}

Value numpyModule() { return module("numpy", numpyFunctions, numpyAttribute); }
Value referenceModule() { return module("nereid.reference", referenceFunctions, nullptr); }

} // namespace nereid::engine
