// Python's builtins, in both modes.

#include "emit/Interp.h"

#include "ops/Objects.h"

#include <cmath>

namespace nereid::emit {

namespace {

void needArgs(Interp &interp, const char *name, std::vector<Value> &args, size_t least,
              size_t most) {
  if (args.size() < least || args.size() > most)
    interp.raise("TypeError", "`" + std::string(name) + "` takes " + std::to_string(least) +
                                  (most != least ? " to " + std::to_string(most) : "") +
                                  " arguments, but " + std::to_string(args.size()) + " are given");
  unbox(args);
}

// What comes of unknown values is unknown.
std::optional<Value> unknownAmong(Interp &interp, const std::vector<Value> &args) {
  for (const Value &arg : args)
    if (auto *unknown = unboxed(arg).as<Unknown>()) {
      if (interp.inKernel())
        interp.failUnknown(*unknown, "an argument");
      return Value(std::make_shared<Unknown>(unknown->origin));
    }
  return std::nullopt;
}

Value keyword(Keywords &keywords, std::string_view name) {
  for (auto &[key, value] : keywords)
    if (key == name)
      return value;
  return Value();
}

Value makeRange(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "range", args, 1, 3);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  Value start = args.size() > 1 ? args[0] : Value(0);
  Value stop = args.size() > 1 ? args[1] : args[0];
  Value step = args.size() > 2 ? args[2] : Value(1);
  if (interp.inKernel() && !interp.top().isPython) {
    // A loop at run time, whatever is known of its bounds.
    auto range = std::make_shared<ops::RangeValue>();
    range->start = start;
    range->stop = stop;
    range->step = step;
    return Value(std::static_pointer_cast<ops::Object>(range));
  }
  int64_t stride = interp.asInt(step, "the step of a range");
  if (stride == 0)
    interp.raise("ValueError", "the step of a range can't be 0");
  return Value(std::make_shared<PythonRange>(interp.asInt(start, "the start of a range"),
                                             interp.asInt(stop, "the end of a range"), stride));
}

Value minMax(Interp &interp, bool wantsMax, std::vector<Value> &args, Keywords &keywords) {
  const char *name = wantsMax ? "max" : "min";
  Value key = keyword(keywords, "key");
  Value absent = keyword(keywords, "default");
  std::vector<Value> items;
  if (args.size() == 1 && !unboxed(args[0]).isTile() && !unboxed(args[0]).isNumber()) {
    if (auto unknown = unknownAmong(interp, args))
      return *unknown;
    items = interp.iterate(args[0]);
  } else {
    items = args;
  }
  if (items.empty()) {
    if (!absent.isNone())
      return absent;
    interp.raise("ValueError", "`" + std::string(name) + "` of nothing");
  }
  if (auto unknown = unknownAmong(interp, items))
    return *unknown;
  bool tiles = false;
  for (Value &item : items) {
    unbox(item);
    tiles |= item.isTile();
  }
  if (tiles) {
    if (items.size() == 1)
      interp.fail("RuntimeIteration", "`" + std::string(name) + "` can't look into a tile",
                  "use `tl." + std::string(name) + "(x, axis)`");
    const ops::Row *row = ops::find(wantsMax ? "maximum" : "minimum");
    Value result = items[0];
    for (size_t i = 1; i < items.size(); ++i)
      result = interp.callOp(*row, {result, items[i]}, {});
    return result;
  }
  auto keyOf = [&](const Value &item) {
    return key.isNone() ? item : interp.call(key, {item}, {});
  };
  Value best = items[0], bestKey = keyOf(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value candidate = keyOf(items[i]);
    Value better = interp.compare(wantsMax ? syntax::CompareOp::Gt : syntax::CompareOp::Lt,
                                  candidate, bestKey);
    if (interp.truth(better)) {
      best = items[i];
      bestKey = candidate;
    }
  }
  return best;
}

Value toInt(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "int", args, 0, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (args.empty())
    return Value(0);
  const Value &value = args[0];
  if (value.isTile())
    interp.fail("NotConstexpr", "`int(...)` needs a value that is known while compiling",
                "convert at run time with `.to(tl.int32)`");
  if (value.isBool())
    return Value(int64_t(value.asBool()));
  if (value.isInt())
    return value;
  if (value.isFloat()) {
    if (auto whole = Integer::fromDouble(value.asFloat()))
      return Value(*whole);
    interp.raise("ValueError", "can't convert " + interp.repr(value) + " to an integer");
  }
  if (value.isStr()) {
    std::string text = value.asStr();
    int64_t base = args.size() > 1 ? interp.asInt(args[1], "a base") : 10;
    size_t at = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
    auto bad = [&] { interp.raise("ValueError", interp.repr(value) + " is not an integer"); };
    if (at == std::string::npos)
      bad();
    text = text.substr(at, end - at + 1);
    bool negative = text[0] == '-';
    size_t i = negative || text[0] == '+';
    if ((base == 16 || base == 0) && (text.substr(i, 2) == "0x" || text.substr(i, 2) == "0X")) {
      i += 2;
      base = 16;
    }
    if (base == 0)
      base = 10;
    if (i == text.size() || base < 2 || base > 36 || text.size() > 1200)
      bad();
    Integer number(0);
    for (; i < text.size(); ++i) {
      int c = std::tolower(uint8_t(text[i]));
      int digit = std::isdigit(c) ? c - '0' : std::isalpha(c) ? c - 'a' + 10 : 99;
      if (c == '_')
        continue;
      if (digit >= base)
        bad();
      number = number * Integer(base) + Integer(digit);
    }
    return Value(negative ? -number : number);
  }
  if (isUserObject(value))
    for (const char *method : {"__int__", "__index__"})
      if (auto convert = interp.attribute(value, method))
        return interp.call(*convert, {}, {});
  interp.raise("TypeError", "`int` has no meaning for `" + value.typeName() + "`");
}

Value toFloat(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "float", args, 0, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (args.empty())
    return Value(0.0);
  const Value &value = args[0];
  if (value.isTile())
    interp.fail("NotConstexpr", "`float(...)` needs a value that is known while compiling",
                "convert at run time with `.to(tl.float32)`");
  if (value.isBool())
    return Value(double(value.asBool()));
  if (value.isInt())
    return Value(value.asInteger().toDouble());
  if (value.isFloat())
    return value;
  if (value.isStr()) {
    std::string text;
    for (char c : value.asStr())
      if (!std::isspace(uint8_t(c)) && c != '_')
        text += char(std::tolower(uint8_t(c)));
    char *end = nullptr;
    double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || text.find('x') != std::string::npos)
      interp.raise("ValueError", interp.repr(value) + " is not a number");
    return Value(number);
  }
  if (isUserObject(value))
    if (auto convert = interp.attribute(value, "__float__"))
      return interp.call(*convert, {}, {});
  interp.raise("TypeError", "`float` has no meaning for `" + value.typeName() + "`");
}

int64_t length(Interp &interp, const Value &value) {
  if (value.isTuple() || value.isList())
    return int64_t(value.items().size());
  if (value.isStr())
    return int64_t(interp.iterate(value).size());
  if (auto *dict = value.as<ops::Dict>())
    return int64_t(dict->entries.size());
  if (auto *set = value.as<SetObject>())
    return int64_t(set->items.size());
  if (auto *range = value.as<PythonRange>())
    return range->size();
  if (auto *type = value.as<ClassObject>(); type && type->flavor == ClassObject::Flavor::Enum)
    return int64_t(interp.iterate(value).size());
  if (value.isTile() && value.asTile().type.isBlock())
    return value.asTile().type.shape()[0];
  if (auto method = isUserObject(value) ? interp.attribute(value, "__len__") : std::nullopt)
    return interp.asInt(interp.call(*method, {}, {}), "`__len__`");
  interp.raise("TypeError", value.isTile() ? "pointers and numbers have no length: pass it as an "
                                             "argument of the kernel"
                                           : "`" + value.typeName() + "` object has no length");
}

} // namespace

const Value *Interp::builtin(std::string_view name) const {
  const Binding *binding = builtins->find(name);
  return binding ? &binding->value : nullptr;
}

std::shared_ptr<ClassObject> Interp::builtinClass(std::string_view name) {
  const Value *value = builtin(name);
  if (!value || !value->as<ClassObject>())
    return nullptr;
  return value->as<ClassObject>()->shared_from_this();
}

bool Interp::isInstance(const Value &valueIn, const Value &typeIn) {
  const Value &value = unboxed(valueIn), &type = unboxed(typeIn);
  if (type.isTuple()) {
    for (const Value &one : type.items())
      if (isInstance(value, one))
        return true;
    return false;
  }
  if (auto *unknown = type.as<Unknown>()) {
    // A kernel is its own wrapper; the outermost of its decorators says of what kind. No other
    // value here is of a class that only a Python process has.
    std::string_view origin = unknown->origin;
    auto *function = value.as<FunctionObject>();
    if (!function || function->flavor != FunctionObject::Flavor::Jit ||
        !origin.starts_with("triton."))
      return false;
    const auto &decorators = function->kernel->decorators;
    return origin.ends_with(".JITFunction") ||
           (origin.ends_with(".Autotuner") && !decorators.empty() &&
            decorators.back().decorator == "autotune") ||
           (origin.ends_with(".Heuristics") && !decorators.empty() &&
            decorators.back().decorator == "heuristics");
  }
  if (auto *wanted = type.as<ClassObject>()) {
    if (auto *instance = value.as<Instance>())
      return instance->type->derivesFrom(*wanted);
    if (auto *aggregate = value.as<AggregateValue>())
      return aggregate->type->derivesFrom(*wanted);
    if (auto *tuple = value.as<ops::Tuple>(); tuple && tuple->classObject)
      if (auto *own = dynamic_cast<ClassObject *>(tuple->classObject.get()))
        return own->derivesFrom(*wanted);
    if (wanted->className == "object")
      return true;
    return false;
  }
  std::string name;
  if (auto *op = type.as<OpFunction>())
    name = "tl." + std::string(op->row->name);
  else if (auto *native = type.as<NativeFunction>())
    name = native->functionName;
  else
    raise("TypeError", "`isinstance` needs a class, not `" + type.typeName() + "`");
  if (name == "tl.tensor")
    return value.isTile() && !value.asTile().type.isDescriptor();
  if (name == "tl.constexpr")
    return inKernel() ? !value.isTile() && value.isConstexpr()
                      : valueIn.as<ConstexprBox>() != nullptr;
  if (name == "tl.dtype")
    return value.isType() && value.asType().kind() == Type::Kind::Scalar;
  if (name == "tl.pointer_type")
    return value.isType() && value.asType().isPointer() && !value.asType().isBlock();
  if (name == "tl.block_type")
    return value.isType() && value.asType().isBlock();
  if (name == "tl.tensor_descriptor" || name == "tl.tensor_descriptor_base")
    return value.isTile() && value.asTile().type.isDescriptor();
  if (name == "tl.tuple" || name == "tuple")
    return value.isTuple();
  if (name == "int")
    return value.isInt() || value.isBool();
  if (name == "bool")
    return value.isBool();
  if (name == "float")
    return value.isFloat();
  if (name == "str")
    return value.isStr();
  if (name == "list")
    return value.isList();
  if (name == "dict")
    return value.as<ops::Dict>() != nullptr;
  if (name == "set")
    return value.as<SetObject>() != nullptr;
  if (name == "range")
    return value.as<PythonRange>() != nullptr;
  if (name == "slice" || name == "tl.slice")
    return value.as<ops::Slice>() != nullptr;
  if (name == "object")
    return true;
  if (name == "type")
    return value.as<ClassObject>() != nullptr;
  return false;
}

namespace {

Value builtinMin(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  return minMax(interp, false, args, keywords);
}

Value builtinMax(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  return minMax(interp, true, args, keywords);
}

Value builtinLen(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "len", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  return Value(length(interp, args[0]));
}

Value builtinAbs(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "abs", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  const Value &value = args[0];
  if (value.isTile())
    return interp.callOp(*ops::find("abs"), {value}, {});
  if (value.isFloat())
    return Value(std::fabs(value.asFloat()));
  if (value.isInt())
    return Value(value.asInteger().isNegative() ? -value.asInteger() : value.asInteger());
  if (value.isBool())
    return Value(int64_t(value.asBool()));
  interp.raise("TypeError", "`abs` has no meaning for `" + value.typeName() + "`");
}

Value builtinBool(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "bool", args, 0, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  return Value(!args.empty() && interp.truth(args[0]));
}

Value builtinStr(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "str", args, 0, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  return Value::str(args.empty() ? "" : interp.str(args[0]));
}

Value builtinRepr(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "repr", args, 1, 1);
  return Value::str(interp.repr(args[0]));
}

Value builtinIsInstance(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() != 2)
    interp.raise("TypeError", "`isinstance` takes 2 arguments");
  if (auto *unknown = unboxed(args[0]).as<Unknown>())
    if (!interp.inKernel())
      return Value(std::make_shared<Unknown>(unknown->origin));
  return Value(interp.isInstance(args[0], args[1]));
}

Value builtinIssubclass(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "issubclass", args, 2, 2);
  auto *a = args[0].as<ClassObject>(), *b = args[1].as<ClassObject>();
  return Value(a && b && a->derivesFrom(*b));
}

Value builtinHasattr(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() != 2 || !unboxed(args[1]).isStr())
    interp.raise("TypeError", "`hasattr` takes an object and a name");
  if (unboxed(args[0]).as<Unknown>())
    return Value(std::make_shared<Unknown>("hasattr(" + interp.repr(args[0]) + ", ...)"));
  const std::string &name = unboxed(args[1]).asStr();
  bool has = interp.attribute(args[0], interp.intern(name)).has_value();
  if (unboxed(args[0]).as<LanguageModule>() || unboxed(args[0]).as<NativeModule>())
    interp.recordFact("hasattr", interp.repr(args[0]) + "." + name, has ? "1" : "0");
  return Value(has);
}

Value builtinGetattr(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() > 1)
    if (auto unknown = unknownAmong(interp, {args[1]}))
      return *unknown;
  if (args.size() < 2 || args.size() > 3 || !unboxed(args[1]).isStr())
    interp.raise("TypeError", "`getattr` takes an object and a name");
  std::string_view name = interp.intern(unboxed(args[1]).asStr());
  if (args.size() == 2)
    return interp.requireAttribute(args[0], name);
  std::optional<Value> value = interp.attribute(args[0], name);
  return value ? *value : args[2];
}

Value builtinSetattr(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() != 3 || !unboxed(args[1]).isStr())
    interp.raise("TypeError", "`setattr` takes an object, a name and a value");
  interp.setAttribute(args[0], interp.intern(unboxed(args[1]).asStr()), args[2]);
  return Value();
}

Value builtinNext(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.empty())
    interp.raise("TypeError", "`next` takes an iterator");
  if (auto unknown = unknownAmong(interp, {args[0]}))
    return *unknown;
  if (auto *list = unboxed(args[0]).as<ops::List>(); list && !list->items.empty()) {
    Value item = list->items.front();
    interp.noteChange(unboxed(args[0]));
    list->items.erase(list->items.begin());
    return item;
  }
  if (args.size() > 1)
    return args[1];
  interp.raise("StopIteration", "");
}

Value builtinDict(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  auto dict = std::make_shared<ops::Dict>();
  Value result(dict);
  interp.call(interp.requireAttribute(result, "update"), args, keywords);
  return result;
}

Value builtinEnumerate(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  needArgs(interp, "enumerate", args, 1, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  Value start = args.size() > 1 ? args[1] : keyword(keywords, "start");
  int64_t at = start.isNone() ? 0 : interp.asInt(start, "`start`");
  std::vector<Value> pairs;
  for (Value &item : interp.iterate(args[0]))
    pairs.push_back(Value::tuple({Value(at++), item}));
  return interp.inKernel() ? Value::tuple(std::move(pairs))
                           : Value(std::make_shared<ops::List>(std::move(pairs)));
}

Value builtinZip(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  std::vector<std::vector<Value>> columns;
  size_t size = args.empty() ? 0 : SIZE_MAX;
  for (const Value &arg : args) {
    columns.push_back(interp.iterate(arg));
    size = std::min(size, columns.back().size());
  }
  std::vector<Value> rows;
  for (size_t i = 0; i < size; ++i) {
    std::vector<Value> row;
    for (auto &column : columns)
      row.push_back(column[i]);
    rows.push_back(Value::tuple(std::move(row)));
  }
  return interp.inKernel() ? Value::tuple(std::move(rows))
                           : Value(std::make_shared<ops::List>(std::move(rows)));
}

Value builtinSum(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "sum", args, 1, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (unboxed(args[0]).isTile())
    interp.fail("RuntimeIteration", "`sum` can't look into a tile", "use `tl.sum(x, axis)`");
  Value total = args.size() > 1 ? args[1] : Value(0);
  for (const Value &item : interp.iterate(args[0]))
    total = interp.binary(syntax::BinaryOp::Add, total, item);
  return total;
}

Value builtinSorted(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  needArgs(interp, "sorted", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  Value key = keyword(keywords, "key"), reverse = keyword(keywords, "reverse");
  std::vector<std::pair<Value, Value>> keyed;
  for (Value &item : interp.iterate(args[0]))
    keyed.emplace_back(key.isNone() ? item : interp.call(key, {item}, {}), item);
  bool down = !reverse.isNone() && interp.truth(reverse);
  // Insertion by merging halves: comparisons may throw, which std::stable_sort does not mind.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto &a, const auto &b) {
    return down ? interp.truth(interp.compare(syntax::CompareOp::Lt, b.first, a.first))
                : interp.truth(interp.compare(syntax::CompareOp::Lt, a.first, b.first));
  });
  std::vector<Value> items;
  for (auto &[order, item] : keyed)
    items.push_back(item);
  return Value(std::make_shared<ops::List>(std::move(items)));
}

Value builtinRound(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "round", args, 1, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (args[0].isInt() || args[0].isBool())
    return args[0];
  if (args[0].isTile())
    interp.fail("NotConstexpr", "`round` needs a value that is known while compiling",
                ops::elsewhere("round"));
  if (!args[0].isFloat())
    interp.raise("TypeError", "`round` has no meaning for `" + args[0].typeName() + "`");
  double value = args[0].asFloat();
  if (args.size() == 1) {
    if (auto whole = Integer::fromDouble(std::nearbyint(value)))
      return Value(*whole);
    interp.raise("ValueError", "can't convert " + interp.repr(args[0]) + " to an integer");
  }
  std::string text =
      interp.format(args[0], "." + std::to_string(interp.asInt(args[1], "digits")) + "f");
  return Value(std::strtod(text.c_str(), nullptr));
}

Value builtinDivmod(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "divmod", args, 2, 2);
  return Value::tuple({interp.binary(syntax::BinaryOp::FloorDiv, args[0], args[1]),
                       interp.binary(syntax::BinaryOp::Mod, args[0], args[1])});
}

Value builtinPow(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "pow", args, 2, 2);
  return interp.binary(syntax::BinaryOp::Pow, args[0], args[1]);
}

Value builtinPrint(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  if (!interp.inKernel())
    return Value(); // what a module prints is nobody's business here
  return interp.callOp(*ops::find("device_print"), std::move(args), std::move(keywords));
}

Value builtinType(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "type", args, 1, 3);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  const Value &value = args[0];
  if (auto *instance = value.as<Instance>())
    return Value(instance->type);
  if (auto *aggregate = value.as<AggregateValue>())
    return Value(aggregate->type);
  if (auto *tuple = value.as<ops::Tuple>(); tuple && tuple->classObject)
    return Value(tuple->classObject);
  if (const Value *known = interp.builtin(value.typeName()))
    return *known;
  if (value.isTile())
    return interp.requireAttribute(Value(std::make_shared<LanguageModule>("")), "tensor");
  if (value.isType())
    return interp.requireAttribute(Value(std::make_shared<LanguageModule>("")), "dtype");
  return Value(std::make_shared<Unknown>("type(" + interp.repr(value) + ")"));
}

Value builtinId(Interp &, std::vector<Value> &, Keywords &) {
  return Value(std::make_shared<Unknown>("id(...)"));
}

Value builtinCallable(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "callable", args, 1, 1);
  return Value(args[0].isCallable());
}

Value builtinChr(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "chr", args, 1, 1);
  int64_t code = interp.asInt(args[0], "a character code");
  if (code < 0 || code > 127)
    interp.raise("ValueError", "`chr` knows ASCII only");
  return Value::str(std::string(1, char(code)));
}

Value builtinOrd(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "ord", args, 1, 1);
  if (!args[0].isStr() || args[0].asStr().size() != 1)
    interp.raise("TypeError", "`ord` needs one ASCII character");
  return Value(int64_t(uint8_t(args[0].asStr()[0])));
}

Value builtinSlice(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "slice", args, 1, 3);
  return Value(std::make_shared<ops::Slice>(args.size() > 1 ? args[0] : Value(),
                                            args.size() > 1 ? args[1] : args[0],
                                            args.size() > 2 ? args[2] : Value()));
}

Value builtinSuper(Interp &, std::vector<Value> &, Keywords &) {
  return Value(std::make_shared<Unknown>("super()"));
}

template <bool filters> Value mapOrFilter(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() != 2)
    interp.raise("TypeError", "`map` and `filter` take a function and one iterable here");
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  std::vector<Value> results;
  for (Value &item : interp.iterate(args[1])) {
    Value result = args[0].isNone() ? item : interp.call(args[0], {item}, {});
    if (!filters)
      results.push_back(std::move(result));
    else if (interp.truth(result))
      results.push_back(item);
  }
  return Value(std::make_shared<ops::List>(std::move(results)));
}

template <bool wantsAll> Value allOrAny(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, wantsAll ? "all" : "any", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  std::vector<Value> items = interp.iterate(args[0]);
  for (const Value &item : items)
    if (!unboxed(item).as<Unknown>() && interp.truth(item) != wantsAll)
      return Value(!wantsAll);
  if (auto unknown = unknownAmong(interp, items))
    return *unknown;
  return Value(wantsAll);
}

// `staticmethod`, `classmethod`, `property`.
template <bool FunctionObject::*flag> Value marked(Interp &, std::vector<Value> &args, Keywords &) {
  if (args.empty())
    return Value();
  auto *function = args[0].as<FunctionObject>();
  if (!function)
    return args[0];
  auto copy = std::make_shared<FunctionObject>(*function);
  copy.get()->*flag = true;
  return Value(std::move(copy));
}

// What is made of the items of one iterable, or of none.
Value listOf(Interp &interp, std::vector<Value> items) {
  return interp.inKernel() && !interp.top().isPython
             ? Value::tuple(std::move(items))
             : Value(std::make_shared<ops::List>(std::move(items)));
}

Value tupleOf(Interp &, std::vector<Value> items) { return Value::tuple(std::move(items)); }

Value iteratorOf(Interp &, std::vector<Value> items) {
  return Value(std::make_shared<ops::List>(std::move(items)));
}

Value setOf(Interp &interp, std::vector<Value> items) {
  auto set = std::make_shared<SetObject>();
  for (Value &item : items)
    interp.addTo(*set, unboxed(item));
  return Value(std::move(set));
}

Value frozenSetOf(Interp &, std::vector<Value> items) {
  auto set = std::make_shared<SetObject>();
  for (Value &item : items)
    set->add(unboxed(item));
  return Value(std::move(set));
}

Value reversedOf(Interp &, std::vector<Value> items) {
  std::reverse(items.begin(), items.end());
  return Value(std::make_shared<ops::List>(std::move(items)));
}

constexpr std::pair<const char *, Value (*)(Interp &, std::vector<Value> &, Keywords &)>
    functions[] = {
        {"range", makeRange},
        {"int", toInt},
        {"float", toFloat},
        {"min", builtinMin},
        {"max", builtinMax},
        {"len", builtinLen},
        {"abs", builtinAbs},
        {"bool", builtinBool},
        {"str", builtinStr},
        {"repr", builtinRepr},
        {"isinstance", builtinIsInstance},
        {"issubclass", builtinIssubclass},
        {"hasattr", builtinHasattr},
        {"getattr", builtinGetattr},
        {"setattr", builtinSetattr},
        {"next", builtinNext},
        {"dict", builtinDict},
        {"enumerate", builtinEnumerate},
        {"zip", builtinZip},
        {"sum", builtinSum},
        {"sorted", builtinSorted},
        {"round", builtinRound},
        {"divmod", builtinDivmod},
        {"pow", builtinPow},
        {"print", builtinPrint},
        {"type", builtinType},
        {"id", builtinId},
        {"callable", builtinCallable},
        {"chr", builtinChr},
        {"ord", builtinOrd},
        {"slice", builtinSlice},
        {"super", builtinSuper},
        {"map", mapOrFilter<false>},
        {"filter", mapOrFilter<true>},
        {"any", allOrAny<false>},
        {"all", allOrAny<true>},
        {"staticmethod", marked<&FunctionObject::isStatic>},
        {"classmethod", marked<&FunctionObject::isClassMethod>},
        {"property", marked<&FunctionObject::isProperty>},
};

constexpr std::pair<const char *, Value (*)(Interp &, std::vector<Value>)> collections[] = {
    {"list", listOf}, {"tuple", tupleOf},         {"iter", iteratorOf},
    {"set", setOf},   {"frozenset", frozenSetOf}, {"reversed", reversedOf},
};

// Names that a module may use, of which nothing is known here.
constexpr const char *unknowns[] = {
    "open",   "exec", "eval",       "compile",   "input", "__import__", "globals",
    "locals", "vars", "memoryview", "bytearray", "bytes", "complex",    "NotImplemented"};

// Each with its base.
constexpr const char *exceptions[][2] = {
    {"BaseException", ""},
    {"Exception", "BaseException"},
    {"ArithmeticError", "Exception"},
    {"ZeroDivisionError", "ArithmeticError"},
    {"OverflowError", "ArithmeticError"},
    {"AssertionError", "Exception"},
    {"AttributeError", "Exception"},
    {"ImportError", "Exception"},
    {"ModuleNotFoundError", "ImportError"},
    {"LookupError", "Exception"},
    {"IndexError", "LookupError"},
    {"KeyError", "LookupError"},
    {"MemoryError", "Exception"},
    {"NameError", "Exception"},
    {"OSError", "Exception"},
    {"FileNotFoundError", "OSError"},
    {"RuntimeError", "Exception"},
    {"NotImplementedError", "RuntimeError"},
    {"RecursionError", "RuntimeError"},
    {"StopIteration", "Exception"},
    {"SyntaxError", "Exception"},
    {"TypeError", "Exception"},
    {"ValueError", "Exception"},
    {"Warning", "Exception"},
    {"UserWarning", "Warning"},
    {"DeprecationWarning", "Warning"},
};

} // namespace

void Interp::makeBuiltins() {
  builtins = std::make_shared<Names>();
  auto add = [&](const char *name, NativeFunction::Body body) {
    builtins->set(name, native(name, std::move(body)));
  };
  for (auto &[name, function] : functions)
    add(name, function);
  for (auto &[name, function] : collections)
    add(name, [name, function](Interp &interp, std::vector<Value> &args, Keywords &) -> Value {
      if (auto unknown = unknownAmong(interp, args))
        return *unknown;
      needArgs(interp, name, args, 0, 1);
      return function(interp, args.empty() ? std::vector<Value>() : interp.iterate(args[0]));
    });
  for (const char *name : unknowns)
    builtins->set(name, Value(std::make_shared<Unknown>(name)));

  auto addClass = [&](const char *name, const char *base) {
    auto type = std::make_shared<ClassObject>();
    type->interp = this;
    type->className = name;
    type->flavor = ClassObject::Flavor::Exception;
    if (*base)
      type->bases.push_back(builtinClass(base));
    builtins->set(name, Value(std::move(type)));
  };
  for (auto &[name, base] : exceptions)
    addClass(name, base);
  builtins->set("IOError", *builtin("OSError"));
  auto object = std::make_shared<ClassObject>();
  object->interp = this;
  object->className = "object";
  builtins->set("object", Value(std::move(object)));
  builtins->set("__debug__", Value(true));
}

} // namespace nereid::emit
