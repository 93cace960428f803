// The frame of an artifact's bytes; private to the reader and the builder.
#pragma once

#include "support/Artifact.h"

#include <bit>
#include <cstring>
#include <type_traits>

namespace nereid::support {

static_assert(std::endian::native == std::endian::little, "artifacts are little-endian");

inline constexpr char artifactMagic[8] = {'N', 'E', 'R', 'E', 'I', 'D', '\r', '\n'};

struct ArtifactHeader {
  char magic[8];
  uint32_t version;
  uint32_t sectionCount;
  uint64_t totalBytes;
  uint64_t checksum; ///< XXH3-64 of everything behind the header
};

/// In the order of the file.
enum class Section : uint32_t {
  Kernel,
  Parameters,
  Slots,
  Descriptors,
  Codes,
  Options,
  Facts,
  Locations,
  Lines,
  Sites,
  Operands,
  Expressions,
  Notes,
  Texts,
  Blobs,
  Count,
};

struct SectionEntry {
  uint64_t offset; ///< from the start of the artifact, a multiple of 16
  uint64_t bytes;
};

inline constexpr uint32_t sectionCount = uint32_t(Section::Count);
inline constexpr uint64_t sectionAlignment = 16;

// The sizes are the format: a changed size is a changed version. No record has padding, so equal
// records are equal bytes.
template <typename Record, size_t size>
inline constexpr bool isFlat =
    sizeof(Record) == size && std::is_trivially_copyable_v<Record> &&
    std::has_unique_object_representations_v<Record> && alignof(Record) <= 8;
static_assert(isFlat<ArtifactHeader, 32>);
static_assert(isFlat<SectionEntry, 16>);
static_assert(isFlat<KernelRecord, 104>);
static_assert(isFlat<ParameterRecord, 28>);
static_assert(isFlat<SlotRecord, 36>);
static_assert(isFlat<DescriptorRecord, 72>);
static_assert(isFlat<CodeRecord, 112>);
static_assert(isFlat<OptionRecord, 20>);
static_assert(isFlat<FactRecord, 24>);
static_assert(isFlat<LocationRecord, 28>);
static_assert(isFlat<LineRecord, 16>);
static_assert(isFlat<SiteRecord, 28>);
static_assert(isFlat<OperandRecord, 40>);
static_assert(isFlat<ExpressionRecord, 32>);
static_assert(isFlat<NoteRecord, 32>);

} // namespace nereid::support
