// Why a warp of an NVIDIA GPU does not issue its next instruction, in words.
#pragma once

#include <string_view>

namespace nereid::runtime {

struct StallReason {
  std::string_view name;    ///< as the chip's counters call it: "long_scoreboard"
  std::string_view words;   ///< "a load of global memory"
  std::string_view hint;    ///< what helps where it is the most; may be empty
  bool isWait = true;       ///< false for a warp that issued, or could have
  bool isForResult = false; ///< of an earlier instruction
};

/// The reason behind the name of a counter ("smsp__pcsamp_warps_issue_stalled_long_scoreboard");
/// null for one that counts something else: samples in all, or a reason's samples in cycles in
/// which no warp issued, which are counted under the reason already.
const StallReason *stallReason(std::string_view counter);

} // namespace nereid::runtime
