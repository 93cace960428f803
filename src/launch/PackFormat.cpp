// The bytes of a pack: read and written.
#include "launch/Pack.h"

#include "support/Hash.h"

#include <cstring>

namespace nereid::launch {

using support::Hash128;
using support::Specialization;
using support::Text;

namespace {

constexpr uint64_t artifactAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t kernels, parameters, entries, rules, choices;
  uint64_t textBytes;
  uint64_t bytes; ///< of the file
  Hash128 hash;   ///< of the rows and the text
};
struct KernelRow {
  Text name;
  uint32_t parameters, entries, rules, choices; ///< how many; they follow those of the row before
};
struct ParameterRow {
  Text name;
  uint32_t flags;
  uint32_t annotated; ///< 1 + DType, 0 without
};
struct EntryRow {
  Text target, options, specialization, defaulted;
  CodeChoice chosen;
  uint64_t offset, size; ///< of the artifact in the file
};
struct RuleRow {
  uint32_t parameter;
  Text code;
};
struct ChoiceRow {
  Text target, device, which, constants;
  CodeChoice options;
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

// "0=1024\n3='fp32'\n"
std::string valuesText(const ParameterValues &values) {
  std::string text;
  for (const auto &[parameter, value] : values)
    text += std::to_string(parameter) + "=" + value.source() + "\n";
  return text;
}

bool parseValues(std::string_view text, size_t parameters, ParameterValues &values) {
  while (!text.empty()) {
    size_t equals = text.find('='), end = text.find('\n');
    if (equals == text.npos || end == text.npos || equals > end)
      return false;
    std::vector<uint32_t> number;
    auto value = support::Constant::parse(text.substr(equals + 1, end - equals - 1));
    if (!parseNumbers(std::string(text.substr(0, equals)) + " ", number) || number.size() != 1 ||
        number[0] >= parameters || !value)
      return false;
    values.emplace_back(number[0], *std::move(value));
    text.remove_prefix(end + 1);
  }
  return true;
}

Error damaged(const std::string &why) { return Error{"the pack is damaged: " + why, {}}; }

template <typename Row> void append(std::string &bytes, const Row &row) {
  bytes.append(reinterpret_cast<const char *>(&row), sizeof row);
}

// The rows and the text of a pack, read row by row.
class PackReader {
public:
  explicit PackReader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  Result<std::vector<PackedKernelRow>> read() {
    if (Status status = readTable(); !status)
      return status.takeError();
    std::vector<PackedKernelRow> out;
    for (const KernelRow &from : kernels) {
      PackedKernelRow &row = out.emplace_back();
      if (Status status = readKernel(from, row); !status)
        return status.takeError();
    }
    if (!hasAllTexts)
      return damaged("a text is not there");
    return out;
  }

private:
  Status readTable() {
    Header header;
    if (bytes.size() < sizeof header)
      return damaged("it ends early");
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, packMagic, sizeof packMagic) != 0)
      return Error{"this is no pack", {}};
    if (header.version != packVersion)
      return Error{"it is a pack of version " + std::to_string(header.version) +
                       ", and this runtime reads version " + std::to_string(packVersion),
                   {}};
    uint64_t rowBytes = uint64_t(header.kernels) * sizeof(KernelRow) +
                        uint64_t(header.parameters) * sizeof(ParameterRow) +
                        uint64_t(header.entries) * sizeof(EntryRow) +
                        uint64_t(header.rules) * sizeof(RuleRow) +
                        uint64_t(header.choices) * sizeof(ChoiceRow);
    if (header.bytes != bytes.size() || rowBytes > bytes.size() - sizeof header ||
        header.textBytes > bytes.size() - sizeof header - rowBytes)
      return damaged("it ends early");
    const uint8_t *at = bytes.data() + sizeof header;
    text = {reinterpret_cast<const char *>(at + rowBytes), size_t(header.textBytes)};
    if (support::hash128(at, size_t(rowBytes + header.textBytes)) != header.hash)
      return damaged("its table does not have its hash");
    auto take = [&](auto &rows, uint32_t count) {
      rows.resize(count);
      size_t size = count * sizeof rows[0];
      if (count)
        std::memcpy(rows.data(), at, size);
      at += size;
    };
    take(kernels, header.kernels);
    take(parameters, header.parameters);
    take(entries, header.entries);
    take(rules, header.rules);
    take(choices, header.choices);
    return Success{};
  }

  Status readKernel(const KernelRow &from, PackedKernelRow &row) {
    if (from.parameters > parameters.size() - parameter || from.entries > entries.size() - entry ||
        from.rules > rules.size() - rule || from.choices > choices.size() - choice)
      return damaged("a kernel has more rows than there are");
    row.signature.name = textOf(from.name);
    const std::string ofKernel = " of `" + row.signature.name + "`";
    for (uint32_t i = 0; i < from.parameters; ++i)
      if (!readParameter(parameters[parameter++], row.signature))
        return damaged("a parameter has an unknown type");
    for (uint32_t i = 0; i < from.entries; ++i) {
      const EntryRow &one = entries[entry++];
      if (!readEntry(one, row))
        return damaged("a row" + ofKernel + " cannot be read");
      if (one.offset % artifactAlignment || one.offset > bytes.size() ||
          one.size > bytes.size() - one.offset)
        return damaged("code" + ofKernel + " is not there");
      row.entries.back().artifact = bytes.subspan(size_t(one.offset), size_t(one.size));
    }
    for (uint32_t i = 0; i < from.rules; ++i)
      if (!readRule(rules[rule++], row))
        return damaged("a heuristic" + ofKernel + " cannot be read");
    for (uint32_t i = 0; i < from.choices; ++i)
      if (!readChoice(choices[choice++], row))
        return damaged("a configuration" + ofKernel + " cannot be read");
    return Success{};
  }

  bool readParameter(const ParameterRow &from, Signature &signature) {
    Parameter &made = signature.parameters.emplace_back();
    made.name = textOf(from.name);
    made.isConstexpr = from.flags & ParameterIsConstexpr;
    made.isConst = from.flags & ParameterIsConst;
    made.doNotSpecialize = from.flags & ParameterUnspecialized;
    made.doNotSpecializeOnAlignment = from.flags & ParameterUnaligned;
    if (from.annotated > 1 + uint32_t(DType::Float8E4B15))
      return false;
    if (from.annotated)
      made.annotated = DType(from.annotated - 1);
    return true;
  }

  // But for the artifact.
  bool readEntry(const EntryRow &from, PackedKernelRow &row) {
    auto specialization = Specialization::parse(textOf(from.specialization));
    PackEntry &made = row.entries.emplace_back();
    if (!specialization || specialization->arguments.size() != row.signature.parameters.size() ||
        !parseNumbers(textOf(from.defaulted), made.defaulted))
      return false;
    made.target = textOf(from.target);
    made.options = textOf(from.options);
    made.specialization = *std::move(specialization);
    made.chosen = from.chosen;
    return true;
  }

  bool readRule(const RuleRow &from, PackedKernelRow &row) {
    std::string code = textOf(from.code);
    return from.parameter < row.signature.parameters.size() &&
           row.heuristics.add(from.parameter,
                              {reinterpret_cast<const uint8_t *>(code.data()), code.size()});
  }

  bool readChoice(const ChoiceRow &from, PackedKernelRow &row) {
    PackedChoice &made = row.choices.emplace_back();
    made.target = textOf(from.target);
    made.device = textOf(from.device);
    made.options = from.options;
    const size_t count = row.signature.parameters.size();
    return parseValues(textOf(from.which), count, made.which) &&
           parseValues(textOf(from.constants), count, made.constants);
  }

  std::string textOf(Text at) {
    if (uint64_t(at.offset) + at.size <= text.size())
      return std::string(text.substr(at.offset, at.size));
    hasAllTexts = false;
    return "";
  }

  std::span<const uint8_t> bytes;
  std::string_view text;
  bool hasAllTexts = true;
  std::vector<KernelRow> kernels;
  std::vector<ParameterRow> parameters;
  std::vector<EntryRow> entries;
  std::vector<RuleRow> rules;
  std::vector<ChoiceRow> choices;
  size_t parameter = 0, entry = 0, rule = 0, choice = 0; // the next row of each kind
};

} // namespace

Result<Pack> Pack::open(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner) {
  auto rows = PackReader(bytes).read();
  if (!rows)
    return rows.takeError();
  Pack pack;
  pack.owner = std::move(owner);
  pack.rows = *std::move(rows);
  return pack;
}

std::vector<uint8_t> PackBuilder::finish() const {
  Header header = {};
  std::memcpy(header.magic, packMagic, sizeof packMagic);
  header.version = packVersion;
  header.kernels = uint32_t(rows.size());
  for (const PackedKernelRow &row : rows) {
    header.parameters += uint32_t(row.signature.parameters.size());
    header.entries += uint32_t(row.entries.size());
    header.rules += uint32_t(row.heuristics.all().size());
    header.choices += uint32_t(row.choices.size());
  }
  std::string texts, table;
  auto text = [&](const std::string &what) {
    Text made{uint32_t(texts.size()), uint32_t(what.size())};
    texts += what;
    return made;
  };
  for (const PackedKernelRow &row : rows)
    append(table, KernelRow{text(row.signature.name), uint32_t(row.signature.parameters.size()),
                            uint32_t(row.entries.size()), uint32_t(row.heuristics.all().size()),
                            uint32_t(row.choices.size())});
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
                         text(numbersText(one.defaulted)), one.chosen, 0, one.artifact.size()});
      artifacts.push_back(one.artifact);
    }
  std::string decisions; // rules, then choices
  for (const PackedKernelRow &row : rows)
    for (const Heuristics::Rule &rule : row.heuristics.all())
      append(decisions,
             RuleRow{rule.parameter, text(std::string(rule.bytes().begin(), rule.bytes().end()))});
  for (const PackedKernelRow &row : rows)
    for (const PackedChoice &one : row.choices)
      append(decisions, ChoiceRow{text(one.target), text(one.device), text(valuesText(one.which)),
                                  text(valuesText(one.constants)), one.options});
  auto aligned = [](uint64_t at) {
    return (at + artifactAlignment - 1) / artifactAlignment * artifactAlignment;
  };
  uint64_t at = sizeof header + table.size() + entries.size() * sizeof(EntryRow) +
                decisions.size() + texts.size();
  for (EntryRow &entry : entries) {
    entry.offset = aligned(at);
    at = entry.offset + entry.size;
    append(table, entry);
  }
  table += decisions + texts;
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
