// Contiguity, divisibility and constancy of values of small kernels.
#include "analysis/AxisAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace nereid;

namespace {

struct Facts {
  int64_t contiguity, divisibility, constancy;
  bool operator==(const Facts &) const = default;
};
std::ostream &operator<<(std::ostream &os, const Facts &facts) {
  return os << "{" << facts.contiguity << ", " << facts.divisibility << ", " << facts.constancy
            << "}";
}

// Facts along `dim` of the operand of the op `test.of`-like marker: the first value stored.
class AxisTest : public testing::Test {
protected:
  AxisTest() {
    analysis::registerAxisModels(registry);
    registry.insert<tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                    mlir::scf::SCFDialect>();
    context.appendDialectRegistry(registry);
  }

  // The facts of the value named last: that which the function's only `tile.print` shows.
  Facts facts(const std::string &body, unsigned dim = 0) {
    std::string source = "func.func @k(%n: i32, %n16: i32 {tile.divisibility = 16 : i64}, "
                         "%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}) "
                         "attributes {tile.kernel} {\n" +
                         body + "\nreturn\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    EXPECT_TRUE(module) << source;
    if (!module)
      return {};
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    analysis::AxisAnalysis axes(function);
    Facts out{};
    function.walk([&](tile::PrintOp print) {
      tile::AxisFacts found = axes.facts(print.getValues().front());
      out = {found.contiguity[dim], found.divisibility[dim], found.constancy[dim]};
    });
    return out;
  }

  mlir::DialectRegistry registry;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

std::string show(const std::string &value, const std::string &type) {
  return "tile.print \"\" hex false signed [true] : " + value + " : " + type;
}

constexpr const char *offsets = R"(
  %r = tile.arange 0 to 128 : tensor<128xi32>
  %b = arith.constant 128 : i32
  %pid = tile.program_id 0
  %s = arith.muli %pid, %b : i32
  %ss = tile.splat %s : i32 -> tensor<128xi32>
  %o = arith.addi %ss, %r : tensor<128xi32>
)";

TEST_F(AxisTest, BlockOffsetsAreContiguousAndAligned) {
  EXPECT_EQ(facts(std::string(offsets) + show("%o", "tensor<128xi32>")), (Facts{128, 128, 1}));
}

TEST_F(AxisTest, PointersCountBytes) {
  EXPECT_EQ(facts(std::string(offsets) + R"(
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %q = tile.addptr %ps, %o : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
)" + show("%q", "tensor<128x!tile.ptr<f32>>")),
            (Facts{128, 16, 1}));
}

TEST_F(AxisTest, UnsignedOffsetsAreRunsUpToWhereTheyMayWrapAround) {
  auto pointers = [&](const std::string &offset) {
    return std::string(offsets) + R"(
  %ns = tile.splat %n : i32 -> tensor<128xi32>
  %n16s = tile.splat %n16 : i32 -> tensor<128xi32>
  %from = arith.addi %o, %ns : tensor<128xi32>
  %from16 = arith.addi %o, %n16s : tensor<128xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %q = tile.addptr %ps, )" +
           offset + " unsigned : tensor<128x!tile.ptr<f32>>, tensor<128xi32>\n" +
           show("%q", "tensor<128x!tile.ptr<f32>>");
  };
  EXPECT_EQ(facts(pointers("%o")).contiguity, 128); // counted up from nothing negative
  EXPECT_EQ(facts(pointers("%from")).contiguity, 1);
  EXPECT_EQ(facts(pointers("%from16")).contiguity, 16); // 2^32 is a multiple of 16
}

TEST_F(AxisTest, MaskOfAnAlignedBoundIsUniformOverRuns) {
  auto mask = [&](const std::string &bound) {
    return std::string(offsets) + "%bs = tile.splat " + bound +
           " : i32 -> tensor<128xi32>\n%m = arith.cmpi slt, %o, %bs : tensor<128xi32>\n" +
           show("%m", "tensor<128xi1>");
  };
  EXPECT_EQ(facts(mask("%n16")).constancy, 16);
  EXPECT_EQ(facts(mask("%n")).constancy, 1);
}

TEST_F(AxisTest, StridesBreakRuns) {
  EXPECT_EQ(facts(std::string(offsets) + R"(
  %two = arith.constant dense<2> : tensor<128xi32>
  %t = arith.muli %o, %two : tensor<128xi32>
)" + show("%t", "tensor<128xi32>")),
            (Facts{1, 2, 1}));
}

TEST_F(AxisTest, RemainderKeepsRunsThatItDoesNotCut) {
  auto rem = [&](const std::string &bound) {
    return std::string(offsets) + "%bs = tile.splat " + bound +
           " : i32 -> tensor<128xi32>\n%m = tile.remsi %o, %bs : tensor<128xi32>\n" +
           show("%m", "tensor<128xi32>");
  };
  EXPECT_EQ(facts(rem("%n16")), (Facts{16, 16, 1}));
  EXPECT_EQ(facts(rem("%n")).contiguity, 1);
  EXPECT_EQ(facts(std::string(offsets) + R"(
  %one = arith.constant dense<1> : tensor<128xi32>
  %zero = tile.remsi %o, %one : tensor<128xi32>
  %m = arith.addi %o, %zero : tensor<128xi32>
)" + show("%m", "tensor<128xi32>")),
            facts(std::string(offsets) + show("%o", "tensor<128xi32>")));
}

TEST_F(AxisTest, BoundsAreAsAlignedAsWhatTheyChooseFrom) {
  auto smaller = [&](const std::string &other) {
    return std::string(offsets) + "%s16 = arith.muli %pid, %n16 : i32\n%m = arith.minsi %s16, " +
           other + " : i32\n%ms = tile.splat %m : i32 -> tensor<128xi32>\n" +
           "%c = arith.cmpi slt, %o, %ms : tensor<128xi32>\n" + show("%c", "tensor<128xi1>");
  };
  EXPECT_EQ(facts(smaller("%n16")).constancy, 16);
  EXPECT_EQ(facts(smaller("%n")).constancy, 1);
  EXPECT_EQ(facts(std::string(offsets) + R"(
  %eight = arith.constant dense<8> : tensor<128xi32>
  %m = arith.maxui %o, %eight : tensor<128xi32>
)" + show("%m", "tensor<128xi32>")),
            (Facts{1, 1, 1}));
}

TEST_F(AxisTest, DimensionsKeepTheirOwnFacts) {
  std::string body = R"(
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %row = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.broadcast %row : tensor<1x64xi32> -> tensor<32x64xi32>
  %c = tile.arange 0 to 32 : tensor<32xi32>
  %col = tile.expand_dims %c axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %stride = tile.splat %n16 : i32 -> tensor<32x1xi32>
  %scaled = arith.muli %col, %stride : tensor<32x1xi32>
  %cols = tile.broadcast %scaled : tensor<32x1xi32> -> tensor<32x64xi32>
  %sum = arith.addi %cols, %rows : tensor<32x64xi32>
)" + show("%sum", "tensor<32x64xi32>");
  EXPECT_EQ(facts(body, 1), (Facts{64, 16, 1}));
  EXPECT_EQ(facts(body, 0).contiguity, 1);
}

TEST_F(AxisTest, QuotientsAreUniformOverMultiplesOfTheDivisor) {
  auto divided = [&](const std::string &op, const std::string &of, const std::string &by) {
    return std::string(offsets) + "%by = " + by + "\n%m = " + op + " " + of +
           ", %by : tensor<128xi32>\n" + show("%m", "tensor<128xi32>");
  };
  const std::string eight = "arith.constant dense<8> : tensor<128xi32>",
                    n16 = "tile.splat %n16 : i32 -> tensor<128xi32>",
                    n = "tile.splat %n : i32 -> tensor<128xi32>";
  EXPECT_EQ(facts(divided("tile.divsi", "%o", eight)).constancy, 8);
  EXPECT_EQ(facts(divided("tile.divsi", "%o", n16)).constancy, 16);
  EXPECT_EQ(facts(divided("tile.divsi", "%o", n)).constancy, 1);
  EXPECT_EQ(
      facts(divided("tile.shrs", "%o", "arith.constant dense<3> : tensor<128xi32>")).constancy, 8);
  // Numbers around 0 have the same quotient on both sides of it.
  EXPECT_EQ(facts(std::string(offsets) + R"(
  %n16s = tile.splat %n16 : i32 -> tensor<128xi32>
  %x = arith.addi %n16s, %r : tensor<128xi32>
  %eight = arith.constant dense<8> : tensor<128xi32>
  %m = tile.divsi %x, %eight : tensor<128xi32>
)" + show("%m", "tensor<128xi32>"))
                .constancy,
            1);
}

// A grid-stride loop: what is counted up from a number that is not negative is not.
TEST_F(AxisTest, QuotientsOfWhatALoopCounts) {
  auto counted = [&](const std::string &start, const std::string &addend) {
    return std::string(offsets) + R"(
  %zero = arith.constant 0 : i32
  %some = arith.constant 4 : i32
  %first = arith.constant )" +
           start + R"( : i32
  %from = tile.splat %first : i32 -> tensor<128xi32>
  %begin = arith.addi %o, %from : tensor<128xi32>
  %by = tile.splat %n16 : i32 -> tensor<128xi32>
  %step = arith.constant dense<)" +
           addend + R"(> : tensor<128xi32>
  %end = scf.for %i = %zero to %n step %some iter_args(%at = %begin) -> (tensor<128xi32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<128xi32>
    %far = arith.muli %is, %step : tensor<128xi32>
    %sum = arith.addi %at, %far : tensor<128xi32>
    %m = tile.divsi %sum, %by : tensor<128xi32>
    tile.print "" hex false signed [true] : %m : tensor<128xi32>
    %next = arith.addi %at, %step : tensor<128xi32>
    scf.yield %next : tensor<128xi32>
  }
)";
  };
  EXPECT_EQ(facts(counted("0", "32")).constancy, 16);
  EXPECT_EQ(facts(counted("-64", "32")).constancy, 1);
  EXPECT_EQ(facts(counted("64", "-32")).constancy, 1);
}

TEST_F(AxisTest, QuotientsOfMultiplesAreMultiples) {
  auto divided = [&](const std::string &op, const std::string &of, int by) {
    return std::string(offsets) + "%n16s = tile.splat %n16 : i32 -> tensor<128xi32>\n" +
           "%by = arith.constant dense<" + std::to_string(by) + "> : tensor<128xi32>\n%m = " + op +
           " " + of + ", %by : tensor<128xi32>\n" + show("%m", "tensor<128xi32>");
  };
  EXPECT_EQ(facts(divided("tile.divsi", "%n16s", 2)), (Facts{1, 8, 128}));
  EXPECT_EQ(facts(divided("tile.shrs", "%n16s", 2)), (Facts{1, 4, 128}));
  EXPECT_EQ(facts(divided("tile.divsi", "%n16s", 32)).divisibility, 1);
  // 48 // 3 is 16, but 64 // 3 is 21.
  EXPECT_EQ(facts(divided("tile.divsi", "%n16s", 3)).divisibility, 1);
  // 0 // 2, 1 // 2, 2 // 2: each is a run of its own.
  EXPECT_EQ(facts(divided("tile.divsi", "%o", 2)).divisibility, 1);
}

TEST_F(AxisTest, ReshapesKeepRunsThatTheyDoNotCut) {
  auto reshaped = [&](const std::string &how, const std::string &shape) {
    return std::string(offsets) + "%m = tile.reshape %o " + how + " : tensor<128xi32> -> tensor<" +
           shape + "xi32>\n" + show("%m", "tensor<" + shape + "xi32>");
  };
  EXPECT_EQ(facts(reshaped("", "1x128"), 1), (Facts{128, 128, 1}));
  EXPECT_EQ(facts(reshaped("", "128x1"), 0), (Facts{128, 128, 1}));
  EXPECT_EQ(facts(reshaped("", "8x16"), 1), (Facts{16, 16, 1}));
  EXPECT_EQ(facts(reshaped("", "8x16"), 0), (Facts{1, 1, 1}));
  EXPECT_EQ(facts(reshaped("reorder", "8x16"), 1), (Facts{1, 1, 1}));
  EXPECT_EQ(facts(reshaped("reorder", "1x128"), 1), (Facts{128, 128, 1}));
  // Rows one behind the other.
  EXPECT_EQ(facts(R"(
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %row = tile.reshape %r : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.broadcast %row : tensor<1x64xi32> -> tensor<32x64xi32>
  %all = tile.reshape %rows : tensor<32x64xi32> -> tensor<2048xi32>
)" + show("%all", "tensor<2048xi32>")),
            (Facts{64, 0x40000000, 1}));
}

// A pointer that walks by a multiple of 16 elements keeps its alignment; one that walks by n does
// not.
TEST_F(AxisTest, LoopsWeakenWhatTheyChange) {
  auto walk = [&](const std::string &step) {
    return std::string(offsets) + R"(
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %q = tile.addptr %ps, %o : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %steps = tile.splat )" +
           step + R"( : i32 -> tensor<128xi32>
  %e = scf.for %i = %c0 to %n step %c1 iter_args(%a = %q) -> (tensor<128x!tile.ptr<f32>>) : i32 {
    %next = tile.addptr %a, %steps : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    scf.yield %next : tensor<128x!tile.ptr<f32>>
  }
)" + show("%e", "tensor<128x!tile.ptr<f32>>");
  };
  EXPECT_EQ(facts(walk("%n16")), (Facts{128, 16, 1}));
  EXPECT_EQ(facts(walk("%n")), (Facts{128, 4, 1}));
}

TEST_F(AxisTest, AccessWidthNeedsRunAlignmentAndMask) {
  auto with = [](int64_t contiguity, int64_t divisibility) {
    tile::AxisFacts facts = tile::AxisFacts::unknown(1);
    facts.contiguity[0] = contiguity;
    facts.divisibility[0] = divisibility;
    return facts;
  };
  tile::AxisFacts mask = tile::AxisFacts::unknown(1);
  mask.constancy[0] = 2;
  EXPECT_EQ(analysis::accessWidth(with(128, 16), nullptr, 0, 4, 16), 4);
  EXPECT_EQ(analysis::accessWidth(with(128, 8), nullptr, 0, 4, 16), 2);
  EXPECT_EQ(analysis::accessWidth(with(128, 16), &mask, 0, 4, 16), 2);
  EXPECT_EQ(analysis::accessWidth(with(1, 16), nullptr, 0, 4, 16), 1);
  EXPECT_EQ(analysis::accessWidth(with(128, 1), nullptr, 0, 1, 16), 1);
  EXPECT_EQ(analysis::accessWidth(with(128, 16), nullptr, 0, 2, 16), 8);
}

} // namespace
