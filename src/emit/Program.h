// A source unit made ready: parsed, its module-level code run. Emits kernels for specialisations.
#pragma once

#include "emit/Interp.h"

#include "support/Hash.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <span>

namespace nereid::emit {

struct ParameterSummary {
  std::string name;
  std::string annotation; ///< as source text, or empty
  std::optional<std::string> defaultValue;
  bool isConstexpr = false;
  bool doNotSpecialize = false, doNotSpecializeOnAlignment = false; ///< as the decorator says
};

/// A kernel function as its source shows it.
struct KernelSummary {
  std::string name; ///< with classes and functions around it: "Outer.inner"
  uint32_t line = 0;
  std::vector<ParameterSummary> parameters;
  bool autotuned = false;
  std::vector<std::string> decorators; ///< as source text
};

struct Emitted {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null if there is an error
  std::vector<Diagnostic> diagnostics;
};

/// A name of the language that a kernel mentions and this engine lacks.
struct UnsupportedName {
  std::string name; ///< as the source spells it: "tl.frobnicate"
  std::string file;
  uint32_t line = 0;
  std::string reason;
};

/// A `triton.Config` as data.
struct Configuration {
  Keywords values; ///< parameters of the kernel, in the order of the source
  int numWarps = 4, numStages = 3, numCtas = 1;
  int maxnreg = 0; ///< 0: not limited
  Value preHook;   ///< None or a function

  /// "BLOCK=128 num_warps=4 num_stages=3"
  std::string text() const;
};

/// What `autotune` and `heuristics` add to a launch.
struct LaunchChoices {
  std::vector<Configuration>
      configurations;           ///< those that survive pruning; none without `autotune`
  size_t chosen = 0;            ///< of `configurations`
  std::vector<std::string> key; ///< parameters whose values the choice depends on
  /// What `autotune` does around each launch while it measures: parameters to fill with zeros, to
  /// bring back to what they held, and functions of the arguments; None or not given.
  std::vector<std::string> resetToZero, restoreValue;
  Value preHook, postHook;
  /// Parameters that the caller left open, and options (`num_warps`, ...), by name; later ones win.
  Keywords added;
};

class Program;

struct LoadedProgram {
  std::unique_ptr<Program> program; ///< null if the text does not parse
  std::vector<Diagnostic> diagnostics;
};

class Program {
public:
  /// Parses and runs a unit. Module-level failures are no errors here: only a kernel that uses what
  /// failed is one.
  static LoadedProgram load(const SourceUnit &unit, HostOptions options = {});

  /// All functions that a `jit` decorates, wherever they are, and those that module-level code
  /// makes kernels by a call, in order of lines.
  std::vector<KernelSummary> kernels() const;

  /// Emits `kernel` for a specialisation of its parameters in order; parameters that it leaves out,
  /// and those whose positions are in `defaulted`, take their values from `constants` by name, then
  /// from their defaults. The context needs no dialects loaded.
  Emitted emit(mlir::MLIRContext &context, const std::string &kernel,
               const support::Specialization &specialization,
               const std::map<std::string, support::Constant> &constants,
               const ops::CompileOptions &options, std::span<const uint32_t> defaulted = {});
  /// A kernel that module-level code defines, with what its decorator says; throws EvalError.
  KernelSummary summary(const std::string &kernel);

  /// What the kernel, or a jit function that it can reach, names in vain. Dead branches count.
  std::vector<UnsupportedName> unsupported(const std::string &kernel);
  /// All configurations of `autotune`; none without it.
  Result<std::vector<Configuration>> configurations(const std::string &kernel);
  /// Whether `autotune` asks for some of them only, by what a launch gives.
  bool prunesConfigurations(const std::string &kernel);
  /// What `heuristics` computes for a launch, in the order of `choose`: a parameter's name and the
  /// function of the arguments. Decorators that failed, or that only Python could know, say
  /// nothing.
  Result<Keywords> heuristics(const std::string &kernel);
  /// Applies the decorators of a kernel from the outside in, as a launch does. `arguments` are what
  /// the caller gives, by name; what it gives is never replaced. `configuration` counts those that
  /// survive pruning; without it the first is taken.
  Result<LaunchChoices> choose(const std::string &kernel, const Keywords &arguments,
                               std::optional<size_t> configuration = {});

  /// Of the kernel, and every function, class and constant that it can reach (first level of the
  /// key).
  Result<support::Hash128> sourceHash(const std::string &kernel);

  const std::string &file() const { return tree->file; }
  /// Sources for rendering diagnostics, this unit's and those it imported.
  std::vector<std::pair<std::string, std::string_view>> sources() const;
  Interp &interp() { return *interpreter; }
  std::shared_ptr<ModuleObject> module() { return moduleObject; }

private:
  Program() = default;
  /// The function object behind a name; throws EvalError.
  std::shared_ptr<FunctionObject> find(const std::string &kernel);

  std::shared_ptr<const syntax::Module> tree;
  std::unique_ptr<Interp> interpreter;
  std::shared_ptr<ModuleObject> moduleObject;
  /// What the last choice could not follow; `emit` reports it.
  std::vector<Diagnostic> choiceNotes;
};

} // namespace nereid::emit
