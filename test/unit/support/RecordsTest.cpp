#include "support/Records.h"

#include <gtest/gtest.h>

#include <bit>

using namespace nereid;
using namespace nereid::support;

namespace {

Artifact printingKernel() {
  ArtifactBuilder builder;
  builder.kernel.name = builder.text("kernel");
  uint32_t place = builder.addLocation("k.py", "kernel", 12, 4);
  builder.operands = {
      {builder.text("x"), uint32_t(DType::Float16), 2, 0, {4, 8}},
      {builder.text("n"), uint32_t(DType::Int32), 0, 0, {}},
      {builder.text("p"), uint32_t(DType::Float32), 1, 1, {16}},
  };
  builder.sites = {
      {uint32_t(RecordKind::Print), place, builder.text(" x: "), 0, 1, 0},
      {uint32_t(RecordKind::Print), place, builder.text(" both: "), 0, 2, 0},
      {uint32_t(RecordKind::Assert), place, builder.text("`n > 0`"), 0, 0, 0},
      {uint32_t(RecordKind::Print), place, builder.text(" p: "), 2, 1, 1},
      {uint32_t(RecordKind::Print), place, builder.text(" here"), 0, 0, 0},
      {uint32_t(RecordKind::Check), place, builder.text("not a multiple of 16"), 1, 1, 0},
  };
  return *builder.finish();
}

Record make(uint32_t site, RecordKind kind, uint64_t program, uint32_t index, uint64_t value,
            uint16_t operand = 0) {
  return {site, operand, uint16_t(kind), program, value, index, 0};
}

TEST(Records, ReadAsSentences) {
  Artifact artifact = printingKernel();
  const std::pair<Record, const char *> cases[] = {
      {make(0, RecordKind::Print, packProgram(3, 1, 2), 13, 0x4100),
       "pid (3, 1, 2) idx (1, 5) x: 2.500000"},
      {make(1, RecordKind::Print, 0, 0, 0xffffffff, 1),
       "pid (0, 0, 0) idx () both: (operand 1) -1"},
      {make(2, RecordKind::Assert, 7, 0, 0),
       "k.py:12:5: assertion failed: `n > 0` at pid (7, 0, 0)"},
      {make(3, RecordKind::Print, 0, 15, 0x7f0012345678),
       "pid (0, 0, 0) idx (15) p: 0x7f0012345678"},
      {make(3, RecordKind::Print, 0, 7, 0), "pid (0, 0, 0) idx ( 7) p: 0x0"},
      {make(4, RecordKind::Print, 1, 0, 0), "pid (1, 0, 0) here"},
      {make(5, RecordKind::Check, 0, 0, 17),
       "k.py:12:5: check failed: not a multiple of 16 at pid (0, 0, 0) (n = 17)"},
  };
  for (const auto &[record, text] : cases) {
    auto decoded = decodeRecords(artifact, {&record, 1});
    ASSERT_EQ(decoded.size(), 1u) << text;
    EXPECT_EQ(decoded[0].text(), text);
  }
}

TEST(Records, SortByProgramAndKeepEachProgramsOrder) {
  Artifact artifact = printingKernel();
  Record records[] = {
      make(1, RecordKind::Print, packProgram(0, 1, 0), 0, 1, 1),
      make(1, RecordKind::Print, packProgram(5, 0, 0), 0, 2, 1),
      make(1, RecordKind::Print, packProgram(0, 0, 1), 0, 3, 1),
      make(1, RecordKind::Print, packProgram(5, 0, 0), 0, 4, 1),
  };
  std::string order;
  for (const DecodedRecord &record : decodeRecords(artifact, records))
    order += record.value;
  EXPECT_EQ(order, "2413");
  order.clear();
  for (const DecodedRecord &record : decodeRecords(artifact, records, false))
    order += record.value;
  EXPECT_EQ(order, "1234");
}

TEST(Records, SkipNonsense) {
  Artifact artifact = printingKernel();
  Record records[] = {make(99, RecordKind::Print, 0, 0, 0), make(0, RecordKind::Assert, 0, 0, 0),
                      make(0, RecordKind::Print, 0, 0, 0, 9), make(0, RecordKind(77), 0, 0, 0),
                      make(0, RecordKind::Print, 0, 0xffffffff, 0)};
  EXPECT_EQ(decodeRecords(artifact, records).size(), 1u);
}

TEST(Records, FormatEveryType) {
  EXPECT_EQ(formatElement(DType::Int8, 0xff), "-1");
  EXPECT_EQ(formatElement(DType::UInt8, 0xff), "255");
  EXPECT_EQ(formatElement(DType::Int64, ~uint64_t(0)), "-1");
  EXPECT_EQ(formatElement(DType::UInt64, ~uint64_t(0)), "18446744073709551615");
  EXPECT_EQ(formatElement(DType::Int1, 1), "True");
  EXPECT_EQ(formatElement(DType::Int16, 0xabcd, true), "0xabcd");
  EXPECT_EQ(formatElement(DType::Float32, std::bit_cast<uint32_t>(0.1f)), "0.1");
  EXPECT_EQ(formatElement(DType::Float64, std::bit_cast<uint64_t>(0.1)), "0.1");
  EXPECT_EQ(formatElement(DType::BFloat16, 0x3f80), "1.0");
  EXPECT_EQ(formatElement(DType::Float8E4NV, 0x38), "1.0");
  EXPECT_EQ(formatElement(DType::Float32, 0xff800000), "-inf");
  EXPECT_EQ(formatElement(DType::Float32, 0x80000000), "-0.0");
}

TEST(Records, PrintAsPrintfDoes) {
  EXPECT_EQ(printElement(DType::Int8, 0xff), "-1");
  EXPECT_EQ(printElement(DType::UInt16, 0xffff), "65535");
  EXPECT_EQ(printElement(DType::Int1, 1), "1");
  EXPECT_EQ(printElement(DType::Int32, 255, true), "0x000000ff");
  EXPECT_EQ(printElement(DType::Float16, 0x4100), "2.500000");
  EXPECT_EQ(printElement(DType::Float32, std::bit_cast<uint32_t>(0.1f), true), "0x1.99999ap-4");
  EXPECT_EQ(printElement(DType::Float64, std::bit_cast<uint64_t>(-1.5), true), "-0x1.8p+0");
  EXPECT_EQ(printElement(DType::BFloat16, 0xff80), "-inf");
  EXPECT_EQ(printElement(DType::Float64, std::bit_cast<uint64_t>(1e300)).size(), 301u + 7);
}

} // namespace
