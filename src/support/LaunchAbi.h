// The launch ABI (contract 5): what compiled code and the code that starts it agree on.
//
// Both code generators emit against the offsets that are asserted here, and the runtime fills these
// structures in; neither side sees the other. Layouts are C layouts of fixed-width fields. A change
// here needs a new `artifactVersion` (support/Artifact.h), because built kernels outlive the build.
// The rules in words: docs/design/contract-launch-abi.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nereid::support {

// --- records: device_print, device_assert and check write them, the host drains them ---

/// What a record says.
enum class RecordKind : uint16_t {
  None = 0,   ///< the slot was claimed and never finished
  Print = 1,  ///< one element of one operand of `device_print`
  Assert = 2, ///< one failed element of `device_assert`
  Check = 3, ///< a broken promise (`multiple_of`, `assume`, ...) or access seen by a checking build
};

/// One record, 32 bytes. `kind` is written last.
struct Record {
  uint32_t site;    ///< index in the artifact's table of record sites
  uint16_t operand; ///< which operand of the site
  uint16_t kind;    ///< RecordKind
  uint64_t program; ///< x | y << 32 | z << 48, see packProgram
  uint64_t value;   ///< bits of the element, zero-extended
  uint32_t index;   ///< row-major index of the element in its tile, 0 for scalars
  uint32_t reserved;
};

/// Largest grid, on every device: that of CUDA.
inline constexpr uint32_t maxGridX = 0x7fffffff, maxGridYZ = 0xffff;

/// A program of such a grid in one word.
constexpr uint64_t packProgram(uint32_t x, uint32_t y, uint32_t z) {
  return uint64_t(x) | uint64_t(y) << 32 | uint64_t(z) << 48;
}

/// Heads an array of `capacity` records. A writer claims a slot with an atomic add on `claimed`,
/// and drops the record if the slot is not below `capacity`; so `claimed - capacity` were lost.
struct RecordBuffer {
  uint64_t claimed;
  uint64_t capacity;
  uint32_t failures; ///< atomic count of failed assertions, also of those whose record was dropped
  uint32_t reserved;
  uint64_t reserved2;
};

// --- CPU ---

/// Why a launch ended early. The kernel stores one of these through `CpuContext::fault`.
enum class LaunchFault : uint32_t {
  None = 0,
  Trap = 1, ///< the program reached `tl.device_trap` or code that cannot be reached
};

/// What a CPU kernel is called with. Each worker (and each fiber) has a context of its own, so
/// `arena` belongs to one program at a time.
struct CpuContext {
  const void *arguments;   ///< the packed argument block
  uint32_t grid[3];        ///< programs along x, y, z
  uint32_t streamAboveKiB; ///< a launch that writes more may go past the cache; 0: none may
  void *arena;             ///< `arenaBytes` of the code section, 64-byte aligned
  void *scratch;           ///< program p owns `scratchBytes` at p * scratchBytes
  RecordBuffer *records;   ///< null unless the code section says that it records
  void (*yield)(const CpuContext *); ///< null unless the code section says that it yields
  void *yieldState;                  ///< belongs to `yield`
  uint32_t *fault;                   ///< a LaunchFault; shared by all workers of the launch
  uint32_t isAlone; ///< 1: until this call returns nothing else of the process changes memory
                    ///< atomically, so atomics that only the device observes need no lock
  uint32_t reserved;
};

/// The entry point: runs programs [first, first + count) of the grid, x fastest:
/// p = x + grid[0] * (y + grid[1] * z), or along another axis, where nothing tells the difference
/// (cpu/ProgramOrder.h).
using CpuEntry = void (*)(uint64_t first, uint64_t count, const CpuContext *context);

static_assert(sizeof(Record) == 32);
static_assert(offsetof(Record, site) == 0);
static_assert(offsetof(Record, operand) == 4);
static_assert(offsetof(Record, kind) == 6);
static_assert(offsetof(Record, program) == 8);
static_assert(offsetof(Record, value) == 16);
static_assert(offsetof(Record, index) == 24);

static_assert(sizeof(RecordBuffer) == 32);
static_assert(offsetof(RecordBuffer, claimed) == 0);
static_assert(offsetof(RecordBuffer, capacity) == 8);
static_assert(offsetof(RecordBuffer, failures) == 16);

static_assert(sizeof(CpuContext) == 80);
static_assert(offsetof(CpuContext, arguments) == 0);
static_assert(offsetof(CpuContext, grid) == 8);
static_assert(offsetof(CpuContext, streamAboveKiB) == 20);
static_assert(offsetof(CpuContext, arena) == 24);
static_assert(offsetof(CpuContext, scratch) == 32);
static_assert(offsetof(CpuContext, records) == 40);
static_assert(offsetof(CpuContext, yield) == 48);
static_assert(offsetof(CpuContext, yieldState) == 56);
static_assert(offsetof(CpuContext, fault) == 64);
static_assert(offsetof(CpuContext, isAlone) == 72);

// --- GPU ---

/// What the hidden parameter behind the slots of a GPU kernel points at, in device memory. The
/// parameter is always there, before the tensor maps if there are some; it is null unless the code
/// section says that it records or needs scratch.
struct GpuContext {
  uint64_t scratch; ///< device address; program p owns `scratchBytes` at p * scratchBytes
  uint64_t records; ///< device address of a RecordBuffer
};

static_assert(sizeof(GpuContext) == 16);
static_assert(offsetof(GpuContext, scratch) == 0);
static_assert(offsetof(GpuContext, records) == 8);

// --- the packed argument block ---

/// Where the next slot of `width` bytes goes if the block already holds `end` bytes. This is the
/// rule of PTX and of C structures, so a GPU takes the block as its parameter buffer.
constexpr uint32_t placeSlot(uint32_t end, uint32_t alignment) {
  return (end + alignment - 1) & ~(alignment - 1);
}

/// The block itself starts at a multiple of this (a tensor map needs it).
inline constexpr uint32_t packedAlignment = 64;
/// A launch passes at most this many bytes of arguments (the PTX limit of sm_80; sm_90 has more).
inline constexpr uint32_t packedLimit = 4096;
/// Bytes of a CUtensorMap.
inline constexpr uint32_t tensorMapBytes = 128;

} // namespace nereid::support
