#include "runtime/Recorder.h"

#include "TestArtifacts.h"
#include "runtime/CpuDevice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

using namespace nereid;
using namespace nereid::runtime;
using namespace nereid::support;

namespace {

TraceEvent event(TraceKind kind, const char *name, int64_t begin, int64_t end) {
  TraceEvent event;
  event.kind = kind;
  event.name = name;
  event.device = "cpu";
  event.begin = begin;
  event.end = end;
  event.thread = 1;
  return event;
}

TEST(Recorder, SeesWhatTheRuntimeDoes) {
  CpuDevice &cpu = cpuDevice();
  auto kernel = *cpu.load(test::makeArtifact("void run(u64 f, u64 n, const Context *c) {}"));
  void *argument = nullptr;
  int cell = 0, other = 0;
  auto work = [&](Stream &stream) {
    TraceScope range(TraceKind::Range, "step");
    EXPECT_TRUE(stream.launch(*kernel, {&argument, 8, {4, 2, 1}}));
    EXPECT_TRUE(stream.copy(&cell, &other, 4));
    EXPECT_TRUE(stream.fill(&cell, 1, 4, 1));
    EXPECT_TRUE(stream.synchronize());
  };
  auto queued = *cpu.createStream();
  recorder().take();
  work(*queued);
  EXPECT_TRUE(recorder().take().empty()); // off
  recorder().enable(true);
  work(*queued);
  recorder().enable(false);
  auto events = recorder().take();
  ASSERT_EQ(events.size(), 5u);
  std::string order;
  for (const TraceEvent &seen : events) {
    order += std::string(name(seen.kind)) + " ";
    EXPECT_LE(seen.begin, seen.end);
    if (seen.kind == TraceKind::Launch) {
      EXPECT_EQ(seen.name, "kernel");
      EXPECT_EQ(seen.grid[0], 4u);
      EXPECT_NE(seen.thread, events[0].thread); // the stream's own
    }
    if (seen.kind == TraceKind::Copy)
      EXPECT_EQ(seen.bytes, 8);
  }
  EXPECT_TRUE(order.starts_with("range ")) << order;
  EXPECT_GE(events[0].end, events[4].begin); // the range spans the rest
}

TEST(Recorder, SumsUp) {
  std::vector<TraceEvent> events = {event(TraceKind::Launch, "a", 0, 10),
                                    event(TraceKind::Launch, "b", 10, 100),
                                    event(TraceKind::Launch, "a", 100, 130)};
  events[0].bytes = 5;
  events[2].bytes = 7;
  events[2].deviceBegin = 200;
  events[2].deviceEnd = 220; // what the device says counts
  auto rows = summarize(events);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "b");
  EXPECT_EQ(rows[0].bytes, -1);
  EXPECT_EQ(rows[1].name, "a");
  EXPECT_EQ(rows[1].count, 2u);
  EXPECT_EQ(rows[1].total, 30);
  EXPECT_EQ(rows[1].least, 10);
  EXPECT_EQ(rows[1].greatest, 20);
  EXPECT_EQ(rows[1].bytes, 12);
}

TEST(Recorder, WritesJsonThatParses) {
  std::vector<TraceEvent> events = {event(TraceKind::Launch, "odd \"name\"\n\\", 1000, 2500),
                                    event(TraceKind::Range, "r", 0, 5000)};
  events[0].grid = {3, 2, 1};
  events[0].deviceBegin = 1500;
  events[0].deviceEnd = 2000;
  std::string text = chromeTrace(events);
  EXPECT_NE(text.find(R"("ts":1.000,"dur":1.500)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("grid":[3,2,1])"), std::string::npos);
  if (std::system("python3 -c pass >/dev/null 2>&1") != 0)
    return;
  std::string path = testing::TempDir() + "/nereid-trace.json";
  std::ofstream(path) << text;
  std::string check = "python3 -c \"import json; t = json.load(open('" + path +
                      "')); s = [e for e in t['traceEvents'] if e['ph'] == 'X']; "
                      "assert len(s) == 3 and s[0]['name'] == 'odd \\\"name\\\"\\n\\\\\\\\', s\"";
  EXPECT_EQ(std::system(check.c_str()), 0);
  std::remove(path.c_str());
}

// Of one stream: what encloses the rest, two that overlap in part, one behind them.
TEST(Recorder, PutsOverlappingWorkOnTracksBesideEachOther) {
  std::vector<TraceEvent> events;
  for (auto [begin, end] : {std::pair(0, 100), {10, 40}, {30, 60}, {60, 90}}) {
    TraceEvent seen = event(TraceKind::Kernel, "k", 0, 0);
    seen.thread = 0; // no call of the host
    seen.device = "cuda:0";
    seen.stream = 7;
    seen.deviceBegin = begin;
    seen.deviceEnd = end;
    events.push_back(seen);
  }
  std::string text = chromeTrace(events);
  auto count = [&](const std::string &part) {
    size_t times = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
      ++times;
    return times;
  };
  EXPECT_EQ(count("\"ph\":\"X\""), 4u) << text;
  EXPECT_EQ(count("\"name\":\"stream 7\""), 1u) << text;
  EXPECT_EQ(count("\"name\":\"stream 7, beside 1\""), 1u) << text;
  EXPECT_EQ(count("\"name\":\"stream 7, beside 2\""), 0u) << text;
  EXPECT_EQ(count("\"ph\":\"X\",\"pid\":2,\"tid\":2"), 1u) << text; // the third alone
}

TEST(Recorder, TellsAnObserver) {
  int seen = 0;
  recorder().observe([&](const TraceEvent &) { ++seen; });
  recorder().enable(true);
  {
    TraceScope scope(TraceKind::Compile, "kernel");
  }
  recorder().enable(false);
  recorder().observe({});
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(recorder().take().size(), 1u);
}

} // namespace
