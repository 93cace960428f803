// Turns a kernel of level 2 into one NVVM kernel function: what a thread does.
#pragma once

#include "analysis/KernelFacts.h"
#include "gpu/CodeFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// A print or assert of the kernel and the number under which its records are written.
struct RecordSite {
  mlir::Operation *op;
  uint32_t kind; ///< support::RecordKind
};

/// How the tensor map of a descriptor is encoded that bulk copies or stores use.
struct TensorMap {
  mlir::Value desc;                ///< a parameter of the kernel, or made in it
  llvm::SmallVector<uint32_t> box; ///< of one transfer, outermost dimension first
  uint8_t swizzle;                 ///< CUtensorMapSwizzle
};
/// The same for a parameter, which the host encodes.
struct ParameterMap {
  unsigned argument;
  llvm::SmallVector<uint32_t> box;
  uint8_t swizzle;
  bool operator==(const ParameterMap &) const = default;
};

/// A part of shared memory.
struct SharedBuffer {
  mlir::Location where;
  uint64_t bytes;
  bool isRing; ///< of pipelined loads; else tiles of one op
};

/// What a kernel keeps in shared memory of the steps of a loop, besides what it needs there.
struct KeptPlaces {
  uint64_t stepBytes = 0; ///< 0: nothing
  uint64_t steps = 0;     ///< as many as there are, 0 if that is not known
};

struct EmittedKernel {
  mlir::OwningOpRef<mlir::ModuleOp>
      module;               ///< scf, arith, math, LLVM and NVVM ops; null on failure
  uint64_t sharedBytes = 0; ///< dynamic shared memory, without what is kept
  KeptPlaces kept;
  std::vector<SharedBuffer> sharedBuffers; ///< those in use where most of it is
  std::vector<RecordSite> sites;
  std::vector<ParameterMap> maps; ///< in the order of their parameters
  uint64_t scratchBytes = 0;      ///< global memory of a program
  std::vector<AccessFact> accesses;
};

/// Emits the kernel for `warps` warps. Parameters are the slots of the launch ABI, a descriptor as
/// its fields, then the context pointer, then the tensor maps. What the GPU cannot do yet is
/// reported as an error at its op.
EmittedKernel emitKernel(mlir::FunctionOpInterface kernel, const target::GpuChip &chip,
                         unsigned warps);

} // namespace nereid::gpu
