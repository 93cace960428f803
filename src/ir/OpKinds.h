// Kinds of ops that several rooms ask for, by what they do to elements.
#pragma once

#include "ir/TileOps.h"

namespace nereid::tile {

/// Repeats a scalar or a smaller tile: each element of the result is one of the operand.
inline bool isRepeat(mlir::Operation *op) {
  return mlir::isa<SplatOp, BroadcastOp, ExpandDimsOp>(op);
}

/// A total quotient or remainder of integers.
inline bool isDivision(mlir::Operation *op) {
  return mlir::isa<DivSIOp, DivUIOp, RemSIOp, RemUIOp>(op);
}

/// Runs code that no pass looks into.
inline bool isForeignCode(mlir::Operation *op) { return mlir::isa<InlineAsmOp, LibraryCallOp>(op); }

/// Has a region that computes on single elements, for many of them: its ops are part of this one.
inline bool hasElementRegion(mlir::Operation *op) { return mlir::isa<ReduceOp, ScanOp, MapOp>(op); }

} // namespace nereid::tile
