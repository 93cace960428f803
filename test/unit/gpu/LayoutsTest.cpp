// Every element of a tile has one place in the threads, whatever the layout and the op it passes.
#include "gpu/Layouts.h"
#include "gpu/SharedOperand.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace nereid;
using namespace nereid::gpu;

namespace {

std::vector<int64_t> shapeFrom(std::mt19937 &random, unsigned rank) {
  std::vector<int64_t> shape;
  for (unsigned d = 0; d < rank; ++d)
    shape.push_back(int64_t(1) << (random() % 8));
  return shape;
}

// The slow definition: walks all threads and counts which hold an element; copies agree because a
// zero basis gives the same coordinate.
void expectOnePlaceEach(const LinearLayout &layout, llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  std::map<int64_t, unsigned> places;
  unsigned lanes = 1u << layout.bits(LayoutInput::Lane),
           warps = 1u << layout.bits(LayoutInput::Warp);
  for (unsigned warp = 0; warp < warps; ++warp)
    for (unsigned lane = 0; lane < lanes; ++lane)
      for (unsigned reg = 0; reg < registersOf(layout); ++reg)
        ++places[rowMajor(layout.apply(reg, lane, warp), shape)];
  ASSERT_EQ(int64_t(places.size()), elements);
  uint64_t total = uint64_t(lanes) * warps * registersOf(layout);
  for (auto [index, count] : places) {
    ASSERT_LT(index, elements);
    ASSERT_EQ(count, total / uint64_t(elements)) << "element " << index;
  }
}

LinearLayout randomBlocked(std::mt19937 &random, llvm::ArrayRef<int64_t> shape, unsigned warps) {
  llvm::SmallVector<unsigned> order;
  for (unsigned d = 0; d < shape.size(); ++d)
    order.push_back(d);
  std::shuffle(order.begin(), order.end(), random);
  return blockedLayout(shape, 1u << (random() % 4), order, warps);
}

TEST(Layouts, BlockedCoversEveryShape) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 200; ++round) {
    auto shape = shapeFrom(random, 1 + random() % 3);
    unsigned warps = 1u << (random() % 5);
    LinearLayout layout = randomBlocked(random, shape, warps);
    ASSERT_EQ(layout.bits(LayoutInput::Lane), 5u);
    ASSERT_EQ(1u << layout.bits(LayoutInput::Warp), warps);
    EXPECT_TRUE(covers(layout, shape));
    expectOnePlaceEach(layout, shape);
  }
}

TEST(Layouts, BlockedGivesAThreadAdjacentElements) {
  LinearLayout layout = blockedLayout({64, 64}, 8, {1, 0}, 4);
  EXPECT_EQ(consecutiveRegisters(layout, 1), 8u);
  EXPECT_EQ(consecutiveRegisters(layout, 0), 1u);
  EXPECT_EQ(layout.apply(0, 1, 0), (LinearLayout::Basis{0, 8}));
  EXPECT_EQ(layout.apply(0, 8, 0), (LinearLayout::Basis{1, 0}));
}

TEST(Layouts, MmaFragmentsCoverTheirTiles) {
  for (int64_t m : {16, 32, 64, 128})
    for (int64_t n : {8, 16, 64, 256})
      for (int64_t k : {16, 64})
        for (auto [warps, bytes] :
             {std::pair(1u, 2u), {2u, 2u}, {4u, 2u}, {8u, 2u}, {4u, 4u}, {4u, 1u}}) {
          if (k < mmaDepth(bytes))
            continue;
          auto sum = mmaAccumulator({m, n}, warps);
          auto lhs = mmaLhs({m, k}, n, warps, bytes), rhs = mmaRhs({k, n}, m, warps, bytes);
          ASSERT_TRUE(sum && lhs && rhs);
          // A word holds neighbours along K.
          EXPECT_EQ(consecutiveRegisters(*lhs, 1), 4 / bytes);
          EXPECT_EQ(consecutiveRegisters(*rhs, 0), 4 / bytes);
          expectOnePlaceEach(*sum, {m, n});
          expectOnePlaceEach(*lhs, {m, k});
          expectOnePlaceEach(*rhs, {k, n});
          // A warp multiplies rows and columns that it holds.
          for (unsigned warp = 0; warp < warps; ++warp) {
            auto at = sum->apply(0, 0, warp);
            EXPECT_EQ(lhs->apply(0, 0, warp)[0], at[0]);
            EXPECT_EQ(rhs->apply(0, 0, warp)[1], at[1]);
          }
        }
  EXPECT_FALSE(mmaAccumulator({8, 8}, 4));
  EXPECT_FALSE(mmaLhs({16, 8}, 8, 4));
}

TEST(Layouts, WarpGroupFragmentsCoverTheirTiles) {
  for (int64_t m : {64, 128, 256})
    for (int64_t n : {16, 64, 128, 512})
      for (unsigned warps : {4, 8, 16}) {
        auto parts = wgmmaShape({m, n}, warps);
        if (!parts)
          continue;
        EXPECT_EQ(parts->alongM * parts->alongN * 4, warps);
        auto sum = wgmmaAccumulator({m, n}, warps), lhs = wgmmaLhs({m, 32}, n, warps);
        ASSERT_TRUE(sum && lhs);
        expectOnePlaceEach(*sum, {m, n});
        for (unsigned bytes : {1, 2, 4})
          expectOnePlaceEach(*wgmmaLhs({m, 32}, n, warps, bytes), {m, 32});
        for (unsigned warp = 0; warp < warps; ++warp)
          EXPECT_EQ(lhs->apply(0, 0, warp)[0], sum->apply(0, 0, warp)[0]);
      }
  // The sum of one product is the left operand of the next.
  EXPECT_EQ(wgmmaAccumulator({128, 64}, 8), wgmmaLhs({128, 64}, 32, 8));
  EXPECT_FALSE(wgmmaShape({32, 64}, 4));
  EXPECT_FALSE(wgmmaShape({64, 64}, 2)) << "half a warp group";
  EXPECT_FALSE(wgmmaShape({64, 64}, 8)) << "half a column of shared memory each";
}

TEST(SharedOperand, IsAPermutationWithoutBankConflicts) {
  for (int64_t rows : {16, 64})
    for (int64_t columns : {16, 32, 64, 128})
      for (bool isTransposed : {false, true}) {
        std::vector<int64_t> shape = {rows, columns};
        if (isTransposed)
          std::swap(shape[0], shape[1]);
        unsigned major = isTransposed ? 0 : 1;
        SharedOperand operand(shape, blockedLayout(shape, 8, {major, 1 - major}, 4));
        EXPECT_EQ(operand.majorDim(), major);
        std::vector<bool> seen(rows * columns * 2);
        auto offset = [&](int32_t row, int32_t column) {
          LinearLayout::Basis at = {row, column};
          if (isTransposed)
            std::swap(at[0], at[1]);
          return operand.offset(at);
        };
        for (int32_t row = 0; row < rows; ++row)
          for (int32_t column = 0; column < columns; ++column) {
            int64_t at = offset(row, column);
            ASSERT_LT(at, int64_t(seen.size()));
            EXPECT_FALSE(seen[at]) << row << ", " << column;
            seen[at] = true;
          }
        // Eight rows of a matrix of 8 x 8 lie in eight different groups of four banks.
        for (int32_t row = 0; row < rows; row += 8)
          for (int32_t column = 0; column < columns; column += 8) {
            unsigned banks = 0;
            for (int32_t i = 0; i < 8; ++i)
              banks |= 1u << (offset(row + i, column) / 16 % 8);
            EXPECT_EQ(banks, 0xffu) << row << ", " << column << " of " << columns;
          }
      }
}

TEST(Layouts, PassThroughShapeOps) {
  std::mt19937 random(2);
  for (unsigned round = 0; round < 100; ++round) {
    auto shape = shapeFrom(random, 2);
    LinearLayout layout = randomBlocked(random, shape, 4);
    LinearLayout turned = transposeLayout(layout, {1, 0});
    std::vector<int64_t> turnedShape = {shape[1], shape[0]};
    expectOnePlaceEach(turned, turnedShape);
    EXPECT_EQ(transposeLayout(turned, {1, 0}), layout);

    std::vector<int64_t> flat = {shape[0] * shape[1]};
    LinearLayout reshaped = reshapeLayout(layout, shape, flat);
    expectOnePlaceEach(reshaped, flat);
    EXPECT_EQ(reshapeLayout(reshaped, flat, shape), layout);

    unsigned dim = random() % 2;
    LinearLayout slice = sliceLayout(layout, dim);
    expectOnePlaceEach(slice, {shape[1 - dim]});
    LinearLayout expanded = expandLayout(slice, dim);
    EXPECT_EQ(sliceLayout(expanded, dim), slice);
    std::vector<int64_t> one = shape;
    one[dim] = 1;
    EXPECT_EQ(unbroadcastLayout(layout, one, shape), expanded);
  }
}

} // namespace
