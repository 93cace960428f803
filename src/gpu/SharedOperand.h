// A matrix (or a vector, its only row) in shared memory, in the swizzled order that wgmma reads and
// that gives ldmatrix and the writes before it no bank conflicts.
//
// The matrix is cut into columns of up to 128 bytes along the dimension that is contiguous
// (`major`); each column is stored row by row, and the 16-byte pieces of a row are permuted by the
// row's index (PTX ISA, "Shared memory matrix layout"). Offsets are linear over XOR, as layouts
// are.
#pragma once

#include "gpu/RegisterEmitter.h"

namespace nereid::gpu {

class SharedOperand {
public:
  /// A matrix as `layout` holds it: what is contiguous in registers, or else in lanes, is
  /// contiguous in memory.
  SharedOperand(llvm::ArrayRef<int64_t> shape, const LinearLayout &layout,
                unsigned elementBytes = 2);
  explicit SharedOperand(mlir::RankedTensorType tile);
  /// A matrix that is contiguous along `major`, wherever its elements come from.
  SharedOperand(llvm::ArrayRef<int64_t> shape, unsigned major, unsigned elementBytes);
  /// The same memory as the matrix that `trans` makes of it.
  SharedOperand transposed() const;

  unsigned majorDim() const { return major; }
  unsigned bytesOfElement() const { return elementBytes; }
  /// Bytes of a row of a column.
  unsigned rowBytes() const { return width; }
  /// A multiple of the alignment that a matrix needs.
  uint64_t bytes() const;
  static constexpr unsigned alignment = 1024;
  /// Offset of an element before the permutation.
  int64_t plainOffset(llvm::ArrayRef<int32_t> coordinate) const;
  /// Offset of an element.
  int64_t offset(llvm::ArrayRef<int32_t> coordinate) const;

  /// How many registers of `layout`, from an aligned one on, lie together in memory: 16 bytes at
  /// most.
  unsigned vectorOf(const LinearLayout &layout) const;
  /// How many elements an access of `read` gives.
  unsigned readVector(const LinearLayout &layout) const;
  /// Notes an access in `layout` with `vector` elements at once.
  void note(RegisterEmitter &e, const char *what, const LinearLayout &layout,
            unsigned vector) const;
  void write(RegisterEmitter &e, mlir::Value base, const LinearLayout &layout,
             llvm::ArrayRef<mlir::Value> values) const;
  /// `start` (none: the origin) is where the part begins that `layout` spreads.
  llvm::SmallVector<mlir::Value> read(RegisterEmitter &e, mlir::Value base,
                                      const LinearLayout &layout, mlir::Type element,
                                      llvm::ArrayRef<int32_t> start = {}) const;
  /// The part of an element's offset that the thread gives in `layout`, and `further` (i32, null:
  /// 0) along `dim`, which shares no bit with the layout's coordinates.
  mlir::Value threadOffset(RegisterEmitter &e, const LinearLayout &layout, mlir::Value further = {},
                           unsigned dim = 0) const;
  /// Address of the element whose other part is `constant`.
  mlir::Value address(RegisterEmitter &e, mlir::Value base, mlir::Value threadOffset,
                      llvm::ArrayRef<int32_t> constant) const;
  /// `count` registers of `layout` from `first` on; both are multiples of `vectorOf(layout)`.
  llvm::SmallVector<mlir::Value> readRegisters(RegisterEmitter &e, mlir::Value base,
                                               mlir::Value threadOffset, const LinearLayout &layout,
                                               mlir::Type element, unsigned first, unsigned count,
                                               llvm::ArrayRef<int32_t> start = {}) const;
  /// The registers of four words (or two) of the fragments of mma.sync, from `first` on; `along` is
  /// the dimension of which a word's elements differ. Requires: canReadFragments or matricesAlong,
  /// and a word's registers are neighbours.
  llvm::SmallVector<mlir::Value> readFragments(RegisterEmitter &e, mlir::Value base,
                                               const LinearLayout &fragments, unsigned along,
                                               unsigned first, mlir::Type element) const;
  /// ldmatrix moves rows of 16 bytes, of which lanes get neighbouring words; it turns over elements
  /// of 16 bits only.
  bool canReadFragments(const LinearLayout &fragments, unsigned along) const {
    return (elementBytes == 2 || along == major) &&
           fragments.bases(LayoutInput::Lane)[0][along] * elementBytes == 4;
  }
  /// The dimension of which a word holds two elements, in a layout that `ldmatrix` gives to
  /// elements of 16 bits: neighbours, as in fragments and sums; where it turns matrices over, of
  /// which each row may lie anywhere, any two.
  std::optional<unsigned> matricesAlong(const LinearLayout &layout) const;
  /// How wgmma finds the matrix (PTX ISA, "Matrix descriptor").
  mlir::Value descriptor(RegisterEmitter &e, mlir::Value base) const;

private:
  int32_t rowOf(llvm::ArrayRef<int32_t> coordinate) const {
    return rank == 1 ? 0 : coordinate[1 - major];
  }

  unsigned elementBytes;
  size_t rank;
  unsigned major;
  int64_t columns, rows;
  unsigned width;
};

} // namespace nereid::gpu
