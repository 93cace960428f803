// What `check` looks for while a kernel runs (docs/rooms/ref.md says what counts as a fault).
//
// Three watchers share this class. Memory: each access is compared with the accesses before it,
// kept in shadow cells (ref/Shadow.h). Values: steps of a checking launch are wrapped so that a tag
// follows an integer that has wrapped, or a NaN that the kernel made, to where it does harm
// (ref/CheckValues.h). Promises: hints are compared with the values they speak of.
#pragma once

#include "ref/Machine.h"
#include "ref/Shadow.h"

namespace nereid::ref {

/// What `tl.multiple_of` and its kin promise about a tile; lists are empty or have one entry a
/// dimension.
struct HintFacts {
  std::vector<int64_t> shape, divisibility, contiguity, constancy;
  int64_t unit = 1; ///< the distance of consecutive values: bytes of the pointee for pointers
};

/// What is known of a kernel before it runs.
struct CheckFacts {
  explicit CheckFacts(mlir::Location loc) : loc(loc) {}

  /// A parameter whose value is promised to be a multiple.
  struct Promise {
    unsigned argument;
    int64_t divisibility;
    std::string name;
  };
  std::vector<Promise> promises;
  std::vector<bool> written;   ///< by argument: may be stored through
  bool writesAnywhere = false; ///< through a pointer that is made in the kernel
  mlir::Location loc;          ///< of the kernel
};

/// What becomes of a program under `check`; of one program at a time.
struct FrameCheck {
  // --- memory ---
  uint32_t program = 0; ///< counted from 1
  uint32_t clock = 1;
  bool storedTile = false; ///< since the last barrier
  uint32_t barrierAt = 0;  ///< the clock at the last barrier
  uint32_t meetingAt = 0;  ///< the clock when threads last waited for what others have loaded
  bool released = false;   ///< by the memory op under way: time goes on after it
  uint32_t site = 0;       ///< of the memory op under way
  /// For a scalar atomic: the last barrier before it, if stores of a tile have followed that
  /// barrier.
  std::optional<uint32_t> barrierBefore;
  VectorClock knows; ///< how far the programs are that this one is ordered after
  std::shared_ptr<const VectorClock> snapshot, learned; ///< the last one given, the last one taken

  // --- values ---
  /// A tag for each element, as wide as the element and at its place in the frame; 0 for none.
  /// Null: nothing has gone wrong in this program.
  std::unique_ptr<std::byte[]> tags;
  /// Addresses of the memory op under way, if some of them may have a tag.
  const Slot *addresses = nullptr;
};

class Checker {
public:
  explicit Checker(Machine &machine);
  ~Checker();

  void beginProgram(Frame &frame);
  void endProgram(Frame &frame);

  // --- memory ---
  void beginAccess(Frame &frame, const AccessSite &site);
  /// `value` has the bits that a store is about to write or a swap expects, or is null.
  void access(Frame &frame, const AccessSite &site, const Memory::Spot &spot, unsigned bytes,
              uint32_t element, const void *value) {
    if (!regions[spot.region->index].quiet)
      checkAccess(frame, site, spot, bytes, element, value);
  }
  void outOfBounds(Frame &frame, const AccessSite &site, uint64_t address, uint32_t element);
  void barrier(Frame &frame);
  /// An op has combined elements of several threads: what they loaded before it has arrived.
  void meet(Frame &frame);

  /// Of each tensor that is no input what no program has stored; for a launch that has ended.
  std::vector<NeverStored> neverStored() const;

  // --- values ---
  /// How a value went wrong, and where.
  struct Origin {
    enum Kind : uint8_t { Overflow, NaN } kind;
    uint32_t place;
    uint32_t program = 0; ///< that did it last; the rest is about its first time there
    const char *operation = "";
    int64_t left = 0, right = 0;
    unsigned bits = 0; ///< of the integer
  };
  /// The tag of what goes wrong at the running step.
  uint32_t originHere(Frame &frame, Origin::Kind kind);
  /// Gives the running program tags.
  void taint(Frame &frame);
  /// The origin of a tag; null if the tag is of another kind.
  Origin *origin(uint32_t tag, Origin::Kind kind) {
    return tag == 0 || tag > origins.size() || origins[tag - 1].kind != kind ? nullptr
                                                                             : &origins[tag - 1];
  }
  /// A wrapped integer addresses memory at element `element` of a tile of `shape`.
  void overflowReachesMemory(Frame &frame, const Origin &origin, llvm::ArrayRef<int64_t> shape,
                             uint32_t element);
  /// A NaN made by the kernel is stored.
  void nanReachesMemory(Frame &frame, const Origin &origin, llvm::ArrayRef<int64_t> shape,
                        uint32_t element);
  void divisionByZero(Frame &frame);
  /// Tags of constants: none.
  std::byte *noTags();

  // --- promises ---
  void hint(Frame &frame, const HintFacts &facts, const std::vector<int64_t> &values);

private:
  /// A memory op of the kernel.
  struct Site {
    AccessKind kind;
    uint32_t place;
    std::vector<int64_t> shape;
  };
  struct RegionState {
    RegionShadow shadow;
    bool readOnly = false; ///< nothing in the kernel can store to it
    bool hasGaps = false;  ///< some of its bytes lie between the elements of the tensor
    bool quiet = false;    ///< no access inside of it can be a fault
  };
  void checkAccess(Frame &frame, const AccessSite &site, const Memory::Spot &spot, unsigned bytes,
                   uint32_t element, const void *value);
  // What an access does to one cell; true if it found something.
  bool loadCell(Frame &frame, const Memory::Spot &spot, RegionState &state, uint64_t index,
                const Touch &touch, bool isVolatile);
  bool storeCell(Frame &frame, const Memory::Spot &spot, RegionState &state, uint64_t index,
                 const Touch &touch, bool sameValue);
  bool atomicCell(Frame &frame, const AccessSite &site, const Memory::Spot &spot,
                  RegionState &state, uint64_t index, const Touch &touch, bool writes);
  bool isWritten(const Memory::Spot &spot, const Cell &cell) const {
    return spot.region->range.initialized || cell.write || cell.isAtomic;
  }
  bool isOrdered(const FrameCheck &me, const Touch &other) const {
    return !other || other.program == me.program || me.knows.of(other.program) >= other.clock;
  }
  bool runsSameElement(const Touch &a, const Touch &b) const {
    return a.element == b.element &&
           (a.site == b.site || sites[a.site].shape == sites[b.site].shape);
  }

  void race(Frame &frame, const Memory::Spot &spot, const Touch &mine, const Touch &other,
            bool sameValue);
  void uninitialised(Frame &frame, const Memory::Spot &spot, const Touch &mine);
  /// A store known through a release that waited for one thread only.
  void checkRelease(Frame &frame, const Memory::Spot &spot, const Touch &mine, const Touch &store);
  /// A load of what another thread of the program has stored, or a store to what another one loads.
  void missingBarrier(Frame &frame, const Memory::Spot &spot, const Touch &mine,
                      const Touch &other);
  /// A store to what another thread of the program may still be about to load.
  bool overtakes(const FrameCheck &me, const Touch &store, const Touch &read) const {
    return read.program == me.program && read.clock >= me.meetingAt &&
           !runsSameElement(store, read);
  }
  void checkGap(Frame &frame, const AccessSite &site, const Memory::Spot &spot, uint32_t element);
  void checkPromises(Frame &frame);

  Finding finding(Frame &frame, std::string code, std::string message, std::string hint);
  std::array<uint32_t, 3> programId(uint32_t program) const;
  std::string programText(uint32_t program) const;

  Machine &machine;
  std::deque<RegionState> regions; ///< by Memory::Region::index
  std::vector<Site> sites;
  llvm::DenseMap<const AccessSite *, uint32_t> siteIndex;
  /// A release by one thread of a program whose other threads have stored since `barrierAt`.
  struct WeakRelease {
    uint32_t barrierAt, place;
  };
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, WeakRelease> weakReleases; ///< by program and clock
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> races; ///< places -> the one reported
  std::vector<Origin> origins;
  llvm::DenseMap<std::pair<uint32_t, unsigned>, uint32_t> originIndex;
  std::vector<std::byte> zeros;
  std::vector<std::unique_ptr<FrameCheck>> checks;
  std::vector<FrameCheck *> idle; ///< of checks
  bool promisesChecked = false;
};

} // namespace nereid::ref
