// What `nereid profile` says: where the time of launches went, and where kernels wait.
#pragma once

#include "runtime/PcSampling.h"
#include "runtime/Recorder.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nereid::emit {
class Program;
}

namespace nereid::tools {

struct ProfileAnswer {
  /// Samples a GPU from here on; what stands in the way becomes a note.
  void sample(runtime::Device &gpu);
  void finishSamples();
  /// Takes the recorder's events.
  void takeEvents();
  /// Writes the answer on stdout, and notes on stderr. Lines are shown with the program's text.
  void print(const emit::Program &program, bool json) const;

  std::vector<runtime::TraceEvent> events;
  std::optional<runtime::SampleReport> samples;
  std::vector<std::string> notes;

private:
  std::unique_ptr<runtime::PcSampler> sampler;
};

} // namespace nereid::tools
