// Tile IR -> code for the host's kind of CPU.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "nereid/base.h"
#include "support/Artifact.h"
#include "target/Cpu.h"

#include <span>
#include <vector>

namespace nereid::pipeline {

struct CpuOptions {
  /// What the code may use beyond the x86-64 baseline.
  target::CpuFeatureSet features = target::hostCpuFeatures();
  /// Symbol of the entry point, the only one that the object defines globally. Empty: the loader's.
  std::string entry = {};
  /// Whether a product that is added at once may be fused with the sum (docs/numerics.md).
  bool contract = true;
  /// Whether LLVM optimises. Code that it does not is made in half of the time and runs several
  /// times slower: for tests of many kernels.
  bool optimize = true;
};

/// Where `emitForCpu` stops.
enum class CpuStage {
  Tile,   ///< tile IR, as the CPU back end reads it
  Plan,   ///< which tiles are stored and which recomputed
  Loops,  ///< scf, arith and LLVM ops
  Llvm,   ///< optimised LLVM IR
  Asm,    ///< assembly
  Object, ///< the relocatable object
};

/// Compiles the module's kernel and adds its slots (unless there are some) and its code to
/// `builder`. The module is changed.
Status addCpuCode(mlir::ModuleOp module, const CpuOptions &options,
                  support::ArtifactBuilder &builder);

/// An artifact of that alone.
Result<support::Artifact> compileForCpu(mlir::ModuleOp module, const CpuOptions &options = {});

/// Vectors that the code of a line moves between memory and registers, before LLVM's optimiser.
struct CpuAccess {
  mlir::Location where;
  bool isStore = false, isScattered = false, isMasked = false;
  unsigned lanes = 1, elementBytes = 1;
  unsigned count = 0;
};
/// A loop over the lanes of tiles: where it stands, and what it computes.
struct CpuLoop {
  mlir::Location where;
  std::vector<std::string> computes; ///< names of ops
  std::string stored;                ///< why its tile is kept in memory; empty if it is not
};
/// What there is to say about the code of a kernel; places live as long as the module's context.
struct CpuReport {
  std::optional<support::Artifact> artifact; ///< always there when handed out
  uint64_t codeBytes = 0;                    ///< instructions alone
  unsigned vectorBytes = 0;
  std::vector<CpuAccess> accesses;
  std::vector<CpuLoop> loops;
};
Result<CpuReport> inspectForCpu(mlir::ModuleOp module, const CpuOptions &options = {});

/// The kernel after a stage, as text (or as bytes, for the object).
Result<std::string> emitForCpu(mlir::ModuleOp module, CpuStage stage,
                               const CpuOptions &options = {});

/// A constant of a C program.
struct DataSymbol {
  std::string name;
  std::span<const uint8_t> bytes;
};
/// A relocatable object for x86-64 that holds them, each at a multiple of 64.
Result<std::string> dataObject(std::span<const DataSymbol> symbols);

/// The dialects and models that compilation needs.
void registerCpuPipeline(mlir::DialectRegistry &registry);

} // namespace nereid::pipeline
