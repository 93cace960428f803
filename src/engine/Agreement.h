// Configurations of one kernel compute the same: who does not is wrong, by a vote of all.
#pragma once

#include "nereid/base.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nereid::engine {

/// How far two configurations may be apart, as a share of the magnitude of a tensor of `type`: they
/// sum in different orders and precisions, and a wrong one is off by more.
inline double toleranceBetween(DType type) {
  if (!info(type).isFloat)
    return 0;
  return type == DType::Float64   ? 1e-9
         : type == DType::Float32 ? 2e-3
         : info(type).bytes == 2  ? 3e-2
                                  : 0.3;
}

/// Numbered runs in groups by what they computed; only the first of a group keeps its results.
template <typename Results> class Agreement {
public:
  /// `agree` compares the results of two runs.
  template <typename Agree> void add(size_t run, Results results, const Agree &agree) {
    auto group =
        std::ranges::find_if(groups, [&](const Group &one) { return agree(one.results, results); });
    if (group == groups.end())
      groups.push_back({std::move(results), {run}});
    else
      group->runs.push_back(run);
  }

  /// Calls `refuse(run, why)` for each that is not in the largest group; of equals the first is
  /// right.
  template <typename Refuse> void refuseOthers(const Refuse &refuse) const {
    auto right =
        std::ranges::max_element(groups, {}, [](const Group &one) { return one.runs.size(); });
    for (auto group = groups.begin(); group != groups.end(); ++group)
      if (group != right)
        for (size_t run : group->runs)
          refuse(run, "its result differs from that of " + std::to_string(right->runs.size()) +
                          " other configuration" + (right->runs.size() == 1 ? "" : "s"));
  }

private:
  struct Group {
    Results results;
    std::vector<size_t> runs;
  };
  std::vector<Group> groups;
};

} // namespace nereid::engine
