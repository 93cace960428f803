#include "launch/MemoryCache.h"

#include <gtest/gtest.h>

#include <thread>

using namespace nereid;
using namespace nereid::launch;
using namespace nereid::support;

namespace {

Hash128 keyOf(uint64_t number) { return Hasher().add(number).finish(); }

Artifact smallArtifact(uint64_t number) {
  ArtifactBuilder builder;
  builder.kernel.name = builder.text("kernel" + std::to_string(number));
  builder.kernel.key = keyOf(number);
  CodeRecord code;
  code.kind = uint32_t(CodeKind::Cubin);
  code.arch = builder.text("sm_90a");
  code.entry = builder.text("entry");
  code.code = builder.blob(std::vector<uint8_t>(1000, uint8_t(number)));
  builder.codes.push_back(code);
  auto artifact = builder.finish();
  EXPECT_TRUE(artifact) << artifact.error().what;
  return *std::move(artifact);
}

const uint64_t one = smallArtifact(1).bytes().size();

void keep(MemoryCache &cache, uint64_t number) { cache.keep(keyOf(number), smallArtifact(number)); }
bool holds(MemoryCache &cache, uint64_t number) {
  auto found = cache.find(keyOf(number));
  return found && found->name() == "kernel" + std::to_string(number);
}

TEST(MemoryCacheTest, ForgetsWhatWasUsedLongestAgo) {
  MemoryCache cache(3 * one);
  for (uint64_t number : {1, 2, 3})
    keep(cache, number);
  EXPECT_EQ(cache.bytes(), 3 * one);
  EXPECT_TRUE(holds(cache, 1)); // used again
  keep(cache, 4);
  EXPECT_LE(cache.bytes(), 3 * one);
  EXPECT_FALSE(holds(cache, 2));
  for (uint64_t number : {1, 3, 4})
    EXPECT_TRUE(holds(cache, number)) << number;
}

TEST(MemoryCacheTest, WhatIsInUseStays) {
  MemoryCache cache(2 * one);
  Artifact used = smallArtifact(1);
  cache.keep(keyOf(1), used);
  for (uint64_t number = 2; number < 9; ++number)
    keep(cache, number);
  EXPECT_TRUE(holds(cache, 1));
  EXPECT_TRUE(holds(cache, 8));
  EXPECT_FALSE(holds(cache, 7));
  EXPECT_EQ(cache.bytes(), 2 * one);
  // Given back, it goes like any other.
  used = smallArtifact(9);
  keep(cache, 10);
  keep(cache, 11);
  EXPECT_FALSE(holds(cache, 1));
  EXPECT_LE(cache.bytes(), 2 * one);
}

TEST(MemoryCacheTest, TheSameKeyIsKeptOnce) {
  MemoryCache cache(8 * one);
  keep(cache, 1);
  keep(cache, 1);
  EXPECT_EQ(cache.bytes(), one);
}

// Larger than the limit: kept while it is in use.
TEST(MemoryCacheTest, OneThatDoesNotFit) {
  MemoryCache cache(one / 2);
  Artifact used = smallArtifact(1);
  cache.keep(keyOf(1), used);
  EXPECT_TRUE(holds(cache, 1));
  used = smallArtifact(2);
  keep(cache, 3);
  EXPECT_FALSE(holds(cache, 1));
}

TEST(MemoryCacheTest, ManyThreads) {
  MemoryCache cache(5 * one);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 200; ++i) {
        uint64_t number = (i * (t + 1)) % 11;
        if (!holds(cache, number))
          keep(cache, number);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  keep(cache, 100);
  EXPECT_LE(cache.bytes(), 6 * one);
}

} // namespace
