// Python's builtins, in both modes: those that ask about objects; numbers and sequences have files
// of their own.
#include "emit/Builtins.h"
#include "ops/Objects.h"

#include <cmath>

namespace nereid::emit {

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
  if (name == "tl.constexpr_type" && value.isType())
    fail("UnsupportedOp",
         "whether a type is a `tl.constexpr_type` is not known: `.type` of a value that is known "
         "while compiling is the type of its number",
         "ask it of the value: `isinstance(x, tl.constexpr)`");
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

Value builtinSuper(Interp &, std::vector<Value> &, Keywords &) {
  return Value(std::make_shared<Unknown>("super()"));
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

constexpr BuiltinRow builtinTable[] = {
    {"bool", builtinBool},
    {"str", builtinStr},
    {"repr", builtinRepr},
    {"isinstance", builtinIsInstance},
    {"issubclass", builtinIssubclass},
    {"hasattr", builtinHasattr},
    {"getattr", builtinGetattr},
    {"setattr", builtinSetattr},
    {"print", builtinPrint},
    {"type", builtinType},
    {"id", builtinId},
    {"callable", builtinCallable},
    {"super", builtinSuper},
    {"staticmethod", marked<&FunctionObject::isStatic>},
    {"classmethod", marked<&FunctionObject::isClassMethod>},
    {"property", marked<&FunctionObject::isProperty>},
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
  for (std::span<const BuiltinRow> table :
       {std::span<const BuiltinRow>(builtinTable), numberBuiltins(), sequenceBuiltins()})
    for (auto &[name, function] : table)
      add(name, function);
  for (auto &[name, function] : collectionBuiltins())
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
