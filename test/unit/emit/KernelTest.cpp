// Straight-line kernels: parameters, expressions, helpers, what constexpr means.

#include "Harness.h"

namespace nereid::emit {
namespace {

TEST_F(EmitTest, VectorAdd) {
  Emission e = emit(R"(
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)
)",
                    "add", "*fp32:16, *fp32:16, *fp32:16, i32, 128");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("func.func @add("));
  EXPECT_TRUE(e.has("tile.kernel"));
  EXPECT_EQ(e.count("tile.load"), 2);
  EXPECT_TRUE(e.has("tile.divisibility = 16 : i64, tile.dtype = \"*fp32\", tile.name = \"x\""));
  EXPECT_TRUE(e.has("tile.dtype = \"i32\", tile.name = \"n\""));
  EXPECT_FALSE(e.has("tile.name = \"BLOCK\""));
}

TEST_F(EmitTest, OneIsCompiledIn) {
  const char *source = R"(
@triton.jit
def f(p, stride):
    if stride == 1:
        tl.store(p, 7.0)
    else:
        tl.store(p + stride, 8.0)
)";
  EXPECT_FALSE(emit(source, "f", "*fp32, i32:1").has("scf.if"));
  EXPECT_TRUE(emit(source, "f", "*fp32, i32:1").has("7.0"));
  EXPECT_TRUE(emit(source, "f", "*fp32, i32").has("scf.if"));
}

TEST_F(EmitTest, NoneTakesNoArgument) {
  const char *source = R"(
@triton.jit
def f(p, bias):
    x = tl.load(p)
    if bias is not None:
        x += tl.load(bias)
    tl.store(p, x)
)";
  Emission none = emit(source, "f", "*fp32, None");
  EXPECT_EQ(none.count("tile.load"), 1);
  EXPECT_FALSE(none.has("%arg1"));
  EXPECT_EQ(emit(source, "f", "*fp32, *fp32").count("tile.load"), 2);
}

TEST_F(EmitTest, AssignedNumbersBecomeScalarsAndConstexprsStay) {
  Emission e = emit(R"(
@triton.jit
def f(p):
    a = 5
    B: tl.constexpr = 6
    tl.static_assert(isinstance(a, tl.tensor))
    tl.static_assert(a.dtype == tl.int32)
    tl.static_assert(B == 6)
    tl.store(p + tl.arange(0, 1 << (B - 2)), a)
)",
                    "f", "*i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("tile.arange 0 to 16"));
}

TEST_F(EmitTest, DeadBranchesMayHoldAnything) {
  Emission e = emit(R"(
@triton.jit
def f(p, MODE: tl.constexpr):
    if MODE == "a":
        tl.store(p, 1)
    elif MODE == "b":
        tl.no_such_thing(p, undefined_name)
        raise ValueError("never")
    else:
        for x in nothing:
            break
)",
                    "f", "*i32, 'a'");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("tile.store"), 1);
}

TEST_F(EmitTest, HelpersAreInlinedWithTheirCallSites) {
  Emission e = emit(R"(
@triton.jit
def twice(x, SCALE: tl.constexpr = 2.0):
    return x * SCALE

@triton.jit
def f(p):
    tl.store(p, twice(tl.load(p)) + twice(tl.load(p), SCALE=3.0))
)",
                    "f", "*fp32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("arith.mulf"), 2);
  std::string located;
  llvm::raw_string_ostream stream(located);
  e.module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  EXPECT_NE(located.find("callsite("), std::string::npos);
  EXPECT_NE(located.find("\"test.py\":6:12"), std::string::npos) << located;
}

TEST_F(EmitTest, HelpersReturnTuplesAndTakeStarredOnes) {
  Emission e = emit(R"(
@triton.jit
def pair(x, y):
    return y, (x, 1)

@triton.jit
def f(p):
    a, (b, c) = pair(*(tl.load(p), 2.5))
    tl.static_assert(c.dtype == tl.int32)
    tl.store(p, a + b + c)
)",
                    "f", "*fp32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("arith.addf"), 2);
}

TEST_F(EmitTest, VariadicHelpersAndFunctionsAsValues) {
  Emission e = emit(R"(
@triton.jit
def add(a, b):
    return a + b

@triton.jit
def fold(fn: tl.constexpr, *args):
    total = args[0]
    for x in tl.static_range(1, len(args)):
        total = fn(total, args[x])
    return total

@triton.jit
def f(p):
    i = tl.arange(0, 8)
    x = tl.load(p + i)
    tl.store(p, fold(add, tl.load(p), 1.0, 2.0) + tl.reduce(x, 0, add))
)",
                    "f", "*fp32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("tile.reduce"), 1);
  EXPECT_EQ(e.count("arith.addf"), 4);
}

TEST_F(EmitTest, ConstexprFunctionsRunWhileCompiling) {
  Emission e = emit(R"(
@triton.constexpr_function
def log2(n):
    total = 0
    while n > 1:
        n //= 2
        total += 1
    return total

@triton.jit
def f(p, N: tl.constexpr):
    K: tl.constexpr = log2(N)
    tl.store(p + tl.arange(0, 1 << (K + 1)), 0)
)",
                    "f", "*i32, 16");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("tile.arange 0 to 32"));
}

TEST_F(EmitTest, ConditionalExpressionsAndComparisonChains) {
  Emission e = emit(R"(
@triton.jit
def f(p, n, WIDE: tl.constexpr):
    a = 1 if WIDE else undefined_name
    b = n if n > 3 else a
    if 0 < n < 10:
        b += 1
    tl.store(p, a + b)
)",
                    "f", "*i32, i32, True");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("scf.if"), 2);
  EXPECT_EQ(e.count("arith.andi"), 1);
}

TEST_F(EmitTest, BooleanOperatorsDoNotShortCircuitTiles) {
  Emission e = emit(R"(
@triton.jit
def f(p, n, FLAG: tl.constexpr):
    x = tl.load(p)
    if x > 0 and tl.load(p + 1) > 0 and FLAG:
        tl.store(p, n)
    if FLAG or undefined_name:
        tl.store(p, 2)
)",
                    "f", "*i32, i32, True");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("tile.load"), 2);
  EXPECT_EQ(e.count("scf.if"), 1);
}

TEST_F(EmitTest, AggregatesHoldTilesAndMethodsWork) {
  Emission e = emit(R"(
@triton.aggregate
class Range:
    start: tl.tensor
    stop: tl.tensor
    STEP: tl.constexpr

    def __init__(self, start, stop, STEP):
        self.start = start
        self.stop = stop
        self.STEP = tl.constexpr(STEP)

    @triton.jit
    def length(self):
        return (self.stop - self.start) // self.STEP

    @triton.jit
    def moved(self, by):
        return Range(self.start + by, self.stop + by, self.STEP)

@triton.jit
def f(p, n):
    r = Range(tl.program_id(0), n, 4)
    for i in range(n):
        r = r.moved(i)
    tl.store(p, r.length())
)",
                    "f", "*i32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("scf.for"));
  EXPECT_TRUE(e.has("-> (i32, i32)")) << e.ir;
}

TEST_F(EmitTest, NamedTuplesOfModuleLevel) {
  Emission e = emit(R"(
from typing import NamedTuple
from collections import namedtuple

class Pair(NamedTuple):
    a: tl.tensor
    b: tl.tensor = 3

Other = namedtuple("Other", "x y")

@triton.jit
def f(p):
    q = Pair(tl.load(p))
    o = Other(y=q.a, x=q.b)
    tl.store(p, o.x + o.y + q[0])
)",
                    "f", "*i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("arith.addi"), 2);
}

TEST_F(EmitTest, TupleParametersAreFlattened) {
  Emission e = emit(R"(
@triton.jit
def f(pointers, sizes, SHAPE: tl.constexpr):
    tl.static_assert(len(pointers) == 2)
    tl.store(pointers[0], tl.load(pointers[1].inner) + sizes[1])
)",
                    "f", "(*fp32:16, (inner=*fp32, n=i32)), (i32:1, fp32), (8, 16)");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("tile.name = \"pointers.1.inner\""));
  EXPECT_TRUE(e.has("tile.name = \"sizes.1\""));
  EXPECT_FALSE(e.has("sizes.0"));
}

TEST_F(EmitTest, DescriptorParameters) {
  Emission e = emit(R"(
@triton.jit
def f(a, p, B: tl.constexpr):
    x = a.load([0, B])
    tl.static_assert(a.block_shape[0] == 16)
    tl.store(p + tl.arange(0, 16), tl.sum(x.to(tl.float32), 1))
)",
                    "f", "tensordesc<fp16[16, 32]>, *fp32, 32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("!tile.desc<16x32xf16>"));
  EXPECT_TRUE(e.has("tile.desc_load"));
}

TEST_F(EmitTest, StaticPrintAndFStrings) {
  Emission e = emit(R"(
@triton.jit
def f(p, N: tl.constexpr):
    tl.static_print(f"N is {N:>4} and {N / 3:.2f}", N * 2)
    tl.static_assert(N > 4, f"N={N} is too small")
)",
                    "f", "*i32, 8");
  EXPECT_EQ(e.message(), "");
  ASSERT_EQ(e.diagnostics.size(), 1u);
  EXPECT_EQ(e.diagnostics[0].message, "N is    8 and 2.67 16");
  EXPECT_EQ(e.diagnostics[0].severity, Severity::Note);
  EXPECT_EQ(e.diagnostics[0].where.begin.line, 6u);
}

TEST_F(EmitTest, AHintAsAStatementIsAboutLaterUses) {
  Emission e = emit(R"(
@triton.jit
def f(p, q, n, m):
    tl.multiple_of(n, 16)
    for i in range(2):
        tl.multiple_of(m, 8)
    tl.store(p, n)
    tl.store(q, m)
)",
                    "f", "*i32, *i32, i32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(
      std::regex_search(e.ir, std::regex("(%\\w+) = tile.hint %arg2[^]*tile.store %arg0, \\1 ")))
      << e.ir;
  // The promise of a loop that may not run stays inside.
  EXPECT_TRUE(e.has("tile.store %arg1, %arg3 ")) << e.ir;
}

TEST_F(EmitTest, DefaultsAndNamedConstantsCompleteASignature) {
  const char *source = R"(
@triton.jit
def f(p, n, scale=2.5, BLOCK: tl.constexpr = 32, MODE: tl.constexpr = "a"):
    if MODE == "b":
        tl.store(p + tl.arange(0, BLOCK), scale)
)";
  EXPECT_EQ(emit(source, "f", "*fp32, i32").message(), "");
  constants["MODE"] = support::Constant::string("b");
  constants["BLOCK"] = support::Constant::integer(64);
  Emission e = emit(source, "f", "*fp32, i32");
  EXPECT_TRUE(e.has("tensor<64x"));
  EXPECT_TRUE(e.has("2.5"));
}

TEST_F(EmitTest, OldSpellingsAreNoted) {
  Emission e = emit(R"(
@triton.jit
def f(p):
    tl.store(p, tl.math.tanh(tl.load(p)))
)",
                    "f", "*fp32");
  EXPECT_EQ(e.message(), "");
  ASSERT_EQ(e.diagnostics.size(), 1u);
  EXPECT_EQ(e.diagnostics[0].severity, Severity::Note);
  EXPECT_EQ(e.diagnostics[0].where.begin.line, 6u);
}

TEST_F(EmitTest, ListComprehensionsAndWalrus) {
  Emission e = emit(R"(
@triton.jit
def f(p, N: tl.constexpr):
    xs = [tl.load(p + i) for i in (1, 2, 3)]
    total = xs[0]
    for x in xs:
        total += x
    if (y := total * 2) > 5:
        tl.store(p, y)
)",
                    "f", "*fp32, 3");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("tile.load"), 3);
}

} // namespace
} // namespace nereid::emit
