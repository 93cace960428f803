// The straight-line part of PTX that kernels write in `tl.inline_asm_elementwise`, as statements on
// numbered registers. The interpreter runs them; for a CPU they become tile operations.
#pragma once

#include "support/FloatFormat.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::ptx {

/// What a text needs and its reader lacks.
struct Unknown {
  std::string what;
};

enum class Kind : uint8_t { Bits, Unsigned, Signed, Float, Predicate };
/// A type of PTX; `lanes` is 2 for the packed ones (`f16x2`, `e4m3x2`).
struct Type {
  Kind kind = Kind::Bits;
  unsigned bits = 32; ///< of a lane
  unsigned lanes = 1;
  support::FloatFormat format{};
  std::string_view name = "b32"; ///< of a lane's
  unsigned width() const { return bits * lanes; }
};

/// An operand: a register, a number, a list of both, or memory at one plus an offset.
struct Operand {
  enum class Form : uint8_t { Register, Integer, Real, List, Memory, Clock, Nothing };
  Form form = Form::Nothing;
  unsigned reg = 0;
  uint64_t integer = 0;
  double real = 0;
  std::vector<Operand> parts;
};

/// `@p mul.f32 $0, $1, $1;`
struct Statement {
  std::vector<std::string> words; ///< of the mnemonic: mul, f32
  std::vector<Type> types;        ///< those of them that name types
  std::vector<Operand> arguments; ///< what is written comes first
  std::optional<Operand> guard;
  bool guardIsNegated = false;

  const std::string &operation() const { return words.front(); }
  bool has(std::string_view modifier) const;
  std::string mnemonic() const;
};

struct Text {
  std::vector<Statement> statements;
  unsigned registers; ///< the operands come first, then those that it declares
};

/// What a failed assertion that stands for `trap` says.
inline constexpr char trapMessage[] = "inline PTX `trap`";

/// What a mode of `prmt` selects by the lowest two bits of its third operand, as selectors of the
/// plain instruction; null for no mode.
const uint16_t *selectorsOf(std::string_view mode);

/// Throws Unknown. `operands` is how many `$k` there are.
Text parse(std::string_view text, unsigned operands);

} // namespace nereid::ptx
