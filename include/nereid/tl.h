// Kernels written in C++, in the vocabulary of the Triton language.
//
//   namespace tl = nereid::tl;
//   void add(tl::Value x, tl::Value y, tl::Value out, tl::Value n, tl::Value BLOCK) {
//     auto i = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
//     auto mask = i < n;
//     tl::store(out + i, tl::load(x + i, mask) + tl::load(y + i, mask), mask);
//   }
//   tl::Module module("add.cpp");
//   module.kernel("add", "x, y, out, n, BLOCK: tl.constexpr", add);
//   Program program = must(engine.load(module));
//
// The function runs once, when the kernel is recorded. Each call, operator and assignment on a
// `Value` becomes a line of the Triton language, which is compiled like a file; messages name the
// C++ lines. So
// - assignment to a Value (`=`, `+=`) is assignment in the kernel, in loops and branches too;
// - `for (auto k : tl::range(...))`, `tl::while_` and `tl::if_` are loops and branches of the
//   kernel, C++'s own run while recording: they unroll and choose;
// - other C++ variables are constants of the kernel.
//
// Only `std` is needed. A kernel is recorded by one thread; several threads may record at a time.
#pragma once

#include "nereid/api.h"
#include "nereid/base.h"

#include <array>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace nereid {
class Engine;
}

namespace nereid::tl {

class Value;
class Arg;
class Module;
using Where = std::source_location;

/// A name of the language that is no function: `tl::float32`.
struct Symbol {
  const char *text;
};
inline constexpr Symbol None{"None"};
inline constexpr Symbol all{":"}; ///< a whole dimension in a subscript: `x[{tl::all, tl::None}]`
inline constexpr Symbol ellipsis{"..."}; ///< the dimensions between in a subscript

/// A function of Values: what `tl::reduce`, `tl::associative_scan` and `tl::map_elementwise` call.
template <typename F, size_t... I> constexpr bool callableWith(std::index_sequence<I...>) {
  return std::is_invocable_v<F &, std::enable_if_t<(I + 1 > 0), Value>...>;
}
template <typename F, size_t N = 1> constexpr size_t arityOf() {
  if constexpr (N > 16)
    return 0;
  else if constexpr (callableWith<F>(std::make_index_sequence<N>()))
    return N;
  else
    return arityOf<F, N + 1>();
}

/// An operand: a Value, a number, a flag, a text, a name, a list of operands (`{BM, BN}`), a
/// function of Values; `{}` leaves it out. A small view, good until the call returns.
class NEREID_API Arg {
public:
  Arg() = default;
  Arg(const Value &value, Where where = Where::current());
  /// A value that nothing else names: it is written where it is used.
  Arg(Value &&value, Where where = Where::current());
  Arg(bool value, Where where = Where::current());
  template <typename T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Arg(T value, Where place = Where::current())
      : Arg(value < 0, uint64_t(value < 0 ? 0 - uint64_t(value) : uint64_t(value)), place) {}
  template <typename T>
    requires std::is_floating_point_v<T>
  Arg(T value, Where place = Where::current()) : Arg(std::in_place, double(value), place) {}
  Arg(std::nullptr_t, Where where = Where::current());
  Arg(Symbol symbol, Where where = Where::current());
  Arg(DType type, Where where = Where::current());
  Arg(std::string_view text, Where where = Where::current());
  Arg(const char *text, Where where = Where::current());
  Arg(const std::string &text, Where where = Where::current());
  Arg(std::initializer_list<Arg> elements);
  Arg(std::vector<Arg> elements);
  template <typename F>
    requires(!std::is_convertible_v<F, Value> && arityOf<std::decay_t<F>>() > 0)
  Arg(F &&function, Where where = Where::current());

private:
  friend struct Recorder;
  struct Function {
    size_t count;
    std::function<std::vector<Arg>(std::span<Value>)> body;
  };
  Arg(bool isNegative, uint64_t magnitude, Where where);
  Arg(std::in_place_t, double number, Where where);
  Arg(std::in_place_t, const Function &function, Where where);

  enum class Kind : uint8_t { Absent, Variable, Text, List };
  Kind kind = Kind::Absent;
  bool isTemporary = false;
  uint64_t function = 0; ///< of the variable
  uint32_t variable = 0;
  std::string text; ///< as the language writes it
  std::shared_ptr<const std::vector<Arg>> elements;
  Where where = {};
};

/// What is given as an operand by itself, not in braces.
template <typename T>
concept Given = std::is_convertible_v<T, Arg>;
template <typename T> Arg given(T &&value, Where where) {
  if constexpr (std::is_same_v<std::decay_t<T>, Arg>)
    return value;
  else
    return Arg(std::forward<T>(value), where);
}

/// An operand of a call: by position if `keyword` is empty, in pieces if it is "*".
struct Operand {
  const char *keyword;
  const Arg *value;
};

#include "nereid/tl_options.inc"

/// A variable of the kernel that is being recorded: a tile, a number, a pointer, a tuple. A copy is
/// a variable of its own; a move passes the variable on.
class NEREID_API Value {
public:
  /// A variable that gets its value by assignment, in branches for example.
  Value();
  Value(const Value &other);
  Value(Value &&other) noexcept;
  template <typename T>
    requires(std::is_arithmetic_v<T> || std::is_same_v<T, Symbol> || std::is_same_v<T, DType>)
  Value(T value, Where where = Where::current()) : Value(Arg(value, where)) {}
  explicit Value(const Arg &arg);

  Value &operator=(const Value &other) & { return assign(nullptr, other); }
  Value &operator=(Value &&other) & { return assign(nullptr, Arg(std::move(other))); }
  Value &operator=(const Arg &value) & { return assign(nullptr, value); }
  template <typename T>
    requires(std::is_arithmetic_v<T> || std::is_same_v<T, Symbol> || std::is_same_v<T, DType>)
  Value &operator=(T value) & {
    return assign(nullptr, Arg(value));
  }
  Value &operator+=(const Arg &value) & { return assign("+=", value); }
  Value &operator-=(const Arg &value) & { return assign("-=", value); }
  Value &operator*=(const Arg &value) & { return assign("*=", value); }
  Value &operator/=(const Arg &value) & { return assign("/=", value); }
  Value &operator%=(const Arg &value) & { return assign("%=", value); }
  Value &operator&=(const Arg &value) & { return assign("&=", value); }
  Value &operator|=(const Arg &value) & { return assign("|=", value); }
  Value &operator^=(const Arg &value) & { return assign("^=", value); }
  Value &operator<<=(const Arg &value) & { return assign("<<=", value); }
  Value &operator>>=(const Arg &value) & { return assign(">>=", value); }

  /// A kernel's condition is not known while recording: `tl::if_`, `tl::while_` and `tl::where`.
  explicit operator bool() const = delete;

  /// An element of a tuple, or a tile with other dimensions: `x[{tl::all, tl::None}]`.
  Value operator[](const Arg &index) const &;
  Value operator[](const Arg &index) &&;
  /// An attribute: `x.attribute("shape")`.
  Value attribute(const char *name, Where where = Where::current()) const &;
  Value attribute(const char *name, Where where = Where::current()) &&;
  Value dtype(Where where = Where::current()) const { return attribute("dtype", where); }
  Value shape(Where where = Where::current()) const { return attribute("shape", where); }
  /// The type that a pointer's type points to: `out.dtype().element_ty()`.
  Value element_ty(Where where = Where::current()) && {
    return std::move(*this).attribute("element_ty", where);
  }
  Value element_ty(Where where = Where::current()) const & {
    return attribute("element_ty", where);
  }
  Value T(Where where = Where::current()) const & { return attribute("T", where); }
  Value T(Where where = Where::current()) && { return std::move(*this).attribute("T", where); }

  /// The elements of a tuple: `auto [values, indices] = tl::max(...).unpack<2>();`
  template <size_t N> std::array<Value, N> unpack(Where where = Where::current()) && {
    return unpacked(Arg(std::move(*this), where), where, std::make_index_sequence<N>());
  }
  template <size_t N> std::array<Value, N> unpack(Where where = Where::current()) const & {
    return unpacked(Arg(*this, where), where, std::make_index_sequence<N>());
  }

#include "nereid/tl_methods.inc"

  static Value call(const char *callee, std::initializer_list<Operand> operands, Where where);
  static Value call(const Arg &self, const char *method, std::initializer_list<Operand> operands,
                    Where where);

private:
  friend struct Recorder;
  friend class Arg;
  static std::vector<Value> split(const Arg &tuple, size_t count, Where where);
  template <size_t... I>
  static std::array<Value, sizeof...(I)> unpacked(const Arg &tuple, Where where,
                                                  std::index_sequence<I...>) {
    std::vector<Value> parts = split(tuple, sizeof...(I), where);
    return {std::move(parts[I])...};
  }
  Value &assign(const char *sign, const Arg &value);
  struct Raw {};
  explicit Value(Raw) {}

  uint64_t function = 0; ///< 0: moved from
  uint32_t variable = 0;
};

template <typename F>
  requires(!std::is_convertible_v<F, Value> && arityOf<std::decay_t<F>>() > 0)
Arg::Arg(F &&combine, Where place)
    : Arg(std::in_place,
          Function{arityOf<std::decay_t<F>>(),
                   [&](std::span<Value> parameters) -> std::vector<Arg> {
                     auto result = [&]<size_t... I>(std::index_sequence<I...>) {
                       return combine(std::move(parameters[I])...);
                     }(std::make_index_sequence<arityOf<std::decay_t<F>>()>());
                     using Result = decltype(result);
                     if constexpr (std::is_convertible_v<Result, Arg>) {
                       return {Arg(std::move(result))};
                     } else {
                       return std::apply(
                           [](auto &...parts) {
                             return std::vector<Arg>{Arg(std::move(parts))...};
                           },
                           result);
                     }
                   }},
          place) {}

/// `name(sign, a, b)` as an expression of the kernel.
NEREID_API Value operation(const char *sign, const Arg &left, const Arg &right);
NEREID_API Value operation(const char *sign, const Arg &operand);

inline Value operator+(const Arg &a, const Arg &b) { return operation("+", a, b); }
inline Value operator-(const Arg &a, const Arg &b) { return operation("-", a, b); }
inline Value operator*(const Arg &a, const Arg &b) { return operation("*", a, b); }
inline Value operator/(const Arg &a, const Arg &b) { return operation("/", a, b); }
inline Value operator%(const Arg &a, const Arg &b) { return operation("%", a, b); }
inline Value operator&(const Arg &a, const Arg &b) { return operation("&", a, b); }
inline Value operator|(const Arg &a, const Arg &b) { return operation("|", a, b); }
inline Value operator^(const Arg &a, const Arg &b) { return operation("^", a, b); }
inline Value operator<<(const Arg &a, const Arg &b) { return operation("<<", a, b); }
inline Value operator>>(const Arg &a, const Arg &b) { return operation(">>", a, b); }
inline Value operator<(const Arg &a, const Arg &b) { return operation("<", a, b); }
inline Value operator<=(const Arg &a, const Arg &b) { return operation("<=", a, b); }
inline Value operator>(const Arg &a, const Arg &b) { return operation(">", a, b); }
inline Value operator>=(const Arg &a, const Arg &b) { return operation(">=", a, b); }
inline Value operator==(const Arg &a, const Arg &b) { return operation("==", a, b); }
inline Value operator!=(const Arg &a, const Arg &b) { return operation("!=", a, b); }
inline Value operator&&(const Arg &a, const Arg &b) { return operation("and", a, b); }
inline Value operator||(const Arg &a, const Arg &b) { return operation("or", a, b); }
inline Value operator-(const Arg &a) { return operation("-", a); }
inline Value operator~(const Arg &a) { return operation("~", a); }
inline Value operator!(const Arg &a) { return operation("not ", a); }
/// Quotient rounded down, which Python writes `a // b`.
inline Value floordiv(const Arg &a, const Arg &b) { return operation("//", a, b); }
/// Is `a` the same as `b`, which Python writes `a is b`; for `None`.
inline Value is(const Arg &a, const Arg &b) { return operation("is", a, b); }
inline Value is_not(const Arg &a, const Arg &b) { return operation("is not", a, b); }
/// `a if condition else b`: one of them is computed. `tl::where` chooses by element.
NEREID_API Value choose(const Arg &condition, const Arg &a, const Arg &b);

/// What a `for` goes through: its body runs once, with the variable of the loop.
class NEREID_API Range {
public:
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;
  ~Range();
  struct End {};
  class NEREID_API Iterator {
  public:
    Value operator*() const;
    Iterator &operator++();
    bool operator!=(End) const { return !isDone; }

  private:
    friend class Range;
    explicit Iterator(Range &loop) : range(loop) {}
    Range &range;
    bool isDone = false;
  };
  Iterator begin();
  End end() const { return {}; }
  static Range call(const char *callee, std::initializer_list<Operand> operands, Where where);

private:
  struct State;
  explicit Range(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// `if condition: then()`, and `else: otherwise()` if it is given.
NEREID_API void if_(const Arg &condition, const std::function<void()> &then,
                    const std::function<void()> &otherwise = {});
/// `while condition(): body()`. The condition must be one expression.
NEREID_API void while_(const std::function<Value()> &condition, const std::function<void()> &body,
                       Where where = Where::current());
/// Ends the program.
NEREID_API void return_(Where where = Where::current());

#include "nereid/tl_functions.inc"

/// What stands above a kernel.
struct KernelOptions {
  /// As Python writes them: "@triton.autotune(configs=[...], key=[...])"
  std::vector<std::string> decorators = {};
};

/// Kernels recorded together, as a source file holds them.
class NEREID_API Module {
public:
  /// `name` is what messages and keys call it; never a path.
  explicit Module(std::string name = "kernels.cpp");
  ~Module();
  Module(Module &&) noexcept;
  Module &operator=(Module &&) noexcept;

  /// Records `body`, a function of as many Values as there are parameters, which Python would
  /// write: "x, n, BLOCK: tl.constexpr = 64". What is wrong with it is said when the module is
  /// loaded.
  template <typename F>
  Module &kernel(std::string_view name, std::string_view parameters, F &&body,
                 const KernelOptions &options = {}, Where where = Where::current()) {
    constexpr size_t count = parameterCount<std::decay_t<F>>();
    add(
        name, parameters, count,
        [&](std::span<Value> values) {
          [&]<size_t... I>(std::index_sequence<I...>) {
            body(std::move(values[I])...);
          }(std::make_index_sequence<count>());
        },
        options, where);
    return *this;
  }

  /// What was recorded, in the Triton language.
  std::string text() const;

private:
  friend class nereid::Engine;
  friend struct Recorder;
  template <typename F, size_t N = 0> static constexpr size_t parameterCount() {
    static_assert(N <= 64, "a kernel takes values of type `tl::Value`");
    if constexpr (N > 64)
      return 0;
    else if constexpr (callableWith<F>(std::make_index_sequence<N>()))
      return N;
    else
      return parameterCount<F, N + 1>();
  }
  void add(std::string_view name, std::string_view parameters, size_t count,
           const std::function<void(std::span<Value>)> &body, const KernelOptions &options,
           Where where);
  struct State;
  std::unique_ptr<State> state;
};

} // namespace nereid::tl
