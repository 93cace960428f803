#include "support/EveryCore.h"

#include <atomic>
#include <gtest/gtest.h>
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
