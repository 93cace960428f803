// The evaluated `spec.py` and `reference.py` of a kernel folder: what `KernelFolder` asks.
// Everything here throws `emit::EvalError` for what is wrong in the files.
#pragma once

#include "emit/Interp.h"
#include "engine/KernelFolder.h"
#include "engine/SpecModule.h"

#include <initializer_list>
#include <map>

namespace nereid::engine {

/// What `f` gives. Evaluation throws; who reads a file answers with values.
template <typename T, typename F> Result<T> answered(F f) {
  try {
    return f();
  } catch (emit::EvalError &error) {
    return Error{error.diagnostic.message, {error.diagnostic}};
  } catch (support::ArrayError &error) {
    return Error{error.message, {}};
  }
}

/// The entries of a Python dict with text keys; `what` is said of something else.
emit::Keywords entries(emit::Interp &interp, const ops::Value &value, std::string_view what);
std::vector<std::string_view> parameterNames(const emit::FunctionObject &function);

struct FolderModules {
  std::filesystem::path path;
  std::string name;
  std::string seedPrefix; ///< makes other data of the same names
  bool hasData = true;    ///< else tensors have memory alone
  emit::Interp interp{emit::HostOptions{}};
  std::shared_ptr<emit::ModuleObject> spec, reference;

  /// Runs one of the two files; a failure to read or parse it is returned.
  Status load(const std::filesystem::path &file, bool isSpec,
              std::shared_ptr<emit::ModuleObject> &into);

  /// What a task says for `key`, else the spec; None if neither does.
  ops::Value field(const std::string &task, std::string_view key);
  /// The value of a name at module level, or what was wrong with its definition.
  ops::Value use(const emit::Binding &binding);
  /// The rule of the contract: a function of a spec receives what its parameters name, of the first
  /// scope that has it.
  ops::Value bind(const ops::Value &callee, std::initializer_list<const emit::Keywords *> scopes);

  /// The task whose results are the `computed` inputs of this one.
  std::string preparingTask(const std::string &task);
  void allocate(SpecTensor &tensor, const std::string &seed) const;
  /// Of a case's tensors, before their names.
  std::string seedOf(const FolderCase &which) const;
  /// Adds the outputs that are not there yet.
  void buildOutputs(FolderInstance &instance);

  std::map<std::string, support::Array> runReference(const std::string &task,
                                                     const emit::Keywords &inputs,
                                                     const emit::Keywords &bindings);
  /// Where a task says of which other one it is the gradient: holds its reference to that one's.
  void checkGradient(const FolderInstance &instance,
                     const std::map<std::string, support::Array> &results);

private:
  ops::Value taskTable(const std::string &task);
  /// Inputs as the reference receives them.
  emit::Keywords exact(const emit::Keywords &inputs);
  /// Of arrays; those of `instead` take the place of others.
  std::map<std::string, support::Array> runReference(const std::string &task,
                                                     const emit::Keywords &arrays,
                                                     const emit::Keywords &bindings,
                                                     const emit::Keywords &instead);
};

} // namespace nereid::engine
