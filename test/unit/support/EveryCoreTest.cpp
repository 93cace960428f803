#include "support/EveryCore.h"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

using namespace nereid::support;

TEST(EveryCore, CallsEachPartOnceAndWaits) {
  for (size_t count : {size_t(0), size_t(1), size_t(2), size_t(1000)}) {
    std::vector<std::atomic<int>> calls(count);
    onEveryCore(count, [&](size_t i) { ++calls[i]; });
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(calls[i], 1) << i;
  }
}

TEST(EveryCore, HandsOnWhatAPartThrows) {
  std::atomic<size_t> calls = 0;
  auto part = [&](size_t i) {
    ++calls;
    if (i == 3)
      throw std::runtime_error("part 3");
  };
  EXPECT_THROW(onEveryCore(1'000'000, part), std::runtime_error);
  EXPECT_LT(calls, 1'000'000u);
}
