// How tile ops become vector code on the CPU: an op is asked for a few adjacent lanes of its result
// at a position that may be a loop variable, and asks its operands in turn. One loop then runs a
// whole chain of ops, and the size of the code does not depend on the size of the block.
//
//   y = exp(x - splat(m))                 for i in 0..N step 16:
//   store p, y                              v = lanes(y, {i}, 16)
//                                             = exp(lanes(x, {i}, 16) - broadcast(m))
//
// One lane is a scalar, more are a vector: i1..i64, f16..f64 as themselves, 8-bit floats as i8,
// pointers as !llvm.ptr or !llvm.vec<W x ptr>.
#pragma once

#include "analysis/AxisAnalysis.h"
#include "cpu/EmitKernel.h"
#include "cpu/FusionPlan.h"
#include "ir/TileOps.h"
#include "mlir/IR/Builders.h"

#include <functional>
#include <map>
#include <memory>

namespace nereid::cpu {

/// Where some lanes of a tile stand: `width` of them, adjacent along `dim`, lane 0 at `position`.
/// `width` is a power of two that divides the extent of `dim` and position[dim].
struct Lanes {
  llvm::SmallVector<mlir::Value, 4> position; ///< i64, one a dimension
  unsigned dim = 0;
  int64_t width = 1;

  /// Lane 0 alone.
  Lanes first() const { return {position, dim, 1}; }
};

/// Memory that holds a tile in row-major order. An i1 takes a byte, a pointer eight.
struct Buffer {
  mlir::Value base; ///< !llvm.ptr
  mlir::Type element;
  llvm::SmallVector<int64_t, 4> shape;
};

/// What the program reads of its context, set up by the entry point.
struct ProgramValues {
  mlir::Value context; ///< !llvm.ptr to CpuContext
  mlir::Value program; ///< i64: linear index
  mlir::Value id[3];   ///< i32
  mlir::Value grid[3]; ///< i32
  mlir::Value arena;   ///< !llvm.ptr
  mlir::Value count;   ///< i64: programs of the launch times trips of the loops that are open here
  mlir::Value isAlone; ///< i1: nothing else of the process changes memory atomically meanwhile
  mlir::Value streamAbove; ///< i64: bytes of a launch; 0: nothing streams
  bool streams = false;    ///< some store may go past the cache
  // Of the row that leaves while the next program computes (FusionPlan::LeavingRow), in memory:
  mlir::Value leavingTo;    ///< where it goes: !llvm.ptr
  mlir::Value leavingCount; ///< how many of its first elements are in the buffer: i64
};

/// How a loop along a row is cut where masks end (Sweep.cpp).
struct Sweep {
  llvm::SmallVector<mlir::Value> masks; ///< true before `full`, false from `end` on
  mlir::Value full, end;                ///< multiples of `wide` and `narrow`
  int64_t wide = 1, narrow = 1;         ///< lanes a step before `full`, and behind it
  bool uniform = false;                 ///< from `end` on all lanes are the same
};

/// Lanes of a row within which numbers that divisions split count up or stay as they are
/// (RunLanes.h).
struct RowRun {
  struct Number {
    mlir::Value base; ///< at `start`
    unsigned dim;     ///< of the tile, along the row
    int64_t step;     ///< from lane to lane
  };
  mlir::Value start;
  llvm::DenseMap<mlir::Value, Number> numbers;
  llvm::DenseMap<mlir::Value, int64_t> steps; ///< of what is made of them, in elements
};

/// Work along one row: some lanes of `tiles` at a time, and values carried from step to step.
struct RowTask {
  llvm::SmallVector<mlir::Value, 4> tiles; ///< what the body asks for lanes of
  mlir::Value computes;  ///< one of them that the body computes, though it has a buffer
  mlir::Value storeMask; ///< the body need not run where this is false for the rest of the row
  std::function<void(const Lanes &)> atStart; ///< of each row of a tile; not needed
  /// Carried into the first step: wide vectors that change nothing.
  llvm::SmallVector<mlir::Value, 1> carried;
  std::function<llvm::SmallVector<mlir::Value>(const Lanes &, mlir::ValueRange)> body;
  /// Carried values of `from` lanes become some of `to`.
  std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange, int64_t from, int64_t to)> narrow;
  /// If given, what becomes of the one lane that is left of each at the end of `row`.
  std::function<llvm::SmallVector<mlir::Value>(const Lanes &row, mlir::ValueRange)> settle;
};

class RowRuns;

class LaneEmitter {
public:
  LaneEmitter(mlir::OpBuilder &builder, const FusionPlan &plan, const analysis::AxisAnalysis &axes,
              const Processor &processor);

  mlir::OpBuilder &builder;
  ProgramValues program;
  mlir::Block *entry = nullptr; ///< constants are made at its start
  bool contract = true;         ///< of numerics.md
  bool sweeps = true;           ///< rows are cut where masks end; off where speed does not count
  /// Emits an op on scalars that has regions of its own; set by the walker of the kernel.
  std::function<void(mlir::Operation *)> emitControlFlow;
  /// A loop of the kernel whose rounds are emitted here.
  struct OpenLoop {
    mlir::Operation *source, *made;
  };
  llvm::SmallVector<OpenLoop> openLoops; ///< innermost last
  /// Which vectors of addresses have adjacent lanes, where a loop was emitted (LaneSpread.h).
  std::map<std::tuple<mlir::Operation *, void *, unsigned, int64_t>, mlir::Value> keptTests;

  // --- values ---

  /// The lanes of an operand: computed here, or read from its buffer. A scalar operand is given as
  /// it is, whatever the width.
  mlir::Value lanes(mlir::Value tile, const Lanes &lanes);
  /// Where the lanes of an `expand_dims` or `broadcast` stand in its operand, of which one may be
  /// all.
  Lanes inOperand(mlir::Operation *op, Lanes lanes);
  /// What a scalar of the source is now.
  mlir::Value scalar(mlir::Value source) const;
  void setScalar(mlir::Value source, mlir::Value value);
  /// Fields of a descriptor: base, shape..., strides...
  llvm::ArrayRef<mlir::Value> descriptor(mlir::Value source) const;
  void setDescriptor(mlir::Value source, llvm::SmallVector<mlir::Value> fields);

  // --- buffers ---

  /// The buffer that the plan gave to `tile`. The plan must have given one.
  Buffer buffer(mlir::Value tile);
  mlir::Value read(const Buffer &buffer, const Lanes &lanes);
  void write(const Buffer &buffer, const Lanes &lanes, mlir::Value value);
  /// Address of an element.
  mlir::Value address(const Buffer &buffer, llvm::ArrayRef<mlir::Value> position);
  Buffer arenaBuffer(uint64_t offset, mlir::Type element, llvm::ArrayRef<int64_t> shape);
  /// Row-major index of a position.
  mlir::Value linear(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::Value> position);
  /// Computes all of `tile` into its buffer.
  void materialize(mlir::Value tile);
  /// Computes all of `tile` into another buffer of its shape, converting with `convert` if given;
  /// with `ends`, at least what is before them.
  void fill(const Buffer &into, mlir::Value tile,
            llvm::function_ref<mlir::Value(mlir::Value)> convert = {},
            llvm::ArrayRef<mlir::Value> ends = {}, llvm::ArrayRef<FusionPlan::Ahead> ahead = {});
  /// The dimension along which the elements of all of `tiles`, of one shape, are adjacent where
  /// they come from, so that vectors along it are cheap to ask for: the last one, if nothing says
  /// otherwise.
  unsigned adjacentDim(mlir::ValueRange tiles) const;
  /// Turns a square over: lane j of row i becomes lane i of row j.
  void transpose(llvm::MutableArrayRef<mlir::Value> rows);
  /// Copies a tile to another buffer of the same shape and element.
  void copy(const Buffer &into, const Buffer &from);

  // --- loops ---

  /// Runs `body` for all lanes of a tile of `shape`, vectors along `dim`; with `ends` (one a
  /// dimension, null for all), for those before them.
  void forEach(llvm::ArrayRef<int64_t> shape, unsigned dim, int64_t width,
               llvm::function_ref<void(const Lanes &)> body, llvm::ArrayRef<mlir::Value> ends = {});
  /// The same, row by row, cut where the masks of the task's tiles end. The task carries nothing.
  void forEachInRows(llvm::ArrayRef<int64_t> shape, unsigned dim, const RowTask &task,
                     llvm::ArrayRef<mlir::Value> ends = {},
                     llvm::ArrayRef<FusionPlan::Ahead> ahead = {}, bool alternates = false);
  /// Runs tasks together along the row at `row` (one lane, at 0 along its dimension), in their
  /// order at each step; gives the one lane that is left of each value carried.
  /// Meanwhile memory that loads of such rows will read next is fetched. `alternates`: every second
  /// program begins at the end.
  llvm::SmallVector<mlir::Value> alongRow(const Lanes &row, int64_t extent,
                                          llvm::ArrayRef<RowTask> tasks,
                                          llvm::ArrayRef<FusionPlan::Ahead> ahead = {},
                                          bool alternates = false);
  /// Notes where `load`, which stands here, reads, so that its next round can be fetched ahead.
  void noteStart(tile::LoadOp load);
  /// True if a launch of which each program and round has so many bytes has more than may go past
  /// the cache.
  mlir::Value isMore(int64_t bytes);
  /// Fetches what lanes of such a load will read in the next round, unless rounds follow each other
  /// in memory.
  void fetchRound(const FusionPlan::Ahead &ahead, const Lanes &lanes);
  /// Work along a row that sends the row of the program before on its way, from where the lanes
  /// of this one's will be put.
  RowTask leaving();
  /// Sends what is left of it, behind the last program.
  void leaveAll();
  /// Work along a row that computes a stored tile of one row into its buffer.
  RowTask materializing(mlir::Value tile);
  /// Emits `body` in front of a loop, where nothing is known that was emitted in it.
  void before(const OpenLoop &loop, llvm::function_ref<void()> body);
  /// Emits `body` where all lanes of `masks` are known to be `value`.
  void assuming(llvm::ArrayRef<mlir::Value> masks, bool value, llvm::function_ref<void()> body);
  /// What all lanes of a mask are known to be here.
  std::optional<bool> assumedMask(mlir::Value mask) const;
  /// The step from lane to lane along the run of a row that is emitted here, if it is known.
  std::optional<int64_t> stepInRun(mlir::Value tile) const;
  bool isInRun() const { return run; }
  /// The first place along `dim` from which on all of `mask` is false (i64, from 0 to the extent);
  /// null if that cannot be told here, where lanes can be computed of what `isKnown` holds for.
  mlir::Value maskEnd(mlir::Value mask, unsigned dim,
                      llvm::function_ref<bool(mlir::Value)> isKnown);
  using LoopBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  /// for i in [lower, upper) step `step`, with carried values; `body` returns their next ones.
  llvm::SmallVector<mlir::Value> loop(int64_t lower, int64_t upper, int64_t step,
                                      llvm::ArrayRef<mlir::Value> carried, LoopBody body);
  llvm::SmallVector<mlir::Value> loop(mlir::Value lower, mlir::Value upper, int64_t step,
                                      llvm::ArrayRef<mlir::Value> carried, LoopBody body);
  /// if (condition) yes else no, without results.
  void either(mlir::Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no);
  /// if (condition) body, without results.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// condition ? yes : no, of which one runs.
  mlir::Value select(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value()> yes,
                     llvm::function_ref<mlir::Value()> no);
  /// condition ? compute : zero, where `compute` runs only if the condition holds.
  mlir::Value choose(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> compute);
  /// Elements of four bytes in a vector of the processor.
  int64_t vectorLanes() const { return processor.vectorBytes / 4; }
  /// A good number of lanes for a tile of `shape` along `dim`: a few vectors at a time, so that
  /// loops cost little and sums have several chains.
  int64_t preferredWidth(llvm::ArrayRef<int64_t> shape, unsigned dim) const;
  /// A good dimension for vectors over `tile`: the last of more than one element.
  static unsigned preferredDim(llvm::ArrayRef<int64_t> shape) { return cpu::preferredDim(shape); }

  // --- small pieces of code ---

  mlir::Location loc() const { return location; }
  void setLocation(mlir::Location loc) { location = loc; }
  mlir::Value
  index(int64_t value); ///< i64 constant; one value a number, so that lanes are found again
  mlir::Value constant(mlir::Type element, int64_t value, int64_t width = 1);
  mlir::Value constant(mlir::TypedAttr value, int64_t width);
  mlir::Value zero(mlir::Type type);
  mlir::Value splat(mlir::Value scalar, int64_t width);
  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value insert(mlir::Value vector, mlir::Value scalar, int64_t lane);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int32_t> mask);
  /// 0, 1, 2 ...
  mlir::Value iota(mlir::Type element, int64_t width);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, int64_t powerOf2);                ///< i64, not negative
  mlir::Value addScaled(mlir::Value a, mlir::Value b, int64_t factor); ///< a + b * factor, i64
  /// (position & keep) ^ flip of a place in a tile: one value for one place, whatever way leads
  /// there, so that lanes are found again.
  mlir::Value withBits(mlir::Value position, int64_t keep, int64_t flip);
  /// A place in a row of twice or of half as many elements; one value for one place, too.
  mlir::Value doubled(mlir::Value position) { return scaled(position, /*up=*/true); }
  mlir::Value halved(mlir::Value position) { return scaled(position, /*up=*/false); }
  mlir::Value undef(mlir::Type type);
  /// `pointer` (scalar or vector) plus an i64 offset in elements.
  mlir::Value elementAddress(mlir::Value pointer, mlir::Value offset, mlir::Type element);
  /// Loads and stores of memory form: i1 is a byte.
  mlir::Value loadElements(mlir::Value pointer, mlir::Type element, int64_t width, mlir::Value mask,
                           mlir::Value other, bool isVolatile = false);
  void storeElements(mlir::Value pointer, mlir::Type element, int64_t width, mlir::Value value,
                     mlir::Value mask);
  /// Lanes of a vector by numbers that the code computes: through memory.
  std::function<mlir::Value(mlir::Value lane)> takeApart(mlir::Value vector);
  /// Runs `body` for the lanes (i64) of up to 64 that are on, in order; for all if `mask` is null.
  void forEachLane(mlir::Value mask, int64_t width, llvm::function_ref<void(mlir::Value)> body);
  /// Stores whole lines past the cache, at an address that is a multiple of `lineBytes`.
  void streamElements(mlir::Value pointer, mlir::Value value);
  static constexpr int64_t lineBytes = 64;
  /// Fetches what `bytes` from `pointer` on lie in. `hint`: 3 for the first cache, 2 for the
  /// second.
  void fetchLines(mlir::Value pointer, int64_t bytes, int32_t hint);
  /// Room on the stack for one value of a type.
  mlir::Value onStack(mlir::Type type);
  /// Eight bytes on the stack that are zero before the first program and stay from one to the next.
  mlir::Value zeroSlot();
  /// Calls one of support/CpuSymbols.def.
  mlir::Value call(llvm::StringRef symbol, mlir::Type result, mlir::ValueRange arguments);
  /// Applies scalar code to each lane; for what the processor has no vectors for.
  mlir::Value perLane(int64_t width, mlir::Type resultScalar, mlir::ValueRange operands,
                      llvm::function_ref<mlir::Value(mlir::ValueRange)> compute);
  /// Clones a region of elementwise ops with `arguments` (all of one width) for its block
  /// arguments, and returns what it yields.
  llvm::SmallVector<mlir::Value> inlineRegion(mlir::Block &block, mlir::ValueRange arguments,
                                              int64_t width);

  // --- facts ---

  const FusionPlan &plan;
  const analysis::AxisAnalysis &axes;
  const Processor processor;

  // --- problems and records ---

  /// Reports that the CPU cannot do `op` yet; compilation fails, emission goes on with `undef`.
  mlir::Value unsupported(mlir::Operation *op, mlir::Type type, const llvm::Twine &why = "");
  bool failed() const { return hasFailed; }
  /// Index of a print or assert in the table of sites.
  uint32_t recordSite(mlir::Operation *op, uint32_t kind);
  llvm::ArrayRef<RecordSite> recordSites() const { return sites; }

private:
  std::optional<Lanes> acrossRows(mlir::Value tile);
  mlir::Value inRun(mlir::Value tile, const Lanes &lanes);
  bool scatters(llvm::ArrayRef<RowTask> tasks, const Lanes &row, int64_t width);
  std::unique_ptr<RowRuns> runsOf(llvm::ArrayRef<RowTask> tasks, const Lanes &row, int64_t extent,
                                  int64_t width);
  llvm::SmallVector<mlir::Value> alongRuns(RowRuns &runs, mlir::Value runsEnd, mlir::Value upper,
                                           llvm::ArrayRef<int64_t> widths,
                                           llvm::ArrayRef<mlir::Value> carried,
                                           llvm::function_ref<llvm::SmallVector<mlir::Value>(
                                               mlir::Value lower, mlir::Value upper, int64_t width,
                                               llvm::ArrayRef<mlir::Value> carried, bool isRun)>
                                               steps);
  void fillFrom(const Buffer &into, unsigned adjacent, mlir::Value tile, bool expand,
                std::function<mlir::Value(const Lanes &)> source,
                llvm::ArrayRef<mlir::Value> ends = {},
                llvm::ArrayRef<FusionPlan::Ahead> ahead = {});
  std::optional<Sweep> sweep(llvm::ArrayRef<RowTask> tasks, const Lanes &row, int64_t extent,
                             int64_t wide);
  mlir::Value scaled(mlir::Value position, bool up);
  void remember(mlir::Value tile, const Lanes &lanes, mlir::Value value);
  mlir::Value compute(mlir::Value tile, const Lanes &lanes);
  mlir::Value toMemory(mlir::Value value, mlir::Type element);
  mlir::Value fromMemory(mlir::Value value, mlir::Type element);

  struct LaneKey {
    mlir::Value tile;
    unsigned dim;
    int64_t width;
    llvm::SmallVector<mlir::Value, 4> position;
    bool operator<(const LaneKey &other) const;
  };
  void fetch(const FusionPlan::Ahead &ahead, const Lanes &lanes, mlir::Value at, mlir::Value end,
             int64_t loads);
  void leave(const Lanes &lanes, mlir::Value count);
  void storeOneByOne(mlir::Value pointers, int64_t width, mlir::Value values, mlir::Value mask,
                     unsigned align);
  static LaneKey keyOf(mlir::Value tile, const Lanes &lanes);
  // Lanes already emitted in the loops that are open here, innermost last.
  std::vector<std::map<LaneKey, mlir::Value>> memo;
  struct MemoScope;
  // What withBits made, and of what.
  struct Moved {
    mlir::Value from;
    int64_t keep, flip;
  };
  llvm::DenseMap<mlir::Value, Moved> moved;

  DirectionAnalysis directions;
  llvm::DenseMap<mlir::Operation *, mlir::Value> strides; // of loads, from round to round, in bytes
  llvm::DenseMap<mlir::Value, bool> assumed;              // masks
  const RowRun *run = nullptr;                            // that is emitted here
  mlir::Location location;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> descriptors;
  std::map<int64_t, mlir::Value> indexConstants;
  std::vector<RecordSite> sites;
  bool hasFailed = false;
};

/// What one lane (a scalar) or several (a vector) of an element type are.
mlir::Type laneType(mlir::Type element, int64_t width);
/// The lanes of a value's type.
int64_t widthOf(mlir::Type type);
/// The scalar type of lanes.
mlir::Type scalarOf(mlir::Type type);

/// Gives upstream and tile ops their code on the CPU.
void registerCpuModels(mlir::DialectRegistry &registry);

} // namespace nereid::cpu
