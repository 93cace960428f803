#include "runtime/CubinLines.h"

#include "TestCubins.h"

#include <gtest/gtest.h>

using namespace nereid;
using namespace nereid::runtime;

namespace {

std::vector<uint32_t> chain(const CubinLines &lines, std::string_view function, uint64_t offset) {
  std::vector<uint32_t> numbers;
  for (const CubinRow &row : lines.find(function, offset))
    numbers.push_back(row.line);
  return numbers;
}
using Chain = std::vector<uint32_t>;

TEST(CubinLines, FindsTheLineOfAnInstruction) {
  auto lines = readCubinLines(
      test::makeCubin("softmax", {{0, 10}, {0x20, 300}, {0x40, 11}}, 0x60, "/kernels"));
  ASSERT_TRUE(lines) << lines.error().what;
  EXPECT_EQ(chain(*lines, "softmax", 0), Chain{10});
  EXPECT_EQ(chain(*lines, "softmax", 0x10), Chain{10}); // until the next row
  EXPECT_EQ(chain(*lines, "softmax", 0x30), Chain{300});
  EXPECT_EQ(chain(*lines, "softmax", 0x50), Chain{11});
  EXPECT_EQ(chain(*lines, "softmax", 0x60), Chain{}); // behind its end
  EXPECT_EQ(chain(*lines, "other", 0), Chain{});
  ASSERT_EQ(lines->files.size(), 1u);
  EXPECT_EQ(lines->files[0], "/kernels/kernel.py");
}

// What ptxas makes of `.loc 1 3 6, function_name f, inlined_at 1 6 3`, of which line 6 is itself
// inlined in line 12: rows of the calls come before at the same offset.
TEST(CubinLines, FollowsInlinedCalls) {
  auto lines = readCubinLines(test::makeCubin(
      "k", {{0, 12}, {0x10, 12}, {0x10, 6, 2}, {0x10, 3, 3}, {0x20, 13}, {0x30, 3, 5}}, 0x40));
  ASSERT_TRUE(lines) << lines.error().what;
  EXPECT_EQ(chain(*lines, "k", 0), Chain{12});
  EXPECT_EQ(chain(*lines, "k", 0x10), (Chain{3, 6, 12}));
  EXPECT_EQ(chain(*lines, "k", 0x20), Chain{13});
  EXPECT_EQ(chain(*lines, "k", 0x30), (Chain{3, 13}));
}

// A load, another on the same scoreboard, what waits for it; a loop's load behind what waits for
// it.
TEST(CubinLines, FindsWhatAnInstructionWaitsFor) {
  auto lines = readCubinLines(test::makeCubin(
      "k", {{0, 1}}, 0x60, "", "kernel.py",
      {{.sets = 2}, {.sets = 2}, {.waits = 2}, {}, {.waits = 4}, {.sets = 4, .waits = 2}}));
  ASSERT_TRUE(lines) << lines.error().what;
  EXPECT_EQ(lines->awaitedBy("k", 0x00), std::nullopt);
  EXPECT_EQ(lines->awaitedBy("k", 0x20), 0x10u);
  EXPECT_EQ(lines->awaitedBy("k", 0x30), std::nullopt);
  EXPECT_EQ(lines->awaitedBy("k", 0x40), 0x50u);
  EXPECT_EQ(lines->awaitedBy("k", 0x50), 0x10u);
  EXPECT_EQ(lines->awaitedBy("k", 0x600), std::nullopt);
  EXPECT_EQ(lines->awaitedBy("other", 0x20), std::nullopt);
}

TEST(CubinLines, SurvivesWhatIsDamaged) {
  EXPECT_FALSE(readCubinLines({}));
  const std::vector<uint8_t> good = test::makeCubin("k", {{0, 12}, {0x10, 6, 1}, {0x20, 13}}, 0x40);
  for (size_t size = 0; size < good.size(); ++size)
    (void)readCubinLines(std::span(good).first(size));
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t value : {0x00, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> bad = good;
      bad[at] = value;
      if (auto lines = readCubinLines(bad))
        for (uint64_t offset : {0x0, 0x10, 0x20, 0x80})
          (void)lines->find("k", offset), (void)lines->awaitedBy("k", offset);
    }
  // A line program that calls itself, or a row that comes later, has no caller.
  auto loop = readCubinLines(test::makeCubin("k", {{0, 12, 1}, {0x10, 6, 9}}, 0x40));
  ASSERT_TRUE(loop);
  EXPECT_EQ(chain(*loop, "k", 0), Chain{12});
  EXPECT_EQ(chain(*loop, "k", 0x10), Chain{6});
}

} // namespace
