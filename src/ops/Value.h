// One value of the program being compiled: a Python object known now, or a tile known at run time.
//
// The evaluator of module-level Python and the emitter of kernels share it; in a kernel every value
// that is not a tile is a `constexpr`. Builders of ops (`ops/Table.h`) take and give it, so C++
// authoring can too.
#pragma once

#include "ops/Type.h"
#include "support/Integer.h"

#include "mlir/IR/Value.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nereid::ops {

class Value;
struct OpContext;

/// A value of tile IR with its language type. Scalars are tiles of rank 0.
struct Tile {
  mlir::Value value;
  Type type;
};

/// Base of everything that lives on the heap. Evaluator-only kinds (instances, modules, ...) derive
/// from it in their room with kind `Host`.
struct Object {
  enum class Kind : uint8_t {
    Str,
    Tuple,
    List,
    Dict,
    Slice,
    TypeObject,
    Callable,
    Aggregate,
    Host
  };
  explicit Object(Kind kind) : kind(kind) {}
  virtual ~Object() = default;
  /// As Python's type(x).__name__.
  virtual std::string typeName() const = 0;
  /// As Python's repr(x); asked of kinds Aggregate and Host only.
  virtual std::string repr() const;
  /// Python's `==` with another object of the same kind; asked of kinds Aggregate and Host only.
  virtual bool equals(const Object &other) const { return this == &other; }
  const Kind kind;
};

struct None {
  bool operator==(const None &) const = default;
};

class Value {
public:
  Value() : state(None{}) {}
  Value(None) : state(None{}) {}
  Value(bool b) : state(b) {}
  Value(int64_t i) : state(Integer(i)) {}
  Value(int i) : state(Integer(i)) {}
  Value(Integer i) : state(std::move(i)) {}
  Value(double d) : state(d) {}
  Value(Tile tile) : state(std::move(tile)) {}
  Value(std::shared_ptr<Object> object) : state(std::move(object)) {}
  template <typename T>
    requires std::is_base_of_v<Object, T>
  Value(std::shared_ptr<T> object) : state(std::shared_ptr<Object>(std::move(object))) {}
  Value(const char *) = delete; // str(...) says it

  static Value str(std::string text);
  static Value tuple(std::vector<Value> items);
  static Value type(Type type); ///< a dtype or pointer type as a value: `tl.float32`

  bool isNone() const { return std::holds_alternative<None>(state); }
  bool isBool() const { return std::holds_alternative<bool>(state); }
  bool isInt() const { return std::holds_alternative<Integer>(state); } ///< not bool
  bool isFloat() const { return std::holds_alternative<double>(state); }
  bool isNumber() const { return isBool() || isInt() || isFloat(); }
  bool isTile() const { return std::holds_alternative<Tile>(state); }
  bool isObject() const { return std::holds_alternative<std::shared_ptr<Object>>(state); }
  bool isStr() const { return hasKind(Object::Kind::Str); }
  bool isTuple() const { return hasKind(Object::Kind::Tuple); }
  bool isList() const { return hasKind(Object::Kind::List); }
  bool isType() const { return hasKind(Object::Kind::TypeObject); }
  bool isCallable() const { return hasKind(Object::Kind::Callable); }
  /// Known while compiling: holds no tile, also inside tuples and lists.
  bool isConstexpr() const;

  bool asBool() const { return std::get<bool>(state); }
  const Integer &asInteger() const { return std::get<Integer>(state); }
  double asFloat() const { return std::get<double>(state); }
  const Tile &asTile() const { return std::get<Tile>(state); }
  const std::string &asStr() const;
  std::span<const Value> items() const; ///< of a tuple or list
  Type asType() const;
  const std::shared_ptr<Object> &object() const { return std::get<std::shared_ptr<Object>>(state); }
  /// The object as a T, or null.
  template <typename T> T *as() const {
    return isObject() ? dynamic_cast<T *>(std::get<std::shared_ptr<Object>>(state).get()) : nullptr;
  }

  /// As Python's type(x).__name__; a tile says "tensor".
  std::string typeName() const;
  /// As Python's repr(x), for messages; a tile prints its type.
  std::string repr() const;

private:
  bool hasKind(Object::Kind kind) const {
    return isObject() && std::get<std::shared_ptr<Object>>(state)->kind == kind;
  }
  std::variant<None, bool, Integer, double, Tile, std::shared_ptr<Object>> state;
};

struct Str : Object {
  explicit Str(std::string text) : Object(Kind::Str), text(std::move(text)) {}
  std::string typeName() const override { return "str"; }
  std::string text;
};

/// A tuple; with `fieldNames` a named tuple, with `className` its class.
struct Tuple : Object {
  explicit Tuple(std::vector<Value> items) : Object(Kind::Tuple), items(std::move(items)) {}
  std::string typeName() const override { return className.empty() ? "tuple" : className; }
  std::vector<Value> items;
  std::shared_ptr<const std::vector<std::string>> fieldNames;
  std::string className;
  std::shared_ptr<Object> classObject; ///< of a named tuple, for its methods; may be null
};

struct List : Object {
  explicit List(std::vector<Value> items) : Object(Kind::List), items(std::move(items)) {}
  std::string typeName() const override { return "list"; }
  std::vector<Value> items;
};

/// Insertion-ordered, as in Python.
struct Dict : Object {
  Dict() : Object(Kind::Dict) {}
  std::string typeName() const override { return "dict"; }
  std::vector<std::pair<Value, Value>> entries;
};

struct Slice : Object {
  Slice(Value start, Value stop, Value step)
      : Object(Kind::Slice), start(std::move(start)), stop(std::move(stop)), step(std::move(step)) {
  }
  std::string typeName() const override { return "slice"; }
  Value start, stop, step;
};

/// A dtype, pointer type or block type used as a value.
struct TypeObject : Object {
  explicit TypeObject(Type type) : Object(Kind::TypeObject), type(std::move(type)) {}
  std::string typeName() const override { return "dtype"; }
  Type type;
};

/// Something that can be called with values: a jit function, a plain function, an op, a class.
struct Callable : Object {
  Callable() : Object(Kind::Callable) {}
  std::string typeName() const override { return "function"; }
  virtual std::string name() const = 0;
  /// Calls it at the context's insertion point and location.
  virtual Value call(OpContext &context, std::vector<Value> args,
                     std::vector<std::pair<std::string, Value>> keywords) = 0;
};

/// A bundle of tiles with a fixed shape, such as a block pointer. Control flow carries it as its
/// tiles and puts it together again on the other side.
struct Aggregate : Object {
  Aggregate() : Object(Kind::Aggregate) {}
  virtual std::vector<Tile> tiles() const = 0;
  /// The same bundle around other tiles, whose number and types are those of `tiles()`.
  virtual Value withTiles(std::span<const Tile> tiles) const = 0;
  /// True if `other` differs at most in its tiles, so that one can stand for the other in a loop.
  virtual bool sameShape(const Aggregate &other) const = 0;
};

/// Equality as Python's `==` on values known now; tiles are never equal.
bool equal(const Value &a, const Value &b);

} // namespace nereid::ops
