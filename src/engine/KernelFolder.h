// A kernel folder: `spec.py` evaluated, its cases built, its variants planned, its reference run.
// Contract: docs/design/contract-kernel-folder.md. Nothing here runs a kernel (engine/Runner.h
// does).
#pragma once

#include "engine/SpecModule.h"
#include "nereid/base.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

namespace nereid::engine {

/// One set of bindings of a task.
struct FolderCase {
  std::string task;  ///< empty for the unnamed one
  std::string label; ///< the case's own, else its bindings
  std::string dtype; ///< the binding `dtype`, or empty
  bool check = true; ///< compared with the reference
  emit::Keywords bindings;
};

/// The tensors of a case.
struct FolderInstance {
  FolderCase which;
  emit::Keywords inputs;  ///< tensors, scalars, None
  emit::Keywords outputs; ///< tensors
};

struct FolderVariant {
  std::string name;
  ops::Value run;
  std::vector<emit::Keywords> configs; ///< at least one, perhaps empty
  std::vector<std::string> targets;    ///< empty: all
  ops::Value bytes;                    ///< function or None
};

/// Whether the variant's function has a parameter of that name.
bool takes(const FolderVariant &variant, std::string_view name);

/// The launches of a variant for a case, or why it is skipped.
struct FolderPlan {
  std::vector<std::shared_ptr<SpecLaunch>> launches;
  std::string skipped;
};

class KernelFolder {
public:
  /// Fails with diagnostics if `spec.py` is missing or wrong.
  static Result<std::unique_ptr<KernelFolder>> open(const std::filesystem::path &path);
  ~KernelFolder();

  /// Other data for the inputs that are built from here on; 0 is what a folder starts with.
  void setSeed(uint64_t seed);
  /// Without data tensors have memory that holds anything: enough to compile a launch.
  void setHasData(bool hasData);

  const std::string &name() const;
  const std::filesystem::path &path() const;
  std::vector<std::string> tasks() const; ///< the unnamed task is ""
  Result<std::vector<FolderVariant>> variants(const std::string &task);
  /// `set` is "cases", "bench" or "demo".
  Result<std::vector<FolderCase>> cases(const std::string &task, std::string_view set);
  /// A case that the spec does not list, as `cases` gives those of `bench`.
  static FolderCase ownCase(const std::string &task, const emit::Keywords &bindings);
  /// Names that the cases of a task may bind: what its `inputs` takes.
  Result<std::vector<std::string>> caseNames(const std::string &task);
  /// Whether a Python expression holds over a case's bindings, the defaults of its task's `inputs`,
  /// a configuration and the spec's own names.
  Result<bool> holds(const std::string &expression, const FolderCase &which,
                     const emit::Keywords &config);
  /// Builds inputs with their data and poisoned outputs. `computed` inputs get the reference's
  /// results, or stay poisoned where `computeInputs` is false: then run `preparing` first.
  Result<FolderInstance> build(const FolderCase &which, bool computeInputs = true);
  /// Gives the outputs of `instance` the contents that they were built with.
  Status renewOutputs(FolderInstance &instance);
  /// Hash of the kernels and the spec: what a tuned configuration was measured with.
  Result<std::string> sourceHash() const;
  /// The case of the task that fills the `computed` inputs of `instance`, writing straight into
  /// them; empty if there are none.
  Result<std::optional<FolderInstance>> preparing(const FolderInstance &instance);
  Result<FolderPlan> plan(const FolderVariant &variant, const emit::Keywords &config,
                          const FolderInstance &instance);
  /// The reference's results by output name.
  Result<std::map<std::string, support::Array>> reference(const FolderInstance &instance);
  Result<support::Tolerance> tolerance(const FolderInstance &instance, const std::string &output);
  /// Useful operations of a case; empty if the spec does not say.
  Result<std::optional<double>> flops(const FolderInstance &instance);
  /// Expressions of competitors over the inputs, by name.
  Result<std::map<std::string, std::string>> peers(const std::string &task);
  Result<std::optional<double>> bytes(const FolderVariant &variant, const FolderInstance &instance);

private:
  KernelFolder();
  struct State;
  std::unique_ptr<State> state;
};

/// A case's bindings and a configuration as people read them: "M=5 N=781 dtype=f32".
std::string bindingsText(const emit::Keywords &bindings);

} // namespace nereid::engine
