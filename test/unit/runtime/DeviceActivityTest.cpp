// What the recorder and the sampler make of CUPTI's answers, on a driver and a CUPTI without a GPU
// (test/fake_cuda). Each case is a process of its own.
#include "FakeCuda.h"
#include "TestArtifacts.h"
#include "TestCubins.h"
#include "runtime/CudaDevice.h"
#include "runtime/CudaDriver.h"
#include "runtime/PcSampling.h"
#include "runtime/Recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

using namespace nereid;
using namespace nereid::runtime;

namespace {

class DeviceActivity : public test::FakeCuda {
protected:
  DeviceActivity() { ::setenv("NEREID_CUPTI", NEREID_BINARY_DIR "/fake_cuda/libfake_cupti.so", 1); }
  ~DeviceActivity() override {
    ::unsetenv("NEREID_CUPTI");
    ::unsetenv("FAKE_CUPTI");
  }
};

// What is wrong, a line each, ends the process as a failure.
#define EXPECT_GOOD(scenario, body)                                                                \
  ::setenv("FAKE_CUPTI", scenario, 1);                                                             \
  EXPECT_EXIT(                                                                                     \
      {                                                                                            \
        std::vector<std::string> wrong = body(**device("cuda:0"));                                 \
        for (const std::string &text : wrong)                                                      \
          std::fprintf(stderr, "%s\n", text.c_str());                                              \
        std::_Exit(wrong.empty() ? 0 : 1);                                                         \
      },                                                                                           \
      testing::ExitedWithCode(0), "")

support::Artifact cubinArtifact(const char *name = "kernel") {
  test::KernelOptions options = {.name = name, .sharedBytes = 64, .arch = "sm_90"};
  auto builder = test::startArtifact(options);
  support::CodeRecord code;
  code.kind = uint32_t(support::CodeKind::Cubin);
  code.arch = builder.text(options.arch);
  code.code = builder.blob(test::makeCubin("run", {{0, 7}, {0x10, 8}, {0x20, 3, 2}, {0x30, 9}}, 64,
                                           "folder", "kernel.py", {{.sets = 1}, {.waits = 1}}));
  return test::finishArtifact(builder, code, options);
}

void launch(Stream &stream, LoadedKernel &kernel) {
  void *argument = nullptr;
  ASSERT_TRUE(stream.launch(kernel, {&argument, 8, {4, 2, 1}}));
}

size_t count(const std::vector<TraceEvent> &events, TraceKind kind) {
  return size_t(std::ranges::count(events, kind, &TraceEvent::kind));
}

// Two launches, a copy and a fill; a graph of two launches, run twice; and work that the program
// queues past the runtime.
std::vector<TraceEvent> recordWork(Device &gpu) {
  auto stream = *gpu.createStream();
  auto kernel = *gpu.load(cubinArtifact());
  auto memory = *gpu.allocate(1000);
  auto *data = static_cast<char *>(memory.data());
  recorder().take();
  recorder().enable(true);
  launch(*stream, *kernel);
  launch(*stream, *kernel);
  EXPECT_TRUE(stream->copy(data, data + 500, 400));
  EXPECT_TRUE(stream->fill(data, 0, 4, 10));
  EXPECT_TRUE(stream->beginCapture());
  launch(*stream, *kernel);
  launch(*stream, *kernel);
  auto graph = *stream->endCapture();
  EXPECT_TRUE(stream->launch(*graph));
  EXPECT_TRUE(stream->launch(*graph));
  CurrentContext current(&gpu);
  (*cuda::driver())
      ->cuMemsetD32Async(reinterpret_cast<cuda::DevicePointer>(data), 0, 10,
                         static_cast<cuda::StreamHandle>(stream->native()));
  recorder().enable(false);
  return recorder().take();
}

TEST_F(DeviceActivity, GivesEachCallItsTimeOnTheDevice) {
  auto body = [](Device &gpu) {
    std::vector<std::string> wrong;
    auto check = [&](bool good, const char *what) {
      if (!good)
        wrong.push_back(what);
    };
    auto events = recordWork(gpu);
    for (const std::string &note : recorder().takeNotes())
      wrong.push_back(note);
    auto at = [&](TraceKind kind) -> const TraceEvent & {
      return *std::ranges::find(events, kind, &TraceEvent::kind);
    };
    check(count(events, TraceKind::Launch) == 4 && count(events, TraceKind::Graph) == 2 &&
              count(events, TraceKind::Copy) == 1 && count(events, TraceKind::Fill) == 2 &&
              count(events, TraceKind::Kernel) == 4,
          "events are missing or too many");
    const TraceEvent &first = at(TraceKind::Launch);
    check(first.duration() == 10000, "the launch took 10 us on the device");
    check(first.deviceBegin >= first.begin && first.deviceBegin < first.begin + 1000000000,
          "the device's clock is not tied to the host's");
    check(first.shape.registers == 42 && first.shape.sharedBytes == 64 &&
              first.shape.block[0] == 128 && first.stream == 13,
          "what CUPTI says of a kernel is lost");
    check(at(TraceKind::Copy).duration() == 5000 && at(TraceKind::Copy).bytes == 800,
          "the copy took 5 us");
    const TraceEvent &graph = at(TraceKind::Graph), &node = at(TraceKind::Kernel);
    check(graph.duration() >= 10000 && node.deviceBegin >= graph.deviceBegin &&
              node.deviceEnd <= graph.deviceEnd && node.call == graph.call && !node.thread &&
              node.name == "run",
          "a kernel of a graph is not in it");
    size_t ofOthers = 0;
    for (const TraceEvent &event : events)
      ofOthers += event.kind == TraceKind::Fill && !event.call && event.thread == first.thread &&
                  event.duration() == 2000;
    check(ofOthers == 1, "the program's own fill is missing");
    std::string text = chromeTrace(events);
    check(text.find("\"stream 13\"") != text.npos && text.find("\"registers\":42") != text.npos &&
              text.find("\"ph\":\"f\",\"bp\":\"e\"") != text.npos,
          "the trace lacks streams, registers or arrows");
    return wrong;
  };
  EXPECT_GOOD("", body);
}

// Whatever stands in the way is one line, and times of events are there.
template <int> std::vector<std::string> fallsBack(Device &gpu) {
  auto events = recordWork(gpu);
  auto notes = recorder().takeNotes();
  std::vector<std::string> wrong;
  const char *expected = std::getenv("EXPECTED_NOTE");
  if (notes.size() != 1 || notes[0].find(expected) == std::string::npos)
    wrong.push_back("expected a note with: " + std::string(expected));
  for (const std::string &note : notes)
    wrong.insert(wrong.end(), wrong.empty() ? 0 : 1, note);
  auto isTimed = [](const TraceEvent &event) { // the driver's time is a millisecond a launch
    return event.kind == TraceKind::Launch && event.deviceEnd - event.deviceBegin == 1000000;
  };
  if (std::ranges::none_of(events, isTimed))
    wrong.push_back("no launch has a time by events");
  if (count(events, TraceKind::Kernel))
    wrong.push_back("kernels were seen");
  return wrong;
}

TEST_F(DeviceActivity, FallsBackToEvents) {
  auto expect = [](const char *scenario, const char *note) {
    ::setenv("EXPECTED_NOTE", note, 1);
    EXPECT_GOOD(scenario, fallsBack<0>);
  };
  expect("old", "CUPTI is too old: its version is 12, at least 18 (CUDA 11.8) is needed");
  expect("busy", "another profiler is attached to this process");
  expect("privileges", "the driver lets only administrators profile");
  ::setenv("NEREID_CUPTI", "/nonexistent.so", 1);
  expect("", "no CUPTI: /nonexistent.so");
  ::setenv("NEREID_CUPTI", "off", 1);
  expect("", "CUPTI is off by NEREID_CUPTI");
  ::unsetenv("EXPECTED_NOTE");
}

TEST_F(DeviceActivity, CountsWhatIsLost) {
  auto dropped = [](Device &gpu) -> std::vector<std::string> {
    recordWork(gpu);
    auto notes = recorder().takeNotes();
    if (notes.size() == 1 && notes[0].starts_with("12 records of what the device did were dropped"))
      return {};
    return {"expected a note of 12 records"};
  };
  EXPECT_GOOD("dropped", dropped);
  auto untimed = [](Device &gpu) -> std::vector<std::string> {
    auto events = recordWork(gpu);
    auto notes = recorder().takeNotes();
    if (notes.size() == 1 && notes[0].starts_with("9 kernels or copies have no time") &&
        count(events, TraceKind::Launch) == 4)
      return {};
    return {"expected a note of 9 records"};
  };
  EXPECT_GOOD("untimed", untimed);
}

TEST_F(DeviceActivity, SamplesLines) {
  auto body = [](Device &gpu) -> std::vector<std::string> {
    auto stream = *gpu.createStream();
    auto sampler = PcSampler::start(gpu);
    if (!sampler)
      return {sampler.error().what};
    std::vector<std::string> wrong;
    if (PcSampler::start(gpu))
      wrong.push_back("two samplers run at once");
    auto kernel = *gpu.load(cubinArtifact());
    launch(*stream, *kernel);
    launch(*stream, *kernel);
    auto report = (*sampler)->finish();
    if (!report)
      return {report.error().what};
    std::string table = sampleTable(*report, [](const std::string &file, uint32_t line) {
      return "y = f" + std::to_string(line) + "(x) # " + file;
    });
    if (report->kernels.size() != 1 || report->samples != 300 || !report->notes.empty() ||
        report->periodCycles != 2048 || report->kernels[0].lines.size() != 3)
      return {"the report is wrong", table};
    const LineSamples &hottest = report->kernels[0].lines[0], &second = report->kernels[0].lines[1];
    if (hottest.line != 8 || hottest.samples != 200 ||
        hottest.mainWait() != stallReason("issue_stalled_long_scoreboard"))
      wrong.push_back("the load's line is wrong");
    // Samples in which no warp issued are counted already.
    if (second.line != 3 || second.samples != 80 || second.callers.size() != 1 ||
        second.callers[0] != std::pair<std::string, uint32_t>("folder/kernel.py", 8))
      wrong.push_back("the inlined line is wrong");
    for (const char *part :
         {"run: 300 samples, one each 2048 cycles",
          "67%    kernel.py:8      a load of global memory of line 7 100%    y = f8(x) # "
          "folder/kernel.py",
          "kernel.py:3 < 8  a barrier of the block 100%",
          "hint: a load of global memory (kernel.py:8 for `f7` of line 7): load earlier",
          "hint: a barrier of the block (kernel.py:3 < 8 for `f3`): "})
      if (table.find(part) == table.npos)
        wrong.push_back("the table lacks `" + std::string(part) + "`:\n" + table);
    TraceEvent event;
    event.kind = TraceKind::Launch;
    event.name = "run";
    event.device = "cuda:0";
    event.deviceEnd = 1000;
    std::string trace = chromeTrace({event}, &*report);
    std::string lines = "\"hottest_lines\":[\"67% kernel.py:8: a load of global memory of line 7 "
                        "100%\",\"27% kernel.py:3 < 8: a barrier of the block 100%\",";
    if (trace.find(lines) == trace.npos)
      wrong.push_back("the trace lacks the lines:\n" + trace);
    return wrong;
  };
  EXPECT_GOOD("", body);
}

TEST_F(DeviceActivity, SaysWhyThereAreNoSamples) {
  auto refused = [](Device &gpu) -> std::vector<std::string> {
    auto sampler = PcSampler::start(gpu);
    std::string expected = std::getenv("EXPECTED_NOTE");
    if (!sampler && sampler.error().what.find(expected) != std::string::npos &&
        !PcSampler::isRunning())
      return {};
    return {sampler ? "it samples" : sampler.error().what};
  };
  ::setenv("EXPECTED_NOTE", "cannot sample cuda:0: the driver lets only administrators profile", 1);
  EXPECT_GOOD("privileges", refused);
  ::setenv("EXPECTED_NOTE", "cannot sample cuda:0: another profiler is attached", 1);
  EXPECT_GOOD("busy", refused);
  auto lossy = [](Device &gpu) -> std::vector<std::string> {
    auto stream = *gpu.createStream();
    auto kernel = *gpu.load(cubinArtifact()); // before CUPTI knows of code
    auto sampler = *PcSampler::start(gpu);
    launch(*stream, *kernel);
    auto report = *sampler->finish();
    if (report.notes.size() == 2 && report.notes[0].find("were dropped") != std::string::npos &&
        report.notes[1].starts_with("150 samples lie in code that CUPTI does not know"))
      return {};
    return report.notes;
  };
  EXPECT_GOOD("full", lossy);
  ::unsetenv("EXPECTED_NOTE");
}

TEST(StallReasons, AreFoundByTheirCounters) {
  EXPECT_EQ(stallReason("smsp__pcsamp_warps_issue_stalled_gmma")->words, "the tensor cores");
  EXPECT_FALSE(stallReason("smsp__pcsamp_warps_issue_stalled_selected")->isWait);
  EXPECT_EQ(stallReason("smsp__pcsamp_warps_issue_stalled_new_one")->name, "misc");
  EXPECT_EQ(stallReason("smsp__pcsamp_warps_issue_stalled_gmma_not_issued"), nullptr);
  EXPECT_EQ(stallReason("smsp__pcsamp_sample_count"), nullptr);
}

} // namespace
