// Every element of a tile has one place in the threads, whatever the layout and the op it passes.
#include "gpu/Layouts.h"
#include "gpu/CodeFacts.h"
#include "gpu/SharedOperand.h"
#include "gpu/TurnedMatrices.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

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
  unsigned perThread = 1u << (random() % 4);
  return random() % 2 ? blockedLayout(shape, perThread, order, warps)
                      : reducedLayout(shape, perThread, 1u << (random() % 6), order, warps);
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

TEST(Layouts, AnyBitComesToARegister) {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 40; ++round) {
    auto shape = shapeFrom(random, 1 + random() % 3);
    LinearLayout layout = randomBlocked(random, shape, 1u << (random() % 4));
    int64_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    for (int64_t index = 1; index < size; index *= 2) {
      LinearLayout out = withRegister(layout, shape, index);
      EXPECT_TRUE(covers(out, shape));
      expectOnePlaceEach(out, shape);
      EXPECT_TRUE(llvm::any_of(out.bases(LayoutInput::Register),
                               [&](const auto &basis) { return rowMajor(basis, shape) == index; }));
      // At most one bit of the lanes and warps is another one.
      unsigned changed = 0;
      for (LayoutInput input : {LayoutInput::Lane, LayoutInput::Warp}) {
        ASSERT_EQ(out.bits(input), layout.bits(input));
        for (unsigned i = 0; i < out.bits(input); ++i)
          changed += out.bases(input)[i] != layout.bases(input)[i];
      }
      EXPECT_LE(changed, 1u);
      EXPECT_EQ(withRegister(out, shape, index), out);
    }
  }
}

TEST(Layouts, BlockedGivesAThreadAdjacentElements) {
  LinearLayout layout = blockedLayout({64, 64}, 8, {1, 0}, 4);
  EXPECT_EQ(consecutiveRegisters(layout, 1), 8u);
  EXPECT_EQ(consecutiveRegisters(layout, 0), 1u);
  EXPECT_EQ(layout.apply(0, 1, 0), (LinearLayout::Basis{0, 8}));
  EXPECT_EQ(layout.apply(0, 8, 0), (LinearLayout::Basis{1, 0}));
}

// A row of 256 lies in eight lanes of one warp, and the other lanes and the warps have other rows;
// of a tile of two rows, what the rows leave goes along them after all.
TEST(Layouts, ReducedRowsLieInFewLanes) {
  LinearLayout layout = reducedLayout({32, 256}, 8, 8, {1, 0}, 4);
  EXPECT_EQ(consecutiveRegisters(layout, 1), 8u);
  EXPECT_EQ(layout.apply(0, 7, 0), (LinearLayout::Basis{0, 56}));
  EXPECT_EQ(layout.apply(0, 8, 0), (LinearLayout::Basis{1, 0}));
  EXPECT_EQ(layout.apply(0, 0, 1), (LinearLayout::Basis{4, 0}));
  EXPECT_EQ(layout.apply(8, 0, 0), (LinearLayout::Basis{0, 64}));
  LinearLayout low = reducedLayout({2, 256}, 4, 8, {1, 0}, 4);
  EXPECT_EQ(low.apply(0, 8, 0), (LinearLayout::Basis{1, 0}));
  EXPECT_EQ(low.apply(0, 16, 0), (LinearLayout::Basis{0, 32}));
  EXPECT_EQ(low.apply(0, 0, 1), (LinearLayout::Basis{0, 64}));
}

// Carries out an exchange on what each lane has in its registers, as the code does that is made
// from it, and looks whether everything is where the other layout says.
void expectExchanges(const LaneExchange &exchange, const LinearLayout &from,
                     const LinearLayout &to) {
  using Step = LaneExchange::Step;
  // By lane, then by the bits of the register index that are set.
  using Registers = std::vector<std::map<unsigned, LinearLayout::Basis>>;
  for (unsigned warp = 0; warp < 1u << from.bits(LayoutInput::Warp); ++warp) {
    Registers has(32);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < registersOf(from); ++reg)
        has[lane][reg] = from.apply(reg, lane, warp);
    for (Step step : exchange.steps) {
      Registers next(32);
      unsigned bit = 1u << step.reg, partner = 1u << step.lane;
      for (unsigned lane = 0; lane < 32; ++lane)
        for (const auto &[reg, element] : has[lane]) {
          bool isHigh = lane & partner, isHighRegister = reg & bit;
          if (step.kind == Step::Swap)
            // The lane keeps the register that has its own bit, and sends the other.
            next[lane][reg] =
                isHigh == isHighRegister ? element : has[lane ^ partner].at(reg ^ bit);
          else if (step.kind == Step::Take && isHigh == isHighRegister)
            next[lane][reg & ~bit] = element;
          else if (step.kind == Step::Spread)
            for (unsigned side : {0u, 1u})
              next[lane][reg | (side ? bit : 0)] =
                  side == isHigh ? element : has[lane ^ partner].at(reg);
        }
      has = next;
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned source = 0;
      for (auto [i, bit] : llvm::enumerate(exchange.lanes))
        source |= (lane >> i & 1) << bit;
      for (unsigned reg = 0; reg < registersOf(to); ++reg) {
        unsigned own = 0;
        for (auto [i, bit] : llvm::enumerate(exchange.registers))
          own |= (reg >> i & 1) << bit;
        ASSERT_EQ(has[source].at(own), to.apply(reg, lane, warp)) << "lane " << lane;
      }
    }
  }
}

TEST(Layouts, ExchangesWithinWarpsBringEachElementToItsPlace) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 600; ++round) {
    // The same bits of a tile's coordinates in registers and lanes, shuffled; some lanes hold
    // copies.
    unsigned warps = random() % 3, count = 3 + random() % 6;
    std::vector<LinearLayout::Basis> bases;
    for (unsigned bit = 0; bit < count + warps; ++bit)
      bases.push_back(bit % 2 ? LinearLayout::Basis{1 << bit / 2, 0}
                              : LinearLayout::Basis{0, 1 << bit / 2});
    std::shuffle(bases.begin(), bases.end(), random);
    auto made = [&] {
      std::vector<LinearLayout::Basis> places(bases.begin(), bases.begin() + count);
      std::shuffle(places.begin(), places.end(), random);
      size_t inLanes = std::min<size_t>(5, random() % (places.size() + 1));
      std::vector<LinearLayout::Basis> lanes(places.begin(), places.begin() + inLanes);
      lanes.resize(5, LinearLayout::Basis{0, 0});
      std::shuffle(lanes.begin(), lanes.end(), random);
      LinearLayout layout(2);
      for (size_t i = inLanes; i < places.size(); ++i)
        layout.addBasis(LayoutInput::Register, places[i]);
      for (const LinearLayout::Basis &lane : lanes)
        layout.addBasis(LayoutInput::Lane, lane);
      for (unsigned i = count; i < count + warps; ++i)
        layout.addBasis(LayoutInput::Warp, bases[i]);
      return layout;
    };
    LinearLayout from = made(), to = made();
    auto exchange = exchangeInWarps(from, to);
    ASSERT_TRUE(exchange);
    expectExchanges(*exchange, from, to);
  }
  LinearLayout rows = blockedLayout({64, 64}, 1, {1, 0}, 4),
               columns = blockedLayout({64, 64}, 1, {0, 1}, 4);
  EXPECT_FALSE(exchangeInWarps(rows, columns)) << "elements leave their warps";
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

// Both operands are permuted alike, and a thread's elements of one instruction are neighbours.
TEST(Layouts, NeighboursPermuteTheDepthOfBothFragments) {
  using Sizes = std::tuple<int64_t, int64_t, int64_t>;
  for (auto [m, n, k] : {Sizes(16, 64, 128), Sizes(32, 16, 16), Sizes(64, 8, 32)})
    for (auto [warps, bytes] : {std::pair(1u, 2u), {4u, 2u}, {8u, 2u}, {1u, 4u}, {4u, 4u}}) {
      auto lhs = mmaLhs({m, k}, n, warps, bytes), rhs = mmaRhs({k, n}, m, warps, bytes);
      ASSERT_TRUE(lhs && rhs);
      for (unsigned count = 4 / bytes; 4 * count <= k; count *= 2) {
        LinearLayout left = withNeighbours(*lhs, 1, bytes, count),
                     right = withNeighbours(*rhs, 0, bytes, count);
        expectOnePlaceEach(left, {m, k});
        expectOnePlaceEach(right, {k, n});
        std::set<int32_t> first; // of lane 0, in one row
        for (uint32_t reg = 0; reg < registersOf(right); ++reg)
          if (right.apply(reg, 0, 0)[1] == 0)
            first.insert(right.apply(reg, 0, 0)[0]);
        for (int32_t i = 0; i < int32_t(count); ++i)
          EXPECT_TRUE(first.count(i));
        std::map<int32_t, int32_t> permuted; // where an element along K was, where it is
        for (uint32_t lane = 0; lane < 32; ++lane) {
          for (uint32_t reg = 0; reg < registersOf(left); ++reg) {
            int32_t was = lhs->apply(reg, lane, 0)[1], is = left.apply(reg, lane, 0)[1];
            EXPECT_EQ(permuted.try_emplace(was, is).first->second, is);
          }
          for (uint32_t reg = 0; reg < registersOf(right); ++reg)
            EXPECT_EQ(permuted.at(rhs->apply(reg, lane, 0)[0]), right.apply(reg, lane, 0)[0]);
        }
        EXPECT_EQ(permuted.size(), size_t(k));
        for (auto [was, is] : permuted)
          EXPECT_EQ(placeAlongDepth(was, bytes, count), is);
      }
    }
}

TEST(Layouts, WarpGroupFragmentsCoverTheirTiles) {
  for (int64_t m : {64, 128, 256})
    for (int64_t n : {16, 64, 128, 512})
      for (unsigned warps : {4, 8, 16}) {
        auto parts = wgmmaShape({m, n}, warps, true);
        if (!parts)
          continue;
        EXPECT_EQ(parts->alongM * parts->alongN * 4, warps);
        auto sum = wgmmaAccumulator({m, n}, warps, true),
             lhs = wgmmaLhs({m, 32}, n, warps, 2, true);
        ASSERT_TRUE(sum && lhs);
        expectOnePlaceEach(*sum, {m, n});
        for (unsigned bytes : {1, 2, 4})
          expectOnePlaceEach(*wgmmaLhs({m, 32}, n, warps, bytes, true), {m, 32});
        for (unsigned warp = 0; warp < warps; ++warp)
          EXPECT_EQ(lhs->apply(0, 0, warp)[0], sum->apply(0, 0, warp)[0]);
      }
  // The sum of one product is the left operand of the next.
  EXPECT_EQ(wgmmaAccumulator({128, 64}, 8), wgmmaLhs({128, 64}, 32, 8));
  EXPECT_FALSE(wgmmaShape({32, 64}, 4));
  EXPECT_FALSE(wgmmaShape({64, 64}, 2)) << "half a warp group";
  EXPECT_FALSE(wgmmaShape({64, 64}, 8)) << "half a column of shared memory each";
  EXPECT_EQ(wgmmaShape({64, 64}, 8, true)->columns, 32u) << "rows of what lies along K";
  EXPECT_FALSE(wgmmaShape({64, 64}, 16, true));
}

// A thread's rows are neighbours, those of an operand and of the sum the same, and a half or a
// quarter of a warp that reads 8 or 16 bytes a lane at once meets each bank once.
TEST(Layouts, RowsTogetherAreReadWithoutBankConflicts) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>(64, 64), {128, 128}, {128, 256}, {256, 128}})
    for (unsigned warps : {4u, 8u}) {
      auto sum = wgmmaAccumulator({m, n}, warps), lhs = wgmmaLhs({m, 32}, n, warps, 4);
      if (!sum || !lhs)
        continue; // half a column of shared memory each
      IndexOrder order = orderTogether(*lhs, 0);
      LinearLayout rows = inOrder(*lhs, 0, order), out = inOrder(*sum, 0, order);
      expectOnePlaceEach(rows, {m, 32});
      expectOnePlaceEach(out, {m, n});
      std::map<int32_t, int32_t> places; // where a row was, where it is
      for (auto [was, is] : {std::pair(&*lhs, &rows), {&*sum, &out}})
        for (uint32_t warp = 0; warp < warps; ++warp)
          for (uint32_t lane = 0; lane < 32; ++lane)
            for (uint32_t reg = 0; reg < registersOf(*is); ++reg) {
              auto [found, fresh] =
                  places.try_emplace(was->apply(reg, lane, warp)[0], is->apply(reg, lane, warp)[0]);
              EXPECT_EQ(found->second, is->apply(reg, lane, warp)[0]);
            }
      // K x M in columns of 128 bytes, the 16 bytes of a row permuted by its number.
      bool isWide = m > 64 * wgmmaShape({m, n}, warps)->alongM;
      uint32_t lanes = isWide ? 8 : 16, bytes = isWide ? 16 : 8;
      std::set<int32_t> banks;
      for (uint32_t lane = 0; lane < lanes; ++lane) {
        auto at = rows.apply(0, lane, 0);
        int32_t inRow = (at[0] * 4 % 128) ^ (at[1] % 8 * 16);
        EXPECT_EQ(inRow % int32_t(bytes), 0);
        EXPECT_TRUE(banks.insert(inRow).second);
      }
    }
}

// The same for mma.sync, and operands of few rows or columns keep them.
TEST(Layouts, ColumnsTogetherHaveOnePlaceEach) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>(16, 8), {32, 16}, {16, 32}, {32, 64}, {128, 128}})
    for (unsigned warps : {1u, 4u, 8u}) {
      auto sum = mmaAccumulator({m, n}, warps), lhs = mmaLhs({m, 32}, n, warps, 4),
           rhs = mmaRhs({32, n}, m, warps, 4);
      ASSERT_TRUE(sum && lhs && rhs);
      IndexOrder rows = orderTogether(*lhs, 0), columns = orderTogether(*rhs, 1);
      expectOnePlaceEach(inOrder(*lhs, 0, rows), {m, 32});
      expectOnePlaceEach(inOrder(*rhs, 1, columns), {32, n});
      expectOnePlaceEach(inOrder(inOrder(*sum, 0, rows), 1, columns), {m, n});
      if (n < 32)
        EXPECT_EQ(inOrder(*rhs, 1, columns), *rhs);
    }
}

// Where lhs (rows x K) and rhs (K x columns) of a batch's matrices are read, one below the other.
LinearLayout::Basis operandPlace(llvm::ArrayRef<int64_t> sum, int64_t depth, unsigned number,
                                 llvm::ArrayRef<int32_t> at, int64_t k) {
  int64_t batch = rowMajor(at.drop_back(2), sum.drop_back(2));
  unsigned rank = sum.size();
  if (number == 0)
    return {int32_t(batch * sum[rank - 2] + at[rank - 2]), int32_t(k)};
  return {int32_t(batch * depth + k), at[rank - 1]};
}

TEST(Layouts, ThreadsReadTheOperandsOfTheirSums) {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 100; ++round) {
    auto shape = shapeFrom(random, 2 + random() % 2);
    unsigned warps = 1u << (random() % 4);
    int64_t depth = int64_t(1) << (random() % 6), together = std::min<int64_t>(depth, 4);
    LinearLayout sum = fmaAccumulator(shape, warps);
    ASSERT_TRUE(covers(sum, shape));
    expectOnePlaceEach(sum, shape);
    for (unsigned number : {0, 1}) {
      auto place = [&](llvm::ArrayRef<int32_t> at, int64_t k) {
        return operandPlace(shape, depth, number, at, k);
      };
      LinearLayout reads = fmaOperand(sum, depth, together, place);
      if (together > 1)
        EXPECT_EQ(consecutiveRegisters(reads, 1 - number) % together, 0u);
      for (unsigned lane : {0, 7, 31}) {
        unsigned warp = random() % warps;
        std::set<std::vector<int32_t>> read;
        for (unsigned reg = 0; reg < registersOf(reads); ++reg) {
          auto at = reads.apply(reg, lane, warp);
          read.emplace(at.begin(), at.end());
        }
        EXPECT_EQ(read.size(), registersOf(reads)) << "read twice";
        for (unsigned reg = 0; reg < registersOf(sum); ++reg)
          for (int64_t k = 0; k < depth; ++k) {
            auto at = place(sum.apply(reg, lane, warp), k);
            ASSERT_TRUE(read.count({at.begin(), at.end()}));
          }
      }
    }
  }
}

// Pairs of lanes read the same 16 bytes, and what a half of a warp reads lies in different banks.
TEST(Layouts, OuterProductsReadWithoutBankConflicts) {
  for (int64_t depth : {16, 32, 64})
    for (auto [m, n, warps] :
         {std::tuple(64, 64, 4u), {128, 128, 8u}, {32, 64, 4u}, {16, 128, 4u}}) {
      std::vector<int64_t> shape = {m, n};
      LinearLayout sum = fmaAccumulator(shape, warps);
      for (unsigned number : {0, 1}) {
        auto place = [&](llvm::ArrayRef<int32_t> at, int64_t k) {
          return operandPlace(shape, depth, number, at, k);
        };
        LinearLayout reads = fmaOperand(sum, depth, number == 0 ? 4 : 1, place);
        SharedOperand shared(
            number == 0 ? std::vector<int64_t>{m, depth} : std::vector<int64_t>{depth, n}, 1u, 4);
        EXPECT_EQ(shared.vectorOf(reads), 4u);
        for (unsigned half : {0, 16}) {
          std::set<int64_t> places, banks;
          for (unsigned lane = half; lane < half + 16; ++lane) {
            int64_t offset = shared.offset(reads.apply(0, lane, 0));
            EXPECT_EQ(offset, shared.offset(reads.apply(0, lane ^ (number == 0 ? 1 : 2), 0)));
            places.insert(offset);
            banks.insert(offset / 16 % 8);
          }
          EXPECT_EQ(places.size(), 4u);
          EXPECT_EQ(banks.size(), places.size());
        }
      }
    }
}

TEST(Layouts, WordsTurnWithoutBankConflicts) {
  for (auto shape : {std::vector<int64_t>{32, 64}, {64, 128}, {8, 16}, {128, 8}})
    for (unsigned dim : {0, 1})
      for (unsigned warps : {4, 8}) {
        LinearLayout layout = turningLayout(shape, dim, warps);
        expectOnePlaceEach(layout, shape);
        SharedOperand shared(shape, layout, 4);
        EXPECT_EQ(shared.majorDim(), dim);
        std::set<int64_t> banks, sectors;
        for (unsigned lane = 0; lane < 32; ++lane) {
          auto at = layout.apply(0, lane, 0);
          banks.insert(shared.offset(at) / 4 % 32);
          sectors.insert(at[dim] * shape[1 - dim] + at[1 - dim] / 8);
        }
        EXPECT_EQ(banks.size(), 32u) << shape[0] << " x " << shape[1] << " along " << dim;
        EXPECT_EQ(sectors.size(), 4u);
      }
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

// By the definition of `ldmatrix.trans`: of matrix i lane t gets elements t / 4 of rows 2 (t % 4)
// and the next one, whose addresses lanes 8i + row name.
TEST(Layouts, TurnedMatricesBringEveryElement) {
  std::mt19937 random(5);
  mlir::MLIRContext context;
  unsigned turned = 0;
  for (unsigned round = 0; round < 500; ++round) {
    std::vector<int64_t> shape = {int64_t(8) << (random() % 5), int64_t(8) << (random() % 5)};
    unsigned warps = 1u << (random() % 4);
    LinearLayout from = reducedLayout(shape, 1u << (1 + random() % 3), 1u << (random() % 6),
                                      {0u, 1u}, warps),
                 to = reducedLayout(shape, 1u << (1 + random() % 3), 1u << (random() % 4), {1u, 0u},
                                    warps);
    auto plan = TurnedMatrices::of(from, to);
    if (!plan)
      continue;
    ++turned;
    auto at = [](const LinearLayout &plain, const LinearLayout &swizzle, unsigned reg,
                 unsigned lane, unsigned warp) {
      return plain.apply(reg, lane, warp)[0] ^ swizzle.apply(reg, lane, warp)[0];
    };
    std::map<int64_t, int64_t> memory; // element by place
    for (unsigned warp = 0; warp < warps; ++warp)
      for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
        for (unsigned reg = 0; reg < registersOf(from); ++reg) {
          int64_t place = at(plan->writers, plan->writerSwizzle, reg & -plan->vector, lane, warp) +
                          2 * (reg % plan->vector);
          int64_t element = rowMajor(from.apply(reg, lane, warp), shape);
          ASSERT_LT(place, plan->bytes);
          ASSERT_EQ(memory.try_emplace(place, element).first->second, element);
        }
    ASSERT_EQ(int64_t(memory.size()), shape[0] * shape[1]);
    for (unsigned warp = 0; warp < warps; ++warp)
      for (unsigned lane = 0; lane < lanesPerWarp; ++lane)
        for (unsigned reg = 0; reg < registersOf(to); ++reg) {
          unsigned matrix = reg / 2 % plan->matrices, row = 2 * (lane % 4) + reg % 2;
          int64_t place = at(plan->readers, plan->readerSwizzle, reg & -(2 * plan->matrices),
                             8 * matrix + row, warp);
          ASSERT_EQ(place % 16, 0);
          ASSERT_EQ(memory.at(place + 2 * (lane / 4)), rowMajor(to.apply(reg, lane, warp), shape));
        }
    auto cycles = [&](unsigned bytes, const LinearLayout &plain, const LinearLayout &swizzle) {
      return sharedAccess(mlir::UnknownLoc::get(&context), "", bytes, 1, 1,
                          [&](unsigned lane) { return at(plain, swizzle, 0, lane, 0); });
    };
    AccessFact read = cycles(16, plan->readers, plan->readerSwizzle);
    ASSERT_LE(read.transactions, read.fewest);
    if (plan->vector == 8) {
      AccessFact written = cycles(16, plan->writers, plan->writerSwizzle);
      ASSERT_LE(written.transactions, written.fewest);
    }
  }
  EXPECT_GT(turned, 50u);
}

} // namespace
