#include "analysis/Explain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace nereid;

namespace {

class ExplainTest : public ::testing::Test {
protected:
  ExplainTest() {
    mlir::DialectRegistry registry;
    registry.insert<tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                    mlir::scf::SCFDialect>();
    context.appendDialectRegistry(registry);
  }
  analysis::Explanation explain(const char *text, const analysis::LaunchValues &launch = {}) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return analysis::explain(*module->getOps<mlir::func::FuncOp>().begin(), launch);
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(ExplainTest, ReportsMemoryOfEachLine) {
  auto e = explain(R"mlir(
    func.func @copy(%p: !tile.ptr<f32> {tile.name = "p", tile.dtype = "*fp32", tile.divisibility = 16 : i64}, %n: i32) {
      %o = tile.arange 0 to 64 : tensor<64xi32> loc("k.py":3:1)
      %s = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>> loc("k.py":4:1)
      %q = tile.addptr %s, %o : tensor<64x!tile.ptr<f32>>, tensor<64xi32> loc("k.py":4:1)
      %b = tile.splat %n : i32 -> tensor<64xi32> loc("k.py":4:1)
      %m = arith.cmpi slt, %o, %b : tensor<64xi32> loc("k.py":4:1)
      %v = tile.load %q mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f32>> -> tensor<64xf32> loc("k.py":4:5)
      %w = arith.addf %v, %v : tensor<64xf32> loc("k.py":5:1)
      tile.store %q, %w : tensor<64x!tile.ptr<f32>>, tensor<64xf32> loc(callsite("h.py":9:1 at "k.py":6:1))
      return
    } loc("k.py":1:1)
  )mlir");
  EXPECT_EQ(e.parameters[0], (std::pair<std::string, std::string>{"p", "*fp32:16"}));
  EXPECT_EQ(e.bytesRead, 256);
  EXPECT_EQ(e.bytesWritten, 256);
  EXPECT_EQ(e.operations, 64);
  EXPECT_FALSE(e.hasLoops);
  ASSERT_EQ(e.lines.size(), 4u);
  EXPECT_EQ(e.lines[0].line, 3u);
  EXPECT_EQ(e.lines[0].ops[0].type, "i32[64]");
  EXPECT_EQ(e.lines[1].ops[0].what, "load");
  EXPECT_EQ(e.lines[1].ops[0].note, "masked");
  EXPECT_EQ(e.lines[2].ops[0].what, "value");
  EXPECT_EQ(e.lines[3].file, "h.py");
  EXPECT_EQ(e.lines[3].calledFrom, "k.py:6");
  EXPECT_EQ(e.lines[3].ops[0].note, "every lane");
}

TEST_F(ExplainTest, CountsLoopsWhoseTripCountIsKnown) {
  auto e = explain(R"mlir(
    func.func @k(%p: !tile.ptr<i8>, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c2 = arith.constant 2 : i32
      %c9 = arith.constant 9 : i32
      scf.for %i = %c0 to %c9 step %c2 : i32 {
        %v = tile.load %p : !tile.ptr<i8> -> i8 loc("k.py":4:5)
      } loc("k.py":3:1)
      return
    }
  )mlir");
  EXPECT_EQ(e.bytesRead, 5);
  EXPECT_FALSE(e.hasLoops);
  EXPECT_EQ(e.lines[0].loopDepth, 1u);
  auto dynamic = explain(R"mlir(
    func.func @k(%p: !tile.ptr<i8>, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c2 = arith.constant 2 : i32
      scf.for %i = %c0 to %n step %c2 : i32 {
        %v = tile.load %p : !tile.ptr<i8> -> i8 loc("k.py":4:5)
      }
      return
    }
  )mlir");
  EXPECT_EQ(dynamic.bytesRead, 1);
  EXPECT_TRUE(dynamic.hasLoops);
}

TEST_F(ExplainTest, ALaunchTellsHowOftenLoopsRun) {
  const char *text = R"mlir(
    func.func @k(%p: !tile.ptr<i8>, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c4 = arith.constant 4 : i32
      %byte = arith.constant 1 : i8
      %id = tile.program_id 0
      %a = arith.muli %id, %c4 : i32
      %b = arith.addi %c4, %a : i32
      %end = arith.minsi %b, %n : i32
      scf.for %i = %a to %end step %c1 : i32 {
        %v = tile.load %p : !tile.ptr<i8> -> i8 loc("k.py":4:5)
      }
      %first = arith.cmpi eq, %id, %c0 : i32
      scf.if %first {
        tile.store %p, %byte : !tile.ptr<i8>, i8 loc("k.py":6:5)
      }
      return
    }
  )mlir";
  // Programs of four elements each over ten: 4 + 4 + 2, and only the first one writes.
  auto e = explain(text, {{std::nullopt, 10}, {3, 1, 1}});
  EXPECT_FALSE(e.hasLoops);
  double read = 0, written = 0;
  for (const analysis::ExplainedLine &line : e.lines) {
    read += line.line == 4 && line.file == "k.py" ? line.bytesRead : 0;
    written += line.line == 6 && line.file == "k.py" ? line.bytesWritten : 0;
  }
  EXPECT_NEAR(read, 10.0 / 3, 1e-9);
  EXPECT_NEAR(written, 1.0 / 3, 1e-9);
  // Without a grid nobody knows; both sides of the branch count.
  auto unknown = explain(text, {{std::nullopt, 10}, {0, 0, 0}});
  EXPECT_TRUE(unknown.hasLoops);
  EXPECT_EQ(unknown.bytesWritten, 1);
}

TEST_F(ExplainTest, SpellsTypes) {
  auto type = [&](const char *text) {
    auto e = explain((std::string("func.func @k(%a: ") + text + ") { return }").c_str());
    return e.parameters[0].second;
  };
  EXPECT_EQ(type("tensor<8x4x!tile.ptr<f16>>"), "*f16[8, 4]");
  EXPECT_EQ(type("!tile.desc<16x32xbf16>"), "descriptor of bf16[16, 32]");
  EXPECT_EQ(type("i64"), "i64");
}

} // namespace
