// The JSON file of configurations that were measured to be best: `tuned.json` of a kernel folder,
// and the file that programs and `nereid run` share for autotuned kernels. People read, edit and
// merge it, so the order of rows says nothing. Contract: docs/design/contract-tuning-file.md.
#pragma once

#include "nereid/base.h"
#include "support/Specialization.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nereid::engine {

using Bindings = std::vector<std::pair<std::string, support::Constant>>;

/// Equal values by name, in any order.
bool sameBindings(Bindings a, Bindings b);

/// What was measured, or, without a configuration, the launch that one is wanted for.
struct TuningRow {
  /// Where it holds; what is empty agrees with everything.
  std::string target;  ///< "sm_90a", "x86-64"
  std::string device;  ///< "NVIDIA H200"
  std::string kernel;  ///< of a file with `@triton.autotune`
  std::string variant; ///< of a kernel folder
  std::string source;  ///< hash of the kernel's source
  Bindings which;      ///< in the file: "case"

  Bindings config; ///< NAME, value; num_warps, num_stages, num_ctas and maxnreg among them
  double seconds = 0;
  std::string failure;      ///< why the configuration is refused; empty of one that was measured
  std::string date, nereid; ///< when and by which version

  /// Whether all that this row names is so in `launch`; of a sibling's row, all but the device.
  bool serves(const TuningRow &launch, bool onSibling = false) const;
  /// How much it names.
  size_t specificity() const;
};

class TuningFile {
public:
  /// No file is one without rows. A damaged one, or one of another version, is an error.
  static Result<TuningFile> read(const std::filesystem::path &path);
  static Result<TuningFile> parse(std::string_view text, const std::string &name);

  /// The row that names most of those that serve the launch, the last of equals; where there is
  /// none, of those of the device's siblings. Null if none serves.
  const TuningRow *find(const TuningRow &launch) const;
  /// What `config` did in such a launch of the same source by this version, so that it must not be
  /// launched again; null if nothing of the kind is known.
  const TuningRow *refusal(const TuningRow &launch, const Bindings &config) const;
  /// Adds a row in place of those for the same launch, whatever their source was. One with a
  /// failure stands beside them; it is forgotten when its configuration is measured after all.
  void set(TuningRow row);
  std::span<const TuningRow> rows() const { return all; }
  std::string text() const;

  /// Reads the file again, sets `rows` and replaces it at once. Processes that merge at a time
  /// lose no row.
  static Status merge(const std::filesystem::path &path, std::span<const TuningRow> rows);

private:
  std::vector<TuningRow> all, refused;
};

/// What people read of a refusal in the file at `path`.
std::string refusedBefore(const TuningRow &refusal, const std::filesystem::path &path);

/// A row for now and this version.
TuningRow stamped(TuningRow row);

} // namespace nereid::engine
