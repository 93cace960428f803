// How the values of tile.inline_asm become registers of its text. The interpreter and the GPU back
// end both read this.
#pragma once

#include "ir/TileOps.h"

#include <optional>
#include <string>

namespace nereid::tile {

/// The registers of one value. Elements narrower than 32 bits share one, the first in its low
/// bits, as many as the register and `pack` allow: four i8 of `pack` 4 are one register, two of
/// `pack` 2 half of one. A boolean is one bit.
struct AsmPacking {
  AsmPacking(mlir::Type type, unsigned pack);
  /// Elements in register `index` of a group: the last one may have fewer than `perRegister`.
  unsigned elementsIn(unsigned index) const {
    return std::min(perRegister, pack - index * perRegister);
  }

  unsigned pack;
  unsigned bits; ///< of an element
  unsigned perRegister;
  unsigned registers; ///< of a group of `pack` elements
};

/// The operands of the text: registers of the outputs, then those of the inputs, each with a
/// constraint.
struct AsmOperands {
  explicit AsmOperands(InlineAsmOp op);

  llvm::SmallVector<AsmPacking> outputs, inputs;
  unsigned outputRegisters = 0, registers = 0;
  llvm::SmallVector<llvm::StringRef> constraints; ///< those of registers: no clobbers
  /// What does not fit together; empty if all does. The rest may be used only then.
  std::string problem;

  /// The output register that register `index`, an input, starts in.
  std::optional<unsigned> tiedTo(unsigned index) const;
};

} // namespace nereid::tile
