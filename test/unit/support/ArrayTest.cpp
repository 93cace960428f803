#include "support/Array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace nereid::support;

namespace {

using Shape = Array::Shape;

Array floats(Shape shape, std::vector<double> values) {
  Array a(Array::Kind::Float, std::move(shape));
  std::copy(values.begin(), values.end(), a.floats().begin());
  return a;
}
Array ints(Shape shape, std::vector<int64_t> values) {
  Array a(Array::Kind::Int, std::move(shape));
  std::copy(values.begin(), values.end(), a.ints().begin());
  return a;
}
std::vector<double> list(const Array &a) {
  std::vector<double> out;
  for (int64_t i = 0; i < a.size(); ++i)
    out.push_back(a.floatAt(i));
  return out;
}
using Values = std::vector<double>;
const double nan = std::nan(""), inf = INFINITY;

TEST(Array, BroadcastsAsNumPyDoes) {
  Array sum = binary(ArrayBinary::Add, ints({3, 1}, {10, 20, 30}), ints({2}, {1, 2}));
  EXPECT_EQ(sum.shape(), (Shape{3, 2}));
  EXPECT_EQ(list(sum), (Values{11, 12, 21, 22, 31, 32}));
  EXPECT_EQ(sum.kind(), Array::Kind::Int);
  EXPECT_THROW(binary(ArrayBinary::Add, ints({2}, {1, 2}), ints({3}, {1, 2, 3})), ArrayError);
}

TEST(Array, KindsCombine) {
  Array b(Array::Kind::Bool, {2});
  b.bools()[1] = 1;
  EXPECT_EQ(binary(ArrayBinary::Add, b, ints({}, {1})).kind(), Array::Kind::Int);
  EXPECT_EQ(binary(ArrayBinary::TrueDiv, ints({}, {1}), ints({}, {2})).floatAt(0), 0.5);
  EXPECT_EQ(unary(ArrayUnary::Invert, b).kind(), Array::Kind::Bool);
  EXPECT_EQ(list(unary(ArrayUnary::Invert, b)), (Values{1, 0}));
  EXPECT_EQ(reduce(ArrayReduction::Sum, b, {}, false).intAt(0), 1);
}

TEST(Array, IntegerDivisionFloorsAndNeverFaults) {
  EXPECT_EQ(
      list(binary(ArrayBinary::FloorDiv, ints({4}, {7, -7, 7, -7}), ints({4}, {2, 2, -2, -2}))),
      (Values{3, -4, -4, 3}));
  EXPECT_EQ(list(binary(ArrayBinary::Mod, ints({4}, {7, -7, 7, -7}), ints({4}, {2, 2, -2, -2}))),
            (Values{1, 1, -1, -1}));
  int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(binary(ArrayBinary::FloorDiv, ints({}, {least}), ints({}, {-1})).intAt(0), least);
  EXPECT_EQ(binary(ArrayBinary::FloorDiv, ints({}, {1}), ints({}, {0})).intAt(0), 0);
}

TEST(Array, ComparesIntegersExactly) {
  int64_t big = (int64_t(1) << 53) + 1;
  EXPECT_FALSE(binary(ArrayBinary::Eq, ints({}, {big}), ints({}, {big - 1})).boolAt(0));
}

TEST(Array, ReducesAlongAxes) {
  Array a = floats({2, 3}, {1, 5, 3, 4, 2, 6});
  EXPECT_EQ(list(reduce(ArrayReduction::Sum, a, 0, false)), (Values{5, 7, 9}));
  EXPECT_EQ(list(reduce(ArrayReduction::Max, a, 1, false)), (Values{5, 6}));
  EXPECT_EQ(reduce(ArrayReduction::Max, a, -1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(list(reduce(ArrayReduction::ArgMax, a, 1, false)), (Values{1, 2}));
  EXPECT_EQ(reduce(ArrayReduction::Mean, a, {}, false).floatAt(0), 3.5);
  EXPECT_EQ(list(reduce(ArrayReduction::Prod, ints({2, 2}, {2, 3, 4, 5}), 0, false)),
            (Values{8, 15}));
  EXPECT_TRUE(std::isnan(reduce(ArrayReduction::Max, floats({2}, {nan, 1}), 0, false).floatAt(0)));
  EXPECT_EQ(reduce(ArrayReduction::Sum, floats({2}, {inf, 1}), 0, false).floatAt(0), inf);
  EXPECT_THROW(reduce(ArrayReduction::Sum, a, 2, false), ArrayError);
  EXPECT_THROW(reduce(ArrayReduction::Max, floats({0}, {}), 0, false), ArrayError);
}

TEST(Array, SumsWithoutDrift) {
  Array a(Array::Kind::Float, {100001});
  a.floats()[0] = 1;
  for (int64_t i = 1; i < a.size(); ++i)
    a.floats()[i] = 1e-17;
  EXPECT_DOUBLE_EQ(reduce(ArrayReduction::Sum, a, {}, false).floatAt(0), 1 + 1e-12);
}

TEST(Array, MultipliesMatrices) {
  Array a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(list(matmul(a, a.transpose({}))), (Values{14, 32, 32, 77}));
  EXPECT_EQ(list(matmul(a, floats({3}, {1, 0, 2}))), (Values{7, 16}));
  EXPECT_EQ(matmul(floats({3}, {1, 2, 3}), floats({3}, {1, 2, 3})).shape(), (Shape{}));
  EXPECT_EQ(list(matmul(floats({2}, {1, 2}), a)), (Values{9, 12, 15}));
  Array batch = matmul(Array(Array::Kind::Int, {5, 1, 2, 3}), Array(Array::Kind::Int, {4, 3, 2}));
  EXPECT_EQ(batch.shape(), (Shape{5, 4, 2, 2}));
  EXPECT_EQ(batch.kind(), Array::Kind::Int);
  EXPECT_THROW(matmul(a, a), ArrayError);
}

TEST(Array, Reshapes) {
  Array a = arange(0, 6, 1);
  EXPECT_EQ(a.reshape({2, -1}).shape(), (Shape{2, 3}));
  EXPECT_EQ(list(a.reshape({2, 3}).transpose({1, 0})), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(list(a.reshape({1, 2, 3}).swapaxes(-1, 0)), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(list(a.reshape({3, 2}).expandDims(1).broadcastTo({3, 2, 2})),
            (Values{0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5}));
  EXPECT_THROW(a.reshape({4, -1}), ArrayError);
  EXPECT_THROW(a.reshape({-1, -1}), ArrayError);
}

TEST(Array, IndexesAndSlices) {
  Array a = arange(0, 12, 1).reshape({3, 4});
  auto at = [&](std::vector<ArrayIndex> items) { return index(a, items); };
  EXPECT_EQ(list(at({int64_t(-1)})), (Values{8, 9, 10, 11}));
  EXPECT_EQ(list(at({ArraySlice{}, int64_t(1)})), (Values{1, 5, 9}));
  EXPECT_EQ(list(at({ArraySlice{{}, {}, -2}, int64_t(0)})), (Values{8, 0}));
  EXPECT_EQ(list(at({EllipsisIndex{}, ArraySlice{1, 3, {}}})), (Values{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(at({NewAxis{}, EllipsisIndex{}}).shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(list(at({int64_t(0), ArraySlice{-100, 100, {}}})), (Values{0, 1, 2, 3}));
  EXPECT_EQ(at({ArraySlice{2, 1, {}}}).shape(), (Shape{0, 4}));
  EXPECT_EQ(at({ArraySlice{{}, {}, std::numeric_limits<int64_t>::min()}}).shape(), (Shape{1, 4}));
  EXPECT_THROW(at({int64_t(3)}), ArrayError);
  EXPECT_THROW(at({int64_t(0), int64_t(0), int64_t(0)}), ArrayError);
}

TEST(Array, TakesSortsAndJoins) {
  Array a = ints({2, 3}, {5, 1, 3, 2, 9, 4});
  EXPECT_EQ(list(take(a, ints({2}, {2, -3}), 1)), (Values{3, 5, 4, 2}));
  EXPECT_THROW(take(a, ints({1}, {3}), 1), ArrayError);
  EXPECT_EQ(list(sort(a, 1)), (Values{1, 3, 5, 2, 4, 9}));
  EXPECT_TRUE(std::isnan(sort(floats({2}, {nan, 1}), 0).floatAt(1)));
  EXPECT_EQ(list(repeat(ints({2}, {1, 2}), 2, 0)), (Values{1, 1, 2, 2}));
  Array parts[] = {ints({1, 2}, {1, 2}), ints({2, 2}, {3, 4, 5, 6})};
  EXPECT_EQ(list(concatenate(parts, 0)), (Values{1, 2, 3, 4, 5, 6}));
  Array rows[] = {ints({2}, {1, 2}), ints({2}, {3, 4})};
  EXPECT_EQ(list(stack(rows, 1)), (Values{1, 3, 2, 4}));
  EXPECT_EQ(list(triangle(ints({2, 2}, {1, 2, 3, 4}), 0, true)), (Values{1, 0, 3, 4}));
  EXPECT_EQ(list(cumsum(a, 1)), (Values{5, 6, 9, 2, 11, 15}));
  EXPECT_EQ(list(arange(5, 0, -2)), (Values{5, 3, 1}));
}

TEST(Array, RefusesWhatCannotFit) {
  EXPECT_THROW(Array(Array::Kind::Float, {int64_t(1) << 40, int64_t(1) << 40}), ArrayError);
  EXPECT_THROW(arange(0, std::numeric_limits<int64_t>::max(), 1), ArrayError);
}

TEST(Array, ConvertsWithoutUndefinedCases) {
  Array a = floats({4}, {nan, 1e300, -1e300, -1.5}).astype(Array::Kind::Int);
  EXPECT_EQ(a.ints()[0], 0);
  EXPECT_EQ(a.ints()[1], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(a.ints()[2], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(a.ints()[3], -1);
}

} // namespace
