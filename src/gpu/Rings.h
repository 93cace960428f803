// Operands of products that lie in shared memory before their product comes: the slots of rings.
#pragma once

#include "gpu/SharedOperand.h"

namespace nereid::gpu {

/// What an operand is before it is transposed, and whether it is in the end; null if it is
/// permuted in another way.
std::optional<std::pair<mlir::Value, bool>> untransposed(mlir::Value operand);

/// The slot that an operand of a product is, perhaps transposed; null if it is none.
struct SlotOperand {
  ReadSlotOp slot;
  SharedOperand shared;
};
std::optional<SlotOperand> slotOperand(mlir::Value operand);

/// On a product of mma.sync whose fragments are `withNeighbours`: of how many along K. An operand
/// lies so in its slot (ByteOperands.h), is a sum of words or computed so.
inline constexpr llvm::StringLiteral neighboursAttr = "tilegpu.neighbours";
void setNeighbours(tile::DotOp dot, unsigned count);
/// Null where fragments are the instruction's own.
std::optional<unsigned> neighboursOf(tile::DotOp dot);

/// The layout in which a product on tensor cores wants an operand in registers; null for one that
/// it reads from shared memory only, and for other products.
std::optional<LinearLayout> fragmentsOf(tile::DotOp dot, bool isLhs, unsigned warps);
/// True if the instruction of `dot` may read the operand where it lies: wgmma takes other than
/// 16-bit elements only along K, and so a right one of which a warp group has less than 64 columns.
bool readsInPlace(tile::DotOp dot, unsigned operand, const SharedOperand &shared);
/// The slot from which the left operand of a wgmma with `rowsTogetherAttr` goes to registers a
/// word at a time; null if it lies in registers.
std::optional<SlotOperand> slotOfWords(tile::DotOp dot);
/// True if `dot` takes operands from slots, in the order of SharedOperand: a product without
/// batches does, whatever its instruction.
bool readsSlots(tile::DotOp dot);
/// True if warp groups make it.
bool isWgmma(tile::DotOp dot);
bool hasWgmma(mlir::FunctionOpInterface kernel);
/// True if a loop computes the right operand of a warp group's product, and writes it where that
/// reads it: arithmetic and tensor cores take turns, unless another program covers for this one.
bool writesRightOperands(mlir::FunctionOpInterface kernel);
/// PTX that waits until no more than `pending` products are in flight, of which that of `sums`, the
/// `count` registers from $0 on, may be one (`areDone`: is none).
std::string waitForProducts(int64_t pending, unsigned count, mlir::Value sums, bool areDone);

} // namespace nereid::gpu
