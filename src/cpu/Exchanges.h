#pragma once

#include "ir/TileOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::cpu {

/// Elements that are taken from numbers of themselves: result[.., i, ..] = source[.., (i & keep) ^
/// flip, ..] along the axis of a gather.
struct BitIndex {
  int64_t keep, flip;
  /// Elements stay within aligned blocks of so many: registers do it.
  int64_t block() const;
};

/// Blocks that lanes of a loop hold: no more elements than one step of a loop has on any processor.
constexpr int64_t mostInRegisters = 16;

/// The index of a gather along the last axis that is the number of the element with some bits set,
/// cleared or turned; nothing if it is another.
std::optional<BitIndex> bitIndex(tile::GatherOp gather);

/// True if shapes differ in dimensions of one element alone.
bool isSameRow(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Steps of sorting networks and butterflies split a tile in halves along a dimension of two, by
/// `split` or by reducing that dimension, which leaves loops of the few elements beyond it:
///
///   l, r = split(trans(reshape(x, [A, 2, B]))); reshape(trans(join(f(l, r), g(l, r))), [N])
///
/// They become elementwise work on all of the tile, where each element finds its halves by the bit
/// of its number: l = x[i & ~B], r = x[i | B], i & B ? g(l, r) : f(l, r).
void flattenExchanges(mlir::FunctionOpInterface kernel);

} // namespace nereid::cpu
