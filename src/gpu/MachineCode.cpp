#include "gpu/MachineCode.h"

#include "llvm/BinaryFormat/ELF.h"

#include <cstring>

namespace nereid::gpu {

namespace {

// One instruction, low and high half.
struct Word {
  uint64_t low, high;

  uint32_t opcode() const { return low & 0xfff; }
  bool isLoad() const { return opcode() == 0x981; }
  bool isPadding() const { return opcode() == 0x918; }
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

} // namespace

std::optional<MachineCode> readMachineCode(std::span<const uint8_t> cubin) {
  using namespace llvm::ELF;
  auto header = readAt<Elf64_Ehdr>(cubin, 0);
  if (!header || !header->checkMagic() || header->getFileClass() != ELFCLASS64 ||
      header->e_machine != EM_CUDA)
    return std::nullopt;
  MachineCode out;
  Runs runs;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    auto section = readAt<Elf64_Shdr>(cubin, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section)
      return std::nullopt;
    if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR))
      continue;
    for (uint64_t at = 0; at + sizeof(Word) <= section->sh_size; at += sizeof(Word)) {
      auto word = readAt<Word>(cubin, section->sh_offset + at);
      if (!word)
        return std::nullopt;
      out.instructions += !word->isPadding();
      runs.meet(*word);
    }
    runs.end();
  }
  out.bytesTogether = runs.count ? double(runs.bytes) / double(runs.count) : 0;
  return out;
}

} // namespace nereid::gpu
