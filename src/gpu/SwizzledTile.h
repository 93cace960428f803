// Where the elements of a tile lie in shared memory so that those who write it and those who read
// it meet in few banks.
#pragma once

#include "gpu/Layouts.h"

namespace nereid::gpu {

/// Row by row, but for the place within a line of all banks, which is permuted by the number of the
/// line: some of its bits are XORed with some of the number's.
///
///   a 64 x 64 tile of words, written along dimension 0 and read along dimension 1:
///   line = 2 i + j / 32; the words of a line are permuted by bits of i
struct SwizzledTile {
  static constexpr int32_t lineBytes = 128; ///< of all banks

  /// The permutation of fewest cycles that is found by adding bit after bit.
  SwizzledTile(llvm::ArrayRef<int64_t> shape, const LinearLayout &from, const LinearLayout &to,
               unsigned elementBytes);

  /// Cycles of shared memory for a warp to write and to read all of its elements.
  unsigned cycles() const;

  struct Side {
    LinearLayout places; ///< one dimension: how many elements from the start
    unsigned vector;     ///< registers from an aligned one on that lie together
    /// What a lane moves at once.
    unsigned cycles(unsigned elementBytes) const;
    int32_t placeOf(unsigned lane) const { return places.apply(0, lane, 0)[0]; }
  };
  Side writers, readers;
  unsigned elementBytes;

private:
  Side sideOf(llvm::ArrayRef<int64_t> shape, const LinearLayout &layout) const;
  int32_t swizzled(int64_t place) const;

  llvm::SmallVector<int64_t, 8>
      sources; ///< by bit of a place within a line: bits that it is XORed with
};

} // namespace nereid::gpu
