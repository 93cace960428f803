// What `check` looks for while a kernel runs.
#pragma once

#include "ref/Machine.h"

namespace nereid::ref {

/// What `tl.multiple_of` and its kin promise about a tile; lists are empty or have one entry a
/// dimension.
struct HintFacts {
  std::vector<int64_t> shape, divisibility, contiguity, constancy;
  int64_t unit = 1; ///< the distance of consecutive values: bytes of the pointee for pointers
};

class Checker {
public:
  explicit Checker(Machine &) {}
  void beginProgram(Frame &frame) {}
  void endProgram(Frame &frame) {}
  void access(Frame &frame, const AccessSite &site, const Memory::Spot &spot, unsigned bytes,
              uint32_t element) {}

  void hint(Frame &frame, const HintFacts &facts, const std::vector<int64_t> &values) {}
  void barrier(Frame &frame) {}
};

} // namespace nereid::ref
