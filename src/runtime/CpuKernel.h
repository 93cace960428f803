// A kernel loaded for the host's CPU, and the launch of it: programs of the grid are handed to the
// workers of an executor in ascending pieces.
#pragma once

#include "nereid/base.h"
#include "runtime/Executor.h"
#include "runtime/ObjectLoader.h"
#include "support/Artifact.h"
#include "support/LaunchAbi.h"

#include <atomic>
#include <memory>

namespace nereid::runtime {

/// What one launch passes, on any device.
struct LaunchArguments {
  const void *packed = nullptr; ///< the packed argument block, at a multiple of packedAlignment
  uint32_t packedBytes = 0;
  uint32_t grid[3] = {1, 1, 1};
};

class CpuKernel {
public:
  /// Takes the first code section for x86-64 whose features this processor has.
  static Result<std::unique_ptr<CpuKernel>> load(const support::Artifact &artifact);

  /// Runs the whole grid and returns when it is done. A grid with a zero in it does nothing.
  /// `records` may be null: then a kernel that records writes nowhere.
  Status launch(const LaunchArguments &arguments, Executor &executor,
                support::RecordBuffer *records = nullptr) const;

  const support::Artifact &artifact() const { return source; }
  const support::CodeRecord &code() const { return *record; }
  const LoadedObject &object() const { return image; }

private:
  CpuKernel(support::Artifact source, const support::CodeRecord *record, LoadedObject image,
            support::CpuEntry entry)
      : source(std::move(source)), record(record), image(std::move(image)), entry(entry) {}

  support::Artifact source;
  const support::CodeRecord *record;
  LoadedObject image;
  support::CpuEntry entry;
  // Recent nanoseconds a program, to keep grids inline that are over before a worker wakes up.
  mutable std::atomic<float> programCost = 0;
};

} // namespace nereid::runtime
