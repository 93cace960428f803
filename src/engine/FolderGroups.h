// Which rows a run of a kernel folder has: its cases, variants, devices and configurations.
#pragma once

#include "engine/FolderRun.h"
#include "engine/TuningFile.h"

namespace nereid::engine {

/// Rows of one case, variant and device: they follow each other.
struct FolderGroup {
  FolderCase which;
  FolderVariant variant;
  std::string full, device; ///< `full` is "task.variant"
  std::vector<emit::Keywords> configs;

  bool isForDevice() const;
  /// The row of a configuration, of which nothing is known yet.
  FolderRow row(const KernelFolder &folder, const emit::Keywords &config) const;
};

/// What `targets` of a spec calls a device: "ref", "cpu", or "cuda" also for a chip.
std::string deviceFamily(const std::string &device);
bool isForDevice(const FolderVariant &variant, const std::string &device);

/// The groups that the options ask for. Unless they ask for all configurations, a group has the one
/// that `tuned` names for it, if the spec still has that, else the first that `tuned` does not
/// refuse; `source` is the folder's hash.
Result<std::vector<FolderGroup>> folderGroups(KernelFolder &folder, const FolderRunOptions &options,
                                              const TuningFile &tuned, const std::string &source);

} // namespace nereid::engine
