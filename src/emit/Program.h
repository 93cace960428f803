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
  std::string printed; ///< by `tl.static_print`
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

  /// All functions that a `jit` decorates, wherever they are, and those that module-level code makes
  /// kernels by a call, in order of lines.
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

  /// Of the kernel, and every function, class and constant that it can reach (first level of the
  /// key).
  Result<support::Hash128> sourceHash(const std::string &kernel);

  const std::string &file() const { return tree->file; }
  const syntax::Module &syntaxTree() const { return *tree; }
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
};

} // namespace nereid::emit
