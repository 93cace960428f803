// The lowest layer of all: data types, source places, diagnostics, results. Needs only `std`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nereid {

/// Element types of the Triton language. Integers carry their signedness here; tile IR does not.
enum class DType : uint8_t {
  Int1,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Float8E4NV,  ///< 4 exponent bits, bias 7, finite with NaN (OCP E4M3)
  Float8E5,    ///< 5 exponent bits, bias 15, with infinities (OCP E5M2)
  Float8E4B8,  ///< 4 exponent bits, bias 8, no infinities, one NaN at 0x80 (AMD FNUZ)
  Float8E5B16, ///< 5 exponent bits, bias 16, no infinities, one NaN at 0x80 (AMD FNUZ)
  Float8E4B15, ///< 4 exponent bits, bias 15, no infinities, no NaN
};

/// Facts about a data type.
struct DTypeInfo {
  std::string_view name;      ///< as `tl` spells it: "int32", "float8e4nv"
  std::string_view signature; ///< as compile signatures spell it: "i32", "fp8e4nv"
  uint8_t bits;               ///< width of a value; Int1 is 1 here
  uint8_t bytes;              ///< size in memory; Int1 takes one byte
  bool isFloat;
  bool isSigned; ///< false for Int1 and unsigned integers, true for floats
};

/// The row of a data type in the one table of data types.
const DTypeInfo &info(DType type);
/// The data type that `tl` or a compile signature calls `name` ("float32", "fp32", "i1", "bf16",
/// ...).
std::optional<DType> parseDType(std::string_view name);

/// A place in a source unit: 1-based lines, 0-based columns in bytes as CPython's `ast` counts
/// them.
struct SourcePos {
  uint32_t line = 0;
  uint32_t column = 0;
  bool valid() const { return line != 0; }
};

/// A half-open range of a source unit. `file` is the unit's logical name.
struct SourceRange {
  std::string file;
  SourcePos begin;
  SourcePos end;
};

enum class Severity : uint8_t { Note, Warning, Error };

/// One message to the user: what was seen, where, then what to do.
struct Diagnostic {
  Severity severity = Severity::Error;
  std::string code;    ///< stable name from the registry, e.g. "DotShapeMismatch"
  std::string message; ///< lower case, no final period, code in back-ticks
  SourceRange where;
  struct Label {
    SourceRange where;
    std::string text;
  };
  std::vector<Label> labels;     ///< other culprits, each under its own place
  std::string hint;              ///< what to do, or empty
  std::vector<Diagnostic> notes; ///< the call stack of inlined helpers and the like
};

/// Renders `diagnostic` as `file:line:col: error: ... [Code]` with the line and a caret under it.
/// `sourceLine` returns the text of a 1-based line of a file, or an empty view.
std::string render(const Diagnostic &diagnostic,
                   const std::vector<std::pair<std::string, std::string_view>> &sources);

/// The world's failure: driver, file, memory. `what` says what was tried.
struct Error {
  std::string what;
  std::vector<Diagnostic> diagnostics; ///< the user's failures, when there are some
};

/// A value or an `Error`.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &value() & { return std::get<0>(state); }
  const T &value() const & { return std::get<0>(state); }
  T &&value() && { return std::get<0>(std::move(state)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  const Error &error() const { return std::get<1>(state); }
  Error takeError() { return std::get<1>(std::move(state)); }

private:
  std::variant<T, Error> state;
};

struct Success {};
using Status = Result<Success>;

} // namespace nereid
