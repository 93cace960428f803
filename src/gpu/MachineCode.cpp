#include "gpu/MachineCode.h"

#include "llvm/BinaryFormat/ELF.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace nereid::gpu {

namespace {

// One instruction, low and high half.
struct Word {
  uint64_t low, high;

  uint32_t opcode() const { return low & 0xfff; }
  bool isLoad() const { return opcode() == 0x981; }
  bool isPadding() const { return opcode() == 0x918; }
  bool isSpill() const { return opcode() == 0x983 || opcode() == 0x387; } // LDL, STL
  bool isBranch() const { return opcode() == 0x947; }
  // How many instructions behind the next one a branch goes on, in both ways to write it.
  int64_t distance(bool isSplit) const {
    uint64_t upper = low >> 34 | (high & 0x3ffff) << 30; // 48 bits, of words
    if (isSplit)
      upper = upper << 8 | (low >> 16 & 0xff);
    unsigned unused = isSplit ? 8 : 16;
    return int64_t(upper << unused) / (int64_t(4) << unused);
  }
  // Of a load: 1, 2, 4, 8 or 16.
  uint32_t bytes() const {
    constexpr uint32_t widths[] = {1, 1, 2, 2, 4, 8, 16, 16};
    return widths[high >> 9 & 7];
  }
  // The scoreboard that its result sets; 7 is none.
  uint32_t sets() const { return high >> 46 & 7; }
  // Those that it waits for, a bit each.
  uint32_t waits() const { return high >> 52 & 63; }
};

template <typename T> std::optional<T> readAt(std::span<const uint8_t> bytes, uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Runs of loads, each ended by the first wait for one of its scoreboards.
struct Runs {
  uint64_t bytes = 0, count = 0;
  uint32_t pending = 0;
  bool isOpen = false;

  void end() {
    count += isOpen;
    isOpen = false;
    pending = 0;
  }
  void meet(Word word) {
    if (word.waits() & pending)
      end();
    if (!word.isLoad())
      return;
    bytes += word.bytes();
    isOpen = true;
    if (word.sets() != 7)
      pending |= 1u << word.sets();
  }
};

// Adds a kernel's issued instructions, and those of them that are spills.
void addIssued(const std::vector<Word> &code, double &issued, double &spilled) {
  constexpr double steps = 8, most = 512;
  bool isSplit = std::any_of(code.begin(), code.end(), [](Word word) {
    return word.isBranch() && word.distance(true) == -1;
  });
  std::vector<double> times(code.size(), 1);
  for (size_t i = 0; i < code.size(); ++i) {
    int64_t distance = code[i].isBranch() ? code[i].distance(isSplit) : 0;
    if (distance >= -1 || distance + int64_t(i) + 1 < 0) // forward, or the end
      continue;
    for (size_t inside = size_t(distance + int64_t(i) + 1); inside <= i; ++inside)
      times[inside] = std::min(times[inside] * steps, most);
  }
  for (size_t i = 0; i < code.size(); ++i) {
    issued += code[i].isPadding() ? 0 : times[i];
    spilled += code[i].isSpill() ? times[i] : 0;
  }
}

} // namespace

std::optional<MachineCode> readMachineCode(std::span<const uint8_t> cubin) {
  using namespace llvm::ELF;
  auto header = readAt<Elf64_Ehdr>(cubin, 0);
  if (!header || !header->checkMagic() || header->getFileClass() != ELFCLASS64 ||
      header->e_machine != EM_CUDA)
    return std::nullopt;
  MachineCode out;
  Runs runs;
  double issued = 0, spilled = 0;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    auto section = readAt<Elf64_Shdr>(cubin, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section)
      return std::nullopt;
    if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR))
      continue;
    std::vector<Word> code;
    for (uint64_t at = 0; at + sizeof(Word) <= section->sh_size; at += sizeof(Word)) {
      auto word = readAt<Word>(cubin, section->sh_offset + at);
      if (!word)
        return std::nullopt;
      out.instructions += !word->isPadding();
      runs.meet(*word);
      code.push_back(*word);
    }
    runs.end();
    addIssued(code, issued, spilled);
  }
  out.spilledShare = issued ? spilled / issued : 0;
  out.bytesTogether = runs.count ? double(runs.bytes) / double(runs.count) : 0;
  return out;
}

} // namespace nereid::gpu
