// Inline PTX: the texts that real kernels use, and their parts.
#include "Harness.h"

#include "ir/PtxText.h"
#include "ref/Ptx.h"

#include <cmath>

namespace nereid::ref {
namespace {

/// Runs a text on registers: outputs come first.
uint64_t ptx(const std::string &text, std::vector<uint64_t> registers) {
  PtxProgram program(text, registers.size());
  PtxProgram::Outside outside;
  PtxProgram::State state{std::move(registers), &outside};
  program.run(state);
  return state.registers[0];
}
uint64_t bits(float value) { return std::bit_cast<uint32_t>(value); }
float value(uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }

TEST(Ptx, IntegersAndBits) {
  EXPECT_EQ(ptx("shf.l.wrap.b32 $0, $1, $2, $3;", {0, 0x80000001, 0x12345678, 4}), 0x23456788u);
  EXPECT_EQ(ptx("shf.r.wrap.b32 $0, $1, $2, $3;", {0, 0x80000001, 0x12345678, 4}), 0x88000000u);
  EXPECT_EQ(ptx("shf.r.clamp.b32 $0, $1, $2, $3;", {0, 1, 7, 40}), 7u);
  EXPECT_EQ(ptx("and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;", {0, 0xff01027f}), 0xf80810f8u);
  EXPECT_EQ(ptx("prmt.b32 $0, $1, $2, 0x5410;", {0, 0x11112222, 0x33334444}), 0x44442222u);
  EXPECT_EQ(ptx("prmt.b32 $0, $1, $2, 0x0098;", {0, 0x80, 0}), 0x808000ffu);
  EXPECT_EQ(ptx("lop3.b32 $0, $1, $2, $3, 0xEA;", {0, 0xf0, 0xcc, 0x01}), 0xc1u); // (a & b) | c
  EXPECT_EQ(ptx("mul.hi.u32 $0, $1, $2;", {0, 0xffffffff, 0xffffffff}), 0xfffffffeu);
  EXPECT_EQ(ptx("mul.wide.s32 $0, $1, -3;", {0, 5}), uint64_t(-15));
  EXPECT_EQ(ptx("mad.lo.s32 $0, $1, $2, $3;", {0, uint32_t(-2), 7, 20}), 6u);
  EXPECT_EQ(ptx("mad24.hi.sat.s32 $0, $1, $2, $3;", {0, 0x7fffff, 0x7fffff, 0x7fffff00}),
            0x7fffffffu);
  EXPECT_EQ(ptx("mad.hi.sat.s32 $0, $1, $2, $3;", {0, 0x80000000, 0x7fffffff, 0x80000000}),
            0x80000000u);
  EXPECT_EQ(ptx("bfe.u32 $0, $1, 4, 8;", {0, 0xabcd}), 0xbcu);
  EXPECT_EQ(ptx("bfe.s32 $0, $1, 4, 8;", {0, 0xabcd}), 0xffffffbcu);
  EXPECT_EQ(ptx("bfi.b32 $0, $1, $2, 8, 4;", {0, 0x5, 0xffff}), 0xf5ffu);
  EXPECT_EQ(ptx("dp4a.s32.s32 $0, $1, $2, $3;", {0, 0x01ff0203, 0x01010101, 10}), 15u);
  EXPECT_EQ(ptx("shr.s32 $0, $1, 40;", {0, 0x80000000}), 0xffffffffu);
  EXPECT_EQ(ptx("clz.b32 $0, $1;", {0, 0x00010000}), 15u);
  EXPECT_EQ(ptx("add.sat.s32 $0, $1, $2;", {0, 0x7fffffff, 1}), 0x7fffffffu);
  EXPECT_EQ(ptx("mov.u32 $0, 0x0; fence.sc.sys;", {7}), 0u);
}

// By the pseudocode of the PTX ISA, worked out by hand.
TEST(Ptx, FieldsAndSearches) {
  EXPECT_EQ(ptx("fns.b32 $0, $1, 0, 2;", {0, 0b101100}), 3u);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 3, 1;", {0, 0b101100}), 3u);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 4, 2;", {0, 0b101100}), 0xffffffffu);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 31, -3;", {0, 0b101100}), 2u);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 4, -1;", {0, 0b101100}), 3u);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 5, 0;", {0, 0b101100}), 5u);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 4, 0;", {0, 0b101100}), 0xffffffffu);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 0, 32;", {0, 0xffffffff}), 31u);
  EXPECT_EQ(ptx("fns.b32 $0, $1, 40, 1;", {0, 0xffffffff}), 0xffffffffu);
  EXPECT_EQ(ptx("bfind.u32 $0, $1;", {0, 0x00010000}), 16u);
  EXPECT_EQ(ptx("bfind.u32 $0, $1;", {0, 0}), 0xffffffffu);
  EXPECT_EQ(ptx("bfind.s32 $0, $1;", {0, uint32_t(-2)}), 0u);
  EXPECT_EQ(ptx("bfind.s32 $0, $1;", {0, uint32_t(-1)}), 0xffffffffu);
  EXPECT_EQ(ptx("bfind.shiftamt.u32 $0, $1;", {0, 0x00010000}), 15u);
  EXPECT_EQ(ptx("bfind.s64 $0, $1;", {0, uint64_t(-1) << 40}), 39u);
  EXPECT_EQ(ptx("bfind.u64 $0, $1;", {0, uint64_t(1) << 40}), 40u);
  EXPECT_EQ(ptx("szext.wrap.s32 $0, $1, 4;", {0, 0x1a}), 0xfffffffau);
  EXPECT_EQ(ptx("szext.wrap.u32 $0, $1, 36;", {0, 0x1a}), 0xau);
  EXPECT_EQ(ptx("szext.wrap.s32 $0, $1, 32;", {0, 0x1a}), 0u);
  EXPECT_EQ(ptx("szext.clamp.s32 $0, $1, 40;", {0, 0x8000001a}), 0x8000001au);
  EXPECT_EQ(ptx("bmsk.clamp.b32 $0, 4, 8;", {0}), 0xff0u);
  EXPECT_EQ(ptx("bmsk.clamp.b32 $0, 28, 8;", {0}), 0xf0000000u);
  EXPECT_EQ(ptx("bmsk.clamp.b32 $0, 3, 99;", {0}), 0xfffffff8u);
  EXPECT_EQ(ptx("bmsk.clamp.b32 $0, 32, 1;", {0}), 0u);
  EXPECT_EQ(ptx("bmsk.wrap.b32 $0, 33, 34;", {0}), 6u);
  EXPECT_EQ(ptx("bfe.s32 $0, $1, 28, 8;", {0, 0x80000000}), 0xfffffff8u);
  EXPECT_EQ(ptx("prmt.b32.f4e $0, $1, $2, 1;", {0, 0x33221100, 0x77665544}), 0x44332211u);
  EXPECT_EQ(ptx("prmt.b32.b4e $0, $1, $2, 1;", {0, 0x33221100, 0x77665544}), 0x66770011u);
  EXPECT_EQ(ptx("prmt.b32.rc8 $0, $1, $2, 2;", {0, 0x33221100, 0x77665544}), 0x22222222u);
  EXPECT_EQ(ptx("prmt.b32.ecl $0, $1, $2, 1;", {0, 0x33221100, 0x77665544}), 0x33221111u);
  EXPECT_EQ(ptx("prmt.b32.ecr $0, $1, $2, 2;", {0, 0x33221100, 0x77665544}), 0x22221100u);
  EXPECT_EQ(ptx("prmt.b32.rc16 $0, $1, $2, 3;", {0, 0x33221100, 0x77665544}), 0x33223322u);
}

TEST(Ptx, SumsAndChoices) {
  EXPECT_EQ(ptx("dp2a.lo.s32.s32 $0, $1, $2, 5;", {0, 0x0003fffe, 0x0000ff02}), uint32_t(-2));
  EXPECT_EQ(ptx("dp2a.hi.u32.u32 $0, $1, $2, 5;", {0, 0x0003fffe, 0xff020000}), 131838u);
  EXPECT_EQ(ptx("sad.s32 $0, $1, $2, 10;", {0, uint32_t(-3), 4}), 17u);
  EXPECT_EQ(ptx("sad.u32 $0, $1, $2, 10;", {0, 0xffffffff, 4}), 5u);
  EXPECT_EQ(ptx("vabsdiff4.u32.u32.u32 $0, $1, $2, 0;", {0, 0x01ff0510, 0x02010a00}), 0x01fe0510u);
  EXPECT_EQ(ptx("vabsdiff4.u32.u32.u32.add $0, $1, $2, 7;", {0, 0x01ff0510, 0x02010a00}),
            1u + 254 + 5 + 16 + 7);
  EXPECT_EQ(ptx("vabsdiff4.u32.s32.s32.add $0, $1, $2, 0;", {0, 0xff, 0x01}), 2u);
  EXPECT_EQ(ptx("slct.u32.s32 $0, 3, 4, $1;", {0, uint32_t(-1)}), 4u);
  EXPECT_EQ(ptx("slct.u32.f32 $0, 3, 4, $1;", {0, bits(-0.0f)}), 3u);
  EXPECT_EQ(ptx("slct.u32.f32 $0, 3, 4, $1;", {0, bits(NAN)}), 4u);
  EXPECT_EQ(ptx("mul.hi.s64 $0, $1, $2;", {0, uint64_t(-1) << 40, 1 << 30}), uint64_t(-64));
  EXPECT_EQ(ptx("mul.hi.s64 $0, $1, $2;", {0, uint64_t(-3), uint64_t(-5)}), 0u);
  // Four clamped words become the bytes of one, in two steps.
  EXPECT_EQ(ptx("cvt.pack.sat.s8.s32.b32 $0, $1, $2, 0; cvt.pack.sat.s8.s32.b32 $0, $3, $4, $0;",
                {0, 4, 300, uint32_t(-300), 1}),
            0x047f8001u);
  EXPECT_EQ(ptx("cvt.pack.sat.u16.s32 $0, $1, $2;", {0, uint32_t(-5), 70000}), 0x0000ffffu);
  const float normal = 1.5f, tiny = 1e-40f;
  auto test = [](const std::string &how, float x) {
    return ptx("{ .reg .pred p; testp." + how + ".f32 p, $1; selp.b32 $0, 1, 0, p; }",
               {0, bits(x)});
  };
  for (auto [how, expected] : {std::pair("finite", "1110000"), std::pair("infinite", "0001100"),
                               std::pair("number", "1111100"), std::pair("notanumber", "0000011"),
                               std::pair("normal", "1000000"), std::pair("subnormal", "0100000")}) {
    std::string found;
    for (float x : {normal, tiny, 0.0f, INFINITY, -INFINITY, NAN, -NAN})
      found += test(how, x) ? '1' : '0';
    EXPECT_EQ(found, expected) << how;
  }
}

TEST(Ptx, FloatsAndPredicates) {
  EXPECT_EQ(value(ptx("ex2.approx.ftz.f32 $0, $1;", {0, bits(3)})), 8);
  EXPECT_EQ(value(ptx("ex2.approx.ftz.f32 $0, $1;", {0, bits(-130)})), 0);
  EXPECT_EQ(value(ptx("tanh.approx.f32 $0, $1;", {0, bits(0.5f)})), float(std::tanh(0.5)));
  EXPECT_EQ(value(ptx("fma.rn.f32 $0, $1, $1, 0fBF800000;", {0, bits(1 + 0x1p-12f)})),
            0x1p-11f + 0x1p-24f);
  EXPECT_EQ(value(ptx("add.rz.f32 $0, $1, $2;", {0, bits(1), bits(-0x1p-30f)})),
            std::nextafter(1.0f, 0.0f));
  EXPECT_EQ(value(ptx("max.NaN.f32 $0, $1, $2;", {0, bits(1), bits(2)})), 2);
  EXPECT_TRUE(std::isnan(value(ptx("max.NaN.f32 $0, $1, $2;", {0, bits(1), bits(NAN)}))));
  EXPECT_EQ(value(ptx("max.f32 $0, $1, $2;", {0, bits(1), bits(NAN)})), 1);
  EXPECT_EQ(value(ptx("max.NaN.xorsign.abs.f32 $0, $1, $2;", {0, bits(-3), bits(2)})), -3);
  EXPECT_EQ(value(ptx("min.NaN.xorsign.abs.f32 $0, $1, $2;", {0, bits(-3), bits(-2)})), 2);
  const char *relu = R"({
      .reg .pred p;
      setp.gt.f32 p, $1, 0f00000000; // x > 0
      @p mov.f32 $0, $1;
      @!p mov.f32 $0, 0f00000000;
    })";
  EXPECT_EQ(value(ptx(relu, {0, bits(4)})), 4);
  EXPECT_EQ(value(ptx(relu, {0, bits(-4)})), 0);
  EXPECT_EQ(value(ptx("{ .reg .pred p; setp.lt.f32 p, $1, $2; selp.f32 $0, $1, $2, p; }",
                      {0, bits(5), bits(3)})),
            3);
}

TEST(Ptx, ConversionsAndPacking) {
  EXPECT_EQ(ptx("cvt.rn.bf16x2.f32 $0, $1, $2;", {0, bits(1), bits(2)}), 0x3f804000u);
  EXPECT_EQ(ptx("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", {0, bits(1000), bits(-1)}), 0x7eb8u);
  EXPECT_EQ(ptx("cvt.rn.f16x2.e4m3x2 $0, $1;", {0, 0x38b8}), 0x3c00bc00u);
  EXPECT_EQ(ptx("cvt.rn.satfinite.e2m1x2.f32 $0, $1, $2;", {0, bits(100), bits(-1.5f)}), 0x7bu);
  EXPECT_EQ(ptx("cvt.rna.tf32.f32 $0, $1;", {0, bits(1 + 0x1p-11f)}), bits(1 + 0x1p-10f));
  EXPECT_EQ(ptx("cvt.rni.s32.f32 $0, $1;", {0, bits(2.5f)}), 2u);
  EXPECT_EQ(ptx("cvt.rzi.u32.f32 $0, $1;", {0, bits(-3.0f)}), 0u);
  EXPECT_EQ(ptx("cvt.s32.s8 $0, $1;", {0, 0xff}) & 0xffffffff, 0xffffffffu);
  EXPECT_EQ(value(ptx("cvt.rn.f32.s32 $0, $1;", {0, uint32_t(-7)})), -7);
  EXPECT_EQ(ptx("mov.b32 $0, {$1, $2};", {0, 0x1234, 0xabcd}), 0xabcd1234u);
  EXPECT_EQ(ptx("{ .reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a}; }", {0, 0xabcd1234}),
            0x1234abcdu);
  EXPECT_EQ(ptx("{ .reg .b8 b<4>; mov.b32 {b0, b1, b2, b3}, $1; mov.b32 $0, {b3, b2, b1, b0}; }",
                {0, 0x01020304}),
            0x04030201u);
  EXPECT_EQ(ptx("mul.bf16x2 $0, $1, $2;", {0, 0x40003f80, 0x40404040}), 0x40c04040u);
  EXPECT_EQ(ptx("fma.rn.f16x2 $0, $1, $2, $1;", {0, 0x3c004000, 0x40004000}), 0x42004600u);
}

TEST(Ptx, WhatIsUnknownIsNamed) {
  for (const char *text :
       {"bra L1;", "mma.sync.aligned $0, $1;", "add.s32 $0, $1, nobody;", "mov.b32 $0, $9;",
        "frobnicate.b32 $0, $1;", "@p", "{", "mov.b32 $0", ".reg .nothing x;",
        "ld.shared.b32 $0, [$1];",
        // products of whole numbers as ptxas refuses them
        "mul.s32 $0, $1, $1;", "mul.lo.hi.s32 $0, $1, $1;", "mul.lo.b32 $0, $1, $1;",
        "mul.wide.s64 $0, $1, $1;", "mul.hi.sat.s32 $0, $1, $1;", "mad.lo.sat.s32 $0, $1, $1, $1;",
        "mul24.s32 $0, $1, $1;", "mul24.wide.s32 $0, $1, $1;", "mul24.lo.s64 $0, $1, $1;",
        "mad24.u32 $0, $1, $1, $1;", "mad24.hi.sat.u32 $0, $1, $1, $1;"}) {
    bool known = true;
    try {
      PtxProgram program(text, 2);
    } catch (nereid::ptx::Unknown &unknown) {
      known = false;
    }
    EXPECT_EQ(known, std::string_view(text) == "{") << text;
  }
}

TEST(InlineAsm, FourBytesShareARegister) {
  Kernel kernel(lanesKernel(8, "i8", "i8", "i8", "i8", R"(
    %r = tile.inline_asm "and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;" "=r,r" pack 4 pure true (%a) : (tensor<$nxi8>) -> tensor<$nxi8>)"));
  std::vector<uint8_t> x{1, 2, 0xff, 32, 5, 6, 7, 8}, unused(8), out(8);
  kernel.tensor("a", x).tensor("b", unused).tensor("c", unused).tensor("r", out).run();
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(out[i], uint8_t((x[i] & 0x1f) << 3));
}

TEST(InlineAsm, WidensBytesToTwoRegistersOfHalves) {
  // Four e4m3 values in one register become four f16 in two.
  Kernel kernel(lanesKernel(8, "i8", "i8", "i8", "f16", R"(
    %r = tile.inline_asm "{ .reg .b16 lo, hi; mov.b32 {lo, hi}, $2; cvt.rn.f16x2.e4m3x2 $0, lo; cvt.rn.f16x2.e4m3x2 $1, hi; }" "=r,=r,r" pack 4 pure true (%a) : (tensor<$nxi8>) -> tensor<$nxf16>)"));
  std::vector<uint8_t> x{0x38, 0xb8, 0x40, 0, 0x7e, 1, 2, 3}, unused(8);
  std::vector<uint16_t> out(8);
  kernel.tensor("a", x).tensor("b", unused).tensor("c", unused).tensor("r", out).run();
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(widen(F16{out[i]}), widen(E4M3FN{x[i]})) << i;
}

TEST(InlineAsm, BooleansAreBitsOfARegister) {
  Kernel kernel(lanesKernel(16, "i8", "i8", "i8", "i8", R"(
    %zero = arith.constant dense<0> : tensor<$nxi8>
    %m = arith.cmpi ne, %a, %zero : tensor<$nxi8>
    %t = tile.inline_asm "shl.b32 $0, $1, 1;" "=r,r" pack 8 pure true (%m) : (tensor<$nxi1>) -> tensor<$nxi1>
    %r = arith.extui %t : tensor<$nxi1> to tensor<$nxi8>)"));
  std::vector<uint8_t> x{1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1}, unused(16), out(16);
  kernel.tensor("a", x).tensor("b", unused).tensor("c", unused).tensor("r", out).run();
  // Each group of eight moves by one.
  EXPECT_EQ(out, (std::vector<uint8_t>{0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0}));
}

TEST(InlineAsm, APredicateIsABoolean) {
  Kernel kernel(lanesKernel(4, "i32", "i32", "i32", "i8", R"(
    %t = tile.inline_asm "setp.gt.s32 $0, $1, 3;" "=b,r" pack 1 pure true (%a) : (tensor<$nxi32>) -> tensor<$nxi1>
    %r = arith.extui %t : tensor<$nxi1> to tensor<$nxi8>)"));
  std::vector<int32_t> x{-5, 3, 4, 100}, unused(4);
  std::vector<uint8_t> out(4);
  kernel.tensor("a", x).tensor("b", unused).tensor("c", unused).tensor("r", out).run();
  EXPECT_EQ(out, (std::vector<uint8_t>{0, 0, 1, 1}));
}

TEST(InlineAsm, EachRegisterHasAConstraint) {
  for (auto [constraints, said] : {std::pair("=r", "it has 1 constraints for 2 registers"),
                                   std::pair("=r,7", "the constraint `7` is no output")}) {
    Kernel kernel(lanesKernel(2, "i32", "i32", "i32", "i32",
                              "%r = tile.inline_asm \"mov.b32 $0, $1;\" \"" +
                                  std::string(constraints) +
                                  "\" pack 1 pure true (%a) : (tensor<$nxi32>) -> tensor<$nxi32>"));
    std::vector<int32_t> v(2);
    auto result = kernel.tensor("a", v).tensor("b", v).tensor("c", v).tensor("r", v).tryRun();
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().what.find(said), std::string::npos) << result.error().what;
  }
}

TEST(InlineAsm, ReadsAndWritesVerifiedMemory) {
  const char *text = R"(func.func @k(%p: !tile.ptr<i32>, %q: !tile.ptr<i32>) {
      %v = tile.inline_asm "ld.global.b32 $0, [$1+4]; st.global.b32 [$2], $0;" "=r,l,l" pack 1 pure false (%p, %q) : (!tile.ptr<i32>, !tile.ptr<i32>) -> i32
      return
    })";
  std::vector<int32_t> p{1, 2}, q{0}, small{1};
  Kernel kernel(text);
  kernel.tensor("p", p).tensor("q", q).run();
  EXPECT_EQ(q[0], 2);
  Kernel outside(text);
  auto result = outside.tensor("p", small).tensor("q", q).tryRun();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostics[0].code, "OutOfBounds");
}

TEST(InlineAsm, AnUnknownTextIsADiagnostic) {
  Kernel kernel(lanesKernel(2, "i32", "i32", "i32", "i32", R"(
    %r = tile.inline_asm "wmma.magic $0, $1;" "=r,r" pack 1 pure true (%a) : ($i32) -> $i32)"));
  std::vector<int32_t> v(2);
  auto result = kernel.tensor("a", v).tensor("b", v).tensor("c", v).tensor("r", v).tryRun();
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("inline PTX `wmma.magic $0, $1;` is not known"),
            std::string::npos)
      << result.error().what;
}

} // namespace
} // namespace nereid::ref
