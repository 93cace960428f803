// How contestants are measured, on a device whose clock the test moves.
#include "engine/Timing.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace nereid;
using namespace nereid::engine;

namespace {

// Seconds since the beginning, of the host and of the GPU's end of what is queued.
struct Clocks {
  double host = 0, gpu = 0;
  unsigned fills = 0;

  void queue(double hostSeconds, double gpuSeconds) {
    host += hostSeconds;
    gpu = std::max(gpu, host) + gpuSeconds;
  }
};

struct PlannedEvent : runtime::Event {
  explicit PlannedEvent(Clocks &clocks) : clocks(clocks) {}
  Status synchronize() override { return Success{}; }
  Result<bool> query() override { return clocks.host >= at; }
  Result<double> secondsSince(const Event &start) const override {
    return at - static_cast<const PlannedEvent &>(start).at;
  }

  Clocks &clocks;
  double at = 0;
};

struct PlannedStream : runtime::Stream {
  PlannedStream(runtime::Device &on, Clocks &clocks) : on(on), clocks(clocks) {}
  runtime::Device &device() const override { return on; }
  void *native() const override { return nullptr; }
  std::shared_ptr<const void> hold() const override { return nullptr; }
  Status launch(runtime::LoadedKernel &, const runtime::LaunchArguments &) override {
    return Success{};
  }
  Status launch(runtime::Graph &) override { return Success{}; }
  Status copy(void *, const void *, size_t) override { return Success{}; }
  Status fill(void *, uint32_t, unsigned, size_t) override {
    clocks.queue(1e-6, 90e-6);
    ++clocks.fills;
    return Success{};
  }
  Status record(runtime::Event &event) override {
    static_cast<PlannedEvent &>(event).at = std::max(clocks.gpu, clocks.host);
    return Success{};
  }
  Status wait(runtime::Event &) override { return Success{}; }
  Status synchronize() override {
    clocks.host = std::max(clocks.host, clocks.gpu);
    return Success{};
  }
  Status beginCapture() override { return Success{}; }
  Result<std::unique_ptr<runtime::Graph>> endCapture() override { return Error{"no graphs", {}}; }
  bool isCapturing() const override { return false; }

  runtime::Device &on;
  Clocks &clocks;
};

struct HostMemory : runtime::Allocator {
  void *allocate(size_t bytes, void *) override { return std::malloc(bytes); }
  void free(void *pointer, size_t, void *) override { std::free(pointer); }
};

struct PlannedDevice : runtime::Device {
  PlannedDevice() : Device(&counter) {}
  runtime::DeviceKind kind() const override { return runtime::DeviceKind::Cuda; }
  const runtime::DeviceInfo &info() const override { return is; }
  runtime::Stream &defaultStream() override { return stream; }
  Result<std::unique_ptr<runtime::Stream>> createStream() override { return wrapStream(nullptr); }
  Result<std::unique_ptr<runtime::Stream>> wrapStream(void *) override {
    return Error{"one stream", {}};
  }
  Result<std::unique_ptr<runtime::Event>> createEvent() override {
    return std::unique_ptr<runtime::Event>(new PlannedEvent(clocks));
  }
  Status synchronize() override { return stream.synchronize(); }
  Result<std::shared_ptr<runtime::LoadedKernel>> load(const support::Artifact &) override {
    return Error{"no kernels", {}};
  }
  std::shared_ptr<runtime::Allocator> ownAllocator() override {
    return std::make_shared<HostMemory>();
  }

  runtime::MemoryCounter counter;
  Clocks clocks;
  runtime::DeviceInfo is;
  PlannedStream stream{*this, clocks};
};

// The median microseconds of a kernel of 10 that the host takes `hostSeconds` to queue.
double measured(double hostSeconds) {
  PlannedDevice device;
  EventTimer timer(device);
  auto timing = timer.time(device.stream,
                           [&](runtime::Stream &) -> Status {
                             device.clocks.queue(hostSeconds, 10e-6);
                             return Success{};
                           },
                           {.seconds = 1e-3, .maxSamples = 40});
  return timing ? timing->median * 1e6 : -1;
}

TEST(EventTimer, WaitsForTheHostAreNoTimeOfTheKernel) {
  EXPECT_NEAR(measured(5e-6), 10, 0.01);
  EXPECT_NEAR(measured(300e-6), 10, 0.01); // four fills of 90 us cover it
  EXPECT_GT(measured(10e-3), 1000);        // nothing does
}

TEST(EventTimer, HopelessPassesEndEarly) {
  auto samplesOf = [](double hopeless) {
    PlannedDevice device;
    EventTimer timer(device);
    auto timing = timer.time(device.stream,
                             [&](runtime::Stream &) -> Status {
                               device.clocks.queue(1e-6, 10e-6);
                               return Success{};
                             },
                             {.seconds = 1, .maxSamples = 40, .hopeless = hopeless});
    return timing ? timing->samples : 0;
  };
  EXPECT_EQ(samplesOf(1), 40u);
  EXPECT_EQ(samplesOf(9e-6), 10u);
}

struct Contest {
  std::vector<unsigned> asked;            // how often each was measured
  std::vector<std::optional<double>> won; // seconds of each

  // `secondsOf(i, round)` is what contestant i takes in its round, nothing if it fails.
  template <typename SecondsOf> Contest(size_t count, SecondsOf secondsOf) : asked(count) {
    auto timings = contest(
        count, {.seconds = 1}, [&](size_t i, const TimeOptions &) -> Result<std::optional<Timing>> {
          std::optional<double> seconds = secondsOf(i, asked[i]++);
          return seconds ? std::optional(Timing{*seconds, *seconds, *seconds, 1}) : std::nullopt;
        });
    if (timings)
      for (const auto &timing : *timings)
        won.push_back(timing ? std::optional(timing->median) : std::nullopt);
  }
};

TEST(Contests, CloseOnesAreMeasuredAgainInTurns) {
  // By the glance the first is fastest; in turns, but for one that is disturbed, the third.
  double first[] = {1e-3, 1.05e-3, 1.05e-3, 1.05e-3}, third[] = {1.04e-3, 1e-3, 9e-3, 1e-3};
  Contest held(4, [&](size_t i, unsigned round) -> std::optional<double> {
    if (i == 1)
      return std::nullopt;
    return i == 0 ? first[round] : i == 2 ? third[round] : 1.2e-3;
  });
  EXPECT_EQ(held.asked, (std::vector<unsigned>{4, 1, 4, 1}));
  EXPECT_EQ(held.won, (std::vector<std::optional<double>>{1.05e-3, std::nullopt, 1e-3, 1.2e-3}));
}

TEST(Contests, LongLaunchesAndLoneLeadersAreMeasuredOnce) {
  Contest lone(2, [](size_t i, unsigned) { return std::optional(i ? 2e-3 : 1e-3); });
  EXPECT_EQ(lone.asked, (std::vector<unsigned>{1, 1}));
  Contest slow(2, [](size_t, unsigned) { return std::optional(0.5); });
  EXPECT_EQ(slow.asked, (std::vector<unsigned>{1, 1}));
}

TEST(Contests, AFailureInATurnTakesAContestantOut) {
  Contest held(2, [](size_t i, unsigned round) {
    return i == 1 && round > 0 ? std::nullopt : std::optional(1e-3);
  });
  EXPECT_EQ(held.won, (std::vector<std::optional<double>>{1e-3, std::nullopt}));
}

} // namespace
