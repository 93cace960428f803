// Loads that a GPU starts steps ahead, run by the interpreter.
#include "../ref/Harness.h"

#include "gpu/LoadsAhead.h"

namespace nereid::ref {
namespace {

// y[row] = x[row] + the sum of x[i] of the rows i before, for the rows [first, last) by `step`.
std::string rows(int stages) {
  std::string text = R"(
    func.func @rows(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %first: i32, %last: i32, %step: i32) attributes {tile.kernel} {
      %r = tile.arange 0 to 64 : tensor<64xi32>
      %xp = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
      %yp = tile.splat %y : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
      %width = arith.constant 64 : i32
      %none = arith.constant dense<0.0> : tensor<64xf32>
      %total = scf.for %row = %first to %last step %step iter_args(%before = %none) -> (tensor<64xf32>) : i32 {
        %start = arith.muli %row, %width : i32
        %s = tile.splat %start : i32 -> tensor<64xi32>
        %at = arith.addi %s, %r : tensor<64xi32>
        %xa = tile.addptr %xp, %at : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
        %v = tile.load %xa : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
        %sum = arith.addf %before, %v : tensor<64xf32>
        %ya = tile.addptr %yp, %at : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
        tile.store %ya, %sum : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
        scf.yield %sum : tensor<64xf32>
      } {tile.num_stages = STAGES : i32}
      return
    })";
  return text.replace(text.find("STAGES"), 6, std::to_string(stages));
}

// The same of the rows that a table names. It ends behind `last`.
std::string namedRows(int stages) {
  std::string text = rows(stages);
  auto replace = [&](const char *from, const char *to) {
    text.replace(text.find(from), std::string_view(from).size(), to);
  };
  replace("%y: !tile.ptr<f32>,", "%y: !tile.ptr<f32>, %table: !tile.ptr<i32>,");
  replace("%start = arith.muli %row, %width : i32",
          R"(%named = tile.addptr %table, %row : !tile.ptr<i32>, i32
        %place = tile.load %named : !tile.ptr<i32> -> i32
        %start = arith.muli %place, %width : i32)");
  return text;
}

struct Range {
  int first, last, step;
};

class LoadsAhead : public testing::TestWithParam<std::tuple<int, Range>> {};

// No row is read that the loop does not come to: there is nothing behind the last one.
TEST_P(LoadsAhead, GiveWhatTheLoopGives) {
  auto [stages, range] = GetParam();
  std::vector<float> x(64 * size_t(std::max(range.last, 1))), y(x.size()), wanted(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 97);
  std::vector<float> sum(64);
  for (int row = range.first; row < range.last; row += range.step)
    for (size_t i = 0; i < 64; ++i)
      wanted[size_t(row) * 64 + i] = sum[i] += x[size_t(row) * 64 + i];
  Kernel kernel(rows(stages));
  ASSERT_TRUE(kernel.module);
  auto function = *kernel.module->getOps<mlir::func::FuncOp>().begin();
  gpu::startLoadsAhead(function, 1);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*kernel.module)));
  unsigned loads = 0;
  function.walk([&](tile::LoadOp) { ++loads; });
  // One for each step ahead, and as many in the loop, whose steps stand in a row.
  EXPECT_EQ(loads, stages == 1 ? 1 : 2 * unsigned(stages - 1));
  kernel.tensor("x", x).tensor("y", y).value(range.first).value(range.last).value(range.step).run();
  EXPECT_EQ(y, wanted);
  EXPECT_TRUE(kernel.findings.empty());
}

// Neither a row nor a number of the table is read behind the last one.
TEST_P(LoadsAhead, GiveWhatTheRowsOfATableGive) {
  auto [stages, range] = GetParam();
  std::vector<int32_t> table;
  for (int row = 0; row < std::max(range.last, 1); ++row)
    table.push_back(row ^ 1);
  std::vector<float> x(64 * size_t(*std::max_element(table.begin(), table.end()) + 1));
  std::vector<float> y(x.size()), wanted(x.size()), sum(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 97);
  for (int row = range.first; row < range.last; row += range.step)
    for (size_t i = 0, at = size_t(table[size_t(row)]) * 64; i < 64; ++i)
      wanted[at + i] = sum[i] += x[at + i];
  Kernel kernel(namedRows(stages));
  ASSERT_TRUE(kernel.module);
  auto function = *kernel.module->getOps<mlir::func::FuncOp>().begin();
  gpu::startLoadsAhead(function, 1);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*kernel.module)));
  kernel.tensor("x", x).tensor("y", y).tensor("table", table);
  kernel.value(range.first).value(range.last).value(range.step).run();
  EXPECT_EQ(y, wanted);
  EXPECT_TRUE(kernel.findings.empty());
}

INSTANTIATE_TEST_SUITE_P(Ranges, LoadsAhead,
                         testing::Combine(testing::Values(1, 2, 3, 5),
                                          testing::Values(Range{0, 8, 1}, Range{1, 8, 3},
                                                          Range{0, 2, 1}, Range{3, 4, 1},
                                                          Range{4, 4, 1}, Range{7, 2, 1})));

} // namespace
} // namespace nereid::ref
