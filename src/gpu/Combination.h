// What reductions and scans have alike: tuples of elements that a region combines along an axis.
#pragma once

#include "gpu/RegisterEmitter.h"

namespace nereid::gpu {

/// One element of each source.
using Tuple = llvm::SmallVector<mlir::Value>;

Tuple select(RegisterEmitter &emitter, mlir::Value condition, llvm::ArrayRef<mlir::Value> then,
             llvm::ArrayRef<mlir::Value> otherwise);
Tuple shuffleXor(RegisterEmitter &emitter, llvm::ArrayRef<mlir::Value> tuple, unsigned mask);
Tuple shuffleFrom(RegisterEmitter &emitter, llvm::ArrayRef<mlir::Value> tuple, mlir::Value lane);

/// A bit of the place of an element that moves it along the axis.
struct AxisBit {
  LayoutInput input;
  unsigned bit;
  int32_t distance; ///< along the axis
};

llvm::SmallVector<AxisBit> bitsAlong(const LinearLayout &layout, unsigned axis, LayoutInput input);
/// Of all inputs, from the nearest elements to the farthest.
llvm::SmallVector<AxisBit> bitsInOrder(const LinearLayout &layout, unsigned axis);

class Combination {
protected:
  template <typename Op>
  Combination(Op op, RegisterEmitter &emitter)
      : emitter(emitter), b(emitter.builder), combineBlock(op.getCombine().front()),
        layout(layoutOf(op.getSources().front().getType())), axis(op.getAxis()) {
    for (mlir::Value source : op.getSources())
      elements.push_back(tile::elementType(source.getType()));
    for (unsigned reg = 0; reg < registersOf(layout); ++reg) {
      Tuple tuple;
      for (mlir::Value source : op.getSources())
        tuple.push_back(emitter.registers(source)[reg]);
      values.push_back(std::move(tuple));
    }
  }

  Tuple combine(llvm::ArrayRef<mlir::Value> earlier, llvm::ArrayRef<mlir::Value> later);
  /// (mine, other) in the order of the axis: where `isLater` holds, mine is the later one.
  Tuple combineOrdered(llvm::ArrayRef<mlir::Value> mine, llvm::ArrayRef<mlir::Value> other,
                       mlir::Value isLater);

  RegisterEmitter &emitter;
  mlir::OpBuilder &b;
  mlir::Block &combineBlock;
  LinearLayout layout;
  unsigned axis;
  llvm::SmallVector<mlir::Type> elements;
  std::vector<Tuple> values; ///< by register
};

/// Shared memory for one array of each type, one behind the other.
class SharedArrays {
public:
  SharedArrays(RegisterEmitter &emitter, llvm::ArrayRef<mlir::Type> elements, int64_t count);

  mlir::Value array(unsigned i) { return moved(base, int64_t(offsets[i])); }
  /// Of `index` and so many elements further: a number that is part of the instruction.
  mlir::Value address(unsigned i, mlir::Value index, int64_t further = 0);
  Tuple load(mlir::Value index, int64_t further = 0);
  void store(mlir::Value index, int64_t further, llvm::ArrayRef<mlir::Value> values);

private:
  mlir::Value moved(mlir::Value address, int64_t bytes);
  void note(const char *what, unsigned i, mlir::Value index);

  RegisterEmitter &emitter;
  llvm::SmallVector<mlir::Type> elements;
  llvm::SmallVector<uint64_t> offsets;
  mlir::Value base;
};

} // namespace nereid::gpu
