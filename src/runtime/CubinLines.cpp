#include "runtime/CubinLines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <optional>
#include <utility>

namespace nereid::runtime {

namespace {

// Takes numbers off the front of some bytes; past their end it gives zeros and says so.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  template <typename T> T take() {
    T value = {};
    if (bytes.size() - at < sizeof value) {
      isShort = true;
      at = bytes.size();
      return value;
    }
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }
  uint64_t unsignedNumber() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      uint8_t byte = take<uint8_t>();
      if (shift < 64)
        value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
  }
  int64_t signedNumber() {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
      uint8_t byte = take<uint8_t>();
      if (shift < 64)
        value |= uint64_t(byte & 0x7f) << shift;
      shift += 7;
      if (!(byte & 0x80))
        return int64_t(shift < 64 && byte & 0x40 ? value | ~uint64_t(0) << shift : value);
    }
  }
  std::string text() {
    const auto *begin = reinterpret_cast<const char *>(bytes.data()) + at;
    size_t length = ::strnlen(begin, bytes.size() - at);
    isShort |= length == bytes.size() - at;
    at = std::min(at + length + 1, bytes.size());
    return {begin, length};
  }
  void skip(uint64_t count) {
    isShort |= count > bytes.size() - at;
    at += size_t(std::min<uint64_t>(count, bytes.size() - at));
  }
  Reader part(uint64_t count) {
    size_t begin = at;
    skip(count);
    return Reader(bytes.subspan(begin, at - begin));
  }
  bool isDone() const { return at >= bytes.size(); }
  size_t position() const { return at; }

  bool isShort = false;

private:
  std::span<const uint8_t> bytes;
  size_t at = 0;
};

Error damaged(const char *what) {
  return {std::string("cannot read the lines of a cubin: ") + what, {}};
}

// The opcodes of DWARF 2's line programs. The last two are NVIDIA's own (as its debugger's public
// source has them): an inlined call gives the row of the call, counted from 1 within the sequence,
// and the callee's name; row 0 ends it.
enum Standard : uint8_t {
  Extended = 0,
  Copy,
  AdvancePc,
  AdvanceLine,
  SetFile,
  SetColumn,
  NegateStatement,
  BasicBlock,
  ConstAddPc,
  FixedAdvancePc
};
enum ExtendedOpcode : uint8_t {
  EndSequence = 1,
  SetAddress = 2,
  DefineFile = 3,
  InlinedCall = 0x90,
  FunctionName = 0x91
};

// One unit's line program after another. `relocated` gives the symbol of an address that lies at
// an offset of the section.
class LineSection {
public:
  LineSection(std::span<const uint8_t> bytes, const std::map<uint64_t, std::string> &relocated,
              CubinLines &into)
      : bytes(bytes), relocated(relocated), into(into) {}

  const char *read() {
    Reader all(bytes);
    while (!all.isDone() && !all.isShort) {
      uint64_t length = all.take<uint32_t>();
      bool isWide = length == 0xffffffff;
      if (isWide)
        length = all.take<uint64_t>();
      size_t begin = all.position();
      Reader unit = all.part(length);
      if (all.isShort)
        return "a line program leaves its section";
      if (const char *problem = readUnit(unit, begin, isWide))
        return problem;
    }
    return all.isShort ? "a line program is cut off" : nullptr;
  }

private:
  const char *readUnit(Reader &unit, size_t begin, bool isWide) {
    uint16_t version = unit.take<uint16_t>();
    if (version < 2 || version > 4)
      return "its line program is not of DWARF 2 to 4";
    uint64_t headerBytes = isWide ? unit.take<uint64_t>() : unit.take<uint32_t>();
    Reader header = unit.part(headerBytes);
    minInstruction = header.take<uint8_t>();
    if (version >= 4)
      header.take<uint8_t>(); // operations an instruction
    header.take<uint8_t>();   // whether rows begin statements
    lineBase = header.take<int8_t>();
    lineRange = header.take<uint8_t>();
    opcodeBase = header.take<uint8_t>();
    std::vector<uint8_t> operands(opcodeBase, 0);
    for (unsigned opcode = 1; opcode < opcodeBase; ++opcode)
      operands[opcode] = header.take<uint8_t>();
    std::vector<std::string> folders = {""};
    for (std::string folder = header.text(); !folder.empty() && !header.isShort;
         folder = header.text())
      folders.push_back(folder);
    fileNumbers = {0};
    for (std::string file = header.text(); !file.empty() && !header.isShort; file = header.text()) {
      uint64_t folder = header.unsignedNumber();
      header.unsignedNumber(); // time
      header.unsignedNumber(); // size
      addFile(folders, folder, file);
    }
    if (!lineRange || !opcodeBase)
      return "the head of its line program is damaged";
    return readProgram(unit, begin, operands, folders);
  }

  void addFile(const std::vector<std::string> &folders, uint64_t folder, const std::string &file) {
    std::string path = folder && folder < folders.size() && !file.starts_with('/')
                           ? folders[size_t(folder)] + "/" + file
                           : file;
    auto found = std::ranges::find(into.files, path);
    fileNumbers.push_back(uint32_t(found - into.files.begin()));
    if (found == into.files.end())
      into.files.push_back(path);
  }

  const char *readProgram(Reader &unit, size_t begin, const std::vector<uint8_t> &operands,
                          const std::vector<std::string> &folders) {
    State state;
    std::string function;
    std::vector<CubinRow> rows;
    auto add = [&](bool isEnd) {
      uint32_t file = state.file < fileNumbers.size() ? fileNumbers[size_t(state.file)] : none;
      int64_t caller = int64_t(state.context) - 1;
      if (caller >= int64_t(rows.size())) // only what was listed before can have called
        caller = -1;
      rows.push_back({state.address, file, uint32_t(state.line), int32_t(caller), isEnd});
    };
    while (!unit.isDone() && !unit.isShort) {
      uint8_t opcode = unit.take<uint8_t>();
      if (opcode >= opcodeBase) {
        unsigned adjusted = opcode - opcodeBase;
        state.address += uint64_t(adjusted / lineRange) * minInstruction;
        state.line += lineBase + int(adjusted % lineRange);
        add(false);
        continue;
      }
      switch (opcode) {
      case Extended: {
        Reader word = unit.part(unit.unsignedNumber());
        size_t wordEnd = unit.position();
        switch (word.take<uint8_t>()) {
        case EndSequence:
          add(true);
          if (!function.empty())
            into.functions[function] = std::move(rows);
          rows.clear();
          function.clear();
          state = {};
          break;
        case SetAddress: {
          auto symbol = relocated.find(begin + wordEnd - sizeof(uint64_t));
          state.address = word.take<uint64_t>();
          if (symbol != relocated.end())
            function = symbol->second;
          break;
        }
        case DefineFile: {
          std::string file = word.text();
          addFile(folders, word.unsignedNumber(), file);
          break;
        }
        case InlinedCall:
          state.context = word.unsignedNumber();
          break;
        default: // FunctionName and what we do not know
          break;
        }
        break;
      }
      case Copy:
        add(false);
        break;
      case AdvancePc:
        state.address += unit.unsignedNumber() * minInstruction;
        break;
      case AdvanceLine:
        state.line += unit.signedNumber();
        break;
      case SetFile:
        state.file = unit.unsignedNumber();
        break;
      case ConstAddPc:
        state.address += uint64_t((255 - opcodeBase) / lineRange) * minInstruction;
        break;
      case FixedAdvancePc:
        state.address += unit.take<uint16_t>();
        break;
      default:
        for (unsigned i = 0; i < operands[opcode]; ++i)
          unit.unsignedNumber();
        break;
      }
    }
    return unit.isShort ? "a line program is cut off" : nullptr;
  }

  static constexpr uint32_t none = UINT32_MAX;
  struct State {
    uint64_t address = 0, file = 1, context = 0;
    int64_t line = 1;
  };

  std::span<const uint8_t> bytes;
  const std::map<uint64_t, std::string> &relocated;
  CubinLines &into;
  unsigned minInstruction = 1, lineRange = 1, opcodeBase = 0;
  int lineBase = 0;
  std::vector<uint32_t> fileNumbers; // of the unit, from 1 on
};

// Since compute capability 7.0 an instruction has 16 bytes, and bits 105 to 125 are for the
// scheduler (as "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, found):
// 4 of cycles, 1 of yielding, 3 that name the scoreboard which its result will clear and 3 the one
// that its operands' reads will (7: none), 6 that are the scoreboards it waits for. What waits is
// paired with the nearest instruction before that sets one of those, or the last one behind, which
// a loop comes from.
constexpr size_t instructionBytes = 16;

std::vector<int32_t> readAwaited(std::span<const uint8_t> code) {
  const size_t count = code.size() / instructionBytes;
  std::vector<uint8_t> sets(count), waits(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t high;
    std::memcpy(&high, code.data() + i * instructionBytes + sizeof high, sizeof high);
    uint64_t control = high >> 41;
    for (unsigned shift : {5, 8})
      if (unsigned scoreboard = control >> shift & 7; scoreboard < 6)
        sets[i] |= uint8_t(1 << scoreboard);
    waits[i] = control >> 11 & 63;
  }
  std::vector<int32_t> awaited(count, -1);
  std::array<int32_t, 6> last;
  last.fill(-1);
  for (size_t i = 0; i < count; ++i)
    for (unsigned scoreboard = 0; scoreboard < last.size(); ++scoreboard)
      if (sets[i] >> scoreboard & 1)
        last[scoreboard] = int32_t(i); // where a loop from behind would find it
  std::array<int32_t, 6> before;
  before.fill(-1);
  for (size_t i = 0; i < count; ++i) {
    int32_t nearest = -1, behind = -1;
    for (unsigned scoreboard = 0; scoreboard < before.size(); ++scoreboard) {
      if (waits[i] >> scoreboard & 1) {
        nearest = std::max(nearest, before[scoreboard]);
        behind = std::max(behind, last[scoreboard]);
      }
    }
    awaited[i] = nearest >= 0 ? nearest : behind;
    for (unsigned scoreboard = 0; scoreboard < before.size(); ++scoreboard)
      if (sets[i] >> scoreboard & 1)
        before[scoreboard] = int32_t(i);
  }
  return awaited;
}

} // namespace

Result<CubinLines> readCubinLines(std::span<const uint8_t> cubin) {
  auto read = [&]<typename T>(uint64_t offset, T &into) {
    if (offset > cubin.size() || cubin.size() - offset < sizeof into)
      return false;
    std::memcpy(&into, cubin.data() + offset, sizeof into);
    return true;
  };
  auto bytesOf = [&](const Elf64_Shdr &header) -> std::span<const uint8_t> {
    if (header.sh_type == SHT_NOBITS || header.sh_offset > cubin.size() ||
        header.sh_size > cubin.size() - header.sh_offset)
      return {};
    return cubin.subspan(size_t(header.sh_offset), size_t(header.sh_size));
  };
  auto textAt = [](std::span<const uint8_t> table, uint64_t offset) -> std::string_view {
    if (offset >= table.size())
      return {};
    const auto *begin = reinterpret_cast<const char *>(table.data()) + offset;
    return {begin, ::strnlen(begin, table.size() - size_t(offset))};
  };

  Elf64_Ehdr head;
  if (!read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64)
    return damaged("it is no ELF file of 64 bits");
  std::vector<Elf64_Shdr> sections(head.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i)
    if (!read(head.e_shoff + i * sizeof(Elf64_Shdr), sections[i]))
      return damaged("its sections leave the file");
  CubinLines lines;
  if (head.e_shstrndx >= sections.size())
    return lines;
  auto names = bytesOf(sections[head.e_shstrndx]);
  size_t lineSection = sections.size();
  for (size_t i = 0; i < sections.size(); ++i)
    if (textAt(names, sections[i].sh_name) == ".debug_line")
      lineSection = i;
  if (lineSection == sections.size())
    return lines;

  constexpr std::string_view codePrefix = ".text.";
  // Addresses are zeros in the file; the symbol of each says which function a sequence is of.
  std::map<uint64_t, std::string> relocated;
  for (const Elf64_Shdr &section : sections) {
    bool isRela = section.sh_type == SHT_RELA;
    if ((!isRela && section.sh_type != SHT_REL) || section.sh_info != lineSection ||
        section.sh_link >= sections.size())
      continue;
    const Elf64_Shdr &symbolHeader = sections[section.sh_link];
    if (symbolHeader.sh_link >= sections.size())
      continue;
    auto symbols = bytesOf(symbolHeader), strings = bytesOf(sections[symbolHeader.sh_link]);
    auto rows = bytesOf(section);
    const size_t bytes = isRela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (size_t at = 0; at + bytes <= rows.size(); at += bytes) {
      Elf64_Rel row; // the beginning of both
      std::memcpy(&row, rows.data() + at, sizeof row);
      uint64_t index = ELF64_R_SYM(row.r_info);
      Elf64_Sym symbol;
      if (index >= symbols.size() / sizeof symbol)
        continue;
      std::memcpy(&symbol, symbols.data() + index * sizeof symbol, sizeof symbol);
      std::string_view name = textAt(strings, symbol.st_name);
      // The symbol of a function's section has no name of its own.
      if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION && symbol.st_shndx < sections.size()) {
        name = textAt(names, sections[symbol.st_shndx].sh_name);
        if (name.starts_with(codePrefix))
          name.remove_prefix(codePrefix.size());
      }
      relocated[row.r_offset] = name;
    }
  }
  for (const Elf64_Shdr &section : sections)
    if (std::string_view name = textAt(names, section.sh_name); name.starts_with(codePrefix))
      lines.awaited[std::string(name.substr(codePrefix.size()))] = readAwaited(bytesOf(section));
  if (const char *problem = LineSection(bytesOf(sections[lineSection]), relocated, lines).read())
    return damaged(problem);
  return lines;
}

std::vector<CubinRow> CubinLines::find(std::string_view function, uint64_t offset) const {
  std::vector<CubinRow> chain;
  auto found = functions.find(function);
  if (found == functions.end())
    return chain;
  const std::vector<CubinRow> &rows = found->second;
  // Of rows at one offset the last is that of the instruction; those before are its callers.
  auto after = std::ranges::upper_bound(rows, offset, {}, &CubinRow::offset);
  if (after == rows.begin() || std::prev(after)->isEnd)
    return chain;
  for (int32_t row = int32_t(std::prev(after) - rows.begin()); row >= 0;
       row = rows[size_t(row)].caller) // always of an earlier row
    if (rows[size_t(row)].file < files.size())
      chain.push_back(rows[size_t(row)]);
  return chain;
}

std::optional<uint64_t> CubinLines::awaitedBy(std::string_view function, uint64_t offset) const {
  auto found = awaited.find(function);
  size_t index = size_t(offset / instructionBytes);
  if (found == awaited.end() || index >= found->second.size() || found->second[index] < 0)
    return std::nullopt;
  return uint64_t(found->second[index]) * instructionBytes;
}

} // namespace nereid::runtime
