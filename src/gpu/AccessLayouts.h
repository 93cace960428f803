// Where the elements of memory accesses lie: what all other layouts follow from.
#pragma once

#include "gpu/ProductLayouts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <map>
#include <set>

namespace nereid::analysis {
class AxisAnalysis;
class UsualSteps;
} // namespace nereid::analysis

namespace nereid::gpu {

/// Decides in this order; a later rule overrides an earlier one.
///
/// 1. Accesses of one shape that are contiguous along one dimension lie alike, with the widest
///    vectors among them, so that what is loaded together meets without conversions
///    (`layoutOf(group)`). Stores of sums of products have a group for each size of elements.
/// 2. Words that `wgmma` wants along another dimension than they lie are turned over on their way.
/// 3. Accesses that are contiguous nowhere lie along where their addresses repeat, else along where
///    neighbours usually are nearest, else like others of their shape.
/// 4. Addresses that are loaded lie as the rows they lead to (`followAddressed`).
/// 5. What is loaded to be repeated lies as the larger tile that it meets (`followMet`).
/// 6. What is loaded at places that a reduction finds lies as its result (`followReduced`).
class AccessLayouts {
public:
  AccessLayouts(mlir::FunctionOpInterface kernel, const ProductLayouts &products, unsigned warps);

  /// Null for what is no access on tiles.
  std::optional<tile::LinearLayout> of(mlir::Operation *access) const;
  /// The layout in which a load is emitted a second time, if it is.
  std::optional<tile::LinearLayout> ofCopy(mlir::Operation *load) const;
  /// How a tile lies of which an access's addresses or mask are computed, repeated or not: as the
  /// first such access wants it.
  std::optional<tile::LinearLayout> ofAccessBy(mlir::Value tile) const;

  /// What asks for no layout lies like the access of its shape that moves most elements at once.
  tile::LinearLayout ofShape(llvm::ArrayRef<int64_t> shape);
  bool isAccessed(llvm::ArrayRef<int64_t> shape) const { return widest.count(shape.vec()); }
  /// The layout of a state of this shape that no access touches, if the loop that carries it
  /// reduces such tiles along one axis: threads hold pieces of that axis, so that little is
  /// exchanged.
  std::optional<tile::LinearLayout> ofState(llvm::ArrayRef<int64_t> shape,
                                            mlir::scf::ForOp loop) const;

private:
  /// Accesses that lie alike.
  struct Group {
    std::vector<int64_t> shape;
    unsigned dim;             // the contiguous one
    int64_t elementBytes = 0; // where that counts
    auto operator<=>(const Group &) const = default;
  };
  /// What a group's accesses have in common.
  struct Facts {
    int64_t contiguity = 0;
    int64_t perThread = 1;
    int64_t bytes = 8;       // of the smallest element
    int64_t mostWritten = 0; // of the smallest elements stored in the deepest loop, at once
    int64_t mostAdded = 16;  // of the largest ones added to memory in it
    unsigned depth = 0;      // of that loop
  };
  /// Along which axes tiles of a shape are reduced, and in which loops (null: in none).
  struct Reduced {
    std::set<unsigned> axes;
    std::set<mlir::Operation *> loops;
  };

  void findReductions(mlir::FunctionOpInterface kernel);
  /// True if the access is contiguous nowhere.
  bool place(tile::MemoryAccessOpInterface access, analysis::AxisAnalysis &axes);
  bool placeWhereRepeated(tile::MemoryAccessOpInterface access, llvm::ArrayRef<int64_t> constancy);
  bool placeWhereNearest(tile::MemoryAccessOpInterface access, analysis::UsualSteps &steps);
  void placeLikeOthers(tile::MemoryAccessOpInterface access);
  /// `width` elements are accessed at once; `isTakenApart` if only the mask forbids more.
  void add(mlir::Operation *access, const Group &group, int64_t contiguity, int64_t width,
           int64_t elementBytes, bool isTakenApart = false);
  std::optional<tile::LinearLayout> ofAccessBy(mlir::Value tile,
                                               llvm::DenseSet<mlir::Value> &seen) const;
  bool isReducedWhereAccessed(const Group &group) const;
  tile::LinearLayout layoutOf(const Group &group) const;
  void followAddressed(tile::LoadOp load);
  bool isNarrow(tile::LoadOp load) const;
  void followMet(tile::LoadOp load);
  void followReduced(tile::LoadOp load);
  std::optional<tile::LinearLayout> ofOrigin(mlir::Value tile) const;
  std::optional<tile::LinearLayout> computed(mlir::Value tile,
                                             llvm::DenseSet<mlir::Value> &seen) const;
  std::optional<tile::LinearLayout> met(mlir::Operation *user, mlir::Value tile,
                                        mlir::scf::ForOp loop) const;

  const ProductLayouts &products;
  unsigned warps;
  /// The nearest load or product that a tile is computed of.
  llvm::DenseMap<mlir::Value, mlir::Operation *> origins;
  std::map<std::vector<int64_t>, Reduced> reductions; // of tiles of a shape
  std::map<mlir::Operation *, Group> groups;
  std::map<Group, Facts> facts;
  std::map<std::vector<int64_t>, Group> widest;   // of a shape
  std::map<std::vector<int64_t>, Group> repeated; // of those whose addresses repeat
  std::map<Group, tile::LinearLayout> groupLayouts;
  std::map<mlir::Operation *, tile::LinearLayout> chosen; // unlike their group
  /// Loads in a loop at addresses that are loaded outside of it.
  llvm::SmallPtrSet<mlir::Operation *, 8> mayFollowMet;
  std::map<mlir::Operation *, tile::LinearLayout> copies;
  std::map<std::vector<int64_t>, tile::LinearLayout> shapeLayouts;
};

} // namespace nereid::gpu
