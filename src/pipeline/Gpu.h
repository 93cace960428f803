// Tile IR -> PTX and cubin for an NVIDIA chip.
#pragma once

#include "gpu/CodeFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "nereid/base.h"
#include "support/Artifact.h"
#include "target/Gpu.h"

#include <string>
#include <vector>

namespace nereid::pipeline {

/// On a module whose code gets nothing from a runtime: no tensor maps, no scratch memory.
inline constexpr llvm::StringLiteral standsAloneAttr = "tile.stands_alone";
/// On a module, `launch_pdl=True`: a launch may start before the one ahead of it in the stream has
/// ended, as far as the kernel waits for that by itself (`gdc_wait`).
inline constexpr llvm::StringLiteral launchPdlAttr = "tile.launch_pdl";
/// On a module, `launch_cooperative_grid=True`: all programs of a launch run at once, or it fails.
inline constexpr llvm::StringLiteral launchCooperativeAttr = "tile.launch_cooperative_grid";
/// On a module: blocks may run several programs, one after the other (gpu/LoopOverPrograms.h), for
/// a runtime that knows how to launch that. "all": also where that is not known to gain.
inline constexpr llvm::StringLiteral programLoopsAttr = "tile.program_loops";

struct GpuOptions {
  /// Warps a program; 0: what the module says, else 4.
  unsigned numWarps = 0;
  /// Path of `ptxas`; empty: look for it. Where there is none the artifact holds PTX only.
  std::string ptxas;
  /// Assemble a cubin if there is an assembler.
  bool assemble = true;
};

/// Where `emitForGpu` stops.
enum class GpuStage {
  Tile, ///< tile IR, as the GPU back end reads it
  Gpu,  ///< level 2: tiles with layouts
  Nvvm, ///< scf, arith, LLVM and NVVM ops of one thread
  Llvm, ///< optimised LLVM IR
  Ptx,
  Cubin,
  Sass, ///< the cubin's machine code as text
};

/// Compiles the module's kernel and adds its slots (unless there are some) and its code to
/// `builder`: the cubin first, then PTX. The module is changed.
Status addGpuCode(mlir::ModuleOp module, const target::GpuChip &chip, const GpuOptions &options,
                  support::ArtifactBuilder &builder);

/// An artifact of that alone.
Result<support::Artifact> compileForGpu(mlir::ModuleOp module, const target::GpuChip &chip,
                                        const GpuOptions &options = {});

/// What there is to say about the code of a kernel; places live as long as the module's context.
struct GpuReport {
  std::optional<support::Artifact> artifact; ///< always there when handed out
  bool isAssembled = false;                  ///< else registers and spills are not known
  std::vector<gpu::AccessFact> accesses;
  std::vector<gpu::InstructionFact> instructions;
  std::vector<std::string> warnings; ///< of the assembler
  /// Why a block runs one program, if several were asked for (`programLoopsAttr`).
  std::string whyNoProgramLoop;
};
Result<GpuReport> inspectForGpu(mlir::ModuleOp module, const target::GpuChip &chip,
                                const GpuOptions &options = {});

/// The kernel after a stage, as text (or as bytes, for the cubin).
Result<std::string> emitForGpu(mlir::ModuleOp module, const target::GpuChip &chip, GpuStage stage,
                               const GpuOptions &options = {});

/// The dialects and models that compilation needs.
void registerGpuPipeline(mlir::DialectRegistry &registry);

} // namespace nereid::pipeline
