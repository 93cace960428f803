// The blocks of a launch, one after the other on one multiprocessor.
#pragma once

#include "PtxCode.h"
#include "PtxShared.h"
#include "TensorMap.h"

#include <map>
#include <random>
#include <unordered_map>

namespace ptx {

/// A copy of `cp.async`.
struct Copy {
  uint64_t from = 0, to = 0;
  unsigned bytes = 0, given = 0; // `given` of the bytes come from memory, the rest are zeros
};

struct Thread {
  std::vector<uint64_t> registers;
  size_t pc = 0;
  bool done = false;
  bool isStalled = false;                            // at an mbarrier whose phase is not over
  std::vector<Copy> open;                            // copies of no group yet
  std::vector<std::vector<Copy>> groups;             // oldest first
  uint32_t bulkGroups = 0;                           // that were committed
  std::vector<std::pair<uint32_t, Range>> bulkReads; // of shared memory, by group
  std::vector<uint8_t> local;
  // Of each register, in kernels with products of wgmma: the group of products that makes it, that
  // reads it, and the number of fences before it was written.
  std::vector<uint32_t> madeBy, readBy, writtenAfter;
};

struct Warp {
  Knowledge knows;
  int waitsAt = -1; // the number of a barrier
  bool done = false;
  // Groups of products are numbered from 1 on.
  uint32_t fences = 0, committed = 0, finished = 0;
  size_t products = 0;                                  // that were begun
  std::vector<std::pair<uint32_t, Range>> productReads; // by group
};

struct NamedBarrier {
  unsigned expected = 0, arrived = 0; // threads
  Knowledge gathered;
  std::vector<unsigned> waiting; // warps
};

/// PTX ISA, "mbarrier": a phase ends when all arrivals have come, and all bytes.
struct Mbarrier {
  unsigned agent = 0, initialiser = 0; // a warp, in a step
  uint32_t initialised = 0;
  uint32_t expected = 0, pending = 0, phase = 0;
  int64_t bytes = 0; // that are expected and have not come
  bool isAlive = false, isFenced = false;
  Knowledge gathered, visible; // of the phase that runs, and of those that are over
};

/// Who has touched a byte of global memory last; of several readers two.
struct GlobalByte {
  struct By {
    unsigned warp = 0;
    uint32_t step = 0;
  } written, read, readBefore;
};

/// A transfer of the copy engine that has begun.
struct Transfer {
  TensorMap map;
  int32_t place[5] = {};
  uint64_t shared = 0;
  bool isLoad = false;
  uint64_t mbarrier = 0;       // of a load
  size_t thread = 0;           // of a store
  uint32_t group = 0;          // of the thread's
  Op reduction = Op::unknown_; // of what is in memory with what is stored
  std::vector<uint8_t> taken;  // what it took, row by row
};

class Multiprocessor {
public:
  Multiprocessor(const Kernel &kernel, const Launch &launch, std::mt19937 &random);
  void run(const unsigned (&at)[3]);

private:
  Thread &lane(unsigned warp, unsigned l) { return threads[size_t(warp) * 32 + l]; }
  unsigned lanesOf(unsigned warp) const {
    return unsigned(std::min<size_t>(32, threads.size() - size_t(warp) * 32));
  }
  void as(unsigned warp, unsigned l) {
    current = &lane(warp, l);
    currentWarp = warp;
    currentLane = l;
  }

  // Both are true if anything has happened.
  bool runWarp(unsigned warp);
  bool runThread(unsigned warp, unsigned l);
  void begin();
  void end();
  [[noreturn]] void reportDeadlock();
  std::string placeOf(size_t pc) const;

  // --- operands ---
  uint64_t get(const Operand &operand, Type type = {Kind::Bits, 8});
  void set(const Operand &operand, uint64_t bits, Type type);
  void setRegister(unsigned index, uint64_t bits);
  uint64_t special(const std::string &name) const;
  uint64_t address(const Operand &operand) { return get(operand) + uint64_t(operand.offset); }

  // --- memory ---
  Toucher toucher(bool isAsync = false) { return {currentWarp, warps[currentWarp].knows, isAsync}; }
  void inGlobal(uint64_t at, unsigned bytes) const;
  uint8_t *localOf(uint64_t at, unsigned bytes);
  void read(const Instruction &i, uint64_t at, unsigned bytes, uint8_t *to);
  void write(const Instruction &i, uint64_t at, unsigned bytes, const uint8_t *from);
  void noteGlobalWrite(uint64_t at, unsigned bytes);
  void noteGlobal(uint64_t at, unsigned bytes, const uint8_t *values); ///< null: a read
  void loadOrStore(const Instruction &i);
  void atomic(const Instruction &i);
  void execute(const Instruction &i);
  /// What one register is computed from others.
  void compute(const Instruction &i, Type type);

  // --- barriers (PtxAsync.cpp) ---
  // A warp's next step: what it did before can be told from what it does from now on.
  void nextStep(unsigned warp);
  bool arrive(unsigned warp, const Instruction &i);
  void mbarrier(const Instruction &i);
  bool tryWait(const Instruction &i);
  Mbarrier &mbarrierAt(uint64_t at); ///< that lives, as the warp knows
  void arriveAt(Mbarrier &barrier, uint32_t count);
  void endPhases(Mbarrier &barrier);
  void fence(const Instruction &i);

  // --- copies (PtxAsync.cpp) ---
  void copy(const Instruction &i);
  void asyncCopy(const Instruction &i);
  void finishCopies(size_t most);
  void bulkCopy(const Instruction &i);
  void waitForBulk(uint32_t most, bool isReadOnly);
  TensorMap mapAt(uint64_t at);
  Range rangeOf(const Transfer &transfer) const;
  void land(size_t which);
  void replaceInMap(const Instruction &i);
  void publishMap(unsigned warp, const Instruction &i);

  // --- what a warp does together ---
  void collective(unsigned warp, const Instruction &i, const std::vector<unsigned> &active);
  void loadMatrices(unsigned warp, const Instruction &i);
  void storeMatrices(unsigned warp, const Instruction &i);
  void multiply(unsigned warp, const Instruction &i);

  // --- products of warp groups (PtxProducts.cpp) ---
  void groupProduct(unsigned warp, const Instruction &i);
  void beginProduct(unsigned warp, const Instruction &i);
  uint64_t uniform(unsigned warp, const Operand &operand, Type type);
  void checkFenced(const Warp &own, unsigned index);
  const uint8_t *readPiece(unsigned warp, uint64_t piece);
  std::vector<double> leftInRegisters(unsigned warp, const Instruction &i);
  std::vector<double> leftInMemory(unsigned warp, const Instruction &i, bool isAlongK);
  std::vector<double> rightInMemory(unsigned warp, const Instruction &i, bool isAlongK);
  void renameProduct(unsigned to, unsigned from);
  void checkNotMade(unsigned index) const;
  void checkMayWrite(unsigned index) const;

  const Kernel &kernel;
  const Launch &launch;
  std::mt19937 &random;
  unsigned place[3] = {};
  SharedMemory shared;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::map<unsigned, NamedBarrier> barriers;
  std::map<uint64_t, Mbarrier> mbarriers;
  std::vector<Transfer> transfers;
  // Maps that a kernel made, and which warps have acquired them in which steps.
  std::map<uint64_t, std::vector<std::pair<unsigned, uint32_t>>> madeMaps;
  // By 16 bytes of global memory, which warp of the block has written there last and in which step;
  // only in kernels with bulk copies.
  std::unordered_map<uint64_t, std::pair<unsigned, uint32_t>> writtenGlobal;
  std::unordered_map<uint64_t, GlobalByte> globalBytes; // if their order is checked
  std::vector<std::vector<size_t>> productsOfGroups;    // what each warp group begins, in order
  // How many transfers end before they are waited for, in sixteenths.
  unsigned haste = 0;
  uint64_t steps = 0;
  Thread *current = nullptr;
  unsigned currentWarp = 0, currentLane = 0;
};

} // namespace ptx
