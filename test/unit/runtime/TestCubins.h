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

/// A cubin of one function of 16-byte instructions that ends at `end`.
inline std::vector<uint8_t> makeCubin(const std::string &function, const std::vector<LineRow> &rows,
                                      uint64_t end, const std::string &folder = "folder",
                                      const std::string &file = "kernel.py",
                                      const std::vector<Scheduling> &scheduling = {}) {
  using Bytes = std::vector<uint8_t>;
  auto put = [](Bytes &into, const auto &value) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
    into.insert(into.end(), bytes, bytes + sizeof value);
  };
  auto text = [](Bytes &into, const std::string &value) {
    into.insert(into.end(), value.begin(), value.end());
    into.push_back(0);
  };
  auto number = [](Bytes &into, uint64_t value) { // ULEB128
    do
      into.push_back(uint8_t(value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    while (value >>= 7);
  };
  auto signedNumber = [](Bytes &into, int64_t value) {
    for (bool more = true; more; value >>= 7) {
      more = value < -64 || value > 63;
      into.push_back(uint8_t(value & 0x7f) | (more ? 0x80 : 0));
    }
  };

  Bytes header = {1, 1, uint8_t(-5), 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1};
  text(header, folder);
  header.push_back(0);
  text(header, file);
  header.insert(header.end(), {1, 0, 0, 0}); // its folder, no time, no size, no further file
  Bytes program = {0, 9, 2};                 // the address, which a relocation names
  const size_t addressAt = program.size();
  put(program, uint64_t(0));
  uint64_t at = 0;
  int line = 1;
  for (const LineRow &row : rows) {
    Bytes call = {0x90};
    number(call, uint64_t(row.caller));
    number(call, 0); // the name of what was called
    program.push_back(0);
    number(program, call.size());
    program.insert(program.end(), call.begin(), call.end());
    program.push_back(3); // lines on
    signedNumber(program, row.line - line);
    program.push_back(2); // bytes on
    number(program, row.offset - at);
    program.push_back(1); // a row
    at = row.offset;
    line = row.line;
  }
  program.push_back(2);
  number(program, end - at);
  program.insert(program.end(), {0, 1, 1});

  Bytes lines;
  put(lines, uint32_t(2 + 4 + header.size() + program.size()));
  put(lines, uint16_t(2));
  put(lines, uint32_t(header.size()));
  lines.insert(lines.end(), header.begin(), header.end());
  const size_t programAt = lines.size();
  lines.insert(lines.end(), program.begin(), program.end());

  Bytes strings = {0}, symbols, relocations;
  text(strings, function);
  put(symbols, Elf64_Sym{});
  Elf64_Sym symbol = {};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 5;
  put(symbols, symbol);
  put(relocations, Elf64_Rela{programAt + addressAt, ELF64_R_INFO(1, 2), 0});

  const std::string names[] = {
      "",         ".strtab", ".symtab", ".debug_line", ".rela.debug_line", ".text." + function,
      ".shstrtab"};
  const uint32_t types[] = {SHT_NULL, SHT_STRTAB,   SHT_SYMTAB, SHT_PROGBITS,
                            SHT_RELA, SHT_PROGBITS, SHT_STRTAB};
  Bytes nameTable;
  std::vector<uint32_t> nameAt;
  for (const std::string &name : names) {
    nameAt.push_back(uint32_t(nameTable.size()));
    text(nameTable, name);
  }
  Bytes code;
  for (size_t i = 0; i < end / 16; ++i) {
    Scheduling how = i < scheduling.size() ? scheduling[i] : Scheduling();
    put(code, uint64_t(0));
    put(code, (uint64_t(how.sets) << 5 | uint64_t(7) << 8 |
               (how.waits < 6 ? uint64_t(1) << (11 + how.waits) : 0))
                  << 41);
  }
  const Bytes contents[] = {{}, strings, symbols, lines, relocations, code, nameTable};

  Bytes cubin(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> sections;
  for (size_t i = 0; i < std::size(names); ++i) {
    Elf64_Shdr section = {};
    section.sh_name = nameAt[i];
    section.sh_type = types[i];
    section.sh_offset = cubin.size();
    section.sh_size = contents[i].size();
    section.sh_link = types[i] == SHT_SYMTAB ? 1 : types[i] == SHT_RELA ? 2 : 0;
    section.sh_info = types[i] == SHT_RELA ? 3 : 0;
    sections.push_back(section);
    cubin.insert(cubin.end(), contents[i].begin(), contents[i].end());
  }
  Elf64_Ehdr head = {};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_shoff = cubin.size();
  head.e_shnum = uint16_t(sections.size());
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shstrndx = uint16_t(sections.size() - 1);
  for (const Elf64_Shdr &section : sections)
    put(cubin, section);
  std::memcpy(cubin.data(), &head, sizeof head);
  return cubin;
}

} // namespace nereid::runtime::test
