// How ops of level 2 become the code of one thread: a tile is the list of the registers that its
// layout gives to a thread, each an SSA value.
//
// Values in registers: i1..i64, f16..f64 as themselves, 8-bit floats as i8, pointers as
// !llvm.ptr<1>. Code is emitted for all threads of the block together; ops that go through shared
// memory use one scratch area from its start, with a barrier before the first write and after the
// last read of the op before. Rings lie before it, one on top of the other.
#pragma once

#include "analysis/AxisAnalysis.h"
#include "gpu/AccessOrder.h"
#include "gpu/CodeFacts.h"
#include "gpu/EmitKernel.h"
#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// Bits of a register that holds a value of `type`.
inline unsigned bitsOf(mlir::Type type) {
  return mlir::isa<mlir::LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
}

class RegisterEmitter {
public:
  RegisterEmitter(mlir::OpBuilder &builder, const analysis::AxisAnalysis &axes,
                  const target::GpuChip &chip, unsigned warps);

  mlir::OpBuilder &builder;
  const analysis::AxisAnalysis &axes;
  const target::GpuChip &chip;
  const unsigned warps;

  mlir::Value lane;        ///< i32
  mlir::Value warp;        ///< i32
  mlir::Value uniformWarp; ///< the same, and the assembler knows that a warp agrees on it
  mlir::Value thread;      ///< i32
  mlir::Value context;     ///< !llvm.ptr to GpuContext
  llvm::ArrayRef<TensorMap> madeMaps; ///< of descriptors that the kernel makes

  // --- values ---

  llvm::ArrayRef<mlir::Value> registers(mlir::Value tile) const;
  void setRegisters(mlir::Value tile, llvm::SmallVector<mlir::Value> values);
  /// False for a tile in shared memory of which nobody wants the registers.
  bool hasRegisters(mlir::Value tile) const { return tiles.contains(tile); }
  mlir::Value scalar(mlir::Value source) const { return scalars.lookup(source); }
  void setScalar(mlir::Value source, mlir::Value value) { scalars[source] = value; }
  llvm::ArrayRef<mlir::Value> descriptor(mlir::Value source) const;
  void setDescriptor(mlir::Value source, llvm::SmallVector<mlir::Value> fields);
  /// Address of the tensor map of a descriptor; null if it has none.
  mlir::Value tensorMap(mlir::Value desc) const { return tensorMaps.lookup(desc); }
  void setTensorMap(mlir::Value desc, mlir::Value address) { tensorMaps[desc] = address; }
  /// Registers of a tile, or the scalar as often.
  llvm::SmallVector<mlir::Value> operand(mlir::Value value, unsigned count) const;
  /// What likely holds of a value (`AxisAnalysis::likely`).
  tile::AxisFacts likelyFacts(mlir::Value value);

  // --- places ---

  /// The part of the coordinate along `dim` (i32) that lane and warp give. With `mayMeet` several
  /// of their bits may give the same one.
  mlir::Value threadCoordinate(const LinearLayout &layout, unsigned dim, bool mayMeet = false);
  /// The coordinate of a register.
  mlir::Value coordinate(const LinearLayout &layout, unsigned reg, unsigned dim);
  /// Row-major index of a register's element, i32.
  mlir::Value rowMajorIndex(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape,
                            unsigned reg);
  /// True (i1) in one of the threads that hold copies of an element; null if there are none.
  mlir::Value isOwner(const LinearLayout &layout);
  /// Place of the program in the grid, or the grid's extent, along an axis, i32.
  mlir::Value programId(unsigned axis);
  mlir::Value gridExtent(unsigned axis);
  /// Linear index of the program, x fastest, i64.
  mlir::Value programIndex();
  /// True in thread 0.
  mlir::Value isFirstThread();
  /// True if of the threads that hold copies of an element only the owner loads it.
  bool isLoadedOnce(tile::LoadOp load) const { return order.isLoadedOnce(load); }
  /// The warp of which a thread starts bulk copies: one of the warp group that is done last.
  unsigned copyingWarp() const { return takesTurns ? warps - 4 : 0; }
  mlir::Value isCopyingThread();
  bool hasWarpGroups = false; ///< some products are those of warp groups
  bool takesTurns = false;    ///< and the groups take turns between them

  // --- shared memory ---

  void barrier();
  /// A barrier behind which nobody still reads shared memory but by rings.
  void sharedBarrier();
  /// Waits until bulk stores, of which there may be some before the code at hand, have read shared
  /// memory.
  void waitForStores();
  bool mayStillBeRead = false;
  /// True in a block that runs once, before threads use shared memory other than mbarriers.
  bool isBeforeShared(mlir::Block *block) const;
  /// Says that threads use shared memory here.
  void countSharedUse() { ++sharedUses; }
  /// Makes sure that the scratch area has so many bytes, and that nobody still reads it. What an op
  /// of the same block had there before lies apart where there is room: no barrier is between them.
  mlir::Value beginShared(uint64_t bytes);
  /// A product reads what was written behind the last `beginShared`, or the `before`th one of the
  /// loop's step: at once, or as it runs on.
  void readsScratch(bool runsOn, std::optional<unsigned> before = {});
  /// All products are done.
  void productsDone();
  /// An operand that lies in scratch memory as a product of the same step wrote it.
  struct WrittenOperand {
    mlir::Value tile, base;
    unsigned major; ///< the dimension along which it is contiguous
    unsigned use;   ///< which `beginShared` of the step it was
  };
  std::optional<WrittenOperand> writtenOperand(mlir::Value tile, unsigned major) const;
  void noteWritten(mlir::Value tile, unsigned major, mlir::Value base);
  /// Address of an element of `element` at an i32 index.
  mlir::Value sharedAddress(mlir::Value base, mlir::Type element, mlir::Value index);
  /// Writes a tile row by row; every element once (copies write the same).
  void writeShared(mlir::Value base, mlir::Type element, llvm::ArrayRef<int64_t> shape,
                   const LinearLayout &layout, llvm::ArrayRef<mlir::Value> values);
  llvm::SmallVector<mlir::Value> readShared(mlir::Value base, mlir::Type element,
                                            llvm::ArrayRef<int64_t> shape,
                                            const LinearLayout &layout);
  /// One element; i1 takes a byte.
  void storeElement(mlir::Value address, mlir::Type element, mlir::Value value);
  mlir::Value loadElement(mlir::Value address, mlir::Type element);
  /// One element, where `condition` holds, without a branch.
  void storeElementWhen(mlir::Value condition, mlir::Value address, mlir::Type element,
                        mlir::Value value);
  /// Moves the start of the scratch area up by what a ring takes, and back.
  void reserveRing(mlir::Value ring, uint64_t bytes);
  void releaseRing(mlir::Value ring);
  /// Address of a slot (null: the first) of `bytes` bytes.
  mlir::Value slotAddress(mlir::Value ring, mlir::Value slot, uint64_t bytes);
  uint64_t sharedBytes() const { return sharedSize; }
  /// Where places for what threads keep begin: behind all else in shared memory (i32, known when
  /// all is emitted), and the address that is `offset` (i32) from there.
  mlir::Value keptStart();
  mlir::Value keptAddress(mlir::Value offset);
  KeptPlaces kept;
  /// Says where they begin.
  void finishKept();
  llvm::ArrayRef<SharedBuffer> sharedBuffers() const { return largest; }

  // --- small pieces of code ---

  mlir::Location loc() const { return location; }
  void setLocation(mlir::Location loc) { location = loc; }
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value number(mlir::Type type, int64_t value);
  mlir::Value zero(mlir::Type type);
  mlir::Value undef(mlir::Type type);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);      ///< i1 and, null is true
  mlir::Value isSet(mlir::Value number, unsigned bit); ///< i1, of a number of 32 bits
  /// if (condition) body
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// for (i = lower; i < upper; i += step) on i32
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, mlir::Value step, llvm::ArrayRef<mlir::Value> carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// The value, of any type, that another lane has: lane `from` (i32), or lane (this ^ mask).
  mlir::Value shuffleFrom(mlir::Value value, mlir::Value from);
  mlir::Value shuffleXor(mlir::Value value, unsigned mask);
  /// The value of lane 0.
  mlir::Value uniform(mlir::Value value) { return shuffleFrom(value, i32(0)); }
  /// What `ldmatrix` reads of one, two or four matrices of 8 x 8 elements of 16 bits: a word each.
  /// Lanes 8i to 8i + 7 give the addresses of the rows of matrix i.
  llvm::SmallVector<mlir::Value> loadMatrices(mlir::Value address, unsigned matrices,
                                              bool isTransposed);
  /// Inline PTX. `pure`: no memory, no side effect.
  mlir::Value assembly(llvm::StringRef text, llvm::StringRef constraints, mlir::Type result,
                       mlir::ValueRange operands, bool pure);
  /// Pieces of 32 bits, and back. The type has a multiple of 32 bits, or fewer.
  llvm::SmallVector<mlir::Value> toWords(mlir::Value value);
  mlir::Value fromWords(llvm::ArrayRef<mlir::Value> words, mlir::Type type);
  mlir::Value cast(mlir::Value value, mlir::Type type); ///< same bits
  /// Values of one type as a vector, and back.
  mlir::Value vectorOf(llvm::ArrayRef<mlir::Value> values);
  llvm::SmallVector<mlir::Value> elementsOf(mlir::Value vector);
  /// What takes a value, of whatever type its bits are, out of a vector; null if nothing does.
  static mlir::LLVM::ExtractElementOp takenOut(mlir::Value value);
  /// Neighbours in a vector as one number of their bits, where LLVM does not put together again
  /// what was taken apart; null if they are none.
  mlir::Value wordOf(mlir::ValueRange neighbours);
  /// Pairs of 16 bits as words, and back.
  llvm::SmallVector<mlir::Value> packHalves(llvm::ArrayRef<mlir::Value> halves);
  llvm::SmallVector<mlir::Value> unpackHalves(llvm::ArrayRef<mlir::Value> words, mlir::Type half);
  /// The sums of a product in the registers that instructions take: of f16 two in a word.
  llvm::SmallVector<mlir::Value> packSums(llvm::ArrayRef<mlir::Value> sums);
  /// The sums of such registers, which assembly returned as a struct.
  llvm::SmallVector<mlir::Value> unpackSums(mlir::Value registers, mlir::Type sum);
  /// Clones a region on scalars and returns what it yields.
  llvm::SmallVector<mlir::Value> inlineRegion(mlir::Block &block, mlir::ValueRange arguments);
  void emit(mlir::Block &block); ///< all ops but the terminator
  void emit(mlir::Operation *op);

  /// Reports that the GPU back end cannot do `op` yet; compilation fails.
  void reportUnsupported(mlir::Operation *op, const llvm::Twine &why = "");
  /// The same, and gives its results some value, so that emission goes on.
  void unsupported(mlir::Operation *op, const llvm::Twine &why = "");
  bool failed() const { return hasFailed; }
  /// Index of a print or assert in the table of sites.
  uint32_t recordSite(mlir::Operation *op, uint32_t kind) {
    sites.push_back({op, kind});
    return uint32_t(sites.size() - 1);
  }
  llvm::ArrayRef<RecordSite> recordSites() const { return sites; }

  /// What the code emitted so far does to memory (gpu/CodeFacts.h).
  std::vector<AccessFact> accesses;
  /// Notes an access of the op at hand to global memory, `elements` at once by each thread.
  void noteGlobal(const char *what, mlir::Value pointer, mlir::Type element, unsigned elements);
  /// The same for a block of a descriptor in `layout`.
  void noteDescriptor(const char *what, mlir::Type desc, const LinearLayout &layout,
                      unsigned elements);
  /// Notes `count` accesses to shared memory: in `layout`, an element of the coordinate
  /// `offset(coordinate)` bytes from some multiple of 128.
  void noteShared(const char *what, const LinearLayout &layout, unsigned elementBytes,
                  unsigned elements, llvm::function_ref<int64_t(llvm::ArrayRef<int32_t>)> offset);
  /// What reading or writing a tile as `readShared` and `writeShared` do takes.
  AccessFact sharedFact(const char *what, mlir::Type element, llvm::ArrayRef<int64_t> shape,
                        const LinearLayout &layout) const;

private:
  /// The temporaries in shared memory of an innermost loop's steps. Each is written, a barrier
  /// follows (`inner`), and it is read. Where each has an area of its own, the barriers of the
  /// others order a step's writes behind the reads of the step before, and those in front of the
  /// writes can go.
  struct StepScratch {
    struct Use {
      llvm::SmallVector<mlir::Operation *, 2> before; ///< makes sure that nobody still reads
      mlir::Operation *inner = nullptr;
      mlir::Operation *done = nullptr; ///< behind `inner`: products that read it are done
      bool isRead = false;             ///< by products that run on
    };
    mlir::Block *body;
    uint64_t end;        ///< of the areas so far
    uint64_t most;       ///< where they must end
    bool isApart = true; ///< no two of them share bytes
    llvm::SmallVector<Use, 4> uses;
    llvm::SmallVector<WrittenOperand, 4> written;
  };
  // The last use of the scratch area. Behind the barrier of the next one of the same block nobody
  // reads it any more.
  struct ScratchUse {
    mlir::Block *block;
    uint64_t begin, end;
    unsigned number; ///< among the uses of shared memory
    bool hasBarrier = false;
  };
  /// Where the scratch area is apart from the use before, with a barrier since what lay there.
  std::optional<uint64_t> besideLast(uint64_t bytes) const;
  /// What a loop's temporaries may take besides, whose program a multiprocessor holds many of.
  static constexpr uint64_t smallScratch = 2048;
  void finishStepScratch(mlir::Operation *loop);
  uint64_t mostOfStep(mlir::scf::ForOp loop) const;

  void emitFor(mlir::Operation *op);
  void emitIf(mlir::Operation *op);
  void emitWhile(mlir::Operation *op);
  llvm::SmallVector<mlir::Type> typesOf(mlir::Type type) const;
  llvm::SmallVector<mlir::Type> typesOf(mlir::TypeRange types) const;
  llvm::SmallVector<mlir::Value> valuesOf(mlir::ValueRange sources);
  void bind(mlir::ValueRange sources, mlir::ValueRange values);

  mlir::Location location;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> tiles;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> descriptors;
  llvm::DenseMap<mlir::Value, mlir::Value> tensorMaps;
  llvm::DenseMap<mlir::Value, uint64_t> rings; // their offsets
  uint64_t scratchStart = 0;
  uint64_t sharedSize = 0;
  llvm::SmallVector<mlir::Value> keptStarts; // constants
  unsigned sharedUses = 0;
  std::optional<ScratchUse> lastScratch;
  std::optional<StepScratch> stepScratch; // of the loop whose body is being emitted
  AccessOrder order;
  std::optional<analysis::AxisAnalysis> likelyAxes; // made where they are asked for
  bool isAtEnd = false;     // the code at hand is for the programs at the end
  bool isInOneWarp = false; // the code at hand is run by one warp, which can't wait for others
  llvm::SmallVector<SharedBuffer> ringsInUse, largest; ///< `largest`: those of `sharedSize`
  std::vector<RecordSite> sites;
  bool hasFailed = false;
};

/// The type of one register.
mlir::Type registerType(mlir::Type element);
/// The type in which memory and the launch hold an element: a truth takes a byte.
mlir::Type memoryType(mlir::Type element);

/// Gives ops of level 2 their code.
void registerRegisterModels(mlir::DialectRegistry &registry);

} // namespace nereid::gpu
