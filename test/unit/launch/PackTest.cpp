// Packs: what goes in comes out, the most special code is found, and damage is an error.
#include "launch/Pack.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace nereid;
using namespace nereid::launch;
using namespace nereid::support;

namespace {

std::vector<uint8_t> artifactNamed(const std::string &name) {
  ArtifactBuilder builder;
  builder.kernel.name = builder.text(name);
  auto artifact = *builder.finish();
  return {artifact.bytes().begin(), artifact.bytes().end()};
}

Signature signatureOf(const std::string &name) {
  Signature signature;
  signature.name = name;
  Parameter x, block;
  x.name = "x";
  x.doNotSpecializeOnAlignment = true;
  x.annotated = DType::Int64;
  block.name = "BLOCK";
  block.isConstexpr = true;
  signature.parameters = {x, block};
  return signature;
}

struct PackTest : ::testing::Test {
  void add(const std::string &kernel, const std::string &specialization,
           std::vector<uint32_t> defaulted = {}, const std::string &target = "cpu") {
    artifacts.push_back(std::make_unique<std::vector<uint8_t>>(artifactNamed(specialization)));
    Status status = builder.add(signatureOf(kernel),
                                {target, "num_warps=4", *Specialization::parse(specialization),
                                 std::move(defaulted), *artifacts.back()});
    ASSERT_TRUE(status.ok()) << status.error().what;
  }
  Result<Pack> open(std::vector<uint8_t> bytes) {
    // Bytes that are mapped start at a page.
    size_t size = bytes.size();
    std::shared_ptr<void> memory(std::aligned_alloc(64, (size + 63) / 64 * 64 + 64), std::free);
    std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t *>(memory.get()));
    return Pack::open({static_cast<const uint8_t *>(memory.get()), size}, memory);
  }
  std::string found(const Pack &pack, const std::string &kernel, const std::string &specialization,
                    std::vector<uint32_t> defaulted = {}, const std::string &target = "cpu") {
    const PackedKernelRow *row = pack.find(kernel);
    if (!row)
      return "no kernel";
    const PackEntry *entry = row->find(target, *Specialization::parse(specialization), defaulted);
    if (!entry)
      return "no entry";
    auto artifact = pack.artifact(*entry);
    return artifact ? std::string(artifact->name()) : artifact.error().what;
  }

  PackBuilder builder;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> artifacts;
};

TEST_F(PackTest, KeepsWhatGoesIn) {
  add("a", "i64:16, 64");
  add("a", "i64, 64");
  add("a", "i64, 32", {1});
  add("b", "*fp32:16, 8", {}, "sm_90a");
  auto pack = open(builder.finish());
  ASSERT_TRUE(pack.ok()) << pack.error().what;
  ASSERT_EQ(pack->kernels().size(), 2u);
  const Signature &signature = pack->find("a")->signature;
  EXPECT_EQ(signature.parameters[0].name, "x");
  EXPECT_EQ(signature.parameters[0].annotated, DType::Int64);
  EXPECT_TRUE(signature.parameters[0].doNotSpecializeOnAlignment);
  EXPECT_FALSE(signature.parameters[0].isConstexpr);
  EXPECT_TRUE(signature.parameters[1].isConstexpr);

  // The most special code that holds for the arguments.
  EXPECT_EQ(found(*pack, "a", "i64:16, 64"), "i64:16, 64");
  EXPECT_EQ(found(*pack, "a", "i64, 64"), "i64, 64");
  EXPECT_EQ(found(*pack, "a", "i64:1, 64"), "i64, 64");
  EXPECT_EQ(found(*pack, "a", "i32, 64"), "no entry");
  EXPECT_EQ(found(*pack, "a", "i64, 32"), "no entry");
  EXPECT_EQ(found(*pack, "a", "i64, 32", {1}), "i64, 32");
  EXPECT_EQ(found(*pack, "b", "*fp32:16, 8"), "no entry");
  EXPECT_EQ(found(*pack, "b", "*fp32:16, 8", {}, "sm_90a"), "*fp32:16, 8");
  // A pointer without the alignment that the code was promised.
  EXPECT_EQ(found(*pack, "b", "*fp32, 8", {}, "sm_90a"), "no entry");
  EXPECT_EQ(found(*pack, "c", "i64, 64"), "no kernel");

  // The same again through another pack, with one entry replaced.
  PackBuilder second;
  ASSERT_TRUE(second.add(*pack).ok());
  EXPECT_EQ(second.finish(), builder.finish());
  add("a", "i64, 64");
  EXPECT_EQ(builder.finish().size(), second.finish().size());
  Signature other = signatureOf("a");
  other.parameters.pop_back();
  EXPECT_FALSE(second.add(other, {}).ok());
}

// BLOCK = 64 if x > 1 else 32
Heuristics blockByX() {
  HostExpressionBuilder e;
  auto isMore = e.binary(HostOp::Greater, e.argument(0), e.integer(1));
  Heuristics rules;
  EXPECT_TRUE(rules.add(1, *e.finish(e.select(isMore, e.integer(64), e.integer(32)))));
  return rules;
}

PackedChoice choiceOf(std::string target, std::string device, ParameterValues which, int block,
                      uint32_t warps) {
  return {std::move(target),
          std::move(device),
          std::move(which),
          {{1, Constant::integer(int64_t(block))}},
          {.numWarps = warps}};
}

TEST_F(PackTest, LaunchesAreDecided) {
  add("a", "i64, 64");
  builder.setHeuristics("a", blockByX());
  builder.setHeuristics("none", blockByX());
  ParameterValues seven = {{0, Constant::integer(int64_t(7))}};
  builder.addChoice("a", choiceOf("", "", {}, 64, 4));
  builder.addChoice("a", choiceOf("sm_90a", "H200", seven, 64, 4));
  builder.addChoice("a", choiceOf("sm_90a", "", {}, 64, 4));
  builder.addChoice("a", choiceOf("x86-64", "Zen", seven, 64, 4));
  // What nobody built is not kept.
  builder.addChoice("a", choiceOf("", "", seven, 128, 4));
  builder.addChoice("a", choiceOf("", "", seven, 64, 8));
  auto pack = open(builder.finish());
  ASSERT_TRUE(pack.ok()) << pack.error().what;
  const PackedKernelRow *row = pack->find("a");
  ASSERT_EQ(row->choices.size(), 4u);
  auto chosen = [&](const char *target, const char *device, Argument x, Argument block = {}) {
    Argument arguments[] = {x, block};
    const PackedChoice *choice = row->choose({target, device}, arguments);
    return choice ? choice->target + "/" + choice->device : "none";
  };
  EXPECT_EQ(chosen("sm_90a", "H200", Argument::integer(7)), "sm_90a/H200");
  EXPECT_EQ(chosen("sm_90a", "H200", Argument::typed(DType::Int32, int64_t(7))), "sm_90a/H200");
  EXPECT_EQ(chosen("sm_90a", "H200", Argument::integer(8)), "sm_90a/");
  EXPECT_EQ(chosen("x86-64", "Zen", Argument::integer(7)), "x86-64/Zen");
  EXPECT_EQ(chosen("x86-64", "Xeon", Argument::integer(7)), "/");
  EXPECT_EQ(chosen("x86-64", "Zen", Argument::integer(7), Argument::integer(64)), "x86-64/Zen");
  EXPECT_EQ(chosen("x86-64", "Zen", Argument::integer(7), Argument::integer(32)), "none");
  Argument arguments[] = {Argument::integer(5), Argument()};
  EXPECT_FALSE(row->heuristics.fill(arguments));
  EXPECT_EQ(arguments[1].bits, 64u);

  // Through another pack, the same bytes; one for the same launches replaces.
  PackBuilder second;
  ASSERT_TRUE(second.add(*pack).ok());
  EXPECT_EQ(second.finish(), builder.finish());
  builder.addChoice("a", choiceOf("x86-64", "Zen", seven, 64, 4));
  EXPECT_EQ(open(builder.finish())->find("a")->choices.size(), 4u);
}

// A GPU takes what was measured on another one of its target, a CPU does not.
TEST_F(PackTest, SiblingsAreAskedLast) {
  add("a", "i64, 64");
  builder.addChoice("a", choiceOf("sm_90a", "H200", {}, 64, 4));
  builder.addChoice("a", choiceOf("x86-64", "Zen", {}, 64, 4));
  auto pack = open(builder.finish());
  Argument arguments[] = {Argument::integer(1), Argument()};
  EXPECT_TRUE(pack->find("a")->choose({"sm_90a", "H100"}, arguments));
  EXPECT_FALSE(pack->find("a")->choose({"sm_80", "A100"}, arguments));
  EXPECT_FALSE(pack->find("a")->choose({"x86-64", "Xeon"}, arguments));
}

TEST_F(PackTest, DamageIsAnError) {
  add("a", "i64:16, 64");
  add("b", "i64, 64");
  builder.setHeuristics("a", blockByX());
  builder.addChoice("b", choiceOf("cpu", "Zen", {{0, Constant::string("i64")}}, 64, 4));
  const std::vector<uint8_t> good = builder.finish();
  ASSERT_TRUE(open(good).ok());
  EXPECT_TRUE(open(PackBuilder().finish()).ok());
  for (size_t size = 0; size < good.size(); size += size < 300 ? 1 : 7)
    EXPECT_FALSE(open({good.begin(), good.begin() + long(size)}).ok()) << size;
  size_t table = good.size() - artifacts[0]->size() - artifacts[1]->size();
  for (size_t at = 0; at < good.size(); ++at) {
    std::vector<uint8_t> bad = good;
    bad[at] ^= 0x41;
    auto pack = open(bad);
    // Padding may hold anything; what is read is checked before it is used.
    if (pack.ok()) {
      EXPECT_GE(at, table - 128) << at;
      found(*pack, "a", "i64:16, 64");
      found(*pack, "b", "i64, 64");
    }
  }
  std::vector<uint8_t> newer = good;
  newer[8] = 9;
  EXPECT_NE(open(newer).error().what.find("version 9"), std::string::npos);
  EXPECT_FALSE(Pack::map("/nonexistent/kernels.pack").ok());
  EXPECT_FALSE(Pack::map("/").ok());
  EXPECT_FALSE(Pack::map("/dev/zero").ok());
}

} // namespace
