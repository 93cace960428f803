#include "support/HostTensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

using namespace nereid;
using namespace nereid::support;

namespace {

TEST(HostTensor, StridesLeavePoisonedGaps) {
  HostTensor t(DType::Float32, {2, 3}, {5, 1}, 4);
  fillRange(t);
  EXPECT_EQ(t.allocationBytes(), (4 + 5 + 3) * sizeof(float));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.allocation()) % 64, 0u);
  const float *all = static_cast<const float *>(t.allocation());
  EXPECT_TRUE(std::isnan(all[0]));
  EXPECT_EQ(all[4], 0);
  EXPECT_TRUE(std::isnan(all[7]));
  EXPECT_EQ(all[9], 3);
  EXPECT_EQ(t.get(5), 5);
  EXPECT_EQ(t.toArray().floatAt(4), 4);
}

TEST(HostTensor, ConvertsAsTheLanguageDoes) {
  HostTensor f16(DType::Float16, {1}), i8(DType::Int8, {1}), u64(DType::UInt64, {1}),
      b(DType::Int1, {1});
  f16.set(0, 1.0 + 0x1p-11); // half-way: to even
  EXPECT_EQ(f16.get(0), 1.0);
  i8.setInt(0, 300);
  EXPECT_EQ(i8.getInt(0), 44);
  u64.setInt(0, -1);
  EXPECT_EQ(u64.get(0), 0x1p64);
  b.setInt(0, 2);
  EXPECT_EQ(b.getInt(0), 1);
}

TEST(HostTensor, RandomValuesDependOnSeedAndIndexOnly) {
  HostTensor a(DType::Float32, {64}), b(DType::Float32, {8, 8}, {16, 1}), c(DType::Float32, {64});
  fillNormal(a, "x"), fillNormal(b, "x"), fillNormal(c, "y");
  EXPECT_EQ(a.packed(), b.packed());
  EXPECT_NE(a.packed(), c.packed());
}

TEST(HostTensor, LargeTensorsOfAnyLayoutHaveTheSameValues) {
  // Large enough to be filled by several threads.
  constexpr int64_t rows = 4, columns = 1 << 18;
  HostTensor dense(DType::Float32, {rows, columns}),
      turned(DType::Float32, {rows, columns}, {1, rows}),
      apart(DType::Float32, {rows, columns}, {2 * columns + 6, 2}, 3),
      onePlace(DType::Float32, {rows, columns}, {0, 1}),
      reaching(DType::Float32, {rows, columns}, {columns - 1, 1});
  for (HostTensor *tensor : {&dense, &turned, &apart, &onePlace, &reaching})
    fillNormal(*tensor, "x");
  EXPECT_EQ(dense.packed(), turned.packed());
  EXPECT_EQ(dense.packed(), apart.packed());
  // What is written last stays.
  for (int64_t column = 0; column < columns; column += 1000)
    for (int64_t row = 0; row < rows; ++row)
      ASSERT_EQ(onePlace.get(row * columns + column), dense.get((rows - 1) * columns + column));
  for (int64_t row = 0; row + 1 < rows; ++row)
    ASSERT_EQ(reaching.get(row * columns + columns - 1), dense.get((row + 1) * columns));
  HostTensor sevens(DType::BFloat16, {columns * rows});
  fillValue(sevens, 7);
  for (int64_t i = 0; i < columns * rows; i += 999)
    ASSERT_EQ(sevens.get(i), 7);
}

TEST(HostTensor, RandomValuesHaveTheirDistribution) {
  constexpr int64_t n = 200000;
  HostTensor t(DType::Float64, {n});
  fillNormal(t, "seed", 2, 3);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += t.get(i);
  for (int64_t i = 0; i < n; ++i)
    squares += (t.get(i) - 2) * (t.get(i) - 2);
  EXPECT_NEAR(sum / n, 2, 0.03); // four standard errors
  EXPECT_NEAR(squares / n, 9, 0.12);
  fillUniform(t, "seed", -1, 1);
  sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += t.get(i);
    ASSERT_GE(t.get(i), -1);
    ASSERT_LT(t.get(i), 1);
  }
  EXPECT_NEAR(sum / n, 0, 0.006);
  HostTensor k(DType::Int32, {1000});
  fillInteger(k, "seed", -3, 4);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 1000; ++i)
    seen.insert(k.getInt(i));
  EXPECT_EQ(seen, (std::set<int64_t>{-3, -2, -1, 0, 1, 2, 3}));
  fillPermutation(k, "seed");
  seen.clear();
  for (int64_t i = 0; i < 1000; ++i)
    seen.insert(k.getInt(i));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(*seen.rbegin(), 999);
  EXPECT_THROW(fillInteger(k, "s", 3, 3), ArrayError);
}

TEST(HostTensor, ComparesWithDerivedTolerance) {
  HostTensor t(DType::Float32, {4});
  Array want(Array::Kind::Float, {4});
  const double values[] = {1, NAN, INFINITY, 100};
  for (int i = 0; i < 4; ++i)
    t.set(i, values[i]), want.floats()[i] = values[i];
  EXPECT_TRUE(compare(t, want, {}).passed);
  t.set(3, 100.5);
  Comparison c = compare(t, want, {1e-3, 0});
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.worstIndex, 3);
  EXPECT_EQ(c.failures, 1);
  EXPECT_NEAR(c.tolerance, 0.1, 1e-12);
  EXPECT_TRUE(compare(t, want, {1e-2, 0}).passed);
  t.set(1, 0); // a number where NaN is due never passes
  EXPECT_FALSE(compare(t, want, {1e9, 1e9}).passed);
  t.poison();
  EXPECT_EQ(compare(t, want, {1, 1}).failures, 3);
}

TEST(HostTensor, SpecialValuesAmongOthersLeaveRowsAsTheyWere) {
  HostTensor t(DType::Float16, {2, 4, 9}), plain(DType::Float16, {2, 4, 9});
  for (HostTensor *one : {&t, &plain})
    fillNormal(*one, "seed", 0, 1);
  plantSpecial(t);
  auto count = [&](int64_t row, auto &&is) {
    int64_t found = 0;
    for (int64_t column = 0; column < 9; ++column)
      found += is(t.get(row * 9 + column), plain.get(row * 9 + column));
    return found;
  };
  auto same = [](double a, double b) { return a == b; };
  auto small = [](double a, double) { return std::abs(a) <= std::ldexp(1, -24); };
  auto infinite = [](double a, double) { return std::isinf(a); };
  EXPECT_EQ(count(0, same), 9);
  EXPECT_EQ(count(1, small), 9);
  EXPECT_EQ(count(2, same), 8);
  EXPECT_EQ(count(2, [](double a, double) { return std::isnan(a); }), 1);
  EXPECT_EQ(t.get(3 * 9 + 3), INFINITY);
  EXPECT_EQ(t.get(4 * 9 + 3), -INFINITY);
  EXPECT_EQ(count(5, infinite), 2);
  EXPECT_EQ(count(6, same), 9);

  HostTensor flat(DType::Float32, {20});
  fillValue(flat, 2);
  plantSpecial(flat);
  for (int64_t i = 0; i < 20; i += 2)
    EXPECT_EQ(flat.get(i), 2);
  EXPECT_TRUE(std::signbit(flat.get(3)) && flat.get(3) == 0);
  EXPECT_TRUE(std::isnan(flat.get(13)));
  HostTensor none(DType::Float32, {3, 0});
  plantSpecial(none);
}

TEST(HostTensor, SpecialValuesReachEveryKind) {
  HostTensor t(DType::BFloat16, {12});
  fillSpecial(t);
  EXPECT_TRUE(std::signbit(t.get(1)));
  EXPECT_TRUE(std::isinf(t.get(4)));
  EXPECT_TRUE(std::isnan(t.get(6)));
  EXPECT_GT(t.get(7), 0);
  EXPECT_GT(t.get(9), 3e38);
  HostTensor i(DType::Int64, {4});
  fillSpecial(i);
  EXPECT_EQ(i.getInt(3), INT64_MIN);
}

TEST(HostTensor, RefusesAbsurdSizes) {
  EXPECT_THROW(HostTensor(DType::Float32, {int64_t(1) << 40, int64_t(1) << 40}), ArrayError);
  EXPECT_THROW(HostTensor(DType::Float32, {2}, {int64_t(1) << 62}), ArrayError);
  EXPECT_THROW(HostTensor(DType::Float32, {-1}), ArrayError);
  EXPECT_EQ(HostTensor(DType::Float32, {0, 5}).numel(), 0);
}

TEST(HostTensor, ReadsManyElementsAsOne) {
  for (DType type :
       {DType::Float16, DType::BFloat16, DType::Float8E4NV, DType::Float8E5, DType::Float8E4B15,
        DType::Float32, DType::Float64, DType::Int1, DType::Int16, DType::UInt64}) {
    for (const std::vector<int64_t> &strides : {std::vector<int64_t>{}, {7, 2}}) {
      HostTensor t(type, {5, 3}, strides, 1);
      fillSpecial(t);
      double values[9];
      t.read(4, 13, values);
      for (int64_t i = 4; i < 13; ++i)
        EXPECT_EQ(std::bit_cast<uint64_t>(values[i - 4]), std::bit_cast<uint64_t>(t.get(i)))
            << info(type).name << " " << i;
    }
  }
}

// A comparison is shared out among processors; what it says does not depend on how.
TEST(HostTensor, ComparesLargeTensors) {
  constexpr int64_t n = 3'000'001;
  HostTensor t(DType::Float16, {n});
  fillNormal(t, "large");
  Array want = t.toArray();
  EXPECT_TRUE(compare(t, want, {}).passed);
  for (int64_t at : {int64_t(17), int64_t(1'500'000), n - 1})
    t.set(at, t.get(at) + 64);
  t.set(2'000'000, NAN);
  t.set(2'900'000, NAN);
  Comparison c = compare(t, want, {0, 1e-3});
  EXPECT_EQ(c.failures, 5);
  EXPECT_EQ(c.worstIndex, 2'000'000); // the first of two
  EXPECT_TRUE(std::isinf(c.error));
}

} // namespace
