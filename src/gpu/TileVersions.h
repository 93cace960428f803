// The tiles of a kernel in the layouts in which they are wanted, while the kernel is emitted anew.
#pragma once

#include "gpu/AccessLayouts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseSet.h"

namespace nereid::gpu {

/// A tile has one version from the op that makes it, and one more for each other layout that
/// somebody wants, made where it is first wanted: by computing the tile again if that is cheap
/// (`isRecomputable`), else by a conversion.
class TileVersions {
public:
  /// `b` says where versions are made.
  TileVersions(mlir::OpBuilder &b, AccessLayouts &accesses) : b(b), accesses(accesses) {}

  mlir::IRMapping scalars; ///< what has no layout

  /// Versions that are added behind an `open` are gone after its `close`.
  void open() { scopes.emplace_back(); }
  void close() { scopes.pop_back(); }
  void add(mlir::Value old, mlir::Value now);

  /// The version that `old`'s own op made lies so; null if it is computed where it is wanted.
  std::optional<tile::LinearLayout> ownLayout(mlir::Value old) const;
  /// True if a version exists, in `layout` if that is given.
  bool exists(mlir::Value old, const tile::LinearLayout *layout = nullptr) const {
    return find(old, layout);
  }

  /// Makes the version if there is none. A scalar has one only.
  mlir::Value require(mlir::Value old, const tile::LinearLayout &layout);
  /// What is loaded moves before it is transposed: where it waits in a slot, it is read in the
  /// layout that it moves to.
  mlir::Value requireFromSlot(mlir::Value old, const tile::LinearLayout &layout);

  /// From now on `op` is emitted where its results are wanted, if that costs little. Asked for each
  /// op in the order of the program.
  bool tryRecompute(mlir::Operation *op);
  bool isRecomputed(mlir::Value old) const { return costs.contains(old); }

  /// Clones an op whose tile results all get `layout`.
  mlir::Operation *cloneWith(mlir::Operation *op, mlir::IRMapping &mapping,
                             const tile::LinearLayout &layout);

private:
  struct Version {
    tile::LinearLayout layout;
    mlir::Value value;
  };
  using Scope = llvm::DenseMap<mlir::Value, llvm::SmallVector<Version, 2>>;

  const Version *find(mlir::Value old, const tile::LinearLayout *layout) const;
  const Version *ownVersion(mlir::Value old) const;
  bool movesBefore(mlir::Value old, const tile::LinearLayout &layout) const;
  bool movesBeforeLoop(mlir::Value old, const tile::LinearLayout &layout) const;
  std::optional<tile::LinearLayout> layoutOfDear(mlir::Value old,
                                                 const tile::LinearLayout &layout) const;
  bool moves(mlir::Value old, const tile::LinearLayout &layout) const;
  mlir::Value recompute(mlir::OpResult old, const tile::LinearLayout &layout);
  std::optional<unsigned> costToRecompute(mlir::Operation *op) const;

  mlir::OpBuilder &b;
  AccessLayouts &accesses;
  llvm::SmallVector<Scope> scopes;
  llvm::DenseMap<mlir::Value, unsigned> costs; // in ops, of what is computed where it is wanted
};

} // namespace nereid::gpu
