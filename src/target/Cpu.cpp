#include "target/Cpu.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#include <cpuid.h>
#include <fstream>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace nereid::target {

namespace {
// What the operating system must save and restore: SSE and AVX; masks and the upper registers;
// tiles.
constexpr uint32_t avx = 0x6, avx512 = 0xe6, amx = 0x60000;
constexpr long tileData = 18; // the bit of the tiles' own state

enum : uint8_t { A, B, C, D };

constexpr CpuFeature features[] = {
    // name            leaf  sub reg bit state
    {"sse3", 1, 0, C, 0, 0},
    {"ssse3", 1, 0, C, 9, 0},
    {"cx16", 1, 0, C, 13, 0},
    {"sse4.1", 1, 0, C, 19, 0},
    {"sse4.2", 1, 0, C, 20, 0},
    {"movbe", 1, 0, C, 22, 0},
    {"popcnt", 1, 0, C, 23, 0},
    {"aes", 1, 0, C, 25, 0},
    {"pclmul", 1, 0, C, 1, 0},
    {"avx", 1, 0, C, 28, avx},
    {"f16c", 1, 0, C, 29, avx},
    {"fma", 1, 0, C, 12, avx},
    {"rdrnd", 1, 0, C, 30, 0},
    {"lzcnt", 0x80000001, 0, C, 5, 0},
    {"sse4a", 0x80000001, 0, C, 6, 0}, // AMD's alone
    {"bmi", 7, 0, B, 3, 0},
    {"avx2", 7, 0, B, 5, avx},
    {"bmi2", 7, 0, B, 8, 0},
    {"avx512f", 7, 0, B, 16, avx512},
    {"avx512dq", 7, 0, B, 17, avx512},
    {"avx512ifma", 7, 0, B, 21, avx512},
    {"avx512cd", 7, 0, B, 28, avx512},
    {"avx512bw", 7, 0, B, 30, avx512},
    {"avx512vl", 7, 0, B, 31, avx512},
    {"avx512vbmi", 7, 0, C, 1, avx512},
    {"avx512vbmi2", 7, 0, C, 6, avx512},
    {"gfni", 7, 0, C, 8, 0},
    {"vaes", 7, 0, C, 9, avx},
    {"vpclmulqdq", 7, 0, C, 10, avx},
    {"avx512vnni", 7, 0, C, 11, avx512},
    {"avx512bitalg", 7, 0, C, 12, avx512},
    {"avx512vpopcntdq", 7, 0, C, 14, avx512},
    {"avx512vp2intersect", 7, 0, D, 8, avx512},
    {"avx512fp16", 7, 0, D, 23, avx512},
    {"amx-bf16", 7, 0, D, 22, amx},
    {"amx-tile", 7, 0, D, 24, amx},
    {"amx-int8", 7, 0, D, 25, amx},
    {"avxvnni", 7, 1, A, 4, avx},
    {"avx512bf16", 7, 1, A, 5, avx512},
};
static_assert(std::size(features) <= 64);

int rowOf(std::string_view name) {
  for (size_t i = 0; i < std::size(features); ++i)
    if (features[i].name == name)
      return int(i);
  return -1;
}
} // namespace

std::span<const CpuFeature> cpuFeatures() { return features; }

bool CpuFeatureSet::has(std::string_view name) const {
  int row = rowOf(name);
  return row >= 0 && (bits >> row & 1);
}

void CpuFeatureSet::add(std::string_view name) {
  if (int row = rowOf(name); row >= 0)
    bits |= uint64_t(1) << row;
}

void CpuFeatureSet::remove(std::string_view name) {
  if (int row = rowOf(name); row >= 0)
    bits &= ~(uint64_t(1) << row);
}

std::string CpuFeatureSet::text() const {
  std::string result;
  for (std::string_view name : missingFrom({})) {
    if (!result.empty())
      result += ',';
    result += name;
  }
  return result;
}

std::optional<CpuFeatureSet> CpuFeatureSet::parse(std::string_view text) {
  CpuFeatureSet result;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    if (name.starts_with('+'))
      name.remove_prefix(1);
    if (rowOf(name) < 0)
      return std::nullopt;
    result.add(name);
  }
  return result;
}

std::vector<std::string_view> CpuFeatureSet::missingFrom(CpuFeatureSet other) const {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::size(features); ++i)
    if ((bits & ~other.bits) >> i & 1)
      names.push_back(features[i].name);
  return names;
}

CpuFeatureSet hostCpuFeatures() {
  static const CpuFeatureSet host = [] {
    CpuFeatureSet set;
#if defined(__x86_64__)
    unsigned regs[4];
    uint32_t enabled = 0;
    if (__get_cpuid(1, &regs[A], &regs[B], &regs[C], &regs[D]) && (regs[C] >> 27 & 1)) {
      uint32_t low, high;
      __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
      enabled = low;
    }
    for (size_t i = 0; i < std::size(features); ++i) {
      const CpuFeature &row = features[i];
      if (row.subleaf > 0 &&
          (!__get_cpuid_count(row.leaf, 0, &regs[A], &regs[B], &regs[C], &regs[D]) ||
           regs[A] < row.subleaf))
        continue;
      if (__get_cpuid_count(row.leaf, row.subleaf, &regs[A], &regs[B], &regs[C], &regs[D]) &&
          (regs[row.reg] >> row.bit & 1) && (enabled & row.state) == row.state)
        set.bits |= uint64_t(1) << i;
    }
    // The tiles' state is large, so the operating system gives it to processes that ask for it.
    if (enabled & amx && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, tileData) != 0)
      for (const CpuFeature &row : features)
        if (row.state == amx)
          set.remove(row.name);
#endif
    return set;
  }();
  return host;
}

std::optional<CpuFeatureSet> cpuLevel(std::string_view name) {
  if (name == "native")
    return hostCpuFeatures();
  std::string text;
  if (name == "x86-64")
    return CpuFeatureSet();
  text = "sse3,ssse3,cx16,sse4.1,sse4.2,popcnt";
  if (name == "x86-64-v2")
    return CpuFeatureSet::parse(text);
  text += ",avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe";
  if (name == "x86-64-v3")
    return CpuFeatureSet::parse(text);
  text += ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl";
  if (name == "x86-64-v4")
    return CpuFeatureSet::parse(text);
  return std::nullopt;
}

std::string hostCpuName() {
  std::string name;
#if defined(__x86_64__)
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    unsigned regs[4];
    if (!__get_cpuid(leaf, &regs[0], &regs[1], &regs[2], &regs[3]))
      break;
    name.append(reinterpret_cast<const char *>(regs), sizeof regs);
  }
#endif
  name.resize(name.find('\0') == name.npos ? name.size() : name.find('\0'));
  while (!name.empty() && name.back() == ' ')
    name.pop_back();
  return name;
}

// Of the first processor, as the kernel tells it: sysconf's figure may be the sum over all sockets'
// caches, those that this virtual machine does not have among them. 0 where nobody says.
static uint64_t readCacheBytes() {
  uint64_t bytes = 0;
  int highest = 0;
  for (int index = 0; index < 8; ++index) {
    std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream levelFile(folder + "level"), sizeFile(folder + "size");
    int level = 0;
    uint64_t size = 0;
    char unit = 'B';
    if (!(levelFile >> level) || !(sizeFile >> size))
      continue;
    sizeFile >> unit;
    if (level > highest) {
      highest = level;
      bytes = size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
    }
  }
  long fallback = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes || fallback < 0 ? bytes : uint64_t(fallback);
}

uint64_t hostCacheBytes() {
  static const uint64_t bytes = readCacheBytes();
  return bytes;
}

} // namespace nereid::target
