// Where kernels wait: samples of the program counters of an NVIDIA GPU with the reason why a warp
// did not issue, through CUPTI, and what they say of the lines of the source.
#pragma once

#include "nereid/base.h"
#include "runtime/CubinLines.h"
#include "runtime/StallReasons.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nereid::runtime {

class Device;

using Place = std::pair<std::string, uint32_t>; ///< a file and a line

/// The samples of one line, as far as one chain of calls brought the kernel there.
struct LineSamples {
  std::string file; ///< empty: code that belongs to no line
  uint32_t line = 0;
  std::vector<Place> callers; ///< of the calls, innermost first
  uint64_t samples = 0;
  std::map<const StallReason *, uint64_t> reasons;
  /// Of those that wait for the result of an earlier instruction: where that is.
  std::map<const StallReason *, std::map<Place, uint64_t>> awaited;

  /// The reason that most of them wait for; null if none does.
  const StallReason *mainWait() const;
  /// Where most of the results come from that are waited for so; null if that is not known.
  const Place *mainSource(const StallReason *reason) const;
};

struct KernelSamples {
  std::string kernel;
  uint64_t samples = 0;
  std::vector<LineSamples> lines; ///< the hottest first
};

struct SampleReport {
  std::vector<KernelSamples> kernels; ///< the hottest first
  uint64_t periodCycles = 0;          ///< a warp of each scheduler is sampled so often
  uint64_t samples = 0;               ///< in the kernels
  uint64_t elsewhere = 0;             ///< in code that nobody knows
  std::vector<std::string> notes;     ///< what is missing, and why
};

/// Samples one GPU from its start to `finish`; a process has one at a time. Code is known that is
/// loaded meanwhile, and what was loaded before if nothing else used CUPTI until then.
class PcSampler {
public:
  static Result<std::unique_ptr<PcSampler>> start(Device &gpu);
  ~PcSampler();

  /// Waits for what is queued, ends sampling and says what was seen.
  Result<SampleReport> finish();

  /// Whether one runs now.
  static bool isRunning();

private:
  class State;
  explicit PcSampler(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// The report as text: each kernel's hottest `most` lines with what they wait for, and hints that
/// name the calls of those lines. `source` gives the text of a line, or nothing.
std::string sampleTable(const SampleReport &report,
                        const std::function<std::string(const std::string &, uint32_t)> &source,
                        size_t most = 12);

/// The hottest lines of a kernel, a text each: "67% kernel.py:8: a load of global memory 100%".
std::vector<std::string> hottestLines(const KernelSamples &kernel, size_t most);

} // namespace nereid::runtime
