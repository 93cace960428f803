// How much of a tile has to be computed: sizes are seldom multiples of a block.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

/// Rows and columns of a product from which on nobody looks at the result, and the place along K
/// from which on both operands are zero. Numbers known where the product stands (i64, from 0 to the
/// extent), or null for all.
struct ProductExtents {
  mlir::Value rows, columns, depth;
};

/// Emits the extents of `dot`, which stands here.
///
///   acc = dot(load(a, mask=k < left, other=0), load(b, mask=k[:, None] < left, other=0), acc)
///   store(c, acc, mask=(m[:, None] < M) & (n < N))      rows M - m[0], columns N - n[0], depth
///   left
ProductExtents productExtents(tile::DotOp dot, LaneEmitter &emitter);
/// The steps of K behind which both operands are known to be zero while compiling, as where a
/// dimension of a few elements is filled up to what `tl.dot` takes.
int64_t knownDepth(tile::DotOp dot);

/// True if the lanes of `value` can be computed at `place`, perhaps before it stands in the
/// program.
bool isKnownAt(mlir::Value value, mlir::Operation *place, const FusionPlan &plan);

/// Gives for each dimension the place from which on no store looks at `tiles`, which are of one
/// shape and computed at `place`; null for all, and for dimensions of one element. With `but`, not
/// along that one.
llvm::SmallVector<mlir::Value> endsOfReaders(mlir::ValueRange tiles, mlir::Operation *place,
                                             LaneEmitter &emitter,
                                             std::optional<unsigned> but = std::nullopt);
/// The same of what `store` writes.
llvm::SmallVector<mlir::Value> endsOfStore(tile::StoreOp store, LaneEmitter &emitter, unsigned but);

} // namespace nereid::cpu
