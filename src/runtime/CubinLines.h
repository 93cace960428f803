// Which line of the source an instruction of a cubin is from, by its section .debug_line, and which
// instruction it waits for.
#pragma once

#include "nereid/base.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::runtime {

/// A place in a source. `caller` is the row of the call that inlined it, counted within its
/// function; none (-1) outside of inlined code.
struct CubinRow {
  uint64_t offset = 0; ///< of the first instruction, from the function's beginning
  uint32_t file = 0;   ///< index into CubinLines::files
  uint32_t line = 0;
  int32_t caller = -1;
  bool isEnd = false; ///< no code from here on
};

/// The line tables of a cubin's functions.
struct CubinLines {
  std::vector<std::string> files;
  std::map<std::string, std::vector<CubinRow>, std::less<>> functions; ///< by symbol, as listed

  /// For each instruction of a function the one whose result it waits for on a scoreboard, by
  /// index; -1 for none.
  std::map<std::string, std::vector<int32_t>, std::less<>> awaited;

  /// Places from the innermost to the kernel's own for the instruction at `offset`; empty if the
  /// table has none.
  std::vector<CubinRow> find(std::string_view function, uint64_t offset) const;
  /// The offset of the instruction that the one at `offset` waits for; nothing if it waits for none
  /// or that is not known.
  std::optional<uint64_t> awaitedBy(std::string_view function, uint64_t offset) const;
};

/// Reads a cubin. One without lines gives none; what is damaged is an error, never a fault.
Result<CubinLines> readCubinLines(std::span<const uint8_t> cubin);

} // namespace nereid::runtime
