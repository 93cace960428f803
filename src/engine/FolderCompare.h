// The results of a row of a kernel folder beside those that it should have.
#pragma once

#include "engine/FolderRun.h"

#include <map>

namespace nereid::engine {

/// Compares what a case has written on a runner with `wanted`, by the folder's tolerance. Fills the
/// row's `passed`, `failure`, and the worst error with its tolerance.
Status compareOutputs(KernelFolder &folder, const FolderInstance &instance, Runner &on,
                      const std::map<std::string, support::Array> &wanted, FolderRow &row);

} // namespace nereid::engine
