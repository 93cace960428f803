#include "ref/Shadow.h"

#include <algorithm>
#include <utility>

namespace nereid::ref {

static auto findProgram(auto &entries, uint32_t program) {
  return std::lower_bound(entries.begin(), entries.end(), program,
                          [](const auto &entry, uint32_t p) { return entry.first < p; });
}

uint32_t VectorClock::of(uint32_t program) const {
  auto it = findProgram(entries, program);
  return it != entries.end() && it->first == program ? it->second : 0;
}

void VectorClock::set(uint32_t program, uint32_t clock) {
  auto it = findProgram(entries, program);
  if (it != entries.end() && it->first == program)
    it->second = clock;
  else
    entries.insert(it, {program, clock});
}

bool VectorClock::join(const VectorClock &other) {
  bool learned = false;
  std::vector<std::pair<uint32_t, uint32_t>> both;
  both.reserve(entries.size() + other.entries.size());
  auto mine = entries.begin();
  for (auto &[program, clock] : other.entries) {
    while (mine != entries.end() && mine->first < program)
      both.push_back(*mine++);
    uint32_t known = 0;
    if (mine != entries.end() && mine->first == program)
      known = mine++->second;
    learned |= clock > known;
    both.emplace_back(program, std::max(clock, known));
  }
  if (!learned)
    return false;
  both.insert(both.end(), mine, entries.end());
  entries = std::move(both);
  return true;
}

bool RegionShadow::isStored(uint64_t offset, unsigned bytes) const {
  for (uint64_t index = offset / grain; index <= (offset + bytes - 1) / grain; ++index) {
    uint64_t page = index / pageCells;
    if (page >= pages.size() || !pages[page])
      continue;
    const Cell &cell = pages[page][index % pageCells];
    if (cell.write || cell.isAtomic)
      return true;
  }
  return false;
}

void RegionShadow::splitToBytes() {
  unsigned from = std::exchange(grain, 1);
  auto oldPages = std::move(pages);
  auto oldAtomics = std::move(atomics);
  pages.clear();
  atomics.clear();
  for (uint64_t page = 0; page < oldPages.size(); ++page) {
    if (!oldPages[page])
      continue;
    for (uint64_t i = 0; i < pageCells; ++i) {
      const Cell &old = oldPages[page][i];
      if (!old.write && !old.read && !old.isAtomic)
        continue;
      for (uint64_t byte = 0; byte < from; ++byte)
        cell((page * pageCells + i) * from + byte) = old;
    }
  }
  for (auto &[index, old] : oldAtomics)
    for (uint64_t byte = 0; byte < from; ++byte)
      atomics[index * from + byte] = old;
}

} // namespace nereid::ref
