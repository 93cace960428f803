// Builds the parts of a cubin that its line table is made of.
#pragma once

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <vector>

namespace nereid::runtime::test {

struct LineRow {
  uint64_t offset;
  int line;
  int caller = 0; ///< the row of the call that inlined it, from 1 on
};

/// How an instruction is scheduled: the scoreboard that its result clears, and one that it waits
/// for (7: none).
struct Scheduling {
  unsigned sets = 7, waits = 7;
};

using Bytes = std::vector<uint8_t>;

inline void put(Bytes &into, const auto &value) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
  into.insert(into.end(), bytes, bytes + sizeof value);
}
inline void putText(Bytes &into, const std::string &value) {
  into.insert(into.end(), value.begin(), value.end());
  into.push_back(0);
}
inline void putUleb(Bytes &into, uint64_t value) {
  do
    into.push_back(uint8_t(value & 0x7f) | (value > 0x7f ? 0x80 : 0));
  while (value >>= 7);
}
inline void putSleb(Bytes &into, int64_t value) {
  for (bool more = true; more; value >>= 7) {
    more = value < -64 || value > 63;
    into.push_back(uint8_t(value & 0x7f) | (more ? 0x80 : 0));
  }
}

/// `.debug_line` of instructions up to `end`. `addressAt`: where it wants the function's address.
inline Bytes lineTable(const std::vector<LineRow> &rows, uint64_t end, const std::string &folder,
                       const std::string &file, size_t &addressAt) {
  Bytes header = {1, 1, uint8_t(-5), 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1};
  putText(header, folder);
  header.push_back(0);
  putText(header, file);
  header.insert(header.end(), {1, 0, 0, 0}); // its folder, no time, no size, no further file
  Bytes program = {0, 9, 2};                 // the address, which a relocation names
  addressAt = program.size();
  put(program, uint64_t(0));
  uint64_t at = 0;
  int line = 1;
  for (const LineRow &row : rows) {
    Bytes call = {0x90};
    putUleb(call, uint64_t(row.caller));
    putUleb(call, 0); // the name of what was called
    program.push_back(0);
    putUleb(program, call.size());
    program.insert(program.end(), call.begin(), call.end());
    program.push_back(3); // lines on
    putSleb(program, row.line - line);
    program.push_back(2); // bytes on
    putUleb(program, row.offset - at);
    program.push_back(1); // a row
    at = row.offset;
    line = row.line;
  }
  program.push_back(2);
  putUleb(program, end - at);
  program.insert(program.end(), {0, 1, 1});

  Bytes lines;
  put(lines, uint32_t(2 + 4 + header.size() + program.size()));
  put(lines, uint16_t(2));
  put(lines, uint32_t(header.size()));
  lines.insert(lines.end(), header.begin(), header.end());
  addressAt += lines.size();
  lines.insert(lines.end(), program.begin(), program.end());
  return lines;
}

/// A section of an ELF file; `link` and `info` as its type wants them.
struct Section {
  std::string name;
  uint32_t type = SHT_NULL, link = 0, info = 0;
  Bytes contents = {};
};

/// The first one is null, the last one takes the names.
inline Bytes elfFile(std::vector<Section> sections) {
  std::vector<uint32_t> nameAt;
  for (const Section &section : sections) {
    nameAt.push_back(uint32_t(sections.back().contents.size()));
    putText(sections.back().contents, section.name);
  }
  Bytes file(sizeof(Elf64_Ehdr)), table;
  for (size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr row = {};
    row.sh_name = nameAt[i];
    row.sh_type = sections[i].type;
    row.sh_offset = file.size();
    row.sh_size = sections[i].contents.size();
    row.sh_link = sections[i].link;
    row.sh_info = sections[i].info;
    put(table, row);
    file.insert(file.end(), sections[i].contents.begin(), sections[i].contents.end());
  }
  Elf64_Ehdr head = {};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_shoff = file.size();
  head.e_shnum = uint16_t(sections.size());
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shstrndx = uint16_t(sections.size() - 1);
  file.insert(file.end(), table.begin(), table.end());
  std::memcpy(file.data(), &head, sizeof head);
  return file;
}

/// A cubin of one function of 16-byte instructions that ends at `end`.
inline std::vector<uint8_t> makeCubin(const std::string &function, const std::vector<LineRow> &rows,
                                      uint64_t end, const std::string &folder = "folder",
                                      const std::string &file = "kernel.py",
                                      const std::vector<Scheduling> &scheduling = {}) {
  size_t addressAt = 0;
  Bytes lines = lineTable(rows, end, folder, file, addressAt);
  Bytes strings = {0}, symbols, relocations, code;
  putText(strings, function);
  put(symbols, Elf64_Sym{});
  Elf64_Sym symbol = {};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 5;
  put(symbols, symbol);
  put(relocations, Elf64_Rela{addressAt, ELF64_R_INFO(1, 2), 0});
  for (size_t i = 0; i < end / 16; ++i) {
    Scheduling how = i < scheduling.size() ? scheduling[i] : Scheduling();
    put(code, uint64_t(0));
    put(code, (uint64_t(how.sets) << 5 | uint64_t(7) << 8 |
               (how.waits < 6 ? uint64_t(1) << (11 + how.waits) : 0))
                  << 41);
  }
  return elfFile({{""},
                  {".strtab", SHT_STRTAB, 0, 0, strings},
                  {".symtab", SHT_SYMTAB, 1, 0, symbols},
                  {".debug_line", SHT_PROGBITS, 0, 0, lines},
                  {".rela.debug_line", SHT_RELA, 2, 3, relocations},
                  {".text." + function, SHT_PROGBITS, 0, 0, code},
                  {".shstrtab", SHT_STRTAB}});
}

} // namespace nereid::runtime::test
