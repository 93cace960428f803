#include "support/Knobs.h"
#include "support/Sink.h"

#include <gtest/gtest.h>

#include <map>

using namespace nereid::support;

namespace {

TEST(Knobs, AreReadOnceFromOneTable) {
  std::map<std::string, const char *> environment = {{"NEREID_CPU_THREADS", "7"},
                                                     {"NEREID_DEBUG", "on"},
                                                     {"NEREID_CACHE_DIR", "/somewhere"},
                                                     {"NEREID_FIBER_STALL_SECONDS", "2.5"}};
  std::vector<std::string> problems;
  auto lookup = [&](const char *name) {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  };
  Knobs knobs = Knobs::read(lookup, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(knobs.cpuThreads, 7);
  EXPECT_TRUE(knobs.debug);
  EXPECT_EQ(knobs.cacheDirectory, "/somewhere");
  EXPECT_EQ(knobs.fiberStallSeconds, 2.5);
  EXPECT_FALSE(knobs.perfMap);
  for (const KnobRow &row : knobTable(knobs)) {
    EXPECT_TRUE(row.variable.starts_with("NEREID_"));
    EXPECT_FALSE(row.meaning.empty());
    if (row.variable == "NEREID_CPU_THREADS") {
      EXPECT_EQ(row.value, "7");
      EXPECT_EQ(row.otherwise, "0");
    }
  }
  environment = {{"NEREID_CPU_THREADS", "many"}, {"NEREID_PERF_MAP", "perhaps"}};
  knobs = Knobs::read(lookup, problems);
  EXPECT_EQ(knobs.cpuThreads, 0);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0], "NEREID_CPU_THREADS=many cannot be read; it stays 0");
}

TEST(Sink, HearsOnlyWhenSet) {
  std::string heard;
  log(LogLevel::Warning, "to nobody");
  EXPECT_FALSE(logEnabled());
  setLogSink([&](LogLevel level, std::string_view message) {
    heard += std::to_string(int(level)) + std::string(message) + ";";
  });
  EXPECT_TRUE(logEnabled());
  log(LogLevel::Info, "one");
  log(LogLevel::Warning, "two");
  setLogSink({});
  log(LogLevel::Warning, "to nobody");
  EXPECT_EQ(heard, "1one;2two;");
}

} // namespace
