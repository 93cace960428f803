// Coalescing and bank conflicts against a slow definition: every byte of every lane.
#include "gpu/CodeFacts.h"
#include "gpu/Ptxas.h"
#include "gpu/SharedOperand.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

using namespace nereid;
using namespace nereid::gpu;

namespace {

class CodeFacts : public ::testing::Test {
protected:
  mlir::MLIRContext context;
  mlir::Location where = mlir::UnknownLoc::get(&context);

  static tile::AxisFacts rows(int64_t rank, int64_t contiguity, int64_t divisibility) {
    tile::AxisFacts facts = tile::AxisFacts::unknown(unsigned(rank));
    facts.contiguity.back() = contiguity;
    facts.divisibility.back() = divisibility;
    return facts;
  }
};

TEST_F(CodeFacts, SectorsOfRowsThatFollowOneAnother) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    int64_t height = 1 << random() % 6, width = 1 << (3 + random() % 6);
    unsigned vector = 1u << random() % 3, bytes = 1u << random() % 3;
    LinearLayout layout = blockedLayout({height, width}, vector, {1, 0}, 4);
    unsigned each = std::min(vector, consecutiveRegisters(layout, 1));
    AccessFact fact = globalAccess(where, "load", layout, rows(2, width, 16), bytes, each, 1);
    // Rows lie far apart, each at a multiple of 32 bytes.
    std::set<int64_t> sectors, all;
    for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
      auto at = layout.apply(0, lane, 0);
      for (unsigned i = 0; i < each * bytes; ++i) {
        int64_t byte = int64_t(at[0]) * 1048576 + int64_t(at[1]) * bytes + i;
        sectors.insert(byte / 32);
        all.insert(byte);
      }
    }
    EXPECT_EQ(fact.transactions, sectors.size());
    EXPECT_EQ(fact.fewest, (all.size() + 31) / 32);
    EXPECT_EQ(fact.bytes, each * bytes);
  }
}

TEST_F(CodeFacts, UnknownAddressesAreFarApart) {
  LinearLayout layout = blockedLayout({128}, 1, {0}, 4);
  AccessFact gather = globalAccess(where, "load", layout, tile::AxisFacts::unknown(1), 4, 1, 1);
  EXPECT_EQ(gather.transactions, 32u * 2); // each may straddle two sectors: nobody promised more
  EXPECT_EQ(gather.fewest, 4u);
  tile::AxisFacts same = tile::AxisFacts::unknown(1);
  same.constancy[0] = 128;
  same.divisibility[0] = 16;
  EXPECT_EQ(globalAccess(where, "load", layout, same, 4, 1, 1).transactions, 1u);
}

TEST_F(CodeFacts, RunsThatBeginAnywhereReachFurther) {
  LinearLayout layout = blockedLayout({128}, 1, {0}, 4);
  EXPECT_EQ(globalAccess(where, "load", layout, rows(1, 128, 4), 4, 1, 1).transactions, 5u);
  EXPECT_EQ(globalAccess(where, "load", layout, rows(1, 128, 16), 4, 1, 1).transactions, 4u);
}

unsigned slowCycles(unsigned bytes, llvm::function_ref<int64_t(unsigned)> offset) {
  unsigned together = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, cycles = 0;
  for (unsigned begin = 0; begin < 32; begin += together) {
    std::map<int64_t, std::set<int64_t>> banks;
    for (unsigned lane = begin; lane < begin + together; ++lane)
      for (unsigned i = 0; i < bytes; ++i)
        banks[(offset(lane) + i) / 4 % 32].insert((offset(lane) + i) / 4);
    size_t worst = 0;
    for (auto &[bank, words] : banks)
      worst = std::max(worst, words.size());
    cycles += unsigned(worst);
  }
  return cycles;
}

TEST_F(CodeFacts, BankConflictsOfRandomPlaces) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    unsigned bytes = 1u << random() % 5;
    std::vector<int64_t> offsets(32);
    for (int64_t &offset : offsets)
      offset = int64_t(random() % 256) * bytes;
    auto at = [&](unsigned lane) { return offsets[lane]; };
    AccessFact fact = sharedAccess(where, "load", bytes, 1, 1, at);
    EXPECT_EQ(fact.transactions, slowCycles(bytes, at)) << bytes;
    EXPECT_EQ(fact.fewest, bytes == 16 ? 4u : bytes == 8 ? 2u : 1u);
  }
}

TEST_F(CodeFacts, KnownPatterns) {
  auto cycles = [&](unsigned bytes, int64_t stride) {
    return sharedAccess(where, "load", bytes, 1, 1, [&](unsigned lane) { return lane * stride; })
        .transactions;
  };
  EXPECT_EQ(cycles(4, 4), 1u);
  EXPECT_EQ(cycles(4, 0), 1u); // one word for all
  EXPECT_EQ(cycles(4, 8), 2u);
  EXPECT_EQ(cycles(4, 128), 32u);
  EXPECT_EQ(cycles(4, 132), 1u); // a padded column
  EXPECT_EQ(cycles(16, 16), 4u);
  EXPECT_EQ(cycles(16, 128), 32u);
}

TEST_F(CodeFacts, SwizzledRowsHaveNoConflicts) {
  // Eight lanes read 16 bytes of eight rows: what ldmatrix does.
  for (int64_t columns : {16, 32, 64, 128}) {
    LinearLayout layout = blockedLayout({64, columns}, 8, {1, 0}, 4);
    SharedOperand shared({64, columns}, layout);
    AccessFact fact = sharedAccess(where, "ldmatrix", 16, 8, 1, [&](unsigned lane) {
      return shared.offset({int32_t(lane % 8), int32_t(lane / 8 * 8 % columns)});
    });
    EXPECT_EQ(fact.transactions, 4u) << columns;
  }
}

// Registers of sums have a value from the start, behind the declarations.
TEST(Ptxas, SetsSumsWhereTheKernelBegins) {
  std::string code =
      "\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f10}, a, b, p;\n";
  EXPECT_EQ(
      withSumsSet("{\n\t.reg .f32 \t%f<11>;\n\t.reg .b32 \t%r<3>;\n\tret;\n" + code +
                  "\t.reg .b32 x;\n}"),
      "{\n\t.reg .f32 \t%f<11>;\n\t.reg .b32 \t%r<3>;\n\tmov.f32 %f1, 0f00000000;\n\tmov.f32 %f10, "
      "0f00000000;\n\tmov.f32 %f2, 0f00000000;\n\tret;\n" +
          code + "\t.reg .b32 x;\n}");
  EXPECT_EQ(withSumsSet("no function"), "no function");
}

} // namespace
