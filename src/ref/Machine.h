// The state of one launch: memory, programs alive, what was found.
#pragma once

#include "ref/Program.h"

#include <deque>
#include <exception>
#include <ucontext.h>

namespace nereid::ref {

class Machine;
class Checker;

/// Memory that a kernel may touch, by the addresses that the kernel sees.
class Memory {
public:
  struct Region {
    uint64_t begin, bytes;
    std::byte *host;
    MemoryRange range;         ///< what the caller said; names are joined where ranges overlap
    unsigned elementBytes = 1; ///< of the range's data type
    Storage element = Storage::I8;
    double *wide = nullptr; ///< with Precision::Wide, for float elements
    std::vector<double> ownWide;
    unsigned index = 0;
  };
  /// Bytes in a region.
  struct Spot {
    Region *region = nullptr;
    uint64_t offset = 0;
    explicit operator bool() const { return region; }
    std::byte *host() const { return region->host + offset; }
  };

  /// `separate` gives every region an address space of its own, so that no offset from one tensor
  /// reaches another.
  Memory(const std::vector<MemoryRange> &ranges, const Options &options);

  /// Where `bytes` bytes at `address` lie; nothing if one of them is not ours.
  Spot find(uint64_t address, unsigned bytes) {
    uint64_t offset = address - last->begin;
    if (offset < last->bytes && last->bytes - offset >= bytes)
      return {last, offset};
    return search(address, bytes);
  }
  /// The address by which the kernel knows an address of the host.
  uint64_t toKernel(uint64_t address) const;
  /// The region that `address` is in or, with `separate`, was made from; null if there is none.
  const Region *nearest(uint64_t address) const;

  /// Reads and writes elements of float tensors in f64 (Precision::Wide). `memory` is the element's
  /// storage in memory.
  static double loadWide(const Spot &spot, Storage memory);
  static void storeWide(const Spot &spot, Storage memory, double value);
  /// Makes the f64 values of a region follow `bytes` bytes that were written as integers.
  static void refreshWide(const Spot &spot, unsigned bytes);

  std::vector<std::unique_ptr<Region>> regions; ///< by `begin`

private:
  Spot search(uint64_t address, unsigned bytes);
  Region nowhere{};
  Region *last = &nowhere;
  bool separate;
};

/// What a memory op does to the bytes of one element.
enum class AccessKind : uint8_t { Load, VolatileLoad, Store, Atomic };

/// A memory op as the machine and the checker see it.
struct AccessSite {
  AccessKind kind;
  std::vector<int64_t> shape; ///< of the tile accessed
  tile::MemSemantic order = tile::MemSemantic::Relaxed;
  bool masked = false;     ///< there is a mask, true where elements are accessed
  bool overwrites = false; ///< an atomic whose result in memory does not depend on what was there
  bool compares = false;   ///< an atomic that writes only where memory has an expected value
  bool answers = true;     ///< somebody looks at what it reads, so that a loop can wait for it
};

/// Ends a launch from inside of a program.
struct Stop {
  Finding finding;
};

/// A program under way, on a stack of its own.
struct Fiber {
  Fiber(Machine &machine, const Program &program);
  ~Fiber();

  Frame frame;
  ucontext_t context;
  void *stack = nullptr;
  size_t stackBytes = 0;
  bool finished = false;
  bool waiting = false;  ///< it yielded in a loop that waits for another program
  bool counting = false; ///< that loop's numbers change, so it may end by itself
  uint32_t waitPlace = 0;
};

class Machine {
public:
  Machine(const Program &program, const Launch &launch);
  ~Machine();

  /// Runs all programs of the grid. Throws nothing; `fault` says how it ended.
  void run();

  const Program &program;
  const Launch &launch;
  Memory memory;
  Statistics statistics;
  std::optional<Finding> fault;
  std::unique_ptr<Checker> checker; ///< null unless Options::check
  uint64_t changes = 0;             ///< how often memory has taken another value

  /// Counts operations, and tells of them; stops at the limit.
  void charge(Frame &frame, uint64_t operations) {
    statistics.operations += operations;
    if (statistics.operations > nextLook)
      look(frame);
  }
  /// A step is about to touch memory: another program may run first, if a seed says so.
  void beginAccess(Frame &frame, const AccessSite &site);
  /// Where element `element` of the tile lies, verified. Nothing if it lies nowhere and the launch
  /// goes on. `value` has the bits that a store will write or a swap expects; it may be
  /// null.
  Memory::Spot reach(Frame &frame, const AccessSite &site, uint64_t address, unsigned bytes,
                     uint32_t element, const void *value = nullptr) {
    Memory::Spot spot = memory.find(address, bytes);
    if (!spot)
      outOfBounds(frame, site, address, element);
    else if (checker)
      checkAccess(frame, site, spot, bytes, element, value);
    return spot;
  }
  /// Writes `bytes` bytes and notes whether that changed memory.
  void write(Frame &frame, const Memory::Spot &spot, const void *from, unsigned bytes) {
    if (std::memcmp(spot.host(), from, bytes) == 0)
      return;
    std::memcpy(spot.host(), from, bytes);
    ++frame.writes;
    ++changes;
  }
  /// The end of an iteration of a loop whose exit is decided at run time. `counting`: the
  /// numbers that it carries are others than before.
  void backEdge(Frame &frame, uint64_t &idle, bool counting);

  /// What an access outside of all memory becomes: ends the launch, or is reported by a checking
  /// one.
  void outOfBounds(Frame &frame, const AccessSite &site, uint64_t address, uint32_t element);

  Finding finding(Frame &frame, Severity severity, std::string code, std::string message,
                  std::string hint = {});
  /// Keeps what `check` found, once for each code, place and tensor; stops after too many. `place`
  /// is that of the running step if not given. Findings are told when the launch ends, with their
  /// counts.
  void report(Frame &frame, Finding finding, std::optional<uint32_t> place = {});
  /// Counts one more of what `report` has, if it has that already with at least this severity.
  bool foundBefore(Frame &frame, const std::string &code, const std::string &tensor,
                   Severity severity = Severity::Error, std::optional<uint32_t> place = {});
  [[noreturn]] void stop(Finding finding);
  /// A failed `device_assert`: each element is told, up to Options::maxFindings, or reported by a
  /// checking launch; the launch goes on.
  void assertionFailed(Frame &frame, Finding finding);

private:
  friend struct Fiber;
  static void enter(unsigned high, unsigned low);
  void fiberMain(Fiber &fiber);
  bool takeProgram(Frame &frame);
  void passArguments(Frame &frame);
  void resume(Fiber &fiber);
  void yield(Frame &frame, bool waiting, bool counting = false);
  void preempt(Frame &frame);
  void checkAccess(Frame &frame, const AccessSite &site, const Memory::Spot &spot, unsigned bytes,
                   uint32_t element, const void *value);
  void look(Frame &frame);
  void reportDeadlock();
  void tellFindings();
  uint64_t random();

  uint64_t operationLimit = ~uint64_t(0);
  uint64_t nextLook; ///< the limit, or before it when somebody wants to know
  bool preemptive = false;
  uint64_t randomState = 0;
  uint64_t nextProgram = 0, programCount = 0;
  size_t fiberLimit = 1, window = 1;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::deque<Fiber *> ready;
  Fiber *current = nullptr;
  ucontext_t scheduler;
  uint64_t idleLooks = 0, changesSeen = 0; ///< looks in parts of `looksThatCount`
  size_t aliveSeen = 0;
  bool ending = false;
  [[maybe_unused]] void *schedulerStack = nullptr; ///< for the address sanitizer
  [[maybe_unused]] size_t schedulerStackBytes = 0;
  std::map<std::tuple<std::string, uint32_t, std::string>, size_t> foundAt;
  std::vector<Finding> found; ///< in order of their first time
};

/// One element's atomic. `value` and `old` (which may be null) lie as in a slot of `inMemory`, f64
/// with Precision::Wide.
void applyAtomic(Frame &frame, const Memory::Spot &spot, tile::AtomicKind kind, Storage inMemory,
                 const void *value, void *old);

/// The place of a location: file, line and column in `where`, the calls that were inlined as notes.
void setPlace(Diagnostic &diagnostic, mlir::Location loc);
/// The index of a row-major element of `shape`.
std::vector<int64_t> indexOf(uint64_t element, llvm::ArrayRef<int64_t> shape);

} // namespace nereid::ref
