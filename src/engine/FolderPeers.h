// What the time of a row of a kernel folder is compared with on a GPU: a copy of as many bytes, and
// a product of cuBLASLt where the spec names one.
#pragma once

#include "engine/FolderRun.h"
#include "engine/Runner.h"
#include "runtime/CublasLt.h"
#include "runtime/Device.h"

#include <map>
#include <set>

namespace nereid::engine {

class FolderPeers {
public:
  FolderPeers(KernelFolder &folder, const FolderRunOptions &options)
      : folder(folder), options(options) {}

  /// Seconds of a copy that reads and writes `bytes` in all; 0 where none is measured.
  Result<double> sameCopy(Runner &on, double bytes);
  /// Adds the peers of a case that was run; its result is compared if that is among `bound`, the
  /// tensors that the runner holds.
  Status add(const FolderInstance &instance, Runner &on, const std::set<SpecTensor *> &bound,
             FolderRow &row);

private:
  /// What a peer made of a case on a device.
  struct PeerResult {
    PeerRow row;
    std::unique_ptr<support::HostTensor> out; ///< its result, where it has one
    support::Array array;                     ///< the same as numbers
  };

  /// out = a @ b by cuBLASLt, the fastest of the ways that it proposes.
  Status timeProduct(const FolderInstance &instance, Runner &on, runtime::Device &device,
                     const SpecTensor &a, const SpecTensor &b, const SpecTensor &out);
  Result<double> timeWays(const runtime::MatrixProduct &product, Runner &on,
                          runtime::Device &device, const void *a, const void *b);

  KernelFolder &folder;
  const FolderRunOptions &options;
  std::map<std::pair<runtime::Device *, size_t>, double> sameCopies; // seconds
  std::unique_ptr<runtime::CublasLt> cublasLt;
  PeerResult peer;
  std::string peerFor; // the case and device of `peer`
};

} // namespace nereid::engine
