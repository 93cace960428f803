#include "runtime/ObjectLoader.h"

#include "runtime/KernelSymbols.h"

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace nereid::runtime {

namespace {
constexpr uint64_t pageBytes = 4096;
constexpr uint64_t maxImageBytes = uint64_t(256) << 20; // keeps every PC32 in range, too
constexpr uint64_t stubBytes = 16;

std::atomic<bool> perfMapEnabled = false;

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

void appendPerfMap(std::string_view name, const void *address, uint64_t size) {
  std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  if (FILE *file = std::fopen(path.c_str(), "ae")) {
    std::fprintf(file, "%zx %zx %.*s\n", size_t(address), size_t(size), int(name.size()),
                 name.data());
    std::fclose(file);
  }
}
} // namespace

void enablePerfMap(bool enable) { perfMapEnabled = enable; }

/// One load. Each step reads the object only through `read` and `bytesOf`, which check bounds.
class ObjectLinker {
public:
  ObjectLinker(std::span<const uint8_t> object, std::string_view name)
      : object(object), name(name) {}

  Result<LoadedObject> link() {
    if (!readSections() || !readSymbols() || !layOut() || !copy() || !relocate() || !protect())
      return Error{"cannot load object of kernel `" + std::string(name) + "`: " + problem, {}};
    return std::move(image);
  }

private:
  // The three ranges of pages, in the order of memory.
  enum Group { Code, Constants, Data, GroupCount };

  struct LoadedSection {
    Elf64_Shdr header;
    std::string_view name;
    int group = -1;       // -1: not loaded
    uint64_t address = 0; // offset in the image
  };

  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }

  template <typename T> bool read(uint64_t offset, T &into) const {
    if (offset > object.size() || object.size() - offset < sizeof(T))
      return false;
    std::memcpy(&into, object.data() + offset, sizeof(T));
    return true;
  }

  // The bytes of a section in the file; nothing if they leave the file.
  std::optional<std::span<const uint8_t>> bytesOf(const Elf64_Shdr &header) const {
    if (header.sh_offset > object.size() || header.sh_size > object.size() - header.sh_offset)
      return std::nullopt;
    return object.subspan(size_t(header.sh_offset), size_t(header.sh_size));
  }

  static std::string_view stringAt(std::span<const uint8_t> table, uint64_t offset) {
    if (offset >= table.size())
      return {};
    const auto *begin = reinterpret_cast<const char *>(table.data()) + offset;
    return {begin, ::strnlen(begin, table.size() - offset)};
  }

  bool readSections();
  bool readSymbols();
  bool layOut();
  bool countRelocations();
  bool groupSections();
  bool readRelocations();
  bool placeSections();
  bool mapImage();
  bool copy();
  bool relocate();
  bool protect();
  bool apply(const LoadedSection &target, const Elf64_Rela &rela);
  bool resolve(const Elf64_Sym &symbol, uint64_t &value, bool &external);
  uint64_t gotEntry(uint64_t value);
  uint64_t stub(uint64_t value);

  uint8_t *at(uint64_t offset) const { return static_cast<uint8_t *>(image.base) + offset; }

  std::span<const uint8_t> object;
  std::string_view name;
  std::string problem;
  LoadedObject image;
  std::vector<LoadedSection> sections;
  std::span<const uint8_t> symbolBytes, stringTable;
  uint64_t symbolCount = 0;
  uint64_t relocations = 0;
  bool needsLowAddresses = false;
  uint64_t groupBegin[GroupCount + 1] = {};
  uint64_t gotBegin = 0, gotUsed = 0;
  uint64_t stubBegin = 0, stubUsed = 0;
  std::map<uint64_t, uint64_t> gotOf, stubOf; // by value: offset in the image
};

bool ObjectLinker::readSections() {
  Elf64_Ehdr header;
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return fail("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64)
    return fail("not for x86-64");
  if (header.e_type != ET_REL)
    return fail("not a relocatable object");
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
    return fail("no section table");
  sections.resize(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i) {
    uint64_t offset = header.e_shoff + i * sizeof(Elf64_Shdr);
    if (offset < header.e_shoff || !read(offset, sections[i].header))
      return fail("section table leaves the file");
  }
  if (header.e_shstrndx >= sections.size())
    return fail("no section names");
  auto names = bytesOf(sections[header.e_shstrndx].header);
  if (!names)
    return fail("section names leave the file");
  for (LoadedSection &section : sections)
    section.name = stringAt(*names, section.header.sh_name);
  return true;
}

bool ObjectLinker::readSymbols() {
  for (const LoadedSection &section : sections) {
    if (section.header.sh_type != SHT_SYMTAB)
      continue;
    if (!symbolBytes.empty())
      return fail("two symbol tables");
    auto bytes = bytesOf(section.header);
    if (!bytes || section.header.sh_entsize != sizeof(Elf64_Sym) ||
        section.header.sh_link >= sections.size())
      return fail("bad symbol table");
    auto strings = bytesOf(sections[section.header.sh_link].header);
    if (!strings)
      return fail("symbol names leave the file");
    symbolBytes = *bytes;
    stringTable = *strings;
    symbolCount = symbolBytes.size() / sizeof(Elf64_Sym);
  }
  if (symbolCount == 0)
    return fail("no symbol table");
  return true;
}

bool ObjectLinker::layOut() {
  return countRelocations() && groupSections() && readRelocations() && placeSections() &&
         mapImage();
}

bool ObjectLinker::countRelocations() {
  for (const LoadedSection &section : sections) {
    if (section.header.sh_type == SHT_REL)
      return fail("relocations without addends");
    if (section.header.sh_type != SHT_RELA)
      continue;
    if (section.header.sh_size > object.size())
      return fail("relocations leave the file");
    relocations += section.header.sh_size / sizeof(Elf64_Rela);
  }
  // Below this, stubs and GOT entries (one each a relocation) are bounded by the object's size.
  if (relocations > object.size() / sizeof(Elf64_Rela))
    return fail("relocations leave the file");
  return true;
}

// Says which pages a section goes to: those of code, constants or data.
bool ObjectLinker::groupSections() {
  for (LoadedSection &section : sections) {
    const Elf64_Shdr &header = section.header;
    if (!(header.sh_flags & SHF_ALLOC) || header.sh_size == 0)
      continue;
    // Unwind tables are for exceptions, which kernels have none of; notes are for linkers.
    if (section.name == ".eh_frame" || header.sh_type == SHT_NOTE ||
        header.sh_type == SHT_X86_64_UNWIND)
      continue;
    if (header.sh_flags & SHF_TLS)
      return fail("section `" + std::string(section.name) + "` holds thread-local variables");
    if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS)
      return fail("section `" + std::string(section.name) + "` has type " +
                  std::to_string(header.sh_type));
    if (header.sh_type == SHT_PROGBITS && !bytesOf(header))
      return fail("section `" + std::string(section.name) + "` leaves the file");
    if (header.sh_addralign > pageBytes ||
        (header.sh_addralign && !std::has_single_bit(header.sh_addralign)))
      return fail("section `" + std::string(section.name) + "` is aligned to " +
                  std::to_string(header.sh_addralign));
    bool writable = header.sh_flags & SHF_WRITE, executable = header.sh_flags & SHF_EXECINSTR;
    if (writable && executable)
      return fail("section `" + std::string(section.name) + "` is writable and executable");
    section.group = executable ? Code : writable ? Data : Constants;
  }
  return true;
}

bool ObjectLinker::readRelocations() {
  for (const LoadedSection &section : sections) {
    if (section.header.sh_type != SHT_RELA)
      continue;
    uint32_t target = section.header.sh_info;
    if (target >= sections.size())
      return fail("relocations of no section");
    if (sections[target].group < 0)
      continue;
    auto bytes = bytesOf(section.header);
    if (!bytes || section.header.sh_entsize != sizeof(Elf64_Rela))
      return fail("bad relocation section");
    for (uint64_t i = 0; i < bytes->size() / sizeof(Elf64_Rela); ++i) {
      Elf64_Rela rela;
      std::memcpy(&rela, bytes->data() + i * sizeof rela, sizeof rela);
      uint32_t type = ELF64_R_TYPE(rela.r_info);
      needsLowAddresses |= type == R_X86_64_32 || type == R_X86_64_32S;
    }
  }
  return true;
}

bool ObjectLinker::placeSections() {
  uint64_t end = 0;
  for (int group = 0; group < GroupCount; ++group) {
    end = alignUp(end, pageBytes);
    groupBegin[group] = end;
    // Sanitizers read the bytes before a function that is called through a pointer.
    if (group == Code)
      end += 16;
    for (LoadedSection &section : sections) {
      if (section.group != group)
        continue;
      end = alignUp(end, std::max<uint64_t>(section.header.sh_addralign, 1));
      section.address = end;
      if (section.header.sh_size > maxImageBytes)
        return fail("section `" + std::string(section.name) + "` has " +
                    std::to_string(section.header.sh_size) + " bytes");
      end += section.header.sh_size;
      if (end > maxImageBytes)
        return fail("image is over " + std::to_string(maxImageBytes >> 20) + " MiB");
    }
    // A relocation takes at most one stub and one GOT entry.
    if (group == Code) {
      stubBegin = end = alignUp(end, stubBytes);
      end = stubBegin + relocations * stubBytes;
    } else if (group == Constants) {
      gotBegin = end = alignUp(end, 8);
      end = gotBegin + relocations * 8;
    }
  }
  groupBegin[GroupCount] = alignUp(end, pageBytes);
  if (stubBegin == 16)
    return fail("no code");
  return true;
}

bool ObjectLinker::mapImage() {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_32BIT
  if (needsLowAddresses)
    flags |= MAP_32BIT;
#endif
  void *memory = ::mmap(nullptr, groupBegin[GroupCount], PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED)
    return fail("no memory for " + std::to_string(groupBegin[GroupCount]) + " bytes");
  image.base = memory;
  image.size = groupBegin[GroupCount];
  return true;
}

bool ObjectLinker::copy() {
  for (const LoadedSection &section : sections) {
    if (section.group < 0)
      continue;
    if (section.header.sh_type == SHT_PROGBITS)
      std::memcpy(at(section.address), bytesOf(section.header)->data(), section.header.sh_size);
    if (section.group == Code) {
      auto begin = reinterpret_cast<uintptr_t>(at(section.address));
      image.code.push_back({begin, begin + section.header.sh_size});
    }
  }
  for (uint64_t i = 1; i < symbolCount; ++i) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbolBytes.data() + i * sizeof symbol, sizeof symbol);
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size())
      continue;
    const LoadedSection &section = sections[symbol.st_shndx];
    if (section.group != Code || symbol.st_value >= section.header.sh_size)
      return fail("a function lies outside the code");
    std::string_view symbolName = stringAt(stringTable, symbol.st_name);
    image.symbols.emplace(symbolName, at(section.address + symbol.st_value));
  }
  return true;
}

bool ObjectLinker::resolve(const Elf64_Sym &symbol, uint64_t &value, bool &external) {
  external = false;
  if (symbol.st_shndx == SHN_ABS) {
    value = symbol.st_value;
    return true;
  }
  if (symbol.st_shndx == SHN_UNDEF) {
    std::string_view wanted = stringAt(stringTable, symbol.st_name);
    external = true;
    value = kernelSymbol(wanted);
    if (!value)
      return fail("it calls `" + std::string(wanted.substr(0, 200)) +
                  "`, which kernels may not call");
    return true;
  }
  if (symbol.st_shndx >= sections.size())
    return fail("a symbol of section number " + std::to_string(symbol.st_shndx));
  const LoadedSection &section = sections[symbol.st_shndx];
  if (section.group < 0)
    return fail("a symbol of section `" + std::string(section.name) + "`, which is not loaded");
  if (symbol.st_value > section.header.sh_size)
    return fail("a symbol outside section `" + std::string(section.name) + "`");
  value = reinterpret_cast<uint64_t>(at(section.address)) + symbol.st_value;
  return true;
}

uint64_t ObjectLinker::gotEntry(uint64_t value) {
  auto [found, isNew] = gotOf.emplace(value, gotBegin + gotUsed);
  if (isNew) {
    gotUsed += 8;
    std::memcpy(at(found->second), &value, sizeof value);
  }
  return found->second;
}

uint64_t ObjectLinker::stub(uint64_t value) {
  auto [found, isNew] = stubOf.emplace(value, stubBegin + stubUsed);
  if (isNew) {
    stubUsed += stubBytes;
    // endbr64; jmp *[rip + slot]; int3...
    uint64_t slot = gotEntry(value);
    uint8_t code[stubBytes] = {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0,    0,
                               0,    0,    0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
    auto displacement = int32_t(int64_t(slot) - int64_t(found->second + 10));
    std::memcpy(code + 6, &displacement, sizeof displacement);
    std::memcpy(at(found->second), code, sizeof code);
  }
  return found->second;
}

bool ObjectLinker::apply(const LoadedSection &target, const Elf64_Rela &rela) {
  uint32_t type = ELF64_R_TYPE(rela.r_info);
  uint64_t index = ELF64_R_SYM(rela.r_info);
  if (type == R_X86_64_NONE)
    return true;
  uint64_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
  if (target.header.sh_size < width || rela.r_offset > target.header.sh_size - width)
    return fail("a relocation outside section `" + std::string(target.name) + "`");
  if (index >= symbolCount)
    return fail("a relocation against symbol number " + std::to_string(index));
  Elf64_Sym symbol;
  std::memcpy(&symbol, symbolBytes.data() + index * sizeof symbol, sizeof symbol);
  uint64_t value;
  bool external;
  if (!resolve(symbol, value, external))
    return false;

  uint8_t *place = at(target.address + rela.r_offset);
  auto here = reinterpret_cast<uint64_t>(place);
  auto addend = uint64_t(rela.r_addend);
  // The C library may be out of a 32-bit field's reach; a stub in the image is not.
  bool isGot =
      type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
  if (external && width == 4 && !isGot)
    value = reinterpret_cast<uint64_t>(at(stub(value)));
  auto fits = [](int64_t number) { return number == int32_t(number); };
  int64_t result;
  switch (type) {
  case R_X86_64_64:
    result = int64_t(value + addend);
    break;
  case R_X86_64_PC64:
    result = int64_t(value + addend - here);
    break;
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    result = int64_t(value + addend - here);
    if (!fits(result))
      return fail("a PC-relative relocation out of range");
    break;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    result = int64_t(reinterpret_cast<uint64_t>(at(gotEntry(value))) + addend - here);
    if (!fits(result))
      return fail("a GOT relocation out of range");
    break;
  case R_X86_64_32:
    result = int64_t(value + addend);
    if (uint64_t(result) != uint32_t(result))
      return fail("an absolute 32-bit relocation out of range");
    break;
  case R_X86_64_32S:
    result = int64_t(value + addend);
    if (!fits(result))
      return fail("an absolute 32-bit relocation out of range");
    break;
  default:
    return fail("relocation kind " + std::to_string(type) + " is not supported");
  }
  std::memcpy(place, &result, width);
  return true;
}

bool ObjectLinker::relocate() {
  for (const LoadedSection &section : sections) {
    if (section.header.sh_type != SHT_RELA)
      continue;
    const LoadedSection &target = sections[section.header.sh_info];
    if (target.group < 0)
      continue;
    auto bytes = *bytesOf(section.header);
    for (uint64_t i = 0; i < bytes.size() / sizeof(Elf64_Rela); ++i) {
      Elf64_Rela rela;
      std::memcpy(&rela, bytes.data() + i * sizeof rela, sizeof rela);
      if (!apply(target, rela))
        return false;
    }
  }
  return true;
}

bool ObjectLinker::protect() {
  const int rights[GroupCount] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
  for (int group = 0; group < GroupCount; ++group) {
    uint64_t begin = groupBegin[group], end = groupBegin[group + 1];
    if (end > begin && ::mprotect(at(begin), end - begin, rights[group]) != 0)
      return fail("the system refuses to protect memory for " +
                  std::string(group == Code ? "execution" : "reading"));
  }
  if (perfMapEnabled)
    for (const auto &range : image.code)
      appendPerfMap(name, reinterpret_cast<const void *>(range.begin), range.end - range.begin);
  return true;
}

Result<LoadedObject> LoadedObject::load(std::span<const uint8_t> object, std::string_view name) {
  return ObjectLinker(object, name).link();
}

LoadedObject::~LoadedObject() {
  if (base)
    ::munmap(base, size);
}

void LoadedObject::swap(LoadedObject &other) noexcept {
  std::swap(base, other.base);
  std::swap(size, other.size);
  std::swap(symbols, other.symbols);
  std::swap(code, other.code);
}

void *LoadedObject::symbol(std::string_view name) const {
  auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : found->second;
}

bool LoadedObject::codeOffset(const void *address, uint64_t &offset) const {
  auto value = reinterpret_cast<uintptr_t>(address);
  for (const CodeRange &range : code)
    if (value >= range.begin && value < range.end) {
      offset = value - range.begin;
      return true;
    }
  return false;
}

} // namespace nereid::runtime
