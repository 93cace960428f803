#include "runtime/StallReasons.h"

#include <algorithm>

namespace nereid::runtime {

namespace {
// After the list of warp stall reasons in NVIDIA's guide to Nsight Compute.
constexpr StallReason reasons[] = {
    {"selected", "nothing: it issues", "", false},
    {"not_selected", "its turn", "", false},
    {"long_scoreboard", "a load of global memory",
     "load earlier (more stages, `num_stages`), in wider vectors, or less: `nereid inspect` names "
     "the bytes and the vector width of each access",
     true, true},
    {"short_scoreboard", "shared memory, a shuffle or a special function",
     "conflicts of banks and conversions between layouts: `nereid inspect` counts them; exp, log "
     "and sqrt run at a quarter of the rate",
     true, true},
    {"gmma", "the tensor cores",
     "this is the limit to reach; larger tiles feed them with fewer loads"},
    {"warpgroup_arrive", "the other warps of a tensor core product",
     "more work between products, or two tiles in turns"},
    {"barrier", "a barrier of the block",
     "fewer reductions and conversions across warps: fewer warps (`num_warps`), or a tile that one "
     "warp holds along the reduced axis; in a pipelined loop copies that come too late: more "
     "stages"},
    {"math_pipe_throttle", "a busy arithmetic unit",
     "this is the limit of arithmetic; cheaper operations or narrower types help"},
    {"mio_throttle", "the queue to shared memory and special functions",
     "fewer or wider accesses to shared memory, fewer shuffles"},
    {"lg_throttle", "the queue to global memory",
     "wider accesses: neighbours in one load (`tl.multiple_of`, contiguous innermost axis)"},
    {"tex_throttle", "the queue to the texture unit", ""},
    {"wait", "the latency of the instruction before it",
     "chains of dependent arithmetic: more elements a thread, or more warps"},
    {"dispatch_stall", "the dispatcher", ""},
    {"branch_resolving", "a branch", "short loops: unroll (`tl.static_range`) or more work a step"},
    {"no_instructions", "instructions from memory",
     "code larger than the instruction cache, or a kernel too short to warm it"},
    {"imc_miss", "constants and arguments from memory",
     "more work a program: the first read of an argument waits once a block"},
    {"membar", "a memory fence", "fewer atomics with release order (`sem=\"relaxed\"`)"},
    {"drain", "its stores to leave at the end of the program",
     "many short programs: more work in each"},
    {"sleeping", "the end of a sleep", ""},
    {"misc", "another cause", ""},
};
} // namespace

const StallReason *stallReason(std::string_view counter) {
  constexpr std::string_view marker = "issue_stalled_";
  size_t at = counter.find(marker);
  if (at == counter.npos)
    return nullptr;
  counter.remove_prefix(at + marker.size());
  auto found = std::ranges::find(reasons, counter, &StallReason::name);
  if (found != std::end(reasons))
    return found;
  // A reason of a later chip counts too.
  return counter.ends_with("_not_issued") ? nullptr : &reasons[std::size(reasons) - 1];
}

} // namespace nereid::runtime
