// Which loads of a loop go ahead of its steps, how far, and which products run on meanwhile.
#pragma once

#include "analysis/AxisAnalysis.h"
#include "gpu/Residents.h"
#include "gpu/StepsAhead.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace nereid::gpu {

/// Zero, also one that is converted: `other=0.0` takes the type of what is loaded.
bool isZeroConstant(mlir::Value value);

/// What `pipelineLoads` decides about a loop before it writes anything of it.
class LoopPlan {
public:
  /// `limit` is what the loop may take of shared memory, in bytes.
  LoopPlan(mlir::scf::ForOp loop, const target::GpuChip &chip, unsigned warps, uint64_t limit,
           bool bulk)
      : loop(loop), body(*loop.getBody()), chip(chip), warps(warps), limit(limit), mayBulk(bulk) {}
  /// False if the loop stays as it is. May put a product behind another one (`findDelayed`).
  bool make(const analysis::AxisAnalysis &axes);
  uint64_t sharedBytes() const { return residentBytes + slots * slotBytes; }

protected:
  /// A load (or the load of a descriptor's block) that becomes a copy.
  struct Copy {
    mlir::Operation *load;
    unsigned vector;
    bool isBulk;
    mlir::Value ring;
    bool isLater = false; ///< waited for by itself, in front of the second product
  };

  /// A right operand that steps compute. It is written to places of its own in turn, so that the
  /// product which reads it runs on while the next step computes another one.
  struct Written {
    mlir::Value tile;
    mlir::Value ring;
  };
  static constexpr unsigned writtenPlaces = 2;

  /// A carried sum of which the product is still in flight when a step begins.
  bool isFlying(mlir::BlockArgument sum);
  bool mayGoAhead(tile::LoadOp load);

  mlir::scf::ForOp loop;
  mlir::Block &body;
  const target::GpuChip &chip;
  unsigned warps;
  uint64_t limit;
  bool mayBulk;

  llvm::SmallVector<tile::DotOp> dots;
  llvm::SmallVector<Copy> copies;
  llvm::SmallVector<Resident> residents;
  llvm::SmallVector<Written> written;
  StepSlice slice;                                 ///< what gives the copies' addresses and masks
  llvm::SmallDenseSet<mlir::BlockArgument> summed; ///< memory that steps add to
  llvm::SmallDenseSet<mlir::BlockArgument> stored; ///< and that they store to
  uint64_t residentBytes = 0, slotBytes = 0; ///< of what stays through all steps, and of a step
  unsigned slots = 0, distance = 0;
  /// Of rings of one slot: when step i + 1 may fill it again. First what steps wait for, then what
  /// is waited for later.
  struct Release {
    mlir::Operation *after = nullptr;
    llvm::SmallPtrSet<mlir::Operation *, 4> products; ///< that read the slots
  };
  Release releases[2];
  bool hasBulk = false, isAllBulk = false;
  bool isAlone = false;            ///< no other program runs beside this one
  bool waitsAtEnd = false;         ///< copies are waited for where a step ends
  bool fillsBehindReads = false;   ///< a step fills its own slots again, beside its product
  mlir::Operation *turn = nullptr; ///< the first op of a warp group's turn
  llvm::SmallPtrSet<mlir::Operation *, 4> flying;  ///< products that run on into the next step
  llvm::SmallPtrSet<mlir::Operation *, 4> delayed; ///< and those that run on within theirs

private:
  bool isApartFromWrites(mlir::Operation *load);
  void findResidents();
  void findCopies(const analysis::AxisAnalysis &axes);
  bool addToSlice(mlir::Operation *load);
  bool isSlot(tile::DotOp dot, unsigned number);
  bool isForNextStep(tile::DotOp dot);
  mlir::Value computedRight(tile::DotOp dot);
  void findWritten();
  bool isWritten(tile::DotOp dot);
  void findFlying();
  bool isCarriedSum(tile::DotOp dot, bool mayWrite = false);
  void findDelayed();
  mlir::Operation *firstUser(mlir::Operation *op);
  void findTurns();
  void findLater();
  void findReleases();
  void addReaders(mlir::Value slot, Release &release);
  unsigned programs(unsigned slots);
  bool isOnlySums();
  bool isLongSum();
  bool wantsSlotMore();
  bool isLongStep(unsigned stages);
  bool readsSlotsFirst();
  void fillBehindReads();
  unsigned stagesOfSteps();
  void chooseDepth();
};

} // namespace nereid::gpu
