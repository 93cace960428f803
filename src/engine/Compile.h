// From a kernel and the classes of its arguments to tile IR and to an artifact.
#pragma once

#include "emit/Program.h"
#include "launch/Signature.h"
#include "nereid/base.h"
#include "pipeline/Cpu.h"
#include "support/Knobs.h"
#include "support/Specialization.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nereid::engine {

/// What a kernel is compiled under: the options that the language's builders see, and those that
/// change its code alone. All of it is part of the key.
struct CodeOptions : ops::CompileOptions {
  bool fpFusion = true;           ///< products and sums may be contracted
  bool reflectFtz = true;         ///< a GPU's `exp2` is zero below the least normal number
  bool launchCooperative = false; ///< all programs of a GPU's launch run at once
  /// Which kernels' blocks run several programs on a GPU: "off", "all" or "" (those that gain).
  std::string programLoops = support::knobs().programLoops;
  CodeOptions() = default;
  CodeOptions(const ops::CompileOptions &options) : ops::CompileOptions(options) {}
};

/// A kernel in tile IR, with the context that owns it. A context is used by one thread at a time.
struct EmittedKernel {
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  support::Specialization specialization; ///< None for what was left to defaults
  std::vector<std::string> parameters;    ///< names, one an argument of the specialisation
  std::vector<bool> constexprs;           ///< whether that parameter is a `tl.constexpr`
  std::vector<Diagnostic> diagnostics;    ///< notes and warnings
  bool readsOtherFiles = false; ///< libraries that the options, and so the key, don't name
  std::string grid; ///< that artifacts bring along, as engine/GridExpression.h reads it; or empty
  mlir::func::FuncOp kernel();
};

/// What the launch path knows of a kernel.
Result<launch::Signature> signatureOf(emit::Program &program, const std::string &kernel);

/// Emits tile IR. `defaulted` lists the arguments left to defaults, heuristics and configurations.
Result<EmittedKernel> emitKernel(emit::Program &program, const std::string &kernel,
                                 const support::Specialization &specialization,
                                 std::span<const uint32_t> defaulted, const CodeOptions &options);

/// What is wrong with the name of a target: the ones that there are, and for a board ("h100") its
/// chip. `wide` names those that are no chips.
Error unknownTarget(std::string_view target, std::string wide = "cpu, cuda");

/// Compiles for "cpu" or for chips ("sm_90a", "sm_80,sm_90a", "cuda") and packs the code with its
/// launch ABI. `key` is the first level of the kernel's key, for caches to find it again.
Result<support::Artifact> buildArtifact(EmittedKernel &emitted, std::string_view target,
                                        const support::Hash128 &key = {},
                                        const pipeline::CpuOptions &cpu = {});

/// Adds a note for each option and hint that changes nothing on the target, at the kernel or the
/// loop that it was given to. `buildArtifact` does so, too.
void noteIgnored(EmittedKernel &emitted, std::string_view target);

/// Canonical text of the options, part of every key.
std::string optionsText(const CodeOptions &options);

/// A context with every dialect and model that the engine uses.
std::shared_ptr<mlir::MLIRContext> makeContext();

} // namespace nereid::engine
