// The layouts that the GPU back end makes, and how they pass through ops that rename dimensions.
// All extents are powers of two, and a basis vector is nonzero in one dimension at most.
#pragma once

#include "ir/LinearLayout.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>

namespace nereid::gpu {

using tile::LayoutInput;
using tile::LinearLayout;

inline constexpr unsigned lanesPerWarp = 32;

/// Where a bit moves an element by so much along a dimension.
LinearLayout::Basis unit(unsigned rank, unsigned dim, int64_t value);
/// A bit that moves nothing: what differs in it holds copies.
bool isZero(const LinearLayout::Basis &basis);
/// True if several threads hold the same elements.
bool holdsCopies(const LinearLayout &layout);

/// Spreads a tile over `warps` warps along `order` (fastest first): `perThread` elements a thread,
/// then lanes, then warps, then what is left goes to further registers. A tile of fewer elements
/// than threads is copied.
///
///   shape 4 x 16, perThread 4, order (1, 0)  ->  lanes 0-3 own row 0, lanes 4-7 row 1, ...
LinearLayout blockedLayout(llvm::ArrayRef<int64_t> shape, unsigned perThread,
                           llvm::ArrayRef<unsigned> order, unsigned warps);

/// The same for a tile that is reduced or scanned along `order[0]`: at most `lanes` lanes lie along
/// that dimension, further lanes and the warps along the others first. A thread then has more of a
/// row in its own registers, and fewer or no warps share it.
LinearLayout reducedLayout(llvm::ArrayRef<int64_t> shape, unsigned perThread, unsigned lanes,
                           llvm::ArrayRef<unsigned> order, unsigned warps);

/// A tile of words of 32 bits that lie in memory along the other dimension, on their way to rows
/// along `dim` (SharedOperand): a warp's accesses to global memory are whole sectors, and those to
/// shared memory have no bank conflicts.
LinearLayout turningLayout(llvm::ArrayRef<int64_t> shape, unsigned dim, unsigned warps);

/// How `warps` warps share the rows and columns of a product: (along M, along N).
std::pair<unsigned, unsigned> mmaWarps(int64_t m, int64_t n, unsigned warps);
/// The accumulator of `mma.sync.m16n8` (PTX ISA, "Matrix Fragments for mma.m16n8k16"), repeated to
/// fill the tile. Null if the tile is too small.
std::optional<LinearLayout> mmaAccumulator(llvm::ArrayRef<int64_t> shape, unsigned warps);
/// Its operands for a product of M x N: lhs is M x K, rhs is K x N. A word of 32 bits holds
/// neighbours along K: four elements of one byte, two of two, one of four.
std::optional<LinearLayout> mmaLhs(llvm::ArrayRef<int64_t> shape, int64_t n, unsigned warps,
                                   unsigned elementBytes = 2);
std::optional<LinearLayout> mmaRhs(llvm::ArrayRef<int64_t> shape, int64_t m, unsigned warps,
                                   unsigned elementBytes = 2);
/// Elements along K that one instruction takes: 32 bytes.
constexpr unsigned mmaDepth(unsigned elementBytes) { return 32 / elementBytes; }
/// Of a sum over K the order is free: where an element of the instructions' fragments lies along K
/// if `neighbours` elements from a multiple of it on are one lane's (a word's at least, a quarter
/// of K at most).
int32_t placeAlongDepth(int32_t k, unsigned elementBytes, unsigned neighbours);
/// The fragments, permuted so along K (`dim`). With two words a thread's elements of one
/// instruction are neighbours; those of 32 bits lie as a sum then, which is a left operand as it
/// lies.
LinearLayout withNeighbours(const LinearLayout &fragments, unsigned dim, unsigned elementBytes,
                            unsigned neighbours);

/// The sum of a product by multiply-adds, ... x M x N. Threads have pieces that are about as high
/// as wide, so they read few operands for many multiply-adds. Four neighbours along N are one
/// thread's, then lanes walk along M and N by turns: a warp's reads of 16 bytes of either operand
/// then fall together in pairs, which halves what shared memory has to do for them.
LinearLayout fmaAccumulator(llvm::ArrayRef<int64_t> shape, unsigned warps);
/// What a thread reads of an operand for its part of that sum: `place(coordinate, k)` says where a
/// sum's operand lies in a matrix. The first `together` of `depth` elements along K come first.
LinearLayout
fmaOperand(const LinearLayout &sum, int64_t depth, int64_t together,
           llvm::function_ref<LinearLayout::Basis(llvm::ArrayRef<int32_t>, int64_t)> place);

/// How warp groups of four warps share a product of `wgmma`.
struct WgmmaShape {
  unsigned alongM, alongN; ///< warp groups
  unsigned columns;        ///< of one warp group
};
/// Null if the tile is too small, or the warps are no whole groups. A group takes whole columns of
/// swizzled shared memory, 64; where the right operand lies along K they are its rows there, and
/// half as many will do (`mayBeNarrow`).
std::optional<WgmmaShape> wgmmaShape(llvm::ArrayRef<int64_t> shape, unsigned warps,
                                     bool mayBeNarrow = false);
/// Its accumulator (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"), and its left
/// operand where that lies in registers: M x K for a product of M x N.
std::optional<LinearLayout> wgmmaAccumulator(llvm::ArrayRef<int64_t> shape, unsigned warps,
                                             bool mayBeNarrow = false);
std::optional<LinearLayout> wgmmaLhs(llvm::ArrayRef<int64_t> shape, int64_t n, unsigned warps,
                                     unsigned elementBytes = 2, bool mayBeNarrow = false);

/// Another order of the rows (`dim` 0) or columns of a product on words that an operand has, given
/// by its fragments: those that registers tell apart are neighbours, up to 16 bytes, and lanes read
/// an operand that is contiguous along them from swizzled shared memory (SharedOperand) without
/// bank conflicts. Says for each power of two where it goes.
///
///   rows of lanes 1, 2, 4, of registers 8, of warps 16, 32  ->  2, 16, 4, of registers 1, of warps
///   8, 32
using IndexOrder = std::map<int32_t, int32_t>;
IndexOrder orderTogether(const LinearLayout &fragments, unsigned dim);
/// The layout of the operand, or of the sum, in that order.
LinearLayout inOrder(const LinearLayout &layout, unsigned dim, const IndexOrder &order);

/// The layout of a tile without dimension `dim`: every thread that held a part of a row holds a
/// copy of what the row becomes.
LinearLayout sliceLayout(const LinearLayout &layout, unsigned dim);
/// The layout with a new dimension of size one at `dim`.
LinearLayout expandLayout(const LinearLayout &layout, unsigned dim);
/// The layout of the source of a broadcast.
LinearLayout unbroadcastLayout(const LinearLayout &layout, llvm::ArrayRef<int64_t> from,
                               llvm::ArrayRef<int64_t> to);
/// Result dimension i is source dimension perm[i].
LinearLayout transposeLayout(const LinearLayout &layout, llvm::ArrayRef<int32_t> perm);
/// The same elements in row-major order under another shape.
LinearLayout reshapeLayout(const LinearLayout &layout, llvm::ArrayRef<int64_t> from,
                           llvm::ArrayRef<int64_t> to);

/// The layout with the bit of row-major index `index` of `shape` in a register. The lane or warp
/// that had it gets that of the register which is highest in the index, and without one holds
/// copies.
LinearLayout withRegister(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape, int64_t index);

/// Registers a thread.
inline unsigned registersOf(const LinearLayout &layout) {
  return 1u << layout.bits(LayoutInput::Register);
}
/// How many consecutive registers, from an aligned one on, hold consecutive elements along `dim`.
unsigned consecutiveRegisters(const LinearLayout &layout, unsigned dim);
/// Row-major index of a coordinate.
int64_t rowMajor(llvm::ArrayRef<int32_t> coordinate, llvm::ArrayRef<int64_t> shape);
/// True if each element of `shape` has exactly one place, apart from copies by zero bases.
bool covers(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape);

/// How a tile gets from one layout to another without leaving its warps. The steps come in turn,
/// each about a bit of the lane index and one of the register index; bits of the register index
/// keep the names that they begin with, and further ones count on from there. Then bit i of the
/// lane index is what bit `lanes[i]` was, and bit i of the register index is the one named
/// `registers[i]`.
struct LaneExchange {
  struct Step {
    enum Kind {
      Swap,   ///< both bits change places
      Take,   ///< lanes that held copies take the register's bit, which is gone then
      Spread, ///< lanes give their bit to a further one of the register index, and hold copies
    } kind;
    unsigned reg, lane;
  };
  llvm::SmallVector<Step> steps;
  llvm::SmallVector<unsigned> lanes, registers;

  bool movesLanes() const;
  /// How many words a thread has to get from others, of `words` registers.
  unsigned shuffles(unsigned words) const;
  /// True if those are not more than the accesses to shared memory would be: a word is written and
  /// read there, behind two barriers, which count where there are few words.
  bool isCheap(unsigned words) const;
};
/// Nothing if elements would have to leave their warps.
std::optional<LaneExchange> exchangeInWarps(const LinearLayout &from, const LinearLayout &to);

} // namespace nereid::gpu
