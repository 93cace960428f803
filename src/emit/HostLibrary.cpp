// The modules that module-level code may import: a small part of Python's own library, and
// stand-ins for what needs a device.

#include "emit/Interp.h"

#include <cmath>
#include <numbers>

namespace nereid::emit {

namespace {

// --- math ---

// A call of a function of `math`, and its name, since some share a function.
struct MathCall {
  Interp &interp;
  std::string_view name;
  std::vector<Value> &args;

  double number(size_t i) const {
    const Value &plain = unboxed(args[i]);
    if (plain.isFloat())
      return plain.asFloat();
    if (plain.isBool())
      return double(plain.asBool());
    if (plain.isInt())
      return plain.asInteger().toDouble();
    if (plain.isTile())
      interp.fail("NotConstexpr", "functions of `math` need values that are known while compiling",
                  "use the function of the same name in `tl`");
    interp.raise("TypeError", "must be a number, not `" + plain.typeName() + "`");
  }
  // What is unknown makes the result so.
  std::optional<Value> unknownResult() const {
    for (const Value &arg : args)
      if (auto *unknown = unboxed(arg).as<Unknown>()) {
        if (interp.inKernel())
          interp.failUnknown(*unknown, "an argument");
        return Value(std::make_shared<Unknown>(unknown->origin));
      }
    return std::nullopt;
  }
};

template <double (*Function)(double)> Value ofNumber(MathCall &call) {
  double argument = call.number(0), value = Function(argument);
  if (std::isnan(value) && !std::isnan(argument))
    call.interp.raise("ValueError", "math domain error");
  return Value(value);
}

template <double (*Function)(double, double)> Value ofNumbers(MathCall &call) {
  if (call.args.size() != 2)
    call.interp.raise("TypeError", "must have 2 arguments");
  return Value(Function(call.number(0), call.number(1)));
}

Value logarithm(MathCall &call) {
  double argument = call.number(0);
  if (argument <= 0)
    call.interp.raise("ValueError", "math domain error");
  double value = std::log(argument);
  return Value(call.args.size() > 1 ? value / std::log(call.number(1)) : value);
}

// `floor`, `ceil`, `trunc`: integers, of any size.
template <double (*Round)(double)> Value toWhole(MathCall &call) {
  if (unboxed(call.args[0]).isInt())
    return unboxed(call.args[0]);
  auto whole = Integer::fromDouble(Round(call.number(0)));
  if (!whole)
    call.interp.raise("ValueError", "can't convert to an integer");
  return Value(*whole);
}

Value classify(MathCall &call) {
  double value = call.number(0);
  return Value(bool(call.name == "isnan"   ? std::isnan(value)
                    : call.name == "isinf" ? std::isinf(value)
                                           : std::isfinite(value)));
}

Value multiply(Interp &interp, const Value &a, const Value &b) {
  return interp.binary(syntax::BinaryOp::Mult, a, b);
}

Value product(MathCall &call) {
  Value result(1);
  for (const Value &item : call.interp.iterate(call.args[0]))
    result = multiply(call.interp, result, item);
  return result;
}

int64_t wholeNumber(MathCall &call) {
  int64_t number = call.interp.asInt(call.args[0], "an argument");
  if (number < 0)
    call.interp.raise("ValueError", "must not be negative");
  return number;
}

Value wholeRoot(MathCall &call) {
  auto number = uint64_t(wholeNumber(call)), root = uint64_t(std::sqrt(double(number)));
  while (root * root > number)
    --root;
  while ((root + 1) * (root + 1) <= number)
    ++root;
  return Value(int64_t(root));
}

Value factorial(MathCall &call) {
  Value result(1);
  // 600! has more bits than integers may.
  for (int64_t i = 2, last = std::min<int64_t>(wholeNumber(call), 600); i <= last; ++i)
    result = multiply(call.interp, result, Value(i));
  return result;
}

// `gcd`, `lcm`
Value commonFactor(MathCall &call) {
  int64_t a = call.interp.asInt(call.args[0], "an argument"),
          b = call.args.size() > 1 ? call.interp.asInt(call.args[1], "an argument") : 0,
          x = std::abs(a), y = std::abs(b);
  while (y)
    std::swap(x %= y, y);
  if (call.name == "gcd")
    return Value(x);
  return x ? multiply(call.interp, Value(std::abs(a / x)), Value(std::abs(b))) : Value(0);
}

std::optional<Value> mathAttribute(Interp &interp, std::string_view name) {
  static const std::pair<std::string_view, double> constants[] = {{"pi", std::numbers::pi},
                                                                  {"e", std::numbers::e},
                                                                  {"tau", 2 * std::numbers::pi},
                                                                  {"inf", INFINITY},
                                                                  {"nan", std::nan("")}};
  static const std::pair<std::string_view, Value (*)(MathCall &)> functions[] = {
      {"sqrt", ofNumber<std::sqrt>},
      {"exp", ofNumber<std::exp>},
      {"exp2", ofNumber<std::exp2>},
      {"log2", ofNumber<std::log2>},
      {"log10", ofNumber<std::log10>},
      {"log1p", ofNumber<std::log1p>},
      {"expm1", ofNumber<std::expm1>},
      {"sin", ofNumber<std::sin>},
      {"cos", ofNumber<std::cos>},
      {"tan", ofNumber<std::tan>},
      {"tanh", ofNumber<std::tanh>},
      {"sinh", ofNumber<std::sinh>},
      {"cosh", ofNumber<std::cosh>},
      {"atan", ofNumber<std::atan>},
      {"asin", ofNumber<std::asin>},
      {"acos", ofNumber<std::acos>},
      {"erf", ofNumber<std::erf>},
      {"fabs", ofNumber<std::fabs>},
      {"gamma", ofNumber<std::tgamma>},
      {"cbrt", ofNumber<std::cbrt>},
      {"log", logarithm},
      {"pow", ofNumbers<std::pow>},
      {"atan2", ofNumbers<std::atan2>},
      {"fmod", ofNumbers<std::fmod>},
      {"copysign", ofNumbers<std::copysign>},
      {"hypot", ofNumbers<std::hypot>},
      {"floor", toWhole<std::floor>},
      {"ceil", toWhole<std::ceil>},
      {"trunc", toWhole<std::trunc>},
      {"isnan", classify},
      {"isinf", classify},
      {"isfinite", classify},
      {"prod", product},
      {"isqrt", wholeRoot},
      {"factorial", factorial},
      {"gcd", commonFactor},
      {"lcm", commonFactor}};
  for (auto [known, value] : constants)
    if (known == name)
      return Value(value);
  for (auto [known, function] : functions)
    if (known == name)
      return interp.native(
          std::string(name),
          [known, function](Interp &in, std::vector<Value> &args, Keywords &) -> Value {
            MathCall call{in, known, args};
            if (auto unknown = call.unknownResult())
              return *unknown;
            if (args.empty())
              in.raise("TypeError", "missing argument");
            return function(call);
          });
  return std::nullopt;
}

std::optional<Value> itertoolsAttribute(Interp &interp, std::string_view name) {
  auto list = [](std::vector<Value> items) {
    return Value(std::make_shared<ops::List>(std::move(items)));
  };
  if (name == "product")
    return interp.native("product",
                         [list](Interp &in, std::vector<Value> &args, Keywords &keywords) {
                           std::vector<std::vector<Value>> pools;
                           for (const Value &arg : args)
                             pools.push_back(in.iterate(arg));
                           for (auto &[key, value] : keywords)
                             if (key == "repeat") {
                               int64_t times = in.asInt(value, "`repeat`");
                               auto once = pools;
                               pools.clear();
                               for (int64_t i = 0; i < std::min<int64_t>(times, 16); ++i)
                                 pools.insert(pools.end(), once.begin(), once.end());
                             }
                           std::vector<std::vector<Value>> rows = {{}};
                           for (auto &pool : pools) {
                             std::vector<std::vector<Value>> longer;
                             if (rows.size() * pool.size() > 1'000'000)
                               in.raise("MemoryError", "the product is too large");
                             for (auto &row : rows)
                               for (const Value &item : pool) {
                                 longer.push_back(row);
                                 longer.back().push_back(item);
                               }
                             rows = std::move(longer);
                           }
                           std::vector<Value> tuples;
                           for (auto &row : rows)
                             tuples.push_back(Value::tuple(std::move(row)));
                           return list(std::move(tuples));
                         });
  if (name == "chain") {
    auto chained = [list](Interp &in, std::vector<Value> &args, Keywords &) {
      std::vector<Value> all;
      for (const Value &arg : args)
        for (Value &item : in.iterate(arg))
          all.push_back(std::move(item));
      return list(std::move(all));
    };
    return interp.native("chain", chained);
  }
  if (name == "combinations" || name == "permutations")
    return interp.native(std::string(name), [list, ordered = name == "permutations"](
                                                Interp &in, std::vector<Value> &args, Keywords &) {
      if (args.empty())
        in.raise("TypeError", "missing argument");
      std::vector<Value> pool = in.iterate(args[0]);
      size_t size = args.size() > 1 ? size_t(in.asInt(args[1], "a size")) : pool.size();
      std::vector<Value> rows, row;
      std::vector<bool> used(pool.size());
      std::function<void(size_t)> grow = [&](size_t from) {
        if (row.size() == size) {
          if (rows.size() > 1'000'000)
            in.raise("MemoryError", "there are too many");
          rows.push_back(Value::tuple(row));
          return;
        }
        for (size_t i = ordered ? 0 : from; i < pool.size(); ++i) {
          if (used[i])
            continue;
          used[i] = true;
          row.push_back(pool[i]);
          grow(i + 1);
          row.pop_back();
          used[i] = false;
        }
      };
      if (size <= pool.size())
        grow(0);
      return list(std::move(rows));
    });
  return std::nullopt;
}

// A decorator without a meaning here.
Value passThrough(Interp &interp, const std::string &name) {
  return interp.native(name, [name](Interp &in, std::vector<Value> &args, Keywords &keywords) {
    if (args.size() == 1 && args[0].isCallable() && keywords.empty())
      return args[0];
    return in.native(name, [](Interp &, std::vector<Value> &inner, Keywords &) {
      return inner.empty() ? Value() : inner[0];
    });
  });
}

std::optional<Value> functoolsAttribute(Interp &interp, std::string_view name) {
  if (name == "lru_cache" || name == "cache" || name == "cached_property")
    return passThrough(interp, std::string(name));
  // `wraps(f)` is a decorator for another function than `f`.
  if (name == "wraps")
    return interp.native("wraps", [](Interp &in, std::vector<Value> &, Keywords &) {
      return in.native("wraps", [](Interp &, std::vector<Value> &inner, Keywords &) {
        return inner.empty() ? Value() : inner[0];
      });
    });
  if (name == "partial")
    return interp.native("partial", [](Interp &in, std::vector<Value> &args, Keywords &keywords) {
      if (args.empty())
        in.raise("TypeError", "`partial` takes a function");
      Value function = args[0];
      std::vector<Value> first(args.begin() + 1, args.end());
      Keywords fixed = keywords;
      return in.native("partial", [function, first, fixed](Interp &inner, std::vector<Value> &more,
                                                           Keywords &given) {
        std::vector<Value> all = first;
        all.insert(all.end(), more.begin(), more.end());
        Keywords merged = fixed;
        for (auto &[key, value] : given) {
          std::erase_if(merged, [&](auto &one) { return one.first == key; });
          merged.emplace_back(key, value);
        }
        return inner.call(function, all, merged);
      });
    });
  if (name == "reduce")
    return interp.native("reduce", [](Interp &in, std::vector<Value> &args, Keywords &) {
      if (args.size() < 2)
        in.raise("TypeError", "`reduce` takes a function and an iterable");
      std::vector<Value> items = in.iterate(args[1]);
      size_t from = 0;
      Value total;
      if (args.size() > 2)
        total = args[2];
      else if (items.empty())
        in.raise("TypeError", "`reduce` of nothing");
      else
        total = items[from++];
      for (size_t i = from; i < items.size(); ++i)
        total = in.call(args[0], {total, items[i]}, {});
      return total;
    });
  return std::nullopt;
}

std::optional<Value> operatorAttribute(Interp &interp, std::string_view name) {
  using syntax::BinaryOp;
  using syntax::CompareOp;
  static constexpr std::pair<std::string_view, CompareOp> comparisons[] = {
      {"eq", CompareOp::Eq},  {"ne", CompareOp::NotEq},    {"lt", CompareOp::Lt},
      {"le", CompareOp::LtE}, {"gt", CompareOp::Gt},       {"ge", CompareOp::GtE},
      {"is_", CompareOp::Is}, {"is_not", CompareOp::IsNot}};
  static constexpr std::pair<std::string_view, BinaryOp> operators[] = {
      {"add", BinaryOp::Add},     {"sub", BinaryOp::Sub},           {"mul", BinaryOp::Mult},
      {"truediv", BinaryOp::Div}, {"floordiv", BinaryOp::FloorDiv}, {"mod", BinaryOp::Mod},
      {"or_", BinaryOp::BitOr},   {"and_", BinaryOp::BitAnd},       {"xor", BinaryOp::BitXor},
      {"pow", BinaryOp::Pow},     {"lshift", BinaryOp::LShift},     {"rshift", BinaryOp::RShift}};
  auto two = [](Interp &in, std::vector<Value> &args) {
    if (args.size() != 2)
      in.raise("TypeError", "must have 2 arguments");
  };
  for (auto &[known, op] : comparisons)
    if (known == name)
      return interp.native(std::string(name),
                           [op = op, two](Interp &in, std::vector<Value> &args, Keywords &) {
                             two(in, args);
                             return in.compare(op, args[0], args[1]);
                           });
  for (auto &[known, op] : operators)
    if (known == name)
      return interp.native(std::string(name),
                           [op = op, two](Interp &in, std::vector<Value> &args, Keywords &) {
                             two(in, args);
                             return in.binary(op, args[0], args[1]);
                           });
  if (name == "itemgetter" || name == "attrgetter")
    return interp.native(std::string(name), [isItem = name[0] == 'i'](
                                                Interp &in, std::vector<Value> &args, Keywords &) {
      if (args.size() != 1)
        in.raise("TypeError", "must have 1 argument");
      Value key = args[0];
      return in.native("getter",
                       [key, isItem](Interp &inner, std::vector<Value> &objects, Keywords &) {
                         if (objects.size() != 1)
                           inner.raise("TypeError", "must have 1 argument");
                         return isItem ? inner.subscript(objects[0], unboxed(key))
                                       : inner.requireAttribute(objects[0], unboxed(key).asStr());
                       });
    });
  return std::nullopt;
}

Value makeNamedTuple(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() < 2 || !unboxed(args[0]).isStr())
    interp.raise("TypeError", "`namedtuple` takes a name and fields");
  auto type = std::make_shared<ClassObject>();
  type->interp = &interp;
  type->flavor = ClassObject::Flavor::NamedTuple;
  type->className = unboxed(args[0]).asStr();
  std::vector<Value> names;
  if (unboxed(args[1]).isStr()) {
    std::string word;
    for (char c : unboxed(args[1]).asStr() + " ") {
      if (c != ' ' && c != ',') {
        word += c;
      } else if (!word.empty()) {
        names.push_back(Value::str(word));
        word.clear();
      }
    }
  } else {
    names = interp.iterate(args[1]);
  }
  for (const Value &name : names) {
    // typing.NamedTuple gives (name, type) pairs.
    Value field = unboxed(name).isTuple() ? unboxed(name).items()[0] : unboxed(name);
    if (!field.isStr())
      interp.raise("TypeError", "field names must be strings");
    type->fields.push_back({field.asStr(), Value(), std::nullopt});
  }
  return Value(std::move(type));
}

Value emptyBase(Interp &interp, std::string name, ClassObject::Flavor flavor) {
  auto type = std::make_shared<ClassObject>();
  type->interp = &interp;
  type->className = std::move(name);
  type->flavor = flavor;
  return Value(std::move(type));
}

// What a module below `triton` gives as `triton` itself does.
std::optional<Value> tritonPartAttribute(Interp &in, std::string_view name) {
  for (std::string_view one :
       {"jit", "autotune", "heuristics", "Config", "cdiv", "next_power_of_2", "constexpr_function"})
    if (name == one)
      return in.tritonAttribute(name);
  return std::nullopt;
}

std::optional<Value> collectionsAttribute(Interp &in, std::string_view name) {
  if (name == "namedtuple")
    return in.native("namedtuple", makeNamedTuple);
  if (name == "OrderedDict")
    return *in.builtin("dict");
  return std::nullopt;
}

std::optional<Value> typingAttribute(Interp &in, std::string_view name) {
  if (name == "NamedTuple")
    return emptyBase(in, "NamedTuple", ClassObject::Flavor::NamedTuple);
  if (name == "TYPE_CHECKING")
    return Value(false);
  return std::nullopt;
}

std::optional<Value> enumAttribute(Interp &in, std::string_view name) {
  if (name == "Enum" || name == "IntEnum" || name == "StrEnum" || name == "Flag" ||
      name == "IntFlag")
    return emptyBase(in, std::string(name), ClassObject::Flavor::Enum);
  if (name == "auto")
    return emptyBase(in, "auto", ClassObject::Flavor::Plain);
  return std::nullopt;
}

Value asDataclass(const Value &type) {
  auto *plain = unboxed(type).as<ClassObject>();
  if (!plain)
    return type;
  if (plain->flavor == ClassObject::Flavor::Plain)
    plain->flavor = ClassObject::Flavor::Dataclass;
  return type;
}

// `@dataclass` and `@dataclass(...)`.
Value dataclass(Interp &in, std::vector<Value> &args, Keywords &) {
  if (args.size() == 1)
    return asDataclass(args[0]);
  return in.native("dataclass", [](Interp &, std::vector<Value> &types, Keywords &) {
    return types.empty() ? Value() : asDataclass(types[0]);
  });
}

std::optional<Value> dataclassesAttribute(Interp &in, std::string_view name) {
  if (name == "dataclass")
    return in.native("dataclass", dataclass);
  return std::nullopt;
}

Value readVariable(Interp &inner, std::vector<Value> &args, Keywords &) {
  if (!args.empty() && args[0].as<Unknown>()) // which variable, only a machine knows
    return inner.makeUnknown("os.environ[...]");
  if (args.empty() || !unboxed(args[0]).isStr())
    inner.raise("TypeError", "the name of a variable must be a string");
  const std::string &variable = unboxed(args[0]).asStr();
  auto &environment = inner.options().environment;
  auto it = environment.find(variable);
  inner.recordFact("env", variable, it == environment.end() ? "unset" : "=" + it->second);
  if (it != environment.end())
    return Value::str(it->second);
  return args.size() > 1 ? args[1] : Value();
}

Value environment(Interp &in) {
  auto type = std::make_shared<ClassObject>();
  type->interp = &in;
  type->className = "environ";
  type->attributes->set("__placeholder__", Value());
  auto instance = std::make_shared<Instance>(type);
  instance->fields["get"] = in.native("get", readVariable);
  auto item = [](Interp &inner, std::vector<Value> &args, Keywords &keywords) {
    Value found = readVariable(inner, args, keywords);
    if (found.isNone())
      inner.raiseKeyError(args[0]);
    return found;
  };
  instance->fields["__getitem__"] = in.native("__getitem__", item);
  instance->fields["__contains__"] =
      in.native("__contains__", [](Interp &inner, std::vector<Value> &args, Keywords &keywords) {
        return Value(!readVariable(inner, args, keywords).isNone());
      });
  instance->fields["setdefault"] = in.native("setdefault", readVariable);
  return Value(std::move(instance));
}

std::optional<Value> osAttribute(Interp &in, std::string_view name) {
  if (name == "getenv")
    return in.native("getenv", readVariable);
  if (name == "environ")
    return environment(in);
  return std::nullopt;
}

std::optional<Value> arrayLibraryAttribute(Interp &in, std::string_view name) {
  // Data types, which kernels may compare with those of `tl`.
  static const std::pair<std::string_view, DType> types[] = {
      {"float32", DType::Float32},
      {"float", DType::Float32},
      {"float16", DType::Float16},
      {"half", DType::Float16},
      {"bfloat16", DType::BFloat16},
      {"float64", DType::Float64},
      {"double", DType::Float64},
      {"int8", DType::Int8},
      {"int16", DType::Int16},
      {"int32", DType::Int32},
      {"int64", DType::Int64},
      {"uint8", DType::UInt8},
      {"uint16", DType::UInt16},
      {"uint32", DType::UInt32},
      {"uint64", DType::UInt64},
      {"bool", DType::Int1},
      {"float8_e4m3fn", DType::Float8E4NV},
      {"float8_e5m2", DType::Float8E5},
      {"int", DType::Int32},
      {"long", DType::Int64},
  };
  for (auto &[known, type] : types)
    if (name == known)
      return Value::type(Type::scalar(type));
  if (name == "inf")
    return Value(INFINITY);
  if (name == "pi")
    return Value(std::numbers::pi);
  if (name == "finfo" || name == "iinfo")
    return in.native(std::string(name),
                     [](Interp &inner, std::vector<Value> &args, Keywords &) -> Value {
                       if (args.size() != 1 || !unboxed(args[0]).isType())
                         return Value(std::make_shared<Unknown>("finfo(...)"));
                       return inner.typeLimits(unboxed(args[0]).asType());
                     });
  return std::nullopt;
}

// `triton.profiler.language`: marks of scopes within kernels, which no profile here reads.
struct ScopeMark : NativeObject {
  std::string typeName() const override { return "scope"; }
  std::string repr() const override { return "<scope>"; }
  std::optional<Value> attribute(Interp &in, std::string_view name) override {
    if (name == "__enter__" || name == "__exit__")
      return in.native(std::string(name),
                       [](Interp &, std::vector<Value> &, Keywords &) { return Value(); });
    return std::nullopt;
  }
};

std::optional<Value> scopeMarkAttribute(Interp &in, std::string_view name) {
  if (name == "scope")
    return in.native("scope", [](Interp &, std::vector<Value> &, Keywords &) {
      return Value(std::make_shared<ScopeMark>());
    });
  for (std::string_view one : {"enter_scope", "exit_scope", "enable_semantic", "disable_semantic"})
    if (name == one)
      return in.native(std::string(name),
                       [](Interp &, std::vector<Value> &, Keywords &) { return Value(); });
  return std::nullopt;
}

// `inspect.signature(f)` of a function of the language or of the program, by which modules find out
// what this version takes: `"input_precision" in inspect.signature(tl.dot).parameters`. Of each
// parameter only the name is known.
Value signatureObject(Interp &in, std::vector<Value> &args, Keywords &) {
  std::vector<std::string_view> names;
  auto add = [&](syntax::Span<syntax::Arg> list) {
    for (const syntax::Arg &one : list)
      names.push_back(one.arg);
  };
  if (args.size() != 1)
    return in.makeUnknown("inspect.signature(...)");
  if (auto *op = unboxed(args[0]).as<OpFunction>()) {
    for (const ops::Parameter &one : ops::parameters(*op->row))
      names.push_back(one.name);
    names.emplace_back("_semantic"); // which the language itself passes
  } else if (auto *function = unboxed(args[0]).as<FunctionObject>()) {
    const syntax::Arguments &parameters = *function->parameters;
    add(parameters.posonlyargs);
    add(parameters.args);
    if (parameters.vararg)
      names.push_back(parameters.vararg->arg);
    add(parameters.kwonlyargs);
    if (parameters.kwarg)
      names.push_back(parameters.kwarg->arg);
  } else {
    return in.makeUnknown("inspect.signature(...)");
  }
  auto parameters = std::make_shared<ops::Dict>();
  for (std::string_view name : names)
    parameters->entries.emplace_back(Value::str(std::string(name)),
                                     in.makeUnknown("inspect.Parameter"));
  auto signature = std::make_shared<Instance>(
      emptyBase(in, "Signature", ClassObject::Flavor::Plain).as<ClassObject>()->shared_from_this());
  signature->fields["parameters"] = Value(std::move(parameters));
  return Value(std::move(signature));
}

std::optional<Value> inspectAttribute(Interp &in, std::string_view name) {
  if (name == "signature")
    return in.native("signature", signatureObject);
  return std::nullopt;
}

// Only named, or used where no kernel is concerned.
std::optional<Value> nothingKnown(Interp &, std::string_view) { return std::nullopt; }

struct KnownModule {
  std::string_view name;
  std::optional<Value> (*attribute)(Interp &, std::string_view);
};
constexpr KnownModule knownModules[] = {
    {"math", mathAttribute},
    {"itertools", itertoolsAttribute},
    {"functools", functoolsAttribute},
    {"operator", operatorAttribute},
    {"collections", collectionsAttribute},
    {"typing", typingAttribute},
    {"typing_extensions", typingAttribute},
    {"enum", enumAttribute},
    {"dataclasses", dataclassesAttribute},
    {"os", osAttribute},
    {"os.path", osAttribute},
    {"torch", arrayLibraryAttribute},
    {"jax.numpy", arrayLibraryAttribute},
    {"numpy", arrayLibraryAttribute},
    {"__future__", nothingKnown},
    {"logging", nothingKnown},
    {"warnings", nothingKnown},
    {"sys", nothingKnown},
    {"contextlib", nothingKnown},
    {"copy", nothingKnown},
    {"json", nothingKnown},
    {"re", nothingKnown},
    {"abc", nothingKnown},
    {"inspect", inspectAttribute},
    {"pathlib", nothingKnown},
    {"packaging", nothingKnown},
    {"time", nothingKnown},
    {"random", nothingKnown},
    {"string", nothingKnown},
    {"types", nothingKnown},
};

} // namespace

std::optional<Value> Interp::nativeModule(const std::string &name) {
  if (auto it = nativeModules.find(name); it != nativeModules.end())
    return it->second;
  std::optional<Value> module = hostModule(name);
  if (module)
    nativeModules.emplace(name, *module);
  return module;
}

std::optional<Value> Interp::hostModule(const std::string &name) {
  auto make = [&](NativeModule::Lookup lookup) {
    return std::optional<Value>(Value(std::make_shared<NativeModule>(name, std::move(lookup))));
  };
  // A module of which a part is known here.
  auto known = [&](auto attributeOf) {
    return make(
        [name, attributeOf](Interp &in, std::string_view attribute) -> std::optional<Value> {
          if (auto value = attributeOf(in, attribute))
            return value;
          return Value(std::make_shared<Unknown>(name + "." + std::string(attribute)));
        });
  };
  if (name == "triton")
    return make([](Interp &in, std::string_view attributeName) {
      return in.tritonAttribute(attributeName);
    });
  if (name == "triton.language")
    return Value(std::make_shared<LanguageModule>(""));
  if (name.starts_with("triton.language.")) {
    std::string path = name.substr(16);
    Value at(std::make_shared<LanguageModule>(""));
    for (size_t from = 0; from <= path.size();) {
      size_t dot = std::min(path.find('.', from), path.size());
      std::optional<Value> next = attribute(at, path.substr(from, dot - from));
      if (!next)
        return std::nullopt;
      at = *next;
      from = dot + 1;
    }
    return at;
  }
  if (name == "triton.runtime")
    return known([](Interp &in, std::string_view part) {
      return part == "jit" || part == "autotuner"
                 ? in.nativeModule("triton.runtime." + std::string(part))
                 : tritonPartAttribute(in, part);
    });
  if (name == "triton.profiler.language")
    return make(scopeMarkAttribute);
  if (name == "triton.profiler")
    return known([](Interp &in, std::string_view part) {
      return part == "language" ? in.nativeModule("triton.profiler.language")
                                : tritonPartAttribute(in, part);
    });
  if (name.starts_with("triton."))
    return known(tritonPartAttribute);
  for (const KnownModule &one : knownModules)
    if (name == one.name)
      return known(one.attribute);
  return std::nullopt;
}

// torch.finfo and torch.iinfo of a type.
Value Interp::typeLimits(const Type &type) {
  auto limits = std::make_shared<Instance>(
      emptyBase(*this, "finfo", ClassObject::Flavor::Plain).as<ClassObject>()->shared_from_this());
  if (type.isInt()) {
    unsigned bits = type.bits();
    Integer one(1);
    Integer max = type.isBool()     ? one
                  : type.isSigned() ? Integer::shiftLeft(one, bits - 1) - one
                                    : Integer::shiftLeft(one, bits) - one;
    limits->fields["max"] = Value(max);
    limits->fields["min"] = Value(type.isSigned() && !type.isBool() ? -max - one : Integer(0));
    limits->fields["bits"] = Value(int64_t(bits));
    return Value(std::move(limits));
  }
  struct Format {
    DType type;
    double max, eps, tiny;
  };
  static const Format formats[] = {
      {DType::Float16, 65504.0, 0x1p-10, 0x1p-14},
      {DType::BFloat16, 0x1.fep127, 0x1p-7, 0x1p-126},
      {DType::Float32, 0x1.fffffep127, 0x1p-23, 0x1p-126},
      {DType::Float64, 0x1.fffffffffffffp1023, 0x1p-52, 0x1p-1022},
      {DType::Float8E4NV, 448.0, 0.125, 0x1p-6},
      {DType::Float8E5, 57344.0, 0.25, 0x1p-14},
      {DType::Float8E4B8, 240.0, 0.125, 0x1p-7},
      {DType::Float8E5B16, 57344.0, 0.25, 0x1p-15},
      {DType::Float8E4B15, 1.875, 0.125, 0x1p-14},
  };
  for (const Format &format : formats)
    if (format.type == type.dtype()) {
      limits->fields["max"] = Value(format.max);
      limits->fields["min"] = Value(-format.max);
      limits->fields["eps"] = Value(format.eps);
      limits->fields["tiny"] = Value(format.tiny);
      limits->fields["smallest_normal"] = Value(format.tiny);
      limits->fields["bits"] = Value(int64_t(type.bits()));
    }
  return Value(std::move(limits));
}

} // namespace nereid::emit
