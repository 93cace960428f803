#include "target/Cpu.h"
#include "target/Gpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace nereid::target;

namespace {

TEST(Cpu, FeatureTextIsCanonical) {
  auto set = CpuFeatureSet::parse("fma,+avx2,avx");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->text(), "avx,fma,avx2");
  EXPECT_EQ(CpuFeatureSet::parse(set->text()), set);
  EXPECT_FALSE(CpuFeatureSet::parse("avx,warp-drive"));
  EXPECT_EQ(CpuFeatureSet::parse("")->text(), "");
}

TEST(Cpu, LevelsNest) {
  auto v2 = cpuLevel("x86-64-v2"), v3 = cpuLevel("x86-64-v3"), v4 = cpuLevel("x86-64-v4");
  ASSERT_TRUE(v2 && v3 && v4);
  EXPECT_TRUE(v4->covers(*v3));
  EXPECT_TRUE(v3->covers(*v2));
  EXPECT_FALSE(v3->covers(*v4));
  EXPECT_EQ(v4->missingFrom(*v3).size(), 5u);
  EXPECT_FALSE(cpuLevel("x86-64-v9"));
}

#if defined(__x86_64__) && defined(__linux__)
// The kernel's own list is the second opinion. It spells a few names differently.
TEST(Cpu, HostAgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(file, line))
    if (line.starts_with("flags")) {
      flags = " " + line.substr(line.find(':') + 1) + " ";
      break;
    }
  if (flags.empty())
    GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  CpuFeatureSet host = hostCpuFeatures();
  const std::pair<const char *, const char *> names[] = {{"sse4.1", "sse4_1"},
                                                         {"avx", "avx"},
                                                         {"avx2", "avx2"},
                                                         {"fma", "fma"},
                                                         {"f16c", "f16c"},
                                                         {"bmi2", "bmi2"},
                                                         {"avx512f", "avx512f"},
                                                         {"avx512vnni", "avx512_vnni"},
                                                         {"avx512bf16", "avx512_bf16"},
                                                         {"lzcnt", "abm"},
                                                         {"amx-tile", "amx_tile"}};
  for (auto [ours, theirs] : names)
    EXPECT_EQ(host.has(ours), flags.find(" " + std::string(theirs) + " ") != flags.npos) << ours;
}
#endif

TEST(Gpu, ChoosesTheChipOfADevice) {
  EXPECT_EQ(gpuChipForDevice(9, 0)->name, "sm_90a");
  EXPECT_EQ(gpuChipForDevice(8, 0)->name, "sm_80");
  EXPECT_EQ(gpuChipForDevice(8, 8)->name, "sm_87");
  EXPECT_EQ(gpuChipForDevice(10, 3)->name, "sm_100");
  EXPECT_EQ(gpuChipForDevice(7, 5), nullptr);
  EXPECT_EQ(gpuChip("sm_75"), nullptr);
}

TEST(Gpu, KnowsWhatRunsWhere) {
  EXPECT_TRUE(cubinRunsOn(*gpuChip("sm_80"), 8, 6));
  EXPECT_FALSE(cubinRunsOn(*gpuChip("sm_80"), 9, 0));
  EXPECT_FALSE(cubinRunsOn(*gpuChip("sm_90a"), 10, 0));
  EXPECT_TRUE(ptxRunsOn(*gpuChip("sm_80"), 9, 0));
  EXPECT_FALSE(ptxRunsOn(*gpuChip("sm_90a"), 10, 0));
  EXPECT_FALSE(ptxRunsOn(*gpuChip("sm_90"), 8, 9));
}

TEST(Gpu, SaysHowManyBlocksFit) {
  const GpuChip &chip = *gpuChip("sm_90a");
  // Nothing but warps: 64 of them.
  EXPECT_EQ(occupancy(chip, 4, 32, 0).blocks, 16u);
  EXPECT_EQ(occupancy(chip, 4, 32, 0).limit, "warps");
  // One warp a block: 32 blocks at most.
  EXPECT_EQ(occupancy(chip, 1, 32, 0).blocks, 32u);
  EXPECT_EQ(occupancy(chip, 1, 32, 0).limit, "blocks");
  // 65536 registers hold 128 x 4 x 128 once; 168 are as many as 168 (a multiple of 8), 129 as 136.
  EXPECT_EQ(occupancy(chip, 4, 128, 0).blocks, 4u);
  EXPECT_EQ(occupancy(chip, 4, 129, 0).blocks, 3u);
  EXPECT_EQ(occupancy(chip, 4, 129, 0).limit, "registers");
  // 228 KiB, of which each block pays one more than it asks for.
  EXPECT_EQ(occupancy(chip, 8, 64, 96 * 1024).blocks, 2u);
  EXPECT_EQ(occupancy(chip, 8, 64, 96 * 1024).limit, "shared memory");
  EXPECT_EQ(occupancy(chip, 8, 64, 114 * 1024).blocks, 1u);
  // Registers that nobody counted limit nothing.
  EXPECT_EQ(occupancy(chip, 4, 0, 0).blocks, 16u);
}

TEST(Gpu, FindsBoards) {
  EXPECT_EQ(gpuBoard("", *gpuChip("sm_90"))->name, "H200");
  EXPECT_EQ(gpuBoard("H100", *gpuChip("sm_90a"))->gigabytesASecond, 3350);
  EXPECT_EQ(gpuBoard("H300", *gpuChip("sm_90a")), nullptr);
  for (const GpuChip &chip : gpuChips())
    EXPECT_NE(gpuBoard("", chip), nullptr) << chip.name;
}

TEST(Gpu, RowsAreConsistent) {
  for (const GpuChip &chip : gpuChips()) {
    SCOPED_TRACE(std::string(chip.name));
    EXPECT_EQ(gpuChip(chip.name), &chip);
    EXPECT_EQ(chip.name, "sm_" + std::to_string(chip.capability) + (chip.onlyThisChip ? "a" : ""));
    EXPECT_LT(chip.sharedBytesPerBlock, chip.sharedBytesPerSm);
    EXPECT_TRUE(!chip.can(Wgmma) || chip.can(Tma));
  }
}

} // namespace
