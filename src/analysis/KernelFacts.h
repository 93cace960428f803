// What a launch must know of a kernel and its IR tells: the packed arguments, what each pointer
// reaches, how many axes of the grid are read.
#pragma once

#include "ir/TileOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "nereid/base.h"
#include "support/Artifact.h"

namespace nereid::analysis {

/// The data type of a number, which says nothing of a sign.
DType dtypeOf(mlir::Type type);

/// One slot of the packed argument block (support/LaunchAbi.h). A descriptor takes one.
struct ArgumentSlot {
  std::string name;
  support::SlotKind kind = support::SlotKind::Int;
  DType type = DType::Int32; ///< of the scalar, the pointee or the descriptor's element
  uint32_t offset = 0;
  uint32_t width = 0;
  uint32_t alignment = 1;
  uint32_t divisibility = 1;
  uint8_t access = support::AccessNone;
};

struct KernelFacts {
  std::vector<ArgumentSlot> slots; ///< one an argument of the function, in order
  uint32_t packedBytes = 0;
  uint32_t gridRank = 1;
  bool mayWait = false;  ///< a loop ends by what another program writes
  bool isAtomic = false; ///< some memory is changed or read atomically
  /// Bit a is set if programs that differ along axis a of the grid alone read some of the same
  /// memory: one of the larger tiles that loops or products read stands where it stands for all.
  uint8_t sharedAxes = 0;
};

KernelFacts kernelFacts(mlir::FunctionOpInterface kernel);

/// The kernel's argument that an access reaches memory through; null if there may be several, or if
/// an address is read from memory or made of an integer.
mlir::BlockArgument argumentOf(tile::MemoryAccessOpInterface access);
/// The same for pointers or a descriptor.
mlir::BlockArgument argumentOf(mlir::Value address);
/// All that it may be; nothing if an address is read from memory or made of an integer.
std::optional<llvm::SmallVector<mlir::BlockArgument, 2>> argumentsOf(mlir::Value address);

/// The only function of the module that is a kernel, or null.
mlir::FunctionOpInterface findKernel(mlir::ModuleOp module);

/// True if something in `op` is assembly or bitcode of the program.
bool hasForeignCode(mlir::Operation *op);

/// True if something in `op` waits for the grid that was launched before (`gdc_wait`).
bool waitsForGrid(mlir::Operation *op);

/// True for a `while` whose end depends on what other programs write: it reads memory atomically.
bool waitsForOthers(mlir::Operation *loop);

} // namespace nereid::analysis
