// What a folder's spec launches, as a runner takes it.
#pragma once

#include "engine/KernelFolder.h"
#include "engine/Runner.h"

#include <filesystem>
#include <map>

namespace nereid::engine {

/// A value of the evaluator (a tensor or descriptor of a spec, a number, ...) as an argument of a
/// launch.
Result<HostArgument> toHostArgument(const ops::Value &value);

class SpecRequests {
public:
  /// Launches of `kernel.py` take `kernelFile` instead, if that is not empty.
  SpecRequests(std::filesystem::path folder, std::filesystem::path kernelFile)
      : folder(std::move(folder)), kernelFile(std::move(kernelFile)) {}

  Result<RunRequest> make(const SpecLaunch &launch);

private:
  Result<emit::Program *> programFor(const std::string &file);

  std::filesystem::path folder;
  std::filesystem::path kernelFile;
  std::map<std::string, std::unique_ptr<emit::Program>> programs; // by file
};

} // namespace nereid::engine
