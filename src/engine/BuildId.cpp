#include "engine/BuildId.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>

namespace nereid::engine {

namespace {

struct NoteSearch {
  uintptr_t inside; // an address of the binary that is meant
  std::string id;
};

int visit(dl_phdr_info *binary, size_t, void *data) {
  auto &search = *static_cast<NoteSearch *>(data);
  bool holds = false;
  for (int i = 0; i < binary->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = binary->dlpi_phdr[i];
    uintptr_t begin = binary->dlpi_addr + segment.p_vaddr;
    holds |= segment.p_type == PT_LOAD && search.inside >= begin &&
             search.inside < begin + segment.p_memsz;
  }
  if (!holds)
    return 0;
  for (int i = 0; i < binary->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = binary->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    auto *at = reinterpret_cast<const char *>(binary->dlpi_addr + segment.p_vaddr);
    const char *end = at + segment.p_memsz;
    while (size_t(end - at) >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char *name = at + sizeof note;
      const char *description = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !std::memcmp(name, "GNU", 4))
        for (uint32_t byte = 0; byte < note.n_descsz; ++byte) {
          constexpr char digits[] = "0123456789abcdef";
          auto value = uint8_t(description[byte]);
          search.id += {digits[value >> 4], digits[value & 15]};
        }
      at = description + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

} // namespace

const std::string &buildId() {
  static const std::string id = [] {
    static const char here = 0;
    NoteSearch search{reinterpret_cast<uintptr_t>(&here), {}};
    dl_iterate_phdr(visit, &search);
    return search.id;
  }();
  return id;
}

} // namespace nereid::engine
