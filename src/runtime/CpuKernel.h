// A kernel loaded for the host's CPU, and the launch of it: programs of the grid are handed to the
// workers of an executor in ascending pieces.
#pragma once

#include "runtime/Device.h"
#include "runtime/Fibers.h"
#include "runtime/ObjectLoader.h"

#include <atomic>
#include <memory>

namespace nereid::runtime {

class CpuKernel final : public LoadedKernel {
public:
  /// Takes the first code section for x86-64 whose features this processor has.
  static Result<std::unique_ptr<CpuKernel>> load(const support::Artifact &artifact);

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
  Status faultOf(uint32_t fault) const;

  support::Artifact source;
  const support::CodeRecord *record;
  LoadedObject image;
  support::CpuEntry entry;
  // Recent nanoseconds a program, to keep grids inline that are over before a worker wakes up.
  std::atomic<float> programCost = 0;
  HostBlock recordMemory; // a RecordBuffer and its records, if the code records
};

} // namespace nereid::runtime
