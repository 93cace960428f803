// What the pipelines of both back ends share: diagnostics as values, and the artifact's record of a
// kernel.
#pragma once

#include "analysis/KernelFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "nereid/base.h"
#include "support/Artifact.h"

#include "llvm/Support/raw_ostream.h"

namespace nereid::pipeline {

/// While it lives, what MLIR reports is kept and not printed.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);
  /// An Error with what was reported.
  Error error(std::string what);

private:
  std::vector<Diagnostic> diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

/// Makes each pass a step (support/Steps.h), if somebody listens.
void addSteps(mlir::PassManager &passes);

/// What `thing.print(stream)` writes.
template <typename T> std::string printed(T &&thing) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  thing.print(stream);
  return text;
}

/// A place of the source, found in any location that MLIR makes.
SourceRange sourceRange(mlir::Location location);
/// The same place with the calls that inlined it, as a row of the artifact's table; `none` if the
/// location is unknown.
uint32_t addLocation(support::ArtifactBuilder &builder, mlir::Location location);

/// Fills in the kernel's name, grid rank, slots (if the builder has none yet) and what they reach.
void addKernel(support::ArtifactBuilder &builder, mlir::FunctionOpInterface kernel,
               const analysis::KernelFacts &facts);

/// Adds the table row of a print or assert; sites are added in the order of their numbers.
void addRecordSite(support::ArtifactBuilder &builder, mlir::Operation *op, uint32_t kind);

} // namespace nereid::pipeline
