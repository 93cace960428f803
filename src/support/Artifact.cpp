#include "support/Artifact.h"

#include "support/ArtifactFormat.h"
#include "support/HostExpression.h"
#include "support/LaunchAbi.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nereid::support {

namespace {
Error damaged(const std::string &what) { return Error{"damaged artifact: " + what, {}}; }

template <typename Kind> bool inEnum(uint32_t value, Kind last) { return value <= uint32_t(last); }

bool isType(uint32_t type) { return type <= uint32_t(DType::Float8E4B15); }

/// References of one artifact against the sizes of what they refer to.
struct Checker {
  uint64_t textSize, blobSize;

  bool text(Text text) const { return uint64_t(text.offset) + text.size <= textSize; }
  bool blob(Blob blob) const {
    return blob.size <= blobSize && blob.offset <= blobSize - blob.size && blob.offset % 16 == 0;
  }
  static bool index(uint32_t value, size_t size) { return value == none || value < size; }
  static bool range(uint32_t first, uint32_t count, size_t size) {
    return count == 0 || uint64_t(first) + count <= size;
  }
};
} // namespace

Result<Artifact> Artifact::open(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t))
    return Error{"cannot read artifact: its bytes do not start at a multiple of 8", {}};
  if (bytes.size() < sizeof(ArtifactHeader) + sectionCount * sizeof(SectionEntry))
    return damaged("too short, " + std::to_string(bytes.size()) + " bytes");
  const auto &header = *reinterpret_cast<const ArtifactHeader *>(bytes.data());
  if (std::memcmp(header.magic, artifactMagic, sizeof artifactMagic) != 0)
    return damaged("does not start as an artifact does");
  if (header.version != artifactVersion)
    return Error{"artifact has version " + std::to_string(header.version) + ", this build reads " +
                     std::to_string(artifactVersion),
                 {}};
  if (header.totalBytes != bytes.size())
    return damaged("holds " + std::to_string(bytes.size()) + " of " +
                   std::to_string(header.totalBytes) + " bytes");
  if (header.sectionCount != sectionCount)
    return damaged("wrong number of sections");
  auto body = bytes.subspan(sizeof(ArtifactHeader));
  if (hash64(body.data(), body.size()) != header.checksum)
    return damaged("checksum differs");

  const auto *entries =
      reinterpret_cast<const SectionEntry *>(bytes.data() + sizeof(ArtifactHeader));
  Artifact artifact;
  artifact.owner = std::move(owner);
  artifact.all = bytes;
  bool fits = true;
  auto view = [&]<typename Element>(Section section, std::span<const Element> &into) {
    SectionEntry entry = entries[uint32_t(section)];
    if (entry.bytes > bytes.size() || entry.offset > bytes.size() - entry.bytes ||
        entry.offset % sectionAlignment || entry.bytes % sizeof(Element)) {
      fits = false;
      return;
    }
    into = {reinterpret_cast<const Element *>(bytes.data() + entry.offset),
            size_t(entry.bytes / sizeof(Element))};
  };
  std::span<const KernelRecord> kernels;
  view(Section::Kernel, kernels);
  view(Section::Parameters, artifact.parameterRecords);
  view(Section::Slots, artifact.slotRecords);
  view(Section::Descriptors, artifact.descriptorRecords);
  view(Section::Codes, artifact.codeRecords);
  view(Section::Options, artifact.optionRecords);
  view(Section::Facts, artifact.factRecords);
  view(Section::Locations, artifact.locationRecords);
  view(Section::Lines, artifact.lineRecords);
  view(Section::Sites, artifact.siteRecords);
  view(Section::Operands, artifact.operandRecords);
  view(Section::Expressions, artifact.expressionRecords);
  view(Section::Notes, artifact.noteRecords);
  view(Section::Texts, artifact.textBytes);
  view(Section::Blobs, artifact.blobBytes);
  if (!fits)
    return damaged("a section lies outside the file");
  if (kernels.size() != 1)
    return damaged("holds " + std::to_string(kernels.size()) + " kernels");
  artifact.kernelRecord = kernels.data();
  if (Status status = artifact.check(); !status)
    return status.takeError();
  return artifact;
}

Result<Artifact> Artifact::take(std::vector<uint8_t> bytes) {
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return open(*owner, owner);
}

Result<Artifact> Artifact::map(const std::string &path) {
  auto failed = [&](const char *step) {
    return Error{
        "cannot " + std::string(step) + " artifact `" + path + "`: " + std::strerror(errno), {}};
  };
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failed("open");
  struct stat status;
  if (::fstat(file, &status) != 0) {
    Error error = failed("stat");
    ::close(file);
    return error;
  }
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    ::close(file);
    return damaged("`" + path + "` is empty or not a regular file");
  }
  size_t size = size_t(status.st_size);
  void *memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) {
    Error error = failed("map");
    ::close(file);
    return error;
  }
  ::close(file);
  std::shared_ptr<const void> owner(memory, [size](void *memory) { ::munmap(memory, size); });
  Result<Artifact> artifact = open({static_cast<const uint8_t *>(memory), size}, owner);
  if (!artifact)
    return Error{"`" + path + "`: " + artifact.error().what, {}};
  return artifact;
}

Status Artifact::check() const {
  for (auto part : {&Artifact::checkInterface, &Artifact::checkSlots, &Artifact::checkCodes,
                    &Artifact::checkPlaces, &Artifact::checkMessages})
    if (Status status = (this->*part)(); !status)
      return status;
  return Success{};
}

// The kernel, its parameters, and what was chosen for it.
Status Artifact::checkInterface() const {
  Checker is{textBytes.size(), blobBytes.size()};
  const KernelRecord &kernel = *kernelRecord;
  if (!is.text(kernel.name) || !is.text(kernel.signature) || !is.text(kernel.target) ||
      !is.text(kernel.build) || !is.index(kernel.location, locationRecords.size()) ||
      kernel.gridRank > 3 || kernel.packedBytes > packedLimit)
    return damaged("bad kernel record");

  for (const ParameterRecord &parameter : parameterRecords)
    if (!is.text(parameter.name) || !is.text(parameter.value) ||
        !inEnum(parameter.kind, ParameterKind::None) ||
        !is.range(parameter.firstSlot, parameter.slotCount, slotRecords.size()))
      return damaged("bad parameter record");

  for (const DescriptorRecord &descriptor : descriptorRecords)
    if (descriptor.rank == 0 || descriptor.rank > maxRank || !isType(descriptor.type))
      return damaged("bad descriptor record");

  for (const OptionRecord &option : optionRecords)
    if (!is.text(option.name) || !is.text(option.value) ||
        !inEnum(option.source, OptionSource::Tuner))
      return damaged("bad option record");
  for (const FactRecord &fact : factRecords)
    if (!is.text(fact.kind) || !is.text(fact.name) || !is.text(fact.value))
      return damaged("bad fact record");
  for (const ExpressionRecord &expression : expressionRecords)
    if (!is.text(expression.name) || !is.blob(expression.code) ||
        !inEnum(expression.role, ExpressionRole::Grid) || expression.index > 2 ||
        !HostExpression::open(blob(expression.code)))
      return damaged("bad expression record");
  return Success{};
}

// What a slot's kind wants of its width.
static bool hasWidthOfKind(const SlotRecord &slot, const DescriptorRecord *descriptor) {
  const bool isScalar = std::has_single_bit(slot.width) && slot.width <= 8;
  switch (SlotKind(slot.kind)) {
  case SlotKind::Pointer:
    return slot.width == 8;
  case SlotKind::Int:
    return isScalar;
  case SlotKind::Float:
    return isScalar && slot.width >= 2;
  case SlotKind::Descriptor:
    return descriptor && slot.width == 8 + 16 * descriptor->rank;
  case SlotKind::TensorMap:
    return descriptor && slot.width == tensorMapBytes && slot.alignment == 64;
  case SlotKind::Bytes:
    break;
  }
  return true;
}

// Where arguments lie in the block that a launch packs.
Status Artifact::checkSlots() const {
  Checker is{textBytes.size(), blobBytes.size()};
  uint64_t end = 0;
  for (const SlotRecord &slot : slotRecords) {
    if (!is.text(slot.name) || slot.parameter >= parameterRecords.size() ||
        !inEnum(slot.kind, SlotKind::Bytes) || !isType(slot.type) ||
        !is.index(slot.descriptor, descriptorRecords.size()))
      return damaged("bad slot record");
    if (!std::has_single_bit(slot.alignment) || slot.alignment > packedAlignment ||
        slot.offset % slot.alignment || slot.divisibility == 0)
      return damaged("misaligned slot");
    if (slot.width == 0 || slot.offset < end ||
        uint64_t(slot.offset) + slot.width > kernelRecord->packedBytes)
      return damaged("slots overlap or leave the argument block");
    end = uint64_t(slot.offset) + slot.width;
    if (!hasWidthOfKind(slot,
                        slot.descriptor == none ? nullptr : &descriptorRecords[slot.descriptor]))
      return damaged("slot of " + std::to_string(slot.width) + " bytes");
  }
  return Success{};
}

Status Artifact::checkCodes() const {
  Checker is{textBytes.size(), blobBytes.size()};
  for (const CodeRecord &code : codeRecords) {
    if (!is.text(code.arch) || !is.text(code.features) || !is.text(code.entry) ||
        !is.blob(code.code) || !inEnum(code.kind, CodeKind::Cubin))
      return damaged("bad code record");
    if (CodeKind(code.kind) == CodeKind::Ptx &&
        (code.code.size == 0 || blobBytes[size_t(code.code.offset + code.code.size - 1)] != 0))
      return damaged("PTX does not end with a NUL");
    if (code.numWarps == 0 || code.numWarps > 64 || !code.cluster[0] || !code.cluster[1] ||
        !code.cluster[2] || code.blocksPerProgram == 0 || code.blocksPerProgram > 16)
      return damaged("bad launch shape");
  }
  return Success{};
}

// Locations in the source, and the line table.
Status Artifact::checkPlaces() const {
  Checker is{textBytes.size(), blobBytes.size()};
  for (size_t i = 0; i < locationRecords.size(); ++i) {
    const LocationRecord &location = locationRecords[i];
    // A caller stands before its callee, so following callers ends.
    if (!is.text(location.file) || !is.text(location.function) || !is.index(location.caller, i))
      return damaged("bad location record");
  }
  for (size_t i = 0; i < lineRecords.size(); ++i) {
    const LineRecord &line = lineRecords[i];
    if (line.code >= codeRecords.size() || !is.index(line.location, locationRecords.size()))
      return damaged("bad line record");
    if (i && std::pair(line.code, line.offset) <
                 std::pair(lineRecords[i - 1].code, lineRecords[i - 1].offset))
      return damaged("line table is not sorted");
  }
  return Success{};
}

// What prints, assertions and notes say.
Status Artifact::checkMessages() const {
  Checker is{textBytes.size(), blobBytes.size()};
  for (const OperandRecord &operand : operandRecords)
    if (!is.text(operand.name) || !isType(operand.type) || operand.rank > maxRank)
      return damaged("bad operand record");
  for (const SiteRecord &site : siteRecords)
    if (!is.text(site.message) || !inEnum(site.kind, RecordKind::Check) ||
        !is.index(site.location, locationRecords.size()) ||
        !is.range(site.firstOperand, site.operandCount, operandRecords.size()))
      return damaged("bad record site");
  for (const NoteRecord &note : noteRecords)
    if (!is.text(note.code) || !is.text(note.message) || !is.text(note.hint) ||
        !inEnum(note.severity, Severity::Error) || !is.index(note.location, locationRecords.size()))
      return damaged("bad note record");
  return Success{};
}

std::string_view Artifact::option(std::string_view name) const {
  for (const OptionRecord &option : optionRecords)
    if (text(option.name) == name)
      return text(option.value);
  return {};
}

std::vector<Diagnostic> Artifact::notes() const {
  std::vector<Diagnostic> notes;
  for (const NoteRecord &record : noteRecords) {
    Diagnostic &note = notes.emplace_back();
    note.severity = Severity(record.severity);
    note.code = text(record.code);
    note.message = text(record.message);
    note.hint = text(record.hint);
    if (record.location != none) {
      const LocationRecord &at = locationRecords[record.location];
      note.where = {std::string(text(at.file)), {at.line, at.column}, {at.line, at.column}};
    }
  }
  return notes;
}

const LocationRecord *Artifact::locate(uint32_t code, uint64_t offset) const {
  auto after = std::upper_bound(
      lineRecords.begin(), lineRecords.end(), std::pair(code, offset),
      [](auto key, const LineRecord &line) { return key < std::pair(line.code, line.offset); });
  if (after == lineRecords.begin())
    return nullptr;
  const LineRecord &line = *std::prev(after);
  if (line.code != code || line.location == none)
    return nullptr;
  return &locationRecords[line.location];
}

std::string Artifact::describe(const LocationRecord &location) const {
  std::string result;
  for (const LocationRecord *place = &location;; place = &locationRecords[place->caller]) {
    result += std::string(text(place->file)) + ":" + std::to_string(place->line) + ":" +
              std::to_string(place->column + 1);
    if (place->caller == none)
      return result;
    result += ", called from ";
  }
}

// --- building ---

ArtifactBuilder::ArtifactBuilder(const Artifact &from)
    : kernel(from.kernel()), texts(from.textBytes.begin(), from.textBytes.end()),
      blobs(from.blobBytes.begin(), from.blobBytes.end()) {
  auto take = [](auto &to, auto records) { to.assign(records.begin(), records.end()); };
  take(parameters, from.parameterRecords);
  take(slots, from.slotRecords);
  take(descriptors, from.descriptorRecords);
  take(codes, from.codeRecords);
  take(options, from.optionRecords);
  take(facts, from.factRecords);
  take(locations, from.locationRecords);
  take(lines, from.lineRecords);
  take(sites, from.siteRecords);
  take(operands, from.operandRecords);
  take(expressions, from.expressionRecords);
  take(notes, from.noteRecords);
}

Text ArtifactBuilder::text(std::string_view text) {
  if (text.empty())
    return {};
  auto found = textIndex.find(text);
  if (found != textIndex.end())
    return found->second;
  Text stored{uint32_t(texts.size()), uint32_t(text.size())};
  texts += text;
  textIndex.emplace(text, stored);
  return stored;
}

Blob ArtifactBuilder::blob(std::span<const uint8_t> bytes) {
  blobs.resize((blobs.size() + 15) & ~size_t(15));
  Blob stored{blobs.size(), bytes.size()};
  blobs.insert(blobs.end(), bytes.begin(), bytes.end());
  return stored;
}

Blob ArtifactBuilder::ptx(std::string_view text) {
  std::vector<uint8_t> bytes(text.begin(), text.end());
  if (bytes.empty() || bytes.back() != 0)
    bytes.push_back(0);
  return blob(bytes);
}

uint32_t ArtifactBuilder::addSlot(std::string_view name, SlotKind kind, DType type,
                                  uint32_t parameter, uint32_t width, uint32_t alignment) {
  SlotRecord slot;
  slot.name = text(name);
  slot.kind = uint8_t(kind);
  slot.type = uint8_t(type);
  slot.parameter = parameter;
  if (width == 0)
    width = kind == SlotKind::Pointer     ? 8
            : kind == SlotKind::TensorMap ? tensorMapBytes
                                          : info(type).bytes;
  if (alignment == 0)
    alignment = kind == SlotKind::TensorMap    ? 64
                : kind == SlotKind::Descriptor ? 8
                : kind == SlotKind::Bytes      ? 8
                                               : width;
  slot.width = width;
  slot.alignment = alignment;
  slot.offset = placeSlot(kernel.packedBytes, alignment);
  kernel.packedBytes = slot.offset + width;
  slots.push_back(slot);
  return uint32_t(slots.size() - 1);
}

uint32_t ArtifactBuilder::addLocation(std::string_view file, std::string_view function,
                                      uint32_t line, uint32_t column, uint32_t caller) {
  LocationRecord location{text(file), text(function), line, column, caller};
  // Neighbours in code repeat recent places; older repeats only cost space.
  size_t first = locations.size() > 64 ? locations.size() - 64 : 0;
  for (size_t i = locations.size(); i-- > first;)
    if (std::memcmp(&locations[i], &location, sizeof location) == 0)
      return uint32_t(i);
  locations.push_back(location);
  return uint32_t(locations.size() - 1);
}

void ArtifactBuilder::addOption(std::string_view name, std::string_view value,
                                OptionSource source) {
  options.push_back({text(name), text(value), uint32_t(source)});
}

void ArtifactBuilder::addFact(std::string_view kind, std::string_view name,
                              std::string_view value) {
  facts.push_back({text(kind), text(name), text(value)});
}

void ArtifactBuilder::addNote(const Diagnostic &note) {
  uint32_t location = none;
  if (!note.where.file.empty())
    location = addLocation(note.where.file, "", note.where.begin.line, note.where.begin.column);
  notes.push_back(
      {text(note.code), text(note.message), text(note.hint), uint32_t(note.severity), location});
}

// Records that name blobs of `all` name them in `kept` instead. Whose blob is not there keeps what
// it says, which is refused.
template <typename Record>
static std::vector<Record> keepBlobs(std::vector<Record> records, std::span<const uint8_t> all,
                                     std::vector<uint8_t> &kept) {
  for (Record &record : records) {
    Blob &blob = record.code;
    if (blob.size > all.size() || blob.offset > all.size() - blob.size)
      continue;
    auto bytes = all.subspan(size_t(blob.offset), size_t(blob.size));
    kept.resize((kept.size() + 15) & ~size_t(15));
    blob.offset = kept.size();
    kept.insert(kept.end(), bytes.begin(), bytes.end());
  }
  return records;
}

Result<Artifact> ArtifactBuilder::finish() const {
  // What no record names, such as a grid that another took the place of, stays behind.
  std::vector<uint8_t> named;
  auto keptCodes = keepBlobs(codes, blobs, named);
  auto keptExpressions = keepBlobs(expressions, blobs, named);

  std::vector<uint8_t> bytes(sizeof(ArtifactHeader) + sectionCount * sizeof(SectionEntry));
  SectionEntry entries[sectionCount] = {};
  auto put = [&](Section section, const void *data, size_t size) {
    bytes.resize((bytes.size() + sectionAlignment - 1) & ~(sectionAlignment - 1));
    entries[uint32_t(section)] = {bytes.size(), size};
    const auto *first = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), first, first + size);
  };
  auto putAll = [&](Section section, const auto &records) {
    put(section, records.data(), records.size() * sizeof(records[0]));
  };
  put(Section::Kernel, &kernel, sizeof kernel);
  putAll(Section::Parameters, parameters);
  putAll(Section::Slots, slots);
  putAll(Section::Descriptors, descriptors);
  putAll(Section::Codes, keptCodes);
  putAll(Section::Options, options);
  putAll(Section::Facts, facts);
  putAll(Section::Locations, locations);
  putAll(Section::Lines, lines);
  putAll(Section::Sites, sites);
  putAll(Section::Operands, operands);
  putAll(Section::Expressions, keptExpressions);
  putAll(Section::Notes, notes);
  putAll(Section::Texts, texts);
  putAll(Section::Blobs, named);
  // A whole number of words, so that artifacts can stand behind each other in a pack.
  bytes.resize((bytes.size() + sectionAlignment - 1) & ~(sectionAlignment - 1));
  std::memcpy(bytes.data() + sizeof(ArtifactHeader), entries, sizeof entries);

  ArtifactHeader header = {};
  std::memcpy(header.magic, artifactMagic, sizeof artifactMagic);
  header.version = artifactVersion;
  header.sectionCount = sectionCount;
  header.totalBytes = bytes.size();
  header.checksum =
      hash64(bytes.data() + sizeof(ArtifactHeader), bytes.size() - sizeof(ArtifactHeader));
  std::memcpy(bytes.data(), &header, sizeof header);

  Result<Artifact> built = Artifact::take(std::move(bytes));
  if (!built)
    return Error{"cannot build artifact: " + built.error().what, {}};
  return built;
}

} // namespace nereid::support
