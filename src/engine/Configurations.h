// Which configuration of an autotuned kernel a launch takes: the one place where decorators and
// tuning files meet. The command and the public classes both ask here.
#pragma once

#include "emit/Program.h"
#include "engine/TuningFile.h"

namespace nereid::engine {

/// A launch for which a configuration is wanted.
struct TunedLaunch {
  emit::Program *program = nullptr;
  std::string kernel;
  emit::Keywords given;                               ///< arguments by name
  std::vector<std::pair<std::string, DType>> tensors; ///< element types of those that have one
  std::string device;                                 ///< "cpu", "cuda:0"
};

/// As a row of a tuning file that has no configuration yet. `choices` are those of the launch.
Result<TuningRow> tuningRow(const TunedLaunch &launch, const emit::LaunchChoices &choices);

/// As rows of a tuning file hold values and configurations.
Bindings toBindings(const emit::Keywords &values);
Bindings toBindings(const emit::Configuration &configuration);

/// What the kernel's decorators choose: configuration `index` of those that survive pruning;
/// without it the one that `file` (may be null) has for this launch, else the first that the file
/// does not refuse.
Result<emit::LaunchChoices> chooseConfiguration(const TunedLaunch &launch, const TuningFile *file,
                                                std::optional<size_t> index = {});

} // namespace nereid::engine
