// How ops get their ReferenceOpInterface: a function a kind of op, attached in one line.
#pragma once

#include "ref/Program.h"

namespace nereid::ref {

template <typename Op, auto decodeOp>
struct Model : tile::ReferenceOpInterface::ExternalModel<Model<Op, decodeOp>, Op> {
  Step decode(mlir::Operation *op, Decoder &decoder) const {
    return decodeOp(mlir::cast<Op>(op), decoder);
  }
};

/// Gives `Op` the step that `decodeOp(Op, Decoder &)` makes.
template <typename Op, auto decodeOp> void attach(mlir::MLIRContext *context) {
  Op::template attachInterface<Model<Op, decodeOp>>(*context);
}

// One a file; each attaches the models of the ops in it.
void attachArithModels(mlir::MLIRContext *context);
void attachMathModels(mlir::MLIRContext *context);
void attachControlFlowModels(mlir::MLIRContext *context);
void attachElementwiseModels(mlir::MLIRContext *context);
void attachShapeModels(mlir::MLIRContext *context);
void attachReductionModels(mlir::MLIRContext *context);
void attachDotModels(mlir::MLIRContext *context);
void attachMemoryModels(mlir::MLIRContext *context);
void attachDescriptorModels(mlir::MLIRContext *context);
void attachDebugModels(mlir::MLIRContext *context);
void attachExternModels(mlir::MLIRContext *context);
void attachInlineAsmModels(mlir::MLIRContext *context);

} // namespace nereid::ref
