// How values go wrong, and whether that does harm: integers that wrap and come to address memory,
// NaN that the kernel makes and stores.
//
// Both are common where they do none: hashes wrap, and lanes that a mask drops hold -inf - -inf. So
// nothing is reported where it happens. Each step of a checking launch is wrapped instead: when a
// value goes wrong, its element gets a tag that names the place; tags follow the elements through
// the kernel; a memory op that meets one reports the place that the tag names.
//
// Tags lie in bytes beside the frame, at the offset of the element and as wide as it. So a step
// that only moves elements moves their tags too when it runs a second time on those bytes, and two
// names of one slot have one tag. A program that goes wrong nowhere has no tags and pays a test a
// step.
//
// The tag of a float counts only if the float is NaN. The tag of an integer has two halves, since
// IR integers have no sign: what wrapped when read as signed (low half) and as unsigned (high
// half). Only integers that can reach an address have tags.
#pragma once

#include "ref/Check.h"

#include "llvm/ADT/DenseSet.h"

namespace nereid::ref {

/// Wraps the steps of a kernel that is decoded for a checking launch.
class ValueWatch {
public:
  explicit ValueWatch(mlir::func::FuncOp kernel);

  /// What the launch must know of the kernel.
  std::shared_ptr<const CheckFacts> facts;

  /// The step of `op`, watched. The slots of its operands and results are known to `decoder`.
  Step watch(mlir::Operation *op, Step step, Decoder &decoder);
  /// A step that runs before those of a block, or none.
  Step enter(mlir::Block &block, Decoder &decoder);
  /// `copies` moves values between slots; their tags go with them.
  static Step moving(Step copies);

private:
  bool reachesAddress(mlir::Value value) const { return addressed.contains(value); }
  void findAddressed(mlir::func::FuncOp kernel);
  Step watchMemory(mlir::Operation *op, Step step, Decoder &decoder);
  Step watchInteger(mlir::Operation *op, Step step, Decoder &decoder);

  llvm::DenseSet<mlir::Value> addressed; ///< integers and pointers that can reach an address
  bool readsUnsigned = false;            ///< one of them is read as an unsigned number on its way
};

} // namespace nereid::ref
