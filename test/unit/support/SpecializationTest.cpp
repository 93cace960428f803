#include "support/Specialization.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

using namespace nereid;
using namespace nereid::support;

namespace {

std::string roundTrip(std::string_view text) {
  auto parsed = Specialization::parse(text);
  if (!parsed)
    return "error: " + parsed.error().what;
  auto again = Specialization::parse(parsed->text());
  EXPECT_TRUE(again) << parsed->text();
  if (again)
    EXPECT_EQ(again->text(), parsed->text());
  return parsed->text();
}

TEST(Specialization, ReadsSignatures) {
  const std::pair<const char *, const char *> cases[] = {
      {"*fp32:16, *fp32:16, i32:16, 1024", "*fp32:16, *fp32:16, i32:16, 1024"},
      {"*fp32,i32:1,None", "*fp32, i32:1, None"},
      {"i32:8, u64:4", "i32:8, u64:4"},
      {"  *kbf16:16 ,u64 , i1 ", "*kbf16:16, u64, i1"},
      {"1e-5, -0.0, 3., inf, -inf, -7, 007, -0", "1e-05, -0.0, 3.0, inf, -inf, -7, 7, 0"},
      {"True, False, 'relu', \"it's\"", "True, False, 'relu', 'it\\'s'"},
      {"tl.float16, tl.int1", "tl.float16, tl.int1"},
      {"(i32, (*fp16:16,), ())", "(i32, (*fp16:16,), ())"},
      {"(scale = fp32, shift=2)", "(scale=fp32, shift=2)"},
      {"tensordesc<fp16[128, 64]>, tensordesc< bf16[1,2,3] , nan >",
       "tensordesc<fp16[128, 64]>, tensordesc<bf16[1, 2, 3], nan>"},
      {"fn:mod.relu@0123ab", "fn:mod.relu@0123ab"},
      {"123456789012345678901234567890", "123456789012345678901234567890"},
      {"", ""},
  };
  for (auto [input, expected] : cases)
    EXPECT_EQ(roundTrip(input), expected) << input;
}

TEST(Specialization, RefusesNonsense) {
  for (const char *input : {"*",
                            "*fp33",
                            "*fp32:8",
                            "i32:2",
                            "i32:32",
                            "fp32:16",
                            "fp32 i32",
                            "(i32",
                            "i32)",
                            "'open",
                            "tensordesc<fp16[0]>",
                            "tensordesc<fp16[]>",
                            "tensordesc<fp16[1],zap>",
                            "tensordesc<i8[1,1,1,1,1,1]>",
                            ",",
                            "1.2.3",
                            "0x",
                            "(a=i32, i32)",
                            "frob",
                            "-",
                            "'\\x0'"})
    EXPECT_TRUE(roundTrip(input).starts_with("error: bad signature")) << input;
  EXPECT_EQ(roundTrip("fp32*, i32"),
            "error: bad signature at `*, i32`: a pointer has its `*` before the type");
  EXPECT_EQ(roundTrip("*fp32 *fp32, i32"), "error: bad signature at `*fp32, i32`: expected `,`");
  EXPECT_EQ(roundTrip("*tl.float32, i32"),
            "error: bad signature at `tl.float32, i32`: unknown type `tl.float32` behind `*`; a "
            "signature has `fp32`");
  EXPECT_EQ(roundTrip("*fp32, *fp3"),
            "error: bad signature at `fp3`: unknown type `fp3` behind `*`; did you mean `fp32`?");
  EXPECT_TRUE(roundTrip("(i32").starts_with("error: bad signature at its end: "));
  EXPECT_EQ(roundTrip("*fp32, BLOCK=16"), "error: bad signature at `16`: a signature goes by "
                                          "place: write the value alone, without `BLOCK=`");
  std::string deep(100000, '(');
  EXPECT_FALSE(Specialization::parse(deep));
}

TEST(Specialization, IsCoarsenedToWhatTritonTellsApart) {
  auto parsed = Specialization::parse("*fp32:16, i32:16, i32:8, (i64:4, i32:1, *fp16), 8");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->coarsened().text(), "*fp32:16, i32:16, i32, (i64, i32:1, *fp16), 8");
}

TEST(Specialization, KeepsFloatsBitByBit) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    double value;
    uint64_t bits = random();
    std::memcpy(&value, &bits, 8);
    if (std::isnan(value))
      continue;
    auto constant = Constant::parse(Constant::floating(value).source());
    ASSERT_TRUE(constant);
    ASSERT_EQ(constant->kind, Constant::Kind::Float);
    ASSERT_EQ(std::bit_cast<uint64_t>(constant->number), bits);
  }
}

TEST(Specialization, KeepsStrings) {
  std::string odd = "a'b\\c\n\x01\x7f\xc3\xa9\"";
  auto constant = Constant::parse(Constant::string(odd).source());
  ASSERT_TRUE(constant);
  EXPECT_EQ(constant->text, odd);
}

TEST(Constant, IsOneValue) {
  EXPECT_EQ(Constant::parse("None"), Constant::none());
  EXPECT_EQ(Constant::parse("-3"), Constant::integer(-3));
  EXPECT_EQ(Constant::parse("tl.float16"), Constant::dtype(DType::Float16));
  for (const char *other : {"", "i32", "*fp32", "(1, 2)", "1, 2", "[1]", "1 +"})
    EXPECT_FALSE(Constant::parse(other)) << other;
}

TEST(Specialization, CountsLeaves) {
  auto parsed = Specialization::parse("(i32, (*fp16, 3), ()), i32");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->arguments[0].leafCount(), 3u);
}

TEST(CompileKey, EveryPartCounts) {
  CompileKey base{hash128("source"), hash128("facts"), "i32", "num_warps=4", "sm_90a", "b1"};
  auto changed = [&](auto edit) {
    CompileKey key = base;
    edit(key);
    return key.hash() != base.hash();
  };
  EXPECT_EQ(CompileKey(base).hash(), base.hash());
  EXPECT_TRUE(changed([](CompileKey &k) { k.source = hash128("other"); }));
  EXPECT_TRUE(changed([](CompileKey &k) { k.facts = hash128("other"); }));
  EXPECT_TRUE(changed([](CompileKey &k) { k.arguments = "i64"; }));
  EXPECT_TRUE(changed([](CompileKey &k) { k.options = "num_warps=8"; }));
  EXPECT_TRUE(changed([](CompileKey &k) { k.target = "sm_80"; }));
  EXPECT_TRUE(changed([](CompileKey &k) { k.build = "b2"; }));
}

} // namespace
