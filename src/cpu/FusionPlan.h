// Decides, before any code is emitted, which tiles of a kernel are stored and which are recomputed.
//
// A tile lives in a buffer of the arena if an op needs it at places of its own choice (a product, a
// gather), if it crosses a loop or a branch, if more than one loop uses it and recomputing costs
// more than reading, if it is adjacent in memory along another dimension than the rest of a loop,
// or if memory order asks for it. All other tiles are lanes inside the loops of their users.
// Printed by `--emit cpu-plan`.
#pragma once

#include "analysis/AxisAnalysis.h"
#include "cpu/Directions.h"
#include "ir/TileOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace nereid::cpu {

/// True of a tile of one dimension.
inline bool isRow(mlir::Value value) {
  return tile::isTile(value) && tile::shapeOf(value.getType()).size() == 1;
}

class FusionPlan {
public:
  /// Why a tile is stored.
  enum class Reason : uint8_t {
    Whole,      ///< the op that makes it runs whole
    Indexed,    ///< a user reads it at places of its own choice
    Carried,    ///< it crosses the border of a loop or branch
    Reused,     ///< it is computed more than once, and that costs more than reading it
    Turned,     ///< its lanes lie along another dimension than those of the loop that uses it
    MemoryOrder ///< it reads memory that is written before or while it is used
  };
  struct Stored {
    Reason reason = Reason::Whole;
    uint64_t offset = 0; ///< in the arena
    mlir::Value sameAs;  ///< shares this value's buffer, or null
  };

  /// `firstCache`: bytes of the processor's first cache of data.
  FusionPlan(mlir::FunctionOpInterface kernel, uint64_t firstCache);

  /// How `tile` is stored, or null if it is recomputed.
  const Stored *stored(mlir::Value tile) const;
  /// True if the tile that a loop yields is computed straight into the buffer of the tile that it
  /// replaces; else it is copied there after all others were computed.
  bool yieldsInPlace(mlir::OpOperand &yielded) const { return direct.contains(&yielded); }
  /// The store that runs in one loop with what a `for` yields, or null: what it writes may be what
  /// that is computed from, unless it is so lane by lane.
  tile::StoreOp storeInYield(mlir::Operation *yield) const { return yieldStores.lookup(yield); }
  bool runsInYield(mlir::Operation *store) const {
    return llvm::any_of(yieldStores, [&](auto &pair) { return pair.second == store; });
  }
  /// Where the op's scratch memory begins in the arena.
  uint64_t scratchOffset(mlir::Operation *op) const { return scratch.lookup(op); }
  uint64_t arenaBytes() const { return bytes; }

  /// Loads that the loop of `store` evaluates although their memory may be what it writes: the
  /// loop is right only if each reads the very addresses that are written, or none of them. Each
  /// row of the tiles concerned is one range of memory, or all of them have bounds. The store has
  /// scratch memory for its value.
  llvm::ArrayRef<mlir::Operation *> loadsToTest(mlir::Operation *store) const;
  /// True if bounds of all addresses of load and store tell (Bounds.h), instead of those of rows.
  bool isTestedByBounds(mlir::Operation *store, mlir::Operation *load) const {
    return bounded.contains({store, load});
  }
  /// True if the elements of each row lie one after the other in memory.
  bool rowsAreRanges(mlir::Value pointers) const;

  /// True if nothing in the kernel reads what `store` writes, so that a launch which writes more
  /// than the cache holds may write past it.
  bool mayStream(mlir::Operation *store) const { return streaming.contains(store); }

  /// A row that goes past the cache while the next program computes: `store` puts it in the buffer
  /// of `row`, from which it is computed, and it leaves where the next program computes that. So
  /// writing to memory and arithmetic run at one time. Programs may run in any order, so none can
  /// tell.
  struct LeavingRow {
    tile::StoreOp store;
    mlir::Value row;
  };
  const LeavingRow *leavingRow() const { return leaving ? &*leaving : nullptr; }

  /// A load whose next round is fetched by a loop along the row: a share of the row, in eighths,
  /// into the first cache (`isNear`) or the second.
  struct Ahead {
    mlir::Operation *load;
    unsigned first = 0, share = 8;
    bool isNear = true;
    bool isShort = false; ///< read once: fetched where rows of two rounds stand apart
  };
  /// Ops along rows of one length that run in one loop, where the last of them stands: reductions
  /// and stored tiles. Null for a tile that is stored by a loop of its own, or not at all.
  struct RowLoop {
    llvm::SmallVector<mlir::Operation *, 2> ops; ///< or the end of a loop that computes `yielded`
    llvm::SmallVector<mlir::OpOperand *, 2> yielded;
    llvm::SmallVector<Ahead, 2> ahead;
  };
  const RowLoop *rowLoop(mlir::Operation *op) const;
  /// Loads whose next round is fetched while a store or a reduction of a tile of rows runs.
  llvm::ArrayRef<Ahead> fetchedDuring(mlir::Operation *op) const;
  /// The same for what a loop yields.
  llvm::ArrayRef<Ahead> fetchedDuring(mlir::OpOperand &yielded) const;
  /// Loads of which `store` reads short rows of a tile, that stand apart: while it goes along one
  /// row, one some rows on is fetched. Processors expect what follows, and no row is long enough to
  /// be followed.
  llvm::ArrayRef<mlir::Operation *> rowsFetchedDuring(mlir::Operation *store) const;
  /// True if `store` runs along its row from the other end in every second program: what programs
  /// share, but the first cache does not hold, is then met where the program before left it.
  bool alternates(mlir::Operation *store) const { return alternating.contains(store); }
  /// True if some loop fetches what the load will read when it is run again.
  bool fetchesAhead(mlir::Operation *load) const { return ahead.contains(load); }

  /// The loops over lanes that the kernel becomes.
  struct Loop {
    mlir::Operation *place;                           ///< that the loop stands at
    llvm::SmallVector<mlir::Operation *, 8> computes; ///< evaluated in it, in program order
    const Stored *stored;                             ///< where its result is kept, or null
  };
  std::vector<Loop> loops() const;

  void print(llvm::raw_ostream &os) const;

private:
  // A loop over tiles that stands at `place`.
  struct Root {
    mlir::Operation *place;
    llvm::SmallVector<mlir::Value> tiles; // what it evaluates
    bool materializes;                    // tiles[0] itself, into its buffer
  };
  // Ops that a root evaluates.
  struct Cone {
    llvm::SetVector<mlir::Operation *> ops;
    llvm::SetVector<mlir::Value> leaves;        // stored tiles that it reads
    llvm::DenseSet<mlir::Operation *> repeated; // evaluated more than once a loop
    llvm::DenseSet<mlir::Operation *> moved;    // evaluated at other places than the root's
    llvm::DenseSet<mlir::Value> displaced;      // leaves that it reads at other places
  };

  bool store(mlir::Value tile, Reason reason);
  llvm::SmallVector<Root> roots() const;
  Cone cone(const Root &root) const;
  void visit(mlir::Value tile, bool expand, bool repeated, bool displaced, Cone &cone) const;
  bool mayBeWrittenBetween(mlir::Operation *load, const Root &root,
                           mlir::Operation *except = nullptr) const;
  void findYieldStores();
  mlir::Operation *yieldThatRunsAlone() const;
  bool mustBeApart(const Root &root, mlir::Operation *store);
  void storeStructural();
  void storeTurned();
  void turn(mlir::Value tile, unsigned dim, bool computed, DirectionAnalysis &directions);
  bool storeForMemoryOrder();
  bool storeReused();
  void shareBuffers();
  void chooseInPlaceYields();
  void allocate();
  void findStreams();
  void joinRows();
  void joinRows(mlir::Block &block);
  void joinYields(mlir::scf::ForOp loop);
  bool runsAlongRow(mlir::Operation *op) const;
  void fetchAhead();
  void fetchRows();
  void fetchRounds();
  void findLeavingRow();
  bool goesOneWay(mlir::Value tile) const;
  bool mayReadAgain(mlir::Operation *op) const;

  mlir::FunctionOpInterface kernel;
  uint64_t firstCache;
  analysis::AxisAnalysis axes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> tested;
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Operation *>> bounded;
  llvm::MapVector<mlir::Operation *, tile::StoreOp> yieldStores;
  llvm::DenseMap<mlir::Value, Stored> storedTiles;
  llvm::SmallVector<mlir::Value> storedOrder;
  llvm::DenseSet<mlir::OpOperand *> direct;
  llvm::DenseSet<mlir::Operation *> streaming;
  llvm::DenseMap<mlir::Operation *, uint64_t> scratch;
  llvm::DenseMap<mlir::Operation *, unsigned> order; // in program text
  llvm::SmallVector<mlir::Operation *> writers;
  std::vector<RowLoop> rowLoops;
  llvm::DenseMap<mlir::Operation *, size_t> rowLoopOf;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Ahead, 2>> aheadInOps;
  llvm::DenseMap<mlir::OpOperand *, llvm::SmallVector<Ahead, 2>> aheadInYields;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> shortRows;
  llvm::DenseSet<mlir::Operation *> ahead, alternating;
  std::optional<LeavingRow> leaving;
  uint64_t bytes = 0;
};

/// Moves reductions up to where their operands are known: there those of one row meet.
void hoistReductions(mlir::FunctionOpInterface kernel);
/// True for ops whose tile results can be computed a few lanes at a time, wherever they are used.
bool isLazy(mlir::Operation *op);
/// True for ops whose lanes cost more to compute again than to read from a buffer.
bool isCostly(mlir::Operation *op);
/// True for reshapes by which pairs that `join` made become one row.
bool interleaves(mlir::Operation *op);
bool readsGlobalMemory(mlir::Operation *op);
/// True if the op may write global memory (ops with regions: never; ask the ops inside).
bool writesGlobalMemory(mlir::Operation *op);
/// Bytes of a buffer that holds a tile of this type.
uint64_t bufferBytes(mlir::Type tile);

} // namespace nereid::cpu
