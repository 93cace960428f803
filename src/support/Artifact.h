// The artifact (contract 2): what the compiler hands to everything that runs, stores or ships a
// kernel. One kernel, one specialisation, one launch ABI, code for one or more architectures.
//
// The bytes are flat, position independent and little-endian: a header, a section table, then
// sections that are arrays of the fixed-size records below. Text is kept in one section and
// referred to by (offset, size); code and other bytes are kept in another. A reader hands out views
// of the bytes, copies nothing, and has checked every reference before it hands out the first one,
// so corrupt or truncated input is an `Error` from `open` and never a fault later.
//
// The layout is versioned as a whole: a reader refuses any version but its own. Caches are filled
// again, shipped code carries its own reader. Rules in words: docs/design/contract-artifact.md.
#pragma once

#include "nereid/base.h"
#include "support/Hash.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::support {

inline constexpr uint32_t artifactVersion = 5;
inline constexpr uint32_t none = UINT32_MAX; ///< "no index" in every record below

/// A piece of the text section.
struct Text {
  uint32_t offset = 0;
  uint32_t size = 0;
};

/// A piece of the blob section.
struct Blob {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// --- the kernel ---

struct KernelRecord {
  Text name;                ///< the function's name
  Text signature;           ///< canonical text of the specialisation, see support/Specialization.h
  Text target;              ///< canonical text of the target, e.g. "sm_90a" or "x86-64-v3"
  Text build;               ///< id of the compiler that made it
  uint32_t location = none; ///< where the function is defined
  uint32_t gridRank = 3;    ///< 1 + the highest axis whose program id or count is read
  uint32_t packedBytes = 0; ///< size of the packed argument block without the hidden pointer
  uint32_t reserved = 0;
  Hash128 key;               ///< first level: source, facts, specialisation, options, target, build
  Hash128 ir;                ///< second level: canonical IR
  int64_t bytesRead = -1;    ///< of one program, -1 if not static
  int64_t bytesWritten = -1; ///< of one program, -1 if not static
  int64_t operations = -1;   ///< arithmetic of one program, -1 if not static
};

enum class ParameterKind : uint32_t {
  Slots,     ///< passed: `slotCount` slots from `firstSlot`
  Constexpr, ///< compiled in: declared `tl.constexpr`
  One,       ///< compiled in: an integer equal to 1
  None,      ///< compiled in: None
};

/// One parameter of the source, or one leaf of a parameter that is a (nested) tuple.
struct ParameterRecord {
  Text name;  ///< "x", "pair[0]", "pair[1].scale"
  Text value; ///< what was compiled in, as source text; empty for Slots
  uint32_t kind = 0;
  uint32_t firstSlot = none;
  uint32_t slotCount = 0;
};

enum class SlotKind : uint8_t {
  Pointer,    ///< 8 bytes
  Int,        ///< 1, 2, 4 or 8 bytes, `type` tells the signedness; Int1 takes one byte of 0 or 1
  Float,      ///< 2, 4 or 8 bytes
  Descriptor, ///< base (u64), shape (i64 a dimension), strides in elements (i64 a dimension)
  TensorMap,  ///< a CUtensorMap of 128 bytes at a multiple of 64; GPU only
  Bytes,      ///< anything else, copied as it is
};

enum Access : uint8_t {
  AccessNone = 0,
  AccessRead = 1,
  AccessWrite = 2,
  AccessAtomic = 4,
};

/// One slot of the packed argument block. Slots are sorted by offset and do not overlap.
struct SlotRecord {
  Text name;
  uint32_t parameter = 0; ///< index in the table of parameters
  uint32_t offset = 0;
  uint32_t width = 0;
  uint32_t alignment = 1;     ///< power of two, divides `offset`
  uint32_t divisibility = 1;  ///< the value (pointer or integer) is promised to be a multiple
  uint32_t descriptor = none; ///< index in the table of descriptors
  uint8_t kind = 0;           ///< SlotKind
  uint8_t type = 0;           ///< DType of the scalar, of the pointee, of a descriptor's element
  uint8_t access = 0;         ///< Access flags of what a pointer or descriptor reaches
  uint8_t reserved = 0;
};

inline constexpr uint32_t maxRank = 5; ///< of a descriptor

/// How a descriptor parameter is encoded (contract 6). The compiler chooses, the host encodes.
struct DescriptorRecord {
  uint32_t rank = 0;
  uint32_t block[maxRank] = {};         ///< as the source says
  uint32_t box[maxRank] = {};           ///< of one TMA transfer, may be a part of the block
  uint32_t elementStride[maxRank] = {}; ///< of the traversal, usually 1
  uint8_t type = 0;                     ///< DType of an element
  uint8_t padding = 0;                  ///< 0: zeros, 1: NaN out of bounds
  uint8_t swizzle = 0;                  ///< CUtensorMapSwizzle
  uint8_t interleave = 0;               ///< CUtensorMapInterleave
  uint8_t l2Promotion = 0;              ///< CUtensorMapL2promotion
  uint8_t reserved[3] = {};
};

// --- code ---

enum class CodeKind : uint32_t {
  X86Object, ///< relocatable ELF, loaded by runtime/ObjectLoader.h
  Ptx,       ///< NUL-terminated text
  Cubin,
};

enum CodeFlag : uint32_t {
  CodeYields = 1,  ///< a loop waits for other programs: run on fibers in ascending order
  CodeRecords = 2, ///< writes the record buffer
  CodePdl = 4,     ///< launch with programmatic stream serialization
  CodeCooperative = 8,
  // CPU: programs that differ along this axis alone read some of the same memory, and should run
  // together.
  CodeSharesX = 16,
  CodeSharesY = 32,
  CodeSharesZ = 64,
  // GPU: the entry takes the extents of the axes that it reads behind its slots, and a block runs
  // every program whose number along those, x fastest, is its own modulo the blocks.
  CodeLoopsOverPrograms = 128,
  CodeAtomics = 256, ///< CPU: changes memory atomically
};

/// Code for one architecture, and what a launch of it needs. A loader takes the first section that
/// the device can run, so builders put the most specific code first and PTX last.
struct CodeRecord {
  Text arch;     ///< "x86-64", "sm_90a", "sm_80"; for PTX its `.target`
  Text features; ///< CPU features beyond the baseline as LLVM spells them: "avx2,fma"
  Text entry;    ///< symbol of the entry point
  Blob code;
  uint32_t kind = 0;
  uint32_t flags = 0;
  uint32_t numWarps = 1;
  uint32_t numStages = 0;
  uint32_t cluster[3] = {1, 1, 1}; ///< GPU: blocks of a cluster along x, y, z
  uint32_t sharedBytes = 0;        ///< dynamic shared memory of a program
  uint32_t staticSharedBytes = 0;  ///< declared in the code, reported only
  uint32_t arenaBytes = 0;         ///< CPU: temporary memory of a worker
  uint64_t scratchBytes = 0;       ///< global memory of a program
  uint32_t registers = 0;          ///< a thread, as read back from ptxas; 0 if not known
  uint32_t spillStoreBytes = 0;
  uint32_t spillLoadBytes = 0;
  uint32_t stackBytes = 0;
  uint32_t blocksPerProgram = 1; ///< GPU: blocks along x that run one program together (num_ctas)
  uint32_t reserved = 0;
};

// --- what the compiler knew and chose ---

enum class OptionSource : uint32_t { Default, Source, Caller, Compiler, Tuner };

struct OptionRecord {
  Text name; ///< "num_warps", "BLOCK_M", "dot_instruction"
  Text value;
  uint32_t source = 0; ///< OptionSource
};

/// Something outside the source that compilation read; it is part of the key.
struct FactRecord {
  Text kind; ///< "environment", "file", "device", "version", "define"
  Text name;
  Text value;
};

// --- places ---

/// A place, and the place of the call that inlined it. `caller` is below the record's own index.
struct LocationRecord {
  Text file; ///< logical name, never an absolute path
  Text function;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t caller = none;
};

/// From `offset` in the code on (until the next row of that code), instructions belong to
/// `location`. Sorted by (code, offset).
struct LineRecord {
  uint32_t code = 0;
  uint32_t location = none; ///< none: code that belongs to no line
  uint64_t offset = 0;
};

/// What a record of `RecordKind` site N says.
struct SiteRecord {
  uint32_t kind = 0; ///< RecordKind
  uint32_t location = none;
  Text message; ///< prefix of a print, message of an assertion, text of a check
  uint32_t firstOperand = 0;
  uint32_t operandCount = 0;
  uint32_t hex = 0; ///< print integers in hexadecimal
};

struct OperandRecord {
  Text name;
  uint32_t type = 0; ///< DType
  uint32_t rank = 0; ///< 0: a scalar
  uint32_t isPointer = 0;
  uint32_t shape[maxRank] = {};
};

// --- host expressions ---

enum class ExpressionRole : uint32_t {
  Grid, ///< `index` is the axis
};

struct ExpressionRecord {
  Text name;
  uint32_t role = 0;
  uint32_t index = 0;
  Blob code; ///< see support/HostExpression.h
};

// --- notes ---

/// What the compiler said of the kernel though it compiled: code that comes from a cache says it
/// again.
struct NoteRecord {
  Text code; ///< of the registry, e.g. "IgnoredOption"
  Text message;
  Text hint;
  uint32_t severity = 0; ///< Severity
  uint32_t location = none;
};

// --- reading ---

/// A checked artifact. Cheap to copy; all copies share the bytes. Every `Text`, `Blob` and index in
/// the records it hands out is in range.
class Artifact {
public:
  /// Checks `bytes` (which start at a multiple of 8) and reads them in place. They must stay as
  /// they are while this artifact or a copy lives; `owner` is kept alive that long.
  static Result<Artifact> open(std::span<const uint8_t> bytes,
                               std::shared_ptr<const void> owner = nullptr);
  /// The same for bytes that the artifact takes over.
  static Result<Artifact> take(std::vector<uint8_t> bytes);
  /// Maps a file.
  static Result<Artifact> map(const std::string &path);

  std::span<const uint8_t> bytes() const { return all; }
  /// True if another artifact reads the same bytes.
  bool isShared() const { return owner.use_count() > 1; }

  const KernelRecord &kernel() const { return *kernelRecord; }
  std::span<const ParameterRecord> parameters() const { return parameterRecords; }
  std::span<const SlotRecord> slots() const { return slotRecords; }
  std::span<const DescriptorRecord> descriptors() const { return descriptorRecords; }
  std::span<const CodeRecord> codes() const { return codeRecords; }
  std::span<const OptionRecord> options() const { return optionRecords; }
  std::span<const FactRecord> facts() const { return factRecords; }
  std::span<const LocationRecord> locations() const { return locationRecords; }
  std::span<const LineRecord> lines() const { return lineRecords; }
  std::span<const SiteRecord> sites() const { return siteRecords; }
  std::span<const OperandRecord> operands() const { return operandRecords; }
  std::span<const ExpressionRecord> expressions() const { return expressionRecords; }
  /// The notes as they were added, without labels and notes of their own.
  std::vector<Diagnostic> notes() const;

  std::string_view text(Text text) const {
    return {reinterpret_cast<const char *>(textBytes.data()) + text.offset, text.size};
  }
  std::span<const uint8_t> blob(Blob blob) const {
    return blobBytes.subspan(size_t(blob.offset), size_t(blob.size));
  }

  std::string_view name() const { return text(kernel().name); }
  /// The value of an option, or an empty view.
  std::string_view option(std::string_view name) const;
  /// The row that covers `offset` of code section `code`, or null.
  const LocationRecord *locate(uint32_t code, uint64_t offset) const;
  /// "file:line:column, called from file:line:column".
  std::string describe(const LocationRecord &location) const;

private:
  friend class ArtifactBuilder;
  Artifact() = default;
  /// Whether all that records refer to is there, and what they say is possible.
  Status check() const;
  Status checkInterface() const;
  Status checkSlots() const;
  Status checkCodes() const;
  Status checkPlaces() const;
  Status checkMessages() const;

  std::shared_ptr<const void> owner;
  std::span<const uint8_t> all, textBytes, blobBytes;
  const KernelRecord *kernelRecord = nullptr;
  std::span<const ParameterRecord> parameterRecords;
  std::span<const SlotRecord> slotRecords;
  std::span<const DescriptorRecord> descriptorRecords;
  std::span<const CodeRecord> codeRecords;
  std::span<const OptionRecord> optionRecords;
  std::span<const FactRecord> factRecords;
  std::span<const LocationRecord> locationRecords;
  std::span<const LineRecord> lineRecords;
  std::span<const SiteRecord> siteRecords;
  std::span<const OperandRecord> operandRecords;
  std::span<const ExpressionRecord> expressionRecords;
  std::span<const NoteRecord> noteRecords;
};

// --- building ---

/// Collects the records of one artifact. Equal text is stored once. The bytes depend only on what
/// was put in, in that order: the same input gives the same artifact.
class ArtifactBuilder {
public:
  ArtifactBuilder() = default;
  /// Starts from what a finished one has.
  explicit ArtifactBuilder(const Artifact &from);

  KernelRecord kernel;
  std::vector<ParameterRecord> parameters;
  std::vector<SlotRecord> slots;
  std::vector<DescriptorRecord> descriptors;
  std::vector<CodeRecord> codes;
  std::vector<OptionRecord> options;
  std::vector<FactRecord> facts;
  std::vector<LocationRecord> locations;
  std::vector<LineRecord> lines;
  std::vector<SiteRecord> sites;
  std::vector<OperandRecord> operands;
  std::vector<ExpressionRecord> expressions;
  std::vector<NoteRecord> notes;

  Text text(std::string_view text);
  /// Stores bytes at a multiple of 16.
  Blob blob(std::span<const uint8_t> bytes);
  /// Stores PTX with the NUL that the driver wants.
  Blob ptx(std::string_view text);

  /// Appends a slot behind the last one by the placement rule of support/LaunchAbi.h, sets
  /// `kernel.packedBytes`, and returns the slot's index.
  uint32_t addSlot(std::string_view name, SlotKind kind, DType type, uint32_t parameter,
                   uint32_t width = 0, uint32_t alignment = 0);
  /// Adds a place, reusing an equal one.
  uint32_t addLocation(std::string_view file, std::string_view function, uint32_t line,
                       uint32_t column, uint32_t caller = none);
  void addOption(std::string_view name, std::string_view value, OptionSource source);
  void addFact(std::string_view kind, std::string_view name, std::string_view value);
  void addNote(const Diagnostic &note);

  /// Checked by the reader's own rules: a builder that was misused gets the `Error` here and not in
  /// somebody's cache.
  Result<Artifact> finish() const;

private:
  std::string texts;
  std::map<std::string, Text, std::less<>> textIndex;
  std::vector<uint8_t> blobs;
};

} // namespace nereid::support
