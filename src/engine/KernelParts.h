// What the public Kernel passes between its files.
#pragma once

#include "nereid/engine.h"

#include <utility>
#include <vector>

namespace nereid {

/// What `@triton.autotune` says of a launch besides its configurations.
struct Kernel::Tuned {
  std::vector<std::pair<Tensor, bool>> tensors; ///< true: to be filled with zeros
  bool hasHooks = false;
  std::vector<std::string> refused; ///< by configuration: why it is passed over, if it is
  std::string tuningFile;           ///< that tuning writes; empty if there is none
};

} // namespace nereid
