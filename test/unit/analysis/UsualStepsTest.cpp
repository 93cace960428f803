// How far apart neighbours lie, but for jumps.
#include "analysis/UsualSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace nereid;
using analysis::UsualStep;

namespace {

class UsualStepsTest : public testing::Test {
protected:
  UsualStepsTest() {
    analysis::registerAxisModels(registry);
    registry.insert<tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
  }

  // What `ask` says of the value that the function's only `tile.print` shows.
  template <typename Ask> auto ofShown(const std::string &body, Ask ask) {
    std::string source = "func.func @k(%n: i32, %n16: i32 {tile.divisibility = 16 : i64}, "
                         "%p: !tile.ptr<f32>, %table: !tile.ptr<i32>) attributes {tile.kernel} {\n"
                         "%r = tile.arange 0 to 64 : tensor<64xi32>\n"
                         "%nn = tile.splat %n : i32 -> tensor<64xi32>\n"
                         "%far = tile.splat %n16 : i32 -> tensor<64xi32>\n" +
                         body + "\nreturn\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    EXPECT_TRUE(module) << source;
    decltype(ask(std::declval<analysis::UsualSteps &>(), mlir::Value())) out{};
    if (!module)
      return out;
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    analysis::AxisAnalysis axes(function);
    analysis::UsualSteps steps(axes);
    function.walk([&](tile::PrintOp print) { out = ask(steps, print.getValues().front()); });
    return out;
  }

  using Step = std::pair<UsualStep::Kind, int64_t>;
  Step step(const std::string &body) {
    return ofShown(body + "\ntile.print \"\" hex false signed [true] : %x : tensor<64xi32>",
                   [](analysis::UsualSteps &steps, mlir::Value value) {
                     analysis::UsualStep step = steps.along(value, 0);
                     return Step(step.kind, step.factor);
                   });
  }

  // Of `p + rows + columns`, from %rows and %columns.
  std::optional<unsigned> nearest(const std::string &body) {
    return ofShown(
        body + R"(
      %rs = tile.expand_dims %rows axis 1 : tensor<64xi32> -> tensor<64x1xi32>
      %rb = tile.broadcast %rs : tensor<64x1xi32> -> tensor<64x64xi32>
      %cs = tile.expand_dims %columns axis 0 : tensor<64xi32> -> tensor<1x64xi32>
      %cb = tile.broadcast %cs : tensor<1x64xi32> -> tensor<64x64xi32>
      %o = arith.addi %rb, %cb : tensor<64x64xi32>
      %pp = tile.splat %p : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
      %q = tile.addptr %pp, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
      tile.print "" hex false signed [true] : %q : tensor<64x64x!tile.ptr<f32>>)",
        [](analysis::UsualSteps &steps, mlir::Value value) { return steps.nearest(value); });
  }

  mlir::DialectRegistry registry;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

TEST_F(UsualStepsTest, RemaindersGoUpByOneAndQuotientsStay) {
  EXPECT_EQ(step("%x = tile.remsi %r, %nn : tensor<64xi32>"), Step(UsualStep::Known, 1));
  EXPECT_EQ(step("%x = tile.divsi %r, %nn : tensor<64xi32>"), Step(UsualStep::Known, 0));
  EXPECT_EQ(
      step("%m = tile.remsi %r, %nn : tensor<64xi32>\n%q = tile.divsi %r, %nn : tensor<64xi32>\n"
           "%s = arith.muli %q, %far : tensor<64xi32>\n%x = arith.addi %m, %s : tensor<64xi32>"),
      Step(UsualStep::Known, 1));
}

TEST_F(UsualStepsTest, ConstantsScaleAndDivide) {
  std::string three = "%c = arith.constant dense<3> : tensor<64xi32>\n";
  EXPECT_EQ(step(three + "%x = arith.muli %c, %r : tensor<64xi32>"), Step(UsualStep::Known, 3));
  EXPECT_EQ(
      step(three +
           "%y = arith.muli %r, %c : tensor<64xi32>\n%x = tile.divsi %y, %c : tensor<64xi32>"),
      Step(UsualStep::Known, 1));
  EXPECT_EQ(step(three + "%x = arith.subi %c, %r : tensor<64xi32>"), Step(UsualStep::Known, -1));
  EXPECT_EQ(step(three + "%x = arith.minsi %r, %c : tensor<64xi32>"), Step(UsualStep::Known, 1));
}

TEST_F(UsualStepsTest, StridesThatNobodyKnows) {
  EXPECT_EQ(step("%x = arith.muli %r, %far : tensor<64xi32>"), Step(UsualStep::Multiple, 16));
  EXPECT_EQ(step("%x = arith.muli %nn, %r : tensor<64xi32>"), Step(UsualStep::Multiple, 1));
  EXPECT_EQ(step("%x = arith.muli %r, %r : tensor<64xi32>"), Step(UsualStep::Anything, 1));
}

TEST_F(UsualStepsTest, TheNearestDimension) {
  std::string image = "%rows = tile.remsi %r, %nn : tensor<64xi32>\n";
  EXPECT_EQ(nearest(image + "%columns = arith.muli %r, %far : tensor<64xi32>"), 0u);
  EXPECT_EQ(nearest(image + "%columns = arith.muli %r, %nn : tensor<64xi32>"), 0u);
  // Neither is known, but one is a multiple of 16.
  EXPECT_EQ(nearest("%rows = arith.muli %r, %nn : tensor<64xi32>\n"
                    "%columns = arith.muli %r, %far : tensor<64xi32>"),
            0u);
  EXPECT_EQ(nearest("%rows = arith.muli %r, %far : tensor<64xi32>\n"
                    "%columns = arith.muli %r, %nn : tensor<64xi32>"),
            1u);
  // Rows that are loaded may be anywhere, and elements that are one are not nearest.
  std::string rows = "%ptrs = tile.splat %table : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>\n"
                     "%at = tile.addptr %ptrs, %r : tensor<64x!tile.ptr<i32>>, tensor<64xi32>\n"
                     "%rows = tile.load %at : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>\n";
  EXPECT_EQ(nearest(rows + "%columns = arith.muli %r, %nn : tensor<64xi32>"), 1u);
  EXPECT_EQ(nearest(rows + "%columns = arith.constant dense<0> : tensor<64xi32>"), std::nullopt);
  // Nothing tells them apart.
  EXPECT_EQ(nearest("%rows = arith.muli %r, %nn : tensor<64xi32>\n"
                    "%columns = arith.muli %r, %nn : tensor<64xi32>"),
            std::nullopt);
  EXPECT_EQ(nearest("%rows = arith.muli %r, %far : tensor<64xi32>\n"
                    "%columns = arith.muli %r, %far : tensor<64xi32>"),
            std::nullopt);
}

} // namespace
