// Runs kernel folders: each case of each variant on each device, compared with its reference, one
// row each.
#pragma once

#include "engine/Configurations.h"
#include "engine/KernelFolder.h"
#include "engine/Runner.h"
#include "engine/Search.h"

#include <functional>

namespace nereid::engine {

/// A competitor on the same inputs.
struct PeerRow {
  std::string name;
  std::optional<double> seconds, maxError; ///< `maxError`: of ours against theirs
  std::optional<bool> agrees;              ///< within twice the tolerance of a reference
  std::string failure;
};

/// A row of `nereid test` and `nereid bench`; empty optionals are null in JSON (design, section 9).
struct FolderRow {
  std::string kernel, variant, device, dtype, shape, config;
  std::optional<bool> passed;
  std::optional<bool> assembled; ///< of rows of a chip
  std::optional<double> maxError, tolerance, seconds, p20, p80, bytesMoved, peakBytes, gflops, gbps,
      intensity, copyShare, compileSeconds;
  /// Of a GPU: the time of a copy that moves as many bytes, in the same state of the caches, over
  /// the row's. `copyShare` asks a short kernel for the rate of a long copy.
  std::optional<double> sameCopyShare;
  std::optional<int64_t> launches, samples;
  std::string skippedReason;
  std::string failure;  ///< what is wrong, in words; empty if nothing is
  bool refused = false; ///< what is wrong is that it could not be compiled or launched
  /// What the results were compared with: "reference", or the configuration that ran first; empty
  /// if with nothing.
  std::string comparedWith;
  std::vector<Diagnostic> diagnostics;        ///< the same, where the compiler refused
  std::vector<ref::Finding> findings;         ///< of checked launches
  std::vector<std::vector<std::string>> code; ///< of a chip's launches, if that is described
  emit::Keywords bindings, configuration;
  std::vector<PeerRow> peers;
};

/// How far a run is.
struct FolderProgress {
  size_t rows = 0, allRows = 0; ///< rows that are skipped because they are known count
  size_t compiled = 0;          ///< configurations of the rows that come next, compiled ahead
};

struct FolderRunOptions {
  std::vector<std::string> devices = {"ref"};
  std::string set = "cases";
  std::string match; ///< only cases whose label contains it
  /// Instead of a set: one case of these bindings, which is not compared with the reference.
  std::optional<emit::Keywords> ownCase;
  /// Only these, each "task.variant" or "variant"; empty: all.
  std::vector<std::string> variants;
  bool allConfigs = false; ///< else the first configuration
  /// Interpret at most so many useful operations of a case on `ref`; larger ones are skipped there.
  double referenceLimit = 2e9;
  /// Of the data of all inputs; 0 gives each case the same in every run.
  uint64_t seed = 0;
  /// On devices behind the first one case of each variant and dtype will do.
  bool fewCases = false;
  bool describe = false;           ///< what the code for a chip is made of
  std::optional<TimeOptions> time; ///< measure; else each launch runs once
  /// Measure again, each time for longer, up to so often while (p80 - p20) / median is above
  /// `widestSpread`.
  unsigned attempts = 1;
  double widestSpread = 0.15;
  /// Sweeps the cases of the set and, with `allConfigs`, the configurations.
  SearchSpace search;
  /// Cases of no more useful operations are compared with the reference even if they are only
  /// timed.
  double compareUpTo = 0;
  /// Whether a row is known already, and then whether it was good; such a row is not run.
  std::function<std::optional<bool>(const FolderRow &)> known;
  std::function<void(const FolderRow &)> onStart;         ///< before a row is run
  std::function<void(const FolderProgress &)> onProgress; ///< called by any thread, one at a time
  /// The configuration of `tuned.json` goes before the first one.
  bool tuned = true;
  /// Rows that are not compared with the reference are compared with the variant's first good
  /// configuration.
  bool compareConfigs = false;
  /// Time copies beside, for `copyShare` and `sameCopyShare`.
  bool copies = true;
  /// Time competitors beside: cuBLASLt where a spec has a peer `torch.matmul(x, y)`.
  bool peers = false;
  /// Verify every access on `ref`; a row with findings that are errors has not passed.
  bool check = false;
  uint64_t maxOperations = 0; ///< of a launch on `ref`; 0: no limit
  /// Instead of the folder's `kernel.py`; empty: that.
  std::filesystem::path kernelFile;
};

/// The launch of a row, as `tuned.json` names it; `source` is the folder's.
TuningRow tuningRow(const std::string &variant, const std::string &device,
                    const std::string &source, const emit::Keywords &bindings);

/// The first line of what went wrong, with its place.
std::string failureText(const Error &error);

/// Calls `onRow` as rows come. Fails only if the folder itself cannot be read or a device is not
/// there.
Status runFolder(KernelFolder &folder, const FolderRunOptions &options,
                 const std::function<void(const FolderRow &)> &onRow);

} // namespace nereid::engine
