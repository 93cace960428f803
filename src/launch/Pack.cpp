#include "launch/Pack.h"

#include "support/Hash.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nereid::launch {

using support::ArgumentClass;
using support::Hash128;
using support::Specialization;
using support::Text;

namespace {

constexpr char magic[8] = {'N', 'R', 'D', 'P', 'A', 'C', 'K', 0};
constexpr uint64_t artifactAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t kernels, parameters, entries;
  uint64_t textBytes;
  uint64_t bytes; ///< of the file
  Hash128 hash;   ///< of the rows and the text
};
struct KernelRow {
  Text name;
  uint32_t parameters, entries; ///< how many; they follow those of the row before
};
struct ParameterRow {
  Text name;
  uint32_t flags;
  uint32_t annotated; ///< 1 + DType, 0 without
};
struct EntryRow {
  Text target, options, specialization, defaulted;
  uint64_t offset, size; ///< of the artifact in the file
};

enum ParameterFlags : uint32_t {
  ParameterIsConstexpr = 1,
  ParameterIsConst = 2,
  ParameterUnspecialized = 4,
  ParameterUnaligned = 8
};

std::string numbersText(std::span<const uint32_t> numbers) {
  std::string text;
  for (uint32_t number : numbers)
    text += std::to_string(number) + " ";
  return text;
}

bool parseNumbers(std::string_view text, std::vector<uint32_t> &numbers) {
  uint64_t number = 0;
  for (char c : text) {
    if (c == ' ') {
      numbers.push_back(uint32_t(number));
      number = 0;
    } else if (c < '0' || c > '9' || (number = number * 10 + uint64_t(c - '0')) > UINT32_MAX) {
      return false;
    }
  }
  return number == 0;
}

// Whether code for `built` may run with arguments of class `given`; `score` counts what it makes
// use of.
bool accepts(const ArgumentClass &built, const ArgumentClass &given, int &score) {
  using Kind = ArgumentClass::Kind;
  if (built == given) {
    score += given.isOne || given.divisibility > 1;
    return true;
  }
  if (built.kind != given.kind || built.type != given.type)
    return false;
  if (built.kind == Kind::Tuple) {
    if (built.elements.size() != given.elements.size() || built.names != given.names)
      return false;
    for (size_t i = 0; i < built.elements.size(); ++i)
      if (!accepts(built.elements[i], given.elements[i], score))
        return false;
    return true;
  }
  // What was promised of the value must hold of this one.
  if (built.kind == Kind::Pointer || built.kind == Kind::Int)
    return built.isConst == given.isConst && !built.isOne &&
           (built.divisibility == 1 || given.divisibility % built.divisibility == 0);
  return false;
}

bool sameParameters(const Signature &a, const Signature &b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), [](const Parameter &x, const Parameter &y) {
                      return x.name == y.name && x.isConstexpr == y.isConstexpr &&
                             x.annotated == y.annotated;
                    });
}

Error damaged(const std::string &why) { return Error{"the pack is damaged: " + why, {}}; }

template <typename Row> void append(std::string &bytes, const Row &row) {
  bytes.append(reinterpret_cast<const char *>(&row), sizeof row);
}

} // namespace

const PackEntry *PackedKernelRow::find(std::string_view target,
                                       const Specialization &specialization,
                                       std::span<const uint32_t> defaulted) const {
  const PackEntry *best = nullptr;
  int bestScore = -1;
  for (const PackEntry &entry : entries) {
    const auto &built = entry.specialization.arguments;
    if (entry.target != target || built.size() != specialization.arguments.size() ||
        !std::equal(entry.defaulted.begin(), entry.defaulted.end(), defaulted.begin(),
                    defaulted.end()))
      continue;
    int score = 0;
    bool fits = true;
    for (size_t i = 0; i < built.size() && fits; ++i)
      fits = accepts(built[i], specialization.arguments[i], score);
    if (fits && score > bestScore) {
      best = &entry;
      bestScore = score;
    }
  }
  return best;
}

Result<Pack> Pack::map(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Error{"cannot read `" + path + "`: " + std::strerror(errno), {}};
  struct stat status;
  void *memory = MAP_FAILED;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    memory = ::mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED)
    return Error{"`" + path + "` is no pack", {}};
  size_t size = size_t(status.st_size);
  std::shared_ptr<const void> owner(memory, [size](void *at) { ::munmap(at, size); });
  auto pack = open({static_cast<const uint8_t *>(memory), size}, owner);
  if (!pack)
    return Error{"`" + path + "`: " + pack.error().what, {}};
  return pack;
}

Result<Pack> Pack::open(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner) {
  Header header;
  if (bytes.size() < sizeof header)
    return damaged("it ends early");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, magic, sizeof magic) != 0)
    return Error{"this is no pack", {}};
  if (header.version != packVersion)
    return Error{"it is a pack of version " + std::to_string(header.version) +
                     ", and this runtime reads version " + std::to_string(packVersion),
                 {}};
  uint64_t rowBytes = uint64_t(header.kernels) * sizeof(KernelRow) +
                      uint64_t(header.parameters) * sizeof(ParameterRow) +
                      uint64_t(header.entries) * sizeof(EntryRow);
  if (header.bytes != bytes.size() || rowBytes > bytes.size() - sizeof header ||
      header.textBytes > bytes.size() - sizeof header - rowBytes)
    return damaged("it ends early");
  const uint8_t *rows = bytes.data() + sizeof header;
  const char *text = reinterpret_cast<const char *>(rows + rowBytes);
  if (support::hash128(rows, size_t(rowBytes + header.textBytes)) != header.hash)
    return damaged("its table does not have its hash");
  auto take = [&](auto &row) {
    std::memcpy(&row, rows, sizeof row);
    rows += sizeof row;
  };
  bool good = true;
  auto textOf = [&](Text at) -> std::string {
    if (uint64_t(at.offset) + at.size <= header.textBytes)
      return std::string(text + at.offset, at.size);
    good = false;
    return "";
  };
  std::vector<KernelRow> kernels(header.kernels);
  std::vector<ParameterRow> parameters(header.parameters);
  std::vector<EntryRow> entries(header.entries);
  for (auto &row : kernels)
    take(row);
  for (auto &row : parameters)
    take(row);
  for (auto &row : entries)
    take(row);

  Pack pack;
  pack.owner = std::move(owner);
  size_t parameter = 0, entry = 0;
  for (const KernelRow &from : kernels) {
    if (from.parameters > parameters.size() - parameter || from.entries > entries.size() - entry)
      return damaged("a kernel has more rows than there are");
    PackedKernelRow row;
    row.signature.name = textOf(from.name);
    for (uint32_t i = 0; i < from.parameters; ++i) {
      const ParameterRow &one = parameters[parameter++];
      Parameter made;
      made.name = textOf(one.name);
      made.isConstexpr = one.flags & ParameterIsConstexpr;
      made.isConst = one.flags & ParameterIsConst;
      made.doNotSpecialize = one.flags & ParameterUnspecialized;
      made.doNotSpecializeOnAlignment = one.flags & ParameterUnaligned;
      if (one.annotated > 1 + uint32_t(DType::Float8E4B15))
        return damaged("a parameter has an unknown type");
      if (one.annotated)
        made.annotated = DType(one.annotated - 1);
      row.signature.parameters.push_back(std::move(made));
    }
    for (uint32_t i = 0; i < from.entries; ++i) {
      const EntryRow &one = entries[entry++];
      PackEntry made;
      made.target = textOf(one.target);
      made.options = textOf(one.options);
      auto specialization = Specialization::parse(textOf(one.specialization));
      if (!specialization || specialization->arguments.size() != from.parameters ||
          !parseNumbers(textOf(one.defaulted), made.defaulted))
        return damaged("a row of `" + row.signature.name + "` cannot be read");
      made.specialization = *std::move(specialization);
      if (one.offset % artifactAlignment || one.offset > bytes.size() ||
          one.size > bytes.size() - one.offset)
        return damaged("code of `" + row.signature.name + "` is not there");
      made.artifact = bytes.subspan(size_t(one.offset), size_t(one.size));
      row.entries.push_back(std::move(made));
    }
    pack.rows.push_back(std::move(row));
  }
  if (!good)
    return damaged("a text is not there");
  return pack;
}

const PackedKernelRow *Pack::find(std::string_view kernel) const {
  for (const PackedKernelRow &row : rows)
    if (row.signature.name == kernel)
      return &row;
  return nullptr;
}

Status PackBuilder::add(const Signature &signature, PackEntry entry) {
  auto row = std::find_if(rows.begin(), rows.end(), [&](const PackedKernelRow &one) {
    return one.signature.name == signature.name;
  });
  if (row == rows.end())
    row = rows.insert(rows.end(), {signature, {}});
  else if (!sameParameters(row->signature, signature))
    return Error{"the pack has another kernel `" + signature.name + "`", {}};
  for (PackEntry &there : row->entries)
    if (there.target == entry.target && there.options == entry.options &&
        there.specialization == entry.specialization && there.defaulted == entry.defaulted) {
      there = std::move(entry);
      return Success{};
    }
  row->entries.push_back(std::move(entry));
  return Success{};
}

Status PackBuilder::add(const Pack &pack) {
  for (const PackedKernelRow &row : pack.kernels())
    for (const PackEntry &entry : row.entries)
      if (Status status = add(row.signature, entry); !status)
        return status;
  return Success{};
}

std::vector<uint8_t> PackBuilder::finish() const {
  Header header = {};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = packVersion;
  header.kernels = uint32_t(rows.size());
  for (const PackedKernelRow &row : rows) {
    header.parameters += uint32_t(row.signature.parameters.size());
    header.entries += uint32_t(row.entries.size());
  }
  std::string texts, table;
  auto text = [&](const std::string &what) {
    Text made{uint32_t(texts.size()), uint32_t(what.size())};
    texts += what;
    return made;
  };
  for (const PackedKernelRow &row : rows)
    append(table, KernelRow{text(row.signature.name), uint32_t(row.signature.parameters.size()),
                            uint32_t(row.entries.size())});
  for (const PackedKernelRow &row : rows)
    for (const Parameter &one : row.signature.parameters)
      append(table, ParameterRow{text(one.name),
                                 (one.isConstexpr ? ParameterIsConstexpr : 0u) |
                                     (one.isConst ? ParameterIsConst : 0u) |
                                     (one.doNotSpecialize ? ParameterUnspecialized : 0u) |
                                     (one.doNotSpecializeOnAlignment ? ParameterUnaligned : 0u),
                                 one.annotated ? 1 + uint32_t(*one.annotated) : 0});
  // The offsets depend on the size of the text, which the rows add to.
  std::vector<EntryRow> entries;
  std::vector<std::span<const uint8_t>> artifacts;
  for (const PackedKernelRow &row : rows)
    for (const PackEntry &one : row.entries) {
      entries.push_back({text(one.target), text(one.options), text(one.specialization.text()),
                         text(numbersText(one.defaulted)), 0, one.artifact.size()});
      artifacts.push_back(one.artifact);
    }
  auto aligned = [](uint64_t at) {
    return (at + artifactAlignment - 1) / artifactAlignment * artifactAlignment;
  };
  uint64_t at = sizeof header + table.size() + entries.size() * sizeof(EntryRow) + texts.size();
  for (EntryRow &entry : entries) {
    entry.offset = aligned(at);
    at = entry.offset + entry.size;
    append(table, entry);
  }
  table += texts;
  header.textBytes = texts.size();
  header.bytes = at;
  header.hash = support::hash128(table.data(), table.size());

  std::vector<uint8_t> bytes(at);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, table.data(), table.size());
  for (size_t i = 0; i < entries.size(); ++i)
    std::copy(artifacts[i].begin(), artifacts[i].end(), bytes.begin() + long(entries[i].offset));
  return bytes;
}

} // namespace nereid::launch
