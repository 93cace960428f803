#include "support/Artifact.h"
#include "support/HostExpression.h"
#include "support/LaunchAbi.h"

#include "support/ArtifactFormat.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>

using namespace nereid;
using namespace nereid::support;

namespace {

ArtifactBuilder smallKernel() {
  ArtifactBuilder builder;
  builder.kernel.name = builder.text("add");
  builder.kernel.signature = builder.text("*fp32:16,i32,1024");
  builder.kernel.target = builder.text("x86-64");
  builder.kernel.gridRank = 1;
  builder.parameters.push_back({builder.text("x"), {}, uint32_t(ParameterKind::Slots), 0, 1});
  builder.parameters.push_back({builder.text("flag"), {}, uint32_t(ParameterKind::Slots), 1, 1});
  builder.parameters.push_back({builder.text("scale"), {}, uint32_t(ParameterKind::Slots), 2, 1});
  builder.parameters.push_back(
      {builder.text("BLOCK"), builder.text("1024"), uint32_t(ParameterKind::Constexpr), none, 0});
  builder.addSlot("x", SlotKind::Pointer, DType::Float32, 0);
  builder.addSlot("flag", SlotKind::Int, DType::Int8, 1);
  builder.addSlot("scale", SlotKind::Float, DType::Float64, 2);
  builder.slots[0].access = AccessRead | AccessWrite;
  builder.slots[0].divisibility = 16;

  uint32_t outer = builder.addLocation("add.py", "add", 10, 4);
  uint32_t inner = builder.addLocation("add.py", "helper", 3, 11, outer);
  CodeRecord code;
  code.arch = builder.text("x86-64");
  code.features = builder.text("avx2,fma");
  code.entry = builder.text("run");
  code.code = builder.blob(std::vector<uint8_t>{1, 2, 3});
  builder.codes.push_back(code);
  CodeRecord ptx;
  ptx.kind = uint32_t(CodeKind::Ptx);
  ptx.arch = builder.text("sm_90a");
  ptx.code = builder.ptx(".version 8.5");
  builder.codes.push_back(ptx);
  builder.lines = {{0, outer, 0}, {0, inner, 8}, {0, none, 16}, {1, outer, 4}};
  builder.sites.push_back({uint32_t(RecordKind::Print), inner, builder.text("x = "), 0, 1, 0});
  builder.operands.push_back({builder.text("x"), uint32_t(DType::Float32), 1, 0, {128}});
  HostExpressionBuilder grid;
  auto blocks = grid.binary(HostOp::Cdiv, grid.argument(1), grid.meta(0));
  builder.expressions.push_back(
      {builder.text(""), uint32_t(ExpressionRole::Grid), 0, builder.blob(*grid.finish(blocks))});
  builder.addOption("num_warps", "4", OptionSource::Compiler);
  builder.addFact("environment", "USE_FAST", "1");
  Diagnostic note;
  note.severity = Severity::Note;
  note.code = "IgnoredOption";
  note.message = "`num_ctas=2` changes nothing";
  note.hint = "leave it out";
  note.where = {"add.py", {9, 2}, {9, 2}};
  builder.addNote(note);
  return builder;
}

std::vector<uint8_t> smallBytes() {
  Artifact artifact = *smallKernel().finish();
  return {artifact.bytes().begin(), artifact.bytes().end()};
}

TEST(Artifact, GivesBackWhatWasPutIn) {
  auto artifact = smallKernel().finish();
  ASSERT_TRUE(artifact) << artifact.error().what;
  EXPECT_EQ(artifact->name(), "add");
  ASSERT_EQ(artifact->slots().size(), 3u);
  // x at 0, one byte of flag at 8, scale behind padding at 16.
  EXPECT_EQ(artifact->slots()[1].offset, 8u);
  EXPECT_EQ(artifact->slots()[2].offset, 16u);
  EXPECT_EQ(artifact->kernel().packedBytes, 24u);
  EXPECT_EQ(artifact->text(artifact->parameters()[3].value), "1024");
  ASSERT_EQ(artifact->codes().size(), 2u);
  auto code = artifact->blob(artifact->codes()[0].code);
  EXPECT_EQ(std::vector<uint8_t>(code.begin(), code.end()), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(artifact->blob(artifact->codes()[1].code).back(), 0);
  EXPECT_EQ(artifact->option("num_warps"), "4");
  EXPECT_EQ(artifact->option("absent"), "");
  ASSERT_EQ(artifact->notes().size(), 1u);
  Diagnostic note = artifact->notes().front();
  EXPECT_EQ(note.severity, Severity::Note);
  EXPECT_EQ(note.code + ": " + note.message + "; " + note.hint,
            "IgnoredOption: `num_ctas=2` changes nothing; leave it out");
  EXPECT_EQ(note.where.file, "add.py");
  EXPECT_EQ(note.where.begin.line, 9u);
  EXPECT_EQ(note.where.begin.column, 2u);
  ASSERT_EQ(artifact->expressions().size(), 1u);
  auto grid = HostExpression::open(artifact->blob(artifact->expressions()[0].code));
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->toPython({{"x", "n"}, {"BLOCK"}, {}, {}}), "triton.cdiv(n, BLOCK)");
}

TEST(Artifact, SameInputSameBytes) { EXPECT_EQ(smallBytes(), smallBytes()); }

TEST(Artifact, FindsLinesThroughCallSites) {
  auto artifact = smallKernel().finish();
  ASSERT_TRUE(artifact);
  auto at = [&](uint32_t code, uint64_t offset) {
    const LocationRecord *location = artifact->locate(code, offset);
    return location ? artifact->describe(*location) : std::string("nowhere");
  };
  EXPECT_EQ(at(0, 0), "add.py:10:5");
  EXPECT_EQ(at(0, 7), "add.py:10:5");
  EXPECT_EQ(at(0, 8), "add.py:3:12, called from add.py:10:5");
  EXPECT_EQ(at(0, 100), "nowhere");
  EXPECT_EQ(at(1, 3), "nowhere");
  EXPECT_EQ(at(1, 4), "add.py:10:5");
}

TEST(Artifact, MapsAFile) {
  auto bytes = smallBytes();
  std::string path = testing::TempDir() + "/artifact.bin";
  FILE *file = std::fopen(path.c_str(), "wb");
  ASSERT_TRUE(file);
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  auto artifact = Artifact::map(path);
  ASSERT_TRUE(artifact) << artifact.error().what;
  EXPECT_EQ(artifact->name(), "add");
  std::remove(path.c_str());
  auto missing = Artifact::map(path);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find(path), std::string::npos);
}

TEST(Artifact, KeepsNothingOfAReplacedExpression) {
  ArtifactBuilder first(*Artifact::take(smallBytes()));
  HostExpressionBuilder other;
  auto grid = other.finish(other.integer(7));
  first.expressions[0].code = first.blob(*grid);
  auto once = first.finish();
  ASSERT_TRUE(once) << once.error().what;
  ArtifactBuilder second(*once);
  second.expressions[0].code = second.blob(*grid);
  auto twice = second.finish();
  ASSERT_TRUE(twice) << twice.error().what;
  EXPECT_EQ(once->bytes().size(), twice->bytes().size());
  auto opened = HostExpression::open(twice->blob(twice->expressions()[0].code));
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ(opened->toPython({}), "7");
}

TEST(Artifact, RefusesTruncation) {
  auto bytes = smallBytes();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Artifact::take({bytes.begin(), bytes.begin() + size})) << size;
}

TEST(Artifact, RefusesOtherVersions) {
  auto bytes = smallBytes();
  bytes[8] = artifactVersion + 1;
  auto artifact = Artifact::take(bytes);
  ASSERT_FALSE(artifact);
  EXPECT_NE(artifact.error().what.find("version " + std::to_string(artifactVersion + 1)),
            std::string::npos)
      << artifact.error().what;
}

// Repairs the checksum, so that damage reaches the structural checks behind it.
void reseal(std::vector<uint8_t> &bytes) {
  uint64_t sum =
      hash64(bytes.data() + sizeof(ArtifactHeader), bytes.size() - sizeof(ArtifactHeader));
  std::memcpy(bytes.data() + offsetof(ArtifactHeader, checksum), &sum, sizeof sum);
}

// Reads everything that an artifact hands out.
uint64_t touchAll(const Artifact &artifact) {
  uint64_t sum = 0;
  auto text = [&](Text reference) {
    for (char c : artifact.text(reference))
      sum += uint8_t(c);
  };
  text(artifact.kernel().name);
  text(artifact.kernel().signature);
  for (auto &parameter : artifact.parameters()) {
    text(parameter.name);
    text(parameter.value);
    for (uint32_t i = 0; i < parameter.slotCount; ++i)
      sum += artifact.slots()[parameter.firstSlot + i].offset;
  }
  for (auto &slot : artifact.slots()) {
    text(slot.name);
    if (slot.descriptor != none)
      sum += artifact.descriptors()[slot.descriptor].rank;
  }
  for (auto &code : artifact.codes()) {
    text(code.arch);
    text(code.features);
    for (uint8_t byte : artifact.blob(code.code))
      sum += byte;
  }
  for (auto &line : artifact.lines())
    if (auto *location = artifact.locate(line.code, line.offset))
      sum += artifact.describe(*location).size();
  for (auto &site : artifact.sites()) {
    text(site.message);
    for (uint32_t i = 0; i < site.operandCount; ++i)
      text(artifact.operands()[site.firstOperand + i].name);
  }
  for (auto &option : artifact.options())
    text(option.value);
  for (auto &fact : artifact.facts())
    text(fact.value);
  for (auto &note : artifact.notes())
    sum += note.message.size() + note.where.file.size();
  return sum;
}

TEST(Artifact, SurvivesDamageBehindAValidChecksum) {
  const auto good = smallBytes();
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int opened = 0;
  const uint32_t evil[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};
  for (int round = 0; round < 20000; ++round) {
    auto bytes = good;
    for (int edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = sizeof(ArtifactHeader) + random() % (bytes.size() - sizeof(ArtifactHeader) - 4);
      at &= ~size_t(3);
      uint32_t value = random() % 2 ? evil[random() % std::size(evil)] : uint32_t(random());
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
    reseal(bytes);
    if (auto artifact = Artifact::take(bytes)) {
      ++opened;
      touchAll(*artifact);
    }
  }
  EXPECT_GT(opened, 0); // harmless edits are read, so the walk above did run
}

TEST(Artifact, RefusesOverlappingSlots) {
  auto builder = smallKernel();
  builder.slots[1].offset = 4;
  auto artifact = builder.finish();
  ASSERT_FALSE(artifact);
  EXPECT_NE(artifact.error().what.find("overlap"), std::string::npos) << artifact.error().what;
}

TEST(Artifact, RefusesCallSiteCycles) {
  auto builder = smallKernel();
  builder.locations[0].caller = 1;
  EXPECT_FALSE(builder.finish());
  builder.locations[0].caller = 0;
  EXPECT_FALSE(builder.finish());
}

TEST(Hash, FieldsAreFramed) {
  EXPECT_NE(Hasher().add("ab").add("c").finish(), Hasher().add("a").add("bc").finish());
  Hash128 hash = hash128("nereid");
  EXPECT_EQ(Hash128::fromHex(hash.hex()), hash);
  EXPECT_FALSE(Hash128::fromHex("xyz"));
  // A fixed value: keys must not change between builds or machines.
  EXPECT_EQ(hash128("").hex(), "99aa06d3014798d86001c324468d497f");
}

} // namespace
