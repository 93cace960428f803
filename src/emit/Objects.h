// The objects of the evaluator: modules, functions, classes, instances. All are `ops::Object`s, so
// that one `ops::Value` serves module-level Python and kernels alike.
#pragma once

#include "emit/Names.h"
#include "ops/Table.h"
#include "syntax/Ast.h"

#include <functional>
#include <map>

namespace nereid::emit {

using ops::Tile;
using ops::Type;
using ops::Value;

class Interp;
struct FunctionObject;
struct ClassObject;

using Keywords = std::vector<std::pair<std::string, Value>>;
/// The value of `name`, or null.
const Value *findKeyword(const Keywords &keywords, std::string_view name);
/// Replaces the value of `name`, or adds one.
void setKeyword(Keywords &keywords, const std::string &name, const Value &value);

/// A module whose source we have.
struct ModuleObject : ops::Object, std::enable_shared_from_this<ModuleObject> {
  ModuleObject() : Object(Kind::Host) {}
  std::string typeName() const override { return "module"; }
  std::string repr() const override { return "<module '" + name + "'>"; }

  std::string name;    ///< dotted
  std::string package; ///< what relative imports start from
  std::shared_ptr<const syntax::Module> tree;
  std::shared_ptr<Names> names = std::make_shared<Names>();
  bool isPrelude = false; ///< its functions are part of the vocabulary: errors point at the caller
};

/// A module of the engine's own: `triton`, `math`, `os`. Its attributes are computed when asked
/// for.
struct NativeModule : ops::Object {
  using Lookup = std::function<std::optional<Value>(Interp &, std::string_view)>;
  NativeModule(std::string name, Lookup lookup)
      : Object(Kind::Host), name(std::move(name)), lookup(std::move(lookup)) {}
  std::string typeName() const override { return "module"; }
  std::string repr() const override { return "<module '" + name + "'>"; }
  std::string name;
  Lookup lookup;
};

/// `triton.language` or a module below it; `path` is "" or ends in a dot: "math.", "extra.cuda.".
struct LanguageModule : ops::Object {
  explicit LanguageModule(std::string path) : Object(Kind::Host), path(std::move(path)) {}
  std::string typeName() const override { return "module"; }
  std::string repr() const override;
  bool equals(const Object &other) const override {
    auto *module = dynamic_cast<const LanguageModule *>(&other);
    return module && module->path == path;
  }
  std::string path;
};

/// Something that only a real Python process could know: a missing import, a device property.
/// Whatever is done with it is unknown too; needing its value is an error that names its origin.
struct Unknown : ops::Object {
  explicit Unknown(std::string origin) : Object(Kind::Host), origin(std::move(origin)) {}
  std::string typeName() const override { return "unknown"; }
  std::string repr() const override { return origin; }
  std::string origin;      ///< as source text: "torch.cuda.get_device_capability()"
  bool isImported = false; ///< a module, or what a `from` import took out of one
};

/// `tl.constexpr(x)` in module-level code, where it marks globals that kernels may read. Kernels
/// never see one: there, each value that is no tile is a constexpr.
struct ConstexprBox : ops::Object {
  explicit ConstexprBox(Value value) : Object(Kind::Host), value(std::move(value)) {}
  std::string typeName() const override { return "constexpr"; }
  std::string repr() const override { return "constexpr[" + value.repr() + "]"; }
  Value value;
};

/// An object of the engine's own that behaves as its attributes say: `__add__`, `__getitem__`,
/// `shape`.
struct NativeObject : ops::Object {
  NativeObject() : Object(Kind::Host) {}
  virtual std::optional<Value> attribute(Interp &interp, std::string_view name) = 0;
  /// `object.name = value`; false if that is not possible.
  virtual bool setAttribute(Interp &, std::string_view, const Value &) { return false; }
};

/// What the decorators of a kernel say.
struct KernelInfo {
  struct Entry {
    std::string decorator; ///< "autotune", "heuristics"; the source of one that failed
    std::vector<Value> args;
    Keywords keywords;
    std::shared_ptr<const Diagnostic> failure; ///< why the decorator could not be applied
  };
  std::vector<std::string> doNotSpecialize, doNotSpecializeOnAlignment; ///< names
  std::vector<Entry> decorators; ///< outermost last, as they are applied
  bool noinline = false;
  std::optional<bool> debug;
};

/// A function written in Python: plain, `@triton.jit` or `@triton.constexpr_function`; also
/// lambdas.
struct FunctionObject : ops::Callable {
  enum class Flavor : uint8_t { Plain, Jit, Constexpr };
  std::string typeName() const override {
    return flavor == Flavor::Jit ? "JITFunction" : "function";
  }
  std::string name() const override { return std::string(functionName); }
  Value call(ops::OpContext &context, std::vector<Value> args, Keywords keywords) override;

  Interp *interp = nullptr;
  Flavor flavor = Flavor::Plain;
  std::string_view functionName;
  std::string qualifiedName;
  const syntax::Arguments *parameters = nullptr;
  const syntax::FunctionDef *def = nullptr; ///< null for a lambda
  const syntax::Expr *lambdaBody = nullptr; ///< set for a lambda
  std::shared_ptr<ModuleObject> module;
  /// Scopes of the functions around it, innermost first.
  std::vector<std::shared_ptr<Names>> closure;
  std::vector<Value> defaults;                  ///< of the last positional parameters
  std::vector<std::optional<Value>> kwDefaults; ///< of the keyword-only parameters
  std::shared_ptr<KernelInfo> kernel;           ///< of jit functions
  bool isProperty = false, isStatic = false, isClassMethod = false;
  std::weak_ptr<ClassObject> owner; ///< the class that it is a method of

  const syntax::Node *node() const {
    return def ? static_cast<const syntax::Node *>(def)
               : static_cast<const syntax::Node *>(lambdaBody);
  }
};

/// Whether a function is made like Triton's builtins: it takes tiles as they come, and `_semantic`.
bool takesBuilder(const FunctionObject &function);
/// Takes `_semantic=_semantic` and its like out of the keywords of a call.
void dropBuilderArguments(Keywords &keywords);
/// Gives `function` those that it has parameters for, beside `positional` arguments.
void addBuilderArguments(const FunctionObject &function, size_t positional, Keywords &keywords);

/// A callable of the engine's own.
struct NativeFunction : ops::Callable {
  using Body = std::function<Value(Interp &, std::vector<Value> &, Keywords &)>;
  NativeFunction(std::string name, Body body)
      : functionName(std::move(name)), body(std::move(body)) {}
  std::string typeName() const override { return "builtin_function_or_method"; }
  std::string name() const override { return functionName; }
  Value call(ops::OpContext &, std::vector<Value>, Keywords) override;
  std::string functionName;
  Body body;
  Interp *interp = nullptr;
  bool isMethod = false; ///< found in a class, it takes the instance as first argument
  /// Called with `**` of something unknown it goes without: its options change no result.
  bool dropsUnknownOptions = false;
};

/// A name of the vocabulary, from the op table.
struct OpFunction : ops::Callable {
  OpFunction(const ops::Row *row, bool oldSpelling, std::string spelled, Interp *interp)
      : row(row), oldSpelling(oldSpelling), spelled(std::move(spelled)), interp(interp) {}
  std::string name() const override { return "tl." + spelled; }
  std::string repr() const override { return "<function tl." + spelled + ">"; }
  bool equals(const Object &other) const override {
    auto *op = dynamic_cast<const OpFunction *>(&other);
    return op && op->row == row;
  }
  Value call(ops::OpContext &context, std::vector<Value> args, Keywords keywords) override;
  const ops::Row *row;
  bool oldSpelling;
  std::string spelled;
  Interp *interp;
};

/// A callable with its first argument.
struct BoundMethod : ops::Callable {
  BoundMethod(Value self, std::shared_ptr<ops::Callable> function)
      : self(std::move(self)), function(std::move(function)) {}
  std::string typeName() const override { return "method"; }
  std::string name() const override { return function->name(); }
  Value call(ops::OpContext &context, std::vector<Value> args, Keywords keywords) override {
    args.insert(args.begin(), self);
    return function->call(context, std::move(args), std::move(keywords));
  }
  Value self;
  std::shared_ptr<ops::Callable> function;
};

/// A class: plain, `@triton.aggregate`, a named tuple, a dataclass, an Enum, an exception.
struct ClassObject : ops::Callable, std::enable_shared_from_this<ClassObject> {
  enum class Flavor : uint8_t { Plain, Aggregate, NamedTuple, Dataclass, Enum, Exception };
  std::string typeName() const override { return "type"; }
  std::string name() const override { return className; }
  std::string repr() const override { return "<class '" + className + "'>"; }
  Value call(ops::OpContext &, std::vector<Value>, Keywords) override;
  /// Whether both come of one definition, which a program may hold in several units.
  bool isSame(const ClassObject &other) const;
  /// Whether it is `other` or derives from it.
  bool derivesFrom(const ClassObject &other) const;
  /// The attribute of the class or of the first base that has it.
  const Value *find(std::string_view name) const;

  Interp *interp = nullptr;
  Flavor flavor = Flavor::Plain;
  std::string className;
  std::vector<std::shared_ptr<ClassObject>> bases;
  std::shared_ptr<Names> attributes = std::make_shared<Names>();
  /// Annotated fields in order, of aggregates, named tuples and dataclasses, with their defaults.
  struct Field {
    std::string name;
    Value annotation;
    std::optional<Value> defaultValue;
  };
  std::vector<Field> fields;
  std::shared_ptr<ModuleObject> module;
  const syntax::ClassDef *def = nullptr;
  bool isPlainValued = false; ///< an Enum whose members are ints or strings: see plainMember
};

/// An object of a plain class, a dataclass, an Enum or an exception.
struct Instance : ops::Object {
  explicit Instance(std::shared_ptr<ClassObject> type)
      : Object(Kind::Host), type(std::move(type)) {}
  ~Instance() override {
    for (auto &[name, value] : fields)
      drop(std::move(value));
  }
  std::string typeName() const override { return type->className; }
  std::string repr() const override;
  bool equals(const Object &other) const override;
  std::shared_ptr<ClassObject> type;
  std::map<std::string, Value, std::less<>> fields;
};

/// A member of an enumeration of numbers or strings (`IntEnum`, `class A(str, Enum)`) counts as its
/// value in operators; other values as they are.
const Value &plainMember(const Value &value);

/// An object of an `@triton.aggregate` class: fields of tiles and constexprs.
struct AggregateValue : ops::Aggregate {
  std::string typeName() const override { return type->className; }
  std::string repr() const override;
  bool equals(const Object &other) const override;
  std::vector<Tile> tiles() const override;
  Value withTiles(std::span<const Tile> tiles) const override;
  bool sameShape(const ops::Aggregate &other) const override;
  std::shared_ptr<ClassObject> type;
  std::vector<std::pair<std::string_view, Value>> fields; ///< in the order of the class
  Value *field(std::string_view name) {
    for (auto &[key, value] : fields)
      if (key == name)
        return &value;
    return nullptr;
  }
};

/// Objects whose operators, items and length are methods found by `Interp::attribute`.
inline bool isUserObject(const Value &value) {
  return value.as<Instance>() || value.as<AggregateValue>() || value.as<NativeObject>();
}

/// A Python set, in order of insertion.
struct SetObject : ops::Object {
  SetObject() : Object(Kind::Host) {}
  std::string typeName() const override { return "set"; }
  std::string repr() const override;
  bool equals(const Object &other) const override;
  bool contains(const Value &value) const;
  void add(Value value) {
    if (!contains(value))
      items.push_back(std::move(value));
  }
  std::vector<Value> items;
};

/// `range(...)` of numbers known now.
struct PythonRange : ops::Object {
  PythonRange(int64_t start, int64_t stop, int64_t step)
      : Object(Kind::Host), start(start), stop(stop), step(step) {}
  std::string typeName() const override { return "range"; }
  std::string repr() const override;
  int64_t size() const;
  int64_t start, stop, step;
};

// --- working with tuples and other bundles of values ---

/// Calls `f` with each tile in `value`, also inside tuples, lists and aggregates, in a fixed order.
void forEachTile(const Value &value, llvm::function_ref<void(const Tile &)> f);
/// `value` with each of its tiles replaced by `f` of it, in the same order.
Value mapTiles(const Value &value, llvm::function_ref<Tile(const Tile &)> f);
/// Whether there is a tile in `value`.
inline bool holdsTile(const Value &value) {
  bool found = false;
  forEachTile(value, [&](const Tile &) { found = true; });
  return found;
}
/// "`int32`", "the number 3", for messages about names that change.
std::string describeValue(const Value &value);
/// The very same value: the same tile, the same number, the same object.
bool identical(const Value &a, const Value &b);
/// A tuple like `like` (same names and class) around other items.
Value tupleLike(const ops::Tuple &like, std::vector<Value> items);
/// Without the mark of `tl.constexpr(...)`.
inline const Value &unboxed(const Value &value) {
  if (auto *box = value.as<ConstexprBox>())
    return box->value;
  return value;
}
/// Takes the mark off where the value stands.
inline void unbox(Value &value) {
  value = Value(unboxed(value)); // a copy first: the value may be the last to hold its box
}
inline void unbox(std::vector<Value> &values) {
  for (Value &value : values)
    unbox(value);
}

} // namespace nereid::emit
