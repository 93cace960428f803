// The straight-line part of PTX that kernels write in `tl.inline_asm_elementwise`, interpreted.
//
//     { .reg .pred p; setp.gt.f32 p, $1, 0f00000000; @p mul.f32 $0, $1, $1; @!p mov.f32 $0, $1; }
//
// A text is parsed once into instructions on 64-bit registers. Predicated instructions, local
// registers, packing by `mov.b32 {a, b}`, conversions, integer and float arithmetic and plain
// memory accesses are known; branches, barriers between threads and matrix instructions are not.
// `.approx` functions are computed exactly and rounded, since what the chip gives is a matter of
// the chip.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::ref {

class PtxProgram {
public:
  /// What instructions reach besides registers.
  struct Outside {
    std::function<uint64_t(uint64_t address, unsigned bytes)> load;
    std::function<void(uint64_t address, unsigned bytes, uint64_t value)> store;
    std::function<uint64_t()> clock;
    std::function<void()> trap;
  };
  struct State {
    std::vector<uint64_t> registers;
    const Outside *outside;
  };
  using Instruction = std::function<void(State &)>;

  /// Throws ptx::Unknown. `operands` is how many `$k` there are.
  PtxProgram(std::string_view text, unsigned operands);

  /// Runs on `registers`, of which the first are the operands; their upper bits beyond the
  /// operand's width are zero.
  void run(State &state) const {
    state.registers.resize(registerCount);
    for (const Instruction &instruction : instructions)
      instruction(state);
  }

private:
  std::vector<Instruction> instructions;
  size_t registerCount;
};

} // namespace nereid::ref
