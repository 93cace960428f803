// Turns a kernel of tile IR into one LLVM-dialect function that runs a range of programs:
// `run(first, count, context)` of support/LaunchAbi.h.
#pragma once

#include "analysis/KernelFacts.h"
#include "cpu/FusionPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace nereid::cpu {

inline constexpr llvm::StringLiteral entrySymbol = "run";

/// A print or assert of the kernel and the number under which its records are written.
struct RecordSite {
  mlir::Operation *op;
  uint32_t kind; ///< support::RecordKind
};

struct EmittedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< scf, arith, math and LLVM ops; null on failure
  std::vector<RecordSite> sites;
};

/// What of the processor the emitted code depends on; LLVM chooses the other instructions.
struct Processor {
  unsigned vectorBytes = 16;
  bool bf16Pairs = false;   ///< vdpbf16ps on whole vectors
  bool byteQuads = false;   ///< vpdpbusd on whole vectors
  bool bf16Tiles = false;   ///< tdpbf16ps
  bool byteTiles = false;   ///< tdpbssd, tdpbuud
  bool atomicPairs = false; ///< cmpxchg16b
  bool picksWords = false;  ///< vpermt2w
  bool picksLanes = false;  ///< vpermd
  bool slowGathers = false; ///< single loads take less
  uint64_t firstCacheBytes = 32 << 10;

  /// Masked stores without mask registers: 22 cycles on Zen 3; of small elements one element after
  /// the other.
  bool slowMaskedStores(unsigned elementBytes) const {
    return vectorBytes < 64 && (slowGathers || elementBytes < 4);
  }
};

/// Emits the kernel. What the CPU cannot do yet is reported as an error at its op. `contract`: a
/// product that is added at once may be fused with the sum.
EmittedKernel emitKernel(mlir::FunctionOpInterface kernel, const FusionPlan &plan,
                         const analysis::KernelFacts &facts, const Processor &processor,
                         bool contract);

} // namespace nereid::cpu
