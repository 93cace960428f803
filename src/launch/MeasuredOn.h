// Where a measured choice holds: the rule that tuning files and packs share.
#pragma once

#include <string_view>

namespace nereid::launch {

/// Of a measurement, what is empty agrees with everything.
struct MeasuredOn {
  std::string_view target, device; ///< "sm_90a", "NVIDIA H200"
};

/// Whether what was measured on a device of `target` says something about others of that target:
/// GPUs run the same code; `x86-64` does not say what a CPU can do.
inline bool hasSiblings(std::string_view target) { return target.starts_with("sm_"); }

/// Whether a measurement holds on a device; with `onSibling`, whether it may stand in there for one
/// that is missing.
inline bool holdsOn(const MeasuredOn &device, const MeasuredOn &measured, bool onSibling) {
  if (onSibling)
    return measured.target == device.target && hasSiblings(device.target);
  return (measured.target.empty() || measured.target == device.target) &&
         (measured.device.empty() || measured.device == device.device);
}

} // namespace nereid::launch
