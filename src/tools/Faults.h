// Compiled kernels of a CPU that leave their tensors: what is said when the process ends by that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereid::tools {

/// A tensor in front of a page without access (HostTensor::fence).
struct Fenced {
  uintptr_t begin, end;
  std::string name;
};

/// From here on a fault of this process is `who`'s: it says so, with the tensor that was left if
/// that is one of these, and ends the process.
void tellFaults(std::string who, std::vector<Fenced> tensors = {});
/// Not any more.
void forgetFaults();

} // namespace nereid::tools
