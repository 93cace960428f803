// The specialisation of a kernel (contract 4): what of its arguments is compiled in. Both sides of
// the wall speak it: the launch path derives it from arguments, the command line reads it as a
// signature, the compiler emits code for it. Its canonical text enters keys and artifacts.
//
//   *fp32:16              pointer, a multiple of 16           *kfp32    pointer to constant memory
//   i32  i32:16  i32:1    an integer: other, a multiple of 16, equal to 1 (compiled in)
//   i32:8  i32:4          a multiple of 8 or 4 and of no more, which Triton does not tell from
//   other:
//                         halves and floats of rows so long are accessed 16 bytes at a time
//   fp32                  a float                             None      compiled in
//   1024  1e-05  True  'relu'  tl.float16  fn:mod.f@<hash>    constexpr values
//   (i32, *fp16:16)       a tuple; (scale=fp32, bias=*fp32)   a named one
//   tensordesc<fp16[128, 64]>                                 a descriptor, `, nan` for NaN padding
#pragma once

#include "nereid/base.h"
#include "support/Hash.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::support {

/// A value that is compiled in.
struct Constant {
  enum class Kind : uint8_t { None, Bool, Int, Float, String, Type, Function };
  Kind kind = Kind::None;
  bool flag = false;
  double number = 0;
  DType type = DType::Int32;
  /// Int: decimal digits, exact. String: its characters. Function: "module.name@hash".
  std::string text;

  static Constant none() { return {}; }
  static Constant boolean(bool value);
  static Constant integer(int64_t value);
  static Constant integer(std::string digits);
  static Constant floating(double value);
  static Constant string(std::string value);
  static Constant dtype(DType value);
  static Constant function(std::string name);

  bool operator==(const Constant &) const = default;
  /// As Python source: 1024, 1e-05, 'a\'b', tl.float16. Floats read back bit by bit.
  std::string source() const;
  /// What such source stands for; none if it is anything else, such as a list or a type of
  /// arguments.
  static std::optional<Constant> parse(std::string_view source);
};

/// One argument as the compiler sees it.
struct ArgumentClass {
  enum class Kind : uint8_t { Constant, Pointer, Int, Float, Descriptor, Tuple };
  Kind kind = Kind::Constant;
  DType type = DType::Int32;  ///< of the scalar, pointee or element; Int covers Int1 (bool)
  bool isConst = false;       ///< Pointer: `*k`
  bool isOne = false;         ///< Int: equal to 1
  bool padNan = false;        ///< Descriptor
  uint32_t divisibility = 1;  ///< Pointer: 16 or 1. Int: also 8 or 4
  Constant constant;          ///< Constant
  std::vector<int64_t> block; ///< Descriptor
  std::vector<ArgumentClass> elements; ///< Tuple
  std::vector<std::string> names;      ///< Tuple: of a named one, else empty

  static ArgumentClass pointer(DType pointee, uint32_t divisibility = 1, bool isConst = false);
  static ArgumentClass scalar(DType type, uint32_t divisibility = 1);
  static ArgumentClass one(DType type);
  static ArgumentClass compiledIn(Constant constant);
  static ArgumentClass tuple(std::vector<ArgumentClass> elements,
                             std::vector<std::string> names = {});
  static ArgumentClass descriptor(DType type, std::vector<int64_t> block, bool padNan = false);

  bool operator==(const ArgumentClass &) const = default;
  std::string text() const;
  /// How many leaves it has: tuples are flattened in order, everything else is one.
  size_t leafCount() const;
};

/// All arguments of a kernel in the order of its parameters.
struct Specialization {
  std::vector<ArgumentClass> arguments;

  bool operator==(const Specialization &) const = default;
  /// Canonical: equal specialisations have equal text, and `parse` reads it back.
  std::string text() const;
  /// With multiples of 8 and 4 as other integers: what Triton tells apart.
  Specialization coarsened() const;
  /// Reads a signature as people write it: spaces are free, `:16` and `:1` may be left out.
  static Result<Specialization> parse(std::string_view text);
};

/// What identifies a compilation before it is done (the first level of the key). No absolute path,
/// time or host name belongs in any of it.
struct CompileKey {
  Hash128 source;        ///< the kernel and every function and constant it reaches
  Hash128 facts;         ///< what module-level evaluation read of the world
  std::string arguments; ///< Specialization::text
  std::string options;   ///< canonical "name=value" lines in sorted order
  std::string target;    ///< "sm_90a", or "x86-64" with its features
  std::string build;     ///< id of the compiler

  Hash128 hash() const;
};

} // namespace nereid::support
