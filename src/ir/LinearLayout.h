// Linear layouts: maps over bits from (register, lane, warp, block) to tensor coordinates.
//
// After "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2" (arXiv
// 2505.23819). A layout is a matrix over the field of two elements: the coordinate of a hardware
// index is the XOR of the basis vectors that its set bits name.
//
//   a 2 x 4 tile, 2 registers a thread along a row, 4 lanes:
//     register bit 0 -> (0, 1)      r0l0 r1l0 r0l1 r1l1
//     lane bit 0     -> (0, 2)      r0l2 r1l2 r0l3 r1l3
//     lane bit 1     -> (1, 0)
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>

namespace nereid::tile {

/// Where a hardware index bit lives.
enum class LayoutInput : uint8_t { Register, Lane, Warp, Block };

class LinearLayout {
public:
  /// One basis vector: a coordinate for each dimension of the tensor.
  using Basis = llvm::SmallVector<int32_t, 4>;

  LinearLayout() = default;
  explicit LinearLayout(unsigned rank) : rank_(rank) {}

  unsigned rank() const { return rank_; }
  /// Bits of an input.
  unsigned bits(LayoutInput input) const { return bases_[unsigned(input)].size(); }
  llvm::ArrayRef<Basis> bases(LayoutInput input) const { return bases_[unsigned(input)]; }
  /// Adds a bit above the present ones of `input`.
  void addBasis(LayoutInput input, Basis basis) {
    bases_[unsigned(input)].push_back(std::move(basis));
  }

  /// The coordinates of a hardware index.
  Basis apply(uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block = 0) const {
    Basis out(rank_, 0);
    const std::array<uint32_t, 4> index = {reg, lane, warp, block};
    for (unsigned input = 0; input < 4; ++input)
      for (unsigned bit = 0; bit < bases_[input].size(); ++bit)
        if (index[input] >> bit & 1)
          for (unsigned d = 0; d < rank_; ++d)
            out[d] ^= bases_[input][bit][d];
    return out;
  }

  bool operator==(const LinearLayout &other) const = default;

private:
  unsigned rank_ = 0;
  std::array<llvm::SmallVector<Basis, 0>, 4> bases_;
};

} // namespace nereid::tile
