// A kernel loaded for the host's CPU, and the launch of it: programs of the grid are handed to the
// workers of an executor in pieces.
#pragma once

#include "runtime/Device.h"
#include "runtime/Fibers.h"
#include "runtime/KernelFaults.h"
#include "runtime/ObjectLoader.h"
#include "target/Cpu.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace nereid::runtime {

/// Lets launches write records at the same time, and keeps them apart from who takes the records:
/// the taker waits for launches under way, and launches that come later wait for the taker.
class RecordGate {
public:
  /// A launch under way; none without a gate.
  class Launch {
  public:
    explicit Launch(RecordGate *gate) : gate(gate) {
      if (!gate)
        return;
      std::unique_lock lock(gate->mutex);
      gate->changed.wait(lock, [&] { return !gate->isTaking; });
      ++gate->launches;
    }
    ~Launch() {
      if (!gate)
        return;
      std::lock_guard lock(gate->mutex);
      if (--gate->launches == 0)
        gate->changed.notify_all();
    }
    Launch(const Launch &) = delete;

  private:
    RecordGate *gate;
  };

  class Taker {
  public:
    explicit Taker(RecordGate &gate) : gate(gate) {
      std::unique_lock lock(gate.mutex);
      gate.changed.wait(lock, [&] { return !gate.isTaking; });
      gate.isTaking = true;
      gate.changed.wait(lock, [&] { return gate.launches == 0; });
    }
    ~Taker() {
      std::lock_guard lock(gate.mutex);
      gate.isTaking = false;
      gate.changed.notify_all();
    }
    Taker(const Taker &) = delete;

  private:
    RecordGate &gate;
  };

private:
  std::mutex mutex;
  std::condition_variable changed;
  unsigned launches = 0;
  bool isTaking = false;
};

class AtomicGate;

class CpuKernel final : public LoadedKernel {
public:
  /// Takes the first code section for x86-64 whose features this processor has.
  static Result<std::unique_ptr<CpuKernel>>
  load(const support::Artifact &artifact,
       target::CpuFeatureSet features = target::hostCpuFeatures());

  /// Runs the whole grid and returns when it is done. A grid with a zero in it does nothing.
  /// Allocates nothing in the ordinary case.
  Status launch(const LaunchArguments &arguments, Executor &executor,
                const FiberOptions &fibers = {});

  const support::Artifact &artifact() const override { return source; }
  const support::CodeRecord &code() const override { return *record; }
  Result<std::vector<support::Record>> takeRecords(uint64_t &lost) override;
  const LoadedObject &object() const { return image; }

private:
  CpuKernel(support::Artifact source, const support::CodeRecord *record, LoadedObject image,
            support::CpuEntry entry)
      : source(std::move(source)), record(record), image(std::move(image)), entry(entry) {}
  struct Job;
  static void runPieces(void *data, unsigned worker);
  static void runOnFiber(void *data, uint64_t program, void *arena, Fiber *self);
  /// How many workers run what is left of a job that changes memory atomically.
  unsigned tryAlone(Job &job, AtomicGate &gate, unsigned workers);
  Status faultOf(uint32_t fault, const MemoryFault &memory, const void *arguments) const;

  support::Artifact source;
  const support::CodeRecord *record;
  LoadedObject image;
  support::CpuEntry entry;
  // Recent nanoseconds a program, to keep grids inline that are over before a worker wakes up.
  std::atomic<float> programCost = 0;
  // Of code with atomics, by the clock: on one thread without locks, and on several with them.
  std::atomic<float> aloneCost = 0, togetherCost = 0;
  std::atomic<uint32_t> atomicLaunches = 0;
  HostBlock recordMemory; // a RecordBuffer and its records, if the code records
  RecordGate recordGate;
};

} // namespace nereid::runtime
