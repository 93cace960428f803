// Run-time control flow: if, for, while, early returns.

#include "Harness.h"

namespace nereid::emit {
namespace {

TEST_F(EmitTest, IfJoinsWhatItChanges) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    a = 1
    b = 2
    if n > 0:
        a = 3
        c = n
        d = 1.0
    else:
        c = n + 1
    tl.store(p, a + b + c)
)",
                    "f", "*i32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("-> (i32, i32)")) << e.ir;
}

TEST_F(EmitTest, ANameOfOneBranchOnlyIsAnErrorWhereItIsUsed) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    if n > 0:
        d = 1.0
    tl.store(p, d)
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.code(), "BranchOnly");
  EXPECT_EQ(e.line(), 8u);
  ASSERT_EQ(e.error()->labels.size(), 1u);
  EXPECT_EQ(e.error()->labels[0].where.begin.line, 7u);
}

TEST_F(EmitTest, BranchesMustAgreeInType) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    x = 1
    if n > 0:
        x = 2.0
    tl.store(p, x)
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.code(), "BranchMismatch");
  EXPECT_NE(e.message().find("`fp32` and `int32`"), std::string::npos) << e.message();
}

TEST_F(EmitTest, ForCarriesWhatItChangesAndNothingElse) {
  Emission e = emit(R"(
@triton.jit
def f(p, n, FLAG: tl.constexpr):
    acc = tl.zeros([16], tl.float32)
    other = tl.arange(0, 16)
    untouched = 7
    for i in range(0, n, 4):
        acc += i
        if FLAG:
            other += 1
        else:
            untouched += 1
    tl.store(p + other, acc + untouched)
)",
                    "f", "*fp32, i32, True");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("-> (tensor<16xf32>, tensor<16xi32>)")) << e.ir;
}

TEST_F(EmitTest, NumbersThatALoopChangesBecomeTiles) {
  Emission e = emit(R"(
@triton.jit
def count(p, n, start):
    for i in range(n):
        start += 2
    return start

@triton.jit
def f(p, n):
    tl.store(p, count(p, n, 10))
)",
                    "f", "*i32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("-> (i32)"));
}

TEST_F(EmitTest, ATypeChangeInALoopNamesBothTypesAndPlaces) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    x = 0
    for i in range(n):
        x = x + 0.5
    tl.store(p, x)
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.code(), "LoopCarriedMismatch");
  EXPECT_EQ(e.line(), 8u);
  EXPECT_NE(e.message().find("`int32`"), std::string::npos);
  EXPECT_NE(e.message().find("`fp32`"), std::string::npos);
  ASSERT_EQ(e.error()->labels.size(), 1u);
  EXPECT_EQ(e.error()->labels[0].where.begin.line, 6u);
}

TEST_F(EmitTest, InductionTypesFollowTheBounds) {
  const char *source = R"(
@triton.jit
def f(p, n, m):
    for i in range(n, m):
        tl.store(p, i)
)";
  EXPECT_TRUE(emit(source, "f", "*i64, i32, i32").has(": i32 {") ||
              emit(source, "f", "*i64, i32, i32").has("scf.for"));
  Emission wide = emit(source, "f", "*i64, i32, i64");
  EXPECT_EQ(wide.message(), "");
  EXPECT_TRUE(wide.has("arith.extsi")) << wide.ir;
  EXPECT_TRUE(wide.has(": i64 {")) << wide.ir;
  // Unsigned bounds above 2**31 must not compare as negative.
  Emission unsigned32 = emit(source, "f", "*u32, u32, u32");
  EXPECT_TRUE(unsigned32.has("arith.extui")) << unsigned32.ir;
  EXPECT_TRUE(unsigned32.has(": i64 {")) << unsigned32.ir;
}

TEST_F(EmitTest, NegativeStepsCountDown) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    for i in range(n - 1, -1, -1):
        tl.store(p + i, i)
)",
                    "f", "*i32, i32");
  EXPECT_EQ(e.message(), "");
  // From -1 to n - 1 by 1; inside, n - 1 - counter + -1.
  EXPECT_TRUE(
      std::regex_search(e.ir, std::regex(R"(scf\.for %\w+ = %c-1_i32\w* to %\d+ step %c1_i32)")))
      << e.ir;
  EXPECT_TRUE(e.has("arith.subi"));
}

TEST_F(EmitTest, LoopAttributes) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    for i in tl.range(0, n, 2, num_stages=3, flatten=True, warp_specialize=True,
                      loop_unroll_factor=4, disallow_acc_multi_buffer=True, disable_licm=True):
        tl.store(p + i, i)
)",
                    "f", "*i32, i32");
  EXPECT_EQ(e.message(), "");
  for (const char *attribute :
       {"tile.num_stages = 3", "tile.flatten", "tile.warp_specialize", "tile.unroll = 4",
        "tile.disallow_acc_multi_buffer", "tile.disable_licm"})
    EXPECT_TRUE(e.has(attribute)) << attribute;
}

TEST_F(EmitTest, StaticRangeUnrollsWithConstexprIndices) {
  Emission e = emit(R"(
@triton.jit
def f(p, x, N: tl.constexpr):
    for i in tl.static_range(N - 1, -1, -2):
        tl.store(p + tl.arange(0, 2 << i), (x, 5, 6, 7)[i])
)",
                    "f", "*i32, i32, 4");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("tile.store"), 2);
  EXPECT_TRUE(e.has("0 to 16"));
  EXPECT_TRUE(e.has("0 to 4"));
}

TEST_F(EmitTest, WhileLoops) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    i = n
    total = 0.0
    unchanged = 3
    while i > 0 and total < 100.0:
        total += tl.load(p + i)
        i //= 2
    tl.store(p, total + unchanged)
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("scf.while"));
  EXPECT_TRUE(e.has("(f32, i32) -> (f32, i32)")) << e.ir;
}

TEST_F(EmitTest, SpinLoopsCarryNothing) {
  Emission e = emit(R"(
@triton.jit
def f(lock):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_xchg(lock, 0)
)",
                    "f", "*i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("scf.while : () -> ()")) << e.ir;
}

TEST_F(EmitTest, EndlessLoopsAreRefused) {
  EXPECT_EQ(emit(R"(
@triton.jit
def f(p):
    while True:
        tl.store(p, 1)
)",
                 "f", "*i32")
                .code(),
            "EndlessLoop");
}

TEST_F(EmitTest, EarlyReturnFoldsTheRestIntoTheOtherBranch) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    x = tl.load(p + pid)
    if x < 0:
        tl.store(p, 1.0)
        return
    tl.store(p + pid, x)
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("scf.if"), 2);
  EXPECT_EQ(e.count("func.return") + e.count("  return"), 1);
  EXPECT_EQ(e.count("arith.xori"), 0);
}

TEST_F(EmitTest, HelpersReturnDifferentValuesByRunTimeConditions) {
  Emission e = emit(R"(
@triton.jit
def pick(x, n):
    if n > 10:
        return x, 1
    elif n > 5:
        x = x * 2
    else:
        return x + 1, 2
    return x, 3

@triton.jit
def f(p, n):
    for i in range(n):
        a, b = pick(tl.load(p + i), i)
        tl.store(p + i, a + b)
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("scf.if"), 2);
  EXPECT_EQ(e.count("-> (f32, i32)"), 2);
}

TEST_F(EmitTest, ReturnsInNestedConditionsLeaveAFlag) {
  Emission e = emit(R"(
@triton.jit
def g(p, n, m):
    y = 1
    if n > 0:
        y = 2
        if m > 0:
            return 10
        y = y + 1
    tl.store(p, y)
    return y

@triton.jit
def f(p, n, m):
    tl.store(p + 1, g(p, n, m))
)",
                    "f", "*i32, i32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("tile.store"), 2);
  EXPECT_GE(e.count("scf.if"), 3) << e.ir;
}

TEST_F(EmitTest, ReturnsInUnrolledLoops) {
  Emission e = emit(R"(
@triton.jit
def find(p, N: tl.constexpr):
    for i in tl.static_range(N):
        if tl.load(p + i) == 0:
            return i
    return -1

@triton.jit
def f(p):
    tl.store(p, find(p, 3))
)",
                    "f", "*i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_EQ(e.count("scf.if"), 3);
  EXPECT_EQ(e.count("tile.load"), 3);
}

TEST_F(EmitTest, ReturnsCannotLeaveRunTimeLoops) {
  EXPECT_EQ(emit(R"(
@triton.jit
def f(p, n):
    for i in range(n):
        if tl.load(p + i) == 0:
            return
)",
                 "f", "*i32, i32")
                .code(),
            "ReturnInLoop");
}

TEST_F(EmitTest, ReturnTypesMustAgree) {
  Emission e = emit(R"(
@triton.jit
def g(n):
    if n > 0:
        return 1
    return 2.0

@triton.jit
def f(p, n):
    tl.store(p, g(n))
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.code(), "ReturnMismatch");
  EXPECT_EQ(e.line(), 8u);
  ASSERT_FALSE(e.error()->notes.empty());
  EXPECT_EQ(e.error()->notes[0].where.begin.line, 12u);
}

TEST_F(EmitTest, BlockPointersAreCarriedThroughLoops) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    b = tl.make_block_ptr(p, (n, 64), (64, 1), (0, 0), (16, 32), (1, 0))
    acc = tl.zeros([16, 32], tl.float32)
    for i in range(0, n, 16):
        acc += tl.load(b, boundary_check=(0, 1))
        b = tl.advance(b, (16, 0))
    tl.store(p, tl.sum(acc))
)",
                    "f", "*fp32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("scf.for"));
}

TEST_F(EmitTest, LoopsCarryOnlyWhatAdvancesOfManyBlockPointers) {
  Emission e = emit(R"(
@triton.jit
def f(p, q, r, n, m):
    a = tl.make_block_ptr(p, (n, m), (m, 1), (0, 0), (16, 16), (1, 0))
    b = tl.make_block_ptr(q, (n, m), (m, 1), (0, 0), (16, 16), (1, 0))
    c = tl.make_block_ptr(r, (n, m), (m, 1), (0, 0), (16, 16), (1, 0))
    for j in range(0, m, 16):
        tl.store(c, tl.load(a) + tl.load(b))
        a = tl.advance(a, (0, 16))
        b = tl.advance(b, (0, 16))
        c = tl.advance(c, (0, 16))
)",
                    "f", "*fp32, *fp32, *fp32, i32, i32");
  EXPECT_EQ(e.message(), "");
  // The six offsets, of 21 values.
  EXPECT_TRUE(e.has("-> (i64, i64, i64, i64, i64, i64)")) << e.ir;
}

TEST_F(EmitTest, LoopsHandOnWhatIsReadBehindThem) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    for i in range(n):
        x = i + 1
        y = i + 2
    tl.store(p, x)
)",
                    "f", "*i32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_TRUE(e.has("-> (i32)")); // `x` alone
  EXPECT_TRUE(e.has("tile.only_checked"));
  // Nobody reads `x` behind the loop: it is carried nowhere.
  e = emit(R"(
@triton.jit
def f(p, n):
    for i in range(n):
        x = i + 1
        tl.store(p, x)
)",
           "f", "*i32, i32");
  EXPECT_EQ(e.message(), "");
  EXPECT_FALSE(e.has("iter_args"));
}

TEST_F(EmitTest, WhatOnlySomeStepsDefineEndsWithThem) {
  Emission e = emit(R"(
@triton.jit
def f(p, n):
    for i in range(n):
        if i > 3:
            x = i
    tl.store(p, x)
)",
                    "f", "*i32, i32");
  EXPECT_EQ(e.code(), "LoopOnly");
  EXPECT_EQ(e.line(), 9u);
}

} // namespace
} // namespace nereid::emit
